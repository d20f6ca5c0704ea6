//! `mocktrial check`: scenarios proved without the app.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::print::say;
use super::{Told, suite};
use crate::clock::{Clock, Moment};
use crate::name::{ToolName, WorkerId};
use crate::permit::{Ask, Usage, decide};
use crate::proof::{Notice, Proof, case_text, prove};
use crate::proxy::rules;
use crate::scenario::{Pos, Scenario, Suite};
use crate::verdict::Exit;

/// Load scenarios, diagnose them, and prove each ready, solvable and not vacuous, without the app
#[derive(clap::Args)]
pub struct Args {
    /// Scenario files, or folders that hold them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// One JSON document: what each sub-goal would notice, by line of the solution
    #[arg(long)]
    json: bool,
    /// Say whether a worker may use a tool, and which layer decides, in the contract and in each scenario
    #[arg(long, value_names = ["WORKER", "TOOL"], num_args = 2)]
    explain: Option<Vec<String>>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let opened = suite::open(&self.paths)?;
        if let Some(asked) = &self.explain {
            for (suite, _) in &opened {
                explain(suite, &asked[0], &asked[1])?;
            }
            return Ok(Exit::Passed);
        }
        let clock = Clock::start();
        let (mut scenarios, mut cases, mut proved) = (0, 0, 0);
        let mut told = Vec::new();
        for (suite, frozen) in &opened {
            for scenario in &suite.scenarios {
                scenarios += 1;
                for case in 0..scenario.cases.len() {
                    let began = clock.now();
                    let proof = prove(&suite.contract, frozen, scenario, case);
                    let took = clock.now().since(began);
                    cases += 1;
                    proved += usize::from(proof.holds());
                    match self.json {
                        true => told.push(to_json(scenario, &proof, took)),
                        false => print(scenario, &proof, took),
                    }
                }
            }
        }
        match self.json {
            true => say!("{:#}", json!({ "cases": told })),
            false => say!("{scenarios} scenarios, {cases} cases: {proved} proved"),
        }
        Ok(if proved == cases { Exit::Passed } else { Exit::Failed })
    }
}

fn lines(places: &[Pos]) -> String {
    let lines: Vec<_> = places.iter().map(|pos| pos.line.to_string()).collect();
    if lines.is_empty() { "-".to_owned() } else { lines.join(", ") }
}

fn print(scenario: &Scenario, proof: &Proof, took: Duration) {
    let file = scenario.source.path.display();
    let values = case_text(&scenario.cases[proof.case]);
    let values = if values.is_empty() { values } else { format!(" ({values})") };
    let proved = if proof.holds() { "proved" } else { "not proved" };
    say!("{proved}  {}{values}  {:.1} ms", scenario.name, millis(took));
    for fault in &proof.faults {
        say!("  {file}:{}:{}: {}: {}", fault.pos.line, fault.pos.column, fault.code, fault.what);
    }
    for open in &proof.open {
        say!("  {open}: hangs on a script or a judge, which is not asked here");
    }
    table(proof);
    for step in &proof.unnoticed {
        say!("  {file}:{}:{}: no sub-goal would miss this step", step.line, step.column);
    }
}

/// Which lines of the solution each sub-goal would notice the spoiling of.
fn table(proof: &Proof) {
    let row = |notice: &Notice| {
        let (absence, twice) = (lines(&notice.absence), lines(&notice.repetition));
        [notice.sub_goal.clone(), absence, twice, lines(&notice.argument)]
    };
    let settled = proof.notices.iter().filter(|notice| !proof.open.contains(&notice.sub_goal));
    let rows: Vec<_> = settled.map(row).collect();
    if rows.is_empty() {
        return;
    }
    let head = ["would notice, by line", "left out", "twice", "wrong argument"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&head]).map(|row| row[column].len()).max().unwrap_or(0);
    let [goal, absence, twice] = [0, 1, 2].map(width);
    for row in [&head].into_iter().chain(&rows) {
        say!("  {:goal$}  {:absence$}  {:twice$}  {}", row[0], row[1], row[2], row[3]);
    }
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

fn to_json(scenario: &Scenario, proof: &Proof, took: Duration) -> serde_json::Value {
    let lines = |places: &[Pos]| places.iter().map(|pos| pos.line).collect::<Vec<_>>();
    let faults = proof.faults.iter().map(|fault| {
        json!({ "line": fault.pos.line, "column": fault.pos.column, "code": fault.code, "what": fault.what })
    });
    let notices = proof.notices.iter().map(|notice| {
        json!({
            "sub_goal": notice.sub_goal,
            "absence": lines(&notice.absence),
            "repetition": lines(&notice.repetition),
            "argument": lines(&notice.argument),
        })
    });
    json!({
        "scenario": scenario.name,
        "file": scenario.source.path,
        "case": proof.case,
        "proved": proof.holds(),
        "took_ms": millis(took),
        "faults": faults.collect::<Vec<_>>(),
        "open": proof.open,
        "notices": notices.collect::<Vec<_>>(),
        "unnoticed": lines(&proof.unnoticed),
    })
}

fn explain(suite: &Suite, worker: &str, tool: &str) -> Result<(), Told> {
    let contract = &suite.contract;
    let id = WorkerId::new(worker).map_err(|error| Told::usage(format!("{worker}: {error}")))?;
    let known =
        contract.worker(&id).ok_or_else(|| Told::usage(format!("no worker `{worker}` in the contract")))?;
    let name = ToolName::new(tool);
    let spec =
        contract.tool(&name).ok_or_else(|| Told::usage(format!("no tool `{tool}` in the contract")))?;
    let scenarios = suite.scenarios.iter().map(|scenario| Some(&**scenario));
    for scenario in std::iter::once(None).chain(scenarios) {
        let rules = rules(known, scenario).map_err(Told::usage)?;
        let ask = Ask { tool: &name, effect: spec.effect, at: Moment(0) };
        let whose = scenario.map_or("contract", |scenario| scenario.name.as_str());
        match decide(&rules, Usage::default(), ask) {
            Ok(_) => say!("{whose}: {worker} may use {tool}"),
            Err(refusal) => say!("{whose}: {}: {}", refusal.code.code(), refusal.reason),
        }
    }
    Ok(())
}
