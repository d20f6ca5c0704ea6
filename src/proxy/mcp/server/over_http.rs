//! A server over streamable HTTP (MCP, Transports): every message a POST, the answer one JSON text or a stream of events.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::super::caller::Caller;
use super::super::era::{self, Era, SESSION_HEADER, VERSION_HEADER};
use super::super::message::{CONNECTION_CLOSED, Failure, METHOD_NOT_FOUND};
use super::super::session::Session;
use super::super::sse::Events;
use super::About;
use super::exchange::{Event, Exchange};
use crate::proxy::door::Shared;
use crate::proxy::http::{RequestBody, Taken, to_upstream};

/// One client's connection to such a server.
#[derive(Debug)]
pub struct HttpLink {
    url: Uri,
    shared: Arc<Shared>,
    at_most: u64,
    about: OnceLock<About>,
    /// The session, where the server made one.
    session: Mutex<Option<HeaderValue>>,
    /// Of the request that opened it.
    headers: OnceLock<HeaderMap>,
    lost: AtomicBool,
    next: AtomicU64,
    listening: OnceLock<AbortOnDropHandle<()>>,
}

const GONE: &str = "the server cannot be reached";

impl HttpLink {
    /// Not opened yet.
    pub fn new(url: Uri, shared: &Arc<Shared>, at_most: u64) -> Self {
        Self {
            url,
            shared: Arc::clone(shared),
            at_most,
            about: OnceLock::new(),
            session: Mutex::default(),
            headers: OnceLock::new(),
            lost: AtomicBool::new(false),
            next: AtomicU64::new(1),
            listening: OnceLock::new(),
        }
    }

    /// What the server said of itself.
    pub fn about(&self) -> &About {
        // A link is known to others once it is open.
        static NOTHING: OnceLock<About> = OnceLock::new();
        self.about.get().unwrap_or_else(|| {
            NOTHING.get_or_init(|| About {
                era: Era::Stateless,
                version: era::STATELESS.to_owned(),
                said: Value::Null,
            })
        })
    }

    /// Whether the server has forgotten the session.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// It is open; in the earlier era the server may now speak by itself.
    pub fn met(self: &Arc<Self>, about: About, session: Option<&Arc<Session>>) {
        let era = about.era;
        let _ = self.about.set(about);
        if let (Era::Handshake, Some(session)) = (era, session) {
            let listening = listen(Arc::downgrade(self), Arc::downgrade(session));
            let _ = self.listening.set(AbortOnDropHandle::new(tokio::spawn(listening)));
        }
    }

    /// A request's id, and where its events come.
    pub fn new_exchange(&self) -> (u64, Exchange) {
        (self.next.fetch_add(1, Ordering::Relaxed), Exchange::new())
    }

