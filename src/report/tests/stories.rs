//! For people: the terminal and the story.

use std::path::Path;

use super::{amber, broken, green, interrupted, red};
use crate::report::{Story, Totals, show, term};

fn on_term(story: &Story) -> String {
    let mut out = Vec::new();
    term::trial(&mut out, story, Path::new("scenarios/returns")).expect("written");
    plain(&out)
}

fn shown(story: &Story) -> String {
    let mut out = Vec::new();
    show::trial(&mut out, story, Path::new("scenarios/returns")).expect("written");
    plain(&out)
}

fn plain(out: &[u8]) -> String {
    let text = String::from_utf8_lossy(out);
    let stripped = anstream::adapter::strip_str(&text).to_string();
    assert!(!stripped.contains('\u{1b}'));
    stripped
}

#[test]
fn a_trial_that_passed_is_one_line_with_what_is_unknown() {
    assert_eq!(on_term(&green()), "passed  refund_once/0-1  1.30 s  (delegated unknown: not_observed)\n");
}

#[test]
fn a_failure_is_told_with_place_calls_refusals_findings_and_output() {
    insta::assert_snapshot!("term_red", on_term(&red()));
}

#[test]
fn an_unknown_trial_is_told_with_the_calls_of_the_worker_it_is_about() {
    insta::assert_snapshot!("term_amber", on_term(&amber()));
}

#[test]
fn an_error_is_told_with_its_line_and_an_interrupted_trial_as_such() {
    insta::assert_snapshot!("term_broken", on_term(&broken()));
    insta::assert_snapshot!("term_interrupted", on_term(&interrupted()));
}

#[test]
fn a_story_tells_turns_hand_offs_calls_changes_and_verdicts() {
    insta::assert_snapshot!("show_red", shown(&red()));
    insta::assert_snapshot!("show_green", shown(&green()));
}

#[test]
fn a_ring_of_hand_offs_is_told_once_each() {
    let mut story = red();
    let events = &mut story.evidence.events;
    events[0].parent_span_id = Some("c3".to_owned());
    events[2].parent_span_id = Some("b2".to_owned());
    let text = shown(&story);
    assert_eq!(text.matches(" delegated to ").count(), 2);
    assert_eq!(text.matches(" called get_order").count(), 1);
}

#[test]
fn nothing_that_the_app_said_drives_the_terminal() {
    let mut out = Vec::new();
    term::trial(&mut out, &red(), Path::new("")).expect("written");
    show::trial(&mut out, &red(), Path::new("")).expect("written");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.contains("\\u{1b}[2J") && text.contains("\\u{1b}[31m"));
    assert!(!text.contains("\u{1b}[2J"));
}

#[test]
fn the_last_line_counts_trials_and_unknown_goals() {
    let mut totals = Totals::default();
    for story in [green(), green(), red(), amber(), broken()] {
        totals.add(&story);
    }
    totals.spend("seal", 5_000);
    totals.spend("proof", 1_000_000);
    let mut out = Vec::new();
    term::totals(&mut out, &totals).expect("written");
    assert_eq!(
        plain(&out),
        "time: start 0.15 s, turns 6.25 s, seal 0.01 s, proof 1.00 s\n\
         5 trials: 2 passed, 1 failed, 1 unknown, 1 error; goals: 5 unknown\n"
    );
    let none = Totals::default().to_string();
    assert_eq!(none, "0 trials: 0 passed, 0 failed, 0 unknown, 0 error; goals: 0 unknown");
}
