//! What the page is told of one trial: texts cut to a bound, and how much was left out.

use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Value, context};

use super::super::Story;
use super::super::pieces::{asked_and_seen, came_to, clean, gate, line, place, verdict};
use super::lanes;
use crate::grade::Whose;
use crate::verdict::Relationship;

/// Rows of any one table of a trial.
const ROWS: usize = 200;
/// Rows of the world, by table.
const CHANGED: usize = 50;
/// Characters of a turn or reply.
const TEXT: usize = 4_000;
/// Characters of the app's output, from its end.
const OUTPUT: usize = 8_000;

/// Nanoseconds as people read them.
pub(super) fn time(nanos: u64) -> String {
    let millis = nanos / 1_000_000;
    if millis < 1_000 {
        format!("{millis} ms")
    } else {
        format!("{}.{:02} s", millis / 1000, millis % 1000 / 10)
    }
}

fn text(text: &str, chars: usize) -> String {
    let text = clean(text.trim_end());
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}… (cut)", &text[..at]),
        None => text,
    }
}

fn took(story: &Story) -> String {
    time(story.span.1.saturating_sub(story.span.0))
}

/// One line of the table of trials.
pub(super) fn row(story: &Story, full: bool, counts: bool) -> Value {
    let open: Vec<_> = story
        .open_goals()
        .take(4)
        .map(|row| context! { word => &row.verdict, id => &row.sub_goal })
        .collect();
    context! {
        id => story.id().as_str(), outcome => story.outcome().word(), took => took(story), full, counts, open,
        more => story.open_goals().count().saturating_sub(4),
        error => story.error().map(|error| error.code),
    }
}

/// One trial in full.
pub(super) fn trial(story: &Story, base: &Path, counts: bool) -> Value {
    let evidence = &story.evidence;
    let goals = story.verdicts.iter().take(ROWS).map(|row| {
        let (asked, seen) = asked_and_seen(row);
        context! {
            word => &row.verdict, verdict => verdict(row), id => &row.sub_goal, subject => &row.subject,
            gate => gate(row.gate), place => place(story, row, base), asked => line(asked, 600), seen => line(seen, 600),
        }
    });
    let judged = story.end.iter().flat_map(|end| {
        let task = std::iter::once(("task", &end.task));
        task.chain(end.workers.iter().map(|(id, judged)| (id.as_str(), judged)))
            .map(|(who, judged)| context! { who, word => &judged.verdict, reason => &judged.reason })
            .collect::<Vec<_>>()
    });
    let turns = evidence.turns.iter().take(ROWS).map(|turn| {
        let replies = evidence.replies.iter().filter(|reply| reply.n == turn.row.n);
        let replies: Vec<_> = replies.map(|reply| text(&reply.text, TEXT)).collect();
        context! {
            at => time(turn.at.saturating_sub(story.span.0)), n => turn.row.n, text => text(&turn.row.text, TEXT),
            replies, expected => turn.row.expects_reply,
        }
    });
    let calls = evidence.actions.iter().take(ROWS).map(|action| {
        let whose = match action.whose() {
            Whose::Worker(worker) => worker.to_owned(),
            Whose::Disputed(channel, claimed) => format!("{channel}? spans say {claimed}"),
            Whose::Nobody => "?".to_owned(),
        };
        let arguments = &action.attempt.arguments;
        context! {
            seq => action.seq, at => time(action.at.saturating_sub(story.span.0)), whose,
            tool => line(action.attempt.tool.as_deref().unwrap_or("no tool"), 80),
            arguments => if arguments.is_null() { String::new() } else { line(&arguments.to_string(), 400) },
            came_to => came_to(action), refused => action.refusal().is_some(), late => action.attempt.late,
        }
    });
    let events = evidence.events.iter().filter(|event| event.kind != "tool_call");
    let hand_offs = events.clone().take(ROWS).map(|event| {
        let name = |name: &Option<String>| name.as_deref().map_or("?".to_owned(), |name| line(name, 80));
        context! {
            from => name(&event.from), to => name(&event.to), kind => &event.kind, basis => &event.basis,
            unsure => event.relationship == Relationship::Unknown, ended => &event.ended_with,
        }
    });
    let changes = evidence.changes.iter().take(ROWS).map(|change| {
        let rows = |rows: &[serde_json::Value]| {
            rows.iter().take(CHANGED).map(|row| line(&row.to_string(), 400)).collect::<Vec<_>>()
        };
        let shown = change.before.len().min(CHANGED) + change.after.len().min(CHANGED);
        context! {
            table => &change.table, before => rows(&change.before), after => rows(&change.after),
            added => change.added, removed => change.removed, changed => change.changed,
            left_out => change.before.len() + change.after.len() - shown,
        }
    });
    let findings = evidence.findings.iter().take(ROWS);
    let findings = findings
        .map(|finding| context! { code => &finding.code, worker => &finding.worker, detail => line(&finding.detail, 600) });
    let outputs = story.outputs.iter().filter(|output| !output.text.trim().is_empty()).map(|output| {
        let text = clean(output.text.trim_end());
        let from = text.char_indices().rev().nth(OUTPUT - 1).map_or(0, |(at, _)| at);
        context! { stream => &output.stream, text => &text[from..], cut => from > 0 || output.cut }
    });
    let phases = story.phases.iter();
    let phases = phases
        .map(|phase| context! { name => &phase.phase, took => time(phase.micros.saturating_mul(1000)) });
    let values = story.trial.values.iter();
    let values = values.map(|(name, value)| context! { name, value => line(&value.to_string(), 200) });
    context! {
        id => story.id().as_str(), outcome => story.outcome().word(), counts, took => took(story),
        file => story.scenario_file(base), sealed => story.sealed, retry_of => &story.trial.retry_of,
        error => story.error().map(|error| context! { code => error.code, message => line(&error.message, 600) }),
        chart => Value::from(Serde(lanes::chart(story))),
        values => values.collect::<Vec<_>>(), goals => goals.collect::<Vec<_>>(), judged => judged.collect::<Vec<_>>(),
        turns => turns.collect::<Vec<_>>(), calls => calls.collect::<Vec<_>>(),
        calls_left_out => evidence.actions.len().saturating_sub(ROWS),
        hand_offs => hand_offs.collect::<Vec<_>>(), hand_offs_left_out => events.count().saturating_sub(ROWS),
        changes => changes.collect::<Vec<_>>(), findings => findings.collect::<Vec<_>>(),
        findings_left_out => evidence.findings.len().saturating_sub(ROWS),
        outputs => outputs.collect::<Vec<_>>(), phases => phases.collect::<Vec<_>>(),
    }
}
