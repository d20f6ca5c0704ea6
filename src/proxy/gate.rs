//! The gate of a lane: the order of checks, in one place, for every face.
//!
//! trial open -> body within limit -> tool named -> permitted -> calls left -> deadline -> attempt row. The caller has
//! found the channel before, and sees to the fault, the second look at the deadline and the world after. A lane's
//! decisions and its attempt rows are made under one lock, so that rows stand in the order of decisions and exactly as
//! many calls pass as may.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::faults::{Due, Faults};
use crate::clock::{Clock, Moment};
use crate::journal::{AttemptRow, Basis, Decision, Journal, OutcomeKind, OutcomeRow};
use crate::name::{TrialId, WorkerId};
use crate::permit::{Ask, Permit, Refusal, RefusalCode, Rules, Usage, decide, decide_unmapped};
use crate::scenario::{BudgetFrom, Tool};
use crate::spans::TraceParent;

/// What the lanes of one trial share.
pub struct TrialState {
    pub clock: Clock,
    pub journal: Journal,
    pub faults: Faults,
    pub budget_from: BudgetFrom,
    pub first_turn: OnceLock<Moment>,
    /// `limits.calls`, over all lanes.
    pub calls_at_most: u64,
    pub calls: AtomicU64,
    pub in_flight: AtomicUsize,
    /// Attempts that came after the channels closed.
    pub late: AtomicU64,
    pub idle: Notify,
    /// Fires when the channels close: who sleeps for a fault wakes.
    pub closed: CancellationToken,
    /// Fires before the seal: who still waits for an upstream stops waiting.
    pub sealed: CancellationToken,
}

impl TrialState {
    /// A call is in flight no more.
    fn lands(&self) {
        if self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }
}

impl fmt::Debug for TrialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialState").finish_non_exhaustive()
    }
}

/// One worker's lane, or the one of all workers that cannot be told apart.
#[derive(Debug)]
pub struct Lane {
    rules: Rules,
    basis: Basis,
    state: Mutex<State>,
    late: Arc<Late>,
}

/// Calls that came after the seal: what is left of a lane then.
#[derive(Debug)]
pub struct Late {
    pub trial: TrialId,
    pub worker: Option<WorkerId>,
    pub calls: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Closed,
    Sealed,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    calls: u64,
    first_call: Option<Moment>,
}

/// A call as its face understood it.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The tool named; none where none could be.
    pub tool: Option<&'a Tool>,
    /// Why the face itself would refuse it: the body, or the name.
    pub refused: Option<Refusal>,
    /// Whole: what faults look at.
    pub arguments: &'a Value,
    /// What the row holds, where that is less.
    pub recorded: Option<Value>,
    /// Whether the row holds less than was sent.
    pub cut: bool,
    /// `http`, `mcp` or `a2a`.
    pub face: &'static str,
    /// `METHOD path?query`, without the token.
    pub request: Option<String>,
    /// The span it was made in.
    pub trace: Option<TraceParent>,
}

/// A call that may go on.
#[derive(Debug)]
pub struct Begun {
    /// For the world.
    pub permit: Permit,
    /// For its outcome.
    pub call: Call,
    /// The fault it meets.
    pub due: Option<Due>,
}

impl Lane {
    pub fn new(rules: Rules, basis: Basis, trial: TrialId) -> Self {
        let late = Late { trial, worker: rules.worker().cloned(), calls: AtomicU64::new(0) };
        Self {
            rules,
            basis,
            state: Mutex::new(State { phase: Phase::Open, calls: 0, first_call: None }),
            late: Arc::new(late),
        }
    }

    /// Whose it is; null where its workers cannot be told apart.
    pub fn worker(&self) -> Option<&WorkerId> {
        self.rules.worker()
    }

    /// What it may do.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Its calls after the seal.
    pub fn late(&self) -> &Arc<Late> {
        &self.late
    }

    /// Decides, and writes the attempt row. Nothing has happened before this returns, and nothing may happen if it
    /// refuses.
    pub fn begin(&self, trial: &Arc<TrialState>, asked: Asked<'_>) -> Result<Begun, Refusal> {
        let mut state = self.lock();
        match state.phase {
            Phase::Open => {}
            Phase::Closed => {
                let refusal = closed();
                self.write(trial, asked, Decision::Refused, Some(&refusal), None, true)?;
                return Err(refusal);
            }
            Phase::Sealed => {
                self.late.calls.fetch_add(1, Ordering::Relaxed);
                return Err(closed());
            }
        }
        let permit = match self.decide(&mut state, trial, &asked) {
            Ok(permit) => permit,
            Err(refusal) => {
                self.write(trial, asked, Decision::Refused, Some(&refusal), None, false)?;
                return Err(refusal);
            }
        };
        let due = asked.tool.and_then(|tool| trial.faults.meet(self.worker(), &tool.name, asked.arguments));
        let decision = if due.is_some() { Decision::Faulted } else { Decision::Allowed };
        let reason = due.as_ref().map(|due| due.reason.clone());
        let seq = self.write(trial, asked, decision, None, reason, false)?;
        state.calls += 1;
        trial.calls.fetch_add(1, Ordering::Relaxed);
        trial.in_flight.fetch_add(1, Ordering::AcqRel);
        let trial = Arc::clone(trial);
        let call = Call { trial, attempt: seq, deadline: permit.deadline(), cut: false, rests: false };
        Ok(Begun { permit, call, due })
    }

