//! Ctrl-C, as a terminal sends it.

#[path = "support/desk.rs"]
mod desk;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use desk::Desk;
use mocktrial::clock::Clock;

/// Trials that each wait for the release of a file, so that they are in flight for as long as the test says.
fn waiting() -> Desk {
    let desk = Desk::after("echo up >> ups; while ! test -e go; do sleep 0.1; done;");
    for name in ["one", "two", "three"] {
        desk.write(
            &format!("{name}.scenario.yaml"),
            &format!(
                "scenario: {name}\ntests: something\nturns: [{{ user: Where is order 1042? }}]\n\
                 sub_goals: [{{ id: told, reply: {{ contains: \"1042\" }} }}]\n"
            ),
        );
    }
    desk
}

fn begun(desk: &Desk) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(desk.path())
        .args(["run", ".", "--out", "out", "-j", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mocktrial starts");
    let stderr = BufReader::new(child.stderr.take().expect("its standard error"));
    let ups = desk.at("ups");
    while !ups.exists() {
        assert!(child.try_wait().expect("a state").is_none(), "it ended before its first app was up");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    (child, stderr)
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
}

fn told(stderr: &mut impl BufRead, what: &str) {
    let mut line = String::new();
    while !line.contains(what) {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "it never said `{what}`");
    }
}

/// No process has the desk as its folder any more. What ends with mocktrial (its guard, which outlives it to kill what
/// it left) has a moment for it.
fn nothing_left(desk: &Desk) {
    let folder = desk.path().canonicalize().expect("a folder");
    let left = || -> Vec<String> {
        let processes = std::fs::read_dir("/proc").expect("processes").filter_map(|entry| {
            let process = entry.ok()?.path();
            let cwd = std::fs::read_link(process.join("cwd")).ok()?;
            (cwd == folder).then(|| std::fs::read_to_string(process.join("cmdline")).unwrap_or_default())
        });
        processes.collect()
    };
    let clock = Clock::start();
    let begun = clock.now();
    while !left().is_empty() && clock.now().since(begun) < std::time::Duration::from_secs(10) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(left(), [""; 0], "something of the app is left running");
}

fn last_line(child: Child) -> (Option<i32>, String) {
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    (ended.status.code(), said.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn the_first_ctrl_c_lets_the_trial_in_flight_finish_and_begins_no_other() {
    let desk = waiting();
    let (child, mut stderr) = begun(&desk);
    interrupt(&child);
    told(&mut stderr, "interrupted: waiting for the trials in flight; again to end them now");
    desk.write("go", "");
    let (code, last) = last_line(child);
    assert_eq!(code, Some(130), "{last}");
    assert_eq!(last, "3 trials: 1 passed, 0 failed, 0 unknown, 0 error, 2 not run; goals: 0 unknown");
    nothing_left(&desk);
    let run = desk.run_file("out");
    let trials = run["trials"].as_object().expect("trials");
    assert_eq!(trials.values().filter(|trial| trial["state"]["state"] == "sealed").count(), 1);
}

#[test]
fn the_second_ctrl_c_ends_the_trial_now_and_its_record_says_how_far_it_got() {
    let desk = waiting();
    let (child, mut stderr) = begun(&desk);
    interrupt(&child);
    told(&mut stderr, "again to end them now");
    interrupt(&child);
    let (code, last) = last_line(child);
    assert_eq!(code, Some(130), "{last}");
    assert_eq!(last, "3 trials: 0 passed, 0 failed, 0 unknown, 1 error, 2 not run; goals: 0 unknown");
    nothing_left(&desk);
    let said = desk.told(&["verify", "out"], 0);
    assert_eq!(
        (said.matches("not sealed: it ends after").count(), said.matches("not run").count()),
        (1, 2),
        "{said}"
    );
    let rows = std::fs::read_dir(desk.at("out/trials")).expect("trials").count();
    assert_eq!(rows, 1, "no trial was begun after the first");
}
