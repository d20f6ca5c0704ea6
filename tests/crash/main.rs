//! mocktrial is killed, at instants nobody chose, while trials run side by side. Whatever was being written then, each
//! trial has a record that is sealed, holds and is true, or one without a seal that says how far it got; nothing of the
//! app is left running; and the run can be taken up to its end.
//!
//! `tests/crash/500` kills 500 times and prints the counts; here it is fifty (`MOCKTRIAL_KILLS`).

#[path = "../support/mod.rs"]
mod support;

mod full_disk;
mod resume;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use mocktrial::record::{
    Broken, Flaw, Options, RunFile, Standing, VerifyError, again, read, trial_file, verify, verify_dir,
};
use mocktrial::verdict::Outcome;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

/// The returns desk in a folder of its own, with an app of its own: whatever runs it belongs to this test.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let built = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
        let app = folder.path().join("app");
        fs::copy(&built, &app).expect("the app is built with the tests");
        let contract = fs::read_to_string(tests.join("verdicts/contract.yaml")).expect("a contract");
        let contract = contract
            .replace("APP", &app.display().to_string())
            .replace("CWD", &folder.path().display().to_string())
            .replace("within: 2s", "within: 20s")
            .replace("turn: 3s, trial: 20s", "turn: 20s, trial: 60s");
        fs::write(folder.path().join("contract.yaml"), contract).expect("written");
        fs::copy(tests.join("verdicts/world.sql"), folder.path().join("world.sql")).expect("a copy");
        let scenario = "many.scenario.yaml";
        fs::copy(tests.join("crash").join(scenario), folder.path().join(scenario)).expect("a copy");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `mocktrial run`, with four trials in flight.
    fn command(&self, to: &str, out: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(MOCKTRIAL);
        command.arg("run").arg(self.folder.path()).args(["-j", "4", to]).arg(out).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, to: &str, out: &Path, more: &[&str]) -> Output {
        self.command(to, out, more).output().expect("mocktrial starts")
    }

    fn start(&self, to: &str, out: &Path) -> Child {
        self.command(to, out, &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mocktrial starts")
    }

    /// Another verb, on the run's folder.
    fn mocktrial(&self, verb: &[&str], out: &Path) -> Output {
        Command::new(MOCKTRIAL).args(verb).arg(out).output().expect("mocktrial starts")
    }

    /// Processes that still run this desk's app.
    fn running(&self) -> Vec<String> {
        let app = self.path("app");
        let pids = fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == app)).collect()
    }

    /// Waits for the guard, which the system wakes, to have done its work.
    fn nothing_is_left_running(&self) {
        for _ in 0..2000 {
            if self.running().is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("still running 20 s after the kill: {:?}", self.running());
    }
}

fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr)
}

