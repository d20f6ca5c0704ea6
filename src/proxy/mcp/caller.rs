//! One client's message, whichever way it came: who may answer it, and what is answered.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::era::{self, Era};
use super::message::{self, Failure, INVALID_PARAMS, METHOD_NOT_FOUND, Message, Notification, Request};
use super::session::{Client, Session};
use crate::journal::OutcomeKind;
use crate::permit::{Refusal, RefusalCode};
use crate::proxy::channel::Site;
use crate::proxy::door::Shared;
use crate::proxy::gate::{Asked, Begun, Lane, Outcome};
use crate::proxy::http::Closed;
use crate::proxy::refusal::REFUSAL_META;
use crate::spans::TraceParent;

use super::server::{Asker, Gave};

/// The way back to a client while its request is worked on.
pub type Out = mpsc::Sender<Value>;

/// Who sent a message, and through what.
pub struct Caller {
    pub shared: Arc<Shared>,
    pub site: Arc<Site>,
    pub lane: Arc<Lane>,
    /// Why whoever it is may call nothing.
    pub stranger: Option<Refusal>,
    pub era: Era,
    /// None in the later era over HTTP.
    pub session: Option<Arc<Session>>,
    /// Of the HTTP request; passed on to servers.
    pub headers: HeaderMap,
    /// For the row.
    pub request: Option<String>,
}

/// What is answered to a request.
#[derive(Debug)]
pub struct Reply {
    /// None: the client gave the request up, and wants nothing.
    pub message: Option<Value>,
    /// Over HTTP.
    pub status: u16,
    /// Why the call was refused.
    pub refused: Option<RefusalCode>,
    /// A fault lets so many bytes through.
    pub cut_after: Option<u64>,
}

impl Reply {
    fn new(message: Value) -> Self {
        Self { message: Some(message), status: 200, refused: None, cut_after: None }
    }

    /// Nothing: the client has given the request up.
    pub fn nothing() -> Self {
        Self { message: None, status: 200, refused: None, cut_after: None }
    }
}

/// Methods that only tell what there is, or how to tell it: no action, and no row.
fn only_tells(method: &str) -> bool {
    method.ends_with("/list")
        || matches!(
            method,
            "logging/setLevel"
                | "completion/complete"
                | "subscriptions/listen"
                | "resources/subscribe"
                | "resources/unsubscribe"
        )
}

impl Caller {
    /// Answers a request. `out` is where the server's own messages go meanwhile.
    pub async fn answer(&self, request: &Request, out: &Out) -> Result<Reply, Closed> {
        let cancel = self.session.as_ref().map_or_else(CancellationToken::new, |s| s.begins(&request.id));
        let asker = Asker { caller: self, request, out, cancel };
        let answered = match (self.era, request.method.as_str()) {
            (Era::Handshake, "initialize") => {
                Ok(self.result(request, self.initialize(request, &asker).await))
            }
            (Era::Handshake, "ping") => Ok(self.result(request, json!({}))),
            (Era::Stateless, "server/discover") => Ok(self.result(request, self.discover(&asker).await)),
            (_, "tools/list") => Ok(match self.tools(&asker).await {
                Ok(tools) => self.result(request, json!({ "tools": tools })),
                Err(failure) => self.failure(request, &failure),
            }),
            (_, "tools/call") => self.call(&asker).await,
            _ => Ok(self.pass_on(&asker).await),
        };
        if let Some(session) = &self.session {
            session.ends(&request.id);
        }
        answered
    }

    /// Takes a notification: a request given up, or something for the servers.
    pub async fn notified(&self, notification: Notification) {
        if notification.method == "notifications/cancelled"
            && let (Some(session), Some(id)) = (&self.session, notification.params.get("requestId"))
        {
            session.cancel(id);
        }
        // `initialized` is between us and the client; what a server gets of its own, it gets from us.
        if matches!(notification.method.as_str(), "notifications/cancelled" | "notifications/initialized")
            || self.stranger.is_some()
            || self.lane.rules().limits_tools()
        {
            return;
        }
        for server in self.site.servers.values() {
            server.tell(self, &notification).await;
        }
    }

