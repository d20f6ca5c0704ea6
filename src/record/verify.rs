//! Whether a record still holds, and what that proves.
//!
//! One walk over the stored bytes: each line is canonical, in its place, and bound to the line before; the end agrees
//! with the verdicts, and the seal with everything. The first bad row is named. Rows are not built but for the few
//! that are compared.

use std::io::BufRead;

use serde::de::DeserializeOwned;

use super::keys::VerifyingKey;
use super::read::{Lines, ReadError};
use super::seal::{signed_message, verdict_map};
use super::vouch::{Broken, Flaw, Options, VerifyError, Vouched};
use crate::journal::canonical::{Entries, check};
use crate::journal::{EndRow, FORMAT, GENESIS, Head, SealRow, VerdictRow};
use crate::verdict::{Gate, Outcome, Reason, Verdict};

/// Walks the whole record.
pub fn verify(reader: impl BufRead, options: Options<'_>) -> Result<Vouched, VerifyError> {
    walk_on(Walk::new(), reader, options)
}

/// Walks what follows the rows that `walk` has seen.
pub(super) fn walk_on(
    mut walk: Walk,
    reader: impl BufRead,
    options: Options<'_>,
) -> Result<Vouched, VerifyError> {
    let mut lines = Lines::after(walk.rows, reader);
    let mut entries = Entries::default();
    loop {
        let Some(line) = lines.next()? else {
            return Err(walk.unsealed().into());
        };
        match walk.row(line, &mut entries, options) {
            Ok(None) => {}
            Ok(Some(vouched)) => {
                return match lines.next() {
                    Ok(None) => Ok(vouched),
                    Err(ReadError::Io(error)) => Err(error.into()),
                    _ => Err(broken(vouched.rows + 1, Flaw::AfterSeal).into()),
                };
            }
            Err(Fault::Here(why)) => return Err(broken(walk.rows + 1, why).into()),
            Err(Fault::At(row, why)) => return Err(broken(row, why).into()),
            Err(Fault::Link { intact }) => {
                let here = Head::of(line).digits();
                let row = walk.rows + 1;
                // A next line that is cut off or too long speaks for nothing.
                let next = lines.next().ok().flatten();
                return Err(walk.blame(row, here, intact, next).into());
            }
        }
    }
}

fn broken(row: u64, why: Flaw) -> Broken {
    Broken { row, why }
}

impl From<ReadError> for VerifyError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error.into(),
            ReadError::Cut { row } => broken(row, Flaw::Cut).into(),
            ReadError::TooLong { row } => broken(row, Flaw::TooLong).into(),
            ReadError::NoRow { row, .. } => broken(row, Flaw::Field("row")).into(),
        }
    }
}

enum Fault {
    Here(Flaw),
    At(u64, Flaw),
    /// `prev` and the row before disagree; `intact`: whether a seal holds in itself, none where the row is no seal.
    Link {
        intact: Option<bool>,
    },
}

impl From<Flaw> for Fault {
    fn from(why: Flaw) -> Self {
        Self::Here(why)
    }
}

/// What was seen so far.
#[derive(Clone)]
pub(super) struct Walk {
    rows: u64,
    prev: [u8; 64],
    at: u64,
    /// The last row is of a kind that is not known: it may have been the seal.
    strange: bool,
    /// Calls were refused for want of a log: nothing may have come out as passed.
    log_failed: bool,
    verdicts: Vec<VerdictRow>,
    end: Option<(u64, EndRow)>,
}

impl Walk {
    pub(super) fn new() -> Self {
        let mut prev = [0; 64];
        prev.copy_from_slice(GENESIS.as_bytes());
        Self { rows: 0, prev, at: 0, strange: false, log_failed: false, verdicts: Vec::new(), end: None }
    }

    /// Takes one row, whatever it is.
    #[cfg(test)]
    pub(super) fn step(&mut self, line: &[u8]) -> bool {
        self.row(line, &mut Entries::default(), Options::default()).is_ok()
    }

