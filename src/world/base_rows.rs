//! Base rows from files: CSV with a header line, and JSON lists of objects.
//!
//! CSV is RFC 4180 in UTF-8. A field without quotes and without text is NULL, `""` is the empty text; everything else
//! is text, and the column's declared type makes of it what SQLite makes of text.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::cell::Cell;
use super::fault::place;
use crate::scenario::Pos;

/// One row to insert: which columns, which values, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BaseRow {
    pub pos: Pos,
    pub columns: Vec<String>,
    pub values: Vec<Cell>,
}

/// Why a file holds no rows, and where.
pub(super) type NoRows = (Pos, String);

/// The rows of a JSON file: a list of objects, each with the columns it names.
pub(super) fn json(text: &str) -> Result<Vec<BaseRow>, NoRows> {
    let at = |e: &serde_json::Error| Pos {
        line: u32::try_from(e.line()).unwrap_or(u32::MAX),
        // 0 where the error is the first character's.
        column: u32::try_from(e.column()).unwrap_or(u32::MAX).max(1),
    };
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|e| {
        let told = e.to_string();
        let why = told.split(" at line ").next().unwrap_or_default();
        (at(&e), format!("not a JSON list of objects: {why}"))
    })?;
    list.into_iter()
        .map(|raw| {
            let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            let pos = place(text, offset);
            let fields: Map<String, Value> = serde_json::from_str(raw.get())
                .map_err(|_| (pos, "a row is an object: column names and values".to_owned()))?;
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            for (column, value) in fields {
                let cell = Cell::of_argument(&value)
                    .map_err(|_| (pos, format!("{column}: {value} is beyond SQLite's integers")))?;
                columns.push(column);
                values.push(cell);
            }
            Ok(BaseRow { pos, columns, values })
        })
        .collect()
}

/// The rows of a CSV file, each with the columns of the header.
pub(super) fn csv(text: &str) -> Result<Vec<BaseRow>, NoRows> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = Records { text, at: 0 };
    let Some((pos, header)) = records.next_record()? else {
        return Err((place(text, 0), "no header line".to_owned()));
    };
    let columns: Vec<String> = header.into_iter().flatten().collect();
    if columns.is_empty() {
        return Err((pos, "no header line".to_owned()));
    }
    let mut rows = Vec::new();
    while let Some((pos, fields)) = records.next_record()? {
        if fields.len() != columns.len() {
            let (has, wants) = (fields.len(), columns.len());
            return Err((pos, format!("{has} fields where the header names {wants}")));
        }
        let values = fields
            .into_iter()
            .map(|field| field.map_or(Cell::Null, |text| Cell::Text(text.into_bytes())))
            .collect();
        rows.push(BaseRow { pos, columns: columns.clone(), values });
    }
    Ok(rows)
}

struct Records<'a> {
    text: &'a str,
    at: usize,
}

impl Records<'_> {
    /// The next line that is not empty, as fields; `None` for a field that is neither quoted nor filled.
    fn next_record(&mut self) -> Result<Option<(Pos, Vec<Option<String>>)>, NoRows> {
        let line_end = |byte: Option<&u8>| matches!(byte, Some(b'\n' | b'\r'));
        let bytes = self.text.as_bytes();
        while line_end(bytes.get(self.at)) {
            self.at += 1;
        }
        if self.at >= bytes.len() {
            return Ok(None);
        }
        let pos = place(self.text, self.at);
        let mut fields = Vec::new();
        loop {
            let field = if bytes.get(self.at) == Some(&b'"') {
                Some(self.quoted_field()?)
            } else {
                let rest = &self.text[self.at..];
                let length = rest.find([',', '\n', '\r']).unwrap_or(rest.len());
                self.at += length;
                (length > 0).then(|| rest[..length].to_owned())
            };
            fields.push(field);
            match bytes.get(self.at) {
                Some(b',') => self.at += 1,
                None => break,
                next if line_end(next) => break,
                Some(_) => {
                    let why = "text after a closing quote".to_owned();
                    return Err((place(self.text, self.at), why));
                }
            }
        }
        Ok(Some((pos, fields)))
    }

    fn quoted_field(&mut self) -> Result<String, NoRows> {
        let opened = self.at;
        let mut field = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find('"') else {
                return Err((place(self.text, opened), "a quote that never closes".to_owned()));
            };
            field.push_str(&rest[..length]);
            self.at += length + 1;
            if self.text.as_bytes().get(self.at) != Some(&b'"') {
                return Ok(field);
            }
            field.push('"');
            self.at += 1;
        }
    }
}
