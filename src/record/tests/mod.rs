//! Records made in memory for the tests of this room.

mod folder;
mod reading;
mod schema;
mod tamper;
mod trust;

use serde_json::{Value, json};

use super::*;
use crate::journal::tests::{Memory, turn};
use crate::journal::*;
use crate::verdict::{Gate, Outcome};

fn trial() -> TrialRow {
    TrialRow {
        format: FORMAT,
        scenario: "refund_once".to_owned(),
        case: 0,
        values: Default::default(),
        number: 1,
        retry_of: None,
        seed: "1".to_owned(),
        digests: Default::default(),
        files: Default::default(),
        contract: "contract.yaml".to_owned(),
        scenario_file: "refund_once.scenario.yaml".to_owned(),
        version: "0".to_owned(),
        binding_proof: false,
        bindings: Default::default(),
        resumption: 0,
    }
}

fn attempt(n: u32) -> AttemptRow {
    AttemptRow {
        worker: Some("refund".to_owned()),
        tool: Some("issue_refund".to_owned()),
        arguments: json!({ "amount_cents": n, "order_id": "1042" }),
        arguments_cut: false,
        decision: Decision::Allowed,
        code: None,
        reason: None,
        basis: Basis::Enforced,
        late: false,
        face: "http".to_owned(),
        request: None,
        trace_id: None,
        span_id: None,
    }
}

fn outcome(attempt: u64) -> OutcomeRow {
    OutcomeRow {
        attempt,
        kind: OutcomeKind::Done,
        code: None,
        status: Some(200),
        result: json!({ "ok": true }),
        result_cut: false,
        ended_after_deadline: false,
        cut: false,
    }
}

fn verdict(sub_goal: &str, subject: &str, verdict: &str, reason: Option<&str>, gate: Gate) -> VerdictRow {
    VerdictRow {
        sub_goal: sub_goal.to_owned(),
        subject: subject.to_owned(),
        verdict: verdict.to_owned(),
        reason: reason.map(str::to_owned),
        gate,
        line: 3,
        detail: "é".to_owned(),
    }
}

fn verdicts() -> Vec<VerdictRow> {
    vec![
        verdict("refunded_once", "task", "passed", None, Gate::Required),
        verdict("answered", "task", "passed", None, Gate::Required),
        verdict("stayed_permitted", "worker:refund", "unknown", Some("no_calls"), Gate::IfSeen),
        verdict("stayed_permitted", "worker:order_lookup", "passed", None, Gate::IfSeen),
    ]
}

fn end() -> EndRow {
    let passed = Judged { verdict: "passed".to_owned(), reason: None };
    EndRow { task: passed, workers: Default::default(), outcome: Outcome::Passed, error: None }
}

/// A record with `calls` calls, and what was said of it when it was sealed.
fn sealed(calls: u32, key: Option<&SigningKey>) -> (Vec<u8>, Sealed) {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 30);
    journal.append(&trial()).expect("written");
    journal.append(&turn(1, "hello")).expect("written");
    for n in 0..calls {
        let attempt = journal.append(&attempt(n)).expect("written");
        journal.append(&outcome(attempt)).expect("written");
    }
    let sealed = seal(&journal, &verdicts(), &end(), key).expect("sealed");
    (memory.bytes(), sealed)
}

fn key() -> SigningKey {
    SigningKey::parse(&keygen().expect("a key").0).expect("its own form")
}

fn verdict_on(bytes: &[u8], options: Options<'_>) -> Result<Vouched, Broken> {
    verify(bytes, options).map_err(|error| match error {
        VerifyError::Broken(broken) => broken,
        VerifyError::Io(error) => panic!("memory does not fail: {error}"),
    })
}

fn broken(bytes: &[u8]) -> Broken {
    verdict_on(bytes, Options::default()).expect_err("it was changed")
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The record with its rows changed by hand and chained, counted and sealed anew: what a forger without the key does.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let mut rows: Vec<Value> =
        lines(bytes).iter().map(|line| serde_json::from_slice(line).expect("a row")).collect();
    change(&mut rows);
    let mut prev = GENESIS.to_owned();
    let mut out = Vec::new();
    for row in &mut rows {
        row["prev"] = prev.clone().into();
        if row["row"] == "seal" {
            row["head"] = prev.into();
            row.as_object_mut().expect("a row").remove("self");
            row["self"] = Head::of(&serde_json_canonicalizer::to_vec(row).expect("a form")).hex().into();
        }
        let line = serde_json_canonicalizer::to_vec(row).expect("a form");
        prev = Head::of(&line).hex();
        out.extend_from_slice(&line);
        out.push(b'\n');
    }
    out
}
