//! Tools: which of them a channel shows, and what a call of one comes to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::caller::{Caller, Reply, nameless, unread};
use super::era;
use super::message::{self, Failure, Request};
use super::server::{Asker, Gave, Server};
use crate::journal::OutcomeKind;
use crate::name::ToolName;
use crate::permit::{Permit, Refusal, RefusalCode};
use crate::proxy::arguments;
use crate::proxy::body::bounded;
use crate::proxy::channel::Site;
use crate::proxy::gate::{Asked, Begun, Call, Outcome};
use crate::proxy::http::{self, Closed};
use crate::proxy::passage::{self, Afterwards, Verdict, Way};
use crate::proxy::refusal;
use crate::proxy::said::{self, Answer, Said};
use crate::scenario::{Behaviour, Effect, Pos, Tool};
use crate::world::mcp_tools;

/// Stands between a server and its tool's name, where there are several servers.
const BETWEEN: &str = "__";

impl Site {
    /// The tool of that name, byte for byte: the contract's, or one that a server has and the contract does not name.
    pub fn tool_named(&self, name: &str) -> Result<Cow<'_, Tool>, Refusal> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.name.as_str() == name) {
            return Ok(Cow::Borrowed(tool));
        }
        let unknown = |reason: String| Refusal { code: RefusalCode::UnknownAction, reason };
        let there = match self.servers.len() {
            0 => None,
            1 => self.servers.keys().next().map(|server| (server.as_str(), name)),
            _ => name.split_once(BETWEEN).filter(|(server, _)| self.servers.contains_key(*server)),
        };
        let Some((server, there)) = there else {
            return Err(unknown(format!("`{name}` is no tool of the contract")));
        };
        // Under a second name a tool would have a second permit.
        if let Some(known) = self.tools.iter().find(|tool| is_at(tool, server, there)) {
            return Err(unknown(format!("`{name}` is known here as `{}`", known.name)));
        }
        Ok(Cow::Owned(undeclared(name, server, there)))
    }

    /// The name that a server's tool has here; none where the contract names it otherwise.
    fn name_here(&self, server: &str, there: &str) -> Option<String> {
        let name = match self.servers.len() {
            1 => there.to_owned(),
            _ => format!("{server}{BETWEEN}{there}"),
        };
        let taken = self.tools.iter().any(|tool| is_at(tool, server, there) || tool.name.as_str() == name);
        (!taken).then_some(name)
    }

    fn server_of(&self, tool: &Tool) -> Option<(&Arc<Server>, String)> {
        let Behaviour::Upstream { name, tool: there } = &tool.behaviour else {
            return None;
        };
        let there = there.clone().unwrap_or_else(|| tool.name.to_string());
        Some((self.servers.get(name)?, there))
    }
}

/// Whether `tool` is the one that `server` calls `there`.
fn is_at(tool: &Tool, server: &str, there: &str) -> bool {
    matches!(&tool.behaviour, Behaviour::Upstream { name, tool: known }
        if name == server && known.as_deref().unwrap_or(tool.name.as_str()) == there)
}

/// A tool that only its server describes. What it does is not known, so it is taken to write.
fn undeclared(name: &str, server: &str, there: &str) -> Tool {
    Tool {
        pos: Pos::default(),
        name: ToolName::new(name),
        description: None,
        route: None,
        effect: Effect::Write,
        args: None,
        behaviour: Behaviour::Upstream { name: server.to_owned(), tool: Some(there.to_owned()) },
    }
}

impl Caller {
    /// The tools as this caller is shown them.
    pub(super) async fn tools(&self, asker: &Asker<'_>) -> Result<Vec<Value>, Failure> {
        let site = &self.site;
        let mut offered: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (name, server) in &site.servers {
            offered.insert(name, server.tools(asker).await?);
        }
        let rules = self.lane.rules();
        let mut listed = Vec::new();
        for tool in site.shown(rules) {
            let there = match &tool.behaviour {
                Behaviour::Upstream { name, tool: there } => {
                    let there = there.as_deref().unwrap_or(tool.name.as_str());
                    let all = offered.get(name.as_str()).into_iter().flatten();
                    all.into_iter().find(|entry| entry["name"] == there)
                }
                Behaviour::Sqlite(_) => None,
            };
            match there {
                Some(entry) => {
                    let mut entry = entry.clone();
                    entry["name"] = json!(tool.name.as_str());
                    if let Some(description) = &tool.description {
                        entry["description"] = json!(description);
                    }
                    listed.push(entry);
                }
                None => listed.extend(mcp_tools([tool])),
            }
        }
        for (server, entries) in offered {
            for mut entry in entries {
                let Some(name) = entry["name"].as_str().and_then(|there| site.name_here(server, there))
                else {
                    continue;
                };
                if site.shows(rules, &ToolName::new(&name), Effect::Write) {
                    entry["name"] = json!(name);
                    listed.push(entry);
                }
            }
        }
        Ok(listed)
    }

