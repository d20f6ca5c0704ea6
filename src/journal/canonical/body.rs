//! A row's own fields in canonical form and order, before its place is known: what a journal makes outside its lock.

use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;

use super::order::escaped_keys;
use super::write::{CanonicalError, Writer};
use crate::journal::redact::Redactor;

/// One entry of an object in the buffer: `"key":value`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Range<usize>,
    pub(super) end: usize,
}

/// An object's entries, redacted and in canonical form and order, before the fields of its place are known.
#[derive(Debug)]
pub struct Body {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Body {
    /// The entries of `row`, which must serialise as an object.
    pub fn of<T: Serialize + ?Sized>(row: &T, redactor: Option<&Redactor>) -> Result<Self, CanonicalError> {
        let mut writer = Writer::new(redactor);
        writer.keep_top = true;
        row.serialize(&mut writer)?;
        if writer.out.first() != Some(&b'{') {
            return Err(CanonicalError::NoObject);
        }
        let bytes = writer.out;
        let mut entries = writer.entries;
        let order = |a: &Entry, b: &Entry| escaped_keys(&bytes[a.key.clone()], &bytes[b.key.clone()]);
        entries.sort_by(order);
        if entries.windows(2).any(|pair| order(&pair[0], &pair[1]).is_eq()) {
            return Err(CanonicalError::DuplicateKey);
        }
        Ok(Self { bytes, entries })
    }

    /// Writes the object with `fields` among its entries and the entries `without` left out. A field is a plain
    /// ASCII key and its value's canonical form; `fields` are sorted by key.
    pub fn write(
        &self,
        fields: &[(&str, &[u8])],
        without: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<(), CanonicalError> {
        out.push(b'{');
        let first = out.len();
        let mut fields = fields.iter().peekable();
        for entry in &self.entries {
            let key = &self.bytes[entry.key.clone()];
            while let Some((name, value)) = fields.peek() {
                match escaped_keys(name.as_bytes(), key) {
                    Ordering::Less => put_field(out, first, name, value),
                    Ordering::Equal => return Err(CanonicalError::DuplicateKey),
                    Ordering::Greater => break,
                }
                fields.next();
            }
            if without.iter().all(|name| name.as_bytes() != key) {
                comma(out, first);
                out.extend_from_slice(&self.bytes[entry.key.start - 1..entry.end]);
            }
        }
        for (name, value) in fields {
            put_field(out, first, name, value);
        }
        out.push(b'}');
        Ok(())
    }
}

pub(super) fn comma(out: &mut Vec<u8>, first: usize) {
    if out.len() > first {
        out.push(b',');
    }
}

fn put_field(out: &mut Vec<u8>, first: usize, name: &str, value: &[u8]) {
    comma(out, first);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}
