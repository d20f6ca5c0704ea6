//! Contracts and scenarios as text, from what is known of an app.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

/// What a contract is drafted from.
#[derive(Debug, Default)]
pub struct Draft {
    pub name: String,
    pub start: Vec<String>,
    /// As a contract says it.
    pub talk: String,
    /// Where the app runs; the contract's folder where none is named.
    pub cwd: Option<String>,
    pub passed: Vec<String>,
    /// Id, and the variable that holds its address.
    pub workers: Vec<(String, String)>,
    /// Name and address.
    pub upstreams: Vec<(String, String)>,
    pub tools: Vec<Tool>,
}

/// One tool.
#[derive(Clone, Debug)]
pub struct Tool {
    pub name: String,
    pub description: Option<String>,
    /// Method and path.
    pub route: String,
    pub is_read: bool,
    /// JSON Schema.
    pub args: Value,
    /// The service that answers it; none: the tables.
    pub upstream: Option<String>,
}

/// A text as YAML takes it in every place: a JSON string.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

impl Draft {
    /// The contract.
    pub fn contract(&self) -> String {
        let mut text = String::from(
            "# yaml-language-server: $schema=contract.schema.json     (printed by `mocktrial schema contract`)\ncontract: 1\napp:\n",
        );
        let _ = writeln!(text, "  name: {}", quoted(&self.name));
        if let Some(cwd) = &self.cwd {
            let _ = writeln!(text, "  cwd: {}", quoted(cwd));
        }
        let _ = writeln!(text, "  start: {}", list(&self.start));
        let _ = writeln!(text, "  talk: {}", self.talk);
        if !self.passed.is_empty() {
            let _ = writeln!(text, "  env_pass: {}", list(&self.passed));
        }
        text.push_str("workers:\n  # Unlimited: say with `allowed_tools` what each may use, and with `agent` its name in spans.\n");
        for (id, variable) in &self.workers {
            let _ = writeln!(text, "  - {{ id: {id}, binding: separate, address_env: {variable} }}");
        }
        text.push_str("world:\n");
        if !self.upstreams.is_empty() {
            text.push_str("  upstreams:\n    # With `start`, `ready` and `reset` a service is started here, and put back between trials.\n");
        }
        for (name, url) in &self.upstreams {
            let _ = writeln!(text, "    {name}: {{ http: {} }}", quoted(url));
        }
        if self.upstreams.is_empty() && !self.tools.is_empty() {
            text.push_str("  sqlite: { schema: world.sql }\n");
        }
        if !self.tools.is_empty() {
            text.push_str("  tools:\n");
        }
        for tool in &self.tools {
            tool.write(&mut text);
        }
        text
    }

    /// Tables for tools that no service answers: one for each collection among the routes.
    pub fn schema(&self) -> String {
        let tables: BTreeSet<&str> = self.tools.iter().filter_map(|tool| tool.collection()).collect();
        let mut text = String::from("-- What the tools act on; each trial has a fresh copy.\n");
        for table in tables {
            let _ = writeln!(text, "CREATE TABLE {} (id TEXT PRIMARY KEY);", quoted(table));
        }
        text
    }
}

impl Tool {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "    {}:", quoted(&self.name));
        if let Some(description) = &self.description {
            let _ = writeln!(text, "      description: {}", quoted(description));
        }
        let _ = writeln!(text, "      http: {}", quoted(&self.route));
        let _ = writeln!(text, "      effect: {}", if self.is_read { "read" } else { "write" });
        let _ = writeln!(text, "      args: {}", short(&self.args));
        match (&self.upstream, self.one_of()) {
            (Some(upstream), _) => {
                let _ = writeln!(text, "      upstream: {upstream}");
            }
            (None, Some((table, variable))) => {
                let sql = format!("SELECT * FROM {} WHERE id = :{variable}", quoted(table));
                let _ = writeln!(text, "      returns: {{ row: {} }}", quoted(&sql));
            }
            (None, None) => text.push_str("      returns: { value: {} }\n"),
        }
    }

    /// The first literal part of its path.
    fn collection(&self) -> Option<&str> {
        let path = self.route.split_once(' ')?.1;
        path.split('/').find(|part| !part.is_empty() && !part.starts_with('{'))
    }

    /// Collection and variable, where it reads one of a collection.
    fn one_of(&self) -> Option<(&str, &str)> {
        let last = self.route.rsplit('/').next()?;
        let variable = last.strip_prefix('{')?.strip_suffix('}')?;
        self.is_read.then_some((self.collection()?, variable))
    }
}

/// A schema in the short form of contracts, as far as that goes.
fn short(args: &Value) -> String {
    let required: Vec<&str> =
        args["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = args["properties"].as_object().into_iter().flatten().map(|(name, schema)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{}: {}", quoted(&format!("{name}{mark}")), kind(schema))
    });
    let fields: Vec<String> = fields.collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

fn kind(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("array") => match schema["items"]["type"].as_str() {
            Some(of @ ("string" | "integer" | "number" | "boolean")) => format!("[{of}]"),
            _ => "array".to_owned(),
        },
        Some(known @ ("string" | "integer" | "number" | "boolean" | "object")) => known.to_owned(),
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "string".to_owned(),
    }
}

/// A scenario that asks for what was seen.
pub fn scenario(turns: &[String], tools: &[String]) -> String {
    let mut text = String::from("scenario: first\ntests: what the app did when it was watched\nturns:\n");
    for turn in turns {
        let _ = writeln!(text, "  - user: {}", quoted(turn));
    }
    text.push_str("sub_goals:\n");
    if tools.is_empty() {
        text.push_str("  - { id: replied, reply: { matches: '\\S' } }\n");
    }
    for tool in tools {
        let _ = writeln!(text, "  - {{ id: {}, calls: {{ tool: {} }} }}", quoted(tool), quoted(tool));
    }
    text
}
