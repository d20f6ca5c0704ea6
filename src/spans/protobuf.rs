//! OTLP in protobuf, by a walk over the bytes.
//!
//! Written by hand since only a dozen fixed messages are read, nothing needs to be built that is not kept, and a
//! span that is broken inside its frame must not cost its batch. Field numbers are those of
//! `opentelemetry/proto/{trace,common,resource}/v1`. Unknown fields are stepped over. Never panics: a [`Fields`]
//! gives slices of what is there, or an error.

mod write;

use std::sync::Arc;

use super::bounds::{Allowance, DEPTH};
use super::{
    AttrValue, Attributes, Batch, Decoder, Link, Malformed, Reject, Scope, Span, SpanEvent, SpanId, Status,
    TraceId,
};

pub use write::to_protobuf;
pub(super) use write::{bytes_field, delimited, number_always};

/// A field's value as it lies on the wire.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Wire<'a> {
    fn bytes(self) -> Result<&'a [u8], Broken> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Broken("a field has the wrong wire type")),
        }
    }

    fn fixed64(self) -> Result<u64, Broken> {
        match self {
            Self::Fixed64(number) => Ok(number),
            _ => Err(Broken("a field has the wrong wire type")),
        }
    }

    fn varint(self) -> Result<u64, Broken> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(Broken("a field has the wrong wire type")),
        }
    }
}

