//! Official servers behind a channel, and official clients in front of it, in every pairing of eras: our part is in the
//! middle, as `mocktrial proxy` and `mocktrial mcp` start it.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::official::Sdk;
use crate::support::skip;

/// How the server is reached.
#[derive(Clone, Copy, Debug)]
enum By {
    Pipe,
    Http,
    HttpJson,
}

/// A contract with one server, in a folder of its own.
struct Desk {
    folder: tempfile::TempDir,
}

const WORKERS: &str = r#"
contract: 1
app: { name: desk, start: ["true"], talk: stdio }
workers:
  - { id: anyone, agent: Anyone, binding: separate, address_env: ANYONE_URL }
  - { id: lookup, agent: Lookup, allowed_tools: [get_order], binding: separate, address_env: LOOKUP_URL }
world:
"#;

impl Desk {
    fn of(upstreams: &[(&str, Value)], tools: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let upstreams: serde_json::Map<_, _> =
            upstreams.iter().map(|(name, spec)| ((*name).to_owned(), spec.clone())).collect();
        let text = format!("{WORKERS}  upstreams: {}\n{tools}", Value::Object(upstreams));
        std::fs::write(folder.path().join("contract.yaml"), text).expect("written");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mocktrial(&self, verb: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mocktrial"));
        command.args(verb).arg("--contract").arg(self.path("contract.yaml"));
        command.arg("--record").arg(self.path("record.jsonl")).kill_on_drop(true);
        command
    }

    /// The channels alone; the addresses of workers.
    async fn proxy(&self) -> (Child, Value) {
        let mut child = self
            .mocktrial(&["proxy"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mocktrial starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let Some(line) = lines.next_line().await.expect("read") else {
            let output = child.wait_with_output().await.expect("an end");
            panic!("no first line: {}", String::from_utf8_lossy(&output.stderr));
        };
        (child, serde_json::from_str(&line).expect("JSON"))
    }

    /// Ends the channels by Ctrl-C, checks the seal, and gives the record.
    async fn end(&self, mut child: Child) -> Vec<Value> {
        let pid = rustix::process::Pid::from_raw(child.id().expect("it runs").cast_signed()).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
        assert!(child.wait().await.expect("an end").success());
        self.record()
    }

    fn record(&self) -> Vec<Value> {
        let path = self.path("record.jsonl");
        let verify = std::process::Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .arg("verify")
            .arg(&path)
            .output()
            .expect("mocktrial starts");
        assert!(verify.status.success(), "{}", String::from_utf8_lossy(&verify.stdout));
        let text = std::fs::read_to_string(path).expect("a record");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn spec(sdk: Sdk, by: By) -> Result<Value, String> {
    let mut command = sdk.program("server")?;
    Ok(match by {
        By::Pipe => {
            command.push("stdio".to_owned());
            json!({ "mcp_stdio": command })
        }
        By::Http | By::HttpJson => {
            command.push("${port}".to_owned());
            if let By::HttpJson = by {
                command.push("json".to_owned());
            }
            json!({ "start": command, "mcp_http": "http://127.0.0.1:${port}/mcp" })
        }
    })
}

fn brief(rows: &[Value]) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let rows = rows.iter().filter_map(|row| match row["row"].as_str()? {
        "attempt" => Some(["worker", "tool", "decision", "code"].map(|field| word(&row[field])).join(" ")),
        "outcome" => Some(format!("  {} {}", word(&row["kind"]), word(&row["code"]))),
        _ => None,
    });
    rows.collect()
}

const ORDER: &str = "o7";

/// Client and server, each in its own way, and us between them.
async fn pass_through(test: &str, client: (Sdk, &str), server: (Sdk, By)) {
    let (Ok(spec), Ok(_)) = (spec(server.0, server.1), client.0.home()) else {
        return skip(test, "an SDK cannot be installed");
    };
    let desk = Desk::of(&[("orders", spec)], "");
    let (child, line) = desk.proxy().await;
    let url = |worker: &str| format!("{}/mcp", line["workers"][worker].as_str().expect("an address"));
    let calls = json!([
        ["get_order", {"order_id": ORDER}],
        ["deny", {"order_id": ORDER}],
        ["refund", {"order_id": ORDER}],
    ]);
    let said = client.0.call(&url("anyone"), client.1, &calls).await.expect("installed");
    let tools = said["tools"].as_array().expect("tools");
    assert!(tools.contains(&json!("get_order")) && tools.contains(&json!("refund")), "{said}");
    assert_eq!(said["calls"][0]["structure"], json!({"id": ORDER, "cents": 1250}), "{said}");
    assert_eq!(said["calls"][1]["failed"], true, "{said}");
    assert_eq!(said["asked"], json!(["Really refund o7?"]), "{said}");
    let text = said["calls"][2]["text"][0].as_str().unwrap_or_default();
    assert!(text.to_ascii_lowercase().starts_with("refunded o7 sure=true"), "{said}");
    let refused = json!([["refund", {"order_id": ORDER}], ["get_order", {"order_id": ORDER}]]);
    let said = client.0.call(&url("lookup"), client.1, &refused).await.expect("installed");
    assert_eq!(said["calls"][0]["meta"]["mocktrial/refusal"]["code"], "not_permitted", "{said}");
    assert_eq!(said["calls"][1]["failed"], false, "{said}");
    let rows = desk.end(child).await;
    let rows = brief(&rows);
    assert_eq!(
        rows[..6],
        [
            "anyone get_order allowed -",
            "  done -",
            "anyone deny allowed -",
            "  world_refused tool_error",
            "anyone refund allowed -",
            "  done -",
        ]
    );
    assert_eq!(
        rows[rows.len() - 3..],
        ["lookup refund refused not_permitted", "lookup get_order allowed -", "  done -"]
    );
}

macro_rules! pairings {
    ($($test:ident: $client:ident $mode:literal, $server:ident $by:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            pass_through(stringify!($test), (Sdk::$client, $mode), (Sdk::$server, By::$by)).await;
        }
    )*};
}
pairings! {
    a_python_client_with_a_handshake_and_a_python_server_on_a_pipe: Python "legacy", Python Pipe;
    a_python_client_without_a_handshake_and_a_python_server_on_a_pipe: Python "2026-07-28", Python Pipe;
    a_python_client_with_a_handshake_and_a_python_server_over_http: Python "legacy", Python Http;
    a_python_client_without_a_handshake_and_a_python_server_over_http: Python "2026-07-28", Python Http;
    a_python_client_without_a_handshake_and_a_python_server_in_json: Python "2026-07-28", Python HttpJson;
    a_javascript_client_before_its_split_and_a_python_server_over_http: JavaScript "first", Python Http;
    a_javascript_client_without_a_handshake_and_a_python_server_over_http: JavaScript "2026-07-28", Python Http;
    a_javascript_client_without_a_handshake_and_a_javascript_server: JavaScript "2026-07-28", JavaScript Pipe;
    a_python_client_with_a_handshake_and_a_javascript_server: Python "legacy", JavaScript Pipe;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_through_as_it_was_told() {
    let Ok(spec) = spec(Sdk::Python, By::Http) else {
        return skip("progress_comes_through_as_it_was_told", "the SDK cannot be installed");
    };
    let desk = Desk::of(&[("orders", spec)], "");
    let (child, line) = desk.proxy().await;
    let url = format!("{}/mcp", line["workers"]["anyone"].as_str().expect("an address"));
    for mode in ["legacy", "2026-07-28"] {
        let said = Sdk::Python.call(&url, mode, &json!([["slow", {}]])).await.expect("installed");
        assert_eq!(said["progress"], json!([[1.0, 2.0, "one"], [2.0, 2.0, "two"]]), "{said}");
    }
    assert_eq!(brief(&desk.end(child).await), ["anyone slow allowed -", "  done -"].repeat(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_two_servers_and_of_the_contract_are_kept_apart() {
    let (Ok(one), Ok(two)) = (spec(Sdk::Python, By::Pipe), spec(Sdk::JavaScript, By::Pipe)) else {
        let test = "names_of_two_servers_and_of_the_contract_are_kept_apart";
        return skip(test, "an SDK cannot be installed");
    };
    let tools = "  tools:\n    find: { effect: read, upstream: { name: one, tool: get_order } }\n";
    let desk = Desk::of(&[("one", one), ("two", two)], tools);
    let (child, line) = desk.proxy().await;
    let url = format!("{}/mcp", line["workers"]["anyone"].as_str().expect("an address"));
    let order = json!({"order_id": ORDER});
    let calls =
        json!([["find", order], ["two__get_order", order], ["get_order", order], ["one__get_order", order],]);
    let said = Sdk::Python.call(&url, "auto", &calls).await.expect("installed");
    let tools = said["tools"].as_array().expect("tools");
    for (name, there) in [
        ("find", true),
        ("one__deny", true),
        ("two__deny", true),
        ("two__get_order", true),
        ("one__get_order", false),
        ("get_order", false),
    ] {
        assert_eq!(tools.contains(&json!(name)), there, "{name}: {said}");
    }
    for call in &said["calls"].as_array().expect("calls")[2..] {
        assert_eq!(call["meta"]["mocktrial/refusal"]["code"], "unknown_action");
    }
    assert_eq!(
        brief(&desk.end(child).await),
        [
            "anyone find allowed -",
            "  done -",
            "anyone two__get_order allowed -",
            "  done -",
            "anyone - refused unknown_action",
            "anyone - refused unknown_action",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_an_app_is_a_server_on_a_pipe() {
    let Ok(spec) = spec(Sdk::Python, By::Pipe) else {
        return skip("a_worker_without_an_app_is_a_server_on_a_pipe", "the SDK cannot be installed");
    };
    for mode in ["legacy", "2026-07-28"] {
        let desk = Desk::of(&[("orders", spec.clone())], "");
        let command = json!([
            env!("CARGO_BIN_EXE_mocktrial"),
            "mcp",
            "--worker",
            "lookup",
            "--contract",
            desk.path("contract.yaml"),
            "--record",
            desk.path("record.jsonl"),
        ]);
        let calls = json!([["get_order", {"order_id": ORDER}], ["refund", {"order_id": ORDER}]]);
        let said = Sdk::Python.call(&command.to_string(), mode, &calls).await.expect("installed");
        assert_eq!(said["calls"][0]["structure"], json!({"id": ORDER, "cents": 1250}), "{said}");
        assert_eq!(said["calls"][1]["meta"]["mocktrial/refusal"]["code"], "not_permitted");
        assert_eq!(
            brief(&desk.record()),
            ["lookup get_order allowed -", "  done -", "lookup refund refused not_permitted"]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_in_front_of_a_channel_passes_everything_on() {
    let test = "a_pipe_in_front_of_a_channel_passes_everything_on";
    let Ok(spec) = spec(Sdk::Python, By::Http) else {
        return skip(test, "the SDK cannot be installed");
    };
    let desk = Desk::of(&[("orders", spec)], "");
    let (child, line) = desk.proxy().await;
    let address = line["workers"]["anyone"].as_str().expect("an address");
    let variable = "env";
    for mode in ["legacy", "2026-07-28"] {
        let command = json!([
            variable,
            format!("TOOLS={address}"),
            env!("CARGO_BIN_EXE_mocktrial"),
            "mcp",
            "--channel-env",
            "TOOLS",
        ]);
        let calls = json!([["slow", {}], ["refund", {"order_id": ORDER}]]);
        let said = Sdk::Python.call(&command.to_string(), mode, &calls).await.expect("installed");
        assert_eq!(said["progress"].as_array().map(Vec::len), Some(2), "{said}");
        assert_eq!(said["asked"], json!(["Really refund o7?"]), "{said}");
        assert_eq!(said["calls"][1]["failed"], false, "{said}");
    }
    let rows = desk.end(child).await;
    let one = ["anyone slow allowed -", "  done -", "anyone refund allowed -", "  done -"];
    assert_eq!(brief(&rows), one.repeat(2));
    assert!(rows.iter().all(|row| !row.to_string().contains(address)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_told_with_its_output() {
    let desk = Desk::of(
        &[(
            "orders",
            json!({"start": ["sh", "-c", "echo no luck >&2; exit 3"], "mcp_http": "http://127.0.0.1:${port}/mcp"}),
        )],
        "",
    );
    let output = desk.mocktrial(&["proxy"]).output().await.expect("mocktrial starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("`orders`") && said.contains("status 3") && said.contains("no luck"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_a_server_is_called_over_http_by_its_route() {
    let Ok(spec) = spec(Sdk::Python, By::Pipe) else {
        return skip("a_tool_of_a_server_is_called_over_http_by_its_route", "the SDK cannot be installed");
    };
    let tools = "  tools:
    find: { http: 'GET /orders/{order_id}', args: { order_id: string }, upstream: { name: orders, tool: get_order } }
    deny: { http: 'POST /denials/{order_id}', args: { order_id: string }, upstream: orders }
";
    let desk = Desk::of(&[("orders", spec)], tools);
    let (child, line) = desk.proxy().await;
    let address = crate::desk::Address::parse(line["workers"]["anyone"].as_str().expect("an address"));
    let found = address.get("/orders/o7").await;
    assert_eq!((found.status, found.json()), (200, json!({"id": ORDER, "cents": 1250})));
    assert_eq!(address.post("/denials/o7", "{}").await.status, 400);
    assert_eq!(
        brief(&desk.end(child).await),
        ["anyone find allowed -", "  done -", "anyone deny allowed -", "  world_refused tool_error"]
    );
}
