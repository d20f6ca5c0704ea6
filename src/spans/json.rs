//! OTLP/JSON, and Tempo's JSON, in one streaming pass.
//!
//! Tolerant by field and by span: `null` is absent, numbers may be strings, enums may be names, unknown keys are
//! stepped over. A wrong type in what decides structure rejects that span; in what only describes it leaves the
//! value empty and marks the span. Only text that is no JSON, or no export request, refuses the whole body. No tree of
//! values is built: a wrong type must not end the pass, so every visitor accepts anything and says what it got.

mod parts;
mod read;
mod scalar;
mod span;
mod value;

use std::sync::Arc;

use serde::Deserializer;
use serde::de::{MapAccess, SeqAccess};

use super::bounds::Allowance;
use super::{Attributes, Batch, Decoder, Malformed, Scope, Span};
use read::{Got, List, ListSeed, Object, ObjectSeed, skip};
use scalar::TextSeed;
use span::SpanObject;
pub(super) use span::hex;
use value::PairList;

pub(super) fn decode(decoder: &mut Decoder, body: &[u8]) -> Result<Batch, Malformed> {
    let mut request = Request { decoder, batch: Batch::default(), refused: None, known: false };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let got = reader
        .deserialize_any(ObjectSeed(&mut request))
        .and_then(|got| reader.end().map(|()| got))
        .map_err(|why| if why.is_eof() { Malformed::JsonEnds } else { Malformed::Json(why.to_string()) })?;
    match request.refused {
        Some(refused) => Err(refused),
        None if got != Got::Taken => Err(Malformed::WrongType("the request")),
        // `{}` is how an exporter says "nothing"; anything else must name its spans.
        None if !request.known => Err(Malformed::NoSpans),
        None => Ok(request.batch),
    }
}

/// One span as it stands in a record's row, with the scope and resource that stand beside it.
pub(super) fn decode_span<'de, D: Deserializer<'de>>(
    decoder: &mut Decoder,
    from: D,
    scope: &Arc<Scope>,
    resource: &Arc<Attributes>,
) -> Result<Result<Span, super::Reject>, D::Error> {
    let mut object = SpanObject::new(decoder, Arc::clone(scope), Arc::clone(resource));
    let got = from.deserialize_any(ObjectSeed(&mut object))?;
    Ok(object.finish(got))
}

/// A scope object as a record's row has it.
pub(super) fn decode_scope<'de, D: Deserializer<'de>>(
    decoder: &mut Decoder,
    from: D,
) -> Result<Scope, D::Error> {
    let mut scope = ScopeObject::new(decoder);
    from.deserialize_any(ObjectSeed(&mut scope))?;
    Ok(scope.scope)
}

/// A resource object as a record's row has it.
pub(super) fn decode_resource<'de, D: Deserializer<'de>>(
    decoder: &mut Decoder,
    from: D,
) -> Result<Attributes, D::Error> {
    let mut resource = ResourceObject::new(decoder);
    from.deserialize_any(ObjectSeed(&mut resource))?;
    Ok(resource.attributes)
}

/// `ExportTraceServiceRequest`, `TracesData`, or a Tempo export: `{"batches": […]}`, `{"trace": {…}}`.
struct Request<'d> {
    decoder: &'d mut Decoder,
    batch: Batch,
    refused: Option<Malformed>,
    /// Whether any key was one of a request.
    known: bool,
}

impl Request<'_> {
    fn refuse(&mut self, why: Malformed) {
        self.refused.get_or_insert(why);
    }

    fn expect(&mut self, got: Got, what: &'static str) {
        if got == Got::WrongType {
            self.refuse(Malformed::WrongType(what));
        }
    }
}

impl<'de> Object<'de> for Request<'_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "resourceSpans" | "batches" => {
                self.known = true;
                let got = map.next_value_seed(ListSeed(&mut Resources(self)))?;
                self.expect(got, "resourceSpans");
            }
            "trace" => {
                let got = map.next_value_seed(ObjectSeed(self))?;
                self.expect(got, "trace");
            }
            "resource_spans" => {
                self.refuse(Malformed::SnakeCase("resource_spans"));
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }

    fn empty(&mut self) {
        self.known = true;
    }
}

struct Resources<'r, 'd>(&'r mut Request<'d>);

impl<'de> List<'de> for Resources<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let first = self.0.batch.spans.len();
        let mut object = ResourceSpans { request: self.0, resource: Attributes::default() };
        let got = list.next_element_seed(ObjectSeed(&mut object))?;
        // The resource may stand behind the spans it belongs to.
        let resource = Arc::new(object.resource);
        for span in &mut self.0.batch.spans[first..] {
            span.resource = Arc::clone(&resource);
        }
        let Some(got) = got else { return Ok(false) };
        self.0.expect(got, "resourceSpans[]");
        Ok(true)
    }
}

