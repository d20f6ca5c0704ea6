//! Files of every form, told apart by what is in them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use prost::Message;

use super::arbitrary::spans;
use super::*;
use crate::spans::file::{FileError, SpanReader};

fn all(bytes: &[u8]) -> Vec<Span> {
    let reader = SpanReader::new(bytes, NO_BOUND).expect("memory can be read");
    reader.flat_map(|batch| batch.expect("a record").spans).collect()
}

fn delimited(bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for body in bodies {
        prost::encoding::encode_varint(body.len() as u64, &mut file);
        file.extend_from_slice(body);
    }
    file
}

/// NaN and infinities do not pass serde's JSON; everything else must.
fn without_doubles(mut spans: Vec<Span>) -> Vec<Span> {
    for span in &mut spans {
        let whole = |attributes: &mut Attributes| {
            attributes.0.retain(|(_, v)| matches!(v, AttrValue::Str(_) | AttrValue::Int(_)));
        };
        whole(&mut span.attributes);
        span.events.iter_mut().for_each(|e| whole(&mut e.attributes));
        span.links.iter_mut().for_each(|l| whole(&mut l.attributes));
        whole(&mut Arc::make_mut(&mut span.scope).attributes);
        whole(Arc::make_mut(&mut span.resource));
    }
    spans
}

proptest! {
    #[test]
    fn every_form_gives_the_same_spans(first in spans(), second in spans()) {
        let (first, second) = (without_doubles(first), without_doubles(second));
        let requests = [request(&first), request(&second)];
        let sent = [first, second].concat();
        let together = request(&sent);
        let lines = format!("{}\n\n{}\r\n", serde_json::to_string(&requests[0]).expect("JSON"),
            serde_json::to_string(&requests[1]).expect("JSON"));
        let pretty = serde_json::to_string_pretty(&together).expect("JSON");
        let raw = together.encode_to_vec();
        let bodies = delimited(&requests.map(|request| request.encode_to_vec()));
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(lines.as_bytes()).expect("memory");
        let packed = packed.finish().expect("memory");
        for (form, file) in [
            ("lines", lines.as_bytes()), ("document", pretty.as_bytes()), ("body", &raw), ("bodies", &bodies),
            ("gzip", &packed),
        ] {
            prop_assert_eq!(all(file), sent.clone(), "{}", form);
        }
    }
}

#[test]
fn a_body_of_any_length_is_told_from_a_line() {
    // Every length of a delimited body up to 300, so also those that look like `{`, `[`, a newline or a tag.
    for padding in 0..270 {
        let mut span = Span::empty(Arc::default(), Arc::default());
        span.trace_id = TraceId([1; 16]);
        span.span_id = SpanId([2; 8]);
        span.name = "n".repeat(padding).into();
        let body = request(std::slice::from_ref(&span)).encode_to_vec();
        assert_eq!(all(&delimited(&[body.clone(), body.clone()])), [span.clone(), span.clone()]);
        assert_eq!(all(&body), [span]);
    }
}

#[test]
fn a_broken_line_costs_itself_alone() {
    let adk = include_str!("../../../tests/spans/adk.jsonl");
    let line = adk.lines().next().expect("a line");
    for broken in ["{\"resourceSpans\":[", "nonsense", "{\"resource_spans\":[]}"] {
        for file in [format!("{line}\n{broken}\n{line}\n"), format!("{broken}\n{line}\n{line}\n")] {
            if broken == "nonsense" && file.starts_with(broken) {
                // Without a brace at its start it is no JSON file.
                continue;
            }
            let records: Vec<_> = SpanReader::new(file.as_bytes(), NO_BOUND).expect("memory").collect();
            let good = records.iter().filter(|record| record.is_ok()).count();
            let refused =
                records.iter().filter(|record| matches!(record, Err(FileError::Record { .. }))).count();
            assert_eq!((good, refused), (2, 1), "{file:.60}");
        }
    }
}

#[test]
fn a_file_cut_short_says_so() {
    let body = include_bytes!("../../../tests/spans/adk.pb").to_vec();
    for file in [body[..body.len() - 1].to_vec(), delimited(&[body.clone(), body])[..20_000].to_vec()] {
        let last = SpanReader::new(&file[..], NO_BOUND).expect("memory").last();
        assert!(matches!(last, Some(Err(FileError::CutShort(_)))), "{last:?}");
    }
    assert!(all(b"").is_empty());
}

