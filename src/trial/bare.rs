//! The channels of a contract alone, without an app and without a scenario: for trying things by hand, and for clients
//! that are nobody's app. What comes through them is recorded and sealed like a trial; nothing is graded.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::clock::Clock;
use crate::journal::{
    EndRow, FORMAT, Journal, JournalError, Judged, RedactionKey, Redactor, RedactorError, Storage,
    TrialError, TrialRow, VerdictRow,
};
use crate::name::{Token, TrialId};
use crate::proxy::{Channels, ChannelsError, ChannelsSpec, Door, Tokens};
use crate::record::{self, SealError, Sealed, SigningKey};
use crate::scenario::{Case, Contract};
use crate::verdict::{Gate, Outcome, Reason};
use crate::world::{Frozen, World, WorldError};

use super::opening::{KeptFiles, filters};
use super::services::{Lease, Pool, Services};
use super::stage::{app_digest, secrets};

/// Why channels could not be opened by themselves.
#[derive(Debug, thiserror::Error)]
pub enum BareError {
    /// No address to listen on.
    #[error("cannot listen: {0}")]
    Listen(io::Error),
    /// The record could not be begun.
    #[error("the record: {0}")]
    Record(#[from] JournalError),
    /// The system has no randomness to give.
    #[error("no randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// The secrets cannot be searched for.
    #[error(transparent)]
    Redactor(#[from] RedactorError),
    /// There is no world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// There are no channels.
    #[error(transparent)]
    Channels(#[from] ChannelsError),
    /// A service behind them is not there.
    #[error("{}", .0.message)]
    Service(TrialError),
}

/// Channels by themselves.
pub struct Bare {
    /// The channels.
    pub channels: Channels,
    journal: Journal,
    world: Arc<World>,
    services: Services,
    pool: Pool,
    sign: Option<SigningKey>,
    _door: Door,
}

impl Bare {
    /// Opens them. Without `record` nothing is kept.
    pub async fn open(
        contract: &Contract,
        frozen: &Frozen,
        record: Option<&Path>,
        sign: Option<SigningKey>,
    ) -> Result<Self, BareError> {
        let clock = Clock::start();
        let door = Door::bind((contract.app.listen, 0).into()).map_err(BareError::Listen)?;
        let tokens = Tokens::new(contract)?;
        let secrets = secrets(&contract.app);
        let hidden = tokens.all().map(Token::expose).chain(secrets.iter().map(String::as_str));
        let redactor = Arc::new(Redactor::new(RedactionKey::random()?, hidden)?);
        let limit = contract.limits.record;
        let journal = match record {
            Some(path) => Journal::create(path, clock, limit, redactor)?,
            None => Journal::over(Box::new(Nowhere), clock, u64::MAX, redactor),
        };
        journal.append(&first_row(contract))?;
        let world = Arc::new(frozen.open(&[], &Case::new(), 0)?);
        let (trial, pool) = (TrialId::new("channels", 0, 1, false), Pool::default());
        let filter = filters(Arc::clone(journal.redactor()));
        let lease = Lease { contract, trial: &trial, clock, filter: &filter };
        let (services, started) = lease.take(&pool).await.map_err(BareError::Service)?;
        let spec = ChannelsSpec {
            trial,
            contract,
            scenario: None,
            tokens,
            world: Some(Arc::clone(&world)),
            upstreams: started,
            journal: journal.clone(),
            clock,
            seed: 0,
        };
        let channels = Channels::open(&door, spec)?;
        Ok(Self { channels, journal, world, services, pool, sign, _door: door })
    }

    /// Closes them, and seals what was recorded.
    pub async fn close(self) -> Result<Sealed, SealError> {
        self.channels.seal().await;
        let gone = self.services.give_back(&self.pool, &self.journal).await;
        let changed = self.world.tables().and_then(|tables| Ok((tables, self.world.changes()?)));
        let error = match changed {
            Ok((tables, changes)) => {
                for table in &tables {
                    self.journal.append(table)?;
                }
                for change in &changes {
                    self.journal.append(change)?;
                }
                gone.err()
            }
            Err(error) => {
                Some(TrialError { code: "world_failed".to_owned(), message: error.to_string(), line: None })
            }
        };
        self.pool.end().await;
        let (verdict, reason) = ("unknown".to_owned(), Some(Reason::NotAsked.code().to_owned()));
        // So that nobody takes a record without questions for one whose questions were all answered well.
        let nothing = VerdictRow {
            sub_goal: "asked".to_owned(),
            subject: "task".to_owned(),
            verdict: verdict.clone(),
            reason: reason.clone(),
            gate: Gate::Required,
            line: 0,
            detail: "the channels stood alone: nothing was asked".to_owned(),
        };
        let end = EndRow {
            task: Judged { verdict, reason },
            workers: Default::default(),
            outcome: if error.is_some() { Outcome::Error } else { Outcome::Unknown },
            error,
        };
        record::seal(&self.journal, &[nothing], &end, self.sign.as_ref())
    }
}

fn first_row(contract: &Contract) -> TrialRow {
    let mut kept = KeptFiles::of(contract);
    kept.digests.insert("app".to_owned(), app_digest(&contract.app));
    TrialRow {
        format: FORMAT,
        scenario: String::new(),
        case: 0,
        values: Default::default(),
        number: 1,
        retry_of: None,
        binding_proof: Default::default(),
        seed: "0".to_owned(),
        digests: kept.digests,
        files: kept.files,
        contract: kept.contract,
        scenario_file: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        bindings: Default::default(),
        resumption: Default::default(),
    }
}

/// Where rows go that nobody wants to keep.
struct Nowhere;

impl Storage for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
