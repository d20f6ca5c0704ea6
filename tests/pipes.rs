//! What each verb does when nobody reads what it prints, or when it cannot be kept.

#[path = "support/desk.rs"]
mod desk;

use std::fs::File;
use std::process::{Command, Stdio};

use desk::Desk;

/// Every verb that prints, on a desk with a finished run in `out`, and its exit code when all is read.
fn verbs(desk: &Desk) -> Vec<(Vec<&str>, i32)> {
    desk.copy("refund_once");
    desk.write("spans.json", r#"{"resourceSpans":[]}"#);
    desk.told(&["run", ".", "--out", "out"], 0);
    let record = "out/trials/refund_once/0-1.jsonl";
    vec![
        (vec!["check", "."], 0),
        (vec!["check", ".", "--json"], 0),
        (vec!["check", ".", "--explain", "refund", "issue_refund"], 0),
        (vec!["run", ".", "--out", "again", "--annotations"], 0),
        (vec!["prove", "--binding", ".", "--out", "proved"], 0),
        (vec!["show", record], 0),
        (vec!["show", record, "--json"], 0),
        (vec!["report", "out"], 0),
        (vec!["report", "out", "--json"], 0),
        (vec!["report", "out", "--markdown"], 0),
        (vec!["diff", "out", "out"], 0),
        (vec!["diff", "out", "out", "--json"], 0),
        (vec!["verify", record], 0),
        (vec!["verify", "out"], 0),
        (vec!["grade", record], 0),
        (vec!["events", "spans.json"], 0),
        (vec!["schema", "contract"], 0),
        (vec!["keygen", "key"], 0),
        (vec!["completions", "bash"], 0),
        (vec!["--help"], 0),
        (vec!["--version"], 0),
        (vec!["run", "nowhere"], 2),
        (vec!["no-such-verb"], 2),
    ]
}

fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_left_changes_no_exit_code_and_is_told_nothing() {
    let desk = Desk::returns();
    for (args, exit) in verbs(&desk) {
        let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .current_dir(desk.path())
            .args(&args)
            .stdout(closed())
            .output()
            .expect("mocktrial starts");
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(exit), "{args:?}: {said}");
        assert!(exit != 0 || said.is_empty(), "{args:?}: {said}");
        for folder in ["again", "proved"] {
            let _ = std::fs::remove_dir_all(desk.at(folder));
        }
        let _ = std::fs::remove_file(desk.at("key"));
        let neither = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .current_dir(desk.path())
            .args(&args)
            .stdout(closed())
            .stderr(closed())
            .status()
            .expect("mocktrial starts");
        assert_eq!(neither.code(), Some(exit), "{args:?}, standard error closed too");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_and_said() {
    let desk = Desk::returns();
    for (args, exit) in
        verbs(&desk).into_iter().filter(|(args, exit)| *exit == 0 && !args[0].starts_with('-'))
    {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let nothing = args[0] == "events";
        let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .current_dir(desk.path())
            .args(&args)
            .stdout(full)
            .output()
            .expect("mocktrial starts");
        let said = String::from_utf8_lossy(&run.stderr);
        let (code, told) = if nothing { (exit, "") } else { (4, "standard output: No space left on device") };
        assert_eq!(run.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(told), "{args:?}: {said}");
    }
}
