//! How recorded values are compared with values asked for, and how a case fills in a text.
//!
//! Numbers compare by value (1250 is 1250.0, and integers beyond 2^53 stay exact), never by how they were written.
//! A string is never a number.

use serde_json::{Number, Value};

use crate::scenario::Case;

/// Whether both are the same JSON value.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether `seen` holds all that `asked` asks: objects may hold more keys, at every depth; lists are compared whole.
pub(super) fn holds(seen: &Value, asked: &Value) -> bool {
    match (seen, asked) {
        (Value::Object(seen), Value::Object(asked)) => asked
            .iter()
            .all(|(key, asked)| seen.get(key).is_some_and(|seen| holds(seen, asked))),
        _ => equal(seen, asked),
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        // Only one is whole, or neither: whole ones beyond i128 are floats on both sides.
        (None, None) => a.as_f64() == b.as_f64(),
        _ => false,
    }
}

fn integer(n: &Number) -> Option<i128> {
    if let Some(n) = n.as_i64() {
        return Some(n.into());
    }
    if let Some(n) = n.as_u64() {
        return Some(n.into());
    }
    let float = n.as_f64()?;
    // Below 2^100 the conversion is exact; above it there are only floats to compare with.
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

/// `text` with `${name}` replaced by the case's values. A name the case does not have stays: loading refuses it.
pub(super) fn fill(text: &str, case: &Case) -> String {
    fill_with(text, case, |value| value)
}

/// [`fill`] for a regular expression: a value stands for itself and means nothing else.
pub(super) fn fill_pattern(pattern: &str, case: &Case) -> String {
    fill_with(pattern, case, |value| regex::escape(&value))
}

fn fill_with(text: &str, case: &Case, write: impl Fn(String) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let value = after
            .split_once('}')
            .and_then(|(name, after)| Some((case.get(name)?, after)));
        rest = match value {
            Some((value, after)) => {
                out.push_str(&write(plain(value)));
                after
            }
            None => {
                out.push_str("${");
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// [`fill`] in every string of a value. A string that is nothing but `${name}` becomes the case's value itself, so
/// that a number stays one.
pub(super) fn fill_value(value: &Value, case: &Case) -> Value {
    match value {
        Value::String(text) => {
            let name = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
            match name.and_then(|name| case.get(name)) {
                Some(value) => value.clone(),
                None => Value::String(fill(text, case)),
            }
        }
        Value::Array(items) => items.iter().map(|item| fill_value(item, case)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), fill_value(value, case)))
            .collect(),
        _ => value.clone(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
