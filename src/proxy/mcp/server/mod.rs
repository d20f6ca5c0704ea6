//! An MCP server behind the channels of one trial. To it we are the client: its answers pass as they came, and what it
//! asks of its client is put to the app that called.

mod exchange;
mod over_http;
mod over_pipe;

use std::collections::HashMap;
use std::sync::Arc;

use http::Uri;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use over_pipe::Pipes;

use super::caller::{Caller, Out};
use super::era::{self, Era};
use super::message::{Failure, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, Notification, Request};
use crate::permit::Permit;
use exchange::{Event, Exchange};
use over_http::HttpLink;
use over_pipe::PipeLink;

/// Pages of one list at most.
const PAGES: usize = 100;
/// Times that one call may want more input, where we ask for it ourselves.
const ROUNDS: usize = 32;

/// One server.
#[derive(Debug)]
pub struct Server {
    name: String,
    reach: Reach,
    /// The longest message, in bytes.
    at_most: u64,
    sealed: CancellationToken,
}

#[derive(Debug)]
enum Reach {
    /// A process of ours, one for the whole trial.
    Pipe(Arc<PipeLink>, OnceCell<About>),
    /// A service; each client has a session of its own there.
    Http { url: Uri, links: tokio::sync::Mutex<HashMap<u64, Arc<HttpLink>>> },
}

/// What a server said of itself.
#[derive(Clone, Debug)]
pub struct About {
    era: Era,
    /// The version spoken.
    version: String,
    /// Its `initialize` or `server/discover` result.
    said: Value,
}

/// Who asks, and whom the server may ask back.
pub struct Asker<'a> {
    pub caller: &'a Caller,
    pub request: &'a Request,
    pub out: &'a Out,
    pub cancel: CancellationToken,
}

/// What came of asking.
#[derive(Debug)]
pub enum Gave {
    /// The result, as it came.
    Result(Value),
    /// The error, as it came.
    Failure(Value),
    /// The client gave the request up.
    Cancelled,
    /// Nothing, and why: for the app, so no address is named.
    Nothing(&'static str),
}

impl Gave {
    /// Of a response.
    fn of(mut response: Value) -> Self {
        match response.get_mut("result") {
            Some(result) => Self::Result(result.take()),
            None => Self::Failure(response["error"].take()),
        }
    }
}

/// A connection to a server.
#[derive(Clone, Debug)]
enum Link {
    Pipe(Arc<PipeLink>),
    Http(Arc<HttpLink>),
}

impl Server {
    /// On the standard streams of a process.
    pub fn on_pipes(name: &str, pipes: Pipes, at_most: u64, sealed: CancellationToken) -> Self {
        let link = PipeLink::start(pipes, at_most);
        Self { name: name.to_owned(), reach: Reach::Pipe(link, OnceCell::new()), at_most, sealed }
    }

    /// At a URL.
    pub fn at(name: &str, url: Uri, at_most: u64, sealed: CancellationToken) -> Self {
        let reach = Reach::Http { url, links: tokio::sync::Mutex::default() };
        Self { name: name.to_owned(), reach, at_most, sealed }
    }

    /// What the server said of itself.
    pub async fn about(&self, asker: &Asker<'_>) -> Result<Value, &'static str> {
        let (_, about) = self.link(asker).await?;
        Ok(about.said)
    }

    /// All of its tools, as it describes them.
    pub async fn tools(&self, asker: &Asker<'_>) -> Result<Vec<Value>, Failure> {
        let mut tools = Vec::new();
        let mut params = asker.request.params.clone();
        params.remove("cursor");
        for _ in 0..PAGES {
            match self.ask(None, asker, "tools/list", params.clone()).await {
                Gave::Result(mut page) => {
                    if let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) {
                        tools.extend(more);
                    }
                    match page.get("nextCursor") {
                        Some(cursor @ Value::String(_)) => {
                            params.insert("cursor".to_owned(), cursor.clone());
                        }
                        _ => return Ok(tools),
                    }
                }
                Gave::Failure(error) => {
                    let why = format!("the server `{}` does not list its tools: {error}", self.name);
                    return Err(Failure::new(INTERNAL_ERROR, why));
                }
                Gave::Cancelled => return Ok(tools),
                Gave::Nothing(why) => {
                    let why = format!("the server `{}` does not list its tools: {why}", self.name);
                    return Err(Failure::new(INTERNAL_ERROR, why));
                }
            }
        }
        Ok(tools)
    }

