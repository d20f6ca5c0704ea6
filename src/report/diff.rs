//! Two runs side by side: which scenarios came out otherwise, and what the app did more or less of, with the intervals
//! that say whether a change means anything.

mod means;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::grade::{Range, Tally, Whose, difference};
use crate::record::{RunFile, TrialState, trial_file};
use crate::verdict::Outcome;

use super::{Story, StoryError};
use means::Means;

/// What changed from one run to another.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// Every scenario of either run, by name.
    pub scenarios: BTreeMap<String, Change>,
}

/// What became of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// How its verdict moved.
    pub moved: Moved,
    /// Before; none where it is new.
    pub before: Option<Side>,
    /// After; none where it vanished.
    pub after: Option<Side>,
    /// The change of the pass rate, from -1 to 1, with its 95 % interval (Newcombe's, from two of Wilson's).
    pub pass_rate: Option<Shift>,
    /// What changed besides, per trial: `calls refund`, `refused refund`, `hand-offs coordinator to refund`, `tokens`,
    /// `seconds`.
    pub measures: BTreeMap<String, Shift>,
}

/// How a scenario's verdict moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// It passed and no longer does, or what was unknown or broken now fails.
    Regressed,
    /// It passes and did not.
    Fixed,
    /// Otherwise than before, and neither passed.
    Changed,
    /// There was none before.
    New,
    /// There is none any more.
    Vanished,
    /// As before.
    Same,
}

/// One run's view of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Its verdict.
    pub verdict: Outcome,
    /// Its trials.
    pub trials: Tally,
}

/// A mean before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// The 95 % interval of the change; none where one trial a side says nothing about chance.
    pub interval: Option<Range>,
}

impl Shift {
    /// Whether chance alone hardly explains it.
    pub fn is_sure(&self) -> bool {
        self.interval.is_some_and(|range| range.low > 0.0 || range.high < 0.0)
    }
}

impl Diff {
    /// Compares the runs in two folders, from their run files and records.
    pub fn read(before: (&Path, &RunFile), after: (&Path, &RunFile)) -> Result<Self, StoryError> {
        let measured = [measure(before)?, measure(after)?];
        let names: BTreeSet<_> = before.1.scenarios.keys().chain(after.1.scenarios.keys()).collect();
        let side = |run: &RunFile, name: &str| {
            let scenario = run.scenarios.get(name)?;
            Some(Side { verdict: scenario.verdict, trials: scenario.tally })
        };
        let scenarios = names.into_iter().map(|name| {
            let (before, after) = (side(before.1, name), side(after.1, name));
            let measures = match (measured[0].get(name), measured[1].get(name)) {
                (Some(before), Some(after)) => before.shifts(after),
                _ => BTreeMap::new(),
            };
            let pass_rate =
                before.zip(after).and_then(|(before, after)| pass_rate(before.trials, after.trials));
            (name.clone(), Change { moved: moved(before, after), before, after, pass_rate, measures })
        });
        Ok(Self { scenarios: scenarios.collect() })
    }

    /// How many scenarios moved so.
    pub fn count(&self, moved: Moved) -> usize {
        self.scenarios.values().filter(|change| change.moved == moved).count()
    }

    /// How many scenarios stand in both runs.
    pub fn compared(&self) -> usize {
        self.scenarios.len() - self.count(Moved::New) - self.count(Moved::Vanished)
    }
}

fn moved(before: Option<Side>, after: Option<Side>) -> Moved {
    use Outcome::{Failed, Passed};
    match (before.map(|side| side.verdict), after.map(|side| side.verdict)) {
        (None, _) => Moved::New,
        (_, None) => Moved::Vanished,
        (Some(a), Some(b)) if a == b => Moved::Same,
        (Some(_), Some(Passed)) => Moved::Fixed,
        (Some(Passed), Some(_)) | (Some(_), Some(Failed)) => Moved::Regressed,
        (Some(_), Some(_)) => Moved::Changed,
    }
}

fn pass_rate(before: Tally, after: Tally) -> Option<Shift> {
    let (n, m) = (before.trials(), after.trials());
    if n == 0 || m == 0 {
        return None;
    }
    let interval = (n > 1 && m > 1).then(|| difference((before.passed, n), (after.passed, m)));
    Some(Shift { before: before.passed as f64 / n as f64, after: after.passed as f64 / m as f64, interval })
}

/// What each scenario's trials did, one record at a time.
fn measure((folder, run): (&Path, &RunFile)) -> Result<BTreeMap<String, Means>, StoryError> {
    let mut all: BTreeMap<String, Means> = BTreeMap::new();
    let replaced: BTreeSet<_> = run.trials.values().filter_map(|trial| trial.retry_of.as_deref()).collect();
    for (id, trial) in &run.trials {
        let sealed = matches!(trial.state, TrialState::Sealed { .. });
        let Some(file) = trial_file(id).filter(|_| sealed && !trial.binding_proof) else { continue };
        if replaced.contains(id.as_str()) {
            continue;
        }
        let story = Story::read(&folder.join(file))?;
        all.entry(trial.scenario.clone()).or_default().add(&seen(&story));
    }
    Ok(all)
}

fn seen(story: &Story) -> BTreeMap<String, f64> {
    let mut seen = BTreeMap::from([("seconds".to_owned(), story.took().as_secs_f64())]);
    let mut more = |what: String, n: f64| *seen.entry(what).or_default() += n;
    for action in &story.evidence.actions {
        let Whose::Worker(worker) = action.whose() else {
            more("calls of nobody in particular".to_owned(), 1.0);
            continue;
        };
        more(format!("calls {worker}"), 1.0);
        if action.refusal().is_some() {
            more(format!("refused {worker}"), 1.0);
        }
    }
    for event in story.evidence.events.iter().filter(|event| event.kind != "tool_call") {
        let name = |party: &Option<String>| party.clone().unwrap_or_else(|| "?".to_owned());
        more(format!("{} {} to {}", event.kind, name(&event.from), name(&event.to)), 1.0);
    }
    for model in &story.evidence.models {
        let tokens = model.input_tokens.unwrap_or(0) + model.output_tokens.unwrap_or(0);
        more("tokens".to_owned(), tokens as f64);
    }
    seen
}

pub use text::diff as text;