    /// A result, as this client's era wants it.
    pub fn result(&self, request: &Request, mut result: Value) -> Reply {
        if self.era == Era::Stateless {
            era::dress(&request.method, &mut result);
        }
        Reply::new(message::response(&request.id, result))
    }

    /// An error.
    pub fn failure(&self, request: &Request, failure: &Failure) -> Reply {
        Reply { status: self.era.status(failure), ..Reply::new(failure.to_response(&request.id)) }
    }

    /// What a server gave, passed on.
    pub fn gave(&self, request: &Request, gave: Gave) -> Reply {
        match gave {
            Gave::Result(result) => self.result(request, result),
            Gave::Failure(error) => {
                let failure = Failure {
                    code: error["code"].as_i64().unwrap_or(message::INTERNAL_ERROR),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                    data: error.get("data").cloned(),
                };
                self.failure(request, &failure)
            }
            Gave::Cancelled => Reply::nothing(),
            Gave::Nothing(why) => self.failure(request, &Failure::new(message::INTERNAL_ERROR, why)),
        }
    }

    async fn initialize(&self, request: &Request, asker: &Asker<'_>) -> Value {
        let asked = request.text("protocolVersion").unwrap_or_default();
        let version = era::HANDSHAKE.iter().find(|known| **known == asked).unwrap_or(&era::HANDSHAKE[0]);
        let said = |name: &str| request.params.get(name).cloned().unwrap_or_else(|| json!({}));
        if let Some(session) = &self.session {
            session.is_of(Client {
                version: (*version).to_owned(),
                capabilities: said("capabilities"),
                info: said("clientInfo"),
            });
        }
        let mut result = self.about(asker).await;
        result["protocolVersion"] = json!(version);
        result["serverInfo"] = era::server_info();
        result
    }

    async fn discover(&self, asker: &Asker<'_>) -> Value {
        let mut result = self.about(asker).await;
        result["supportedVersions"] = json!([era::STATELESS]);
        result
    }

    /// Capabilities and instructions: ours, and the servers' where this caller may use more than tools.
    async fn about(&self, asker: &Asker<'_>) -> Value {
        let mut capabilities = json!({ "tools": { "listChanged": false } });
        let mut instructions = Vec::new();
        let only = self.only_server();
        for server in self.site.servers.values() {
            // A server that cannot be reached is told when something of it is wanted.
            let Ok(about) = server.about(asker).await else { continue };
            instructions.extend(about["instructions"].as_str().map(str::to_owned));
            let more = about["capabilities"].as_object().filter(|_| only.is_some());
            for (name, value) in more.into_iter().flatten() {
                if !self.lane.rules().limits_tools() || name == "tools" {
                    capabilities[name] = value.clone();
                }
            }
        }
        let mut result = json!({ "capabilities": capabilities });
        if !instructions.is_empty() {
            result["instructions"] = json!(instructions.join("\n\n"));
        }
        result
    }

    fn only_server(&self) -> Option<&Arc<super::server::Server>> {
        let mut all = self.site.servers.values();
        all.next().filter(|_| all.next().is_none())
    }

