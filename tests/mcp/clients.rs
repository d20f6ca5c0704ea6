//! The official clients in front of the embedded world, in both eras.

use serde_json::json;

use crate::desk::Desk;
use crate::official::Sdk;
use crate::support::skip;

async fn meets_the_world(test: &str, sdk: Sdk, mode: &str, version: Option<&str>) {
    let desk = Desk::open();
    let url = |variable: &str| format!("{}/mcp", desk.variable(variable));
    let calls = json!([
        ["get_order", {"order_id": "1042"}],
        ["get_order", {"order_id": "9"}],
        ["issue_refund", {"order_id": "1042", "amount_cents": 5990}],
    ]);
    let refund = match sdk.call(&url("REFUND_URL"), mode, &calls).await {
        Ok(said) => said,
        Err(why) => return skip(test, &why),
    };
    if let Some(version) = version {
        assert_eq!(refund["version"], version);
    }
    assert_eq!(refund["tools"], json!(["get_order", "issue_refund", "sleepless"]));
    let order = json!({"id": "1042", "status": "delivered", "total_cents": 5990});
    assert_eq!(refund["calls"][0]["structure"], order, "{refund}");
    assert_eq!(refund["calls"][0]["failed"], false);
    assert_eq!(refund["calls"][1]["failed"], true);
    assert_eq!(refund["calls"][2]["structure"], json!({"refunds": 1}));
    let refused = sdk.call(&url("LOOKUP_URL"), mode, &json!([calls[2]])).await.expect("installed");
    assert_eq!(refused["calls"][0]["failed"], true);
    assert_eq!(refused["calls"][0]["meta"]["mocktrial/refusal"]["code"], "not_permitted");
    assert_eq!(
        desk.attempts(),
        [
            "refund get_order allowed -",
            "refund get_order allowed -",
            "refund issue_refund allowed -",
            "order_lookup issue_refund refused not_permitted",
        ]
    );
    assert_eq!(desk.table("refunds").len(), 1);
    assert!(!desk.text().contains(desk.at("REFUND_URL").token()));
}

macro_rules! clients {
    ($($test:ident: $sdk:ident $mode:literal $version:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            meets_the_world(stringify!($test), Sdk::$sdk, $mode, $version).await;
        }
    )*};
}
clients! {
    python_with_a_handshake: Python "legacy" Some("2025-11-25");
    python_that_finds_out: Python "auto" Some("2026-07-28");
    python_without_a_handshake: Python "2026-07-28" Some("2026-07-28");
    javascript_before_its_split: JavaScript "first" None;
    javascript_with_a_handshake: JavaScript "legacy" None;
    javascript_that_finds_out: JavaScript "auto" None;
    javascript_without_a_handshake: JavaScript "2026-07-28" None;
}
