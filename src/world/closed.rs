//! The closed tables: what `sql:` checks read. The world as the trial left it, and beside it the action log, the replies
//! and the turns, all made from rows of the record, so that a check says the same when it is graded again.
//!
//! Spans are not here: their evidence is open, and `count(*) = 0` over them would prove nothing.

use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, params, params_from_iter};
use serde_json::Value;

use super::cell::{BadCell, Cell};
use super::connection::Link;
use super::guard::Policy;
use super::statement::{CONSTANT, NOW, bind};
use super::tables::{Table, quoted};
use super::tokens::{Token, inconstant, tokens};
use crate::journal::{AttemptRow, OutcomeRow, ReplyRow, TableRow, TurnRow};
use crate::scenario::{Case, Limits, Pos, Sql};

/// The tables beside the world's own. `kind`, `status` and `result` are null where no outcome was written; `code` is
/// the outcome's where it has one, else the attempt's; `arguments` and `result` are JSON text; `at` is the attempt's
/// time as its row has it.
pub(super) const EVIDENCE: &str = "
    CREATE TABLE actions (seq INTEGER PRIMARY KEY, worker TEXT, tool TEXT, arguments TEXT, decision TEXT NOT NULL,
        code TEXT, kind TEXT, status INTEGER, result TEXT, late INTEGER NOT NULL, at INTEGER NOT NULL);
    CREATE TABLE replies (n INTEGER PRIMARY KEY, text TEXT NOT NULL);
    CREATE TABLE turns (n INTEGER PRIMARY KEY, text TEXT NOT NULL, expects_reply INTEGER NOT NULL);";
const NAMES: [&str; 3] = ["actions", "replies", "turns"];

/// One attempt and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// `seq` of the attempt's row.
    pub seq: u64,
    /// `at` of the attempt's row.
    pub at: u64,
    /// Whose it is, lane rows taken into account.
    pub worker: Option<&'a str>,
    /// The attempt.
    pub attempt: &'a AttemptRow,
    /// Its outcome, where one was written.
    pub outcome: Option<&'a OutcomeRow>,
}

/// The rows that closed tables are made from.
#[derive(Clone, Copy, Debug)]
pub struct ClosedEvidence<'a> {
    /// The world as the trial left it.
    pub tables: &'a [TableRow],
    /// The action log.
    pub actions: &'a [Action<'a>],
    /// What the app answered.
    pub replies: &'a [ReplyRow],
    /// What the user said.
    pub turns: &'a [TurnRow],
    /// `now` of the contract's world.
    pub now: Option<&'a str>,
    /// Of the contract.
    pub limits: &'a Limits,
}

/// Why there are no closed tables.
#[derive(Debug, thiserror::Error)]
pub enum ClosedError {
    /// A value in the record is no value of the database.
    #[error("table {table}: {bad}")]
    Cell {
        /// Which table.
        table: String,
        /// What stands there.
        bad: BadCell,
    },
    /// A row of the record does not have the columns that its table names.
    #[error("table {0}: a row has more or fewer cells than there are columns")]
    Ragged(String),
    /// SQLite would not take it.
    #[error("the tables of the record cannot be made: {0}")]
    Sqlite(String),
}

/// A check that gave no answer: it is broken, and says nothing of the app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {what}", pos.line, pos.column)]
pub struct CheckError {
    /// In the scenario file.
    pub pos: Pos,
    /// What is wrong.
    pub what: String,
}

/// The closed evidence of one trial, to be asked.
pub struct ClosedTables {
    link: Mutex<Link>,
    now: Option<String>,
}

impl ClosedTables {
    /// Makes the tables again from the rows of a record.
    pub fn new(evidence: &ClosedEvidence<'_>) -> Result<Self, ClosedError> {
        let sqlite = |e: rusqlite::Error| ClosedError::Sqlite(e.to_string());
        let link = Link::open(&[], evidence.now, evidence.limits, None).map_err(sqlite)?;
        // What the world let in is let in again: constraints were the trial's business.
        link.conn
            .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; BEGIN")
            .map_err(sqlite)?;
        for table in evidence.tables {
            refill(&link, table)?;
        }
        link.conn.execute_batch(EVIDENCE).map_err(sqlite)?;
        evidence_rows(&link.conn, evidence).map_err(sqlite)?;
        link.conn.execute_batch("COMMIT; PRAGMA query_only = ON").map_err(sqlite)?;
        Ok(Self { link: Mutex::new(link), now: evidence.now.map(str::to_owned) })
    }

