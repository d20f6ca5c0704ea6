//! What would keep an app from being observed, told of one that is, one that exports nothing and one whose names are others.

#[path = "support/desk.rs"]
mod desk;

use desk::Desk;

fn desk() -> Desk {
    let desk = Desk::bare();
    desk.copy("refund_once");
    desk
}

#[test]
fn an_observed_app_is_told_so() {
    let said = desk().told(&["doctor", "."], 0);
    assert!(said.contains("by one trial of refund_once"), "{said}");
    assert!(said.contains("order_lookup: 1 calls at ORDER_LOOKUP_URL, "), "{said}");
    assert!(said.contains("nothing keeps this app from being observed"), "{said}");
}

#[test]
fn an_app_that_exports_nothing_is_told_what_to_install() {
    let desk = desk();
    desk.change("contract.yaml", "env: { ", "env: { MISBEHAVE: no_spans, ");
    let said = desk.told(&["doctor", "."], 3);
    assert!(said.contains("instrumentation\n  none"), "{said}");
    assert!(said.contains("no span came from the app\n      the app is told where to send spans"), "{said}");
    assert!(said.contains("openinference-instrumentation-openai-agents"), "{said}");
}

#[test]
fn a_worker_under_another_name_is_named_with_the_names_that_belong_to_nobody() {
    let desk = desk();
    desk.change("contract.yaml", "agent: Refund\n", "agent: Refunder\n");
    let said = desk.told(&["doctor", "."], 3);
    assert!(said.contains("refund is not in the spans (Refunder)"), "{said}");
    assert!(said.contains("names of nobody are `Refund`"), "{said}");
}

#[test]
fn a_worker_whose_client_goes_elsewhere_is_named() {
    let desk = desk();
    desk.change("contract.yaml", "address_env: REFUND_URL", "address_env: REFUNDS_URL");
    desk.change("contract.yaml", "env: { ", "env: { REFUND_URL: \"http://127.0.0.1:9/\", ");
    let said = desk.told(&["doctor", "."], 3);
    assert!(said.contains("no call of refund came through its channel"), "{said}");
}
