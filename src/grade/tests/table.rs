//! The verdict table and its precedence, row by row.

use std::time::Duration;

use serde_json::json;

use super::{calls, evidence, never, not, order, refused, said, times};
use crate::grade::{Evidence, EvidenceBuilder};
use crate::journal::{LaneRow, OutcomeKind};
use crate::scenario::{CheckKind, HandOff, Times};

const ONCE: Times = Times {
    min: 1,
    max: Some(1),
};

fn some() -> Times {
    Times::default()
}

fn within(seconds: u64) -> CheckKind {
    CheckKind::Within(Duration::from_secs(seconds))
}

fn delegated() -> CheckKind {
    CheckKind::Delegated(HandOff {
        from: Some("boss".to_owned()),
        to: Some("refund".to_owned()),
        times: some(),
    })
}

fn script() -> CheckKind {
    CheckKind::Script {
        command: vec!["./check".to_owned()],
        folder: ".".into(),
    }
}

fn refunded() -> EvidenceBuilder {
    evidence()
        .turn("Hello.")
        .done("refund", "issue_refund", json!({}))
}

fn looked_up() -> EvidenceBuilder {
    evidence()
        .turn("Hello.")
        .done("refund", "get_order", json!({}))
}

/// A call over the shared address, and whom spans were found to name.
fn shared(builder: EvidenceBuilder, tool: &str, whose: Option<&str>) -> EvidenceBuilder {
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
fn disputed(tool: &str, channel: &str, claimed: &str) -> EvidenceBuilder {
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

fn late() -> EvidenceBuilder {
    looked_up().refused("refund", "issue_refund", "deadline_passed")
}

/// Asks each question of its trial and compares.
fn hold(rows: Vec<(&str, Option<&str>, CheckKind, Evidence, &str)>) {
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
        (
            "a done call",
            None,
            calls(refund, "issue_refund", some()),
            refunded().build(),
            "passed",
        ),
        (
            "none done",
            None,
            calls(refund, "issue_refund", some()),
            looked_up().build(),
            "failed",
        ),
        (
            "never, and it was",
            None,
            never(refund, "issue_refund"),
            refunded().build(),
            "failed",
        ),
        (
            "never, and it was not",
            None,
            never(refund, "issue_refund"),
            looked_up().build(),
            "passed",
        ),
        (
            "once",
            refund,
            calls(None, "issue_refund", ONCE),
            refunded().build(),
            "passed",
        ),
        (
            "twice is not once",
            refund,
            calls(None, "issue_refund", ONCE),
            refunded().done("refund", "issue_refund", json!({})).build(),
            "failed",
        ),
        (
            "not never",
            None,
            not(never(refund, "issue_refund")),
            refunded().build(),
            "passed",
        ),
        (
            "not calls",
            None,
            not(calls(refund, "issue_refund", some())),
            looked_up().build(),
            "passed",
        ),
        (
            "the wanted refusal",
            refund,
            refused("not_permitted"),
            evidence()
                .refused("refund", "wipe", "not_permitted")
                .build(),
            "passed",
        ),
        (
            "no refusal",
            refund,
            refused("not_permitted"),
            refunded().build(),
            "failed",
        ),
        (
            "in order",
            None,
            order(refund, &["get_order", "issue_refund"]),
            looked_up()
                .done("refund", "issue_refund", json!({}))
                .build(),
            "passed",
        ),
        (
            "out of order",
            None,
            order(refund, &["issue_refund", "get_order"]),
            looked_up()
                .done("refund", "issue_refund", json!({}))
                .build(),
            "failed",
        ),
        ("in time", refund, within(2), refunded().build(), "passed"),
        ("too late", refund, within(1), refunded().build(), "failed"),
        (
            "nothing was done in time",
            None,
            within(9),
            evidence().turn("Hello.").build(),
            "failed",
        ),
    ]);
}

