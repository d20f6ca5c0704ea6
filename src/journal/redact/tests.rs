//! What is redacted, in which spellings, and that nothing else changes.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{RedactionKey, Redactor, StreamRedactor, is_marker};

const SECRET: &str = "p\"a/ss w\\örd+%41";

fn key() -> RedactionKey {
    RedactionKey([7; 32])
}

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(key(), secrets).expect("a redactor")
}

/// The value as it would be stored.
fn stored(redactor: &Redactor, value: &Value) -> Value {
    redactor.seen(value).expect("a form")
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

fn ascii_escaped(text: &str) -> String {
    json_escaped(text)
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04X}", c as u32) })
        .collect()
}

fn percent(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[test]
fn a_secret_is_found_however_it_is_spelt() {
    let redactor = redactor(&[SECRET]);
    let marker = redactor.marker(SECRET);
    for spelling in [
        SECRET.to_owned(),
        json_escaped(SECRET),
        json_escaped(&json_escaped(SECRET)),
        ascii_escaped(SECRET),
        json_escaped(&ascii_escaped(SECRET)),
        json_escaped(SECRET).replace('/', "\\/"),
        percent(SECRET),
        percent(SECRET).to_lowercase(),
        percent(SECRET).replace("%61", "a").replace("%20", "+"),
        percent(&percent(SECRET)),
        percent(&json_escaped(SECRET)),
        json_escaped(&percent(SECRET)),
        percent(&json_escaped(&json_escaped(SECRET))),
    ] {
        let text = format!("before {spelling} after");
        assert_eq!(redactor.text(&text), format!("before {marker} after"), "{spelling}");
    }
}

#[test]
fn a_secret_is_found_in_base64_wherever_it_begins() {
    let secret = "correct horse battery";
    let redactor = redactor(&[secret]);
    for lead in ["", "u", "us", "use", "user:"] {
        for text in [
            STANDARD.encode(format!("{lead}{secret}??>>")),
            URL_SAFE_NO_PAD.encode(format!("{lead}{secret}")),
        ] {
            let shown = redactor.text(&text).into_owned();
            assert!(shown.contains(&redactor.marker(secret)), "{text}: {shown}");
        }
    }
}

#[test]
fn secrets_that_overlap_or_repeat_all_go() {
    let redactor = redactor(&["abcdef", "defghi"]);
    let shown = redactor.text("abcdefghi-abcdef-abcdefabcdef");
    assert!(!shown.contains("ghi") && !shown.contains("abc"), "{shown}");
}

#[test]
fn a_marker_is_the_same_in_a_run_and_another_in_the_next() {
    let one = redactor(&["topsecret"]);
    assert_eq!(one.text("topsecret"), redactor(&["other", "topsecret"]).text("a topsecret")[2..]);
    let next = Redactor::new(RedactionKey([8; 32]), ["topsecret"]).expect("a redactor");
    assert_ne!(one.text("topsecret"), next.text("topsecret"));
    assert!(is_marker(one.text("topsecret").as_bytes()));
    assert_eq!(one.text(&one.text("topsecret")), one.text("topsecret"));
}

#[test]
fn short_secrets_are_counted_and_not_searched_for() {
    let redactor = redactor(&["", "abc", "abcd"]);
    assert_eq!(redactor.skipped(), 1);
    assert_eq!(redactor.text("abc"), "abc");
    assert_ne!(redactor.text("abcd"), "abcd");
}

#[test]
fn common_shapes_of_keys_go_without_being_known() {
    let redactor = redactor(&[]);
    for key in [
        "sk-proj-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdef",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "glpat-abcdefghij0123456789",
        "sk_live_abcdefghijkl",
        "hf_abcdefghijklmnopqrstuvwxyzabcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEow and no end",
    ] {
        let shown = redactor.text(key).into_owned();
        assert!(is_marker(shown.as_bytes()), "{key}: {shown}");
        let inside = format!("{{\"k\":\"{}\"}}", json_escaped(key));
        assert!(!redactor.text(&inside).contains(&key[key.len() - 6..]), "{inside}");
    }
    let shown = redactor.text("curl -H 'X: bearer abc.def-123' x");
    assert_eq!(shown, format!("curl -H 'X: bearer {}' x", redactor.marker("abc.def-123")));
    for prose in [
        "a task-force-of-very-many-people",
        "the bearer of news",
        "a cookie jar",
        "asia",
        "risk-averse-people-there",
    ] {
        assert_eq!(redactor.text(prose), prose);
    }
}

#[test]
fn header_lines_keep_their_name_and_lose_their_value() {
    let redactor = redactor(&[]);
    for (text, kept) in [
        (
            "GET / HTTP/1.1\r\nAuthorization: Basic dXNlcg==\r\nHost: x",
            ["GET / HTTP/1.1\r\nAuthorization: ", "\r\nHost: x"],
        ),
        ("set-cookie: id=1; Path=/\nnext", ["set-cookie: ", "\nnext"]),
        (r#"{"Cookie":"a=\"b\"; c=d","x":1}"#, [r#"{"Cookie":""#, r#"","x":1}"#]),
        (
            r#"{\"proxy-authorization\": \"Basic \\\"q\\\" x\", \"y\":2}"#,
            [r#"{\"proxy-authorization\": \""#, r#"\", \"y\":2}"#],
        ),
        (r#"get(authorization='Basic x', y=1)"#, ["get(authorization='", "', y=1)"]),
    ] {
        let shown = redactor.text(text).into_owned();
        assert!(shown.starts_with(kept[0]) && shown.ends_with(kept[1]), "{shown}");
        assert!(is_marker(&shown.as_bytes()[kept[0].len()..shown.len() - kept[1].len()]), "{shown}");
    }
}

#[test]
fn what_is_redacted_already_stays_as_it_is() {
    let redactor = redactor(&["topsecret"]);
    let once = redactor.text("Cookie: a=topsecret\ntopsecret").into_owned();
    assert_eq!(redactor.text(&once), once);
}

#[test]
fn fields_that_are_secret_by_name_lose_their_texts_and_keep_their_shape() {
    let redactor = redactor(&[]);
    let row = json!({
        "headers": { "Authorization": "Basic x", "Cookie": ["a=1", ""], "accept": "x", "x_api_key": {"deep": ["v", 1, true, null]} },
        "attributes": [
            { "key": "http.request.header.authorization", "value": { "arrayValue": { "values": [{ "stringValue": "Basic x" }] } } },
            { "key": "http.route", "value": { "stringValue": "/x" } },
            { "value": "Basic x", "name": "Set-Cookie" },
        ],
        "raw": [["cookie", "a=1"], ["host", "x"]],
    });
    let x = redactor.marker("Basic x");
    let a = redactor.marker("a=1");
    assert_eq!(
        stored(&redactor, &row),
        json!({
            "headers": { "Authorization": x, "Cookie": [a, ""], "accept": "x", "x_api_key": {"deep": [redactor.marker("v"), 1, true, null]} },
            "attributes": [
                { "key": "http.request.header.authorization", "value": { "arrayValue": { "values": [{ "stringValue": x }] } } },
                { "key": "http.route", "value": { "stringValue": "/x" } },
                { "value": x, "name": "Set-Cookie" },
            ],
            "raw": [["cookie", a], ["host", "x"]],
        })
    );
}

#[test]
fn keys_that_become_one_are_told_apart() {
    let redactor = redactor(&["to\"psecret"]);
    let marker = redactor.marker("to\"psecret");
    let row = json!({ "to\"psecret": 1, "to\\\"psecret": 2, (format!("{marker}#2")): 3 });
    let mut expected = serde_json::Map::new();
    expected.insert(marker.clone(), json!(1));
    expected.insert(format!("{marker}#3"), json!(2));
    expected.insert(format!("{marker}#2"), json!(3));
    assert_eq!(stored(&redactor, &row), Value::from(expected));
}

#[test]
fn nothing_shows_what_it_keeps() {
    let redactor = Arc::new(redactor(&["topsecret"]));
    let shown = format!("{redactor:?} {:?} {:?}", key(), StreamRedactor::new(redactor.clone()));
    assert!(!shown.contains("topsecret") && !shown.contains('7'), "{shown}");
}

/// The same value with every text blank: what must not change.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(""),
        Value::Array(list) => list.iter().map(shape).collect(),
        Value::Object(map) => Value::Array(map.values().map(shape).chain([json!(map.len())]).collect()),
        other => other.clone(),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(list) => {
            let mut list: Vec<_> = list.into_iter().map(sorted).collect();
            list.sort_by_key(Value::to_string);
            Value::Array(list)
        }
        other => other,
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let known = [
        "abcd\"ef",
        "«secret:",
        "Authorization: ",
        "cookie",
        "authorization",
        "\\",
        "%61",
        "\"",
        "\n",
        "sk-aaaaaaaaaaaaaaaaaaaa",
        "é😀",
        "Bearer ",
    ];
    prop::collection::vec(
        prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), ".{0,4}"],
        0..8,
    )
    .prop_map(|parts| parts.concat())
}

fn any_row() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![pieces().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((pieces(), inner), 0..5)
                .prop_map(|p| Value::Object(p.into_iter().collect())),
        ]
    })
    .prop_map(|inner| json!({ "r": inner }))
}

