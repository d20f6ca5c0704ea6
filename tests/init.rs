//! `mocktrial init`, as somebody uses it who has an app, a file of OpenAPI, or nothing.

use std::path::Path;
use std::process::{Child, Command, Output};

const DESK: &str = r#"
openapi: 3.1.0
info: { title: desk, version: "1" }
paths:
  /orders/{order_id}:
    get: { operationId: get_order, summary: Look one order up., responses: { "200": { description: ok } } }
  /refunds:
    post:
      operationId: issue_refund
      requestBody:
        content:
          application/json:
            schema: { type: object, required: [order_id], properties: { order_id: { type: string }, cents: { type: integer } } }
      responses: { "201": { description: ok } }
"#;

fn mocktrial(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mocktrial")).args(arguments).output().expect("mocktrial starts")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn written(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn from_nothing_there_is_a_first_green() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new");
    let run = || {
        Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .current_dir(folder.path())
            .args(["init", "new"])
            .output()
    };
    let output = run().expect("mocktrial starts");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("1 trials: 1 passed"), "{}", told(&output));
    assert_eq!(mocktrial(&["check", text(&path)]).status.code(), Some(0));
    // What is there is not overwritten.
    let before = written(&path, "contract.yaml");
    assert_eq!(run().expect("mocktrial starts").status.code(), Some(2));
    assert_eq!(written(&path, "contract.yaml"), before);
}

#[test]
fn an_openapi_file_is_drafted_as_a_service_or_as_tables_and_either_loads() {
    for (more, line) in
        [(&["--upstream", "http://127.0.0.1:9"][..], "upstream: service"), (&["--sqlite"], "SELECT * FROM")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("desk.yaml");
        std::fs::write(&file, DESK).expect("written");
        let out = folder.path().join("trials");
        let arguments = [&["init", text(&out), "--openapi", text(&file)], more].concat();
        let output = mocktrial(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let contract = written(&out, "contract.yaml");
        for wanted in [
            "\"GET /orders/{order_id}\"",
            "\"issue_refund\"",
            "\"cents?\": integer",
            "Look one order up.",
            line,
        ] {
            assert!(contract.contains(wanted), "{wanted}: {contract}");
        }
        let scenario = "scenario: s\ntests: x\nturns: [{ user: hi }]\nsub_goals: [{ id: g, calls: { tool: issue_refund } }]\nsolution: [{ worker: worker, tool: issue_refund, args: { order_id: a } }, { reply: ok }]\n";
        std::fs::write(out.join("s.scenario.yaml"), scenario).expect("written");
        let output = mocktrial(&["check", text(&out)]);
        assert_ne!(output.status.code(), Some(2), "{}", told(&output));
    }
}

#[test]
fn a_services_openapi_file_names_its_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("desk.yaml"), DESK).expect("written");
    let contract = "contract: 1
app: { name: desk, start: ['true'], talk: stdio }
workers: [{ id: worker, allowed_tools: [get_order, refund], binding: separate, address_env: TOOLS_URL }]
world:
  upstreams: { desk: { http: 'http://127.0.0.1:9', openapi: desk.yaml } }
  tools: { refund: { http: POST /refunds, upstream: desk } }
";
    std::fs::write(folder.path().join("contract.yaml"), contract).expect("written");
    let scenario =
        "scenario: s\ntests: x\nturns: [{ user: hi }]\nsub_goals: [{ id: g, calls: { tool: get_order } }]\n";
    std::fs::write(folder.path().join("s.scenario.yaml"), scenario).expect("written");
    let output = mocktrial(&["check", text(folder.path()), "--explain", "worker", "get_order"]);
    assert!(told(&output).contains("get_order") && !told(&output).contains("error"), "{}", told(&output));
    // The contract's own name for a route stands.
    let output = mocktrial(&["check", text(folder.path()), "--explain", "worker", "issue_refund"]);
    assert!(told(&output).contains("issue_refund") && output.status.code() == Some(2), "{}", told(&output));
}

#[test]
fn a_contract_named_alone_is_in_the_folder_we_are_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let contract = "contract: 1
app: { name: desk, start: ['true'], talk: { stdio: {} } }
workers: [{ id: worker, binding: separate, address_env: TOOLS_URL }]
world: { upstreams: { desk: { mcp_stdio: [cat] } } }
";
    std::fs::write(folder.path().join("contract.yaml"), contract).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(folder.path())
        .args(["mcp", "--contract", "contract.yaml", "--worker", "worker", "--record", "record.jsonl"])
        .output()
        .expect("mocktrial starts");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let record = folder.path().join("record.jsonl");
    assert_eq!(mocktrial(&["verify", text(&record)]).status.code(), Some(0));
}

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn an_app_that_was_watched_once_is_under_trial() {
    let program = format!("{}/tests/apps/ledger.py", env!("CARGO_MANIFEST_DIR"));
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let mut service = Service(
        Command::new("python3").args([&program, "serve", &port.to_string()]).spawn().expect("python3"),
    );
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(service.0.try_wait().expect("asked").is_none(), "the service ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("trials");
    let output = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(folder.path())
        .args(["init", "trials", "--say", "refund it"])
        .args(["--service", &format!("REFUND_URL=http://127.0.0.1:{port}"), "--", "python3", &program, "app"])
        .output()
        .expect("mocktrial starts");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("1 trials: 1 passed, 0 failed, 0 unknown, 0 error"), "{}", told(&output));
    let contract = written(&out, "contract.yaml");
    for wanted in ["id: refund,", "address_env: REFUND_URL", "\"POST /refunds\"", "\"order_id\": string"] {
        assert!(contract.contains(wanted), "{wanted}: {contract}");
    }
    assert!(written(&out, "first.scenario.yaml").contains("tool: \"post_refunds\""));
}
