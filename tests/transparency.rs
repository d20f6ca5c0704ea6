//! What is allowed passes as if no channel were there: one body of claims, asked of a service directly and through a
//! channel. Then what no direct call can show: a service that is down, slow or breaks off, and an app that leaves.

mod desk;

use std::time::Duration;

use desk::upstream::{Upstream, scripted};
use desk::{Address, Answer, Desk, find};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An unlimited worker in front of one service; `tools` are those of the contract.
fn contract(url: &str, tools: &str) -> String {
    format!(
        r#"
contract: 1
app: {{ name: desk, start: ["true"], talk: stdio }}
limits: {{ calls: 100000 }}
workers:
  - {{ id: any, agent: Any, binding: separate, address_env: ANY_URL }}
  - {{ id: only, agent: Only, allowed_tools: [slow], binding: separate, address_env: ONLY_URL }}
world:
  upstreams: {{ service: {{ http: "{url}" }} }}
  tools:
    slow: {{ upstream: service, http: GET /slow, effect: read }}
    {tools}
"#
    )
}

async fn in_front_of(url: &str) -> (Desk, Address) {
    let desk = Desk::of(&contract(url, ""));
    let address = desk.at("ANY_URL");
    (desk, address)
}

/// A request, to be sent twice.
struct Sent {
    method: &'static str,
    target: &'static str,
    headers: &'static [&'static str],
    body: Vec<u8>,
}

fn sent(method: &'static str, target: &'static str, headers: &'static [&'static str], body: &[u8]) -> Sent {
    Sent { method, target, headers, body: body.to_vec() }
}

fn requests() -> Vec<Sent> {
    let mut all = Vec::new();
    for method in
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH"]
    {
        all.push(sent(method, "/echo/me?x=1", &["x-own: 1"], b""));
    }
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        all.push(sent(method, "/echo", &["content-type: application/json"], br#"{"a":[1, 2 ],"a":3}"#));
        all.push(sent(method, "/echo", &["content-type: text/plain"], b"\xff\x00text"));
        all.push(sent(
            method,
            "/echo",
            &["content-type: application/json", "transfer-encoding: chunked"],
            b"5;ext=1\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n",
        ));
        all.push(sent(method, "/echo", &["transfer-encoding: chunked"], b"3\r\nabc\r\n0\r\n\r\n"));
    }
    for target in [
        "/",
        "//",
        "/a//b/",
        "/%41%2f%2F%20?",
        "/a?b=c&b=%20&&=&d",
        "/a?x=+%2B+/?&y=[]{}|^",
        "/%F0%9F%A6%80/%ff;v=1,2",
        "/./a/../b",
        "/a%2e%2E/b",
        "/:@!$&'()*+,;=~-._",
        "/a?",
        "/a?mocktrial-channel=x",
    ] {
        all.push(sent("GET", target, &[], b""));
    }
    all.push(sent(
        "GET",
        "/echo",
        &[
            "X-Dup: 1",
            "x-other: 2",
            "x-dup: 1",
            "X-DUP: 3",
            "cookie: a=1; b=2",
            "cookie: c=3",
            "x-empty:",
            "authorization: Bearer abc.def",
            "idempotency-key: k-1",
            "accept: */*;q=0.1, text/html",
            "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "tracestate: a=1,b=2",
            "x-forwarded-for: 1.2.3.4",
            "forwarded: for=1.2.3.4",
            "via: 1.0 fred",
            "range: bytes=0-1",
            "if-none-match: \"v1\"",
            "user-agent: odd/1 (x; y)",
            "x-worker: refund",
            "x_under_score: 1",
            "dnt: 1",
        ],
        b"",
    ));
    all.push(sent("GET", "/echo", &["x-obs: caf\u{e9}", "x-tab: a\tb"], b""));
    for target in [
        "/odd",
        "/no-content",
        "/not-modified",
        "/conflict",
        "/broken",
        "/zipped",
        "/trailers",
        "/large",
        "/stream",
        "/count",
    ] {
        all.push(sent("GET", target, &["te: trailers"], b""));
        all.push(sent("HEAD", target, &[], b""));
    }
    all
}

/// What a client sees, without what belongs to the hop.
fn seen(mut answer: Answer) -> Answer {
    answer.headers.retain(|(name, _)| !matches!(name.as_str(), "connection" | "keep-alive" | "date"));
    // The order of different names says nothing (RFC 9110 5.3); that of one name does.
    answer.headers.sort_by(|a, b| a.0.cmp(&b.0));
    answer
}

#[tokio::test]
async fn what_is_allowed_passes_as_if_no_channel_were_there() {
    let upstream = Upstream::start().await;
    let direct = Address { socket: upstream.address, prefix: String::new() };
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let all = requests();
    for Sent { method, target, headers, body } in &all {
        let one = seen(direct.send(method, target, headers, body).await);
        let other = seen(channel.send(method, target, headers, body).await);
        assert!(one.status >= 200, "{method} {target}: {one:?}");
        let same = one == other;
        assert!(same, "{method} {target} {headers:?}\n{}\n{}", shown(&one), shown(&other));
    }
    assert_eq!(desk.rows_of("attempt").len(), all.len(), "a row for every call");
    assert!(desk.channels.settled(Duration::from_secs(5)).await);
    assert_eq!(desk.rows_of("outcome").len(), all.len());
    assert!(!desk.text().contains(channel.token()));
}

fn shown(answer: &Answer) -> String {
    let body = answer.text();
    format!("{} {:?} {:?} {}", answer.status, answer.headers, answer.trailers, &body[..body.len().min(400)])
}

#[tokio::test]
async fn the_service_sees_its_own_host_and_never_a_token() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let token = format!("mocktrial-channel: {}", channel.token());
    let hop = ["x-forwarded-host: evil", "connection: x-hop", "x-hop: 1", "keep-alive: timeout=9", &token];
    let echoed = channel.send("GET", "/echo?q=1", &hop, b"").await.json();
    assert_eq!(echoed["host"], upstream.address.to_string());
    assert_eq!(echoed["target"], "/echo?q=1");
    assert_eq!(echoed["headers"], json!([["x-forwarded-host", "evil"]]));
    assert!(!echoed.to_string().contains(channel.token()));
    assert_eq!(desk.rows_of("attempt")[0]["request"], "GET /echo?q=1");
}

