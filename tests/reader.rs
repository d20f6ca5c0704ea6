//! The span reader against real captures: what it must find, what it must never claim, and what may not matter to it.

#[path = "reader/apart.rs"]
mod apart;
#[path = "reader/captures.rs"]
mod captures;
#[path = "reader/hostile.rs"]
mod hostile;
#[path = "reader/properties.rs"]
mod properties;
#[path = "reader/score.rs"]
mod score;

use std::collections::BTreeMap;

use captures::all;
use mocktrial::events;

#[test]
fn every_capture_gives_the_events_it_must_and_no_guess() {
    let mut total = score::Score::default();
    let mut inexact = Vec::new();
    for capture in all() {
        let score = score::score(&capture.expected, &events::read(&capture.spans));
        if !score.is_exact() {
            inexact.push(format!("{}: {score:?}", capture.name));
        }
        total.add(&score);
    }
    assert!(total.wanted > 2000, "the captures are here: {total:?}");
    assert_eq!(total.guesses, 0, "{inexact:#?}");
    assert!(inexact.is_empty(), "F1 {:.3}: {inexact:#?}", total.f1());
}

#[test]
fn every_framework_is_read_by_its_own_captures() {
    let mut frameworks: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for capture in all() {
        let framework = capture.name.split('/').next().unwrap_or_default().to_owned();
        let seen = frameworks.entry(framework).or_default();
        let events = events::read(&capture.spans);
        seen.0 += events.iter().filter(|event| event.kind == events::Kind::ToolCall).count();
        seen.1 += events.len();
    }
    assert_eq!(frameworks.len(), 15, "{frameworks:?}");
    for (framework, (calls, all)) in frameworks {
        assert!(calls > 0 && all > calls, "{framework}: {calls} calls of {all} events");
    }
}
