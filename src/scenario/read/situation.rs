//! The scenario as a whole: cases, turns, narrowing, repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::reader::Reader;
use super::sql::Known;
use super::workers::tool_list;
use super::{app, checks, faults, sql};
use crate::name::WorkerId;
use crate::scenario::file::scalar::Table;
use crate::scenario::file::scenario::{
    BudgetFromFile, NarrowingFile, PassFile, RepeatFile, ScenarioFile, TurnFile,
};
use crate::scenario::file::{At, Free};
use crate::scenario::fill::is_name;
use crate::scenario::names::{glob, is_pattern};
use crate::scenario::{
    AllowList, BudgetFrom, Case, Contract, Narrowing, PassRule, Pos, Repeat, Scenario, Turn, Worker,
};

/// What names can stand for in one scenario.
pub(super) struct Scope<'c> {
    pub contract: &'c Contract,
    /// Values that every case defines.
    pub values: BTreeSet<String>,
    pub turns: usize,
}

impl Scope<'_> {
    /// The worker; none, and a fault, where the contract has none of that id.
    pub fn worker(&self, reader: &mut Reader, written: &At<String>) -> Option<WorkerId> {
        let ids = self.contract.workers.iter().map(|worker| worker.id.as_str());
        if reader.known("worker.unknown", "worker", written, ids) {
            WorkerId::new(&written.value).ok()
        } else {
            None
        }
    }

    /// The id of a worker or peer.
    pub fn agent(&self, reader: &mut Reader, written: &At<String>) -> bool {
        let workers = self.contract.workers.iter().map(|worker| worker.id.as_str());
        let ids = workers.chain(self.contract.peers.keys().map(String::as_str));
        reader.known("worker.unknown", "worker or peer", written, ids)
    }

    pub fn tool(&self, reader: &mut Reader, written: &At<String>) -> crate::name::ToolName {
        // A tool of a server's need not be in the contract.
        if !self.contract.has_mcp_servers() {
            let tools = self.contract.world.tools.iter().map(|tool| tool.name.as_str());
            reader.known("tool.unknown", "tool", written, tools);
        }
        crate::name::ToolName::new(&written.value)
    }

    /// Placeholders in a text.
    pub fn text(&self, reader: &mut Reader, pos: Pos, text: &str) {
        let values: Vec<_> = self.values.iter().map(String::as_str).collect();
        reader.placeholders(pos, text, &values);
    }

    /// The value, its placeholders checked.
    pub fn free(&self, reader: &mut Reader, free: &At<Free>) -> serde_json::Value {
        free.value.scalars(free.pos, &mut |pos, value| {
            if let Some(text) = value.as_str() {
                self.text(reader, pos, text);
            }
        });
        free.value.value()
    }

    /// Arguments: an object, its placeholders checked.
    pub fn args(&self, reader: &mut Reader, free: &At<Free>) -> serde_json::Value {
        if !matches!(free.value, Free::Map(_)) {
            reader.error(free.pos, "args.shape", "arguments are a table of names and values");
        }
        self.free(reader, free)
    }

    pub fn parameters(&self) -> Known {
        Known::values(self.values.clone())
    }
}

/// The scenario; none where it has no name to go by.
pub(super) fn scenario(reader: &mut Reader, contract: &Contract, file: ScenarioFile) -> Option<Scenario> {
    name(reader, &file.scenario);
    let has_cases = file.cases.is_some();
    let cases = cases(reader, file.cases);
    let values = cases
        .iter()
        .map(|case| case.keys().cloned().collect::<BTreeSet<_>>())
        .reduce(|all, case| &all & &case)
        .unwrap_or_default();
    let scope = Scope { contract, values, turns: file.turns.value.len() };
    let budget = file.worker_budget_seconds.and_then(|seconds| reader.seconds(&seconds));
    let env = env(reader, &scope, file.env);
    let turns = turns(reader, &scope, file.turns);
    let known = scope.parameters();
    let seed = file.seed.unwrap_or_default();
    let seed: Vec<_> = seed.iter().map(|text| sql::sql(reader, &known, text)).collect();
    if let (Some(first), None) = (seed.first(), &contract.world.sqlite) {
        reader.error(first.pos, "seed.no_tables", "the contract's world has no tables to seed");
    }
    let narrow = narrow(reader, &scope, budget, file.workers.unwrap_or_default());
    let faults = file.faults.unwrap_or_default();
    let faults = faults.into_iter().filter_map(|fault| faults::fault(reader, &scope, fault)).collect();
    let solution = file.solution.unwrap_or_default();
    let solution = solution.into_iter().filter_map(|step| faults::step(reader, &scope, step)).collect();
    let sub_goals = checks::sub_goals(reader, &scope, file.sub_goals);
    Some(Scenario {
        source: reader.source.clone(),
        name: file.scenario.value,
        tests: file.tests.map(|text| text.value).unwrap_or_default(),
        cases,
        has_cases,
        env,
        turns,
        seed,
        budget,
        budget_from: match file.budget_from {
            None | Some(BudgetFromFile::FirstTurn) => BudgetFrom::FirstTurn,
            Some(BudgetFromFile::FirstCall) => BudgetFrom::FirstCall,
        },
        narrow,
        faults,
        solution,
        sub_goals,
        repeat: repeat(reader, file.repeat),
    })
}

