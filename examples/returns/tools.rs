//! A worker's tools: HTTP calls to the one address that this worker knows.

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::Context;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::telemetry;

/// One worker's client.
pub struct Tools {
    address: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Tools {
    /// For the worker whose address stands in `variable`.
    pub fn new(variable: &str) -> Result<Self, String> {
        let address = std::env::var(variable).map_err(|error| format!("{variable}: {error}"))?;
        let address = address.trim_end_matches('/').to_owned();
        Ok(Self { address, client: Client::builder(TokioExecutor::new()).build_http() })
    }

    /// Calls `tool` and gives `{"status", "body"}`. A refusal is an answer for the model to read; an answer that never
    /// came has status 0.
    pub async fn call(&self, tool: &str, arguments: &Value, span: &Context) -> Value {
        match self.send(tool, arguments, span).await {
            Ok((status, body)) => json!({ "status": status, "body": body }),
            Err(error) => json!({ "status": 0, "body": { "error": { "code": error } } }),
        }
    }

    async fn send(&self, tool: &str, arguments: &Value, span: &Context) -> Result<(u16, Value), String> {
        let order = arguments["order_id"].as_str().unwrap_or_default();
        let order = utf8_percent_encode(order, NON_ALPHANUMERIC);
        let (method, path) = match tool {
            "get_order" => (Method::GET, format!("/orders/{order}")),
            "cancel_order" => (Method::DELETE, format!("/orders/{order}")),
            _ => (Method::POST, "/refunds".to_owned()),
        };
        let body = if method == Method::POST { arguments.to_string() } else { String::new() };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address))
            .header("content-type", "application/json")
            .body(Full::from(body))
            .map_err(|error| error.to_string())?;
        telemetry::inject(span, request.headers_mut());
        let answer = self.client.request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        let body = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        Ok((status, body))
    }
}
