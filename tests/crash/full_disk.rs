//! A disk that fills up: the trial is an error, the exit code 4, and nothing that was cut short is taken for more.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use mocktrial::record::{Standing, verify_dir};

use super::{Desk, MOCKTRIAL, said, support};

/// A file system of so many kibibytes, unmounted at the end; none where this process may not mount one.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(at: &Path, kibibytes: usize) -> Option<Self> {
        fs::create_dir_all(at).expect("a folder");
        let size = format!("size={kibibytes}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// What may be found after a run that had too little room, whatever the room was.
fn look(out: &Path, code: Option<i32>, told: &str) {
    assert_eq!(code, Some(4), "{told}");
    assert!(!told.contains("panicked"), "{told}");
    if !out.join("run.json").exists() {
        return;
    }
    let report = verify_dir(out, None).expect("looked through");
    for (id, standing) in &report.trials {
        assert!(
            matches!(standing, Standing::Holds(_) | Standing::Unsealed { .. } | Standing::NotRun),
            "{id}: {standing}\n{told}"
        );
    }
}

#[test]
fn a_trial_that_finds_the_disk_full_is_an_error() {
    let desk = Desk::new();
    let at = desk.path("small");
    let mut without_seal = 0;
    for kibibytes in (16..=64).step_by(12) {
        let Some(small) = Small::mount(&at, kibibytes) else {
            return support::skip(
                "a_trial_that_finds_the_disk_full_is_an_error",
                "no file system may be mounted here",
            );
        };
        let out = at.join("out");
        let run = desk.run("--out", &out, &[]);
        let told = said(&run);
        look(&out, run.status.code(), &told);
        without_seal += usize::from(told.contains("No space left on device") && told.contains("not_sealed"));
        // With room again, the same run is taken up to its end.
        let room = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&at).status().expect("mount");
        assert!(room.success());
        if out.join("run.json").exists() {
            let run = desk.run("--resume", &out, &[]);
            assert_eq!(run.status.code(), Some(0), "{kibibytes} KiB: {told}\n{}", said(&run));
        }
        drop(small);
    }
    assert!(without_seal > 0, "no size at which a record was cut short");
}

#[test]
fn a_record_that_may_not_grow_ends_its_trial_as_an_error() {
    let desk = Desk::new();
    // Blocks of 512 bytes: from less than the first row to most of a record.
    for blocks in [4, 14, 16, 18, 20, 22, 24] {
        let out = desk.path(&format!("out-{blocks}"));
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let run = Command::new("sh")
            .args(["-c", &script, MOCKTRIAL, "run"])
            .arg(desk.folder.path())
            .args(["--trials", "1", "--out"])
            .arg(&out)
            .output()
            .expect("sh starts");
        let told = said(&run);
        look(&out, run.status.code(), &told);
        assert!(told.contains("the record cannot be written"), "{blocks} blocks: {told}");
        assert!(told.contains("0 passed, 0 failed, 0 unknown, 1 error"), "{blocks} blocks: {told}");
    }
}
