//! Which trials there are, in which order, with which seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::name::TrialId;
use crate::record::Share;
use crate::scenario::{Scenario, Suite};
use crate::trial::{Finished, Planned};

use super::bindings::{Prospects, Shown};
use super::settled::Settled;
use super::shard::{Shard, split};

/// What of the files is to be run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only scenarios whose name holds this.
    pub filter: Option<String>,
    /// Trials of each case, in place of the scenarios' own `repeat.trials`.
    pub trials: Option<u32>,
    /// Mixed into every trial's seed.
    pub seed: u64,
    /// Only this share of the plan.
    pub shard: Option<Shard>,
    /// How long trials took, in microseconds by id, for even shares.
    pub times: BTreeMap<String, u64>,
    /// Order of the trials; by name where none is given.
    pub shuffle: Option<u64>,
}

/// Every trial of a run. Index into it is a trial's place.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suite each trial belongs to, and the trial.
    pub trials: Vec<(usize, Planned)>,
    /// The share it is of the whole plan, where it is not all of it.
    pub share: Option<Share>,
    /// By suite: whose bindings are to be shown, and which scenarios could.
    pub(super) prospects: Vec<Prospects>,
}

/// What of a plan is still to be done.
#[derive(Debug)]
pub struct Work {
    /// By place in the plan.
    pub tasks: BTreeMap<usize, Task>,
    /// By suite.
    pub(super) prospects: Vec<Prospects>,
    /// By suite: what trials that are over have shown.
    pub(super) shown: Vec<Shown>,
    pub(super) settled: Settled,
}

/// One trial that is to be run.
#[derive(Debug)]
pub struct Task {
    /// Index of its suite.
    pub suite: usize,
    /// The trial.
    pub planned: Planned,
    /// The first try that it retries, where that was over before.
    pub first: Option<Finished>,
}

impl Plan {
    /// All of it, still to be done.
    pub fn work(self) -> Work {
        let settled = Settled::new(self.trials.iter());
        let task = |(suite, planned)| Task { suite, planned, first: None };
        let tasks = self.trials.into_iter().map(task).enumerate().collect();
        let shown = self.prospects.iter().map(|_| Shown::default()).collect();
        Work { tasks, prospects: self.prospects, shown, settled }
    }
}

/// Plans the suites: by scenario name, case and repeat.
pub fn plan(suites: &[Suite], selection: &Selection) -> Plan {
    let mut trials = Vec::new();
    for (at, suite) in suites.iter().enumerate() {
        let wanted = suite.scenarios.iter().filter(|scenario| {
            let filter = selection.filter.as_deref();
            filter.is_none_or(|text| scenario.name.contains(text))
        });
        for scenario in wanted {
            let repeats = selection.trials.unwrap_or(scenario.repeat.trials);
            for case in 0..scenario.cases.len() {
                for number in 1..=repeats {
                    trials.push((at, planned(scenario, case, number, selection)));
                }
            }
        }
    }
    let share = selection.shard.map(|shard| {
        let ids: Vec<&str> = trials.iter().map(|(_, planned)| planned.id.as_str()).collect();
        let own = split(&ids, shard, &selection.times);
        let plan = ids.iter().map(|id| (*id).to_owned()).collect();
        let share = Share { index: shard.index, of: shard.of, digest: digest(suites, selection.seed), plan };
        let mut own = own.into_iter();
        trials.retain(|_| own.next() == Some(true));
        share
    });
    if let Some(order) = selection.shuffle {
        trials.sort_by_cached_key(|(at, planned)| (seed(&planned.id, order), *at));
    }
    let prospects = suites.iter().enumerate().map(|(at, suite)| {
        let mut prospects = Prospects::new(suite, |scenario| planned(scenario, 0, 1, selection));
        let own = trials.iter().enumerate().filter(|(_, (suite, _))| *suite == at);
        prospects.plan(&suite.contract, own.map(|(place, (_, planned))| (place, planned)));
        prospects
    });
    Plan { prospects: prospects.collect(), share, trials }
}

/// Plans nothing but to show every binding there is.
pub fn plan_bindings(suites: &[Suite], selection: &Selection) -> Plan {
    let prospects = suites.iter().map(|suite| {
        let mut prospects = Prospects::new(suite, |scenario| planned(scenario, 0, 1, selection));
        prospects.want_all(&suite.contract);
        prospects
    });
    Plan { prospects: prospects.collect(), share: None, trials: Vec::new() }
}

fn planned(scenario: &Arc<Scenario>, case: usize, number: u32, selection: &Selection) -> Planned {
    let id = TrialId::new(&scenario.name, case, number, false);
    Planned {
        seed: seed(&id, selection.seed),
        id,
        scenario: Arc::clone(scenario),
        case,
        number,
        retry_of: None,
        binding_proof: false,
        bindings: BTreeMap::new(),
        resumption: 0,
        resumes: None,
    }
}

/// Of the trial's name and the run's seed, so that adding a scenario changes no other's seed.
fn seed(id: &TrialId, run: u64) -> u64 {
    hash(id.as_str(), run)
}

pub(super) fn hash(text: &str, seed: u64) -> u64 {
    let digest = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(text).finalize();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(head)
}

/// What two machines must have in common to run shares of one plan.
pub fn digest(suites: &[Suite], seed: u64) -> String {
    let mut all = Sha256::new().chain_update(format!("{} {seed}", env!("CARGO_PKG_VERSION")));
    for suite in suites {
        let contract = &suite.contract;
        let scenarios = suite.scenarios.iter().map(|scenario| &scenario.source);
        for source in std::iter::once(&contract.source).chain(&contract.files).chain(scenarios) {
            all.update(source.text.len().to_le_bytes());
            all.update(source.text.as_bytes());
        }
    }
    all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
