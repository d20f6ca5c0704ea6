//! What becomes of a run's trials while it goes on: one appended line for each change, beside `run.json`.
//!
//! A line costs one `write(2)`, however many trials there are, and what was appended is there after `kill -9`. A trial
//! that the plan did not name, a retry, is in the log before its file exists, so that it is never taken for a
//! stranger's. A last line without an end was being written when the run was killed, and says nothing.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::run_file::{PlannedTrial, RunFileError};

/// The log's name in the run's folder; it is gone when the run is over.
pub const RUN_LOG: &str = "run.log.jsonl";

/// The largest log that is read, in bytes.
const SIZE_LIMIT: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct Line<T> {
    id: String,
    trial: T,
}

/// A log being written.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    /// None after a write that failed: nothing may follow its torn end.
    file: Mutex<Option<File>>,
}

impl RunLog {
    /// Starts the log of the run in `folder`, whose run file was just written.
    pub fn begin(folder: &Path) -> Result<Self, RunFileError> {
        let path = folder.join(RUN_LOG);
        let file = File::options().append(true).create_new(true).open(&path);
        let file = file.map_err(|source| RunFileError::Io { path: path.clone(), source })?;
        Ok(Self { path, file: Mutex::new(Some(file)) })
    }

    /// Appends how the trial `id` stands.
    pub fn note(&self, id: &str, trial: &PlannedTrial) -> Result<(), RunFileError> {
        let io = |source| RunFileError::Io { path: self.path.clone(), source };
        let line = Line { id: id.to_owned(), trial };
        let mut line = serde_json::to_vec(&line).map_err(|error| io(error.into()))?;
        line.push(b'\n');
        let closed = || io(io::Error::other("an earlier write failed"));
        let mut guard = self.file.lock().map_err(|_| closed())?;
        let written = guard.as_mut().ok_or_else(closed)?.write_all(&line);
        if written.is_err() {
            *guard = None;
        }
        written.map_err(io)
    }
}

/// How trials stand by the log of the run in `folder`, oldest first; nothing where there is none.
pub(super) fn read(folder: &Path) -> Result<Vec<(String, PlannedTrial)>, RunFileError> {
    let path = folder.join(RUN_LOG);
    let io = |source| RunFileError::Io { path: path.clone(), source };
    let malformed = |why: String| RunFileError::Malformed { path: path.clone(), why };
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut text = Vec::new();
    file.take(SIZE_LIMIT + 1).read_to_end(&mut text).map_err(io)?;
    if text.len() as u64 > SIZE_LIMIT {
        return Err(malformed(format!("longer than {SIZE_LIMIT} bytes")));
    }
    let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let noted = |(line, number): (&[u8], u32)| {
        let line: Line<PlannedTrial> =
            serde_json::from_slice(line).map_err(|error| malformed(format!("line {number}: {error}")))?;
        Ok((line.id, line.trial))
    };
    lines.zip(1..).map(noted).collect()
}

/// Removes the log, once the run file says what it said.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(RUN_LOG)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The right to be the one process at work in a run's folder. The system takes it back however the process ends.
#[derive(Debug)]
pub struct RunLock {
    _folder: File,
}

impl RunLock {
    /// Takes it; an error where another process has it. A file system without locks gives it to everybody.
    pub fn take(folder: &Path) -> Result<Self, RunFileError> {
        let path = || folder.to_owned();
        let file = File::open(folder).map_err(|source| RunFileError::Io { path: path(), source })?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(RunFileError::Busy { path: path() }),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { _folder: file }),
        }
    }
}
