//! The receiver over real sockets: by hand-made requests, and by the exporters that apps use.

#[path = "receiver/client.rs"]
mod client;
#[path = "receiver/damaged.rs"]
mod damaged;
#[path = "receiver/exporters.rs"]
mod exporters;
#[path = "receiver/grpc.rs"]
mod grpc;
#[path = "receiver/http.rs"]
mod http;

use std::net::{Ipv4Addr, SocketAddr};

use mocktrial::clock::Clock;
use mocktrial::name::Token;
use mocktrial::spans::{Intake, Receiver, SpanLimits};

const ADK: &[u8] = include_bytes!("spans/adk.pb");

const LIMITS: SpanLimits = SpanLimits { spans: 1000, span_bytes: 1 << 20, attribute: 4096, body: 100_000 };

fn bind() -> Receiver {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Receiver::bind(anywhere, Clock::start()).expect("a free port")
}

/// A receiver, one open token of it, and what the token is.
fn open(limits: SpanLimits) -> (Receiver, Intake, String) {
    let receiver = bind();
    let token = Token::random().expect("randomness");
    let text = token.expose().to_owned();
    let intake = receiver.open(token, limits);
    (receiver, intake, text)
}
