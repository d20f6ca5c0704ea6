//! One tool made ready at load: what its arguments are held against, and every statement of it prepared once, so that
//! what cannot work is told at its line and not by a crash in some trial.

use std::collections::BTreeSet;

use serde_json::Value;

use super::arguments::Schema;
use super::connection::Link;
use super::fault::WorldFault;
use super::guard::Policy;
use super::statement::{self, NOW, Site};
use crate::scenario::{Answer, Behaviour, Contract, Effect, Segment, Sql, SqliteTool, Tool};

/// One tool, ready to be called.
pub(super) struct Prepared {
    /// None where an upstream answers.
    pub tool: Option<SqliteTool>,
    pub schema: Option<Schema>,
}

/// Makes `tool` ready, and adds everything that is wrong with it to `faults`.
pub(super) fn prepare(
    link: &Link,
    contract: &Contract,
    tool: &Tool,
    faults: &mut Vec<WorldFault>,
) -> Prepared {
    let file = &contract.source;
    let schema = tool.args.as_ref().and_then(|args| match Schema::new(args) {
        Ok(schema) => Some(schema),
        Err(e) => {
            let what = format!("the arguments of {} cannot be checked: {e}", tool.name);
            faults.push(WorldFault::new(file, tool.pos, what));
            None
        }
    });
    let Behaviour::Sqlite(sqlite) = &tool.behaviour else {
        return Prepared { tool: None, schema };
    };
    let names = argument_names(tool);
    if names.as_ref().is_some_and(|names| names.contains(NOW)) {
        let what = format!("{} has an argument named `now`, which is the world's time", tool.name);
        faults.push(WorldFault::new(file, tool.pos, what).help("give the argument another name"));
    }
    let site = |read_only| Site {
        file,
        policy: Policy::Tool,
        read_only,
        names: names.as_ref(),
        named: "no argument of this tool",
        has_now: contract.world.now.is_some(),
    };
    let asking = site(Some("a refusal only looks"));
    let acting = site((tool.effect == Effect::Read).then_some("the tool's effect is `read`"));
    for refusal in &sqlite.refuse {
        faults.extend(statement::check(link, &refusal.sql, &asking).err());
    }
    for sql in &sqlite.run {
        faults.extend(statement::check(link, sql, &acting).err());
    }
    let refusals = sqlite.refuse.iter().filter_map(|refusal| Some((refusal.body.as_ref()?, &asking)));
    for (answer, site) in refusals.chain([(&sqlite.returns.answer, &acting)]) {
        match answer {
            Answer::Row(sql) | Answer::Rows(sql) => faults.extend(check_answer(link, sql, site).err()),
            Answer::Value(value) => {
                let unknown = placeholders(value).into_iter().filter(|name| !site.may_bind(name));
                faults.extend(unknown.map(|name| {
                    let what = format!("`:{name}` in an answer of {} is {}", tool.name, site.named);
                    WorldFault::new(file, tool.pos, what)
                }));
            }
            Answer::Nothing => {}
        }
    }
    let tool = Some(sqlite.clone());
    Prepared { tool, schema }
}

/// An answer is an object by column name, so there must be columns, each with a name of its own.
fn check_answer(link: &Link, sql: &Sql, site: &Site<'_>) -> Result<(), WorldFault> {
    let columns = statement::check(link, sql, site)?;
    let mut seen = BTreeSet::new();
    let twice = columns.iter().find(|name| !seen.insert(*name));
    match twice {
        Some(name) => {
            let what = format!("two columns of the answer are called {name}");
            Err(WorldFault::new(site.file, sql.pos, what).help("name one of them with AS"))
        }
        None if columns.is_empty() => {
            let what = "this statement gives no columns to answer with";
            Err(WorldFault::new(site.file, sql.pos, what)
                .help("a statement that writes answers with RETURNING"))
        }
        None => Ok(()),
    }
}

/// What a tool's statements may bind: its arguments and the variables of its route; `None` where it takes anything.
fn argument_names(tool: &Tool) -> Option<BTreeSet<String>> {
    let properties = tool.args.as_ref()?.get("properties").and_then(Value::as_object);
    let variables = tool.route.iter().flat_map(|route| &route.path).filter_map(|segment| match segment {
        Segment::Variable(name) => Some(name),
        Segment::Literal(_) => None,
    });
    Some(properties.into_iter().flat_map(|it| it.keys()).chain(variables).cloned().collect())
}

/// The names of `":name"` strings in a fixed answer.
fn placeholders(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => placeholder(text).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(placeholders).collect(),
        Value::Object(fields) => fields.values().flat_map(placeholders).collect(),
        _ => Vec::new(),
    }
}

/// The name in `":name"`, where that is all the text there is.
pub(super) fn placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix(':')?;
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).then_some(name)
}
