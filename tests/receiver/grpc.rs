//! OTLP over gRPC, on the same port: frames, trailers and statuses.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;

use crate::client::{request, send_http2};
use crate::{ADK, LIMITS, open};

pub const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

pub fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[flag][..], &length, message].concat()
}

pub fn call(path: &str, token: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let mut call = request(path, "application/grpc", body);
    call.headers_mut().insert("mocktrial-channel", token.parse().expect("a header"));
    call.headers_mut().insert("te", "trailers".parse().expect("a header"));
    call
}

#[tokio::test]
async fn a_unary_export_is_kept_and_answered_with_an_empty_message() {
    let (receiver, intake, token) = open(LIMITS);
    let answer = send_http2(receiver.local_addr(), call(EXPORT, &token, frame(0, ADK))).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "application/grpc");
    assert_eq!(&answer.body[..], [0; 5], "one frame, of an empty message");
    assert_eq!(answer.trailers["grpc-status"], "0");
    assert!(!intake.close().spans.is_empty());
}

#[tokio::test]
async fn a_refusal_is_a_status_without_a_message() {
    let (receiver, intake, token) = open(LIMITS);
    let wrong = "0".repeat(32);
    let other = "/opentelemetry.proto.collector.trace.v1.TraceService/Import";
    for (path, token, body, status) in [
        (EXPORT, &token, frame(0, &ADK[..100]), "3"),
        (EXPORT, &token, frame(0, ADK)[..50].to_vec(), "3"),
        (EXPORT, &token, frame(7, ADK), "3"),
        (EXPORT, &token, Vec::new(), "3"),
        (EXPORT, &token, frame(1, ADK), "12"),
        (EXPORT, &token, frame(0, &vec![0; 200_000]), "3"),
        (EXPORT, &wrong, frame(0, ADK), "7"),
        (other, &token, frame(0, ADK), "12"),
    ] {
        let answer = send_http2(receiver.local_addr(), call(path, token, body)).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["grpc-status"], status);
        assert!(answer.headers.contains_key("grpc-message"));
        assert!(answer.body.is_empty());
    }
    let received = intake.close();
    assert!(received.spans.is_empty());
    assert!(received.foreign_spans > 0);
}

#[tokio::test]
async fn logs_and_metrics_are_answered_and_dropped() {
    let (receiver, _intake, token) = open(LIMITS);
    for service in ["logs.v1.LogsService", "metrics.v1.MetricsService"] {
        let path = format!("/opentelemetry.proto.collector.{service}/Export");
        let answer = send_http2(receiver.local_addr(), call(&path, &token, frame(0, b"x"))).await;
        assert_eq!(answer.trailers["grpc-status"], "0");
    }
}
