//! What must not get through: each trick is tried on a limited worker in front of a service that counts what reaches it.

mod desk;

use desk::upstream::Upstream;
use desk::{Address, Desk};

/// `reader` may read orders; `writer` may refund. The service would take anything.
fn contract(url: &str) -> String {
    format!(
        r#"
contract: 1
app: {{ name: desk, start: ["true"], talk: stdio }}
workers:
  - {{ id: reader, agent: Reader, allowed_tools: [get_order], binding: separate, address_env: READER_URL }}
  - {{ id: writer, agent: Writer, allowed_tools: [refund], binding: separate, address_env: WRITER_URL }}
world:
  upstreams: {{ service: {{ http: "{url}" }} }}
  tools:
    get_order: {{ upstream: service, http: "GET /orders/{{id}}", effect: read }}
    refund: {{ upstream: service, http: POST /orders/refund }}
    admin: {{ upstream: service, http: GET /admin/wipe }}
"#
    )
}

struct Trick {
    desk: Desk,
    upstream: Upstream,
    reader: Address,
}

impl Trick {
    async fn set_up() -> Self {
        let upstream = Upstream::start().await;
        let desk = Desk::of(&contract(&upstream.url()));
        let reader = desk.at("READER_URL");
        assert_eq!(reader.get("/orders/1").await.status, 200, "the honest call passes");
        Self { desk, upstream, reader }
    }

    /// Only the honest call got through.
    fn failed(&self) {
        assert_eq!(self.upstream.seen(), 1, "{:#?}", self.desk.rows());
    }
}

#[tokio::test]
async fn paths_that_another_reader_would_read_differently_reach_nothing() {
    let trick = Trick::set_up().await;
    for target in [
        "/orders/../admin/wipe",
        "/orders/%2e%2e/admin/wipe",
        "/orders/..%2fadmin%2fwipe",
        "/orders/..%2Fadmin%2Fwipe",
        "/orders/%2e%2e%2fadmin%2fwipe",
        "/orders/..",
        "/orders/.",
        "/orders/%2e",
        "/orders/%2E%2E",
        "/orders/..;x=1",
        "/orders/..%5cadmin",
        "/orders/..\\admin",
        "/orders/1%00",
        "//orders/1",
        "/orders//1",
        "/orders/1/",
        "/./orders/1",
        "/Orders/1",
        "/ORDERS/1",
        "/%6frders/1",
        "/orders/1%2f..%2f..%2fadmin",
        "/admin/wipe",
        "/admin/../orders/1",
        "/orders%2f1",
        "/orders",
        "/orders/",
        "/",
        "",
    ] {
        let answer = trick.reader.get(target).await;
        let code = answer.refusal();
        assert!(
            matches!(code.as_deref(), Some("unknown_action" | "not_permitted")) || answer.status == 400,
            "{target}: {answer:?}"
        );
    }
    trick.failed();
}

#[tokio::test]
async fn a_tool_is_not_called_through_another_tools_route() {
    let trick = Trick::set_up().await;
    let refund = trick.reader.post("/orders/refund", "{}").await;
    assert_eq!(refund.refusal().as_deref(), Some("not_permitted"));
    for method in ["post", "Post", "GETS", "G", "PUT", "get"] {
        let answer = trick.reader.send(method, "/orders/refund", &[], b"").await;
        assert_eq!(answer.refusal().as_deref(), Some("unknown_action"), "{method}");
    }
    trick.failed();
}

#[tokio::test]
async fn a_header_does_not_make_a_request_another_one() {
    let trick = Trick::set_up().await;
    for header in [
        "x-http-method-override: DELETE",
        "X-HTTP-Method-Override: POST",
        "x-http-method: PUT",
        "x-method-override: PUT",
        "x-original-url: /admin/wipe",
        "x-rewrite-url: /admin/wipe",
        "x-original-method: POST",
    ] {
        let answer = trick.reader.send("GET", "/orders/1", &[header], b"").await;
        assert_eq!(answer.refusal().as_deref(), Some("unknown_action"), "{header}");
    }
    let answer = trick.reader.get("/orders/1?_method=DELETE").await;
    assert_eq!(answer.refusal().as_deref(), Some("unknown_action"));
    trick.failed();
}

