//! What must hold of every question and every trial.

use proptest::prelude::*;
use serde_json::json;

use super::{check, contract, goal, scenario};
use crate::grade::{Evidence, EvidenceBuilder, grade};
use crate::journal::{LaneRow, OutcomeKind};
use crate::name::ToolName;
use crate::scenario::{CallPattern, Case, Check, CheckKind, HandOff, OutcomeAsked, Times};
use crate::verdict::{Gate, Reason, Verdict};

const WORKERS: [&str; 5] = ["boss", "lookup", "refund", "clerk", "intern"];
const TOOLS: [&str; 2] = ["get_order", "issue_refund"];
const CODES: [&str; 4] = ["not_permitted", "deadline_passed", "calls_exhausted", "trial_closed"];

#[derive(Clone, Debug)]
enum Step {
    Call(Option<usize>, usize, OutcomeKind),
    Refused(usize, usize, usize),
    Whose(Option<usize>),
    Claimed(usize),
    Unfinished,
    HandOff(usize, usize),
    Finding(&'static str),
    Proven(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let kinds =
        vec![OutcomeKind::Done, OutcomeKind::WorldRefused, OutcomeKind::Faulted, OutcomeKind::Crashed];
    let kind = proptest::sample::select(kinds);
    let findings = vec!["record_incomplete", "app_left_running", "app_exited", "log_unavailable"];
    prop_oneof![
        6 => (proptest::option::weighted(0.7, 1..3usize), 0..2usize, kind).prop_map(|(w, t, k)| Step::Call(w, t, k)),
        3 => (1..3usize, 0..2usize, 0..4usize).prop_map(|(w, t, c)| Step::Refused(w, t, c)),
        2 => proptest::option::of(3..5usize).prop_map(Step::Whose),
        1 => (1..5usize).prop_map(Step::Claimed),
        1 => Just(Step::Unfinished),
        2 => (0..5usize, 0..5usize).prop_map(|(a, b)| Step::HandOff(a, b)),
        1 => proptest::sample::select(findings).prop_map(Step::Finding),
        3 => (1..5usize).prop_map(Step::Proven),
    ]
}

fn agent(worker: usize) -> &'static str {
    ["Boss", "Lookup", "Refund", "Clerk", "Intern"][worker]
}

fn take(builder: EvidenceBuilder, step: &Step) -> EvidenceBuilder {
    let lane = |builder: EvidenceBuilder, worker: Option<&str>, claimed: Option<&str>| {
        builder.last(|action| {
            action.lane = Some(LaneRow {
                attempt: action.seq,
                worker: worker.map(str::to_owned),
                basis: "audited".to_owned(),
                claimed: claimed.map(str::to_owned),
            });
        })
    };
    match *step {
        Step::Call(worker, tool, kind) => {
            builder.call(worker.map(|w| WORKERS[w]), TOOLS[tool], json!({}), kind)
        }
        Step::Refused(worker, tool, code) => builder.refused(WORKERS[worker], TOOLS[tool], CODES[code]),
        Step::Whose(worker) => lane(builder, worker.map(|w| WORKERS[w]), None),
        Step::Claimed(worker) => lane(builder, None, Some(WORKERS[worker])),
        Step::Unfinished => builder.last(|action| {
            action.outcome = None;
            action.ended_at = None;
        }),
        Step::HandOff(from, to) => builder.hand_off("delegated", Some(agent(from)), Some(agent(to))),
        Step::Finding(code) => builder.finding(code),
        Step::Proven(worker) => builder.proven(WORKERS[worker]),
    }
}

fn build(steps: &[Step]) -> EvidenceBuilder {
    steps.iter().fold(EvidenceBuilder::new().turn("Hello."), take)
}

fn trial() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..12)
}

fn asked_times() -> impl Strategy<Value = Times> {
    (0..3u64, proptest::option::of(0..3u64))
        .prop_filter("one that can fail", |(min, more)| *min > 0 || more.is_some())
        .prop_map(|(min, more)| Times { min, max: more.map(|more| min + more) })
}

