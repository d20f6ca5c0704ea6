//! The one who writes a record: gives each row its place, and one `write(2)`.
//!
//! What a row says is put in canonical form before the lock is taken; its place (`seq`, `at`, `prev`) is given under
//! it, so that the order of numbers, of bytes and of the chain is one. Fail closed: after a failed write, or when the
//! limit is reached, only closing rows are taken, and a caller that cannot write its attempt refuses the call
//! (`log_unavailable`). Nothing is ever changed or removed but the torn end of a failed write.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::canonical::{Body, CanonicalError};
use super::{GENESIS, LINE_LIMIT, Redactor, RowKind, SealRow};
use crate::clock::Clock;

/// SHA-256 of a stored line, without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head(pub [u8; 32]);

impl Head {
    /// Of these bytes.
    pub fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// 64 lower-case hex digits.
    pub fn hex(self) -> String {
        String::from_utf8_lossy(&self.digits()).into_owned()
    }

    /// The same as bytes, without an allocation.
    pub fn digits(self) -> [u8; 64] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        text
    }
}

/// Why a row was not written. A caller that was about to touch the world must not.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file could not be made.
    #[error("cannot create the record: {0}")]
    Create(#[source] io::Error),
    /// The record's limit is reached; closing rows still have room.
    #[error("the record has reached its limit of {limit} bytes")]
    Full {
        /// `limits.record`.
        limit: u64,
    },
    /// A write failed, now or before.
    #[error("the record cannot be written: {0}")]
    Broken(String),
    /// The record is sealed.
    #[error("the record is sealed")]
    Sealed,
    /// The row has no canonical form.
    #[error("a row cannot be written: {0}")]
    Row(#[from] CanonicalError),
    /// The row is longer than a reader takes.
    #[error("a row of {0} bytes is too long")]
    TooLong(usize),
}

/// Where lines are kept: an append-only file. A trait, so that a full disk can be tested.
pub trait Storage: Send {
    /// One `write(2)`.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts off everything after `length`.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// `fsync`.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A record that is being written. Clones write to the same one.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    redactor: Arc<Redactor>,
    limit: u64,
    /// Of `limit`, what is kept for closing rows.
    reserve: u64,
    /// The longest line, in bytes.
    longest: usize,
    tail: Mutex<Tail>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    /// Closing rows only.
    Full,
    /// A write failed and its torn end was cut off: closing rows may be tried.
    Failed,
    /// A torn end could not be cut off: nothing may follow it.
    Torn,
    Sealed,
}

struct Tail {
    storage: Box<dyn Storage>,
    state: State,
    rows: u64,
    bytes: u64,
    prev: [u8; 64],
    line: Vec<u8>,
}

/// A row's place in the chain, before it is written.
#[derive(Debug)]
pub struct Place<'a> {
    /// From 1: the number of the line.
    pub seq: u64,
    /// Unix nanoseconds.
    pub at: u64,
    prev: [u8; 64],
    redactor: &'a Redactor,
}

impl Place<'_> {
    /// Digest of the line before, hex.
    pub fn prev(&self) -> String {
        String::from_utf8_lossy(&self.prev).into_owned()
    }

    /// The form that `row` would be stored in here, with the fields `without` left out.
    pub fn form<R: RowKind>(&self, row: &R, without: &[&str]) -> Result<Vec<u8>, CanonicalError> {
        let mut line = Vec::new();
        self.write(&Body::of(row, Some(self.redactor))?, R::ROW, without, &mut line)?;
        Ok(line)
    }

    fn write(
        &self,
        body: &Body,
        row: &str,
        without: &[&str],
        line: &mut Vec<u8>,
    ) -> Result<(), CanonicalError> {
        let seq = self.seq.to_string();
        let fields = [
            ("at", &quoted(self.at.to_string().as_bytes())[..]),
            ("prev", &quoted(&self.prev)),
            ("row", &quoted(row.as_bytes())),
            ("seq", seq.as_bytes()),
        ];
        body.write(&fields, without, line)
    }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    [b"\"", text, b"\""].concat()
}

impl Journal {
    /// The most that is kept back of a record's limit for its closing rows.
    const RESERVE: u64 = 4 << 20;

    /// Starts a record at `path`, which must not exist. `limit` is the most bytes it may take, closing rows included;
    /// a sixteenth of it, at most 4 MiB, is kept for those.
    pub fn create(
        path: &Path,
        clock: Clock,
        limit: u64,
        redactor: Arc<Redactor>,
    ) -> Result<Self, JournalError> {
        let file = File::options().append(true).create_new(true).open(path).map_err(JournalError::Create)?;
        Ok(Self::over(Box::new(file), clock, limit, redactor))
    }

    /// Starts a record in an empty storage.
    pub fn over(storage: Box<dyn Storage>, clock: Clock, limit: u64, redactor: Arc<Redactor>) -> Self {
        Self::bounded(storage, clock, limit, LINE_LIMIT, redactor)
    }

