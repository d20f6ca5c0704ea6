//! Claims about the world as a whole, on a small returns desk.

mod authorizer;
mod calls;
mod closed;
mod load;
mod model;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{AnswerKind, Frozen, World, WorldAnswer, WorldFault};
use crate::clock::Moment;
use crate::name::{ToolName, WorkerId};
use crate::permit::{Ask, Permit, Rules, Usage, decide};
use crate::scenario::{
    Answer, App, Behaviour, BudgetFrom, Case, Check, CheckKind, Contract, Effect, Flush, Limits, ModelSpec,
    PassRule, Pos, RefusalWhen, Repeat, Returns, Scenario, Source, Sql, SqliteSpec, SqliteTool, Stop,
    SubGoal, Subject, Talk, Tool, WorldRefusal, WorldSpec,
};
use crate::verdict::Gate;

pub(super) const NOW: &str = "2026-03-01T12:30:00Z";

pub(super) const SCHEMA: &str = "
CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, total_cents INTEGER NOT NULL, tags JSON, gift BOOLEAN);
CREATE TABLE refunds (
  id INTEGER PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
  at TEXT DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE log (line TEXT);
CREATE TRIGGER refunded AFTER INSERT ON refunds BEGIN
  UPDATE orders SET status = 'refunded' WHERE id = new.order_id;
  INSERT INTO log VALUES ('refund of ' || new.order_id);
END;
INSERT INTO orders VALUES ('1042', 'delivered', 5990, '[\"fragile\"]', 0), ('1043', 'shipped', 100, NULL, 1);
";

pub(super) fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

/// A statement at a line of its own.
pub(super) fn sql(line: u32, text: &str) -> Sql {
    Sql { text: text.into(), pos: Pos { line, column: 3 } }
}

pub(super) fn tool(name: &str, effect: Effect, args: Value, behaviour: SqliteTool) -> Tool {
    Tool {
        pos: Pos { line: 1, column: 1 },
        name: ToolName::new(name),
        description: None,
        route: None,
        effect,
        args: Some(Arc::new(args)),
        behaviour: Behaviour::Sqlite(behaviour),
    }
}

/// A tool without refusals that takes anything.
pub(super) fn plain(name: &str, run: &[&str], answer: Answer) -> Tool {
    let run = run.iter().zip(20..).map(|(text, line)| sql(line, text)).collect();
    let returns = Returns { status: 200, headers: BTreeMap::new(), answer };
    let behaviour = SqliteTool { refuse: Vec::new(), run, returns };
    Tool { args: None, ..tool(name, Effect::Write, json!({}), behaviour) }
}

pub(super) fn contract(schema: &str, tools: Vec<Tool>) -> Contract {
    Contract {
        source: source("contract.yaml", ""),
        folder: "/".into(),
        app: App {
            name: "desk".into(),
            cwd: "/".into(),
            setup: Vec::new(),
            start: Vec::new(),
            env: BTreeMap::new(),
            env_pass: Default::default(),
            secrets: Default::default(),
            ready: None,
            talk: Talk::Stdio,
            flush: Flush::None,
            per: Default::default(),
            stop: Stop::Run(Vec::new()),
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            advertise: None,
        },
        shared_address_env: None,
        workers: Vec::new(),
        world: WorldSpec {
            now: Some(NOW.into()),
            sqlite: Some(SqliteSpec { schema: vec![source("world.sql", schema)], rows: Vec::new() }),
            tools,
            upstreams: BTreeMap::new(),
            listing: crate::scenario::Listing::All,
        },
        peers: BTreeMap::new(),
        model: ModelSpec::default(),
        limits: Limits::default(),
        files: Vec::new(),
    }
}

pub(super) fn desk_tools() -> Vec<Tool> {
    let get = SqliteTool {
        refuse: vec![WorldRefusal {
            condition: RefusalWhen::Unless,
            sql: sql(11, "SELECT 1 FROM orders WHERE id = :order_id"),
            code: "order_not_found".into(),
            status: 404,
            body: None,
        }],
        run: Vec::new(),
        returns: Returns {
            status: 200,
            headers: BTreeMap::from([("x-desk".to_owned(), "returns".to_owned())]),
            answer: Answer::Row(sql(
                12,
                "SELECT id, status, total_cents, tags, gift FROM orders WHERE id = :order_id",
            )),
        },
    };
    let issue = SqliteTool {
        refuse: vec![WorldRefusal {
            condition: RefusalWhen::When,
            sql: sql(13, "SELECT 1 FROM refunds WHERE order_id = :order_id"),
            code: "already_refunded".into(),
            status: 409,
            body: Some(Answer::Row(sql(14, "SELECT id, order_id FROM refunds WHERE order_id = :order_id"))),
        }],
        run: vec![sql(15, "INSERT INTO refunds (order_id, amount_cents) VALUES (:order_id, :amount_cents)")],
        returns: Returns {
            status: 201,
            headers: BTreeMap::new(),
            answer: Answer::Row(sql(16, "SELECT * FROM refunds WHERE order_id = :order_id")),
        },
    };
    let order_id = json!({ "type": "string" });
    vec![
        tool(
            "get_order",
            Effect::Read,
            json!({ "type": "object", "properties": { "order_id": order_id }, "required": ["order_id"] }),
            get,
        ),
        tool(
            "issue_refund",
            Effect::Write,
            json!({
                "type": "object",
                "properties": { "order_id": order_id, "amount_cents": { "type": "integer" } },
                "required": ["order_id", "amount_cents"],
            }),
            issue,
        ),
    ]
}

pub(super) fn frozen(schema: &str, tools: Vec<Tool>) -> Frozen {
    Frozen::build(&contract(schema, tools)).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

pub(super) fn desk() -> Frozen {
    frozen(SCHEMA, desk_tools())
}

pub(super) fn fresh(frozen: &Frozen) -> World {
    frozen.open(&[], &Case::new(), 7).expect("a world")
}

pub(super) fn permit(tool: &str) -> Permit {
    let rules = Rules::new(&WorkerId::new("worker").expect("an id"), []).expect("no globs");
    let tool = ToolName::new(tool);
    let ask = Ask { tool: &tool, effect: Effect::Write, at: Moment(0) };
    decide(&rules, Usage::default(), ask).expect("unlimited")
}

pub(super) fn call(world: &World, tool: &str, args: Value) -> WorldAnswer {
    world.call(permit(tool), &args)
}

/// The message of a crash; panics where there was none.
pub(super) fn crash(answer: &WorldAnswer) -> &str {
    match &answer.kind {
        AnswerKind::Crashed { code: "world_crashed", message } => message,
        other => panic!("{other:?}"),
    }
}

pub(super) fn faults(schema: &str, tools: Vec<Tool>) -> Vec<WorldFault> {
    match Frozen::build(&contract(schema, tools)) {
        Ok(_) => Vec::new(),
        Err(faults) => faults,
    }
}

/// A scenario with this seed and these checks.
pub(super) fn scenario(seed: Vec<Sql>, checks: Vec<CheckKind>) -> Scenario {
    let goal = |(n, kind): (u32, CheckKind)| {
        let pos = Pos { line: 40 + n, column: 5 };
        SubGoal {
            id: format!("goal_{n}"),
            pos,
            subject: Subject::Task,
            gate: Gate::Required,
            check: Check { pos, kind },
        }
    };
    Scenario {
        source: source("a.scenario.yaml", ""),
        name: "a".into(),
        tests: "a".into(),
        cases: vec![Case::from([("order".to_owned(), json!("1042"))])],
        has_cases: true,
        env: BTreeMap::new(),
        turns: Vec::new(),
        seed,
        budget: None,
        budget_from: BudgetFrom::FirstTurn,
        narrow: BTreeMap::new(),
        faults: Vec::new(),
        solution: Vec::new(),
        sub_goals: (0..).zip(checks).map(goal).collect(),
        repeat: Repeat { trials: 1, pass: PassRule::All },
    }
}
