//! From a `Serialize` to canonical bytes in one pass, without a tree between.
//!
//! An object's entries are written as they come; only where they came out of order is that object's stretch of the
//! buffer put in order when it ends. Every text passes the redactor on its way, so nothing is hashed or stored before.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;

use serde::ser::{self, Serialize};

use super::body::{Entry, comma};
use super::order::escaped_keys;
use super::{DEPTH_LIMIT, EXACT};
use crate::journal::redact::{self, Redactor};

/// Why something has no canonical form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// JSON has no such number.
    #[error("a number that is not finite")]
    NotFinite,
    /// Two entries of one object have the same key.
    #[error("a key stands twice in one object")]
    DuplicateKey,
    /// A key that is neither text nor an integer.
    #[error("a key that is no text")]
    KeyKind,
    /// Deeper than [`DEPTH_LIMIT`].
    #[error("nested deeper than {DEPTH_LIMIT}")]
    TooDeep,
    /// The top of a row is no object.
    #[error("a row that is no object")]
    NoObject,
    /// The type refused to be serialised.
    #[error("{0}")]
    Refused(String),
}

impl ser::Error for CanonicalError {
    fn custom<T: Display>(text: T) -> Self {
        Self::Refused(text.to_string())
    }
}

/// The canonical form of any value.
pub fn to_vec<T: Serialize + ?Sized>(
    value: &T,
    redactor: Option<&Redactor>,
) -> Result<Vec<u8>, CanonicalError> {
    let mut writer = Writer::new(redactor);
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

pub(super) struct Writer<'r> {
    pub(super) out: Vec<u8>,
    /// Entries of all objects that are open, innermost last.
    pub(super) entries: Vec<Entry>,
    redactor: Option<&'r Redactor>,
    depth: usize,
    /// Inside the value of a field whose name says that it is secret.
    hiding: bool,
    /// Leave the entries of the outermost object in `entries`, unordered.
    pub(super) keep_top: bool,
}

impl<'r> Writer<'r> {
    pub(super) fn new(redactor: Option<&'r Redactor>) -> Self {
        Self {
            out: Vec::with_capacity(1024),
            entries: Vec::with_capacity(32),
            redactor,
            depth: 0,
            hiding: false,
            keep_top: false,
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        match self.redactor {
            Some(redactor) if self.hiding => put_text(&mut self.out, &redactor.whole(text)),
            Some(redactor) => put_text(&mut self.out, &redactor.text(text)),
            None => put_text(&mut self.out, text),
        }
    }

    pub(super) fn number(&mut self, number: f64) -> Result<(), CanonicalError> {
        if !number.is_finite() {
            return Err(CanonicalError::NotFinite);
        }
        let mut buffer = ryu_js::Buffer::new();
        self.out.extend_from_slice(buffer.format_finite(number).as_bytes());
        Ok(())
    }

    pub(super) fn integer(&mut self, negative: bool, size: u64) {
        let quoted = size > EXACT;
        let mut digits = [0u8; 22];
        let mut at = digits.len();
        let mut rest = size;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if negative {
            at -= 1;
            digits[at] = b'-';
        }
        if quoted {
            self.out.push(b'"');
        }
        self.out.extend_from_slice(&digits[at..]);
        if quoted {
            self.out.push(b'"');
        }
    }

    /// Bytes that are canonical JSON already.
    pub(super) fn raw(&mut self, json: &[u8]) {
        self.out.extend_from_slice(json);
    }

    /// A text of the program's own: the name of an enum's variant.
    pub(super) fn fixed(&mut self, text: &str) {
        put_text(&mut self.out, text);
    }

    /// `{"variant":`, for a content that closes the brace itself.
    pub(super) fn variant(&mut self, name: &str) -> Result<(), CanonicalError> {
        self.out.push(b'{');
        self.fixed(name);
        self.out.push(b':');
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Result<(), CanonicalError> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(CanonicalError::TooDeep);
        }
        self.out.push(bracket);
        Ok(())
    }
}

/// Appends `text` as a JSON string with the escapes of RFC 8785, 3.2.2.2: the short ones, else `\u00xx`.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[done..at]);
        done = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            0x0d => out.extend_from_slice(b"\\r"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

/// An open array.
pub(super) struct Array<'w, 'r> {
    writer: &'w mut Writer<'r>,
    first: usize,
    /// Whether it closes with `]}`: the content of an enum variant.
    variant: bool,
    /// Whether it has two elements, so that it may be a header's name and value.
    pair: bool,
    hid: bool,
}

impl<'w, 'r> Array<'w, 'r> {
    pub(super) fn open(
        writer: &'w mut Writer<'r>,
        len: Option<usize>,
        variant: bool,
    ) -> Result<Self, CanonicalError> {
        writer.open(b'[')?;
        Ok(Self { first: writer.out.len(), hid: writer.hiding, pair: len == Some(2), writer, variant })
    }

    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let start = self.writer.out.len();
        comma(&mut self.writer.out, self.first);
        value.serialize(&mut *self.writer)?;
        if self.pair && start == self.first && names_secret(&self.writer.out[start..]) {
            self.writer.hiding = true;
        }
        Ok(())
    }

    pub(super) fn close(self) -> Result<(), CanonicalError> {
        self.writer.hiding = self.hid;
        self.writer.depth -= 1;
        self.writer.out.push(b']');
        if self.variant {
            self.writer.out.push(b'}');
        }
        Ok(())
    }
}

