//! A record that was changed anywhere is noticed, and the first bad row named.

use std::io::Cursor;

use serde_json::{Value, json};

use super::verify::{Walk, walk_on};
use super::*;
use crate::journal::tests::{Memory, turn};
use crate::journal::*;
use crate::verdict::{Gate, Outcome};

fn trial() -> TrialRow {
    TrialRow {
        format: FORMAT,
        scenario: "refund_once".to_owned(),
        case: 0,
        values: Default::default(),
        number: 1,
        retry_of: None,
        seed: "1".to_owned(),
        digests: Default::default(),
        files: Default::default(),
        contract: "contract.yaml".to_owned(),
        scenario_file: "refund_once.scenario.yaml".to_owned(),
        version: "0".to_owned(),
        bindings: Default::default(),
    }
}

fn attempt(n: u32) -> AttemptRow {
    AttemptRow {
        worker: Some("refund".to_owned()),
        tool: Some("issue_refund".to_owned()),
        arguments: json!({ "amount_cents": n, "order_id": "1042" }),
        arguments_cut: false,
        decision: Decision::Allowed,
        code: None,
        reason: None,
        basis: Basis::Enforced,
        late: false,
        face: "http".to_owned(),
        request: None,
        trace_id: None,
        span_id: None,
    }
}

fn outcome(attempt: u64) -> OutcomeRow {
    OutcomeRow {
        attempt,
        kind: OutcomeKind::Done,
        code: None,
        status: Some(200),
        result: json!({ "ok": true }),
        result_cut: false,
        ended_after_deadline: false,
        cut: false,
    }
}

fn verdict(
    sub_goal: &str,
    subject: &str,
    verdict: &str,
    reason: Option<&str>,
    gate: Gate,
) -> VerdictRow {
    VerdictRow {
        sub_goal: sub_goal.to_owned(),
        subject: subject.to_owned(),
        verdict: verdict.to_owned(),
        reason: reason.map(str::to_owned),
        gate,
        line: 3,
        detail: "é".to_owned(),
    }
}

fn verdicts() -> Vec<VerdictRow> {
    vec![
        verdict("refunded_once", "task", "passed", None, Gate::Required),
        verdict("answered", "task", "passed", None, Gate::Required),
        verdict(
            "stayed_permitted",
            "worker:refund",
            "unknown",
            Some("no_calls"),
            Gate::IfSeen,
        ),
        verdict(
            "stayed_permitted",
            "worker:order_lookup",
            "passed",
            None,
            Gate::IfSeen,
        ),
    ]
}

fn end() -> EndRow {
    let passed = Judged {
        verdict: "passed".to_owned(),
        reason: None,
    };
    EndRow {
        task: passed,
        workers: Default::default(),
        outcome: Outcome::Passed,
        error: None,
    }
}

/// A record with `calls` calls, and what was said of it when it was sealed.
fn sealed(calls: u32, key: Option<&SigningKey>) -> (Vec<u8>, Sealed) {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 30);
    journal.append(&trial()).expect("written");
    journal.append(&turn(1, "hello")).expect("written");
    for n in 0..calls {
        let attempt = journal.append(&attempt(n)).expect("written");
        journal.append(&outcome(attempt)).expect("written");
    }
    let sealed = seal(&journal, &verdicts(), &end(), key).expect("sealed");
    (memory.bytes(), sealed)
}

fn key() -> SigningKey {
    SigningKey::parse(&keygen().expect("a key").0).expect("its own form")
}

fn verdict_on(bytes: &[u8], options: Options<'_>) -> Result<Vouched, Broken> {
    verify(bytes, options).map_err(|error| match error {
        VerifyError::Broken(broken) => broken,
        VerifyError::Io(error) => panic!("memory does not fail: {error}"),
    })
}

fn broken(bytes: &[u8]) -> Broken {
    verdict_on(bytes, Options::default()).expect_err("it was changed")
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The record with its rows changed by hand and chained, counted and sealed anew: what a forger without the key does.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let mut rows: Vec<Value> = lines(bytes)
        .iter()
        .map(|line| serde_json::from_slice(line).expect("a row"))
        .collect();
    change(&mut rows);
    let mut prev = GENESIS.to_owned();
    let mut out = Vec::new();
    for row in &mut rows {
        row["prev"] = prev.clone().into();
        if row["row"] == "seal" {
            row["head"] = prev.into();
            row.as_object_mut().expect("a row").remove("self");
            row["self"] = Head::of(&serde_json_canonicalizer::to_vec(row).expect("a form"))
                .hex()
                .into();
        }
        let line = serde_json_canonicalizer::to_vec(row).expect("a form");
        prev = Head::of(&line).hex();
        out.extend_from_slice(&line);
        out.push(b'\n');
    }
    out
}

