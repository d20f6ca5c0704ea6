//! One export request, from its head to its answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request};

use super::answer::{Answer, Encoding, Refusal, refused, success};
use super::body::{BodyError, Share, collect, gunzip};
use super::{CHANNEL_HEADER, Shared};
use crate::spans::intake::{InProgress, Lane, NotTaken, Taken};
use crate::spans::{Batch, Decoder, Ids};

/// Bound on bodies that belong to nobody: they are only counted.
const FOREIGN_BODY: u64 = 16 << 20;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Traces,
    /// Logs, metrics or profiles: answered and dropped.
    Other,
}

/// Token and signal of a path: `/TOKEN/v1/traces`, `/v1/traces`, or a gRPC method, with or without a token before it.
fn route(path: &str) -> Option<(Option<&str>, Signal)> {
    let (rest, method) = path.rsplit_once('/')?;
    let (rest, service) = rest.rsplit_once('/')?;
    let signal = match (service, method) {
        ("v1", "traces") | ("opentelemetry.proto.collector.trace.v1.TraceService", "Export") => {
            Signal::Traces
        }
        ("v1", "logs" | "metrics")
        | ("opentelemetry.proto.collector.logs.v1.LogsService", "Export")
        | ("opentelemetry.proto.collector.metrics.v1.MetricsService", "Export") => Signal::Other,
        _ => return None,
    };
    let token = rest.strip_prefix('/').filter(|token| !token.is_empty());
    Some((token, signal))
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    match kind {
        "application/x-protobuf" | "application/protobuf" => Ok(Encoding::Protobuf),
        "application/json" => Ok(Encoding::Json),
        kind if kind.starts_with("application/grpc") => Ok(Encoding::Grpc),
        _ => Err(Refusal::Unsupported(
            "content-type is none of application/x-protobuf, application/json, application/grpc",
        )),
    }
}

/// Answers one request; keeps its spans where a lane is open for them.
pub(super) async fn answer(shared: &Arc<Shared>, request: Request<Incoming>, stopping: bool) -> Answer {
    let encoding = encoding(request.headers());
    let answered_in = encoding.as_ref().copied().unwrap_or(Encoding::Json);
    let outcome = match encoding {
        Ok(encoding) => take(shared, request, encoding, stopping).await,
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(taken) => success(answered_in, &taken),
        Err(refusal) => refused(answered_in, &refusal),
    }
}

async fn take(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
    encoding: Encoding,
    stopping: bool,
) -> Result<Taken, Refusal> {
    let (head, body) = request.into_parts();
    let (in_path, signal) = route(head.uri.path()).ok_or(Refusal::NoSuchPath)?;
    if head.method != Method::POST {
        return Err(Refusal::NotPost);
    }
    if stopping {
        return Err(Refusal::Busy);
    }
    let in_header = head.headers.get(CHANNEL_HEADER).and_then(|value| value.to_str().ok());
    let lane = shared.lane(in_path.or(in_header));
    // From here on the lane is not quiet, however long the body takes.
    let export = match (signal, lane) {
        (Signal::Traces, lane) => lane.map(Lane::begin),
        (Signal::Other, _) => None,
    };
    let limit = export.as_ref().map_or(FOREIGN_BODY, |export| export.lane().limits.body);
    let mut share = Share::new(&shared.in_flight);
    let outcome = match collect(body, limit, &mut share).await {
        Ok(_) if signal == Signal::Other => Ok(Taken::default()),
        Ok(sent) => spans(shared, export.as_ref(), &head.headers, encoding, sent, share),
        Err(why) => Err(why.into()),
    };
    if let (Err(refusal), Some(export)) = (&outcome, &export) {
        note(refusal, export.lane());
    }
    outcome
}

