//! Checks on the action log: closed evidence, so that an absence there is a fact, as far as the log is whole and the
//! channel is proven.
//!
//! What was seen decides. What was not seen decides only where nothing stands in the way: a `passed` that rests on an
//! absence needs a whole record and a proven channel; a worker's goal that was not reached needs a worker that was
//! let try.

use super::evidence::{Action, Whose};
use super::value::holds;
use super::weigh::{Court, Held, Side};
use crate::journal::OutcomeKind;
use crate::name::ToolName;
use crate::scenario::{CallPattern, OutcomeAsked, Times, fill_value};
use crate::verdict::{Reason, Verdict};

/// Whether an action is one that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    No,
    Yes,
    /// It may be: how it came out, or all its arguments, are not on record.
    Open,
    /// It may be: nobody can say whose it was.
    Unattributed,
    /// It would be, but channel and spans dispute whose it was.
    Disputed,
}

/// What is asked, as far as its absence is concerned.
pub(super) struct Question<'a> {
    /// Whose calls; none: anybody's.
    pub(super) of: Option<&'a str>,
    /// The worker whose goal it is.
    pub(super) subject: Option<&'a str>,
    pub(super) tool: Option<&'a ToolName>,
    /// Whether only calls that reached the world are meant.
    pub(super) reached: bool,
    pub(super) side: Side,
}

#[derive(Default)]
pub(super) struct Count {
    pub(super) sure: u64,
    pub(super) open: u64,
    pub(super) unattributed: u64,
    pub(super) disputed: u64,
}

impl Court<'_> {
    pub(super) fn calls(
        &self,
        pattern: &CallPattern,
        times: Times,
        subject: Option<&str>,
        side: Side,
    ) -> Held {
        let args = pattern.args.as_ref().map(|args| fill_value(args, self.case));
        let question = Question {
            of: pattern.worker.as_ref().map(|id| id.as_str()).or(subject),
            subject,
            tool: pattern.tool.as_ref(),
            reached: pattern.outcome != OutcomeAsked::Any,
            side,
        };
        self.counted(&question, times, |action| {
            let got = got(action, pattern.outcome);
            let tool = pattern.tool.as_ref().is_none_or(|tool| is_of(action, tool));
            let given = match &args {
                Some(args) if !holds(&action.attempt.arguments, args) => {
                    if action.attempt.arguments_cut {
                        Fit::Open
                    } else {
                        Fit::No
                    }
                }
                _ => Fit::Yes,
            };
            match (tool, got, given) {
                (false, ..) | (_, Fit::No, _) | (_, _, Fit::No) => Fit::No,
                (_, Fit::Yes, Fit::Yes) => Fit::Yes,
                _ => Fit::Open,
            }
        })
    }

    pub(super) fn never(&self, pattern: &CallPattern, subject: Option<&str>, side: Side) -> Held {
        let none = Times { min: 0, max: Some(0) };
        self.calls(pattern, none, subject, side)
    }

    pub(super) fn refused(
        &self,
        of: Option<&str>,
        tool: Option<&ToolName>,
        code: Option<&str>,
        times: Times,
        subject: Option<&str>,
        side: Side,
    ) -> Held {
        let question = Question { of, subject, tool, reached: false, side };
        self.counted(&question, times, |action| {
            let fits = tool.is_none_or(|tool| is_of(action, tool))
                && action.refusal().is_some_and(|seen| code.is_none_or(|code| seen == code));
            if fits { Fit::Yes } else { Fit::No }
        })
    }

    fn counted(&self, question: &Question<'_>, times: Times, fit: impl Fn(&Action) -> Fit) -> Held {
        let mut count = Count::default();
        let mut own = 0u64;
        for action in &self.evidence.actions {
            own += u64::from(self.lane(action, question.of, Fit::Yes) == Fit::Yes);
            count.add(self.lane(action, question.of, fit(action)));
        }
        Held::new(self.ruling(question, times, &count), count.told(own))
    }

    fn ruling(&self, question: &Question<'_>, times: Times, count: &Count) -> Verdict {
        if count.disputed > 0 {
            return Verdict::Unknown(Reason::LaneDisputed);
        }
        let (least, most) = (count.sure, count.sure + count.open + count.unattributed);
        let over = times.max.is_some_and(|max| least > max);
        if over {
            return question.side.of(Verdict::Failed);
        }
        if least >= times.min && times.max.is_none() {
            return question.side.of(Verdict::Passed);
        }
        if most < times.min {
            return self.absent(question, false);
        }
        if least >= times.min && times.holds(most) {
            return self.absent(question, true);
        }
        Verdict::Unknown(if count.unattributed > 0 {
            Reason::LaneUnattributed
        } else {
            Reason::RecordIncomplete
        })
    }

    /// A verdict that rests on something not being on record: that the check as written `holds`, or does not.
    pub(super) fn absent(&self, question: &Question<'_>, holds: bool) -> Verdict {
        let passes = holds == (question.side == Side::For);
        let reason = if passes {
            self.unsafe_pass(question).into_iter().flatten().min()
        } else {
            self.unfair_fail(question).into_iter().flatten().min()
        };
        reason.map_or(Verdict::of(passes), Verdict::Unknown)
    }

    /// Why a `passed` may not rest on an absence. A deadline is no reason: after it there is nothing to come.
    fn unsafe_pass(&self, question: &Question<'_>) -> [Option<Reason>; 4] {
        let proven = match question.of {
            Some(worker) => self.proven(worker),
            None => {
                let asked = self.roster.asked(question.tool, question.reached);
                asked.into_iter().all(|worker| self.proven(worker))
            }
        };
        [
            self.incomplete(),
            self.evidence.found("app_left_running").then_some(Reason::AppLeftRunning),
            (!proven).then_some(Reason::BindingUnproven),
            self.no_calls(question),
        ]
    }

    /// Why a worker may not be blamed for what it did not do.
    fn unfair_fail(&self, question: &Question<'_>) -> [Option<Reason>; 3] {
        let deadline = question
            .subject
            .is_some_and(|worker| self.of_worker(worker).any(|a| a.refusal() == Some("deadline_passed")));
        [
            self.log_failed().then_some(Reason::RecordIncomplete),
            deadline.then_some(Reason::DeadlinePassed),
            self.no_calls(question),
        ]
    }

    fn no_calls(&self, question: &Question<'_>) -> Option<Reason> {
        let worker = question.subject?;
        let tried =
            self.of_worker(worker).any(|action| matches!(action.refusal(), None | Some("not_permitted")));
        if tried {
            return None;
        }
        let nobodys = |a: &Action| self.lane(a, Some(worker), Fit::Yes) == Fit::Unattributed;
        Some(if self.evidence.actions.iter().any(nobodys) {
            Reason::LaneUnattributed
        } else {
            Reason::NoCalls
        })
    }

    /// Whether calls of this worker are known to come through its channel: proven elsewhere, or one did here.
    pub(super) fn proven(&self, worker: &str) -> bool {
        self.evidence.bindings.contains_key(worker) || self.of_worker(worker).next().is_some()
    }

    pub(super) fn of_worker(&self, worker: &str) -> impl Iterator<Item = &Action> {
        let actions = self.evidence.actions.iter();
        actions.filter(move |action| action.whose() == Whose::Worker(worker))
    }

    pub(super) fn incomplete(&self) -> Option<Reason> {
        let between = self.evidence.found("between_trials");
        let incomplete = between || self.evidence.found("record_incomplete") || self.log_failed();
        incomplete.then_some(Reason::RecordIncomplete)
    }

    /// Whether calls were refused because they could not be written down: then the harness, not the app, is why
    /// something was not done.
    pub(super) fn log_failed(&self) -> bool {
        self.evidence.found("log_unavailable")
            || self.evidence.actions.iter().any(|action| action.refusal() == Some("log_unavailable"))
    }

    /// `fit`, where the action is of the worker asked for (anybody's, where none is).
    pub(super) fn lane(&self, action: &Action, of: Option<&str>, fit: Fit) -> Fit {
        let Some(worker) = of else { return fit };
        if fit == Fit::No {
            return Fit::No;
        }
        match action.whose() {
            Whose::Worker(whose) if whose == worker => fit,
            Whose::Nobody if self.roster.is_shared(worker) => Fit::Unattributed,
            Whose::Disputed(a, b) if a == worker || b == worker => Fit::Disputed,
            _ => Fit::No,
        }
    }
}

