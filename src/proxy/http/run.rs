//! A call that has begun: its fault, the second look at its deadline, the world or the upstream, the outcome.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::{Body, Bytes, Incoming};
use serde_json::{Value, json};

use super::client::{Base, RequestBody};
use super::headers;
use super::received::Received;
use super::{Answered, Closed};
use crate::journal::OutcomeKind;
use crate::name::WorkerId;
use crate::permit::{Permit, Refusal};
use crate::proxy::body::{ChannelBody, Passing, recorded, verdict_of};
use crate::proxy::channel::{Answer, Site};
use crate::proxy::door::Shared;
use crate::proxy::faults::Due;
use crate::proxy::gate::{self, Call, Outcome};
use crate::proxy::refusal;
use crate::scenario::{Behaviour, FaultKind, Tool};
use crate::world::{AnswerKind, WorldAnswer};

/// One call on its way.
pub struct Run {
    pub shared: Arc<Shared>,
    pub site: Arc<Site>,
    /// None where the action is no tool.
    pub tool: Option<Tool>,
    pub worker: Option<WorkerId>,
    pub call: Call,
}

/// What a fault does once the world has answered.
#[derive(Clone, Copy)]
enum Afterwards {
    Pass,
    Truncate(u64),
    Disconnect,
    Stall(Duration),
}

impl Run {
    /// The answer, its outcome row written (or owed by its body, where that is still coming).
    pub async fn answer(
        mut self,
        permit: Permit,
        due: Option<Due>,
        parts: Parts,
        target: String,
        received: Received,
    ) -> Answered {
        let mut afterwards = Afterwards::Pass;
        let mut permit = permit;
        match due.map(|due| due.kind) {
            None => {}
            Some(FaultKind::Latency { min, .. }) => {
                self.call.cut = true;
                match self.after_a_sleep(permit, min).await {
                    Ok(still) => permit = still,
                    Err(refusal) => return Ok(self.refuse(&refusal)),
                }
            }
            Some(FaultKind::Reply { status, headers, body }) => {
                return Ok(self.reply(status, &headers, body.as_ref()));
            }
            Some(FaultKind::Drop) => {
                self.end_faulted(None, Value::Null);
                return Err(Closed);
            }
            Some(FaultKind::Stale) => {
                // The first call has nothing before it, and goes to the world.
                if let Some(answer) = self.tool.as_ref().and_then(|tool| self.site.stale(&tool.name)) {
                    self.end_faulted(Some(answer.status.as_u16()), recorded(&answer.body));
                    return Ok(whole(answer));
                }
            }
            Some(FaultKind::Truncate(after)) => afterwards = Afterwards::Truncate(after),
            Some(FaultKind::Disconnect) => afterwards = Afterwards::Disconnect,
            Some(FaultKind::Stall(time)) => afterwards = Afterwards::Stall(time),
        }
        self.call.cut |= !matches!(afterwards, Afterwards::Pass);
        let upstream = match self.tool.as_ref().map(|tool| &tool.behaviour) {
            Some(Behaviour::Sqlite(_)) => None,
            Some(Behaviour::Upstream { name, .. }) => Some(self.site.upstreams.get(name).cloned()),
            None => Some(self.site.passthrough().cloned()),
        };
        match upstream {
            None => self.ask_world(permit, &received, afterwards).await,
            Some(Some(base)) => self.ask_upstream(permit, &base, parts, &target, received, afterwards).await,
            Some(None) => Ok(self.crash("upstream_unavailable", "this upstream is not reached over HTTP")),
        }
    }

    /// Sleeps for a fault; the deadline and the trial's end are looked at again afterwards.
    async fn after_a_sleep(&self, permit: Permit, time: Duration) -> Result<Permit, Refusal> {
        let state = &self.site.state;
        tokio::select! {
            () = tokio::time::sleep(time) => permit.still(state.clock.now()),
            () = state.closed.cancelled() => Err(gate::closed()),
        }
    }

    fn refuse(self, refusal: &Refusal) -> Response<ChannelBody> {
        let tool = self.tool.as_ref().map(|tool| tool.name.as_str());
        let response = refusal::response(refusal, tool, self.worker.as_ref().map(WorkerId::as_str), &[]);
        self.call.end(Outcome::refused(refusal));
        response
    }

    fn end_faulted(self, status: Option<u16>, result: Value) {
        self.call.end(Outcome { kind: OutcomeKind::Faulted, code: None, status, result, result_cut: false });
    }

    fn reply(
        self,
        status: u16,
        headers: &std::collections::BTreeMap<String, String>,
        body: Option<&Value>,
    ) -> Response<ChannelBody> {
        let answer = answer(status, headers, body);
        self.end_faulted(Some(answer.status.as_u16()), body.cloned().unwrap_or(Value::Null));
        whole(answer)
    }

    fn crash(self, code: &str, message: &str) -> Response<ChannelBody> {
        let body = json!({ "error": { "code": code, "message": message } });
        let answer = answer(502, &Default::default(), Some(&body));
        self.call.end(Outcome {
            kind: OutcomeKind::Crashed,
            code: Some(code.to_owned()),
            status: Some(502),
            result: body,
            result_cut: false,
        });
        whole(answer)
    }

