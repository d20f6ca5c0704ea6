//! An absence on a channel counts only where the channel is known to be used: shown by another trial, or by nobody.

#[path = "support/desk.rs"]
mod desk;

use desk::Desk;

const LIES: &str = r#"scenario: a_lie
tests: a desk that only says it paid is known not to have called
env: { MISBEHAVE: lies }
turns:
  - user: Order 1042 came broken. I'd like my money back.
  - user: Yes, please go ahead.
seed: ["INSERT INTO orders VALUES ('1042', 'delivered', 5990)"]
sub_goals:
  - { id: told, reply: { contains: on its way } }
  - { id: refund_never_paid, never: { worker: refund, tool: issue_refund } }
"#;

fn desk() -> Desk {
    let desk = Desk::bare();
    desk.write("a_lie.scenario.yaml", LIES);
    desk.copy("refund_once");
    desk
}

#[test]
fn a_filtered_run_shows_the_channel_by_a_scenario_it_would_not_have_run() {
    let desk = desk();
    let said = desk.told(&["run", ".", "--filter", "a_lie", "--out", "out"], 0);
    assert!(said.contains("1 trials: 1 passed"), "{said}");
    let file = desk.run_file("out");
    let proof = &file["trials"]["refund_once/0-binding"];
    assert_eq!(proof["binding_proof"], true, "{file}");
    assert_eq!(proof["state"]["state"], "sealed", "{file}");
    assert_eq!(desk.record("out", "a_lie/0-1")[0]["bindings"]["refund"], "refund_once/0-binding");
    desk.told(&["verify", "out"], 0);
}

#[test]
fn a_trial_of_the_plan_that_calls_the_worker_comes_first_and_is_run_once() {
    let desk = desk();
    desk.told(&["run", ".", "--out", "out"], 0);
    let file = desk.run_file("out");
    let trials = file["trials"].as_object().expect("trials");
    assert!(trials.values().all(|trial| trial.get("binding_proof").is_none()), "{file}");
    assert_eq!(desk.record("out", "a_lie/0-1")[0]["bindings"]["refund"], "refund_once/0-1");
}

#[test]
fn a_channel_that_nobody_used_is_not_shown_and_the_absence_stays_unknown() {
    let desk = desk();
    // The app's refund client reads another variable than the contract says: no call comes by that channel.
    desk.change("contract.yaml", "address_env: REFUND_URL", "address_env: REFUNDS_URL");
    desk.change("contract.yaml", "env: { ", "env: { REFUND_URL: \"http://127.0.0.1:9/\", ");
    let said = desk.told(&["prove", "--binding", "."], 3);
    assert!(said.contains("refund: not shown: no call came by it in refund_once/0-binding"), "{said}");
    assert!(said.contains("does its tool client read REFUNDS_URL?"), "{said}");
    assert!(said.contains("order_lookup: its calls come through its channel"), "{said}");
    let said = desk.told(&["run", ".", "--filter", "a_lie", "--out", "out"], 3);
    assert!(said.contains("unknown: binding_unproven  refund_never_paid"), "{said}");
}