    /// Whether `sql` holds, the values of `case` bound by name. Anything but one row with one 0 or 1 is an error.
    pub fn check(&self, sql: &Sql, case: &Case) -> Result<bool, CheckError> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let broken = |what: String| CheckError { pos: sql.pos, what };
        let value = |name: &str| match name {
            NOW => self.now.clone().map(|now| Cell::Text(now.into_bytes())),
            _ => Cell::of_argument(case.get(name)?).ok(),
        };
        link.guard.begin();
        let answer = link.guard.under(Policy::Check, || one_cell(&link.conn, &sql.text, &value));
        match answer.map_err(|e| broken(link.guard.explain(&e)))? {
            Ok(Cell::Integer(0)) => Ok(false),
            Ok(Cell::Integer(1)) => Ok(true),
            Ok(Cell::Null) => Err(broken("the check gave NULL where 0 or 1 is wanted".into())),
            Ok(other) => Err(broken(format!("the check gave {} where 0 or 1 is wanted", other.to_json()))),
            Err(what) => Err(broken(what.to_owned())),
        }
    }
}

/// The one cell of the one row, or what there is instead.
fn one_cell(
    conn: &Connection,
    sql: &str,
    value: &impl Fn(&str) -> Option<Cell>,
) -> rusqlite::Result<Result<Cell, &'static str>> {
    let mut stmt = conn.prepare(sql)?;
    if stmt.column_count() != 1 {
        return Ok(Err(ONE_COLUMN));
    }
    bind(&mut stmt, value)?;
    let mut rows = stmt.raw_query();
    let Some(row) = rows.next()? else {
        return Ok(Err("the check gave no row where one is wanted"));
    };
    let cell = Cell::of(row.get_ref(0)?);
    Ok(match rows.next()? {
        Some(_) => Err("the check gave more than one row"),
        None => Ok(cell),
    })
}

pub(super) const ONE_COLUMN: &str = "a check gives one column, with 0 or 1 in it";

fn refill(link: &Link, table: &TableRow) -> Result<(), ClosedError> {
    let sqlite = |e: rusqlite::Error| ClosedError::Sqlite(format!("{}: {e}", table.table));
    // A record is a file that anyone may have written: its statements may do what a schema file's may.
    link.run(Policy::Schema, &table.create, |_| None).map_err(sqlite)?;
    if table.columns.is_empty() {
        return Ok(());
    }
    let columns: Vec<String> = table.columns.iter().map(|name| quoted(name)).collect();
    let places = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.table), columns.join(", "));
    let mut stmt = link.conn.prepare(&insert).map_err(sqlite)?;
    for row in &table.rows {
        if row.len() != columns.len() {
            return Err(ClosedError::Ragged(table.table.clone()));
        }
        let cells: Vec<Cell> = row
            .iter()
            .map(Cell::from_json)
            .collect::<Result<_, _>>()
            .map_err(|bad| ClosedError::Cell { table: table.table.clone(), bad })?;
        stmt.execute(params_from_iter(cells)).map_err(sqlite)?;
    }
    Ok(())
}

fn evidence_rows(conn: &Connection, evidence: &ClosedEvidence<'_>) -> rusqlite::Result<()> {
    let mut insert = conn.prepare("INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for action in evidence.actions {
        let (attempt, outcome) = (action.attempt, action.outcome);
        let code = outcome.and_then(|outcome| outcome.code.as_ref()).or(attempt.code.as_ref());
        insert.execute(params![
            action.seq.cast_signed(),
            action.worker,
            attempt.tool,
            json_text(&attempt.arguments),
            word(&attempt.decision),
            code,
            outcome.and_then(|outcome| word(&outcome.kind)),
            outcome.and_then(|outcome| outcome.status),
            outcome.and_then(|outcome| json_text(&outcome.result)),
            attempt.late,
            action.at.cast_signed(),
        ])?;
    }
    let mut insert = conn.prepare("INSERT INTO replies VALUES (?, ?)")?;
    for reply in evidence.replies {
        insert.execute(params![reply.n, reply.text])?;
    }
    let mut insert = conn.prepare("INSERT INTO turns VALUES (?, ?, ?)")?;
    for turn in evidence.turns {
        insert.execute(params![turn.n, turn.text, turn.expects_reply])?;
    }
    Ok(())
}

fn json_text(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_string())
}

/// A unit variant as the record spells it.
fn word(value: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

/// Why a table or view of a schema could not be made again from a record, or not be read by checks, if so.
pub(super) fn cannot_keep(table: &Table) -> Option<String> {
    let name = &table.name;
    if NAMES.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
        return Some(format!("a table of the world may not be called {name}: the evidence has one"));
    }
    if let Some(function) = inconstant(&table.create).filter(|_| table.view) {
        return Some(format!("the view {name} calls {function}: {CONSTANT}"));
    }
    let words = tokens(&table.create);
    let is = |word: &Token<'_>, text: &str| word.text.eq_ignore_ascii_case(text);
    let contentless =
        words.windows(3).any(|three| is(&three[0], "content") && is(&three[1], "=") && is(&three[2], "''"));
    let is_virtual = words.get(1).is_some_and(|word| is(word, "virtual"));
    (is_virtual && contentless)
        .then(|| format!("{name} keeps no content, so that a record could not keep it: leave out content=''"))
}
