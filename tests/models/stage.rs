//! An endpoint with the addresses of one trial, and its record.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use mocktrial::clock::Clock;
use mocktrial::journal::{Journal, RedactionKey, Redactor};
use mocktrial::model::{Endpoint, ModelTokens, Session, SessionSpec};
use mocktrial::scenario::{Case, Contract, Source, contract_from};
use serde_json::Value;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// The contract of this folder, its script taken from `script`.
pub fn contract(script: &str) -> Contract {
    let path = folder().join("contract.yaml");
    let text = std::fs::read_to_string(&path).expect("the contract");
    let source = Source { path, text: text.replace("model.yaml", script).into() };
    contract_from(source, &|path| std::fs::read_to_string(path)).expect("a good contract")
}

pub fn endpoint() -> Endpoint {
    Endpoint::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("an endpoint")
}

/// One trial.
pub struct Trial {
    pub session: Session,
    record: tempfile::TempDir,
}

impl Trial {
    pub fn open(endpoint: &Endpoint, contract: &Contract, case: &Case) -> Self {
        let record = tempfile::tempdir().expect("a folder");
        let tokens = ModelTokens::new(contract).expect("randomness");
        let key = RedactionKey::random().expect("randomness");
        let secrets: Vec<&str> = tokens.all().map(mocktrial::name::Token::expose).collect();
        let redactor = Arc::new(Redactor::new(key, secrets).expect("a redactor"));
        let path = record.path().join("record.jsonl");
        let journal = Journal::create(&path, Clock::start(), 64 << 20, redactor).expect("a record");
        let spec = SessionSpec { contract, tokens: &tokens, case, journal };
        Self { session: endpoint.open(spec).expect("a scripted model"), record }
    }

    pub fn address(&self, variable: &str) -> String {
        let mut env = self.session.env().iter();
        env.find(|(name, _)| name == variable).expect("a variable").1.clone()
    }

    /// Rows of a kind, as they stand in the record.
    pub fn rows(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.record.path().join("record.jsonl")).expect("the record");
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
        rows.filter(|row| row["row"] == kind).collect()
    }
}

pub fn no_case() -> Case {
    BTreeMap::new()
}

/// Status, headers and body of a POST, or why the body did not come.
pub async fn post(
    url: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (http::Response<()>, Result<String, String>) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let mut request = http::Request::post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_string()))).expect("a request");
    let (parts, body) = client.request(request).await.expect("an answer").into_parts();
    let body = body.collect().await.map_err(|error| error.to_string());
    let text = body.map(|body| String::from_utf8(body.to_bytes().to_vec()).expect("text"));
    (http::Response::from_parts(parts, ()), text)
}

/// A chat request of one user's message.
pub fn chat(user: &str) -> Value {
    serde_json::json!({ "model": "test-model", "messages": [{ "role": "user", "content": user }] })
}
