//! What every part reads with: the source, the faults found so far, and small conversions that report their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::{ReadFile, Reading};
use crate::scenario::file::scalar::{Size, Table, Time};
use crate::scenario::file::{At, Misread};
use crate::scenario::fill::placeholders;
use crate::scenario::names::near_miss;
use crate::scenario::{Diagnostic, Pos, Severity, Source};

pub(super) struct Reader {
    pub source: Source,
    diagnostics: Vec<Diagnostic>,
}

impl Reader {
    pub fn new(source: Source) -> Self {
        Self { source, diagnostics: Vec::new() }
    }

    pub fn finish<T>(mut self, value: Option<T>) -> Reading<T> {
        self.diagnostics.sort_by(|a, b| (&a.file, a.pos, a.severity).cmp(&(&b.file, b.pos, b.severity)));
        Reading { value, diagnostics: self.diagnostics }
    }

    /// Takes over what was found in a file that this one names.
    pub fn absorb(&mut self, named: Self) {
        self.diagnostics.extend(named.diagnostics);
    }

    pub fn error(&mut self, pos: Pos, code: &'static str, what: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Error, pos, code, what.into())
    }

    pub fn warn(&mut self, pos: Pos, code: &'static str, what: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Warning, pos, code, what.into())
    }

    fn add(&mut self, severity: Severity, pos: Pos, code: &'static str, what: String) -> &mut Diagnostic {
        self.diagnostics.push(Diagnostic {
            file: self.source.path.clone(),
            pos,
            severity,
            code,
            what,
            help: None,
            text: self.source.text.clone(),
        });
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    pub fn misread(&mut self, misread: Misread) {
        // A blank value was told of already, in better words.
        let told = self
            .diagnostics
            .iter()
            .any(|fault| fault.pos == misread.pos && fault.severity == Severity::Error);
        if !told {
            self.error(misread.pos, misread.code, misread.what).help(misread.help);
        }
    }

    /// The folder that relative paths of this file are relative to, as the user would name it.
    pub fn folder(&self) -> &Path {
        self.source.path.parent().unwrap_or(Path::new(""))
    }

    /// A file this one names, read; none, and a fault, where it cannot be.
    pub fn file(&mut self, read: ReadFile<'_>, written: &At<String>) -> Option<Source> {
        let path = self.folder().join(&written.value);
        if written.value.is_empty() {
            self.error(written.pos, "file.blank", "a file name may not be blank");
            return None;
        }
        match read(&path) {
            Ok(text) => Some(Source { path, text: text.into() }),
            Err(error) => {
                let what = format!("cannot read `{}`: {error}", path.display());
                self.error(written.pos, "file.unreadable", what)
                    .help("paths are relative to the folder of this file".to_owned());
                None
            }
        }
    }

    /// The name among `known`; none, and a fault with the nearest, where there is no such name.
    pub fn known<'k>(
        &mut self,
        code: &'static str,
        noun: &str,
        written: &At<String>,
        known: impl IntoIterator<Item = &'k str>,
    ) -> bool {
        let known: BTreeSet<&str> = known.into_iter().collect();
        if known.contains(written.value.as_str()) {
            return true;
        }
        let help = near_miss(&written.value, known.iter().copied()).or_else(|| {
            let names: Vec<_> = known.iter().take(12).map(|name| format!("`{name}`")).collect();
            (!names.is_empty()).then(|| format!("there are {}", names.join(", ")))
        });
        self.error(written.pos, code, format!("unknown {noun} `{}`", written.value)).help(help);
        false
    }

    /// A text that is not blank.
    pub fn filled(&mut self, noun: &str, text: &At<String>) {
        if text.value.trim().is_empty() {
            self.error(text.pos, "text.blank", format!("{noun} may not be blank"));
        }
    }

    pub fn command(&mut self, noun: &str, words: &At<Vec<String>>) -> Vec<String> {
        if words.value.first().is_none_or(|word| word.trim().is_empty()) {
            self.error(words.pos, "command.empty", format!("{noun} names no command"))
                .help("write it as a list of words: [program, argument]".to_owned());
        }
        words.value.clone()
    }

    /// `lo..hi` is not taken here; see [`Reader::time_range`].
    pub fn time(&mut self, written: &At<Time>) -> Duration {
        let text = written.value.0.trim();
        match Time::duration(text) {
            Some(time) if !time.is_zero() => time,
            _ => {
                self.bad_time(written.pos, text);
                Duration::ZERO
            }
        }
    }

