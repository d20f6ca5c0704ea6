//! Spans from a file or a pipe, whatever wrote it: the form is told from the first bytes, never from a name.
//!
//! OTLP/JSON lines, one JSON document (OTLP, Jaeger or Tempo export), one protobuf body, length-delimited protobuf
//! bodies; each possibly gzip. A record that is broken is an error of its own and reading goes on behind it, where the
//! form lets one find the next. Holds one record at a time, so a million spans take no more memory than a thousand,
//! unless the file is one document: such a one is bounded by [`RECORD`].

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use super::{Batch, Decoder, Ids, Malformed, jaeger};

/// Most bytes of one line, one body or one document.
pub const RECORD: u64 = 512 << 20;

/// Why a record, or the rest of a file, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read on.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// One record was refused; reading goes on behind it.
    #[error("record {number}: {why}")]
    Record {
        /// Which, from 1: a line, a body or the document.
        number: u64,
        /// Why.
        why: Malformed,
    },
    /// The file ends inside a record.
    #[error("record {0}: the file ends inside it")]
    CutShort(u64),
    /// A record over [`RECORD`]; nothing behind it is read.
    #[error("record {0} is larger than {RECORD} bytes")]
    TooLarge(u64),
}

/// How the records of a file are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A line each; the first may turn out to be the beginning of one document.
    Json,
    /// One body, read a `ResourceSpans` at a time.
    Protobuf,
    /// A varint before each body.
    Delimited,
    /// Nothing more to be read.
    Ended,
}

/// An iterator over the batches of a file.
pub struct SpanReader<'r> {
    from: Box<dyn BufRead + 'r>,
    form: Form,
    decoder: Decoder,
    record: Vec<u8>,
    number: u64,
}

impl<'r> SpanReader<'r> {
    /// `attribute`: most bytes of one attribute or name, see [`Decoder::new`]. Reads the first few bytes.
    pub fn new(from: impl BufRead + 'r, attribute: usize) -> io::Result<Self> {
        let (head, mut from) = peek(from)?;
        let mut form = Form::of(&head);
        if head.starts_with(&[0x1f, 0x8b]) {
            let plain = BufReader::with_capacity(1 << 18, MultiGzDecoder::new(from));
            let (head, plain) = peek(plain)?;
            form = Form::of(&head);
            from = plain;
        }
        Ok(Self {
            from,
            form,
            decoder: Decoder::new(attribute, Ids::HexOrBase64),
            record: Vec::new(),
            number: 0,
        })
    }

    fn refused(&self, why: Malformed) -> FileError {
        let number = self.number;
        FileError::Record { number, why }
    }

    fn json(&mut self) -> Result<Option<Batch>, FileError> {
        while self.line()? {
            if self.record.trim_ascii().is_empty() {
                continue;
            }
            self.number += 1;
            return match json(&mut self.decoder, &self.record) {
                Err(Malformed::JsonEnds) if self.number == 1 => self.document().map(Some),
                Err(why) => Err(self.refused(why)),
                Ok(batch) => Ok(Some(batch)),
            };
        }
        Ok(None)
    }

    /// The file as one document, which its first line began; if it is none, the lines are read as such after all.
    fn document(&mut self) -> Result<Batch, FileError> {
        let first = self.record.len();
        let room = RECORD.saturating_sub(first as u64) + 1;
        (&mut self.from).take(room).read_to_end(&mut self.record)?;
        if self.record.len() as u64 > RECORD {
            self.form = Form::Ended;
            return Err(FileError::TooLarge(self.number));
        }
        json(&mut self.decoder, &self.record).map_err(|why| {
            let mut all = Cursor::new(std::mem::take(&mut self.record));
            all.set_position(first as u64);
            self.from = Box::new(all);
            self.refused(why)
        })
    }

