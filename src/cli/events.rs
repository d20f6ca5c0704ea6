//! `mocktrial events FILE`: spans to events, one JSON object a line. Useful alone, on any trace.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use super::Told;
use crate::events;
use crate::journal::EventRow;
use crate::spans::file::{FileError, SpanReader};
use crate::verdict::Exit;

/// Turn spans into events
#[derive(clap::Args)]
pub struct Args {
    /// OTLP (JSON, JSON lines or protobuf), Jaeger or Tempo JSON, possibly gzip; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Longest attribute read, in bytes: arguments are printed whole.
const ATTRIBUTE: usize = 1 << 20;

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let name = self.file.display();
        let unread = |error: &dyn std::fmt::Display| Told::usage(format!("{name}: {error}"));
        let from: Box<dyn BufRead> = if self.file.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let file = File::open(&self.file).map_err(|error| unread(&error))?;
            Box::new(BufReader::with_capacity(1 << 18, file))
        };
        let mut spans = Vec::new();
        let mut faults = 0u64;
        for batch in SpanReader::new(from, ATTRIBUTE).map_err(|error| unread(&error))? {
            match batch {
                Ok(batch) => {
                    for (reason, count) in batch.rejected.iter() {
                        faults += count;
                        eprintln!("mocktrial: {name}: {count} spans left out: {reason}");
                    }
                    spans.extend(batch.spans);
                }
                Err(error @ (FileError::Record { .. } | FileError::CutShort(_))) => {
                    faults += 1;
                    eprintln!("mocktrial: {name}: {error}");
                }
                Err(error) => return Err(unread(&error)),
            }
        }
        let mut out = BufWriter::new(io::stdout().lock());
        for event in events::read(&spans) {
            let line = serde_json::to_string(&EventRow::from(event)).map_err(Told::trouble)?;
            if writeln!(out, "{line}").is_err() {
                return Ok(Exit::Passed); // whoever read this has seen enough
            }
        }
        let _ = out.flush();
        Ok(if faults > 0 { Exit::Usage } else { Exit::Passed })
    }
}
