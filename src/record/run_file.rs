//! `run.json`: what a run set out to do and what came of it, so that a trial that is missing is noticed.
//!
//! It is written whole or not at all: under a hidden name that no reader takes for a record, put on the disk, then
//! renamed. While the run goes on, what becomes of its trials is appended to a log beside it (`run_log`), which reading
//! takes into account and the next write takes in. Of how far a trial got, its own file is the authority.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_log;
use super::seal::Sealed;
use crate::grade::Tally;
use crate::scenario::PassRule;
use crate::verdict::{Exit, Outcome};

/// Format version of the run file.
pub const RUN_FORMAT: u32 = 1;

/// The file's name in the run's folder.
pub const RUN_FILE: &str = "run.json";

/// The largest run file that is read, in bytes.
const SIZE_LIMIT: u64 = 256 << 20;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFile {
    /// Format version.
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// Version of mocktrial.
    pub version: String,
    /// Operating system and processor, and the host's name where it is known.
    pub host: Host,
    /// Unix nanoseconds, decimal.
    pub started_at: String,
    /// Unix nanoseconds, decimal; null while it runs, and for good where it was killed.
    pub ended_at: Option<String>,
    /// When it was taken up again, if it was: Unix nanoseconds, decimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<String>,
    /// Of what share of a plan this is the run; absent where it is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Share>,
    /// Every trial that was planned, by id (`SCENARIO/CASE-NUMBER`, `-retry` where it is one).
    pub trials: BTreeMap<String, PlannedTrial>,
    /// What came of each scenario, by name.
    pub scenarios: BTreeMap<String, ScenarioTally>,
    /// Calls that came after their trial was sealed.
    pub late_calls: Vec<LateCalls>,
    /// Tokens of no channel: keyed digest to how often it came.
    pub unknown_tokens: BTreeMap<String, u64>,
}

/// Where a run took place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// e.g. `linux`.
    pub os: String,
    /// e.g. `x86_64`.
    pub arch: String,
    /// The host's name.
    pub name: Option<String>,
}

impl Host {
    /// This one; its name is the caller's to say.
    pub fn here(name: Option<String>) -> Self {
        Self { os: std::env::consts::OS.to_owned(), arch: std::env::consts::ARCH.to_owned(), name }
    }
}

/// One share of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// From 1.
    pub index: u32,
    /// How many shares there are.
    pub of: u32,
    /// Digest of the files and settings that the plan was made of.
    pub digest: String,
    /// The ids of all trials of the plan.
    pub plan: Vec<String>,
}

impl Share {
    /// Whether both are shares of one plan.
    pub fn same_plan(&self, other: &Self) -> bool {
        (self.of, &self.digest, &self.plan) == (other.of, &other.digest, &other.plan)
    }
}

/// One trial of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// Its scenario.
    pub scenario: String,
    /// Index of its case.
    pub case: usize,
    /// Repeat, from 1.
    pub number: u32,
    /// The id of the trial this one retries.
    pub retry_of: Option<String>,
    /// Whether it is none of the plan, but was run to show which workers' calls come through their channels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binding_proof: bool,
    /// The id of the unsealed trial of an interrupted run that this one stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// In which resumption of the run it runs again, from 1; absent where it does not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumption: u32,
    /// The share it was run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// When it began: Unix nanoseconds, decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// How long it took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// How far it came.
    pub state: TrialState,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// How far a trial came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TrialState {
    /// Not begun, as far as was written down.
    Planned,
    /// Begun; its file may be sealed all the same when the run was killed.
    Running,
    /// Complete.
    Sealed {
        /// What it came to.
        outcome: Outcome,
        /// Rows, the seal included.
        rows: u64,
        /// The head of its chain, hex.
        head: String,
        /// The seal's own digest, hex.
        seal: String,
    },
    /// Ended without a seal.
    Unsealed {
        /// e.g. `interrupted`.
        why: String,
    },
}

impl TrialState {
    /// A sealed trial and what it came to.
    pub fn sealed(sealed: &Sealed, outcome: Outcome) -> Self {
        Self::Sealed { outcome, rows: sealed.rows, head: sealed.head.clone(), seal: sealed.seal.clone() }
    }
}

/// What came of one scenario's trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioTally {
    /// The scenario's own, by its rule for repeats: the worst of its cases'.
    pub verdict: Outcome,
    /// That rule.
    #[serde(default)]
    pub pass: PassRule,
    /// Its trials, all cases together; of a retried trial the second.
    #[serde(flatten)]
    pub tally: Tally,
    /// Whether a case passed once and failed another time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
}

/// Calls that came too late for their record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateCalls {
    /// Id of the trial whose channel they came by.
    pub trial: String,
    /// Whose channel; null on a shared one.
    pub worker: Option<String>,
    /// How many.
    pub calls: u64,
}

