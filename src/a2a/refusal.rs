//! How a refusal of ours is said in A2A: as an error the official clients know, our code in its metadata.
//!
//! Reason and domain stay the protocol's (A2A 1.0, `UnsupportedOperationError`): on HTTP+JSON the official client loses
//! message and metadata of an error with a reason of its own.

use serde_json::{Value, json};

/// The protocol's code of an operation that is not supported.
const CODE: i64 = -32004;

/// A refusal as the app is to read it. Holds no secret.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// Our code, e.g. `agent.unknown`.
    pub code: &'a str,
    /// For people, and for the model that reads it.
    pub sentence: &'a str,
    /// Whose request.
    pub worker: Option<&'a str>,
    /// Which agent was asked for.
    pub agent: &'a str,
    /// Ids that could have been asked for, sorted.
    pub available: &'a [&'a str],
}

impl Refused<'_> {
    /// The JSON-RPC answer to the request of that id, sent with status 200.
    pub fn over_json_rpc(&self, id: &Value) -> Value {
        json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": CODE, "message": self.message(), "data": [self.info()] },
        })
    }

    /// The HTTP+JSON answer, sent with status 400.
    pub fn over_http(&self) -> Value {
        let (message, info) = (self.message(), self.info());
        json!({ "error": { "code": 400, "status": "FAILED_PRECONDITION", "message": message, "details": [info] } })
    }

    fn message(&self) -> String {
        format!("{}: {}", self.code, self.sentence)
    }

    /// A `google.rpc.ErrorInfo`, whose metadata are strings.
    fn info(&self) -> Value {
        let mut metadata = json!({
            "code": self.code,
            "agent": self.agent,
            "available": self.available.join(", "),
        });
        if let Some(worker) = self.worker {
            metadata["worker"] = worker.into();
        }
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "UNSUPPORTED_OPERATION",
            "domain": "a2a-protocol.org",
            "metadata": metadata,
        })
    }
}
