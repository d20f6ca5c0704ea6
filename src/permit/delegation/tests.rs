use proptest::prelude::*;

use super::*;
use crate::name::ToolName;
use crate::permit::Rules;
use crate::scenario::{Effect, LaneSpec, Pos};

fn worker(id: &str) -> Worker {
    Worker {
        pos: Pos::default(),
        id: WorkerId::new(id).expect("an id"),
        agents: Vec::new(),
        role: None,
        allowed: AllowList::Everything,
        denied: BTreeSet::new(),
        deny_write: false,
        deny_net: false,
        max_calls: None,
        budget: None,
        lane: LaneSpec::None,
        delegates_to: None,
        may_grant: None,
        containment: Containment::default(),
    }
}

fn contained(id: &str, containment: Containment) -> Worker {
    Worker { containment, ..worker(id) }
}

fn list(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn ask(to: &str) -> DelegationAsk<'_> {
    DelegationAsk { to, made: 0, deadline: None, at: Moment(0) }
}

fn refused(chain: &Chain, ask: DelegationAsk<'_>) -> (&'static str, String) {
    let agents = set(&["ledger", "carrier", "refund", "root"]);
    let refusal = decide_delegation(chain, &agents, ask).expect_err("a refusal");
    (refusal.code.code(), refusal.reason)
}

fn goes(chain: &Chain, ask: DelegationAsk<'_>) -> Delegation {
    decide_delegation(chain, &set(&["ledger", "carrier", "refund", "root"]), ask).expect("a delegation")
}

#[test]
fn an_id_nobody_has_is_refused_with_those_it_could_have_been() {
    let mut root = worker("root");
    root.delegates_to = list(&["refund", "ledger"]);
    for id in ["", "Ledger", "ledger ", "self", "https://evil"] {
        let (code, reason) = refused(&Chain::root(&root), ask(id));
        assert_eq!(code, "agent.unknown", "{id}");
        assert!(reason.ends_with("may hand work to: ledger, refund"), "{reason}");
    }
    let forged = refused(&Chain::root(&root), ask("x>\nno agent"));
    assert!(forged.1.starts_with("there is no agent `x› no agent`"), "{}", forged.1);
    let none = decide_delegation(&Chain::root(&worker("root")), &set(&[]), ask("x")).expect_err("a refusal");
    assert!(none.reason.ends_with("none are registered"), "{}", none.reason);
}

#[test]
fn who_is_known_but_not_listed_is_not_delegable_and_no_list_excludes_nobody() {
    let mut root = worker("root");
    assert_eq!(goes(&Chain::root(&root), ask("carrier")).to(), "carrier");
    root.delegates_to = list(&["ledger"]);
    assert_eq!(refused(&Chain::root(&root), ask("carrier")).0, "agent.not_delegable");
    root.delegates_to = list(&[]);
    assert_eq!(refused(&Chain::root(&root), ask("ledger")).0, "agent.not_delegable");
}

#[test]
fn depth_counts_from_each_worker_that_bounds_it() {
    let two = Containment { max_depth: Some(2), ..Containment::default() };
    let root = Chain::root(&contained("root", two));
    let first = root.then(&worker("refund"));
    assert_eq!(goes(&root, ask("refund")).depth(), 1);
    assert_eq!(goes(&first, ask("ledger")).depth(), 2);
    let second = first.then(&worker("ledger"));
    let (code, reason) = refused(&second, ask("carrier"));
    assert_eq!((code, reason.as_str()), ("delegation.depth", "root lets work be handed on 2 deep at most"));
    let one = Containment { max_depth: Some(1), ..Containment::default() };
    let below = Chain::root(&worker("root")).then(&contained("refund", one));
    assert_eq!(goes(&below, ask("ledger")).depth(), 2);
    assert_eq!(refused(&below.then(&worker("ledger")), ask("carrier")).0, "delegation.depth");
}

#[test]
fn the_count_refuses_and_how_many_run_at_a_time_never_does() {
    let bounds = Containment { max_delegations: Some(2), max_concurrent: Some(1), ..Containment::default() };
    let root = Chain::root(&contained("root", bounds));
    assert_eq!(goes(&root, DelegationAsk { made: 1, ..ask("ledger") }).from().as_str(), "root");
    assert_eq!(refused(&root, DelegationAsk { made: 2, ..ask("ledger") }).0, "delegation.cap");
    assert_eq!(root.slots(), Some(1));
}

