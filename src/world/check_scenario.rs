//! A scenario held against the world at load: its seed, its `sql:` checks and the tables it names. Nothing is run, so
//! that a statement which only fails on some rows is found by the trial, and told as an error then.

use super::closed::{EVIDENCE, ONE_COLUMN};
use super::connection::Link;
use super::fault::WorldFault;
use super::freeze::Plan;
use super::guard::Policy;
use super::statement::{self, Site};
use crate::scenario::{Check, CheckKind, Pos, Scenario, Source};
use std::collections::BTreeSet;

/// Everything that is wrong with the statements and table names of `scenario`.
pub(super) fn check_scenario(plan: &Plan, scenario: &Scenario) -> Vec<WorldFault> {
    let file = &scenario.source;
    let trouble = |e: rusqlite::Error| vec![WorldFault::new(file, Pos { line: 1, column: 1 }, e.to_string())];
    let link = match Link::open(&plan.image, plan.now.as_deref(), &plan.limits, None) {
        Ok(link) => link,
        Err(e) => return trouble(e),
    };
    // A name must have a value in every case.
    let mut cases = scenario.cases.iter().map(|case| case.keys().cloned().collect::<BTreeSet<String>>());
    let first = cases.next().unwrap_or_default();
    let names = cases.fold(first, |all, case| all.intersection(&case).cloned().collect());
    let site = |policy| Site {
        file,
        policy,
        read_only: None,
        names: Some(&names),
        named: "no value that every case has",
        has_now: plan.now.is_some(),
    };
    let mut faults: Vec<WorldFault> = scenario
        .seed
        .iter()
        .filter_map(|sql| statement::check(&link, sql, &site(Policy::Tool)).err())
        .collect();
    // Only now, so that no seed can write evidence.
    if let Err(e) = link.conn.execute_batch(EVIDENCE) {
        return trouble(e);
    }
    let mut checks: Vec<&Check> = scenario.sub_goals.iter().map(|goal| &goal.check).collect();
    while let Some(check) = checks.pop() {
        match &check.kind {
            CheckKind::Sql(sql) => {
                let columns = statement::check(&link, sql, &site(Policy::Check));
                faults.extend(match columns {
                    Ok(columns) if columns.len() != 1 => Some(WorldFault::new(file, sql.pos, ONE_COLUMN)),
                    checked => checked.err(),
                });
            }
            CheckKind::Changed(tables) => {
                faults
                    .extend(tables.iter().filter_map(|change| unknown(plan, &change.table, file, check.pos)));
            }
            CheckKind::Unchanged(tables) => {
                faults.extend(tables.iter().filter_map(|table| unknown(plan, table, file, check.pos)));
            }
            CheckKind::All(inner) | CheckKind::Any(inner) => checks.extend(inner),
            CheckKind::Not(inner) => checks.push(inner),
            _ => {}
        }
    }
    faults.sort_by_key(|fault| fault.pos);
    faults
}

fn unknown(plan: &Plan, name: &str, file: &Source, pos: Pos) -> Option<WorldFault> {
    let tables = || plan.tables.iter().filter(|table| !table.view);
    if tables().any(|table| table.name == name) {
        return None;
    }
    let fault = WorldFault::new(file, pos, format!("no table `{name}` in the world"));
    Some(fault.near(name, tables().map(|table| table.name.clone())))
}
