//! JUnit XML: a suite per scenario, a case per trial. A trial that failed is a failure and one that could not be held
//! is an error; one that is unknown is `skipped` with its reasons, or a failure where that is asked for, and never
//! a case that passed.

use std::collections::BTreeMap;
use std::path::Path;

use quick_junit::{
    NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

use super::pieces::verdict;
use super::{Story, term};
use crate::verdict::Outcome;

/// What an unknown trial is to JUnit, which has no word for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// `skipped`, with a message.
    #[default]
    Skipped,
    /// A failure.
    Failure,
}

/// Collects trials in any order.
#[derive(Debug, Default)]
pub struct JUnit {
    unknown: Unknown,
    suites: BTreeMap<String, BTreeMap<(usize, u32), Tries>>,
}

/// A trial and, where there was one, its retry.
#[derive(Debug, Default)]
struct Tries {
    first: Option<TestCase>,
    second: Option<TestCase>,
}

impl JUnit {
    /// Nothing yet.
    pub fn new(unknown: Unknown) -> Self {
        Self { unknown, suites: BTreeMap::new() }
    }

    /// Adds a trial. `base` is the contract's folder as the reader would write it.
    pub fn add(&mut self, story: &Story, base: &Path) {
        let trial = &story.trial;
        let suite = self.suites.entry(trial.scenario.clone()).or_default();
        let tries = suite.entry((trial.case, trial.number)).or_default();
        let case = case(story, base, self.unknown);
        match trial.retry_of {
            None => tries.first = Some(case),
            Some(_) => tries.second = Some(case),
        }
    }

    /// The XML, as UTF-8 text.
    pub fn to_xml(&self) -> Result<String, SerializeError> {
        let mut report = Report::new("mocktrial");
        for (scenario, cases) in &self.suites {
            let mut suite = TestSuite::new(scenario.as_str());
            suite.add_test_cases(cases.values().flat_map(Tries::cases));
            suite.set_time(suite.test_cases.iter().filter_map(|case| case.time).sum());
            report.add_test_suite(suite);
        }
        report.set_time(report.test_suites.iter().filter_map(|suite| suite.time).sum());
        report.to_string()
    }
}

impl Tries {
    /// The second try counts, and the first stands inside it as JUnit's rerun. A case that is skipped cannot hold
    /// one: then both stand side by side.
    fn cases(&self) -> Vec<TestCase> {
        let (Some(first), Some(second)) = (&self.first, &self.second) else {
            return self.first.iter().chain(&self.second).cloned().collect();
        };
        if matches!(second.status, TestCaseStatus::Skipped { .. }) {
            return vec![first.clone(), second.clone()];
        }
        let mut second = second.clone();
        let mut rerun = TestRerun::new(NonSuccessKind::Error);
        if let TestCaseStatus::NonSuccess { message, ty, description, .. } = &first.status {
            rerun.message = message.clone();
            rerun.ty = ty.clone();
            rerun.description = description.clone();
        }
        second.status.add_rerun(rerun);
        vec![second]
    }
}

fn case(story: &Story, base: &Path, unknown: Unknown) -> TestCase {
    let mut status = match (story.outcome(), unknown) {
        (Outcome::Passed, _) => TestCaseStatus::success(),
        (Outcome::Unknown, Unknown::Skipped) => TestCaseStatus::skipped(),
        (Outcome::Failed, _) | (Outcome::Unknown, Unknown::Failure) => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        (Outcome::Error, _) => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    let told = told(story, base);
    let described = matches!(status, TestCaseStatus::NonSuccess { .. });
    if story.outcome() != Outcome::Passed {
        let error = story.error();
        status.set_message(message(story));
        status.set_type(error.map_or(story.outcome().word().to_owned(), |error| error.code));
        if described {
            status.set_description(told.as_str());
        }
    }
    let mut case = TestCase::new(story.id().as_str(), status);
    case.set_classname(story.trial.scenario.as_str());
    case.set_time(story.took());
    if let Some(end) = &story.end {
        let task = std::iter::once(("task".to_owned(), &end.task));
        let workers = end.workers.iter();
        for (who, judged) in task.chain(workers.map(|(id, judged)| (format!("worker:{id}"), judged))) {
            let value = match &judged.reason {
                Some(reason) => format!("{}: {reason}", judged.verdict),
                None => judged.verdict.clone(),
            };
            case.add_property(Property::new(who, value));
        }
    }
    case.add_property(Property::new("goals:unknown", story.unknown_goals().to_string()));
    if !described {
        case.set_system_out(told);
    }
    case
}

/// Why it is no pass, on one line.
fn message(story: &Story) -> String {
    if let Some(error) = story.error() {
        return format!("{}: {}", error.code, error.message);
    }
    let open = story.open_goals().map(|row| format!("{} {}", row.sub_goal, verdict(row)));
    open.collect::<Vec<_>>().join(", ")
}

fn told(story: &Story, base: &Path) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = term::trial(&mut text, story, base);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&text)).to_string()
}
