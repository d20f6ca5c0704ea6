//! What the verbs that read scenarios share: loading, diagnosing, and freezing the world.

use std::path::{Path, PathBuf};

use super::Told;
use super::print::complain;
use crate::scenario::{Contract, Diagnostic, Severity, Suite, load, load_contract};
use crate::world::{Frozen, WorldFault};

/// Loads the suites under `paths` and freezes their worlds. Every fault of every file is said, on standard error.
pub(super) fn open(paths: &[PathBuf]) -> Result<Vec<(Suite, Frozen)>, Told> {
    let suites = load(paths).map_err(|faults| refuse(&faults))?;
    let mut told = Vec::new();
    let mut opened = Vec::new();
    for suite in suites {
        match Frozen::build(&suite.contract) {
            Ok(frozen) => {
                told.extend(suite.warnings.iter().cloned());
                for scenario in &suite.scenarios {
                    told.extend(frozen.check_scenario(scenario).into_iter().map(WorldFault::into));
                }
                opened.push((suite, frozen));
            }
            Err(faults) => told.extend(faults.into_iter().map(WorldFault::into)),
        }
    }
    if told.iter().any(|fault| fault.severity == Severity::Error) {
        return Err(refuse(&told));
    }
    say(&told);
    if opened.iter().all(|(suite, _)| suite.scenarios.is_empty()) {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Told::usage(format!(
            "no scenario under {}; scenarios are the files named *.scenario.yaml",
            paths.join(", ")
        )));
    }
    Ok(opened)
}

/// Loads one contract by itself, and freezes its world.
pub(super) fn contract(path: &Path) -> Result<(Contract, Frozen), Told> {
    let contract = load_contract(path).map_err(|faults| refuse(&faults))?;
    let frozen = Frozen::build(&contract).map_err(|faults| {
        let faults: Vec<Diagnostic> = faults.into_iter().map(WorldFault::into).collect();
        refuse(&faults)
    })?;
    Ok((contract, frozen))
}

fn say(faults: &[Diagnostic]) {
    for fault in faults {
        complain!("{}", fault.render(true));
    }
}

fn refuse(faults: &[Diagnostic]) -> Told {
    say(faults);
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error).count();
    Told::usage(format!("{errors} error{} in the files; nothing was run", if errors == 1 { "" } else { "s" }))
}
