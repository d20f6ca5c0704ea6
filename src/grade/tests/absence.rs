//! The verdict table, continued: what an absence may rest on, and which of several reasons is told.

use serde_json::json;

use super::table::{
    ONCE, delegated, disputed, hold, late, looked_up, refunded, script, shared, some, within,
};
use super::{calls, evidence, never, not, order, refused, times};
use crate::scenario::CheckKind;

#[test]
fn an_absence_on_a_channel_not_proven_is_unknown() {
    let idle = || evidence().turn("Hello.");
    let unknown = "unknown: binding_unproven";
    let all = || idle().proven("lookup").proven("refund").proven("clerk").proven("intern");
    hold(vec![
        ("not proven", None, never(Some("refund"), "issue_refund"), idle().build(), unknown),
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
        ("not proven, not refused", None, not(refused("not_permitted")), idle().build(), unknown),
        ("before no_calls", Some("refund"), never(None, "issue_refund"), idle().build(), unknown),
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
        ("proven here", None, never(Some("refund"), "issue_refund"), looked_up().build(), "passed"),
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
        ("no channel to prove", None, never(Some("boss"), "issue_refund"), all().build(), unknown),
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
        ("cut", None, never(), looked_up().finding("record_incomplete").build(), incomplete),
        ("running", None, never(), looked_up().finding("app_left_running").build(), running),
        (
            "both",
            None,
            never(),
            looked_up().finding("app_left_running").finding("record_incomplete").build(),
            incomplete,
        ),
        ("before unproven", None, never(), evidence().finding("app_left_running").build(), running),
        (
            "seen all the same",
            None,
            calls(refund, "get_order", some()),
            looked_up().finding("record_incomplete").finding("app_left_running").build(),
            "passed",
        ),
        ("broken all the same", None, never(), refunded().finding("record_incomplete").build(), "failed"),
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
            looked_up().refused("refund", "issue_refund", "log_unavailable").build(),
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
        ("done?", None, calls(refund, "issue_refund", some()), begun().build(), unknown),
        ("never?", None, never(refund, "issue_refund"), begun().build(), unknown),
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
            looked_up().refused("refund", "issue_refund", "not_permitted").last(|a| a.outcome = None).build(),
            "passed",
        ),
    ]);
}

#[test]
fn of_several_reasons_the_first_is_told() {
    let refund = Some("refund");
    let clerk = Some("clerk");
    let dispute =
        || disputed("get_order", "refund", "lookup").refused("refund", "issue_refund", "deadline_passed");
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
            evidence().refused("refund", "get_order", "deadline_passed").build(),
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
            CheckKind::All(vec![super::check(script()), super::check(calls(refund, "issue_refund", some()))]),
            looked_up().build(),
            "failed",
        ),
        (
            "a passed part of any decides",
            None,
            CheckKind::Any(vec![super::check(script()), super::check(calls(refund, "get_order", some()))]),
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
        ("said passed", None, script(), answer("script", Some("passed")), "passed"),
        ("said failed", None, script(), answer("script", Some("failed")), "failed"),
        ("said failed, under not", None, not(script()), answer("script", Some("failed")), "passed"),
        ("said unknown", None, script(), answer("script", Some("unknown")), "unknown: script_failed"),
        ("said 90", None, script(), answer("script", Some("90")), "unknown: script_failed"),
        ("said nothing", None, script(), answer("script", None), "unknown: script_failed"),
        ("was not asked", None, script(), evidence().build(), "unknown: script_failed"),
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
            evidence().answer("7:3", "script", None).answer("7:3", "script", Some("passed")).build(),
            "passed",
        ),
        ("judge", None, judge(), answer("judge", Some("passed")), "passed"),
        ("judge down", None, judge(), answer("judge", None), "unknown: judge_failed"),
        ("judge down, under not", None, not(judge()), answer("judge", None), "unknown: judge_failed"),
    ]);
}
