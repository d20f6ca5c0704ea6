//! Spans per second of our decoders beside the generated types, on the same bodies in the same run.
//!
//! Every lane also does what the least reader of events must: keep each span's id and parent, and count the spans
//! whose attributes say agent or tool. The counts stand beside the speed, since a decoder that skips is quick.
//! usage: cargo bench --bench spans [-- SPANS]

use std::collections::HashMap;
use std::hint::black_box;

use mocktrial::clock::Clock;
use mocktrial::spans::file::SpanReader;
use mocktrial::spans::{Decoder, Ids, Span};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;

const ROUNDS: usize = 5;
const ATTRIBUTE: usize = 64 << 10;

#[derive(Default, PartialEq, Debug)]
struct Seen {
    spans: u64,
    agents: u64,
    tools: u64,
    parents: HashMap<[u8; 8], [u8; 8]>,
}

impl Seen {
    fn attribute(&mut self, key: &str, value: &str) {
        if matches!(key, "openinference.span.kind" | "gen_ai.operation.name" | "gen_ai.span.kind") {
            self.agents += u64::from(value.eq_ignore_ascii_case("agent") || value == "invoke_agent");
            self.tools += u64::from(value.eq_ignore_ascii_case("tool") || value == "execute_tool");
        }
    }

    fn generated(&mut self, request: &ExportTraceServiceRequest) {
        for span in request.resource_spans.iter().flat_map(|r| &r.scope_spans).flat_map(|s| &s.spans) {
            self.spans += 1;
            let id = |bytes: &[u8]| bytes.try_into().unwrap_or_default();
            self.parents.insert(id(&span.span_id), id(&span.parent_span_id));
            for pair in &span.attributes {
                if let Some(Value::StringValue(text)) = pair.value.as_ref().and_then(|v| v.value.as_ref()) {
                    self.attribute(&pair.key, text);
                }
            }
        }
    }

    fn ours(&mut self, spans: &[Span]) {
        for span in spans {
            self.spans += 1;
            self.parents.insert(span.span_id.0, span.parent.unwrap_or_default().0);
            for (key, value) in &span.attributes.0 {
                if let mocktrial::spans::AttrValue::Str(text) = value {
                    self.attribute(key, text);
                }
            }
        }
    }
}

/// A real export repeated with ids of its own until there are `spans`, in bodies of about 512.
fn grown(spans: usize) -> Vec<ExportTraceServiceRequest> {
    let real = [
        include_bytes!("../tests/spans/adk.pb").as_slice(),
        include_bytes!("../tests/spans/vercel.pb"),
        include_bytes!("../tests/spans/mastra.pb"),
    ]
    .map(|body| ExportTraceServiceRequest::decode(body).expect("a real body"));
    let mut bodies = vec![ExportTraceServiceRequest::default()];
    let (mut made, mut in_body) = (0usize, 0usize);
    'all: for copy in 0u64.. {
        for request in &real {
            let mut request = request.clone();
            for resource in &mut request.resource_spans {
                for span in resource.scope_spans.iter_mut().flat_map(|scope| &mut scope.spans) {
                    for id in [&mut span.trace_id, &mut span.span_id, &mut span.parent_span_id] {
                        for (byte, by) in id.iter_mut().zip(copy.to_le_bytes()) {
                            *byte ^= by;
                        }
                    }
                    made += 1;
                    in_body += 1;
                }
            }
            let last = bodies.last_mut().expect("one");
            last.resource_spans.append(&mut request.resource_spans);
            if in_body >= 512 {
                bodies.push(ExportTraceServiceRequest::default());
                in_body = 0;
            }
            if made >= spans {
                break 'all;
            }
        }
    }
    bodies
}

fn lane(name: &str, limit: Option<f64>, work: impl Fn(&mut Seen)) -> f64 {
    let clock = Clock::start();
    let mut best = f64::INFINITY;
    let mut seen = Seen::default();
    for _ in 0..ROUNDS {
        seen = Seen::default();
        let from = clock.now();
        work(black_box(&mut seen));
        best = best.min(clock.now().since(from).as_secs_f64());
    }
    let speed = seen.spans as f64 / best;
    let ratio = limit.map_or(String::new(), |limit| format!("{:.2}", speed / limit));
    println!(
        "{name:<34} {:>9.0} spans/s {ratio:>6} {:>8} spans {:>7} agents {:>7} tools {:>8} ids",
        speed,
        seen.spans,
        seen.agents,
        seen.tools,
        seen.parents.len()
    );
    speed
}

fn main() {
    let spans = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(50_000);
    let requests = grown(spans);
    let bodies: Vec<Vec<u8>> = requests.iter().map(Message::encode_to_vec).collect();
    let lines: Vec<String> = requests.iter().map(|r| serde_json::to_string(r).expect("JSON")).collect();
    let file = lines.join("\n");
    let ours = |seen: &mut Seen, json: bool| {
        let mut decoder = Decoder::new(ATTRIBUTE, Ids::Hex);
        for n in 0..bodies.len() {
            let batch = match json {
                true => decoder.json(lines[n].as_bytes()),
                false => decoder.protobuf(&bodies[n]),
            };
            seen.ours(&batch.expect("a body").spans);
        }
    };

    let limit = lane("prost + ids, attrs", None, |seen| {
        for body in &bodies {
            seen.generated(&ExportTraceServiceRequest::decode(body.as_slice()).expect("a body"));
        }
    });
    lane("ours, protobuf + ids, attrs", Some(limit), |seen| ours(seen, false));
    let limit = lane("typed OTLP/JSON + ids, attrs", None, |seen| {
        for line in &lines {
            seen.generated(&serde_json::from_str(line).expect("a line"));
        }
    });
    lane("ours, JSON + ids, attrs", Some(limit), |seen| ours(seen, true));
    lane("ours, file of JSON lines", Some(limit), |seen| {
        for batch in SpanReader::new(file.as_bytes(), ATTRIBUTE).expect("memory") {
            seen.ours(&batch.expect("a line").spans);
        }
    });
}
