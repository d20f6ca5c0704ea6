//! Arguments of a tool as JSON Schema (draft 2020-12), from the short form or from a file.

use serde_json::{Map, Value, json};

use super::ReadFile;
use super::reader::Reader;
use crate::scenario::file::world::ArgsFile;
use crate::scenario::file::{At, Free};
use crate::scenario::names::near_miss;
use crate::scenario::{Pos, Source};

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "object", "array"];

/// The short form, written out. Arguments it does not name are allowed: they are passed and recorded.
pub(super) fn from_short(reader: &mut Reader, file: &At<ArgsFile>) -> Option<Value> {
    let entries = file.value.0.0.iter();
    object(reader, entries.map(|(name, kind)| (name, kind.pos, &kind.value)))
}

fn object<'f>(
    reader: &mut Reader,
    entries: impl Iterator<Item = (&'f At<String>, Pos, &'f Free)>,
) -> Option<Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut whole = true;
    for (key, pos, kind) in entries {
        let (name, optional) = match key.value.strip_suffix('?') {
            Some(name) => (name, true),
            None => (key.value.as_str(), false),
        };
        if name.is_empty() || properties.contains_key(name) {
            reader.error(key.pos, "args.name", format!("`{}` names no new argument", key.value));
            whole = false;
            continue;
        }
        let schema = kind_of(reader, pos, kind);
        whole &= schema.is_some();
        properties.insert(name.to_owned(), schema.unwrap_or(json!({})));
        if !optional {
            required.push(Value::from(name));
        }
    }
    // A fault leaves no schema, so that nothing else is told against half of one.
    whole.then(|| json!({ "type": "object", "properties": properties, "required": required }))
}

fn kind_of(reader: &mut Reader, pos: Pos, kind: &Free) -> Option<Value> {
    match kind {
        Free::Scalar(Value::String(word)) if TYPES.contains(&word.as_str()) => Some(json!({ "type": word })),
        Free::Scalar(other) => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            reader.error(pos, "args.type", format!("`{text}` is no type of an argument")).help(
                near_miss(&text, TYPES.iter().copied())
                    .or_else(|| Some(format!("one of {}, a list of values, or a table", TYPES.join(", ")))),
            );
            None
        }
        Free::Map(entries) => {
            object(reader, entries.iter().map(|(name, kind)| (name, kind.pos, &kind.value)))
        }
        Free::List(items) => list(reader, pos, items),
    }
}

/// One type is a list of it; values are an enum. A list that could be either is neither.
fn list(reader: &mut Reader, pos: Pos, items: &[At<Free>]) -> Option<Value> {
    let is_type = |item: &At<Free>| match &item.value {
        Free::Scalar(value) => value.as_str().is_some_and(|word| TYPES.contains(&word)),
        Free::Map(_) | Free::List(_) => true,
    };
    match items {
        [] => {
            reader.error(pos, "args.empty", "an empty list names no value");
            None
        }
        [item] if is_type(item) => {
            let items = kind_of(reader, item.pos, &item.value)?;
            Some(json!({ "type": "array", "items": items }))
        }
        items if items.iter().any(is_type) => {
            reader
                .error(pos, "args.ambiguous", "a list is one type, or values none of which is a type")
                .help("say it in a file of JSON Schema: `args_schema: FILE`".to_owned());
            None
        }
        items => {
            let values: Vec<_> = items.iter().map(|item| item.value.value()).collect();
            Some(json!({ "enum": values }))
        }
    }
}

/// A file of JSON Schema for an object.
pub(super) fn from_file(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    name: &At<String>,
) -> Option<Value> {
    let source = reader.file(read, name)?;
    let schema = serde_json::from_str::<Value>(&source.text);
    files.push(source);
    match schema {
        Ok(schema) if schema["type"] == "object" => Some(schema),
        Ok(_) => {
            reader
                .error(name.pos, "args.schema", format!("`{}` is no schema of an object", name.value))
                .help("arguments are an object: `\"type\": \"object\"`".to_owned());
            None
        }
        Err(error) => {
            let what = format!("`{}` is no JSON: {error}", name.value);
            reader.error(name.pos, "args.schema", what);
            None
        }
    }
}
