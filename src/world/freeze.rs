//! The world of a contract, made once per run: schema and base rows applied, every statement of every tool prepared,
//! the result kept as one image that each trial gets a copy of.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use super::base_rows::{self, BaseRow};
use super::check_scenario::check_scenario;
use super::closed;
use super::connection::Link;
use super::fault::{WorldFault, place};
use super::guard::Policy;
use super::prepare::{Prepared, prepare};
use super::tables::{self, Table, quoted};
use super::tokens::{Kind, tokens};
use crate::name::ToolName;
use crate::scenario::{Contract, Limits, Pos, Scenario, Source};

/// A world that nothing has happened in. Cheap to copy; copies share the image.
#[derive(Clone)]
pub struct Frozen(pub(super) Arc<Plan>);

pub(super) struct Plan {
    /// The database, as its file would be; empty where the contract has none.
    pub image: Vec<u8>,
    pub tables: Vec<Table>,
    pub tools: BTreeMap<ToolName, Prepared>,
    pub now: Option<String>,
    pub limits: Limits,
}

impl Frozen {
    /// Makes the world of `contract`, or tells everything that is wrong with it. Where the schema itself is wrong the
    /// tools are not looked at: each of their statements would be wrong for that reason alone.
    pub fn build(contract: &Contract) -> Result<Self, Vec<WorldFault>> {
        let at_top = |what: String| vec![WorldFault::new(&contract.source, Pos::default(), what)];
        let now = contract.world.now.as_deref();
        // Base rows may use `random()`: they are the same for every trial, so the seed is no trial's.
        let mut link = Link::open(&[], now, &contract.limits, Some(0)).map_err(|e| at_top(e.to_string()))?;
        let (tables, image) = if let Some(sqlite) = &contract.world.sqlite {
            let faults = fill(&mut link, &sqlite.schema, &sqlite.rows);
            if !faults.is_empty() {
                return Err(faults);
            }
            let tables = tables::describe(&link.conn).map_err(|e| at_top(e.to_string()))?;
            let file = sqlite.schema.first().map_or(&contract.source, |source| source);
            let faults: Vec<_> = tables.iter().filter_map(closed::cannot_keep).collect();
            if !faults.is_empty() {
                let fault = |what| WorldFault::new(file, Pos { line: 1, column: 1 }, what);
                return Err(faults.into_iter().map(fault).collect());
            }
            (tables, link.image().map_err(|e| at_top(e.to_string()))?)
        } else {
            (Vec::new(), Vec::new())
        };

        let mut faults = Vec::new();
        let mut tools = BTreeMap::new();
        for tool in &contract.world.tools {
            tools.insert(tool.name.clone(), prepare(&link, contract, tool, &mut faults));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self(Arc::new(Plan {
            image,
            tables,
            tools,
            now: now.map(str::to_owned),
            limits: contract.limits.clone(),
        })))
    }

    /// Everything that is wrong with the statements and table names of `scenario`. Nothing is run.
    pub fn check_scenario(&self, scenario: &Scenario) -> Vec<WorldFault> {
        check_scenario(&self.0, scenario)
    }
}

/// Applies schema files, then rows files, in one transaction. A file's first fault ends that file.
fn fill(link: &mut Link, schema: &[Source], rows: &[(String, Source)]) -> Vec<WorldFault> {
    let mut faults = Vec::new();
    let own = |sql: &str| link.conn.execute_batch(sql).err().map(|e| e.to_string());
    let trouble = |what: String| match schema.first().or(rows.first().map(|(_, source)| source)) {
        Some(source) => vec![WorldFault::new(source, Pos { line: 1, column: 1 }, what)],
        None => Vec::new(),
    };
    if let Some(what) = own("BEGIN") {
        return trouble(what);
    }
    for source in schema {
        faults.extend(run_file(link, source).err());
    }
    if faults.is_empty() {
        for (table, source) in rows {
            faults.extend(insert_rows(link, table, source).err());
        }
    }
    // A deferred foreign key without its row fails here.
    if faults.is_empty()
        && let Some(what) = own("COMMIT")
    {
        return trouble(what);
    }
    faults
}

/// Runs the statements of a schema file one by one, so that a fault has its place.
fn run_file(link: &Link, source: &Source) -> Result<(), WorldFault> {
    let text: &str = &source.text;
    let tokens = tokens(text);
    let mut start = None;
    for (i, token) in tokens.iter().enumerate() {
        let is_end = token.kind == Kind::Symbol && token.text == ";";
        if start.is_none() {
            start = (!is_end).then_some(token.at);
        }
        let Some(from) = start.filter(|_| is_end || i + 1 == tokens.len()) else {
            continue;
        };
        let statement = &text[from..token.at + token.text.len()];
        match link.run(Policy::Schema, statement, |_| None) {
            Ok(()) => start = None,
            // The body of a trigger holds semicolons of its own: only SQLite can tell that it goes on.
            Err(e) if is_incomplete(&e) && i + 1 < tokens.len() => {}
            Err(e) => {
                let offset = match &e {
                    rusqlite::Error::SqlInputError { offset, .. } => usize::try_from(*offset).unwrap_or(0),
                    _ => 0,
                };
                return Err(WorldFault::new(source, place(text, from + offset), link.guard.explain(&e)));
            }
        }
    }
    Ok(())
}

fn is_incomplete(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => {
            msg == "incomplete input"
        }
        _ => false,
    }
}

fn insert_rows(link: &Link, table: &str, source: &Source) -> Result<(), WorldFault> {
    let fault = |pos, what: String| WorldFault::new(source, pos, what);
    let json = source.path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("json"));
    let rows = if json { base_rows::json(&source.text) } else { base_rows::csv(&source.text) };
    for row in rows.map_err(|(pos, what)| fault(pos, what))? {
        insert_row(&link.conn, table, &row)
            .map_err(|e| fault(row.pos, format!("{table}: {}", link.guard.explain(&e))))?;
    }
    Ok(())
}

fn insert_row(conn: &Connection, table: &str, row: &BaseRow) -> rusqlite::Result<()> {
    let sql = if row.columns.is_empty() {
        format!("INSERT INTO {} DEFAULT VALUES", quoted(table))
    } else {
        let columns: Vec<String> = row.columns.iter().map(|name| quoted(name)).collect();
        let places = vec!["?"; columns.len()].join(", ");
        format!("INSERT INTO {} ({}) VALUES ({places})", quoted(table), columns.join(", "))
    };
    conn.prepare_cached(&sql)?.execute(params_from_iter(&row.values))?;
    Ok(())
}
