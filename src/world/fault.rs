//! A fault in what an author wrote, found before any trial: where, what, and what to do about it.
//!
//! It becomes a [`Diagnostic`] like those of the files' own shapes, under the one code `world.fault`: what is wrong is
//! mostly SQLite's to say, in SQLite's words.

use crate::scenario::{Diagnostic, Pos, Severity, Source};

/// Something an author wrote that the world cannot be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}:{}: {what}", file.path.display(), pos.line, pos.column)]
pub struct WorldFault {
    /// The contract, the scenario, or a file of schema or rows.
    pub file: Source,
    /// Where in it.
    pub pos: Pos,
    /// What is wrong.
    pub what: String,
    /// What to do, where there is one thing to do.
    pub help: Option<String>,
}

impl WorldFault {
    pub(super) fn new(file: &Source, pos: Pos, what: impl Into<String>) -> Self {
        Self { file: file.clone(), pos, what: what.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the one of `names` that `wanted` was probably meant to be.
    pub(super) fn near(self, wanted: &str, names: impl IntoIterator<Item = String>) -> Self {
        let likeness = |name: &String| strsim::jaro_winkler(name, wanted);
        let nearest = names.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        match nearest.filter(|name| likeness(name) > 0.8) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

impl From<WorldFault> for Diagnostic {
    fn from(fault: WorldFault) -> Self {
        Self {
            file: fault.file.path,
            pos: fault.pos,
            severity: Severity::Error,
            code: "world.fault",
            what: fault.what,
            help: fault.help,
            text: fault.file.text,
        }
    }
}

/// The place of a byte offset in a text.
pub(super) fn place(text: &str, offset: usize) -> Pos {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Pos {
        line: count(before.matches('\n').count() + 1),
        column: count(before[line_start..].chars().count() + 1),
    }
}
