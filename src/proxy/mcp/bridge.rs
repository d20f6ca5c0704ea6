//! Between a client on a pipe and a channel's address: lines in and out on one side, streamable HTTP on the other.
//!
//! A line is passed on as it came, byte for byte: what is wrong with it is the channel's to say, and to write down.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::era::{META_VERSION, SESSION_HEADER, VERSION_HEADER, encoded};
use super::message::{CONNECTION_CLOSED, Failure};
use super::sse::Events;
use crate::proxy::channel::LANE_HEADER;
use crate::proxy::http::{BadBase, Client, RequestBody, Taken};

/// The longest message that is passed on, in bytes.
const AT_MOST: u64 = 64 << 20;

/// A pipe in front of a channel.
#[derive(Debug)]
pub struct Bridge {
    url: Uri,
    token: Option<HeaderValue>,
    client: Client,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<String>>,
    running: Mutex<HashMap<String, AbortHandle>>,
}

impl Bridge {
    /// To the channel at `address`; `token` tells workers apart where they share one.
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, BadBase> {
        let url: Uri = format!("{}{}", address.trim_end_matches('/'), super::PATH).parse()?;
        if url.scheme_str() != Some("http") {
            return Err(BadBase::Scheme);
        }
        let token = token.and_then(|token| HeaderValue::from_str(token).ok());
        let (session, version, running) = Default::default();
        Ok(Self { url, token, client: Client::new(), session, version, running })
    }

    /// Passes messages both ways until the client closes its end.
    pub async fn serve(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        let bridge = Arc::new(self);
        let (out, lines) = mpsc::channel(64);
        let writing = tokio::spawn(write(output, lines));
        let mut sent = JoinSet::new();
        let mut listening = JoinSet::new();
        let mut lines = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line).await? == 0 {
                break;
            }
            while sent.try_join_next().is_some() {}
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let message: Value = serde_json::from_slice(text).unwrap_or(Value::Null);
            bridge.cancel(&message);
            let sending =
                Arc::clone(&bridge).send(Bytes::copy_from_slice(text), message.clone(), out.clone());
            if message["method"] == "initialize" {
                // What comes next needs the session.
                sending.await;
            } else if message.get("method").is_some() && message.get("id").is_some() {
                let handle = sent.spawn(sending);
                let mut running = bridge.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.insert(message["id"].to_string(), handle);
            } else {
                sending.await;
                if message["method"] == "notifications/initialized" {
                    listening.spawn(Arc::clone(&bridge).listen(out.clone()));
                }
            }
        }
        while sent.join_next().await.is_some() {}
        listening.shutdown().await;
        bridge.leave().await;
        drop(out);
        writing.await.map_err(std::io::Error::other)?
    }

    /// In the later era a request is given up by ending its connection.
    fn cancel(&self, message: &Value) {
        let no_session = self.session.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        if message["method"] == "notifications/cancelled" && no_session {
            let id = message["params"]["requestId"].to_string();
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(handle) = running.remove(&id) {
                handle.abort();
            }
        }
    }

    fn headers(&self, message: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            headers.insert(LANE_HEADER, token.clone());
        }
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        let params = &message["params"];
        if let Some(version) = params["_meta"][META_VERSION].as_str() {
            set(VERSION_HEADER, version);
            set("mcp-method", message["method"].as_str().unwrap_or_default());
            let named = match message["method"].as_str() {
                Some("tools/call" | "prompts/get") => params["name"].as_str(),
                Some("resources/read") => params["uri"].as_str(),
                _ => None,
            };
            if let Some(name) = named {
                set("mcp-name", &encoded(name));
            }
            return headers;
        }
        if let Some(version) = &*self.version.lock().unwrap_or_else(PoisonError::into_inner) {
            set(VERSION_HEADER, version);
        }
        if let Some(session) = &*self.session.lock().unwrap_or_else(PoisonError::into_inner) {
            headers.insert(SESSION_HEADER, session.clone());
        }
        headers
    }

    fn request(&self, method: Method, headers: HeaderMap, body: Taken) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = headers;
        request
    }

    async fn send(self: Arc<Self>, line: Bytes, message: Value, out: mpsc::Sender<Bytes>) {
        let body = Taken::Whole { bytes: line, trailers: None };
        let request = self.request(Method::POST, self.headers(&message), body);
        let wants_answer = message.get("method").is_some() && message.get("id").is_some();
        let answered = match self.client.send(request).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                if let Some(session) = head.headers.get(SESSION_HEADER) {
                    *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
                }
                let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
                    self.events(body, &out).await
                } else {
                    self.whole(body, &message, &out).await
                }
            }
            Err(_) => false,
        };
        if wants_answer && !answered {
            let closed = Failure::new(CONNECTION_CLOSED, "Connection closed");
            let _ = out.send(closed.to_response(&message["id"]).to_string().into()).await;
        }
    }

    /// Passes a whole answer on; whether there was one.
    async fn whole(&self, body: Incoming, message: &Value, out: &mpsc::Sender<Bytes>) -> bool {
        let limit = usize::try_from(AT_MOST).unwrap_or(usize::MAX);
        let Ok(body) = Limited::new(body, limit).collect().await else { return false };
        let body = body.to_bytes();
        let Ok(answer) = serde_json::from_slice::<Value>(&body) else { return false };
        if let Some(version) = answer["result"]["protocolVersion"].as_str() {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
        if answer.get("jsonrpc").is_none() {
            // A refusal of the channel as such: the trial is over, or there is no such channel.
            let why = answer["error"]["message"].as_str().unwrap_or("the channel refused");
            let failure = Failure { data: Some(answer.clone()), ..Failure::new(CONNECTION_CLOSED, why) };
            let id = message.get("id").unwrap_or(&Value::Null);
            return out.send(failure.to_response(id).to_string().into()).await.is_ok();
        }
        out.send(body).await.is_ok()
    }

    /// Passes events on as they come; whether an answer was among them.
    async fn events(&self, mut body: Incoming, out: &mpsc::Sender<Bytes>) -> bool {
        let mut events = Events::new(AT_MOST);
        let mut answered = false;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else { continue };
            if events.push(data).is_err() {
                return answered;
            }
            while let Some(data) = events.next() {
                let message: Value = serde_json::from_slice(&data).unwrap_or(Value::Null);
                answered |= message.get("method").is_none();
                if out.send(data.into()).await.is_err() {
                    return answered;
                }
            }
        }
        answered
    }

    /// What the channel says outside of any request.
    async fn listen(self: Arc<Self>, out: mpsc::Sender<Bytes>) {
        let request = self.request(Method::GET, self.headers(&json!({})), Taken::None);
        if let Ok(response) = self.client.send(request).await
            && response.status().is_success()
        {
            self.events(response.into_body(), &out).await;
        }
    }

    async fn leave(&self) {
        if self.session.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            let request = self.request(Method::DELETE, self.headers(&json!({})), Taken::None);
            let _ = self.client.send(request).await;
        }
    }
}

async fn write(
    mut output: impl AsyncWrite + Send + Unpin,
    mut lines: mpsc::Receiver<Bytes>,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.write_all(b"\n").await?;
        output.flush().await?;
    }
    Ok(())
}
