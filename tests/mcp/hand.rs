//! By hand: what no official client would send.

use serde_json::{Value, json};

use crate::desk::{Answer, CONTRACT, Desk, Plan, scenario_text};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// One request of the later era.
async fn stateless(desk: &Desk, at: &str, method: &str, params: &str) -> Answer {
    let comma = if params.is_empty() { "" } else { "," };
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}{comma}{META}}}}}"#);
    let name: Value = serde_json::from_str(&format!("{{{params}}}")).expect("JSON");
    let method = format!("mcp-method: {method}");
    let name = name["name"].as_str().map(|name| format!("mcp-name: {name}"));
    let mut headers = vec!["content-type: application/json", "mcp-protocol-version: 2026-07-28", &method];
    headers.extend(name.as_deref());
    desk.at(at).send("POST", "/mcp", &headers, body.as_bytes()).await
}

/// A session of the earlier era: its id.
async fn initialize(desk: &Desk, at: &str, version: &str) -> (String, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "hand", "version": "0"}}});
    let answer = desk.at(at).post("/mcp", &body.to_string()).await;
    let id = answer.header("mcp-session-id").expect("a session");
    (id, answer.json())
}

async fn in_session(desk: &Desk, at: &str, session: &str, message: Value) -> Answer {
    let session = format!("mcp-session-id: {session}");
    let headers = ["content-type: application/json", session.as_str()];
    desk.at(at).send("POST", "/mcp", &headers, message.to_string().as_bytes()).await
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

#[tokio::test]
async fn a_call_over_mcp_is_the_same_action_as_one_over_http() {
    let desk = Desk::open();
    let (session, _) = initialize(&desk, "REFUND_URL", "2025-11-25").await;
    let answer =
        in_session(&desk, "REFUND_URL", &session, call("get_order", json!({"order_id": "1042"}))).await;
    let order = json!({"id": "1042", "status": "delivered", "total_cents": 5990});
    let result = &answer.json()["result"];
    assert_eq!((&result["structuredContent"], &result["isError"]), (&order, &json!(false)));
    assert_eq!(
        serde_json::from_str::<Value>(result["content"][0]["text"].as_str().expect("text")).expect("JSON"),
        order
    );
    let other =
        stateless(&desk, "REFUND_URL", "tools/call", r#""name":"get_order","arguments":{"order_id":"1042"}"#)
            .await;
    assert_eq!(other.json()["result"]["structuredContent"], order);
    assert_eq!(other.json()["result"]["resultType"], "complete");
    desk.at("REFUND_URL").get("/orders/1042").await;
    assert_eq!(desk.attempts(), ["refund get_order allowed -"; 3]);
    assert_eq!(desk.outcomes(), ["done - 200"; 3]);
    let rows = desk.rows_of("attempt");
    assert_eq!(rows[0]["face"], "mcp");
    assert_eq!(rows[0]["arguments"], rows[2]["arguments"]);
    assert!(desk.rows_of("outcome").iter().all(|row| row["result"] == order));
}

#[tokio::test]
async fn a_refusal_is_a_tools_result_that_names_its_code_and_the_world_is_as_it_was() {
    let desk = Desk::open();
    let arguments = json!({"order_id": "1042", "amount_cents": 1});
    let (session, _) = initialize(&desk, "LOOKUP_URL", "2025-06-18").await;
    let answer = in_session(&desk, "LOOKUP_URL", &session, call("issue_refund", arguments.clone())).await;
    let result = &answer.json()["result"];
    assert_eq!((answer.status, &result["isError"]), (200, &json!(true)));
    let refusal = &result["_meta"]["mocktrial/refusal"];
    assert_eq!(refusal["code"], "not_permitted");
    assert_eq!((&refusal["worker"], &refusal["tool"]), (&json!("order_lookup"), &json!("issue_refund")));
    assert!(result["content"][0]["text"].as_str().expect("text").starts_with("not_permitted: "));
    assert_eq!(answer.header("mocktrial-refusal").as_deref(), Some("not_permitted"));
    let params = format!(r#""name":"issue_refund","arguments":{arguments}"#);
    let answer = stateless(&desk, "LOOKUP_URL", "tools/call", &params).await;
    assert_eq!(answer.json()["result"]["_meta"]["mocktrial/refusal"]["code"], "not_permitted");
    assert!(desk.table("refunds").is_empty());
    assert_eq!(desk.attempts(), ["order_lookup issue_refund refused not_permitted"; 2]);
    assert_eq!(desk.rows_of("attempt")[0]["arguments"], arguments);
}

#[tokio::test]
async fn the_world_saying_no_is_a_failed_result_and_no_refusal_of_ours() {
    let desk = Desk::open();
    let (session, _) = initialize(&desk, "REFUND_URL", "2025-11-25").await;
    for (arguments, code) in
        [(json!({"order_id": "9"}), "order_not_found"), (json!({"order_id": 9}), "invalid_arguments")]
    {
        let answer = in_session(&desk, "REFUND_URL", &session, call("get_order", arguments)).await;
        let result = &answer.json()["result"];
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["error"]["code"], code);
        assert!(result["_meta"].is_null());
    }
    assert_eq!(desk.outcomes(), ["world_refused order_not_found 200", "world_refused invalid_arguments 200"]);
}

#[tokio::test]
async fn a_list_is_whole_by_default_and_a_permitted_list_hides_what_is_refused_anyway() {
    let desk = Desk::open();
    let names = |answer: Answer| -> Vec<String> {
        let tools = answer.json()["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let whole = stateless(&desk, "LOOKUP_URL", "tools/list", "").await;
    assert_eq!(whole.json()["result"]["ttlMs"], 0);
    assert_eq!(whole.json()["result"]["cacheScope"], "private");
    assert_eq!(whole.json()["result"]["tools"][0]["inputSchema"]["required"], json!(["order_id"]));
    assert_eq!(names(whole), ["get_order", "issue_refund", "sleepless"]);

    let hiding = Desk::of(&CONTRACT.replace("world:\n", "world:\n  list: permitted\n"));
    assert_eq!(names(stateless(&hiding, "LOOKUP_URL", "tools/list", "").await), ["get_order"]);
    let hidden = r#""name":"issue_refund","arguments":{"order_id":"1042","amount_cents":1}"#;
    let answer = stateless(&hiding, "LOOKUP_URL", "tools/call", hidden).await;
    assert_eq!(answer.json()["result"]["_meta"]["mocktrial/refusal"]["code"], "not_permitted");
    // Lists are no actions.
    assert!(desk.attempts().is_empty());
    assert_eq!(hiding.attempts(), ["order_lookup issue_refund refused not_permitted"]);
}

#[tokio::test]
async fn a_list_is_answered_when_calls_are_not_any_more() {
    let desk = Desk::with(Plan {
        scenario: scenario_text("workers: { refund: { max_calls: 1 } }"),
        ..Plan::default()
    });
    let call = r#""name":"get_order","arguments":{"order_id":"1042"}"#;
    stateless(&desk, "REFUND_URL", "tools/call", call).await;
    let answer = stateless(&desk, "REFUND_URL", "tools/call", call).await;
    assert_eq!(answer.json()["result"]["_meta"]["mocktrial/refusal"]["code"], "calls_exhausted");
    desk.channels.close();
    let answer = stateless(&desk, "REFUND_URL", "tools/call", call).await;
    assert_eq!(answer.json()["result"]["_meta"]["mocktrial/refusal"]["code"], "trial_closed");
    assert_eq!(desk.rows_of("attempt")[2]["late"], true);
    assert_eq!(stateless(&desk, "REFUND_URL", "tools/list", "").await.status, 200);
    desk.channels.seal().await;
    assert_eq!(
        stateless(&desk, "REFUND_URL", "tools/list", "").await.refusal().as_deref(),
        Some("trial_closed")
    );
}

#[tokio::test]
async fn the_version_asked_for_is_spoken_where_it_is_known() {
    let desk = Desk::open();
    for (asked, spoken) in
        [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")]
    {
        let (_, answer) = initialize(&desk, "REFUND_URL", asked).await;
        assert_eq!(answer["result"]["protocolVersion"], spoken);
    }
    let discovered = stateless(&desk, "REFUND_URL", "server/discover", "").await.json();
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
}

#[tokio::test]
async fn a_session_is_its_channels_and_ends_when_it_is_ended() {
    let desk = Desk::open();
    let (session, _) = initialize(&desk, "REFUND_URL", "2025-11-25").await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(in_session(&desk, "REFUND_URL", &session, ping.clone()).await.json()["result"], json!({}));
    assert_eq!(desk.at("REFUND_URL").post("/mcp", &ping.to_string()).await.status, 400);
    assert_eq!(in_session(&desk, "LOOKUP_URL", &session, ping.clone()).await.status, 404);
    let header = format!("mcp-session-id: {session}");
    assert_eq!(desk.at("REFUND_URL").send("DELETE", "/mcp", &[&header], b"").await.status, 200);
    assert_eq!(in_session(&desk, "REFUND_URL", &session, ping).await.status, 404);
}

#[tokio::test]
async fn a_batch_a_doubled_key_and_a_lookalike_reach_no_world_and_are_attempts() {
    let desk = Desk::open();
    let (session, _) = initialize(&desk, "REFUND_URL", "2025-03-26").await;
    let good = r#"{"name":"issue_refund","arguments":{"order_id":"1042","amount_cents":1}}"#;
    let header = format!("mcp-session-id: {session}");
    let headers = ["content-type: application/json", header.as_str()];
    for (body, code) in [
        (format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{good}}}]"#), -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_order","name":"issue_refund","arguments":{"order_id":"1042","amount_cents":1}}}"#.to_owned(),
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"issue_refund","arguments":{"order_id":"1042","amount_cents":1,"amount_cents":2}}}"#.to_owned(),
            -32700,
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{good}}}"#), -32700),
    ] {
        let answer = desk.at("REFUND_URL").send("POST", "/mcp", &headers, body.as_bytes()).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)), "{body}");
    }
    for name in
        ["issue_refund ", "Issue_refund", "iѕsue_refund", "issue\u{200b}_refund", "issue_refund\u{0}", ""]
    {
        let answer = in_session(
            &desk,
            "REFUND_URL",
            &session,
            call(name, json!({"order_id": "1042", "amount_cents": 1})),
        )
        .await;
        let code = &answer.json()["result"]["_meta"]["mocktrial/refusal"]["code"];
        assert_eq!(code, "unknown_action", "{name:?}");
    }
    assert_eq!(desk.attempts(), ["refund - refused unknown_action"; 10]);
    assert!(desk.table("refunds").is_empty());
}

