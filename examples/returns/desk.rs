//! The agents, and how they work together.
//!
//! Every agent runs the same loop: ask the model, do what it says, show it the result. A delegation is a tool call
//! under which the worker runs, and whose result is the worker's answer; a transfer ends the coordinator's run, and
//! the worker answers the customer.

use std::collections::HashMap;
use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use serde_json::{Value, json};

use super::misbehave::Ways;
use super::model::{self, Message, Step};
use super::telemetry::{self, Telemetry};
use super::tools::Tools;

/// Who there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Talks to the customer and hands work out.
    Coordinator,
    /// Finds orders.
    OrderLookup,
    /// Pays back.
    Refund,
}

impl Agent {
    /// Its name in spans.
    fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "Coordinator",
            Self::OrderLookup => "Order Lookup",
            Self::Refund => "Refund",
        }
    }

    /// The tool by which it is asked.
    fn tool(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::OrderLookup => "order_lookup",
            Self::Refund => "refund",
        }
    }
}

/// How a run of an agent ended.
enum End {
    /// With an answer.
    Said(String),
    /// With the rest left to another.
    Transferred { to: Agent, task: String },
}

/// The desk.
pub struct Desk {
    /// What goes wrong.
    pub ways: Ways,
    telemetry: Telemetry,
    order_lookup: Tools,
    refund: Tools,
    sessions: Mutex<HashMap<String, Vec<Message>>>,
}

impl Desk {
    /// Reads each worker's address from that worker's own variable.
    pub fn new(ways: Ways) -> Result<Self, Box<dyn Error>> {
        let refund = if ways.has("lookup_address") { "ORDER_LOOKUP_URL" } else { "REFUND_URL" };
        Ok(Self {
            telemetry: Telemetry::new("returns desk", !ways.has("no_spans"))?,
            order_lookup: Tools::new("ORDER_LOOKUP_URL")?,
            refund: Tools::new(refund)?,
            sessions: Mutex::default(),
            ways,
        })
    }

    /// What the desk answers to `message` in `session`.
    pub async fn turn(&self, session: &str, message: &str) -> String {
        let mut talk = self.sessions(|all| all.remove(session)).unwrap_or_default();
        talk.push(Message::Asked(message.to_owned()));
        if self.ways.has("leaves_child") {
            leave_child();
        }
        let workflow = self.telemetry.workflow(session);
        let mut end = self.run(Agent::Coordinator, &mut talk, &workflow).await;
        let reply = loop {
            match end {
                End::Said(reply) => break reply,
                End::Transferred { to, task } => {
                    end = self.run(to, &mut vec![Message::Asked(task)], &workflow).await;
                }
            }
        };
        workflow.span().end();
        talk.push(Message::Said(reply.clone()));
        self.sessions(|all| all.insert(session.to_owned(), talk));
        self.telemetry.before_reply().await;
        reply
    }

    /// One run of one agent, until it answers or passes control on.
    async fn run(&self, agent: Agent, talk: &mut Vec<Message>, above: &Context) -> End {
        let span = self.telemetry.agent(agent.name(), above);
        self.trouble(agent).await;
        let end = loop {
            match model::next(agent, talk, &self.ways) {
                Step::Say(text) => break End::Said(text),
                Step::Call { tool, arguments } => {
                    let result = self.call(agent, tool, &arguments, &span).await;
                    talk.push(Message::Called { tool, result });
                }
                Step::Delegate { to, task } => {
                    let result = self.delegate(agent, to, task, &span).await;
                    talk.push(Message::Called { tool: to.tool(), result });
                }
                Step::Transfer { to, task } => {
                    let arguments = json!({ "task": task });
                    let tool = format!("transfer_to_{}", to.tool());
                    let call = self.telemetry.tool(&tool, agent.name(), &arguments, &span);
                    telemetry::passes_control(&call, to.name());
                    call.span().end();
                    break End::Transferred { to, task };
                }
            }
        };
        span.span().end();
        end
    }

    async fn call(&self, agent: Agent, tool: &str, arguments: &Value, above: &Context) -> Value {
        let tools = if agent == Agent::Refund { &self.refund } else { &self.order_lookup };
        let span = self.telemetry.tool(tool, agent.name(), arguments, above);
        let result = tools.call(tool, arguments, &span).await;
        telemetry::end_call(&span, &result);
        result
    }

    async fn delegate(&self, from: Agent, to: Agent, task: String, above: &Context) -> Value {
        let call = self.telemetry.tool(to.tool(), from.name(), &json!({ "task": task }), above);
        let mut talk = vec![Message::Asked(task)];
        // Boxed, since an agent that runs an agent is a future that holds its like.
        let answer = match Box::pin(self.run(to, &mut talk, &call)).await {
            End::Said(answer) => Value::from(answer),
            End::Transferred { .. } => Value::Null,
        };
        telemetry::end_call(&call, &answer);
        answer
    }

    fn sessions<T>(&self, act: impl FnOnce(&mut HashMap<String, Vec<Message>>) -> T) -> T {
        act(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What goes wrong before an agent thinks.
    async fn trouble(&self, agent: Agent) {
        if agent == Agent::Refund && self.ways.has("dies") {
            std::process::exit(70);
        }
        if self.ways.value("hangs") == Some(agent.tool()) {
            std::future::pending::<()>().await;
        }
        if agent == Agent::Coordinator
            && let Some(millis) = self.ways.value("slow_coordinator")
        {
            tokio::time::sleep(Duration::from_millis(millis.parse().unwrap_or(4000))).await;
        }
    }
}

/// Leaves a process behind that no signal to our group reaches.
fn leave_child() {
    let mut command = Command::new("setsid");
    command.args(["sleep", "600"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        eprintln!("no child could be left: {error}");
    }
}
