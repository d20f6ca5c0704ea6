//! One run on many machines: workers that die, a server that is started again, and nothing lost or counted twice.

#[path = "support/desk.rs"]
mod desk;
mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use desk::Desk;
use mocktrial::clock::Clock;
use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

/// Debian's `nats-server`, with its store in a folder, so that it can be started again.
struct Server {
    port: u16,
    store: tempfile::TempDir,
    child: Child,
}

impl Server {
    fn start() -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).ok()?;
        let (port, store) = (free.port(), tempfile::tempdir().ok()?);
        let child = Self::spawn(port, store.path())?;
        Some(Self { port, store, child })
    }

    fn spawn(port: u16, store: &Path) -> Option<Child> {
        let child = Command::new("nats-server")
            .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
            .arg(store)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        wait("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(child)
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Killed, and started again on what it had stored.
    fn restart(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
        self.child = Self::spawn(self.port, self.store.path()).expect("a server");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for what another process does; there is no event to wait for.
fn wait(what: &str, mut happened: impl FnMut() -> bool) {
    let clock = Clock::start();
    let begun = clock.now();
    while !happened() {
        assert!(clock.now().since(begun) < Duration::from_secs(120), "not within two minutes: {what}");
        sleep(Duration::from_millis(20));
    }
}

fn worker(desk: &Desk, server: &Server, name: &str) -> Child {
    Command::new(MOCKTRIAL)
        .current_dir(desk.path())
        .args(["worker", "--queue", &server.url(), "-j", "2", "--out", name])
        .stderr(fs::File::create(desk.at(&format!("{name}.log"))).expect("a log"))
        .spawn()
        .expect("a worker")
}

fn run(desk: &Desk, server: &Server) -> Child {
    Command::new(MOCKTRIAL)
        .current_dir(desk.path())
        .args(["run", ".", "--queue", &server.url(), "--out", "out"])
        .stdout(fs::File::create(desk.at("run.txt")).expect("a file"))
        .stderr(fs::File::create(desk.at("run.log")).expect("a file"))
        .spawn()
        .expect("a run")
}

/// Records that a worker has begun, whatever became of them.
fn begun(desk: &Desk, worker: &str) -> usize {
    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.path() {
                path if path.is_dir() => count(&path),
                path => usize::from(
                    path.extension().is_some_and(|end| end == "jsonl")
                        && path.to_string_lossy().contains("/trials/"),
                ),
            })
            .sum()
    }
    count(&desk.at(worker))
}

/// Twelve trials of about a second each.
fn slow_desk() -> Desk {
    let desk = Desk::bare();
    let scenario = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/returns/refund_once.scenario.yaml"),
    );
    let slow = "faults:\n  - { worker: order_lookup, tool: get_order, on_call: 1, latency: 1s }\nrepeat: { trials: 12, pass: all }\n";
    desk.write("refund_once.scenario.yaml", &(scenario.expect("a scenario") + slow));
    desk
}

fn trials(file: &Value) -> Vec<(&String, &Value)> {
    let all = file["trials"].as_object().expect("trials");
    all.iter().filter(|(_, trial)| trial.get("binding_proof").is_none()).collect()
}

#[test]
fn a_worker_is_killed_and_the_server_started_again_and_nothing_is_lost_or_counted_twice() {
    let Some(mut server) = Server::start() else {
        return support::skip(
            "a_worker_is_killed_and_the_server_started_again_and_nothing_is_lost_or_counted_twice",
            "nats-server (Debian: nats-server) cannot be started",
        );
    };
    let desk = slow_desk();
    let mut run = run(&desk, &server);
    let (mut one, mut two) = (worker(&desk, &server, "one"), worker(&desk, &server, "two"));
    wait("both workers have trials", || begun(&desk, "one") >= 2 && begun(&desk, "two") >= 1);
    one.kill().expect("killed in mid trial");
    one.wait().expect("gone");
    let lost = begun(&desk, "one");
    server.restart();
    let ended = run.wait().expect("the run ends");
    let said = fs::read_to_string(desk.at("run.txt")).expect("what it said")
        + &fs::read_to_string(desk.at("run.log")).expect("what went wrong");
    assert_eq!(ended.code(), Some(0), "{said}{}", fs::read_to_string(desk.at("two.log")).unwrap_or_default());
    assert!(said.contains("12 trials: 12 passed, 0 failed, 0 unknown, 0 error"), "{said}");
    assert!(lost > 0, "the first worker had begun trials");
    let file = desk.run_file("out");
    assert_eq!(trials(&file).len(), 12);
    assert!(trials(&file).iter().all(|(_, trial)| trial["state"]["state"] == "sealed"), "{file}");
    desk.told(&["verify", "out"], 0);
    rustix::process::kill_process(rustix::process::Pid::from_child(&two), rustix::process::Signal::INT)
        .expect("told");
    let ended = two.wait().expect("the worker ends");
    assert_eq!((ended.code(), ended.signal()), (Some(130), None));
}

#[test]
fn a_worker_with_other_files_leaves_the_trials_alone_and_says_so() {
    let Some(server) = Server::start() else {
        return support::skip(
            "a_worker_with_other_files_leaves_the_trials_alone_and_says_so",
            "nats-server (Debian: nats-server) cannot be started",
        );
    };
    let (desk, other) = (slow_desk(), slow_desk());
    desk.change("refund_once.scenario.yaml", "trials: 12", "trials: 2");
    other.change("refund_once.scenario.yaml", "trials: 12", "trials: 3");
    let mut run = run(&desk, &server);
    let mut wrong = worker(&other, &server, "wrong");
    let log = other.at("wrong.log");
    wait("it says so", || fs::read_to_string(&log).unwrap_or_default().contains("are not those that run"));
    assert_eq!(begun(&other, "wrong"), 0);
    let mut right = worker(&desk, &server, "right");
    assert_eq!(
        run.wait().expect("the run ends").code(),
        Some(0),
        "{}",
        fs::read_to_string(desk.at("run.log")).unwrap_or_default()
    );
    for worker in [&mut wrong, &mut right] {
        worker.kill().expect("killed");
        worker.wait().expect("gone");
    }
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    let desk = slow_desk();
    let said = desk.told(&["run", ".", "--queue", "nats://me:hunter2@127.0.0.1:1", "--out", "out"], 4);
    assert!(said.contains("nats://127.0.0.1:1: cannot be reached") && !said.contains("hunter2"), "{said}");
}