    async fn ask_world(self, permit: Permit, received: &Received, afterwards: Afterwards) -> Answered {
        let Some(world) = self.site.world.clone() else {
            return Ok(self.crash("world_unavailable", "this channel has no embedded world"));
        };
        let said = if let Some(why) = &received.unreadable {
            let code = "invalid_arguments";
            WorldAnswer {
                kind: AnswerKind::Refused { code: code.to_owned() },
                status: 400,
                headers: Default::default(),
                body: Some(json!({ "error": { "code": code, "message": why } })),
            }
        } else {
            let arguments = received.arguments.clone();
            // A statement may take seconds; it does not hold up the calls beside it.
            match tokio::task::spawn_blocking(move || world.call(permit, &arguments)).await {
                Ok(said) => said,
                Err(_) => return Ok(self.crash("world_crashed", "the world failed")),
            }
        };
        let (kind, code) = match said.kind {
            AnswerKind::Done => (OutcomeKind::Done, None),
            AnswerKind::Refused { code } => (OutcomeKind::WorldRefused, Some(code)),
            AnswerKind::Crashed { code, .. } => (OutcomeKind::Crashed, Some(code.to_owned())),
        };
        let answer = answer(said.status, &said.headers, said.body.as_ref());
        self.answered(kind, code, said.body.unwrap_or(Value::Null), answer, afterwards).await
    }

    /// Ends a call whose whole answer is at hand.
    async fn answered(
        self,
        kind: OutcomeKind,
        code: Option<String>,
        result: Value,
        answer: Answer,
        afterwards: Afterwards,
    ) -> Answered {
        if let Some(tool) = &self.tool {
            self.site.keep(&tool.name, &answer);
        }
        self.stall(afterwards).await;
        let disconnect = matches!(afterwards, Afterwards::Disconnect);
        self.call.end(Outcome {
            kind,
            code,
            status: (!disconnect).then_some(answer.status.as_u16()),
            result,
            result_cut: false,
        });
        match afterwards {
            Afterwards::Disconnect => Err(Closed),
            Afterwards::Truncate(after) => {
                let body = ChannelBody::cut(&answer.body, after);
                Ok(whole(answer).map(|_| body))
            }
            Afterwards::Pass | Afterwards::Stall(_) => Ok(whole(answer)),
        }
    }

    async fn stall(&self, afterwards: Afterwards) {
        if let Afterwards::Stall(time) = afterwards {
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = self.site.state.closed.cancelled() => {}
            }
        }
    }

    async fn ask_upstream(
        self,
        permit: Permit,
        base: &Base,
        mut parts: Parts,
        target: &str,
        received: Received,
        afterwards: Afterwards,
    ) -> Answered {
        let Some(uri) = base.at(target) else {
            return Ok(self.crash("upstream_unavailable", "the path cannot be passed on"));
        };
        headers::to_upstream(&mut parts.headers);
        parts.uri = uri;
        parts.extensions = http::Extensions::new();
        let request = Request::from_parts(parts, RequestBody::from(received.body));
        let sealed = self.site.state.sealed.clone();
        let answered = tokio::select! {
            answered = reach(&self.shared, permit, request) => answered,
            () = sealed.cancelled() => return Ok(self.crash("trial_closed", "the trial ended before the upstream answered")),
        };
        let mut response = match answered {
            Ok(response) => response,
            Err(why) => return Ok(self.crash("upstream_unavailable", why)),
        };
        headers::to_app(response.headers_mut());
        self.stall(afterwards).await;
        self.pass(response, afterwards)
    }

    /// Passes an upstream's answer on. Where there is no body the call ends here, else with the body.
    fn pass(self, response: Response<Incoming>, afterwards: Afterwards) -> Answered {
        let status = response.status().as_u16();
        let (head, body) = response.into_parts();
        let cut_after = match afterwards {
            Afterwards::Truncate(after) => Some(after),
            _ => None,
        };
        if matches!(afterwards, Afterwards::Disconnect) || body.is_end_stream() {
            let disconnect = matches!(afterwards, Afterwards::Disconnect);
            let (kind, code) = verdict_of(status);
            self.call.end(Outcome {
                kind,
                code,
                status: (!disconnect).then_some(status),
                result: Value::Null,
                result_cut: disconnect && !body.is_end_stream(),
            });
            return if disconnect {
                Err(Closed)
            } else {
                Ok(Response::from_parts(head, ChannelBody::Whole(None)))
            };
        }
        let body = Passing::new(body, self.call, status, cut_after);
        Ok(Response::from_parts(head, ChannelBody::Passing(body)))
    }
}

/// Sends one request for one permit. The error is for the app: it names no address.
async fn reach(
    shared: &Shared,
    _permit: Permit,
    request: Request<RequestBody>,
) -> Result<Response<Incoming>, &'static str> {
    shared.client.send(request).await.map_err(|error| {
        if error.is_connect() { "the upstream cannot be reached" } else { "the upstream gave no answer" }
    })
}

fn answer(status: u16, headers: &std::collections::BTreeMap<String, String>, body: Option<&Value>) -> Answer {
    let mut all = HeaderMap::new();
    if body.is_some() {
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
            && name != CONTENT_LENGTH
        {
            all.insert(name, value);
        }
    }
    Answer {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        headers: all,
        body: body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string())),
    }
}

fn whole(answer: Answer) -> Response<ChannelBody> {
    let mut response = Response::new(ChannelBody::whole(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}
