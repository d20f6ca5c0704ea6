//! The format matrix: records of other versions, kept as they were written, against the reader of today.
//!
//! `written-by-1.jsonl` is what version 1 of the format wrote: it holds for ever. `newer-fields.jsonl` is what a later
//! program may write within the same format: fields and row kinds unknown today. `format-2.jsonl` is a format that is
//! not known here. The files are never written anew; a record that today's writer would write otherwise is no reason to.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use mocktrial::journal::{
    AttemptRow, EndRow, FindingRow, OutcomeKind, OutcomeRow, ReplyRow, RowKind, SealRow, TrialRow, TurnRow,
    VerdictRow,
};
use mocktrial::record::{
    Broken, Flaw, Options, Row, Standing, VerifyError, Vouched, read, verify, verify_dir,
};
use mocktrial::verdict::Outcome;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format").join(name)
}

fn verified(name: &str) -> Result<Vouched, VerifyError> {
    verify(BufReader::new(File::open(path(name)).expect("the file")), Options::default())
}

fn rows(name: &str) -> Vec<Row> {
    read(&path(name)).expect("the file").collect::<Result<_, _>>().expect("rows")
}

fn first<R: RowKind + serde::de::DeserializeOwned>(rows: &[Row]) -> R {
    let row = rows.iter().find(|row| row.kind == R::ROW).expect("one of this kind");
    row.parse().expect("its shape")
}

/// What both files say; the newer one says more besides.
fn says_what_it_said(name: &str) {
    let vouched = verified(name).expect("it holds");
    assert_eq!(vouched.outcome, Outcome::Failed);
    let rows = rows(name);
    assert_eq!(vouched.rows as usize, rows.len());
    assert_eq!(first::<TrialRow>(&rows).scenario, "refund_once");
    assert_eq!(first::<TurnRow>(&rows).text, "Order 1042 came broken. I'd like my money back. 😀");
    assert_eq!(first::<ReplyRow>(&rows).text, "Your refund is on its way.");
    let attempt: AttemptRow = first(&rows);
    assert_eq!(attempt.arguments, serde_json::json!({"amount_cents": 5990, "order_id": "1042"}));
    let outcome: OutcomeRow = first(&rows);
    assert_eq!((outcome.kind, outcome.status), (OutcomeKind::WorldRefused, Some(409)));
    assert_eq!(first::<FindingRow>(&rows).code, "off_channel");
    assert_eq!(first::<VerdictRow>(&rows).verdict, "failed");
    let end: EndRow = first(&rows);
    assert_eq!(end.workers["refund"].reason.as_deref(), Some("no_calls"));
    assert_eq!(first::<SealRow>(&rows).verdicts["refunded_once"], "failed");
}

#[test]
fn a_record_of_format_1_is_read_and_holds_for_ever() {
    says_what_it_said("written-by-1.jsonl");
    let vouched = verified("written-by-1.jsonl").expect("it holds");
    assert!(vouched.signed_by.is_some(), "and so does its signature");
}

#[test]
fn fields_and_rows_that_are_not_known_are_passed_over() {
    says_what_it_said("newer-fields.jsonl");
    let rows = rows("newer-fields.jsonl");
    assert!(rows.iter().any(|row| row.kind == "weather"), "a kind unknown today");
    assert!(rows[0].body.contains_key("added_later"));
}

#[test]
fn a_format_that_is_not_known_is_refused_by_its_number() {
    let refused = verified("format-2.jsonl");
    assert!(
        matches!(refused, Err(VerifyError::Broken(Broken { row: 1, why: Flaw::Format(2) }))),
        "{refused:?}"
    );
}

#[test]
fn a_run_file_of_format_1_is_read_for_ever() {
    let report = verify_dir(&path("run-1"), None).expect("looked through");
    assert!(report.is_sound(), "{report:?}");
    assert!(matches!(&report.trials["refund_once/0-1"], Standing::Holds(vouched) if vouched.anchored));
    assert_eq!(report.trials["refund_once/0-2"], Standing::NotRun);
}