#[tokio::test]
async fn trailers_of_a_request_arrive() {
    let upstream = Upstream::start().await;
    let (_desk, channel) = in_front_of(&upstream.url()).await;
    for kind in ["application/json", "application/octet-stream"] {
        let kind = format!("content-type: {kind}");
        let headers = ["transfer-encoding: chunked", "trailer: x-sum", &kind];
        let answer = channel.send("POST", "/echo", &headers, b"2\r\n{}\r\n0\r\nx-sum: 2\r\n\r\n").await;
        assert_eq!(answer.json()["trailers"], json!([["x-sum", "2"]]), "{kind}");
        assert_eq!(answer.json()["body"], "{}");
    }
}

#[tokio::test]
async fn a_body_is_awaited_with_100_continue_and_not_before() {
    let upstream = Upstream::start().await;
    let (_desk, channel) = in_front_of(&upstream.url()).await;
    let mut stream = TcpStream::connect(channel.socket).await.expect("a connection");
    let head = format!(
        "POST {}/echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\nconnection: close\r\n\r\n",
        channel.prefix
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.expect("an interim answer");
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").await.expect("sent");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.expect("an answer");
    assert!(rest.contains(r#""body":"body""#), "{rest}");
}

#[tokio::test]
async fn both_directions_stream_without_buffering() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let mut stream = TcpStream::connect(channel.socket).await.expect("a connection");
    let head = format!(
        "POST {}/stream HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        channel.prefix
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut seen = Vec::new();
    read_until(&mut stream, &mut seen, b"data: start\n\n").await;
    for piece in ["data: one\n\n", "data: two\n\n"] {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        stream.write_all(chunk.as_bytes()).await.expect("sent");
        // The next piece is only sent when this one has come back.
        read_until(&mut stream, &mut seen, piece.as_bytes()).await;
    }
    assert_eq!(desk.rows_of("attempt").len(), 1);
    assert!(desk.rows_of("outcome").is_empty(), "a stream that goes on has no outcome yet");
    stream.write_all(b"0\r\n\r\n").await.expect("sent");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("the end");
    let outcome = &desk.rows_of("outcome")[0];
    assert_eq!(outcome["result"], "data: start\n\ndata: one\n\ndata: two\n\n");
    assert_eq!(desk.rows_of("attempt")[0]["arguments_cut"], true);
}

async fn read_until(stream: &mut TcpStream, seen: &mut Vec<u8>, wanted: &[u8]) {
    let mut buffer = [0; 4096];
    while find(seen, wanted).is_none() {
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut buffer)).await;
        let n = read.expect("in time").expect("readable");
        assert_ne!(n, 0, "closed before {:?}", String::from_utf8_lossy(wanted));
        seen.extend_from_slice(&buffer[..n]);
    }
}

#[tokio::test]
async fn what_is_recorded_of_a_body_is_bounded_and_what_passes_is_not() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let large = vec![b'y'; 20 << 20];
    let kind = ["content-type: application/octet-stream"];
    let answer = channel.send("POST", "/count", &kind, &large).await;
    assert_eq!(answer.text(), (20 << 20).to_string());
    let answer = channel.get("/large").await;
    assert_eq!(answer.body.len(), 20 << 20);
    let args = format!(r#"{{"id": 7, "text": "{}"}}"#, "é".repeat(100_000));
    let answer = channel.post("/count", &args).await;
    assert_eq!(answer.text(), args.len().to_string());
    assert!(desk.text().len() < 64 << 10, "{}", desk.text().len());
    let attempts = desk.rows_of("attempt");
    assert_eq!((&attempts[0]["arguments_cut"], &attempts[0]["arguments"]), (&json!(true), &Value::Null));
    assert_eq!((&attempts[2]["arguments_cut"], &attempts[2]["arguments"]["id"]), (&json!(true), &json!(7)));
    let outcome = &desk.rows_of("outcome")[1];
    assert_eq!(outcome["result_cut"], true);
    assert!(
        outcome["result"].as_str().is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b == b'x'))
    );
}

