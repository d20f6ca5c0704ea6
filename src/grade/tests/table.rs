//! The verdict table and its precedence, row by row.

use std::time::Duration;

use serde_json::json;

use super::{calls, evidence, never, not, order, refused, said, times};
use crate::grade::{Evidence, EvidenceBuilder};
use crate::journal::{LaneRow, OutcomeKind};
use crate::scenario::{CheckKind, HandOff, Times};

pub(super) const ONCE: Times = Times { min: 1, max: Some(1) };

pub(super) fn some() -> Times {
    Times::default()
}

pub(super) fn within(seconds: u64) -> CheckKind {
    CheckKind::Within(Duration::from_secs(seconds))
}

pub(super) fn delegated() -> CheckKind {
    CheckKind::Delegated(HandOff {
        from: Some("boss".to_owned()),
        to: Some("refund".to_owned()),
        times: some(),
    })
}

pub(super) fn script() -> CheckKind {
    CheckKind::Script { command: vec!["./check".to_owned()], folder: ".".into() }
}

pub(super) fn refunded() -> EvidenceBuilder {
    evidence().turn("Hello.").done("refund", "issue_refund", json!({}))
}

pub(super) fn looked_up() -> EvidenceBuilder {
    evidence().turn("Hello.").done("refund", "get_order", json!({}))
}

/// A call over the shared address, and whom spans were found to name.
pub(super) fn shared(builder: EvidenceBuilder, tool: &str, whose: Option<&str>) -> EvidenceBuilder {
    let builder = builder.call(None, tool, json!({}), OutcomeKind::Done);
    builder.last(|action| {
        action.lane = Some(LaneRow {
            attempt: action.seq,
            worker: whose.map(str::to_owned),
            basis: "audited".to_owned(),
            claimed: None,
        });
    })
}

/// A call on `channel` of which spans say it was `claimed`'s.
pub(super) fn disputed(tool: &str, channel: &str, claimed: &str) -> EvidenceBuilder {
    let builder = evidence().turn("Hello.").done(channel, tool, json!({}));
    builder.last(|action| {
        action.lane = Some(LaneRow {
            attempt: action.seq,
            worker: None,
            basis: "disputed".to_owned(),
            claimed: Some(claimed.to_owned()),
        });
    })
}

pub(super) fn late() -> EvidenceBuilder {
    looked_up().refused("refund", "issue_refund", "deadline_passed")
}

