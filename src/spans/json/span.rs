//! One OTLP/JSON `Span` and what lies in it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess};

use super::read::{Got, List, ListSeed, Object, ObjectSeed, Scalar, ScalarSeed, TextSeed, skip};
use crate::spans::bounds::{Allowance, DEPTH};
use crate::spans::{
    AttrValue, Attributes, Decoder, Ids, Link, Reject, Scope, Span, SpanEvent, SpanId, Status,
    TraceId,
};

/// A span being read. Its first fault rejects it, after all of it has been stepped over.
pub(super) struct SpanObject<'d> {
    allowance: Allowance<'d>,
    ids: Ids,
    span: Span,
    fault: Option<Reject>,
}

impl<'d> SpanObject<'d> {
    pub(super) fn new(
        decoder: &'d mut Decoder,
        scope: Arc<Scope>,
        resource: Arc<Attributes>,
    ) -> Self {
        Self {
            allowance: Allowance::new(&mut decoder.texts, decoder.attribute),
            ids: decoder.ids,
            span: Span::empty(scope, resource),
            fault: None,
        }
    }

    pub(super) fn finish(mut self, got: Got) -> Result<Span, Reject> {
        self.span.cut |= self.allowance.cut;
        match self.fault {
            _ if got != Got::Taken => Err(Reject::Malformed),
            Some(fault) => Err(fault),
            None => self.span.checked(),
        }
    }

    /// The value, or its fault noted and a default.
    fn sound<T: Default>(&mut self, value: Result<T, Reject>) -> T {
        value.unwrap_or_else(|fault| {
            self.fault.get_or_insert(fault);
            T::default()
        })
    }

    /// The value of what only describes: wrong, it is left at its default and the span marked.
    fn described<T: Default>(&mut self, value: Option<T>) -> T {
        self.allowance.cut |= value.is_none();
        value.unwrap_or_default()
    }
}

