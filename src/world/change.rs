//! What a trial changed: the world after the seed held against the world now, row by row.
//!
//! The net change, as SQLite's session extension counts it: a row is known by its primary key, a row that came and went
//! again is none, one that was changed back is none, and a changed key is one row gone and one come. The extension
//! itself needs libclang to build, which a user of this crate should not need; both states are at hand, so the
//! comparison is exact. Beyond the extension, tables without a primary key are compared by rowid instead of left out.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};
use serde_json::{Map, Value};

use super::cell::Cell;
use super::connection::Link;
use super::freeze::Plan;
use super::tables::{Row, Table};
use crate::journal::ChangeRow;

/// The changed tables, each with its rows in the order of their keys.
pub(super) fn between(plan: &Plan, before: &[u8], after: &Connection) -> Result<Vec<ChangeRow>> {
    let before = Link::open(before, plan.now.as_deref(), &plan.limits, None)?;
    let mut changes = Vec::new();
    for table in plan.tables.iter().filter(|table| !table.view) {
        changes.extend(of_table(table, &before.conn, after)?);
    }
    Ok(changes)
}

fn of_table(table: &Table, before: &Connection, after: &Connection) -> Result<Option<ChangeRow>> {
    let mut pairs: BTreeMap<Vec<Cell>, (Option<Row>, Option<Row>)> = BTreeMap::new();
    table.read(before, |row| {
        pairs.insert(table.key(&row), (Some(row), None));
    })?;
    table.read(after, |row| {
        let key = table.key(&row);
        match pairs.get(&key) {
            // Unchanged rows are most rows: let go at once.
            Some((Some(was), _)) if was.cells == row.cells => {
                pairs.remove(&key);
            }
            _ => pairs.entry(key).or_default().1 = Some(row),
        }
    })?;
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut change = ChangeRow {
        table: table.name.clone(),
        before: Vec::new(),
        after: Vec::new(),
        added: 0,
        removed: 0,
        changed: 0,
    };
    for (was, is) in pairs.into_values() {
        match (&was, &is) {
            (None, _) => change.added += 1,
            (_, None) => change.removed += 1,
            _ => change.changed += 1,
        }
        change.before.extend(was.map(|row| object(table, &row)));
        change.after.extend(is.map(|row| object(table, &row)));
    }
    Ok(Some(change))
}

/// The rowid is shown only where it is what tells rows apart.
fn object(table: &Table, row: &Row) -> Value {
    let rowid = table.rowid.filter(|_| table.key.is_empty()).zip(row.rowid.as_ref());
    let named = table.columns.iter().map(String::as_str).zip(&row.cells);
    let fields = rowid.into_iter().chain(named).map(|(name, cell)| (name.to_owned(), cell.to_json()));
    Value::Object(fields.collect::<Map<_, _>>())
}
