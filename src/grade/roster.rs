//! Who the contract says there is: workers by id, their names in spans, and who of them has a channel.
//!
//! Names in spans are looked up as written; a name that merely resembles one belongs to nobody.

use std::collections::BTreeMap;

use crate::name::{ToolName, WorkerId};
use crate::permit::{Limits, Rules};
use crate::scenario::{Contract, LaneSpec, Worker};

pub(super) struct Roster<'a> {
    contract: &'a Contract,
    by_agent: BTreeMap<&'a str, &'a Worker>,
}

impl<'a> Roster<'a> {
    pub(super) fn new(contract: &'a Contract) -> Self {
        let by_agent = contract
            .workers
            .iter()
            .flat_map(|worker| worker.agents.iter().map(move |name| (name.as_str(), worker)))
            .collect();
        Self { contract, by_agent }
    }

    /// The worker that has this name in spans.
    pub(super) fn worker(&self, agent: &str) -> Option<&'a Worker> {
        self.by_agent.get(agent).copied()
    }

    /// The id of a party to a hand-off: a worker by its name in spans, a peer by its own.
    pub(super) fn party<'b>(&self, agent: &'b str) -> Option<&'b str>
    where
        'a: 'b,
    {
        match self.worker(agent) {
            Some(worker) => Some(worker.id.as_str()),
            None => self.contract.peers.contains_key(agent).then_some(agent),
        }
    }

    /// Whether this id's calls can come over the shared address, so that an unattributed one may be its own.
    pub(super) fn is_shared(&self, id: &str) -> bool {
        self.lane(id).is_some_and(|lane| matches!(lane, LaneSpec::Spans | LaneSpec::TokenHeader { .. }))
    }

    fn lane(&self, id: &str) -> Option<&'a LaneSpec> {
        let id = WorkerId::new(id).ok()?;
        self.contract.worker(&id).map(|worker| &worker.lane)
    }

    /// The workers whose channels a question is about that names no worker: all that have one and, where the world
    /// must have been reached, are not barred from the tool. Whoever is barred cannot have been let through.
    pub(super) fn asked(&self, tool: Option<&ToolName>, reached: bool) -> Vec<&'a str> {
        self.contract
            .workers
            .iter()
            .filter(|worker| worker.lane != LaneSpec::None)
            .filter(|worker| !reached || self.may(worker, tool))
            .map(|worker| worker.id.as_str())
            .collect()
    }

    /// Whether the contract lets this worker use the tool (any tool, where none is named).
    pub(super) fn may(&self, worker: &Worker, tool: Option<&ToolName>) -> bool {
        let layer = ("contract".to_owned(), Limits::from(worker));
        // A glob that is none was refused at load; here it bars nobody, so that nothing is taken for proven.
        let Ok(rules) = Rules::new(&worker.id, [layer]) else {
            return true;
        };
        let mut tools = self.contract.world.tools.iter();
        tools.any(|t| tool.is_none_or(|name| t.name == *name) && rules.permits(&t.name, t.effect).is_ok())
    }
}
