//! What the official SDK (Python, 1.3) said over real sockets, read as we read it.

use std::fs;
use std::path::Path;

use mocktrial::a2a::{Refused, Seen, Status, Task, Told, Version};
use serde_json::Value;

/// The exchanges of one recording.
fn exchanges(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a").join(format!("{name}.http.json"));
    let text = fs::read_to_string(path).expect("a recording");
    let recorded: Value = serde_json::from_str(&text).expect("JSON");
    recorded["exchanges"].as_array().expect("exchanges").clone()
}

/// The items of each stream in a recording, out of their JSON-RPC answers where they stand in some.
fn streams(name: &str) -> Vec<Vec<Value>> {
    let item = |event: &Value| event["data"].get("result").unwrap_or(&event["data"]).clone();
    exchanges(name)
        .iter()
        .filter_map(|exchange| Some(exchange["response"].get("sse")?.as_array()?.iter().map(item).collect()))
        .collect()
}

/// The status of a stream's item: 1.0 tells what an item is by its only key, 0.3 by `kind`.
fn status(item: &Value) -> Option<&Value> {
    let inner = item.get("task").or_else(|| item.get("statusUpdate")).unwrap_or(item);
    inner.get("status")
}

fn follow(items: &[Value], version: Version) -> (Vec<Seen>, &'static str) {
    let mut task = Task::new(version);
    let seen = items.iter().filter_map(status).map(|status| {
        let state = status["state"].as_str().expect("a state");
        task.see(Status { state, timestamp: status["timestamp"].as_str(), told: Told::News })
    });
    let seen = seen.collect();
    (seen, task.disposition().word())
}

#[test]
fn a_stream_of_the_official_server_is_read_to_its_end_in_both_bindings_and_versions() {
    for (name, version) in
        [("rest-stream", Version::V1), ("jsonrpc-stream", Version::V1), ("v03-compat", Version::V03)]
    {
        let streams = streams(name);
        assert!(!streams.is_empty(), "{name}");
        for items in streams {
            assert_eq!(follow(&items, version), (vec![Seen::Change; 3], "completed"), "{name}");
            assert_eq!(follow(&items[..items.len() - 1], version).1, "left_running", "{name}");
            let again: Vec<_> = items.iter().chain(&items[1..]).cloned().collect();
            let (seen, came_to) = follow(&again, version);
            assert_eq!(seen[3..], [Seen::Replayed, Seen::Replayed], "{name}: history told again");
            assert_eq!(came_to, "completed", "{name}");
        }
    }
}

#[test]
fn a_stream_read_in_the_wrong_version_is_lost_and_says_so() {
    let (seen, came_to) = follow(&streams("v03-compat")[0], Version::V1);
    assert!(seen.iter().all(|seen| *seen == Seen::UnknownState), "{seen:?}");
    assert_eq!(came_to, "lost");
}

#[test]
fn every_update_of_a_subscription_is_news_until_the_task_ends() {
    let streams = streams("rest-subscribe");
    let (seen, came_to) = follow(&streams[0], Version::V1);
    assert!(seen.len() > 3 && seen.iter().all(|seen| *seen == Seen::Change), "{seen:?}");
    assert_eq!(came_to, "completed");
}

#[test]
fn each_way_to_stop_has_its_own_disposition() {
    let mut came_to = Vec::new();
    for exchange in exchanges("rest-states") {
        if let Some(task) = exchange["response"]["body"].get("task") {
            came_to.push(follow(std::slice::from_ref(task), Version::V1).1);
        }
    }
    for wanted in ["failed", "rejected", "parked_input", "parked_auth", "completed"] {
        assert!(came_to.contains(&wanted), "{wanted} of {came_to:?}");
    }
}

#[test]
fn a_refusal_has_the_form_of_the_official_servers_own_in_both_bindings() {
    let refused = Refused {
        code: "agent.unknown",
        sentence: "there is no agent `x`",
        worker: Some("coordinator"),
        agent: "x",
        available: &["carrier", "ledger"],
    };
    let official = |name: &str| {
        let all = exchanges(name);
        let found = all.into_iter().find(|exchange| {
            exchange["response"]["body"]["error"].to_string().contains("\"UNSUPPORTED_OPERATION\"")
        });
        found.expect("a refusal")["response"].clone()
    };
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();

    let theirs = official("jsonrpc-subscribe");
    let ours = refused.over_json_rpc(&theirs["body"]["id"]);
    assert_eq!(theirs["status"], 200);
    assert_eq!(keys(&ours), keys(&theirs["body"]));
    assert_eq!(ours["error"]["code"], theirs["body"]["error"]["code"]);
    for field in ["@type", "reason", "domain"] {
        assert_eq!(ours["error"]["data"][0][field], theirs["body"]["error"]["data"][0][field], "{field}");
    }

    let theirs = official("rest-subscribe");
    let ours = refused.over_http();
    assert_eq!(theirs["status"], ours["error"]["code"]);
    assert_eq!(keys(&ours["error"]), keys(&theirs["body"]["error"]));
    assert_eq!(ours["error"]["status"], theirs["body"]["error"]["status"]);
    let info = &ours["error"]["details"][0];
    assert_eq!(info["reason"], theirs["body"]["error"]["details"][0]["reason"]);
    assert_eq!(info["metadata"]["available"], "carrier, ledger");
    assert_eq!(ours["error"]["message"], "agent.unknown: there is no agent `x`");
}
