//! From the token in an address to the channel it opens.
//!
//! Looked up by a keyed hash, so that how long it takes says nothing about the tokens that exist, then compared in
//! constant time. Tokens that open nothing are counted, as keyed digests: a run file may be read by others.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use sha2::{Digest, Sha256};

use super::channel::Channel;
use super::gate::Late;
use crate::name::Token;

const SHARDS: usize = 16;

/// So many different unknown tokens are told apart; the rest are counted together.
const UNKNOWN_AT_MOST: usize = 1000;

/// What the unknown tokens beyond [`UNKNOWN_AT_MOST`] are counted under.
const OTHERS: &str = "others";

/// What a token opens.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A channel of a trial that is not sealed.
    Channel(Arc<Channel>),
    /// A channel of a sealed trial: only its calls are counted.
    Gone(Arc<Late>),
}

/// All tokens of one door.
#[derive(Debug)]
pub struct Registry {
    hash: RandomState,
    shards: [RwLock<HashMap<u64, (Token, Entry)>>; SHARDS],
    key: [u8; 32],
    unknown: Mutex<BTreeMap<String, u64>>,
}

impl Registry {
    /// Empty. An error where the system has no randomness.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { hash: RandomState::new(), shards: Default::default(), key, unknown: Mutex::default() })
    }

    /// Makes `token` open `entry`, whatever it opened before.
    pub fn insert(&self, token: &Token, entry: Entry) {
        let hash = self.hash.hash_one(token.expose());
        let mut shard = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        shard.insert(hash, (token.clone(), entry));
    }

    /// Makes the token of `channel` open only a count, where it opens that channel: it may be another trial's by now.
    pub fn retire(&self, channel: &Arc<Channel>, late: Arc<Late>) {
        let hash = self.hash.hash_one(channel.token.expose());
        let mut shard = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, entry)) = shard.get_mut(&hash)
            && matches!(entry, Entry::Channel(open) if Arc::ptr_eq(open, channel))
        {
            *entry = Entry::Gone(late);
        }
    }

    /// What `claim` opens.
    pub fn find(&self, claim: &str) -> Option<Entry> {
        let hash = self.hash.hash_one(claim);
        let shard = self.shard(hash).read().unwrap_or_else(PoisonError::into_inner);
        let (token, entry) = shard.get(&hash)?;
        token.matches(claim).then(|| entry.clone())
    }

    fn shard(&self, hash: u64) -> &RwLock<HashMap<u64, (Token, Entry)>> {
        // The map uses the low bits.
        &self.shards[usize::try_from(hash >> 60).unwrap_or(0) % SHARDS]
    }

    /// Counts a token that opened nothing.
    pub fn count_unknown(&self, claim: &str) {
        let digest = Sha256::new().chain_update(self.key).chain_update(claim).finalize();
        let name = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let known = unknown.contains_key(&name) || unknown.len() < UNKNOWN_AT_MOST;
        let name = if known { name } else { OTHERS.to_owned() };
        *unknown.entry(name).or_default() += 1;
    }

    /// Keyed digests of tokens that opened nothing, and how often each was tried.
    pub fn unknown(&self) -> BTreeMap<String, u64> {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The lanes of sealed trials.
    pub fn gone(&self) -> Vec<Arc<Late>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(shard.values().filter_map(|(_, entry)| match entry {
                Entry::Gone(late) => Some(Arc::clone(late)),
                Entry::Channel(_) => None,
            }));
        }
        all
    }
}
