//! Real bodies, damaged as wires and hostile hands damage them, over real sockets: each is answered, and what is kept is
//! within its limits.

use hyper::StatusCode;
use mocktrial::clock::Clock;
use mocktrial::spans::weight;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::client::{request, send, send_http2};
use crate::grpc::{EXPORT, call, frame};
use crate::{ADK, LIMITS, open};

const ADK_JSON: &str = include_str!("../spans/adk.jsonl");
const EACH: usize = 1000;

/// Bits flipped, the end cut off, a part put elsewhere: one to four of these.
fn damaged(body: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let damage = (0..3u8, any::<Index>(), any::<Index>(), any::<Index>());
    vec(damage, 1..5).prop_map(move |damages| {
        let mut body = body.clone();
        for (kind, at, from, to) in &damages {
            if body.is_empty() {
                break;
            }
            let (at, from, to) = (at.index(body.len()), from.index(body.len()), to.index(body.len()));
            match kind {
                0 => body[at] ^= 1 << (from % 8),
                1 => body.truncate(at),
                _ => {
                    let part = body[from.min(to)..from.max(to)].to_vec();
                    body.splice(at..at, part);
                }
            }
        }
        body
    })
}

#[tokio::test]
async fn damaged_bodies_of_three_encodings_are_answered_and_keep_within_their_limits() {
    let mut runner = TestRunner::deterministic();
    let json = ADK_JSON.lines().next().expect("a line").as_bytes().to_vec();
    let framed = frame(0, ADK);
    for (encoding, whole) in [("protobuf", ADK.to_vec()), ("json", json), ("grpc", framed)] {
        let (receiver, intake, token) = open(LIMITS);
        let bodies = damaged(whole.clone());
        let path = format!("/{token}/v1/traces");
        let clock = Clock::start();
        let (began, mut taken, mut refused) = (clock.now(), 0, 0);
        for _ in 0..EACH {
            let body = bodies.new_tree(&mut runner).expect("a body").current();
            let answer = match encoding {
                "grpc" => send_http2(receiver.local_addr(), call(EXPORT, &token, body)).await,
                "json" => send(receiver.local_addr(), request(&path, "application/json", body)).await,
                _ => send(receiver.local_addr(), request(&path, "application/x-protobuf", body)).await,
            };
            let status = answer.headers.get("grpc-status").or(answer.trailers.get("grpc-status"));
            let fine = match status.map(|status| status.to_str().expect("digits")) {
                Some(code) => {
                    // Invalid argument, too large, an encoding nobody offered: never an internal error.
                    assert!(["0", "3", "8", "12"].contains(&code), "{encoding}: {code}");
                    code == "0"
                }
                None => {
                    assert!(!answer.status.is_server_error(), "{encoding}: {}", answer.status);
                    answer.status == StatusCode::OK
                }
            };
            if fine { taken += 1 } else { refused += 1 }
        }
        let received = intake.close();
        println!(
            "{encoding}: {EACH} damaged bodies in {:?}, {taken} taken, {refused} refused",
            clock.now().since(began)
        );
        assert!(taken > 0 && refused > 0, "{encoding}: {taken} taken, {refused} refused");
        assert!(received.spans.len() as u64 <= LIMITS.spans, "{encoding}");
        assert!(received.spans.iter().map(weight).sum::<u64>() <= LIMITS.span_bytes, "{encoding}");
    }
}
