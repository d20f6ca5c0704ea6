//! Playing a solution, or an idle app, to the evidence that a trial of it would leave.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clock::Moment;
use crate::grade::{Evidence, EvidenceBuilder, grade};
use crate::journal::{Decision, OutcomeKind, VerdictRow};
use crate::permit::{Ask, Permit, Refusal, Usage, decide};
use crate::proxy::rules;
use crate::scenario::{
    Case, Check, CheckKind, Contract, Pos, Scenario, Step, StepKind, Worker, fill, fill_value,
};
use crate::verdict::Gate;
use crate::world::{AnswerKind, Frozen, World, WorldError};

/// What a scenario is played on.
pub(super) struct Stand<'a> {
    pub(super) contract: &'a Contract,
    pub(super) frozen: &'a Frozen,
    pub(super) scenario: &'a Scenario,
    pub(super) case: &'a Case,
}

/// Why a scenario cannot be played at all.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// In the scenario file.
    pub pos: Pos,
    /// `not_ready` or `forbidden`.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
}

/// What playing came to.
pub(super) struct Played {
    pub(super) verdicts: Vec<VerdictRow>,
    /// Steps that were refused although no sub-goal asks for it.
    pub(super) refused: Vec<(Pos, String)>,
}

impl Played {
    pub(super) fn verdict(&self, sub_goal: &str) -> Option<&str> {
        self.verdicts.iter().find(|row| row.sub_goal == sub_goal).map(|row| row.verdict.as_str())
    }

    /// Whether a gated goal of the scenario's own failed.
    pub(super) fn fails(&self, scenario: &Scenario, open: &[String]) -> bool {
        let own = |row: &&VerdictRow| scenario.sub_goals.iter().any(|goal| goal.id == row.sub_goal);
        let mut own = self.verdicts.iter().filter(own);
        own.any(|row| row.gate != Gate::Report && row.verdict == "failed" && !open.contains(&row.sub_goal))
    }
}

impl Stand<'_> {
    /// Sub-goals that hang on a script or a judge.
    pub(super) fn asked_of_others(&self) -> Vec<String> {
        let goals = self.scenario.sub_goals.iter().filter(|goal| asks(&goal.check));
        goals.map(|goal| goal.id.clone()).collect()
    }

    /// An app that answers every turn with nothing and calls nothing.
    pub(super) fn idle(&self) -> Result<Played, Trouble> {
        let replies: Vec<_> = self.scenario.turns.iter().map(|_| "").collect();
        self.play(&[], &replies)
    }

    /// `replies` are given to the turns in order once the steps are done.
    pub(super) fn play(&self, steps: &[Step], replies: &[&str]) -> Result<Played, Trouble> {
        let world = self.world()?;
        let mut play = Play {
            stand: self,
            world,
            evidence: EvidenceBuilder::new(),
            usage: BTreeMap::new(),
            turns: self.scenario.turns.iter().map(|turn| fill(&turn.user, self.case)).collect(),
            refused: Vec::new(),
            spans: 0,
        };
        for worker in &self.contract.workers {
            play.evidence = play.evidence.proven(worker.id.as_str());
        }
        play.turn();
        for step in steps {
            play.step(step)?;
        }
        for reply in replies {
            play.reply(reply);
        }
        let refused = std::mem::take(&mut play.refused);
        let evidence = play.finish()?;
        let verdicts = grade(self.contract, self.scenario, self.case, &evidence).verdicts;
        Ok(Played { verdicts, refused })
    }

    fn world(&self) -> Result<World, Trouble> {
        self.frozen.open(&self.scenario.seed, self.case, 0).map_err(|error| Trouble {
            pos: match &error {
                WorldError::Seed { pos, .. } => *pos,
                WorldError::Failed(_) => Pos::default(),
            },
            code: "not_ready",
            what: error.to_string(),
        })
    }

    /// A worker's name in spans.
    fn agent(&self, id: &str) -> String {
        let worker = self.contract.workers.iter().find(|worker| worker.id.as_str() == id);
        worker.and_then(|worker| worker.agents.first()).map_or_else(|| id.to_owned(), Clone::clone)
    }
}

fn asks(check: &Check) -> bool {
    match &check.kind {
        CheckKind::Script { .. } | CheckKind::Judge(_) => true,
        CheckKind::All(checks) | CheckKind::Any(checks) => checks.iter().any(asks),
        CheckKind::Not(check) => asks(check),
        _ => false,
    }
}

/// Whether some check asks for a refusal of this tool with this code.
fn asks_for_refusal(check: &Check, asked: &str, with: &str) -> bool {
    match &check.kind {
        CheckKind::Refused { tool, code, .. } => {
            tool.as_ref().is_none_or(|tool| tool.as_str() == asked)
                && code.as_deref().is_none_or(|code| code == with)
        }
        CheckKind::All(checks) | CheckKind::Any(checks) => {
            checks.iter().any(|check| asks_for_refusal(check, asked, with))
        }
        CheckKind::Not(check) => asks_for_refusal(check, asked, with),
        _ => false,
    }
}

/// The steps with one argument of a call made another; none where the step has none.
pub(super) fn with_wrong_argument(steps: &[Step], at: usize) -> Option<Vec<Step>> {
    let mut steps = steps.to_vec();
    let StepKind::Call { args: Value::Object(args), .. } = &mut steps[at].kind else {
        return None;
    };
    let last = args.values_mut().next_back()?;
    *last = match last.take() {
        Value::String(text) => Value::String(text + "x"),
        Value::Number(number) => Value::from(number.as_i64().unwrap_or_default() + 1),
        Value::Bool(truth) => Value::Bool(!truth),
        _ => Value::Null,
    };
    Some(steps)
}

