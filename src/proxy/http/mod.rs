//! The HTTP face: from a request on a channel to its answer.
//!
//! A call runs to its end once it has begun: the app's leaving drops the connection, not the call.

mod by_route;
mod client;
mod headers;
mod received;
mod run;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use hyper::body::{Bytes, Incoming};

pub use by_route::ask;
pub use client::{BadBase, Base, Client, RequestBody};
pub use headers::to_upstream;
pub use received::{Taken, whole};

use super::body::ChannelBody;
use super::channel::Channel;
use super::door::Shared;
use super::gate::{self, Asked, Begun};
use super::mcp;
use super::refusal;
use super::registry::Entry;
use crate::permit::{Refusal, RefusalCode};
use crate::spans::TraceParent;
use crate::world::openapi;
use received::Received;

/// The connection is closed without an answer, because a fault says so.
#[derive(Debug, thiserror::Error)]
#[error("closed by a fault")]
pub struct Closed;

/// An answer, or the end of the connection.
pub type Answered = Result<Response<ChannelBody>, Closed>;

/// Answers one request.
pub async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> Answered {
    let (claim, rest) = split(request.uri().path());
    match shared.registry.find(claim) {
        Some(Entry::Channel(channel)) if rest == mcp::PATH => {
            ToTheEnd::new(mcp::serve(shared, channel, request)).await
        }
        Some(Entry::Channel(channel)) if asks_for_the_document(&channel, &request, rest) => {
            Ok(document(&channel, request.headers()))
        }
        Some(Entry::Channel(channel)) => ToTheEnd::new(call(shared, channel, request)).await,
        Some(Entry::Gone(late)) => {
            late.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(turned_away(&gate::closed(), request).await)
        }
        None => {
            shared.registry.count_unknown(claim);
            let refusal = Refusal {
                code: RefusalCode::UnknownChannel,
                reason: "no channel has this address".to_owned(),
            };
            Ok(turned_away(&refusal, request).await)
        }
    }
}

/// A path's first segment, and the rest with its slash.
fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.find('/').map_or((path, ""), |end| path.split_at(end))
}

/// Where the tools of a channel are described. A service behind it that takes every path has its own.
fn asks_for_the_document(channel: &Channel, request: &Request<Incoming>, path: &str) -> bool {
    let site = &channel.site;
    path == "/openapi.json"
        && request.method() == Method::GET
        && site.passthrough().is_none()
        && site.routes.find("GET", path).is_none()
}

/// What the tools are, as OpenAPI: told, and no action.
fn document(channel: &Channel, headers: &HeaderMap) -> Response<ChannelBody> {
    let (lane, _) = channel.lanes.find(headers);
    let document = openapi(&channel.site.title, channel.site.shown(lane.rules()));
    let mut response = Response::new(ChannelBody::whole(Bytes::from(document.to_string())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A refusal before anything of the call was looked at. What the app still sends is taken off the wire, so that the
/// answer is not lost with a reset connection.
async fn turned_away(refusal: &Refusal, mut request: Request<Incoming>) -> Response<ChannelBody> {
    received::discard(&mut request).await;
    refusal::response(refusal, None, None, &[])
}

async fn call(shared: Arc<Shared>, channel: Arc<Channel>, request: Request<Incoming>) -> Answered {
    let (lane, stranger) = channel.lanes.find(request.headers());
    let site = &channel.site;
    let (parts, body) = request.into_parts();
    let path = match split(parts.uri.path()).1 {
        "" => "/",
        rest => rest,
    };
    let target = match parts.uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let matched = site.routes.find(parts.method.as_str(), path);
    let tool = matched.as_ref().map(|found| &site.tools[found.tool]);
    let variables = matched.as_ref().map_or(&[][..], |found| &found.variables);
    let received = Received::read(&parts, variables, tool, site, body).await;
    let unnamed = || {
        let reason = headers::upgrade(&parts.headers).or_else(|| match tool {
            Some(_) => headers::masquerade(&parts, received.form_fields()),
            None if site.passthrough().is_some() => None,
            None => Some(format!("{} {path} is no tool of the contract", parts.method)),
        });
        reason.map(|reason| Refusal { code: RefusalCode::UnknownAction, reason })
    };
    let (recorded, cut) = received.recorded();
    let asked = Asked {
        tool,
        refused: stranger.or_else(|| received.refused.clone()).or_else(unnamed),
        arguments: &received.arguments,
        recorded,
        cut,
        face: "http",
        request: Some(format!("{} {target}", parts.method)),
        trace: TraceParent::of(&parts.headers),
    };
    let begun = match lane.begin(&site.state, asked) {
        Ok(begun) => begun,
        Err(refusal) => {
            let named = tool.map(|tool| tool.name.as_str());
            let allow = if named.is_none() { site.routes.methods(path) } else { Vec::new() };
            return Ok(refusal::response(&refusal, named, lane.worker().map(|id| id.as_str()), &allow));
        }
    };
    let Begun { permit, call, due } = begun;
    let lane = Arc::clone(lane);
    let tool = tool.cloned();
    let is_head = parts.method == Method::HEAD;
    let run = run::Run { shared, site: Arc::clone(site), tool, lane, call };
    let mut answer = run.answer(permit, due, parts, target, received).await?;
    if is_head && let ChannelBody::Whole(body) = answer.body_mut() {
        // What a HEAD would have been answered with is known by its length alone.
        if let Some(bytes) = body.take() {
            answer.headers_mut().insert(CONTENT_LENGTH, bytes.len().into());
        }
    }
    Ok(answer)
}

/// A future that goes on without whoever waited for it.
struct ToTheEnd<F: Future + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future + Send + 'static> ToTheEnd<F> {
    fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future + Send + 'static> Future for ToTheEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let output = std::task::ready!(future.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(output)
    }
}

impl<F: Future + Send + 'static> Drop for ToTheEnd<F> {
    fn drop(&mut self) {
        if let Some(future) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { drop(future.await) });
        }
    }
}
