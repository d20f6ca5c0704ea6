//! From goals to the trial: built-in goals, the task's verdict beside the workers', gates and errors.

use serde_json::json;

use super::{calls, contract, evidence, goal, never, scenario, turn};
use crate::grade::{Evidence, EvidenceBuilder, Grades, grade};
use crate::journal::{LaneRow, OutcomeKind, TrialError};
use crate::scenario::{
    Case, CheckKind, Narrowing, ReplyCheck, ReplyTest, Scenario, SubGoal, Times, WhichTurn,
};
use crate::verdict::{Gate, Outcome};

fn come_to(goals: Vec<SubGoal>, evidence: Evidence) -> Grades {
    grade(&contract(), &scenario(goals), &Case::new(), &evidence)
}

fn answered() -> EvidenceBuilder {
    evidence().turn("Hello.").reply("Hi.")
}

fn word(grades: &Grades, id: &str, subject: &str) -> String {
    let mut rows = grades.verdicts.iter();
    let row = rows.find(|row| row.sub_goal == id && row.subject == subject);
    row.map_or("no such row".to_owned(), |row| match &row.reason {
        Some(reason) => format!("{}: {reason}", row.verdict),
        None => row.verdict.clone(),
    })
}

fn task(grades: &Grades) -> String {
    let judged = &grades.end.task;
    format!("{} {:?}", judged.verdict, judged.reason.as_deref().unwrap_or(""))
}

fn of(grades: &Grades, worker: &str) -> String {
    let judged = &grades.end.workers[worker];
    format!("{} {:?}", judged.verdict, judged.reason.as_deref().unwrap_or(""))
}

fn holds() -> CheckKind {
    calls(Some("lookup"), "get_order", Times::default())
}

fn breaks() -> CheckKind {
    calls(Some("lookup"), "issue_refund", Times::default())
}

fn unknown() -> CheckKind {
    never(Some("refund"), "issue_refund")
}

fn trial() -> Evidence {
    answered().done("lookup", "get_order", json!({})).build()
}

#[test]
fn every_turn_that_expects_one_gets_its_reply_or_the_task_fails() {
    let verdict = |scenario: &Scenario, evidence: EvidenceBuilder| {
        let grades = grade(&contract(), scenario, &Case::new(), &evidence.build());
        word(&grades, "answered", "task")
    };
    let mut asked = scenario(vec![]);
    assert_eq!(verdict(&asked, answered()), "passed");
    assert_eq!(verdict(&asked, evidence().turn("Hello.")), "failed");
    asked.turns.push(turn(true));
    assert_eq!(verdict(&asked, answered()), "failed");
    assert_eq!(verdict(&asked, answered().turn("So?").reply("So.")), "passed");
    asked.turns[1].expects_reply = false;
    assert_eq!(verdict(&asked, answered().turn("So?")), "passed");
    for code in ["app_exited", "turn_timed_out", "bad_reply"] {
        assert_eq!(verdict(&asked, answered().finding(code)), "failed", "{code}");
    }
    let grades = come_to(vec![], evidence().build());
    assert_eq!(task(&grades), "failed \"\"");
    assert_eq!(grades.end.outcome, Outcome::Failed);
    assert_eq!((grades.verdicts[0].gate, grades.verdicts[0].line), (Gate::Required, 0));
}

#[test]
fn a_workers_verdict_never_decides_the_tasks_nor_hides_behind_it() {
    let own = |gate, kind| vec![goal(Some("lookup"), gate, kind)];
    let grades = come_to(own(Gate::IfSeen, breaks()), trial());
    assert_eq!((task(&grades), of(&grades, "lookup")), ("passed \"\"".into(), "failed \"\"".into()));
    assert_eq!(grades.end.outcome, Outcome::Failed);
    let grades = come_to(vec![goal(None, Gate::Required, breaks())], trial());
    assert_eq!(task(&grades), "failed \"\"");
    assert_eq!(of(&grades, "lookup"), "unknown \"not_asked\"");
    let grades = come_to(own(Gate::Report, breaks()), trial());
    assert_eq!(of(&grades, "lookup"), "unknown \"not_asked\"");
    assert_eq!(grades.end.outcome, Outcome::Passed);
    let both =
        vec![goal(Some("lookup"), Gate::IfSeen, holds()), goal(Some("lookup"), Gate::IfSeen, breaks())];
    assert_eq!(of(&come_to(both, trial()), "lookup"), "failed \"\"");
    assert_eq!(grades.end.workers.len(), contract().workers.len());
}

