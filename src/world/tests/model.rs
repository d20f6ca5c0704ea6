//! The world held against a plain model of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::journal::{ChangeRow, TableRow};

/// A stock room: items with a count, moves with generated ids, and a random tag on each move.
const STOCK: &str = "
CREATE TABLE items (name TEXT PRIMARY KEY, count INTEGER NOT NULL CHECK (count >= 0), note TEXT);
CREATE TABLE moves (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL REFERENCES items (name), by INTEGER, tag INTEGER);
INSERT INTO items (name, count) VALUES ('bolt', 5), ('nut', 0);
";

fn stock() -> Frozen {
    let refuse = |condition, line, text, code: &str| WorldRefusal {
        condition,
        sql: sql(line, text),
        code: code.into(),
        status: 409,
        body: None,
    };
    let unknown = || refuse(RefusalWhen::Unless, 1, "SELECT 1 FROM items WHERE name = :name", "unknown");
    let tool = |name: &str, refuse, run: &[&str], answer| {
        let mut tool = plain(name, run, answer);
        if let Behaviour::Sqlite(behaviour) = &mut tool.behaviour {
            behaviour.refuse = refuse;
        }
        tool
    };
    frozen(
        STOCK,
        vec![
            tool(
                "add",
                vec![refuse(RefusalWhen::When, 2, "SELECT 1 FROM items WHERE name = :name", "known")],
                &["INSERT INTO items (name, count) VALUES (:name, :count)"],
                Answer::Row(sql(3, "SELECT name, count FROM items WHERE name = :name")),
            ),
            tool(
                "move",
                vec![unknown()],
                &[
                    "INSERT INTO moves (item, by, tag) VALUES (:name, :by, random())",
                    // Below zero is no refusal of this world: the constraint crashes the call.
                    "UPDATE items SET count = count + :by WHERE name = :name",
                ],
                Answer::Row(sql(4, "SELECT id FROM moves ORDER BY id DESC LIMIT 1")),
            ),
            tool(
                "drop",
                vec![unknown()],
                &["DELETE FROM moves WHERE item = :name", "DELETE FROM items WHERE name = :name"],
                Answer::Nothing,
            ),
            tool(
                "rename",
                vec![unknown()],
                &["UPDATE items SET name = :name || '!' WHERE name = :name"],
                Answer::Nothing,
            ),
        ],
    )
}

#[derive(Clone, Debug)]
enum Op {
    Add(String, i64),
    Move(String, i64),
    Drop(String),
    Rename(String),
}

fn op() -> impl Strategy<Value = Op> {
    let name = || {
        prop_oneof![Just("bolt"), Just("nut"), Just("nut!"), Just("cog"), Just("it's")]
            .prop_map(str::to_owned)
    };
    prop_oneof![
        (name(), -1i64..4).prop_map(|(name, count)| Op::Add(name, count)),
        (name(), -4i64..4).prop_map(|(name, by)| Op::Move(name, by)),
        name().prop_map(Op::Drop),
        name().prop_map(Op::Rename),
    ]
}

/// What the world is to be, without SQL.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    items: BTreeMap<String, i64>,
    moves: BTreeMap<i64, (String, i64)>,
    last: i64,
}

#[derive(Debug, PartialEq)]
enum Said {
    Done(Option<Value>),
    Refused(&'static str),
    Crashed,
}

impl Model {
    fn start() -> Self {
        Self { items: BTreeMap::from([("bolt".into(), 5), ("nut".into(), 0)]), ..Self::default() }
    }

