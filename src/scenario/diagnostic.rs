//! How a fault of a file is told: where, what is wrong, what to do.
//!
//! Text only; nothing here decides what a fault is. Values of secrets are never part of a fault, names are.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::Pos;

/// Whether a fault keeps the file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does.
    Error,
    /// It does not, but is hardly what was meant.
    Warning,
}

/// One fault of one file.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as the user would name it.
    pub file: PathBuf,
    /// Where in it.
    pub pos: Pos,
    /// Whether it keeps the file from being used.
    pub severity: Severity,
    /// Stable name of the rule, e.g. `worker.blank`.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to do, e.g. ``did you mean `refund`?``
    pub help: Option<String>,
    /// The text of the file, for [`Diagnostic::render`].
    pub text: Arc<str>,
}

impl Diagnostic {
    /// Adds what to do, where there is something to say.
    pub fn help(&mut self, help: impl Into<Option<String>>) -> &mut Self {
        self.help = help.into().or(self.help.take());
        self
    }

    /// The fault with the line it stands in, for a terminal; with colours where `styled`.
    pub fn render(&self, styled: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let path = self.file.display().to_string();
        let line = self.line().unwrap_or_default();
        let start = byte_of_column(line, self.pos.column);
        let end = start + word_length(&line[start..]);
        let line_start = usize::try_from(self.pos.line.max(1)).unwrap_or(1);
        let snippet = Snippet::source(line)
            .line_start(line_start)
            .path(path)
            .annotation(AnnotationKind::Primary.span(start..end));
        let mut group = level.primary_title(&*self.what).id(self.code).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(&**help));
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group]).to_string()
    }

    fn line(&self) -> Option<&str> {
        let index = usize::try_from(self.pos.line).ok()?.checked_sub(1)?;
        self.text.lines().nth(index)
    }
}

/// Byte offset of a column counted in characters from 1; the end of the line where it is shorter.
fn byte_of_column(line: &str, column: u32) -> usize {
    let skip = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    line.char_indices().nth(skip).map_or(line.len(), |(byte, _)| byte)
}

/// Bytes of the word, or quoted text, that `rest` starts with; at least one character where there is one.
fn word_length(rest: &str) -> usize {
    let mut chars = rest.char_indices();
    let Some((_, first)) = chars.next() else {
        return 0;
    };
    let end = match first {
        '"' | '\'' => chars.find(|(_, c)| *c == first).map(|(i, c)| i + c.len_utf8()),
        '{' | '[' | '|' | '>' => return 1,
        _ => {
            chars.find(|(_, c)| matches!(c, ',' | '}' | ']' | ':' | '#') || c.is_whitespace()).map(|(i, _)| i)
        }
    };
    end.unwrap_or(rest.len())
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pos { line, column } = self.pos;
        let file = self.file.display();
        write!(f, "{file}:{line}:{column}: ")?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.what)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {self}", self.code)
    }
}

impl std::error::Error for Diagnostic {}
