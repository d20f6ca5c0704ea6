//! YAML text to wire structs, with the place of every leaf: the only file that knows the YAML crate.
//!
//! Strict: one document, no duplicate keys, `yes` and `no` are words, `012` stays text, and a budget bounds what
//! aliases and nesting may cost. What serde says about a fault is told again in our own words and with a near miss.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Error, Options, Spanned};

use crate::scenario::Pos;
use crate::scenario::names::near_miss;

/// More text than this is no contract or scenario, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// A value and the place where it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// What was written.
    pub value: T,
    /// Where; `0:0` where a value was not read from YAML.
    pub pos: Pos,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer)
            .map(|spanned: Spanned<T>| Self { pos: pos(spanned.referenced), value: spanned.value })
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

fn pos(location: serde_saphyr::Location) -> Pos {
    let whole = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Pos { line: whole(location.line()), column: whole(location.column()) }
}

/// A free-form value that remembers where each of its parts stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Free {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    /// In order.
    List(Vec<At<Free>>),
    /// In the order of the file.
    Map(Vec<(At<String>, At<Free>)>),
}

impl Free {
    /// The value without its places.
    pub fn value(&self) -> Value {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => items.iter().map(|item| item.value.value()).collect(),
            Self::Map(entries) => {
                entries.iter().map(|(key, item)| (key.value.clone(), item.value.value())).collect()
            }
        }
    }

    /// Hands every scalar to `see`, with its place.
    pub fn scalars<'a>(&'a self, at: Pos, see: &mut impl FnMut(Pos, &'a Value)) {
        match self {
            Self::Scalar(value) => see(at, value),
            Self::List(items) => items.iter().for_each(|item| item.value.scalars(item.pos, see)),
            Self::Map(entries) => entries.iter().for_each(|(_, item)| item.value.scalars(item.pos, see)),
        }
    }
}

impl<'de> Deserialize<'de> for Free {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FreeVisitor)
    }
}

impl schemars::JsonSchema for Free {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Free".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

struct FreeVisitor;

impl<'de> Visitor<'de> for FreeVisitor {
    type Value = Free;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_unit<E>(self) -> Result<Free, E> {
        Ok(Free::Scalar(Value::Null))
    }
    fn visit_none<E>(self) -> Result<Free, E> {
        Ok(Free::Scalar(Value::Null))
    }
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Free, D::Error> {
        Free::deserialize(inner)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Free, E> {
        Ok(Free::Scalar(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Free, E> {
        Ok(Free::Scalar(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Free, E> {
        Ok(Free::Scalar(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Free, E> {
        Ok(Free::Scalar(value.into()))
    }
    fn visit_str<E>(self, value: &str) -> Result<Free, E> {
        Ok(Free::Scalar(value.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Free, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Free::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Free, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Free::Map(entries))
    }
}

/// Why a text is no such file: one fault, since a reader of structure cannot go on after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    /// Where.
    pub pos: Pos,
    /// Stable code.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: Option<String>,
}

/// Reads `text` as a `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Misread> {
    if text.len() > MAX_BYTES {
        return Err(Misread {
            pos: Pos { line: 1, column: 1 },
            code: "yaml.too_large",
            what: format!("the file is larger than {} MB", MAX_BYTES >> 20),
            help: None,
        });
    }
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| misread(&error))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 200_000,
            max_events: 500_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_documents: 1,
            max_total_scalar_bytes: 2 * MAX_BYTES,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn misread(error: &Error) -> Misread {
    let error = error.without_snippet();
    let pos = error.location().map(pos).unwrap_or_default();
    let (code, what, help) = match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            let what = format!("unknown key `{field}`");
            ("key.unknown", what, expectation(field, expected))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            let what = format!("`{variant}` is not one of the words that may stand here");
            ("word.unknown", what, expectation(variant, expected))
        }
        Error::SerdeMissingField { field, .. } => {
            ("key.missing", format!("the key `{field}` is missing"), None)
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            let what = format!("the key `{key}` is written twice");
            ("key.repeated", what, Some("keep one of the two".to_owned()))
        }
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            let what = format!("expected {expected}, found {unexpected}");
            ("value.type", what, None)
        }
        other => ("yaml.syntax", plain(&other.to_string()), None),
    };
    Misread { pos: Pos { line: pos.line.max(1), column: pos.column.max(1) }, code, what, help }
}

fn expectation(written: &str, expected: &[&'static str]) -> Option<String> {
    near_miss(written, expected.iter().copied()).or_else(|| {
        let known: Vec<_> = expected.iter().map(|key| format!("`{key}`")).collect();
        (!known.is_empty()).then(|| format!("known here: {}", known.join(", ")))
    })
}

/// The crate's own words, on one line and without the place, which stands before it already.
fn plain(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.split(" at line ").next().unwrap_or(line);
    line.trim_start_matches("error: ").trim().to_owned()
}
