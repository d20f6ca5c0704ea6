//! A run on a terminal: one line for a trial that passed, the whole story of one that did not, and the last line.

use std::io::{self, Write};
use std::path::Path;

use super::pieces::{findings, goal, lanes, output, seconds, style, verdict};
use super::{Story, Totals};
use crate::verdict::Outcome;

/// Lines of the app's output shown with a trial that did not pass.
const TAIL: usize = 12;

/// One trial. `base` is the contract's folder as the reader would write it, so that places can be opened.
pub fn trial(out: &mut dyn Write, story: &Story, base: &Path) -> io::Result<()> {
    let word = story.outcome().word();
    let colour = style(word);
    write!(out, "{colour}{word}{colour:#}  {}  {}", story.id(), seconds(story.took()))?;
    if let Some(of) = &story.trial.retry_of {
        write!(out, "  (a retry of {of})")?;
    }
    if !story.sealed {
        write!(out, "  (not sealed)")?;
    }
    if story.outcome() == Outcome::Passed {
        let open = story.open_goals().map(|row| format!("{} {}", row.sub_goal, verdict(row)));
        let open = open.collect::<Vec<_>>().join(", ");
        return match open.as_str() {
            "" => writeln!(out),
            open => writeln!(out, "  ({open})"),
        };
    }
    writeln!(out)?;
    if let Some(error) = story.error() {
        let colour = style("error");
        write!(out, "  {colour}{}{colour:#}", error.code)?;
        if let Some(line) = error.line {
            write!(out, "  {}:{line}", story.scenario_file(base))?;
        }
        writeln!(out, "\n      {}", super::pieces::line(&error.message, 400))?;
    }
    for row in story.open_goals() {
        goal(out, story, row, base)?;
    }
    lanes(out, story, &concerned(story))?;
    findings(out, &story.evidence.findings)?;
    output(out, &story.outputs, TAIL)
}

/// The workers that the open goals are about; all of them, where one is about the task.
fn concerned(story: &Story) -> Vec<&str> {
    let subjects: Vec<_> = story.open_goals().map(|row| row.subject.as_str()).collect();
    let of_task = subjects.is_empty() || subjects.contains(&"task");
    let mut workers = story.workers();
    workers.retain(|worker| {
        let own = subjects.iter().any(|subject| subject.strip_prefix("worker:") == Some(worker));
        own || (of_task && story.calls(worker).next().is_some())
    });
    workers
}

/// Where the time went, and the last line.
pub fn totals(out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
    let time = totals.time();
    if !time.is_empty() {
        writeln!(out, "time: {time}")?;
    }
    writeln!(out, "{totals}")
}