#[test]
fn an_untouched_record_holds_and_says_what_it_does_not_prove() {
    let (bytes, sealed) = sealed(3, None);
    let vouched = verdict_on(&bytes, Options::default()).expect("it holds");
    assert_eq!((vouched.rows, &vouched.seal), (sealed.rows, &sealed.seal));
    assert_eq!(vouched.rows as usize, lines(&bytes).len());
    assert_eq!(
        vouched.head,
        Head::of(lines(&bytes)[12].trim_ascii_end()).hex()
    );
    assert_eq!(
        (vouched.anchored, &vouched.signed_by, vouched.outcome),
        (false, &None, Outcome::Passed)
    );
    assert!(
        vouched
            .to_string()
            .contains("not proven: that nobody wrote the whole record anew")
    );
    let seal: Value = serde_json::from_slice(lines(&bytes)[13]).expect("a row");
    assert_eq!(
        seal["verdicts"],
        json!({
            "answered": "passed", "refunded_once": "passed",
            "stayed_permitted (worker:order_lookup)": "passed", "stayed_permitted (worker:refund)": "unknown: no_calls",
        })
    );
}

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
                assert_eq!(
                    found.row,
                    row as u64 + 1,
                    "byte {} ^ {flip:02x}: {found}",
                    from + at
                );
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
            let why = if length == *from {
                Flaw::NotSealed
            } else {
                Flaw::Cut
            };
            assert_eq!(
                found,
                Broken {
                    row: row as u64 + 1,
                    why
                }
            );
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
    let other =
        String::from_utf8_lossy(lines[4]).replace("\"amount_cents\":1", "\"amount_cents\":9");
    let mut changed = lines.clone();
    changed[4] = other.as_bytes();
    assert_eq!(
        broken(&changed.concat()),
        Broken {
            row: 5,
            why: Flaw::Changed
        }
    );
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
        assert_eq!(
            found,
            Broken {
                row: sealed.rows + 1,
                why: Flaw::AfterSeal
            }
        );
    }
}

#[test]
fn a_record_written_anew_must_still_agree_with_itself() {
    let (bytes, _) = sealed(2, None);
    let same = forged(&bytes, |_| {});
    assert_eq!(same, bytes, "the forger's tool is right");
    let find = |rows: &[Value], kind: &str| {
        rows.iter()
            .position(|row| row["row"] == kind)
            .expect("it is there")
    };
    type Change = fn(&mut Vec<Value>, usize);
    let cases: [(&str, Change, Flaw); 14] = [
        (
            "verdict",
            |rows, at| rows[at]["verdict"] = "failed".into(),
            Flaw::End("the outcome"),
        ),
        (
            "verdict",
            |rows, at| rows[at]["verdict"] = "fine".into(),
            Flaw::End("a verdict of no known kind"),
        ),
        (
            "verdict",
            |rows, at| {
                rows[at]["gate"] = "report".into();
                rows[at]["verdict"] = "failed".into()
            },
            Flaw::Seal("the verdicts"),
        ),
        (
            "verdict",
            |rows, at| rows[at]["sub_goal"] = "other".into(),
            Flaw::Seal("the verdicts"),
        ),
        (
            "end",
            |rows, at| rows[at]["outcome"] = "failed".into(),
            Flaw::End("the outcome"),
        ),
        (
            "end",
            |rows, at| rows[at]["task"]["verdict"] = "failed".into(),
            Flaw::End("the verdict of the task"),
        ),
        (
            "end",
            |rows, at| rows[at]["error"] = json!({"code": "x", "message": "", "line": null}),
            Flaw::End("an error whose outcome is none"),
        ),
        (
            "end",
            |rows, at| rows[at]["row"] = "finding".into(),
            Flaw::End("there is none"),
        ),
        (
            "turn",
            |rows, at| {
                rows[at] = rows
                    .iter()
                    .find(|row| row["row"] == "end")
                    .expect("one")
                    .clone();
                rows[at]["seq"] = 2.into();
                rows[at]["at"] = rows[0]["at"].clone()
            },
            Flaw::End("there are two"),
        ),
        (
            "seal",
            |rows, at| rows[at]["rows"] = 9.into(),
            Flaw::Seal("the count of rows"),
        ),
        (
            "seal",
            |rows, at| rows[at]["format"] = 2.into(),
            Flaw::Format(2),
        ),
        (
            "trial",
            |rows, at| rows[at]["format"] = 2.into(),
            Flaw::Format(2),
        ),
        (
            "trial",
            |rows, at| rows[at]["row"] = "turn".into(),
            Flaw::Trial,
        ),
        (
            "turn",
            |rows, at| rows[at]["at"] = "5".into(),
            Flaw::TimeBack,
        ),
    ];
    for (kind, change, why) in cases {
        let found = broken(&forged(&bytes, |rows| {
            let at = find(rows, kind);
            change(rows, at);
        }));
        assert_eq!(found.why, why, "{kind}");
    }
    let head = forged(&bytes, |_| {});
    let other = String::from_utf8_lossy(&head).replace("\"head\":\"", "\"head\":\"0");
    assert_eq!(
        broken(other.as_bytes()).why,
        Flaw::Seal("it is not what its own digest says")
    );
}

