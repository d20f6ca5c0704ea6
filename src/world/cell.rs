//! One value of the database, and how a record writes it so that it comes back bit for bit.
//!
//! JSON alone cannot: RFC 8785 writes the real 1.0 and the integer 1 alike, rounds integers above 2^53, and has neither
//! blobs nor text that is not UTF-8. Such values are one-key objects: `{"i":"9007199254740993"}`, `{"r":"1.0"}`,
//! `{"b":"<base64>"}`, `{"t":"<base64>"}` (text that is not UTF-8). No cell is an object otherwise.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde_json::{Value, json};

/// A value with its storage class. Equality and order are of bits, not of SQL: 1 and 1.0 differ, so do 0.0 and -0.0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    /// The bits of an `f64`.
    Real(u64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// What stands where a cell should, in a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cell")]
pub struct BadCell(pub String);

/// The largest integer that every JSON reader keeps.
const MAX_EXACT: u64 = 1 << 53;

impl Cell {
    pub fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(i) => Self::Integer(i),
            ValueRef::Real(r) => Self::Real(r.to_bits()),
            ValueRef::Text(text) => Self::Text(text.to_vec()),
            ValueRef::Blob(blob) => Self::Blob(blob.to_vec()),
        }
    }

    /// As a record writes it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(i) if i.unsigned_abs() <= MAX_EXACT => json!(i),
            Self::Integer(i) => json!({ "i": i.to_string() }),
            Self::Real(bits) => {
                let real = f64::from_bits(*bits);
                if real.is_finite() && real.fract() != 0.0 {
                    json!(real)
                } else {
                    json!({ "r": format!("{real:?}") })
                }
            }
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => json!(text),
                Err(_) => json!({ "t": STANDARD.encode(bytes) }),
            },
            Self::Blob(bytes) => json!({ "b": STANDARD.encode(bytes) }),
        }
    }

    /// As a record wrote it.
    pub fn from_json(value: &Value) -> Result<Self, BadCell> {
        let bad = || BadCell(value.to_string());
        match value {
            Value::Null => Ok(Self::Null),
            Value::String(text) => Ok(Self::Text(text.clone().into_bytes())),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(i), _) => Ok(Self::Integer(i)),
                (None, Some(real)) if real.fract() != 0.0 => Ok(Self::Real(real.to_bits())),
                _ => Err(bad()),
            },
            Value::Object(fields) => {
                let mut entries = fields.iter();
                let (Some((key, Value::String(text))), None) = (entries.next(), entries.next()) else {
                    return Err(bad());
                };
                match key.as_str() {
                    "i" => text.parse().map(Self::Integer).map_err(|_| bad()),
                    "r" => text.parse().map(|real: f64| Self::Real(real.to_bits())).map_err(|_| bad()),
                    "t" => STANDARD.decode(text).map(Self::Text).map_err(|_| bad()),
                    "b" => STANDARD.decode(text).map(Self::Blob).map_err(|_| bad()),
                    _ => Err(bad()),
                }
            }
            Value::Bool(_) | Value::Array(_) => Err(bad()),
        }
    }

    /// The value that stands for an argument or a case's value: lists and objects as JSON text, booleans as 0 and 1.
    /// An unsigned integer that SQLite cannot hold is an error.
    pub fn of_argument(value: &Value) -> Result<Self, BadCell> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(yes) => Self::Integer(i64::from(*yes)),
            Value::String(text) => Self::Text(text.clone().into_bytes()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(i), _) => Self::Integer(i),
                (None, Some(real)) if !number.is_u64() => Self::Real(real.to_bits()),
                _ => return Err(BadCell(number.to_string())),
            },
            Value::Array(_) | Value::Object(_) => Self::Text(value.to_string().into_bytes()),
        })
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(i) => ValueRef::Integer(*i),
            Self::Real(bits) => ValueRef::Real(f64::from_bits(*bits)),
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
