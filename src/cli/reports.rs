//! What `run` and `report` share: one walk over the records of a run, and every report that was asked for.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Told;
use super::print;
use crate::report::html::Html;
use crate::report::junit::{JUnit, Unknown};
use crate::report::sarif::Sarif;
use crate::report::summary::Summary;
use crate::report::{Story, Totals, annotations, json, term};

/// Which reports, and where to.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Write a JUnit report here
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// What an unknown trial is in the JUnit report
    #[arg(long, value_name = "AS", value_parser = ["skipped", "failure"], default_value = "skipped")]
    junit_unknown: String,
    /// Write a Markdown summary here; on GitHub, "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write permission findings as SARIF here
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the whole run as one HTML file, with each trial's workers as lanes over time
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print GitHub annotations at the lines of the scenarios
    #[arg(long)]
    annotations: bool,
}

/// One record of a run.
pub(super) struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The contract's folder as the reader would write it.
    pub base: PathBuf,
    /// Whether it is the trial that counts: false for a first try that was retried.
    pub counts: bool,
}

/// Every report of a run, filled by one walk over its records.
pub(super) struct Reports {
    wanted: Wanted,
    /// What the trials that count came to.
    pub totals: Totals,
    junit: JUnit,
    summary: Summary,
    sarif: Sarif,
    html: Option<Html>,
    trials: Option<Vec<json::TrialReport>>,
}

impl Reports {
    pub(super) fn new(wanted: Wanted, json: bool) -> Self {
        let unknown = match wanted.junit_unknown.as_str() {
            "failure" => Unknown::Failure,
            _ => Unknown::Skipped,
        };
        Self {
            html: wanted.html.is_some().then(Html::new),
            wanted,
            totals: Totals::default(),
            junit: JUnit::new(unknown),
            summary: Summary::new(),
            sarif: Sarif::new(),
            trials: json.then(Vec::new),
        }
    }

    /// Tells of one record on `out`, where there is one, and takes it into the other reports.
    pub(super) fn add(&mut self, kept: &Kept, out: Option<&mut dyn Write>) -> Result<(), Told> {
        let at = |error: &dyn std::fmt::Display| Told::trouble(format!("{}: {error}", kept.path.display()));
        let story = Story::read(&kept.path).map_err(|error| at(&error))?;
        self.take(&story, kept, out)
    }

    /// The same, of a story that was read already.
    pub(super) fn take(
        &mut self,
        story: &Story,
        kept: &Kept,
        out: Option<&mut dyn Write>,
    ) -> Result<(), Told> {
        let at = |error: &dyn std::fmt::Display| Told::trouble(format!("{}: {error}", kept.path.display()));
        if let Some(out) = out {
            term::trial(out, story, &kept.base).map_err(|error| at(&error))?;
        }
        if kept.counts {
            self.totals.add(story);
            self.summary.add(story, &kept.base);
        }
        if self.wanted.annotations {
            annotations::trial(&mut print::out(), story, &kept.base).map_err(|error| at(&error))?;
        }
        self.junit.add(story, &kept.base);
        self.sarif.add(story, &kept.base);
        if let Some(html) = &mut self.html {
            html.add(story, &kept.base, kept.counts).map_err(|error| at(&error))?;
        }
        if let Some(trials) = &mut self.trials {
            trials.push(story.into());
        }
        Ok(())
    }

    /// Writes the files that were asked for.
    pub(super) fn write(&self) -> Result<(), Told> {
        if let Some(path) = &self.wanted.junit {
            let xml = self.junit.to_xml().map_err(Told::trouble)?;
            write(path, xml.as_bytes())?;
        }
        if let Some(path) = &self.wanted.sarif {
            write(path, format!("{:#}\n", self.sarif.to_json()).as_bytes())?;
        }
        if let Some((path, html)) = self.wanted.html.as_ref().zip(self.html.as_ref()) {
            write(path, html.page(self.totals.not_run).map_err(Told::trouble)?.as_bytes())?;
        }
        if let Some(path) = &self.wanted.summary {
            let mut text = Vec::new();
            self.summary.write(&mut text).map_err(Told::trouble)?;
            write(path, &text)?;
        }
        Ok(())
    }

    /// The run as one JSON document, where it was asked for.
    pub(super) fn take_json(&mut self) -> Option<serde_json::Value> {
        let trials = self.trials.take()?;
        serde_json::to_value(json::RunReport::new(&self.totals, trials)).ok()
    }

    /// The run as Markdown.
    pub(super) fn markdown(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.summary.write(out)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Told> {
    let at = |error| Told::usage(format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at)?;
    }
    std::fs::write(path, bytes).map_err(at)
}
