//! Taking a run up: what is kept, what runs again, and what is refused.

use std::fs;
use std::path::Path;

use mocktrial::record::{RunFile, TrialState, trial_file};

use super::{Desk, said};

/// A finished run of which the trial `many/0-3` was cut off after `rows` rows, and `many/0-5` never began.
fn cut_off(desk: &Desk, rows: usize) -> std::path::PathBuf {
    let out = desk.path("out");
    let run = desk.run("--out", &out, &[]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let mut file = RunFile::read(&out).expect("a run file");
    file.ended_at = None;
    for (id, state) in [("many/0-3", TrialState::Running), ("many/0-5", TrialState::Planned)] {
        file.trials.get_mut(id).expect("planned").state = state;
    }
    file.write(&out).expect("written");
    let path = record(&out, "many/0-3");
    let bytes = fs::read(&path).expect("a record");
    let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    fs::write(&path, [&lines[..rows].concat()[..], b"{\"torn"].concat()).expect("cut");
    fs::remove_file(record(&out, "many/0-5")).expect("removed");
    out
}

fn record(out: &Path, id: &str) -> std::path::PathBuf {
    out.join(trial_file(id).expect("an id"))
}

#[test]
fn what_is_sealed_is_kept_and_the_rest_runs_under_names_that_say_so() {
    let desk = Desk::new();
    let out = cut_off(&desk, 4);
    let kept = fs::read(record(&out, "many/0-1")).expect("a record");
    let torn = fs::read(record(&out, "many/0-3")).expect("a record");
    let before = desk.mocktrial(&["report"], &out);
    assert_eq!(before.status.code(), Some(4), "a run that was cut off is no success: {}", said(&before));

    let run = desk.run("--resume", &out, &[]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert_eq!(fs::read(record(&out, "many/0-1")).expect("a record"), kept);
    assert_eq!(fs::read(record(&out, "many/0-3")).expect("a record"), torn);
    let file = RunFile::read(&out).expect("a run file");
    assert_eq!(file.resumed_at.len(), 1);
    assert_eq!(file.trials.len(), 9);
    assert_eq!(file.trials["many/0-3"].state, TrialState::Unsealed { why: "killed".to_owned() });
    assert_eq!(file.trials["many/0-3-resume1"].resumes.as_deref(), Some("many/0-3"));
    assert!(matches!(file.trials["many/0-3-resume1"].state, TrialState::Sealed { .. }));
    assert!(matches!(file.trials["many/0-5"].state, TrialState::Sealed { .. }));
    assert_eq!(file.scenarios["many"].tally.passed, 8);

    let verified = desk.mocktrial(&["verify"], &out);
    let told = said(&verified);
    assert_eq!(verified.status.code(), Some(0), "{told}");
    assert!(
        told.contains("many/0-3: not sealed: it ends after 4 rows; run again as many/0-3-resume1"),
        "{told}"
    );
    let report = desk.mocktrial(&["report"], &out);
    let told = said(&report);
    assert_eq!(report.status.code(), Some(0), "{told}");
    assert!(told.contains("8 trials: 8 passed"), "{told}");

    // Nothing is left to do, and saying so changes nothing but the story.
    let run = desk.run("--resume", &out, &[]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert_eq!(RunFile::read(&out).expect("a run file").trials, file.trials);
}

#[test]
fn a_run_is_taken_up_only_as_it_was_begun() {
    let desk = Desk::new();
    let out = cut_off(&desk, 2);
    let refused = |more: &[&str], what: &str| {
        let run = desk.run("--resume", &out, more);
        assert_eq!(run.status.code(), Some(2), "{}", said(&run));
        assert!(said(&run).contains(what), "{what}: {}", said(&run));
    };
    refused(&["--trials", "9"], "many/0-9 is asked for and not in the run");
    refused(&["--trials", "2"], "many/0-3 is in the run and not among the trials asked for");
    refused(&["--seed", "7"], "--seed is not what many/0-1 was run with");
    for (file, what) in [
        ("many.scenario.yaml", "scenario many.scenario.yaml is not what"),
        ("contract.yaml", "contract contract.yaml is not what"),
        ("world.sql", "file world.sql is not what"),
    ] {
        let path = desk.path(file);
        let text = fs::read_to_string(&path).expect("a text");
        let comment = if file.ends_with("sql") { "-- changed" } else { "# changed" };
        fs::write(&path, format!("{text}\n{comment}\n")).expect("written");
        refused(&[], what);
        fs::write(&path, text).expect("written");
    }
    let app = desk.path("app");
    let bytes = fs::read(&app).expect("the app");
    fs::write(&app, [&bytes[..], b"x"].concat()).expect("written");
    refused(&[], "app is not what many/0-1 was run with");
    fs::write(&app, bytes).expect("written");
    assert!(!record(&out, "many/0-5").exists() && !record(&out, "many/0-3-resume1").exists());
}

#[test]
fn nothing_is_added_to_a_run_that_does_not_hold() {
    let desk = Desk::new();
    let out = cut_off(&desk, 2);
    let refused = |what: &str| {
        let run = desk.run("--resume", &out, &[]);
        assert_eq!(run.status.code(), Some(2), "{}", said(&run));
        assert!(said(&run).contains(what), "{what}: {}", said(&run));
    };
    let path = record(&out, "many/0-1");
    let whole = fs::read(&path).expect("a record");
    let mut bent = whole.clone();
    bent[whole.len() / 2] ^= 1;
    fs::write(&path, &bent).expect("bent");
    refused("many/0-1: row ");
    fs::remove_file(&path).expect("removed");
    refused("many/0-1: its record is missing");
    fs::write(&path, &whole).expect("as it was");
    fs::write(path.with_file_name("0-9.jsonl"), &whole).expect("added");
    refused("0-9.jsonl: nobody planned this trial");
}

#[test]
fn two_do_not_work_in_one_folder() {
    let desk = Desk::new();
    let out = cut_off(&desk, 2);
    let _lock = mocktrial::record::RunLock::take(&out).expect("free");
    let run = desk.run("--resume", &out, &[]);
    assert_eq!(run.status.code(), Some(2), "{}", said(&run));
    assert!(said(&run).contains("a run is going on here"), "{}", said(&run));
}

#[test]
fn a_retry_that_was_cut_off_runs_again_and_one_that_never_began_begins() {
    let desk = Desk::new();
    let contract = fs::read_to_string(desk.path("contract.yaml")).expect("a contract");
    fs::write(desk.path("contract.yaml"), contract.replace("within: 20s", "within: 300ms")).expect("written");
    let scenario = fs::read_to_string(desk.path("many.scenario.yaml")).expect("a scenario");
    let scenario = scenario.replace("trials: 8", "trials: 2") + "env: { MISBEHAVE: never_ready }\n";
    fs::write(desk.path("many.scenario.yaml"), scenario).expect("written");
    let out = desk.path("out");
    let run = desk.run("--out", &out, &[]);
    assert_eq!(run.status.code(), Some(4), "{}", said(&run));
    let mut file = RunFile::read(&out).expect("a run file");
    let first = record(&out, "many/0-1-retry");
    fs::write(&first, &fs::read(&first).expect("a record")[..50]).expect("cut");
    file.trials.get_mut("many/0-1-retry").expect("a retry").state = TrialState::Running;
    fs::remove_file(record(&out, "many/0-2-retry")).expect("removed");
    file.trials.remove("many/0-2-retry").expect("a retry");
    file.write(&out).expect("written");

    let run = desk.run("--resume", &out, &[]);
    assert_eq!(run.status.code(), Some(4), "{}", said(&run));
    let file = RunFile::read(&out).expect("a run file");
    let ids: Vec<_> = file.trials.keys().map(String::as_str).collect();
    assert_eq!(ids, ["many/0-1", "many/0-1-retry", "many/0-1-retry-resume1", "many/0-2", "many/0-2-retry"]);
    let again = &file.trials["many/0-1-retry-resume1"];
    assert_eq!(again.retry_of.as_deref(), Some("many/0-1"));
    assert_eq!(again.resumes.as_deref(), Some("many/0-1-retry"));
    assert_eq!(file.trials["many/0-2-retry"].resumes, None);
    assert!(mocktrial::record::verify_dir(&out, None).expect("looked through").is_complete());

    // Each has had its second chance, so nothing is left to do.
    let run = desk.run("--resume", &out, &[]);
    assert_eq!(run.status.code(), Some(4), "{}", said(&run));
    assert_eq!(RunFile::read(&out).expect("a run file").trials, file.trials);
}

#[test]
fn a_binding_that_was_shown_stays_shown_and_a_proof_that_was_cut_off_is_made_again() {
    let desk = Desk::new();
    let quiet = "scenario: quiet\ntests: nobody is asked\nturns: [{ user: Hello }]\nsub_goals:\n  \
        - { id: lookup_never_refunds, never: { worker: order_lookup, tool: issue_refund } }\n";
    fs::write(desk.path("quiet.scenario.yaml"), quiet).expect("written");
    let out = desk.path("out");
    let filter = ["--filter", "quiet"];
    let run = desk.run("--out", &out, &filter);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let cut = |id: &str| {
        let mut file = RunFile::read(&out).expect("a run file");
        file.trials.get_mut(id).expect("listed").state = TrialState::Running;
        file.write(&out).expect("written");
        let path = record(&out, id);
        fs::write(&path, &fs::read(&path).expect("a record")[..50]).expect("cut");
    };
    let bindings = |id: &str| {
        let row = mocktrial::record::read(&record(&out, id))
            .expect("a record")
            .next()
            .expect("a row")
            .expect("a row");
        row.parse::<mocktrial::journal::TrialRow>().expect("a trial").bindings["order_lookup"].clone()
    };

    cut("quiet/0-1");
    let run = desk.run("--resume", &out, &filter);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert_eq!(bindings("quiet/0-1-resume1"), "many/0-binding");
    assert!(RunFile::read(&out).expect("a run file").trials["many/0-binding"].binding_proof);
    assert_eq!(RunFile::read(&out).expect("a run file").trials.len(), 3);

    cut("many/0-binding");
    cut("quiet/0-1-resume1");
    let run = desk.run("--resume", &out, &filter);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert_eq!(bindings("quiet/0-1-resume2"), "many/0-binding-resume2");
    let file = RunFile::read(&out).expect("a run file");
    assert_eq!(file.trials["many/0-binding-resume2"].resumes.as_deref(), Some("many/0-binding"));
    assert_eq!(file.trials.len(), 5);
    assert!(mocktrial::record::verify_dir(&out, None).expect("looked through").is_complete());
}
