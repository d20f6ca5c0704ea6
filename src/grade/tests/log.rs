//! Which calls a pattern means.

use serde_json::{Value, json};

use super::{calls, evidence, order, pattern, said, times};
use crate::grade::EvidenceBuilder;
use crate::journal::OutcomeKind;
use crate::scenario::{CallPattern, CheckKind, OutcomeAsked, Times};

fn with(args: Value) -> CheckKind {
    CheckKind::Calls(pattern(Some("refund"), "issue_refund", Some(args)), Times::default())
}

fn refund(args: Value) -> EvidenceBuilder {
    evidence().turn("Hello.").done("refund", "issue_refund", args)
}

fn reaching(outcome: OutcomeAsked) -> CheckKind {
    let pattern = CallPattern { outcome, ..pattern(Some("refund"), "issue_refund", None) };
    CheckKind::Calls(pattern, Times::default())
}

#[test]
fn arguments_are_a_subset_compared_by_value() {
    let seen = || refund(json!({"order": {"id": "1", "lines": [1, 2]}, "cents": 1250, "why": null}));
    for holds in [
        json!({}),
        json!({"cents": 1250.0}),
        json!({"cents": 1250, "order": {"id": "1"}}),
        json!({"order": {"lines": [1.0, 2]}}),
        json!({"why": null}),
    ] {
        assert_eq!(said(None, with(holds.clone()), seen().build()), "passed", "{holds}");
    }
    for differs in [
        json!({"cents": "1250"}),
        json!({"cents": 1251}),
        json!({"cents": 1250.5}),
        json!({"order": {"id": 1}}),
        json!({"order": {"lines": [1]}}),
        json!({"order": {"lines": [2, 1]}}),
        json!({"missing": null}),
        json!({"why": false}),
    ] {
        assert_eq!(said(None, with(differs.clone()), seen().build()), "failed", "{differs}");
    }
}

#[test]
fn whole_numbers_beyond_a_double_stay_exact() {
    let big = 9_007_199_254_740_993u64;
    assert_eq!(said(None, with(json!({"n": big})), refund(json!({"n": big})).build()), "passed");
    assert_eq!(said(None, with(json!({"n": big})), refund(json!({"n": big - 1})).build()), "failed");
    assert_eq!(said(None, with(json!({"n": 1e300})), refund(json!({"n": 1e300})).build()), "passed");
    assert_eq!(said(None, with(json!({"n": 1e300})), refund(json!({"n": 2e300})).build()), "failed");
    assert_eq!(said(None, with(json!({"n": -3})), refund(json!({"n": -3.0})).build()), "passed");
}

#[test]
fn a_value_of_the_case_stands_for_itself() {
    let asked = || with(json!({"cents": "${cents}", "note": ["order ${cents}", "${other}"]}));
    let seen = |cents: Value| refund(json!({"cents": cents, "note": ["order 5990", "${other}"]})).build();
    assert_eq!(said(None, asked(), seen(json!(5990))), "passed");
    assert_eq!(said(None, asked(), seen(json!("5990"))), "failed");
}

#[test]
fn arguments_cut_at_a_bound_may_hold_what_is_asked() {
    let cut = refund(json!("{\"cents\":")).last(|action| action.attempt.arguments_cut = true);
    assert_eq!(said(None, with(json!({"cents": 1})), cut.build()), "unknown: record_incomplete");
    let whole = refund(json!({"cents": 1})).last(|action| action.attempt.arguments_cut = true);
    assert_eq!(said(None, with(json!({"cents": 1})), whole.build()), "passed");
}