    /// `2s`, or `1s..3s`.
    pub fn time_range(&mut self, written: &At<Time>) -> (Duration, Duration) {
        let Some((min, max)) = written.value.0.split_once("..") else {
            let time = self.time(written);
            return (time, time);
        };
        let ends = (Time::duration(min.trim()), Time::duration(max.trim()));
        if let (Some(min), Some(max)) = ends
            && min <= max
            && !max.is_zero()
        {
            return (min, max);
        }
        self.bad_time(written.pos, &written.value.0);
        (Duration::ZERO, Duration::ZERO)
    }

    fn bad_time(&mut self, pos: Pos, text: &str) {
        self.error(pos, "value.duration", format!("`{text}` is no duration above zero"))
            .help("write it with a unit: 500ms, 2s, 5m, 1h".to_owned());
    }

    pub fn seconds(&mut self, written: &At<f64>) -> Option<Duration> {
        let good = written.value > 0.0 && written.value <= 86_400.0;
        if !good {
            let what = format!("{} is no number of seconds above 0 and up to a day", written.value);
            self.error(written.pos, "value.seconds", what);
        }
        good.then(|| Duration::from_secs_f64(written.value))
    }

    pub fn size(&mut self, written: &At<Size>) -> u64 {
        match Size::bytes(written.value.0.trim()) {
            Some(bytes) if bytes > 0 => bytes,
            _ => {
                let what = format!("`{}` is no size above zero", written.value.0);
                self.error(written.pos, "value.size", what)
                    .help("write it with a unit: 64KB, 16MB, 1GB".to_owned());
                0
            }
        }
    }

    pub fn env_name(&mut self, name: &At<String>) {
        let text = &name.value;
        let good = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            let what = format!("`{text}` is no name of an environment variable");
            self.error(name.pos, "env.name", what);
        }
    }

    /// Placeholders of `text` that are not among `allowed`.
    pub fn placeholders(&mut self, pos: Pos, text: &str, allowed: &[&str]) {
        for name in placeholders(text) {
            if !allowed.contains(&name) {
                let help = near_miss(name, allowed.iter().copied()).or_else(|| {
                    let names: Vec<_> = allowed.iter().map(|name| format!("${{{name}}}")).collect();
                    (!names.is_empty()).then(|| format!("here stand {}", names.join(", ")))
                });
                self.error(pos, "placeholder.unknown", format!("nothing defines `${{{name}}}`")).help(help);
            }
        }
    }

    pub fn url(&mut self, written: &At<String>, allowed: &[&str]) {
        self.placeholders(written.pos, &written.value, allowed);
        let filled = placeholders(&written.value)
            .map(|name| format!("${{{name}}}"))
            .fold(written.value.clone(), |url, hole| url.replace(&hole, "1"));
        let good = filled.parse::<http::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
        });
        if !good {
            self.error(written.pos, "value.url", format!("`{}` is no http URL", written.value))
                .help("write it as http://HOST:PORT/PATH".to_owned());
        }
    }

    pub fn headers(&mut self, table: Option<Table<At<String>>>) -> BTreeMap<String, String> {
        let mut headers = BTreeMap::new();
        for (name, value) in table.unwrap_or_default().0 {
            if name.value.parse::<http::HeaderName>().is_err() {
                self.error(name.pos, "header.name", format!("`{}` is no header name", name.value));
            } else if value.value.parse::<http::HeaderValue>().is_err() {
                self.error(value.pos, "header.value", "this is no header value");
            }
            headers.insert(name.value, value.value);
        }
        headers
    }

    pub fn pointer(&mut self, pos: Pos, pointer: &str) {
        let tildes = pointer.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if !(pointer.is_empty() || pointer.starts_with('/')) || !tildes {
            self.error(pos, "value.pointer", format!("`{pointer}` is no JSON pointer"))
                .help("write it as /key/0/key".to_owned());
        }
    }

    /// Where the text of a YAML scalar starts: a block scalar's in the line after its `|`.
    pub fn text_pos(&self, pos: Pos) -> Pos {
        let index = usize::try_from(pos.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut lines = self.source.text.lines().skip(index);
        let column = usize::try_from(pos.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let marker = lines.next().and_then(|line| line.chars().nth(column));
        if !matches!(marker, Some('|' | '>')) {
            return pos;
        }
        for (line, number) in lines.zip(pos.line + 1..) {
            if let Some(indent) = line.chars().position(|c| c != ' ') {
                return Pos { line: number, column: u32::try_from(indent + 1).unwrap_or(u32::MAX) };
            }
        }
        pos
    }
}
