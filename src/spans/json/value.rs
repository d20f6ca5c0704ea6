//! OTLP/JSON attributes: `KeyValue` and `AnyValue`. A value of the wrong type is left empty and marks its span.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess};

use super::read::{Got, List, ListSeed, Object, ObjectSeed, skip};
use super::scalar::{Scalar, ScalarSeed, TextSeed};
use crate::spans::AttrValue;
use crate::spans::bounds::{Allowance, DEPTH};

/// A list of `KeyValue`: attributes, or the values of a `kvlistValue`.
pub(super) struct PairList<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    into: &'s mut Vec<(Arc<str>, AttrValue)>,
    depth: usize,
}

impl<'s, 'd> PairList<'s, 'd> {
    /// Attributes: each pair has a bound of its own.
    pub(super) fn new(allowance: &'s mut Allowance<'d>, into: &'s mut Vec<(Arc<str>, AttrValue)>) -> Self {
        Self { allowance, into, depth: 0 }
    }
}

impl<'de> List<'de> for PairList<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut object = PairObject {
            allowance: self.allowance,
            pair: (Arc::default(), AttrValue::Empty),
            depth: self.depth,
        };
        let Some(got) = list.next_element_seed(ObjectSeed(&mut object))? else {
            return Ok(false);
        };
        let pair = object.pair;
        if got != Got::Taken {
            self.allowance.cut = true;
        } else if self.allowance.element() {
            self.into.push(pair);
        }
        Ok(true)
    }
}

struct PairObject<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    pair: (Arc<str>, AttrValue),
    depth: usize,
}

impl<'de> Object<'de> for PairObject<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "key" if self.depth == 0 => {
                self.pair.0 = map.next_value_seed(TextSeed::own(self.allowance))?;
            }
            "key" => self.pair.0 = map.next_value_seed(TextSeed::part(self.allowance))?,
            "value" => {
                if self.depth == 0 {
                    self.allowance.next();
                }
                self.pair.1 =
                    map.next_value_seed(ValueSeed { allowance: self.allowance, depth: self.depth })?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// One `AnyValue`.
struct ValueSeed<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = AttrValue;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<AttrValue, D::Error> {
        let mut object =
            ValueObject { allowance: self.allowance, depth: self.depth, value: AttrValue::Empty };
        let got = from.deserialize_any(ObjectSeed(&mut object))?;
        let value = object.value;
        self.allowance.cut |= got == Got::WrongType;
        Ok(value)
    }
}

struct ValueObject<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    depth: usize,
    value: AttrValue,
}

impl ValueObject<'_, '_> {
    /// A scalar of its kind; another one leaves the value empty and marks the span.
    fn scalar<T>(&mut self, read: Option<T>, make: impl Fn(T) -> AttrValue) {
        self.allowance.cut |= read.is_none();
        self.value = read.map_or(AttrValue::Empty, make);
    }
}

impl<'de> Object<'de> for ValueObject<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "stringValue" => {
                self.value = AttrValue::Str(map.next_value_seed(TextSeed::part(self.allowance))?);
            }
            "boolValue" => match map.next_value_seed(ScalarSeed)? {
                Scalar::Bool(value) => self.value = AttrValue::Bool(value),
                _ => self.scalar(None, AttrValue::Bool),
            },
            "intValue" => {
                let number = map.next_value_seed(ScalarSeed)?.signed();
                self.scalar(number, AttrValue::Int);
            }
            "doubleValue" => {
                let number = map.next_value_seed(ScalarSeed)?.double();
                self.scalar(number, AttrValue::Double);
            }
            "bytesValue" => {
                let bytes = match map.next_value_seed(ScalarSeed)? {
                    Scalar::Text(text) => STANDARD.decode(text.as_bytes()).ok(),
                    _ => None,
                };
                let bytes = bytes.map(|bytes| self.allowance.bytes(&bytes));
                self.scalar(bytes, AttrValue::Bytes);
            }
            "arrayValue" | "kvlistValue" if self.depth == DEPTH => {
                self.allowance.cut = true;
                skip(map)?;
            }
            "arrayValue" => {
                let mut values = Nested::new(self.allowance, self.depth, Vec::new());
                map.next_value_seed(ObjectSeed(&mut values))?;
                self.value = AttrValue::List(values.found);
            }
            "kvlistValue" => {
                let mut pairs = Nested::new(self.allowance, self.depth, Vec::new());
                map.next_value_seed(ObjectSeed(&mut pairs))?;
                self.value = AttrValue::Map(pairs.found);
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// An `ArrayValue` or a `KeyValueList`: `{"values": […]}` in both.
struct Nested<'s, 'd, T> {
    allowance: &'s mut Allowance<'d>,
    depth: usize,
    found: Vec<T>,
}

impl<'s, 'd, T> Nested<'s, 'd, T> {
    fn new(allowance: &'s mut Allowance<'d>, depth: usize, found: Vec<T>) -> Self {
        Self { allowance, depth: depth + 1, found }
    }
}

impl<'de> Object<'de> for Nested<'_, '_, AttrValue> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key == "values" {
            return map.next_value_seed(ListSeed(self)).map(drop);
        }
        skip(map)
    }
}

impl<'de> List<'de> for Nested<'_, '_, AttrValue> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let seed = ValueSeed { allowance: self.allowance, depth: self.depth };
        let Some(value) = list.next_element_seed(seed)? else {
            return Ok(false);
        };
        if self.allowance.element() {
            self.found.push(value);
        }
        Ok(true)
    }
}

impl<'de> Object<'de> for Nested<'_, '_, (Arc<str>, AttrValue)> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key == "values" {
            let mut pairs = PairList { allowance: self.allowance, into: &mut self.found, depth: self.depth };
            return map.next_value_seed(ListSeed(&mut pairs)).map(drop);
        }
        skip(map)
    }
}
