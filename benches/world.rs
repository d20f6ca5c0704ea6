//! What a world costs: a copy of 1,000 rows, and one call inside it, beside the same statements on bare SQLite.
//!
//! `cargo bench --bench world -- [ROWS]`. Each line is the median of rounds taken in turn with the others, so that a
//! busy machine weighs on all alike; one thread. The goals for 1,000 rows are 1 ms a copy and 100 us a call.

use std::hint::black_box;
use std::path::Path;

use mocktrial::clock::{Clock, Moment};
use mocktrial::name::{ToolName, WorkerId};
use mocktrial::permit::{Ask, Permit, Rules, Usage, decide};
use mocktrial::scenario::{Case, Contract, Effect, Limits, Pos, Source, Sql, contract_from};
use mocktrial::world::{AnswerKind, ClosedEvidence, ClosedTables, Frozen, World};
use rusqlite::{Connection, MAIN_DB, params};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 200;

const CONTRACT: &str = r#"
contract: 1
app: { name: bench, start: [nothing], talk: stdio }
workers: [{ id: desk, agent: Desk, lane: none }]
world:
  now: 2026-03-01T00:00:00Z
  sqlite: { schema: world.sql }
  tools:
    get_order:
      http: GET /orders/{order_id}
      effect: read
      args: { order_id: string }
      refuse: [{ unless: "SELECT 1 FROM orders WHERE id = :order_id", code: order_not_found, status: 404 }]
      returns: { row: "SELECT id, status, total_cents FROM orders WHERE id = :order_id" }
    issue_refund:
      http: POST /refunds
      effect: write
      args: { order_id: string, amount_cents: integer }
      refuse: [{ when: "SELECT 1 FROM refunds WHERE order_id = :order_id", code: already_refunded, status: 409 }]
      run: ["INSERT INTO refunds (order_id, amount_cents) VALUES (:order_id, :amount_cents)"]
      returns: { row: "SELECT id, order_id, amount_cents FROM refunds WHERE order_id = :order_id" }
"#;

fn main() -> Result<()> {
    let rows = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(1000);
    let schema = schema(rows);
    let contract = contract(&schema)?;
    let frozen = Frozen::build(&contract).map_err(|faults| format!("{faults:?}"))?;
    let mut bare = Connection::open_in_memory()?;
    bare.execute_batch(&schema)?;
    let image = bare.serialize(MAIN_DB)?.to_vec();
    let seed = [Sql {
        text: "INSERT INTO orders VALUES (:order, 'delivered', 5990, 'seeded')".into(),
        pos: Pos::default(),
    }];
    let case = Case::from([("order".to_owned(), json!("seeded"))]);
    let limits = Limits::default();

    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..ROUNDS {
        let mut at = 0;
        let mut line = |name, per, work: &mut dyn FnMut() -> Result<()>| -> Result<()> {
            let clock = Clock::start();
            work()?;
            let took = clock.now().0 as f64 / 1000.0 / f64::from(per);
            if at == lines.len() {
                lines.push(Line { name, took: Vec::new() });
            }
            lines[at].took.push(took);
            at += 1;
            Ok(())
        };
        line("copy: bare deserialize", 1, &mut || {
            black_box(copy(&image)?);
            Ok(())
        })?;
        line("copy: a world", 1, &mut || {
            black_box(frozen.open(&[], &Case::new(), 1)?);
            Ok(())
        })?;
        line("copy: a world with a seed statement", 1, &mut || {
            black_box(frozen.open(&seed, &case, 1)?);
            Ok(())
        })?;
        let (copied, world) = (copy(&image)?, frozen.open(&[], &Case::new(), 1)?);
        line("read: bare SQLite, first", 1, &mut || bare_read(&copied, 0))?;
        line("read: a call, first", 1, &mut || read(&world, 0))?;
        line("read: bare SQLite", 10, &mut || (1..11).try_for_each(|n| bare_read(&copied, n)))?;
        line("read: a call", 10, &mut || (1..11).try_for_each(|n| read(&world, n)))?;
        line("write: bare SQLite", 10, &mut || (0..10).try_for_each(|n| bare_write(&copied, n)))?;
        line("write: a call", 10, &mut || (0..10).try_for_each(|n| write(&world, n)))?;
        let mut tables = Vec::new();
        line("afterwards: tables for the record", 1, &mut || {
            tables = world.tables()?;
            Ok(())
        })?;
        line("afterwards: changes", 1, &mut || {
            black_box(world.changes()?);
            Ok(())
        })?;
        let evidence = ClosedEvidence {
            tables: &tables,
            actions: &[],
            replies: &[],
            turns: &[],
            now: None,
            limits: &limits,
        };
        line("afterwards: closed tables and a check", 1, &mut || {
            let sql = Sql { text: "SELECT count(*) = 10 FROM refunds".into(), pos: Pos::default() };
            let holds = ClosedTables::new(&evidence)?.check(&sql, &Case::new())?;
            holds.then_some(()).ok_or_else(|| "the check does not hold".into())
        })?;
        line("a trial of 20 calls: copy and calls", 1, &mut || {
            let world = frozen.open(&seed, &case, 1)?;
            (0..10).try_for_each(|n| read(&world, n).and_then(|()| write(&world, n)))
        })?;
    }
    println!("{rows} rows, image of {} KiB", image.len() / 1024);
    for line in &mut lines {
        line.took.sort_by(f64::total_cmp);
        println!("{:40} {:>9.1} us", line.name, line.took[line.took.len() / 2]);
    }
    Ok(())
}

