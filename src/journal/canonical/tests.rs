//! The form of a row, against RFC 8785's own vectors and an implementation that is not ours.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Body, CanonicalError, DEPTH_LIMIT, Entries, check};

fn to_vec<T: serde::Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    super::to_vec(value, None)
}

fn form(value: &Value) -> String {
    String::from_utf8(to_vec(value).expect("a canonical form")).expect("UTF-8")
}

fn reference(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("the reference takes it")
}

fn holds(line: &[u8]) -> bool {
    check(line, &mut Entries::default()).is_ok()
}

#[test]
fn numbers_stand_as_in_appendix_b_of_rfc_8785() {
    for (bits, text) in [
        (0x0000000000000000, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0x41b3de4355555556, "333333333.3333334"),
        (0x41b3de4355555557, "333333333.33333343"),
        (0xbecbf647612f3696, "-0.0000033333333333333333"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
    ] {
        let number = f64::from_bits(bits);
        assert_eq!(form(&json!(number)), text, "{bits:x}");
        assert!(holds(format!("{{\"n\":{text}}}").as_bytes()), "{text}");
    }
    assert_eq!(to_vec(&f64::NAN), Err(CanonicalError::NotFinite));
    assert_eq!(to_vec(&f64::INFINITY), Err(CanonicalError::NotFinite));
}

#[test]
fn keys_stand_in_the_order_of_their_utf16_code_units() {
    let value = json!({
        "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
        "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control", "\u{f6}": "Latin Small Letter O With Diaeresis",
    });
    let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\
         \"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(form(&value), expected);
    assert!(holds(expected.as_bytes()));
    let swapped = "{\"\u{fb33}\":1,\"\u{1f600}\":2}";
    assert!(!holds(swapped.as_bytes()), "the order of bytes is not it");
}

#[test]
fn texts_and_words_stand_as_in_section_3_2_of_rfc_8785() {
    let value: Value = serde_json::from_str(
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
    )
    .expect("the example");
    assert_eq!(
        form(&value),
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
}

#[test]
fn an_integer_that_a_double_would_round_is_written_as_text() {
    assert_eq!(form(&json!(9_007_199_254_740_992_u64)), "9007199254740992");
    assert_eq!(form(&json!(9_007_199_254_740_993_u64)), "\"9007199254740993\"");
    assert_eq!(form(&json!(-9_007_199_254_740_993_i64)), "\"-9007199254740993\"");
    assert_eq!(form(&json!(u64::MAX)), "\"18446744073709551615\"");
    assert_eq!(form(&json!(i64::MIN)), "\"-9223372036854775808\"");
}

#[test]
fn every_shape_of_serde_stands_as_serde_json_has_it() {
    #[derive(serde::Serialize)]
    enum Shape {
        Unit,
        New(u8),
        Tuple(u8, char),
        Struct { z: Option<bool>, a: () },
    }
    #[derive(serde::Serialize)]
    struct Pair(i8, f32);
    let all = (
        [Shape::Unit, Shape::New(1), Shape::Tuple(2, 'x'), Shape::Struct { z: None, a: () }],
        Pair(-3, 0.5),
        std::collections::BTreeMap::from([(10, "ten"), (9, "nine")]),
        b"raw".as_slice(),
    );
    let tree = serde_json::to_value(&all).expect("a tree");
    assert_eq!(to_vec(&all).expect("a form"), reference(&tree));
}

#[test]
fn what_has_no_form_is_refused() {
    let mut deep = json!(1);
    for _ in 0..=DEPTH_LIMIT {
        deep = json!([deep]);
    }
    assert_eq!(to_vec(&deep), Err(CanonicalError::TooDeep));
    assert_eq!(to_vec(&std::collections::BTreeMap::from([(true, 1)])), Err(CanonicalError::KeyKind));
    let raw = serde_json::value::RawValue::from_string("1.0".to_owned()).expect("JSON");
    assert!(matches!(to_vec(&raw), Err(CanonicalError::Refused(_))));
    assert!(matches!(Body::of(&[1], None), Err(CanonicalError::NoObject)));
}

#[test]
fn only_the_one_form_of_a_row_is_taken() {
    for good in [r#"{}"#, r#"{"a":{},"b":[],"c":"é\n\u001f/","d":-1.5e-7}"#, r#"{"":0}"#] {
        assert!(holds(good.as_bytes()), "{good}");
    }
    for bad in [
        "",
        "[]",
        "1",
        "{",
        "{}{}",
        "{} ",
        " {}",
        "{\"a\":1,}",
        "{\"a\" :1}",
        "{\"a\":1.0}",
        "{\"a\":01}",
        "{\"a\":-0}",
        "{\"a\":1e2}",
        "{\"a\":1E30}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":9007199254740993}",
        "{\"a\":1e999}",
        "{\"a\":\"\\/\"}",
        "{\"a\":\"\\u0041\"}",
        "{\"a\":\"\\u000a\"}",
        "{\"a\":\"\\u000F\"}",
        "{\"a\":\"\\ud83d\\ude00\"}",
        "{\"a\":\"\n\"}",
        "{\"b\":1,\"a\":1}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":nul}",
        "{\"a\":[1,]}",
        "{\"a\":NaN}",
        "{\"a\":\"",
    ] {
        assert!(!holds(bad.as_bytes()), "{bad:?}");
    }
    assert!(!holds(b"{\"a\":\"\xff\"}"));
}

