//! How near a reading comes to the expected rows: pairs that agree on every field, each field by any accepted reading.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mocktrial::events::{Event, Kind};
use mocktrial::journal::EventRow;
use serde_json::Value;

const SHAPE: [&str; 6] = ["kind", "agent", "from", "to", "tool", "relationship"];
const FULL: [&str; 9] =
    ["kind", "agent", "from", "to", "tool", "relationship", "parent", "returned", "arguments"];

#[derive(Debug, Default)]
pub struct Score {
    pub wanted: usize,
    pub read: usize,
    pub found: usize,
    pub guesses: usize,
    pub missing: Vec<String>,
    pub added: Vec<String>,
}

impl Score {
    pub fn is_exact(&self) -> bool {
        self.missing.is_empty() && self.added.is_empty()
    }

    pub fn add(&mut self, other: &Self) {
        self.wanted += other.wanted;
        self.read += other.read;
        self.found += other.found;
        self.guesses += other.guesses;
    }

    pub fn f1(&self) -> f64 {
        2.0 * self.found as f64 / (self.wanted + self.read).max(1) as f64
    }
}

/// Fields as comparable texts.
type Row = BTreeMap<&'static str, String>;
/// The right values of each field.
type Want = BTreeMap<&'static str, BTreeSet<String>>;

pub fn score(expected: &[Value], events: &[Event]) -> Score {
    let (names, mut want_count) =
        hand_off_names(expected.iter().map(|row| (text(&row["kind"]), text(&row["to"]))));
    let wants: Vec<Want> = expected.iter().map(|row| want(row, &names)).collect();
    let (rows, got_count) = rows(events);
    let count = |counts: &HashMap<String, usize>, like: &str| counts.get(like).copied().unwrap_or(0);
    // Where the two sides hold a different number of like hand-offs, which one of them is not compared.
    let like = |parent: &str| -> String {
        let kind_and_to = parent.rsplit_once('#').map_or(parent, |(like, _)| like);
        if count(&want_count, kind_and_to) == count(&got_count, kind_and_to) {
            parent.into()
        } else {
            kind_and_to.into()
        }
    };
    let wants: Vec<Want> = wants
        .into_iter()
        .map(|mut want| {
            let parents = want["parent"].iter().map(|parent| like(parent)).collect();
            want.insert("parent", parents);
            want
        })
        .collect();
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|mut row| {
            let parent = like(&row["parent"]);
            row.insert("parent", parent);
            row
        })
        .collect();
    want_count.clear();
    let (found_shape, used_shape) = pair_up(&wants, &rows, &SHAPE);
    let (found, used) = pair_up(&wants, &rows, &FULL);
    let wanted: Vec<usize> =
        (0..wants.len()).filter(|i| expected[*i]["may_omit"] != true || found.contains(i)).collect();
    let missed: BTreeSet<(String, String)> = (0..wants.len())
        .filter(|i| !found_shape.contains(i))
        .map(|i| (text(&expected[i]["tool"]), text(&expected[i]["from"])))
        .collect();
    let guessed = |j: &usize| {
        let row = &rows[*j];
        let unrecognised =
            row["kind"] == "tool_call" && missed.contains(&(row["tool"].clone(), row["agent"].clone()));
        !used_shape.contains(j) && row["relationship"] == "observed" && !unrecognised
    };
    Score {
        wanted: wanted.len(),
        read: rows.len(),
        found: found.len(),
        guesses: (0..rows.len()).filter(guessed).count(),
        missing: wanted.iter().filter(|i| !found.contains(i)).map(|i| format!("{:?}", wants[*i])).collect(),
        added: (0..rows.len()).filter(|j| !used.contains(j)).map(|j| format!("{:?}", rows[j])).collect(),
    }
}

/// Each hand-off as kind, receiver and which of several like it: what a parent is compared by.
fn hand_off_names(events: impl Iterator<Item = (String, String)>) -> (Vec<String>, HashMap<String, usize>) {
    let mut count: HashMap<String, usize> = HashMap::new();
    let names = events
        .map(|(kind, to)| {
            let like = format!("{kind}>{to}");
            let seen = count.entry(like.clone()).or_default();
            *seen += 1;
            format!("{like}#{}", *seen - 1)
        })
        .collect();
    (names, count)
}

