//! An app started once, with channels that let everything through to its real services, and what it did there as tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::draft::{Draft, Tool, scenario};
use super::{Args, Told};
use crate::cli::print::say;
use crate::cli::runtime;
use crate::clock::Clock;
use crate::name::TrialId;
use crate::record;
use crate::scenario::openapi::name_of;
use crate::scenario::{CONTRACT_FILE, Contract, Source, contract_from};
use crate::target::{Filters, Launch, Said};
use crate::trial::Bare;
use crate::world::Frozen;

/// A service of the app's.
struct Service {
    id: String,
    variable: String,
    url: String,
}

/// Watches the app, and writes contract and scenario.
pub fn watch(args: &Args) -> Result<(), Told> {
    let services = args.services.iter().map(|text| service(text)).collect::<Result<Vec<_>, _>>()?;
    let turns = if args.says.is_empty() { vec!["Hello.".to_owned()] } else { args.says.clone() };
    let cwd = std::env::current_dir().map_err(Told::trouble)?;
    let name = args.command.first().and_then(|program| Path::new(program).file_name());
    let workers = services.iter().map(|service| (service.id.clone(), service.variable.clone()));
    let mut draft = Draft {
        name: name.map_or_else(|| "app".to_owned(), |name| name.to_string_lossy().into_owned()),
        start: args.command.clone(),
        talk: args.talk(),
        cwd: (args.dir.canonicalize().ok() != Some(cwd.clone())).then(|| cwd.to_string_lossy().into_owned()),
        passed: args.passed.clone(),
        workers: workers.collect(),
        upstreams: services.iter().map(|service| (service.id.clone(), service.url.clone())).collect(),
        tools: Vec::new(),
    };
    if draft.workers.is_empty() {
        draft.workers.push(("worker".to_owned(), "TOOLS_URL".to_owned()));
    }
    let app = contract(&args.dir.join(CONTRACT_FILE), &draft.contract())?;
    let calls = runtime()?.block_on(watched(&app, &services, &turns))?;
    let mut done = Vec::new();
    for (service, calls) in services.iter().zip(calls) {
        for (tool, is_done) in tools(&service.id, &calls) {
            let mut tool = tool;
            if draft.tools.iter().any(|other| other.name == tool.name) {
                tool.name = format!("{}_{}", service.id, tool.name);
            }
            if is_done {
                done.push(tool.name.clone());
            }
            draft.tools.push(tool);
        }
    }
    args.write(CONTRACT_FILE, &draft.contract())?;
    args.write("first.scenario.yaml", &scenario(&turns, &done))
}

/// `VARIABLE` or `VARIABLE=URL`.
fn service(text: &str) -> Result<Service, Told> {
    let (variable, url) = match text.split_once('=') {
        Some((variable, url)) => (variable, url.to_owned()),
        None => {
            let now = std::env::var(text).map_err(|_| {
                Told::usage(format!("--service {text}: the variable is not set; write {text}=URL"))
            })?;
            (text, now)
        }
    };
    let id = variable.to_ascii_lowercase();
    let id = ["_base_url", "_url", "_address", "_endpoint"].iter().find_map(|end| id.strip_suffix(end));
    let id = id.map_or_else(|| variable.to_ascii_lowercase(), str::to_owned);
    Ok(Service { id, variable: variable.to_owned(), url: url.trim_end_matches('/').to_owned() })
}

fn contract(path: &Path, text: &str) -> Result<Contract, Told> {
    let nothing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let source = Source { path: path.to_owned(), text: text.into() };
    contract_from(source, &nothing).map_err(|faults| {
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Told::usage(told.join("\n"))
    })
}

/// Starts the app, says the turns, and stops it. What it asked of each service.
async fn watched(app: &Contract, services: &[Service], turns: &[String]) -> Result<Vec<Vec<Call>>, Told> {
    let folder = tempfile::tempdir().map_err(Told::trouble)?;
    let mut open = Vec::new();
    let mut env = Vec::new();
    for service in services {
        let draft = Draft {
            name: service.id.clone(),
            start: vec!["true".to_owned()],
            talk: "stdio".to_owned(),
            workers: vec![(service.id.clone(), service.variable.clone())],
            upstreams: vec![(service.id.clone(), service.url.clone())],
            ..Draft::default()
        };
        let alone = contract(&folder.path().join(CONTRACT_FILE), &draft.contract())?;
        let frozen = Frozen::build(&alone).map_err(|_| Told::trouble("an empty world could not be built"))?;
        let record = folder.path().join(format!("{}.jsonl", service.id));
        let bare = Bare::open(&alone, &frozen, Some(&record), None).await.map_err(Told::trouble)?;
        env.extend(bare.channels.env().iter().cloned());
        open.push((bare, record));
    }
    let clock = Clock::start();
    let as_it_is: Filters = Arc::new(|| Box::new(|bytes: &[u8]| bytes.to_vec()));
    let launch = Launch {
        app: &app.app,
        limits: &app.limits,
        trial: &TrialId::new("watched", 0, 1, false),
        scenario_env: &BTreeMap::new(),
        harness_env: &env,
        clock,
        filter: &as_it_is,
    };
    let mut running = launch.start().await.map_err(Told::trouble)?;
    let until = clock.now().plus(app.limits.trial);
    let mut history = Vec::new();
    let mut trouble = None;
    for (turn, n) in turns.iter().zip(1..) {
        match running.turn(n, turn, &history, until).await {
            Ok(reply) => {
                say!("user: {turn}\napp:  {}", reply.text);
                history.extend([Said::User(turn.clone()), Said::App(reply.text)]);
            }
            Err(why) => {
                trouble = Some(format!("turn {n}: {why}"));
                break;
            }
        }
    }
    let stopped = running.stop().await;
    let mut calls = Vec::new();
    for (bare, record) in open {
        bare.close().await.map_err(Told::trouble)?;
        calls.push(read(&record)?);
    }
    if let Some(trouble) = trouble {
        let said: String = stopped.output.iter().map(|one| format!("\n{}", one.text.trim_end())).collect();
        return Err(Told::usage(format!("{trouble}{said}")));
    }
    Ok(calls)
}