    /// Sends one message; what comes back for a request goes to `events`.
    pub async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        about: &About,
        message: Value,
        events: Option<mpsc::Sender<Event>>,
    ) -> Result<(), &'static str> {
        let own = self.headers.get_or_init(|| caller.headers.clone());
        let headers = if caller.headers.is_empty() { own.clone() } else { caller.headers.clone() };
        let request = self.request(Method::POST, headers, about, Some(&message));
        let Some(events) = events else {
            return self.shared.client.send(request).await.map(drop).map_err(|_| GONE);
        };
        let link = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = link.answered(request, &events) => {}
                () = events.closed() => {}
            }
        });
        Ok(())
    }

    fn request(
        &self,
        method: Method,
        mut headers: HeaderMap,
        about: &About,
        message: Option<&Value>,
    ) -> Request<RequestBody> {
        to_upstream(&mut headers);
        for name in [CONTENT_LENGTH, CONTENT_TYPE] {
            headers.remove(name);
        }
        for name in ["mcp-method", "mcp-name", SESSION_HEADER, VERSION_HEADER, "last-event-id"] {
            headers.remove(name);
        }
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        let is_first = message.is_some_and(|message| message["method"] == "initialize");
        if !is_first {
            set(VERSION_HEADER, &about.version);
        }
        if let (Era::Stateless, Some(message)) = (about.era, message) {
            set("mcp-method", message["method"].as_str().unwrap_or_default());
            let named = match message["method"].as_str() {
                Some("tools/call" | "prompts/get") => message["params"]["name"].as_str(),
                Some("resources/read") => message["params"]["uri"].as_str(),
                _ => None,
            };
            if let Some(name) = named {
                set("mcp-name", &era::encoded(name));
            }
        }
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(session) = session {
            headers.insert(SESSION_HEADER, session);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let body = match message {
            Some(message) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Taken::Whole { bytes: Bytes::from(message.to_string()), trailers: None }
            }
            None => Taken::None,
        };
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = headers;
        request
    }

    /// Sends a request, and hands on everything that comes back for it.
    async fn answered(&self, request: Request<RequestBody>, events: &mpsc::Sender<Event>) {
        let had_session = request.headers().contains_key(SESSION_HEADER);
        let response = match self.shared.client.send(request).await {
            Ok(response) => response,
            Err(_) => return drop(events.send(Event::Gone(GONE)).await),
        };
        if let Some(session) = response.headers().get(SESSION_HEADER) {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        }
        let status = response.status();
        if status == StatusCode::NOT_FOUND && had_session {
            self.lost.store(true, Ordering::Relaxed);
        }
        if is_stream(&response) {
            let mut whole = false;
            let mut messages = Messages::of(response, self.at_most);
            while let Some(message) = messages.next().await {
                let event = Event::of(message);
                whole |= matches!(event, Event::Response(_));
                if events.send(event).await.is_err() {
                    return;
                }
            }
            if !whole {
                let _ = events.send(Event::Gone("the server's answer broke off")).await;
            }
            return;
        }
        let limit = usize::try_from(self.at_most).unwrap_or(usize::MAX);
        let Ok(body) = Limited::new(response.into_body(), limit).collect().await else {
            return drop(events.send(Event::Gone("the server's answer broke off, or is too long")).await);
        };
        let answer = serde_json::from_slice::<Value>(&body.to_bytes()).ok();
        let answer = answer.filter(|answer| answer.get("result").is_some() || answer.get("error").is_some());
        let answer = answer.unwrap_or_else(|| {
            Failure::new(CONNECTION_CLOSED, format!("the server answered {status}")).to_response(&Value::Null)
        });
        let _ = events.send(Event::Response(answer)).await;
    }

    /// Ends the session there.
    pub async fn close(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if session {
            let headers = self.headers.get().cloned().unwrap_or_default();
            let request = self.request(Method::DELETE, headers, self.about(), None);
            let _ = self.shared.client.send(request).await;
        }
    }
}

fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// The messages of a stream.
struct Messages {
    body: Incoming,
    events: Events,
}

impl Messages {
    fn of(response: Response<Incoming>, at_most: u64) -> Self {
        Self { body: response.into_body(), events: Events::new(at_most) }
    }

    /// The next one; none at the end, or where the stream cannot be read on.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(data) = self.events.next() {
                if let Ok(message) = serde_json::from_slice(&data) {
                    return Some(message);
                }
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.events.push(data).ok()?;
            }
        }
    }
}

/// What the server says outside of any request goes to the client that listens.
async fn listen(link: Weak<HttpLink>, session: Weak<Session>) {
    let Some(opened) = link.upgrade() else { return };
    let headers = opened.headers.get().cloned().unwrap_or_default();
    let request = opened.request(Method::GET, headers, opened.about(), None);
    let (shared, at_most) = (Arc::clone(&opened.shared), opened.at_most);
    drop(opened);
    let Ok(response) = shared.client.send(request).await else { return };
    if !is_stream(&response) {
        return;
    }
    let mut messages = Messages::of(response, at_most);
    while let Some(message) = messages.next().await {
        let (Some(link), Some(session)) = (link.upgrade(), session.upgrade()) else { return };
        match Event::of(message) {
            Event::Request(request) => {
                tokio::spawn(async move {
                    let answer = unasked(&session, &request).await;
                    let headers = link.headers.get().cloned().unwrap_or_default();
                    let request = link.request(Method::POST, headers, link.about(), Some(&answer));
                    let _ = link.shared.client.send(request).await;
                });
            }
            Event::Notification(notification) => drop(session.tell(notification)),
            Event::Response(_) | Event::Gone(_) => {}
        }
    }
}

/// A request of the server's that belongs to no call.
async fn unasked(session: &Session, request: &Value) -> Value {
    let id = &request["id"];
    if request["method"] == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    let (own, answer) = session.ask();
    let mut message = request.clone();
    message["id"] = json!(own);
    if session.tell(message)
        && let Ok(mut response) = answer.await
    {
        response.insert("id".to_owned(), id.clone());
        return Value::Object(response);
    }
    Failure::new(METHOD_NOT_FOUND, "the client does not listen").to_response(id)
}