/// A name that can be a folder anywhere.
fn name(reader: &mut Reader, name: &At<String>) {
    let text = &name.value;
    let good = text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !good {
        reader
            .error(name.pos, "scenario.name", format!("`{text}` is no name of a scenario"))
            .help("letters, digits, `_`, `-` and `.`, 100 at most: a folder is named after it".to_owned());
    }
}

fn cases(reader: &mut Reader, file: Option<At<Vec<At<Table<At<Free>>>>>>) -> Vec<Case> {
    let Some(At { value: file, pos }) = file else {
        return vec![Case::new()];
    };
    if file.is_empty() {
        reader
            .error(pos, "cases.empty", "an empty list of cases tries nothing")
            .help("leave `cases` out, or give one".to_owned());
        return vec![Case::new()];
    }
    let all: BTreeSet<String> =
        file.iter().flat_map(|case| case.value.0.iter().map(|(name, _)| name.value.clone())).collect();
    let mut cases = Vec::new();
    for At { value: case, pos } in file {
        for (name, _) in &case.0 {
            if !is_name(&name.value) || app::OF_TRIAL.contains(&name.value.as_str()) || name.value == "now" {
                reader
                    .error(name.pos, "case.name", format!("`{}` cannot name a value of a case", name.value))
                    .help("letters, digits and `_`; `port`, `trial` and `now` are taken".to_owned());
            }
        }
        let case: Case = case.0.into_iter().map(|(name, value)| (name.value, value.value.value())).collect();
        for name in all.iter().filter(|name| !case.contains_key(*name)) {
            reader
                .error(pos, "case.missing", format!("this case does not define `{name}`, others do"))
                .help("every case defines the same names".to_owned());
        }
        cases.push(case);
    }
    cases
}

fn env(reader: &mut Reader, scope: &Scope<'_>, table: Option<Table<At<String>>>) -> BTreeMap<String, String> {
    let allowed: Vec<_> =
        app::OF_TRIAL.iter().copied().chain(scope.values.iter().map(String::as_str)).collect();
    let entries = app::env(reader, table, &allowed);
    let ours = app::variables_we_set(scope.contract);
    for (name, _) in &entries {
        if ours.contains(name.value.as_str()) {
            let what = format!("mocktrial sets `{}` itself", name.value);
            reader.error(name.pos, "env.taken", what).help("leave it out here".to_owned());
        }
    }
    entries.into_iter().map(|(name, value)| (name.value, value)).collect()
}

fn turns(reader: &mut Reader, scope: &Scope<'_>, file: At<Vec<At<TurnFile>>>) -> Vec<Turn> {
    if file.value.is_empty() {
        reader
            .error(file.pos, "turns.empty", "a scenario has at least one turn")
            .help("write what the user says: [{ user: … }]".to_owned());
    }
    file.value
        .into_iter()
        .map(|At { value: turn, pos }| {
            reader.filled("what the user says", &turn.user);
            scope.text(reader, turn.user.pos, &turn.user.value);
            Turn { pos, user: turn.user.value, expects_reply: turn.expects_reply.unwrap_or(true) }
        })
        .collect()
}

fn narrow(
    reader: &mut Reader,
    scope: &Scope<'_>,
    common: Option<Duration>,
    table: Table<At<NarrowingFile>>,
) -> BTreeMap<WorkerId, Narrowing> {
    let mut narrow = BTreeMap::new();
    for (name, file) in table.0 {
        let Some(id) = scope.worker(reader, &name) else {
            continue;
        };
        if let Some(worker) = scope.contract.worker(&id) {
            let layer = narrowing(reader, scope, common, worker, file.value);
            narrow.insert(id, layer);
        }
    }
    narrow
}

