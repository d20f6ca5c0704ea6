//! OTLP over HTTP: what is kept, what is answered, what is counted.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use mocktrial::name::Token;
use mocktrial::spans::file::SpanReader;
use mocktrial::spans::{Decoder, Ids, SpanLimits};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{request, send};
use crate::{ADK, LIMITS, bind, open};

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn span(id: u8) -> serde_json::Value {
    json!({"traceId": "5b8efff798038103d269b633813fc60c", "spanId": format!("{id:016x}"), "name": "n"})
}

fn body(spans: &[serde_json::Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

#[tokio::test]
async fn a_batch_under_an_open_token_is_kept_and_answered_with_nothing() {
    let (receiver, intake, token) = open(LIMITS);
    let path = format!("/{token}/v1/traces");
    let answer = send(receiver.local_addr(), request(&path, PROTOBUF, ADK)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], PROTOBUF);
    assert!(answer.body.is_empty(), "full success is an empty message");
    assert_eq!(intake.exports(), 1);
    let received = intake.close();
    assert!(received.spans.iter().any(|span| &*span.name == "invoke_agent order_lookup"));
    assert_eq!((received.dropped, received.duplicates, received.foreign_spans), (0, 0, 0));
    assert!(received.rejected.is_empty());
}

#[tokio::test]
async fn json_is_answered_in_json_and_gzip_is_unpacked() {
    let (receiver, intake, token) = open(LIMITS);
    let path = format!("/{token}/v1/traces");
    let packed = gzip(body(&[span(1)]).as_bytes());
    let mut json = request(&path, "application/json; charset=utf-8", packed);
    json.headers_mut().insert("content-encoding", "gzip".parse().expect("a header"));
    let answer = send(receiver.local_addr(), json).await;
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"{}"[..]));
    assert_eq!(answer.headers["content-type"], JSON);
    assert_eq!(intake.close().spans.len(), 1);
}

#[tokio::test]
async fn the_token_may_ride_in_a_header() {
    let (receiver, intake, token) = open(LIMITS);
    let mut headed = request("/v1/traces", PROTOBUF, ADK);
    headed.headers_mut().insert("mocktrial-channel", token.parse().expect("a header"));
    assert_eq!(send(receiver.local_addr(), headed).await.status, 200);
    assert!(!intake.close().spans.is_empty());
}

#[tokio::test]
async fn what_is_rejected_is_told_to_the_exporter_and_kept_as_a_count() {
    let (receiver, intake, token) = open(LIMITS);
    let path = format!("/{token}/v1/traces");
    let bad = json!({"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXQ="});
    let answer = send(receiver.local_addr(), request(&path, JSON, body(&[span(1), bad]))).await;
    assert_eq!(answer.status, 200);
    let told: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    let why = "an id is base64; OTLP/JSON ids are hex";
    assert_eq!(told, json!({"partialSuccess": {"rejectedSpans": "1", "errorMessage": why}}));
    let received = intake.close();
    assert_eq!(received.spans.len(), 1);
    assert_eq!(received.rejected, [(why.to_owned(), 1)]);
}

#[tokio::test]
async fn a_partial_success_in_protobuf_reads_as_one() {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
    use prost::Message;

    let (receiver, intake, token) = open(SpanLimits { spans: 3, ..LIMITS });
    let path = format!("/{token}/v1/traces");
    let answer = send(receiver.local_addr(), request(&path, PROTOBUF, ADK)).await;
    let told = ExportTraceServiceResponse::decode(answer.body).expect("a response");
    let told = told.partial_success.expect("a partial success");
    let received = intake.close();
    assert_eq!(received.spans.len(), 3);
    assert!(received.dropped > 0);
    assert_eq!(told.rejected_spans as u64, received.dropped);
    assert_eq!(told.error_message, "the trial's span limit is reached");
}

#[tokio::test]
async fn the_weight_of_all_spans_is_bounded() {
    let (receiver, intake, token) = open(SpanLimits { span_bytes: 300, ..LIMITS });
    let path = format!("/{token}/v1/traces");
    let three = body(&[span(1), span(2), span(3)]);
    send(receiver.local_addr(), request(&path, JSON, three)).await;
    let received = intake.close();
    assert_eq!((received.spans.len(), received.dropped), (2, 1));
}

#[tokio::test]
async fn a_batch_that_comes_twice_is_kept_once() {
    let (receiver, intake, token) = open(LIMITS);
    let path = format!("/{token}/v1/traces");
    for _ in 0..2 {
        let answer = send(receiver.local_addr(), request(&path, PROTOBUF, ADK)).await;
        assert!(answer.body.is_empty(), "a duplicate is no failure");
    }
    let received = intake.close();
    assert_eq!(received.spans.len() as u64, received.duplicates);
}

