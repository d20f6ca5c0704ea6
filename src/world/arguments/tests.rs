use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::name::ToolName;
use crate::scenario::{Answer, Behaviour, Effect, Pos, Returns, SqliteTool, Tool};

fn misfit(schema: Value, value: Value) -> String {
    let compiled = Schema::new(&schema).expect("a schema");
    compiled.fit(&value).err().map_or_else(String::new, |misfit| misfit.to_string())
}

#[test]
fn a_misfit_names_the_place_and_what_was_asked() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {
            "id": { "type": "string", "pattern": "^[0-9]+$", "minLength": 2, "maxLength": 4 },
            "count": { "type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 5 },
            "kind": { "enum": ["a", 1, null] },
            "exact": { "const": { "a": [1] } },
            "list": { "type": "array", "items": { "type": "boolean" }, "minItems": 1, "maxItems": 2, "uniqueItems": true },
            "either": { "anyOf": [{ "type": "string" }, { "type": "object", "required": ["x"] }] },
            "one": { "oneOf": [{ "type": "integer" }, { "minimum": 0 }] },
            "tree": { "$ref": "#/$defs/tree" },
        },
        "$defs": { "tree": { "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/tree" } } } } },
    });
    for (value, told) in [
        (json!({ "id": "12" }), ""),
        (json!([]), "an object is wanted"),
        (json!({}), "`id` is missing"),
        (json!({ "id": 12 }), "/id: a string is wanted"),
        (json!({ "id": "1" }), "/id: at least 2 characters are wanted"),
        (json!({ "id": "12345" }), "/id: at most 4 characters are wanted"),
        (json!({ "id": "1é" }), "/id: does not match ^[0-9]+$"),
        (json!({ "id": "12", "count": 1.0 }), ""),
        (json!({ "id": "12", "count": null }), ""),
        (json!({ "id": "12", "count": 1.5 }), "/count: an integer or null is wanted"),
        (json!({ "id": "12", "count": 0 }), "/count: at least 1 is wanted"),
        (json!({ "id": "12", "count": 5 }), "/count: less than 5 is wanted"),
        (json!({ "id": "12", "kind": 1.0 }), ""),
        (json!({ "id": "12", "kind": "b" }), "/kind: one of \"a\", 1, null is wanted"),
        (json!({ "id": "12", "exact": { "a": [1.0] } }), ""),
        (json!({ "id": "12", "exact": { "a": [2] } }), "/exact: one of {\"a\":[1]} is wanted"),
        (json!({ "id": "12", "list": [true, 1] }), "/list/1: a boolean is wanted"),
        (json!({ "id": "12", "list": [] }), "/list: 0 entries are too few or too many"),
        (json!({ "id": "12", "list": [true, true] }), "/list: no entry may stand twice"),
        (json!({ "id": "12", "either": 1 }), "/either: fits none of the forms it may have"),
        (json!({ "id": "12", "either": { "x": 1 } }), ""),
        (json!({ "id": "12", "one": 1 }), "/one: is to fit exactly one of the forms it may have"),
        (json!({ "id": "12", "one": -1 }), ""),
        (
            json!({ "id": "12", "tree": { "kids": [{ "kids": [1] }] } }),
            "/tree/kids/0/kids/0: an object is wanted",
        ),
        (json!({ "id": "12", "a/b~": 1 }), "/a~1b~0: not known here"),
    ] {
        assert_eq!(misfit(schema.clone(), value.clone()), told, "{value}");
    }
}

#[test]
fn integers_beyond_a_reals_precision_are_compared_exactly() {
    let schema = json!({ "maximum": 9_007_199_254_740_992_u64 });
    assert_eq!(misfit(schema, json!(9_007_199_254_740_993_u64)), "at most 9007199254740992 is wanted");
    assert_ne!(misfit(json!({ "const": u64::MAX }), json!(u64::MAX - 1)), "");
}

#[test]
fn a_keyword_that_would_restrict_and_is_not_known_is_refused() {
    for (schema, told) in [
        (
            json!({ "properties": { "a": { "multipleOf": 2 } } }),
            "#/properties/a: the keyword `multipleOf` is not supported",
        ),
        (json!({ "patternProperties": {} }), "#: the keyword `patternProperties` is not supported"),
        (json!({ "if": {} }), "#: the keyword `if` is not supported"),
        (json!({ "type": "int" }), "#/type: \"int\" is no JSON Schema type"),
        (json!({ "$ref": "#/$defs/a" }), "#/$ref: `#/$defs/a` leads nowhere in this schema"),
        (
            json!({ "$ref": "https://example.com/a" }),
            "#/$ref: `https://example.com/a` leads nowhere in this schema",
        ),
        (json!({ "items": [] }), "#/items: a schema is an object, true or false"),
        (json!({ "minLength": -1 }), "#/minLength: a count is wanted here"),
        (json!({ "anyOf": [] }), "#/anyOf: a list of at least one schema"),
        (json!({ "$ref": "#" }), "#: refers to itself without going deeper into the value"),
        (
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
            "#/$defs/a: refers to itself without going deeper into the value",
        ),
    ] {
        assert_eq!(Schema::new(&schema).err().map(|e| e.to_string()).as_deref(), Some(told), "{schema}");
    }
    let error = Schema::new(&json!({ "pattern": "(" })).err().map(|e| e.at);
    assert_eq!(error.as_deref(), Some("#/pattern"));
}