#[tokio::test]
async fn connections_are_kept_on_both_sides() {
    let upstream = Upstream::start().await;
    let (_desk, channel) = in_front_of(&upstream.url()).await;
    let mut stream = TcpStream::connect(channel.socket).await.expect("a connection");
    let request = format!("GET {}/slow HTTP/1.1\r\nhost: x\r\n\r\n", channel.prefix);
    for _ in 0..3 {
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut seen = Vec::new();
        read_until(&mut stream, &mut seen, b"\r\n\r\nslow").await;
    }
    assert_eq!(upstream.connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn http_2_comes_in_on_the_same_address() {
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let stream = TcpStream::connect(channel.socket).await.expect("a connection");
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    let uri = format!("http://{}{}/echo?x=1", channel.socket, channel.prefix);
    let calls = (0..20).map(|n| {
        let request = hyper::Request::post(&uri)
            .header("content-type", "application/json")
            .header("cookie", "a=1")
            .body(Full::new(hyper::body::Bytes::from(format!("{{\"n\":{n}}}"))))
            .expect("a request");
        client.send_request(request)
    });
    for (n, answer) in futures_util::future::join_all(calls.collect::<Vec<_>>()).await.into_iter().enumerate()
    {
        let body = answer.expect("an answer").into_body().collect().await.expect("a body").to_bytes();
        let seen: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(seen["body"], format!("{{\"n\":{n}}}"));
        assert_eq!(seen["host"], upstream.address.to_string());
        assert_eq!(seen["target"], "/echo?x=1");
    }
    assert_eq!(desk.rows_of("outcome").len(), 20);
}

#[tokio::test]
async fn an_offer_of_h2c_is_ignored_and_another_upgrade_refused() {
    let upstream = Upstream::start().await;
    let (_desk, channel) = in_front_of(&upstream.url()).await;
    let h2c = ["connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"];
    let answer = channel.send("GET", "/echo", &h2c, b"").await;
    assert_eq!((answer.status, &answer.json()["headers"]), (200, &json!([])));
    let websocket = ["connection: upgrade", "upgrade: websocket", "sec-websocket-key: x"];
    let answer = channel.send("GET", "/echo", &websocket, b"").await;
    assert_eq!(answer.refusal().as_deref(), Some("unknown_action"));
    assert_eq!(upstream.seen(), 1);
}

#[tokio::test]
async fn a_services_no_and_a_services_defect_are_two_things() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    assert_eq!(
        channel.get("/conflict").await.header("content-type").as_deref(),
        Some("application/problem+json")
    );
    channel.get("/broken").await;
    assert_eq!(desk.outcomes(), ["world_refused http_409 409", "crashed http_500 500"]);
    assert_eq!(desk.rows_of("outcome")[0]["result"], json!({"why": "twice"}));
}

#[tokio::test]
async fn a_service_that_is_down_is_a_crash_and_says_no_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = listener.local_addr().expect("an address");
    drop(listener);
    let (desk, channel) = in_front_of(&format!("http://{gone}")).await;
    let answer = channel.get("/slow").await;
    assert_eq!((answer.status, answer.refusal()), (502, None));
    assert_eq!(answer.json()["error"]["code"], "upstream_unavailable");
    assert!(!answer.text().contains(&gone.port().to_string()));
    assert_eq!(desk.outcomes(), ["crashed upstream_unavailable 502"]);
}

