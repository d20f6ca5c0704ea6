//! `mocktrial events`: spans to events, of any trace, without a trial.

use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use super::Told;
use crate::events::{self, Event};
use crate::journal::EventRow;
use crate::spans::file::{FileError, SpanReader};
use crate::verdict::Exit;

/// Turn spans into events: who handed work to whom, who called what
#[derive(clap::Args)]
pub struct Args {
    /// OTLP JSON lines or document, OTLP protobuf, a Jaeger or Tempo export; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// For people: one line an event, each below the hand-off it ran in
    #[arg(long)]
    tree: bool,
}

/// Most bytes of one attribute.
const ATTRIBUTE: usize = 1 << 20;

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let at = |error: io::Error| Told::usage(format!("{}: {error}", self.file.display()));
        let from: Box<dyn Read> = if self.file.as_os_str() == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(std::fs::File::open(&self.file).map_err(at)?)
        };
        let mut spans = Vec::new();
        let mut lost = 0;
        for batch in SpanReader::new(BufReader::with_capacity(1 << 18, from), ATTRIBUTE).map_err(at)? {
            match batch {
                Ok(batch) => {
                    lost += batch.rejected.total();
                    spans.extend(batch.spans);
                }
                Err(FileError::Io(error)) => return Err(at(error)),
                Err(error) => {
                    lost += 1;
                    eprintln!("mocktrial: {}: {error}", self.file.display());
                }
            }
        }
        let out = io::stdout().lock();
        let events = events::read(&spans);
        let told = if self.tree { tree(out, &events) } else { lines(out, events) };
        told.map_err(Told::trouble)?;
        if lost > 0 {
            eprintln!("mocktrial: {lost} spans or records could not be read; what they show is missing");
            return Ok(Exit::Unknown);
        }
        Ok(Exit::Passed)
    }
}

fn lines(out: impl Write, events: Vec<Event>) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    for event in events {
        serde_json::to_writer(&mut out, &EventRow::from(event))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn tree(out: impl Write, events: &[Event]) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    events::tree(&mut out, events)?;
    out.flush()
}
