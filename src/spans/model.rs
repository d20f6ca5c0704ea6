//! One span, as far as anyone reads it.

use std::fmt;
use std::sync::Arc;

/// 16 bytes; all zero means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TraceId(pub [u8; 16]);

/// 8 bytes; all zero means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SpanId(pub [u8; 8]);

macro_rules! hex_shown {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
hex_shown!(TraceId, SpanId);

/// An attribute's value (OTLP `AnyValue`).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AttrValue {
    /// Nothing was set.
    #[default]
    Empty,
    /// Text.
    Str(Arc<str>),
    /// A truth value.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// Raw bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(Vec<AttrValue>),
    /// Keys and values.
    Map(Vec<(Arc<str>, AttrValue)>),
}

/// Keys and values in the order received. Few per span, so a walk beats a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<(Arc<str>, AttrValue)>);

impl Attributes {
    /// The value at `key`: the first, where a broken exporter sent it twice.
    pub fn get(&self, key: &str) -> Option<&AttrValue> {
        self.0.iter().find(|(k, _)| &**k == key).map(|(_, v)| v)
    }

    /// The text at `key`; none where it is absent, empty or no text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(AttrValue::Str(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

/// A span's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Not set.
    #[default]
    Unset,
    /// Ok.
    Ok,
    /// Error.
    Error,
}

impl Status {
    /// OTLP `StatusCode`; a number it does not know reads as not set.
    pub fn from_number(code: u64) -> Self {
        match code {
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Unset,
        }
    }
}

/// A timed event of a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpanEvent {
    /// Its name.
    pub name: Arc<str>,
    /// Unix nanoseconds.
    pub at: u64,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A link to another span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Its trace.
    pub trace_id: TraceId,
    /// Its span.
    pub span_id: SpanId,
    /// Its attributes.
    pub attributes: Attributes,
}

/// The instrumentation scope that made a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// e.g. `openinference.instrumentation.openai_agents`.
    pub name: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
    /// Its attributes.
    pub attributes: Attributes,
}

/// One span as received.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Its trace.
    pub trace_id: TraceId,
    /// Its id, unique in its trace.
    pub span_id: SpanId,
    /// None where it was empty or all zero.
    pub parent: Option<SpanId>,
    /// Its name when it was exported, that is, when it ended.
    pub name: Arc<str>,
    /// OTLP `SpanKind` number, 0 where not set.
    pub kind: i32,
    /// Unix nanoseconds.
    pub start: u64,
    /// Unix nanoseconds; 0 where the exporter set none.
    pub end: u64,
    /// Its status.
    pub status: Status,
    /// The status's message.
    pub status_message: Arc<str>,
    /// `tracestate`.
    pub trace_state: Arc<str>,
    /// OTLP `flags`.
    pub flags: u32,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its events.
    pub events: Vec<SpanEvent>,
    /// Its links.
    pub links: Vec<Link>,
    /// Who made it; shared by the spans of a batch.
    pub scope: Arc<Scope>,
    /// Of which resource; shared by the spans of a batch.
    pub resource: Arc<Attributes>,
    /// Whether something of it was cut at a bound, or could not be read as sent and was left empty.
    pub cut: bool,
}

impl Span {
    /// A span of nothing, for a decoder or a test to fill: ids are zero until then.
    pub fn empty(scope: Arc<Scope>, resource: Arc<Attributes>) -> Self {
        Self {
            trace_id: TraceId::default(),
            span_id: SpanId::default(),
            parent: None,
            name: Arc::default(),
            kind: 0,
            start: 0,
            end: 0,
            status: Status::Unset,
            status_message: Arc::default(),
            trace_state: Arc::default(),
            flags: 0,
            attributes: Attributes::default(),
            events: Vec::new(),
            links: Vec::new(),
            scope,
            resource,
            cut: false,
        }
    }
}
