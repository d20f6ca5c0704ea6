use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::journal::{AttemptRow, Basis, Decision, OutcomeKind, OutcomeRow, ReplyRow, TableRow, TurnRow};
use crate::world::{Action, CheckError, ClosedError, ClosedEvidence, ClosedTables};

fn attempt(tool: &str, decision: Decision, code: Option<&str>) -> AttemptRow {
    AttemptRow {
        worker: Some("channel".into()),
        tool: Some(tool.into()),
        arguments: json!({ "order_id": "1042" }),
        arguments_cut: false,
        decision,
        code: code.map(str::to_owned),
        reason: None,
        basis: Basis::Enforced,
        late: false,
        face: "http".into(),
        request: None,
        trace_id: None,
        span_id: None,
    }
}

fn outcome(kind: OutcomeKind, code: Option<&str>, status: u16) -> OutcomeRow {
    OutcomeRow {
        attempt: 0,
        kind,
        code: code.map(str::to_owned),
        status: Some(status),
        result: json!({ "id": 1 }),
        result_cut: false,
        ended_after_deadline: false,
        cut: false,
    }
}

/// What a record gives back of rows that were written to it: canonical bytes, read again.
fn through_a_record(tables: &[TableRow]) -> Vec<TableRow> {
    let bytes = serde_json_canonicalizer::to_vec(&tables).expect("canonical");
    serde_json::from_slice(&bytes).expect("rows")
}

fn closed(tables: &[TableRow]) -> ClosedTables {
    let limits = Limits::default();
    let evidence =
        ClosedEvidence { tables, actions: &[], replies: &[], turns: &[], now: Some(NOW), limits: &limits };
    ClosedTables::new(&evidence).expect("closed tables")
}

fn ask(closed: &ClosedTables, text: &str) -> Result<bool, String> {
    let case = Case::from([("order".to_owned(), json!("1042"))]);
    let told = |CheckError { pos, what }| {
        assert_eq!(pos.line, 9);
        what
    };
    closed.check(&sql(9, text), &case).map_err(told)
}

#[test]
fn a_check_is_one_row_with_one_0_or_1_and_all_else_is_its_error() {
    let closed = closed(&fresh(&desk()).tables().expect("tables"));
    for (text, answer) in [
        ("SELECT count(*) = 1 FROM orders WHERE id = :order", Ok(true)),
        ("SELECT count(*) = 0 FROM orders WHERE id = :order", Ok(false)),
        ("SELECT 1 WHERE date(:now) = '2026-03-01'", Ok(true)),
        ("SELECT NULL", Err("the check gave NULL where 0 or 1 is wanted")),
        ("SELECT max(id) = 1 FROM refunds", Err("the check gave NULL where 0 or 1 is wanted")),
        ("SELECT 1 FROM refunds", Err("the check gave no row where one is wanted")),
        ("SELECT 1 FROM orders", Err("the check gave more than one row")),
        ("SELECT count(*) FROM orders", Err("the check gave 2 where 0 or 1 is wanted")),
        ("SELECT 1.0", Err("the check gave {\"r\":\"1.0\"} where 0 or 1 is wanted")),
        ("SELECT '1'", Err("the check gave \"1\" where 0 or 1 is wanted")),
        ("SELECT 1, 1", Err("a check gives one column, with 0 or 1 in it")),
        ("SELECT 1; SELECT 1", Err("more than one statement")),
        ("SELECT 1 FROM spans", Err("no such table: spans")),
        (
            "SELECT random() > 0",
            Err("random is refused: a check must give the same answer whenever it is asked"),
        ),
        (
            "SELECT date(:order, 'localtime') > ''",
            Err("date(…, 'localtime') is refused: it reads the machine's time zone"),
        ),
        ("DELETE FROM orders RETURNING 1", Err("a check may only read, and this writes to orders")),
    ] {
        assert_eq!(ask(&closed, text), answer.map_err(str::to_owned), "{text}");
    }
    assert_eq!(ask(&closed, "SELECT count(*) = 2 FROM orders"), Ok(true));
}