#[test]
fn how_far_a_call_got_is_three_different_questions() {
    use OutcomeKind::{Crashed, Done, Faulted, Refused, WorldRefused};
    for (kind, done, reached, any) in [
        (Done, true, true, true),
        (WorldRefused, false, true, true),
        (Crashed, false, true, true),
        (Faulted, false, false, true),
        (Refused, false, false, true),
    ] {
        let seen = || {
            let trial = evidence().turn("Hello.");
            trial.call(Some("refund"), "issue_refund", json!({}), kind).build()
        };
        for (asked, holds) in
            [(OutcomeAsked::Done, done), (OutcomeAsked::Reached, reached), (OutcomeAsked::Any, any)]
        {
            let expected = if holds { "passed" } else { "failed" };
            assert_eq!(said(None, reaching(asked), seen()), expected, "{kind:?} {asked:?}");
        }
    }
    // A refusal needs no outcome row to be an attempt.
    let refused = || {
        let trial = evidence().refused("refund", "issue_refund", "not_permitted");
        trial.last(|action| action.outcome = None).build()
    };
    assert_eq!(said(None, reaching(OutcomeAsked::Any), refused()), "passed");
    assert_eq!(said(None, reaching(OutcomeAsked::Reached), refused()), "failed");
}

#[test]
fn refusals_are_told_apart_by_tool_and_code() {
    let refused = |tool: Option<&str>, code: Option<&str>, worker: Option<&str>| CheckKind::Refused {
        worker: worker.map(super::id),
        tool: tool.map(crate::name::ToolName::new),
        code: code.map(str::to_owned),
        times: Times::default(),
    };
    let seen = || evidence().refused("refund", "wipe", "not_permitted").build();
    assert_eq!(said(None, refused(None, None, None), seen()), "passed");
    assert_eq!(said(None, refused(Some("wipe"), Some("not_permitted"), Some("refund")), seen()), "passed");
    assert_eq!(said(None, refused(Some("get_order"), None, None), seen()), "failed");
    assert_eq!(said(None, refused(None, Some("calls_exhausted"), None), seen()), "failed");
    assert_eq!(said(None, refused(None, None, Some("lookup")), seen()), "failed");
    let done = refund(json!({})).build();
    assert_eq!(said(None, refused(None, None, None), done), "failed");
}

#[test]
fn others_may_stand_between_calls_in_order_and_only_done_ones_count() {
    let asked = || order(None, &["get_order", "issue_refund"]);
    let between = evidence().done("lookup", "get_order", json!({})).done("lookup", "wipe", json!({})).done(
        "refund",
        "issue_refund",
        json!({}),
    );
    assert_eq!(said(None, asked(), between.build()), "passed");
    let half = evidence().call(Some("lookup"), "get_order", json!({}), OutcomeKind::WorldRefused).done(
        "refund",
        "issue_refund",
        json!({}),
    );
    assert_eq!(said(None, asked(), half.build()), "failed");
    let own = || order(Some("refund"), &["get_order", "issue_refund"]);
    let of_two = evidence().done("lookup", "get_order", json!({})).done("refund", "issue_refund", json!({}));
    assert_eq!(said(None, own(), of_two.build()), "failed");
}

#[test]
fn a_budget_from_the_first_call_starts_with_the_workers_own() {
    use std::time::Duration;

    use crate::grade::grade;
    use crate::scenario::{BudgetFrom, Case};
    use crate::verdict::Gate;

    let kind = CheckKind::Within(Duration::from_secs(1));
    let mut scenario = super::scenario(vec![super::goal(Some("refund"), Gate::Required, kind)]);
    let trial = evidence()
        .turn("Hello.")
        .done("lookup", "get_order", json!({}))
        .done("refund", "issue_refund", json!({}))
        .build();
    let verdict = |scenario: &crate::scenario::Scenario| {
        let grades = grade(&super::contract(), scenario, &Case::new(), &trial);
        grades.verdicts[1].verdict.clone()
    };
    assert_eq!(verdict(&scenario), "failed");
    scenario.budget_from = BudgetFrom::FirstCall;
    assert_eq!(verdict(&scenario), "passed");
}

#[test]
fn the_detail_counts_the_calls_and_says_what_was_asked() {
    let grades = super::graded(
        None,
        calls(Some("refund"), "issue_refund", times(1, Some(1))),
        refund(json!({})).done("refund", "get_order", json!({})).build(),
    );
    let row = grades.verdicts.iter().find(|row| row.sub_goal == "asked");
    assert_eq!(
        row.map(|row| row.detail.as_str()),
        Some("asked: calls of issue_refund by refund done, exactly 1; seen: 1 of 2 calls"),
    );
    assert_eq!(row.map(|row| row.line), Some(super::LINE));
}
