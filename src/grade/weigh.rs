//! One check against the evidence: the tree of `all`, `any` and `not`, down to its leaves.
//!
//! `not` is carried down to the leaves instead of turning a verdict round afterwards, since what a leaf may conclude
//! depends on the side it is asked from: a `passed` that rests on an absence needs proof that the evidence was whole,
//! a reply check of an app that died is `failed` either way.

use super::evidence::Evidence;
use super::roster::Roster;
use super::tables::Tables;
use crate::scenario::{Case, Check, CheckKind, Contract, Scenario};
use crate::verdict::Verdict;

/// What grading looks at.
pub(super) struct Court<'a> {
    pub(super) contract: &'a Contract,
    pub(super) scenario: &'a Scenario,
    pub(super) case: &'a Case,
    pub(super) evidence: &'a Evidence,
    pub(super) roster: Roster<'a>,
    pub(super) tables: Tables<'a>,
}

/// What one check came to, and what was seen, for people.
pub(super) struct Held {
    pub(super) verdict: Verdict,
    pub(super) seen: String,
}

impl Held {
    pub(super) fn new(verdict: Verdict, seen: impl Into<String>) -> Self {
        let seen = seen.into();
        Self { verdict, seen }
    }
}

/// A check that cannot be evaluated: an error of the scenario, never the app's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) line: u32,
    pub(super) message: String,
}

/// From which side a check is asked: as written, or under an odd number of `not`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    For,
    Against,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::For => Self::Against,
            Self::Against => Self::For,
        }
    }

    /// A verdict on the check as written, told from this side.
    pub(super) fn of(self, verdict: Verdict) -> Verdict {
        match self {
            Self::For => verdict,
            Self::Against => verdict.negated(),
        }
    }
}

impl<'a> Court<'a> {
    /// `worker` is the subject's, where it is one.
    pub(super) fn weigh(&self, check: &Check, worker: Option<&str>, side: Side) -> Result<Held, Broken> {
        let broken = |message| Broken { line: check.pos.line, message };
        let told = |held: Held| Held { verdict: side.of(held.verdict), ..held };
        Ok(match &check.kind {
            CheckKind::Calls(pattern, times) => self.calls(pattern, *times, worker, side),
            CheckKind::Never(pattern) => self.never(pattern, worker, side),
            CheckKind::Refused { worker: of, tool, code, times } => {
                let of = of.as_ref().map(|id| id.as_str()).or(worker);
                self.refused(of, tool.as_ref(), code.as_deref(), *times, worker, side)
            }
            CheckKind::Order { worker: of, tools } => {
                let of = of.as_ref().map(|id| id.as_str()).or(worker);
                self.order(of, tools, worker, side)
            }
            CheckKind::Within(limit) => self.within(*limit, worker, side),
            CheckKind::Delegated(asked) => told(self.handed_off("delegated", asked)),
            CheckKind::Transferred(asked) => told(self.handed_off("transferred", asked)),
            CheckKind::Called(pattern, times) => told(self.called(pattern, *times, worker)),
            CheckKind::Reply(asked) => self.reply(asked, side).map_err(broken)?,
            CheckKind::Sql(sql) => told(self.sql(sql).map_err(broken)?),
            CheckKind::Changed(changes) => told(self.changed(changes)),
            CheckKind::Unchanged(tables) => told(self.unchanged(tables)),
            CheckKind::Script { .. } => told(self.answer("script", check.pos)),
            CheckKind::Judge(_) => told(self.answer("judge", check.pos)),
            CheckKind::All(checks) => self.combined(checks, worker, side, side)?,
            CheckKind::Any(checks) => self.combined(checks, worker, side, side.other())?,
            CheckKind::Not(inner) => self.weigh(inner, worker, side.other())?,
        })
    }

    /// Kleene AND of `checks`, or OR where `joined` is [`Side::Against`] (De Morgan, by way of `not`).
    fn combined(
        &self,
        checks: &[Check],
        worker: Option<&str>,
        side: Side,
        joined: Side,
    ) -> Result<Held, Broken> {
        let mut parts = Vec::with_capacity(checks.len());
        for check in checks {
            parts.push(self.weigh(check, worker, side)?);
        }
        let verdict = parts
            .iter()
            .map(|part| part.verdict)
            .reduce(|a, b| match joined {
                Side::For => a.and(b),
                Side::Against => a.or(b),
            })
            // An empty list asks nothing and is refused at load; nothing asked is nothing shown.
            .unwrap_or(Verdict::Failed);
        let seen: Vec<_> = parts.iter().map(|part| format!("{} ({})", part.seen, part.verdict)).collect();
        Ok(Held::new(verdict, seen.join("; ")))
    }
}
