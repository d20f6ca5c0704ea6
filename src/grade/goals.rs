//! From checks to verdicts: every sub-goal, the two that are built in, and what the trial came to.

use std::collections::BTreeMap;

use super::closed::excerpt;
use super::evidence::{CHECK_BROKEN, Evidence};
use super::question::asked;
use super::roster::Roster;
use super::tables::Tables;
use super::weigh::{Broken, Court, Held, Side};
use crate::journal::{EndRow, Judged, TrialError, VerdictRow};
use crate::scenario::{Case, Contract, LaneSpec, Scenario, Subject};
use crate::verdict::{Gate, Outcome, Reason, Verdict};

/// The built-in required sub-goal of every task: each turn got its reply.
pub const ANSWERED: &str = "answered";
/// The built-in `if_seen` sub-goal of every worker whose limits can only be looked at afterwards. One row per such
/// worker: it is told apart by its subject.
pub const STAYED_PERMITTED: &str = "stayed_permitted";

/// What grading came to.
#[derive(Clone, Debug)]
pub struct Grades {
    /// `answered`, the scenario's sub-goals in the order of the file, then each audited worker's `stayed_permitted`.
    /// None where the world or the harness was in trouble: nothing may be concluded then.
    pub verdicts: Vec<VerdictRow>,
    /// What the trial came to.
    pub end: EndRow,
}

/// One graded goal.
struct Goal<'a> {
    id: &'a str,
    worker: Option<&'a str>,
    gate: Gate,
    line: u32,
    asked: String,
    held: Result<Held, Broken>,
}

/// Grades one trial. Pure: the same rows give the same bytes.
pub fn grade(contract: &Contract, scenario: &Scenario, case: &Case, evidence: &Evidence) -> Grades {
    let court = Court {
        contract,
        scenario,
        case,
        evidence,
        roster: Roster::new(contract),
        tables: Tables::new(contract, evidence),
    };
    if let Some(error) = &evidence.error {
        return court.nothing_graded(error);
    }
    let goals = court.goals();
    let error = goals.iter().find_map(|goal| goal.held.as_ref().err());
    let error = error.map(|broken| TrialError {
        code: CHECK_BROKEN.to_owned(),
        message: broken.message.clone(),
        line: Some(broken.line),
    });
    Grades { verdicts: goals.iter().map(Goal::to_row).collect(), end: court.end(&goals, error) }
}