/// Whether a JSON string just written is the name of a secret field or header.
fn names_secret(json: &[u8]) -> bool {
    json.len() > 2
        && json[0] == b'"'
        && std::str::from_utf8(&json[1..json.len() - 1]).is_ok_and(redact::is_secret_name)
}

/// An open object.
pub(super) struct Object<'w, 'r> {
    writer: &'w mut Writer<'r>,
    first: usize,
    base: usize,
    variant: bool,
    /// Whether the redactor changed a key, so that two keys may have become one.
    renamed: bool,
    /// Whether the key that was written last names a secret.
    secret_key: bool,
    /// Whether a `key` or `name` entry names a secret, so that `value` is one (OTLP attributes, HAR headers). Both
    /// sort before `value`, and trees of JSON come sorted.
    secret_name: bool,
}

impl<'w, 'r> Object<'w, 'r> {
    pub(super) fn open(writer: &'w mut Writer<'r>, variant: bool) -> Result<Self, CanonicalError> {
        writer.open(b'{')?;
        Ok(Self {
            first: writer.out.len(),
            base: writer.entries.len(),
            writer,
            variant,
            renamed: false,
            secret_key: false,
            secret_name: false,
        })
    }

    /// `fixed` keys are a struct's own field names: they are never redacted, so that a row keeps its shape.
    pub(super) fn key(&mut self, key: &str, fixed: bool) {
        comma(&mut self.writer.out, self.first);
        let start = self.writer.out.len() + 1;
        match self.writer.redactor {
            Some(redactor) if !fixed => {
                let shown = redactor.text(key);
                self.renamed |= matches!(shown, Cow::Owned(_));
                put_text(&mut self.writer.out, &shown);
            }
            _ => put_text(&mut self.writer.out, key),
        }
        let end = self.writer.out.len() - 1;
        self.writer.out.push(b':');
        self.writer.entries.push(Entry { key: start..end, end });
        self.secret_key = redact::is_secret_name(key) || (self.secret_name && key == "value");
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let (hid, slot) = (self.writer.hiding, self.writer.entries.len() - 1);
        self.writer.hiding |= self.secret_key;
        let start = self.writer.out.len();
        value.serialize(&mut *self.writer)?;
        self.writer.hiding = hid;
        let key = &self.writer.out[self.writer.entries[slot].key.clone()];
        if key == b"key" || key == b"name" {
            self.secret_name = names_secret(&self.writer.out[start..]);
        }
        self.writer.entries[slot].end = self.writer.out.len();
        Ok(())
    }

    pub(super) fn close(self) -> Result<(), CanonicalError> {
        let writer = self.writer;
        writer.depth -= 1;
        if writer.keep_top && writer.depth == 0 {
            return Ok(());
        }
        let out = &mut writer.out;
        let key_order =
            |a: &Entry, b: &Entry, out: &[u8]| escaped_keys(&out[a.key.clone()], &out[b.key.clone()]);
        let entries = &mut writer.entries[self.base..];
        let sorted = entries.windows(2).all(|pair| key_order(&pair[0], &pair[1], out).is_lt());
        if !sorted {
            entries.sort_by(|a, b| key_order(a, b, out));
            let twice = entries.windows(2).any(|pair| key_order(&pair[0], &pair[1], out).is_eq());
            if twice && !self.renamed {
                return Err(CanonicalError::DuplicateKey);
            }
            let stretch = out.split_off(self.first);
            let place = |at: usize| at - self.first;
            let mut parts: Vec<(Cow<'_, [u8]>, &[u8])> = entries
                .iter()
                .map(|entry| {
                    let key = &stretch[place(entry.key.start)..place(entry.key.end)];
                    let rest = &stretch[place(entry.key.end)..place(entry.end)];
                    (Cow::Borrowed(key), rest)
                })
                .collect();
            if twice {
                tell_apart(&mut parts);
            }
            for (key, rest) in parts {
                comma(out, self.first);
                out.push(b'"');
                out.extend_from_slice(&key);
                out.extend_from_slice(rest);
            }
        }
        writer.entries.truncate(self.base);
        writer.out.push(b'}');
        if self.variant {
            writer.out.push(b'}');
        }
        Ok(())
    }
}

/// Numbers the keys that redaction made equal, so that no entry is lost.
fn tell_apart(parts: &mut [(Cow<'_, [u8]>, &[u8])]) {
    let mut taken: BTreeSet<Vec<u8>> = parts.iter().map(|(key, _)| key.to_vec()).collect();
    for at in 1..parts.len() {
        if parts[at].0 != parts[at - 1].0 {
            continue;
        }
        let base = parts[at].0.to_vec();
        for later in parts[at..].iter_mut().filter(|(key, _)| **key == base) {
            let free = (2u32..)
                .map(|n| [&base[..], format!("#{n}").as_bytes()].concat())
                .find(|name| !taken.contains(name));
            let Some(name) = free else { continue };
            taken.insert(name.clone());
            later.0 = Cow::Owned(name);
        }
    }
    parts.sort_by(|a, b| escaped_keys(&a.0, &b.0));
}
