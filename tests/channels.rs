//! Channels in front of the embedded world: what is permitted happens, what is not does not, and the rows say which.

mod desk;

use std::sync::atomic::Ordering;
use std::time::Duration;

use desk::{Answer, CONTRACT, Desk, Plan, scenario_text};
use serde_json::{Value, json};

const REFUND: &str = r#"{"order_id":"1042","amount_cents":5990}"#;

fn code(answer: &Answer) -> &str {
    match answer.status {
        403 => "refused",
        _ => "answered",
    }
}

#[tokio::test]
async fn an_allowed_call_reaches_the_world_and_is_two_rows() {
    let desk = Desk::open();
    let answer = desk.at("REFUND_URL").get("/orders/1042?expand=1").await;
    assert_eq!((answer.status, answer.header("content-type").as_deref()), (200, Some("application/json")));
    assert_eq!(answer.json(), json!({"id": "1042", "status": "delivered", "total_cents": 5990}));
    let rows = desk.rows();
    let (attempt, outcome) = (&rows[0], &rows[1]);
    assert_eq!(attempt["worker"], "refund");
    assert_eq!(attempt["tool"], "get_order");
    assert_eq!(attempt["arguments"], json!({"order_id": "1042", "expand": "1"}));
    assert_eq!(attempt["decision"], "allowed");
    assert_eq!(attempt["basis"], "enforced");
    assert_eq!(attempt["request"], "GET /orders/1042?expand=1");
    assert_eq!(outcome["attempt"], attempt["seq"]);
    assert_eq!((&outcome["kind"], &outcome["status"]), (&json!("done"), &json!(200)));
    assert_eq!(outcome["result"], answer.json());
}

#[tokio::test]
async fn a_refused_call_never_reaches_the_world() {
    let desk = Desk::open();
    let answer = desk.at("LOOKUP_URL").post("/refunds", REFUND).await;
    assert_eq!(answer.refusal().as_deref(), Some("not_permitted"));
    assert_eq!(answer.json()["error"]["tool"], "issue_refund");
    assert_eq!(answer.json()["error"]["worker"], "order_lookup");
    assert!(desk.table("refunds").is_empty());
    assert_eq!(desk.attempts(), ["order_lookup issue_refund refused not_permitted"]);
    let attempt = &desk.rows_of("attempt")[0];
    assert_eq!(attempt["arguments"], json!({"order_id": "1042", "amount_cents": 5990}));
    assert_eq!(attempt["reason"], answer.json()["error"]["message"]);
    assert!(desk.outcomes().is_empty());
}

#[tokio::test]
async fn the_world_saying_no_is_no_refusal_of_ours() {
    let desk = Desk::open();
    let answer = desk.at("REFUND_URL").get("/orders/9").await;
    assert_eq!((answer.status, answer.refusal()), (404, None));
    assert_eq!(desk.outcomes(), ["world_refused order_not_found 404"]);
}