#[tokio::test]
async fn headers_that_name_another_tool_than_the_message_are_a_refused_attempt() {
    let desk = Desk::open();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"issue_refund","arguments":{{"order_id":"1042","amount_cents":1}},{META}}}}}"#
    );
    let version = "mcp-protocol-version: 2026-07-28";
    for headers in [
        vec![version, "mcp-method: tools/call", "mcp-name: get_order"],
        vec![version, "mcp-method: tools/list", "mcp-name: issue_refund"],
        vec![version, "mcp-method: tools/call"],
        vec![version, "mcp-method: tools/call", "mcp-name: issue_refund", "mcp-name: issue_refund"],
    ] {
        let answer = desk.at("REFUND_URL").send("POST", "/mcp", &headers, body.as_bytes()).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32020)), "{headers:?}");
    }
    assert_eq!(desk.attempts(), ["refund - refused unknown_action"; 4]);
    assert!(desk.table("refunds").is_empty());
}

#[tokio::test]
async fn a_fault_meets_a_call_over_mcp_as_it_would_over_http() {
    let faults = r#"
faults:
  - { tool: get_order, on_call: 1, reply: { status: 503, body: { why: down } } }
  - { tool: get_order, on_call: 2, drop: true }
  - { tool: get_order, on_call: 3, truncate: 20 }
  - { tool: get_order, on_call: 4, disconnect: true }
  - { tool: get_order, on_call: 5, stale: true }
"#;
    let desk = Desk::under(faults);
    let call = r#""name":"get_order","arguments":{"order_id":"1042"}"#;
    let first = stateless(&desk, "REFUND_URL", "tools/call", call).await.json();
    assert_eq!(first["result"]["structuredContent"], json!({"why": "down"}));
    assert_eq!(first["result"]["isError"], true);
    assert_eq!(stateless(&desk, "REFUND_URL", "tools/call", call).await.status, 0);
    let third = stateless(&desk, "REFUND_URL", "tools/call", call).await;
    assert_eq!((third.status, third.body.len(), third.whole), (200, 20, false));
    assert_eq!(stateless(&desk, "REFUND_URL", "tools/call", call).await.status, 0);
    let fifth =
        stateless(&desk, "REFUND_URL", "tools/call", r#""name":"get_order","arguments":{"order_id":"none"}"#)
            .await;
    assert_eq!(fifth.json()["result"]["structuredContent"]["id"], "1042");
    assert_eq!(desk.attempts(), ["refund get_order faulted -"; 5]);
    assert_eq!(
        desk.outcomes(),
        ["faulted - 200", "faulted - null", "done - 200", "done - null", "faulted - 200"]
    );
}

#[tokio::test]
async fn a_body_over_the_limit_and_a_method_that_is_none_are_told_so() {
    let desk = Desk::open();
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"x":"{}"}}}}"#,
        "y".repeat(70_000)
    );
    let answer = desk.at("REFUND_URL").post("/mcp", &large).await;
    assert_eq!(answer.refusal().as_deref(), Some("body_too_large"));
    assert_eq!(desk.attempts(), ["refund - refused body_too_large"]);
    let answer = stateless(&desk, "REFUND_URL", "nope/nope", "").await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (404, &json!(-32601)));
    let put = desk.at("REFUND_URL").send("PUT", "/mcp", &[], b"").await;
    assert_eq!((put.status, put.header("allow").as_deref()), (405, Some("GET, POST, DELETE")));
}

