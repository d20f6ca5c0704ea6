//! A help desk: a front that hands work to three workers, each of which reads its tools from the OpenAPI document of its
//! own address, as a client that knows nothing of the service beforehand does.
//!
//! Its model is scripted (`script.rs`), so it runs without a network and without a key; its spans are those of the
//! returns desk.
//!
//! ```text
//! PORT                                       where the door listens: GET /health, POST /chat {"session","message"}
//! KNOWLEDGE_URL, TICKETS_URL, DISPATCH_URL   each worker's base address; /openapi.json below it says what is there
//! OTEL_…, FLUSH_BEFORE_REPLY                 as for the returns desk
//! MISBEHAVE                                  what goes wrong:
//!   self_assigns   the tickets worker assigns the ticket itself, by a path that its document does not name
//!   escalates      the front passes control to the tickets worker for good instead of asking it
//! ```

#[path = "helpdesk/desk.rs"]
mod desk;
#[path = "helpdesk/script.rs"]
mod script;
#[path = "returns/telemetry.rs"]
mod telemetry;
#[path = "helpdesk/tools.rs"]
mod tools;

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use desk::Desk;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let desk = Arc::new(Desk::new()?);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let desk = Arc::clone(&desk);
        let door = service_fn(move |request| answer(Arc::clone(&desk), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), door));
    }
}

/// The door.
async fn answer(desk: Arc<Desk>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => (StatusCode::OK, json!({ "ok": true })),
        (&Method::POST, "/chat") => match said(request).await {
            Some((session, message)) => {
                (StatusCode::OK, json!({ "reply": desk.turn(&session, &message).await }))
            }
            None => (StatusCode::BAD_REQUEST, json!({ "error": "session and message are texts" })),
        },
        _ => (StatusCode::NOT_FOUND, json!({ "error": "no such route" })),
    };
    let mut response = Response::new(Full::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Session and message of a chat request.
async fn said(request: Request<Incoming>) -> Option<(String, String)> {
    let body = request.into_body().collect().await.ok()?.to_bytes();
    let body: Value = serde_json::from_slice(&body).ok()?;
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    Some((text("session")?, text("message")?))
}
