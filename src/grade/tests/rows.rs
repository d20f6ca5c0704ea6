//! Evidence from the rows of a record.

use serde_json::{Value, json};

use crate::grade::{Evidence, EvidenceError, Whose};

fn read(rows: &[(u64, &str, Value)]) -> Result<Evidence, EvidenceError> {
    Evidence::from_rows(rows.iter().map(|(seq, kind, body)| {
        let body = body.as_object().expect("a row is an object");
        (*seq, seq * 10, *kind, body)
    }))
}

fn attempt(worker: Value) -> Value {
    json!({"worker": worker, "tool": "get_order", "arguments": {}, "decision": "allowed", "code": null,
        "basis": "enforced", "late": false, "face": "http", "a_later_field": 1})
}

fn outcome(of: u64) -> Value {
    json!({"attempt": of, "kind": "done", "code": null, "status": 200, "result": null,
        "ended_after_deadline": false})
}

#[test]
fn attempts_outcomes_and_lanes_are_joined() {
    let evidence = read(&[
        (1, "attempt", attempt(Value::Null)),
        (2, "attempt", attempt(json!("refund"))),
        (3, "outcome", outcome(1)),
        (4, "lane", json!({"attempt": 1, "worker": "clerk", "basis": "audited"})),
    ])
    .expect("rows");
    let [first, second] = evidence.actions.as_slice() else { panic!("two actions") };
    assert_eq!(
        (first.seq, first.at, first.ended_at, first.whose()),
        (1, 10, Some(30), Whose::Worker("clerk"))
    );
    assert_eq!((second.seq, second.ended_at, second.whose()), (2, None, Whose::Worker("refund")));
}

#[test]
fn what_a_newer_writer_adds_is_passed_over() {
    let evidence =
        read(&[(1, "hologram", json!({"attempt": "x"})), (2, "phase", json!({"micros": "no number"}))]);
    assert!(evidence.is_ok_and(|evidence| evidence.actions.is_empty()));
}

#[test]
fn a_known_row_that_cannot_be_read_is_an_error_and_not_an_absence() {
    let cases = [
        vec![(1, "attempt", json!({"tool": "get_order"}))],
        vec![(1, "outcome", outcome(9))],
        vec![(1, "attempt", attempt(Value::Null)), (2, "outcome", outcome(1)), (3, "outcome", outcome(1))],
        vec![(1, "lane", json!({"attempt": 1, "worker": null, "basis": "audited"}))],
        vec![(1, "finding", json!({}))],
    ];
    for rows in cases {
        let last = rows.last().map(|row| row.0);
        assert_eq!(read(&rows).err().map(|e| e.seq), last, "{rows:?}");
    }
}

#[test]
fn spans_are_read_for_their_parents_alone() {
    let span = |id: &str, parent: &str| json!({"span": {"traceId": "AB", "spanId": id, "parentSpanId": parent}, "scope": null, "resource": 0});
    let evidence =
        read(&[(1, "span", span("0C", "0d")), (2, "span", span("0d", "00")), (3, "span", span("00", "0d"))])
            .expect("rows");
    let parents: Vec<_> =
        evidence.parents["ab"].iter().map(|(id, parent)| (id.as_str(), parent.as_deref())).collect();
    assert_eq!(parents, [("0c", Some("0d")), ("0d", None)]);
}

#[test]
fn a_change_is_the_worlds_or_a_workers() {
    let world = json!({"table": "t", "before": [], "after": [], "added": 1, "removed": 0, "changed": 0});
    let lane = json!({"worker": "refund", "attempts": 1, "refusals": []});
    let evidence = read(&[(1, "change", world), (2, "change", lane)]).expect("rows");
    assert_eq!(evidence.changes.len(), 1);
}

#[test]
fn the_error_of_an_earlier_grading_is_found_again_and_that_of_the_harness_kept() {
    let end = |error: Value| json!({"task": {"verdict": "unknown", "reason": null}, "workers": {}, "outcome": "error", "error": error});
    let error = |code: &str| json!({"code": code, "message": "", "line": null});
    let kept = |error: Value| read(&[(1, "end", end(error))]).expect("rows").error.map(|e| e.code);
    assert_eq!(kept(error("not_ready")), Some("not_ready".to_owned()));
    assert_eq!(kept(error("check_broken")), None);
    assert_eq!(kept(Value::Null), None);
}

#[test]
fn turns_replies_answers_and_bindings_are_kept() {
    let trial = json!({"format": 1, "scenario": "s", "case": 0, "values": {}, "number": 1, "retry_of": null,
        "seed": "1", "digests": {}, "files": {}, "contract": "c", "scenario_file": "s", "version": "0",
        "bindings": {"refund": "trial"}});
    let evidence = read(&[
        (1, "trial", trial),
        (2, "turn", json!({"n": 1, "text": "Hello.", "expects_reply": true})),
        (3, "reply", json!({"n": 1, "text": "Hi."})),
        (4, "answer", json!({"check": "7:3", "by": "script", "verdict": null, "reason": ""})),
    ])
    .expect("rows");
    assert!(evidence.bindings.contains_key("refund"));
    assert_eq!((evidence.turns[0].at, evidence.turns[0].row.n), (20, 1));
    assert_eq!(evidence.replies[0].text, "Hi.");
    assert_eq!(evidence.answers[0].check, "7:3");
}
