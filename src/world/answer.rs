//! Rows as an app sees them: JSON objects by column name.
//!
//! A column declared `JSON`, or named `"name: json"`, comes back as the JSON its text holds; one declared `BOOLEAN`, or
//! named `"name: boolean"`, as true or false. Blobs are base64. An answer over its bounds is a crash, never a shorter
//! answer: a page that ends early would be evidence of something that is not so.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use serde_json::{Map, Value, json};

use super::cell::Cell;
use super::connection::Link;
use super::guard::Policy;
use super::statement::bind;
use crate::scenario::{Pos, Sql};

/// A statement that failed: where it stands, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {what}", pos.line, pos.column)]
pub(super) struct Crash {
    pos: Pos,
    what: String,
}

impl Crash {
    pub fn new(link: &Link, sql: &Sql, error: &rusqlite::Error) -> Self {
        Self { pos: sql.pos, what: link.guard.explain(error) }
    }
}

/// Rows of one answer.
pub(super) const MAX_ROWS: usize = 10_000;

/// Whether the statement gives a row.
pub(super) fn exists(link: &Link, sql: &Sql, value: &impl Fn(&str) -> Option<Cell>) -> Result<bool, Crash> {
    link.guard.begin();
    let found = link.guard.under(Policy::Tool, || {
        let mut stmt = link.conn.prepare_cached(&sql.text)?;
        bind(&mut stmt, value)?;
        Ok(stmt.raw_query().next()?.is_some())
    });
    found.map_err(|e| Crash::new(link, sql, &e))
}

/// The rows of an answer; of a writing statement every row is run for, whichever are kept.
pub(super) fn rows(
    link: &Link,
    sql: &Sql,
    only_first: bool,
    bytes: u64,
    value: &impl Fn(&str) -> Option<Cell>,
) -> Result<Vec<Value>, Crash> {
    let crash = |e: &rusqlite::Error| Crash::new(link, sql, e);
    let over = |what: String| Crash { pos: sql.pos, what };
    link.guard.begin();
    link.guard.under(Policy::Tool, || {
        let mut stmt = link.conn.prepare_cached(&sql.text).map_err(|e| crash(&e))?;
        bind(&mut stmt, value).map_err(|e| crash(&e))?;
        let columns = columns(&stmt);
        let to_the_end = !stmt.readonly();
        let mut rows = stmt.raw_query();
        let (mut kept, mut size) = (Vec::new(), 0u64);
        while let Some(row) = rows.next().map_err(|e| crash(&e))? {
            if only_first && !kept.is_empty() {
                continue;
            }
            kept.push(object(row, &columns, &mut size).map_err(|e| crash(&e))?);
            if kept.len() > MAX_ROWS {
                return Err(over(format!("more than {MAX_ROWS} rows in one answer: add a LIMIT")));
            }
            if size > bytes {
                return Err(over(format!("more than {bytes} bytes in one answer: add a LIMIT")));
            }
            if only_first && !to_the_end {
                break;
            }
        }
        Ok(kept)
    })
}

/// How a column is shown.
pub(super) struct Column {
    pub name: String,
    shape: Shape,
}

enum Shape {
    Plain,
    Json,
    Boolean,
}

/// The columns of an answer, by the names the app sees.
pub(super) fn columns(stmt: &Statement<'_>) -> Vec<Column> {
    let shape = |word: &str| match word.to_ascii_lowercase().as_str() {
        "json" => Shape::Json,
        "boolean" | "bool" => Shape::Boolean,
        _ => Shape::Plain,
    };
    stmt.columns()
        .map(|column| match column.name().split_once(": ").map(|(name, word)| (name, shape(word))) {
            Some((name, shape @ (Shape::Json | Shape::Boolean))) => Column { name: name.to_owned(), shape },
            _ => Column {
                name: column.name().to_owned(),
                shape: column.decl_type().map_or(Shape::Plain, shape),
            },
        })
        .collect()
}

fn object(row: &Row<'_>, columns: &[Column], size: &mut u64) -> rusqlite::Result<Value> {
    let mut fields = Map::new();
    for (i, column) in columns.iter().enumerate() {
        let cell = row.get_ref(i)?;
        *size += column.name.len() as u64
            + 8
            + match cell {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
                _ => 8,
            };
        fields.insert(column.name.clone(), shown(cell, &column.shape));
    }
    Ok(Value::Object(fields))
}

fn shown(cell: ValueRef<'_>, shape: &Shape) -> Value {
    match (cell, shape) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Integer(i @ (0 | 1)), Shape::Boolean) => json!(i == 1),
        (ValueRef::Integer(i), _) => json!(i),
        (ValueRef::Real(real), _) => json!(real),
        (ValueRef::Text(text), Shape::Json) => {
            serde_json::from_slice(text).unwrap_or_else(|_| json!(String::from_utf8_lossy(text)))
        }
        (ValueRef::Text(text), _) => json!(String::from_utf8_lossy(text)),
        (ValueRef::Blob(blob), _) => json!(STANDARD.encode(blob)),
    }
}