/// Any JSON that both sides write alike: integers as far as doubles are exact.
fn any_json() -> impl Strategy<Value = Value> {
    const EXACT: i64 = 1 << 53;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-EXACT..=EXACT).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            any_object(inner).prop_map(Value::from),
        ]
    })
}

fn any_object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((any_text(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        "[\\x00-\\x22\\\\/\u{e000}-\u{ffff}\u{1f600}-\u{1f64f}é€]{0,4}",
        any::<String>()
    ]
}

proptest! {
    #[test]
    fn the_form_is_the_references_byte_for_byte(value in any_json()) {
        let form = to_vec(&value).expect("a form");
        prop_assert_eq!(&form, &reference(&value));
        let back: Value = serde_json::from_slice(&form).expect("JSON");
        prop_assert_eq!(reference(&back), form);
    }

    #[test]
    fn a_canonical_object_is_taken_and_its_entries_are_found(object in any_object(any_json())) {
        let line = to_vec(&object).expect("a form");
        let mut entries = Entries::default();
        prop_assert_eq!(check(&line, &mut entries), Ok(()));
        prop_assert_eq!(entries.without(&line, &[]), line.clone());
        for (key, value) in object.iter().filter(|(key, _)| key.bytes().all(|b| b.is_ascii_alphanumeric())) {
            prop_assert_eq!(entries.get(&line, key), Some(&to_vec(value).expect("a form")[..]));
        }
    }

    #[test]
    fn a_changed_line_is_taken_only_if_it_is_again_the_one_form(
        object in any_object(any_json()),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![any::<u8>(), prop::sample::select(b"\"\\{}[]:,0123456789eE+-. \nu".to_vec())],
        way in 0..3,
    ) {
        let mut line = to_vec(&object).expect("a form");
        let at = at.index(line.len());
        match way {
            0 => line[at] = byte,
            1 => line.insert(at, byte),
            _ => drop(line.remove(at)),
        }
        let again = serde_json::from_slice::<Map<String, Value>>(&line).map(|o| reference(&Value::from(o)));
        prop_assert_eq!(holds(&line), again.is_ok_and(|again| again == line));
    }

    #[test]
    fn fields_are_put_among_the_others_as_if_they_had_been_there(object in any_object(any_json())) {
        let mut object = object;
        for name in ["at", "row", "seq"] {
            object.remove(name);
        }
        let mut line = Vec::new();
        Body::of(&object, None).expect("a body")
            .write(&[("at", b"1"), ("row", b"\"x\""), ("seq", b"2")], &["a"], &mut line).expect("a line");
        object.remove("a");
        object.extend([("at".to_owned(), json!(1)), ("row".to_owned(), json!("x")), ("seq".to_owned(), json!(2))]);
        prop_assert_eq!(line, reference(&Value::from(object)));
    }
}
