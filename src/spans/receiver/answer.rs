//! What an exporter is answered, in the encoding it spoke (OTLP specification, "OTLP/HTTP Response" and "OTLP/gRPC").

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;

use crate::spans::intake::Taken;
use crate::spans::protobuf::{bytes_field, number_always};

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// How the request was encoded, and so its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
    Grpc,
}

/// Why nothing of a request was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The payload is broken; says how. Not to be sent again.
    Bad(String),
    /// Over the body limit.
    TooLarge,
    /// Content type or content encoding is none of ours.
    Unsupported(&'static str),
    /// No open token.
    Foreign,
    /// No such endpoint.
    NoSuchPath,
    /// An endpoint, but not by this method.
    NotPost,
    /// Full, or stopping: to be sent again.
    Busy,
    /// The client left before its body was complete.
    Lost,
}

impl Refusal {
    /// HTTP status and gRPC code. Exporters retry 503 and `UNAVAILABLE` and drop the batch on every other one here;
    /// `RESOURCE_EXHAUSTED` would fit a large body but is retried by the stock exporters, for ever.
    fn codes(&self) -> (StatusCode, u32) {
        const INVALID_ARGUMENT: u32 = 3;
        const PERMISSION_DENIED: u32 = 7;
        const UNIMPLEMENTED: u32 = 12;
        const UNAVAILABLE: u32 = 14;
        match self {
            Self::Bad(_) => (StatusCode::BAD_REQUEST, INVALID_ARGUMENT),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, INVALID_ARGUMENT),
            Self::Unsupported(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, UNIMPLEMENTED),
            Self::Foreign => (StatusCode::FORBIDDEN, PERMISSION_DENIED),
            Self::NoSuchPath => (StatusCode::NOT_FOUND, UNIMPLEMENTED),
            Self::NotPost => (StatusCode::METHOD_NOT_ALLOWED, UNIMPLEMENTED),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE),
            Self::Lost => (StatusCode::REQUEST_TIMEOUT, INVALID_ARGUMENT),
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::Bad(why) => why,
            Self::TooLarge => "the body is over the limit",
            Self::Unsupported(what) => what,
            Self::Foreign => "unknown_channel: no trial is open under this token",
            Self::NoSuchPath => "no such endpoint",
            Self::NotPost => "only POST",
            Self::Busy => "no room at the moment, or stopping",
            Self::Lost => "the body did not come",
        }
    }
}

/// The answer to a request of which `taken` was kept. Full success is an empty message.
pub(super) fn success(encoding: Encoding, taken: &Taken) -> Answer {
    let body = match (encoding, taken.rejected) {
        (Encoding::Json, 0) => b"{}".to_vec(),
        (_, 0) => Vec::new(),
        (Encoding::Json, rejected) => json!({"partialSuccess": {
            "rejectedSpans": rejected.to_string(),
            "errorMessage": taken.message,
        }})
        .to_string()
        .into_bytes(),
        (_, rejected) => {
            let mut partial = Vec::new();
            number_always(0x08, rejected, &mut partial);
            bytes_field(0x12, taken.message.as_bytes(), &mut partial);
            let mut response = Vec::new();
            bytes_field(0x0a, &partial, &mut response);
            response
        }
    };
    match encoding {
        Encoding::Grpc => grpc(body),
        _ => http(StatusCode::OK, encoding, body),
    }
}

/// The answer to a request of which nothing was kept: a `google.rpc.Status`, or gRPC's own.
pub(super) fn refused(encoding: Encoding, refusal: &Refusal) -> Answer {
    let (status, code) = refusal.codes();
    let message = refusal.message();
    let mut answer = match encoding {
        Encoding::Grpc => return grpc_refused(code, message),
        Encoding::Json => {
            let body = json!({"code": code, "message": message}).to_string();
            http(status, encoding, body.into_bytes())
        }
        Encoding::Protobuf => {
            let mut body = Vec::new();
            number_always(0x08, u64::from(code), &mut body);
            bytes_field(0x12, message.as_bytes(), &mut body);
            http(status, encoding, body)
        }
    };
    if *refusal == Refusal::Busy {
        let second = HeaderValue::from_static("1");
        answer.headers_mut().insert(RETRY_AFTER, second);
    }
    answer
}

fn http(status: StatusCode, encoding: Encoding, body: Vec<u8>) -> Answer {
    let content_type = match encoding {
        Encoding::Json => "application/json",
        _ => "application/x-protobuf",
    };
    let mut answer = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// One message in its five-byte frame (flag, length), then the trailers.
fn grpc(message: Vec<u8>) -> Answer {
    let mut frame = vec![0];
    frame.extend_from_slice(&(message.len() as u32).to_be_bytes());
    frame.extend_from_slice(&message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(frame)).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut answer = Response::new(body.boxed_unsync());
    let content_type = HeaderValue::from_static("application/grpc");
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// gRPC percent-encodes messages (gRPC over HTTP/2, "Status-Message").
const MESSAGE: &AsciiSet = &CONTROLS.add(b'%');

fn grpc_refused(code: u32, message: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()).boxed_unsync());
    let message = utf8_percent_encode(message, MESSAGE).to_string();
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from(code));
    if let Ok(message) = HeaderValue::from_str(&message) {
        headers.insert("grpc-message", message);
    }
    answer
}
