//! Reading family by family gives what one reading of everything gives, whichever captures stand in one input.

use std::collections::{BTreeMap, HashMap};

use mocktrial::events::{self, Event, Kinship};
use mocktrial::spans::{Span, Spool, TraceId};
use proptest::prelude::*;

use super::captures::{Capture, all};

/// Events read a family at a time, and how many families there were.
fn apart(spans: &[Span], batch: usize) -> (Vec<Event>, usize) {
    let (mut spool, mut kinship) = (Spool::default(), Kinship::default());
    for spans in spans.chunks(batch) {
        spans.iter().for_each(|span| kinship.see(span));
        spool.put(spans.to_vec()).expect("put aside");
    }
    for family in kinship.suspects() {
        kinship.look(&spool.of(&family.traces).expect("taken up"));
    }
    let families = kinship.families();
    let mut events = Vec::new();
    for family in &families {
        let of_family = events::read(&spool.of(&family.traces).expect("taken up"));
        assert!(of_family.iter().all(|event| event.started_at >= family.start));
        events.extend(of_family);
    }
    events.sort_by_key(|event| (event.started_at, event.trace_id, event.span_id, event.kind));
    (events, families.len())
}

/// A capture as another run of the same app: `copy` in its trace ids, its clock set so that it starts at `start`.
fn rerun(capture: &Capture, copy: u8, start: u64) -> Vec<Span> {
    let first = capture.spans.iter().map(|span| span.start).min().unwrap_or_default();
    let moved = |at: u64| if at == 0 { 0 } else { at - first + start };
    let other = |TraceId(mut id): TraceId| {
        id[0] ^= copy;
        TraceId(id)
    };
    let mut spans = capture.spans.clone();
    for span in &mut spans {
        span.trace_id = other(span.trace_id);
        span.links.iter_mut().for_each(|link| link.trace_id = other(link.trace_id));
        (span.start, span.end) = (moved(span.start), moved(span.end));
    }
    spans
}

fn mixed() -> impl Strategy<Value = (Vec<Span>, Vec<&'static str>)> {
    // Several runs of few captures, so that names and tracers meet, within a few seconds, so that times do.
    let captures = prop::collection::vec(0..all().len(), 1..4);
    let runs = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_000_000_000u64), 1..8);
    (captures, runs).prop_flat_map(|(captures, runs)| {
        let mut spans = Vec::new();
        let mut names = Vec::new();
        for (of, copy, start) in runs {
            let capture = &all()[captures[of.index(captures.len())]];
            names.push(&*capture.name);
            spans.extend(rerun(capture, copy, 1_700_000_000_000_000_000 + start));
        }
        (Just(spans).prop_shuffle(), Just(names))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_family_at_a_time_is_as_good_as_all_at_once((spans, names) in mixed(), batch in 1..40usize) {
        prop_assert_eq!(apart(&spans, batch).0, events::read(&spans), "{:?}", names);
    }
}

#[test]
fn traces_of_one_tracer_are_read_apart() {
    let mut alone = BTreeMap::new();
    for capture in all() {
        let traces: HashMap<TraceId, ()> = capture.spans.iter().map(|span| (span.trace_id, ())).collect();
        let (events, families) = apart(&capture.spans, 16);
        assert_eq!(events, events::read(&capture.spans), "{}", capture.name);
        *alone.entry(families == traces.len()).or_insert(0) += 1;
    }
    // Kin are found where they must be, and only there: chats of many traces, two tracers at once.
    assert!(alone[&true] > 20 * alone[&false] && alone[&false] > 5, "{alone:?}");
}
