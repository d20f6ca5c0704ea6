//! What a request is known by: what it asks, and nothing that changes from run to run.

use mocktrial::model::Asked;
use mocktrial::scenario::ModelApi;
use proptest::prelude::*;
use serde_json::{Value, json};

/// One conversation, in the form of any API.
#[derive(Clone, Debug, PartialEq)]
struct Talk {
    system: String,
    user: String,
    calls: Vec<(String, i64)>,
    results: Vec<i64>,
    temperature: u8,
}

fn talk() -> impl Strategy<Value = Talk> {
    let text = "[a-z]{1,6}";
    let calls = prop::collection::vec((text, 0..9i64), 1..4);
    (text, text, calls, 0..3u8).prop_flat_map(|(system, user, calls, temperature)| {
        let results = prop::collection::vec(0..9i64, calls.len());
        results.prop_map(move |results| Talk {
            system: system.clone(),
            user: user.clone(),
            calls: calls.clone(),
            results,
            temperature,
        })
    })
}

/// `salt` goes into everything that is volatile: ids, who asks, whether it is a stream.
fn written(api: ModelApi, talk: &Talk, salt: u32) -> Value {
    let id = |n: usize| format!("call_{salt}_{n}");
    let calls = || talk.calls.iter().enumerate();
    let results = || talk.results.iter().enumerate();
    let stream = salt.is_multiple_of(2);
    match api {
        ModelApi::OpenAiChat => {
            let made = calls().map(|(n, (tool, x))| {
                json!({ "id": id(n), "type": "function", "function": { "name": tool, "arguments": format!("{{\"x\":{}{x}}}", " ".repeat(n)) } })
            });
            let mut messages = vec![
                json!({ "role": "system", "content": talk.system }),
                json!({ "role": "user", "content": talk.user }),
                json!({ "role": "assistant", "content": null, "tool_calls": made.collect::<Vec<_>>() }),
            ];
            messages
                .extend(results().map(
                    |(n, x)| json!({ "role": "tool", "tool_call_id": id(n), "content": x.to_string() }),
                ));
            json!({ "model": "m", "messages": messages, "temperature": talk.temperature, "stream": stream, "user": salt.to_string() })
        }
        ModelApi::OpenAiResponses => {
            let mut input = vec![json!({ "role": "user", "content": talk.user })];
            input.extend(calls().map(|(n, (tool, x))| {
                json!({ "type": "function_call", "id": format!("fc_{salt}"), "call_id": id(n), "name": tool, "arguments": json!({ "x": x }).to_string() })
            }));
            input.extend(results().map(
                |(n, x)| json!({ "type": "function_call_output", "call_id": id(n), "output": x.to_string() }),
            ));
            json!({ "model": "m", "instructions": talk.system, "input": input, "temperature": talk.temperature, "stream": stream, "metadata": { "run": salt.to_string() } })
        }
        ModelApi::Anthropic => {
            let made = calls()
                .map(|(n, (tool, x))| json!({ "type": "tool_use", "id": id(n), "name": tool, "input": { "x": x } }));
            let got = results().map(
                |(n, x)| json!({ "type": "tool_result", "tool_use_id": id(n), "content": x.to_string() }),
            );
            json!({ "model": "m", "system": talk.system, "stream": stream, "temperature": talk.temperature, "messages": [
                { "role": "user", "content": talk.user },
                { "role": "assistant", "content": made.collect::<Vec<_>>() },
                { "role": "user", "content": got.collect::<Vec<_>>() },
            ] })
        }
        ModelApi::Gemini => {
            let made = calls().map(
                |(n, (tool, x))| json!({ "functionCall": { "id": id(n), "name": tool, "args": { "x": x } } }),
            );
            let got = results().map(|(n, x)| {
                json!({ "functionResponse": { "id": id(n), "name": talk.calls[n].0, "response": { "result": x } } })
            });
            json!({ "systemInstruction": { "parts": [{ "text": talk.system }] }, "generationConfig": { "temperature": talk.temperature }, "contents": [
                { "role": "user", "parts": [{ "text": talk.user }] },
                { "role": "model", "parts": made.collect::<Vec<_>>() },
                { "role": "user", "parts": got.collect::<Vec<_>>() },
            ] })
        }
    }
}

const APIS: [ModelApi; 4] =
    [ModelApi::OpenAiChat, ModelApi::OpenAiResponses, ModelApi::Anthropic, ModelApi::Gemini];

fn read(api: ModelApi, body: &Value, salt: u32) -> Asked {
    Asked::read(api, Some("m".to_owned()), salt.is_multiple_of(2), body.to_string().as_bytes())
        .expect("a request")
}

proptest! {
    #[test]
    fn what_is_volatile_changes_no_key(talk in talk(), a: u32, b: u32) {
        for api in APIS {
            let key = |salt| read(api, &written(api, &talk, salt), salt).digest();
            prop_assert_eq!(key(a), key(b), "{:?}", api);
        }
    }

    #[test]
    fn whatever_is_asked_otherwise_changes_the_key(a in talk(), b in talk()) {
        prop_assume!(a != b);
        for api in APIS {
            let key = |talk| read(api, &written(api, talk, 1), 1).digest();
            prop_assert_ne!(key(&a), key(&b), "{:?}", api);
        }
    }

    #[test]
    fn every_api_is_read_as_the_same_conversation(talk in talk(), salt: u32) {
        for api in APIS {
            let asked = read(api, &written(api, &talk, salt), salt);
            prop_assert_eq!(&asked.system, &talk.system);
            prop_assert_eq!(asked.user(), &talk.user);
            let results: Vec<_> = asked.results().map(|(tool, arguments, text)| {
                let x: i64 = text.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
                ((tool.expect("a tool").to_owned(), arguments["x"].as_i64().expect("a number")), x)
            }).collect();
            let due: Vec<_> = talk.calls.iter().cloned().zip(talk.results.iter().copied()).collect();
            prop_assert_eq!(results, due, "{:?}", api);
        }
    }

    #[test]
    fn no_body_is_too_strange_to_be_read_or_refused(body in "\\PC{0,80}", json in any::<u8>()) {
        for api in APIS {
            let _ = Asked::read(api, None, false, body.as_bytes());
            let strange = json!({ "messages": [{ "role": "user", "content": json }], "input": [body], "contents": [{}] });
            let _ = Asked::read(api, None, false, strange.to_string().as_bytes());
        }
    }
}
