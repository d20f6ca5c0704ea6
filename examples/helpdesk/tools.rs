//! A worker's tools, as the OpenAPI document at its address describes them.

use std::collections::HashMap;

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::Context;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use super::telemetry;

/// One worker's client.
pub struct Tools {
    address: String,
    client: Client<HttpConnector, Full<Bytes>>,
    described: OnceCell<HashMap<String, Operation>>,
}

/// One tool, from the document.
struct Operation {
    method: Method,
    path: String,
    in_path: Vec<String>,
    in_query: Vec<String>,
}

impl Tools {
    /// For the worker whose address stands in `variable`.
    pub fn new(variable: &str) -> Result<Self, String> {
        let address = std::env::var(variable).map_err(|error| format!("{variable}: {error}"))?;
        let address = address.trim_end_matches('/').to_owned();
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { address, client, described: OnceCell::new() })
    }

    /// Calls `tool` and gives `{"status", "body"}`. A refusal is an answer for the model to read; a tool that is not
    /// described, and an answer that never came, have status 0.
    pub async fn call(&self, tool: &str, arguments: &Value, span: &Context) -> Value {
        let called = async {
            let described = self.described.get_or_try_init(|| self.read(span)).await?;
            let operation = described.get(tool).ok_or("tool_not_described")?;
            let (path, body) = operation.filled(arguments);
            self.send(&operation.method, &path, body.as_ref(), span).await
        };
        told(called.await)
    }

    /// A request by hand.
    pub async fn request(&self, method: &Method, path: &str, body: &Value, span: &Context) -> Value {
        told(self.send(method, path, Some(body), span).await)
    }

    async fn read(&self, span: &Context) -> Result<HashMap<String, Operation>, String> {
        let (_, document) = self.send(&Method::GET, "/openapi.json", None, span).await?;
        let paths = document["paths"].as_object().ok_or("no_document")?;
        let mut described = HashMap::new();
        for (path, methods) in paths {
            for (method, told) in methods.as_object().into_iter().flatten() {
                let named = |place: &str| {
                    let parameters = told["parameters"].as_array().into_iter().flatten();
                    let here = parameters.filter(|one| one["in"] == place);
                    here.filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
                };
                let method = Method::from_bytes(method.to_uppercase().as_bytes());
                let operation = Operation {
                    method: method.map_err(|error| error.to_string())?,
                    path: path.clone(),
                    in_path: named("path"),
                    in_query: named("query"),
                };
                let name = told["operationId"].as_str().unwrap_or(path);
                described.insert(name.to_owned(), operation);
            }
        }
        Ok(described)
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        span: &Context,
    ) -> Result<(u16, Value), String> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header("content-type", "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))
            .map_err(|error| error.to_string())?;
        telemetry::inject(span, request.headers_mut());
        let answer = self.client.request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok((status, serde_json::from_slice(&body.to_bytes()).unwrap_or_default()))
    }
}

fn told(called: Result<(u16, Value), String>) -> Value {
    match called {
        Ok((status, body)) => json!({ "status": status, "body": body }),
        Err(error) => json!({ "status": 0, "body": { "error": { "code": error } } }),
    }
}

impl Operation {
    /// Path with query, and the body: what stands in neither.
    fn filled(&self, arguments: &Value) -> (String, Option<Value>) {
        let mut left: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let mut path = self.path.clone();
        for name in &self.in_path {
            let value = left.remove(name).unwrap_or_default();
            path = path.replace(&format!("{{{name}}}"), &encoded(&value));
        }
        let mut query = Vec::new();
        for name in &self.in_query {
            match left.remove(name) {
                Some(Value::Array(items)) => {
                    query.extend(items.iter().map(|item| format!("{name}={}", encoded(item))));
                }
                Some(value) => query.push(format!("{name}={}", encoded(&value))),
                None => {}
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let has_body = [Method::POST, Method::PUT, Method::PATCH].contains(&self.method);
        (path, has_body.then_some(Value::Object(left)))
    }
}

fn encoded(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
}
