//! Whether a whole run still holds: each trial's file against the run file, and nothing beside.
//!
//! Named are a missing, an added, a swapped and a repeated trial file, a broken one, and those that are not sealed.
//! The run file itself is not sealed: who writes it and every record anew is noticed only by a key, or by a copy kept
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::keys::VerifyingKey;
use super::read::read;
use super::run_file::{PlannedTrial, RunFile, RunFileError, TrialState, trial_file};
use super::verify::verify;
use super::vouch::{Anchor, Broken, Flaw, Options, VerifyError, Vouched};
use crate::journal::TrialRow;

/// What was found in a run's folder.
#[derive(Debug)]
pub struct FolderReport {
    /// Every planned trial, by id.
    pub trials: BTreeMap<String, Standing>,
    /// Files among the trials that nobody planned, relative to the folder.
    pub added: Vec<PathBuf>,
}

/// How one planned trial stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its record holds.
    Holds(Box<Vouched>),
    /// Its record is broken.
    Broken(Broken),
    /// It was sealed, and its file is gone.
    Missing,
    /// The record of another trial stands in its place.
    OtherTrial {
        /// Of which, `SCENARIO/CASE-NUMBER`.
        is: String,
    },
    /// The run file has the same record for an earlier trial.
    Repeats {
        /// Its id.
        of: String,
    },
    /// Its record ends without a seal: the trial was interrupted.
    Unsealed {
        /// Whole rows it has.
        rows: u64,
    },
    /// As unsealed, and another trial was run in its place.
    RunAgain {
        /// Whole rows it has.
        rows: u64,
        /// The id of that trial.
        by: String,
    },
    /// It was never begun.
    NotRun,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds(vouched) => vouched.fmt(f),
            Self::Broken(broken) => broken.fmt(f),
            Self::Missing => f.write_str("its record is missing"),
            Self::OtherTrial { is } => write!(f, "the record of {is} stands in its place"),
            Self::Repeats { of } => write!(f, "the record of {of} again"),
            Self::Unsealed { rows } => write!(f, "not sealed: it ends after {rows} rows"),
            Self::RunAgain { rows, by } => {
                write!(f, "not sealed: it ends after {rows} rows; run again as {by}")
            }
            Self::NotRun => f.write_str("not run"),
        }
    }
}

impl Standing {
    /// Nothing was changed, removed or put in its place.
    pub fn is_sound(&self) -> bool {
        matches!(self, Self::Holds(_) | Self::Unsealed { .. } | Self::RunAgain { .. } | Self::NotRun)
    }
}

impl FolderReport {
    /// Nothing was changed, removed or added. Trials that were interrupted or not run do not count against it.
    pub fn is_sound(&self) -> bool {
        self.added.is_empty() && self.trials.values().all(Standing::is_sound)
    }

    /// Every planned trial has a record that holds, its own or that of the trial run in its place.
    pub fn is_complete(&self) -> bool {
        let holds = |standing: &Standing| matches!(standing, Standing::Holds(_) | Standing::RunAgain { .. });
        self.trials.values().all(holds)
    }
}

/// Why a folder could not be looked through.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no run file to go by.
    #[error(transparent)]
    RunFile(#[from] RunFileError),
    /// A file or folder could not be read.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Looks through a run's folder. `key`, where given, must have signed every record.
pub fn verify_dir(folder: &Path, key: Option<&VerifyingKey>) -> Result<FolderReport, FolderError> {
    let run = RunFile::read(folder)?;
    let mut seals: BTreeMap<&str, &str> = BTreeMap::new();
    let mut planned = BTreeSet::new();
    let mut trials = BTreeMap::new();
    for (id, trial) in &run.trials {
        let Some(file) = trial_file(id) else { continue };
        let path = folder.join(&file);
        let io = |source| FolderError::Io { path: path.clone(), source };
        let repeated = match &trial.state {
            TrialState::Sealed { seal, .. } => seals.insert(seal, id).filter(|of| of != id),
            _ => None,
        };
        let standing = match repeated {
            Some(of) => Standing::Repeats { of: of.to_owned() },
            None => standing(&path, id, trial, key).map_err(io)?,
        };
        planned.insert(file);
        trials.insert(id.clone(), standing);
    }
    for (id, trial) in &run.trials {
        let standing = trial.resumes.as_ref().and_then(|before| trials.get_mut(before));
        if let Some(standing) = standing
            && let Standing::Unsealed { rows } = *standing
        {
            *standing = Standing::RunAgain { rows, by: id.clone() };
        }
    }
    let mut added = Vec::new();
    strangers(folder, Path::new("trials"), &planned, &mut added)?;
    added.sort();
    Ok(FolderReport { trials, added })
}

fn standing(path: &Path, id: &str, trial: &PlannedTrial, key: Option<&VerifyingKey>) -> io::Result<Standing> {
    // A link would let a record live where others change it, so only a file of its own counts.
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(match &trial.state {
            TrialState::Sealed { .. } => Standing::Missing,
            _ => Standing::NotRun,
        });
    }
    if let Some(is) = other_trial(path, id, trial) {
        return Ok(Standing::OtherTrial { is });
    }
    let anchor = match &trial.state {
        TrialState::Sealed { seal, .. } => Some(Anchor { seal: seal.clone() }),
        _ => None,
    };
    let options = Options { key, anchor: anchor.as_ref() };
    match verify(BufReader::with_capacity(1 << 18, File::open(path)?), options) {
        Ok(vouched) => Ok(match &trial.state {
            TrialState::Sealed { outcome, .. } if *outcome != vouched.outcome => {
                broken(vouched.rows, Flaw::End("the run file has another outcome"))
            }
            // The run went on after this trial had no seal, and gave it none.
            TrialState::Unsealed { .. } => broken(vouched.rows, Flaw::OtherRecord),
            _ => Standing::Holds(Box::new(vouched)),
        }),
        Err(VerifyError::Io(error)) => Err(error),
        Err(VerifyError::Broken(found)) => Ok(match (&found.why, &anchor) {
            (Flaw::NotSealed | Flaw::Cut, None) => Standing::Unsealed { rows: found.row - 1 },
            _ => Standing::Broken(found),
        }),
    }
}

fn broken(row: u64, why: Flaw) -> Standing {
    Standing::Broken(Broken { row, why })
}

/// Which other trial's record this is, if the first row can be read and says so.
fn other_trial(path: &Path, id: &str, planned: &PlannedTrial) -> Option<String> {
    let row = read(path).ok()?.next()?.ok()?.parse::<TrialRow>().ok()?;
    let is = row.id();
    (is.as_str() != id || row.retry_of != planned.retry_of || row.binding_proof != planned.binding_proof)
        .then(|| is.to_string())
}

/// Every file below `at` that is not among `planned`.
fn strangers(
    folder: &Path,
    at: &Path,
    planned: &BTreeSet<PathBuf>,
    added: &mut Vec<PathBuf>,
) -> Result<(), FolderError> {
    let path = folder.join(at);
    let io = |source| FolderError::Io { path: path.clone(), source };
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    for entry in entries {
        let entry = entry.map_err(io)?;
        let file = at.join(entry.file_name());
        // A link counts as a file, so this never leaves the folder.
        if entry.file_type().map_err(io)?.is_dir() {
            strangers(folder, &file, planned, added)?;
        } else if !planned.contains(&file) {
            added.push(file);
        }
    }
    Ok(())
}
