//! Golden texts, each from a hand-made record.

mod forms;
mod stories;

use serde_json::{Value, json};

use super::Story;
use crate::record::Row;

/// A record in the making: rows a tenth of a second apart.
struct Rows(Vec<Row>);

impl Rows {
    fn add(mut self, kind: &str, body: Value) -> Self {
        let seq = self.0.len() as u64 + 1;
        let Value::Object(body) = body else {
            panic!("a row is an object");
        };
        self.0.push(Row {
            seq,
            at: 1_700_000_000_000_000_000 + seq * 100_000_000,
            kind: kind.to_owned(),
            body,
        });
        self
    }

    /// One attempt and how it came out.
    fn call(self, worker: Value, tool: &str, args: Value, kind: &str, status: u16) -> Self {
        let attempt = self.0.len() + 1;
        self.add(
            "attempt",
            json!({"worker": worker, "tool": tool, "arguments": args, "decision": "allowed", "code": null,
                "basis": "enforced", "late": false, "face": "http"}),
        )
        .add(
            "outcome",
            json!({"attempt": attempt, "kind": kind, "code": null, "status": status, "result": null,
                "ended_after_deadline": false}),
        )
    }

    fn refused(self, worker: &str, tool: &str, code: &str, reason: &str) -> Self {
        self.add(
            "attempt",
            json!({"worker": worker, "tool": tool, "arguments": {"order_id": "1042"}, "decision": "refused",
                "code": code, "reason": reason, "basis": "enforced", "late": false, "face": "http"}),
        )
    }

    fn goal(self, id: &str, subject: &str, verdict: &str, reason: Value, gate: &str, line: u32) -> Self {
        let detail = match id {
            "answered" => "asked: a reply to each turn; seen: 1 replies",
            "refunded_once" => "asked: SELECT count(*) = 1 FROM refunds; seen: 0",
            _ => "asked: calls of issue_refund, at least 1; seen: 0 of 2 calls",
        };
        self.add(
            "verdict",
            json!({"sub_goal": id, "subject": subject, "verdict": verdict, "reason": reason, "gate": gate,
                "line": line, "detail": detail}),
        )
    }

    fn end(self, task: &str, refund: Value, outcome: &str, error: Value) -> Self {
        self.add("phase", json!({"phase": "turns", "micros": 1_250_000}))
            .add("phase", json!({"phase": "start", "micros": 30_000}))
            .add(
                "end",
                json!({"task": {"verdict": task, "reason": null}, "workers": {"refund": refund, "order_lookup":
                    {"verdict": "unknown", "reason": "not_asked"}}, "outcome": outcome, "error": error}),
            )
            .add(
                "seal",
                json!({"rows": 0, "head": "", "verdicts": {}, "format": 1, "self": ""}),
            )
    }

    fn story(self) -> Story {
        Story::of(self.0.into_iter().map(Ok)).expect("a story")
    }
}

fn begun(number: u32) -> Rows {
    let contract = "contract: 1\nworkers:\n  - { id: order_lookup, agent: Order Lookup }\n  - id: refund\n    agent: Refund\n";
    Rows(Vec::new())
        .add(
            "trial",
            json!({"format": 1, "scenario": "refund_once", "case": 0, "values": {"order": "1042"}, "number": number,
                "retry_of": null, "seed": "7", "digests": {}, "files": {"contract.yaml": contract},
                "contract": "contract.yaml", "scenario_file": "refund_once.scenario.yaml", "version": "0.1.0",
                "bindings": {}}),
        )
        .add("turn", json!({"n": 1, "text": "Order 1042 came broken.\nMoney back?", "expects_reply": true}))
}

/// Everything holds but one goal that nobody can say.
fn green() -> Story {
    begun(1)
        .call(json!("order_lookup"), "get_order", json!({"order_id": "1042"}), "done", 200)
        .call(json!("refund"), "issue_refund", json!({"order_id": "1042"}), "done", 201)
        .add("reply", json!({"n": 1, "text": "Your refund is on its way."}))
        .goal("answered", "task", "passed", Value::Null, "required", 0)
        .goal("refunded_once", "task", "passed", Value::Null, "required", 24)
        .goal("delegated", "task", "unknown", json!("not_observed"), "if_seen", 27)
        .end("passed", json!({"verdict": "passed", "reason": null}), "passed", Value::Null)
        .story()
}