    /// Puts a request to it. `_permit`: for whatever is an action; none for what only tells.
    pub async fn ask(
        &self,
        _permit: Option<&Permit>,
        asker: &Asker<'_>,
        method: &str,
        mut params: Map<String, Value>,
    ) -> Gave {
        let (link, about) = match self.link(asker).await {
            Ok(linked) => linked,
            Err(why) => return Gave::Nothing(why),
        };
        let asks_itself = about.era == Era::Stateless && asker.caller.era == Era::Handshake;
        for _ in 0..ROUNDS {
            let gave = self.exchange(&link, &about, asker, method, params.clone()).await;
            match gave {
                // A client of the earlier era is asked while its call is open.
                Gave::Result(result) if asks_itself && result["resultType"] == "input_required" => {
                    let Some(responses) = asker.inputs(&result).await else { return Gave::Cancelled };
                    params.insert("inputResponses".to_owned(), responses);
                    match result.get("requestState") {
                        Some(state) => params.insert("requestState".to_owned(), state.clone()),
                        None => params.remove("requestState"),
                    };
                }
                other => return other,
            }
        }
        Gave::Nothing("the server wants ever more input")
    }

    async fn exchange(
        &self,
        link: &Link,
        about: &About,
        asker: &Asker<'_>,
        method: &str,
        mut params: Map<String, Value>,
    ) -> Gave {
        let (id, mut exchange) = link.new_exchange();
        fit(about.era, asker, &mut params);
        // A token of ours, since those of two clients may be alike on one pipe.
        let token = params.get_mut("_meta").and_then(|meta| meta.get_mut("progressToken"));
        let progress = token.map(|token| std::mem::replace(token, json!(id)));
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if let Err(why) = link.send(asker.caller, about, message, Some(&exchange)).await {
            return Gave::Nothing(why);
        }
        loop {
            let event = tokio::select! {
                event = exchange.next() => event,
                () = asker.cancel.cancelled() => return self.give_up(link, about, asker, id).await,
                () = asker.out.closed(), if asker.caller.era == Era::Stateless => {
                    return self.give_up(link, about, asker, id).await;
                }
                () = self.sealed.cancelled() => return Gave::Nothing("the trial ended before the server answered"),
            };
            match event {
                Event::Response(response) => return Gave::of(response),
                Event::Notification(mut notification) => {
                    if let (Some(mine), Some(theirs)) =
                        (notification.pointer_mut("/params/progressToken"), &progress)
                    {
                        *mine = theirs.clone();
                    }
                    // A client that does not read its progress still gets its answer.
                    let _ = asker.out.try_send(notification);
                }
                Event::Request(request) => {
                    let answer = asker.answer(&request).await;
                    if link.send(asker.caller, about, answer, None).await.is_err() {
                        return Gave::Nothing("the server is gone");
                    }
                }
                Event::Gone(why) => return Gave::Nothing(why),
            }
        }
    }

    /// Tells the server that its request is not waited for any more.
    async fn give_up(&self, link: &Link, about: &About, asker: &Asker<'_>, id: u64) -> Gave {
        let params = json!({ "requestId": id, "reason": "the client gave the request up" });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        // In the later era over HTTP the end of the connection says it.
        if !(about.era == Era::Stateless && matches!(link, Link::Http(_))) {
            let _ = link.send(asker.caller, about, message, None).await;
        }
        Gave::Cancelled
    }

    /// Passes a client's notification on.
    pub async fn tell(&self, caller: &Caller, notification: &Notification) {
        let linked = match &self.reach {
            Reach::Pipe(link, about) => {
                about.get().map(|about| (Link::Pipe(Arc::clone(link)), about.clone()))
            }
            Reach::Http { links, .. } => {
                let number = caller.session.as_ref().map_or(0, |session| session.number);
                let link = links.lock().await.get(&number).cloned();
                link.map(|link| (Link::Http(Arc::clone(&link)), link.about().clone()))
            }
        };
        if let Some((link, about)) = linked {
            let _ = link.send(caller, &about, notification.to_value(), None).await;
        }
    }

