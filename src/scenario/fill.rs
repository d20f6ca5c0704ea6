//! `${name}`: values of a case in texts and in JSON. One pass; what a value holds is never filled again.
//!
//! A name the case does not define is left as it stands: `${port}` and `${trial}` belong to the app's side, and whether
//! a name is defined at all was settled at load.

use serde_json::Value;

use super::Case;

/// The text with every `${name}` that `case` defines replaced: texts as they are, other values as JSON.
pub fn fill(text: &str, case: &Case) -> String {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Name { name, written } => match case.get(name) {
                Some(Value::String(value)) => filled.push_str(value),
                Some(value) => filled.push_str(&value.to_string()),
                None => filled.push_str(written),
            },
        }
    }
    filled
}

/// The value with every text in it filled; a text that is one placeholder and nothing else becomes the case's value
/// with its type. Keys are not filled.
pub fn fill_value(value: &Value, case: &Case) -> Value {
    match value {
        Value::String(text) => {
            whole(text).and_then(|name| case.get(name)).cloned().unwrap_or_else(|| fill(text, case).into())
        }
        Value::Array(items) => items.iter().map(|item| fill_value(item, case)).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, item)| (key.clone(), fill_value(item, case))).collect()
        }
        other => other.clone(),
    }
}

/// The names that placeholders of `text` stand for, in order.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Name { name, .. } => Some(name),
        Piece::Text(_) => None,
    })
}

/// Whether `text` may name a value of a case: a letter or `_`, then letters, digits, `_`.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

enum Piece<'a> {
    Text(&'a str),
    Name { name: &'a str, written: &'a str },
}

fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    is_name(name).then_some(name)
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(name) = leading(rest) {
            let (written, after) = rest.split_at(name.len() + 3);
            rest = after;
            return Some(Piece::Name { name, written });
        }
        // At least one byte on: `rest` may start with a `${` that is no placeholder.
        let next = rest
            .match_indices("${")
            .map(|(at, _)| at)
            .find(|&at| at > 0 && leading(&rest[at..]).is_some())
            .unwrap_or(rest.len());
        let (plain, after) = rest.split_at(next);
        rest = after;
        Some(Piece::Text(plain))
    })
}

/// The name of the placeholder that `text` starts with.
fn leading(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("${")?;
    let name = &inside[..inside.find('}')?];
    is_name(name).then_some(name)
}