/// One call of a service.
#[derive(Clone, Debug)]
struct Call {
    method: String,
    path: String,
    arguments: Value,
    done: bool,
}

fn read(path: &Path) -> Result<Vec<Call>, Told> {
    let mut calls: BTreeMap<u64, Call> = BTreeMap::new();
    for row in record::read(path).map_err(Told::trouble)? {
        let row = row.map_err(Told::trouble)?;
        match row.kind.as_str() {
            "attempt" => {
                let request = row.body["request"].as_str().unwrap_or_default();
                let Some((method, target)) = request.split_once(' ') else { continue };
                let path = target.split('?').next().unwrap_or(target).to_owned();
                let arguments = row.body["arguments"].clone();
                calls.insert(row.seq, Call { method: method.to_owned(), path, arguments, done: false });
            }
            "outcome" => {
                let attempt = row.body["attempt"].as_u64();
                if let Some(call) = attempt.and_then(|attempt| calls.get_mut(&attempt)) {
                    call.done = row.body["kind"] == "done";
                }
            }
            _ => {}
        }
    }
    Ok(calls.into_values().collect())
}

/// The calls of a service as tools, and whether one of the calls was done.
fn tools(service: &str, calls: &[Call]) -> Vec<(Tool, bool)> {
    let mut routes: Vec<(String, Vec<&Call>)> = Vec::new();
    for call in calls {
        let route = format!("{} {}", call.method, template(&call.path));
        match routes.iter_mut().find(|(known, _)| *known == route) {
            Some((_, calls)) => calls.push(call),
            None => routes.push((route, vec![call])),
        }
    }
    let tool = |(route, calls): (String, Vec<&Call>)| {
        let (method, path) = route.split_once(' ').unwrap_or_default();
        let done = calls.iter().any(|call| call.done);
        let tool = Tool {
            name: name_of(method, path),
            description: None,
            is_read: matches!(method, "GET" | "HEAD" | "OPTIONS"),
            args: arguments(path, &calls),
            upstream: Some(service.to_owned()),
            route,
        };
        (tool, done)
    };
    routes.into_iter().map(tool).collect()
}

/// A path with a variable for each part that looks like somebody's id: it holds a digit.
fn template(path: &str) -> String {
    let mut before = "id";
    let mut names: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    for part in path.split('/') {
        let is_version = part.starts_with('v') && part[1..].bytes().all(|byte| byte.is_ascii_digit());
        if part.bytes().any(|byte| byte.is_ascii_digit()) && !is_version {
            let stem: String = before.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let stem = stem.strip_suffix('s').filter(|one| !one.is_empty()).unwrap_or(&stem).to_owned();
            let mut name = if stem == "id" { stem } else { format!("{stem}_id") };
            while names.contains(&name) {
                name.push('_');
            }
            parts.push(format!("{{{name}}}"));
            names.push(name);
        } else {
            parts.push(part.to_owned());
            before = if part.is_empty() { before } else { part };
        }
    }
    parts.join("/")
}

fn arguments(path: &str, calls: &[&Call]) -> Value {
    let mut properties = Map::new();
    for part in path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            properties.insert(name.to_owned(), json!({ "type": "string" }));
        }
    }
    let mut required: Vec<String> = properties.keys().cloned().collect();
    let seen = calls.iter().filter_map(|call| call.arguments.as_object());
    for fields in seen {
        for (name, value) in fields {
            properties.entry(name).or_insert_with(|| json!({ "type": kind(value) }));
        }
    }
    let always = |name: &&String| calls.iter().all(|call| call.arguments.get(name.as_str()).is_some());
    required.extend(properties.keys().filter(always).cloned());
    required.sort_unstable();
    required.dedup();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::String(_) | Value::Null => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_somebodys_id_is_a_variable() {
        for (path, wanted) in [
            ("/orders/1042", "/orders/{order_id}"),
            ("/v1/orders/a7/lines/3", "/v1/orders/{order_id}/lines/{line_id}"),
            ("/7/8", "/{id}/{id_}"),
            ("/refunds", "/refunds"),
            ("/", "/"),
        ] {
            assert_eq!(template(path), wanted);
        }
    }
}
