//! For machines.

use std::path::Path;

use super::{amber, broken, green, interrupted, red};
use crate::report::json::{RunReport, TrialReport, schema};
use crate::report::junit::{JUnit, Unknown};
use crate::report::sarif::Sarif;
use crate::report::summary::Summary;
use crate::report::{Totals, annotations};

fn base() -> &'static Path {
    Path::new("scenarios/returns")
}

fn junit(unknown: Unknown) -> String {
    let mut junit = JUnit::new(unknown);
    for story in [broken(), red(), amber(), green()] {
        junit.add(&story, base());
    }
    junit.to_xml().expect("XML")
}

#[test]
fn junit_tells_failure_error_and_unknown_apart() {
    insta::assert_snapshot!("junit", junit(Unknown::Skipped));
}

#[test]
fn an_unknown_trial_is_a_failure_where_that_is_asked_for() {
    let (skipped, failure) = (junit(Unknown::Skipped), junit(Unknown::Failure));
    assert_eq!((skipped.matches("<failure").count(), skipped.matches("<skipped").count()), (1, 1));
    assert_eq!((failure.matches("<failure").count(), failure.matches("<skipped").count()), (2, 0));
}

#[test]
fn a_retry_is_what_counts_and_the_first_try_stands_inside_it() {
    let retried = |mut story: crate::report::Story| {
        story.trial.number = 5;
        story.trial.retry_of = Some("refund_once/0-5".to_owned());
        let mut junit = JUnit::new(Unknown::Skipped);
        junit.add(&interrupted(), base());
        junit.add(&story, base());
        let xml = junit.to_xml().expect("XML");
        let count = |tag| xml.matches(tag).count();
        (count("<testcase"), count("<flakyError"), count("<rerunError"), count("<error"))
    };
    assert_eq!(retried(green()), (1, 1, 0, 0));
    assert_eq!(retried(red()), (1, 0, 1, 0));
    assert_eq!(retried(amber()), (2, 0, 0, 1));
}

#[test]
fn annotations_stand_at_the_lines_that_asked() {
    let mut out = Vec::new();
    for story in [green(), red(), amber(), broken()] {
        annotations::trial(&mut out, &story, base()).expect("written");
    }
    insta::assert_snapshot!("annotations", String::from_utf8_lossy(&out));
}

#[test]
fn no_text_of_the_app_becomes_a_workflow_command() {
    let mut story = red();
    story.verdicts[1].detail = "asked: a; seen: x\n::stop-commands::y\r100%".to_owned();
    let mut out = Vec::new();
    annotations::trial(&mut out, &story, Path::new("a,b:c")).expect("written");
    let text = String::from_utf8_lossy(&out);
    assert!(text.lines().all(|line| line.starts_with("::error") || line.starts_with("::warning")));
    assert!(text.contains("file=a%2Cb%3Ac/refund_once.scenario.yaml,line=24"));
    assert!(text.contains("x%0A::stop-commands::y%0D100%25"));
}

#[test]
fn the_summary_is_a_table_and_what_did_not_pass() {
    let mut summary = Summary::new();
    for story in [green(), red(), amber(), broken(), interrupted()] {
        summary.add(&story, base());
    }
    let mut out = Vec::new();
    summary.write(&mut out).expect("written");
    insta::assert_snapshot!("summary", String::from_utf8_lossy(&out));
}

#[test]
fn no_text_of_the_app_becomes_markup() {
    let mut story = red();
    story.verdicts[1].detail = "asked: a; seen: </details>|`x` @all <img src=x>".to_owned();
    let mut summary = Summary::new();
    summary.add(&story, base());
    let mut out = Vec::new();
    summary.write(&mut out).expect("written");
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains(r"seen: &lt;/details&gt;\|\`x\` \@all &lt;img src=x&gt;"));
    assert_eq!(text.matches("</details>").count(), 1);
}

#[test]
fn a_long_run_says_how_many_it_does_not_tell() {
    let mut summary = Summary::new();
    for _ in 0..53 {
        summary.add(&red(), base());
    }
    let mut out = Vec::new();
    summary.write(&mut out).expect("written");
    assert!(String::from_utf8_lossy(&out).ends_with("\n… and 3 more trials that did not pass.\n"));
}

fn report() -> serde_json::Value {
    let stories = [green(), red(), interrupted()];
    let mut totals = Totals::default();
    for story in &stories {
        totals.add(story);
    }
    let records = stories.iter().map(TrialReport::from).collect();
    serde_json::to_value(RunReport::new(&totals, records)).expect("JSON")
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let report = report();
    assert!(validator.is_valid(&report));
    assert!(!validator.is_valid(&serde_json::json!({"format": 1})));
    insta::assert_json_snapshot!("json", report);
}

#[test]
fn sarif_tells_permission_findings_once_at_the_workers_declaration() {
    let mut sarif = Sarif::new();
    let mut story = red();
    for action in &mut story.evidence.actions {
        if action.refusal().is_some() {
            action.attempt.code = Some("not_permitted".to_owned());
        }
    }
    sarif.add(&story, base());
    sarif.add(&story, base());
    let log = sarif.to_json();
    let results = log["runs"][0]["results"].as_array().expect("results");
    let told: Vec<_> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            (
                result["ruleId"].as_str().unwrap_or_default(),
                place["artifactLocation"]["uri"].as_str().unwrap_or_default(),
                place["region"]["startLine"].as_u64().unwrap_or_default(),
            )
        })
        .collect();
    let contract = "scenarios/returns/contract.yaml";
    assert_eq!(told, [("not_permitted", contract, 4), ("off_channel", contract, 4)]);
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().map(Vec::len);
    assert_eq!(rules, Some(4));
}
