//! Calls that wait for more input: a server answered `input_required` (2026-07-28), and the client is to call again.
//! Several requests, one action: the second goes on with the permit and the attempt of the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::tools::same_call;
use crate::name::ToolName;
use crate::permit::Permit;
use crate::proxy::gate::{Call, Lane};
use crate::scenario::Tool;

/// So many wait at once; what is more is an attempt of its own when it comes again.
const AT_MOST: usize = 1024;

type Key = (usize, ToolName, String);

/// What waits. A call that never goes on leaves an attempt without an outcome: its effect is not known.
#[derive(Debug, Default)]
pub struct Parked(Mutex<HashMap<Key, (Permit, Call)>>);

impl Parked {
    /// Leaves a call open until `params` come again with the answer's `requestState`.
    pub fn keep(
        &self,
        lane: &Arc<Lane>,
        tool: &Tool,
        params: &Map<String, Value>,
        result: &Value,
        (permit, mut call): (Permit, Call),
    ) {
        call.rest();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < AT_MOST {
            all.insert(key(lane, tool, params, result.get("requestState")), (permit, call));
        }
    }

    /// The call that `params` go on with: of the same lane, tool and arguments, with the state that was given. Anything
    /// else is a call of its own, and asks for a permit of its own.
    pub fn take(&self, lane: &Arc<Lane>, tool: &Tool, params: &Map<String, Value>) -> Option<(Permit, Call)> {
        if !params.contains_key("inputResponses") && !params.contains_key("requestState") {
            return None;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (permit, mut call) = all.remove(&key(lane, tool, params, params.get("requestState")))?;
        // Once the trial is over it is late like any other.
        if call.trial().closed.is_cancelled() {
            return None;
        }
        call.go_on();
        Some((permit, call))
    }

    /// Gives all of them up.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn key(lane: &Arc<Lane>, tool: &Tool, params: &Map<String, Value>, state: Option<&Value>) -> Key {
    (Arc::as_ptr(lane) as usize, tool.name.clone(), same_call(params, state))
}