/// Why there is no run file to go by.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// It could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process is at work in the run's folder.
    #[error("{path}: a run is going on here")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// It is none.
    #[error("{path} is no run file: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl RunFile {
    /// Reads the run file of a run's folder.
    pub fn read(folder: &Path) -> Result<Self, RunFileError> {
        let path = folder.join(RUN_FILE);
        let io = |source| RunFileError::Io { path: path.clone(), source };
        let malformed = |why: String| RunFileError::Malformed { path: path.clone(), why };
        let mut text = Vec::new();
        let file = File::open(&path).map_err(io)?;
        file.take(SIZE_LIMIT + 1).read_to_end(&mut text).map_err(io)?;
        if text.len() as u64 > SIZE_LIMIT {
            return Err(malformed(format!("longer than {SIZE_LIMIT} bytes")));
        }
        let mut run: Self = serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        if run.format != RUN_FORMAT {
            return Err(malformed(format!("format {} is not known here", run.format)));
        }
        run.trials.extend(run_log::read(folder)?);
        if let Some(id) = run.trials.keys().find(|id| trial_file(id).is_none()) {
            return Err(malformed(format!("`{id}` is no trial's id")));
        }
        Ok(run)
    }

    /// Writes it into a run's folder, in place of the one before and of its log, and puts it on the disk.
    pub fn write(&self, folder: &Path) -> Result<(), RunFileError> {
        let path = folder.join(RUN_FILE);
        let write = || -> io::Result<()> {
            let draft = folder.join(".run.json.tmp");
            let mut file = io::BufWriter::new(File::create(&draft)?);
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&draft, &path)?;
            // The rename is on the disk when its folder is.
            File::open(folder)?.sync_all()?;
            run_log::remove(folder)
        };
        write().map_err(|source| RunFileError::Io { path: path.clone(), source })
    }
}

impl RunFile {
    /// The trials that count, by scenario and case: what each case came to so far. Of a trial that was
    /// retried or run again the last counts, and nothing that was run beside the plan.
    pub fn cases(&self) -> BTreeMap<(&str, usize), Tally> {
        let trials = self.trials.values();
        let replaced = trials.flat_map(|trial| [trial.retry_of.as_deref(), trial.resumes.as_deref()]);
        let replaced: BTreeSet<_> = replaced.flatten().collect();
        let mut cases: BTreeMap<(&str, usize), Tally> = BTreeMap::new();
        for (id, trial) in &self.trials {
            if trial.binding_proof || replaced.contains(id.as_str()) {
                continue;
            }
            cases.entry((trial.scenario.as_str(), trial.case)).or_default().count(trial.outcome());
        }
        cases
    }

    /// How long each trial took, in microseconds by id.
    pub fn times(&self) -> BTreeMap<String, u64> {
        let known = self.trials.iter().filter_map(|(id, trial)| Some((id.clone(), trial.micros?)));
        known.collect()
    }

    /// Judges every scenario by its rule, each case for itself.
    pub fn judge(&mut self) {
        let mut scenarios: BTreeMap<String, ScenarioTally> = BTreeMap::new();
        for ((name, _), tally) in self.cases() {
            let pass = self.scenarios.get(name).map(|scenario| scenario.pass).unwrap_or_default();
            let all = scenarios.entry(name.to_owned()).or_insert(ScenarioTally {
                verdict: Outcome::Passed,
                pass,
                tally: Tally::default(),
                flaky: false,
            });
            let verdict = tally.judge(pass);
            if Exit::from(all.verdict).worse(verdict.into()) != Exit::from(all.verdict) {
                all.verdict = verdict;
            }
            all.tally = all.tally.and(tally);
            all.flaky |= tally.is_flaky();
        }
        self.scenarios = scenarios;
    }

    /// The exit code of a run like this. A trial that is an error is one however the rest came out.
    pub fn exit(&self) -> Exit {
        let scenarios = self.scenarios.values().map(|scenario| Exit::from(scenario.verdict));
        let broken = self.scenarios.values().any(|scenario| scenario.tally.error > 0).then_some(Exit::Error);
        scenarios.chain(broken).fold(Exit::Passed, Exit::worse)
    }
}

impl PlannedTrial {
    /// What it came to; none where it was not run. One that left no seal came to nothing that could count.
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            TrialState::Planned => None,
            TrialState::Sealed { outcome, .. } => Some(*outcome),
            TrialState::Running | TrialState::Unsealed { .. } => Some(Outcome::Error),
        }
    }
}

/// The place of a trial's record in its run's folder; none where the id would lead elsewhere.
pub fn trial_file(id: &str) -> Option<PathBuf> {
    let file = Path::new("trials").join(format!("{id}.jsonl"));
    let inside = file.components().all(|part| matches!(part, Component::Normal(_)));
    (inside && !id.starts_with('/')).then_some(file)
}