#[tokio::test]
async fn spans_taken_early_are_still_known() {
    let (receiver, intake, token) = open(SpanLimits { spans: 2, ..LIMITS });
    let path = format!("/{token}/v1/traces");
    send(receiver.local_addr(), request(&path, JSON, body(&[span(1), span(2)]))).await;
    assert_eq!(intake.take().len(), 2);
    send(receiver.local_addr(), request(&path, JSON, body(&[span(2), span(3)]))).await;
    let received = intake.close();
    assert_eq!((received.spans.len(), received.duplicates, received.dropped), (0, 1, 1));
}

#[tokio::test]
async fn spans_of_nobody_are_counted_and_never_kept() {
    let (receiver, intake, token) = open(LIMITS);
    let dead = Token::random().expect("randomness");
    let closed = receiver.open(dead.clone(), LIMITS);
    closed.close();
    let wrong = "0".repeat(32);
    for path in [
        "/v1/traces".to_owned(),
        format!("/{wrong}/v1/traces"),
        format!("/{}/v1/traces", dead.expose()),
        format!("/{}/v1/traces", &token[..31]),
    ] {
        let answer = send(receiver.local_addr(), request(&path, JSON, body(&[span(1), span(2)]))).await;
        assert_eq!(answer.status, 403, "not retried, and loud");
        let told = String::from_utf8_lossy(&answer.body);
        assert!(told.contains("unknown_channel") && !told.contains(&token), "{told}");
    }
    let received = intake.close();
    assert_eq!((received.spans.len(), received.foreign_spans), (0, 8));
    assert_eq!(receiver.foreign_spans(), 8);
}

#[tokio::test]
async fn a_receiver_that_stands_alone_writes_what_comes_under_any_token() {
    let receiver = bind();
    let file = Arc::new(Mutex::new(Vec::new()));
    let writing = Arc::clone(&file);
    let all = receiver
        .write_on(LIMITS, move |record| {
            writing.lock().expect("one writer").extend_from_slice(record);
            Ok(())
        })
        .expect("randomness");
    let to = receiver.local_addr();
    assert_eq!(send(to, request("/v1/traces", PROTOBUF, ADK)).await.status, 200);
    let json = request("/anything/v1/traces", JSON, body(&[span(1)]));
    assert_eq!(send(to, json).await.status, 200);
    let received = all.close();
    assert_eq!((received.spans.len(), received.foreign_spans), (0, 0));
    let after = request("/v1/traces", JSON, body(&[span(9)]));
    assert_eq!(send(to, after).await.status, 403);

    let file = file.lock().expect("no writer");
    let batches: Vec<_> =
        SpanReader::new(&file[..], 4096).expect("memory").map(|batch| batch.expect("a record")).collect();
    let sent = Decoder::new(4096, Ids::Hex).protobuf(ADK);
    assert_eq!(Ok(&batches[0]), sent.as_ref());
    assert_eq!(&*batches[1].spans[0].name, "n");
    assert_eq!(batches.len(), 2);
}

