//! Nothing that comes in can make more of itself than its bounds allow.

use proptest::prelude::*;
use prost::Message;

use super::arbitrary::{span, spans};
use super::*;

fn with_attribute(value: AttrValue) -> Span {
    let mut span = Span::empty(Arc::default(), Arc::default());
    span.trace_id = TraceId([1; 16]);
    span.span_id = SpanId([2; 8]);
    span.attributes.0.push((Arc::from("k"), value));
    span
}

fn both(span: &Span, attribute: usize) -> [Span; 2] {
    let request = request(std::slice::from_ref(span));
    let json = serde_json::to_vec(&request).expect("JSON");
    let protobuf = request.encode_to_vec();
    let mut decoder = Decoder::new(attribute, Ids::Hex);
    let only = |batch: Result<Batch, Malformed>| batch.expect("a body").spans.remove(0);
    [only(decoder.json(&json)), only(decoder.protobuf(&protobuf))]
}

#[test]
fn a_long_text_is_cut_between_characters_and_its_span_marked() {
    let long = with_attribute(AttrValue::Str("aé漢🦀".repeat(10).into()));
    for (bound, kept) in [(1, "a"), (2, "a"), (3, "aé"), (5, "aé"), (6, "aé漢"), (10, "aé漢🦀")] {
        for read in both(&long, bound) {
            assert_eq!(read.attributes.text("k"), Some(kept), "{bound}");
            assert!(read.cut);
        }
    }
    for read in both(&long, 100) {
        assert!(!read.cut, "it fits exactly");
        assert_eq!(read, long);
    }
}

#[test]
fn a_list_shares_the_bound_of_its_attribute() {
    let list = with_attribute(AttrValue::List(vec![AttrValue::Str("four".into()); 5]));
    for read in both(&list, 10) {
        let Some(AttrValue::List(values)) = read.attributes.get("k") else {
            panic!("{read:?}");
        };
        let texts: Vec<_> = values
            .iter()
            .map(|value| match value {
                AttrValue::Str(text) => &**text,
                _ => "",
            })
            .collect();
        assert_eq!(texts, ["four", "four", "fo", "", ""]);
        assert!(read.cut);
    }
}

#[test]
fn nesting_ends_at_its_bound() {
    let mut deep = AttrValue::Bool(true);
    for _ in 0..40 {
        deep = AttrValue::List(vec![deep]);
    }
    // Built by hand as text: serde's own reader and writer stop before we do.
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{}","spanId":"{}","attributes":[{{"key":"k","value":{}{}}}]}}]}}]}}]}}"#,
        "01".repeat(16),
        "02".repeat(8),
        r#"{"arrayValue":{"values":["#.repeat(10_000),
        "]}}".repeat(10_000),
    );
    let json = decoder().json(body.as_bytes()).expect("stepped over");
    let protobuf = decoder().protobuf(&request(&[with_attribute(deep)]).encode_to_vec()).expect("a body");
    for batch in [json, protobuf] {
        assert!(batch.spans[0].cut);
        let mut value = batch.spans[0].attributes.get("k");
        let mut depth = 0;
        while let Some(AttrValue::List(values)) = value {
            value = values.first();
            depth += 1;
        }
        assert!((16..=17).contains(&depth), "{depth}");
    }
}

#[test]
fn a_span_of_empty_attributes_stays_small() {
    let mut span = with_attribute(AttrValue::Empty);
    span.attributes.0 = vec![(Arc::from(""), AttrValue::Empty); 20_000];
    for read in both(&span, 100) {
        assert_eq!(read.attributes.0.len(), 16_384);
        assert!(read.cut);
    }
}

#[test]
fn text_that_is_no_utf8_is_replaced_and_marked() {
    let mut body = request(&[with_attribute(AttrValue::Str("XYZW".into()))]).encode_to_vec();
    let at = body.windows(4).position(|w| w == b"XYZW").expect("the value");
    body[at] = 0xff;
    let read = decoder().protobuf(&body).expect("a body").spans.remove(0);
    assert_eq!(read.attributes.text("k"), Some("\u{fffd}YZW"));
    assert!(read.cut);
}

proptest! {
    #[test]
    fn no_text_is_over_the_bound_and_the_spans_are_all_there(spans in spans(), bound in 0usize..16) {
        let request = request(&spans);
        let mut decoder = Decoder::new(bound, Ids::Hex);
        let batch = decoder.protobuf(&request.encode_to_vec()).expect("a body");
        prop_assert_eq!(batch.spans.len(), spans.len());
        for (read, sent) in batch.spans.iter().zip(&spans) {
            // Replacing what is cut never lengthens a text that was UTF-8.
            prop_assert!(read.name.len() <= bound && sent.name.starts_with(&*read.name));
            prop_assert!(weight(read) <= weight(sent));
            prop_assert!(read == sent || read.cut || bound_hit_beside(read, sent));
        }
    }

    #[test]
    fn one_broken_span_costs_itself_alone(before in span(), broken in span(), after in span(), garbage: Vec<u8>) {
        let mut request = request(&[before.clone(), broken, after.clone()]);
        // A wire type that does not exist, at the start of the middle span's bytes; the frame around it holds.
        let mut body = Vec::new();
        for (n, resource_spans) in request.resource_spans.drain(..).enumerate() {
            let bytes = if n == 1 {
                let span = [&[0x07][..], &garbage].concat();
                let scope_spans = framed(0x12, &span);
                framed(0x12, &scope_spans)
            } else {
                resource_spans.encode_to_vec()
            };
            body.extend(framed(0x0a, &bytes));
        }
        let batch = decoder().protobuf(&body).expect("a body");
        prop_assert_eq!(batch.spans, vec![before, after]);
        let reasons: Vec<_> = batch.rejected.iter().collect();
        prop_assert_eq!(reasons, vec![(Reject::Malformed, 1)]);
    }
}

fn framed(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![tag];
    prost::encoding::encode_varint(bytes.len() as u64, &mut framed);
    framed.extend_from_slice(bytes);
    framed
}

/// Scopes and resources are cut without a mark: no span's own words are missing.
fn bound_hit_beside(read: &Span, sent: &Span) -> bool {
    let own = Span { scope: Arc::clone(&read.scope), resource: Arc::clone(&read.resource), ..sent.clone() };
    *read == own
}