    fn apply(&mut self, op: &Op) -> Said {
        match op {
            Op::Add(name, _) if self.items.contains_key(name) => Said::Refused("known"),
            Op::Add(_, ..0) => Said::Crashed,
            Op::Add(name, count) => {
                self.items.insert(name.clone(), *count);
                Said::Done(Some(json!({ "name": name, "count": count })))
            }
            Op::Move(name, _) | Op::Drop(name) | Op::Rename(name) if !self.items.contains_key(name) => {
                Said::Refused("unknown")
            }
            Op::Move(name, by) if self.items[name] + by < 0 => Said::Crashed,
            Op::Move(name, by) => {
                *self.items.entry(name.clone()).or_default() += by;
                self.last += 1;
                self.moves.insert(self.last, (name.clone(), *by));
                Said::Done(Some(json!({ "id": self.last })))
            }
            Op::Drop(name) => {
                self.moves.retain(|_, (item, _)| item != name);
                self.items.remove(name);
                Said::Done(None)
            }
            Op::Rename(name) => {
                let renamed = format!("{name}!");
                if self.items.contains_key(&renamed) || self.moves.values().any(|(item, _)| item == name) {
                    return Said::Crashed;
                }
                let count = self.items.remove(name).unwrap_or_default();
                self.items.insert(renamed, count);
                Said::Done(None)
            }
        }
    }
}

fn apply(world: &World, op: &Op) -> Said {
    let answer = match op {
        Op::Add(name, count) => call(world, "add", json!({ "name": name, "count": count })),
        Op::Move(name, by) => call(world, "move", json!({ "name": name, "by": by })),
        Op::Drop(name) => call(world, "drop", json!({ "name": name })),
        Op::Rename(name) => call(world, "rename", json!({ "name": name })),
    };
    match &answer.kind {
        AnswerKind::Done => Said::Done(answer.body),
        AnswerKind::Refused { code } if code == "known" => Said::Refused("known"),
        AnswerKind::Refused { code } if code == "unknown" => Said::Refused("unknown"),
        AnswerKind::Refused { code } => panic!("{code}"),
        AnswerKind::Crashed { .. } => Said::Crashed,
    }
}

fn tables(world: &World) -> Vec<TableRow> {
    world.tables().expect("tables")
}

/// The rows of a table as objects.
fn objects(table: &TableRow) -> Vec<Value> {
    let object = |row: &Vec<Value>| {
        Value::Object(
            table
                .columns
                .iter()
                .cloned()
                .zip(row.iter().cloned())
                .filter(|(name, _)| name != "rowid")
                .collect(),
        )
    };
    table.rows.iter().map(object).collect()
}

/// The difference of two states told in the plainest way: rows by the first column, which is the key in this world.
fn naive(before: &[TableRow], after: &[TableRow]) -> Vec<ChangeRow> {
    let by_key = |table: &TableRow, key: &str| -> BTreeMap<String, Value> {
        objects(table).into_iter().map(|row| (row[key].to_string(), row)).collect()
    };
    let mut changes = Vec::new();
    for (was, is) in before.iter().zip(after) {
        let key = if was.table == "items" { "name" } else { "id" };
        let (was, is, table) = (by_key(was, key), by_key(is, key), was.table.clone());
        let gone: Vec<_> = was.iter().filter(|(key, _)| !is.contains_key(*key)).collect();
        let came: Vec<_> = is.iter().filter(|(key, _)| !was.contains_key(*key)).collect();
        let differs: Vec<_> =
            was.iter().filter(|(key, row)| is.get(*key).is_some_and(|now| now != *row)).collect();
        if gone.len() + came.len() + differs.len() > 0 {
            changes.push(ChangeRow {
                table,
                added: came.len() as u64,
                removed: gone.len() as u64,
                changed: differs.len() as u64,
                before: gone.iter().chain(&differs).map(|(_, row)| (*row).clone()).collect(),
                after: came
                    .iter()
                    .map(|(_, row)| (*row).clone())
                    .chain(differs.iter().map(|(key, _)| is[*key].clone()))
                    .collect(),
            });
        }
    }
    changes
}

/// Order within a change row is by key; the naive diff has another.
fn sorted(mut changes: Vec<ChangeRow>) -> Vec<ChangeRow> {
    for change in &mut changes {
        change.before.sort_by_key(Value::to_string);
        change.after.sort_by_key(Value::to_string);
    }
    changes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_world_agrees_with_a_plain_model_of_it(ops in proptest::collection::vec(op(), 0..40)) {
        let frozen = stock();
        let (world, bystander) = (fresh(&frozen), fresh(&frozen));
        let untouched = tables(&bystander);
        let mut model = Model::start();
        for op in &ops {
            let before = tables(&world);
            let said = apply(&world, op);
            prop_assert_eq!(&said, &model.apply(op), "{:?}", op);
            if !matches!(said, Said::Done(_)) {
                prop_assert_eq!(tables(&world), before, "{:?} left a trace", op);
            }
        }
        let after = tables(&world);
        let items: BTreeMap<String, i64> = objects(&after[0]).iter()
            .map(|row| (row["name"].as_str().expect("a name").to_owned(), row["count"].as_i64().expect("a count"))).collect();
        let moves: BTreeMap<i64, (String, i64)> = objects(&after[1]).iter()
            .map(|row| (row["id"].as_i64().expect("an id"), (row["item"].as_str().expect("an item").to_owned(), row["by"].as_i64().expect("by")))).collect();
        prop_assert_eq!(items, model.items);
        prop_assert_eq!(moves, model.moves);
        prop_assert_eq!(sorted(world.changes().expect("changes")), sorted(naive(&untouched, &after)));
        prop_assert_eq!(tables(&bystander), untouched, "another's rows were seen");
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes(ops in proptest::collection::vec(op(), 0..20), seed: u64) {
        let run = |ops: &[Op]| {
            // Frozen anew each time: nothing may hang on the run either.
            let world = stock().open(&[sql(1, "INSERT INTO items (name, count) VALUES ('s', abs(random() % 9))")], &Case::new(), seed).expect("a world");
            for op in ops {
                apply(&world, op);
            }
            serde_json_canonicalizer::to_vec(&tables(&world)).expect("bytes")
        };
        prop_assert_eq!(run(&ops), run(&ops));
    }
}

#[test]
fn another_seed_rolls_other_dice() {
    let tag = |seed| {
        let world = stock().open(&[], &Case::new(), seed).expect("a world");
        apply(&world, &Op::Move("bolt".into(), 1));
        objects(&tables(&world)[1])[0]["tag"].clone()
    };
    assert_ne!(tag(1), tag(2));
}

#[test]
fn a_change_that_is_taken_back_is_none() {
    let world = fresh(&stock());
    for op in [
        Op::Add("cog".into(), 1),
        Op::Rename("nut".into()),
        Op::Drop("cog".into()),
        Op::Drop("nut!".into()),
        Op::Add("nut".into(), 0),
    ] {
        assert!(matches!(apply(&world, &op), Said::Done(_)), "{op:?}");
    }
    assert_eq!(world.changes().expect("changes"), []);
}

#[test]
fn a_change_of_type_alone_is_a_change() {
    let schema = "CREATE TABLE t (k INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 1), (2, 'a'), (3, NULL);
        CREATE TABLE n (k TEXT PRIMARY KEY COLLATE NOCASE, v TEXT COLLATE NOCASE); INSERT INTO n VALUES (NULL, 'a'), (NULL, 'b'), ('k', 'v');";
    let run = [
        "UPDATE t SET v = 1.0 WHERE k = 1",
        "UPDATE t SET v = x'61' WHERE k = 2",
        "UPDATE n SET v = upper(v) WHERE v <> 'a'",
    ];
    let world = fresh(&frozen(schema, vec![plain("retype", &run, Answer::Nothing)]));
    assert_eq!(call(&world, "retype", json!({})).kind, AnswerKind::Done);
    let changes = world.changes().expect("changes");
    assert_eq!(changes[0].before, [json!({ "k": 1, "v": 1 }), json!({ "k": 2, "v": "a" })]);
    assert_eq!(
        changes[0].after,
        [json!({ "k": 1, "v": { "r": "1.0" } }), json!({ "k": 2, "v": { "b": "YQ==" } })]
    );
    assert_eq!(changes[1].after, [json!({ "k": null, "v": "B" }), json!({ "k": "k", "v": "V" })]);
    assert_eq!((changes[1].added, changes[1].removed, changes[1].changed), (0, 0, 2));
}