#[test]
fn work_comes_back_to_nobody_above_where_one_of_them_forbids_it() {
    let forbids = Containment { forbid_cycles: true, ..Containment::default() };
    let chain = Chain::root(&contained("root", forbids)).then(&worker("refund"));
    assert_eq!(refused(&chain, ask("root")).0, "delegation.cycle");
    assert_eq!(refused(&chain, ask("refund")).0, "delegation.cycle");
    assert_eq!(goes(&chain, ask("ledger")).to(), "ledger");
    assert_eq!(goes(&Chain::root(&worker("root")), ask("root")).to(), "root");
}

#[test]
fn the_deadline_bites_at_its_moment_and_last() {
    let root = Chain::root(&worker("root"));
    let at = |at| DelegationAsk { deadline: Some(Moment(10)), at: Moment(at), ..ask("ledger") };
    assert_eq!(goes(&root, at(9)).to(), "ledger");
    assert_eq!(refused(&root, at(10)).0, "delegation.deadline_passed");
    assert_eq!(refused(&root, DelegationAsk { to: "nobody", ..at(10) }).0, "agent.unknown");
}

fn may(chain: &Chain, own: &Worker, tool: &str, effect: Effect) -> Result<(), String> {
    let layers = [("contract".to_owned(), Limits::from(own))].into_iter().chain(chain.layers());
    let rules = Rules::new(&own.id, layers).expect("good globs");
    rules.permits(&ToolName::new(tool), effect).map_err(|refusal| refusal.reason)
}

#[test]
fn a_ceiling_is_what_may_be_granted_and_denials_flow_down_whatever_the_worker_has() {
    let refund = worker("refund");
    let mut root = worker("root");
    root.allowed = AllowList::Only(set(&["get"]));
    root.deny_write = true;
    let below = |root: &Worker| Chain::root(root).then(&refund);
    assert_eq!(
        may(&below(&root), &refund, "put", Effect::Read),
        Ok(()),
        "a coordinator hands on what it lacks"
    );
    let (put, write) = ("put", Effect::Write);
    let denied = may(&below(&root), &refund, put, write).expect_err("denied");
    assert!(denied.ends_with("for refund by the chain:root"), "{denied}");
    root.may_grant = list(&["p*"]);
    assert!(may(&below(&root), &refund, "get", Effect::Read).is_err());
    root.may_grant = None;
    root.containment.mode = ContainmentMode::Strict;
    assert!(may(&below(&root), &refund, put, Effect::Read).is_err());
    assert_eq!(may(&below(&root), &refund, "get", Effect::Read), Ok(()));
    root.containment.mode = ContainmentMode::Off;
    assert_eq!(may(&below(&root), &refund, put, write), Ok(()));
}

fn any_worker(id: &'static str) -> impl Strategy<Value = Worker> {
    let tools = || prop::collection::vec(prop::sample::select(vec!["get", "put", "p*", "*"]), 0..3);
    let mode =
        prop::sample::select(vec![ContainmentMode::Off, ContainmentMode::Delegable, ContainmentMode::Strict]);
    (prop::option::of(tools()), prop::option::of(tools()), any::<bool>(), mode).prop_map(
        move |(allowed, may_grant, deny_write, mode)| {
            let mut worker = worker(id);
            worker.allowed = allowed.map_or(AllowList::Everything, |tools| AllowList::Only(set(&tools)));
            worker.may_grant = may_grant.and_then(|tools| list(&tools));
            worker.deny_write = deny_write;
            worker.containment.mode = mode;
            worker
        },
    )
}

proptest! {
    #[test]
    fn a_longer_chain_gives_nothing_back(
        top in any_worker("root"),
        middle in any_worker("ledger"),
        own in any_worker("refund"),
        tool in prop::sample::select(vec!["get", "put", "pay"]),
        write in any::<bool>(),
    ) {
        let effect = if write { Effect::Write } else { Effect::Read };
        let alone = may(&Chain::root(&own), &own, tool, effect).is_ok();
        let once = may(&Chain::root(&middle).then(&own), &own, tool, effect).is_ok();
        let twice = may(&Chain::root(&top).then(&middle).then(&own), &own, tool, effect).is_ok();
        prop_assert!(!twice || once);
        prop_assert!(!once || alone);
    }
}
