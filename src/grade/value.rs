//! How recorded values are compared with values asked for.
//!
//! Numbers compare by value (1250 is 1250.0, and integers beyond 2^53 stay exact), never by how they were written.
//! A string is never a number.

use serde_json::{Number, Value};

use crate::scenario::Case;

/// Whether both are the same JSON value.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether `seen` holds all that `asked` asks: objects may hold more keys, at every depth; lists are compared whole.
pub(super) fn holds(seen: &Value, asked: &Value) -> bool {
    match (seen, asked) {
        (Value::Object(seen), Value::Object(asked)) => {
            asked.iter().all(|(key, asked)| seen.get(key).is_some_and(|seen| holds(seen, asked)))
        }
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

/// A case whose values stand for themselves in a regular expression and mean nothing else.
pub(super) fn escaped(case: &Case) -> Case {
    let escape = |value: &Value| match value {
        Value::String(text) => regex::escape(text),
        other => regex::escape(&other.to_string()),
    };
    case.iter().map(|(name, value)| (name.clone(), Value::String(escape(value)))).collect()
}
