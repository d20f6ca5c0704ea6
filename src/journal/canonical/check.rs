//! Whether stored bytes are one JSON object in canonical form, without building it: one walk, one allocation.

use std::cmp::Ordering;
use std::ops::Range;

use super::DEPTH_LIMIT;
use super::order::escaped_keys;

/// Where a line stops being canonical, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {why}")]
pub struct NotCanonical {
    /// Offset in the line, from 0.
    pub at: usize,
    /// What is wrong there.
    pub why: &'static str,
}

/// The entries of a checked object, as ranges of its line; keys escaped and without quotes. Reused from line to line.
#[derive(Debug, Default)]
pub struct Entries(Vec<(Range<usize>, Range<usize>)>);

impl Entries {
    /// The canonical form of the value at a plain ASCII `key`.
    pub fn get<'l>(&self, line: &'l [u8], key: &str) -> Option<&'l [u8]> {
        let (_, value) = self.0.iter().find(|(name, _)| &line[name.clone()] == key.as_bytes())?;
        Some(&line[value.clone()])
    }

    /// The text at `key`, if it is one without escapes.
    pub fn text<'l>(&self, line: &'l [u8], key: &str) -> Option<&'l str> {
        let inner = self.get(line, key)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        (!inner.contains(&b'\\')).then_some(inner).and_then(|inner| std::str::from_utf8(inner).ok())
    }

    /// The whole number at `key`.
    pub fn number(&self, line: &[u8], key: &str) -> Option<u64> {
        std::str::from_utf8(self.get(line, key)?).ok()?.parse().ok()
    }

    /// The object again, without the entries of these keys.
    pub fn without(&self, line: &[u8], keys: &[&str]) -> Vec<u8> {
        let mut out = vec![b'{'];
        for (key, value) in &self.0 {
            if keys.iter().any(|name| name.as_bytes() == &line[key.clone()]) {
                continue;
            }
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(&line[key.start - 1..value.end]);
        }
        out.push(b'}');
        out
    }
}

/// Checks that `line` is exactly one canonical object, and fills `entries` with its top.
pub fn check(line: &[u8], entries: &mut Entries) -> Result<(), NotCanonical> {
    entries.0.clear();
    if let Err(error) = std::str::from_utf8(line) {
        return Err(NotCanonical { at: error.valid_up_to(), why: "no UTF-8" });
    }
    let mut walk = Walk { line, at: 0 };
    if walk.peek() != Some(b'{') {
        return walk.wrong("a row is an object");
    }
    walk.object(1, Some(&mut entries.0))?;
    if walk.at != line.len() {
        return walk.wrong("something after the object");
    }
    Ok(())
}

struct Walk<'l> {
    line: &'l [u8],
    at: usize,
}

type Checked<T = ()> = Result<T, NotCanonical>;

impl Walk<'_> {
    fn wrong<T>(&self, why: &'static str) -> Checked<T> {
        Err(NotCanonical { at: self.at, why })
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn take(&mut self, byte: u8, why: &'static str) -> Checked {
        if self.peek() != Some(byte) {
            return self.wrong(why);
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Checked {
        if depth > DEPTH_LIMIT {
            return self.wrong("nested too deep");
        }
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(depth, None),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.wrong("no JSON value in canonical form"),
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Checked {
        if !self.line[self.at..].starts_with(word) {
            return self.wrong("no JSON value in canonical form");
        }
        self.at += word.len();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Checked {
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.peek() == Some(b',') {
                self.at += 1;
            } else {
                return self.take(b']', "`,` or `]` is missing");
            }
        }
    }

    fn object(
        &mut self,
        depth: usize,
        mut entries: Option<&mut Vec<(Range<usize>, Range<usize>)>>,
    ) -> Checked {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut before: Option<Range<usize>> = None;
        loop {
            let place = self.at;
            let key = self.string()?;
            if let Some(before) = before
                && escaped_keys(&self.line[before], &self.line[key.clone()]) != Ordering::Less
            {
                self.at = place;
                return self.wrong("keys out of order, or one twice");
            }
            self.take(b':', "`:` is missing")?;
            let start = self.at;
            self.value(depth + 1)?;
            if let Some(entries) = &mut entries {
                entries.push((key.clone(), start..self.at));
            }
            before = Some(key);
            if self.peek() == Some(b',') {
                self.at += 1;
            } else {
                return self.take(b'}', "`,` or `}` is missing");
            }
        }
    }

    /// A string; gives the range between its quotes.
    fn string(&mut self) -> Checked<Range<usize>> {
        self.take(b'"', "`\"` is missing")?;
        let start = self.at;
        loop {
            let rest = &self.line[self.at..];
            let plain = rest.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\');
            let Some(plain) = plain else {
                self.at = self.line.len();
                return self.wrong("a text without an end");
            };
            self.at += plain;
            match self.line[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                b'\\' => self.escape()?,
                _ => return self.wrong("a control character that is not escaped"),
            }
        }
    }

    /// Only what must be escaped may be, and in its shortest way.
    fn escape(&mut self) -> Checked {
        let took = match &self.line[self.at + 1..] {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high, low, ..] => {
                let byte = match (high, low) {
                    (b'0' | b'1', b'0'..=b'9') => (high - b'0') << 4 | (low - b'0'),
                    (b'0' | b'1', b'a'..=b'f') => (high - b'0') << 4 | (low - b'a' + 10),
                    _ => return self.wrong("an escape that is not canonical"),
                };
                if matches!(byte, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d) {
                    return self.wrong("an escape that has a shorter form");
                }
                6
            }
            _ => return self.wrong("an escape that is not canonical"),
        };
        self.at += took;
        Ok(())
    }

    fn number(&mut self) -> Checked {
        let rest = &self.line[self.at..];
        let length = rest
            .iter()
            .position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            .unwrap_or(rest.len());
        let token = &rest[..length];
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        // Up to 15 digits are exact in a double and print as they are: no need to go through one.
        let short = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        let same = if short {
            digits[0] != b'0' || token == b"0"
        } else {
            std::str::from_utf8(token)
                .ok()
                .and_then(|text| text.parse::<f64>().ok())
                .filter(|number| number.is_finite())
                .is_some_and(|number| ryu_js::Buffer::new().format_finite(number).as_bytes() == token)
        };
        if !same {
            return self.wrong("a number that is not in canonical form");
        }
        self.at += length;
        Ok(())
    }
}
