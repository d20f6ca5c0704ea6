//! Whose call it was.

use serde_json::json;

use super::{contract, evidence};
use crate::grade::{Evidence, EvidenceBuilder, TRACE, event, lanes};
use crate::journal::{EventRow, OutcomeKind};
use crate::verdict::Relationship;

const TOOL_SPAN: &str = "00000000000000a1";
const CLIENT_SPAN: &str = "00000000000000a2";

/// A call over the shared address, from `span`, if it came from one.
fn shared(builder: EvidenceBuilder, tool: &str, span: Option<&str>) -> EvidenceBuilder {
    from(builder.call(None, tool, json!({}), OutcomeKind::Done), span)
}

fn from(builder: EvidenceBuilder, span: Option<&str>) -> EvidenceBuilder {
    builder.last(|action| {
        action.attempt.trace_id = span.map(|_| TRACE.to_owned());
        action.attempt.span_id = span.map(str::to_owned);
    })
}

/// Each concluded lane as `worker/claimed`, `-` where there is none.
fn whose(evidence: &Evidence) -> Vec<String> {
    let (rows, _) = lanes(&contract(), evidence);
    let or = |name: Option<String>| name.unwrap_or("-".to_owned());
    rows.into_iter().map(|row| format!("{}/{} {}", or(row.worker), or(row.claimed), row.basis)).collect()
}

