//! A returns desk: a coordinator that hands work to two workers, as an example of an app under trial.
//!
//! It is what any app of several agents is, made small: each agent asks a model what to do next and does it, each
//! worker has an HTTP client of its own for its tools, spans go out in OpenTelemetry's GenAI conventions, and a door
//! takes what the customer says. Only the model is not real: `model.rs` answers by script, from what it is shown, so
//! that the desk runs without a network and without a key.
//!
//! ```text
//! PORT                where the door listens: GET /health, POST /chat {"session","message"} -> {"reply"}
//! ORDER_LOOKUP_URL    base address of the order lookup worker's tools
//! REFUND_URL          base address of the refund worker's tools
//! OTEL_…              as every OpenTelemetry SDK reads them
//! FLUSH_BEFORE_REPLY  any value: spans are out before the customer has the reply
//! MISBEHAVE           what goes wrong, words with commas between:
//!   cancels_order         the refund worker first tries to cancel the order, which no worker may
//!   refunds_twice         it issues the refund again after it was issued
//!   wrong_amount          it refunds ten times the price
//!   lies                  it says that it refunded, and does nothing
//!   lookup_address        it calls its tools at the order lookup worker's address
//!   dies                  the app ends with status 70 when the refund worker is asked
//!   hangs:WORKER          that worker (order_lookup, refund) is asked and never answers
//!   slow_coordinator:MS   the coordinator thinks so many milliseconds before it asks anybody
//!   transfers             the coordinator passes control to the refund worker for good instead of asking it
//!   leaves_child          a process in a session of its own is left behind
//!   never_ready           GET /health answers 503
//!   no_spans              nothing is exported
//! ```

#[path = "returns/desk.rs"]
mod desk;
#[path = "returns/misbehave.rs"]
mod misbehave;
#[path = "returns/model.rs"]
mod model;
#[path = "returns/telemetry.rs"]
mod telemetry;
#[path = "returns/tools.rs"]
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
use misbehave::Ways;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::var("PORT")?.parse()?;
    let desk = Arc::new(Desk::new(Ways::from_env()?)?);
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
        (&Method::GET, "/health") if desk.ways.has("never_ready") => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({}))
        }
        (&Method::GET, "/health") => (StatusCode::OK, json!({ "ok": true })),
        (&Method::POST, "/chat") => match said(request).await {
            Some((session, message)) => {
                let reply = desk.turn(&session, &message).await;
                (StatusCode::OK, json!({ "reply": reply }))
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
