use serde_json::json;

use super::*;
use crate::scenario::{Segment, TableChange, Times};

fn told(faults: &[WorldFault]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| match &fault.help {
            Some(help) => format!("{fault} ({help})"),
            None => fault.to_string(),
        })
        .collect()
}

fn read_tool(text: &str) -> Tool {
    let returns = Returns { status: 200, headers: BTreeMap::new(), answer: Answer::Rows(sql(12, text)) };
    let behaviour = SqliteTool { refuse: Vec::new(), run: Vec::new(), returns };
    tool(
        "get",
        Effect::Read,
        json!({ "type": "object", "properties": { "order_id": { "type": "string" } } }),
        behaviour,
    )
}

#[test]
fn a_statement_that_cannot_be_prepared_is_told_at_its_line() {
    for (text, what) in [
        ("SELECT * FROM order_s", "no such table: order_s (did you mean `orders`?)"),
        ("SELECT nope FROM orders", "no such column: nope"),
        ("SELEC 1", "near \"SELEC\": syntax error"),
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("SELECT 1; SELECT 2", "more than one statement (write one statement per entry of the list)"),
        ("SELECT :order", "the parameter :order is no argument of this tool"),
        ("SELECT ?", "the parameter ? has no name (parameters are written :name)"),
        ("SELECT @order_id", "the parameter @order_id has no name (parameters are written :name)"),
        ("DELETE FROM log RETURNING line", "this statement writes, and the tool's effect is `read`"),
        ("SELECT id, id FROM orders", "two columns of the answer are called id (name one of them with AS)"),
        (
            "SELECT id, tags AS \"id: json\" FROM orders",
            "two columns of the answer are called id (name one of them with AS)",
        ),
        ("PRAGMA user_version", "PRAGMA user_version is refused: a world's settings are fixed"),
        (
            "SELECT \"delivered\" AS a",
            "no such column: \"delivered\" - should this be a string literal in single-quotes? (texts are written 'in single quotes', names in double quotes)",
        ),
    ] {
        assert_eq!(
            told(&faults(SCHEMA, vec![read_tool(text)])),
            [format!("contract.yaml:12:3: {what}")],
            "{text}"
        );
    }
    assert_eq!(
        told(&faults(SCHEMA, vec![read_tool("SELECT 1 AS a, :order_id AS b, :now AS c; -- done")])),
        [""; 0]
    );
}

#[test]
fn an_answer_needs_columns_and_an_argument_of_its_name() {
    let mute = plain("mute", &[], Answer::Row(sql(30, "INSERT INTO log VALUES (1)")));
    let what = "contract.yaml:30:3: this statement gives no columns to answer with (a statement that writes answers with RETURNING)";
    assert_eq!(told(&faults(SCHEMA, vec![mute])), [what]);
    let mut echo = plain("echo", &[], Answer::Value(json!([{ "a": ":order_id" }, ":b", ":now"])));
    echo.args = Some(Arc::new(json!({ "properties": { "order_id": {} } })));
    assert_eq!(
        told(&faults(SCHEMA, vec![echo])),
        ["contract.yaml:1:1: `:b` in an answer of echo is no argument of this tool"]
    );
}

#[test]
fn a_refusal_only_looks() {
    let mut tools = desk_tools();
    let Behaviour::Sqlite(issue) = &mut tools[1].behaviour else { unreachable!() };
    issue.refuse[0].sql = sql(13, "DELETE FROM refunds RETURNING 1");
    issue.refuse[0].body = Some(Answer::Rows(sql(14, "DELETE FROM refunds RETURNING id")));
    let why = "this statement writes, and a refusal only looks";
    assert_eq!(
        told(&faults(SCHEMA, tools)),
        [format!("contract.yaml:13:3: {why}"), format!("contract.yaml:14:3: {why}")]
    );
}

#[test]
fn a_variable_of_the_route_may_be_bound() {
    let mut tool = read_tool("SELECT :id AS id");
    tool.route =
        Some(crate::scenario::Route { method: "GET".into(), path: vec![Segment::Variable("id".into())] });
    assert_eq!(told(&faults(SCHEMA, vec![tool])), [""; 0]);
}

#[test]
fn an_argument_may_not_be_called_now() {
    let mut tool = read_tool("SELECT 1 AS a");
    tool.args = Some(Arc::new(json!({ "properties": { "now": {} } })));
    assert_eq!(
        told(&faults(SCHEMA, vec![tool])),
        [
            "contract.yaml:1:1: get has an argument named `now`, which is the world's time (give the argument another name)"
        ]
    );
}

