//! Reading a record, whole or cut.

use std::io::Cursor;

use super::*;

#[test]
fn rows_are_read_as_they_were_written() {
    let (bytes, _) = sealed(2, None);
    let rows: Vec<Row> = Record::over(&bytes[..]).collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), lines(&bytes).len());
    assert_eq!(rows[0].parse::<TrialRow>().expect("a trial").scenario, "refund_once");
    let attempt: AttemptRow = rows[2].parse().expect("an attempt");
    assert_eq!((rows[2].seq, attempt.arguments["amount_cents"].as_u64()), (3, Some(0)));
    assert!(matches!(rows[2].parse::<TurnRow>(), Err(ReadError::NoRow { row: 3, .. })));
    assert!(rows.iter().all(|row| !row.body.contains_key("prev")));
}

#[test]
fn a_reader_gives_every_whole_row_and_says_where_the_record_is_cut() {
    let (bytes, _) = sealed(2, None);
    let whole = lines(&bytes)[..4].concat();
    let cut = [&whole[..], b"{\"at\":"].concat();
    let rows: Vec<_> = Record::over(Cursor::new(cut)).collect();
    assert_eq!(rows.len(), 5);
    assert!(rows[..4].iter().all(Result::is_ok));
    assert!(matches!(rows[4], Err(ReadError::Cut { row: 5 })));
    let garbage: Vec<_> = Record::over(&b"[]\n{}\n"[..]).collect();
    assert!(matches!(garbage[..], [Err(ReadError::NoRow { row: 1, .. })]), "it ends after its first error");
}

#[test]
fn a_line_without_an_end_takes_bounded_memory() {
    let endless = vec![b'x'; LINE_LIMIT + 2];
    let mut rows = Record::over(&endless[..]);
    assert!(matches!(rows.next(), Some(Err(ReadError::TooLong { row: 1 }))));
    let found = verdict_on(&endless, Options::default()).expect_err("no record");
    assert_eq!(found.why, Flaw::TooLong);
}
