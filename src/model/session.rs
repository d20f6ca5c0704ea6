//! One trial's model calls: who asked, what the script says, and the row of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use serde_json::{Value, json};

use super::answer::{Answer, Refused};
use super::asked::Asked;
use super::dialect;
use super::endpoint::Shared;
use super::script::{self, Fit, excerpt};
use crate::journal::{FindingRow, Journal, JournalError, ModelRow};
use crate::name::WorkerId;
use crate::scenario::{Case, Fail, ModelApi, ModelFamily, Retry, Script, Travel};
use crate::spans::TraceParent;

/// Different requests of one trial whose retries are told apart.
const REMEMBERED: usize = 10_000;

/// The open addresses of one trial. Dropped, they open nothing any more.
pub struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) live: Arc<Live>,
    pub(super) env: Vec<(String, String)>,
}

impl Session {
    /// Variables that tell the app where its model is.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Calls that come from here on are late: refused, and no row.
    pub fn close(&self) {
        self.live.closed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.forget(&self.live);
    }
}

/// What every call of the trial needs.
pub struct Live {
    pub script: Script,
    pub case: Case,
    pub journal: Journal,
    /// Bytes of one body.
    pub limit: u64,
    pub closed: AtomicBool,
    pub seen: Mutex<HashMap<(usize, String), Seen>>,
}

/// What became of a request when it was first seen.
#[derive(Clone, Copy)]
pub struct Seen {
    row: u64,
    failed: bool,
}

/// One address of the trial.
#[derive(Clone, Debug)]
pub struct Address {
    /// Its place among the trial's.
    pub index: usize,
    /// What is spoken there.
    pub family: ModelFamily,
    /// Whose it is.
    pub worker: Option<WorkerId>,
}

/// What is sent back.
pub enum Reply {
    /// An answer.
    Answer {
        /// For its form.
        asked: Box<Asked>,
        /// What is said.
        answer: Answer,
        /// How it travels.
        travel: Travel,
    },
    /// A body that is no JSON.
    Malformed(Travel),
    /// An error.
    Refused(Refused, Travel),
}

impl Live {
    /// Answers a request and writes its row. `body` is not kept.
    pub fn answer(
        &self,
        address: &Address,
        headers: &HeaderMap,
        api: ModelApi,
        path: (Option<String>, bool),
        body: &[u8],
    ) -> Reply {
        let asked = match Asked::read(api, path.0, path.1, body) {
            Ok(asked) => asked,
            Err(why) => {
                let refused = Refused::new(400, "invalid_request", why);
                return self.unanswered(address, "model_bad_request", refused, || ModelRow {
                    api: api.word().to_owned(),
                    ..blank(address, headers)
                });
            }
        };
        let digest = asked.digest();
        let key = (address.index, digest.clone());
        let before = self.remembered(&key);
        // The official clients say which try it is; where nobody does, one after a failure is a retry.
        let tries =
            headers.get("x-stainless-retry-count").and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        let retry_of = before.filter(|seen| tries.map_or(seen.failed, |tries| tries > 0));
        let row = || ModelRow {
            api: api.word().to_owned(),
            asked: Some(asked.model.clone()),
            digest: digest.clone(),
            retry_of: retry_of.map(|seen| seen.row),
            detail: json!({ "system": excerpt(&asked.system), "last": excerpt(asked.last()), "stream": asked.stream }),
            ..blank(address, headers)
        };
        let worker = address.worker.as_ref();
        let fit = match script::find(&self.script, &asked, worker) {
            Ok(fit) => fit,
            Err(unseen) => {
                let refused = Refused::new(400, "model_unseen", unseen.0);
                return self.unanswered(address, "model_unseen", refused, row);
            }
        };
        let retried = retry_of.is_some() || tries.is_some_and(|tries| tries > 0);
        let (reply, row) = match outcome(&fit, retried) {
            Some(Fail::Malformed) => {
                (Reply::Malformed(fit.rule.travel), ModelRow { rule: Some(fit.rule.id.clone()), ..row() })
            }
            Some(Fail::Status { status, message, retry_after, retry }) => {
                let refused = Refused {
                    status: status.unwrap_or_else(|| dialect::overloaded(address.family)),
                    message: message
                        .clone()
                        .unwrap_or_else(|| format!("the script says so (rule `{}`)", fit.rule.id)),
                    code: None,
                    retry_after: *retry_after,
                    retry: *retry != Retry::Never,
                };
                let row = ModelRow { rule: Some(fit.rule.id.clone()), status: refused.status, ..row() };
                (Reply::Refused(refused, fit.rule.travel), row)
            }
            None => match script::answer(&fit, &asked, worker, &self.case) {
                Ok(answer) => {
                    let row = answered(row(), &fit, &answer);
                    (Reply::Answer { asked: Box::new(asked.clone()), answer, travel: fit.rule.travel }, row)
                }
                Err(error) => {
                    let why = format!("rule `{}` (line {}): {error}", fit.rule.id, fit.rule.pos.line);
                    let refused = Refused::new(400, "model_script_failed", why);
                    return self.unanswered(address, "model_script_failed", refused, row);
                }
            },
        };
        let failed = !matches!(reply, Reply::Answer { .. }) || fit.rule.travel.cut_after.is_some();
        match self.journal.append(&row) {
            Ok(written) => {
                self.remember(key, Seen { row: before.map_or(written, |seen| seen.row), failed });
                reply
            }
            Err(error) => log_unavailable(&error),
        }
    }

