//! What all trials of one contract share: the frozen world, one door for the channels, one receiver for the
//! spans, one endpoint for the models.
//!
//! Everything that could carry something from one trial into another is made anew in each trial; what stands here is
//! either read only or tells trials apart by their tokens.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::clock::{Clock, Moment};
use crate::journal::{RedactionKey, Redactor, RedactorError};
use crate::model::Endpoint;
use crate::proxy::{Door, LateCalls};
use crate::record::SigningKey;
use crate::scenario::{App, Contract, ModelMode, Talk};
use crate::spans::Receiver;
use crate::target::Filters;
use crate::world::Frozen;

use super::opening::filters;
use super::services::Pool;

/// Shared by all trials of one contract.
pub struct Stage {
    /// The app under test.
    pub contract: Arc<Contract>,
    /// Records go to `OUT/trials/…`.
    pub out: PathBuf,
    pub(super) frozen: Frozen,
    pub(super) door: Door,
    pub(super) receiver: Receiver,
    pub(super) models: Endpoint,
    pub(super) clock: Clock,
    pub(super) redaction: RedactionKey,
    pub(super) secrets: Vec<String>,
    pub(super) app_digest: String,
    pub(super) sign: Option<SigningKey>,
    pub(super) pool: Pool,
}

/// Why there is no stage.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// No address to listen on.
    #[error("cannot listen on {address}: {error}; `app.listen` of the contract says where")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system has no randomness to give.
    #[error("no randomness: {0}")]
    Random(getrandom::Error),
    /// The contract asks for what this version does not do: said before the run, since an app without it would fail
    /// for no fault of its own.
    #[error("{what} of the contract is not served by this version; leave it out, or serve it yourself")]
    Unserved {
        /// Which key.
        what: &'static str,
    },
}

impl Stage {
    /// Opens door and receiver around the frozen world of `contract`. `redaction` is one for the whole run, so that the same secret
    /// has the same marker in all its records.
    pub fn new(
        contract: Arc<Contract>,
        frozen: Frozen,
        out: PathBuf,
        clock: Clock,
        redaction: RedactionKey,
        sign: Option<SigningKey>,
    ) -> Result<Self, StageError> {
        let address = SocketAddr::new(contract.app.listen, 0);
        let listen = |error| StageError::Listen { address, error };
        if let Some(what) = unserved(&contract) {
            return Err(StageError::Unserved { what });
        }
        Ok(Self {
            frozen,
            door: Door::bind(address).map_err(listen)?,
            receiver: Receiver::bind(address, clock).map_err(listen)?,
            models: Endpoint::bind(address).map_err(listen)?,
            secrets: secrets(&contract.app),
            app_digest: app_digest(&contract.app),
            contract,
            out,
            clock,
            redaction,
            sign,
            pool: Pool::default(),
        })
    }

    /// Takes the app's digest again: `setup` may have built what is tried.
    pub fn pin_app(&mut self) {
        self.app_digest = app_digest(&self.contract.app);
    }

    /// Filters for the output of `setup`, by the contract's secrets.
    pub fn filters(&self) -> Result<Filters, RedactorError> {
        let redactor = Redactor::new(self.redaction.clone(), &self.secrets)?;
        Ok(filters(Arc::new(redactor)))
    }

    /// The run's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Now, by the run's clock.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Ends the services that wait for another trial.
    pub async fn end_services(&self) {
        self.pool.end().await;
    }

    /// Calls that came after their trial was sealed.
    pub fn late_calls(&self) -> Vec<LateCalls> {
        self.door.late_calls()
    }

    /// Keyed digests of tokens that opened nothing, and how often each was tried.
    pub fn unknown_tokens(&self) -> BTreeMap<String, u64> {
        self.door.unknown_tokens()
    }
}

/// A key whose part of the work is not built.
fn unserved(contract: &Contract) -> Option<&'static str> {
    let model = match contract.model.mode {
        ModelMode::None | ModelMode::Scripted => None,
        ModelMode::Record => Some("`model: { mode: record }`"),
        ModelMode::Replay => Some("`model: { mode: replay }`"),
    };
    let talk = matches!(contract.app.talk, Talk::A2a { .. }).then_some("`talk: a2a`");
    let peers = (!contract.peers.is_empty()).then_some("`peers`");
    model.or(talk).or(peers)
}

pub(super) fn secrets(app: &App) -> Vec<String> {
    app.secrets
        .iter()
        .filter_map(|name| app.env.get(name).cloned().or_else(|| std::env::var(name).ok()))
        .filter(|value| !value.is_empty())
        .collect()
}

/// `sha256:…` of any bytes.
pub(super) fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What identifies the app: its name, its command, and the files that the command names.
pub(super) fn app_digest(app: &App) -> String {
    let mut parts = BTreeMap::new();
    for word in &app.start {
        if let Ok(bytes) = std::fs::read(app.cwd.join(word)) {
            parts.insert(word.as_str(), digest(&bytes));
        }
    }
    digest(format!("{:?}", (&app.name, &app.start, parts)).as_bytes())
}