    /// Takes one row; gives the verdict when it was the seal.
    fn row(
        &mut self,
        line: &[u8],
        entries: &mut Entries,
        options: Options<'_>,
    ) -> Result<Option<Vouched>, Fault> {
        check(line, entries).map_err(Flaw::from)?;
        let seq = entries.number(line, "seq").ok_or(Flaw::Field("seq"))?;
        let prev = entries.text(line, "prev").ok_or(Flaw::Field("prev"))?;
        let kind = entries.text(line, "row").ok_or(Flaw::Field("row"))?;
        let at = entries.text(line, "at").and_then(|at| at.parse::<u64>().ok()).ok_or(Flaw::Field("at"))?;
        if seq != self.rows + 1 {
            return Err(Flaw::OutOfPlace { found: seq }.into());
        }
        if prev.as_bytes() != self.prev {
            let intact = (kind == "seal").then(|| own_digest_holds(line, entries));
            return Err(Fault::Link { intact });
        }
        if at < self.at {
            return Err(Flaw::TimeBack.into());
        }
        self.kind(line, kind, entries)?;
        if kind == "seal" {
            return self.seal(line, entries, options).map(Some);
        }
        self.rows = seq;
        self.at = at;
        self.prev = Head::of(line).digits();
        Ok(None)
    }

    fn kind(&mut self, line: &[u8], kind: &str, entries: &Entries) -> Result<(), Fault> {
        if (kind == "trial") != (self.rows == 0) {
            return Err(Flaw::Trial.into());
        }
        self.strange = false;
        match kind {
            "trial" => {
                let format = entries.number(line, "format").ok_or(Flaw::Field("format"))?;
                if format != u64::from(FORMAT) {
                    return Err(Flaw::Format(format).into());
                }
            }
            "verdict" => self.verdicts.push(parse(line, "verdict")?),
            "end" => {
                if self.end.is_some() {
                    return Err(Flaw::End("there are two").into());
                }
                self.end = Some((self.rows + 1, parse(line, "end")?));
            }
            "attempt" | "outcome" | "finding" => {
                self.log_failed |= entries.text(line, "code") == Some("log_unavailable");
            }
            "seal" | "turn" | "reply" | "lane" | "span" | "event" | "table" | "change" | "output"
            | "model" | "answer" | "phase" => {}
            _ => self.strange = true,
        }
        Ok(())
    }

    fn seal(&self, line: &[u8], entries: &Entries, options: Options<'_>) -> Result<Vouched, Fault> {
        let seal: SealRow = parse(line, "seal")?;
        if !own_digest_holds(line, entries) {
            return Err(Flaw::Seal("it is not what its own digest says").into());
        }
        if seal.rows != self.rows + 1 {
            return Err(Flaw::Seal("the count of rows").into());
        }
        if seal.head.as_bytes() != self.prev {
            return Err(Flaw::Seal("the head").into());
        }
        if seal.format != FORMAT {
            return Err(Flaw::Format(seal.format.into()).into());
        }
        let outcome = self.outcome()?;
        if verdict_map(&self.verdicts).ok().as_ref() != Some(&seal.verdicts) {
            return Err(Flaw::Seal("the verdicts").into());
        }
        let signed_by = signature(&seal, line, entries)?;
        if let Some(key) = options.key {
            match &signed_by {
                None => return Err(Flaw::NotSigned.into()),
                Some(signer) if signer != key => return Err(Flaw::OtherKey.into()),
                Some(_) => {}
            }
        }
        if options.anchor.is_some_and(|anchor| anchor.seal != seal.own) {
            return Err(Flaw::OtherRecord.into());
        }
        Ok(Vouched {
            rows: seal.rows,
            head: seal.head,
            seal: seal.own,
            anchored: options.anchor.is_some(),
            key_known: options.key.is_some(),
            signed_by,
            outcome,
        })
    }

