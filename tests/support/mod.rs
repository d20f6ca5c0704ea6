//! What tests share: saying that one could not run.
//!
//! A test that needs what the machine lacks calls [`skip`] and returns. `tests/run` counts these and prints their
//! reasons; with `MOCKTRIAL_NO_SKIP` set a skip is a failure.

#![allow(dead_code, reason = "each test file uses its own share")]

use std::fs::OpenOptions;
use std::io::Write;

/// Says that `test` could not run, and why.
pub fn skip(test: &str, reason: &str) {
    assert!(std::env::var_os("MOCKTRIAL_NO_SKIP").is_none(), "{test} was skipped: {reason}");
    println!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("MOCKTRIAL_SKIPPED") {
        let line = format!("{test}: {}\n", reason.replace('\n', " "));
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
