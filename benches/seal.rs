//! What sealing costs: a redacted, canonical, chained row with one write, beside the bare price of hash and write.
//!
//! `cargo bench --bench seal -- [ROWS] [BYTES]`. Each line is the best of five rounds, baselines taken in the same
//! rounds; one thread. The journal's goal is 0.4 of the bare chain with its write, verify's 500,000 rows a second.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::Arc;

use mocktrial::clock::Clock;
use mocktrial::journal::{
    AttemptRow, Basis, Decision, EndRow, FORMAT, Head, Journal, Judged, RedactionKey, Redactor, TrialRow,
};
use mocktrial::record::{Options, seal, verify};
use mocktrial::verdict::Outcome;
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<usize>().ok());
    let rows = numbers.next().unwrap_or(200_000);
    let bytes = numbers.next().unwrap_or(500);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("0-1.jsonl");
    let mut best = [f64::MAX; 4];
    for _ in 0..5 {
        let took = [
            bare(rows, bytes, None)?,
            bare(rows, bytes, Some(&folder.path().join("bare")))?,
            journal(rows, bytes, &path)?,
            check(&path)?,
        ];
        for (best, took) in best.iter_mut().zip(took) {
            *best = best.min(took);
        }
    }
    let length = std::fs::metadata(&path)?.len() / rows as u64;
    println!("{rows} rows of {bytes} bytes ({length} in the record)");
    let names =
        ["sha-256 alone", "sha-256, one write a row", "journal: redact, form, chain, write", "verify"];
    for (name, took) in names.iter().zip(best) {
        let rate = rows as f64 / took;
        let of_bare = best[1] / took;
        println!(
            "{name:36} {rate:>12.0} rows/s {:>8.3} us/row {of_bare:>6.2} of bare with write",
            took * 1e6 / rows as f64
        );
    }
    Ok(())
}

/// Seconds of this thread on a processor, so that a busy machine does not count; of the clock, where the system does
/// not tell.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let on_processor = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        stat.split(' ').next()?.parse().ok()
    };
    let (clock, before) = (Clock::start(), on_processor());
    work()?;
    Ok(match (before, on_processor()) {
        (Some(before), Some(after)) => (after - before) as f64 / 1e9,
        _ => clock.now().since(Default::default()).as_secs_f64(),
    })
}

/// The bare chain: the same number of bytes, the digest before in each, and nothing decided.
fn bare(rows: usize, bytes: usize, path: Option<&Path>) -> Result<f64> {
    let mut file = path.map(File::create).transpose()?;
    let mut row = vec![b'x'; bytes + 1];
    row[bytes] = b'\n';
    timed(|| {
        for _ in 0..rows {
            let prev = Head::of(&row[..bytes]).digits();
            row[20..84].copy_from_slice(&prev);
            if let Some(file) = &mut file {
                file.write_all(&row)?;
            }
        }
        Ok(())
    })
}

fn journal(rows: usize, bytes: usize, path: &Path) -> Result<f64> {
    std::fs::remove_file(path).ok();
    let secrets: Vec<String> = (0..12).map(|n| format!("a secret or token number {n:08}")).collect();
    let redactor = Redactor::new(RedactionKey::random()?, &secrets)?;
    let journal = Journal::create(path, Clock::start(), u64::MAX, Arc::new(redactor))?;
    journal.append(&trial())?;
    // What the row takes beside the text of its argument.
    let text = "please refund this order, ".repeat(bytes / 26 + 1);
    let row = attempt(&text[..bytes.saturating_sub(330)]);
    let took = timed(|| {
        for _ in 2..rows - 1 {
            journal.append(&row)?;
        }
        Ok(())
    })?;
    seal(&journal, &[], &end(), None)?;
    Ok(took)
}

fn check(path: &Path) -> Result<f64> {
    timed(|| {
        let vouched = verify(BufReader::with_capacity(1 << 20, File::open(path)?), Options::default())?;
        assert!(vouched.rows > 0);
        Ok(())
    })
}

fn trial() -> TrialRow {
    TrialRow {
        format: FORMAT,
        scenario: "bench".to_owned(),
        case: 0,
        values: Default::default(),
        number: 1,
        retry_of: None,
        binding_proof: false,
        seed: "1".to_owned(),
        digests: Default::default(),
        files: Default::default(),
        contract: String::new(),
        scenario_file: String::new(),
        version: String::new(),
        bindings: Default::default(),
        resumption: 0,
    }
}

fn attempt(text: &str) -> AttemptRow {
    AttemptRow {
        worker: Some("refund".to_owned()),
        tool: Some("issue_refund".to_owned()),
        arguments: json!({ "amount_cents": 5990, "order_id": "1042", "reason": text }),
        arguments_cut: false,
        decision: Decision::Allowed,
        code: None,
        reason: None,
        basis: Basis::Enforced,
        late: false,
        face: "http".to_owned(),
        request: Some("POST /refunds".to_owned()),
        trace_id: None,
        span_id: None,
    }
}

fn end() -> EndRow {
    EndRow {
        task: Judged { verdict: "passed".to_owned(), reason: None },
        workers: Default::default(),
        outcome: Outcome::Passed,
        error: None,
    }
}
