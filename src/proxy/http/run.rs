//! A call that has begun: its fault, the second look at its deadline, the world or the upstream, the outcome.

use std::sync::Arc;

use http::request::Parts;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use serde_json::{Value, json};

use super::client::{Base, RequestBody};
use super::headers;
use super::received::Received;
use super::{Answered, Closed};
use crate::journal::OutcomeKind;
use crate::name::WorkerId;
use crate::permit::{Permit, Refusal};
use crate::proxy::body::{ChannelBody, Passing, verdict_of};
use crate::proxy::channel::Site;
use crate::proxy::door::Shared;
use crate::proxy::faults::Due;
use crate::proxy::gate::{Call, Lane, Outcome};
use crate::proxy::mcp;
use crate::proxy::passage::{self, Afterwards, Verdict, Way};
use crate::proxy::refusal;
use crate::proxy::said::{Answer, Said};
use crate::scenario::{Behaviour, Tool};

/// One call on its way.
pub struct Run {
    pub shared: Arc<Shared>,
    pub site: Arc<Site>,
    /// None where the action is no tool.
    pub tool: Option<Tool>,
    pub lane: Arc<Lane>,
    pub call: Call,
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
        let named = self.tool.as_ref().map(|tool| &tool.name);
        let (permit, afterwards) = match passage::meet(&self.site, named, &mut self.call, permit, due).await {
            Way::On(permit, afterwards) => (permit, afterwards),
            Way::Instead(said, result) => {
                let answer = said.into_http();
                self.end_faulted(Some(answer.status.as_u16()), result);
                return Ok(whole(answer));
            }
            Way::Closed => {
                self.end_faulted(None, Value::Null);
                return Err(Closed);
            }
            Way::Refused(refusal) => return Ok(self.refuse(&refusal)),
        };
        if let Some(tool) = self.tool.clone().filter(|tool| self.is_a_servers(tool)) {
            return self.ask_server(permit, &tool, parts, received, afterwards).await;
        }
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

    fn refuse(self, refusal: &Refusal) -> Response<ChannelBody> {
        let tool = self.tool.as_ref().map(|tool| tool.name.as_str());
        let response = refusal::response(refusal, tool, self.lane.worker().map(WorkerId::as_str), &[]);
        self.call.end(Outcome::refused(refusal));
        response
    }

    fn end_faulted(self, status: Option<u16>, result: Value) {
        self.call.end(Outcome { kind: OutcomeKind::Faulted, code: None, status, result, result_cut: false });
    }

    fn crash(self, code: &str, message: &str) -> Response<ChannelBody> {
        let body = json!({ "error": { "code": code, "message": message } });
        let answer = Answer::json(502, &Default::default(), Some(&body));
        self.call.end(Outcome {
            kind: OutcomeKind::Crashed,
            code: Some(code.to_owned()),
            status: Some(502),
            result: body,
            result_cut: false,
        });
        whole(answer)
    }

    fn is_a_servers(&self, tool: &Tool) -> bool {
        matches!(&tool.behaviour, Behaviour::Upstream { name, .. } if self.site.servers.contains_key(name))
    }

    /// Asks an MCP server, and tells what it said as HTTP tells it.
    async fn ask_server(
        self,
        permit: Permit,
        tool: &Tool,
        parts: Parts,
        received: Received,
        afterwards: Afterwards,
    ) -> Answered {
        let caller = mcp::Caller {
            shared: Arc::clone(&self.shared),
            site: Arc::clone(&self.site),
            lane: Arc::clone(&self.lane),
            stranger: None,
            era: mcp::Era::Stateless,
            session: None,
            headers: parts.headers,
            request: None,
        };
        match mcp::ask_for_http(caller, permit, tool, received.arguments).await {
            Ok((answer, verdict)) => self.answered(verdict, answer, afterwards).await,
            Err(code) => Ok(self.crash(code, "the server gave no answer")),
        }
    }

    async fn ask_world(self, permit: Permit, received: &Received, afterwards: Afterwards) -> Answered {
        let (arguments, unreadable) = (received.arguments.clone(), received.unreadable.as_deref());
        match passage::ask_world(&self.site, permit, arguments, unreadable).await {
            Ok((answer, verdict)) => self.answered(verdict, answer, afterwards).await,
            Err(code) => Ok(self.crash(code, "the embedded world gave no answer")),
        }
    }

    /// Ends a call whose whole answer is at hand.
    async fn answered(
        self,
        Verdict { kind, code, result }: Verdict,
        answer: Answer,
        afterwards: Afterwards,
    ) -> Answered {
        if let Some(tool) = &self.tool {
            self.site.keep(&tool.name, &Said::Http(answer.clone()));
        }
        passage::stall(&self.site, afterwards).await;
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
        passage::stall(&self.site, afterwards).await;
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

fn whole(answer: Answer) -> Response<ChannelBody> {
    let mut response = Response::new(ChannelBody::whole(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}
