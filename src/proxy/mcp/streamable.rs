//! The face over streamable HTTP: one message a POST, answered as JSON, or as events where something comes before the
//! answer.

use std::pin::Pin;
use std::sync::Arc;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::caller::{self, Caller, Reply, is_call};
use super::era::{self, Era, SESSION_HEADER};
use super::message::{self, Failure, INVALID_REQUEST, Message};
use super::session::{Client, Session, UNREAD};
use super::sse;
use crate::permit::RefusalCode;
use crate::proxy::body::{BodyError, ChannelBody, Streamed};
use crate::proxy::channel::Channel;
use crate::proxy::door::Shared;
use crate::proxy::http::{Answered, Closed, Taken, whole};
use crate::proxy::refusal::{self, REFUSAL_HEADER};

/// Answers a request at a channel's [`super::PATH`].
pub async fn serve(shared: Arc<Shared>, channel: Arc<Channel>, request: Request<Incoming>) -> Answered {
    let stateless = Era::of(request.headers()) == Era::Stateless;
    match *request.method() {
        Method::POST => post(shared, channel, request).await,
        Method::GET if !stateless => Ok(listen(&channel, request.headers())),
        Method::DELETE if !stateless => Ok(end(&channel, request.headers()).await),
        _ => {
            let mut response = Response::new(ChannelBody::Whole(None));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
            Ok(response)
        }
    }
}

/// The stream of what is said outside of any request.
fn listen(channel: &Channel, headers: &HeaderMap) -> Response<ChannelBody> {
    match session(channel, headers) {
        Ok(session) => events(session.listen(), None),
        Err((status, failure)) => told(status, &failure.to_response(&Value::Null)),
    }
}

async fn end(channel: &Channel, headers: &HeaderMap) -> Response<ChannelBody> {
    match session(channel, headers) {
        Ok(session) => {
            channel.sessions.close(&session);
            for server in channel.site.servers.values() {
                server.leave(session.number).await;
            }
            Response::new(ChannelBody::Whole(None))
        }
        Err((status, failure)) => told(status, &failure.to_response(&Value::Null)),
    }
}

/// The session that the headers name.
fn session(channel: &Channel, headers: &HeaderMap) -> Result<Arc<Session>, (u16, Failure)> {
    let missing = || (400, Failure::new(INVALID_REQUEST, "Bad Request: Missing session ID"));
    let claim = headers.get(SESSION_HEADER).ok_or_else(missing)?;
    let found = claim.to_str().ok().and_then(|claim| channel.sessions.find(claim));
    found.ok_or_else(|| (404, Failure::new(INVALID_REQUEST, "Session not found")))
}

async fn post(shared: Arc<Shared>, channel: Arc<Channel>, request: Request<Incoming>) -> Answered {
    let (parts, body) = request.into_parts();
    let (lane, stranger) = channel.lanes.find(&parts.headers);
    let mut caller = Caller {
        shared,
        site: Arc::clone(&channel.site),
        lane: Arc::clone(lane),
        stranger,
        era: Era::of(&parts.headers),
        session: None,
        headers: parts.headers,
        request: Some(format!("POST {}", super::PATH)),
    };
    let bytes = match whole(body, channel.site.body_at_most).await {
        Ok(Taken::Whole { bytes, .. }) => bytes,
        Ok(_) => Bytes::new(),
        Err(refusal) => {
            let refused = caller.not_taken(refusal, Value::Null);
            return Ok(refusal::response(&refused, None, lane.worker().map(|id| id.as_str()), &[]));
        }
    };
    let message = match message::read(&bytes) {
        Ok(message) => message,
        Err(unread) => {
            let given = json!({ "body": String::from_utf8_lossy(crate::proxy::body::head(&bytes)) });
            let refusal = caller.not_taken(caller::unread(&unread.to_string()), given);
            return Ok(refused(told(400, &unread.failure().to_response(&Value::Null)), refusal.code));
        }
    };
    let id = match &message {
        Message::Request(request) => request.id.clone(),
        _ => Value::Null,
    };
    if let Err((status, failure)) = admit(&mut caller, &channel, &message) {
        let response = told(status, &failure.to_response(&id));
        if !is_call(&message) {
            return Ok(response);
        }
        // Whatever it names, it says it in two ways or to nobody.
        let Message::Request(request) = message else { return Ok(response) };
        let refusal = caller.not_taken(caller::unread(&failure.message), Value::Object(request.params));
        return Ok(refused(response, refusal.code));
    }
    match message {
        Message::Response(answer) => {
            if let Some(session) = &caller.session {
                session.answered(answer);
            }
            Ok(accepted())
        }
        Message::Notification(notification) => {
            caller.notified(notification).await;
            Ok(accepted())
        }
        Message::Request(request) => {
            let opened = match &caller.session {
                Some(session) if request.method == "initialize" => session.id().map(str::to_owned),
                _ => None,
            };
            let mut response = answer(caller, request).await?;
            if let Some(id) = opened.and_then(|id| HeaderValue::from_str(&id).ok()) {
                response.headers_mut().insert(SESSION_HEADER, id);
            }
            Ok(response)
        }
    }
}

