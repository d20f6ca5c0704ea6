//! Shards of one run, put together again: the whole plan or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{FolderError, verify_dir};
use super::run_file::{RUN_FILE, RunFile, RunFileError, Share, TrialState, trial_file};

/// Why shards could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder's run file cannot be used.
    #[error(transparent)]
    RunFile(#[from] RunFileError),
    /// A folder could not be looked through.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A run that was no shard.
    #[error("{path}: a whole run, no shard of one; shards are made by `run --shard I/N`")]
    NoShard {
        /// Its folder.
        path: PathBuf,
    },
    /// They are not of one plan.
    #[error(
        "{path}: a shard of another plan than {first}; all shards must be run from the same files, with the same --trials, --filter and --seed"
    )]
    OtherPlan {
        /// Its folder.
        path: PathBuf,
        /// The folder it was compared with.
        first: PathBuf,
    },
    /// A record does not hold.
    #[error("{path}: {id}: {why}; nothing was merged")]
    Broken {
        /// The shard's folder.
        path: PathBuf,
        /// The trial.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two shards have the same trial.
    #[error("{id} stands in {first} and in {second}; nothing was merged")]
    Twice {
        /// The trial.
        id: String,
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// The plan is not whole.
    #[error("{missing} of {all} trials are missing, and nothing was merged: {}{}", ids.join(", "), if *missing > ids.len() { ", …" } else { "" })]
    Missing {
        /// How many.
        missing: usize,
        /// Of how many.
        all: usize,
        /// The first of them.
        ids: Vec<String>,
    },
    /// There is a run already.
    #[error("{path}: a run is kept here already; name another folder with --out")]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be copied.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Missing trials that are named.
const NAMED: usize = 20;

/// Verifies the shards in `folders`, demands every trial of their plan exactly once, copies all records to `out`, and
/// judges the scenarios over all of them. `out` is not touched before all of this holds.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<RunFile, MergeError> {
    if out.join(RUN_FILE).exists() {
        return Err(MergeError::Occupied { path: out.to_owned() });
    }
    let mut shards = Vec::with_capacity(folders.len());
    for folder in folders {
        shards.push(Shard::read(folder)?);
    }
    let Some(first) = shards.first() else {
        return Err(MergeError::Missing { missing: 0, all: 0, ids: Vec::new() });
    };
    let plan = first.share.clone();
    if let Some(other) = shards.iter().find(|other| !other.share.same_plan(&plan)) {
        return Err(MergeError::OtherPlan { path: other.folder.clone(), first: first.folder.clone() });
    }
    let mut merged = RunFile { shard: None, trials: BTreeMap::new(), ..first.run.clone() };
    let (mut from, mut late, mut tokens) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for shard in &shards {
        merged.started_at = earlier(&merged.started_at, &shard.run.started_at);
        merged.ended_at = merged.ended_at.zip(shard.run.ended_at.as_ref()).map(|(a, b)| later(&a, b));
        merged.resumed_at.extend(shard.run.resumed_at.iter().cloned());
        late.extend(shard.run.late_calls.iter().cloned());
        for (token, calls) in &shard.run.unknown_tokens {
            *tokens.entry(token.clone()).or_default() += calls;
        }
        for (id, trial) in &shard.run.trials {
            // Each shard showed the bindings for itself, perhaps by the same scenario.
            let name = match trial.binding_proof {
                true => format!("{id}-{}", shard.share.index),
                false => id.clone(),
            };
            if let Some((other, _)) = from.insert(name.clone(), (&shard.folder, id)) {
                let (first, second) = (other.clone(), shard.folder.clone());
                return Err(MergeError::Twice { id: id.clone(), first, second });
            }
            let trial = super::PlannedTrial { shard: Some(shard.share.index), ..trial.clone() };
            merged.trials.insert(name, trial);
        }
    }
    whole(&plan, &merged)?;
    for (name, (folder, id)) in from {
        if let (Some(from), Some(to)) = (trial_file(id), trial_file(&name)) {
            copy(&folder.join(from), &out.join(to))?;
        }
    }
    merged.late_calls = late;
    merged.unknown_tokens = tokens;
    merged.judge();
    merged.write(out)?;
    Ok(merged)
}

struct Shard {
    folder: PathBuf,
    run: RunFile,
    share: Share,
}

impl Shard {
    fn read(folder: &Path) -> Result<Self, MergeError> {
        let run = RunFile::read(folder)?;
        let share = run.shard.clone().ok_or_else(|| MergeError::NoShard { path: folder.to_owned() })?;
        let broken =
            |id: &str, why: String| MergeError::Broken { path: folder.to_owned(), id: id.to_owned(), why };
        let report = verify_dir(folder, None)?;
        if let Some(file) = report.added.first() {
            return Err(broken(
                &file.display().to_string(),
                "a file that the run file does not know".to_owned(),
            ));
        }
        for (id, standing) in &report.trials {
            match standing {
                sound if sound.is_sound() => {}
                other => return Err(broken(id, other.to_string())),
            }
        }
        Ok(Self { folder: folder.to_owned(), run, share })
    }
}

/// Every trial of the plan was run to its seal, or to an error that left none.
fn whole(plan: &Share, merged: &RunFile) -> Result<(), MergeError> {
    let run: BTreeSet<_> = merged
        .trials
        .iter()
        .filter(|(_, trial)| !matches!(trial.state, TrialState::Planned | TrialState::Running))
        .map(|(id, _)| id.as_str())
        .collect();
    let missing: Vec<_> = plan.plan.iter().filter(|id| !run.contains(id.as_str())).collect();
    match missing.len() {
        0 => Ok(()),
        count => Err(MergeError::Missing {
            missing: count,
            all: plan.plan.len(),
            ids: missing.into_iter().take(NAMED).cloned().collect(),
        }),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), MergeError> {
    let io = |source| MergeError::Io { path: to.to_owned(), source };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    match fs::copy(from, to) {
        // A trial that ended in an error before it had a record has none here either.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(drop).map_err(io),
    }
}

/// Of two decimal numbers without sign or leading zeros.
fn earlier(a: &str, b: &str) -> String {
    if (a.len(), a) <= (b.len(), b) { a.to_owned() } else { b.to_owned() }
}

fn later(a: &str, b: &str) -> String {
    if (a.len(), a) >= (b.len(), b) { a.to_owned() } else { b.to_owned() }
}
