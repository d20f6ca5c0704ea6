//! What the strings of a path or a query become: a URL has no types, the tool's schema has.
//!
//! Only text that reads as the wanted type in one way is converted; all else stays text, and then does not fit. A name
//! without a schema stays as it came.

use serde_json::{Map, Number, Value};

use crate::scenario::Tool;

/// `raw` with each string converted to what `tool` wants under that name. A name that came once and is to be a list
/// becomes a list of one.
pub fn coerce(tool: &Tool, raw: &Map<String, Value>) -> Map<String, Value> {
    let root = tool.args.as_deref();
    raw.iter()
        .map(|(name, value)| {
            let schema = root.and_then(|root| resolved(root, root)?.get("properties")?.get(name));
            let value = match (root, schema) {
                (Some(root), Some(schema)) => converted(root, schema, value),
                _ => value.clone(),
            };
            (name.clone(), value)
        })
        .collect()
}

fn converted(root: &Value, schema: &Value, value: &Value) -> Value {
    let wanted = types(root, schema, 0);
    let wants = |kind: &str| wanted.iter().any(|one| one == kind);
    match value {
        Value::Array(items) => {
            let inner = inner(root, schema);
            items
                .iter()
                .map(|item| inner.map_or_else(|| item.clone(), |inner| converted(root, inner, item)))
                .collect()
        }
        // Text that may stay text stays it: `"007"` under `string | integer` is no 7.
        Value::String(text) if !wants("string") => {
            let read = scalar(text, &wants);
            read.unwrap_or_else(|| match (wants("array"), inner(root, schema)) {
                (true, Some(inner)) => Value::Array(vec![converted(root, inner, value)]),
                (true, None) => Value::Array(vec![value.clone()]),
                (false, _) => value.clone(),
            })
        }
        other => other.clone(),
    }
}

fn scalar(text: &str, wants: &impl Fn(&str) -> bool) -> Option<Value> {
    match text {
        "true" | "false" if wants("boolean") => Some(Value::Bool(text == "true")),
        "null" if wants("null") => Some(Value::Null),
        _ if wants("integer") || wants("number") => {
            // JSON's own spelling of numbers, so that `+7`, `0x7` and `7 ` stay text.
            let number: Number = serde_json::from_str(text).ok()?;
            let spelt_so = text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
                && text.ends_with(|last: char| last.is_ascii_digit());
            (spelt_so && (wants("number") || !number.is_f64())).then_some(Value::Number(number))
        }
        _ => None,
    }
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(target) => root.pointer(target.strip_prefix('#')?),
        None => Some(schema),
    }
}

fn inner<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    let schema = resolved(root, schema)?;
    let forms = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    schema.get("items").or_else(|| forms.filter_map(|form| resolved(root, form)?.get("items")).next())
}

/// Every type named by `schema`, its reference and its alternatives. A schema that names none takes text as it is.
fn types(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    let Some(schema) = resolved(root, schema).filter(|_| depth < 8) else {
        return vec!["string".to_owned()];
    };
    let alternatives: Vec<&Value> =
        ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten().collect();
    match schema.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(|one| Some(one.as_str()?.to_owned())).collect(),
        _ if !alternatives.is_empty() => {
            alternatives.into_iter().flat_map(|form| types(root, form, depth + 1)).collect()
        }
        _ => vec!["string".to_owned()],
    }
}
