//! Evidence made in code: what a mutated log or a test would have left behind.
//!
//! Everything goes in through the same row structs that a record holds; nothing here is easier to please.

use serde_json::Value;

use super::Evidence;
use super::evidence::{Action, Said};
use crate::journal::{
    AnswerRow, AttemptRow, Basis, Decision, EventRow, FindingRow, OutcomeKind, OutcomeRow, ReplyRow, TurnRow,
};
use crate::verdict::Relationship;

/// Builds [`Evidence`] step by step; every step takes one second of the made-up clock.
#[derive(Clone, Debug, Default)]
pub struct EvidenceBuilder {
    evidence: Evidence,
    seq: u64,
    now: u64,
}

const SECOND: u64 = 1_000_000_000;

impl EvidenceBuilder {
    /// Nothing happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets time pass.
    pub fn wait(mut self, seconds: u64) -> Self {
        self.now += seconds * SECOND;
        self
    }

    /// A turn that expects a reply.
    pub fn turn(mut self, text: &str) -> Self {
        self.step();
        let n = self.evidence.turns.len() as u32 + 1;
        let row = TurnRow { n, text: text.to_owned(), expects_reply: true };
        self.evidence.turns.push(Said { at: self.now, row });
        self
    }

    /// The reply to the last turn.
    pub fn reply(mut self, text: &str) -> Self {
        self.step();
        let n = self.evidence.turns.len() as u32;
        let row = ReplyRow { n, text: text.to_owned(), cut: false };
        self.evidence.replies.push(row);
        self
    }

    /// A call that the world did.
    pub fn done(self, worker: &str, tool: &str, args: Value) -> Self {
        self.call(Some(worker), tool, args, OutcomeKind::Done)
    }

    /// A call that was refused before the world.
    pub fn refused(mut self, worker: &str, tool: &str, code: &str) -> Self {
        self = self.call(Some(worker), tool, Value::Null, OutcomeKind::Refused);
        if let Some(action) = self.evidence.actions.last_mut() {
            action.attempt.decision = Decision::Refused;
            action.attempt.code = Some(code.to_owned());
        }
        self
    }

    /// A call of anyone (`None`: over the shared address), however it came out.
    pub fn call(mut self, worker: Option<&str>, tool: &str, args: Value, kind: OutcomeKind) -> Self {
        self.step();
        let (seq, at) = (self.seq, self.now);
        self.step();
        self.evidence.actions.push(Action {
            seq,
            at,
            attempt: AttemptRow {
                worker: worker.map(str::to_owned),
                tool: Some(tool.to_owned()),
                arguments: args,
                arguments_cut: false,
                decision: match kind {
                    OutcomeKind::Faulted => Decision::Faulted,
                    _ => Decision::Allowed,
                },
                code: None,
                reason: None,
                basis: if worker.is_some() { Basis::Enforced } else { Basis::Audited },
                late: false,
                face: "http".to_owned(),
                request: None,
                trace_id: None,
                span_id: None,
            },
            outcome: Some(OutcomeRow {
                attempt: seq,
                kind,
                code: None,
                status: None,
                result: Value::Null,
                result_cut: false,
                ended_after_deadline: false,
                cut: false,
            }),
            ended_at: Some(self.now),
            lane: None,
        });
        self
    }

    /// Changes the last call, where the steps above do not say enough.
    pub fn last(mut self, change: impl FnOnce(&mut Action)) -> Self {
        if let Some(action) = self.evidence.actions.last_mut() {
            change(action);
        }
        self
    }

    /// A tool call that spans show; its span is named `span`.
    pub fn tool_span(self, agent: Option<&str>, tool: &str, span: &str) -> Self {
        let mut event = event("tool_call", span);
        event.agent = agent.map(str::to_owned);
        event.tool = Some(tool.to_owned());
        self.event(event)
    }

    /// A hand-off (`delegated` or `transferred`) that spans show.
    pub fn hand_off(self, kind: &str, from: Option<&str>, to: Option<&str>) -> Self {
        let mut event = event(kind, "00000000000000aa");
        event.from = from.map(str::to_owned);
        event.to = to.map(str::to_owned);
        self.event(event)
    }

    /// Any event.
    pub fn event(mut self, event: EventRow) -> Self {
        self.evidence.events.push(event);
        self
    }

    /// Span `child` of trace `TRACE` stands below `parent`.
    pub fn parent(mut self, child: &str, parent: &str) -> Self {
        let trace = self.evidence.parents.entry(TRACE.to_owned()).or_default();
        trace.insert(child.to_owned(), Some(parent.to_owned()));
        self
    }

    /// A finding.
    pub fn finding(mut self, code: &str) -> Self {
        self.evidence.findings.push(FindingRow {
            code: code.to_owned(),
            worker: None,
            detail: String::new(),
        });
        self
    }

    /// What a script or judge said of the check at `line:column`.
    pub fn answer(mut self, check: &str, by: &str, verdict: Option<&str>) -> Self {
        self.evidence.answers.push(AnswerRow {
            check: check.to_owned(),
            by: by.to_owned(),
            verdict: verdict.map(str::to_owned),
            reason: String::new(),
            detail: Value::Null,
        });
        self
    }

    /// The binding of this worker was proven by another trial.
    pub fn proven(mut self, worker: &str) -> Self {
        let by = "elsewhere/0-1".to_owned();
        self.evidence.bindings.insert(worker.to_owned(), by);
        self
    }

    /// Done.
    pub fn build(self) -> Evidence {
        self.evidence
    }

    fn step(&mut self) {
        self.seq += 1;
        self.now += SECOND;
    }
}

/// The trace that all made-up spans belong to.
pub const TRACE: &str = "000000000000000000000000000000aa";

/// An observed event that says nothing more.
pub fn event(kind: &str, span: &str) -> EventRow {
    EventRow {
        kind: kind.to_owned(),
        agent: None,
        from: None,
        to: None,
        tool: None,
        arguments: Value::Null,
        relationship: Relationship::Observed,
        basis: "made_up".to_owned(),
        trace_id: TRACE.to_owned(),
        span_id: span.to_owned(),
        parent_span_id: None,
        started_at: "0".to_owned(),
        ended_at: None,
        ended_with: None,
    }
}
