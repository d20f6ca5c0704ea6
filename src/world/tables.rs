//! The tables of a world, read whole: what a record keeps, and what changes are told from.
//!
//! Indexes, triggers and SQLite's own tables are left out: no check can see them.

use std::collections::BTreeSet;

use rusqlite::{Connection, Result};

use super::cell::Cell;
use crate::journal::TableRow;

/// What one table of the schema is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub name: String,
    /// The statement that makes it.
    pub create: String,
    /// Columns that hold something: not the generated ones.
    pub columns: Vec<String>,
    /// A name by which the rowid can be read, where it is no column already.
    pub rowid: Option<&'static str>,
    /// Positions in `columns` of the primary key, where one is declared.
    pub key: Vec<usize>,
    /// A view: nothing of its own to keep but its statement.
    pub view: bool,
}

/// One row: its rowid where that is no column, and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub rowid: Option<Cell>,
    pub cells: Vec<Cell>,
}

/// All tables, then all views, each in the order they were made.
pub(super) fn describe(conn: &Connection) -> Result<Vec<Table>> {
    let listed: Vec<(String, String, bool, String)> = conn
        .prepare(
            "SELECT s.name, l.type, l.wr, s.sql FROM sqlite_schema s
             JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name
             WHERE l.type IN ('table', 'view', 'virtual') AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             ORDER BY l.type = 'view', s.rowid",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    listed
        .into_iter()
        .map(|(name, kind, without_rowid, create)| {
            let mut table = Table {
                columns: Vec::new(),
                rowid: None,
                key: Vec::new(),
                view: kind == "view",
                name,
                create,
            };
            let mut key: Vec<(i64, usize)> = Vec::new();
            let mut stmt =
                conn.prepare("SELECT name, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid")?;
            let mut rows = stmt.query([&table.name])?;
            let mut taken = BTreeSet::new();
            while let Some(row) = rows.next()? {
                let (column, pk, hidden): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                taken.insert(column.to_ascii_lowercase());
                if hidden == 0 {
                    if pk > 0 {
                        key.push((pk, table.columns.len()));
                    }
                    table.columns.push(column);
                }
            }
            key.sort_unstable();
            table.key = key.into_iter().map(|(_, at)| at).collect();
            if !table.view && !without_rowid && !has_rowid_column(conn, &table)? {
                table.rowid = ["rowid", "_rowid_", "oid"].into_iter().find(|name| !taken.contains(*name));
            }
            Ok(table)
        })
        .collect()
}

/// Whether the primary key is the rowid. Then, and only then, it needs no index.
fn has_rowid_column(conn: &Connection, table: &Table) -> Result<bool> {
    if table.key.len() != 1 {
        return Ok(false);
    }
    conn.query_one(
        "SELECT count(*) = 0 FROM pragma_index_list(?1) WHERE origin = 'pk'",
        [&table.name],
        |row| row.get(0),
    )
}

impl Table {
    /// The names that [`Row`]s are read and written by, rowid first.
    pub fn stored(&self) -> Vec<String> {
        let rowid = self.rowid.map(str::to_owned);
        rowid.into_iter().chain(self.columns.iter().cloned()).collect()
    }

    /// Reads every row, in an order that the content alone decides.
    pub fn read(&self, conn: &Connection, mut each: impl FnMut(Row)) -> Result<()> {
        if self.view {
            return Ok(());
        }
        let stored: Vec<String> = self.stored().iter().map(|name| quoted(name)).collect();
        let order = match self.rowid {
            Some(rowid) => rowid.to_owned(),
            None if self.key.is_empty() => "1".to_owned(),
            None => {
                let key = self.key.iter().map(|at| quoted(&self.columns[*at]));
                key.collect::<Vec<_>>().join(", ")
            }
        };
        let mut stmt = conn.prepare(&format!(
            "SELECT {} FROM {} ORDER BY {order}",
            stored.join(", "),
            quoted(&self.name)
        ))?;
        let count = stored.len();
        let mut rows = stmt.query([])?;
        while let Some(row) = rows.next()? {
            let mut cells = (0..count).map(|i| row.get_ref(i).map(Cell::of));
            let rowid = match self.rowid {
                Some(_) => cells.next().transpose()?,
                None => None,
            };
            let cells = cells.collect::<Result<_>>()?;
            each(Row { rowid, cells });
        }
        Ok(())
    }

    /// The table as a record keeps it.
    pub fn to_row(&self, conn: &Connection) -> Result<TableRow> {
        let mut rows = Vec::new();
        self.read(conn, |row| {
            rows.push(row.rowid.iter().chain(&row.cells).map(Cell::to_json).collect());
        })?;
        Ok(TableRow {
            table: self.name.clone(),
            create: self.create.clone(),
            columns: if self.view { Vec::new() } else { self.stored() },
            rows,
        })
    }

    /// What makes a row the same row before and after: its primary key. Where there is none, or where SQLite let a
    /// null stand in it, its rowid.
    pub fn key(&self, row: &Row) -> Vec<Cell> {
        let mut key: Vec<Cell> = self.key.iter().map(|at| row.cells[*at].clone()).collect();
        if key.is_empty() || key.contains(&Cell::Null) {
            key.extend(row.rowid.clone());
        }
        key
    }
}

/// A name as it may stand in a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
