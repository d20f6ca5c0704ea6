//! The agents and how they work together: a run is a span, and a worker's run stands under the call that asked for it.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};

use http::Method;
use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use serde_json::{Value, json};

use super::script::{self, Talk};
use super::telemetry::{self, Telemetry};
use super::tools::Tools;

/// Who there is beside the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// Finds articles.
    Knowledge,
    /// Keeps tickets.
    Tickets,
    /// Gives tickets to people.
    Dispatch,
}

impl Worker {
    /// Its name in spans, and the tool by which it is asked.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Knowledge => ("Knowledge", "knowledge"),
            Self::Tickets => ("Tickets", "tickets"),
            Self::Dispatch => ("Dispatch", "dispatch"),
        }
    }
}

/// The desk.
pub struct Desk {
    telemetry: Telemetry,
    knowledge: Tools,
    tickets: Tools,
    dispatch: Tools,
    sessions: Mutex<HashMap<String, Talk>>,
}

impl Desk {
    /// Reads each worker's address from that worker's own variable.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            telemetry: Telemetry::new("help desk", true)?,
            knowledge: Tools::new("KNOWLEDGE_URL")?,
            tickets: Tools::new("TICKETS_URL")?,
            dispatch: Tools::new("DISPATCH_URL")?,
            sessions: Mutex::default(),
        })
    }

    /// What the desk answers to `message` in `session`.
    pub async fn turn(&self, session: &str, message: &str) -> String {
        let mut talk = self.sessions(|all| all.remove(session)).unwrap_or_default();
        let workflow = self.telemetry.workflow(session);
        let span = self.telemetry.agent("Front", &workflow);
        let front = Front { desk: self, span: &span, workflow: &workflow };
        let reply = script::front(&front, &mut talk, message).await;
        span.span().end();
        workflow.span().end();
        self.sessions(|all| all.insert(session.to_owned(), talk));
        self.telemetry.before_reply().await;
        reply
    }

    async fn run(&self, worker: Worker, task: &Value, above: &Context) -> Value {
        let tools = match worker {
            Worker::Knowledge => &self.knowledge,
            Worker::Tickets => &self.tickets,
            Worker::Dispatch => &self.dispatch,
        };
        let span = self.telemetry.agent(worker.names().0, above);
        let run = Run { desk: self, name: worker.names().0, tools, span: &span };
        let result = match worker {
            Worker::Knowledge => script::knowledge(&run, task).await,
            Worker::Tickets => script::tickets(&run, task).await,
            Worker::Dispatch => script::dispatch(&run, task).await,
        };
        span.span().end();
        result
    }

    fn sessions<T>(&self, act: impl FnOnce(&mut HashMap<String, Talk>) -> T) -> T {
        act(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The front's run in one turn.
pub struct Front<'a> {
    desk: &'a Desk,
    span: &'a Context,
    workflow: &'a Context,
}

impl Front<'_> {
    /// Asks a worker and goes on with its answer.
    pub async fn ask(&self, worker: Worker, task: Value) -> Value {
        let call = self.desk.telemetry.tool(worker.names().1, "Front", &task, self.span);
        let answer = self.desk.run(worker, &task, &call).await;
        telemetry::end_call(&call, &answer);
        answer
    }

    /// Leaves the rest of the turn to a worker.
    pub async fn transfer(&self, worker: Worker, task: Value) -> Value {
        let (name, tool) = worker.names();
        let call = self.desk.telemetry.tool(&format!("transfer_to_{tool}"), "Front", &task, self.span);
        telemetry::passes_control(&call, name);
        call.span().end();
        self.span.span().end();
        self.desk.run(worker, &task, self.workflow).await
    }
}

/// One run of a worker.
pub struct Run<'a> {
    desk: &'a Desk,
    name: &'static str,
    tools: &'a Tools,
    span: &'a Context,
}

/// What a tool answered.
pub struct Answer {
    /// HTTP status; 0: nothing came, or the tool is not described.
    pub status: u64,
    /// The body, null where there was none that is JSON.
    pub body: Value,
}

impl Answer {
    /// The code of a refusal.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().or(self.body["code"].as_str()).unwrap_or_default()
    }

    /// Whether it did what was asked.
    pub fn done(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Run<'_> {
    /// Calls a tool of this worker's.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let span = self.desk.telemetry.tool(tool, self.name, &arguments, self.span);
        let result = self.tools.call(tool, &arguments, &span).await;
        self.ended(&span, result)
    }

    /// Reads, and reads once more where the service was out of order.
    pub async fn read(&self, tool: &str, arguments: Value) -> Answer {
        match self.call(tool, arguments.clone()).await {
            answer if answer.status >= 500 => self.call(tool, arguments).await,
            answer => answer,
        }
    }

    /// A request by hand, by the name of the tool it is thought to be.
    pub async fn by_hand(&self, tool: &str, method: Method, path: &str, body: Value) -> Answer {
        let span = self.desk.telemetry.tool(tool, self.name, &body, self.span);
        let result = self.tools.request(&method, path, &body, &span).await;
        self.ended(&span, result)
    }

    fn ended(&self, span: &Context, mut result: Value) -> Answer {
        telemetry::end_call(span, &result);
        Answer { status: result["status"].as_u64().unwrap_or_default(), body: result["body"].take() }
    }
}

/// A worker's answer that is a sentence for the customer.
pub fn sentence(text: impl Into<String>) -> Value {
    json!({ "say": text.into() })
}
