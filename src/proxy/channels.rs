//! The channels of one trial: made from contract and scenario, told to the app by its environment, closed and sealed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use http::Uri;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::channel::{Channel, Lanes, Site};
use super::door::Door;
use super::faults::Faults;
use super::gate::{Lane, TrialState};
use super::http::{BadBase, Base};
use super::mcp::{Parked, PipeFace, Pipes, Server, Sessions};
use super::registry::Entry;
use super::routes::Routes;
use crate::clock::{Clock, Moment};
use crate::journal::{Basis, Journal};
use crate::name::{Token, TrialId, WorkerId};
use crate::permit::{BadGlob, Limits, Rules};
use crate::scenario::{BudgetFrom, Contract, LaneSpec, Scenario, UpstreamKind, Worker};
use crate::world::World;

/// The secrets of a trial's channels, made before its record, so that the record can redact them.
#[derive(Clone, Debug)]
pub struct Tokens {
    workers: BTreeMap<WorkerId, Token>,
    shared: Option<Token>,
}

impl Tokens {
    /// One for each worker with an address or a header of its own, one for the shared address.
    pub fn new(contract: &Contract) -> Result<Self, getrandom::Error> {
        let mut tokens = Self { workers: BTreeMap::new(), shared: None };
        for worker in &contract.workers {
            if matches!(worker.lane, LaneSpec::Separate { .. } | LaneSpec::TokenHeader { .. }) {
                tokens.workers.insert(worker.id.clone(), Token::random()?);
            }
            if matches!(worker.lane, LaneSpec::TokenHeader { .. } | LaneSpec::Spans)
                && tokens.shared.is_none()
            {
                tokens.shared = Some(Token::random()?);
            }
        }
        Ok(tokens)
    }

    /// All of them, for the redactor.
    pub fn all(&self) -> impl Iterator<Item = &Token> {
        self.workers.values().chain(&self.shared)
    }
}

/// How an upstream that was started is reached.
#[derive(Debug)]
pub enum Started {
    /// At this URL.
    At(String),
    /// On its standard streams.
    On(Pipes),
}

/// What a trial's channels are made of.
pub struct ChannelsSpec<'a> {
    /// Whose channels.
    pub trial: TrialId,
    /// Workers, tools, upstreams, limits.
    pub contract: &'a Contract,
    /// Narrowing, faults, budgets; none for channels alone.
    pub scenario: Option<&'a Scenario>,
    /// From [`Tokens::new`], of the same contract.
    pub tokens: Tokens,
    /// What tools of the embedded world act on.
    pub world: Option<Arc<World>>,
    /// Upstreams that were started for this trial, by name: these win over the contract's.
    pub upstreams: BTreeMap<String, Started>,
    /// Where attempts and outcomes go.
    pub journal: Journal,
    /// The trial's.
    pub clock: Clock,
    /// Seed of everything drawn.
    pub seed: u64,
}

