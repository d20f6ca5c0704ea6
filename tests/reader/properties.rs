//! What may not matter: the order of spans, their batches, their repetition, the names of agents and tools; and what
//! a span that never came may do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use mocktrial::events::{self, Event, Kind};
use mocktrial::spans::Span;
use mocktrial::verdict::Relationship;
use proptest::prelude::*;
use regex::Regex;

use super::captures::{Capture, all, lines, parse};
use super::score::score;

fn any_capture() -> impl Strategy<Value = &'static Capture> {
    (0..all().len()).prop_map(|at| &all()[at])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn order_and_repetition_change_nothing(
        (capture, order, again) in any_capture().prop_flat_map(|capture| {
            let spans = capture.spans.len();
            let order = Just((0..spans).collect::<Vec<_>>()).prop_shuffle();
            (Just(capture), order, prop::collection::vec(0..spans.max(1), 0..8))
        })
    ) {
        let again = again.into_iter().filter(|&at| at < capture.spans.len());
        let spans: Vec<Span> = again.chain(order).map(|at| capture.spans[at].clone()).collect();
        prop_assert_eq!(events::read(&spans), events::read(&capture.spans), "{}", capture.name);
    }

    #[test]
    fn a_span_that_never_came_lets_nothing_new_be_observed(
        (capture, kept) in any_capture().prop_flat_map(|capture| {
            let kept = prop::collection::vec(prop::bool::weighted(0.85), capture.spans.len());
            (Just(capture), kept)
        })
    ) {
        let spans: Vec<Span> =
            capture.spans.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(span, _)| span.clone()).collect();
        prop_assert_eq!(new_claims(&capture.spans, &spans), Vec::<String>::new(), "{}", capture.name);
    }
}

#[test]
fn no_single_span_hides_by_its_absence_that_a_claim_is_a_guess() {
    for capture in all() {
        for gone in 0..capture.spans.len() {
            let mut spans = capture.spans.clone();
            spans.remove(gone);
            assert_eq!(
                new_claims(&capture.spans, &spans),
                Vec::<String>::new(),
                "{} without {gone}",
                capture.name
            );
        }
    }
}

/// Claims made of fewer spans that were not made of all, but for those that say they rest on being first, next or one
/// of several.
fn new_claims(all: &[Span], fewer: &[Span]) -> Vec<String> {
    let observed = |event: &Event| event.relationship == Relationship::Observed;
    let mut before: Vec<Event> = events::read(all).into_iter().filter(observed).collect();
    // A hand-off whose worker never came is a call of its tool, which it was.
    let calls: Vec<Event> = before
        .iter()
        .filter(|event| event.tool.is_some())
        .map(|event| Event { kind: Kind::ToolCall, to: None, ..event.clone() })
        .collect();
    before.extend(calls);
    let now = events::read(fewer)
        .into_iter()
        .filter(|event| observed(event) && !events::basis::is_by_place(event.basis));
    now.filter(|event| !before.iter().any(|earlier| says_no_more(event, earlier)))
        .map(|event| format!("{event:?}"))
        .collect()
}

/// Whether an event claims who did what to whom as an earlier one did, or leaves it open. Not the span it rests on, nor
/// the arguments: of two tracers the other one may be the authority now.
fn says_no_more(event: &Event, earlier: &Event) -> bool {
    let open = |now: &Option<Arc<str>>, then: &Option<Arc<str>>| now.is_none() || now == then;
    event.kind == earlier.kind
        && open(&event.agent, &earlier.agent)
        && open(&event.to, &earlier.to)
        && event.tool.is_none() == earlier.tool.is_none()
        && open(&event.tool, &earlier.tool)
}

/// Words that are the frameworks' own.
const THEIRS: [&str; 20] = [
    "transfer_to_agent",
    "handoff_to_agent",
    "delegate_task_to_member",
    "handoff",
    "Agent",
    "Task",
    "final_answer",
    "Delegate work to coworker",
    "delegate_work_to_coworker",
    "Ask question to coworker",
    "ask_question_to_coworker",
    "finish_task",
    "final_result",
    "task",
    "agent",
    "LangGraph",
    "workflow",
    "user",
    "unknown",
    "set_model_response",
];

#[test]
fn names_of_agents_and_tools_decide_nothing() {
    for (folder, line) in lines() {
        let capture = parse(&folder, &line);
        let names = names(&capture);
        if names.is_empty() {
            continue;
        }
        let longest_first = {
            let mut names: Vec<&String> = names.keys().collect();
            names.sort_by_key(|name| std::cmp::Reverse(name.len()));
            names.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|")
        };
        let whole = Regex::new(&format!(
            r"(^|[^A-Za-z0-9_\-])(mcp__desk__)?({longest_first})(?P<end>[^A-Za-z0-9_\-])"
        ))
        .expect("pattern");
        let mut renamed = line;
        // Names beside each other share a border, so that once is not enough.
        for _ in 0..2 {
            renamed = whole
                .replace_all(&renamed, |found: &regex::Captures<'_>| {
                    let part = |at| found.get(at).map_or("", |part| part.as_str());
                    format!("{}{}{}{}", part(1), part(2), names[part(3)], &found["end"])
                })
                .into_owned();
        }
        let capture = parse(&folder, &renamed);
        let score = score(&capture.expected, &events::read(&capture.spans));
        assert!(score.is_exact() && score.guesses == 0, "{}: {score:#?}", capture.name);
    }
}

fn names(capture: &Capture) -> BTreeMap<String, String> {
    let mut names = BTreeSet::new();
    for row in &capture.expected {
        let accepted = row["accept"].as_array().into_iter().flatten();
        for row in std::iter::once(row).chain(accepted) {
            names.extend(
                ["agent", "from", "to", "tool"].iter().filter_map(|key| row[key].as_str()).map(str::to_owned),
            );
        }
    }
    names
        .into_iter()
        .filter(|name| !THEIRS.contains(&name.as_str()) && !name.starts_with("mcp__"))
        .enumerate()
        .map(|(at, name)| (name, format!("Nº {at} of the desk")))
        .collect()
}

#[test]
fn captures_read_together_give_what_each_gives_alone() {
    // One process of an app runs many trials' worth of traces; here all frameworks at once.
    let mut each: HashMap<_, Vec<Event>> = HashMap::new();
    let mut spans = Vec::new();
    for capture in
        all().iter().filter(|capture| !capture.name.contains("two_tracers") && !capture.name.contains('+'))
    {
        if capture.name.starts_with("mutations") {
            continue;
        }
        for event in events::read(&capture.spans) {
            each.entry(event.trace_id).or_default().push(event);
        }
        spans.extend(capture.spans.iter().cloned());
    }
    let mut together: HashMap<_, Vec<Event>> = HashMap::new();
    for event in events::read(&spans) {
        together.entry(event.trace_id).or_default().push(event);
    }
    let calls = |events: &[Event]| events.iter().filter(|event| event.kind == Kind::ToolCall).count();
    for (trace, alone) in &each {
        let beside = together.get(trace).map_or(&[][..], Vec::as_slice);
        assert_eq!(calls(alone), calls(beside), "{trace}");
        assert_eq!(alone, beside, "{trace}");
    }
}