    /// A call of a tool.
    pub(super) async fn call(&self, asker: &Asker<'_>) -> Result<Reply, Closed> {
        let request = asker.request;
        let Some(name) = request.text("name") else {
            let given = Value::Object(request.params.clone());
            let refusal = self.not_taken(unread("the call names no tool"), given);
            return Ok(Reply { refused: Some(refusal.code), ..self.failure(request, &nameless()) });
        };
        let named = self.site.tool_named(name);
        let (tool, unknown) = match named {
            Ok(tool) => (Some(tool), None),
            Err(refusal) => (None, Some(refusal)),
        };
        let tool = tool.as_deref();
        let given = request.params.get("arguments").unwrap_or(&Value::Null);
        if let Some(tool) = tool
            && let Some(held) = self.site.parked.take(&self.lane, tool, &request.params)
        {
            let (permit, call) = held;
            return self.ask_server(asker, tool, permit, call, Afterwards::Pass).await;
        }
        let (recorded, cut) = arguments::shorter(given);
        let asked = Asked {
            tool,
            refused: self.stranger.clone().or(unknown),
            arguments: given,
            recorded,
            cut,
            face: "mcp",
            request: self.request.clone(),
            trace: self.trace(request),
        };
        let Begun { permit, mut call, due } = match self.lane.begin(&self.site.state, asked) {
            Ok(begun) => begun,
            Err(refusal) => return Ok(self.refuse(asker, name, &refusal)),
        };
        let Some(tool) = tool else {
            // A call without a tool is refused by the gate; this is for the compiler.
            return Ok(self.failure(request, &nameless()));
        };
        match passage::meet(&self.site, Some(&tool.name), &mut call, permit, due).await {
            Way::On(permit, afterwards) => {
                if self.site.server_of(tool).is_some() {
                    return self.ask_server(asker, tool, permit, call, afterwards).await;
                }
                let (said, verdict) = self.ask_others(tool, permit, given).await;
                self.end(asker, tool, call, said, verdict, afterwards).await
            }
            Way::Instead(said, result) => {
                let kind = OutcomeKind::Faulted;
                call.end(Outcome { kind, code: None, status: Some(200), result, result_cut: false });
                Ok(self.result(request, said.into_tool()))
            }
            Way::Closed => {
                let kind = OutcomeKind::Faulted;
                let result = Value::Null;
                call.end(Outcome { kind, code: None, status: None, result, result_cut: false });
                Err(Closed)
            }
            Way::Refused(refusal) => {
                call.end(Outcome { status: Some(200), ..Outcome::refused(&refusal) });
                Ok(self.refuse(asker, name, &refusal))
            }
        }
    }

    fn refuse(&self, asker: &Asker<'_>, tool: &str, refusal: &Refusal) -> Reply {
        let worker = self.lane.worker().map(|id| id.as_str());
        let result = refusal::tool_result(refusal, Some(tool), worker);
        Reply { refused: Some(refusal.code), ..self.result(asker.request, result) }
    }

    /// Asks the embedded world, or a service over HTTP.
    async fn ask_others(&self, tool: &Tool, permit: Permit, given: &Value) -> (Said, Verdict) {
        let asked = match &tool.behaviour {
            Behaviour::Sqlite(_) => passage::ask_world(&self.site, permit, given.clone(), None).await,
            Behaviour::Upstream { name, .. } => match self.site.upstreams.get(name) {
                Some(base) => {
                    http::ask(&self.shared, &self.site, permit, base, tool, given, &self.headers).await
                }
                None => Err("upstream_unavailable"),
            },
        };
        match asked {
            Ok((answer, verdict)) => (Said::Http(answer), verdict),
            Err(code) => {
                let why = json!({ "error": { "code": code, "message": "there was no answer" } });
                let answer = Answer::json(502, &BTreeMap::new(), Some(&why));
                let verdict =
                    Verdict { kind: OutcomeKind::Crashed, code: Some(code.to_owned()), result: why };
                (Said::Http(answer), verdict)
            }
        }
    }