proptest! {
    #[test]
    fn redaction_never_changes_the_shape_of_a_row(row in any_row()) {
        let after = stored(&redactor(&["abcd\"ef", "ABCDE"]), &row);
        prop_assert_eq!(sorted(shape(&after)), sorted(shape(&row)));
    }

    #[test]
    fn no_secret_survives_in_a_text(before in pieces(), after in pieces(), secret in "[a-z\"\\\\/ é%+]{4,12}", way in 0..6) {
        // A text of our own that holds the secret by chance, in part, would not be the redactor's fault.
        prop_assume!(!"«secret:0123456789abcdef»".contains(&secret));
        let spelt = match way {
            0 => secret.clone(),
            1 => json_escaped(&secret),
            2 => percent(&secret),
            3 => ascii_escaped(&secret),
            4 => json_escaped(&json_escaped(&secret)),
            _ => json_escaped(&percent(&secret)),
        };
        let text = format!("{before} {spelt} {after}");
        let shown = redactor(&[&secret]).text(&text).into_owned();
        prop_assert!(!shown.contains(&spelt), "{shown}");
    }

    #[test]
    fn a_stream_in_pieces_gives_what_the_whole_would(
        parts in prop::collection::vec((pieces(), 0usize..3000), 1..8),
        cuts in prop::collection::vec(1usize..6000, 1..40),
    ) {
        let whole: String = parts.iter().map(|(text, pad)| format!("{text}{}\n", "x ".repeat(*pad))).collect();
        let redactor = Arc::new(redactor(&["abcd\"ef", "x x x y"]));
        let mut stream = StreamRedactor::new(redactor.clone());
        let (mut shown, mut rest, mut cuts) = (String::new(), whole.as_bytes(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
            shown += &stream.push(piece);
            rest = left;
        }
        shown += &stream.finish();
        prop_assert_eq!(shown, redactor.text(&whole).into_owned());
    }
}

#[test]
fn a_secret_split_over_two_writes_never_shows() {
    let redactor = Arc::new(redactor(&["abcdefgh"]));
    for size in [1, 2, 3, 5, 4096, 5000] {
        for lead in [0, 4090, 8190] {
            let text = format!("{}abcdefgh{}", "-".repeat(lead), "+".repeat(9000));
            let mut stream = StreamRedactor::new(redactor.clone());
            let mut shown: String = text.as_bytes().chunks(size).map(|piece| stream.push(piece)).collect();
            shown += &stream.finish();
            assert_eq!(shown, text.replace("abcdefgh", &redactor.marker("abcdefgh")));
        }
    }
}

#[test]
fn an_endless_secret_takes_bounded_memory_and_shows_nothing() {
    let redactor = Arc::new(redactor(&[]));
    let mut stream = StreamRedactor::new(redactor);
    let mut shown = stream.push(b"start sk-");
    for _ in 0..200 {
        shown += &stream.push(&[b'a'; 4096]);
        assert!(stream.text.len() < 600 << 10);
    }
    shown += &stream.push(b"aaaa\nend");
    shown += &stream.finish();
    assert!(
        shown.starts_with("start «secret:") && shown.ends_with("»\nend") && !shown.contains("aaa"),
        "{shown}"
    );
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    let mut stream = StreamRedactor::new(Arc::new(redactor(&[])));
    let mut shown: String =
        [&b"a\xff"[..], b"\xc3", b"\xa9\xf0\x9f"].iter().map(|p| stream.push(p)).collect();
    shown += &stream.finish();
    assert_eq!(shown, "a\u{fffd}é\u{fffd}");
}
