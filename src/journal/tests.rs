//! The journal's promises: one order, one write, and fail closed.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::canonical::{Entries, check};
use super::*;
use crate::clock::Clock;

/// A storage in memory that can be told to fail.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    writes: usize,
    /// Takes no more than this in all.
    room: Option<usize>,
    no_truncate: bool,
    syncs: usize,
}

impl Memory {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").bytes.clone()
    }

    pub(crate) fn journal(&self, secrets: &[&str], limit: u64) -> Journal {
        let key = RedactionKey::random().expect("randomness");
        let redactor = Redactor::new(key, secrets).expect("a redactor");
        Journal::over(Box::new(self.clone()), Clock::start(), limit, Arc::new(redactor))
    }

    fn set(&self, change: impl FnOnce(&mut Disk)) {
        change(&mut self.0.lock().expect("no panic"));
    }
}

impl Storage for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.lock().expect("no panic");
        disk.writes += 1;
        let room = disk.room.map_or(bytes.len(), |room| room.saturating_sub(disk.bytes.len()));
        let part = bytes.len().min(room);
        if part == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.bytes.extend_from_slice(&bytes[..part]);
        Ok(part)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.0.lock().expect("no panic");
        if disk.no_truncate {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        disk.bytes.truncate(usize::try_from(length).expect("fits"));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.lock().expect("no panic").syncs += 1;
        Ok(())
    }
}

pub(crate) fn turn(n: u32, text: &str) -> TurnRow {
    TurnRow { n, text: text.to_owned(), expects_reply: true }
}

fn finding() -> FindingRow {
    FindingRow { code: "record_incomplete".to_owned(), worker: None, detail: String::new() }
}

fn rows(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("a row"))
        .collect()
}

#[test]
fn a_stored_line_is_its_own_canonical_form_with_its_place() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    assert_eq!(journal.append(&turn(1, "héllo\n")).expect("written"), 1);
    assert_eq!(journal.append(&turn(2, "\u{1f600}")).expect("written"), 2);
    let bytes = memory.bytes();
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 3, "two lines, each with its newline");
    for line in &lines[..2] {
        let value: Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!(serde_json_canonicalizer::to_vec(&value).expect("a form"), *line);
    }
    let rows = rows(&bytes);
    let at = rows[0]["at"].as_str().expect("a text");
    assert!(at.len() == 19 && at.bytes().all(|b| b.is_ascii_digit()), "Unix nanoseconds: {at}");
    assert_eq!(rows[0]["prev"], GENESIS);
    assert_eq!(rows[1]["prev"], Head::of(lines[0]).hex());
    assert_eq!(rows[1]["row"], "turn");
    assert_eq!(rows[1]["n"], 2);
}

#[test]
fn many_threads_write_one_chain() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 64 << 20);
    let (threads, each) = (8, 500);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let journal = journal.clone();
            scope.spawn(move || {
                let mut before = 0;
                for n in 0..each {
                    let seq = journal.append(&turn(n, &format!("thread {thread}"))).expect("written");
                    assert!(seq > before);
                    before = seq;
                }
            });
        }
    });
    let bytes = memory.bytes();
    let (mut prev, mut at, mut seq) = (GENESIS.to_owned(), 0u64, 0);
    for line in bytes.strip_suffix(b"\n").expect("a newline").split(|byte| *byte == b'\n') {
        let mut entries = Entries::default();
        check(line, &mut entries).expect("canonical");
        seq += 1;
        assert_eq!(entries.number(line, "seq"), Some(seq));
        assert_eq!(entries.text(line, "prev"), Some(&*prev));
        let now = entries.text(line, "at").and_then(|at| at.parse().ok()).expect("a time");
        assert!(now >= at);
        (prev, at) = (Head::of(line).hex(), now);
    }
    assert_eq!(seq, u64::from(threads * each));
    assert_eq!(memory.0.lock().expect("no panic").writes as u64, seq, "one write a row");
}

#[test]
fn secrets_are_gone_before_anything_is_hashed_or_stored() {
    let memory = Memory::default();
    let journal = memory.journal(&["topsecret"], 1 << 20);
    journal.append(&turn(1, "my topsecret")).expect("written");
    journal.append(&turn(2, "x")).expect("written");
    let bytes = memory.bytes();
    assert!(!String::from_utf8_lossy(&bytes).contains("topsecret"));
    let first = bytes.split(|byte| *byte == b'\n').next().expect("a line");
    assert_eq!(rows(&bytes)[1]["prev"], Head::of(first).hex(), "the digest is of what is stored");
}