#[tokio::test]
async fn the_calls_span_is_read_from_its_message_where_no_header_names_it() {
    let desk = Desk::open();
    let params = r#""name":"get_order","arguments":{"order_id":"1042"}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{params},{}}}}}"#,
        META.replace(
            "{\"io",
            r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","io"#
        )
    );
    let headers = ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: get_order"];
    desk.at("REFUND_URL").send("POST", "/mcp", &headers, body.as_bytes()).await;
    assert_eq!(desk.rows_of("attempt")[0]["span_id"], "b7ad6b7169203331");
}

#[tokio::test]
async fn a_tool_of_an_http_service_is_called_over_mcp_by_its_route() {
    let upstream = crate::desk::upstream::Upstream::start().await;
    let world = &CONTRACT[CONTRACT.find("world:").expect("a world")..];
    let tools = "world:
  upstreams: { desk: { http: 'http://127.0.0.1:1' } }
  tools:
    get_order: { http: 'GET /orders/{order_id}', effect: read, args: { order_id: string }, upstream: desk }
    issue_refund: { http: POST /refunds, upstream: desk }
    sleepless: { http: GET /never, upstream: desk }
";
    let desk = Desk::with(Plan {
        contract: CONTRACT.replace(world, tools),
        started: [("desk".to_owned(), upstream.url())].into(),
        ..Plan::default()
    });
    let (session, _) = initialize(&desk, "REFUND_URL", "2025-11-25").await;
    let at = |name: &str, arguments: Value| {
        let message = call(name, arguments);
        let (desk, session) = (&desk, session.clone());
        async move { in_session(desk, "REFUND_URL", &session, message).await.json()["result"].clone() }
    };
    let order = at("get_order", json!({"order_id": "a b", "full": true})).await;
    assert_eq!(order["structuredContent"]["target"], "/orders/a%20b?full=true");
    let refund = at("issue_refund", json!({"order_id": "1042"})).await;
    assert_eq!(refund["structuredContent"]["method"], "POST");
    assert_eq!(refund["structuredContent"]["body"], r#"{"order_id":"1042"}"#);
    assert!(!refund.to_string().contains(&session), "the session is ours");
    let escaping = at("get_order", json!({"order_id": "../refunds"})).await;
    assert_eq!(escaping["structuredContent"]["error"]["code"], "invalid_arguments");
    assert_eq!(upstream.seen(), 2);
    assert_eq!(desk.outcomes(), ["done - 200", "done - 200", "world_refused invalid_arguments 200"]);
}
