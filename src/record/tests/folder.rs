//! A run's folder: what was removed, added, swapped or repeated is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::*;
use crate::record::folder::Standing;

/// A run of three trials in a folder: `a/0-1` and `b/0-1` sealed, `b/0-2` planned.
fn run(folder: &Path, key: Option<&SigningKey>) -> RunFile {
    let mut trials = BTreeMap::new();
    for (scenario, number, runs) in [("a", 1, true), ("b", 1, true), ("b", 2, false)] {
        let mut planned = PlannedTrial {
            scenario: scenario.to_owned(),
            case: 0,
            number,
            retry_of: None,
            binding_proof: false,
            shard: None,
            started_at: None,
            micros: None,
            resumes: None,
            resumption: 0,
            state: TrialState::Planned,
        };
        let id = format!("{scenario}/0-{number}");
        let path = folder.join(trial_file(&id).expect("an id"));
        if runs {
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let memory = Memory::default();
            let journal = memory.journal(&[], 1 << 20);
            let row = TrialRow { scenario: scenario.to_owned(), number, ..trial() };
            journal.append(&row).expect("written");
            let sealed = seal(&journal, &verdicts(), &end(), key).expect("sealed");
            fs::write(&path, memory.bytes()).expect("written");
            planned.state = TrialState::sealed(&sealed, Outcome::Passed);
        }
        trials.insert(id, planned);
    }
    let run = RunFile {
        format: RUN_FORMAT,
        id: "r1".to_owned(),
        version: "0".to_owned(),
        host: Host::here(None),
        started_at: "1".to_owned(),
        ended_at: None,
        resumed_at: Vec::new(),
        shard: None,
        trials,
        scenarios: BTreeMap::new(),
        late_calls: Vec::new(),
        unknown_tokens: BTreeMap::new(),
    };
    run.write(folder).expect("written");
    run
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn look(folder: &Path) -> FolderReport {
    verify_dir(folder, None).expect("looked through")
}

fn file(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join(trial_file(id).expect("an id"))
}

#[test]
fn an_untouched_run_is_sound_and_its_records_are_anchored() {
    let folder = folder();
    run(folder.path(), None);
    let report = look(folder.path());
    assert!(report.is_sound() && !report.is_complete());
    assert!(matches!(&report.trials["a/0-1"], Standing::Holds(vouched) if vouched.anchored));
    assert_eq!(report.trials["b/0-2"], Standing::NotRun);
}

#[test]
fn a_missing_trial_is_named() {
    let folder = folder();
    run(folder.path(), None);
    fs::remove_file(file(folder.path(), "a/0-1")).expect("removed");
    let report = look(folder.path());
    assert_eq!(report.trials["a/0-1"], Standing::Missing);
    assert!(!report.is_sound());
}

#[test]
fn a_link_is_no_record() {
    let folder = folder();
    run(folder.path(), None);
    let (path, away) = (file(folder.path(), "a/0-1"), folder.path().join("away.jsonl"));
    fs::rename(&path, &away).expect("moved");
    std::os::unix::fs::symlink(&away, &path).expect("linked");
    assert_eq!(look(folder.path()).trials["a/0-1"], Standing::Missing);
}

#[test]
fn an_added_file_is_named() {
    let folder = folder();
    run(folder.path(), None);
    fs::copy(file(folder.path(), "b/0-1"), folder.path().join("trials/b/0-9.jsonl")).expect("copied");
    let report = look(folder.path());
    assert_eq!(report.added, [Path::new("trials/b/0-9.jsonl")]);
    assert!(!report.is_sound());
}

#[test]
fn swapped_trials_are_named_with_what_they_are() {
    let folder = folder();
    run(folder.path(), None);
    let (a, b, c) = (file(folder.path(), "a/0-1"), file(folder.path(), "b/0-1"), folder.path().join("c"));
    fs::rename(&a, &c).and_then(|()| fs::rename(&b, &a)).and_then(|()| fs::rename(&c, &b)).expect("swapped");
    let report = look(folder.path());
    assert_eq!(report.trials["a/0-1"], Standing::OtherTrial { is: "b/0-1".to_owned() });
    assert_eq!(report.trials["b/0-1"], Standing::OtherTrial { is: "a/0-1".to_owned() });
    assert!(!report.is_sound());
}

#[test]
fn a_trial_that_is_counted_twice_is_named() {
    let folder = folder();
    let mut run = run(folder.path(), None);
    let first = run.trials["b/0-1"].state.clone();
    run.trials.get_mut("b/0-2").expect("planned").state = first;
    run.write(folder.path()).expect("written");
    fs::copy(file(folder.path(), "b/0-1"), file(folder.path(), "b/0-2")).expect("copied");
    let report = look(folder.path());
    assert_eq!(report.trials["b/0-2"], Standing::Repeats { of: "b/0-1".to_owned() });
    assert!(!report.is_sound());
}

#[test]
fn another_record_of_the_same_trial_is_not_the_one_that_was_written_down() {
    let (one, other) = (folder(), folder());
    run(one.path(), None);
    run(other.path(), None);
    fs::copy(file(other.path(), "a/0-1"), file(one.path(), "a/0-1")).expect("copied");
    let report = look(one.path());
    assert!(matches!(&report.trials["a/0-1"], Standing::Broken(broken) if broken.why == Flaw::OtherRecord));
}

#[test]
fn an_outcome_that_the_run_file_makes_up_is_noticed() {
    let folder = folder();
    let mut run = run(folder.path(), None);
    let state = &mut run.trials.get_mut("a/0-1").expect("planned").state;
    if let TrialState::Sealed { outcome, .. } = state {
        *outcome = Outcome::Failed;
    }
    run.write(folder.path()).expect("written");
    assert!(matches!(look(folder.path()).trials["a/0-1"], Standing::Broken(_)));
}

#[test]
fn a_trial_that_was_killed_says_how_far_it_got_and_one_sealed_just_before_still_holds() {
    let folder = folder();
    let mut run = run(folder.path(), None);
    for trial in run.trials.values_mut() {
        trial.state = TrialState::Running;
    }
    run.write(folder.path()).expect("written");
    let path = file(folder.path(), "a/0-1");
    let whole = fs::read(&path).expect("the file");
    fs::write(&path, &whole[..lines(&whole)[..2].concat().len() + 9]).expect("torn");
    let report = look(folder.path());
    assert_eq!(report.trials["a/0-1"], Standing::Unsealed { rows: 2 });
    assert!(matches!(&report.trials["b/0-1"], Standing::Holds(vouched) if !vouched.anchored));
    assert_eq!(report.trials["b/0-2"], Standing::NotRun);
    assert!(report.is_sound() && !report.is_complete());
}

#[test]
fn every_record_of_a_run_must_have_the_key_asked_for() {
    let (mine, other) = (key(), key());
    let folder = folder();
    run(folder.path(), Some(&mine));
    assert!(verify_dir(folder.path(), Some(&mine.public())).expect("looked through").is_sound());
    let report = verify_dir(folder.path(), Some(&other.public())).expect("looked through");
    assert!(matches!(&report.trials["a/0-1"], Standing::Broken(broken) if broken.why == Flaw::OtherKey));
}

#[test]
fn a_run_file_reads_as_it_was_written_and_leaves_nothing_beside() {
    let folder = folder();
    let written = run(folder.path(), None);
    assert_eq!(RunFile::read(folder.path()).expect("read"), written);
    let names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names.len(), 2, "run.json and trials: {names:?}");
}

