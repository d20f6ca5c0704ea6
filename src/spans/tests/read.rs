//! What is written is what is read, whoever wrote it.

use proptest::prelude::*;
use prost::Message;

use super::arbitrary::{span, spans};
use super::*;

const ADK_PROTOBUF: &[u8] = include_bytes!("../../../tests/spans/adk.pb");
const ADK_JSON: &[u8] = include_bytes!("../../../tests/spans/adk.jsonl");

#[test]
fn one_export_reads_alike_in_both_encodings() {
    let protobuf = decoder().protobuf(ADK_PROTOBUF).expect("a real body");
    let first = ADK_JSON.split(|byte| *byte == b'\n').next().expect("a line");
    let json = decoder().json(first).expect("a real line");
    assert_eq!(protobuf, json);
    assert_eq!(protobuf.rejected.total(), 0);
    let names: Vec<_> = protobuf.spans.iter().map(|span| &*span.name).collect();
    assert!(names.contains(&"invoke_agent order_lookup"), "{names:?}");
}

proptest! {
    #[test]
    fn protobuf_reads_as_it_was_sent(spans in spans()) {
        let read = decoder().protobuf(&request(&spans).encode_to_vec());
        prop_assert_eq!(read, Ok(Batch { spans, rejected: Rejected::default() }));
    }

    #[test]
    fn protobuf_reads_as_we_write_it(spans in spans()) {
        let read = decoder().protobuf(&to_protobuf(&spans));
        prop_assert_eq!(read, Ok(Batch { spans: spans.clone(), rejected: Rejected::default() }));
        let theirs = ExportTraceServiceRequest::decode(&to_protobuf(&spans)[..]);
        prop_assert_eq!(theirs, Ok(request(&spans)));
    }

    #[test]
    fn json_reads_as_it_was_sent(spans in spans()) {
        let text = serde_json::to_vec(&request(&spans)).expect("JSON");
        let read = decoder().json(&text);
        prop_assert_eq!(read.map(|batch| finite(batch.spans)), Ok(finite(spans)));
    }

    #[test]
    fn a_record_row_gives_the_span_back(span in span(), cut: bool) {
        let span = Span { cut, ..span };
        // By way of the record's own form, which is stricter about numbers than JSON is.
        let row = [
            to_otlp_json(&span),
            scope_to_json(&span.scope),
            resource_to_json(&span.resource),
        ];
        let stored = serde_json_canonicalizer::to_vec(&row).expect("canonical");
        let [object, scope, resource]: [serde_json::Value; 3] =
            serde_json::from_slice(&stored).expect("JSON");
        let scope = Arc::new(scope_from_json(&scope));
        let resource = Arc::new(resource_from_json(&resource));
        prop_assert_eq!(span_from_json(&object, &scope, &resource), Ok(span));
    }

    #[test]
    fn others_read_what_we_write(span in span()) {
        // The generated types know no text for infinities.
        let span = finite(vec![span]).remove(0);
        let theirs: otlp::Span = serde_json::from_value(to_otlp_json(&span)).expect("OTLP/JSON");
        let mut ours = message(&span);
        if ours.status == Some(otlp::Status::default()) {
            ours.status = None;
        }
        prop_assert_eq!(theirs, ours);
    }
}

#[test]
fn not_a_number_reads_as_text_and_is_written_so() {
    let mut span = decoder().protobuf(ADK_PROTOBUF).expect("a real body").spans.remove(0);
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    span.attributes.0 = numbers.map(|number| (Arc::from("n"), AttrValue::Double(number))).to_vec();
    let written = to_otlp_json(&span);
    let texts = ["NaN", "Infinity", "-Infinity"];
    for (at, text) in texts.into_iter().enumerate() {
        assert_eq!(written["attributes"][at]["value"]["doubleValue"], text);
    }
    let read = span_from_json(&written, &span.scope, &span.resource).expect("a span");
    let read: Vec<_> = read.attributes.0.iter().map(|(_, value)| value).collect();
    let [AttrValue::Double(nan), up, down] = read[..] else {
        panic!("{read:?}");
    };
    assert!(nan.is_nan());
    assert_eq!(*up, AttrValue::Double(f64::INFINITY));
    assert_eq!(*down, AttrValue::Double(f64::NEG_INFINITY));
}

/// Infinite doubles made zero: serde's JSON writes them as `null`.
fn finite(mut spans: Vec<Span>) -> Vec<Span> {
    fn settle(value: &mut AttrValue) {
        match value {
            AttrValue::Double(number) if number.is_infinite() => *number = 0.0,
            AttrValue::List(values) => values.iter_mut().for_each(settle),
            AttrValue::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| settle(value)),
            _ => {}
        }
    }
    fn all(attributes: &mut Attributes) {
        attributes.0.iter_mut().for_each(|(_, value)| settle(value));
    }
    for span in &mut spans {
        all(&mut span.attributes);
        span.events.iter_mut().for_each(|event| all(&mut event.attributes));
        span.links.iter_mut().for_each(|link| all(&mut link.attributes));
        all(&mut Arc::make_mut(&mut span.scope).attributes);
        all(Arc::make_mut(&mut span.resource));
    }
    spans
}
