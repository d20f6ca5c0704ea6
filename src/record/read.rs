//! Going through a record row by row, in bounded memory. Reading trusts nothing and checks no chain: see `verify`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::journal::{LINE_LIMIT, RowKind};

/// Why a row could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read the record: {0}")]
    Io(#[from] io::Error),
    /// The last line has no end: the writer was stopped, or the file was cut.
    #[error("row {row} is cut off")]
    Cut {
        /// Its number.
        row: u64,
    },
    /// A line longer than any record has.
    #[error("row {row} is longer than {LINE_LIMIT} bytes")]
    TooLong {
        /// Its number.
        row: u64,
    },
    /// No row.
    #[error("row {row}: {why}")]
    NoRow {
        /// Its number.
        row: u64,
        /// Why.
        why: String,
    },
}

/// One row as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number, from 1, as it says.
    pub seq: u64,
    /// Unix nanoseconds of harness time.
    pub at: u64,
    /// Its kind: the word in `row`.
    pub kind: String,
    /// Its own fields, without `seq`, `at`, `row` and `prev`.
    pub body: Map<String, Value>,
}

impl Row {
    /// The row as its type; an error where it is of another kind or shape. Fields that are not known are ignored.
    pub fn parse<R: RowKind + DeserializeOwned>(&self) -> Result<R, ReadError> {
        let no_row = |why| ReadError::NoRow { row: self.seq, why };
        if self.kind != R::ROW {
            return Err(no_row(format!("a `{}`, not a `{}`", self.kind, R::ROW)));
        }
        R::deserialize(&self.body).map_err(|error| no_row(error.to_string()))
    }

    fn of(line: &[u8], row: u64) -> Result<Self, ReadError> {
        let no_row = |why: &str| ReadError::NoRow { row, why: why.to_owned() };
        let mut body: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| no_row(&error.to_string()))?;
        body.remove("prev");
        let Some(seq) = body.remove("seq").and_then(|seq| seq.as_u64()) else {
            return Err(no_row("`seq` is no number"));
        };
        let Some(at) = body.remove("at").and_then(|at| at.as_str().and_then(|at| at.parse().ok())) else {
            return Err(no_row("`at` is no time"));
        };
        let Some(Value::String(kind)) = body.remove("row") else {
            return Err(no_row("`row` is no text"));
        };
        Ok(Self { seq, at, kind, body })
    }
}

/// A record being read: an iterator that ends after its first error.
#[derive(Debug)]
pub struct Record<R = BufReader<File>> {
    lines: Lines<R>,
    done: bool,
}

/// Opens the record at `path`.
pub fn read(path: &Path) -> Result<Record, ReadError> {
    Ok(Record::over(BufReader::new(File::open(path)?)))
}

impl<R: BufRead> Record<R> {
    /// Reads from anything.
    pub fn over(reader: R) -> Self {
        Self { lines: Lines::after(0, reader), done: false }
    }
}

impl<R: BufRead> Iterator for Record<R> {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let row = self.lines.number + 1;
        let read = match self.lines.next() {
            Ok(Some(line)) => Row::of(line, row),
            Ok(None) => {
                self.done = true;
                return None;
            }
            Err(error) => Err(error),
        };
        self.done = read.is_err();
        Some(read)
    }
}

/// The lines of a record, one at a time.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Of the line that was read last.
    pub(super) number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines that follow the first `number`.
    pub(super) fn after(number: u64, reader: R) -> Self {
        Self { reader, line: Vec::new(), number }
    }

    /// The next line without its newline; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, ReadError> {
        self.line.clear();
        let limit = LINE_LIMIT as u64 + 1;
        let length = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        let row = self.number;
        if self.line.pop_if(|byte| *byte == b'\n').is_some() {
            return Ok(Some(&self.line));
        }
        if length as u64 == limit {
            return Err(ReadError::TooLong { row });
        }
        Err(ReadError::Cut { row })
    }
}