impl<'de> Object<'de> for SpanObject<'_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "traceId" => {
                let id = id(&map.next_value_seed(ScalarSeed)?, self.ids);
                self.span.trace_id = TraceId(self.sound(id));
            }
            "spanId" => {
                let id = id(&map.next_value_seed(ScalarSeed)?, self.ids);
                self.span.span_id = SpanId(self.sound(id));
            }
            "parentSpanId" => {
                let id = id(&map.next_value_seed(ScalarSeed)?, self.ids);
                self.span.parent = Some(SpanId(self.sound(id))).filter(|id| !id.is_zero());
            }
            "name" => self.span.name = map.next_value_seed(TextSeed::own(&mut self.allowance))?,
            "kind" => {
                let kind = kind(&map.next_value_seed(ScalarSeed)?);
                self.span.kind = self.described(kind);
            }
            "startTimeUnixNano" => {
                let time = map.next_value_seed(ScalarSeed)?.unsigned();
                self.span.start = self.sound(time.ok_or(Reject::BadTime));
            }
            "endTimeUnixNano" => {
                let time = map.next_value_seed(ScalarSeed)?.unsigned();
                self.span.end = self.sound(time.ok_or(Reject::BadTime));
            }
            "attributes" => {
                let into = &mut self.span.attributes.0;
                let got =
                    map.next_value_seed(ListSeed(&mut PairList::new(&mut self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            "events" => {
                let (allowance, into) = (&mut self.allowance, &mut self.span.events);
                let got = map.next_value_seed(ListSeed(&mut Events { allowance, into }))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            "links" => {
                let mut links = Links {
                    allowance: &mut self.allowance,
                    ids: self.ids,
                    into: &mut self.span.links,
                    fault: &mut self.fault,
                };
                let got = map.next_value_seed(ListSeed(&mut links))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            "status" => {
                let mut status = StatusObject {
                    allowance: &mut self.allowance,
                    span: &mut self.span,
                };
                let got = map.next_value_seed(ObjectSeed(&mut status))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            "traceState" => {
                self.span.trace_state = map.next_value_seed(TextSeed::own(&mut self.allowance))?;
            }
            "flags" => {
                let flags = map.next_value_seed(ScalarSeed)?.unsigned();
                let flags = flags.and_then(|flags| u32::try_from(flags).ok());
                self.span.flags = self.described(flags);
            }
            // Ours: a record's row says so of a span that was cut when it was received.
            "cut" => self.span.cut = map.next_value_seed(ScalarSeed)? == Scalar::Bool(true),
            "trace_id" | "span_id" | "parent_span_id" | "start_time_unix_nano" => {
                self.fault.get_or_insert(Reject::SnakeCase);
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// An id of `N` bytes; all zero where there is none. Hex, or base64 where that is allowed: the lengths differ.
fn id<const N: usize>(value: &Scalar<'_>, ids: Ids) -> Result<[u8; N], Reject> {
    let text = match value {
        Scalar::Absent => return Ok([0; N]),
        Scalar::Text(text) if text.is_empty() => return Ok([0; N]),
        Scalar::Text(text) => text.as_bytes(),
        _ => return Err(Reject::BadId),
    };
    if text.len() == 2 * N {
        return hex(text).ok_or(Reject::BadId);
    }
    let mut bytes = [0; N];
    let mut room = [0; 24];
    if text.len() != N.div_ceil(3) * 4 || STANDARD.decode_slice(text, &mut room) != Ok(N) {
        return Err(Reject::BadId);
    }
    if ids == Ids::Hex {
        return Err(Reject::Base64Id);
    }
    bytes.copy_from_slice(&room[..N]);
    Ok(bytes)
}

pub(in crate::spans) fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// OTLP `SpanKind`: its number, or its name with or without the prefix.
fn kind(value: &Scalar<'_>) -> Option<i32> {
    const NAMES: [&str; 6] = [
        "UNSPECIFIED",
        "INTERNAL",
        "SERVER",
        "CLIENT",
        "PRODUCER",
        "CONSUMER",
    ];
    if let Scalar::Text(name) = value {
        let name = name.strip_prefix("SPAN_KIND_").unwrap_or(name);
        if let Some(number) = NAMES.iter().position(|known| *known == name) {
            return i32::try_from(number).ok();
        }
    }
    value.signed().and_then(|number| i32::try_from(number).ok())
}

struct StatusObject<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    span: &'s mut Span,
}

impl<'de> Object<'de> for StatusObject<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "code" => {
                let code = map.next_value_seed(ScalarSeed)?;
                let known = match &code {
                    Scalar::Text(name) if name.ends_with("ERROR") => Some(Status::Error),
                    Scalar::Text(name) if name.ends_with("OK") => Some(Status::Ok),
                    Scalar::Text(name) if name.ends_with("UNSET") => Some(Status::Unset),
                    code => code.unsigned().map(Status::from_number),
                };
                self.allowance.cut |= known.is_none();
                self.span.status = known.unwrap_or_default();
            }
            "message" => {
                self.span.status_message = map.next_value_seed(TextSeed::own(self.allowance))?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Events<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    into: &'s mut Vec<SpanEvent>,
}

impl<'de> List<'de> for Events<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut object = EventObject {
            allowance: self.allowance,
            event: SpanEvent::default(),
        };
        let Some(got) = list.next_element_seed(ObjectSeed(&mut object))? else {
            return Ok(false);
        };
        let event = object.event;
        if got != Got::Taken {
            self.allowance.cut = true;
        } else if self.allowance.element() {
            self.into.push(event);
        }
        Ok(true)
    }
}

struct EventObject<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    event: SpanEvent,
}

impl<'de> Object<'de> for EventObject<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.event.name = map.next_value_seed(TextSeed::own(self.allowance))?,
            "timeUnixNano" => {
                let at = map.next_value_seed(ScalarSeed)?.unsigned();
                self.allowance.cut |= at.is_none();
                self.event.at = at.unwrap_or_default();
            }
            "attributes" => {
                let into = &mut self.event.attributes.0;
                let got =
                    map.next_value_seed(ListSeed(&mut PairList::new(self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Links<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    ids: Ids,
    into: &'s mut Vec<Link>,
    fault: &'s mut Option<Reject>,
}

impl<'de> List<'de> for Links<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut object = LinkObject {
            allowance: self.allowance,
            ids: self.ids,
            link: Link::default(),
            fault: self.fault,
        };
        let Some(got) = list.next_element_seed(ObjectSeed(&mut object))? else {
            return Ok(false);
        };
        let link = object.link;
        if got != Got::Taken {
            self.allowance.cut = true;
        } else if self.allowance.element() {
            self.into.push(link);
        }
        Ok(true)
    }
}

struct LinkObject<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    ids: Ids,
    link: Link,
    fault: &'s mut Option<Reject>,
}

impl<'de> Object<'de> for LinkObject<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "traceId" => match id(&map.next_value_seed(ScalarSeed)?, self.ids) {
                Ok(bytes) => self.link.trace_id = TraceId(bytes),
                Err(fault) => *self.fault = Some(fault),
            },
            "spanId" => match id(&map.next_value_seed(ScalarSeed)?, self.ids) {
                Ok(bytes) => self.link.span_id = SpanId(bytes),
                Err(fault) => *self.fault = Some(fault),
            },
            "attributes" => {
                let into = &mut self.link.attributes.0;
                let got =
                    map.next_value_seed(ListSeed(&mut PairList::new(self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

/// A list of `KeyValue`: attributes, or the values of a `kvlistValue`.
pub(super) struct PairList<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    into: &'s mut Vec<(Arc<str>, AttrValue)>,
    depth: usize,
}

impl<'s, 'd> PairList<'s, 'd> {
    /// Attributes: each pair has a bound of its own.
    pub(super) fn new(
        allowance: &'s mut Allowance<'d>,
        into: &'s mut Vec<(Arc<str>, AttrValue)>,
    ) -> Self {
        Self {
            allowance,
            into,
            depth: 0,
        }
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
                self.pair.1 = map.next_value_seed(ValueSeed {
                    allowance: self.allowance,
                    depth: self.depth,
                })?;
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
        let mut object = ValueObject {
            allowance: self.allowance,
            depth: self.depth,
            value: AttrValue::Empty,
        };
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
        Self {
            allowance,
            depth: depth + 1,
            found,
        }
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
        let seed = ValueSeed {
            allowance: self.allowance,
            depth: self.depth,
        };
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
            let mut pairs = PairList {
                allowance: self.allowance,
                into: &mut self.found,
                depth: self.depth,
            };
            return map.next_value_seed(ListSeed(&mut pairs)).map(drop);
        }
        skip(map)
    }
}