/// A trial in which most things that can go wrong do.
fn red() -> Story {
    let event = |kind: &str, span: &str, parent: Value| {
        json!({"kind": kind, "agent": "Order Lookup", "from": "Coordinator", "to": "Order Lookup", "tool": "get_order",
            "arguments": {"order_id": "1042"}, "relationship": "observed", "basis": "genai.execute_tool",
            "trace_id": "aa", "span_id": span, "parent_span_id": parent, "started_at": "1", "ended_at": null,
            "ended_with": null})
    };
    let mut unsure = event("delegated", "c3", Value::Null);
    unsure["relationship"] = json!("unknown");
    unsure["from"] = Value::Null;
    unsure["to"] = json!("Refund");
    begun(2)
        .call(json!("order_lookup"), "get_order", json!({"order_id": "1042"}), "done", 200)
        .call(json!("refund"), "get_order", json!({"order_id": "9999"}), "world_refused", 404)
        .refused("refund", "issue_refund", "deadline_passed", "the deadline of refund has passed")
        .call(Value::Null, "get_order", json!({}), "crashed", 502)
        .add("lane", json!({"attempt": 3, "worker": null, "basis": "disputed", "claimed": "refund"}))
        .add("event", event("delegated", "b2", Value::Null))
        .add("event", event("tool_call", "b3", json!("b2")))
        .add("event", unsure)
        .add("reply", json!({"n": 1, "text": "Sorry.\u{1b}[31m\nTry later."}))
        .add("change", json!({"table": "orders", "before": [{"id": "1042", "status": "delivered"}],
            "after": [{"id": "1042", "status": "lost"}], "added": 0, "removed": 0, "changed": 1}))
        .add("change", json!({"worker": "refund", "attempts": 3, "refusals": []}))
        .add("finding", json!({"code": "off_channel", "worker": "refund", "detail": "span b9 says Refund called issue_refund, and no channel saw that call"}))
        .add("finding", json!({"code": "agent_unknown", "worker": null, "detail": "spans name an agent `Helper`"}))
        .add("output", json!({"stream": "stderr", "text": "starting\nTraceback:\n\u{1b}[2JValueError: 1042\n"}))
        .add("output", json!({"stream": "stdout", "text": "\n"}))
        .goal("answered", "task", "passed", Value::Null, "required", 0)
        .goal("refunded_once", "task", "failed", Value::Null, "required", 24)
        .goal("right_amount", "worker:refund", "unknown", json!("deadline_passed"), "if_seen", 28)
        .end("failed", json!({"verdict": "unknown", "reason": "deadline_passed"}), "failed", Value::Null)
        .story()
}

/// Nothing failed, and a required goal is unknown.
fn amber() -> Story {
    begun(3)
        .call(json!("order_lookup"), "get_order", json!({"order_id": "1042"}), "done", 200)
        .add("reply", json!({"n": 1, "text": "Done."}))
        .goal("answered", "task", "passed", Value::Null, "required", 0)
        .goal("lookup_never_refunds", "worker:refund", "unknown", json!("no_calls"), "required", 26)
        .end("passed", json!({"verdict": "unknown", "reason": "no_calls"}), "unknown", Value::Null)
        .story()
}

/// The scenario's own check is broken.
fn broken() -> Story {
    let error = json!({"code": "check_broken", "message": "no such column: amount", "line": 24});
    begun(4)
        .goal("refunded_once", "task", "unknown", json!("check_broken"), "required", 24)
        .end("unknown", json!({"verdict": "passed", "reason": null}), "error", error)
        .story()
}

/// Ctrl-C in mid trial.
fn interrupted() -> Story {
    begun(5).story()
}