#[test]
fn a_run_file_leads_to_no_place_outside_its_folder() {
    for id in ["../x/0-1", "/x/0-1", "a/../../0-1", "a/./../0"] {
        assert_eq!(trial_file(id), None, "{id}");
    }
    let folder = folder();
    let mut run = run(folder.path(), None);
    let trial = run.trials["a/0-1"].clone();
    run.trials.insert("../a/0-1".to_owned(), trial);
    run.write(folder.path()).expect("written");
    assert!(matches!(RunFile::read(folder.path()), Err(RunFileError::Malformed { .. })));
}

#[test]
fn a_run_file_of_another_format_is_not_guessed_at() {
    let folder = folder();
    let mut run = run(folder.path(), None);
    run.format = 2;
    run.write(folder.path()).expect("written");
    assert!(matches!(RunFile::read(folder.path()), Err(RunFileError::Malformed { .. })));
}

#[test]
fn a_key_is_read_from_a_file_and_no_error_shows_it() {
    let folder = folder();
    let (secret, public) = keygen().expect("a key");
    let path = folder.path().join("key");
    fs::write(&path, format!("{secret}\n")).expect("written");
    let place = path.to_str().expect("a path");
    assert_eq!(SigningKey::load(place).expect("the key").public(), public);
    assert_eq!(VerifyingKey::load(&public.to_string()), Ok(public));
    for error in [
        SigningKey::load(&secret).expect_err("not as an argument"),
        VerifyingKey::load(&secret).expect_err("not public"),
        VerifyingKey::load(place).expect_err("not public"),
        SigningKey::load("env:MOCKTRIAL_NO_SUCH_KEY").expect_err("not set"),
        SigningKey::load("/no/such/file").expect_err("not there"),
    ] {
        assert!(!format!("{error} {error:?}").contains(&secret[21..]), "{error}");
    }
}