#[test]
fn a_tempo_export_reads_as_the_spans_it_holds() {
    let tempo = r#"{"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"desk"}}]},
        "instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"lib","version":"2"},"spans":[
        {"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ=","parentSpanId":"7uGbfsPBsXM=",
         "name":"execute_tool","kind":"SPAN_KIND_INTERNAL","startTimeUnixNano":"1544712660000000000",
         "endTimeUnixNano":"1544712661000000000","status":{"code":"STATUS_CODE_OK"},
         "attributes":[{"key":"n","value":{"intValue":"7"}}]}]}]}]}"#;
    let newer = tempo
        .replacen("{\"batches\"", "{\"trace\":{\"resourceSpans\"", 1)
        .replace("instrumentationLibrarySpans", "scopeSpans")
        .replace("\"instrumentationLibrary\"", "\"scope\"")
        + "}";
    for file in [tempo, &newer] {
        let spans = all(file.as_bytes());
        assert_eq!(spans.len(), 1);
        let span = &spans[0];
        assert_eq!(span.trace_id.to_string(), "5b8efff798038103d269b633813fc60c");
        assert_eq!(span.parent.map(|id| id.to_string()).as_deref(), Some("eee19b7ec3c1b173"));
        assert_eq!((span.kind, span.status), (1, Status::Ok));
        assert_eq!((&*span.scope.name, &*span.scope.version), ("lib", "2"));
        assert_eq!(span.resource.text("service.name"), Some("desk"));
        assert_eq!(span.attributes.get("n"), Some(&AttrValue::Int(7)));
    }
}

#[test]
fn a_jaeger_export_reads_as_the_spans_it_holds() {
    let jaeger = r#"{"data":[{"traceID":"8efff798038103d269b633813fc60c","spans":[
        {"traceID":"8efff798038103d269b633813fc60c","spanID":"e19b7ec3c1b174","operationName":"execute_tool get_order",
         "references":[{"refType":"FOLLOWS_FROM","traceID":"8efff798038103d269b633813fc60c","spanID":"01"},
                       {"refType":"CHILD_OF","traceID":"8efff798038103d269b633813fc60c","spanID":"eee19b7ec3c1b173"}],
         "startTime":1544712660000000,"duration":1500,
         "tags":[{"key":"gen_ai.tool.name","type":"string","value":"get_order"},
                 {"key":"n","type":"int64","value":7},{"key":"d","type":"float64","value":2},
                 {"key":"span.kind","type":"string","value":"client"},
                 {"key":"otel.scope.name","type":"string","value":"lib"},
                 {"key":"otel.status_code","type":"string","value":"ERROR"},
                 {"key":"otel.status_description","type":"string","value":"late"},
                 {"key":"error","type":"bool","value":true}],
         "logs":[{"timestamp":1544712660000100,"fields":[{"key":"event","type":"string","value":"exception"},
                  {"key":"exception.message","type":"string","value":"late"}]}],
         "processID":"p1"},
        {"traceID":"8efff798038103d269b633813fc60c","spanID":"0","operationName":"none"}],
        "processes":{"p1":{"serviceName":"desk","tags":[{"key":"host","type":"string","value":"h"}]}}}],"errors":null}"#;
    for file in [jaeger.to_owned(), jaeger.replace('\n', "")] {
        let mut reader = SpanReader::new(file.as_bytes(), NO_BOUND).expect("memory");
        let batch = reader.next().expect("a record").expect("an export");
        assert_eq!(batch.rejected.iter().collect::<Vec<_>>(), [(Reject::NoSpanId, 1)]);
        let span = &batch.spans[0];
        assert_eq!(span.trace_id.to_string(), "008efff798038103d269b633813fc60c");
        assert_eq!(span.span_id.to_string(), "00e19b7ec3c1b174");
        assert_eq!(span.parent.map(|id| id.to_string()).as_deref(), Some("eee19b7ec3c1b173"));
        assert_eq!(span.links.len(), 1);
        assert_eq!((span.start, span.end), (1_544_712_660_000_000_000, 1_544_712_660_001_500_000));
        assert_eq!((span.kind, span.status, &*span.status_message), (3, Status::Error, "late"));
        assert_eq!(&*span.scope.name, "lib");
        assert_eq!(span.resource.text("service.name"), Some("desk"));
        assert_eq!(span.attributes.text("gen_ai.tool.name"), Some("get_order"));
        assert_eq!(span.attributes.get("n"), Some(&AttrValue::Int(7)));
        assert_eq!(span.attributes.get("d"), Some(&AttrValue::Double(2.0)));
        assert_eq!(span.attributes.0.len(), 3);
        assert_eq!(&*span.events[0].name, "exception");
        assert_eq!(span.events[0].attributes.text("exception.message"), Some("late"));
        assert!(reader.next().is_none());
    }
}
