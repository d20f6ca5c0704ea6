//! A run as one self-contained HTML file: no script, no network, readable when printed, by day and by night.
//!
//! Each trial is rendered as it is added, so that only text is held. Whatever the app, its spans or a file said is
//! escaped by the template, and the page's own policy forbids every script, whatever else might go wrong.

use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use minijinja::{Environment, Value, context};
use sha2::{Digest, Sha256};

use super::{Story, Totals};
use crate::verdict::Outcome;

mod lanes;
mod view;

const STYLE: &str = include_str!("html/style.css");

/// Trials told in full that did not pass; they come first.
const OPEN: usize = 200;
/// Passed trials told in full.
const PASSED: usize = 100;
/// Trials in the table.
const LISTED: usize = 5_000;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    // Both are compiled into the program and rendered by its tests; one that does not parse is never found below.
    let _ = templates.add_template("page.html", include_str!("html/page.html"));
    let _ = templates.add_template("trial.html", include_str!("html/trial.html"));
    templates
});

/// Collects trials in the order they are added.
#[derive(Debug, Default)]
pub struct Html {
    totals: Totals,
    rows: Vec<Value>,
    open: Vec<Value>,
    passed: Vec<Value>,
    unlisted: usize,
    untold: usize,
}

/// A page that could not be made; a defect of ours.
#[derive(Debug, thiserror::Error)]
#[error("the HTML report could not be made: {0}")]
pub struct HtmlError(#[from] minijinja::Error);

impl Html {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a trial. `counts` is false for a first try that was retried; `base` is the contract's folder as the reader
    /// would write it.
    pub fn add(&mut self, story: &Story, base: &Path, counts: bool) -> Result<(), HtmlError> {
        if counts {
            self.totals.add(story);
        }
        let (told, most) = match story.outcome() {
            Outcome::Passed => (&mut self.passed, PASSED),
            _ => (&mut self.open, OPEN),
        };
        let full = told.len() < most;
        if full {
            let trial = view::trial(story, base, counts);
            told.push(Value::from_safe_string(TEMPLATES.get_template("trial.html")?.render(trial)?));
        } else {
            self.untold += 1;
        }
        if self.rows.len() < LISTED {
            self.rows.push(view::row(story, full, counts));
        } else {
            self.unlisted += 1;
        }
        Ok(())
    }

    /// The page. `not_run` trials were planned and have no record.
    pub fn page(&self, not_run: u64) -> Result<String, HtmlError> {
        let mut totals = self.totals.clone();
        totals.not_run = not_run;
        let page = context! {
            style => STYLE,
            digest => BASE64_STANDARD.encode(Sha256::digest(STYLE)),
            version => env!("CARGO_PKG_VERSION"),
            last_line => totals.to_string(),
            time => totals.time(),
            counts => [
                ("passed", totals.passed), ("failed", totals.failed), ("unknown", totals.unknown),
                ("error", totals.error), ("not run", totals.not_run),
            ],
            trials => totals.trials(),
            unknown_goals => totals.unknown_goals,
            rows => &self.rows,
            told => self.open.iter().chain(&self.passed).cloned().collect::<Vec<_>>(),
            untold => self.untold,
            unlisted => self.unlisted,
        };
        Ok(TEMPLATES.get_template("page.html")?.render(page)?)
    }
}