fn want(row: &Value, names: &[String]) -> Want {
    let mut want = Want::new();
    let no_others = Vec::new();
    let others = row["accept"].as_array().unwrap_or(&no_others);
    let readings = std::iter::once(row.clone()).chain(others.iter().map(|other| {
        let mut reading = row.clone();
        for (key, value) in other.as_object().expect("partial row") {
            reading[key] = value.clone();
        }
        reading
    }));
    for reading in readings {
        let parent = reading["parent_event"].as_u64().map_or(String::new(), |i| names[i as usize].clone());
        let fields = fields(
            &text(&reading["kind"]),
            [text(&reading["agent"]), text(&reading["from"]), text(&reading["to"]), text(&reading["tool"])],
            text(&reading["relationship"]),
            parent,
            reading["returned"] == true,
            &reading["arguments"],
        );
        for (field, value) in fields {
            want.entry(field).or_default().insert(value);
        }
    }
    want
}

fn rows(events: &[Event]) -> (Vec<Row>, HashMap<String, usize>) {
    let kind = |event: &Event| event.kind.as_str().to_owned();
    let to = |event: &Event| event.to.as_deref().unwrap_or_default().to_owned();
    let (names, count) = hand_off_names(events.iter().map(|event| (kind(event), to(event))));
    let by_span: HashMap<_, _> = events
        .iter()
        .zip(&names)
        .filter(|(event, _)| event.kind != Kind::ToolCall)
        .map(|(event, name)| ((event.trace_id, event.span_id), name))
        .collect();
    let rows = events
        .iter()
        .map(|event| {
            let parent = event.parent.and_then(|parent| by_span.get(&parent));
            let row = EventRow::from(event.clone());
            let name = |name: Option<String>| name.unwrap_or_default();
            fields(
                &row.kind,
                [name(row.agent), name(row.from), name(row.to), name(row.tool)],
                serde_json::to_value(row.relationship).map(|word| text(&word)).expect("word"),
                parent.map_or(String::new(), |name| (*name).clone()),
                row.ended_at.is_some(),
                &row.arguments,
            )
        })
        .collect();
    (rows, count)
}

/// A hand-off's tool, and a tool call's two ends, are not compared; a return is asked of delegations alone.
fn fields(
    kind: &str,
    [agent, from, to, tool]: [String; 4],
    relationship: String,
    parent: String,
    returned: bool,
    arguments: &Value,
) -> Row {
    let call = kind == "tool_call";
    let only = |kept: bool, text: String| if kept { text } else { String::new() };
    Row::from([
        ("kind", kind.to_owned()),
        ("agent", agent),
        ("from", only(!call, from)),
        ("to", only(!call, to)),
        ("tool", only(call, tool)),
        ("relationship", relationship),
        ("parent", parent),
        ("returned", only(kind == "delegated", returned.to_string())),
        ("arguments", plain(arguments).to_string()),
    ])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Arguments as data: JSON text becomes what it holds, and whole numbers compare as numbers.
fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::String(inner)) => Value::String(inner),
            Ok(held) => plain(&held),
            Err(_) => value.clone(),
        },
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), Value::from),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

/// Largest set of pairs that agree on the fields (augmenting paths).
fn pair_up(wants: &[Want], rows: &[Row], on: &[&str]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    fn place(
        i: usize,
        agrees: &[Vec<bool>],
        seen: &mut BTreeSet<usize>,
        owner: &mut HashMap<usize, usize>,
    ) -> bool {
        for j in 0..agrees[i].len() {
            if agrees[i][j] && seen.insert(j) {
                let free = match owner.get(&j) {
                    Some(&other) => place(other, agrees, seen, owner),
                    None => true,
                };
                if free {
                    owner.insert(j, i);
                    return true;
                }
            }
        }
        false
    }
    let agree = |want: &Want, row: &Row| on.iter().all(|field| want[field].contains(&row[field]));
    let agrees: Vec<Vec<bool>> =
        wants.iter().map(|want| rows.iter().map(|row| agree(want, row)).collect()).collect();
    let mut owner = HashMap::new();
    for i in 0..wants.len() {
        place(i, &agrees, &mut BTreeSet::new(), &mut owner);
    }
    (owner.values().copied().collect(), owner.keys().copied().collect())
}