/// Finds the session, or checks the envelope that stands in its place.
fn admit(caller: &mut Caller, channel: &Channel, message: &Message) -> Result<(), (u16, Failure)> {
    match (caller.era, message) {
        (Era::Stateless, Message::Request(request)) => era::envelope(request, Some(&caller.headers))
            .map_err(|failure| (caller.era.status(&failure), failure)),
        (Era::Stateless, _) => Ok(()),
        (Era::Handshake, Message::Request(request)) if request.method == "initialize" => {
            let opened = channel.sessions.open(Client::default());
            let session = opened.map_err(|_| {
                (500, Failure::new(message::INTERNAL_ERROR, "the system has no randomness to give"))
            })?;
            caller.session = Some(session);
            Ok(())
        }
        (Era::Handshake, _) => {
            caller.session = Some(session(channel, &caller.headers)?);
            Ok(())
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Reply, Closed>> + Send>>;

/// Waits for the answer, or for what comes before it.
async fn answer(caller: Caller, request: message::Request) -> Answered {
    let (out, mut inbox) = mpsc::channel(UNREAD);
    let mut answering: Answering = Box::pin(async move { caller.answer(&request, &out).await });
    let first = tokio::select! {
        biased;
        Some(first) = inbox.recv() => first,
        reply = &mut answering => return reply.map(plain),
    };
    let (send, receive) = mpsc::channel(UNREAD);
    tokio::spawn(relay(first, inbox, answering, send));
    Ok(streamed(receive))
}

/// Sends everything that comes before the answer, then the answer. The call goes on when nobody reads; a request whose
/// reader is gone is told by the closed channel.
async fn relay(
    first: Value,
    mut inbox: mpsc::Receiver<Value>,
    mut answering: Answering,
    send: mpsc::Sender<Result<Bytes, BodyError>>,
) {
    let mut next = Some(first);
    let reply = loop {
        if let Some(message) = next.take()
            && send.send(Ok(sse::event(&message))).await.is_err()
        {
            inbox.close();
        }
        tokio::select! {
            biased;
            Some(message) = inbox.recv() => next = Some(message),
            reply = &mut answering => break reply,
            () = send.closed(), if !inbox.is_closed() => inbox.close(),
        }
    };
    while let Ok(message) = inbox.try_recv() {
        let _ = send.send(Ok(sse::event(&message))).await;
    }
    let last = match reply {
        Err(Closed) => Err(BodyError::Cut),
        Ok(Reply { message: None, .. }) => return,
        Ok(Reply { message: Some(message), cut_after: None, .. }) => Ok(sse::event(&message)),
        Ok(Reply { message: Some(message), cut_after: Some(after), .. }) => {
            let event = sse::event(&message);
            let after = usize::try_from(after).unwrap_or(usize::MAX).min(event.len());
            let _ = send.send(Ok(event.slice(..after))).await;
            Err(BodyError::Cut)
        }
    };
    let _ = send.send(last).await;
}

/// An answer that nothing came before.
fn plain(reply: Reply) -> Response<ChannelBody> {
    let Some(message) = reply.message else {
        // Nobody waits for it.
        return events(mpsc::channel(1).1, None);
    };
    let mut response = told(reply.status, &message);
    if let Some(after) = reply.cut_after {
        *response.body_mut() = ChannelBody::cut(&Bytes::from(message.to_string()), after);
    }
    match reply.refused {
        Some(code) => refused(response, code),
        None => response,
    }
}

fn refused(mut response: Response<ChannelBody>, code: RefusalCode) -> Response<ChannelBody> {
    response.headers_mut().insert(REFUSAL_HEADER, HeaderValue::from_static(code.code()));
    response
}

fn told(status: u16, message: &Value) -> Response<ChannelBody> {
    let mut response = Response::new(ChannelBody::whole(Bytes::from(message.to_string())));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn accepted() -> Response<ChannelBody> {
    let mut response = Response::new(ChannelBody::Whole(None));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn events(mut messages: mpsc::Receiver<Value>, first: Option<Value>) -> Response<ChannelBody> {
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut next = first;
        loop {
            if let Some(message) = next.take()
                && send.send(Ok(sse::event(&message))).await.is_err()
            {
                return;
            }
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => next = Some(message),
                    None => return,
                },
                () = send.closed() => return,
            }
        }
    });
    streamed(receive)
}

fn streamed(receive: mpsc::Receiver<Result<Bytes, BodyError>>) -> Response<ChannelBody> {
    let mut response = Response::new(ChannelBody::Streamed(Streamed::new(receive)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
