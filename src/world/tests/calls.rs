use serde_json::json;

use super::*;
use crate::world::WorldError;

fn refused(answer: &WorldAnswer) -> (&str, u16) {
    match &answer.kind {
        AnswerKind::Refused { code } => (code, answer.status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_done_call_answers_with_the_row_the_status_and_the_headers() {
    let world = fresh(&desk());
    let answer = call(&world, "get_order", json!({ "order_id": "1042" }));
    assert_eq!(answer.kind, AnswerKind::Done);
    assert_eq!((answer.status, answer.headers["x-desk"].as_str()), (200, "returns"));
    let row = json!({ "id": "1042", "status": "delivered", "total_cents": 5990, "tags": ["fragile"], "gift": false });
    assert_eq!(answer.body, Some(row));
}

#[test]
fn a_world_refusal_says_no_and_a_second_refund_is_not_issued() {
    let world = fresh(&desk());
    let unknown = call(&world, "get_order", json!({ "order_id": "9" }));
    assert_eq!(refused(&unknown), ("order_not_found", 404));
    assert_eq!(unknown.body, Some(json!({ "error": { "code": "order_not_found" } })));

    let refund = json!({ "order_id": "1042", "amount_cents": 5990 });
    let first = call(&world, "issue_refund", refund.clone());
    let row = json!({ "id": 1, "order_id": "1042", "amount_cents": 5990, "at": "2026-03-01 12:30:00" });
    assert_eq!((first.status, first.body), (201, Some(row)));
    let second = call(&world, "issue_refund", refund);
    assert_eq!(refused(&second), ("already_refunded", 409));
    assert_eq!(second.body, Some(json!({ "id": 1, "order_id": "1042" })));
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_any_statement() {
    let world = fresh(&desk());
    for args in [
        json!({ "order_id": "1042" }),
        json!({ "order_id": 1042, "amount_cents": 1 }),
        json!([]),
        json!(null),
    ] {
        let answer = call(&world, "issue_refund", args.clone());
        assert_eq!(refused(&answer), ("invalid_arguments", 400), "{args}");
    }
    let answer = call(&world, "issue_refund", json!({ "order_id": "1042", "amount_cents": "5990" }));
    let error = json!({ "code": "invalid_arguments", "message": "/amount_cents: an integer is wanted", "at": "/amount_cents" });
    assert_eq!(answer.body, Some(json!({ "error": error })));
    let beyond = call(&world, "issue_refund", json!({ "order_id": "1042", "amount_cents": u64::MAX }));
    assert_eq!(refused(&beyond), ("invalid_arguments", 400));
    assert_eq!(world.changes().expect("changes"), []);
}

#[test]
fn a_broken_constraint_is_a_crash_and_never_a_refusal() {
    let world = fresh(&desk());
    let answer = call(&world, "issue_refund", json!({ "order_id": "1042", "amount_cents": 0 }));
    assert_eq!(answer.status, 500);
    assert_eq!(crash(&answer), "15:3: CHECK constraint failed: amount_cents > 0");
    assert_eq!(answer.body, Some(json!({ "error": { "code": "world_crashed" } })));
    let orphan = call(&world, "issue_refund", json!({ "order_id": "9", "amount_cents": 1 }));
    assert_eq!(crash(&orphan), "15:3: FOREIGN KEY constraint failed");
    assert_eq!(world.changes().expect("changes"), []);
}

#[test]
fn what_ran_before_a_crash_is_rolled_back_dice_included() {
    let tools = vec![
        plain(
            "half",
            &["INSERT INTO log VALUES (random())", "INSERT INTO orders (id) VALUES ('x')"],
            Answer::Nothing,
        ),
        plain("roll", &[], Answer::Row(sql(1, "SELECT random() AS roll"))),
    ];
    let frozen = frozen(SCHEMA, tools);
    let world = fresh(&frozen);
    assert_eq!(crash(&call(&world, "half", json!({}))), "21:3: NOT NULL constraint failed: orders.status");
    assert_eq!(world.changes().expect("changes"), []);
    let untouched = call(&fresh(&frozen), "roll", json!({}));
    assert_eq!(call(&world, "roll", json!({})), untouched);
}

#[test]
fn a_row_that_is_not_there_is_not_found_and_undoes_the_call() {
    let tools = vec![plain(
        "touch",
        &["INSERT INTO log VALUES ('touched')"],
        Answer::Row(sql(1, "SELECT * FROM orders WHERE id = :id")),
    )];
    let world = fresh(&frozen(SCHEMA, tools));
    assert_eq!(refused(&call(&world, "touch", json!({ "id": "9" }))), ("not_found", 404));
    assert_eq!(world.changes().expect("changes"), []);
    assert_eq!(call(&world, "touch", json!({ "id": "1042" })).kind, AnswerKind::Done);
    assert_eq!(world.changes().expect("changes")[0].added, 1);
}

#[test]
fn a_writing_answer_runs_for_every_row() {
    let tools =
        vec![plain("ship", &[], Answer::Row(sql(1, "UPDATE orders SET status = 'sent' RETURNING id")))];
    let world = fresh(&frozen(SCHEMA, tools));
    assert_eq!(call(&world, "ship", json!({})).body, Some(json!({ "id": "1042" })));
    assert_eq!(world.changes().expect("changes")[0].changed, 2);
}

#[test]
fn rows_values_and_nothing_answer_as_written() {
    let tools = vec![
        plain(
            "list",
            &[],
            Answer::Rows(sql(1, "SELECT id FROM orders WHERE total_cents >= coalesce(:min, 0) ORDER BY id")),
        ),
        plain(
            "echo",
            &[],
            Answer::Value(json!({ "at": ":now", "said": [":word", ":gone"], "not a name": ":-)" })),
        ),
        plain("hush", &[], Answer::Nothing),
    ];
    let world = fresh(&frozen(SCHEMA, tools));
    assert_eq!(call(&world, "list", json!({})).body, Some(json!([{ "id": "1042" }, { "id": "1043" }])));
    assert_eq!(call(&world, "list", json!({ "min": 5000 })).body, Some(json!([{ "id": "1042" }])));
    assert_eq!(call(&world, "list", json!({ "min": 9000 })).body, Some(json!([])));
    let said = json!({ "at": NOW, "said": [{ "a": 1 }, null], "not a name": ":-)" });
    assert_eq!(call(&world, "echo", json!({ "word": { "a": 1 } })).body, Some(said));
    assert_eq!(call(&world, "hush", json!(null)).body, None);
}

#[test]
fn lists_and_objects_are_bound_as_json_and_named_columns_come_back_as_such() {
    let select = r#"SELECT :item ->> 'sku' AS sku, (SELECT json_group_array(value) FROM json_each(:tags)) AS "tags: json", :yes AS "yes: boolean", x'00ff' AS raw"#;
    let world = fresh(&frozen(SCHEMA, vec![plain("get", &[], Answer::Row(sql(1, select)))]));
    let answer = call(&world, "get", json!({ "item": { "sku": "A-1" }, "tags": [1, "b"], "yes": true }));
    assert_eq!(answer.body, Some(json!({ "sku": "A-1", "tags": [1, "b"], "yes": true, "raw": "AP8=" })));
}

#[test]
fn an_answer_over_its_bounds_is_a_crash_and_never_shorter() {
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :upto) SELECT i, printf('%.*c', :wide, 'x') AS pad FROM n";
    let mut contract = contract(SCHEMA, vec![plain("many", &[], Answer::Rows(sql(9, many)))]);
    contract.limits.body = 1 << 20;
    let world = fresh(&Frozen::build(&contract).expect("a world"));
    let rows = call(&world, "many", json!({ "upto": 10_000, "wide": 1 })).body.expect("rows");
    assert_eq!(rows.as_array().map(Vec::len), Some(10_000));
    let answer = call(&world, "many", json!({ "upto": 10_001, "wide": 1 }));
    assert_eq!(crash(&answer), "9:3: more than 10000 rows in one answer: add a LIMIT");
    let answer = call(&world, "many", json!({ "upto": 2000, "wide": 1000 }));
    assert_eq!(crash(&answer), "9:3: more than 1048576 bytes in one answer: add a LIMIT");
}

#[test]
fn a_statement_that_never_ends_is_stopped() {
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n";
    let mut contract = contract(
        SCHEMA,
        vec![plain("spin", &["INSERT INTO log VALUES ('a')"], Answer::Row(sql(9, endless)))],
    );
    contract.limits.sql = std::time::Duration::from_millis(20);
    let world = fresh(&Frozen::build(&contract).expect("a world"));
    assert_eq!(crash(&call(&world, "spin", json!({}))), "9:3: ran longer than 20ms");
    assert_eq!(world.changes().expect("changes"), []);
}

#[test]
fn time_stands_still_and_is_the_contracts() {
    let select = "SELECT :now AS a, datetime('now') AS b, date('NOW', '+1 day') AS c, CURRENT_TIMESTAMP AS d,
        strftime('%H') AS e, unixepoch() AS f, julianday('now') - julianday(:now) AS g, date(:when, 'start of month') AS h,
        timediff('now', '2026-03-01') AS i, current_date AS j, current_time AS k";
    let world = fresh(&frozen(SCHEMA, vec![plain("clock", &[], Answer::Row(sql(1, select)))]));
    let told = json!({
        "a": NOW, "b": "2026-03-01 12:30:00", "c": "2026-03-02", "d": "2026-03-01 12:30:00", "e": "12",
        "f": 1_772_368_200, "g": 0.0, "h": "2024-02-01", "i": "+0000-00-00 12:30:00.000",
        "j": "2026-03-01", "k": "12:30:00",
    });
    assert_eq!(call(&world, "clock", json!({ "when": "2024-02-29" })).body, Some(told));
}

#[test]
fn the_machines_clock_and_zone_are_refused_when_they_turn_up_at_run_time() {
    let tools = vec![plain("clock", &[], Answer::Row(sql(3, "SELECT datetime(:value, :modifier) AS t")))];
    let world = fresh(&frozen(SCHEMA, tools));
    let said = |value: &str, modifier: &str| {
        let answer = call(&world, "clock", json!({ "value": value, "modifier": modifier }));
        crash(&answer).to_owned()
    };
    let zone = "it reads the machine's time zone";
    assert_eq!(said("now", "LocalTime"), format!("3:3: datetime(…, 'LocalTime') is refused: {zone}"));
    assert_eq!(said("2026-01-01", "utc"), format!("3:3: datetime(…, 'utc') is refused: {zone}"));
    assert_eq!(said("subsec", "+1 day"), "3:3: datetime('subsec') is refused: it reads the machine's clock");
}

#[test]
fn a_seed_binds_the_case_and_is_no_change_of_the_trial() {
    let case = Case::from([("order".to_owned(), json!("77"))]);
    let seed = [sql(5, "INSERT INTO orders (id, status, total_cents) VALUES (:order, 'delivered', 10)")];
    let world = desk().open(&seed, &case, 1).expect("a world");
    assert_eq!(call(&world, "get_order", json!({ "order_id": "77" })).kind, AnswerKind::Done);
    assert_eq!(world.changes().expect("changes"), []);
    call(&world, "issue_refund", json!({ "order_id": "77", "amount_cents": 10 }));
    let changes = world.changes().expect("changes");
    let tables: Vec<_> = changes.iter().map(|c| (c.table.as_str(), c.added, c.removed, c.changed)).collect();
    assert_eq!(tables, [("orders", 0, 0, 1), ("refunds", 1, 0, 0), ("log", 1, 0, 0)]);
    assert_eq!(changes[0].before[0]["status"], json!("delivered"));
    assert_eq!(changes[0].after[0]["status"], json!("refunded"));
    assert_eq!(changes[2].after, [json!({ "rowid": 1, "line": "refund of 77" })]);
}

#[test]
fn a_seed_that_breaks_a_constraint_is_told_at_its_place() {
    let seed = [sql(5, "DELETE FROM log"), sql(6, "INSERT INTO orders (id) VALUES ('1042')")];
    let error = desk().open(&seed, &Case::new(), 1).err().expect("no world");
    let what = "NOT NULL constraint failed: orders.status".to_owned();
    assert_eq!(error, WorldError::Seed { pos: Pos { line: 6, column: 3 }, what });
}

#[test]
fn a_tool_of_an_upstream_is_no_tool_of_this_world() {
    let mut upstream = plain("ledger", &[], Answer::Nothing);
    upstream.behaviour = Behaviour::Upstream { name: "ledger".into(), tool: None };
    let world = fresh(&frozen(SCHEMA, vec![upstream]));
    assert_eq!(crash(&call(&world, "ledger", json!({}))), "ledger is no tool of this world");
    assert_eq!(crash(&call(&world, "nobody", json!({}))), "nobody is no tool of this world");
}

#[test]
fn a_contract_without_a_database_has_an_empty_world() {
    let mut contract = contract("", Vec::new());
    contract.world.sqlite = None;
    let world = fresh(&Frozen::build(&contract).expect("a world"));
    assert!(world.tables().expect("tables").is_empty());
    assert_eq!(world.changes().expect("changes"), []);
}

#[test]
fn threads_take_turns_and_lose_nothing() {
    let tools = vec![plain("log", &["INSERT INTO log VALUES (:line)"], Answer::Nothing)];
    let world = fresh(&frozen(SCHEMA, tools));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for n in 0..25 {
                    assert_eq!(
                        call(world, "log", json!({ "line": format!("{thread}-{n}") })).kind,
                        AnswerKind::Done
                    );
                }
            });
        }
    });
    assert_eq!(world.changes().expect("changes")[0].added, 100);
}
