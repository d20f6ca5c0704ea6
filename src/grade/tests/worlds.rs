//! Replies and the world: closed evidence.

use serde_json::{Value, json};

use super::{evidence, not, said};
use crate::grade::{Evidence, EvidenceBuilder};
use crate::journal::ChangeRow;
use crate::scenario::{CheckKind, ReplyCheck, ReplyTest, TableChange, Times, WhichTurn};

fn reply(turn: WhichTurn, test: ReplyTest) -> CheckKind {
    CheckKind::Reply(ReplyCheck { turn, test })
}

fn contains(text: &str) -> CheckKind {
    reply(WhichTurn::Any, ReplyTest::Contains(text.to_owned()))
}

fn matches(pattern: &str) -> CheckKind {
    reply(WhichTurn::Any, ReplyTest::Matches(pattern.to_owned()))
}

fn two() -> EvidenceBuilder {
    evidence().turn("One.").reply("Your REFUND of 5990.").turn("Two.").reply("Bye.")
}

fn changes(rows: &[(&str, u64, u64, u64)]) -> Evidence {
    let mut evidence = evidence().build();
    evidence.changes = rows
        .iter()
        .map(|&(table, added, removed, changed)| ChangeRow {
            table: table.to_owned(),
            before: Vec::new(),
            after: Vec::new(),
            added,
            removed,
            changed,
        })
        .collect();
    evidence
}

#[test]
fn a_reply_is_looked_for_in_the_turns_asked_for() {
    let at = |turn, text: &str| reply(turn, ReplyTest::Contains(text.to_owned()));
    for (kind, expected) in [
        (contains("refund"), "passed"),
        (contains("never"), "failed"),
        (not(contains("never")), "passed"),
        (at(WhichTurn::Nth(1), "refund"), "passed"),
        (at(WhichTurn::Nth(2), "refund"), "failed"),
        (at(WhichTurn::Nth(3), "bye"), "failed"),
        (at(WhichTurn::Last, "bye"), "passed"),
        (at(WhichTurn::Last, "refund"), "failed"),
        (contains("of ${cents}."), "passed"),
        (matches("^Bye.$"), "passed"),
        (matches("^bye"), "failed"),
        (matches(r"\b${cents}\b"), "passed"),
    ] {
        let what = format!("{kind:?}");
        assert_eq!(said(None, kind, two().build()), expected, "{what}");
    }
}

#[test]
fn a_reply_cut_at_a_bound_may_go_on_to_say_it() {
    let mut cut = two().build();
    cut.replies[1].cut = true;
    assert_eq!(said(None, contains("never"), cut.clone()), "unknown: record_incomplete");
    assert_eq!(said(None, contains("refund"), cut), "passed");
}

#[test]
fn json_in_a_reply_is_compared_by_value() {
    let at = |pointer: &str, equals: Value| {
        let pointer = pointer.to_owned();
        reply(WhichTurn::Any, ReplyTest::Json { pointer, equals })
    };
    let seen = || evidence().turn("One.").reply(r#"{"a":[{"n":5990.0}]}"#).build();
    assert_eq!(said(None, at("/a/0/n", json!("${cents}")), seen()), "passed");
    assert_eq!(said(None, at("/a/0/n", json!(1)), seen()), "failed");
    assert_eq!(said(None, at("/a/1/n", json!(null)), seen()), "failed");
    assert_eq!(said(None, at("/a/0", json!({"n": 5990, "more": 1})), seen()), "failed");
    assert_eq!(said(None, at("/a", json!(null)), two().build()), "failed");
}

#[test]
fn an_app_in_trouble_fails_what_is_asked_of_its_replies_from_either_side() {
    for code in ["app_exited", "turn_timed_out", "bad_reply"] {
        let trouble = || two().finding(code).build();
        assert_eq!(said(None, contains("refund"), trouble()), "failed", "{code}");
        assert_eq!(said(None, not(contains("never")), trouble()), "failed", "{code}");
    }
    assert_eq!(said(None, not(contains("never")), two().finding("foreign_spans").build()), "passed");
}

#[test]
fn a_value_of_the_case_is_no_pattern() {
    let scenario =
        super::scenario(vec![super::goal(None, crate::verdict::Gate::Required, matches("^${name}$"))]);
    let verdict = |name: &str, said: &str| {
        let case = crate::scenario::Case::from([("name".to_owned(), json!(name))]);
        let seen = evidence().turn("One.").reply(said).build();
        let grades = crate::grade::grade(&super::contract(), &scenario, &case, &seen);
        grades.verdicts[1].verdict.clone()
    };
    assert_eq!(verdict("a.c", "a.c"), "passed");
    assert_eq!(verdict("a.c", "abc"), "failed");
}

#[test]
fn the_change_of_the_world_is_what_is_asked_table_by_table() {
    let none = Times { min: 0, max: Some(0) };
    let one = Times { min: 1, max: Some(1) };
    let asked = |added, removed, changed| {
        CheckKind::Changed(vec![TableChange { table: "refunds".to_owned(), added, removed, changed }])
    };
    let verdict = |kind, rows: &[_]| said(None, kind, changes(rows));
    assert_eq!(verdict(asked(one, none, none), &[("refunds", 1, 0, 0)]), "passed");
    assert_eq!(verdict(asked(one, none, none), &[("refunds", 1, 0, 1)]), "failed");
    assert_eq!(verdict(asked(one, none, none), &[("refunds", 1, 1, 0)]), "failed");
    assert_eq!(verdict(asked(one, none, none), &[("refunds", 2, 0, 0)]), "failed");
    assert_eq!(verdict(asked(one, none, none), &[("orders", 1, 0, 0)]), "failed");
    assert_eq!(verdict(asked(none, one, one), &[("refunds", 0, 1, 1)]), "passed");
    assert_eq!(verdict(asked(one, none, none), &[]), "failed");
}

#[test]
fn a_table_without_a_change_did_not_change() {
    let asked = || CheckKind::Unchanged(vec!["orders".to_owned(), "refunds".to_owned()]);
    assert_eq!(said(None, asked(), changes(&[])), "passed");
    assert_eq!(said(None, asked(), changes(&[("other", 1, 0, 0)])), "passed");
    for one in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
        let rows = [("refunds", one.0, one.1, one.2)];
        assert_eq!(said(None, asked(), changes(&rows)), "failed");
    }
}

