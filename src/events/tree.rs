//! Events for people: one line an event, below the hand-off it ran in.

use std::collections::HashMap;
use std::io::{self, Write};

use super::event::{Event, Kind};
use crate::spans::{SpanId, TraceId};
use crate::verdict::Relationship;

/// Deeper hand-offs are written no further to the right.
const DEEPEST: usize = 32;

/// Writes the events in order of start. Names are the app's own text, so control characters in them are escaped.
pub fn tree(out: &mut impl Write, events: &[Event]) -> io::Result<()> {
    let mut below: HashMap<Option<(TraceId, SpanId)>, Vec<usize>> = HashMap::new();
    let hand_offs: HashMap<_, _> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.kind != Kind::ToolCall)
        .map(|(at, event)| ((event.trace_id, event.span_id), at))
        .collect();
    for (at, event) in events.iter().enumerate() {
        // An event that stands below itself, or below one that is not here, is written at the top.
        let parent = event.parent.filter(|key| hand_offs.get(key).is_some_and(|&above| above != at));
        below.entry(parent).or_default().push(at);
    }
    let mut left: Vec<(usize, usize)> = Vec::new();
    let mut told = vec![false; events.len()];
    let push = |left: &mut Vec<(usize, usize)>, key, depth| {
        left.extend(below.get(&key).into_iter().flatten().rev().map(|&at| (at, depth)));
    };
    push(&mut left, None, 0);
    let mut rest = 0..events.len();
    loop {
        while let Some((at, depth)) = left.pop() {
            if std::mem::replace(&mut told[at], true) {
                continue;
            }
            line(out, &events[at], depth.min(DEEPEST))?;
            if events[at].kind != Kind::ToolCall {
                push(&mut left, Some((events[at].trace_id, events[at].span_id)), depth + 1);
            }
        }
        // Two transfers back and forth may stand below each other; neither may be lost.
        match rest.find(|&at| !told[at]) {
            Some(at) => left.push((at, 0)),
            None => return Ok(()),
        }
    }
}

fn line(out: &mut impl Write, event: &Event, depth: usize) -> io::Result<()> {
    let name = |name: &Option<std::sync::Arc<str>>| match name {
        Some(name) => name.escape_debug().to_string(),
        None => "?".to_owned(),
    };
    write!(out, "{:1$}", "", 2 * depth)?;
    match event.kind {
        Kind::Delegated => write!(out, "{} -> {}", name(&event.agent), name(&event.to))?,
        Kind::Transferred => write!(out, "{} => {}", name(&event.agent), name(&event.to))?,
        Kind::ToolCall => write!(out, "{}: {}", name(&event.agent), name(&event.tool))?,
    }
    if !event.arguments.is_null() {
        write!(out, " {}", event.arguments)?;
    }
    if event.relationship == Relationship::Unknown {
        write!(out, " (unknown: {})", event.basis)?;
    }
    writeln!(out)
}
