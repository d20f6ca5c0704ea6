//! Many trials at once share nothing: each record holds its own order, its own world and its own spans, and no other's.

#[path = "support/desk.rs"]
mod desk;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use desk::Desk;

const TRIALS: usize = 500;
/// Orders are numbers that appear nowhere else in a record.
const FIRST: usize = 7_310_000;

fn scenario() -> String {
    let mut cases = String::new();
    for order in FIRST..FIRST + TRIALS {
        let _ = write!(cases, "{{ order: \"{order}\" }}, ");
    }
    format!(
        r#"scenario: own_order
tests: each trial pays its own order and sees no other's
cases: [{cases}]
turns:
  - user: Order ${{order}} came broken. I'd like my money back.
  - user: Yes, please go ahead.
seed: ["INSERT INTO orders VALUES (:order, 'delivered', 5990)"]
sub_goals:
  - {{ id: paid, sql: "SELECT count(*) = 1 FROM refunds WHERE order_id = :order" }}
  - {{ id: nothing_else, changed: {{ refunds: {{ added: 1 }} }} }}
  - {{ id: handed_over, delegated: {{ from: coordinator, to: refund, times: 1 }} }}
"#
    )
}

/// Every number in the text that could be an order.
fn orders(text: &str) -> BTreeSet<usize> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
    numbers.filter(|number| (FIRST..FIRST + TRIALS).contains(number)).collect()
}

#[test]
fn five_hundred_trials_side_by_side_never_share_a_row_a_token_or_a_span() {
    let desk = Desk::bare();
    desk.write("own_order.scenario.yaml", &scenario());
    let said = desk.told(&["run", ".", "-j", "64", "--out", "out"], 0);
    assert!(said.contains(&format!("{TRIALS} trials: {TRIALS} passed")), "{said}");
    let mut spans = BTreeSet::new();
    for case in 0..TRIALS {
        let path = desk.at("out/trials/own_order").join(format!("{case}-1.jsonl"));
        let text = fs::read_to_string(&path).expect("a record");
        // The first row holds the scenario's file, and with it every case.
        let (_, own) = text.split_once('\n').expect("rows");
        assert_eq!(orders(own), BTreeSet::from([FIRST + case]), "{}", path.display());
        for row in own.lines().filter(|line| line.contains(r#""row":"span""#)) {
            let row: serde_json::Value = serde_json::from_str(row).expect("a row");
            let id = (row["span"]["traceId"].to_string(), row["span"]["spanId"].to_string());
            assert!(spans.insert(id), "a span stands in two records: {row}");
        }
    }
    assert!(spans.len() >= TRIALS, "{} spans", spans.len());
    let file = desk.run_file("out");
    assert_eq!(file["late_calls"], serde_json::json!([]));
    assert_eq!(file["unknown_tokens"], serde_json::json!({}));
}