#[test]
fn the_tasks_required_goals_decide_it_and_a_failed_if_seen_goal_fails_it() {
    let of_task = |gate, kind| {
        let grades = come_to(vec![goal(None, gate, kind)], trial());
        (task(&grades), grades.end.outcome)
    };
    let passed = || ("passed \"\"".to_owned(), Outcome::Passed);
    let failed = || ("failed \"\"".to_owned(), Outcome::Failed);
    let unproven = "unknown \"binding_unproven\"".to_owned();
    assert_eq!(of_task(Gate::Required, holds()), passed());
    assert_eq!(of_task(Gate::Required, breaks()), failed());
    assert_eq!(of_task(Gate::Required, unknown()), (unproven, Outcome::Unknown));
    assert_eq!(of_task(Gate::IfSeen, breaks()), failed());
    assert_eq!(of_task(Gate::IfSeen, unknown()), passed());
    assert_eq!(of_task(Gate::Report, breaks()), passed());
}

#[test]
fn a_required_goal_of_a_worker_makes_the_outcome_unknown_beside_a_passed_task() {
    let own = goal(Some("refund"), Gate::Required, unknown());
    let grades = come_to(vec![own], trial());
    assert_eq!(task(&grades), "passed \"\"");
    assert_eq!(grades.end.outcome, Outcome::Unknown);
}

#[test]
fn a_broken_check_is_an_error_at_its_line_and_never_the_apps_failure() {
    let broken =
        || CheckKind::Reply(ReplyCheck { turn: WhichTurn::Any, test: ReplyTest::Matches("(".to_owned()) });
    let goals = vec![goal(None, Gate::Report, broken()), goal(Some("lookup"), Gate::IfSeen, breaks())];
    let grades = come_to(goals, trial());
    let error = grades.end.error.as_ref();
    assert_eq!(error.map(|e| (e.code.as_str(), e.line)), Some(("check_broken", Some(7))));
    assert_eq!(grades.end.outcome, Outcome::Error);
    assert_eq!(grades.verdicts[1].reason.as_deref(), Some("check_broken"));
    assert_eq!(of(&grades, "lookup"), "failed \"\"");
    let goals = vec![goal(None, Gate::Required, breaks()), goal(None, Gate::Required, broken())];
    assert_eq!(task(&come_to(goals, trial())), "unknown \"check_broken\"");
    let nested = CheckKind::Any(vec![super::check(holds()), super::check(super::not(broken()))]);
    let grades = come_to(vec![goal(None, Gate::Required, nested)], trial());
    assert_eq!(grades.end.outcome, Outcome::Error);
}

#[test]
fn trouble_of_the_harness_leaves_nothing_graded() {
    let mut seen = trial();
    seen.error =
        Some(TrialError { code: "not_ready".to_owned(), message: "no answer".to_owned(), line: None });
    let grades = come_to(vec![goal(None, Gate::Required, holds())], seen.clone());
    assert!(grades.verdicts.is_empty());
    assert_eq!(task(&grades), "unknown \"not_ready\"");
    assert_eq!(of(&grades, "lookup"), "unknown \"not_ready\"");
    assert_eq!((grades.end.outcome, grades.end.error), (Outcome::Error, seen.error));
}

#[test]
fn calls_refused_for_want_of_a_log_never_come_out_as_passed() {
    let trial = answered().done("lookup", "get_order", json!({}));
    let goals = || vec![goal(None, Gate::Required, holds())];
    let full = trial.clone().finding("log_unavailable").build();
    let grades = come_to(goals(), full);
    assert_eq!(
        (task(&grades), grades.end.outcome),
        ("unknown \"record_incomplete\"".into(), Outcome::Unknown)
    );
    let spans_cut = trial.finding("record_incomplete").build();
    assert_eq!(come_to(goals(), spans_cut).end.outcome, Outcome::Passed);
}

