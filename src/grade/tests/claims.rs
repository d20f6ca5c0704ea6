//! Spans are open: what they show decides, what they do not show cannot.

use serde_json::json;

use super::{evidence, not, pattern, said, times};
use crate::grade::{EvidenceBuilder, event};
use crate::journal::EventRow;
use crate::scenario::{CheckKind, HandOff, Times};
use crate::verdict::Relationship;

fn delegated(asked: Times) -> CheckKind {
    CheckKind::Delegated(HandOff {
        from: Some("boss".to_owned()),
        to: Some("refund".to_owned()),
        times: asked,
    })
}

fn called(args: Option<serde_json::Value>) -> CheckKind {
    CheckKind::Called(pattern(Some("refund"), "issue_refund", args), Times::default())
}

fn once() -> EvidenceBuilder {
    evidence().hand_off("delegated", Some("Boss"), Some("Refund"))
}

fn unsure(mut event: EventRow) -> EventRow {
    event.relationship = Relationship::Unknown;
    event
}

fn hand_off(from: Option<&str>, to: Option<&str>) -> EventRow {
    EventRow {
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
        ..event("delegated", "00000000000000ab")
    }
}

const NOT_OBSERVED: &str = "unknown: not_observed";

#[test]
fn an_observed_hand_off_passes_and_an_absent_one_is_unknown() {
    let some = || delegated(Times::default());
    assert_eq!(said(None, some(), once().build()), "passed");
    assert_eq!(said(None, not(some()), once().build()), "failed");
    assert_eq!(said(None, some(), evidence().build()), NOT_OBSERVED);
    assert_eq!(said(None, not(some()), evidence().build()), NOT_OBSERVED);
    let transfer = evidence().hand_off("transferred", Some("Boss"), Some("Refund"));
    assert_eq!(said(None, some(), transfer.clone().build()), NOT_OBSERVED);
    let asked = CheckKind::Transferred(HandOff {
        from: None,
        to: Some("refund".to_owned()),
        times: Times::default(),
    });
    assert_eq!(said(None, asked, transfer.build()), "passed");
}

#[test]
fn the_other_way_round_or_another_agent_is_not_the_hand_off_asked_for() {
    let back = evidence().hand_off("delegated", Some("Refund"), Some("Boss"));
    assert_eq!(said(None, delegated(Times::default()), back.build()), NOT_OBSERVED);
    let stranger = evidence().hand_off("delegated", Some("Boss"), Some("refund"));
    assert_eq!(said(None, delegated(Times::default()), stranger.build()), NOT_OBSERVED);
}

#[test]
fn a_relationship_that_is_unknown_never_counts_as_observed() {
    let guess = unsure(hand_off(Some("Boss"), Some("Refund")));
    let only = evidence().event(guess.clone()).build();
    assert_eq!(said(None, delegated(Times::default()), only), NOT_OBSERVED);
    let beside = once().event(guess);
    assert_eq!(said(None, delegated(Times::default()), beside.clone().build()), "passed");
    let exactly = delegated(times(1, Some(1)));
    assert_eq!(said(None, exactly.clone(), beside.build()), NOT_OBSERVED);
    let half = once().event(hand_off(None, Some("Refund"))).build();
    assert_eq!(said(None, exactly, half), NOT_OBSERVED);
}

#[test]
fn too_many_observed_fail_and_too_few_are_unknown() {
    let exactly = |n| delegated(times(n, Some(n)));
    let twice = || once().hand_off("delegated", Some("Boss"), Some("Refund"));
    assert_eq!(said(None, exactly(1), once().build()), "passed");
    assert_eq!(said(None, exactly(1), twice().build()), "failed");
    assert_eq!(said(None, exactly(2), once().build()), NOT_OBSERVED);
    let at_most_one = || delegated(times(0, Some(1)));
    assert_eq!(said(None, at_most_one(), evidence().build()), NOT_OBSERVED);
    assert_eq!(said(None, at_most_one(), once().build()), NOT_OBSERVED);
    assert_eq!(said(None, at_most_one(), twice().build()), "failed");
    assert_eq!(said(None, delegated(times(1, Some(3))), twice().build()), "passed");
}

#[test]
fn spans_cut_off_leave_standing_what_was_observed() {
    let cut = || once().finding("record_incomplete").build();
    let incomplete = "unknown: record_incomplete";
    assert_eq!(said(None, delegated(Times::default()), cut()), "passed");
    assert_eq!(said(None, delegated(times(1, Some(1))), cut()), incomplete);
    assert_eq!(said(None, delegated(times(2, None)), cut()), incomplete);
    assert_eq!(said(None, delegated(times(0, Some(2))), cut()), incomplete);
    assert_eq!(said(None, delegated(times(0, Some(0))), cut()), "failed");
}

#[test]
fn a_tool_call_is_seen_with_its_worker_tool_and_arguments() {
    let span = |agent| evidence().tool_span(agent, "issue_refund", "00000000000000ab");
    assert_eq!(said(None, called(None), span(Some("Refund")).build()), "passed");
    assert_eq!(said(None, called(None), span(Some("Lookup")).build()), NOT_OBSERVED);
    assert_eq!(said(None, called(None), span(None).build()), NOT_OBSERVED);
    let other = evidence().tool_span(Some("Refund"), "get_order", "00000000000000ab");
    assert_eq!(said(None, called(None), other.build()), NOT_OBSERVED);
    let of_subject = CheckKind::Called(pattern(None, "issue_refund", None), Times::default());
    assert_eq!(said(Some("refund"), of_subject.clone(), span(Some("Refund")).build()), "passed");
    assert_eq!(said(Some("lookup"), of_subject, span(Some("Refund")).build()), NOT_OBSERVED);
}

#[test]
fn arguments_that_were_not_recorded_are_not_seen() {
    let asked = || called(Some(json!({"amount": 5})));
    let given = |arguments| {
        evidence().event(EventRow {
            agent: Some("Refund".to_owned()),
            tool: Some("issue_refund".to_owned()),
            arguments,
            ..event("tool_call", "00000000000000ab")
        })
    };
    assert_eq!(said(None, asked(), given(json!({"amount": 5.0, "why": "x"})).build()), "passed");
    assert_eq!(said(None, asked(), given(json!(null)).build()), NOT_OBSERVED);
    assert_eq!(said(None, asked(), given(json!({"amount": 6})).build()), NOT_OBSERVED);
    // One that may be it stands in the way of `exactly`, one that is not does not.
    let exactly = |arguments| {
        let pattern = pattern(Some("refund"), "issue_refund", Some(json!({"amount": 5})));
        let more = EventRow {
            agent: Some("Refund".to_owned()),
            tool: Some("issue_refund".to_owned()),
            arguments,
            ..event("tool_call", "00000000000000ac")
        };
        let seen = given(json!({"amount": 5})).event(more).build();
        said(None, CheckKind::Called(pattern, times(1, Some(1))), seen)
    };
    assert_eq!(exactly(json!(null)), NOT_OBSERVED);
    assert_eq!(exactly(json!({"amount": 6})), "passed");
    // So does one whose tool is not on record.
    let nameless = EventRow { agent: Some("Refund".to_owned()), ..event("tool_call", "00000000000000ac") };
    let asked = CheckKind::Called(pattern(Some("refund"), "issue_refund", None), times(1, Some(1)));
    assert_eq!(said(None, asked, given(json!({})).event(nameless).build()), NOT_OBSERVED);
}