    /// Asks an MCP server. An answer that wants more of the client leaves the call open for the next request.
    async fn ask_server(
        &self,
        asker: &Asker<'_>,
        tool: &Tool,
        permit: Permit,
        call: Call,
        afterwards: Afterwards,
    ) -> Result<Reply, Closed> {
        let Some((server, there)) = self.site.server_of(tool) else {
            return Ok(self.failure(asker.request, &nameless()));
        };
        let mut params = asker.request.params.clone();
        params.insert("name".to_owned(), json!(there));
        let gave = server.ask(Some(&permit), asker, "tools/call", params).await;
        if let Gave::Result(result) = &gave
            && result["resultType"] == "input_required"
        {
            self.site.parked.keep(&self.lane, tool, &asker.request.params, result, (permit, call));
            return Ok(self.gave(asker.request, gave));
        }
        let Some(verdict) = verdict_of(&gave) else {
            // What a server did of a call that was given up is not known: no outcome.
            return Ok(Reply::nothing());
        };
        match gave {
            Gave::Result(result) => {
                self.end(asker, tool, call, Said::Tool(result), verdict, afterwards).await
            }
            other => {
                passage::stall(&self.site, afterwards).await;
                written(call, verdict, Some(200));
                Ok(self.gave(asker.request, other))
            }
        }
    }

    /// Writes the outcome and answers, as far as the fault lets it.
    async fn end(
        &self,
        asker: &Asker<'_>,
        tool: &Tool,
        call: Call,
        said: Said,
        verdict: Verdict,
        afterwards: Afterwards,
    ) -> Result<Reply, Closed> {
        self.site.keep(&tool.name, &said);
        passage::stall(&self.site, afterwards).await;
        if let Afterwards::Disconnect = afterwards {
            written(call, verdict, None);
            return Err(Closed);
        }
        written(call, verdict, Some(200));
        let mut reply = self.result(asker.request, said.into_tool());
        if let Afterwards::Truncate(after) = afterwards {
            reply.cut_after = Some(after);
        }
        Ok(reply)
    }
}

/// How a server's answer is written down; none where the call was given up.
fn verdict_of(gave: &Gave) -> Option<Verdict> {
    Some(match gave {
        Gave::Result(result) => {
            let failed = said::failed(result);
            let kind = if failed { OutcomeKind::WorldRefused } else { OutcomeKind::Done };
            let code = failed.then(|| "tool_error".to_owned());
            Verdict { kind, code, result: said::content(result) }
        }
        Gave::Failure(error) => {
            let code = error["code"].as_i64().unwrap_or_default();
            let theirs = code == message::INTERNAL_ERROR || code == 0;
            let kind = if theirs { OutcomeKind::Crashed } else { OutcomeKind::WorldRefused };
            Verdict { kind, code: Some(format!("rpc_{code}")), result: error.clone() }
        }
        Gave::Nothing(why) => {
            let code = Some("upstream_unavailable".to_owned());
            Verdict { kind: OutcomeKind::Crashed, code, result: json!(why) }
        }
        Gave::Cancelled => return None,
    })
}

/// A server's tool for a caller over HTTP, who can be asked nothing and told nothing on the way.
pub async fn ask_for_http(
    caller: Caller,
    permit: Permit,
    tool: &Tool,
    arguments: Value,
) -> Result<(Answer, Verdict), &'static str> {
    let (server, there) = caller.site.server_of(tool).ok_or("upstream_unavailable")?;
    let (server, there) = (Arc::clone(server), there);
    let meta = json!({ era::META_VERSION: era::STATELESS, era::META_CAPABILITIES: {} });
    let mut params = Map::new();
    params.insert("name".to_owned(), json!(there));
    params.insert("arguments".to_owned(), if arguments.is_null() { json!({}) } else { arguments });
    params.insert("_meta".to_owned(), meta);
    let request = Request { id: json!(1), method: "tools/call".to_owned(), params: params.clone() };
    // Held open, so that nobody takes the call for given up.
    let (out, _inbox) = mpsc::channel(1);
    let asker = Asker { caller: &caller, request: &request, out: &out, cancel: CancellationToken::new() };
    let gave = server.ask(Some(&permit), &asker, "tools/call", params).await;
    let verdict = verdict_of(&gave).ok_or("upstream_unavailable")?;
    let answer = match gave {
        Gave::Result(result) => Said::Tool(result).into_http(),
        _ => {
            let status = if verdict.kind == OutcomeKind::Crashed { 502 } else { 400 };
            let body = json!({ "error": { "code": verdict.code, "message": verdict.result } });
            Answer::json(status, &BTreeMap::new(), Some(&body))
        }
    };
    Ok((answer, verdict))
}

fn written(call: Call, Verdict { kind, code, result }: Verdict, status: Option<u16>) {
    let (result, result_cut) = bounded(result);
    call.end(Outcome { kind, code, status, result, result_cut });
}

/// What of a request makes it the same call as the one before it, which wanted more input.
pub fn same_call(params: &Map<String, Value>, state: Option<&Value>) -> String {
    let nothing = Value::Null;
    let arguments = params.get("arguments").unwrap_or(&nothing);
    format!("{arguments}\n{}", state.unwrap_or(&nothing))
}
