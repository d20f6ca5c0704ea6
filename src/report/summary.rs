//! Markdown for a pull request or a job summary: scenarios in a table, what did not pass below it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use super::pieces::{asked_and_seen, came_to, line, verdict};
use super::{Story, Totals};
use crate::verdict::Outcome;

/// Trials told in full. GitHub cuts a job summary at one MiB, and nobody reads as far.
const TOLD: usize = 50;

/// Collects trials in the order they are added.
#[derive(Debug, Default)]
pub struct Summary {
    totals: Totals,
    scenarios: BTreeMap<String, Totals>,
    told: Vec<String>,
    untold: usize,
}

impl Summary {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a trial that counts. `base` is the contract's folder as the reader would write it.
    pub fn add(&mut self, story: &Story, base: &Path) {
        self.totals.add(story);
        let scenario = story.trial.scenario.clone();
        self.scenarios.entry(scenario).or_default().add(story);
        if story.outcome() == Outcome::Passed {
            return;
        }
        if self.told.len() < TOLD {
            self.told.push(tell(story, base));
        } else {
            self.untold += 1;
        }
    }

    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "**{}**\n", self.totals)?;
        writeln!(out, "| scenario | passed | failed | unknown | error | unknown goals |")?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
        for (scenario, totals) in &self.scenarios {
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                cell(scenario),
                totals.passed,
                totals.failed,
                totals.unknown,
                totals.error,
                totals.unknown_goals
            )?;
        }
        for told in &self.told {
            write!(out, "\n{told}")?;
        }
        if self.untold > 0 {
            writeln!(out, "\n… and {} more trials that did not pass.", self.untold)?;
        }
        Ok(())
    }
}

fn tell(story: &Story, base: &Path) -> String {
    let mut text = format!(
        "<details><summary><b>{}</b> {}</summary>\n\n",
        story.outcome().word(),
        escaped(story.id().as_str()),
    );
    if let Some(error) = story.error() {
        text.push_str(&format!("- **{}** {}\n", error.code, cell(&line(&error.message, 400))));
    }
    for row in story.open_goals() {
        let (asked, seen) = asked_and_seen(row);
        text.push_str(&format!(
            "- **{}** {} ({}) at `{}:{}`  \n  asked: {}  \n  seen: {}\n",
            verdict(row),
            cell(&row.sub_goal),
            row.subject,
            story.scenario_file(base),
            row.line.max(1),
            cell(&line(asked, 400)),
            cell(&line(seen, 400)),
        ));
    }
    let calls: Vec<_> = story.evidence.actions.iter().collect();
    if !calls.is_empty() {
        text.push_str("\n| worker | tool | came to |\n| --- | --- | --- |\n");
    }
    for action in calls {
        let worker = match action.whose() {
            crate::grade::Whose::Worker(worker) => worker.to_owned(),
            crate::grade::Whose::Disputed(a, b) => format!("{a} or {b}"),
            crate::grade::Whose::Nobody => "?".to_owned(),
        };
        let tool = action.attempt.tool.as_deref().unwrap_or("no tool");
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            cell(&worker),
            cell(&line(tool, 80)),
            cell(&came_to(action))
        ));
    }
    text.push_str("\n</details>\n");
    text
}

/// Text of others inside Markdown: neither a table's cell nor HTML nor emphasis may come out of it.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if matches!(c, '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '@' | '!' | '~') {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
