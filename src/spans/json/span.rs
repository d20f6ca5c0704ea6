//! One OTLP/JSON `Span`: its ids, times, kind and status. Refuses what it cannot be told from others by.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::MapAccess;

use super::parts::{Events, Links};
use super::read::{Got, ListSeed, Object, ObjectSeed, skip};
use super::scalar::{Scalar, ScalarSeed, TextSeed};
use super::value::PairList;
use crate::spans::bounds::Allowance;
use crate::spans::{Attributes, Decoder, Ids, Reject, Scope, Span, SpanId, Status, TraceId};

/// A span being read. Its first fault rejects it, after all of it has been stepped over.
pub(super) struct SpanObject<'d> {
    allowance: Allowance<'d>,
    ids: Ids,
    span: Span,
    fault: Option<Reject>,
}

impl<'d> SpanObject<'d> {
    pub(super) fn new(decoder: &'d mut Decoder, scope: Arc<Scope>, resource: Arc<Attributes>) -> Self {
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
                let got = map.next_value_seed(ListSeed(&mut PairList::new(&mut self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            "events" => {
                let (allowance, into) = (&mut self.allowance, &mut self.span.events);
                let got = map.next_value_seed(ListSeed(&mut Events::new(allowance, into)))?;
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
                let mut status = StatusObject { allowance: &mut self.allowance, span: &mut self.span };
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
pub(super) fn id<const N: usize>(value: &Scalar<'_>, ids: Ids) -> Result<[u8; N], Reject> {
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
    const NAMES: [&str; 6] = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
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