#[tokio::test]
async fn what_cannot_be_written_is_to_be_sent_again() {
    let receiver = bind();
    let full = |_: &[u8]| Err(std::io::ErrorKind::StorageFull.into());
    let _all = receiver.write_on(LIMITS, full).expect("randomness");
    let answer = send(receiver.local_addr(), request("/v1/traces", PROTOBUF, ADK)).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn logs_and_metrics_are_answered_and_dropped() {
    let (receiver, intake, token) = open(LIMITS);
    for signal in ["logs", "metrics"] {
        let path = format!("/{token}/v1/{signal}");
        let answer = send(receiver.local_addr(), request(&path, PROTOBUF, &b"anything"[..])).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
    }
    assert_eq!(intake.exports(), 0);
    let received = intake.close();
    assert!(received.spans.is_empty() && received.rejected.is_empty());
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_its_reason_and_noted() {
    let (receiver, intake, token) = open(LIMITS);
    let path = format!("/{token}/v1/traces");
    let snake = r#"{"resource_spans": []}"#;
    let mut torn = gzip(ADK);
    torn.truncate(torn.len() / 2);
    for (content_type, encoding, sent, status) in [
        (JSON, "identity", snake.as_bytes().to_vec(), 400),
        (JSON, "identity", b"{\"resourceSpans\":[".to_vec(), 400),
        (JSON, "identity", b"\xff\xfe".to_vec(), 400),
        (PROTOBUF, "identity", ADK[..100].to_vec(), 400),
        (PROTOBUF, "gzip", ADK.to_vec(), 400),
        (PROTOBUF, "gzip", torn, 400),
        (PROTOBUF, "zstd", ADK.to_vec(), 415),
        ("text/plain", "identity", ADK.to_vec(), 415),
        (PROTOBUF, "identity", vec![0; 100_001], 413),
        // A bomb: small as sent, far over the limit as unpacked.
        (PROTOBUF, "gzip", gzip(&vec![0; 50_000_000]), 413),
    ] {
        let mut sent = request(&path, content_type, sent);
        sent.headers_mut().insert("content-encoding", encoding.parse().expect("a header"));
        let answer = send(receiver.local_addr(), sent).await;
        assert_eq!(answer.status.as_u16(), status, "{content_type} {encoding}");
        assert!(!answer.body.is_empty(), "a reason");
    }
    let received = intake.close();
    assert!(received.spans.is_empty());
    let noted: u64 = received.rejected.iter().map(|(_, count)| count).sum();
    assert_eq!(noted, 9, "all but the one whose encoding was not known: {:?}", received.rejected);
    assert!(received.rejected.iter().any(|(reason, _)| reason.contains("snake_case")));
}

#[tokio::test]
async fn only_posts_to_known_paths_are_exports() {
    let (receiver, intake, token) = open(LIMITS);
    let unknown = request(&format!("/{token}/v1/profiles"), JSON, "{}");
    assert_eq!(send(receiver.local_addr(), unknown).await.status, 404);
    let mut get = request(&format!("/{token}/v1/traces"), JSON, "");
    *get.method_mut() = hyper::Method::GET;
    assert_eq!(send(receiver.local_addr(), get).await.status, 405);
    assert_eq!(intake.exports(), 0);
}

#[tokio::test]
async fn one_oversized_attribute_is_cut_and_its_batch_kept() {
    let (receiver, intake, token) = open(LIMITS);
    let mut large = span(1);
    large["attributes"] = json!([{"key": "input.value", "value": {"stringValue": "x".repeat(50_000)}}]);
    let sent = request(&format!("/{token}/v1/traces"), JSON, body(&[large, span(2)]));
    assert_eq!(send(receiver.local_addr(), sent).await.status, 200);
    let spans = intake.close().spans;
    assert_eq!(spans[0].attributes.text("input.value").map(str::len), Some(4096));
    assert!(spans[0].cut && !spans[1].cut);
}

#[tokio::test]
async fn a_request_in_progress_is_not_quiet() {
    let (receiver, intake, token) = open(LIMITS);
    let soon = Duration::from_millis(30);
    assert!(intake.quiet(soon, Duration::from_secs(60)).await);
    assert!(!intake.quiet(Duration::from_secs(60), soon).await, "it cannot be known so soon");

    // A body that has begun and does not end.
    let mut stream = TcpStream::connect(receiver.local_addr()).await.expect("a connection");
    let head = format!(
        "POST /{token}/v1/traces HTTP/1.1\r\nhost: h\r\ncontent-type: {JSON}\r\ncontent-length: 2\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    while intake.quiet(Duration::ZERO, Duration::ZERO).await {
        tokio::task::yield_now().await;
    }
    assert!(!intake.quiet(soon, soon * 4).await, "an export is still coming");
    stream.write_all(b"}").await.expect("written");
    assert!(intake.quiet(soon, Duration::from_secs(60)).await);
    assert_eq!(intake.exports(), 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_leaves_no_request_in_progress() {
    let (receiver, intake, token) = open(LIMITS);
    let mut stream = TcpStream::connect(receiver.local_addr()).await.expect("a connection");
    let head = format!(
        "POST /{token}/v1/traces HTTP/1.1\r\nhost: h\r\ncontent-type: {JSON}\r\ncontent-length: 9\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let export = intake.next_export();
    drop(stream);
    export.await;
    assert!(intake.quiet(Duration::from_millis(20), Duration::from_secs(60)).await);
}

#[tokio::test]
async fn a_receiver_that_stopped_takes_no_connections() {
    let (receiver, intake, token) = open(LIMITS);
    let address = receiver.local_addr();
    let path = format!("/{token}/v1/traces");
    send(address, request(&path, JSON, body(&[span(1)]))).await;
    receiver.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(intake.close().spans.len(), 1, "what came is still there");
}

#[tokio::test]
async fn a_dropped_receiver_frees_its_port() {
    let (receiver, _intake, _) = open(LIMITS);
    let address = receiver.local_addr();
    drop(receiver);
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