/// Bytes that are no message, and why.
#[derive(Clone, Copy)]
struct Broken(&'static str);

/// The fields of one message, front to back.
#[derive(Clone)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0;
        for (n, byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                self.0 = &self.0[n + 1..];
                return Ok(number);
            }
        }
        Err(Broken("a varint does not end"))
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Broken> {
        let taken = usize::try_from(count).ok().and_then(|n| self.0.split_at_checked(n));
        let (head, rest) = taken.ok_or(Broken("a field is longer than its message"))?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Broken("a field is longer than its message"))?;
        self.0 = rest;
        Ok(*head)
    }

    fn field(&mut self) -> Result<(u64, Wire<'a>), Broken> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Broken("a wire type is unknown")),
        };
        match tag >> 3 {
            0 => Err(Broken("a field has number zero")),
            number => Ok((number, value)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Wire<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

pub(super) fn decode(decoder: &mut Decoder, body: &[u8]) -> Result<Batch, Malformed> {
    let mut batch = Batch::default();
    request(decoder, body, &mut batch).map_err(|Broken(why)| Malformed::Protobuf(why))?;
    Ok(batch)
}

fn request(decoder: &mut Decoder, body: &[u8], batch: &mut Batch) -> Result<(), Broken> {
    for field in Fields(body) {
        if let (1, value) = field? {
            resource_spans(decoder, value.bytes()?, batch)?;
        }
    }
    Ok(())
}

fn resource_spans(decoder: &mut Decoder, body: &[u8], batch: &mut Batch) -> Result<(), Broken> {
    let mut resource = Attributes::default();
    // Fields may come in any order, so the resource is looked for before the spans that share it.
    for field in Fields(body) {
        if let (1, value) = field? {
            let mut allowance = Allowance::new(&mut decoder.texts, decoder.attribute);
            for field in Fields(value.bytes()?) {
                if let (1, value) = field? {
                    attribute(value.bytes()?, &mut allowance, &mut resource)?;
                }
            }
        }
    }
    let resource = Arc::new(resource);
    for field in Fields(body) {
        if let (2, value) = field? {
            scope_spans(decoder, value.bytes()?, &resource, batch)?;
        }
    }
    Ok(())
}

fn scope_spans(
    decoder: &mut Decoder,
    body: &[u8],
    resource: &Arc<Attributes>,
    batch: &mut Batch,
) -> Result<(), Broken> {
    let mut scope = Scope::default();
    for field in Fields(body) {
        if let (1, value) = field? {
            let mut allowance = Allowance::new(&mut decoder.texts, decoder.attribute);
            for field in Fields(value.bytes()?) {
                match field? {
                    (1, value) => scope.name = allowance.own_text(value.bytes()?),
                    (2, value) => scope.version = allowance.own_text(value.bytes()?),
                    (3, value) => {
                        attribute(value.bytes()?, &mut allowance, &mut scope.attributes)?;
                    }
                    _ => {}
                }
            }
        }
    }
    let scope = Arc::new(scope);
    for field in Fields(body) {
        if let (2, value) = field? {
            let mut allowance = Allowance::new(&mut decoder.texts, decoder.attribute);
            match span(value.bytes()?, &mut allowance, &scope, resource) {
                Ok(span) => batch.spans.push(span),
                Err(reason) => batch.rejected.add(reason),
            }
        }
    }
    Ok(())
}

impl From<Broken> for Reject {
    fn from(_: Broken) -> Self {
        Self::Malformed
    }
}

fn span(
    body: &[u8],
    allowance: &mut Allowance<'_>,
    scope: &Arc<Scope>,
    resource: &Arc<Attributes>,
) -> Result<Span, Reject> {
    let mut span = Span::empty(Arc::clone(scope), Arc::clone(resource));
    // Most spans have eight attributes or more: one allocation instead of three.
    span.attributes.0.reserve(16);
    for field in Fields(body) {
        match field? {
            (1, value) => span.trace_id = TraceId(id(value)?),
            (2, value) => span.span_id = SpanId(id(value)?),
            (3, value) => span.trace_state = allowance.own_text(value.bytes()?),
            (4, value) => span.parent = Some(SpanId(id(value)?)).filter(|id| !id.is_zero()),
            (5, value) => span.name = allowance.own_text(value.bytes()?),
            (6, value) => span.kind = value.varint()? as i32,
            (7, value) => span.start = value.fixed64()?,
            (8, value) => span.end = value.fixed64()?,
            (9, value) => attribute(value.bytes()?, allowance, &mut span.attributes)?,
            (11, value) => event(value.bytes()?, allowance, &mut span.events)?,
            (13, value) => link(value.bytes()?, allowance, &mut span.links)?,
            (15, value) => status(value.bytes()?, allowance, &mut span)?,
            (16, Wire::Fixed32(flags)) => span.flags = flags,
            _ => {}
        }
    }
    span.cut = allowance.cut;
    span.checked()
}

/// All zero where the field is there and empty, as some exporters write "none".
fn id<const N: usize>(value: Wire<'_>) -> Result<[u8; N], Reject> {
    let bytes = value.bytes()?;
    if bytes.is_empty() {
        return Ok([0; N]);
    }
    bytes.try_into().map_err(|_| Reject::BadId)
}

fn status(body: &[u8], allowance: &mut Allowance<'_>, span: &mut Span) -> Result<(), Broken> {
    for field in Fields(body) {
        match field? {
            (2, value) => span.status_message = allowance.own_text(value.bytes()?),
            (3, value) => span.status = Status::from_number(value.varint()?),
            _ => {}
        }
    }
    Ok(())
}

fn event(body: &[u8], allowance: &mut Allowance<'_>, events: &mut Vec<SpanEvent>) -> Result<(), Broken> {
    if !allowance.element() {
        return Ok(());
    }
    let mut event = SpanEvent::default();
    for field in Fields(body) {
        match field? {
            (1, value) => event.at = value.fixed64()?,
            (2, value) => event.name = allowance.own_text(value.bytes()?),
            (3, value) => attribute(value.bytes()?, allowance, &mut event.attributes)?,
            _ => {}
        }
    }
    events.push(event);
    Ok(())
}

fn link(body: &[u8], allowance: &mut Allowance<'_>, links: &mut Vec<Link>) -> Result<(), Reject> {
    if !allowance.element() {
        return Ok(());
    }
    let mut link = Link::default();
    for field in Fields(body) {
        match field? {
            (1, value) => link.trace_id = TraceId(id(value)?),
            (2, value) => link.span_id = SpanId(id(value)?),
            (4, value) => attribute(value.bytes()?, allowance, &mut link.attributes)?,
            _ => {}
        }
    }
    links.push(link);
    Ok(())
}

fn attribute(body: &[u8], allowance: &mut Allowance<'_>, attributes: &mut Attributes) -> Result<(), Broken> {
    if allowance.element() {
        let pair = key_value(body, allowance, 0)?;
        attributes.0.push(pair);
    }
    Ok(())
}

fn key_value(
    body: &[u8],
    allowance: &mut Allowance<'_>,
    depth: usize,
) -> Result<(Arc<str>, AttrValue), Broken> {
    let (mut key, mut value): (&[u8], Option<&[u8]>) = (&[], None);
    for field in Fields(body) {
        match field? {
            (1, wire) => key = wire.bytes()?,
            (2, wire) => value = Some(wire.bytes()?),
            _ => {}
        }
    }
    // A key inside a map counts towards its attribute, the attribute's own does not: it has a bound of its own.
    let key = if depth == 0 {
        let key = allowance.own_text(key);
        allowance.next();
        key
    } else {
        allowance.text(key)
    };
    let value = value.map_or(Ok(AttrValue::Empty), |body| any_value(body, allowance, depth))?;
    Ok((key, value))
}

fn any_value(body: &[u8], allowance: &mut Allowance<'_>, depth: usize) -> Result<AttrValue, Broken> {
    let mut found = AttrValue::Empty;
    for field in Fields(body) {
        found = match field? {
            (1, value) => AttrValue::Str(allowance.text(value.bytes()?)),
            (2, value) => AttrValue::Bool(value.varint()? != 0),
            (3, value) => AttrValue::Int(value.varint()?.cast_signed()),
            (4, value) => AttrValue::Double(f64::from_bits(value.fixed64()?)),
            (5, value) => AttrValue::List(nested(value, allowance, depth, any_value)?),
            (6, value) => AttrValue::Map(nested(value, allowance, depth, key_value)?),
            (7, value) => AttrValue::Bytes(allowance.bytes(value.bytes()?)),
            _ => continue,
        };
    }
    Ok(found)
}

/// The values of an `ArrayValue` or a `KeyValueList`: field 1 in both.
fn nested<'t, T>(
    list: Wire<'_>,
    allowance: &mut Allowance<'t>,
    depth: usize,
    read: impl Fn(&[u8], &mut Allowance<'t>, usize) -> Result<T, Broken>,
) -> Result<Vec<T>, Broken> {
    let mut values = Vec::new();
    for field in Fields(list.bytes()?) {
        if let (1, value) = field? {
            if depth == DEPTH {
                allowance.cut = true;
                break;
            }
            if !allowance.element() {
                break;
            }
            values.push(read(value.bytes()?, allowance, depth + 1)?);
        }
    }
    Ok(values)
}