#[test]
fn a_deadline_leaves_what_was_not_reached_unknown_and_settles_an_absence() {
    let refund = Some("refund");
    let other = || {
        looked_up()
            .refused("lookup", "get_order", "deadline_passed")
            .build()
    };
    let unknown = "unknown: deadline_passed";
    hold(vec![
        (
            "not reached",
            refund,
            calls(None, "issue_refund", some()),
            late().build(),
            unknown,
        ),
        (
            "not reached, told as not never",
            refund,
            not(never(None, "issue_refund")),
            late().build(),
            unknown,
        ),
        (
            "reached before",
            refund,
            calls(None, "get_order", some()),
            late().build(),
            "passed",
        ),
        (
            "reached exactly before",
            refund,
            calls(None, "get_order", ONCE),
            late().build(),
            "passed",
        ),
        (
            "broken before",
            refund,
            never(None, "get_order"),
            late().build(),
            "failed",
        ),
        (
            "an absence is settled",
            refund,
            never(None, "issue_refund"),
            late().build(),
            "passed",
        ),
        (
            "order not reached",
            refund,
            order(None, &["get_order", "issue_refund"]),
            late().build(),
            unknown,
        ),
        (
            "in time before",
            refund,
            within(3),
            late().build(),
            "passed",
        ),
        (
            "too late before",
            refund,
            within(1),
            late().build(),
            "failed",
        ),
        (
            "nothing done before",
            refund,
            within(3),
            evidence()
                .turn("Hello.")
                .refused("refund", "get_order", "deadline_passed")
                .build(),
            unknown,
        ),
        (
            "another refusal waited for",
            refund,
            refused("not_permitted"),
            late().build(),
            unknown,
        ),
        (
            "this refusal waited for",
            refund,
            refused("deadline_passed"),
            late().build(),
            "passed",
        ),
        (
            "another worker's deadline",
            refund,
            calls(None, "issue_refund", some()),
            other(),
            "failed",
        ),
        (
            "the task has no deadline",
            None,
            calls(refund, "issue_refund", some()),
            late().build(),
            "failed",
        ),
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
        (
            "no call",
            refund,
            calls(None, "issue_refund", some()),
            idle().build(),
            unknown,
        ),
        (
            "no call, never",
            refund,
            never(None, "issue_refund"),
            idle().build(),
            unknown,
        ),
        (
            "no call, order",
            refund,
            order(None, &["get_order", "issue_refund"]),
            idle().build(),
            unknown,
        ),
        (
            "no call, within",
            refund,
            within(3),
            idle().build(),
            unknown,
        ),
        (
            "no call, refused",
            refund,
            refused("not_permitted"),
            idle().build(),
            unknown,
        ),
        (
            "only calls too many",
            refund,
            never(None, "issue_refund"),
            only("calls_exhausted"),
            unknown,
        ),
        (
            "only calls too late, never",
            refund,
            never(None, "issue_refund"),
            only("deadline_passed"),
            unknown,
        ),
        (
            "only calls of no tool",
            refund,
            calls(None, "issue_refund", some()),
            only("unknown_action"),
            unknown,
        ),
        (
            "a call not permitted",
            refund,
            never(None, "issue_refund"),
            only("not_permitted"),
            "passed",
        ),
        (
            "a call not permitted, calls",
            refund,
            calls(None, "issue_refund", some()),
            only("not_permitted"),
            "failed",
        ),
        (
            "the task asks",
            None,
            calls(refund, "issue_refund", some()),
            idle().build(),
            "failed",
        ),
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
        (
            "maybe it was",
            clerk,
            calls(None, "get_order", some()),
            nobodys().build(),
            unknown,
        ),
        (
            "maybe it was, never",
            clerk,
            never(None, "get_order"),
            nobodys().build(),
            unknown,
        ),
        (
            "the task names the worker",
            None,
            never(clerk, "get_order"),
            nobodys().build(),
            unknown,
        ),
        (
            "the task names nobody",
            None,
            calls(None, "get_order", some()),
            nobodys().build(),
            "passed",
        ),
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
        (
            "maybe in time",
            clerk,
            within(9),
            nobodys().build(),
            unknown,
        ),
        (
            "maybe too late",
            clerk,
            within(4),
            shared(own().wait(9), "get_order", None).build(),
            unknown,
        ),
        (
            "no matter who, in time",
            clerk,
            within(9),
            shared(own(), "get_order", None).build(),
            "passed",
        ),
    ]);
}

