//! Taking up a run that was cut off: what is sealed is kept, the rest runs.
//!
//! The trials' own files are the authority. A sealed one is verified, must begin as the same trial would begin now, and
//! then counts as if it had just run. One without a seal stays as evidence of how far it got, and runs again under a
//! new id; one that was never begun runs under its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::journal::TrialRow;
use crate::name::TrialId;
use crate::record::{
    FolderError, PlannedTrial, ReadError, RunFile, Standing, TrialState, VerifyingKey, Vouched, verify_dir,
};
use crate::trial::{Finished, Planned, Stage, first_row};

use super::ledger::listed;
use super::over::over;
use super::plan::{Plan, Task, Work};
use super::pool::Done;
use super::tries::retry;

/// What is left of a run.
#[derive(Debug)]
pub struct Resumed {
    /// Trials that are over, sealed, and kept.
    pub kept: Vec<Done>,
    /// What is still to be done.
    pub work: Work,
}

/// Why a run is not taken up.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// Other trials are asked for than the run planned.
    #[error("{id} is {why}: a run is resumed with the paths and options that it was begun with")]
    OtherPlan {
        /// The trial.
        id: String,
        /// In which of the two it is missing.
        why: &'static str,
    },
    /// What is to be run is not what was run.
    #[error("{what} is not what {id} was run with; what is sealed was of another kind, so begin a new run")]
    Changed {
        /// The sealed trial.
        id: String,
        /// What differs, as the record's first row calls it.
        what: String,
    },
    /// A record of the run does not hold.
    #[error("{id}: {standing}; nothing is added to a run that does not hold (see `mocktrial verify`)")]
    Unsound {
        /// The trial, or the file.
        id: String,
        /// How it stands.
        standing: String,
    },
    /// The run's folder could not be looked through.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A record could not be read.
    #[error("{path}: {error}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
}

/// Takes up the run in `folder`: sorts the plan's trials into those that are over and those still to be done, and
/// brings `run` up to date with the trials' files. `key`, where given, must have signed what is sealed.
pub fn resume(
    stages: &[Arc<Stage>],
    plan: Plan,
    run: &mut RunFile,
    folder: &Path,
    key: Option<&VerifyingKey>,
) -> Result<Resumed, ResumeError> {
    same_trials(&plan, run)?;
    let resumption = u32::try_from(run.resumed_at.len()).unwrap_or(u32::MAX);
    let standings = standings(folder, key)?;
    let mut after = BTreeMap::new();
    for (id, trial) in &run.trials {
        if let Some(before) = trial.resumes.as_ref().or(trial.retry_of.as_ref()) {
            after.insert(before.clone(), (id.clone(), trial.clone()));
        }
    }
    let mut left = Left { stages, folder, resumption, standings, after, run };
    let mut work = plan.work();
    let (tasks, mut kept) = (std::mem::take(&mut work.tasks), Vec::new());
    for (place, task) in tasks {
        match left.sort(place, task)? {
            Sorted::Over(done) => {
                let shown = done.finished.iter().flat_map(|finished| &finished.shown);
                work.shown[done.suite].add(shown, &done.planned.id);
                if let Some(outcome) = done.outcome() {
                    work.settled.ended(done.suite, &done.planned, outcome);
                }
                kept.push(*done);
            }
            Sorted::Open(task) => {
                work.tasks.insert(place, *task);
            }
        }
    }
    left.proofs(&mut work)?;
    Ok(Resumed { kept, work })
}

/// A planned trial: over, or still to be done.
enum Sorted {
    Over(Box<Done>),
    Open(Box<Task>),
}

/// The run as it was left.
struct Left<'a> {
    stages: &'a [Arc<Stage>],
    folder: &'a Path,
    resumption: u32,
    standings: BTreeMap<String, Standing>,
    /// By id, the trial that retries or resumes it.
    after: BTreeMap<String, (String, PlannedTrial)>,
    run: &'a mut RunFile,
}