    pub(super) fn bounded(
        storage: Box<dyn Storage>,
        clock: Clock,
        limit: u64,
        longest: usize,
        redactor: Arc<Redactor>,
    ) -> Self {
        let mut prev = [0; 64];
        prev.copy_from_slice(GENESIS.as_bytes());
        let tail = Mutex::new(Tail {
            storage,
            state: State::Open,
            rows: 0,
            bytes: 0,
            prev,
            line: Vec::with_capacity(4096),
        });
        Self {
            shared: Arc::new(Shared {
                clock,
                redactor,
                limit,
                reserve: (limit / 16).min(Self::RESERVE),
                longest,
                tail,
            }),
        }
    }

    /// What redacts its rows.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.shared.redactor
    }

    /// Writes one row, and gives its `seq`. When this returns, the row is with the operating system (not yet on the
    /// disk: see [`Journal::seal_with`]).
    pub fn append<R: RowKind>(&self, row: &R) -> Result<u64, JournalError> {
        let body = Body::of(row, Some(&self.shared.redactor))?;
        let mut tail = self.tail()?;
        self.shared.put(&mut tail, &body, R::ROW)
    }

    /// Why this record is no longer taking ordinary rows; none while it is.
    pub fn trouble(&self) -> Option<JournalError> {
        match self.tail() {
            Ok(tail) => self.shared.admit(tail.state, false).err(),
            Err(error) => Some(error),
        }
    }

    /// Writes the last row, which is made for its place, and puts everything on the disk. No row follows it.
    pub fn seal_with<E: From<JournalError>>(
        &self,
        build: impl FnOnce(&Place<'_>) -> Result<SealRow, E>,
    ) -> Result<SealRow, E> {
        let mut tail = self.tail()?;
        self.shared.admit(tail.state, true)?;
        let place = self.shared.place(&tail);
        let seal = build(&place)?;
        let body = Body::of(&seal, Some(&self.shared.redactor)).map_err(JournalError::Row)?;
        self.shared.put_at(&mut tail, &body, SealRow::ROW, place)?;
        tail.state = State::Sealed;
        tail.storage.sync().map_err(|error| JournalError::Broken(error.to_string()))?;
        Ok(seal)
    }

    fn tail(&self) -> Result<std::sync::MutexGuard<'_, Tail>, JournalError> {
        let poisoned = |_| JournalError::Broken("a writer panicked".to_owned());
        self.shared.tail.lock().map_err(poisoned)
    }
}

/// Rows that a record needs to say how it ended; room is kept for them.
fn is_closing(row: &str) -> bool {
    matches!(row, "finding" | "verdict" | "end" | "seal")
}

impl Shared {
    fn admit(&self, state: State, closing: bool) -> Result<(), JournalError> {
        match state {
            State::Open => Ok(()),
            State::Full | State::Failed if closing => Ok(()),
            State::Full => Err(JournalError::Full { limit: self.limit }),
            State::Failed | State::Torn => Err(JournalError::Broken("an earlier write failed".to_owned())),
            State::Sealed => Err(JournalError::Sealed),
        }
    }

    fn place(&self, tail: &Tail) -> Place<'_> {
        Place {
            seq: tail.rows + 1,
            // The clock is monotonic and read under the lock, so rows never go back in time.
            at: self.clock.unix_nanos(self.clock.now()),
            prev: tail.prev,
            redactor: &self.redactor,
        }
    }

    fn put(&self, tail: &mut Tail, body: &Body, row: &str) -> Result<u64, JournalError> {
        self.admit(tail.state, is_closing(row))?;
        let place = self.place(tail);
        self.put_at(tail, body, row, place)
    }

    fn put_at(&self, tail: &mut Tail, body: &Body, row: &str, place: Place<'_>) -> Result<u64, JournalError> {
        let mut line = std::mem::take(&mut tail.line);
        line.clear();
        place.write(body, row, &[], &mut line)?;
        let written = self.store(tail, &mut line, is_closing(row));
        tail.line = line;
        tail.prev = written?.digits();
        tail.rows = place.seq;
        Ok(place.seq)
    }

    /// Stores one line whole or not at all.
    fn store(&self, tail: &mut Tail, line: &mut Vec<u8>, closing: bool) -> Result<Head, JournalError> {
        if line.len() > self.longest {
            tail.state = State::Full;
            return Err(JournalError::TooLong(line.len()));
        }
        let head = Head::of(line);
        line.push(b'\n');
        let room = self.limit - if closing { 0 } else { self.reserve };
        let bytes = tail.bytes + line.len() as u64;
        if bytes > room {
            if tail.state == State::Open {
                tail.state = State::Full;
            }
            return Err(JournalError::Full { limit: self.limit });
        }
        let failure = loop {
            match tail.storage.write(line) {
                Ok(all) if all == line.len() => {
                    tail.bytes = bytes;
                    return Ok(head);
                }
                Ok(part) => break format!("only {part} of {} bytes were taken", line.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.to_string(),
            }
        };
        tail.state = match tail.storage.truncate(tail.bytes) {
            Ok(()) => State::Failed,
            Err(_) => State::Torn,
        };
        Err(JournalError::Broken(failure))
    }
}
