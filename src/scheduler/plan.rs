//! Which trials there are, in which order, with which seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::name::TrialId;
use crate::scenario::Suite;
use crate::trial::Planned;

/// What of the files is to be run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only scenarios whose name holds this.
    pub filter: Option<String>,
    /// Trials of each case, in place of the scenarios' own `repeat.trials`.
    pub trials: Option<u32>,
    /// Mixed into every trial's seed.
    pub seed: u64,
}

/// Every trial of a run. Index into it is a trial's place.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suite each trial belongs to, and the trial.
    pub trials: Vec<(usize, Planned)>,
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
                    let id = TrialId::new(&scenario.name, case, number, false);
                    let seed = seed(&id, selection.seed);
                    let planned = Planned {
                        id,
                        scenario: Arc::clone(scenario),
                        case,
                        number,
                        retry_of: None,
                        seed,
                        bindings: BTreeMap::new(),
                    };
                    trials.push((at, planned));
                }
            }
        }
    }
    Plan { trials }
}

/// Of the trial's name and the run's seed, so that adding a scenario changes no other's seed.
fn seed(id: &TrialId, run: u64) -> u64 {
    let digest = Sha256::new().chain_update(run.to_le_bytes()).chain_update(id.as_str()).finalize();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(head)
}
