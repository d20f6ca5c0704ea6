//! `mocktrial events FILE`: spans to events, one JSON object a line, or a tree for people. Useful alone, on any trace.
//!
//! The input is read once and its spans put aside, since a span of any trace may stand in its last line; then each
//! family of traces is read by itself. A million spans in short traces take no more memory than the largest family.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use super::Told;
use super::print::{self, complain};
use crate::events::{self, Event, Kind, Kinship};
use crate::journal::EventRow;
use crate::spans::file::{FileError, SpanReader};
use crate::spans::{SpanId, Spool, TraceId};
use crate::verdict::Exit;

/// Turn spans into events
#[derive(clap::Args)]
pub struct Args {
    /// OTLP (JSON, JSON lines or protobuf), Jaeger or Tempo JSON, possibly gzip; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what each agent did as a tree, for people
    #[arg(long)]
    tree: bool,
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
        let aside = |error: io::Error| Told::trouble(format!("spans cannot be put aside: {error}"));
        let (mut spool, mut kinship) = (Spool::default(), Kinship::default());
        let mut faults = 0u64;
        for batch in SpanReader::new(from, ATTRIBUTE).map_err(|error| unread(&error))? {
            match batch {
                Ok(batch) => {
                    for (reason, count) in batch.rejected.iter() {
                        faults += count;
                        complain!("mocktrial: {name}: {count} spans left out: {reason}");
                    }
                    batch.spans.iter().for_each(|span| kinship.see(span));
                    spool.put(batch.spans).map_err(aside)?;
                }
                Err(error @ (FileError::Record { .. } | FileError::CutShort(_))) => {
                    faults += 1;
                    complain!("mocktrial: {name}: {error}");
                }
                Err(error) => return Err(unread(&error)),
            }
        }
        for family in kinship.suspects() {
            kinship.look(&spool.of(&family.traces).map_err(aside)?);
        }
        let mut out = Out { to: BufWriter::new(print::plain()), held: BTreeMap::new() };
        for family in kinship.families() {
            let events = events::read(&spool.of(&family.traces).map_err(aside)?);
            let written =
                if self.tree { events::tree(&mut out.to, &events) } else { out.lines(family.start, events) };
            written.map_err(Told::trouble)?;
        }
        out.lines(u64::MAX, Vec::new()).and_then(|()| out.to.flush()).map_err(Told::trouble)?;
        Ok(if faults > 0 { Exit::Usage } else { Exit::Passed })
    }
}

/// Events of families that overlap in time, as lines in one order of start.
struct Out<W: Write> {
    to: BufWriter<W>,
    /// Those before which an event of a later family may still come.
    held: BTreeMap<(u64, TraceId, SpanId, Kind, usize), Event>,
}

impl<W: Write> Out<W> {
    /// Takes the events of a family that starts at `start`, and writes those that nothing can come before any more.
    fn lines(&mut self, start: u64, events: Vec<Event>) -> io::Result<()> {
        while let Some(first) = self.held.first_entry() {
            if first.key().0 >= start && start < u64::MAX {
                break;
            }
            serde_json::to_writer(&mut self.to, &EventRow::from(first.remove()))?;
            self.to.write_all(b"\n")?;
        }
        for (n, event) in events.into_iter().enumerate() {
            self.held.insert((event.started_at, event.trace_id, event.span_id, event.kind, n), event);
        }
        Ok(())
    }
}