/// The world of these tests: one refund, and the action log beside it.
fn world() -> Evidence {
    let mut seen = two().done("refund", "issue_refund", json!({"cents": 5990})).build();
    seen.tables = vec![crate::journal::TableRow {
        table: "refunds".to_owned(),
        create: "CREATE TABLE refunds (order_id TEXT, cents INTEGER)".to_owned(),
        columns: vec!["order_id".to_owned(), "cents".to_owned()],
        rows: vec![vec![json!("1042"), json!(5990)]],
    }];
    seen
}

fn sql(text: &str) -> CheckKind {
    CheckKind::Sql(crate::scenario::Sql { text: text.into(), pos: Default::default() })
}

#[test]
fn sql_asks_the_closed_tables_and_the_case() {
    for (text, expected) in [
        ("SELECT count(*) = 1 FROM refunds WHERE cents = :cents", "passed"),
        ("SELECT count(*) = 2 FROM refunds", "failed"),
        ("SELECT count(*) = 1 FROM actions WHERE worker = 'refund' AND kind = 'done'", "passed"),
        ("SELECT count(*) = 2 FROM replies", "passed"),
        ("SELECT text = 'Two.' FROM turns WHERE n = 2", "passed"),
    ] {
        assert_eq!(said(None, sql(text), world()), expected, "{text}");
    }
    assert_eq!(said(None, not(sql("SELECT 0")), world()), "passed");
}

#[test]
fn sql_that_gives_no_answer_is_a_broken_check() {
    for text in ["SELECT NULL", "SELECT 2", "SELECT 1 WHERE 0", "SELECT 1 FROM nowhere"] {
        let grades = super::graded(None, sql(text), world());
        let error = grades.end.error.map(|error| (error.code, error.line));
        assert_eq!(error, Some(("check_broken".to_owned(), Some(super::LINE))), "{text}");
    }
}

#[test]
fn a_call_that_spans_attribute_is_that_workers_in_sql_as_well() {
    let asked = || sql("SELECT count(*) = 1 FROM actions WHERE worker = 'clerk'");
    let trial = evidence().call(None, "get_order", json!({}), crate::journal::OutcomeKind::Done);
    assert_eq!(said(None, asked(), trial.clone().build()), "failed");
    let lane = |worker: Option<&str>, claimed: Option<&str>, seq| crate::journal::LaneRow {
        attempt: seq,
        worker: worker.map(str::to_owned),
        basis: "audited".to_owned(),
        claimed: claimed.map(str::to_owned),
    };
    let audited = trial.last(|action| action.lane = Some(lane(Some("clerk"), None, action.seq)));
    assert_eq!(said(None, asked(), audited.build()), "passed");
    // A disputed call keeps its channel's worker.
    let disputed = evidence()
        .done("refund", "get_order", json!({}))
        .last(|action| action.lane = Some(lane(None, Some("clerk"), action.seq)));
    assert_eq!(said(None, asked(), disputed.clone().build()), "failed");
    let of_channel = sql("SELECT count(*) = 1 FROM actions WHERE worker = 'refund'");
    assert_eq!(said(None, of_channel, disputed.build()), "passed");
}

#[test]
fn a_world_kept_from_the_app_for_want_of_a_log_shows_nothing() {
    let mut seen = changes(&[]);
    seen.findings = evidence().finding("log_unavailable").build().findings;
    let asked = CheckKind::Unchanged(vec!["orders".to_owned()]);
    assert_eq!(said(None, asked, seen.clone()), "unknown: record_incomplete");
    assert_eq!(said(None, sql("SELECT 1"), seen), "unknown: record_incomplete");
}
