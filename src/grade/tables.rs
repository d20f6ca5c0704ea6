//! The closed tables of a trial, made when the first SQL check asks for them.

use std::cell::OnceCell;

use super::evidence::{Evidence, Whose};
use crate::journal::TurnRow;
use crate::scenario::{Case, Contract, Sql};
use crate::world::{Action, ClosedError, ClosedEvidence, ClosedTables};

pub(super) struct Tables<'a> {
    contract: &'a Contract,
    evidence: &'a Evidence,
    made: OnceCell<Result<ClosedTables, String>>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(contract: &'a Contract, evidence: &'a Evidence) -> Self {
        Self { contract, evidence, made: OnceCell::new() }
    }

    /// Whether the statement gives 1. An error is the check's own: no row, more than one, no 0 or 1.
    pub(super) fn check(&self, sql: &Sql, case: &Case) -> Result<bool, String> {
        let made = self.made.get_or_init(|| self.make().map_err(|e| e.to_string()));
        let tables = made.as_ref().map_err(String::clone)?;
        tables.check(sql, case).map_err(|broken| broken.what)
    }

    fn make(&self) -> Result<ClosedTables, ClosedError> {
        let evidence = self.evidence;
        let actions: Vec<_> = evidence
            .actions
            .iter()
            .map(|action| Action {
                seq: action.seq,
                at: action.at,
                worker: match action.whose() {
                    // A disputed call keeps its channel's worker.
                    Whose::Worker(worker) | Whose::Disputed(worker, _) => Some(worker),
                    Whose::Nobody => None,
                },
                attempt: &action.attempt,
                outcome: action.outcome.as_ref(),
            })
            .collect();
        let turns: Vec<TurnRow> = evidence.turns.iter().map(|turn| turn.row.clone()).collect();
        ClosedTables::new(&ClosedEvidence {
            tables: &evidence.tables,
            actions: &actions,
            replies: &evidence.replies,
            turns: &turns,
            now: self.contract.world.now.as_deref(),
            limits: &self.contract.limits,
        })
    }
}