#[test]
fn at_the_limit_calls_are_refused_and_closing_rows_have_room() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 64 << 10);
    let mut taken = 0;
    let refused = loop {
        match journal.append(&turn(taken, "some text")) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, JournalError::Full { limit: 65_536 }), "{refused}");
    assert!(matches!(journal.append(&turn(0, "")), Err(JournalError::Full { .. })), "it stays so");
    assert!(matches!(journal.trouble(), Some(JournalError::Full { .. })));
    journal.append(&finding()).expect("a finding still has room");
    while journal.append(&finding()).is_ok() {}
    assert!(memory.bytes().len() <= 64 << 10, "and no more than the limit is ever taken");
    assert_eq!(rows(&memory.bytes()).len() as u32, taken + 1 + closing_rows(&memory));
}

fn closing_rows(memory: &Memory) -> u32 {
    let all = rows(&memory.bytes());
    all.iter().filter(|row| row["row"] == "finding").count() as u32 - 1
}

#[test]
fn a_full_disk_leaves_whole_lines_and_refuses_calls_from_then_on() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    journal.append(&turn(1, "")).expect("written");
    let whole = memory.bytes();
    memory.set(|disk| disk.room = Some(whole.len() + 10));
    assert!(matches!(journal.append(&turn(2, "")), Err(JournalError::Broken(_))));
    assert_eq!(memory.bytes(), whole, "the torn end is cut off");
    memory.set(|disk| disk.room = None);
    assert!(matches!(journal.append(&turn(3, "")), Err(JournalError::Broken(_))), "even with room again");
    assert_eq!(journal.append(&finding()).expect("closing rows may be tried"), 2);
    assert_eq!(rows(&memory.bytes()).len(), 2);
}

#[test]
fn nothing_follows_a_torn_end_that_cannot_be_cut_off() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    memory.set(|disk| (disk.room, disk.no_truncate) = (Some(10), true));
    assert!(journal.append(&turn(1, "")).is_err());
    memory.set(|disk| disk.room = None);
    assert!(journal.append(&finding()).is_err());
    assert_eq!(memory.bytes().len(), 10);
}

#[test]
fn a_row_longer_than_a_reader_takes_is_refused() {
    let memory = Memory::default();
    let redactor = memory.journal(&[], 1).redactor().clone();
    let storage = Box::new(memory.clone());
    let journal = Journal::bounded(storage, Clock::start(), u64::MAX, 1000, redactor);
    let long = journal.append(&turn(1, &"x".repeat(1000)));
    assert!(matches!(long, Err(JournalError::TooLong(_))));
    assert!(journal.trouble().is_some() && memory.bytes().is_empty());
}

#[test]
fn a_sealed_record_is_on_the_disk_and_takes_no_row() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    journal.append(&turn(1, "")).expect("written");
    let sealed = journal.seal_with(|place| {
        Ok::<_, JournalError>(SealRow {
            rows: place.seq,
            head: place.prev(),
            verdicts: Default::default(),
            format: FORMAT,
            signature: None,
            own: String::new(),
        })
    });
    assert_eq!(sealed.expect("sealed").rows, 2);
    assert_eq!(memory.0.lock().expect("no panic").syncs, 1);
    assert!(matches!(journal.append(&finding()), Err(JournalError::Sealed)));
    assert_eq!(rows(&memory.bytes()).len(), 2);
}

#[test]
fn a_record_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("0-1.jsonl");
    let redactor = Memory::default().journal(&[], 1).redactor().clone();
    let journal = Journal::create(&path, Clock::start(), 1 << 20, redactor.clone()).expect("a journal");
    journal.append(&turn(1, "")).expect("written");
    let again = Journal::create(&path, Clock::start(), 1 << 20, redactor);
    assert!(matches!(again, Err(JournalError::Create(_))));
    assert_eq!(rows(&std::fs::read(&path).expect("the file")).len(), 1);
}

#[test]
fn what_a_reader_will_see_can_be_had_before() {
    let memory = Memory::default();
    let journal = memory.journal(&["topsecret"], 1 << 20);
    let value = json!({ "n": 9_007_199_254_740_993_u64, "t": "topsecret", "f": 1.0 });
    let seen = journal.redactor().seen(&value).expect("a form");
    let marker = journal.redactor().marker("topsecret");
    assert_eq!(seen, json!({ "n": "9007199254740993", "t": marker, "f": 1 }));
}
