//! What comes back on the wire where no client is needed to see it: errors, retries, addresses, the record.

use serde_json::{Value, json};

use super::stage::{Trial, chat, contract, endpoint, no_case, post};

async fn ask(trial: &Trial, user: &str, headers: &[(&str, &str)]) -> (http::Response<()>, Value) {
    let url = format!("{}/chat/completions", trial.address("OPENAI_BASE_URL"));
    let (head, body) = post(&url, headers, &chat(user)).await;
    (head, serde_json::from_str(&body.expect("a body")).expect("JSON"))
}

#[tokio::test]
async fn a_request_that_no_rule_fits_is_an_error_with_the_nearest_rule_and_a_finding() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let (head, body) = ask(&trial, "Compare orders 1 and 2", &[]).await;
    assert_eq!(head.status(), 400);
    assert_eq!(head.headers()["x-should-retry"], "false");
    let told = body["error"]["message"].as_str().expect("a message");
    assert!(
        told.contains("nearest is `looks_up` (line 4): `tools` is to be [get_order], and is []"),
        "{told}"
    );
    let findings = trial.rows("finding");
    assert_eq!(findings.len(), 1);
    assert_eq!((&findings[0]["code"], &findings[0]["detail"]), (&json!("model_unseen"), &json!(told)));
    let rows = trial.rows("model");
    assert_eq!((rows.len(), &rows[0]["rule"], &rows[0]["status"]), (1, &Value::Null, &json!(400)));
}

#[tokio::test]
async fn a_template_that_needs_what_is_not_there_is_an_error_and_a_finding() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let (head, body) = ask(&trial, "missing", &[]).await;
    assert_eq!(head.status(), 400);
    assert!(
        body["error"]["message"].as_str().expect("a message").contains("rule `missing` (line 25)"),
        "{body}"
    );
    assert_eq!(trial.rows("finding")[0]["code"], "model_script_failed");
}

#[tokio::test]
async fn a_retry_gets_the_same_answer_and_is_no_call_of_its_own() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let first = ask(&trial, "Hello", &[("x-stainless-retry-count", "0")]).await.1;
    let again = ask(&trial, "Hello", &[("x-stainless-retry-count", "1")]).await.1;
    assert_eq!(first, again);
    let other = ask(&trial, "Hello", &[("x-stainless-retry-count", "0")]).await.1;
    assert_eq!(first, other);
    let rows = trial.rows("model");
    let retries: Vec<_> = rows.iter().map(|row| row.get("retry_of")).collect();
    assert_eq!(retries, [None, Some(&rows[0]["seq"]), None]);
}

#[tokio::test]
async fn a_client_that_does_not_count_its_tries_is_taken_to_retry_what_failed() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let (head, _) = ask(&trial, "busy", &[]).await;
    assert_eq!(head.status(), 429);
    assert_eq!(head.headers()["retry-after"], "1");
    assert_eq!(head.headers()["x-should-retry"], "true");
    let (head, body) = ask(&trial, "busy", &[]).await;
    assert_eq!(head.status(), 200);
    assert_eq!(body["choices"][0]["message"]["content"], "Now I have time.");
    let rows = trial.rows("model");
    assert_eq!((rows.len(), &rows[1]["retry_of"]), (2, &rows[0]["seq"]));
}

#[tokio::test]
async fn a_stream_that_is_cut_breaks_off_after_what_was_sent() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let url = format!("{}/chat/completions", trial.address("OPENAI_BASE_URL"));
    for stream in [true, false] {
        let mut body = chat("cut");
        body["stream"] = stream.into();
        let (head, body) = post(&url, &[], &body).await;
        assert_eq!(head.status(), 200);
        assert!(body.is_err(), "{body:?}");
    }
}

#[tokio::test]
async fn a_workers_own_address_says_whose_call_it_is_and_another_says_nothing() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let url = |variable| format!("{}/chat/completions", trial.address(variable));
    let (_, body) = post(&url("REFUND_BASE_URL"), &[], &chat("mine")).await;
    assert!(body.expect("a body").contains("This is for refund."));
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (head, _) = post(&url("OPENAI_BASE_URL"), &[("traceparent", trace)], &chat("mine")).await;
    assert_eq!(head.status(), 400);
    let rows = trial.rows("model");
    assert_eq!((&rows[0]["worker"], &rows[0]["basis"]), (&json!("refund"), &json!("address")));
    assert_eq!((&rows[1]["worker"], rows[1].get("basis")), (&Value::Null, None));
    assert_eq!(rows[1]["trace_id"], "0af7651916cd43dd8448eb211c80319c");
}

#[tokio::test]
async fn an_address_opens_nothing_once_its_trial_is_over() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let url = format!("{}/chat/completions", trial.address("OPENAI_BASE_URL"));
    trial.session.close();
    let (head, body) = post(&url, &[], &chat("Hello")).await;
    assert_eq!(head.status(), 403);
    assert_eq!(head.headers()["mocktrial-model"], "trial_closed");
    assert!(body.is_ok());
    assert!(trial.rows("model").is_empty());
    drop(trial);
    let (head, _) = post(&url, &[], &chat("Hello")).await;
    assert_eq!(head.headers()["mocktrial-model"], "unknown_channel");
}

#[tokio::test]
async fn no_token_and_no_key_reaches_the_record() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let url = format!("{}/chat/completions", trial.address("OPENAI_BASE_URL"));
    let token = url.split('/').nth(3).expect("a token").to_owned();
    let secret = [("authorization", "Bearer sk-very-secret")];
    let (said, _) = post(&url, &secret, &chat(&format!("say {token}"))).await;
    let (lost, _) = post(&format!("{url}/no/such/path"), &[], &chat("Hello")).await;
    assert_eq!((said.status().as_u16(), lost.status().as_u16()), (400, 404));
    let record = format!("{:?}{:?}", trial.rows("model"), trial.rows("finding"));
    assert!(record.contains("model_unseen") && record.contains("model_not_served"), "{record}");
    assert!(!record.contains(&token) && !record.contains("sk-very-secret"), "{record}");
}

#[tokio::test]
async fn what_a_request_leaves_out_is_not_guessed() {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    let url = format!("{}/responses", trial.address("OPENAI_BASE_URL"));
    let body = json!({ "model": "m", "input": "Hello", "previous_response_id": "resp_1" });
    let (head, body) = post(&url, &[], &body).await;
    assert_eq!(head.status(), 400);
    assert!(body.expect("a body").contains("previous_response_id"));
    assert_eq!(trial.rows("finding")[0]["code"], "model_bad_request");
}
