//! What goes over the queue: a trial to be run, and what became of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::name::TrialId;
use crate::record::{PlannedTrial, trial_file};
use crate::scenario::Suite;
use crate::scheduler::plan::Task;
use crate::trial::Planned;

/// A trial that is to be run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The run that asks for it.
    pub run: String,
    /// Digest of the files it is to be run from.
    pub digest: String,
    /// The paths that the run was given: a worker has the same files under them.
    pub paths: Vec<PathBuf>,
    /// The run's `--seed`.
    pub run_seed: u64,
    /// The trial's id.
    pub id: String,
    suite: usize,
    scenario: String,
    case: usize,
    number: u32,
    retry_of: Option<String>,
    binding_proof: bool,
    seed: u64,
    bindings: BTreeMap<String, String>,
    resumption: u32,
    resumes: Option<String>,
}

/// What is the same in all orders of a run.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) run: String,
    pub(super) digest: String,
    pub(super) paths: Vec<PathBuf>,
    pub(super) run_seed: u64,
}

impl Order {
    pub(super) fn new(common: &Common, suite: usize, planned: &Planned) -> Self {
        let Common { run, digest, paths, run_seed } = common.clone();
        Self {
            run,
            digest,
            paths,
            run_seed,
            id: planned.id.to_string(),
            suite,
            scenario: planned.scenario.name.clone(),
            case: planned.case,
            number: planned.number,
            retry_of: planned.retry_of.as_ref().map(TrialId::to_string),
            binding_proof: planned.binding_proof,
            seed: planned.seed,
            bindings: planned.bindings.clone(),
            resumption: planned.resumption,
            resumes: planned.resumes.as_ref().map(TrialId::to_string),
        }
    }

    /// The trial as the suites of a worker have it; none where they do not.
    pub(super) fn task(&self, suites: &[Suite]) -> Option<Task> {
        let suite = suites.get(self.suite)?;
        let scenario = suite.scenarios.iter().find(|scenario| scenario.name == self.scenario)?;
        scenario.cases.get(self.case)?;
        // The id becomes a path.
        trial_file(&self.id)?;
        let planned = Planned {
            id: TrialId::listed(&self.id),
            scenario: Arc::clone(scenario),
            case: self.case,
            number: self.number,
            retry_of: self.retry_of.as_deref().map(TrialId::listed),
            binding_proof: self.binding_proof,
            seed: self.seed,
            bindings: self.bindings.clone(),
            resumption: self.resumption,
            resumes: self.resumes.as_deref().map(TrialId::listed),
        };
        // A retry's first try was told by whoever tried it.
        Some(Task { suite: self.suite, planned, first: None })
    }
}

/// A trial that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The id it was ordered by.
    pub ordered: String,
    /// Each try, in order: its id and how it ended, as the run file has it. The last one counts.
    pub tries: Vec<Try>,
}

/// One try of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Try {
    /// Its id.
    pub id: String,
    /// How it ended.
    pub trial: PlannedTrial,
    /// Why there is no sealed record.
    pub error: Option<(String, String)>,
}