#[test]
fn a_check_that_never_ends_is_stopped() {
    let limits = Limits { sql: std::time::Duration::from_millis(20), ..Limits::default() };
    let evidence =
        ClosedEvidence { tables: &[], actions: &[], replies: &[], turns: &[], now: None, limits: &limits };
    let closed = ClosedTables::new(&evidence).expect("closed tables");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    assert_eq!(ask(&closed, endless), Err("ran longer than 20ms".to_owned()));
    assert_eq!(ask(&closed, "SELECT 1"), Ok(true));
}

#[test]
fn the_action_log_the_replies_and_the_turns_stand_beside_the_world() {
    let done = (attempt("get_order", Decision::Allowed, None), outcome(OutcomeKind::Done, None, 200));
    let said_no = (
        attempt("issue_refund", Decision::Allowed, None),
        outcome(OutcomeKind::WorldRefused, Some("already_refunded"), 409),
    );
    let mut refused = attempt("issue_refund", Decision::Refused, Some("not_permitted"));
    (refused.late, refused.arguments) = (true, json!(null));
    let faulted =
        (attempt("get_order", Decision::Faulted, Some("fault")), outcome(OutcomeKind::Faulted, None, 503));
    let action = |seq, worker, attempt, outcome| Action { seq, at: seq * 1000, worker, attempt, outcome };
    let actions = [
        action(3, Some("order_lookup"), &done.0, Some(&done.1)),
        action(5, Some("refund"), &said_no.0, Some(&said_no.1)),
        action(7, None, &refused, None),
        action(8, None, &faulted.0, Some(&faulted.1)),
    ];
    let replies = [ReplyRow { n: 1, text: "On its way.".into(), cut: false }];
    let turns = [
        TurnRow { n: 1, text: "Hello".into(), expects_reply: true },
        TurnRow { n: 2, text: "Bye".into(), expects_reply: false },
    ];
    let limits = Limits::default();
    let evidence = ClosedEvidence {
        tables: &[],
        actions: &actions,
        replies: &replies,
        turns: &turns,
        now: None,
        limits: &limits,
    };
    let closed = ClosedTables::new(&evidence).expect("closed tables");
    for text in [
        "SELECT count(*) = 4 FROM actions",
        "SELECT worker = 'order_lookup' AND kind = 'done' AND status = 200 AND code IS NULL AND late = 0 AND at = 3000 FROM actions WHERE seq = 3",
        "SELECT arguments ->> 'order_id' = '1042' AND result ->> 'id' = 1 FROM actions WHERE seq = 3",
        "SELECT decision = 'allowed' AND kind = 'world_refused' AND code = 'already_refunded' FROM actions WHERE seq = 5",
        "SELECT worker IS NULL AND decision = 'refused' AND code = 'not_permitted' AND late = 1 FROM actions WHERE seq = 7",
        "SELECT arguments IS NULL AND kind IS NULL AND status IS NULL AND result IS NULL FROM actions WHERE seq = 7",
        "SELECT decision = 'faulted' AND kind = 'faulted' AND code = 'fault' FROM actions WHERE seq = 8",
        "SELECT text = 'On its way.' FROM replies WHERE n = 1",
        "SELECT group_concat(text || expects_reply, ' ') = 'Hello1 Bye0' FROM turns",
    ] {
        assert_eq!(ask(&closed, text), Ok(true), "{text}");
    }
}

