//! Spans put aside by trace, to be taken up again a trace at a time: in memory while they are few, in a file without a
//! name once they are many.
//!
//! In memory stay 24 bytes and a trace's id for each trace; the spans of one trace may come in any number of batches.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

use super::{Decoder, Ids, Span, TraceId, to_protobuf};

/// Most bytes of spans that are kept in memory.
const IN_MEMORY: usize = 16 << 20;
/// Bytes gathered before they are written.
const GATHERED: usize = 1 << 18;

/// Where a record lies. The record begins with the place of the one before it of the same trace.
#[derive(Clone, Copy, Default)]
struct Place {
    at: u64,
    /// Bytes; zero is no record.
    length: u64,
}

const HEAD: usize = 16;

/// Spans by trace.
pub struct Spool {
    file: SpooledTempFile,
    gathered: Vec<u8>,
    /// Bytes in the file.
    written: u64,
    last: HashMap<TraceId, Place>,
    decoder: Decoder,
}

impl Default for Spool {
    fn default() -> Self {
        Self {
            file: SpooledTempFile::new(IN_MEMORY),
            gathered: Vec::new(),
            written: 0,
            last: HashMap::new(),
            decoder: Decoder::new(usize::MAX, Ids::Hex),
        }
    }
}

impl Spool {
    /// Puts a batch aside. Spans are kept but for their mark of being cut.
    pub fn put(&mut self, mut spans: Vec<Span>) -> io::Result<()> {
        spans.sort_by_key(|span| span.trace_id);
        for of_trace in spans.chunk_by(|a, b| a.trace_id == b.trace_id) {
            let last = self.last.entry(of_trace[0].trace_id).or_default();
            let body = to_protobuf(of_trace);
            let at = self.written + self.gathered.len() as u64;
            self.gathered.extend_from_slice(&last.at.to_le_bytes());
            self.gathered.extend_from_slice(&last.length.to_le_bytes());
            self.gathered.extend_from_slice(&body);
            *last = Place { at, length: (HEAD + body.len()) as u64 };
            if self.gathered.len() >= GATHERED {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&self.gathered)?;
        self.written += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    /// The spans of these traces, in no particular order.
    pub fn of(&mut self, traces: &[TraceId]) -> io::Result<Vec<Span>> {
        if !self.gathered.is_empty() {
            self.write()?;
        }
        let mut spans = Vec::new();
        let mut record = Vec::new();
        for trace in traces {
            let mut place = self.last.get(trace).copied().unwrap_or_default();
            while place.length > 0 {
                self.file.seek(SeekFrom::Start(place.at))?;
                record.clear();
                (&mut self.file).take(place.length).read_to_end(&mut record)?;
                let (head, body) = record.split_at_checked(HEAD).ok_or(io::ErrorKind::UnexpectedEof)?;
                let batch = self.decoder.protobuf(body).map_err(io::Error::other)?;
                spans.extend(batch.spans);
                place = Place { at: number(&head[..8]), length: number(&head[8..]) };
            }
        }
        Ok(spans)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
