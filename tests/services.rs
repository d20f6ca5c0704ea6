//! Real services behind the tools of an app under trial: started, put back between trials, and gone afterwards.

mod support;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use support::skip;

fn program() -> String {
    format!("{}/tests/apps/ledger.py", env!("CARGO_MANIFEST_DIR"))
}

/// A scenario of three trials, each of which refunds once and has to be the first to do so.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn of(upstream: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let contract = json!({
            "contract": 1,
            "app": {
                "name": "desk",
                "start": ["python3", program(), "app"],
                "talk": "stdio",
                "telemetry": { "flush": "none" },
            },
            "workers": [{ "id": "refund", "binding": "separate", "address_env": "REFUND_URL" }],
            "world": {
                "upstreams": { "ledger": upstream },
                "tools": { "issue_refund": { "http": "POST /refunds", "upstream": "ledger" } },
            },
        });
        let scenario = json!({
            "scenario": "first",
            "tests": "each trial finds the ledger empty",
            "turns": [{ "user": "refund it" }],
            "sub_goals": [
                { "id": "first", "reply": { "contains": "refunds=1 " } },
                { "id": "once", "calls": { "tool": "issue_refund", "times": 1 } },
            ],
        });
        fs::write(folder.path().join("contract.yaml"), contract.to_string()).expect("written");
        fs::write(folder.path().join("first.scenario.yaml"), scenario.to_string()).expect("written");
        Self { folder }
    }

    fn run(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .args(["run", "--trials", "3", "--out"])
            .arg(self.folder.path().join("out"))
            .args(more)
            .arg(self.folder.path())
            .output()
            .expect("mocktrial starts")
    }

    /// The processes that answered, by what the records hold.
    fn processes(&self) -> BTreeSet<u64> {
        let trials = self.folder.path().join("out/trials/first");
        let mut found = BTreeSet::new();
        for record in fs::read_dir(trials).expect("records") {
            let text = fs::read_to_string(record.expect("a record").path()).expect("read");
            let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            found.extend(rows.filter_map(|row| row["result"]["process"].as_u64()));
        }
        found
    }
}

fn passes(output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("3 trials: 3 passed, 0 failed, 0 unknown, 0 error"), "{said}{trouble}");
}

fn is_there(process: u64) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

fn in_memory(more: Value) -> Value {
    let mut upstream = json!({
        "start": ["python3", program(), "serve", "${port}"],
        "ready": { "http": "http://127.0.0.1:${port}/health" },
        "http": "http://127.0.0.1:${port}",
    });
    upstream.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    upstream
}

#[test]
fn a_service_that_cannot_be_put_back_is_started_anew_for_each_trial_and_ends_with_it() {
    let desk = Desk::of(&in_memory(json!({})));
    passes(&desk.run(&["-j", "3"]));
    let processes = desk.processes();
    assert_eq!(processes.len(), 3);
    assert!(!processes.into_iter().any(is_there));
}

#[test]
fn a_service_that_can_be_put_back_serves_one_trial_after_another_and_ends_with_the_run() {
    let desk = Desk::of(&in_memory(json!({ "reset": { "post": "/reset" } })));
    passes(&desk.run(&["-j", "1"]));
    let processes = desk.processes();
    assert_eq!(processes.len(), 1);
    assert!(!processes.into_iter().any(is_there));
}

#[test]
fn a_service_that_is_not_ours_serves_one_trial_at_a_time() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let mut service = Command::new("python3")
        .args([&program(), "serve", &port.to_string()])
        .spawn()
        .expect("python3 starts");
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(service.try_wait().expect("asked").is_none(), "the service ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let url = format!("http://127.0.0.1:{port}");
    let desk = Desk::of(&json!({ "http": url, "reset": { "post": "/reset" } }));
    let output = desk.run(&["-j", "3"]);
    service.kill().and_then(|()| service.wait()).expect("ended");
    passes(&output);
    assert_eq!(desk.processes(), [u64::from(service.id())].into());
}