#[test]
fn a_record_that_was_tampered_with_makes_no_tables() {
    let limits = Limits::default();
    let made = |row: TableRow| {
        let tables = [row];
        let evidence = ClosedEvidence {
            tables: &tables,
            actions: &[],
            replies: &[],
            turns: &[],
            now: None,
            limits: &limits,
        };
        ClosedTables::new(&evidence).err().expect("an error")
    };
    let row = |rows| TableRow {
        table: "t".into(),
        create: "CREATE TABLE t (a, b)".into(),
        columns: vec!["a".into(), "b".into()],
        rows,
    };
    assert!(matches!(made(row(vec![vec![json!(1)]])), ClosedError::Ragged(table) if table == "t"));
    for bad in [
        json!(true),
        json!([1]),
        json!({}),
        json!({ "i": "x" }),
        json!({ "i": "1", "r": "1" }),
        json!({ "b": "*" }),
        json!(18446744073709551615u64),
    ] {
        assert!(matches!(made(row(vec![vec![bad.clone(), json!(1)]])), ClosedError::Cell { .. }), "{bad}");
    }
    for create in ["PRAGMA query_only = ON", "CREATE TEMP TABLE t (a, b)", "SELECT load_extension('x')"] {
        let mut other = row(Vec::new());
        other.create = create.into();
        assert!(
            matches!(made(other), ClosedError::Sqlite(why) if why == "t: not authorized" || why.contains("not authorized")),
            "{create}"
        );
    }
}