#[test]
fn what_channel_and_spans_dispute_is_unknown_to_both_workers() {
    let refund = Some("refund");
    let trial = || disputed("get_order", "lookup", "refund").done("refund", "get_order", json!({}));
    let unknown = "unknown: lane_disputed";
    hold(vec![
        (
            "the channel's",
            Some("lookup"),
            calls(None, "get_order", some()),
            trial().build(),
            unknown,
        ),
        (
            "the spans'",
            refund,
            calls(None, "get_order", some()),
            trial().build(),
            unknown,
        ),
        (
            "named by the task",
            None,
            never(refund, "get_order"),
            trial().build(),
            unknown,
        ),
        (
            "in order",
            None,
            order(refund, &["get_order", "issue_refund"]),
            trial().build(),
            unknown,
        ),
        ("in time", refund, within(9), trial().build(), unknown),
        (
            "a goal that does not read it",
            refund,
            never(None, "issue_refund"),
            trial().build(),
            "passed",
        ),
        (
            "a goal of nobody in particular",
            None,
            calls(None, "get_order", times(2, Some(2))),
            trial()
                .proven("clerk")
                .proven("intern")
                .proven("lookup")
                .build(),
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

#[test]
fn an_absence_on_a_channel_not_proven_is_unknown() {
    let idle = || evidence().turn("Hello.");
    let unknown = "unknown: binding_unproven";
    let all = || {
        idle()
            .proven("lookup")
            .proven("refund")
            .proven("clerk")
            .proven("intern")
    };
    hold(vec![
        (
            "not proven",
            None,
            never(Some("refund"), "issue_refund"),
            idle().build(),
            unknown,
        ),
        (
            "not proven, not calls",
            None,
            not(calls(Some("refund"), "issue_refund", some())),
            idle().build(),
            unknown,
        ),
        (
            "not proven, at most",
            None,
            calls(Some("refund"), "issue_refund", times(0, Some(2))),
            idle().build(),
            unknown,
        ),
        (
            "not proven, not in order",
            None,
            not(order(Some("refund"), &["get_order", "issue_refund"])),
            idle().build(),
            unknown,
        ),
        (
            "not proven, not refused",
            None,
            not(refused("not_permitted")),
            idle().build(),
            unknown,
        ),
        (
            "before no_calls",
            Some("refund"),
            never(None, "issue_refund"),
            idle().build(),
            unknown,
        ),
        (
            "proven elsewhere",
            None,
            never(Some("refund"), "issue_refund"),
            idle().proven("refund").build(),
            "passed",
        ),
        (
            "proven by another's",
            None,
            never(Some("refund"), "issue_refund"),
            idle().proven("lookup").build(),
            unknown,
        ),
        (
            "proven here",
            None,
            never(Some("refund"), "issue_refund"),
            looked_up().build(),
            "passed",
        ),
        (
            "proven here by a refusal",
            None,
            never(Some("refund"), "issue_refund"),
            idle().refused("refund", "wipe", "not_permitted").build(),
            "passed",
        ),
        (
            "a dispute proves nothing",
            None,
            never(Some("lookup"), "issue_refund"),
            disputed("get_order", "lookup", "refund").build(),
            unknown,
        ),
        (
            "no channel to prove",
            None,
            never(Some("boss"), "issue_refund"),
            all().build(),
            unknown,
        ),
        (
            "anybody: all who may",
            None,
            never(None, "issue_refund"),
            idle().proven("refund").proven("intern").build(),
            "passed",
        ),
        (
            "anybody: one who may is not proven",
            None,
            never(None, "issue_refund"),
            idle().proven("refund").build(),
            unknown,
        ),
        (
            "anybody: attempts, all who could try",
            None,
            not(refused("not_permitted")),
            all().build(),
            "passed",
        ),
        (
            "presence needs no proof",
            None,
            calls(Some("refund"), "issue_refund", some()),
            idle().build(),
            "failed",
        ),
    ]);
}

#[test]
fn an_absence_in_an_incomplete_record_or_before_a_running_app_is_unknown() {
    let refund = Some("refund");
    let never = || never(Some("refund"), "issue_refund");
    let incomplete = "unknown: record_incomplete";
    let running = "unknown: app_left_running";
    hold(vec![
        (
            "cut",
            None,
            never(),
            looked_up().finding("record_incomplete").build(),
            incomplete,
        ),
        (
            "running",
            None,
            never(),
            looked_up().finding("app_left_running").build(),
            running,
        ),
        (
            "both",
            None,
            never(),
            looked_up()
                .finding("app_left_running")
                .finding("record_incomplete")
                .build(),
            incomplete,
        ),
        (
            "before unproven",
            None,
            never(),
            evidence().finding("app_left_running").build(),
            running,
        ),
        (
            "seen all the same",
            None,
            calls(refund, "get_order", some()),
            looked_up()
                .finding("record_incomplete")
                .finding("app_left_running")
                .build(),
            "passed",
        ),
        (
            "broken all the same",
            None,
            never(),
            refunded().finding("record_incomplete").build(),
            "failed",
        ),
        (
            "once, and more may be missing",
            None,
            calls(refund, "get_order", ONCE),
            looked_up().finding("record_incomplete").build(),
            incomplete,
        ),
        (
            "in time, and more may be missing",
            refund,
            within(9),
            looked_up().finding("app_left_running").build(),
            running,
        ),
        (
            "not done, and the app to blame",
            None,
            calls(refund, "issue_refund", some()),
            looked_up().finding("record_incomplete").build(),
            "failed",
        ),
        (
            "not done, and the harness to blame",
            None,
            calls(refund, "issue_refund", some()),
            looked_up().finding("log_unavailable").build(),
            incomplete,
        ),
        (
            "refused for want of a log",
            None,
            calls(refund, "issue_refund", some()),
            looked_up()
                .refused("refund", "issue_refund", "log_unavailable")
                .build(),
            incomplete,
        ),
        (
            "before the deadline",
            refund,
            calls(None, "issue_refund", some()),
            late().finding("log_unavailable").build(),
            incomplete,
        ),
    ]);
}

#[test]
fn an_attempt_without_an_outcome_has_an_unknown_effect() {
    let refund = Some("refund");
    let begun = || {
        refunded().last(|action| {
            action.outcome = None;
            action.ended_at = None;
        })
    };
    let unknown = "unknown: record_incomplete";
    hold(vec![
        (
            "done?",
            None,
            calls(refund, "issue_refund", some()),
            begun().build(),
            unknown,
        ),
        (
            "never?",
            None,
            never(refund, "issue_refund"),
            begun().build(),
            unknown,
        ),
        ("in time?", refund, within(9), begun().build(), unknown),
        (
            "in order?",
            None,
            order(refund, &["issue_refund", "get_order"]),
            begun().done("refund", "get_order", json!({})).build(),
            unknown,
        ),
        (
            "another one was done",
            None,
            calls(refund, "issue_refund", some()),
            begun().done("refund", "issue_refund", json!({})).build(),
            "passed",
        ),
        (
            "a refusal needs none",
            None,
            never(refund, "issue_refund"),
            looked_up()
                .refused("refund", "issue_refund", "not_permitted")
                .last(|a| a.outcome = None)
                .build(),
            "passed",
        ),
    ]);
}

#[test]
fn of_several_reasons_the_first_is_told() {
    let refund = Some("refund");
    let clerk = Some("clerk");
    let dispute = || {
        disputed("get_order", "refund", "lookup").refused(
            "refund",
            "issue_refund",
            "deadline_passed",
        )
    };
    let nobodys = || shared(evidence().turn("Hello."), "get_order", None);
    hold(vec![
        (
            "dispute before the rest",
            refund,
            calls(None, "get_order", some()),
            dispute().finding("record_incomplete").build(),
            "unknown: lane_disputed",
        ),
        (
            "unattributed before incomplete",
            clerk,
            never(None, "get_order"),
            nobodys().finding("record_incomplete").build(),
            "unknown: lane_unattributed",
        ),
        (
            "deadline before no calls",
            refund,
            calls(None, "issue_refund", some()),
            evidence()
                .refused("refund", "get_order", "deadline_passed")
                .build(),
            "unknown: deadline_passed",
        ),
        (
            "unproven before no calls",
            refund,
            never(None, "issue_refund"),
            evidence().turn("Hello.").build(),
            "unknown: binding_unproven",
        ),
        (
            "a part's reason, the first of them",
            None,
            CheckKind::All(vec![super::check(script()), super::check(delegated())]),
            evidence().build(),
            "unknown: not_observed",
        ),
        (
            "a failed part decides",
            None,
            CheckKind::All(vec![
                super::check(script()),
                super::check(calls(refund, "issue_refund", some())),
            ]),
            looked_up().build(),
            "failed",
        ),
        (
            "a passed part of any decides",
            None,
            CheckKind::Any(vec![
                super::check(script()),
                super::check(calls(refund, "get_order", some())),
            ]),
            looked_up().build(),
            "passed",
        ),
        (
            "not any is all not",
            None,
            not(CheckKind::Any(vec![
                super::check(script()),
                super::check(calls(refund, "get_order", some())),
            ])),
            looked_up().build(),
            "failed",
        ),
    ]);
}

#[test]
fn scripts_and_judges_that_gave_no_answer_leave_it_unknown() {
    let judge = || {
        CheckKind::Judge(crate::scenario::JudgeCheck {
            pass_when: "kind".to_owned(),
            fail_when: "rude".to_owned(),
            unknown_when: None,
            votes: 1,
        })
    };
    let answer = |by, verdict| evidence().answer("7:3", by, verdict).build();
    hold(vec![
        (
            "said passed",
            None,
            script(),
            answer("script", Some("passed")),
            "passed",
        ),
        (
            "said failed",
            None,
            script(),
            answer("script", Some("failed")),
            "failed",
        ),
        (
            "said failed, under not",
            None,
            not(script()),
            answer("script", Some("failed")),
            "passed",
        ),
        (
            "said unknown",
            None,
            script(),
            answer("script", Some("unknown")),
            "unknown: script_failed",
        ),
        (
            "said 90",
            None,
            script(),
            answer("script", Some("90")),
            "unknown: script_failed",
        ),
        (
            "said nothing",
            None,
            script(),
            answer("script", None),
            "unknown: script_failed",
        ),
        (
            "was not asked",
            None,
            script(),
            evidence().build(),
            "unknown: script_failed",
        ),
        (
            "another check's answer",
            None,
            script(),
            evidence().answer("7:4", "script", Some("passed")).build(),
            "unknown: script_failed",
        ),
        (
            "a judge's answer to a script's check",
            None,
            script(),
            answer("judge", Some("passed")),
            "unknown: script_failed",
        ),
        (
            "asked again",
            None,
            script(),
            evidence()
                .answer("7:3", "script", None)
                .answer("7:3", "script", Some("passed"))
                .build(),
            "passed",
        ),
        (
            "judge",
            None,
            judge(),
            answer("judge", Some("passed")),
            "passed",
        ),
        (
            "judge down",
            None,
            judge(),
            answer("judge", None),
            "unknown: judge_failed",
        ),
        (
            "judge down, under not",
            None,
            not(judge()),
            answer("judge", None),
            "unknown: judge_failed",
        ),
    ]);
}
