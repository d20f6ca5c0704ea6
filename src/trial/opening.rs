//! Before anything happens: tokens, redactor, record, and its first row, which pins down what is tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::journal::{
    FORMAT, Journal, JournalError, Redactor, RedactorError, StreamRedactor, TrialError, TrialRow,
};
use crate::model::{ModelTokens, Session, SessionSpec};
use crate::name::{Token, TrialId};
use crate::proxy::{Channels, ChannelsSpec, Started, Tokens};
use crate::scenario::{Case, Contract, Scenario, Source, fill};
use crate::spans::{Intake, SpanLimits};
use crate::target::Filters;
use crate::world::{World, WorldError};

use super::services::{Lease, Services};
use super::stage::{Stage, digest};

/// One trial that is to be run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its id.
    pub id: TrialId,
    /// Which scenario.
    pub scenario: Arc<Scenario>,
    /// Index into the scenario's cases.
    pub case: usize,
    /// Repeat, from 1.
    pub number: u32,
    /// The trial this one retries.
    pub retry_of: Option<TrialId>,
    /// Run beside the plan, only to show which workers' calls come through their channels.
    pub binding_proof: bool,
    /// Of everything random in it.
    pub seed: u64,
    /// Workers whose binding another trial of the same app has proven: worker to that trial's id.
    pub bindings: BTreeMap<String, String>,
    /// In which resumption of the run it runs again, from 1; 0 where it does not.
    pub resumption: u32,
    /// The trial without a seal that it stands for.
    pub resumes: Option<TrialId>,
}

impl Planned {
    /// The values of its case.
    pub fn values(&self) -> &Case {
        &self.scenario.cases[self.case]
    }

    /// The scenario's environment, filled in.
    pub(super) fn env(&self) -> BTreeMap<String, String> {
        let filled = |(name, text): (&String, &String)| (name.clone(), fill(text, self.values()));
        self.scenario.env.iter().map(filled).collect()
    }

    /// Where its record goes, below `out`.
    pub fn path(&self, out: &Path) -> PathBuf {
        out.join("trials").join(format!("{}.jsonl", self.id))
    }
}

/// Why there is no record of a trial.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder could not be made.
    #[error("cannot make the folder {}: {error}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The record could not be begun.
    #[error("{}: {error}", path.display())]
    Record {
        /// Which.
        path: PathBuf,
        /// Why.
        error: JournalError,
    },
    /// The system has no randomness to give.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// The secrets cannot be searched for.
    #[error(transparent)]
    Redactor(#[from] RedactorError),
}

/// An open record and the trial's tokens.
pub(super) struct Opening {
    pub(super) journal: Journal,
    pub(super) path: PathBuf,
    secrets: Secrets,
}

/// What the addresses in an app's environment hold: of one trial, or of all trials of an app that is kept.
#[derive(Clone)]
pub(super) struct Secrets {
    channels: Tokens,
    models: ModelTokens,
    spans: Token,
}

impl Secrets {
    pub(super) fn new(stage: &Stage) -> Result<Self, OpenError> {
        Ok(Self {
            channels: Tokens::new(&stage.contract)?,
            models: ModelTokens::new(&stage.contract)?,
            spans: Token::random()?,
        })
    }
}