#[tokio::test]
async fn a_body_that_is_no_json_is_the_worlds_invalid_arguments() {
    let desk = Desk::open();
    for body in ["{", r#"{"order_id":"1","amount_cents":1,"amount_cents":2}"#] {
        let answer = desk.at("REFUND_URL").post("/refunds", body).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    assert_eq!(desk.outcomes(), ["world_refused invalid_arguments 400"; 2]);
    assert!(desk.table("refunds").is_empty());
    assert_eq!(desk.rows_of("attempt")[0]["arguments"], json!({"body": "{"}));
}

#[tokio::test]
async fn a_form_is_read_as_arguments_and_typed_by_the_schema() {
    let desk = Desk::open();
    let form = ["content-type: application/x-www-form-urlencoded"];
    let answer = desk.at("REFUND_URL").send("POST", "/refunds", &form, b"order_id=1042&amount_cents=5").await;
    assert_eq!(answer.json(), json!({"refunds": 1}));
    assert_eq!(desk.rows_of("attempt")[0]["arguments"], json!({"order_id": "1042", "amount_cents": 5}));
}

#[tokio::test]
async fn a_head_is_a_get_without_its_body() {
    let desk = Desk::open();
    let get = desk.at("REFUND_URL").get("/orders/1042").await;
    let head = desk.at("REFUND_URL").send("HEAD", "/orders/1042", &[], b"").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(desk.attempts(), ["refund get_order allowed -"; 2]);
}

#[tokio::test]
async fn an_action_that_is_no_tool_is_refused_and_told_what_the_path_allows() {
    let desk = Desk::open();
    for (method, target, allow) in [
        ("DELETE", "/orders/1042", Some("GET")),
        ("OPTIONS", "/orders/1042", Some("GET")),
        ("GET", "/nothing", None),
    ] {
        let answer = desk.at("REFUND_URL").send(method, target, &[], b"").await;
        assert_eq!(answer.refusal().as_deref(), Some("unknown_action"), "{method} {target}");
        assert_eq!(answer.header("allow").as_deref(), allow);
    }
    assert_eq!(desk.attempts(), ["refund - refused unknown_action"; 3]);
}

#[tokio::test]
async fn an_unknown_token_is_refused_counted_and_never_shown() {
    let desk = Desk::open();
    let address = desk.at("REFUND_URL").with_prefix("/0123456789abcdef0123456789abcdef");
    for _ in 0..2 {
        let answer = address.post("/refunds", REFUND).await;
        assert_eq!(answer.refusal().as_deref(), Some("unknown_channel"));
    }
    assert!(desk.rows().is_empty());
    let unknown = desk.door.unknown_tokens();
    assert_eq!(unknown.values().collect::<Vec<_>>(), [&2]);
    assert!(unknown.keys().all(|digest| !"0123456789abcdef0123456789abcdef".contains(digest)));
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_it_says_so_or_not() {
    let desk = Desk::open();
    let large = format!(r#"{{"order_id":"{}"}}"#, "x".repeat(70_000));
    let told = desk.at("REFUND_URL").post("/refunds", &large).await;
    assert_eq!(told.refusal().as_deref(), Some("body_too_large"));
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let headers = ["content-type: application/json", "transfer-encoding: chunked"];
    let untold = desk.at("REFUND_URL").send("POST", "/refunds", &headers, chunk.as_bytes()).await;
    assert_eq!(untold.refusal().as_deref(), Some("body_too_large"));
    assert_eq!(desk.attempts(), ["refund issue_refund refused body_too_large"; 2]);
    assert!(desk.rows_of("attempt").iter().all(|row| row["arguments_cut"] == true));
}

#[tokio::test]
async fn a_chunked_body_is_read_whole() {
    let desk = Desk::open();
    let headers = ["content-type: application/json", "transfer-encoding: chunked"];
    let (a, b) = REFUND.split_at(7);
    let body = format!("{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
    let answer = desk.at("REFUND_URL").send("POST", "/refunds", &headers, body.as_bytes()).await;
    assert_eq!(answer.json(), json!({"refunds": 1}));
}

#[tokio::test]
async fn exactly_as_many_calls_pass_as_may_however_they_race() {
    let desk = Desk::under("workers: { refund: { max_calls: 10 } }");
    let address = desk.at("REFUND_URL");
    let calls = (0..100).map(|n| {
        let address = address.clone();
        async move { address.post(&format!("/numbers/{n}"), "").await }
    });
    let answers = futures_util::future::join_all(calls).await;
    let passed = answers.iter().filter(|answer| answer.status == 200).count();
    let exhausted = answers.iter().filter(|a| a.refusal().as_deref() == Some("calls_exhausted")).count();
    assert_eq!((passed, exhausted), (10, 90));
    assert_eq!(desk.table("numbers").len(), 10);
    assert_eq!(desk.attempts().iter().filter(|a| a.ends_with("allowed -")).count(), 10);
}

#[tokio::test]
async fn a_budget_counts_from_the_first_turn_and_refuses_before_the_world() {
    let desk = Desk::under("worker_budget_seconds: 1");
    let address = desk.at("REFUND_URL");
    assert_eq!(address.post("/numbers/1", "").await.status, 200);
    desk.channels.turn_started(desk.clock.now());
    assert_eq!(address.post("/numbers/2", "").await.status, 200);
    tokio::time::sleep(Duration::from_millis(1050)).await;
    let late = address.post("/numbers/3", "").await;
    assert_eq!(late.refusal().as_deref(), Some("deadline_passed"));
    let forbidden = address.get("/nothing").await;
    assert_eq!(forbidden.refusal().as_deref(), Some("unknown_action"));
    assert_eq!(desk.table("numbers").len(), 2);
    assert!(desk.rows_of("outcome").iter().all(|row| row["ended_after_deadline"] == false));
}

#[tokio::test]
async fn a_budget_may_count_from_the_workers_own_first_call() {
    let desk = Desk::under("worker_budget_seconds: 1\nbudget_from: first_call");
    desk.channels.turn_started(desk.clock.now());
    tokio::time::sleep(Duration::from_millis(1050)).await;
    let refund = desk.at("REFUND_URL");
    assert_eq!(refund.post("/numbers/1", "").await.status, 200);
    tokio::time::sleep(Duration::from_millis(1050)).await;
    assert_eq!(refund.post("/numbers/2", "").await.refusal().as_deref(), Some("deadline_passed"));
    assert_eq!(desk.at("LOOKUP_URL").get("/orders/1042").await.status, 200);
}

#[tokio::test]
async fn after_a_latency_the_deadline_is_looked_at_again() {
    let desk = Desk::under(
        "worker_budget_seconds: 1\nfaults: [{ worker: refund, tool: sleepless, latency: 1200ms }]",
    );
    desk.channels.turn_started(desk.clock.now());
    let answer = desk.at("REFUND_URL").post("/numbers/1", "").await;
    assert_eq!(answer.refusal().as_deref(), Some("deadline_passed"));
    assert!(desk.table("numbers").is_empty());
    assert_eq!(desk.attempts(), ["refund sleepless faulted -"]);
    assert_eq!(desk.outcomes(), ["refused deadline_passed 403"]);
}

#[tokio::test]
async fn a_call_begun_in_time_may_end_late_and_is_marked() {
    let desk = Desk::under("worker_budget_seconds: 1\nfaults: [{ tool: sleepless, stall: 1200ms }]");
    desk.channels.turn_started(desk.clock.now());
    let answer = desk.at("REFUND_URL").post("/numbers/1", "").await;
    assert_eq!(answer.status, 200);
    let outcome = &desk.rows_of("outcome")[0];
    assert_eq!((&outcome["kind"], &outcome["ended_after_deadline"]), (&json!("done"), &json!(true)));
}

#[tokio::test]
async fn each_fault_does_what_it_says_and_no_more() {
    let cases: [(&str, &dyn Fn(&Answer, &Desk)); 7] = [
        ("latency: 10ms", &|answer, desk| {
            assert_eq!(answer.status, 200);
            assert_eq!(desk.outcomes(), ["done - 200"]);
            assert_eq!(desk.rows_of("outcome")[0]["cut"], true);
        }),
        ("reply: { status: 503, headers: { retry-after: \"1\" }, body: { busy: true } }", &|answer, desk| {
            assert_eq!((answer.status, answer.json()), (503, json!({"busy": true})));
            assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
            assert!(desk.table("numbers").is_empty());
            assert_eq!(desk.outcomes(), ["faulted - 503"]);
        }),
        ("drop: true", &|answer, desk| {
            assert_eq!(answer.status, 0, "{answer:?}");
            assert!(desk.table("numbers").is_empty());
            assert_eq!(desk.outcomes(), ["faulted - null"]);
        }),
        ("truncate: 3", &|answer, desk| {
            assert_eq!((answer.status, answer.text().as_str(), answer.whole), (200, "{\"n", false));
            assert_eq!(desk.table("numbers").len(), 1);
            assert_eq!(desk.outcomes(), ["done - 200"]);
            assert_eq!(desk.rows_of("outcome")[0]["cut"], true);
            assert_eq!(desk.rows_of("outcome")[0]["result"], json!({"n": 1}));
        }),
        ("disconnect: true", &|answer, desk| {
            assert_eq!(answer.status, 0, "{answer:?}");
            assert_eq!(desk.table("numbers").len(), 1);
            assert_eq!(desk.outcomes(), ["done - null"]);
        }),
        ("stall: 10ms", &|answer, desk| {
            assert_eq!(answer.status, 200);
            assert_eq!(desk.outcomes(), ["done - 200"]);
        }),
        ("stale: true", &|answer, desk| {
            assert_eq!(answer.status, 200, "nothing came before it");
            assert_eq!(desk.outcomes(), ["done - 200"]);
        }),
    ];
    for (fault, claim) in cases {
        let desk =
            Desk::under(&format!("faults: [{{ worker: refund, tool: sleepless, on_call: 1, {fault} }}]"));
        let answer = desk.at("REFUND_URL").post("/numbers/1", "").await;
        claim(&answer, &desk);
        assert_eq!(desk.attempts(), ["refund sleepless faulted -"], "{fault}");
        assert!(desk.rows_of("attempt")[0]["reason"].is_string(), "{fault}");
        // Only the first call was meant.
        assert_eq!(desk.at("REFUND_URL").post("/numbers/2", "").await.status, 200, "{fault}");
    }
}

#[tokio::test]
async fn a_stale_answer_is_the_one_before_and_asks_nobody() {
    let desk = Desk::under("faults: [{ tool: issue_refund, on_call: 3, stale: true }]");
    let address = desk.at("REFUND_URL");
    for refunds in [1, 2, 2, 3] {
        assert_eq!(address.post("/refunds", REFUND).await.json(), json!({"refunds": refunds}));
    }
    assert_eq!(desk.outcomes()[2], "faulted - 200");
    assert_eq!(desk.table("refunds").len(), 3);
}

#[tokio::test]
async fn after_the_close_calls_are_late_rows_and_after_the_seal_only_counted() {
    let desk = Desk::open();
    let address = desk.at("REFUND_URL");
    desk.channels.close();
    assert_eq!(address.post("/numbers/1", "").await.refusal().as_deref(), Some("trial_closed"));
    assert_eq!(desk.attempts(), ["refund sleepless refused trial_closed"]);
    assert_eq!(desk.rows_of("attempt")[0]["late"], true);
    desk.channels.seal().await;
    for _ in 0..2 {
        assert_eq!(address.post("/numbers/1", "").await.refusal().as_deref(), Some("trial_closed"));
    }
    assert_eq!(desk.rows().len(), 1);
    let late = desk.door.late_calls();
    assert_eq!((late.len(), late[0].calls), (1, 2));
    assert_eq!(late[0].worker.as_ref().map(|id| id.as_str()), Some("refund"));
    assert!(desk.table("numbers").is_empty());
}

#[tokio::test]
async fn a_late_call_of_one_trial_is_never_the_next_ones() {
    let first = Desk::open();
    let second = Desk::behind(&first.door, Plan::default(), 2);
    let address = first.at("REFUND_URL");
    first.channels.seal().await;
    assert_eq!(address.post("/numbers/1", "").await.refusal().as_deref(), Some("trial_closed"));
    assert!(second.rows().is_empty() && second.table("numbers").is_empty());
    assert_eq!(first.door.late_calls()[0].trial.as_str(), "s/0-1");
}

#[tokio::test]
async fn channels_that_are_dropped_open_nothing() {
    let desk = Desk::open();
    let address = desk.at("REFUND_URL");
    let Desk { channels, door, .. } = desk;
    drop(channels);
    assert_eq!(address.post("/numbers/1", "").await.refusal().as_deref(), Some("trial_closed"));
    drop(door);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(tokio::net::TcpStream::connect(address.socket).await.is_err());
}

#[tokio::test]
async fn without_its_attempt_row_a_call_does_not_happen() {
    let desk = Desk::open();
    desk.memory.full.store(true, Ordering::SeqCst);
    let address = desk.at("REFUND_URL");
    assert_eq!(address.post("/numbers/1", "").await.refusal().as_deref(), Some("log_unavailable"));
    desk.memory.full.store(false, Ordering::SeqCst);
    assert_eq!(address.post("/numbers/2", "").await.refusal().as_deref(), Some("log_unavailable"));
    assert!(desk.table("numbers").is_empty() && desk.rows().is_empty());
}

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_its_call() {
    use tokio::io::AsyncWriteExt;
    let desk = Desk::under("faults: [{ tool: sleepless, latency: 300ms }]");
    let address = desk.at("REFUND_URL");
    let mut stream = tokio::net::TcpStream::connect(address.socket).await.expect("a connection");
    let request = format!("POST {}/numbers/1 HTTP/1.1\r\nhost: x\r\n\r\n", address.prefix);
    stream.write_all(request.as_bytes()).await.expect("sent");
    while desk.channels.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    assert!(desk.channels.settled(Duration::from_secs(5)).await);
    assert_eq!(desk.outcomes(), ["done - 200"]);
    assert_eq!(desk.table("numbers").len(), 1);
}

#[tokio::test]
async fn a_call_that_sleeps_for_a_fault_when_the_trial_ends_never_reaches_the_world() {
    let desk = Desk::under("faults: [{ tool: sleepless, latency: 3600s }]");
    let address = desk.at("REFUND_URL");
    let call = tokio::spawn(async move { address.post("/numbers/1", "").await });
    while desk.channels.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!desk.channels.settled(Duration::from_millis(10)).await);
    desk.channels.close();
    assert_eq!(call.await.expect("answered").refusal().as_deref(), Some("trial_closed"));
    assert!(desk.channels.settled(Duration::from_secs(5)).await);
    assert_eq!(desk.outcomes(), ["refused trial_closed 403"]);
    assert!(desk.table("numbers").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_concurrent_calls_lose_nothing_and_keep_their_order() {
    const CALLS: u64 = 2000;
    let contract = CONTRACT.replace("limits: {", "limits: { calls: 100000,");
    let desk = Desk::of(&contract);
    let address = desk.at("REFUND_URL");
    let clients = (0..64u64).map(|client| {
        let address = address.clone();
        tokio::spawn(async move {
            for n in (client..CALLS).step_by(64) {
                assert_eq!(address.post(&format!("/numbers/{n}"), "").await.json(), json!({ "n": n }));
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("all answered");
    }
    assert_eq!(desk.table("numbers").len() as u64, CALLS);
    let rows = desk.rows();
    assert_eq!(rows.len() as u64, 2 * CALLS);
    let mut open = std::collections::BTreeMap::new();
    for row in &rows {
        if row["row"] == "attempt" {
            open.insert(row["seq"].clone().to_string(), row["arguments"]["n"].clone());
        } else {
            let n = open.remove(&row["attempt"].to_string()).expect("an attempt before its outcome");
            assert_eq!(row["result"]["n"], n);
        }
    }
    assert!(open.is_empty());
    // Each client waits for one call before the next: its calls stand in that order.
    let mut last = [None; 64];
    for row in rows.iter().filter(|row| row["row"] == "attempt") {
        let n = row["arguments"]["n"].as_u64().expect("a number");
        let client = usize::try_from(n % 64).expect("small");
        assert!(last[client] < Some(n));
        last[client] = Some(n);
    }
}

const SHARED: &str = r#"
contract: 1
app: { name: desk, start: ["true"], talk: stdio }
shared: { address_env: TOOLS_URL }
workers:
  - { id: order_lookup, agent: Lookup, allowed_tools: [get_order], lane: token_header, token_env: LOOKUP_TOKEN }
  - { id: refund, agent: Refund, allowed_tools: [issue_refund], lane: token_header, token_env: REFUND_TOKEN }
  - { id: clerk, agent: Clerk, allowed_tools: [sleepless], lane: spans }
"#;

fn shared(without_clerk: bool) -> Desk {
    let world = &CONTRACT[CONTRACT.find("world:").expect("a world")..];
    let mut text = format!("{SHARED}{world}");
    if without_clerk {
        text = text.lines().filter(|line| !line.contains("clerk")).collect::<Vec<_>>().join("\n");
    }
    Desk::of(&text)
}

#[tokio::test]
async fn a_shared_address_tells_workers_apart_by_their_tokens() {
    let desk = shared(false);
    let address = desk.at("TOOLS_URL");
    let header = |name: &str| format!("mocktrial-channel: {}", desk.variable(name));
    let (lookup, refund) = (header("LOOKUP_TOKEN"), header("REFUND_TOKEN"));
    let json = "content-type: application/json";
    let send = |token: Option<&str>, target: &str| {
        let headers: Vec<String> = [json].into_iter().chain(token).map(str::to_owned).collect();
        let (address, target) = (address.clone(), target.to_owned());
        async move {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            let method = if target.starts_with("/orders") { "GET" } else { "POST" };
            let body: &[u8] = if method == "POST" { REFUND.as_bytes() } else { b"" };
            code(&address.send(method, &target, &headers, body).await).to_owned()
        }
    };
    assert_eq!(send(Some(&lookup), "/orders/1042").await, "answered");
    assert_eq!(send(Some(&refund), "/orders/1042").await, "refused");
    assert_eq!(send(Some(&refund), "/refunds").await, "answered");
    assert_eq!(send(None, "/refunds").await, "refused");
    assert_eq!(send(None, "/numbers/1").await, "answered");
    assert_eq!(
        desk.attempts(),
        [
            "order_lookup get_order allowed -",
            "refund get_order refused not_permitted",
            "refund issue_refund allowed -",
            "- issue_refund refused not_permitted",
            "- sleepless allowed -",
        ]
    );
    let bases: Vec<Value> = desk.rows_of("attempt").iter().map(|row| row["basis"].clone()).collect();
    assert_eq!(bases, ["enforced", "enforced", "enforced", "audited", "audited"]);
}

#[tokio::test]
async fn on_a_shared_address_a_missing_wrong_or_doubled_token_is_nobodys() {
    let desk = shared(true);
    let address = desk.at("TOOLS_URL");
    let token = desk.variable("LOOKUP_TOKEN");
    let good = format!("mocktrial-channel: {token}");
    for headers in [
        vec![],
        vec!["mocktrial-channel: 0123456789abcdef0123456789abcdef"],
        vec!["mocktrial-channel: "],
        vec![&good, &good],
        vec![&good, "mocktrial-channel: x"],
    ] {
        let answer = address.send("GET", "/orders/1042", &headers, b"").await;
        assert_eq!(answer.refusal().as_deref(), Some("unknown_channel"), "{headers:?}");
    }
    assert_eq!(desk.attempts(), ["- get_order refused unknown_channel"; 5]);
    assert!(!desk.text().contains(&token));
    // The header's token is no address.
    let answer = address.with_prefix(&format!("/{token}")).get("/orders/1042").await;
    assert_eq!(answer.refusal().as_deref(), Some("unknown_channel"));
}

#[tokio::test]
async fn the_calls_span_is_in_its_row() {
    let desk = Desk::open();
    let parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    desk.at("REFUND_URL").send("GET", "/orders/1042", &[parent], b"").await;
    let row = &desk.rows_of("attempt")[0];
    assert_eq!(row["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(row["span_id"], "b7ad6b7169203331");
}

#[tokio::test]
async fn a_scenario_narrows_and_its_budget_is_the_least() {
    let desk = Desk::with(Plan {
        scenario: scenario_text("workers: { refund: { only_tools: [get_order] } }"),
        ..Plan::default()
    });
    let answer = desk.at("REFUND_URL").post("/refunds", REFUND).await;
    assert_eq!(answer.refusal().as_deref(), Some("not_permitted"));
    assert!(answer.json()["error"]["message"].as_str().is_some_and(|why| why.contains("scenario")));
}

#[tokio::test]
async fn the_tools_are_described_at_the_channel_and_reading_of_them_is_no_action() {
    let desk = Desk::open();
    let document = desk.at("LOOKUP_URL").get("/openapi.json").await.json();
    assert_eq!((&document["info"]["title"], &document["servers"][0]["url"]), (&json!("desk"), &json!(".")));
    assert_eq!(document["paths"]["/orders/{order_id}"]["get"]["operationId"], "get_order");
    assert_eq!(document["paths"]["/refunds"]["post"]["operationId"], "issue_refund");
    let hiding = Desk::of(&CONTRACT.replace("world:\n", "world:\n  list: permitted\n"));
    let document = hiding.at("LOOKUP_URL").get("/openapi.json").await.json();
    assert_eq!(document["paths"].as_object().map(|paths| paths.len()), Some(1));
    assert!(desk.rows().is_empty() && hiding.rows().is_empty());
}