#[test]
fn a_world_without_time_says_so_where_time_is_asked() {
    for (text, what) in [
        ("SELECT :now AS a", "the world has no time for :now (write `now` under `world` in the contract)"),
        (
            "SELECT datetime('now') AS a",
            "datetime('now') reads the machine's clock or time zone (give the world a time: `now` under `world` in the contract)",
        ),
        (
            "SELECT current_timestamp AS a",
            "current_timestamp reads the machine's clock or time zone (give the world a time: `now` under `world` in the contract)",
        ),
        ("SELECT datetime(:order_id) AS a", ""),
    ] {
        let mut contract = contract(SCHEMA, vec![read_tool(text)]);
        contract.world.now = None;
        let schema = SCHEMA.replace("DEFAULT CURRENT_TIMESTAMP", "");
        contract.world.sqlite =
            Some(SqliteSpec { schema: vec![source("world.sql", &schema)], rows: Vec::new() });
        let faults = Frozen::build(&contract).err().unwrap_or_default();
        if what.is_empty() {
            // No literal to see: it is a crash when it runs.
            let world = fresh(&Frozen::build(&contract).expect("a world"));
            let said = crash(&call(&world, "get", json!({ "order_id": "now" }))).to_owned();
            assert_eq!(said, "12:3: datetime('now') is refused: no time of the world is known here");
        } else {
            assert_eq!(told(&faults), [format!("contract.yaml:12:3: {what}")]);
        }
    }
}

#[test]
fn a_fault_in_a_schema_file_has_its_place() {
    for (schema, fault) in [
        ("CREATE TABLE a (b);\nCREATE TABL c (d);\n", "world.sql:2:8: near \"TABL\": syntax error"),
        ("CREATE TABLE a (b);\n\n  INSERT INTO a VALUES (nope);", "world.sql:3:25: no such column: nope"),
        (
            "CREATE TABLE a (b UNIQUE);\nINSERT INTO a VALUES (1);\n  INSERT INTO a VALUES (1);",
            "world.sql:3:3: UNIQUE constraint failed: a.b",
        ),
        (
            "CREATE TABLE a (b);\n/* é; */ PRAGMA foreign_keys = OFF;",
            "world.sql:2:10: PRAGMA foreign_keys is refused: a world's settings are fixed",
        ),
        ("CREATE TABLE a (b", "world.sql:1:1: incomplete input"),
        (
            "CREATE TABLE turns (b)",
            "world.sql:1:1: a table of the world may not be called turns: the evidence has one",
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5 (a, content='')",
            "world.sql:1:1: f keeps no content, so that a record could not keep it: leave out content=''",
        ),
        (
            "CREATE TABLE p (id PRIMARY KEY);\nCREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED);\nINSERT INTO c VALUES (1)",
            "world.sql:1:1: FOREIGN KEY constraint failed",
        ),
    ] {
        assert_eq!(told(&faults(schema, Vec::new())), [fault], "{schema}");
    }
}

#[test]
fn every_file_and_every_tool_is_looked_at_in_one_run() {
    let mut broken = contract("SELEC", Vec::new());
    let spec = broken.world.sqlite.as_mut().expect("sqlite");
    spec.schema.push(source("more.sql", "CREAT"));
    let faults = Frozen::build(&broken).err().expect("faults");
    assert_eq!(
        told(&faults),
        ["world.sql:1:1: near \"SELEC\": syntax error", "more.sql:1:1: near \"CREAT\": syntax error"]
    );
    let tools = vec![read_tool("SELECT a"), read_tool("SELECT b")];
    assert_eq!(self::faults(SCHEMA, tools).len(), 2);
}