/// Every file below `trials`, however it is named.
fn files(out: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![out.join("trials")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// What was found after kills.
#[derive(Debug, Default)]
struct Counts {
    kills: usize,
    /// Kills with a trial that had an attempt and no seal.
    between: usize,
    before_any: usize,
    sealed: usize,
    unsealed: usize,
    torn: usize,
    empty: usize,
    resumed: usize,
}

/// Looks at everything that a kill left behind.
fn look(out: &Path, counts: &mut Counts) {
    counts.kills += 1;
    let files = files(out);
    if !out.join("run.json").exists() {
        assert!(files.is_empty(), "records without a run file: {files:?}");
        counts.before_any += 1;
        return;
    }
    let run = RunFile::read(out).expect("a run file");
    let report = verify_dir(out, None).expect("looked through");
    assert!(report.is_sound(), "{report:?}");
    let mut between = false;
    for (id, standing) in &report.trials {
        let path = out.join(trial_file(id).expect("an id"));
        match standing {
            Standing::Holds(vouched) => {
                counts.sealed += 1;
                assert_eq!(vouched.outcome, Outcome::Passed, "{id}");
                let again = again(&path, None).expect("graded again");
                assert!(again.agrees(), "{id}: {again:?}");
            }
            Standing::Unsealed { rows } | Standing::RunAgain { rows, .. } => {
                counts.unsealed += 1;
                between |= unsealed(&path, *rows, counts);
            }
            Standing::NotRun => assert!(!path.exists(), "{id}"),
            other => panic!("{id}: {other}"),
        }
    }
    for file in &files {
        let known = run.trials.keys().any(|id| out.join(trial_file(id).expect("an id")) == *file);
        assert!(known, "{} is no trial's", file.display());
    }
    counts.between += usize::from(between);
}

/// Whether a record without a seal has an attempt. Its whole rows are `rows`, each bound to the one before.
fn unsealed(path: &Path, rows: u64, counts: &mut Counts) -> bool {
    let bytes = fs::read(path).expect("a record");
    let whole = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(rows, whole, "{}", path.display());
    let torn = bytes.last().is_some_and(|byte| *byte != b'\n');
    counts.torn += usize::from(torn);
    counts.empty += usize::from(bytes.is_empty());
    let Err(VerifyError::Broken(Broken { row, why })) = verify(&bytes[..], Options::default()) else {
        panic!("{} holds without a seal", path.display());
    };
    assert_eq!(row, whole + 1, "{}: {why}", path.display());
    assert_eq!(why, if torn { Flaw::Cut } else { Flaw::NotSealed }, "{}", path.display());
    let mut kinds = Vec::new();
    for row in read(path).expect("a record").take(usize::try_from(whole).expect("few")) {
        kinds.push(row.expect("a whole row").kind);
    }
    assert!(!kinds.iter().any(|kind| kind == "seal"), "{}", path.display());
    kinds.iter().any(|kind| kind == "attempt")
}

/// Numbers between 0 and 1 that differ from run to run, and can be had again by their seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn a_killed_run_leaves_only_what_is_true_and_is_taken_up_to_its_end() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let kills = usize::try_from(number("MOCKTRIAL_KILLS").unwrap_or(50)).expect("a count");
    let mut seed = [0; 8];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut seed))
        .expect("noise");
    let seed = number("MOCKTRIAL_KILL_SEED").unwrap_or(u64::from_le_bytes(seed) | 1);
    println!("MOCKTRIAL_KILL_SEED={seed}");
    let mut dice = Dice(seed);

    let desk = Desk::new();
    // How long a whole run takes here and now; kills are spread over it.
    let began = mocktrial::clock::Clock::start();
    let whole = desk.path("whole");
    let run = desk.run("--out", &whole, &[]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let mut takes = began.now().since(Default::default());

    let mut counts = Counts::default();
    let mut round = 0;
    while counts.kills < kills {
        round += 1;
        let out = desk.path(&format!("out-{round}"));
        // Killed once, or killed again while it is taken up.
        for again in 0..1 + round % 3 {
            let begun = out.join("run.json").exists();
            let mut child = desk.start(if begun { "--resume" } else { "--out" }, &out);
            std::thread::sleep(takes.mul_f64(dice.throw()));
            child.kill().expect("killed");
            child.wait().expect("reaped");
            if out.join("run.json").exists() && RunFile::read(&out).expect("a run file").ended_at.is_some() {
                // It was faster than the kill, which then counts for nothing.
                takes = takes.mul_f64(0.95);
                break;
            }
            desk.nothing_is_left_running();
            look(&out, &mut counts);
            counts.resumed += usize::from(again > 0 && begun);
        }
        let begun = out.join("run.json").exists();
        let run = desk.run(if begun { "--resume" } else { "--out" }, &out, &[]);
        assert_eq!(run.status.code(), Some(0), "{}", said(&run));
        assert!(
            said(&run)
                .trim_end()
                .ends_with("8 trials: 8 passed, 0 failed, 0 unknown, 0 error; goals: 0 unknown"),
            "{}",
            said(&run)
        );
        let report = verify_dir(&out, None).expect("looked through");
        assert!(report.is_sound() && report.is_complete(), "{report:?}");
        let left: Vec<_> =
            fs::read_dir(&out).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!(left.len(), 2, "run.json and trials alone: {left:?}");
        fs::remove_dir_all(&out).expect("removed");
    }
    println!("{counts:?}");
    assert!(2 * counts.between >= counts.kills, "too few kills between an attempt and its seal: {counts:?}");
    assert!(counts.sealed > 0 && counts.unsealed > 0, "{counts:?}");
}