fn asked_pattern() -> impl Strategy<Value = CallPattern> {
    let outcome = prop_oneof![Just(OutcomeAsked::Done), Just(OutcomeAsked::Reached), Just(OutcomeAsked::Any)];
    (proptest::option::of(0..5usize), proptest::option::of(0..2usize), outcome).prop_map(
        |(worker, tool, outcome)| CallPattern {
            worker: worker.map(|w| super::id(WORKERS[w])),
            tool: tool.map(|t| ToolName::new(TOOLS[t])),
            args: None,
            outcome,
        },
    )
}

fn leaf() -> impl Strategy<Value = CheckKind> {
    let order = || vec![ToolName::new("get_order"), ToolName::new("issue_refund")];
    prop_oneof![
        (asked_pattern(), asked_times()).prop_map(|(p, t)| CheckKind::Calls(p, t)),
        asked_pattern().prop_map(CheckKind::Never),
        (asked_pattern(), asked_times(), 0..4usize).prop_map(|(p, times, code)| {
            CheckKind::Refused { worker: p.worker, tool: p.tool, code: Some(CODES[code].to_owned()), times }
        }),
        proptest::option::of(0..5usize)
            .prop_map(move |w| CheckKind::Order { worker: w.map(|w| super::id(WORKERS[w])), tools: order() }),
        (1..30u64).prop_map(|s| CheckKind::Within(std::time::Duration::from_secs(s))),
        (0..5usize, asked_times()).prop_map(|(to, times)| CheckKind::Delegated(HandOff {
            from: None,
            to: Some(WORKERS[to].to_owned()),
            times,
        })),
    ]
}

fn tree() -> impl Strategy<Value = CheckKind> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let list = proptest::collection::vec(inner.clone().prop_map(check), 1..3);
        prop_oneof![
            list.clone().prop_map(CheckKind::All),
            list.prop_map(CheckKind::Any),
            inner.prop_map(|kind| CheckKind::Not(Box::new(check(kind)))),
        ]
    })
}

fn subject() -> impl Strategy<Value = Option<&'static str>> {
    proptest::option::of((0..5usize).prop_map(|w| WORKERS[w]))
}

fn verdict(subject: Option<&str>, kind: &CheckKind, evidence: &Evidence) -> Verdict {
    let asked = scenario(vec![goal(subject, Gate::Required, kind.clone())]);
    let grades = grade(&contract(), &asked, &Case::new(), evidence);
    let row = &grades.verdicts[1];
    match row.verdict.as_str() {
        "passed" => Verdict::Passed,
        "failed" => Verdict::Failed,
        _ => Verdict::Unknown(
            serde_json::from_value::<Reason>(json!(row.reason)).expect("a reason of the table"),
        ),
    }
}

fn not(kind: &CheckKind) -> CheckKind {
    CheckKind::Not(Box::new(check(kind.clone())))
}

fn both(a: &CheckKind, b: &CheckKind) -> Vec<Check> {
    vec![check(a.clone()), check(b.clone())]
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Passed),
        Just(Verdict::Failed),
        Just(Verdict::Unknown(Reason::NoCalls)),
        Just(Verdict::Unknown(Reason::LaneDisputed)),
        Just(Verdict::Unknown(Reason::ScriptFailed)),
    ]
}

