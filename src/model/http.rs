//! From a request on an address to its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};

use super::answer::Refused;
use super::dialect::{self, Wanted};
use super::endpoint::Shared;
use super::sent::Sent;
use super::session::{Address, Live, Reply};
use crate::scenario::{ModelFamily, Travel};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");
/// Says that an error is ours and not the script's, and which.
const OURS: &str = "mocktrial-model";
/// The official clients obey it.
const SHOULD_RETRY: &str = "x-should-retry";

/// Answers one request.
pub async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> Response<Sent> {
    let path = request.uri().path().trim_start_matches('/');
    let (claim, path) = path.split_once('/').unwrap_or((path, ""));
    let Some((live, address)) = shared.find(claim) else {
        let refused = Refused::new(403, "unknown_channel", "no trial has this model address");
        return failed(ModelFamily::OpenAi, &refused);
    };
    let path = path.to_owned();
    if live.closed.load(Ordering::Relaxed) {
        return failed(address.family, &Refused::new(403, "trial_closed", "the trial is over"));
    }
    match dialect::wanted(address.family, request.method(), &path) {
        Some(Wanted::Answer { api, model, stream }) => {
            let (parts, body) = request.into_parts();
            let limit = usize::try_from(live.limit).unwrap_or(usize::MAX);
            let Ok(body) = Limited::new(body, limit).collect().await else {
                let why = format!("the body broke off, or has more than {limit} bytes");
                return failed(address.family, &Refused::new(413, "body_too_large", why));
            };
            let reply = live.answer(&address, &parts.headers, api, (model, stream), &body.to_bytes());
            send(&address, reply).await
        }
        Some(Wanted::Models) => whole(StatusCode::OK, &dialect::models(address.family, &live.script.models)),
        Some(Wanted::Model(id)) if live.script.models.contains(&id) => {
            whole(StatusCode::OK, &dialect::model(address.family, &id))
        }
        Some(Wanted::Model(id)) => {
            let why = format!("there is no model `{id}`; `models` of the script names those there are");
            failed(address.family, &Refused::new(404, "model_not_found", why))
        }
        None => unserved(&live, &address, &format!("{} /{path}", request.method())),
    }
}

/// A path that no API here has: an error told to the app, and a finding.
fn unserved(live: &Live, address: &Address, request: &str) -> Response<Sent> {
    let why = format!("{request} is not served at this model address");
    let finding = crate::journal::FindingRow {
        code: "model_not_served".to_owned(),
        worker: address.worker.as_ref().map(|id| id.to_string()),
        detail: why.clone(),
    };
    match live.journal.append(&finding) {
        Ok(_) => failed(address.family, &Refused::new(404, "model_not_served", why)),
        Err(error) => failed(address.family, &Refused::new(503, "log_unavailable", error.to_string())),
    }
}

async fn send(address: &Address, reply: Reply) -> Response<Sent> {
    match reply {
        Reply::Refused(refused, travel) => {
            wait(travel).await;
            failed(address.family, &refused)
        }
        Reply::Malformed(travel) => {
            wait(travel).await;
            response(StatusCode::OK, JSON, Sent::whole(b"{\"id\": \"cut sho".to_vec(), false))
        }
        Reply::Answer { asked, answer, travel } if asked.stream => {
            wait(travel).await;
            let events = dialect::events(&asked, &answer);
            let all = events.len() as u64;
            let kept = travel.cut_after.unwrap_or(all).min(all);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            let pieces = events.iter().take(kept).map(|event| Bytes::from(event.bytes())).collect();
            response(StatusCode::OK, EVENTS, Sent::pieces(pieces, travel.pace, travel.cut_after.is_some()))
        }
        Reply::Answer { asked, answer, travel } => {
            wait(travel).await;
            let body = dialect::whole(&asked, &answer).to_string().into_bytes();
            response(StatusCode::OK, JSON, Sent::whole(body, travel.cut_after.is_some()))
        }
    }
}

async fn wait(travel: Travel) {
    if !travel.delay.is_zero() {
        tokio::time::sleep(travel.delay).await;
    }
}

fn response(status: StatusCode, kind: HeaderValue, body: Sent) -> Response<Sent> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn whole(status: StatusCode, body: &serde_json::Value) -> Response<Sent> {
    response(status, JSON, Sent::whole(body.to_string().into_bytes(), false))
}

fn failed(family: ModelFamily, refused: &Refused) -> Response<Sent> {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = whole(status, &dialect::error(family, refused));
    let headers = response.headers_mut();
    headers.insert(SHOULD_RETRY, HeaderValue::from_static(if refused.retry { "true" } else { "false" }));
    if let Some(seconds) = refused.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(code) = refused.code {
        headers.insert(OURS, HeaderValue::from_static(code));
    }
    response
}