fn narrowing(
    reader: &mut Reader,
    scope: &Scope<'_>,
    common: Option<Duration>,
    worker: &Worker,
    file: NarrowingFile,
) -> Narrowing {
    let tools = || scope.contract.world.tools.iter().map(|tool| tool.name.as_str());
    let open = scope.contract.has_mcp_servers();
    let only_tools = file.only_tools.as_deref().map(|list| {
        let only = tool_list(reader, tools, open, list);
        widened_tools(reader, scope, worker, list);
        only
    });
    let deny_tools = tool_list(reader, tools, open, file.deny_tools.as_deref().unwrap_or(&[]));
    if let Some(calls) = &file.max_calls {
        if let Some(most) = worker.max_calls.filter(|most| calls.value > *most) {
            let what = format!("{} calls widen: the contract lets `{}` make {most}", calls.value, worker.id);
            widens(reader, calls.pos, what);
        }
        if calls.value == 0 {
            reader
                .error(calls.pos, "value.zero", "`max_calls: 0` lets nothing through")
                .help("write `only_tools: []`".to_owned());
        }
    }
    let budget = file.budget_seconds.as_ref().and_then(|seconds| {
        let budget = reader.seconds(seconds)?;
        let limits = [
            (worker.budget, format!("the contract gives `{}`", worker.id)),
            (common, "`worker_budget_seconds` gives every worker".to_owned()),
        ];
        for (limit, whose) in limits {
            if let Some(limit) = limit.filter(|limit| budget > *limit) {
                let (length, most) = (budget.as_secs_f64(), limit.as_secs_f64());
                let what = format!("{length} seconds widen: {whose} {most}");
                widens(reader, seconds.pos, what);
            }
        }
        Some(budget)
    });
    Narrowing {
        only_tools,
        deny_tools,
        deny_write: file.deny_write.unwrap_or(false),
        deny_net: file.deny_net.unwrap_or(false),
        max_calls: file.max_calls.as_ref().map(|calls| calls.value),
        budget,
    }
}

fn widens(reader: &mut Reader, pos: Pos, what: String) {
    reader.error(pos, "narrow.widens", what).help("a scenario may only take away".to_owned());
}

/// A plain name the contract does not let the worker use widens; a pattern that leaves nothing is only odd.
fn widened_tools(reader: &mut Reader, scope: &Scope<'_>, worker: &Worker, list: &[At<String>]) {
    let has = |tool: &str| may_use(worker, tool);
    let tools = &scope.contract.world.tools;
    for written in list {
        let text = written.value.as_str();
        if is_pattern(text) {
            let Ok(glob) = glob(text) else { continue };
            let mut fits =
                tools.iter().map(|tool| tool.name.as_str()).filter(|tool| glob.is_match(tool)).peekable();
            if fits.peek().is_some() && !fits.any(has) {
                let what =
                    format!("`{text}` leaves `{}` no tool: the contract allows none of those", worker.id);
                reader.warn(written.pos, "narrow.empty", what);
            }
        } else if tools.iter().any(|tool| tool.name.as_str() == text) && !has(text) {
            widens(
                reader,
                written.pos,
                format!("`{text}` widens: the contract does not let `{}` use it", worker.id),
            );
        }
    }
}

/// Names alone; whether it writes or reaches out is another layer's matter.
fn may_use(worker: &Worker, tool: &str) -> bool {
    let among = |names: &BTreeSet<String>| {
        names.iter().any(|name| name == tool || glob(name).is_ok_and(|glob| glob.is_match(tool)))
    };
    let allowed = match &worker.allowed {
        AllowList::Everything => true,
        AllowList::Only(names) => among(names),
    };
    allowed && !among(&worker.denied)
}

fn repeat(reader: &mut Reader, file: Option<At<RepeatFile>>) -> Repeat {
    let once = Repeat { trials: 1, pass: PassRule::All };
    let Some(At { value: file, .. }) = file else {
        return once;
    };
    let trials = file.trials.map_or(1, |trials| {
        if !(1..=1000).contains(&trials.value) {
            reader.error(trials.pos, "repeat.trials", "1 to 1000 trials per case");
        }
        trials.value
    });
    let pass = match file.pass {
        None => PassRule::All,
        Some(At { value: PassFile::All, .. }) => PassRule::All,
        Some(At { value: PassFile::AtLeast(least), pos }) => {
            if least == 0 {
                reader.error(pos, "check.cannot_fail", "`at_least: 0` passes whatever happens");
            } else if least > trials {
                let what = format!("{least} of {trials} trials can never pass");
                reader.error(pos, "repeat.pass", what);
            }
            PassRule::AtLeast(least)
        }
    };
    Repeat { trials, pass }
}