#[tokio::test]
async fn a_form_field_does_not_make_a_request_another_one() {
    let trick = Trick::set_up().await;
    let writer = trick.desk.at("WRITER_URL");
    let form = ["content-type: application/x-www-form-urlencoded"];
    let answer = writer.send("POST", "/orders/refund", &form, b"_method=DELETE&x=1").await;
    assert_eq!(answer.refusal().as_deref(), Some("unknown_action"));
    trick.failed();
}

#[tokio::test]
async fn another_workers_token_is_that_workers_and_a_mangled_one_is_nobodys() {
    let trick = Trick::set_up().await;
    let (reader, writer) = (trick.reader.token().to_owned(), trick.desk.at("WRITER_URL").token().to_owned());
    for prefix in [
        format!("/{}", &reader[..31]),
        format!("/{reader}{reader}"),
        format!("/{reader}0"),
        format!("/{}", reader.to_uppercase()),
        format!("/{}", reader.replacen(&reader[..1], &format!("%{:02x}", reader.as_bytes()[0]), 1)),
        format!("//{reader}"),
        format!("/./{reader}"),
        format!("/{reader}%2f"),
        format!("/{reader};x"),
        "/".to_owned(),
        String::new(),
        format!("/x/../{reader}"),
    ] {
        let answer = trick.reader.with_prefix(&prefix).get("/orders/1").await;
        // An upper-case token of digits alone is the token itself.
        if prefix == format!("/{reader}") {
            continue;
        }
        assert_eq!(answer.refusal().as_deref(), Some("unknown_channel"), "{prefix}");
    }
    // The address says whose channel it is; a header or an argument does not.
    let claims = [format!("mocktrial-channel: {writer}"), "x-worker: writer".to_owned()];
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let answer = trick.reader.send("POST", "/orders/refund?worker=writer", &claims, b"").await;
    assert_eq!(answer.refusal().as_deref(), Some("not_permitted"));
    assert_eq!(answer.json()["error"]["worker"], "reader");
    trick.failed();
    let text = trick.desk.text();
    assert!(!text.contains(&reader) && !text.contains(&writer));
}

#[tokio::test]
async fn the_target_may_be_absolute_and_its_authority_is_nobodys_business() {
    let trick = Trick::set_up().await;
    let (socket, prefix) = (trick.reader.socket, &trick.reader.prefix);
    let absolute = |host: &str, path: &str| {
        format!("GET http://{host}{path} HTTP/1.1\r\nhost: elsewhere\r\nconnection: close\r\n\r\n")
    };
    // Still the channel of its token, and still that service.
    let answer = trick.reader.raw(absolute("elsewhere:1", &format!("{prefix}/orders/2")).as_bytes()).await;
    assert_eq!(answer.json()["host"], trick.upstream.address.to_string());
    assert_eq!(answer.json()["target"], "/orders/2");
    for (target, method) in [
        (format!("http://{}/admin/wipe", trick.upstream.address), "GET"),
        (format!("http://{socket}{prefix}/admin/wipe"), "GET"),
        (trick.upstream.address.to_string(), "CONNECT"),
        (format!("{socket}"), "CONNECT"),
        ("*".to_owned(), "OPTIONS"),
    ] {
        let request = format!("{method} {target} HTTP/1.1\r\nhost: {socket}\r\nconnection: close\r\n\r\n");
        let answer = trick.reader.raw(request.as_bytes()).await;
        assert!(answer.status == 403 || answer.status == 400, "{method} {target}: {answer:?}");
    }
    assert_eq!(trick.upstream.seen(), 2);
}