    fn decide(&self, state: &mut State, trial: &TrialState, asked: &Asked<'_>) -> Result<Permit, Refusal> {
        if let Some(refusal) = &asked.refused {
            return Err(refusal.clone());
        }
        let at = trial.clock.now();
        let budget_start = match trial.budget_from {
            BudgetFrom::FirstTurn => trial.first_turn.get().copied(),
            BudgetFrom::FirstCall => Some(*state.first_call.get_or_insert(at)),
        };
        let usage = Usage { calls: state.calls, budget_start };
        let permit = match asked.tool {
            Some(tool) => decide(&self.rules, usage, Ask { tool: &tool.name, effect: tool.effect, at }),
            None => decide_unmapped(&self.rules, usage, at),
        }?;
        // Checked and not taken: lanes run side by side, so a trial may go over its common bound by a call per lane.
        if trial.calls.load(Ordering::Relaxed) >= trial.calls_at_most {
            return Err(Refusal {
                code: RefusalCode::CallsExhausted,
                reason: format!("the trial has made its {} calls", trial.calls_at_most),
            });
        }
        Ok(permit)
    }

    fn write(
        &self,
        trial: &TrialState,
        asked: Asked<'_>,
        decision: Decision,
        refusal: Option<&Refusal>,
        fault: Option<String>,
        late: bool,
    ) -> Result<u64, Refusal> {
        let row = AttemptRow {
            worker: self.worker().map(|id| id.as_str().to_owned()),
            tool: asked.tool.map(|tool| tool.name.as_str().to_owned()),
            arguments: asked.recorded.unwrap_or_else(|| asked.arguments.clone()),
            arguments_cut: asked.cut,
            decision,
            code: refusal.map(|refusal| refusal.code.code().to_owned()),
            reason: refusal.map(|refusal| refusal.reason.clone()).or(fault),
            basis: self.basis,
            late,
            face: asked.face.to_owned(),
            request: asked.request,
            trace_id: asked.trace.map(|trace| trace.trace_id.to_string()),
            span_id: asked.trace.map(|trace| trace.span_id.to_string()),
        };
        if late {
            trial.late.fetch_add(1, Ordering::Relaxed);
        }
        // Why a row could not be written is the harness's trouble: the journal tells it, the app is not told.
        trial.journal.append(&row).map_err(|_| Refusal {
            code: RefusalCode::LogUnavailable,
            reason: "the attempt could not be recorded, so it was not made".to_owned(),
        })
    }

    /// No call passes any more; late ones are still rows.
    pub fn close(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Closed;
        }
    }

    /// Late calls are no rows any more, only counted.
    pub fn seal(&self) {
        self.lock().phase = Phase::Sealed;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The refusal of a call that comes after the end.
pub fn closed() -> Refusal {
    Refusal { code: RefusalCode::TrialClosed, reason: "the trial is over".to_owned() }
}

/// A call on its way: it owes the record an outcome. Dropped without one, its effect is unknown, as the record says by
/// the absence.
#[derive(Debug)]
pub struct Call {
    trial: Arc<TrialState>,
    attempt: u64,
    deadline: Option<Moment>,
    /// A fault changed when or how much of the answer the app gets.
    pub cut: bool,
    /// It waits for its caller, so nobody waits for it.
    rests: bool,
}

/// How a call came out, before it is a row.
#[derive(Debug)]
pub struct Outcome {
    pub kind: OutcomeKind,
    pub code: Option<String>,
    /// Of the answer sent; none where the connection was closed instead.
    pub status: Option<u16>,
    pub result: Value,
    pub result_cut: bool,
}

impl Outcome {
    /// Refused after its attempt row.
    pub fn refused(refusal: &Refusal) -> Self {
        Self {
            kind: OutcomeKind::Refused,
            code: Some(refusal.code.code().to_owned()),
            status: Some(403),
            result: Value::Null,
            result_cut: false,
        }
    }
}

impl Call {
    /// What the call shares with the others of its trial.
    pub fn trial(&self) -> &Arc<TrialState> {
        &self.trial
    }

    /// It waits for more from its caller: nobody has to wait for it meanwhile.
    pub fn rest(&mut self) {
        if !std::mem::replace(&mut self.rests, true) {
            self.trial.lands();
        }
    }

    /// Its caller went on.
    pub fn go_on(&mut self) {
        if std::mem::take(&mut self.rests) {
            self.trial.in_flight.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Writes the outcome row, before the answer is sent. A row that cannot be written leaves an attempt without an
    /// outcome, and a journal that says it is incomplete: the world has acted, so the app still gets its answer.
    pub fn end(self, outcome: Outcome) {
        let trial = &self.trial;
        let row = OutcomeRow {
            attempt: self.attempt,
            kind: outcome.kind,
            code: outcome.code,
            status: outcome.status,
            result: outcome.result,
            result_cut: outcome.result_cut,
            ended_after_deadline: self.deadline.is_some_and(|deadline| trial.clock.now() >= deadline)
                && outcome.kind != OutcomeKind::Refused,
            cut: self.cut,
        };
        drop(trial.journal.append(&row));
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.rests {
            self.trial.lands();
        }
    }
}
