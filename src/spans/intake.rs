//! One trial's share of the receiver: what came under its token, within its limits.
//!
//! A batch that comes twice (an exporter retries when our answer was lost) is kept once. At a limit spans are dropped
//! and counted, the exporter is told by a partial success, and since exporters ignore that, [`Received`] says it too.
//! Whoever holds the [`Intake`] decides when to stop listening; spans that come later belong to nobody.

mod lane;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Span;
use super::receiver::Shared;

pub(super) use lane::{InProgress, Lane, NotTaken, Taken};

/// Bounds of what is kept for one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanLimits {
    /// Spans kept; more are dropped and counted.
    pub spans: u64,
    /// [`weight`](super::weight) of all spans kept together, in bytes; what is over it is dropped and counted.
    pub span_bytes: u64,
    /// One attribute or name, in bytes; longer ones are cut and their span marked.
    pub attribute: u64,
    /// One request's body in bytes, as sent and as decompressed; a larger one is refused (413).
    pub body: u64,
}

/// The OTLP protocol the app's exporters are told to use. The receiver answers all three, whatever was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `http/protobuf`.
    #[default]
    HttpProtobuf,
    /// `http/json`.
    HttpJson,
    /// `grpc`.
    Grpc,
}

impl Protocol {
    /// As `OTEL_EXPORTER_OTLP_PROTOCOL` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
            Self::Grpc => "grpc",
        }
    }
}

/// What came in for one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// In order of arrival.
    pub spans: Vec<Span>,
    /// Spans over `spans` or `span_bytes`.
    pub dropped: u64,
    /// Spans that had come before: same trace id and span id.
    pub duplicates: u64,
    /// Spans that came to the receiver, while this intake was open, under no token or a dead one: nobody's.
    pub foreign_spans: u64,
    /// Spans rejected, and whole bodies refused (each counts one), by reason.
    pub rejected: Vec<(String, u64)>,
}

/// An open token. Dropping it closes it as [`Intake::close`] does.
pub struct Intake {
    lane: Arc<Lane>,
    shared: Arc<Shared>,
    address: SocketAddr,
    foreign_before: u64,
}

impl Intake {
    pub(super) fn new(lane: Arc<Lane>, shared: Arc<Shared>, address: SocketAddr) -> Self {
        let foreign_before = shared.foreign.load(Ordering::Relaxed);
        Self { lane, shared, address, foreign_before }
    }

    /// The variables that make a stock OpenTelemetry SDK send its spans here, soon and all of them.
    ///
    /// Signal-specific names are set beside the common ones, since those would win over ours. The token is in the path
    /// (HTTP) and in a header (gRPC metadata; gRPC exporters drop the path). `advertise_host` replaces the listening
    /// address where the app is on another host.
    pub fn env(&self, advertise_host: Option<&str>, protocol: Protocol) -> Vec<(String, String)> {
        let port = self.address.port();
        let base = match advertise_host {
            Some(host) => format!("http://{host}:{port}"),
            None if self.address.ip().is_unspecified() => format!("http://127.0.0.1:{port}"),
            None => format!("http://{}", self.address),
        };
        let token = self.lane.token.expose();
        let header = format!("{}={token}", super::receiver::CHANNEL_HEADER);
        let (endpoint, traces) = match protocol {
            Protocol::Grpc => (base.clone(), base),
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                (format!("{base}/{token}"), format!("{base}/{token}/v1/traces"))
            }
        };
        [
            ("OTEL_SDK_DISABLED", "false".to_owned()),
            ("OTEL_TRACES_EXPORTER", "otlp".to_owned()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.as_str().to_owned()),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", protocol.as_str().to_owned()),
            ("OTEL_EXPORTER_OTLP_HEADERS", header.clone()),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", header),
            // Python's gRPC exporter takes a plain connection only when told so.
            ("OTEL_EXPORTER_OTLP_INSECURE", "true".to_owned()),
            ("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "true".to_owned()),
            ("OTEL_BSP_SCHEDULE_DELAY", "200".to_owned()),
            ("OTEL_TRACES_SAMPLER", "always_on".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// Waits until no export was in progress and none arrived for `quiet_for`, counted from now; at most `at_most`.
    /// Whether it fell quiet.
    pub async fn quiet(&self, quiet_for: Duration, at_most: Duration) -> bool {
        let clock = self.shared.clock;
        let deadline = clock.now().plus(at_most);
        let mut activity = self.lane.activity.subscribe();
        loop {
            let now = *activity.borrow_and_update();
            let idle = now.in_progress == 0;
            let calm = clock.now().plus(quiet_for);
            let until = if idle { calm.min(deadline) } else { deadline };
            tokio::select! {
                biased;
                changed = activity.changed() => if changed.is_err() { return idle },
                () = clock.sleep_until(until) => return idle && calm <= deadline,
            }
        }
    }

    /// Waits for the next export to end, however it ended.
    pub async fn next_export(&self) {
        let mut activity = self.lane.activity.subscribe();
        let before = activity.borrow().exports;
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = activity.wait_for(|now| now.exports != before).await;
    }

    /// Export requests that ended so far, refused ones included.
    pub fn exports(&self) -> u64 {
        self.lane.activity.borrow().exports
    }

    /// Takes the spans that came so far and leaves the rest of the account as it is: for whoever writes them on.
    /// Duplicates of spans taken are still known, and the limits still count them.
    pub fn take(&self) -> Vec<Span> {
        std::mem::take(&mut self.lane.kept().spans)
    }

    /// Closes the token and gives what came. An export still in progress is foreign from here on.
    pub fn close(self) -> Received {
        self.shared.forget(&self.lane);
        let mut kept = self.lane.kept();
        kept.closed = true;
        let foreign = self.shared.foreign.load(Ordering::Relaxed);
        Received {
            spans: std::mem::take(&mut kept.spans),
            dropped: kept.dropped,
            duplicates: kept.duplicates,
            foreign_spans: foreign - self.foreign_before,
            rejected: std::mem::take(&mut kept.rejected).into_iter().collect(),
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.shared.forget(&self.lane);
        self.lane.kept().closed = true;
    }
}
