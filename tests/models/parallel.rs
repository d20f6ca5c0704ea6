//! Two hundred trials at once, whose conversations overlap word for word.

use std::sync::Arc;

use serde_json::{Value, json};

use super::stage::{Trial, contract, endpoint, post};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_trials_get_no_reply_that_is_anothers() {
    let (endpoint, contract) = (Arc::new(endpoint()), Arc::new(contract("model.yaml")));
    let mut trials = tokio::task::JoinSet::new();
    for n in 0..200 {
        let (endpoint, contract) = (Arc::clone(&endpoint), Arc::clone(&contract));
        trials.spawn(async move {
            let case = [("shop".to_owned(), Value::from(format!("shop-{n}")))].into();
            let trial = Trial::open(&endpoint, &contract, &case);
            let url = format!("{}/chat/completions", trial.address("OPENAI_BASE_URL"));
            let mut messages = vec![json!({ "role": "system", "content": "You keep a shop." })];
            // Every trial asks for the same five orders, each in an order of its own.
            for turn in 0..5 {
                let order = (n + turn) % 5;
                messages.push(json!({ "role": "user", "content": format!("Where is order {order}?") }));
                let body = json!({ "model": "m", "messages": messages });
                let (_, body) = post(&url, &[], &body).await;
                let body: Value = serde_json::from_str(&body.expect("a body")).expect("JSON");
                let said = body["choices"][0]["message"].clone();
                let due = format!("shop-{n} has order {order}, turn {}.", 2 * turn + 1);
                assert_eq!(said["content"], due, "{body}");
                messages.push(said);
            }
            let rows = trial.rows("model");
            assert_eq!(rows.len(), 5);
            assert!(rows.iter().all(|row| row["rule"] == "said_before" && row.get("retry_of").is_none()));
        });
    }
    while let Some(done) = trials.join_next().await {
        done.expect("every trial is told its own");
    }
}