/// Why a trial has no channels. The contract's and scenario's faults, told with what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ChannelsError {
    /// A pattern that is no glob.
    #[error(transparent)]
    Glob(#[from] BadGlob),
    /// An upstream without a usable address.
    #[error("upstream `{name}`: {why}")]
    Upstream {
        /// Which.
        name: String,
        /// Why.
        why: BadBase,
    },
    /// A server on standard streams that nobody started.
    #[error("upstream `{name}` was not started")]
    NotStarted {
        /// Which.
        name: String,
    },
    /// The system has no trusted roots for an `https` upstream.
    #[error("no trusted certificates for an https upstream: {0}")]
    Roots(#[from] std::io::Error),
}

/// The channels of one trial. Dropped, they are sealed: their tokens open nothing any more.
#[derive(Debug)]
pub struct Channels {
    door: Arc<super::door::Shared>,
    base: String,
    state: Arc<TrialState>,
    /// By worker; the shared one last, under none.
    open: Vec<(Option<WorkerId>, Arc<Channel>)>,
    env: Vec<(String, String)>,
}

impl Channels {
    /// Opens them: from here on the tokens are known to the door, and open these channels, whatever they opened before.
    pub fn open(door: &Door, spec: ChannelsSpec<'_>) -> Result<Self, ChannelsError> {
        let contract = spec.contract;
        let state = Arc::new(TrialState {
            clock: spec.clock,
            journal: spec.journal,
            faults: Faults::new(spec.seed, spec.scenario.map_or(&[], |scenario| &scenario.faults)),
            budget_from: spec.scenario.map_or(BudgetFrom::FirstCall, |scenario| scenario.budget_from),
            first_turn: OnceLock::new(),
            calls_at_most: contract.limits.calls,
            calls: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            late: AtomicU64::new(0),
            idle: Notify::new(),
            closed: CancellationToken::new(),
            sealed: CancellationToken::new(),
        });
        let (upstreams, servers) = services(door, contract, spec.upstreams, &state.sealed)?;
        let tools = contract.world.tools.clone();
        let routes = tools.iter().enumerate().filter_map(|(index, tool)| Some((index, tool.route.clone()?)));
        let site = Arc::new(Site {
            title: contract.app.name.clone(),
            state: Arc::clone(&state),
            routes: Routes::new(routes),
            tools,
            world: spec.world,
            upstreams,
            servers,
            listing: contract.world.listing,
            parked: Parked::default(),
            body_at_most: contract.limits.body,
            kept: Mutex::new(HashMap::new()),
        });
        let mut channels = Self {
            door: Arc::clone(door.shared()),
            base: door.base(contract.app.advertise.as_deref()),
            state,
            open: Vec::new(),
            env: Vec::new(),
        };
        channels.fill(&site, contract, spec.scenario, &spec.tokens, &spec.trial)?;
        for (_, channel) in &channels.open {
            channels.door.registry.insert(&channel.token, Entry::Channel(Arc::clone(channel)));
        }
        Ok(channels)
    }

    fn fill(
        &mut self,
        site: &Arc<Site>,
        contract: &Contract,
        scenario: Option<&Scenario>,
        tokens: &Tokens,
        trial: &TrialId,
    ) -> Result<(), ChannelsError> {
        let lane = |rules, basis| Arc::new(Lane::new(rules, basis, trial.clone()));
        let mut named = Vec::new();
        let mut told_by_spans = Vec::new();
        for worker in &contract.workers {
            let rules = rules(worker, scenario)?;
            let own = tokens.workers.get(&worker.id);
            match (&worker.lane, own) {
                (LaneSpec::Separate { address_env }, Some(token)) => {
                    self.env.push((address_env.clone(), self.address(token)));
                    let lanes = Lanes::Separate(lane(rules, Basis::Enforced));
                    self.add(Some(&worker.id), site, token, lanes);
                }
                (LaneSpec::TokenHeader { token_env }, Some(token)) => {
                    self.env.push((token_env.clone(), token.expose().to_owned()));
                    named.push((token.clone(), lane(rules, Basis::Enforced)));
                }
                (LaneSpec::Spans, _) => told_by_spans.push(rules),
                _ => {}
            }
        }
        if let Some(token) = &tokens.shared {
            if let Some(variable) = &contract.shared_address_env {
                self.env.push((variable.clone(), self.address(token)));
            }
            let others =
                (!told_by_spans.is_empty()).then(|| lane(Rules::any_of(told_by_spans), Basis::Audited));
            let nobody = lane(Rules::any_of([]), Basis::Enforced);
            let lanes = Lanes::Shared { named, others, nobody };
            self.add(None, site, token, lanes);
        }
        Ok(())
    }

    fn add(&mut self, worker: Option<&WorkerId>, site: &Arc<Site>, token: &Token, lanes: Lanes) {
        let channel =
            Channel { token: token.clone(), site: Arc::clone(site), lanes, sessions: Sessions::default() };
        self.open.push((worker.cloned(), Arc::new(channel)));
    }

    fn address(&self, token: &Token) -> String {
        format!("{}/{}", self.base, token.expose())
    }

    /// What the app's environment is to hold: addresses and tokens. Secrets.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Each separate worker's address; the shared one under none. Secrets.
    pub fn addresses(&self) -> impl Iterator<Item = (Option<&WorkerId>, String)> {
        self.open.iter().map(|(worker, channel)| (worker.as_ref(), self.address(&channel.token)))
    }

    /// The tokens of workers that are told apart by a header on the shared address. Secrets.
    pub fn tokens(&self) -> impl Iterator<Item = (&WorkerId, &Token)> {
        self.open
            .iter()
            .flat_map(|(_, channel)| match &channel.lanes {
                Lanes::Shared { named, .. } => named.as_slice(),
                Lanes::Separate(_) => &[],
            })
            .filter_map(|(token, lane)| Some((lane.worker()?, token)))
    }

    /// A worker's channel for a client on a pipe; none where the worker has no channel.
    pub fn on_pipe(&self, worker: &WorkerId) -> Option<PipeFace> {
        self.open.iter().find_map(|(_, channel)| {
            let lanes = channel.lanes.all();
            let lane = lanes.into_iter().find(|lane| lane.worker() == Some(worker))?;
            Some(PipeFace::new(&self.door, channel, lane))
        })
    }

    /// A turn was handed to the app: the first one starts the budgets that count from it.
    pub fn turn_started(&self, now: Moment) {
        self.state.first_turn.get_or_init(|| now);
    }

    /// When the budgets that count from the first turn started.
    pub fn first_turn(&self) -> Option<Moment> {
        self.state.first_turn.get().copied()
    }

    /// Calls begun and not ended.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Acquire)
    }

    /// Attempts that came after the channels closed, and are rows.
    pub fn late(&self) -> u64 {
        self.state.late.load(Ordering::Relaxed)
    }

    /// Waits until no call is in flight; false where that took longer than `at_most`.
    pub async fn settled(&self, at_most: Duration) -> bool {
        let idle = async {
            loop {
                let notified = self.state.idle.notified();
                tokio::pin!(notified);
                notified.as_mut().enable();
                if self.in_flight() == 0 {
                    return;
                }
                notified.await;
            }
        };
        tokio::time::timeout(at_most, idle).await.is_ok()
    }

    /// No new call passes: each is refused `trial_closed`, and its row marked late. Calls in flight may finish.
    pub fn close(&self) {
        for lane in self.lanes() {
            lane.close();
        }
        self.state.closed.cancel();
    }

    /// Closes, stops waiting for upstreams, and gives up the channels: from here on late calls are only counted, by the
    /// door. To be called before the record is sealed; a call that does not end within a second leaves an attempt
    /// without an outcome.
    pub async fn seal(&self) {
        self.close();
        self.state.sealed.cancel();
        self.settled(Duration::from_secs(1)).await;
        self.give_up();
    }

    fn give_up(&self) {
        for (_, channel) in &self.open {
            channel.site.parked.clear();
            let lanes = channel.lanes.all();
            for lane in &lanes {
                lane.seal();
            }
            // The address is all that is left of its workers: a late call on a shared one is counted for none.
            if let Some(lane) = lanes.last() {
                self.door.registry.retire(channel, Arc::clone(lane.late()));
            }
        }
    }

    fn lanes(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.open.iter().flat_map(|(_, channel)| channel.lanes.all())
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        self.close();
        self.state.sealed.cancel();
        self.give_up();
    }
}