    /// Ends what a client has there.
    pub async fn leave(&self, session: u64) {
        if let Reach::Http { links, .. } = &self.reach
            && let Some(link) = links.lock().await.remove(&session)
        {
            link.close().await;
        }
    }

    /// The connection for this client, opened where there is none yet.
    async fn link(&self, asker: &Asker<'_>) -> Result<(Link, About), &'static str> {
        let session = asker.caller.session.as_ref();
        match &self.reach {
            Reach::Pipe(link, about) => {
                let link = Link::Pipe(Arc::clone(link));
                let about = about.get_or_try_init(|| self.meet(&link, asker)).await?;
                if let (Link::Pipe(pipe), Some(session)) = (&link, session) {
                    pipe.listened_by(session);
                }
                Ok((link, about.clone()))
            }
            Reach::Http { url, links } => {
                let number = session.map_or(0, |session| session.number);
                let mut links = links.lock().await;
                if let Some(link) = links.get(&number).filter(|link| !link.is_lost()) {
                    return Ok((Link::Http(Arc::clone(link)), link.about().clone()));
                }
                let link = Arc::new(HttpLink::new(url.clone(), &asker.caller.shared, self.at_most));
                let about = self.meet(&Link::Http(Arc::clone(&link)), asker).await?;
                link.met(about.clone(), session);
                links.insert(number, Arc::clone(&link));
                Ok((Link::Http(link), about))
            }
        }
    }

    /// Finds out what a server speaks: the client's own era first, so that nothing has to be translated.
    async fn meet(&self, link: &Link, asker: &Asker<'_>) -> Result<About, &'static str> {
        let order = match asker.caller.era {
            Era::Handshake => [Era::Handshake, Era::Stateless],
            Era::Stateless => [Era::Stateless, Era::Handshake],
        };
        for era in order {
            let met = match era {
                Era::Handshake => self.shake_hands(link, asker).await,
                Era::Stateless => self.discover(link, asker).await,
            };
            match met {
                Gave::Result(said) => {
                    let version = said["protocolVersion"].as_str().unwrap_or(era::STATELESS).to_owned();
                    let about = About { era, version, said };
                    if era == Era::Handshake {
                        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                        link.send(asker.caller, &about, initialized, None).await?;
                    }
                    return Ok(about);
                }
                Gave::Failure(_) => {}
                Gave::Nothing(why) => return Err(why),
                Gave::Cancelled => return Err("the client gave the request up"),
            }
        }
        Err("the server speaks no version of MCP that is spoken here")
    }

    async fn shake_hands(&self, link: &Link, asker: &Asker<'_>) -> Gave {
        let session = asker.caller.session.as_ref();
        let alone = match link {
            Link::Http(_) => true,
            Link::Pipe(_) => session.is_some_and(|session| session.is_pipe()),
        };
        let client = session.map(|session| session.client()).unwrap_or_default();
        let capabilities = if alone {
            asker.caller.capabilities(asker.request)
        } else {
            // Several clients of one process: each is asked for what it can do when it comes to that.
            json!({ "roots": {}, "sampling": {}, "elicitation": { "form": {}, "url": {} } })
        };
        let info = if client.info.get("name").is_some() { client.info } else { era::server_info() };
        let params =
            json!({ "protocolVersion": client.version, "capabilities": capabilities, "clientInfo": info });
        let about = About { era: Era::Handshake, version: client.version, said: Value::Null };
        self.first(link, &about, asker, "initialize", params).await
    }

    async fn discover(&self, link: &Link, asker: &Asker<'_>) -> Gave {
        let about = About { era: Era::Stateless, version: era::STATELESS.to_owned(), said: Value::Null };
        let params = json!({ "_meta": asker.caller.envelope(asker.request) });
        self.first(link, &about, asker, "server/discover", params).await
    }

    async fn first(
        &self,
        link: &Link,
        about: &About,
        asker: &Asker<'_>,
        method: &str,
        params: Value,
    ) -> Gave {
        let (id, mut exchange) = link.new_exchange();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if let Err(why) = link.send(asker.caller, about, message, Some(&exchange)).await {
            return Gave::Nothing(why);
        }
        loop {
            let event = tokio::select! {
                event = exchange.next() => event,
                () = self.sealed.cancelled() => return Gave::Nothing("the trial ended before the server answered"),
            };
            match event {
                Event::Response(response) => return Gave::of(response),
                Event::Gone(why) => return Gave::Nothing(why),
                Event::Notification(_) | Event::Request(_) => {}
            }
        }
    }
}

/// Makes a client's parameters what a server of this era expects.
fn fit(era: Era, asker: &Asker<'_>, params: &mut Map<String, Value>) {
    match era {
        Era::Stateless => {
            let mut meta = asker.caller.envelope(asker.request);
            if let Some(Value::Object(own)) = params.remove("_meta") {
                meta.extend(own);
            }
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        Era::Handshake => {
            if let Some(Value::Object(meta)) = params.get_mut("_meta") {
                for name in [era::META_VERSION, era::META_CAPABILITIES, era::META_CLIENT] {
                    meta.remove(name);
                }
                if meta.is_empty() {
                    params.remove("_meta");
                }
            }
        }
    }
}

impl Link {
    fn new_exchange(&self) -> (u64, Exchange) {
        match self {
            Self::Pipe(link) => link.new_exchange(),
            Self::Http(link) => link.new_exchange(),
        }
    }

    async fn send(
        &self,
        caller: &Caller,
        about: &About,
        message: Value,
        exchange: Option<&Exchange>,
    ) -> Result<(), &'static str> {
        match self {
            Self::Pipe(link) => link.send(&message).await,
            Self::Http(link) => link.send(caller, about, message, exchange.map(Exchange::sender)).await,
        }
    }
}

/// What a client has to have said to be asked this.
fn capability(method: &str) -> &str {
    method.split('/').next().unwrap_or_default()
}

impl Asker<'_> {
    /// Puts a server's request to the client; the answer under the server's id.
    async fn answer(&self, request: &Value) -> Value {
        let id = &request["id"];
        let method = request["method"].as_str().unwrap_or_default();
        if method == "ping" {
            return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        }
        match self.put(method, request["params"].clone()).await {
            Ok(mut response) => {
                response.insert("id".to_owned(), id.clone());
                Value::Object(response)
            }
            Err(failure) => failure.to_response(id),
        }
    }

    async fn put(&self, method: &str, params: Value) -> Result<Map<String, Value>, Failure> {
        let session = self.caller.session.as_ref().filter(|_| self.caller.era == Era::Handshake);
        let Some(session) = session else {
            let why = format!("Cannot send '{method}': the client's version has no requests of servers");
            return Err(Failure::new(INVALID_REQUEST, why));
        };
        let can = self.caller.capabilities(self.request);
        if can.get(capability(method)).is_none() {
            let why = format!("the client did not say that it can answer '{method}'");
            return Err(Failure::new(METHOD_NOT_FOUND, why));
        }
        let (id, answer) = session.ask();
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        let gone = || Failure::new(INTERNAL_ERROR, "the client is gone");
        self.out.send(message).await.map_err(|_| gone())?;
        tokio::select! {
            answered = answer => answered.map_err(|_| gone()),
            () = self.cancel.cancelled() => Err(gone()),
            () = self.out.closed() => Err(gone()),
        }
    }

    /// Asks the client for everything that a result wants; none where the client is gone.
    async fn inputs(&self, result: &Value) -> Option<Value> {
        let mut responses = Map::new();
        for (key, wanted) in result["inputRequests"].as_object()? {
            let method = wanted["method"].as_str().unwrap_or_default();
            let answer = self.put(method, wanted["params"].clone()).await.ok()?;
            responses.insert(key.clone(), answer.get("result").cloned().unwrap_or_else(|| json!({})));
        }
        Some(Value::Object(responses))
    }
}