    /// A method that is none of tools: the only server's, where there is one.
    async fn pass_on(&self, asker: &Asker<'_>) -> Reply {
        let request = asker.request;
        let Some(server) = self.only_server() else {
            let failure = Failure {
                data: Some(json!(request.method)),
                ..Failure::new(METHOD_NOT_FOUND, "Method not found")
            };
            return self.failure(request, &failure);
        };
        if only_tells(&request.method) {
            if self.stranger.is_some() || self.lane.rules().limits_tools() {
                return self.failure(request, &Failure::new(METHOD_NOT_FOUND, "Method not found"));
            }
            let gave = server.ask(None, asker, &request.method, request.params.clone()).await;
            return self.gave(request, gave);
        }
        let mut params = request.params.clone();
        params.remove("_meta");
        let arguments = json!({ "method": request.method, "params": params });
        let begun = self.lane.begin(
            &self.site.state,
            Asked {
                tool: None,
                refused: self.stranger.clone(),
                arguments: &arguments,
                recorded: None,
                cut: false,
                face: "mcp",
                request: self.request.clone(),
                trace: self.trace(request),
            },
        );
        let Begun { permit, call, .. } = match begun {
            Ok(begun) => begun,
            Err(refusal) => {
                let failure = Failure {
                    data: Some(json!({ REFUSAL_META: refusal.code.code() })),
                    ..Failure::new(METHOD_NOT_FOUND, refusal.reason.clone())
                };
                return Reply { refused: Some(refusal.code), ..self.failure(request, &failure) };
            }
        };
        let gave = server.ask(Some(&permit), asker, &request.method, request.params.clone()).await;
        let (kind, code, result) = match &gave {
            Gave::Result(result) => (OutcomeKind::Done, None, result.clone()),
            Gave::Failure(error) => {
                (OutcomeKind::WorldRefused, Some(format!("rpc_{}", error["code"])), error.clone())
            }
            // What a server did of a request that was given up is not known: no outcome.
            Gave::Cancelled => return Reply::nothing(),
            Gave::Nothing(why) => (OutcomeKind::Crashed, Some("upstream_unavailable".to_owned()), json!(why)),
        };
        call.end(Outcome { kind, code, status: Some(200), result, result_cut: false });
        self.gave(request, gave)
    }

    /// A message that could not be taken, and might have been a call: it is on record as one. The refusal is the one that
    /// stands there.
    pub fn not_taken(&self, refusal: Refusal, given: Value) -> Refusal {
        let asked = Asked {
            tool: None,
            refused: Some(self.stranger.clone().unwrap_or_else(|| refusal.clone())),
            arguments: &given,
            recorded: None,
            cut: false,
            face: "mcp",
            request: self.request.clone(),
            trace: TraceParent::of(&self.headers),
        };
        self.lane.begin(&self.site.state, asked).err().unwrap_or(refusal)
    }

    /// The span the call was made in: of the header, else of the message.
    pub fn trace(&self, request: &Request) -> Option<TraceParent> {
        TraceParent::of(&self.headers)
            .or_else(|| TraceParent::parse(request.meta("traceparent").and_then(Value::as_str)?))
    }

    /// What this client can do.
    pub fn capabilities(&self, request: &Request) -> Value {
        match (self.era, &self.session) {
            (Era::Handshake, Some(session)) => session.client().capabilities,
            _ => request.meta(era::META_CAPABILITIES).cloned().unwrap_or_else(|| json!({})),
        }
    }

    /// The envelope that a server of the later era wants of this client.
    pub fn envelope(&self, request: &Request) -> Map<String, Value> {
        let mut meta = match request.params.get("_meta") {
            Some(Value::Object(meta)) => meta.clone(),
            _ => Map::new(),
        };
        if self.era == Era::Handshake {
            let client = self.session.as_ref().map(|session| session.client()).unwrap_or_default();
            meta.insert(era::META_VERSION.to_owned(), json!(era::STATELESS));
            meta.insert(era::META_CAPABILITIES.to_owned(), client.capabilities);
            if client.info.get("name").is_some() {
                meta.insert(era::META_CLIENT.to_owned(), client.info);
            }
        }
        meta
    }
}

/// Whether a message asks for an action, as far as it can be told.
pub fn is_call(message: &Message) -> bool {
    matches!(message, Message::Request(request) if request.method == "tools/call")
}

/// The refusal of a message that names no tool, or none in one way only.
pub fn unread(why: &str) -> Refusal {
    Refusal { code: RefusalCode::UnknownAction, reason: why.to_owned() }
}

/// The failure of a call that names no tool.
pub fn nameless() -> Failure {
    Failure::new(INVALID_PARAMS, "`name` is to be the name of a tool")
}