impl<'a> Court<'a> {
    fn goals(&self) -> Vec<Goal<'a>> {
        let answered = Goal {
            id: ANSWERED,
            worker: None,
            gate: Gate::Required,
            line: 0,
            asked: "a reply to each turn".to_owned(),
            held: Ok(self.answered()),
        };
        let own = self.scenario.sub_goals.iter().map(|goal| {
            let worker = match &goal.subject {
                Subject::Task => None,
                Subject::Worker(id) => Some(id.as_str()),
            };
            Goal {
                id: &goal.id,
                worker,
                gate: goal.gate,
                line: goal.pos.line,
                asked: asked(&goal.check),
                held: self.weigh(&goal.check, worker, Side::For),
            }
        });
        let audited = self.contract.workers.iter().filter(|w| w.lane == LaneSpec::Spans);
        let stayed = audited.map(|worker| Goal {
            id: STAYED_PERMITTED,
            worker: Some(worker.id.as_str()),
            gate: Gate::IfSeen,
            line: 0,
            asked: "no call let through that was not permitted".to_owned(),
            held: self.stayed_permitted(worker),
        });
        std::iter::once(answered).chain(own).chain(stayed).collect()
    }

    fn answered(&self) -> Held {
        if let Some(code) = self.app_trouble() {
            let mut findings = self.evidence.findings.iter();
            let finding = findings.find(|finding| finding.code == code);
            let detail = finding.map_or("", |finding| finding.detail.as_str());
            return Held::new(Verdict::Failed, format!("{code} {}", excerpt(detail)));
        }
        let mut turns = (1..).zip(&self.scenario.turns);
        let silent = turns
            .find(|(n, turn)| turn.expects_reply && !self.evidence.replies.iter().any(|reply| reply.n == *n));
        match silent {
            Some((n, _)) => Held::new(Verdict::Failed, format!("none to turn {n}")),
            None => Held::new(Verdict::Passed, format!("{} replies", self.evidence.replies.len())),
        }
    }

    fn nothing_graded(&self, error: &TrialError) -> Grades {
        let judged = Judged { verdict: "unknown".to_owned(), reason: Some(error.code.clone()) };
        Grades {
            verdicts: Vec::new(),
            end: EndRow {
                task: judged.clone(),
                workers: self.each_worker(|_| judged.clone()),
                outcome: Outcome::Error,
                error: Some(error.clone()),
            },
        }
    }

    fn end(&self, goals: &[Goal<'_>], error: Option<TrialError>) -> EndRow {
        // Where calls were refused for want of a log, nothing may come out as passed.
        let log = match self.log_failed() {
            true => Verdict::Unknown(Reason::RecordIncomplete),
            false => Verdict::Passed,
        };
        let held = goals.iter().filter_map(|goal| Some((goal.gate, goal.held.as_ref().ok()?.verdict)));
        let outcome = match &error {
            Some(_) => Outcome::Error,
            None => Outcome::of(held.chain([(Gate::Required, log)])),
        };
        let of_task = goals.iter().filter(|goal| goal.worker.is_none());
        let task = of_task.filter(|goal| match &goal.held {
            Ok(held) if goal.gate == Gate::IfSeen => held.verdict == Verdict::Failed,
            _ => goal.gate != Gate::Report,
        });
        EndRow {
            task: judged(task.map(Goal::verdict).chain([Ok(log)]), Reason::RecordIncomplete),
            workers: self.each_worker(|id| {
                let own = goals.iter().filter(|goal| goal.worker == Some(id));
                let counted = own.filter(|goal| goal.gate != Gate::Report);
                judged(counted.map(Goal::verdict), Reason::NotAsked)
            }),
            outcome,
            error,
        }
    }

    fn each_worker(&self, judge: impl Fn(&str) -> Judged) -> BTreeMap<String, Judged> {
        let workers = self.contract.workers.iter().map(|worker| worker.id.as_str());
        workers.map(|id| (id.to_owned(), judge(id))).collect()
    }
}

impl Goal<'_> {
    fn verdict(&self) -> Result<Verdict, ()> {
        self.held.as_ref().map(|held| held.verdict).map_err(|_| ())
    }

    fn to_row(&self) -> VerdictRow {
        let judged = judged([self.verdict()], Reason::NotAsked);
        let seen = match &self.held {
            Ok(held) => &held.seen,
            Err(broken) => &broken.message,
        };
        VerdictRow {
            sub_goal: self.id.to_owned(),
            subject: match self.worker {
                Some(worker) => format!("worker:{worker}"),
                None => "task".to_owned(),
            },
            verdict: judged.verdict,
            reason: judged.reason,
            gate: self.gate,
            line: self.line,
            detail: format!("asked: {}; seen: {seen}", self.asked),
        }
    }
}

/// Kleene AND. A check that is broken comes before everything; `none` is why there is nothing to judge.
fn judged(verdicts: impl IntoIterator<Item = Result<Verdict, ()>>, none: Reason) -> Judged {
    let all: Result<Vec<_>, ()> = verdicts.into_iter().collect();
    let (verdict, reason) = match all {
        Err(()) => ("unknown", Some(CHECK_BROKEN)),
        Ok(all) => {
            let verdict = all.into_iter().reduce(Verdict::and).unwrap_or(Verdict::Unknown(none));
            (verdict.word(), verdict.reason().map(Reason::code))
        }
    };
    Judged { verdict: verdict.to_owned(), reason: reason.map(str::to_owned) }
}