impl Left<'_> {
    /// Follows a planned trial to the last try that was made of it.
    fn sort(&mut self, place: usize, mut task: Task) -> Result<Sorted, ResumeError> {
        loop {
            let id = task.planned.id.to_string();
            match self.standings.get(&id) {
                Some(Standing::Holds(vouched)) => {
                    let finished = self.over(task.suite, &task.planned, vouched)?;
                    self.sealed(&id, &finished);
                    if task.first.is_some() || !finished.may_retry() {
                        let Task { suite, planned, first } = task;
                        let done = Done { place, suite, planned, finished: Some(finished), first };
                        return Ok(Sorted::Over(Box::new(done)));
                    }
                    task.planned = match self.after.remove(&id) {
                        Some(next) => named(next, task.planned),
                        None => retry(task.planned),
                    };
                    task.first = Some(finished);
                }
                Some(Standing::RunAgain { .. }) => match self.after.remove(&id) {
                    Some(next) => task.planned = named(next, task.planned),
                    None => break,
                },
                Some(Standing::Unsealed { .. }) => {
                    self.cut_off(&id);
                    task.planned = self.again(task.planned);
                    break;
                }
                _ => break,
            }
        }
        let id = task.planned.id.to_string();
        self.run.trials.insert(id, listed(&task.planned));
        Ok(Sorted::Open(Box::new(task)))
    }

    /// Goes through the proofs that were run beside the plan: what a sealed one shows is shown, one without a seal may
    /// run again.
    fn proofs(&mut self, work: &mut Work) -> Result<(), ResumeError> {
        let proofs = self.run.trials.iter().filter(|(_, trial)| trial.binding_proof);
        let proofs: Vec<_> = proofs.map(|(id, trial)| (id.clone(), trial.clone())).collect();
        for (id, trial) in proofs {
            let scenario = trial.scenario.as_str();
            match self.standings.get(&id) {
                Some(Standing::Holds(vouched)) => {
                    let mut found = work.prospects.iter_mut().enumerate();
                    let found = found.find_map(|(suite, own)| Some((suite, own.take(scenario)?)));
                    let Some((suite, planned)) = found else { continue };
                    let resumes = trial.resumes.as_deref().map(TrialId::listed);
                    let (id, resumption) = (TrialId::listed(&id), trial.resumption);
                    let planned = Planned { id, resumption, resumes, ..planned };
                    let finished = self.over(suite, &planned, vouched)?;
                    work.shown[suite].add(&finished.shown, &planned.id);
                    self.sealed(planned.id.as_str(), &finished);
                }
                Some(Standing::Unsealed { .. }) => {
                    self.cut_off(&id);
                    for own in &mut work.prospects {
                        own.run_again(scenario, self.resumption, TrialId::listed(&id));
                    }
                }
                Some(Standing::NotRun) => {
                    self.run.trials.remove(&id);
                    if let Some(resumes) = &trial.resumes {
                        for own in &mut work.prospects {
                            own.run_again(scenario, self.resumption, TrialId::listed(resumes));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The sealed trial as it ended, where it began as it would begin now.
    fn over(&self, suite: usize, planned: &Planned, vouched: &Vouched) -> Result<Finished, ResumeError> {
        let path = planned.path(self.folder);
        let (was, finished) =
            over(&path, vouched).map_err(|error| ResumeError::Read { path: path.clone(), error })?;
        match difference(&was, &first_row(&self.stages[suite], planned)) {
            Some(what) => Err(ResumeError::Changed { id: planned.id.to_string(), what }),
            None => Ok(finished),
        }
    }

    fn sealed(&mut self, id: &str, finished: &Finished) {
        if let (Some(trial), Some(sealed)) = (self.run.trials.get_mut(id), &finished.sealed) {
            trial.state = TrialState::sealed(sealed, finished.end.outcome);
        }
    }

    fn cut_off(&mut self, id: &str) {
        if let Some(trial) = self.run.trials.get_mut(id)
            && !matches!(trial.state, TrialState::Unsealed { .. })
        {
            trial.state = TrialState::Unsealed { why: "killed".to_owned() };
        }
    }

    fn again(&self, planned: Planned) -> Planned {
        let (name, retry) = (&planned.scenario.name, planned.retry_of.is_some());
        Planned {
            id: TrialId::new(name, planned.case, planned.number, retry).resumed(self.resumption),
            resumption: self.resumption,
            resumes: Some(planned.id.clone()),
            ..planned
        }
    }
}

/// The try that the run file lists, of the trial that `planned` is another try of.
fn named((id, trial): (String, PlannedTrial), planned: Planned) -> Planned {
    let earlier = planned.id.clone();
    let resumes = trial.resumes.is_some().then(|| earlier.clone());
    let retry_of = match (&resumes, trial.retry_of) {
        (None, Some(_)) => Some(earlier),
        _ => planned.retry_of.clone(),
    };
    Planned { id: TrialId::listed(&id), resumption: trial.resumption, resumes, retry_of, ..planned }
}

/// The trials of the run are those of the plan.
fn same_trials(plan: &Plan, run: &RunFile) -> Result<(), ResumeError> {
    let asked: BTreeSet<&str> = plan.trials.iter().map(|(_, planned)| planned.id.as_str()).collect();
    let first =
        |trial: &PlannedTrial| trial.retry_of.is_none() && trial.resumes.is_none() && !trial.binding_proof;
    let begun = run.trials.iter().filter(|(_, trial)| first(trial));
    let begun: BTreeSet<&str> = begun.map(|(id, _)| id.as_str()).collect();
    let other = |id: &&str, why| Err(ResumeError::OtherPlan { id: (*id).to_owned(), why });
    match (begun.difference(&asked).next(), asked.difference(&begun).next()) {
        (Some(id), _) => other(id, "in the run and not among the trials asked for"),
        (None, Some(id)) => other(id, "asked for and not in the run"),
        (None, None) => Ok(()),
    }
}

/// How the run's trials stand; an error where anything was changed.
fn standings(folder: &Path, key: Option<&VerifyingKey>) -> Result<BTreeMap<String, Standing>, ResumeError> {
    let report = verify_dir(folder, key)?;
    if let Some(added) = report.added.first() {
        let (id, standing) = (added.display().to_string(), "nobody planned this trial".to_owned());
        return Err(ResumeError::Unsound { id, standing });
    }
    match report.trials.iter().find(|(_, standing)| !standing.is_sound()) {
        Some((id, standing)) => Err(ResumeError::Unsound { id: id.clone(), standing: standing.to_string() }),
        None => Ok(report.trials),
    }
}

/// What differs between the first row of a record and the one that the same trial would begin with now.
fn difference(was: &TrialRow, now: &TrialRow) -> Option<String> {
    let roles = was.digests.keys().chain(now.digests.keys());
    let other = roles.into_iter().find(|role| was.digests.get(*role) != now.digests.get(*role));
    if let Some(role) = other {
        return Some(role.replacen(':', " ", 1));
    }
    [
        (was.seed != now.seed, "--seed"),
        (was.values != now.values, "the case"),
        (was.version != now.version, "this version of mocktrial"),
    ]
    .into_iter()
    .find_map(|(differs, what)| differs.then(|| what.to_owned()))
}
