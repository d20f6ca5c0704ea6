//! One author's statement: prepared at load so that no trial meets a broken one, bound by name, run within bounds.

use std::collections::BTreeSet;

use rusqlite::{Connection, Statement};

use super::answer;
use super::cell::Cell;
use super::connection::Link;
use super::fault::WorldFault;
use super::guard::Policy;
use super::tokens::{current_time, inconstant, wall_clock};
use crate::scenario::{Source, Sql};

/// The parameter that gives the world's time.
pub(super) const NOW: &str = "now";

/// What a check's functions must do.
pub(super) const CONSTANT: &str = "a check must give the same answer whenever it is asked";

/// What stands around a statement: where it may be used and which names it may bind.
pub(super) struct Site<'a> {
    /// The file it stands in.
    pub file: &'a Source,
    pub policy: Policy,
    /// It may not write, whatever the policy; why not, for people.
    pub read_only: Option<&'a str>,
    /// The names it may bind; `None`: any.
    pub names: Option<&'a BTreeSet<String>>,
    /// What those names are called, for people.
    pub named: &'a str,
    /// Whether the world has a time.
    pub has_now: bool,
}

impl Site<'_> {
    /// Whether `:name` stands for something here.
    pub fn may_bind(&self, name: &str) -> bool {
        match name {
            NOW => self.has_now,
            _ => self.names.is_none_or(|names| names.contains(name)),
        }
    }
}

/// Prepares `sql`, and tells what is wrong with it or which columns it gives. Nothing is run.
pub(super) fn check(link: &Link, sql: &Sql, site: &Site<'_>) -> Result<Vec<String>, WorldFault> {
    let guard = &link.guard;
    let fault = |what: String| WorldFault::new(site.file, sql.pos, what);
    let checking = site.policy == Policy::Check;
    if checking && let Some(name) = inconstant(&sql.text) {
        return Err(fault(format!("{name} is refused: {CONSTANT}")));
    }
    if checking || !site.has_now {
        let current = current_time(&sql.text).map(str::to_owned);
        if let Some(clock) = current.or_else(|| wall_clock(&sql.text)) {
            return Err(fault(format!("{clock} reads the machine's clock or time zone")).help(
                if site.has_now {
                    "write :now, the world's time, in its place"
                } else {
                    "give the world a time: `now` under `world` in the contract"
                },
            ));
        }
    }
    guard.begin();
    let prepared = guard.under(site.policy, || link.conn.prepare(&sql.text));
    let stmt = prepared.map_err(|e| explain(link, site.policy, &e, &fault))?;
    if let Some(why) = site.read_only
        && !stmt.readonly()
    {
        return Err(fault(format!("this statement writes, and {why}")));
    }
    for at in 1..=stmt.parameter_count() {
        let Some(name) = named(&stmt, at) else {
            let written = stmt.parameter_name(at).unwrap_or("?");
            return Err(
                fault(format!("the parameter {written} has no name")).help("parameters are written :name")
            );
        };
        if !site.may_bind(name) {
            return Err(match name {
                NOW => fault("the world has no time for :now".to_owned())
                    .help("write `now` under `world` in the contract"),
                _ => fault(format!("the parameter :{name} is {}", site.named)),
            });
        }
    }
    Ok(answer::columns(&stmt).into_iter().map(|column| column.name).collect())
}

/// What a check may be after that no table holds: only evidence that is whole stands in tables.
const OPEN_EVIDENCE: [&str; 3] = ["spans", "span", "events"];

fn explain(
    link: &Link,
    policy: Policy,
    error: &rusqlite::Error,
    fault: &impl Fn(String) -> WorldFault,
) -> WorldFault {
    let what = link.guard.explain(error);
    let missing = what.strip_prefix("no such table: ").map(str::to_owned);
    let is_text = what.starts_with("no such column: \"") && what.contains("single-quotes");
    let fault = fault(what);
    let checks = policy == Policy::Check;
    if let Some(missing) = missing {
        if checks && OPEN_EVIDENCE.contains(&missing.as_str()) {
            return fault
                .help("spans are no whole evidence: ask with `delegated`, `transferred` or `called`");
        }
        return fault.near(&missing, tables(&link.conn));
    }
    match error {
        _ if is_text => fault.help("texts are written 'in single quotes', names in double quotes"),
        rusqlite::Error::MultipleStatement if checks => {
            fault.help("join them in one, or write two sub-goals")
        }
        rusqlite::Error::MultipleStatement => fault.help("write one statement per entry of the list"),
        _ => fault,
    }
}

/// The names a statement may read from; none where they cannot be had, since they only help a reader.
fn tables(conn: &Connection) -> Vec<String> {
    let named = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
    let names = conn.prepare(named).and_then(|mut stmt| stmt.query_map([], |row| row.get(0))?.collect());
    names.unwrap_or_default()
}

/// The name of the parameter at `at`, if it is written `:name`.
fn named<'s>(stmt: &'s Statement<'_>, at: usize) -> Option<&'s str> {
    stmt.parameter_name(at)?.strip_prefix(':')
}

/// Binds every parameter to what `value` knows by its name; NULL to a name it does not know.
pub(super) fn bind(stmt: &mut Statement<'_>, value: &impl Fn(&str) -> Option<Cell>) -> rusqlite::Result<()> {
    for at in 1..=stmt.parameter_count() {
        let cell = named(stmt, at).and_then(value).unwrap_or(Cell::Null);
        stmt.raw_bind_parameter(at, cell)?;
    }
    Ok(())
}
