//! `mocktrial events`: what it prints, and that a large input takes no large memory.

use std::io::{BufWriter, Write};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Runs the verb on what `write` gives it on standard input.
fn events(command: &mut Command, write: impl FnOnce(&mut dyn Write)) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mocktrial starts");
    let mut input = BufWriter::new(child.stdin.take().expect("a pipe"));
    write(&mut input);
    drop(input);
    child.wait_with_output().expect("it ends")
}

/// One line of OTLP/JSON with one span of the GenAI conventions.
fn line(
    trace: u32,
    span: u32,
    parent: Option<u32>,
    operation: &str,
    name: &str,
    start: u64,
    padding: &str,
) -> Value {
    let key = if operation == "execute_tool" { "gen_ai.tool.name" } else { "gen_ai.agent.name" };
    let attribute = |key: &str, text: &str| json!({"key": key, "value": {"stringValue": text}});
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{span:016x}"),
        "parentSpanId": parent.map_or_else(String::new, |parent| format!("{parent:016x}")),
        "name": format!("{operation} {name}"),
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + 9).to_string(),
        "attributes": [
            attribute("gen_ai.operation.name", operation), attribute(key, name), attribute("padding", padding),
        ],
    }]}]}]})
}

#[test]
fn the_tree_shows_who_did_what_in_which_hand_off() {
    let spans = [
        line(1, 1, None, "invoke_agent", "Coordinator", 10, ""),
        line(1, 2, Some(1), "execute_tool", "ask_refund", 20, ""),
        line(1, 3, Some(2), "invoke_agent", "Refund\n", 21, ""),
        line(1, 4, Some(3), "execute_tool", "issue_refund", 22, ""),
        line(1, 6, Some(5), "execute_tool", "get_order", 30, ""),
    ];
    let output =
        events(Command::new(env!("CARGO_BIN_EXE_mocktrial")).args(["events", "--tree", "-"]), |input| {
            spans.iter().for_each(|span| writeln!(input, "{span}").expect("written"));
        });
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "\
Coordinator -> Refund\\n
  Refund\\n: issue_refund
?: get_order (unknown: call_parent_missing)
";
    assert_eq!(said, expected);
}

#[test]
fn traces_that_end_as_late_as_they_can_take_no_more_memory_than_one() {
    const TRACES: u32 = 15_000;
    let padding = "x".repeat(4096);
    // Address space, so that no page of the spans may stay: they are 180 MB.
    let limited = "ulimit -v 160000; exec \"$0\" events -";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_mocktrial")]);
    let output = events(&mut command, |input| {
        // Every trace's agent stands in the first third of the input, its tool in the last.
        for n in 1..=3u32 {
            for trace in 1..=TRACES {
                let start = u64::from(trace) * 100 + u64::from(n);
                let (operation, name) =
                    if n == 1 { ("invoke_agent", "Refund") } else { ("execute_tool", "get_order") };
                let parent = (n > 1).then_some(1);
                let line = line(trace, n, parent, operation, name, start, &padding);
                writeln!(input, "{line}").expect("written");
            }
        }
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{trouble}");
    let rows: Vec<Value> = said.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
    assert_eq!(rows.len(), 2 * TRACES as usize);
    assert!(rows.iter().all(|row| row["relationship"] == "observed" && row["agent"] == "Refund"));
    let starts: Vec<u64> = rows
        .iter()
        .map(|row| row["started_at"].as_str().and_then(|at| at.parse().ok()).expect("a time"))
        .collect();
    assert!(starts.is_sorted(), "in order of start");
}