proptest! {
    #[test]
    fn three_valued_logic_is_kleenes(a in any_verdict(), b in any_verdict(), c in any_verdict()) {
        prop_assert_eq!(a.and(b), b.and(a));
        prop_assert_eq!(a.and(b).and(c), a.and(b.and(c)));
        prop_assert_eq!(a.and(Verdict::Passed), a);
        prop_assert_eq!(a.and(Verdict::Failed), Verdict::Failed);
        prop_assert_eq!(a.or(Verdict::Failed), a);
        prop_assert_eq!(a.or(Verdict::Passed), Verdict::Passed);
        prop_assert_eq!(a.negated().negated(), a);
        prop_assert_eq!(a.and(b).negated(), a.negated().or(b.negated()));
        // Distribution holds for the word; which of two reasons is told may differ.
        prop_assert_eq!(a.and(b.or(c)).word(), a.and(b).or(a.and(c)).word());
        prop_assert_eq!(a.and(a), a);
    }

    #[test]
    fn all_is_and_and_any_is_or(a in tree(), b in tree(), steps in trial(), who in subject()) {
        let seen = build(&steps).build();
        let (va, vb) = (verdict(who, &a, &seen), verdict(who, &b, &seen));
        prop_assert_eq!(verdict(who, &CheckKind::All(both(&a, &b)), &seen), va.and(vb));
        prop_assert_eq!(verdict(who, &CheckKind::Any(both(&a, &b)), &seen), va.or(vb));
    }

    #[test]
    fn not_moves_through_all_and_any(a in tree(), b in tree(), steps in trial(), who in subject()) {
        let seen = build(&steps).build();
        let nots = || vec![check(not(&a)), check(not(&b))];
        prop_assert_eq!(
            verdict(who, &not(&CheckKind::All(both(&a, &b))), &seen),
            verdict(who, &CheckKind::Any(nots()), &seen)
        );
        prop_assert_eq!(
            verdict(who, &not(&CheckKind::Any(both(&a, &b))), &seen),
            verdict(who, &CheckKind::All(nots()), &seen)
        );
        prop_assert_eq!(verdict(who, &not(&not(&a)), &seen), verdict(who, &a, &seen));
    }

    #[test]
    fn a_question_and_its_contrary_never_both_pass_nor_both_fail(a in leaf(), steps in trial(), who in subject()) {
        let seen = build(&steps).build();
        let (yes, no) = (verdict(who, &a, &seen), verdict(who, &not(&a), &seen));
        prop_assert!(yes != no || matches!(yes, Verdict::Unknown(_)), "{yes} {no}");
    }

    #[test]
    fn one_more_done_call_never_fails_a_passed_at_least(
        pattern in asked_pattern(), min in 1..3u64, steps in trial(), who in subject(),
        worker in 1..3usize, tool in 0..2usize,
    ) {
        let asked = CheckKind::Calls(pattern, Times { min, max: None });
        let before = build(&steps);
        let after = before.clone().done(WORKERS[worker], TOOLS[tool], json!({}));
        if verdict(who, &asked, &before.build()) == Verdict::Passed {
            prop_assert_eq!(verdict(who, &asked, &after.build()), Verdict::Passed);
        }
    }

    #[test]
    fn one_more_done_call_never_turns_a_failed_never_to_passed(
        pattern in asked_pattern(), steps in trial(), who in subject(), worker in 1..3usize, tool in 0..2usize,
    ) {
        let asked = CheckKind::Never(pattern);
        let before = build(&steps);
        let after = before.clone().done(WORKERS[worker], TOOLS[tool], json!({}));
        if verdict(who, &asked, &before.build()) == Verdict::Failed {
            prop_assert_eq!(verdict(who, &asked, &after.build()), Verdict::Failed);
        }
    }

    #[test]
    fn doubt_never_makes_a_verdict_the_contrary(a in leaf(), steps in trial(), who in subject()) {
        let whole = build(&steps);
        let decided = verdict(who, &a, &whole.clone().build());
        for code in ["record_incomplete", "app_left_running", "log_unavailable"] {
            let doubted = verdict(who, &a, &whole.clone().finding(code).build());
            if !matches!(doubted, Verdict::Unknown(_)) {
                prop_assert_eq!(doubted, decided);
            }
        }
    }

    #[test]
    fn the_order_of_events_means_nothing(a in tree(), steps in trial(), who in subject()) {
        let forth = build(&steps).build();
        let mut back = forth.clone();
        back.events.reverse();
        prop_assert_eq!(verdict(who, &a, &forth), verdict(who, &a, &back));
    }
}