/// Every kind of table that a schema can hold.
const EVERY_TABLE: &str = "
CREATE TABLE plain (a, b TEXT, c REAL, d NUMERIC, e BLOB);
CREATE TABLE keyed (k TEXT PRIMARY KEY, v);
CREATE TABLE bare (a TEXT, b INTEGER, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE strict_one (id INTEGER PRIMARY KEY AUTOINCREMENT, v ANY, \"odd \"\"name\" TEXT) STRICT;
CREATE TABLE made (a INTEGER, twice AS (a * 2) STORED, thrice AS (a * 3));
CREATE TABLE shadowed (rowid TEXT, v);
CREATE TABLE child (p TEXT REFERENCES keyed (k) ON DELETE CASCADE);
CREATE VIRTUAL TABLE words USING fts5 (body);
CREATE VIEW seen AS SELECT k, v FROM keyed;
CREATE TRIGGER copied AFTER INSERT ON keyed BEGIN INSERT INTO words VALUES (new.k); INSERT INTO made (a) VALUES (1); END;
";

#[test]
fn every_kind_of_table_comes_back_from_a_record() {
    let fill = [
        "INSERT INTO plain VALUES (9223372036854775807, 'a', 1, '1.0', x'00ff'), (-9007199254740993, x'c3', -0.0, 1e300, NULL)",
        "INSERT INTO plain (rowid, a) VALUES (90, 'a' || char(0) || 'b'), (12, CAST(x'ff61' AS TEXT)), (13, 9e999), (14, 0.1 + 0.2)",
        "INSERT INTO keyed VALUES ('the quick fox', 1.0), ('b', 1), ('c', 'x')",
        "DELETE FROM keyed WHERE k = 'b'",
        "INSERT INTO bare VALUES ('z', 1), ('a', 2)",
        "INSERT INTO strict_one (v, \"odd \"\"name\") VALUES (1.5, 'x'), ('1', NULL)",
        "INSERT INTO shadowed VALUES ('r', 1)",
        "INSERT INTO child VALUES ('c')",
    ];
    let world = fresh(&frozen(EVERY_TABLE, vec![plain("fill", &fill, Answer::Nothing)]));
    assert_eq!(call(&world, "fill", json!({})).kind, AnswerKind::Done);
    let tables = world.tables().expect("tables");
    let back = through_a_record(&tables);
    assert_eq!(back, tables);
    let closed = closed(&back);
    for text in [
        "SELECT group_concat(rowid) = '1,2,12,13,14,90' FROM plain",
        "SELECT a = 9223372036854775807 AND typeof(c) = 'real' AND c = 1 AND typeof(d) = 'integer' AND e = x'00ff' FROM plain WHERE rowid = 1",
        "SELECT a = -9007199254740993 AND typeof(b) = 'blob' AND d = 1e300 AND e IS NULL FROM plain WHERE rowid = 2",
        "SELECT hex(a) = '610062' FROM plain WHERE rowid = 90",
        "SELECT hex(a) = 'FF61' AND typeof(a) = 'text' FROM plain WHERE rowid = 12",
        "SELECT a = 9e999 FROM plain WHERE rowid = 13",
        "SELECT a = 0.1 + 0.2 AND a <> 0.3 FROM plain WHERE rowid = 14",
        "SELECT group_concat(rowid || typeof(v)) = '1real,3text' FROM keyed",
        "SELECT count(*) = 2 FROM bare",
        "SELECT group_concat(id || typeof(v)) = '1real,2text' FROM strict_one",
        "SELECT count(*) = 1 FROM strict_one WHERE \"odd \"\"name\" = 'x'",
        "SELECT count(*) = 3 AND sum(twice) = 6 AND sum(thrice) = 9 FROM made",
        "SELECT rowid = 'r' AND oid = 1 FROM shadowed",
        "SELECT count(*) = 1 FROM words WHERE words MATCH 'quick'",
        "SELECT count(*) = 2 FROM seen",
        "SELECT p = 'c' FROM child",
    ] {
        assert_eq!(ask(&closed, text), Ok(true), "{text}");
    }
}

fn value() -> impl Strategy<Value = rusqlite::types::Value> {
    use rusqlite::types::Value as V;
    prop_oneof![
        Just(V::Null),
        any::<i64>().prop_map(V::Integer),
        (-3i64..3).prop_map(|i| V::Integer(i + (1 << 53))),
        any::<f64>().prop_filter("SQLite makes NULL of NaN", |r| !r.is_nan()).prop_map(V::Real),
        (-3i32..3).prop_map(|i| V::Real(f64::from(i))),
        any::<String>().prop_map(V::Text),
        Just(V::Text("nul\0 inside".into())),
        proptest::collection::vec(any::<u8>(), 0..12).prop_map(V::Blob),
    ]
}

proptest! {
    #[test]
    fn values_come_back_bit_for_bit(values in proptest::collection::vec(value(), 1..20)) {
        use crate::world::cell::Cell;
        use rusqlite::types::ValueRef;
        let cells: Vec<Cell> = values.iter().map(|value| Cell::of(ValueRef::from(value))).collect();
        let rows = cells.iter().map(|cell| vec![cell.to_json()]).collect();
        let table = TableRow { table: "t".into(), create: "CREATE TABLE t (a)".into(), columns: vec!["a".into()], rows };
        let back = through_a_record(&[table]);
        let read: Vec<Cell> = back[0].rows.iter().map(|row| Cell::from_json(&row[0]).expect("a cell")).collect();
        prop_assert_eq!(&read, &cells);
        // And through SQLite, which keeps -0.0 as 0.0.
        let closed = closed(&back);
        for (rowid, value) in (1..).zip(&values) {
            let case = Case::from([("rowid".to_owned(), json!(rowid))]);
            let (kind, hex) = match value {
                rusqlite::types::Value::Null => ("null", String::new()),
                rusqlite::types::Value::Integer(i) => ("integer", i.to_string()),
                rusqlite::types::Value::Real(r) => ("real", format!("{r:e}")),
                rusqlite::types::Value::Text(text) => ("text", text.bytes().map(|b| format!("{b:02X}")).collect()),
                rusqlite::types::Value::Blob(blob) => ("blob", blob.iter().map(|b| format!("{b:02X}")).collect()),
            };
            let same = match kind {
                "integer" => format!("a = {hex}"),
                "real" if hex.contains("inf") => format!("a = {}9e999", if hex.starts_with('-') { "-" } else { "" }),
                "real" => format!("a = {hex}"),
                "null" => "a IS NULL".to_owned(),
                _ => format!("hex(a) = '{hex}'"),
            };
            let text = format!("SELECT typeof(a) = '{kind}' AND {same} FROM t WHERE rowid = :rowid");
            prop_assert_eq!(closed.check(&sql(9, &text), &case), Ok(true), "{}", text);
        }
    }
}