struct ResourceSpans<'r, 'd> {
    request: &'r mut Request<'d>,
    resource: Attributes,
}

impl<'de> Object<'de> for ResourceSpans<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "resource" => {
                let mut object = ResourceObject::new(self.request.decoder);
                let got = map.next_value_seed(ObjectSeed(&mut object))?;
                self.resource = object.attributes;
                self.request.expect(got, "resource");
            }
            // The second name is what scopes were called before OTLP 0.19; Tempo kept it longer.
            "scopeSpans" | "instrumentationLibrarySpans" => {
                let got = map.next_value_seed(ListSeed(&mut Scopes(self.request)))?;
                self.request.expect(got, "scopeSpans");
            }
            "scope_spans" => {
                self.request.refuse(Malformed::SnakeCase("scope_spans"));
                skip(map)?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Scopes<'r, 'd>(&'r mut Request<'d>);

impl<'de> List<'de> for Scopes<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let first = self.0.batch.spans.len();
        let mut object = ScopeSpans { request: self.0, scope: Scope::default() };
        let got = list.next_element_seed(ObjectSeed(&mut object))?;
        let scope = Arc::new(object.scope);
        for span in &mut self.0.batch.spans[first..] {
            span.scope = Arc::clone(&scope);
        }
        let Some(got) = got else { return Ok(false) };
        self.0.expect(got, "scopeSpans[]");
        Ok(true)
    }
}

struct ScopeSpans<'r, 'd> {
    request: &'r mut Request<'d>,
    scope: Scope,
}

impl<'de> Object<'de> for ScopeSpans<'_, '_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "scope" | "instrumentationLibrary" => {
                let mut object = ScopeObject::new(self.request.decoder);
                let got = map.next_value_seed(ObjectSeed(&mut object))?;
                self.scope = object.scope;
                self.request.expect(got, "scope");
            }
            "spans" => {
                let none = (Arc::default(), Arc::default());
                let mut spans = Spans { request: self.request, none };
                let got = map.next_value_seed(ListSeed(&mut spans))?;
                self.request.expect(got, "spans");
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Spans<'r, 'd> {
    request: &'r mut Request<'d>,
    /// Stand-ins until the batch's own are known.
    none: (Arc<Scope>, Arc<Attributes>),
}

impl<'de> List<'de> for Spans<'_, '_> {
    fn element<A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let (scope, resource) = (Arc::clone(&self.none.0), Arc::clone(&self.none.1));
        let mut object = SpanObject::new(self.request.decoder, scope, resource);
        let Some(got) = list.next_element_seed(ObjectSeed(&mut object))? else {
            return Ok(false);
        };
        match object.finish(got) {
            Ok(span) => self.request.batch.spans.push(span),
            Err(reason) => self.request.batch.rejected.add(reason),
        }
        Ok(true)
    }
}

struct ScopeObject<'d> {
    allowance: Allowance<'d>,
    scope: Scope,
}

impl<'d> ScopeObject<'d> {
    fn new(decoder: &'d mut Decoder) -> Self {
        Self { allowance: Allowance::new(&mut decoder.texts, decoder.attribute), scope: Scope::default() }
    }
}

impl<'de> Object<'de> for ScopeObject<'_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.scope.name = map.next_value_seed(TextSeed::own(&mut self.allowance))?,
            "version" => {
                self.scope.version = map.next_value_seed(TextSeed::own(&mut self.allowance))?;
            }
            "attributes" => {
                let (allowance, into) = (&mut self.allowance, &mut self.scope.attributes);
                map.next_value_seed(ListSeed(&mut PairList::new(allowance, &mut into.0)))?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct ResourceObject<'d> {
    allowance: Allowance<'d>,
    attributes: Attributes,
}

impl<'d> ResourceObject<'d> {
    fn new(decoder: &'d mut Decoder) -> Self {
        Self {
            allowance: Allowance::new(&mut decoder.texts, decoder.attribute),
            attributes: Attributes::default(),
        }
    }
}

impl<'de> Object<'de> for ResourceObject<'_> {
    fn member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key == "attributes" {
            let (allowance, into) = (&mut self.allowance, &mut self.attributes.0);
            map.next_value_seed(ListSeed(&mut PairList::new(allowance, into)))?;
            return Ok(());
        }
        skip(map)
    }
}
