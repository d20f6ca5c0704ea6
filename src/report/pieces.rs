//! The pieces that stories are told with: verdicts, calls, findings, output. Styles are written as ANSI codes; whoever
//! opens the stream takes them off where it is no terminal or `NO_COLOR` is set.
//!
//! What the app said is shown with its control characters escaped: a record must not be able to drive a terminal.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::Story;
use crate::grade::{Action, Whose};
use crate::journal::{Decision, FindingRow, OutcomeKind, OutputRow, VerdictRow};
use crate::verdict::Gate;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// How a verdict's or outcome's word is shown.
pub(super) fn style(word: &str) -> Style {
    match word {
        "passed" => AnsiColor::Green.on_default(),
        "failed" => AnsiColor::Red.on_default().bold(),
        "error" => AnsiColor::Magenta.on_default().bold(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

/// A text that cannot drive a terminal; line breaks stay.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// [`clean`], on one line of at most `chars` characters.
pub(super) fn line(text: &str, chars: usize) -> String {
    let text = clean(text).replace('\n', "\\n");
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// `unknown: no_calls`, or the bare word.
pub(super) fn verdict(row: &VerdictRow) -> String {
    match &row.reason {
        Some(reason) => format!("{}: {reason}", row.verdict),
        None => row.verdict.clone(),
    }
}

pub(super) fn gate(gate: Gate) -> &'static str {
    match gate {
        Gate::Required => "required",
        Gate::IfSeen => "if_seen",
        Gate::Report => "report",
    }
}

/// Where a goal was asked for; built-in goals were asked for by the scenario as a whole.
pub(super) fn place(story: &Story, row: &VerdictRow, base: &Path) -> String {
    let file = story.scenario_file(base);
    match row.line {
        0 => format!("{file} (built in)"),
        line => format!("{file}:{line}"),
    }
}

/// What was asked and what was seen, apart.
pub(super) fn asked_and_seen(row: &VerdictRow) -> (&str, &str) {
    let (asked, seen) = row.detail.split_once("; seen: ").unwrap_or(("", &row.detail));
    (asked.strip_prefix("asked: ").unwrap_or(asked), seen)
}

/// One goal, with what was asked and seen.
pub(super) fn goal(out: &mut dyn Write, story: &Story, row: &VerdictRow, base: &Path) -> io::Result<()> {
    let colour = style(&row.verdict);
    writeln!(
        out,
        "  {colour}{}{colour:#}  {BOLD}{}{BOLD:#} ({}, {})  {}",
        verdict(row),
        row.sub_goal,
        row.subject,
        gate(row.gate),
        place(story, row, base),
    )?;
    let (asked, seen) = asked_and_seen(row);
    if !asked.is_empty() {
        writeln!(out, "      asked: {}", line(asked, 400))?;
    }
    writeln!(out, "      seen:  {}", line(seen, 400))
}

/// Every call of each of `workers`, and those of nobody where there are any.
pub(super) fn lanes(out: &mut dyn Write, story: &Story, workers: &[&str]) -> io::Result<()> {
    for worker in workers {
        let calls: Vec<_> = story.calls(worker).collect();
        if calls.is_empty() {
            writeln!(out, "  {BOLD}{worker}{BOLD:#} made no call")?;
            continue;
        }
        writeln!(out, "  calls of {BOLD}{worker}{BOLD:#}")?;
        for action in calls {
            call(out, story, action)?;
        }
    }
    let nobodys: Vec<_> = story.nobodys_calls().collect();
    if !nobodys.is_empty() {
        writeln!(out, "  calls that nobody can be given")?;
        for action in nobodys {
            call(out, story, action)?;
        }
    }
    Ok(())
}

fn call(out: &mut dyn Write, story: &Story, action: &Action) -> io::Result<()> {
    let tool = action.attempt.tool.as_deref().unwrap_or("no tool");
    let arguments = match &action.attempt.arguments {
        Value::Null => String::new(),
        arguments => format!(" {}", line(&arguments.to_string(), 120)),
    };
    let colour = style(match action.kind() {
        Some(OutcomeKind::Done) => "passed",
        Some(OutcomeKind::Crashed) => "error",
        _ => "unknown",
    });
    write!(
        out,
        "    #{:<4} {DIM}+{}{DIM:#}  {}{arguments}  {colour}{}{colour:#}",
        action.seq,
        seconds(story.since_start(action.at)),
        line(tool, 80),
        came_to(action),
    )?;
    if let Whose::Disputed(channel, claimed) = action.whose() {
        write!(out, "  (channel of {channel}, spans say {claimed})")?;
    }
    if action.attempt.late {
        write!(out, "  (late)")?;
    }
    writeln!(out)
}

/// How a call came out, in a few words.
pub(super) fn came_to(action: &Action) -> String {
    if let Some(code) = action.refusal() {
        let reason = action.attempt.reason.as_deref().map(|reason| line(reason, 160));
        return match reason {
            Some(reason) => format!("refused {code}: {reason}"),
            None => format!("refused {code}"),
        };
    }
    let Some(outcome) = &action.outcome else {
        return "no outcome on record".to_owned();
    };
    let mut text = match outcome.kind {
        OutcomeKind::Done => "done".to_owned(),
        OutcomeKind::WorldRefused => "the world refused".to_owned(),
        OutcomeKind::Faulted => "faulted".to_owned(),
        OutcomeKind::Crashed => "crashed".to_owned(),
        OutcomeKind::Refused => "refused".to_owned(),
    };
    if let Some(code) = &outcome.code {
        text.push_str(&format!(" {code}"));
    }
    if let Some(status) = outcome.status {
        text.push_str(&format!(" {status}"));
    }
    if action.attempt.decision == Decision::Faulted && outcome.kind != OutcomeKind::Faulted {
        text.push_str(", with a fault of ours");
    }
    if outcome.ended_after_deadline {
        text.push_str(", after its deadline");
    }
    text
}

pub(super) fn findings(out: &mut dyn Write, findings: &[FindingRow]) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "  findings")?;
    for finding in findings {
        let colour = style("unknown");
        write!(out, "    {colour}{}{colour:#}", finding.code)?;
        if let Some(worker) = &finding.worker {
            write!(out, " {worker}")?;
        }
        writeln!(out, ": {}", line(&finding.detail, 400))?;
    }
    Ok(())
}

/// The last lines of each stream that said anything.
pub(super) fn output(out: &mut dyn Write, outputs: &[OutputRow], lines: usize) -> io::Result<()> {
    for stream in outputs.iter().filter(|stream| !stream.text.trim().is_empty()) {
        let text = clean(stream.text.trim_end());
        let all: Vec<_> = text.lines().collect();
        let shown = &all[all.len().saturating_sub(lines)..];
        let more = if shown.len() < all.len() || stream.cut { ", its end" } else { "" };
        writeln!(out, "  the app's {}{more}", stream.stream)?;
        for text in shown {
            writeln!(out, "    {DIM}|{DIM:#} {text}")?;
        }
    }
    Ok(())
}