#[test]
fn a_record_written_anew_is_noticed_by_anchor_and_by_key() {
    let key = key();
    let (bytes, sealed) = sealed(2, Some(&key));
    let public = key.public();
    let anchor = Anchor { seal: sealed.seal };
    let options = Options {
        key: Some(&public),
        anchor: Some(&anchor),
    };
    let vouched = verdict_on(&bytes, options).expect("it holds");
    assert!(vouched.anchored && vouched.key_known && vouched.signed_by == Some(public.clone()));
    let unasked = verdict_on(&bytes, Options::default()).expect("it holds");
    assert!(unasked.signed_by == Some(public.clone()) && !unasked.key_known);

    let change = |rows: &mut Vec<Value>| rows[1]["text"] = "other".into();
    let changed = forged(&bytes, change);
    assert_eq!(broken(&changed).why, Flaw::Signature);
    let unsigned = forged(&bytes, |rows| {
        change(rows);
        let seal = rows
            .last_mut()
            .expect("a seal")
            .as_object_mut()
            .expect("a row");
        seal.remove("signature");
    });
    assert!(
        verdict_on(&unsigned, Options::default()).is_ok(),
        "a chain alone proves nothing against this"
    );
    let by_key = Options {
        key: Some(&public),
        anchor: None,
    };
    assert_eq!(
        verdict_on(&unsigned, by_key).expect_err("asked for").why,
        Flaw::NotSigned
    );
    let by_anchor = Options {
        key: None,
        anchor: Some(&anchor),
    };
    assert_eq!(
        verdict_on(&unsigned, by_anchor).expect_err("asked for").why,
        Flaw::OtherRecord
    );
    let stranger = self::key().public();
    let by_stranger = Options {
        key: Some(&stranger),
        anchor: None,
    };
    assert_eq!(
        verdict_on(&bytes, by_stranger).expect_err("asked for").why,
        Flaw::OtherKey
    );
}

#[test]
fn a_signature_is_over_dsse_s_encoding() {
    // The protocol's own example.
    assert_eq!(
        super::seal::pre_authentication_encoding("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
}

#[test]
fn keys_read_what_they_wrote_and_are_not_taken_for_each_other() {
    let (secret, public) = keygen().expect("a key");
    let key = SigningKey::parse(&format!("{secret}\n")).expect("its own form");
    assert_eq!(key.public(), public);
    assert_eq!(VerifyingKey::parse(&public.to_string()), Ok(public.clone()));
    assert!(matches!(
        SigningKey::parse(&public.to_string()),
        Err(KeyError::NotSecret)
    ));
    assert_eq!(VerifyingKey::parse(&secret), Err(KeyError::NotPublic));
    assert_eq!(
        VerifyingKey::parse("mocktrial-public-key:AAAA"),
        Err(KeyError::Shape)
    );
    assert!(!format!("{key:?}").contains(&secret[21..30]));
}

#[test]
fn rows_are_read_as_they_were_written() {
    let (bytes, _) = sealed(2, None);
    let rows: Vec<Row> = Record::over(&bytes[..])
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(rows.len(), lines(&bytes).len());
    assert_eq!(
        rows[0].parse::<TrialRow>().expect("a trial").scenario,
        "refund_once"
    );
    let attempt: AttemptRow = rows[2].parse().expect("an attempt");
    assert_eq!(
        (rows[2].seq, attempt.arguments["amount_cents"].as_u64()),
        (3, Some(0))
    );
    assert!(matches!(
        rows[2].parse::<TurnRow>(),
        Err(ReadError::NoRow { row: 3, .. })
    ));
    assert!(rows.iter().all(|row| !row.body.contains_key("prev")));
}

#[test]
fn a_reader_gives_every_whole_row_and_says_where_the_record_is_cut() {
    let (bytes, _) = sealed(2, None);
    let whole = lines(&bytes)[..4].concat();
    let cut = [&whole[..], b"{\"at\":"].concat();
    let rows: Vec<_> = Record::over(Cursor::new(cut)).collect();
    assert_eq!(rows.len(), 5);
    assert!(rows[..4].iter().all(Result::is_ok));
    assert!(matches!(rows[4], Err(ReadError::Cut { row: 5 })));
    let garbage: Vec<_> = Record::over(&b"[]\n{}\n"[..]).collect();
    assert!(
        matches!(garbage[..], [Err(ReadError::NoRow { row: 1, .. })]),
        "it ends after its first error"
    );
}

#[test]
fn a_line_without_an_end_takes_bounded_memory() {
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let mut rows = Record::over(endless);
    assert!(matches!(
        rows.next(),
        Some(Err(ReadError::TooLong { row: 1 }))
    ));
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let found = verify(endless, Options::default());
    assert!(matches!(
        found,
        Err(VerifyError::Broken(Broken {
            row: 1,
            why: Flaw::TooLong
        }))
    ));
}

#[test]
fn two_verdicts_for_one_goal_are_not_sealed() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    journal.append(&trial()).expect("written");
    let twice = [verdicts(), verdicts()].concat();
    assert!(matches!(
        seal(&journal, &twice, &end(), None),
        Err(SealError::TwoVerdicts(_))
    ));
}
