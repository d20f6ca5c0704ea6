use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;

fn worker() -> WorkerId {
    WorkerId::new("refund").expect("an id")
}

fn only(names: &[&str]) -> Limits {
    Limits { allowed: AllowList::Only(names.iter().map(|n| (*n).to_owned()).collect()), ..Limits::default() }
}

fn rules(layers: &[(&str, Limits)]) -> Rules {
    let layers = layers.iter().map(|(n, l)| ((*n).to_owned(), l.clone()));
    Rules::new(&worker(), layers).expect("good globs")
}

fn may(rules: &Rules, tool: &str) -> bool {
    rules.permits(&ToolName::new(tool), Effect::Read).is_ok()
}

fn ask(tool: &ToolName, at: u64) -> Ask<'_> {
    Ask { tool, effect: Effect::Write, at: Moment(at) }
}

/// Few names and patterns, so that layers meet.
fn a_list() -> impl Strategy<Value = BTreeSet<String>> {
    let names = prop::sample::select(vec!["get", "get_all", "put", "put_*", "g*", "*", "p?t", "a/b", "a*"]);
    btree_set(names.prop_map(str::to_owned), 0..4)
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        option::of(a_list()),
        prop_oneof![3 => Just(BTreeSet::new()), 1 => a_list()],
        any::<bool>(),
        any::<bool>(),
        option::of(0u64..5),
        option::of(1u64..100),
    )
        .prop_map(|(allowed, denied, deny_write, deny_net, max_calls, budget)| Limits {
            allowed: allowed.map_or(AllowList::Everything, AllowList::Only),
            denied,
            deny_write,
            deny_net,
            max_calls,
            budget: budget.map(Duration::from_nanos),
        })
}

fn stack(layers: &[Limits]) -> Rules {
    let named = layers.iter().enumerate().map(|(n, limits)| (format!("layer {n}"), limits.clone()));
    Rules::new(&worker(), named).expect("good globs")
}

fn an_ask() -> impl Strategy<Value = (ToolName, Effect, Usage, Moment)> {
    (
        prop::sample::select(vec!["get", "get_all", "put", "put_x", "a/b", "zzz"]),
        prop::sample::select(vec![Effect::Read, Effect::Write, Effect::Net]),
        0u64..6,
        option::of(0u64..50),
        0u64..200,
    )
        .prop_map(|(tool, effect, calls, start, at)| {
            let usage = Usage { calls, budget_start: start.map(Moment) };
            (ToolName::new(tool), effect, usage, Moment(at))
        })
}

proptest! {
    /// What all layers together let through, each of them lets through alone, and the other way round.
    #[test]
    fn the_result_is_exactly_the_meet_of_the_layers(
        layers in vec(limits(), 0..4),
        (tool, effect, usage, at) in an_ask(),
    ) {
        let ask = Ask { tool: &tool, effect, at };
        let together = decide(&stack(&layers), usage, ask).is_ok();
        let each = layers.iter().all(|one| decide(&stack(std::slice::from_ref(one)), usage, ask).is_ok());
        prop_assert_eq!(together, each);
    }

    #[test]
    fn the_order_of_layers_changes_nothing(
        layers in vec(limits(), 2..4).prop_shuffle(),
        (tool, effect, usage, at) in an_ask(),
    ) {
        let mut turned = layers.clone();
        turned.reverse();
        let ask = Ask { tool: &tool, effect, at };
        let code = |layers: &[Limits]| decide(&stack(layers), usage, ask).map(|p| p.deadline()).map_err(|r| r.code);
        prop_assert_eq!(code(&layers), code(&turned));
    }

    #[test]
    fn one_more_layer_never_gives(
        layers in vec(limits(), 0..3),
        more in limits(),
        (tool, effect, usage, at) in an_ask(),
    ) {
        let ask = Ask { tool: &tool, effect, at };
        let before = decide(&stack(&layers), usage, ask);
        let narrowed: Vec<_> = layers.into_iter().chain([more]).collect();
        if let Ok(permit) = decide(&stack(&narrowed), usage, ask) {
            let before = before.expect("narrowing does not give");
            if let Some(deadline) = before.deadline() {
                prop_assert!(permit.deadline().expect("kept") <= deadline);
            }
        }
    }

    #[test]
    fn a_union_permits_what_one_of_its_workers_may(
        workers in vec(limits(), 0..4),
        (tool, effect, _, _) in an_ask(),
    ) {
        let each: Vec<_> = workers.iter().map(|one| stack(std::slice::from_ref(one))).collect();
        let any = each.iter().any(|one| one.permits(&tool, effect).is_ok());
        prop_assert_eq!(Rules::any_of(each).permits(&tool, effect).is_ok(), any);
    }

    #[test]
    fn nothing_unmapped_passes_a_layer_that_takes_tools_away(layers in vec(limits(), 0..3)) {
        let limited = layers.iter().any(|l| {
            l.allowed != AllowList::Everything || !l.denied.is_empty() || l.deny_write || l.deny_net
        });
        let refused = decide_unmapped(&stack(&layers), Usage::default(), Moment(0)).is_err_and(|r| r.code == RefusalCode::UnknownAction);
        prop_assert_eq!(refused, limited);
    }
}

#[test]
fn an_absent_list_is_everything_and_an_empty_one_nothing() {
    assert!(may(&rules(&[("contract", Limits::default())]), "anything"));
    assert!(may(&rules(&[]), "anything"));
    assert!(!may(&rules(&[("contract", only(&[]))]), "anything"));
}

