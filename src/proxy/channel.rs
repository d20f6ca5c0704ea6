//! One address, what it opens, and whose calls come through it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use super::gate::{Lane, TrialState};
use super::http::Base;
use super::mcp::{Parked, Server, Sessions};
use super::routes::Routes;
use super::said::Said;
use crate::name::{Token, ToolName};
use crate::permit::{Refusal, RefusalCode, Rules};
use crate::scenario::{Effect, Listing, Tool};
use crate::world::World;

/// The header that tells workers on a shared address apart. It never goes further than this.
pub const LANE_HEADER: &str = "mocktrial-channel";

/// What the tools of one trial are, and what stands behind them.
pub struct Site {
    /// The app's name.
    pub title: String,
    pub state: Arc<TrialState>,
    pub tools: Vec<Tool>,
    pub routes: Routes,
    /// The embedded world, where there is one.
    pub world: Option<Arc<World>>,
    /// HTTP services, by name.
    pub upstreams: BTreeMap<String, Base>,
    /// MCP servers, by name.
    pub servers: BTreeMap<String, Arc<Server>>,
    /// Which tools a list shows.
    pub listing: Listing,
    /// Calls that wait for more of their callers.
    pub parked: Parked,
    /// `limits.body`.
    pub body_at_most: u64,
    /// The last whole answer of each tool that a fault may answer stale.
    pub kept: Mutex<HashMap<ToolName, Said>>,
}

impl Site {
    /// Where an action that is no tool goes: the only service there is. Of several none is meant.
    pub fn passthrough(&self) -> Option<&Base> {
        let mut all = self.upstreams.values();
        all.next().filter(|_| all.next().is_none())
    }

    /// The tools that a list shows to whoever is bound by `rules`.
    pub fn shown<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = &'a Tool> {
        self.tools.iter().filter(|tool| self.shows(rules, &tool.name, tool.effect))
    }

    /// Whether a list shows a tool.
    pub fn shows(&self, rules: &Rules, name: &ToolName, effect: Effect) -> bool {
        self.listing == Listing::All || rules.permits(name, effect).is_ok()
    }

    /// Keeps an answer, where a fault may ask for it.
    pub fn keep(&self, tool: &ToolName, said: &Said) {
        if self.state.faults.keeps_answers_of(tool) {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(tool.clone(), said.clone());
        }
    }

    /// The answer kept of this tool.
    pub fn stale(&self, tool: &ToolName) -> Option<Said> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }
}

/// One address.
pub struct Channel {
    pub token: Token,
    pub site: Arc<Site>,
    pub lanes: Lanes,
    /// Of its MCP clients.
    pub sessions: Sessions,
}

/// Whose calls come through an address.
pub enum Lanes {
    /// One worker's: whoever holds the address is that worker.
    Separate(Arc<Lane>),
    /// Several workers'.
    Shared {
        /// Those that show a token of their own.
        named: Vec<(Token, Arc<Lane>)>,
        /// Those that are told apart afterwards, from spans: one lane for all.
        others: Option<Arc<Lane>>,
        /// Where attempts stand whose worker cannot be told and who may do nothing.
        nobody: Arc<Lane>,
    },
}

impl Lanes {
    /// The lane of a call by its headers; with a refusal where its token is missing, unknown or given twice.
    pub fn find(&self, headers: &HeaderMap) -> (&Arc<Lane>, Option<Refusal>) {
        let (named, others, nobody) = match self {
            Self::Separate(lane) => return (lane, None),
            Self::Shared { named, others, nobody } => (named, others, nobody),
        };
        let unknown = |reason: &str| {
            let refusal = Refusal { code: RefusalCode::UnknownChannel, reason: reason.to_owned() };
            (nobody, Some(refusal))
        };
        let mut claims = headers.get_all(LANE_HEADER).iter();
        match (claims.next(), claims.next()) {
            (None, _) => match others {
                Some(lane) => (lane, None),
                None => unknown("the call shows no token of a worker"),
            },
            (Some(_), Some(_)) => unknown("the call shows more than one token"),
            (Some(claim), None) => {
                let claim = claim.to_str().unwrap_or_default();
                // Every token is compared, so that the time says nothing about which one fits.
                let found = named.iter().fold(
                    None,
                    |found, (token, lane)| {
                        if token.matches(claim) { Some(lane) } else { found }
                    },
                );
                found.map_or_else(
                    || unknown("the call's token is no worker's of this channel"),
                    |lane| (lane, None),
                )
            }
        }
    }

    /// All lanes.
    pub fn all(&self) -> Vec<&Arc<Lane>> {
        match self {
            Self::Separate(lane) => vec![lane],
            Self::Shared { named, others, nobody } => {
                named.iter().map(|(_, lane)| lane).chain(others).chain([nobody]).collect()
            }
        }
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("token", &self.token).finish_non_exhaustive()
    }
}
