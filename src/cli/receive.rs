//! `mocktrial receive`: the span receiver alone, for looking at what an app exports.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::json;

use super::{Told, runtime};
use crate::clock::Clock;
use crate::name::Token;
use crate::spans::{Receiver, Span, SpanLimits, resource_to_json, scope_to_json, to_otlp_json};
use crate::verdict::Exit;

/// The span receiver alone: keeps what comes as OTLP JSON lines until Ctrl-C
#[derive(clap::Args)]
pub struct Args {
    /// Where to listen; HTTP (protobuf and JSON) and gRPC are both answered there
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4318")]
    otlp_http: SocketAddr,
    /// A second address, for exporters that expect gRPC at its own port
    #[arg(long, value_name = "ADDR")]
    otlp_grpc: Option<SocketAddr>,
    /// Spans are appended here, one `ExportTraceServiceRequest` a line
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

const LIMITS: SpanLimits = SpanLimits {
    spans: u64::MAX,
    span_bytes: 256 << 20,
    attribute: 1 << 20,
    body: 64 << 20,
};

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let at = |error: std::io::Error| Told::usage(format!("{}: {error}", self.out.display()));
        let file = File::options().append(true).create(true).open(&self.out).map_err(at)?;
        let mut out = BufWriter::new(file);
        runtime()?.block_on(async {
            let clock = Clock::start();
            let mut receivers = Vec::new();
            for address in std::iter::once(self.otlp_http).chain(self.otlp_grpc) {
                let receiver = Receiver::bind(address, clock)
                    .map_err(|error| Told::usage(format!("cannot listen on {address}: {error}")))?;
                let token = Token::random().map_err(Told::trouble)?;
                let intake = receiver.open_to_all(token, LIMITS);
                println!("listening on {}", receiver.local_addr());
                receivers.push((receiver, intake));
            }
            let mut kept = 0;
            loop {
                let arrived = futures_util::future::select_all(
                    receivers.iter().map(|(_, intake)| Box::pin(intake.next_export())),
                );
                let ended = tokio::select! {
                    _ = tokio::signal::ctrl_c() => true,
                    _ = arrived => false,
                };
                for (_, intake) in &receivers {
                    for span in intake.take() {
                        kept += 1;
                        line(&mut out, &span).map_err(at)?;
                    }
                }
                out.flush().map_err(at)?;
                if ended {
                    break;
                }
            }
            eprintln!("{kept} spans kept in {}", self.out.display());
            Ok(Exit::Passed)
        })
    }
}

fn line(out: &mut impl Write, span: &Span) -> std::io::Result<()> {
    let request = json!({ "resourceSpans": [{
        "resource": resource_to_json(&span.resource),
        "scopeSpans": [{ "scope": scope_to_json(&span.scope), "spans": [to_otlp_json(span)] }],
    }] });
    writeln!(out, "{request}")
}
