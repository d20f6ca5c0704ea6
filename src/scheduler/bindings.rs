//! Before the plan is worked off: which workers' calls come through their channels.
//!
//! For each worker that an absence is asked of, a scenario whose solution calls it is run first. A trial of the plan
//! serves where its own goals need no proof that is still to come; else the scenario is run once more beside the plan,
//! with a record of its own that counts for nothing else. An app that calls nobody is not tried for ever.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::grade::needed_bindings;
use crate::name::TrialId;
use crate::scenario::{Contract, LaneSpec, Scenario, StepKind, Suite};
use crate::trial::Planned;

/// How many trials may be spent on one worker before its binding counts as not shown.
const TRIES: u32 = 3;

/// What is to be shown of one suite's app, and how it could be.
#[derive(Clone, Debug)]
pub(super) struct Prospects {
    wanted: BTreeSet<String>,
    candidates: Vec<Candidate>,
}

/// A scenario whose solution calls somebody.
#[derive(Clone, Debug)]
struct Candidate {
    planned: Planned,
    /// Its trial in the plan.
    place: Option<usize>,
    calls: BTreeSet<String>,
    needs: BTreeSet<String>,
    /// Neither faults nor an environment of its own: it makes the app do what it was built for.
    plain: bool,
}

/// The next trial that may show something.
pub(super) enum Next {
    /// One of the plan.
    Planned(usize),
    /// One beside it.
    Beside(Box<Planned>),
}

/// Whose bindings one suite's app has shown so far, and by which trial.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) by: BTreeMap<String, String>,
    tries: BTreeMap<String, u32>,
}

impl Shown {
    /// A trial is over in which calls of these workers came through their channels.
    pub(super) fn add<'a>(&mut self, workers: impl IntoIterator<Item = &'a String>, trial: &TrialId) {
        for worker in workers {
            self.by.entry(worker.clone()).or_insert_with(|| trial.to_string());
        }
    }
}

impl Prospects {
    pub(super) fn new(suite: &Suite, planned: impl Fn(&Arc<Scenario>) -> Planned) -> Self {
        let channels = with_channel(&suite.contract);
        let candidates = suite.scenarios.iter().map(|scenario| Candidate {
            planned: planned(scenario),
            place: None,
            calls: called(scenario).filter(|worker| channels.contains(worker)).collect(),
            needs: needed_bindings(&suite.contract, scenario),
            plain: scenario.faults.is_empty() && scenario.env.is_empty(),
        });
        Self { wanted: BTreeSet::new(), candidates: candidates.filter(|c| !c.calls.is_empty()).collect() }
    }

    /// Wants what these trials need, each with its place in the plan.
    pub(super) fn plan<'a>(
        &mut self,
        contract: &Contract,
        trials: impl Iterator<Item = (usize, &'a Planned)>,
    ) {
        let mut asked = BTreeSet::new();
        for (place, planned) in trials {
            if asked.insert(&planned.scenario.name) {
                self.wanted.extend(needed_bindings(contract, &planned.scenario));
            }
            if let Some(own) = self.candidates.iter_mut().find(|own| own.planned.id == planned.id) {
                own.place = Some(place);
            }
        }
    }

    /// Takes the scenario of a proof out, as it was planned; none where it is no candidate.
    pub(super) fn take(&mut self, scenario: &str) -> Option<Planned> {
        let at = self.candidates.iter().position(|c| c.planned.scenario.name == scenario)?;
        Some(beside(self.candidates.remove(at).planned))
    }

    /// Lets the scenario of a proof that was cut off run again.
    pub(super) fn run_again(&mut self, scenario: &str, resumption: u32, resumes: TrialId) {
        if let Some(own) = self.candidates.iter_mut().find(|c| c.planned.scenario.name == scenario) {
            own.planned.resumption = resumption;
            own.planned.resumes = Some(resumes);
        }
    }

    pub(super) fn want_all(&mut self, contract: &Contract) {
        self.wanted = with_channel(contract);
    }

    /// What was wanted and is not shown.
    pub(super) fn missing<'a>(&'a self, shown: &'a Shown) -> impl Iterator<Item = &'a String> {
        self.wanted.iter().filter(|worker| !shown.by.contains_key(*worker))
    }

    /// Takes the trial that is the best to run now: one that makes no trouble, that needs nothing more itself, that
    /// shows the most.
    pub(super) fn next(&mut self, shown: &mut Shown) -> Option<Next> {
        let tried = |worker: &String| shown.tries.get(worker).is_some_and(|tries| *tries >= TRIES);
        let open: BTreeSet<_> = self.missing(shown).filter(|worker| !tried(worker)).cloned().collect();
        let ready = |c: &Candidate| {
            c.needs.iter().all(|worker| shown.by.contains_key(worker) || c.calls.contains(worker))
        };
        let (at, _) = self
            .candidates
            .iter()
            .enumerate()
            .map(|(at, c)| (at, c, c.calls.intersection(&open).count()))
            .filter(|(.., covers)| *covers > 0)
            .map(|(at, c, covers)| (at, (c.plain, c.place.is_some() && ready(c), covers, Reverse(at))))
            .max_by_key(|(_, rank)| *rank)?;
        let own = ready(&self.candidates[at]);
        let taken = self.candidates.remove(at);
        for worker in &taken.calls {
            *shown.tries.entry(worker.clone()).or_default() += 1;
        }
        Some(match taken.place.filter(|_| own) {
            Some(place) => Next::Planned(place),
            None => Next::Beside(Box::new(beside(taken.planned))),
        })
    }
}

/// The proof that a trial of the plan could be.
fn beside(planned: Planned) -> Planned {
    let id = TrialId::binding(&planned.scenario.name, planned.case);
    Planned { id: id.resumed(planned.resumption), binding_proof: true, ..planned }
}

fn with_channel(contract: &Contract) -> BTreeSet<String> {
    let workers = contract.workers.iter().filter(|worker| worker.lane != LaneSpec::None);
    workers.map(|worker| worker.id.to_string()).collect()
}

/// Whom the solution of a scenario has call something.
pub fn called(scenario: &Scenario) -> impl Iterator<Item = String> {
    scenario.solution.iter().filter_map(|step| match &step.kind {
        StepKind::Call { worker, .. } => Some(worker.to_string()),
        _ => None,
    })
}