/// Asks each question of its trial and compares.
pub(super) fn hold(rows: Vec<(&str, Option<&str>, CheckKind, Evidence, &str)>) {
    let wrong: Vec<_> = rows
        .into_iter()
        .filter_map(|(what, subject, kind, evidence, expected)| {
            let got = said(subject, kind, evidence);
            (got != expected).then(|| format!("{what}: {got}, not {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_seen_decides() {
    let refund = Some("refund");
    hold(vec![
        ("a done call", None, calls(refund, "issue_refund", some()), refunded().build(), "passed"),
        ("none done", None, calls(refund, "issue_refund", some()), looked_up().build(), "failed"),
        ("never, and it was", None, never(refund, "issue_refund"), refunded().build(), "failed"),
        ("never, and it was not", None, never(refund, "issue_refund"), looked_up().build(), "passed"),
        ("once", refund, calls(None, "issue_refund", ONCE), refunded().build(), "passed"),
        (
            "twice is not once",
            refund,
            calls(None, "issue_refund", ONCE),
            refunded().done("refund", "issue_refund", json!({})).build(),
            "failed",
        ),
        ("not never", None, not(never(refund, "issue_refund")), refunded().build(), "passed"),
        ("not calls", None, not(calls(refund, "issue_refund", some())), looked_up().build(), "passed"),
        (
            "the wanted refusal",
            refund,
            refused("not_permitted"),
            evidence().refused("refund", "wipe", "not_permitted").build(),
            "passed",
        ),
        ("no refusal", refund, refused("not_permitted"), refunded().build(), "failed"),
        (
            "in order",
            None,
            order(refund, &["get_order", "issue_refund"]),
            looked_up().done("refund", "issue_refund", json!({})).build(),
            "passed",
        ),
        (
            "out of order",
            None,
            order(refund, &["issue_refund", "get_order"]),
            looked_up().done("refund", "issue_refund", json!({})).build(),
            "failed",
        ),
        ("in time", refund, within(2), refunded().build(), "passed"),
        ("too late", refund, within(1), refunded().build(), "failed"),
        ("nothing was done in time", None, within(9), evidence().turn("Hello.").build(), "failed"),
    ]);
}

#[test]
fn a_deadline_leaves_what_was_not_reached_unknown_and_settles_an_absence() {
    let refund = Some("refund");
    let other = || looked_up().refused("lookup", "get_order", "deadline_passed").build();
    let unknown = "unknown: deadline_passed";
    hold(vec![
        ("not reached", refund, calls(None, "issue_refund", some()), late().build(), unknown),
        ("not reached, told as not never", refund, not(never(None, "issue_refund")), late().build(), unknown),
        ("reached before", refund, calls(None, "get_order", some()), late().build(), "passed"),
        ("reached exactly before", refund, calls(None, "get_order", ONCE), late().build(), "passed"),
        ("broken before", refund, never(None, "get_order"), late().build(), "failed"),
        ("an absence is settled", refund, never(None, "issue_refund"), late().build(), "passed"),
        ("order not reached", refund, order(None, &["get_order", "issue_refund"]), late().build(), unknown),
        ("in time before", refund, within(3), late().build(), "passed"),
        ("too late before", refund, within(1), late().build(), "failed"),
        (
            "nothing done before",
            refund,
            within(3),
            evidence().turn("Hello.").refused("refund", "get_order", "deadline_passed").build(),
            unknown,
        ),
        ("another refusal waited for", refund, refused("not_permitted"), late().build(), unknown),
        ("this refusal waited for", refund, refused("deadline_passed"), late().build(), "passed"),
        ("another worker's deadline", refund, calls(None, "issue_refund", some()), other(), "failed"),
        ("the task has no deadline", None, calls(refund, "issue_refund", some()), late().build(), "failed"),
        (
            "refused after its attempt row",
            refund,
            calls(None, "issue_refund", some()),
            looked_up()
                .call(refund, "issue_refund", json!({}), OutcomeKind::Refused)
                .last(|action| {
                    if let Some(outcome) = &mut action.outcome {
                        outcome.code = Some("deadline_passed".to_owned());
                    }
                })
                .build(),
            unknown,
        ),
    ]);
}

#[test]
fn a_worker_that_was_not_let_try_is_not_graded() {
    let refund = Some("refund");
    let idle = || evidence().turn("Hello.").proven("refund");
    let only = |code| evidence().refused("refund", "get_order", code).build();
    let unknown = "unknown: no_calls";
    hold(vec![
        ("no call", refund, calls(None, "issue_refund", some()), idle().build(), unknown),
        ("no call, never", refund, never(None, "issue_refund"), idle().build(), unknown),
        ("no call, order", refund, order(None, &["get_order", "issue_refund"]), idle().build(), unknown),
        ("no call, within", refund, within(3), idle().build(), unknown),
        ("no call, refused", refund, refused("not_permitted"), idle().build(), unknown),
        ("only calls too many", refund, never(None, "issue_refund"), only("calls_exhausted"), unknown),
        ("only calls too late, never", refund, never(None, "issue_refund"), only("deadline_passed"), unknown),
        (
            "only calls of no tool",
            refund,
            calls(None, "issue_refund", some()),
            only("unknown_action"),
            unknown,
        ),
        ("a call not permitted", refund, never(None, "issue_refund"), only("not_permitted"), "passed"),
        (
            "a call not permitted, calls",
            refund,
            calls(None, "issue_refund", some()),
            only("not_permitted"),
            "failed",
        ),
        ("the task asks", None, calls(refund, "issue_refund", some()), idle().build(), "failed"),
        (
            "another's calls",
            refund,
            calls(None, "issue_refund", some()),
            idle().done("lookup", "get_order", json!({})).build(),
            unknown,
        ),
    ]);
}

#[test]
fn what_nobody_can_attribute_is_nobodys_and_may_be_anyones_of_the_shared_address() {
    let clerk = Some("clerk");
    let nobodys = || shared(evidence().turn("Hello."), "get_order", None);
    let own = || shared(evidence().turn("Hello."), "get_order", clerk);
    let unknown = "unknown: lane_unattributed";
    hold(vec![
        ("maybe it was", clerk, calls(None, "get_order", some()), nobodys().build(), unknown),
        ("maybe it was, never", clerk, never(None, "get_order"), nobodys().build(), unknown),
        ("the task names the worker", None, never(clerk, "get_order"), nobodys().build(), unknown),
        ("the task names nobody", None, calls(None, "get_order", some()), nobodys().build(), "passed"),
        (
            "one is its own for sure",
            clerk,
            calls(None, "get_order", some()),
            shared(own(), "get_order", None).build(),
            "passed",
        ),
        (
            "maybe twice",
            clerk,
            calls(None, "get_order", ONCE),
            shared(own(), "get_order", None).build(),
            unknown,
        ),
        (
            "one is a breach for sure",
            clerk,
            never(None, "get_order"),
            shared(own(), "get_order", None).build(),
            "failed",
        ),
        (
            "no more than asked",
            clerk,
            calls(None, "get_order", times(1, Some(2))),
            shared(own(), "get_order", None).build(),
            "passed",
        ),
        (
            "attributed to another",
            clerk,
            never(None, "get_order"),
            shared(own(), "issue_refund", Some("intern")).build(),
            "failed",
        ),
        (
            "another tool",
            clerk,
            never(None, "issue_refund"),
            shared(own(), "get_order", None).build(),
            "passed",
        ),
        (
            "whether it called at all",
            clerk,
            never(None, "issue_refund"),
            nobodys().proven("clerk").build(),
            unknown,
        ),
        (
            "a worker with its own channel",
            Some("lookup"),
            calls(None, "get_order", some()),
            nobodys().done("lookup", "get_order", json!({})).build(),
            "passed",
        ),
        (
            "a worker with its own channel, never",
            Some("refund"),
            never(None, "get_order"),
            shared(refunded(), "get_order", None).build(),
            "passed",
        ),
        (
            "maybe in order",
            None,
            order(clerk, &["get_order", "get_order"]),
            shared(own(), "get_order", None).build(),
            unknown,
        ),
        ("maybe in time", clerk, within(9), nobodys().build(), unknown),
        ("maybe too late", clerk, within(4), shared(own().wait(9), "get_order", None).build(), unknown),
        ("no matter who, in time", clerk, within(9), shared(own(), "get_order", None).build(), "passed"),
    ]);
}

#[test]
fn what_channel_and_spans_dispute_is_unknown_to_both_workers() {
    let refund = Some("refund");
    let trial = || disputed("get_order", "lookup", "refund").done("refund", "get_order", json!({}));
    let unknown = "unknown: lane_disputed";
    hold(vec![
        ("the channel's", Some("lookup"), calls(None, "get_order", some()), trial().build(), unknown),
        ("the spans'", refund, calls(None, "get_order", some()), trial().build(), unknown),
        ("named by the task", None, never(refund, "get_order"), trial().build(), unknown),
        ("in order", None, order(refund, &["get_order", "issue_refund"]), trial().build(), unknown),
        ("in time", refund, within(9), trial().build(), unknown),
        ("a goal that does not read it", refund, never(None, "issue_refund"), trial().build(), "passed"),
        (
            "a goal of nobody in particular",
            None,
            calls(None, "get_order", times(2, Some(2))),
            trial().proven("clerk").proven("intern").proven("lookup").build(),
            "passed",
        ),
        (
            "a third worker",
            Some("clerk"),
            never(None, "get_order"),
            shared(trial(), "issue_refund", Some("clerk")).build(),
            "passed",
        ),
    ]);
}
