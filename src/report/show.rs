//! One trial as a story: what was said, who handed over to whom, what each worker called, what became of the world,
//! and what was concluded.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use super::Story;
use super::pieces::{BOLD, DIM, clean, findings, goal, lanes, line, output, seconds, style};
use crate::journal::{ChangeRow, EventRow};
use crate::verdict::Relationship;

/// Lines of the app's output shown.
const TAIL: usize = 100;
/// Rows of one table shown.
const ROWS: usize = 20;

/// Tells the whole trial. `base` is the contract's folder as the reader would write it.
pub fn trial(out: &mut dyn Write, story: &Story, base: &Path) -> io::Result<()> {
    let word = story.outcome().word();
    let colour = style(word);
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}  {colour}{word}{colour:#}  {}  {}",
        story.id(),
        seconds(story.took()),
        story.scenario_file(base),
    )?;
    for (name, value) in &story.trial.values {
        writeln!(out, "  {name} = {}", line(&value.to_string(), 200))?;
    }
    if !story.sealed {
        writeln!(out, "  not sealed: the trial was interrupted")?;
    }
    if let Some(error) = story.error() {
        writeln!(out, "  {}: {}", error.code, line(&error.message, 400))?;
    }
    turns(out, story)?;
    hand_offs(out, &story.evidence.events)?;
    heading(out, "calls")?;
    lanes(out, story, &story.workers())?;
    world(out, &story.evidence.changes)?;
    if !story.evidence.findings.is_empty() {
        writeln!(out)?;
        findings(out, &story.evidence.findings)?;
    }
    if story.outputs.iter().any(|stream| !stream.text.trim().is_empty()) {
        writeln!(out)?;
        output(out, &story.outputs, TAIL)?;
    }
    verdicts(out, story, base)
}

fn heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{BOLD}{text}{BOLD:#}")
}

fn turns(out: &mut dyn Write, story: &Story) -> io::Result<()> {
    heading(out, "turns")?;
    for turn in &story.evidence.turns {
        let at = seconds(story.since_start(turn.at));
        writeln!(out, "  {DIM}+{at}{DIM:#}  user {}: {}", turn.row.n, indented(&turn.row.text))?;
        let replies = story.evidence.replies.iter();
        for reply in replies.filter(|reply| reply.n == turn.row.n) {
            let cut = if reply.cut { " (cut)" } else { "" };
            writeln!(out, "           app{cut}: {}", indented(&reply.text))?;
        }
    }
    Ok(())
}

fn indented(text: &str) -> String {
    clean(text.trim_end()).replace('\n', "\n           ")
}

/// Events as a tree: what ran in a hand-off stands below it, what ran in none stands at the top.
fn hand_offs(out: &mut dyn Write, events: &[EventRow]) -> io::Result<()> {
    heading(out, "seen in spans")?;
    if events.is_empty() {
        return writeln!(out, "  nothing");
    }
    let spans: BTreeMap<&str, usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.kind != "tool_call")
        .map(|(at, event)| (event.span_id.as_str(), at))
        .collect();
    let mut below: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let parent = event.parent_span_id.as_deref().and_then(|span| spans.get(span).copied());
        below.entry(parent.filter(|parent| *parent != at)).or_default().push(at);
    }
    // Each event is told once: a ring of parents hangs below nothing, so what is left comes at the end.
    let mut told = vec![false; events.len()];
    let tops = below.get(&None).cloned().unwrap_or_default();
    for top in tops.into_iter().chain(0..events.len()) {
        branch(out, events, &below, &mut told, top)?;
    }
    Ok(())
}

fn branch(
    out: &mut dyn Write,
    events: &[EventRow],
    below: &BTreeMap<Option<usize>, Vec<usize>>,
    told: &mut [bool],
    top: usize,
) -> io::Result<()> {
    let mut stack = vec![(top, 0usize)];
    while let Some((at, depth)) = stack.pop() {
        if std::mem::replace(&mut told[at], true) {
            continue;
        }
        writeln!(out, "  {}{}", "  ".repeat(depth.min(20)), event(&events[at]))?;
        let children = below.get(&Some(at)).into_iter().flatten().rev();
        stack.extend(children.map(|child| (*child, depth + 1)));
    }
    Ok(())
}

fn event(event: &EventRow) -> String {
    let name = |name: &Option<String>| name.as_deref().map_or("?".to_owned(), |n| line(n, 80));
    let what = match event.kind.as_str() {
        "tool_call" => {
            let arguments = match &event.arguments {
                Value::Null => String::new(),
                arguments => format!(" {}", line(&arguments.to_string(), 120)),
            };
            format!("{} called {}{arguments}", name(&event.agent), name(&event.tool))
        }
        kind => format!("{} {kind} to {}", name(&event.from), name(&event.to)),
    };
    let sure = match event.relationship {
        Relationship::Observed => "",
        Relationship::Unknown => ", relationship unknown",
    };
    let ended = match event.ended_with.as_deref() {
        Some("error") => ", ended with an error",
        _ => "",
    };
    format!("{what}  {DIM}({}{sure}{ended}){DIM:#}", event.basis)
}

fn world(out: &mut dyn Write, changes: &[ChangeRow]) -> io::Result<()> {
    heading(out, "the world")?;
    if changes.is_empty() {
        return writeln!(out, "  did not change");
    }
    for change in changes {
        writeln!(
            out,
            "  {}: {} added, {} removed, {} changed",
            change.table, change.added, change.removed, change.changed
        )?;
        rows(out, "-", &change.before)?;
        rows(out, "+", &change.after)?;
    }
    Ok(())
}

fn rows(out: &mut dyn Write, sign: &str, rows: &[Value]) -> io::Result<()> {
    for row in rows.iter().take(ROWS) {
        writeln!(out, "    {sign} {}", line(&row.to_string(), 200))?;
    }
    if rows.len() > ROWS {
        writeln!(out, "    {sign} … and {} more", rows.len() - ROWS)?;
    }
    Ok(())
}

fn verdicts(out: &mut dyn Write, story: &Story, base: &Path) -> io::Result<()> {
    heading(out, "verdicts")?;
    for row in &story.verdicts {
        goal(out, story, row, base)?;
    }
    let Some(end) = &story.end else { return Ok(()) };
    let judged = std::iter::once(("task".to_owned(), &end.task));
    let workers = end.workers.iter();
    for (who, judged) in judged.chain(workers.map(|(id, judged)| (format!("worker {id}"), judged))) {
        let colour = style(&judged.verdict);
        write!(out, "  {who}: {colour}{}{colour:#}", judged.verdict)?;
        match &judged.reason {
            Some(reason) => writeln!(out, ": {reason}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}
