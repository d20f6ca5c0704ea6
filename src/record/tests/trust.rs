//! What a record that holds proves, and what a forger without the key can and cannot do.

use serde_json::{Value, json};

use super::*;

#[test]
fn an_untouched_record_holds_and_says_what_it_does_not_prove() {
    let (bytes, sealed) = sealed(3, None);
    let vouched = verdict_on(&bytes, Options::default()).expect("it holds");
    assert_eq!((vouched.rows, &vouched.seal), (sealed.rows, &sealed.seal));
    assert_eq!(vouched.rows as usize, lines(&bytes).len());
    assert_eq!(vouched.head, Head::of(lines(&bytes)[12].trim_ascii_end()).hex());
    assert_eq!((vouched.anchored, &vouched.signed_by, vouched.outcome), (false, &None, Outcome::Passed));
    assert!(vouched.to_string().contains("not proven: that nobody wrote the whole record anew"));
    let seal: Value = serde_json::from_slice(lines(&bytes)[13]).expect("a row");
    assert_eq!(
        seal["verdicts"],
        json!({
            "answered": "passed", "refunded_once": "passed",
            "stayed_permitted (worker:order_lookup)": "passed", "stayed_permitted (worker:refund)": "unknown: no_calls",
        })
    );
}

#[test]
fn a_record_written_anew_must_still_agree_with_itself() {
    let (bytes, _) = sealed(2, None);
    let same = forged(&bytes, |_| {});
    assert_eq!(same, bytes, "the forger's tool is right");
    let find =
        |rows: &[Value], kind: &str| rows.iter().position(|row| row["row"] == kind).expect("it is there");
    type Change = fn(&mut Vec<Value>, usize);
    let cases: [(&str, Change, Flaw); 14] = [
        ("verdict", |rows, at| rows[at]["verdict"] = "failed".into(), Flaw::End("the outcome")),
        ("verdict", |rows, at| rows[at]["verdict"] = "fine".into(), Flaw::End("a verdict of no known kind")),
        (
            "verdict",
            |rows, at| {
                rows[at]["gate"] = "report".into();
                rows[at]["verdict"] = "failed".into()
            },
            Flaw::Seal("the verdicts"),
        ),
        ("verdict", |rows, at| rows[at]["sub_goal"] = "other".into(), Flaw::Seal("the verdicts")),
        ("end", |rows, at| rows[at]["outcome"] = "failed".into(), Flaw::End("the outcome")),
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
        ("end", |rows, at| rows[at]["row"] = "finding".into(), Flaw::End("there is none")),
        (
            "turn",
            |rows, at| {
                rows[at] = rows.iter().find(|row| row["row"] == "end").expect("one").clone();
                rows[at]["seq"] = 2.into();
                rows[at]["at"] = rows[0]["at"].clone()
            },
            Flaw::End("there are two"),
        ),
        ("seal", |rows, at| rows[at]["rows"] = 9.into(), Flaw::Seal("the count of rows")),
        ("seal", |rows, at| rows[at]["format"] = 2.into(), Flaw::Format(2)),
        ("trial", |rows, at| rows[at]["format"] = 2.into(), Flaw::Format(2)),
        ("trial", |rows, at| rows[at]["row"] = "turn".into(), Flaw::Trial),
        ("turn", |rows, at| rows[at]["at"] = "5".into(), Flaw::TimeBack),
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
    assert_eq!(broken(other.as_bytes()).why, Flaw::Seal("it is not what its own digest says"));
}

#[test]
fn a_record_written_anew_is_noticed_by_anchor_and_by_key() {
    let key = key();
    let (bytes, sealed) = sealed(2, Some(&key));
    let public = key.public();
    let anchor = Anchor { seal: sealed.seal };
    let options = Options { key: Some(&public), anchor: Some(&anchor) };
    let vouched = verdict_on(&bytes, options).expect("it holds");
    assert!(vouched.anchored && vouched.key_known && vouched.signed_by == Some(public.clone()));
    let unasked = verdict_on(&bytes, Options::default()).expect("it holds");
    assert!(unasked.signed_by == Some(public.clone()) && !unasked.key_known);

    let change = |rows: &mut Vec<Value>| rows[1]["text"] = "other".into();
    let changed = forged(&bytes, change);
    assert_eq!(broken(&changed).why, Flaw::Signature);
    let unsigned = forged(&bytes, |rows| {
        change(rows);
        let seal = rows.last_mut().expect("a seal").as_object_mut().expect("a row");
        seal.remove("signature");
    });
    assert!(verdict_on(&unsigned, Options::default()).is_ok(), "a chain alone proves nothing against this");
    let by_key = Options { key: Some(&public), anchor: None };
    assert_eq!(verdict_on(&unsigned, by_key).expect_err("asked for").why, Flaw::NotSigned);
    let by_anchor = Options { key: None, anchor: Some(&anchor) };
    assert_eq!(verdict_on(&unsigned, by_anchor).expect_err("asked for").why, Flaw::OtherRecord);
    let stranger = super::key().public();
    let by_stranger = Options { key: Some(&stranger), anchor: None };
    assert_eq!(verdict_on(&bytes, by_stranger).expect_err("asked for").why, Flaw::OtherKey);
}

#[test]
fn a_signature_is_over_dsse_s_encoding() {
    // The protocol's own example.
    assert_eq!(
        crate::record::seal::pre_authentication_encoding("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
}

#[test]
fn keys_read_what_they_wrote_and_are_not_taken_for_each_other() {
    let (secret, public) = keygen().expect("a key");
    let key = SigningKey::parse(&format!("{secret}\n")).expect("its own form");
    assert_eq!(key.public(), public);
    assert_eq!(VerifyingKey::parse(&public.to_string()), Ok(public.clone()));
    assert!(matches!(SigningKey::parse(&public.to_string()), Err(KeyError::NotSecret)));
    assert_eq!(VerifyingKey::parse(&secret), Err(KeyError::NotPublic));
    assert_eq!(VerifyingKey::parse("mocktrial-public-key:AAAA"), Err(KeyError::Shape));
    assert!(!format!("{key:?}").contains(&secret[21..30]));
}

#[test]
fn two_verdicts_for_one_goal_are_not_sealed() {
    let memory = Memory::default();
    let journal = memory.journal(&[], 1 << 20);
    journal.append(&trial()).expect("written");
    let twice = [verdicts(), verdicts()].concat();
    assert!(matches!(seal(&journal, &twice, &end(), None), Err(SealError::TwoVerdicts(_))));
}
