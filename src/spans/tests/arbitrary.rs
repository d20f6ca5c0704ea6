//! Any span that a decoder could give.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = Arc<str>> {
    // Control characters, quotes and characters of every length, beside what names usually hold.
    prop_oneof!["[a-z._]{0,20}", any::<String>(), "[\u{0}-\u{20}\"\\\\é漢🦀]{0,8}",].prop_map(Arc::from)
}

fn value() -> impl Strategy<Value = AttrValue> {
    let scalar = prop_oneof![
        Just(AttrValue::Empty),
        text().prop_map(AttrValue::Str),
        any::<bool>().prop_map(AttrValue::Bool),
        any::<i64>().prop_map(AttrValue::Int),
        // NaN is unequal to itself; it has a test of its own.
        any::<f64>().prop_filter("equal to itself", |number| !number.is_nan()).prop_map(AttrValue::Double),
        vec(any::<u8>(), 0..20).prop_map(|bytes| AttrValue::Bytes(bytes.into())),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(AttrValue::List),
            vec((text(), inner), 0..4).prop_map(AttrValue::Map),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    vec((text(), value()), 0..6).prop_map(Attributes)
}

fn trace_id() -> impl Strategy<Value = TraceId> {
    any::<[u8; 16]>().prop_filter("not zero", |id| *id != [0; 16]).prop_map(TraceId)
}

fn span_id() -> impl Strategy<Value = SpanId> {
    any::<[u8; 8]>().prop_filter("not zero", |id| *id != [0; 8]).prop_map(SpanId)
}

fn event() -> impl Strategy<Value = SpanEvent> {
    (text(), any::<u64>(), attributes()).prop_map(|(name, at, attributes)| SpanEvent { name, at, attributes })
}

fn link() -> impl Strategy<Value = Link> {
    (trace_id(), span_id(), attributes()).prop_map(|(trace_id, span_id, attributes)| Link {
        trace_id,
        span_id,
        attributes,
    })
}

fn scope() -> impl Strategy<Value = Scope> {
    (text(), text(), attributes()).prop_map(|(name, version, attributes)| Scope { name, version, attributes })
}

pub(super) fn span() -> impl Strategy<Value = Span> {
    let ids = (trace_id(), span_id(), proptest::option::of(span_id()));
    let status = prop_oneof![Just(Status::Unset), Just(Status::Ok), Just(Status::Error)];
    let texts = (text(), text(), text(), status, 0..6i32, any::<u32>());
    let parts = (attributes(), vec(event(), 0..3), vec(link(), 0..3));
    let context = (scope(), attributes(), any::<(u64, u64)>());
    (ids, texts, parts, context).prop_map(
        |(
            (trace_id, span_id, parent),
            (name, status_message, trace_state, status, kind, flags),
            (attributes, events, links),
            (scope, resource, (start, end)),
        )| Span {
            trace_id,
            span_id,
            parent,
            name,
            kind,
            start,
            end,
            status,
            status_message,
            trace_state,
            flags,
            attributes,
            events,
            links,
            scope: Arc::new(scope),
            resource: Arc::new(resource),
            cut: false,
        },
    )
}

pub(super) fn spans() -> impl Strategy<Value = Vec<Span>> {
    vec(span(), 0..4)
}