#[test]
fn base_rows_come_from_csv_and_json() {
    let mut contract =
        contract(SCHEMA, vec![plain("all", &[], Answer::Rows(sql(1, "SELECT * FROM orders ORDER BY id")))]);
    let spec = contract.world.sqlite.as_mut().expect("sqlite");
    spec.schema = vec![source(
        "world.sql",
        "CREATE TABLE orders (id TEXT PRIMARY KEY, total_cents INTEGER DEFAULT 7, tags JSON)",
    )];
    spec.rows = vec![
        ("orders".into(), source("orders.csv", "id,total_cents,tags\n1,12,\"[\"\"a,b\"\"]\"\n\n2,,\"\"\n")),
        (
            "orders".into(),
            source("orders.json", r#"[{"id": "3", "tags": {"a": [1]}}, {"id": "4", "total_cents": null}]"#),
        ),
    ];
    let world = fresh(&Frozen::build(&contract).unwrap_or_else(|faults| panic!("{faults:?}")));
    let rows = json!([
        { "id": "1", "total_cents": 12, "tags": ["a,b"] },
        { "id": "2", "total_cents": null, "tags": "" },
        { "id": "3", "total_cents": 7, "tags": { "a": [1] } },
        { "id": "4", "total_cents": null, "tags": null },
    ]);
    assert_eq!(call(&world, "all", json!({})).body, Some(rows));
}

#[test]
fn a_base_row_that_does_not_go_in_is_told_at_its_place() {
    for (path, text, fault) in [
        ("a.csv", "line\nx\n\"y", "a.csv:3:1: a quote that never closes"),
        ("a.csv", "line\nx,y", "a.csv:2:1: 2 fields where the header names 1"),
        ("a.csv", "line\n\"x\"y", "a.csv:2:4: text after a closing quote"),
        ("a.csv", "", "a.csv:1:1: no header line"),
        ("a.csv", "lime\n\nx", "a.csv:3:1: log: table log has no column named lime"),
        ("a.json", "[{\"line\": 1},\n {\"lime\": 1}]", "a.json:2:2: log: table log has no column named lime"),
        ("a.json", "[1]", "a.json:1:2: a row is an object: column names and values"),
        (
            "a.json",
            "[{\"line\": 18446744073709551615}]",
            "a.json:1:2: line: 18446744073709551615 is beyond SQLite's integers",
        ),
        ("a.json", "{}", "a.json:1:1: not a JSON list of objects: invalid type: map, expected a sequence"),
    ] {
        let mut contract = contract(SCHEMA, Vec::new());
        contract.world.sqlite.as_mut().expect("sqlite").rows = vec![("log".into(), source(path, text))];
        let faults = Frozen::build(&contract).err().unwrap_or_default();
        assert_eq!(told(&faults), [fault], "{text}");
    }
}

#[test]
fn a_scenarios_statements_are_refused_at_load_at_their_place() {
    let seeds = [
        ("INSERT INTO orders (id, status, total_cents) VALUES (:order, random(), unixepoch('now'))", ""),
        ("INSERT INTO order_s VALUES (1)", "no such table: order_s (did you mean `orders`?)"),
        ("INSERT INTO actions (seq) VALUES (1)", "no such table: actions"),
        ("INSERT INTO log VALUES (:case)", "the parameter :case is no value that every case has"),
        ("CREATE TABLE a (b)", "the schema is fixed before the trial: only schema files may change it"),
    ];
    let checks = [
        ("SELECT count(*) = 1 FROM refunds WHERE order_id = :order AND at < :now", ""),
        ("SELECT count(*) = 0 FROM actions JOIN replies JOIN turns", ""),
        (
            "SELECT count(*) = 0 FROM spans",
            "no such table: spans (spans are no whole evidence: ask with `delegated`, `transferred` or `called`)",
        ),
        ("SELECT 1, 2", "a check gives one column, with 0 or 1 in it"),
        ("DELETE FROM log RETURNING 1", "a check may only read, and this writes to log"),
        ("SELECT random() > 0", "random is refused: a check must give the same answer whenever it is asked"),
        (
            "SELECT CURRENT_TIMESTAMP > ''",
            "CURRENT_TIMESTAMP reads the machine's clock or time zone (write :now, the world's time, in its place)",
        ),
        (
            "SELECT max(at) > date ( 'NOW' ) FROM refunds",
            "date ( 'NOW') reads the machine's clock or time zone (write :now, the world's time, in its place)",
        ),
        (
            "SELECT date() > ''",
            "date() reads the machine's clock or time zone (write :now, the world's time, in its place)",
        ),
        (
            "SELECT date(max(at), 'localtime') > '' FROM refunds",
            "date(max(at), 'localtime') reads the machine's clock or time zone (write :now, the world's time, in its place)",
        ),
        ("SELECT date(:now) > '' AND time('2026-01-01') > ''", ""),
    ];
    let frozen = desk();
    for (text, what) in seeds {
        let expected: Vec<String> =
            (!what.is_empty()).then(|| format!("a.scenario.yaml:9:3: {what}")).into_iter().collect();
        assert_eq!(
            told(&frozen.check_scenario(&scenario(vec![sql(9, text)], Vec::new()))),
            expected,
            "{text}"
        );
    }
    for (text, what) in checks {
        let expected: Vec<String> =
            (!what.is_empty()).then(|| format!("a.scenario.yaml:9:3: {what}")).into_iter().collect();
        let check = Check { pos: Pos::default(), kind: CheckKind::Sql(sql(9, text)) };
        let nested =
            CheckKind::Any(vec![Check { pos: Pos::default(), kind: CheckKind::Not(Box::new(check)) }]);
        assert_eq!(told(&frozen.check_scenario(&scenario(Vec::new(), vec![nested]))), expected, "{text}");
    }
}

#[test]
fn a_table_that_is_to_change_must_be_there() {
    let times = Times { min: 0, max: None };
    let change =
        |table: &str| TableChange { table: table.into(), added: times, removed: times, changed: times };
    let checks = vec![
        CheckKind::Changed(vec![change("refunds"), change("refund")]),
        CheckKind::Unchanged(vec!["orders".into(), "xyz".into(), "actions".into()]),
    ];
    let faults = desk().check_scenario(&scenario(Vec::new(), checks));
    assert_eq!(
        told(&faults),
        [
            "a.scenario.yaml:40:5: no table `refund` in the world (did you mean `refunds`?)",
            "a.scenario.yaml:41:5: no table `xyz` in the world",
            "a.scenario.yaml:41:5: no table `actions` in the world",
        ]
    );
}

#[test]
fn a_name_that_one_case_lacks_is_no_name() {
    let mut scenario = scenario(vec![sql(9, "INSERT INTO log VALUES (:order)")], Vec::new());
    scenario.cases.push(Case::new());
    assert_eq!(
        told(&desk().check_scenario(&scenario)),
        ["a.scenario.yaml:9:3: the parameter :order is no value that every case has"]
    );
}
