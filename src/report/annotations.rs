//! GitHub workflow commands: each goal that failed or is unknown as an annotation at the line that asked for it.

use std::io::{self, Write};
use std::path::Path;

use super::Story;
use super::pieces::{asked_and_seen, verdict};
use crate::verdict::{Gate, Outcome};

/// Writes the annotations of one trial. `base` is the contract's folder as seen from the repository's root.
pub fn trial(out: &mut dyn Write, story: &Story, base: &Path) -> io::Result<()> {
    let file = story.scenario_file(base);
    if let Some(error) = story.error() {
        let title = format!("{}: {}", story.id(), error.code);
        command(out, "error", &file, error.line.unwrap_or(1), &title, &error.message)?;
    }
    for row in story.open_goals().filter(|row| row.gate != Gate::Report) {
        let level = match row.verdict.as_str() {
            "failed" => "error",
            _ if row.gate == Gate::Required && story.outcome() == Outcome::Unknown => "error",
            _ => "warning",
        };
        let title = format!("{}: {} {}", story.id(), row.sub_goal, verdict(row));
        let (asked, seen) = asked_and_seen(row);
        let message = format!("asked: {asked}\nseen: {seen}");
        // A built-in goal has no line of its own.
        command(out, level, &file, row.line.max(1), &title, &message)?;
    }
    Ok(())
}

fn command(
    out: &mut dyn Write,
    level: &str,
    file: &str,
    line: u32,
    title: &str,
    message: &str,
) -> io::Result<()> {
    let (file, title) = (property(file), property(title));
    writeln!(out, "::{level} file={file},line={line},title={title}::{}", data(message))
}

/// Line breaks would end the command, and so let a reply issue one of its own.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