struct Play<'a> {
    stand: &'a Stand<'a>,
    world: World,
    evidence: EvidenceBuilder,
    usage: BTreeMap<String, u64>,
    /// Not yet said.
    turns: std::collections::VecDeque<String>,
    refused: Vec<(Pos, String)>,
    spans: u64,
}

impl Play<'_> {
    fn with(&mut self, change: impl FnOnce(EvidenceBuilder) -> EvidenceBuilder) {
        self.evidence = change(std::mem::take(&mut self.evidence));
    }

    fn turn(&mut self) {
        if let Some(text) = self.turns.pop_front() {
            self.with(|evidence| evidence.turn(&text));
        }
    }

    fn reply(&mut self, text: &str) {
        let text = fill(text, self.stand.case);
        self.with(|evidence| evidence.reply(&text));
        self.turn();
    }

    fn step(&mut self, step: &Step) -> Result<(), Trouble> {
        match &step.kind {
            StepKind::Delegate { from, to } => self.hand_off("delegated", from.as_str(), to),
            StepKind::Transfer { from, to } => self.hand_off("transferred", from.as_str(), to),
            StepKind::Reply(text) => self.reply(text),
            StepKind::Call { worker, tool, args } => {
                let args = fill_value(args, self.stand.case);
                let contract = self.stand.contract;
                let (Some(known), Some(spec)) = (contract.worker(worker), contract.tool(tool)) else {
                    return Err(
                        self.forbidden(step, format!("`{worker}` or `{tool}` is not in the contract"))
                    );
                };
                let permit = self.permit(step, known, spec.effect, tool)?;
                self.spans += 1;
                let (agent, span) = (self.stand.agent(worker.as_str()), format!("{:016x}", self.spans));
                self.with(|evidence| evidence.tool_span(Some(&agent), tool.as_str(), &span));
                match permit {
                    Ok(permit) => self.call(worker.as_str(), tool.as_str(), permit, args),
                    Err(refusal) => self.refuse(step, worker.as_str(), tool.as_str(), &refusal, args),
                }
            }
        }
        Ok(())
    }

    fn forbidden(&self, step: &Step, what: String) -> Trouble {
        Trouble { pos: step.pos, code: "forbidden", what }
    }

    fn permit(
        &self,
        step: &Step,
        worker: &Worker,
        effect: crate::scenario::Effect,
        tool: &crate::name::ToolName,
    ) -> Result<Result<Permit, Refusal>, Trouble> {
        let rules =
            rules(worker, Some(self.stand.scenario)).map_err(|bad| self.forbidden(step, bad.to_string()))?;
        let calls = self.usage.get(worker.id.as_str()).copied().unwrap_or_default();
        let usage = Usage { calls, budget_start: Some(Moment(0)) };
        Ok(decide(&rules, usage, Ask { tool, effect, at: Moment(0) }))
    }

    fn hand_off(&mut self, kind: &str, from: &str, to: &str) {
        let (from, to) = (self.stand.agent(from), self.stand.agent(to));
        self.with(|evidence| evidence.hand_off(kind, Some(&from), Some(&to)));
    }

    fn call(&mut self, worker: &str, tool: &str, permit: Permit, args: Value) {
        *self.usage.entry(worker.to_owned()).or_default() += 1;
        let answer = self.world.call(permit, &args);
        let (kind, code) = match answer.kind {
            AnswerKind::Done => (OutcomeKind::Done, None),
            AnswerKind::Refused { code } => (OutcomeKind::WorldRefused, Some(code)),
            AnswerKind::Crashed { code, .. } => (OutcomeKind::Crashed, Some(code.to_owned())),
        };
        self.with(|evidence| {
            evidence.call(Some(worker), tool, args, kind).last(|action| {
                if let Some(outcome) = &mut action.outcome {
                    outcome.code = code;
                    outcome.status = Some(answer.status);
                    outcome.result = answer.body.unwrap_or_default();
                }
            })
        });
    }

    fn refuse(&mut self, step: &Step, worker: &str, tool: &str, refusal: &Refusal, args: Value) {
        let code = refusal.code.code();
        let wanted = self.stand.scenario.sub_goals.iter();
        if !wanted.into_iter().any(|goal| asks_for_refusal(&goal.check, tool, code)) {
            let what =
                format!("the solution may not do this: {}; no sub-goal asks for a refusal", refusal.reason);
            self.refused.push((step.pos, what));
        }
        self.with(|evidence| {
            evidence.refused(worker, tool, code).last(|action| {
                action.attempt.arguments = args;
                action.attempt.decision = Decision::Refused;
            })
        });
    }

    /// The evidence, in a time so short that no `within` hangs on it.
    fn finish(mut self) -> Result<Evidence, Trouble> {
        while !self.turns.is_empty() {
            self.turn();
        }
        let mut evidence = self.evidence.build();
        let failed =
            |error: WorldError| Trouble { pos: Pos::default(), code: "not_ready", what: error.to_string() };
        evidence.tables = self.world.tables().map_err(failed)?;
        evidence.changes = self.world.changes().map_err(failed)?;
        for turn in &mut evidence.turns {
            turn.at /= 1000;
        }
        for action in &mut evidence.actions {
            action.at /= 1000;
            action.ended_at = action.ended_at.map(|at| at / 1000);
        }
        Ok(evidence)
    }
}