    fn remembered(&self, key: &(usize, String)) -> Option<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn remember(&self, key: (usize, String), seen: Seen) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < REMEMBERED || all.contains_key(&key) {
            all.insert(key, seen);
        }
    }

    /// An error that is nobody's wish: a row and a finding.
    fn unanswered(
        &self,
        address: &Address,
        code: &str,
        refused: Refused,
        row: impl FnOnce() -> ModelRow,
    ) -> Reply {
        let finding = FindingRow {
            code: code.to_owned(),
            worker: address.worker.as_ref().map(WorkerId::to_string),
            detail: refused.message.clone(),
        };
        let row = ModelRow { status: refused.status, ..row() };
        match self.journal.append(&row).and_then(|_| self.journal.append(&finding)) {
            Ok(_) => Reply::Refused(refused, Travel::default()),
            Err(error) => log_unavailable(&error),
        }
    }
}

/// The error of this try; none where it is answered.
fn outcome<'r>(fit: &Fit<'r>, retried: bool) -> Option<&'r Fail> {
    match fit.rule.fail.as_ref()? {
        Fail::Status { retry: Retry::Answered, .. } if retried => None,
        fail => Some(fail),
    }
}

fn answered(row: ModelRow, fit: &Fit<'_>, answer: &Answer) -> ModelRow {
    let mut detail = row.detail;
    detail["said"] = answer.text.as_deref().map(excerpt).into();
    let calls = answer.calls.iter().map(|call| json!({ "tool": call.tool, "arguments": call.arguments }));
    detail["calls"] = calls.collect();
    ModelRow {
        served: Some(answer.model.clone()),
        input_tokens: Some(answer.input),
        output_tokens: Some(answer.output),
        rule: Some(fit.rule.id.clone()),
        detail,
        ..row
    }
}

fn blank(address: &Address, headers: &HeaderMap) -> ModelRow {
    let trace = TraceParent::of(headers);
    ModelRow {
        worker: address.worker.as_ref().map(WorkerId::to_string),
        basis: address.worker.as_ref().map(|_| "address".to_owned()),
        api: String::new(),
        asked: None,
        served: None,
        digest: String::new(),
        input_tokens: None,
        output_tokens: None,
        rule: None,
        status: 200,
        retry_of: None,
        trace_id: trace.map(|trace| trace.trace_id.to_string()),
        span_id: trace.map(|trace| trace.span_id.to_string()),
        detail: Value::Null,
    }
}

/// No row, no answer.
fn log_unavailable(error: &JournalError) -> Reply {
    let refused = Refused::new(503, "log_unavailable", format!("the call cannot be written down: {error}"));
    Reply::Refused(refused, Travel::default())
}