#[tokio::test]
async fn a_host_header_leads_nowhere_else() {
    let trick = Trick::set_up().await;
    let prefix = &trick.reader.prefix;
    for (n, hosts) in ["host: 169.254.169.254\r\n", "", "host: a\r\nhost: b\r\n", "host: @evil/\r\n"]
        .into_iter()
        .enumerate()
    {
        let request = format!("GET {prefix}/orders/{n} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let answer = trick.reader.raw(request.as_bytes()).await;
        if answer.status == 200 {
            assert_eq!(answer.json()["host"], trick.upstream.address.to_string());
        } else {
            assert_eq!(answer.status, 400, "{hosts:?}");
        }
    }
}

#[tokio::test]
async fn a_body_with_two_lengths_smuggles_nothing() {
    let trick = Trick::set_up().await;
    let prefix = &trick.desk.at("WRITER_URL").prefix;
    let hidden = format!("GET {prefix}/admin/wipe HTTP/1.1\r\nhost: x\r\n\r\n");
    let head =
        |lengths: &str| format!("POST {prefix}/orders/refund HTTP/1.1\r\nhost: x\r\n{lengths}\r\n\r\n");
    for lengths in [
        "content-length: 0\r\ncontent-length: 40",
        "content-length: 0, 40",
        "content-length: +4",
        "content-length: -1",
        "content-length: 0x4",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        "transfer-encoding:\x0bchunked",
    ] {
        let request = format!("{}0\r\n\r\n{hidden}", head(lengths));
        let answer = trick.reader.raw(request.as_bytes()).await;
        assert!(answer.status == 400 || answer.status == 0, "{lengths:?}: {answer:?}");
        assert!(answer.body.is_empty(), "one answer and no more: {answer:?}");
    }
    trick.failed();
    assert_eq!(trick.desk.attempts().len(), 1, "{:?}", trick.desk.attempts());
    // RFC 9112 6.3: the coding wins, the length is not passed on, and the connection ends with the answer.
    for lengths in
        ["content-length: 4\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 4"]
    {
        let request = format!("{}0\r\n\r\n{hidden}", head(lengths));
        let answer = trick.reader.raw(request.as_bytes()).await;
        assert_eq!((answer.status, answer.whole), (200, true), "one answer and no more: {answer:?}");
        assert_eq!(answer.json()["body"], "");
    }
    assert_eq!((trick.upstream.seen(), trick.desk.attempts().len()), (3, 3));
}

#[tokio::test]
async fn a_second_request_in_one_body_is_a_body() {
    let trick = Trick::set_up().await;
    let writer = trick.desk.at("WRITER_URL");
    let hidden = format!("GET {}/admin/wipe HTTP/1.1\r\nhost: x\r\n\r\n", writer.prefix);
    let answer =
        writer.send("POST", "/orders/refund", &["content-type: text/plain"], hidden.as_bytes()).await;
    assert_eq!(answer.status, 200);
    assert_eq!((trick.upstream.seen(), trick.desk.attempts().len()), (2, 2));
    // The token in that body is no secret of the service's.
    assert!(!trick.desk.text().contains(writer.token()));
}

#[tokio::test]
async fn a_header_named_by_connection_hides_nothing_from_the_channel() {
    let trick = Trick::set_up().await;
    let answer = trick
        .reader
        .send(
            "GET",
            "/orders/3",
            &["connection: host, content-length, authorization", "authorization: x"],
            b"",
        )
        .await;
    assert_eq!(answer.json()["host"], trick.upstream.address.to_string());
    assert_eq!(answer.json()["headers"], serde_json::json!([]));
}

#[tokio::test]
async fn an_argument_that_comes_twice_is_recorded_as_it_came() {
    let trick = Trick::set_up().await;
    let writer = trick.desk.at("WRITER_URL");
    let body = r#"{"amount":1,"amount":100}"#;
    let answer = writer.post("/orders/refund", body).await;
    assert_eq!(answer.json()["body"], body, "what passes is what was sent");
    assert_eq!(trick.desk.rows_of("attempt")[1]["arguments"], serde_json::json!({ "body": body }));
}