#[test]
fn names_and_globs_match_the_whole_name_by_case() {
    let listed = rules(&[("contract", only(&["get", "put_*", "q?"]))]);
    for yes in ["get", "put_", "put_x", "put_a/b", "q1"] {
        assert!(may(&listed, yes), "{yes}");
    }
    for no in ["get_all", "xget", "Get", "xput_x", "q", "q12", "", "gеt" /* Cyrillic е */] {
        assert!(!may(&listed, no), "{no}");
    }
}

#[test]
fn a_denial_beats_a_list() {
    let mut limits = only(&["get", "put"]);
    limits.denied.insert("p*".to_owned());
    let rules = rules(&[("contract", limits)]);
    assert!(may(&rules, "get"));
    assert!(!may(&rules, "put"));
}

#[test]
fn deny_write_and_deny_net_go_by_effect() {
    let no_write = Limits { deny_write: true, ..Limits::default() };
    let no_net = Limits { deny_net: true, ..Limits::default() };
    let tool = ToolName::new("get");
    let ok = |limits: &Limits, effect| rules(&[("contract", limits.clone())]).permits(&tool, effect).is_ok();
    assert!(ok(&no_write, Effect::Read) && ok(&no_write, Effect::Net));
    assert!(!ok(&no_write, Effect::Write));
    assert!(ok(&no_net, Effect::Read) && ok(&no_net, Effect::Write));
    assert!(!ok(&no_net, Effect::Net));
}

#[test]
fn a_bad_glob_is_an_error_that_names_it() {
    let layers = [("scenario".to_owned(), only(&["get", "p[ut"]))];
    let bad = Rules::new(&worker(), layers).expect_err("no glob");
    assert_eq!((bad.layer.as_str(), bad.pattern.as_str()), ("scenario", "p[ut"));
}

#[test]
fn a_refusal_names_tool_worker_and_layer() {
    let rules = rules(&[("contract", only(&["get", "put"])), ("scenario", only(&["get"]))]);
    let refusal = rules.permits(&ToolName::new("put"), Effect::Write).expect_err("narrowed away");
    assert_eq!(refusal.code, RefusalCode::NotPermitted);
    assert_eq!(refusal.reason, "put is not among the tools allowed for refund by the scenario");
}

#[test]
fn permission_comes_before_calls_and_calls_before_the_deadline() {
    let all = Limits { max_calls: Some(1), budget: Some(Duration::from_nanos(10)), ..only(&["put"]) };
    let rules = rules(&[("contract", all)]);
    let code = |tool: &str, calls, at| {
        let usage = Usage { calls, budget_start: Some(Moment(0)) };
        decide(&rules, usage, ask(&ToolName::new(tool), at)).map_err(|refusal| refusal.code)
    };
    assert_eq!(code("get", 1, 10).err(), Some(RefusalCode::NotPermitted));
    assert_eq!(code("put", 1, 10).err(), Some(RefusalCode::CallsExhausted));
    assert_eq!(code("put", 0, 10).err(), Some(RefusalCode::DeadlinePassed));
    assert_eq!(code("put", 0, 9).expect("in time").deadline(), Some(Moment(10)));
}

#[test]
fn no_deadline_runs_before_its_budget_starts() {
    let limits = Limits { budget: Some(Duration::from_nanos(10)), ..Limits::default() };
    let rules = rules(&[("contract", limits)]);
    let tool = ToolName::new("put");
    let permit = decide(&rules, Usage::default(), ask(&tool, 1_000)).expect("not started");
    assert_eq!(permit.deadline(), None);
}

#[test]
fn a_permit_is_asked_again_after_a_sleep() {
    let limits = Limits { budget: Some(Duration::from_nanos(10)), ..Limits::default() };
    let rules = rules(&[("contract", limits)]);
    let usage = Usage { calls: 0, budget_start: Some(Moment(0)) };
    let tool = ToolName::new("put");
    let permit = decide(&rules, usage, ask(&tool, 0)).expect("in time");
    let permit = permit.still(Moment(9)).expect("still in time");
    let refusal = permit.still(Moment(10)).expect_err("too late");
    assert_eq!(refusal.code, RefusalCode::DeadlinePassed);
}

#[test]
fn a_union_counts_the_sum_and_waits_for_the_longest_of_those_that_may() {
    let one = |limits| rules(&[("contract", limits)]);
    let quick =
        Limits { max_calls: Some(2), budget: Some(Duration::from_nanos(10)), ..only(&["put", "get"]) };
    let slow = Limits { max_calls: Some(3), budget: Some(Duration::from_nanos(99)), ..only(&["get"]) };
    let both = Rules::any_of([one(quick.clone()), one(slow)]);
    assert_eq!(both.worker(), None);
    assert_eq!(both.max_calls(), Some(5));
    let usage = Usage { calls: 4, budget_start: Some(Moment(0)) };
    let deadline =
        |tool: &str| decide(&both, usage, ask(&ToolName::new(tool), 0)).expect("in time").deadline();
    assert_eq!(deadline("put"), Some(Moment(10)));
    assert_eq!(deadline("get"), Some(Moment(99)));
    assert_eq!(Rules::any_of([one(quick), one(Limits::default())]).max_calls(), None);
    assert_eq!(Rules::any_of([]).max_calls(), None);
    assert!(!may(&Rules::any_of([]), "get"));
}