impl Opening {
    pub(super) fn new(stage: &Stage, planned: &Planned, secrets: Secrets) -> Result<Self, OpenError> {
        let path = planned.path(&stage.out);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| OpenError::Folder { path: folder.to_owned(), error })?;
        }
        let tokens = secrets.channels.all().chain(secrets.models.all());
        let secret = tokens.chain([&secrets.spans]).map(Token::expose);
        let hidden = secret.chain(stage.secrets.iter().map(String::as_str));
        let redactor = Arc::new(Redactor::new(stage.redaction.clone(), hidden)?);
        let limit = stage.contract.limits.record;
        let begun = Journal::create(&path, stage.clock, limit, redactor)
            .and_then(|journal| journal.append(&first_row(stage, planned)).map(|_| journal));
        Ok(Self {
            journal: begun.map_err(|error| OpenError::Record { path: path.clone(), error })?,
            path,
            secrets,
        })
    }

    /// The world of this trial, seeded.
    pub(super) fn world(&self, stage: &Stage, planned: &Planned) -> Result<Arc<World>, TrialError> {
        let world = stage.frozen.open(&planned.scenario.seed, planned.values(), planned.seed);
        world.map(Arc::new).map_err(|error| {
            let (code, line) = match &error {
                WorldError::Seed { pos, .. } => ("seed_failed", Some(pos.line)),
                WorldError::Failed(_) => ("world_failed", None),
            };
            TrialError { code: code.to_owned(), message: error.to_string(), line }
        })
    }

    /// The services of this trial, ready.
    pub(super) async fn services(
        &self,
        stage: &Stage,
        planned: &Planned,
    ) -> Result<(Services, BTreeMap<String, Started>), TrialError> {
        let filter = &self.filters();
        let (contract, clock) = (&stage.contract, stage.clock);
        Lease { contract, trial: &planned.id, clock, filter }.take(&stage.pool).await
    }

    pub(super) fn channels(
        &self,
        stage: &Stage,
        planned: &Planned,
        world: Arc<World>,
        started: BTreeMap<String, Started>,
    ) -> Result<Channels, TrialError> {
        let spec = ChannelsSpec {
            trial: planned.id.clone(),
            contract: &stage.contract,
            scenario: Some(&planned.scenario),
            tokens: self.secrets.channels.clone(),
            world: Some(world),
            upstreams: started,
            journal: self.journal.clone(),
            clock: stage.clock,
            seed: planned.seed,
        };
        Channels::open(&stage.door, spec).map_err(|error| TrialError {
            code: "channels_failed".to_owned(),
            message: error.to_string(),
            line: None,
        })
    }

    /// The addresses of the model endpoint; none where the contract has none.
    pub(super) fn models(&self, stage: &Stage, planned: &Planned) -> Option<Session> {
        stage.models.open(SessionSpec {
            contract: &stage.contract,
            tokens: &self.secrets.models,
            case: planned.values(),
            journal: self.journal.clone(),
        })
    }

    pub(super) fn intake(&self, stage: &Stage) -> Intake {
        let limits = &stage.contract.limits;
        let limits = SpanLimits {
            spans: limits.spans,
            span_bytes: limits.span_bytes,
            attribute: limits.attribute,
            body: limits.body,
        };
        stage.receiver.open(self.secrets.spans.clone(), limits)
    }

    /// One filter per output stream, so that a secret split over two writes is still found.
    pub(super) fn filters(&self) -> Filters {
        filters(Arc::clone(self.journal.redactor()))
    }
}

/// Filters that redact by `redactor`.
pub(super) fn filters(redactor: Arc<Redactor>) -> Filters {
    Arc::new(move || {
        let mut stream = Some(StreamRedactor::new(Arc::clone(&redactor)));
        Box::new(move |piece: &[u8]| match (piece.is_empty(), &mut stream) {
            (true, stream) => stream.take().map_or(Vec::new(), |s| s.finish().into_bytes()),
            (false, Some(stream)) => stream.push(piece).into_bytes(),
            (false, None) => Vec::new(),
        })
    })
}

/// What is pinned down of a trial before anything happens: the first row of its record.
pub fn first_row(stage: &Stage, planned: &Planned) -> TrialRow {
    let mut kept = KeptFiles::of(&stage.contract);
    let scenario_file = kept.keep("scenario", &planned.scenario.source);
    kept.digests.insert("app".to_owned(), stage.app_digest.clone());
    TrialRow {
        format: FORMAT,
        scenario: planned.scenario.name.clone(),
        case: planned.case,
        values: planned.values().clone(),
        number: planned.number,
        retry_of: planned.retry_of.as_ref().map(TrialId::to_string),
        binding_proof: planned.binding_proof,
        seed: planned.seed.to_string(),
        digests: kept.digests,
        files: kept.files,
        contract: kept.contract,
        scenario_file,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        bindings: planned.bindings.clone(),
        resumption: planned.resumption,
    }
}

/// The files that a record holds.
pub(super) struct KeptFiles {
    folder: PathBuf,
    /// Key of the contract.
    pub(super) contract: String,
    pub(super) digests: BTreeMap<String, String>,
    pub(super) files: BTreeMap<String, String>,
}

impl KeptFiles {
    /// The contract, and every file it names.
    pub(super) fn of(contract: &Contract) -> Self {
        // As the user spelled it: a folder and the files in it are spelled alike.
        let folder = contract.source.path.parent().unwrap_or(Path::new("")).to_owned();
        let (digests, files) = Default::default();
        let mut kept = Self { folder, contract: String::new(), digests, files };
        kept.contract = kept.keep("contract", &contract.source);
        for source in &contract.files {
            kept.keep("file", source);
        }
        kept
    }

    fn keep(&mut self, role: &str, source: &Source) -> String {
        let path = source.path.strip_prefix(&self.folder).unwrap_or(&source.path);
        let name = path.to_string_lossy().into_owned();
        self.digests.insert(format!("{role}:{name}"), digest(source.text.as_bytes()));
        self.files.insert(name.clone(), source.text.to_string());
        name
    }
}
