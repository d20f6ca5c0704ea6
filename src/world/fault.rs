//! A fault in what an author wrote, found before any trial: where, what, and what to do about it.
//!
//! No rendering here: the caller turns it into a diagnostic beside those of the files' own shapes.

use std::path::{Path, PathBuf};

use crate::scenario::Pos;

/// Something an author wrote that the world cannot be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}:{}: {what}", path.display(), pos.line, pos.column)]
pub struct WorldFault {
    /// The contract, the scenario, or a file of schema or rows.
    pub path: PathBuf,
    /// Where in it.
    pub pos: Pos,
    /// What is wrong.
    pub what: String,
    /// What to do, where there is one thing to do.
    pub help: Option<String>,
}

impl WorldFault {
    pub(super) fn new(path: &Path, pos: Pos, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            pos,
            what: what.into(),
            help: None,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
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
