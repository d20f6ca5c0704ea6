//! Every change to stored bytes is noticed, and the first bad row named.

use super::*;
use crate::record::verify::{Walk, walk_on};

/// States of the walk before each row, so that a change in one row is tried without walking to it again.
fn states(bytes: &[u8]) -> Vec<(usize, Walk)> {
    let mut walk = Walk::new();
    let mut states = vec![(0, walk.clone())];
    let mut at = 0;
    for line in lines(bytes) {
        at += line.len();
        let _ = walk.step(line.trim_ascii_end());
        states.push((at, walk.clone()));
    }
    states
}

#[test]
fn every_flipped_byte_is_noticed_and_its_row_named() {
    let (bytes, _) = sealed(100, Some(&key()));
    let rows = lines(&bytes).len();
    assert!(rows >= 200);
    let (mut tried, mut whole) = (0u64, 0u64);
    let states = states(&bytes);
    for (row, pair) in states.windows(2).enumerate() {
        let ((from, walk), to) = (&pair[0], pair[1].0);
        let mut rest = bytes[*from..].to_vec();
        for at in 0..to - from {
            for flip in [0x01, 0x20, 0x80] {
                rest[at] ^= flip;
                let found = walk_on(walk.clone(), &rest[..], Options::default());
                let Err(VerifyError::Broken(found)) = found else {
                    panic!("byte {} ^ {flip:02x} was not noticed", from + at);
                };
                assert_eq!(found.row, row as u64 + 1, "byte {} ^ {flip:02x}: {found}", from + at);
                // The same from the start, now and then: the short way is the whole one.
                if tried % 1009 == 0 {
                    let all = [&bytes[..*from], &rest].concat();
                    assert_eq!(broken(&all), found);
                    whole += 1;
                }
                rest[at] ^= flip;
                tried += 1;
            }
        }
    }
    println!(
        "{tried} flips of {} bytes in {rows} rows, all noticed ({whole} of them from the start)",
        bytes.len()
    );
}

#[test]
fn every_cut_is_noticed_and_its_row_named() {
    let (bytes, _) = sealed(100, None);
    let mut tried = 0;
    for (row, pair) in states(&bytes).windows(2).enumerate() {
        let ((from, walk), to) = (&pair[0], pair[1].0);
        for length in *from..to {
            let found = walk_on(walk.clone(), &bytes[*from..length], Options::default());
            let Err(VerifyError::Broken(found)) = found else {
                panic!("a cut at {length} was not noticed");
            };
            let why = if length == *from { Flaw::NotSealed } else { Flaw::Cut };
            assert_eq!(found, Broken { row: row as u64 + 1, why });
            tried += 1;
        }
    }
    assert_eq!(tried, bytes.len());
    println!("{tried} cuts, all noticed");
}

#[test]
fn every_deleted_swapped_doubled_or_inserted_row_is_noticed_and_named() {
    let (bytes, _) = sealed(100, None);
    let lines = lines(&bytes);
    let (rows, mut tried) = (lines.len(), 0);
    let states = states(&bytes);
    let mut try_one = |at: usize, changed: Vec<&[u8]>, row: usize, what: &str| {
        let rest = changed[at..].concat();
        let found = walk_on(states[at].1.clone(), &rest[..], Options::default());
        let Err(VerifyError::Broken(found)) = found else {
            panic!("{what} at row {row} was not noticed");
        };
        assert_eq!(found.row, row as u64, "{what}: {found}");
        tried += 1;
    };
    for at in 0..rows {
        let mut changed = lines.clone();
        changed.remove(at);
        try_one(at, changed, at + 1, "deleted");
        let mut changed = lines.clone();
        changed.insert(at, lines[at]);
        try_one(at, changed, at + 2, "doubled");
        let mut changed = lines.clone();
        changed.insert(at, lines[(at + 7) % rows]);
        try_one(at, changed, at + 1, "inserted");
        for other in [at + 1, at + 50, rows - 1] {
            if at < other && other < rows {
                let mut changed = lines.clone();
                changed.swap(at, other);
                try_one(at, changed, at + 1, "swapped");
            }
        }
    }
    println!("{tried} deleted, doubled, inserted and swapped rows, all noticed");
}

#[test]
fn a_row_that_was_put_in_with_the_right_number_is_named() {
    let (bytes, _) = sealed(3, None);
    let lines = lines(&bytes);
    let other = String::from_utf8_lossy(lines[4]).replace("\"amount_cents\":1", "\"amount_cents\":9");
    let mut changed = lines.clone();
    changed[4] = other.as_bytes();
    assert_eq!(broken(&changed.concat()), Broken { row: 5, why: Flaw::Changed });
    let bent = String::from_utf8_lossy(lines[4])
        .replace("\"prev\":\"", "\"prev\":\"0")
        .replace("0\",\"row\"", "\",\"row\"");
    changed[4] = bent.as_bytes();
    assert_eq!(broken(&changed.concat()).row, 5);
}

#[test]
fn nothing_may_follow_the_seal() {
    let (bytes, sealed) = sealed(1, None);
    for more in [&b"\n"[..], b"x", b"{}\n", lines(&bytes)[9]] {
        let found = broken(&[&bytes, more].concat());
        assert_eq!(found, Broken { row: sealed.rows + 1, why: Flaw::AfterSeal });
    }
}