/// Each finding as `code worker`.
fn found(evidence: &Evidence) -> Vec<String> {
    let (_, findings) = lanes(&contract(), evidence);
    findings
        .into_iter()
        .map(|finding| format!("{} {}", finding.code, finding.worker.as_deref().unwrap_or("-")))
        .collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_call_under_a_tools_span_is_the_agents_that_called_the_tool() {
    let calls = || evidence().tool_span(Some("Clerk"), "get_order", TOOL_SPAN);
    let direct = shared(calls(), "get_order", Some(TOOL_SPAN)).build();
    assert_eq!(whose(&direct), ["clerk/- audited"]);
    assert_eq!(found(&direct), NONE);
    let below = shared(calls().parent(CLIENT_SPAN, TOOL_SPAN), "get_order", Some(CLIENT_SPAN)).build();
    assert_eq!(whose(&below), ["clerk/- audited"]);
    // The framework may call the tool by another name than the world does.
    let renamed = evidence().tool_span(Some("Clerk"), "lookup_order", TOOL_SPAN);
    assert_eq!(whose(&shared(renamed, "get_order", Some(TOOL_SPAN)).build()), ["clerk/- audited"]);
}

#[test]
fn the_nearest_tool_above_is_the_one() {
    let outer = "00000000000000a0";
    let nested = evidence()
        .tool_span(Some("Intern"), "ask_clerk", outer)
        .tool_span(Some("Clerk"), "get_order", TOOL_SPAN)
        .parent(TOOL_SPAN, outer)
        .parent(CLIENT_SPAN, TOOL_SPAN);
    assert_eq!(whose(&shared(nested, "get_order", Some(CLIENT_SPAN)).build()), ["clerk/- audited"]);
}

#[test]
fn a_span_of_another_trace_or_in_a_ring_of_parents_names_nobody() {
    let two = || {
        evidence().tool_span(Some("Clerk"), "get_order", TOOL_SPAN).tool_span(
            Some("Intern"),
            "get_order",
            "00000000000000a9",
        )
    };
    let elsewhere = shared(two(), "get_order", Some(TOOL_SPAN))
        .last(|action| action.attempt.trace_id = Some("0".repeat(31) + "b"));
    assert_eq!(whose(&elsewhere.build()), ["-/- audited"]);
    let ring = two().parent(CLIENT_SPAN, "00000000000000a3").parent("00000000000000a3", CLIENT_SPAN);
    assert_eq!(whose(&shared(ring, "get_order", Some(CLIENT_SPAN)).build()), ["-/- audited"]);
}

#[test]
fn a_relationship_that_is_unknown_or_an_agent_of_nobody_attributes_nothing() {
    let unsure = EventRow {
        agent: Some("Clerk".to_owned()),
        tool: Some("get_order".to_owned()),
        relationship: Relationship::Unknown,
        ..event("tool_call", TOOL_SPAN)
    };
    let trial = |event| shared(evidence().event(event), "get_order", Some(TOOL_SPAN)).build();
    assert_eq!(whose(&trial(unsure.clone())), ["-/- audited"]);
    let stranger =
        EventRow { agent: Some("Stranger".to_owned()), relationship: Relationship::Observed, ..unsure };
    assert_eq!(whose(&trial(stranger.clone())), ["-/- audited"]);
    assert_eq!(found(&trial(stranger)), ["agent_unknown -"]);
}

#[test]
fn without_a_trace_the_counts_of_one_worker_attribute_its_calls() {
    let span = |builder: EvidenceBuilder, agent| builder.tool_span(agent, "get_order", TOOL_SPAN);
    let call = |builder| shared(builder, "get_order", None);
    let one = call(span(evidence(), Some("Clerk"))).build();
    assert_eq!((whose(&one), found(&one)), (vec!["clerk/- audited".to_owned()], vec![]));
    let fewer = call(call(span(evidence(), Some("Clerk")))).build();
    assert_eq!(whose(&fewer), ["-/- audited", "-/- audited"]);
    let mixed = call(call(span(span(evidence(), Some("Clerk")), Some("Intern")))).build();
    assert_eq!(whose(&mixed), ["-/- audited", "-/- audited"]);
    assert_eq!(found(&mixed), NONE);
    let nameless = call(call(span(span(evidence(), Some("Clerk")), None))).build();
    assert_eq!(whose(&nameless), ["-/- audited", "-/- audited"]);
    let none = call(evidence()).build();
    assert_eq!(whose(&none), ["-/- audited"]);
    // A worker with a channel of its own is not looked for on the shared address.
    let other = call(span(evidence(), Some("Refund"))).build();
    assert_eq!(
        (whose(&other), found(&other)),
        (vec!["-/- audited".to_owned()], vec!["off_channel refund".to_owned()])
    );
}

#[test]
fn a_call_known_to_lie_under_no_tool_is_not_counted_as_one() {
    let trial =
        evidence().tool_span(Some("Clerk"), "get_order", TOOL_SPAN).parent(CLIENT_SPAN, "00000000000000a7");
    let placed = shared(trial, "get_order", Some(CLIENT_SPAN)).build();
    assert_eq!(whose(&placed), ["-/- audited"]);
    let bogus = evidence().tool_span(Some("Clerk"), "get_order", TOOL_SPAN);
    assert_eq!(whose(&shared(bogus, "get_order", Some("00000000000000ff")).build()), ["clerk/- audited"]);
}

#[test]
fn where_channel_and_trace_disagree_nobody_is_believed() {
    let call = |agent| {
        let trial = evidence().tool_span(Some(agent), "get_order", TOOL_SPAN);
        from(trial.done("lookup", "get_order", json!({})), Some(TOOL_SPAN)).build()
    };
    assert_eq!(whose(&call("Lookup")), NONE);
    assert_eq!(found(&call("Lookup")), NONE);
    assert_eq!(whose(&call("Refund")), ["-/refund disputed"]);
    assert_eq!(found(&call("Refund")), ["lane_disputed lookup"]);
    assert_eq!(whose(&call("Stranger")), NONE);
}

#[test]
fn a_span_of_a_tool_of_the_contract_without_a_channel_row_is_off_channel() {
    let spans = |agent: Option<&str>, tool: &str| evidence().tool_span(agent, tool, TOOL_SPAN).build();
    assert_eq!(found(&spans(Some("Refund"), "issue_refund")), ["off_channel refund"]);
    assert_eq!(found(&spans(None, "issue_refund")), ["off_channel -"]);
    assert_eq!(found(&spans(Some("Refund"), "think")), NONE);
    // A worker without a channel that is not allowed the tool has no business calling it in-process either.
    assert_eq!(found(&spans(Some("Boss"), "issue_refund")), ["off_channel boss"]);
    let mut in_process = contract();
    in_process.workers[0].allowed = crate::scenario::AllowList::Everything;
    let (_, findings) = lanes(&in_process, &spans(Some("Boss"), "issue_refund"));
    assert!(findings.is_empty());
}

#[test]
fn rows_and_spans_are_matched_by_worker_tool_and_count() {
    let twice = || {
        evidence().tool_span(Some("Refund"), "get_order", "00000000000000b1").tool_span(
            Some("Refund"),
            "get_order",
            "00000000000000b2",
        )
    };
    let get = |builder: EvidenceBuilder, worker| builder.done(worker, "get_order", json!({}));
    assert_eq!(found(&get(get(twice(), "refund"), "refund").build()), NONE);
    assert_eq!(found(&get(twice(), "refund").build()), ["off_channel refund"]);
    assert_eq!(found(&get(get(twice(), "refund"), "lookup").build()), ["off_channel refund"]);
    assert_eq!(
        found(&twice().done("refund", "issue_refund", json!({})).build()),
        ["off_channel refund", "off_channel refund"]
    );
    let nameless = evidence().tool_span(None, "get_order", "00000000000000b1");
    assert_eq!(found(&get(nameless, "lookup").build()), NONE);
    // A call that its trace gave to one span is not counted for another.
    let traced = from(get(twice(), "refund"), Some("00000000000000b1"));
    assert_eq!(found(&traced.build()), ["off_channel refund"]);
}

#[test]
fn calls_that_show_in_no_span_are_said_where_others_do() {
    let five = || {
        let spans = (1..=3).fold(evidence(), |builder, n| {
            builder.tool_span(Some("Refund"), "get_order", &format!("00000000000000c{n}"))
        });
        (0..5).fold(spans, |builder, _| builder.done("refund", "get_order", json!({})))
    };
    assert_eq!(found(&five().build()), ["span_missing refund"]);
    let (_, findings) = lanes(&contract(), &five().build());
    assert_eq!(findings[0].detail, "2 of the 5 calls of refund show in no span");
    assert_eq!(found(&evidence().done("refund", "get_order", json!({})).build()), NONE);
}

#[test]
fn names_of_nobody_are_told_once_each_and_peers_are_somebody() {
    let mut with_peer = contract();
    let peer = crate::scenario::Peer {
        pos: Default::default(),
        kind: crate::scenario::PeerKind::Proxied { url: String::new() },
        role: None,
    };
    with_peer.peers.insert("carrier".to_owned(), peer);
    let trial = evidence()
        .hand_off("delegated", Some("Boss"), Some("Helper"))
        .hand_off("delegated", Some("Helper"), Some("carrier"))
        .hand_off("transferred", Some("boss"), None)
        .build();
    let (_, findings) = lanes(&with_peer, &trial);
    let details: Vec<_> = findings.iter().map(|f| (f.code.as_str(), f.detail.split('`').nth(1))).collect();
    assert_eq!(details, [("agent_unknown", Some("Helper")), ("agent_unknown", Some("boss"))]);
}

#[test]
fn what_was_concluded_is_read_by_the_questions() {
    let trial = evidence().tool_span(Some("Clerk"), "get_order", TOOL_SPAN);
    let trial = shared(trial, "get_order", Some(TOOL_SPAN)).build();
    let asked = || super::calls(None, "get_order", Default::default());
    assert_eq!(super::said(Some("clerk"), asked(), trial.clone()), "unknown: lane_unattributed");
    let (rows, findings) = lanes(&contract(), &trial);
    let trial = trial.with_lanes(rows, findings);
    assert_eq!(super::said(Some("clerk"), asked(), trial), "passed");
}