#[test]
fn a_service_that_dies_makes_the_trial_an_error_and_no_failure_of_the_app() {
    let desk = Desk::of(&json!({
        "start": ["sh", "-c", "echo out of luck >&2; exit 7"],
        "ready": { "http": "http://127.0.0.1:${port}/health" },
        "http": "http://127.0.0.1:${port}",
    }));
    let output = desk.run(&["-j", "1"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("3 trials: 0 passed, 0 failed, 0 unknown, 3 error"), "{said}");
    assert!(said.contains("`ledger`") && said.contains("out of luck"), "{said}");
}

/// A database in a folder of its own, run by somebody who is not root.
struct Database {
    folder: PathBuf,
    server: Child,
    _home: tempfile::TempDir,
}

impl Database {
    fn start() -> Result<Self, String> {
        let bin = fs::read_dir("/usr/lib/postgresql")
            .ok()
            .and_then(|versions| versions.flatten().map(|version| version.path().join("bin")).max())
            .filter(|bin| bin.join("initdb").exists())
            .ok_or("PostgreSQL is not installed (Debian: postgresql)")?;
        let home = tempfile::tempdir().map_err(|why| why.to_string())?;
        let folder = home.path().join("data");
        fs::create_dir(&folder).map_err(|why| why.to_string())?;
        let (user, group) = someone();
        chown(&folder, Some(user), Some(group)).map_err(|why| format!("chown: {why}"))?;
        open_to_all(home.path());
        let as_someone = |program: &str| {
            let mut command = Command::new(bin.join(program));
            command.arg("-D").arg(&folder).current_dir(&folder).stdin(Stdio::null());
            if user != rustix::process::getuid().as_raw() {
                command.uid(user).gid(group);
            }
            command
        };
        let made = as_someone("initdb")
            .args(["--username", "desk", "--auth", "trust", "--no-sync"])
            .output()
            .map_err(|why| why.to_string())?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let mut server = as_someone("postgres")
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(&folder)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| why.to_string())?;
        let log = BufReader::new(server.stderr.take().ok_or("no log")?);
        let mut lines = log.lines().map_while(Result::ok);
        let mut said = String::new();
        let ready = lines.by_ref().any(|line| {
            said = format!("{said}\n{line}");
            line.contains("ready to accept connections")
        });
        // Read on, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        if !ready {
            let _ = server.wait();
            return Err(format!("postgres did not start: {said}"));
        }
        Ok(Self { folder, server, _home: home })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.server.id().cast_signed()) {
            // The fast shutdown of PostgreSQL.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ = self.server.wait();
    }
}

/// Us, or `nobody` where we are root: PostgreSQL does not run as root.
fn someone() -> (u32, u32) {
    match rustix::process::getuid().as_raw() {
        0 => (65534, 65534),
        own => (own, rustix::process::getgid().as_raw()),
    }
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(folder).expect("a folder").mode() | 0o055;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("opened");
}

/// A Python with a driver for PostgreSQL, installed once.
fn python() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-envs/postgres-python");
    fs::create_dir_all(&home).map_err(|why| why.to_string())?;
    let lock = File::create(home.join("lock")).map_err(|why| why.to_string())?;
    lock.lock().map_err(|why| why.to_string())?;
    let python = home.join("venv/bin/python");
    if !home.join("installed").exists() {
        let steps: [(&Path, &[&str]); 2] = [
            (Path::new("python3"), &["-m", "venv", "venv"]),
            (&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pg8000>=1.31,<2"]),
        ];
        for (program, arguments) in steps {
            let run = Command::new(program).args(arguments).current_dir(&home).output();
            let run = run.map_err(|why| format!("{}: {why}", program.display()))?;
            if !run.status.success() {
                return Err(String::from_utf8_lossy(&run.stderr).into_owned());
            }
        }
        File::create(home.join("installed")).map_err(|why| why.to_string())?;
    }
    Ok(python)
}

#[test]
fn a_service_on_postgresql_is_put_back_between_trials() {
    let test = "a_service_on_postgresql_is_put_back_between_trials";
    let (database, python) = match (Database::start(), python()) {
        (Ok(database), Ok(python)) => (database, python),
        (Err(why), _) | (_, Err(why)) => return skip(test, &why),
    };
    let desk = Desk::of(&json!({
        "start": [python, program(), "serve", "${port}", database.folder],
        "ready": { "http": "http://127.0.0.1:${port}/health" },
        "http": "http://127.0.0.1:${port}",
        "reset": { "post": "/reset" },
    }));
    passes(&desk.run(&["-j", "1"]));
    assert_eq!(desk.processes().len(), 1);
}