    fn line(&mut self) -> Result<bool, FileError> {
        self.record.clear();
        let mut bounded = (&mut self.from).take(RECORD + 1);
        bounded.read_until(b'\n', &mut self.record)?;
        if self.record.len() as u64 > RECORD {
            self.form = Form::Ended;
            return Err(FileError::TooLarge(self.number + 1));
        }
        Ok(!self.record.is_empty())
    }

    /// One `ResourceSpans` of a single body: with its tag and length it is a body of its own.
    fn protobuf(&mut self) -> Result<Option<Batch>, FileError> {
        self.record.clear();
        let Some(tag) = self.varint()? else {
            return Ok(None);
        };
        self.number += 1;
        if tag != 0x0a {
            self.form = Form::Ended;
            return Err(self.refused(Malformed::Protobuf("a field is no `resource_spans`")));
        }
        let length = self.varint()?.ok_or(FileError::CutShort(self.number))?;
        self.body(length)
    }

    fn delimited(&mut self) -> Result<Option<Batch>, FileError> {
        let Some(length) = self.varint()? else {
            return Ok(None);
        };
        self.number += 1;
        self.record.clear();
        self.body(length)
    }

    fn body(&mut self, length: u64) -> Result<Option<Batch>, FileError> {
        if length > RECORD {
            self.form = Form::Ended;
            return Err(FileError::TooLarge(self.number));
        }
        let read = (&mut self.from).take(length).read_to_end(&mut self.record)?;
        if (read as u64) < length {
            self.form = Form::Ended;
            return Err(FileError::CutShort(self.number));
        }
        let batch = self.decoder.protobuf(&self.record);
        batch.map(Some).map_err(|why| self.refused(why))
    }

    /// The next varint, its bytes appended to the record; none at the end of the file.
    fn varint(&mut self) -> Result<Option<u64>, FileError> {
        let mut number = 0;
        for n in 0..10 {
            let Some(&byte) = self.from.fill_buf()?.first() else {
                if n == 0 {
                    return Ok(None);
                }
                break;
            };
            self.from.consume(1);
            self.record.push(byte);
            number |= u64::from(byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        self.form = Form::Ended;
        Err(FileError::CutShort(self.number + 1))
    }
}

impl Iterator for SpanReader<'_> {
    type Item = Result<Batch, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = match self.form {
            Form::Json => self.json(),
            Form::Protobuf => self.protobuf(),
            Form::Delimited => self.delimited(),
            Form::Ended => return None,
        };
        if matches!(read, Err(FileError::Io(_))) {
            self.form = Form::Ended;
        }
        read.transpose()
    }
}

/// One JSON text: OTLP or Tempo, or else Jaeger.
fn json(decoder: &mut Decoder, text: &[u8]) -> Result<Batch, Malformed> {
    match decoder.json(text) {
        Err(Malformed::NoSpans) => jaeger::decode(decoder, text),
        decoded => decoded,
    }
}

impl Form {
    /// JSON begins with a brace or bracket, and holds no control characters. Protobuf does, within a few bytes: the tag
    /// `12` stands in every attribute. A body begins with tag `0a` and a length, then a tag of `ResourceSpans`; a
    /// delimited one with the body's length. `0a` as the length of a ten-byte body is told by what follows: there `0a`
    /// and a length below nine, which is no tag.
    fn of(head: &[u8]) -> Self {
        let text = head.trim_ascii_start();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
        match head {
            [] => Self::Ended,
            _ if text.starts_with(b"{") || text.starts_with(b"[") => match text.iter().any(control) {
                false => Self::Json,
                true if head[0] == 0x0a => Self::Protobuf,
                true => Self::Delimited,
            },
            [0x0a, 0x0a, (..=8), ..] => Self::Delimited,
            [0x0a, ..] => Self::Protobuf,
            _ => Self::Delimited,
        }
    }
}

/// The first bytes, and a reader that gives them again.
fn peek<'r>(mut from: impl BufRead + 'r) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'r>)> {
    let mut head = Vec::new();
    (&mut from).take(64).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(from))))
}