/// Microseconds of each round.
struct Line {
    name: &'static str,
    took: Vec<f64>,
}

fn schema(rows: u32) -> String {
    format!(
        "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, total_cents INTEGER NOT NULL, note TEXT);
         CREATE TABLE refunds (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id), amount_cents INTEGER);
         CREATE INDEX refunds_by_order ON refunds (order_id);
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {rows})
         INSERT INTO orders SELECT 'o-' || i, 'delivered', 100 + i, 'a note on order ' || i FROM n;"
    )
}

fn contract(schema: &str) -> Result<Contract> {
    let source = Source { path: "contract.yaml".into(), text: CONTRACT.into() };
    let read = |_: &Path| Ok(schema.to_owned());
    contract_from(source, &read).map_err(|faults| format!("{faults:?}").into())
}

fn copy(image: &[u8]) -> Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    conn.deserialize_read_exact(MAIN_DB, image, image.len(), false)?;
    Ok(conn)
}

fn permit(tool: &str, effect: Effect) -> Result<Permit> {
    let tool = ToolName::new(tool);
    let ask = Ask { tool: &tool, effect, at: Moment(0) };
    let worker = WorkerId::new("worker")?;
    decide(&Rules::new(&worker, [])?, Usage::default(), ask).map_err(|refusal| refusal.reason.into())
}

fn call(world: &World, tool: &str, effect: Effect, args: &Value) -> Result<()> {
    match world.call(permit(tool, effect)?, args).kind {
        AnswerKind::Done => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn read(world: &World, n: u32) -> Result<()> {
    call(world, "get_order", Effect::Read, &json!({ "order_id": format!("o-{n}") }))
}

fn write(world: &World, n: u32) -> Result<()> {
    call(world, "issue_refund", Effect::Write, &json!({ "order_id": format!("o-{n}"), "amount_cents": 100 }))
}

fn bare_read(conn: &Connection, n: u32) -> Result<()> {
    let id = format!("o-{n}");
    conn.prepare_cached("BEGIN")?.execute([])?;
    let found = conn.prepare_cached("SELECT 1 FROM orders WHERE id = ?1")?.exists([&id])?;
    let row: (String, String, i64) = conn
        .prepare_cached("SELECT id, status, total_cents FROM orders WHERE id = ?1")?
        .query_one([&id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    black_box((found, row));
    Ok(())
}

fn bare_write(conn: &Connection, n: u32) -> Result<()> {
    let id = format!("o-{n}");
    conn.prepare_cached("BEGIN")?.execute([])?;
    let found = conn.prepare_cached("SELECT 1 FROM refunds WHERE order_id = ?1")?.exists([&id])?;
    conn.prepare_cached("INSERT INTO refunds (order_id, amount_cents) VALUES (?1, ?2)")?
        .execute(params![id, 100])?;
    let row: (i64, String, i64) = conn
        .prepare_cached("SELECT id, order_id, amount_cents FROM refunds WHERE order_id = ?1")?
        .query_one([&id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    black_box((found, row));
    Ok(())
}
