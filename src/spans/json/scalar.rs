//! Scalars of OTLP/JSON, whatever JSON type an exporter chose for them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::read::{drain_list, drain_map};
use crate::spans::bounds::Allowance;

/// A small value: number, truth value, id, name of an enum. Long texts go through [`TextSeed`] instead.
#[derive(Debug, PartialEq)]
pub(super) enum Scalar<'de> {
    Absent,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Double(f64),
    Text(Cow<'de, str>),
    WrongType,
}

impl Scalar<'_> {
    /// An unsigned 64-bit number: as a number, a whole double, or decimal text. `None` where it is none of these.
    pub(super) fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Absent => Some(0),
            Self::Unsigned(number) => Some(*number),
            Self::Double(number) if number.fract() == 0.0 && (0.0..=TWO_63).contains(number) => {
                Some(*number as u64)
            }
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A signed 64-bit number, by the same rules.
    pub(super) fn signed(&self) -> Option<i64> {
        match self {
            Self::Absent => Some(0),
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Negative(number) => Some(*number),
            Self::Double(number) if number.fract() == 0.0 && number.abs() < TWO_63 => Some(*number as i64),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A double: as a number, or as text, where `NaN`, `Infinity` and `-Infinity` are allowed as well.
    pub(super) fn double(&self) -> Option<f64> {
        match self {
            Self::Unsigned(number) => Some(*number as f64),
            Self::Negative(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

pub(super) struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Scalar<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar<'de>, E> {
        Ok(u64::try_from(value).map_or(Scalar::Negative(value), Scalar::Unsigned))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Double(value))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Absent)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalar<'de>, A::Error> {
        drain_list(list).map(|()| Scalar::WrongType)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar<'de>, A::Error> {
        drain_map(map).map(|()| Scalar::WrongType)
    }
}

/// A text, copied once, straight into what is kept. `null` is empty; a wrong type is empty and marks the span.
pub(super) struct TextSeed<'a, 't>(&'a mut Allowance<'t>);

impl<'a, 't> TextSeed<'a, 't> {
    /// A text with a bound of its own.
    pub(super) fn own(allowance: &'a mut Allowance<'t>) -> Self {
        allowance.next();
        Self(allowance)
    }

    /// A text that counts towards the attribute in hand.
    pub(super) fn part(allowance: &'a mut Allowance<'t>) -> Self {
        Self(allowance)
    }

    fn wrong(self) -> Arc<str> {
        self.0.cut = true;
        Arc::default()
    }
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_, '_> {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Arc<str>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed<'_, '_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Arc<str>, E> {
        Ok(self.0.text(text.as_bytes()))
    }

    fn visit_unit<E>(self) -> Result<Arc<str>, E> {
        Ok(Arc::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Arc<str>, E> {
        Ok(self.wrong())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Arc<str>, E> {
        Ok(self.wrong())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Arc<str>, E> {
        Ok(self.wrong())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Arc<str>, E> {
        Ok(self.wrong())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Arc<str>, A::Error> {
        drain_list(list).map(|()| self.wrong())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arc<str>, A::Error> {
        drain_map(map).map(|()| self.wrong())
    }
}
