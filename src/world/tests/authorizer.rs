use super::*;
use crate::world::connection::Link;
use crate::world::guard::Policy;
use crate::world::tokens::{CURRENT, DATE_FUNCTIONS, INCONSTANT};

fn link() -> Link {
    let link = Link::open(&[], Some(NOW), &Limits::default(), Some(1)).expect("a connection");
    link.conn.execute_batch(SCHEMA).expect("the schema");
    link
}

/// Why `sql` is refused under `policy`.
fn refused(policy: Policy, sql: &str) -> String {
    let link = link();
    match link.run(policy, sql, |_| None) {
        Ok(()) => panic!("{sql} ran under {policy:?}"),
        Err(e) => link.guard.explain(&e),
    }
}

fn allowed(policy: Policy, sql: &str) {
    let link = link();
    if let Err(e) = link.run(policy, sql, |_| None) {
        panic!("{sql} under {policy:?}: {}", link.guard.explain(&e));
    }
}

const AUTHORS: [Policy; 3] = [Policy::Schema, Policy::Tool, Policy::Check];

#[test]
fn nobody_reaches_outside_the_world() {
    for policy in AUTHORS {
        for sql in ["ATTACH ':memory:' AS other", "ATTACH 'other.db' AS other", "DETACH main"] {
            assert_eq!(refused(policy, sql), "a world has one database: ATTACH and DETACH are refused");
        }
        for sql in ["PRAGMA foreign_keys = OFF", "PRAGMA user_version", "PRAGMA writable_schema = ON"] {
            let name = sql.split(' ').nth(1).expect("a name");
            assert_eq!(
                refused(policy, sql),
                format!("PRAGMA {name} is refused: a world's settings are fixed")
            );
        }
        assert_eq!(
            refused(policy, "PRAGMA data_version = 1"),
            "PRAGMA data_version is refused: a world's settings are fixed"
        );
        for sql in ["SELECT load_extension('x')", "SELECT LOAD_EXTENSION('x', 'y')"] {
            assert!(refused(policy, sql).ends_with("() is refused: it reaches outside the world"), "{sql}");
        }
        assert_eq!(
            refused(policy, "VACUUM INTO 'copy.db'"),
            "a world has one database: ATTACH and DETACH are refused"
        );
    }
}

#[test]
fn transactions_are_the_worlds_own() {
    for policy in AUTHORS {
        for sql in ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "END"] {
            assert!(refused(policy, sql).starts_with("transactions are the world's own"), "{sql}");
        }
    }
}

#[test]
fn nothing_temporary_is_made() {
    for policy in AUTHORS {
        for sql in [
            "CREATE TEMP TABLE t (a)",
            "CREATE TEMP VIEW v AS SELECT 1",
            "CREATE TEMP TRIGGER g AFTER INSERT ON log BEGIN SELECT 1; END",
        ] {
            refused(policy, sql);
        }
    }
    assert!(refused(Policy::Schema, "CREATE TEMP TABLE t (a)").starts_with("temporary tables"));
}

#[test]
fn only_a_schema_file_changes_the_schema() {
    for sql in [
        "CREATE TABLE t (a)",
        "CREATE INDEX i ON log (line)",
        "CREATE VIEW v AS SELECT 1 AS one",
        "CREATE TRIGGER g AFTER INSERT ON log BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE f USING fts5 (words)",
        "ALTER TABLE log ADD COLUMN more",
        "DROP TABLE log",
        "REINDEX",
        "ANALYZE",
    ] {
        allowed(Policy::Schema, sql);
        for policy in [Policy::Tool, Policy::Check] {
            refused(policy, sql);
        }
    }
    let fixed = "the schema is fixed before the trial: only schema files may change it";
    assert_eq!(refused(Policy::Tool, "ALTER TABLE log ADD COLUMN more"), fixed);
    let module = "the virtual table module rtree is refused: fts5 is the only one";
    assert_eq!(refused(Policy::Schema, "CREATE VIRTUAL TABLE r USING rtree (id, a, b)"), module);
}

#[test]
fn sqlites_own_tables_are_no_tables_of_the_world() {
    for policy in [Policy::Tool, Policy::Check] {
        for sql in [
            "SELECT name FROM sqlite_schema",
            "SELECT name FROM sqlite_master",
            "SELECT * FROM pragma_table_info('log')",
            "SELECT * FROM pragma_database_list",
            "SELECT name FROM dbstat",
        ] {
            assert!(refused(policy, sql).contains("SQLite's own, and no table of the world"), "{sql}");
        }
    }
    refused(Policy::Tool, "DELETE FROM sqlite_schema");
}