#[tokio::test]
async fn a_service_that_breaks_off_is_cut_for_the_app_and_a_crash() {
    let cut: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let chunked: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    for bytes in [cut, chunked] {
        let (desk, channel) = in_front_of(&format!("http://{}", scripted(bytes).await)).await;
        let answer = channel.get("/slow").await;
        assert_eq!((answer.status, answer.whole), (200, false), "{answer:?}");
        assert_eq!(desk.outcomes(), ["crashed upstream_cut 200"]);
        let outcome = &desk.rows_of("outcome")[0];
        assert_eq!((&outcome["result"], &outcome["result_cut"]), (&json!("half"), &json!(true)));
    }
    for bytes in [b"".as_slice(), b"HTTP/1.1 2", b"no http\r\n\r\n"] {
        let (desk, channel) = in_front_of(&format!("http://{}", scripted(bytes).await)).await;
        assert_eq!(channel.get("/slow").await.status, 502);
        assert_eq!(desk.outcomes(), ["crashed upstream_unavailable 502"]);
    }
}

#[tokio::test]
async fn an_app_that_leaves_does_not_stop_the_services_answer() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    for target in ["/slow", "/large"] {
        let mut stream = TcpStream::connect(channel.socket).await.expect("a connection");
        let request = format!("GET {}{target} HTTP/1.1\r\nhost: x\r\n\r\n", channel.prefix);
        stream.write_all(request.as_bytes()).await.expect("sent");
        while desk.channels.in_flight() == 0 {
            tokio::task::yield_now().await;
        }
        drop(stream);
        assert!(desk.channels.settled(Duration::from_secs(10)).await);
    }
    assert_eq!(desk.outcomes(), ["done - 200"; 2]);
}

#[tokio::test]
async fn a_service_that_never_answers_is_let_go_at_the_seal() {
    let upstream = Upstream::start().await;
    let (desk, channel) = in_front_of(&upstream.url()).await;
    let call = tokio::spawn(async move { channel.get("/never").await });
    while desk.channels.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    desk.channels.seal().await;
    assert_eq!(call.await.expect("answered").status, 502);
    assert_eq!(desk.outcomes(), ["crashed trial_closed 502"]);
}

#[tokio::test]
async fn faults_apply_in_front_of_a_service_too() {
    let upstream = Upstream::start().await;
    let slow = |fault: &str| desk::Plan {
        contract: contract(&upstream.url(), ""),
        scenario: desk::scenario_text(&format!("faults: [{{ tool: slow, {fault} }}]")),
        ..desk::Plan::default()
    };
    let desk = Desk::with(slow("truncate: 2"));
    let answer = desk.at("ANY_URL").get("/slow").await;
    assert_eq!((answer.text().as_str(), answer.whole), ("sl", false));
    assert_eq!(desk.outcomes(), ["done - 200"]);
    let desk = Desk::with(slow("disconnect: true"));
    assert_eq!(desk.at("ANY_URL").get("/slow").await.status, 0);
    assert_eq!(desk.outcomes(), ["done - null"]);
    let seen = upstream.seen();
    let desk = Desk::with(slow("reply: { status: 503 }"));
    assert_eq!(desk.at("ANY_URL").get("/slow").await.status, 503);
    assert_eq!((upstream.seen(), desk.outcomes()), (seen, vec!["faulted - 503".to_owned()]));
}

#[tokio::test]
async fn a_limited_worker_reaches_the_service_through_its_tools_alone() {
    let upstream = Upstream::start().await;
    let desk = Desk::of(&contract(&upstream.url(), ""));
    let only = desk.at("ONLY_URL");
    assert_eq!(only.get("/slow").await.status, 200);
    assert_eq!(only.get("/echo").await.refusal().as_deref(), Some("unknown_action"));
    assert_eq!(desk.at("ANY_URL").get("/echo").await.status, 200);
    assert_eq!(desk.attempts(), ["only slow allowed -", "only - refused unknown_action", "any - allowed -"]);
    assert_eq!(upstream.seen(), 2);
}