/// Contract, then the scenario's common budget, then its narrowing of this worker. The order changes nothing.
pub fn rules(worker: &Worker, scenario: Option<&Scenario>) -> Result<Rules, BadGlob> {
    let mut layers = vec![("contract".to_owned(), Limits::from(worker))];
    if let Some(scenario) = scenario {
        let common = Limits { budget: scenario.budget, ..Limits::default() };
        layers.push(("scenario".to_owned(), common));
        if let Some(narrowing) = scenario.narrow.get(&worker.id) {
            layers.push(("scenario".to_owned(), Limits::from(narrowing)));
        }
    }
    Rules::new(&worker.id, layers)
}

type Services = (BTreeMap<String, Base>, BTreeMap<String, Arc<Server>>);

fn services(
    door: &Door,
    contract: &Contract,
    mut started: BTreeMap<String, Started>,
    sealed: &CancellationToken,
) -> Result<Services, ChannelsError> {
    let (mut bases, mut servers) = (BTreeMap::new(), BTreeMap::new());
    let at_most = contract.limits.body;
    for (name, upstream) in &contract.world.upstreams {
        let bad = |why| ChannelsError::Upstream { name: name.clone(), why };
        let found = started.remove(name);
        let (url, is_mcp) = match (&upstream.kind, found) {
            (_, Some(Started::On(pipes))) => {
                let server = Server::on_pipes(name, pipes, at_most, sealed.clone());
                servers.insert(name.clone(), Arc::new(server));
                continue;
            }
            (UpstreamKind::Http(_), Some(Started::At(url))) => (url, false),
            (UpstreamKind::McpHttp(_), Some(Started::At(url))) => (url, true),
            (UpstreamKind::Http(url), None) => (url.clone(), false),
            (UpstreamKind::McpHttp(url), None) => (url.clone(), true),
            (UpstreamKind::McpStdio(_), _) => {
                return Err(ChannelsError::NotStarted { name: name.clone() });
            }
        };
        if is_mcp {
            let url = url.parse::<Uri>().map_err(|error| bad(error.into()))?;
            match url.scheme_str() {
                Some("https") => door.shared().client.load_roots()?,
                Some("http") => {}
                _ => return Err(bad(BadBase::Scheme)),
            }
            let server = Server::at(name, url, at_most, sealed.clone());
            servers.insert(name.clone(), Arc::new(server));
        } else {
            let base = Base::parse(&url).map_err(bad)?;
            if base.is_tls() {
                door.shared().client.load_roots()?;
            }
            bases.insert(name.clone(), base);
        }
    }
    Ok((bases, servers))
}
