//! The published schema against rows as they are stored.

use std::collections::BTreeSet;

use super::*;

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema()).expect("a schema")
}

fn judged() -> Judged {
    Judged { verdict: "unknown".to_owned(), reason: Some("no_calls".to_owned()) }
}

/// One row of each kind, and those of the other tests, as stored.
fn all_kinds() -> Vec<Value> {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    let some = || Some("x".to_owned());
    macro_rules! append {
        ($($row:expr),* $(,)?) => { $( journal.append(&$row).expect("written"); )* };
    }
    append!(
        trial(),
        turn(1, "hello"),
        ReplyRow { n: 1, text: String::new(), cut: true },
        attempt(1),
        AttemptRow {
            worker: None,
            tool: None,
            decision: Decision::Refused,
            code: some(),
            reason: some(),
            trace_id: some(),
            ..attempt(1)
        },
        outcome(4),
        LaneRow { attempt: 4, worker: None, basis: "disputed".to_owned(), claimed: some() },
        SpanRow { span: json!({"name": "x"}), scope: Value::Null, resource: json!(0) },
        EventRow {
            kind: "delegated".to_owned(),
            agent: some(),
            from: some(),
            to: None,
            tool: None,
            arguments: Value::Null,
            relationship: crate::verdict::Relationship::Observed,
            basis: "x".to_owned(),
            trace_id: "0".to_owned(),
            span_id: "0".to_owned(),
            parent_span_id: None,
            started_at: "1".to_owned(),
            ended_at: None,
            ended_with: None,
        },
        TableRow {
            table: "t".to_owned(),
            create: String::new(),
            columns: vec!["a".to_owned()],
            rows: vec![vec![json!(1), Value::Null]]
        },
        ChangeRow {
            table: "t".to_owned(),
            before: vec![],
            after: vec![json!({"a": 1})],
            added: 1,
            removed: 0,
            changed: 0
        },
        LaneChangeRow { worker: "refund".to_owned(), attempts: 2, refusals: vec![json!({"attempt": 4})] },
        FindingRow { code: "off_channel".to_owned(), worker: None, detail: String::new() },
        OutputRow { stream: "stdout".to_owned(), text: String::new(), cut: false },
        ModelRow {
            worker: None,
            basis: None,
            api: "openai_chat".to_owned(),
            asked: some(),
            served: None,
            digest: String::new(),
            input_tokens: Some(1),
            output_tokens: None,
            rule: None,
            status: 200,
            retry_of: Some(3),
            trace_id: some(),
            span_id: None,
            detail: Value::Null,
        },
        AnswerRow {
            check: "3:5".to_owned(),
            by: "judge".to_owned(),
            verdict: None,
            reason: String::new(),
            detail: Value::Null
        },
        PhaseRow { phase: "start".to_owned(), micros: 5 },
    );
    let end = EndRow {
        workers: [("refund".to_owned(), judged())].into(),
        outcome: Outcome::Error,
        error: Some(TrialError { code: "x".to_owned(), message: String::new(), line: None }),
        ..end()
    };
    seal(&journal, &verdicts(), &end, Some(&key())).expect("sealed");
    let bytes = memory.bytes();
    lines(&bytes).iter().map(|line| serde_json::from_slice(line).expect("a row")).collect()
}

#[test]
fn every_row_that_is_written_fits_the_schema() {
    let validator = validator();
    let rows = all_kinds();
    for row in &rows {
        let errors: Vec<String> = validator.iter_errors(row).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{row}: {errors:?}");
    }
    let kinds: BTreeSet<&str> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert_eq!(kinds.len(), 18, "every kind of row is among them: {kinds:?}");
}

#[test]
fn a_field_that_is_added_later_still_fits() {
    let validator = validator();
    for mut row in all_kinds() {
        row["added_later"] = json!({ "deep": [1] });
        assert!(validator.is_valid(&row), "{row}");
    }
}

#[test]
fn what_is_no_row_does_not_fit() {
    let validator = validator();
    for mut row in all_kinds() {
        for field in ["seq", "at", "row", "prev"] {
            let mut cut = row.clone();
            cut.as_object_mut().expect("a row").remove(field);
            assert!(!validator.is_valid(&cut), "without `{field}`: {row}");
        }
        row["at"] = json!(5);
        assert!(!validator.is_valid(&row), "a time that is a number: {row}");
    }
    let mut row = all_kinds().swap_remove(3);
    row["decision"] = "maybe".into();
    assert!(!validator.is_valid(&row));
}