/// Decodes a body and keeps its spans, or counts them as foreign.
fn spans(
    shared: &Shared,
    export: Option<&InProgress>,
    headers: &HeaderMap,
    encoding: Encoding,
    sent: Vec<u8>,
    mut share: Share,
) -> Result<Taken, Refusal> {
    let limits = export.map(|export| export.lane().limits);
    let limit = limits.map_or(FOREIGN_BODY, |limits| limits.body);
    let plain = unpacked(headers, encoding, &sent, limit, &mut share)?;
    let attribute = limits.map_or(0, |limits| usize::try_from(limits.attribute).unwrap_or(usize::MAX));
    let mut decoder = Decoder::new(attribute, Ids::Hex);
    let decoded = match encoding {
        Encoding::Json => decoder.json(&plain),
        Encoding::Protobuf | Encoding::Grpc => decoder.protobuf(&plain),
    };
    let batch: Batch = decoded.map_err(|why| Refusal::Bad(why.to_string()))?;
    let count = batch.spans.len() as u64 + batch.rejected.total();
    let protobuf = (encoding != Encoding::Json).then_some(&*plain);
    let kept = export.map_or(Err(NotTaken::Closed), |export| export.lane().keep(batch, protobuf));
    kept.map_err(|why| match why {
        NotTaken::Unwritten => Refusal::Busy,
        NotTaken::Closed => {
            shared.foreign.fetch_add(count, Ordering::Relaxed);
            Refusal::Foreign
        }
    })
}

/// The message itself: out of its gRPC frame, and decompressed.
fn unpacked<'s>(
    headers: &HeaderMap,
    encoding: Encoding,
    sent: &'s [u8],
    limit: u64,
    share: &mut Share,
) -> Result<Cow<'s, [u8]>, Refusal> {
    let codec = |name| headers.get(name).map_or(&b"identity"[..], |v| v.as_bytes());
    let (packed, message, codec) = match encoding {
        Encoding::Grpc => {
            let (packed, message) = frame(sent)?;
            (packed, message, codec("grpc-encoding"))
        }
        Encoding::Protobuf | Encoding::Json => {
            let codec = codec(CONTENT_ENCODING.as_str());
            (codec != b"identity", sent, codec)
        }
    };
    match (packed, codec) {
        (false, _) => Ok(message.into()),
        (true, b"gzip") => Ok(gunzip(message, limit, share)?.into()),
        (true, _) => Err(Refusal::Unsupported("compressed by something else than gzip")),
    }
}

/// The one message of a unary call: a flag (compressed or not), a big-endian length, the bytes.
fn frame(sent: &[u8]) -> Result<(bool, &[u8]), Refusal> {
    let bad = || Refusal::Bad("not one gRPC message".to_owned());
    let (head, message) = sent.split_first_chunk::<5>().ok_or_else(bad)?;
    let [flag, length @ ..] = *head;
    if flag > 1 || u32::from_be_bytes(length) as usize != message.len() {
        return Err(bad());
    }
    Ok((flag == 1, message))
}

/// Writes into the trial's own account what its exporter may never tell anyone.
fn note(refusal: &Refusal, lane: &Lane) {
    match refusal {
        Refusal::Bad(why) => lane.refuse(format!("a body was refused: {why}")),
        Refusal::TooLarge => lane.refuse("a body was refused: it is over the limit".to_owned()),
        Refusal::Unsupported(what) => lane.refuse(format!("a body was refused: {what}")),
        Refusal::Lost => lane.refuse("a body did not come to its end".to_owned()),
        // The exporter sends it again, or it was nobody's.
        Refusal::Busy | Refusal::Foreign | Refusal::NoSuchPath | Refusal::NotPost => {}
    }
}

impl From<BodyError> for Refusal {
    fn from(why: BodyError) -> Self {
        match why {
            BodyError::TooLarge => Self::TooLarge,
            BodyError::Overloaded => Self::Busy,
            BodyError::NoGzip => Self::Bad("the body is no gzip".to_owned()),
            BodyError::Lost => Self::Lost,
        }
    }
}
