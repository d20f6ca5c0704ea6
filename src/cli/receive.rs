//! `mocktrial receive`: the span receiver alone, for looking at what an app exports.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::print::{complain, say};
use super::{Told, runtime};
use crate::clock::Clock;
use crate::spans::{Receiver, SpanLimits};
use crate::verdict::Exit;

/// The span receiver alone: keeps what comes until Ctrl-C
#[derive(clap::Args)]
pub struct Args {
    /// Where to listen; HTTP (protobuf and JSON) and gRPC are both answered there
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4318")]
    otlp_http: SocketAddr,
    /// A second address, for exporters that expect gRPC at a port of its own
    #[arg(long, value_name = "ADDR")]
    otlp_grpc: Option<SocketAddr>,
    /// Requests are appended here, length-delimited protobuf; `mocktrial events` reads it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

const LIMITS: SpanLimits =
    SpanLimits { spans: u64::MAX, span_bytes: u64::MAX, attribute: 1 << 20, body: 64 << 20 };

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let at = |error: std::io::Error| Told::usage(format!("{}: {error}", self.out.display()));
        let file = File::options().append(true).create(true).open(&self.out).map_err(at)?;
        runtime()?.block_on(async {
            let clock = Clock::start();
            let mut receivers = Vec::new();
            for address in std::iter::once(self.otlp_http).chain(self.otlp_grpc) {
                let receiver = Receiver::bind(address, clock)
                    .map_err(|error| Told::usage(format!("cannot listen on {address}: {error}")))?;
                let mut file = file.try_clone().map_err(at)?;
                let intake = receiver
                    .write_on(LIMITS, move |request| file.write_all(request))
                    .map_err(Told::trouble)?;
                say!("listening on {}", receiver.local_addr());
                receivers.push((receiver, intake));
            }
            tokio::signal::ctrl_c().await.map_err(Told::trouble)?;
            let requests: u64 = receivers.iter().map(|(_, intake)| intake.exports()).sum();
            for (receiver, _) in receivers {
                receiver.stop().await;
            }
            complain!("{requests} requests, kept in {}", self.out.display());
            Ok(Exit::Passed)
        })
    }
}