/// A call let through on the shared address, attributed to `whose`.
fn audited(builder: EvidenceBuilder, tool: &str, whose: Option<&str>) -> EvidenceBuilder {
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

#[test]
fn a_worker_told_apart_by_spans_is_looked_at_afterwards() {
    let stayed = |evidence: EvidenceBuilder| {
        let grades = come_to(vec![], evidence.build());
        word(&grades, "stayed_permitted", "worker:clerk")
    };
    assert_eq!(stayed(answered()), "unknown: no_calls");
    assert_eq!(stayed(audited(answered(), "get_order", Some("clerk"))), "passed");
    assert_eq!(stayed(audited(answered(), "issue_refund", Some("clerk"))), "failed");
    assert_eq!(stayed(audited(answered(), "issue_refund", None)), "unknown: lane_unattributed");
    let may = audited(answered(), "get_order", Some("clerk"));
    assert_eq!(stayed(audited(may.clone(), "get_order", None)), "passed");
    assert_eq!(stayed(may.clone().finding("record_incomplete")), "unknown: record_incomplete");
    // What was refused on the wire was not let through.
    let refused = audited(may, "issue_refund", Some("clerk")).last(|action| {
        action.attempt.decision = crate::journal::Decision::Refused;
        action.attempt.code = Some("not_permitted".to_owned());
    });
    assert_eq!(stayed(refused), "passed");
    let grades = come_to(vec![], audited(answered(), "issue_refund", Some("clerk")).build());
    assert_eq!(grades.end.outcome, Outcome::Failed);
    assert_eq!(task(&grades), "passed \"\"");
    assert_eq!(word(&grades, "stayed_permitted", "worker:intern"), "unknown: no_calls");
    assert_eq!(word(&grades, "stayed_permitted", "worker:refund"), "no such row");
}

#[test]
fn a_disputed_call_leaves_what_an_audited_worker_did_unknown() {
    let trial = answered().done("refund", "issue_refund", json!({})).last(|action| {
        action.lane = Some(LaneRow {
            attempt: action.seq,
            worker: None,
            basis: "disputed".to_owned(),
            claimed: Some("clerk".to_owned()),
        });
    });
    let grades = come_to(vec![], trial.build());
    assert_eq!(word(&grades, "stayed_permitted", "worker:clerk"), "unknown: lane_disputed");
    assert_eq!(word(&grades, "stayed_permitted", "worker:intern"), "unknown: no_calls");
}

#[test]
fn a_scenario_narrows_an_audited_worker_as_it_would_any_other() {
    let verdict = |change: &dyn Fn(&mut Scenario)| {
        let mut asked = scenario(vec![]);
        change(&mut asked);
        let twice = audited(audited(answered(), "get_order", Some("clerk")), "get_order", Some("clerk"));
        let grades = grade(&contract(), &asked, &Case::new(), &twice.build());
        word(&grades, "stayed_permitted", "worker:clerk")
    };
    let narrow = |narrowing: Narrowing| {
        verdict(&move |asked: &mut Scenario| {
            asked.narrow.insert(super::id("clerk"), narrowing.clone());
        })
    };
    assert_eq!(verdict(&|_| {}), "passed");
    assert_eq!(narrow(Narrowing { max_calls: Some(1), ..Narrowing::default() }), "failed");
    assert_eq!(narrow(Narrowing { max_calls: Some(2), ..Narrowing::default() }), "passed");
    let denied = Narrowing { deny_tools: ["get_order".to_owned()].into(), ..Narrowing::default() };
    assert_eq!(narrow(denied), "failed");
    let within = |seconds, from| {
        verdict(&move |asked: &mut Scenario| {
            asked.budget = Some(std::time::Duration::from_secs(seconds));
            asked.budget_from = from;
        })
    };
    use crate::scenario::BudgetFrom::{FirstCall, FirstTurn};
    // The turn is at second 1, the calls begin at 3 and 5.
    assert_eq!(within(4, FirstTurn), "failed");
    assert_eq!(within(5, FirstTurn), "passed");
    assert_eq!(within(2, FirstCall), "failed");
    assert_eq!(within(3, FirstCall), "passed");
}