    /// The end's outcome and task verdict, once both follow from the verdicts.
    fn outcome(&self) -> Result<Outcome, Fault> {
        let Some((row, end)) = &self.end else {
            return Err(Flaw::End("there is none").into());
        };
        let wrong = |why| Fault::At(*row, Flaw::End(why));
        if end.error.is_some() {
            return match end.outcome {
                Outcome::Error => Ok(Outcome::Error),
                _ => Err(wrong("an error whose outcome is none")),
            };
        }
        let mut goals = Vec::new();
        let mut task = Verdict::Passed;
        if self.log_failed {
            task = Verdict::Unknown(Reason::RecordIncomplete);
            goals.push((Gate::Required, task));
        }
        for row in &self.verdicts {
            let verdict = said(&row.verdict, row.reason.as_deref());
            let verdict = verdict.ok_or_else(|| wrong("a verdict of no known kind"))?;
            goals.push((row.gate, verdict));
            if row.subject == "task" {
                task = counted(task, row, verdict);
            }
        }
        if end.outcome != Outcome::of(goals) {
            return Err(wrong("the outcome"));
        }
        if end.task.verdict != task.word() {
            return Err(wrong("the verdict of the task"));
        }
        Ok(end.outcome)
    }

    /// The file ended before a seal.
    fn unsealed(&self) -> Broken {
        let row = if self.strange { self.rows } else { self.rows + 1 };
        broken(row, Flaw::NotSealed)
    }

    /// Which of two rows is bad when `row` does not hold the digest of the one before: `row` itself where its own
    /// bytes are no longer those that the next row, or its own digest, speaks of; else the one before.
    fn blame(&self, row: u64, here: [u8; 64], intact: Option<bool>, next: Option<&[u8]>) -> Broken {
        let mut entries = Entries::default();
        let mut bound = |line: &[u8]| {
            check(line, &mut entries).is_ok() && entries.text(line, "prev").map(str::as_bytes) == Some(&here)
        };
        let intact = intact.unwrap_or_else(|| next.is_none_or(&mut bound));
        if intact && row > 1 { broken(row - 1, Flaw::Changed) } else { broken(row, Flaw::Prev) }
    }
}

fn parse<T: DeserializeOwned>(line: &[u8], field: &'static str) -> Result<T, Fault> {
    serde_json::from_slice(line).map_err(|_| Flaw::Field(field).into())
}

fn own_digest_holds(line: &[u8], entries: &Entries) -> bool {
    let form = entries.without(line, &["self"]);
    entries.text(line, "self") == Some(&Head::of(&form).hex())
}

/// The key whose signature the seal has; none where it has no signature.
fn signature(seal: &SealRow, line: &[u8], entries: &Entries) -> Result<Option<VerifyingKey>, Fault> {
    let Some(signature) = &seal.signature else {
        return Ok(None);
    };
    let text = |field: &str| signature.get(field).and_then(|value| value.as_str());
    let (Some("ed25519"), Some(key), Some(sig)) = (text("alg"), text("key"), text("sig")) else {
        return Err(Flaw::Signature.into());
    };
    let key = VerifyingKey::parse(key).map_err(|_| Flaw::Signature)?;
    let message = signed_message(&entries.without(line, &["self", "signature"]));
    if !key.holds(&message, sig) {
        return Err(Flaw::Signature.into());
    }
    Ok(Some(key))
}

/// A verdict as written.
fn said(verdict: &str, reason: Option<&str>) -> Option<Verdict> {
    match (verdict, reason) {
        ("passed", None) => Some(Verdict::Passed),
        ("failed", None) => Some(Verdict::Failed),
        ("unknown", Some(reason)) => {
            let reason: Reason = serde_json::from_value(reason.into()).ok()?;
            Some(Verdict::Unknown(reason))
        }
        _ => None,
    }
}

/// The task's verdict with one more of its sub-goals: required ones count, and so does an `if_seen` one that failed.
fn counted(task: Verdict, row: &VerdictRow, verdict: Verdict) -> Verdict {
    match (row.gate, verdict) {
        (Gate::Required, _) | (Gate::IfSeen, Verdict::Failed) => task.and(verdict),
        _ => task,
    }
}
