//! The events and links of an OTLP/JSON span.

use serde::de::{MapAccess, SeqAccess};

use super::read::{Got, List, ListSeed, Object, ObjectSeed, skip};
use super::scalar::{ScalarSeed, TextSeed};
use super::span::id;
use super::value::PairList;
use crate::spans::bounds::Allowance;
use crate::spans::{Ids, Link, Reject, SpanEvent, SpanId, TraceId};

pub(super) struct Events<'s, 'd> {
    allowance: &'s mut Allowance<'d>,
    into: &'s mut Vec<SpanEvent>,
}

impl<'s, 'd> Events<'s, 'd> {
    pub(super) fn new(allowance: &'s mut Allowance<'d>, into: &'s mut Vec<SpanEvent>) -> Self {
        Self { allowance, into }
    }
}

impl<'de> List<'de> for Events<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut object = EventObject { allowance: self.allowance, event: SpanEvent::default() };
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
                let got = map.next_value_seed(ListSeed(&mut PairList::new(self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

pub(super) struct Links<'s, 'd> {
    pub(super) allowance: &'s mut Allowance<'d>,
    pub(super) ids: Ids,
    pub(super) into: &'s mut Vec<Link>,
    /// Where a link is to nowhere: links are structure, so it rejects the span.
    pub(super) fault: &'s mut Option<Reject>,
}

impl<'de> List<'de> for Links<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut object =
            LinkObject { allowance: self.allowance, ids: self.ids, link: Link::default(), fault: self.fault };
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
                let got = map.next_value_seed(ListSeed(&mut PairList::new(self.allowance, into)))?;
                self.allowance.cut |= got == Got::WrongType;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}