impl Count {
    pub(super) fn add(&mut self, fit: Fit) {
        match fit {
            Fit::No => {}
            Fit::Yes => self.sure += 1,
            Fit::Open => self.open += 1,
            Fit::Unattributed => self.unattributed += 1,
            Fit::Disputed => self.disputed += 1,
        }
    }

    fn told(&self, own: u64) -> String {
        let mut told = format!("{} of {own} calls", self.sure);
        for (n, what) in [
            (self.open, "not known how they came out"),
            (self.unattributed, "not known whose"),
            (self.disputed, "disputed whose"),
        ] {
            if n > 0 {
                told.push_str(&format!(", {n} {what}"));
            }
        }
        told
    }
}

pub(super) fn is_of(action: &Action, tool: &ToolName) -> bool {
    action.attempt.tool.as_deref() == Some(tool.as_str())
}

/// Whether an action got as far as is asked.
pub(super) fn got(action: &Action, asked: OutcomeAsked) -> Fit {
    use OutcomeKind::{Crashed, Done, Faulted, Refused, WorldRefused};
    let far = match (asked, action.kind()) {
        (OutcomeAsked::Any, _) => true,
        // An attempt without an outcome has an unknown effect.
        (_, None) => return Fit::Open,
        (OutcomeAsked::Done, Some(kind)) => kind == Done,
        (OutcomeAsked::Reached, Some(Done | WorldRefused | Crashed)) => true,
        (OutcomeAsked::Reached, Some(Faulted | Refused)) => false,
    };
    if far { Fit::Yes } else { Fit::No }
}