/// Schemas in the keywords we know, over few names and values, so that they often fit.
fn schema() -> impl Strategy<Value = Value> {
    let scalar = || {
        prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            Just(json!(1)),
            Just(json!(1.0)),
            Just(json!(2.5)),
            Just(json!("a")),
            Just(json!("ab"))
        ]
    };
    let kind = prop_oneof![
        Just("null"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("string"),
        Just("array"),
        Just("object")
    ];
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        kind.prop_map(|kind| json!({ "type": kind })),
        proptest::collection::vec(scalar(), 1..3).prop_map(|all| json!({ "enum": all })),
        scalar().prop_map(|one| json!({ "const": one })),
        (0..3u8, 0..3u8).prop_map(
            |(min, max)| json!({ "minLength": min, "maxLength": max, "minItems": min, "maxItems": max })
        ),
        (0..3i8, 0..3i8).prop_map(|(min, max)| json!({ "minimum": min, "exclusiveMaximum": max })),
        (0..3i8, 0..3i8).prop_map(|(min, max)| json!({ "exclusiveMinimum": min, "maximum": max })),
        Just(json!({ "pattern": "^a" })),
        Just(json!({ "uniqueItems": true })),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({ "properties": { "a": a }, "additionalProperties": b })),
            inner.clone().prop_map(|a| json!({ "properties": { "a": a }, "required": ["a"] })),
            inner.prop_map(|items| json!({ "items": items })),
            several.clone().prop_map(|all| json!({ "allOf": all })),
            several.clone().prop_map(|any| json!({ "anyOf": any })),
            several.prop_map(|one| json!({ "oneOf": one })),
        ]
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(false)),
        (-1i8..3).prop_map(|i| json!(i)),
        Just(json!(1.0)),
        Just(json!(2.5)),
        "[ab]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map("[ab]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn a_value_fits_where_another_validator_says_so(schema in schema(), value in value()) {
        let other = jsonschema::draft202012::new(&schema).expect("a schema");
        let ours = Schema::new(&schema).expect("a schema");
        prop_assert_eq!(ours.fit(&value).is_ok(), other.is_valid(&value), "{} {}", schema, value);
    }
}

fn tool(args: Value) -> Tool {
    Tool {
        pos: Pos::default(),
        name: ToolName::new("t"),
        description: None,
        route: None,
        effect: Effect::Read,
        args: Some(Arc::new(args)),
        behaviour: Behaviour::Sqlite(SqliteTool {
            refuse: Vec::new(),
            run: Vec::new(),
            returns: Returns { status: 200, headers: BTreeMap::new(), answer: Answer::Nothing },
        }),
    }
}

#[test]
fn strings_of_a_url_become_what_the_schema_wants() {
    for (schema, raw, becomes) in [
        (json!({ "type": "integer" }), json!("42"), json!(42)),
        (json!({ "type": "integer" }), json!("-7"), json!(-7)),
        (json!({ "type": "integer" }), json!("4.0"), json!("4.0")),
        (json!({ "type": "integer" }), json!("+7"), json!("+7")),
        (json!({ "type": "integer" }), json!(" 7"), json!(" 7")),
        (json!({ "type": "integer" }), json!("007"), json!("007")),
        (json!({ "type": "integer" }), json!("1e3"), json!("1e3")),
        (json!({ "type": "integer" }), json!(""), json!("")),
        (json!({ "type": "integer" }), json!("9223372036854775807"), json!(i64::MAX)),
        (json!({ "type": "number" }), json!("2.50"), json!(2.5)),
        (json!({ "type": "number" }), json!("NaN"), json!("NaN")),
        (json!({ "type": "boolean" }), json!("true"), json!(true)),
        (json!({ "type": "boolean" }), json!("1"), json!("1")),
        (json!({ "type": "string" }), json!("42"), json!("42")),
        (json!({ "type": ["string", "integer"] }), json!("42"), json!("42")),
        (json!({ "type": ["integer", "null"] }), json!("null"), json!(null)),
        (json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), json!("42"), json!(42)),
        (json!({ "enum": ["1"] }), json!("1"), json!("1")),
        (json!({ "type": "array", "items": { "type": "integer" } }), json!("1"), json!([1])),
        (json!({ "type": "array", "items": { "type": "integer" } }), json!(["1", "x"]), json!([1, "x"])),
        (json!({ "type": "array" }), json!("1"), json!(["1"])),
        (
            json!({ "anyOf": [{ "type": "array", "items": { "type": "boolean" } }, { "type": "null" }] }),
            json!("true"),
            json!([true]),
        ),
        (json!({ "$ref": "#/$defs/n" }), json!("42"), json!(42)),
    ] {
        let tool = tool(json!({ "properties": { "v": schema }, "$defs": { "n": { "type": "integer" } } }));
        let raw = Map::from_iter([("v".to_owned(), raw), ("w".to_owned(), json!("42"))]);
        let out = coerce(&tool, &raw);
        assert_eq!((&out["v"], &out["w"]), (&becomes, &json!("42")), "{schema} {raw:?}");
    }
    let anything = Tool { args: None, ..tool(json!({})) };
    let raw = Map::from_iter([("v".to_owned(), json!("42"))]);
    assert_eq!(coerce(&anything, &raw), raw);
}
