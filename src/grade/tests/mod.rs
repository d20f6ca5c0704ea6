//! A desk with one worker of each lane, and one question asked of one made-up trial at a time.

mod absence;
mod asking;
mod claims;
mod goals;
mod lanes;
mod laws;
mod log;
mod repeats;
mod rows;
mod table;
mod worlds;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Evidence, EvidenceBuilder, Grades, grade};
use crate::name::{ToolName, WorkerId};
use crate::scenario::{
    AllowList, App, Behaviour, BudgetFrom, CallPattern, Case, Check, CheckKind, Contract, Effect, Flush,
    LaneSpec, Limits, ModelSpec, OutcomeAsked, PassRule, Pos, Repeat, Scenario, Source, Stop, SubGoal,
    Subject, Talk, Times, Tool, Turn, Worker, WorldSpec,
};
use crate::verdict::Gate;

/// The line that every question of these tests stands at.
const LINE: u32 = 7;

fn evidence() -> EvidenceBuilder {
    EvidenceBuilder::new()
}

fn id(text: &str) -> WorkerId {
    WorkerId::new(text).expect("a worker id")
}

fn source() -> Source {
    Source { path: PathBuf::new(), text: "".into() }
}

fn worker(name: &str, agent: &str, allowed: &[&str], lane: LaneSpec) -> Worker {
    Worker {
        pos: Pos::default(),
        id: id(name),
        agents: vec![agent.to_owned()],
        role: None,
        allowed: AllowList::Only(allowed.iter().map(|tool| (*tool).to_owned()).collect()),
        denied: BTreeSet::new(),
        deny_write: false,
        deny_net: false,
        max_calls: None,
        budget: None,
        lane,
        delegates_to: None,
        may_grant: None,
        containment: Default::default(),
    }
}

fn tool(name: &str, effect: Effect) -> Tool {
    Tool {
        pos: Pos::default(),
        name: ToolName::new(name),
        description: None,
        route: None,
        effect,
        args: None,
        behaviour: Behaviour::Upstream { name: "desk".to_owned(), tool: None },
    }
}

/// `lookup` and `refund` have channels of their own, `clerk` and `intern` share one and are told apart by spans,
/// `boss` has none.
fn contract() -> Contract {
    let own = || LaneSpec::Separate { address_env: "URL".to_owned() };
    Contract {
        files: Vec::new(),
        source: source(),
        folder: PathBuf::new(),
        app: App {
            name: "desk".to_owned(),
            cwd: PathBuf::new(),
            setup: Vec::new(),
            start: Vec::new(),
            env: BTreeMap::new(),
            env_pass: BTreeSet::new(),
            secrets: BTreeSet::new(),
            ready: None,
            talk: Talk::Stdio,
            flush: Flush::Batch,
            per: Default::default(),
            stop: Stop::Run(Vec::new()),
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            advertise: None,
        },
        shared_address_env: None,
        workers: vec![
            worker("boss", "Boss", &[], LaneSpec::None),
            worker("lookup", "Lookup", &["get_order"], own()),
            worker("refund", "Refund", &["get_order", "issue_refund"], own()),
            worker("clerk", "Clerk", &["get_order"], LaneSpec::Spans),
            worker("intern", "Intern", &["issue_refund"], LaneSpec::Spans),
        ],
        world: WorldSpec {
            tools: vec![tool("get_order", Effect::Read), tool("issue_refund", Effect::Write)],
            ..WorldSpec::default()
        },
        peers: BTreeMap::new(),
        model: ModelSpec::default(),
        limits: Limits::default(),
    }
}

fn scenario(sub_goals: Vec<SubGoal>) -> Scenario {
    Scenario {
        source: source(),
        name: "refund_once".to_owned(),
        tests: String::new(),
        cases: vec![Case::new()],
        has_cases: false,
        env: BTreeMap::new(),
        turns: vec![turn(true)],
        seed: Vec::new(),
        budget: None,
        budget_from: BudgetFrom::FirstTurn,
        narrow: BTreeMap::new(),
        faults: Vec::new(),
        solution: Vec::new(),
        sub_goals,
        repeat: Repeat { trials: 1, pass: PassRule::All },
    }
}

fn turn(expects_reply: bool) -> Turn {
    Turn { pos: Pos::default(), user: "Hello.".to_owned(), expects_reply }
}

fn check(kind: CheckKind) -> Check {
    let pos = Pos { line: LINE, column: 3 };
    Check { pos, kind }
}

fn not(kind: CheckKind) -> CheckKind {
    CheckKind::Not(Box::new(check(kind)))
}

fn goal(subject: Option<&str>, gate: Gate, kind: CheckKind) -> SubGoal {
    SubGoal {
        id: "asked".to_owned(),
        pos: Pos { line: LINE, column: 3 },
        subject: subject.map_or(Subject::Task, |worker| Subject::Worker(id(worker))),
        gate,
        check: check(kind),
    }
}

fn pattern(worker: Option<&str>, tool: &str, args: Option<Value>) -> CallPattern {
    CallPattern { worker: worker.map(id), tool: Some(ToolName::new(tool)), args, outcome: OutcomeAsked::Done }
}

fn times(min: u64, max: Option<u64>) -> Times {
    Times { min, max }
}

fn calls(worker: Option<&str>, tool: &str, asked: Times) -> CheckKind {
    CheckKind::Calls(pattern(worker, tool, None), asked)
}

fn never(worker: Option<&str>, tool: &str) -> CheckKind {
    CheckKind::Never(pattern(worker, tool, None))
}

fn refused(code: &str) -> CheckKind {
    CheckKind::Refused { worker: None, tool: None, code: Some(code.to_owned()), times: Times::default() }
}

fn order(worker: Option<&str>, tools: &[&str]) -> CheckKind {
    CheckKind::Order { worker: worker.map(id), tools: tools.iter().map(|tool| ToolName::new(tool)).collect() }
}

/// The verdict on one question, as a record writes it.
fn said(subject: Option<&str>, kind: CheckKind, evidence: Evidence) -> String {
    let grades = graded(subject, kind, evidence);
    let row = grades.verdicts.iter().find(|row| row.sub_goal == "asked").expect("the goal has a row");
    match &row.reason {
        Some(reason) => format!("{}: {reason}", row.verdict),
        None => row.verdict.clone(),
    }
}

fn graded(subject: Option<&str>, kind: CheckKind, evidence: Evidence) -> Grades {
    let scenario = scenario(vec![goal(subject, Gate::Required, kind)]);
    let case = Case::from([("cents".to_owned(), json!(5990))]);
    grade(&contract(), &scenario, &case, &evidence)
}