#[test]
fn a_check_only_reads() {
    for sql in [
        "INSERT INTO log VALUES ('x')",
        "UPDATE log SET line = 'x'",
        "DELETE FROM log",
        "DELETE FROM log RETURNING 1",
        "REPLACE INTO log VALUES ('x')",
        "WITH x AS (SELECT 1) INSERT INTO log SELECT 'x' FROM x",
    ] {
        assert_eq!(refused(Policy::Check, sql), "a check may only read, and this writes to log", "{sql}");
        allowed(Policy::Tool, sql);
    }
    allowed(
        Policy::Check,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) SELECT max(i) FROM n",
    );
    allowed(
        Policy::Check,
        "SELECT count(*) = 1, date('2026-01-01', '+1 day'), json_extract('{}', '$.a') FROM orders",
    );
}

#[test]
fn no_function_that_may_answer_otherwise_the_next_time_runs_in_closed_tables() {
    let link = Link::open(&[], Some(NOW), &Limits::default(), None).expect("a connection");
    for call in INCONSTANT {
        let error = link.run(Policy::Check, &format!("SELECT {call}(1)"), |_| None).expect_err(call);
        let why = "is refused: a check must give the same answer whenever it is asked";
        assert_eq!(link.guard.explain(&error), format!("{call} {why}"));
    }
    allowed(Policy::Tool, "SELECT random(), hex(randomblob(4)), changes(), last_insert_rowid()");
}

#[test]
fn sqlite_has_no_other_function_that_is_not_deterministic() {
    // 0x800: SQLITE_DETERMINISTIC. What SQLite itself does not vouch for must be refused, replaced, or known to do no
    // harm: the last are bound to a query of their own (aggregates, windows, full-text helpers) or only raise errors.
    let harmless = [
        "bm25",
        "fts5",
        "fts5_insttoken",
        "fts5_locale",
        "fts5_source_id",
        "fts3_tokenizer",
        "highlight",
        "match",
        "matchinfo",
        "offsets",
        "optimize",
        "rtreecheck",
        "rtreedepth",
        "rtreenode",
        "snippet",
        "load_extension",
        "fts5_get_locale",
    ];
    let bare = rusqlite::Connection::open_in_memory().expect("a connection");
    let mut list = bare
        .prepare("SELECT DISTINCT name FROM pragma_function_list WHERE flags & 0x800 = 0 AND type = 's'")
        .expect("the list");
    let names: Vec<String> =
        list.query_map([], |row| row.get(0)).expect("names").map(Result::unwrap).collect();
    assert!(names.iter().any(|name| name == "random"), "{names:?}");
    for name in names {
        let known = INCONSTANT.contains(&name.as_str())
            || CURRENT.contains(&name.as_str())
            || harmless.contains(&name.as_str())
            || DATE_FUNCTIONS.iter().any(|(date, _)| *date == name);
        assert!(known, "{name} is neither refused nor replaced");
    }
}

#[test]
fn double_quotes_never_make_a_text() {
    assert!(refused(Policy::Tool, "SELECT \"delivered\"").contains("no such column"));
    assert!(refused(Policy::Schema, "CREATE TABLE t (a CHECK (a <> \"x\"))").contains("no such column"));
}

#[test]
fn steps_are_bounded_whatever_the_clock_says() {
    let limits = Limits { sql: std::time::Duration::from_secs(3600), ..Limits::default() };
    let link = Link::open(&[], None, &limits, Some(1)).expect("a connection");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let error = link.run(Policy::Check, endless, |_| None).expect_err("no end");
    assert_eq!(link.guard.explain(&error), "took more than 20000000 steps");
}

#[test]
fn the_world_cannot_outgrow_the_record() {
    let mut contract = contract(
        SCHEMA,
        vec![plain(
            "fill",
            &["INSERT INTO log SELECT zeroblob(60000) FROM json_each('[1,2,3,4,5]')"],
            Answer::Nothing,
        )],
    );
    contract.limits.record = 1 << 18;
    let world = fresh(&Frozen::build(&contract).expect("a world"));
    assert_eq!(crash(&call(&world, "fill", serde_json::json!({}))), "20:3: database or disk is full");
}
