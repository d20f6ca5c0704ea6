//! Scripts are real processes; nothing they do can become a verdict but the one word they say.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::{check, evidence, goal, not, scenario};
use crate::grade::ask;
use crate::journal::AnswerRow;
use crate::scenario::{Case, CheckKind};
use crate::verdict::Gate;

/// What a shell script of this text answers.
async fn answer(script: &str) -> AnswerRow {
    let folder = tempfile::tempdir().expect("a folder");
    answer_in(folder.path(), script).await
}

async fn answer_in(folder: &Path, script: &str) -> AnswerRow {
    let path = folder.join("check");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let kind =
        CheckKind::Script { command: vec!["sh".to_owned(), "./check".to_owned()], folder: folder.to_owned() };
    let asked = scenario(vec![goal(None, Gate::Required, not(CheckKind::All(vec![check(kind)])))]);
    let env = BTreeMap::from([
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ("LOG".to_owned(), "warn".to_owned()),
    ]);
    let seen = evidence().turn("Hello.").reply("Hi.").done("refund", "issue_refund", "x".into()).build();
    let case = Case::from([("order".to_owned(), "1042".into())]);
    let mut answers = ask(&asked, &case, &seen, &env).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

#[tokio::test]
async fn a_script_is_heard_with_its_reason_and_place() {
    let row = answer(r#"cat > /dev/null; echo '{"verdict":"failed","reason":"too kind"}'"#).await;
    assert_eq!((row.verdict.as_deref(), row.reason.as_str()), (Some("failed"), "too kind"));
    assert_eq!((row.check.as_str(), row.by.as_str()), ("7:3", "script"));
    let row = answer(r#"echo '{"verdict":"passed"}'"#).await;
    assert_eq!((row.verdict.as_deref(), row.reason.as_str()), (Some("passed"), ""));
}

#[tokio::test]
async fn a_script_is_given_the_evidence_the_case_and_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = answer_in(folder.path(), r#"cat > seen.json; echo '{"verdict":"passed"}'"#).await;
    assert_eq!(row.verdict.as_deref(), Some("passed"));
    let seen = std::fs::read(folder.path().join("seen.json")).expect("what it was given");
    let seen: serde_json::Value = serde_json::from_slice(&seen).expect("JSON");
    assert_eq!(seen["scenario"], "refund_once");
    assert_eq!(seen["case"]["order"], "1042");
    assert_eq!(seen["turns"][0]["text"], "Hello.");
    assert_eq!(seen["replies"][0]["text"], "Hi.");
    assert_eq!(seen["actions"][0]["worker"], "refund");
    assert_eq!(seen["actions"][0]["outcome"]["kind"], "done");
}

#[tokio::test]
async fn a_script_has_the_environment_it_was_given_and_no_other() {
    let row = answer(r#"echo "{\"verdict\":\"passed\",\"reason\":\"$LOG $(env | grep -c CARGO)\"}""#).await;
    assert_eq!(row.reason, "warn 0");
}

#[tokio::test]
async fn what_is_no_answer_is_none() {
    for (script, why) in [
        ("exit 3", "exit status: 3"),
        (r#"echo '{"verdict":"passed"}'; echo broken >&2; exit 1"#, "exit status: 1: broken"),
        ("echo 1.0", "said \"1.0\""),
        ("true", "said \"\""),
        (r#"echo '{"verdict":"held"}'"#, "unknown variant `held`"),
        ("yes | head -c 100000", "said more than"),
    ] {
        let row = answer(script).await;
        assert_eq!(row.verdict, None, "{script}");
        assert!(row.reason.contains(why), "{script}: {}", row.reason);
    }
    let missing = CheckKind::Script { command: vec!["./not-there".to_owned()], folder: "/".into() };
    let asked = scenario(vec![goal(None, Gate::Required, missing)]);
    let answers = ask(&asked, &Case::new(), &evidence().build(), &BTreeMap::new()).await;
    assert_eq!(answers[0].verdict, None);
}

#[tokio::test]
async fn what_a_script_leaves_running_ends_with_it_and_holds_nothing_up() {
    let folder = tempfile::tempdir().expect("a folder");
    // Both hold the script's streams; the answer comes all the same, since both are ended.
    let script = r#"sleep 600 & echo $! > pid; sleep 600 & echo '{"verdict":"passed"}'"#;
    let row = answer_in(folder.path(), script).await;
    assert_eq!(row.verdict.as_deref(), Some("passed"));
    let pid = std::fs::read_to_string(folder.path().join("pid")).expect("its id");
    // Killed it is at once; how soon it is gone is the kernel's business.
    for _ in 0..200 {
        if ended(pid.trim()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} was left running");
}

fn ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

#[tokio::test(start_paused = true)]
async fn a_script_that_dawdles_is_ended() {
    // Time is paused: the minute passes at once, while the process would really sleep for ten.
    let row = answer("sleep 600").await;
    assert_eq!(row.verdict, None);
    assert!(row.reason.contains("no answer within 60s"), "{}", row.reason);
}
