//! Small forms that many keys share: a short and a long way to write one thing, tables in file order, durations, sizes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::At;

/// A scalar, or a list or map that says more. Never buffered, so that places survive (an untagged enum loses them).
#[derive(Clone, Debug, PartialEq)]
pub enum Form<S, L> {
    /// The scalar.
    Short(S),
    /// The list or map.
    Long(L),
}

/// One text or several.
pub type Texts = Form<String, Vec<At<String>>>;

impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for Form<S, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<S, L>(PhantomData<(S, L)>);
        impl<'de, S: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for Either<S, L> {
            type Value = Form<S, L>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a single value, or its longer form")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
                S::deserialize(value.into_deserializer()).map(Form::Short)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
                S::deserialize(value.into_deserializer()).map(Form::Short)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
                S::deserialize(value.into_deserializer()).map(Form::Short)
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
                S::deserialize(value.into_deserializer()).map(Form::Short)
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
                S::deserialize(value.into_deserializer()).map(Form::Short)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                L::deserialize(SeqAccessDeserializer::new(seq)).map(Form::Long)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                L::deserialize(MapAccessDeserializer::new(map)).map(Form::Long)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<S: JsonSchema, L: JsonSchema> JsonSchema for Form<S, L> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", S::schema_name(), L::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let short = generator.subschema_for::<S>();
        let long = generator.subschema_for::<L>();
        json_schema!({ "anyOf": [short, long] })
    }
}

/// Entries by name, in the order of the file, each name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T>(pub Vec<(At<String>, T)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Table<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table of names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Table(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Table<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Table_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let entry = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": entry })
    }
}

/// A duration as written: `500ms`, `2s`, `5m`, `1h`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Time(pub String);

impl Time {
    /// The duration, if the text is one: digits, maybe with a fraction, and `ms`, `s`, `m` or `h`; a day at most.
    pub fn duration(text: &str) -> Option<Duration> {
        let (number, unit) = split(text)?;
        let factor = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let seconds = number * factor;
        (seconds <= 86_400.0).then(|| Duration::from_secs_f64(seconds))
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)(\.\.[0-9]+(\.[0-9]+)?(ms|s|m|h))?$",
        })
    }
}

/// A size as written: `64KB`, `16MB`, `1GB`, or bytes. Units are powers of 1024.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Size(pub String);

impl Size {
    /// The size in bytes, if the text is one, and not above 1 TB.
    pub fn bytes(text: &str) -> Option<u64> {
        let (number, unit) = split(text)?;
        let shift = match unit {
            "" | "B" => 0,
            "KB" => 10,
            "MB" => 20,
            "GB" => 30,
            _ => return None,
        };
        let bytes = number * f64::from(1u32 << shift);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and bounded by the line before"
        )]
        (bytes <= 1e12).then_some(bytes as u64)
    }
}

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(B|KB|MB|GB)?$" },
            { "type": "integer", "minimum": 0 },
        ] })
    }
}

fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.ends_with('.') {
        return None;
    }
    Some((number.parse().ok()?, unit))
}
