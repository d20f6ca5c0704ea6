//! Workers as lanes over time: where each bar and arrow stands, in per cent of the trial's time and in pixels.
//!
//! Calls stand where the harness saw them. What spans say stands where the app's own clock puts it, and is drawn apart:
//! the two clocks are never compared, only shown on one axis.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::super::Story;
use super::super::pieces::{came_to, line};
use crate::grade::{Action, Whose};
use crate::journal::OutcomeKind;
use crate::scenario::{Source, contract_from};
use crate::verdict::Relationship;

/// Bars drawn of one trial, of each kind.
const DRAWN: usize = 300;
const LANE: u32 = 44;
const BAR: u32 = 18;
/// Narrowest bar, in per cent: an instant must be seen.
const NARROW: f64 = 0.7;
/// Room of one letter of a label, in per cent.
const LETTER: f64 = 0.8;
/// The user's lane, above all others.
const USER: &str = "user";

#[derive(Serialize)]
pub(super) struct Chart {
    lanes: Vec<Lane>,
    bars: Vec<Bar>,
    hand_offs: Vec<HandOff>,
    ticks: Vec<Tick>,
    height: u32,
    left_out: usize,
    /// Hand-offs of which one side is not known: told in words only.
    untied: usize,
}

#[derive(Serialize)]
struct Lane {
    name: String,
    y: u32,
    note: &'static str,
}

#[derive(Serialize)]
struct Bar {
    x: String,
    width: String,
    y: u32,
    height: u32,
    class: &'static str,
    label: String,
    code: String,
    title: String,
    /// Whether the label ends where the bar ends, since there is no room to the right.
    left: bool,
    /// Where the bar begins and ends, for [`label`].
    #[serde(skip)]
    reach: (f64, f64),
}

#[derive(Serialize)]
struct HandOff {
    x: String,
    from: u32,
    to: u32,
    class: &'static str,
    title: String,
}

#[derive(Serialize)]
struct Tick {
    x: String,
    label: String,
}

/// The axis: from the first row to the last.
struct Axis {
    start: u64,
    length: f64,
}

impl Axis {
    #[allow(clippy::cast_precision_loss, reason = "a place on paper")]
    fn at(&self, nanos: u64) -> f64 {
        (nanos.saturating_sub(self.start) as f64 / self.length * 100.0).clamp(0.0, 100.0)
    }

    fn span(&self, from: u64, to: u64) -> (f64, f64) {
        let x = self.at(from).min(100.0 - NARROW);
        (x, (self.at(to) - x).max(NARROW))
    }
}

pub(super) fn chart(story: &Story) -> Chart {
    let agents = agents(story);
    let (start, end) = story.span;
    #[allow(clippy::cast_precision_loss, reason = "a place on paper")]
    let axis = Axis { start, length: end.saturating_sub(start).max(1) as f64 };
    let lanes = lanes(story, &agents);
    let y: BTreeMap<&str, u32> = lanes.iter().map(|lane| (lane.name.as_str(), lane.y)).collect();
    let mut bars = turns(story, &axis);
    let mut left_out = 0;
    for (n, action) in story.evidence.actions.iter().enumerate() {
        if n >= DRAWN {
            left_out += 1;
            continue;
        }
        let (whose, note) = match action.whose() {
            Whose::Worker(worker) => (worker, String::new()),
            Whose::Disputed(channel, claimed) => {
                (channel, format!(" (channel of {channel}, spans say {claimed})"))
            }
            Whose::Nobody => (NOBODY, String::new()),
        };
        let Some(y) = y.get(whose) else { continue };
        bars.push(call(story, &axis, action, *y, &note));
    }
    let mut hand_offs = Vec::new();
    let mut untied = 0;
    let (mut said, mut handed) = (0, 0);
    for event in &story.evidence.events {
        let own = |agent: &Option<String>| agent.as_deref().map(|name| lane_of(&agents, name).to_owned());
        let place = |agent: &Option<String>| y.get(own(agent)?.as_str());
        let Ok(at) = event.started_at.parse() else { continue };
        let ended = event.ended_at.as_deref().and_then(|at| at.parse().ok()).unwrap_or(at);
        if event.kind == "tool_call" {
            let Some(y) = place(&event.agent) else { continue };
            said += 1;
            if said > DRAWN {
                left_out += 1;
                continue;
            }
            let (x, width) = axis.span(at, ended);
            let tool = line(event.tool.as_deref().unwrap_or("a tool"), 80);
            let title = format!("the spans say: {} called {tool}", own(&event.agent).unwrap_or_default());
            let said = bar(x, width, *y + BAR - 1, "said", String::new(), String::new(), title);
            bars.push(Bar { height: 3, ..said });
            continue;
        }
        let (Some(from), Some(to)) = (place(&event.from), place(&event.to)) else {
            untied += 1;
            continue;
        };
        handed += 1;
        if handed > DRAWN {
            left_out += 1;
            continue;
        }
        let (mid, down) = (LANE / 2, to >= from);
        hand_offs.push(HandOff {
            x: percent(axis.at(at).clamp(0.3, 99.7)),
            from: from + mid,
            to: if down { (to + 4).max(from + mid + 1) } else { to + BAR + 12 },
            class: match event.relationship {
                Relationship::Observed => "observed",
                Relationship::Unknown => "unsure",
            },
            title: format!(
                "{} {} to {}, by {}",
                own(&event.from).unwrap_or_default(),
                event.kind,
                own(&event.to).unwrap_or_default(),
                event.basis
            ),
        });
    }
    label(&mut bars);
    let height = u32::try_from(lanes.len()).unwrap_or(u32::MAX).saturating_mul(LANE);
    let ticks = (0..=4u64).map(|quarter| Tick {
        x: percent([0.0, 25.0, 50.0, 75.0, 100.0][usize::try_from(quarter).unwrap_or(0)]),
        label: super::view::time(start + (end.saturating_sub(start)) / 4 * quarter - start),
    });
    Chart { ticks: ticks.collect(), lanes, bars, hand_offs, height, left_out, untied }
}

const NOBODY: &str = "whose?";

/// The user's first, then the contract's workers by name, those that only spans name, and nobody's.
fn lanes(story: &Story, agents: &BTreeMap<String, String>) -> Vec<Lane> {
    let mut names: Vec<(String, &'static str)> = vec![(USER.to_owned(), "turns")];
    let mut workers: Vec<String> = agents.values().cloned().collect();
    workers.extend(story.workers().into_iter().map(str::to_owned));
    workers.sort_unstable();
    workers.dedup();
    names.extend(workers.into_iter().map(|worker| (worker, "")));
    let mut seen = Vec::new();
    for event in &story.evidence.events {
        for agent in [&event.agent, &event.from, &event.to].into_iter().flatten() {
            let name = lane_of(agents, agent);
            if !names.iter().any(|(known, _)| known == name) && !seen.contains(&name.to_owned()) {
                seen.push(name.to_owned());
            }
        }
        if seen.len() > 20 {
            break;
        }
    }
    names.extend(seen.into_iter().map(|name| (name, "only in spans")));
    if story.nobodys_calls().next().is_some() {
        names.push((NOBODY.to_owned(), "nobody can say"));
    }
    names
        .into_iter()
        .zip((0..).step_by(LANE as usize))
        .map(|((name, note), y)| Lane { name, y, note })
        .collect()
}

/// Names in spans to worker ids, by the contract as recorded.
fn agents(story: &Story) -> BTreeMap<String, String> {
    let files = &story.trial.files;
    let name = &story.trial.contract;
    let source = Source { path: name.into(), text: files.get(name).map_or("", String::as_str).into() };
    let kept = |path: &Path| {
        let text = files.iter().find(|(name, _)| Path::new(name) == path);
        text.map(|(_, text)| text.clone()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    let Ok(contract) = contract_from(source, &kept) else {
        return BTreeMap::new();
    };
    let workers = contract.workers.iter();
    workers
        .flat_map(|worker| worker.agents.iter().map(|name| (name.as_str().to_owned(), worker.id.to_string())))
        .collect()
}

fn lane_of<'a>(agents: &'a BTreeMap<String, String>, agent: &'a str) -> &'a str {
    agents.get(agent).map_or(agent, String::as_str)
}

fn turns(story: &Story, axis: &Axis) -> Vec<Bar> {
    let turns = story.evidence.turns.iter().take(DRAWN);
    turns
        .map(|turn| {
            let replied = story.replied.get(&turn.row.n).copied();
            let (x, width) = axis.span(turn.at, replied.unwrap_or(story.span.1));
            let answer = match (replied, turn.row.expects_reply) {
                (Some(_), _) => ("turn", ""),
                (None, false) => ("turn", ", no reply expected"),
                (None, true) => ("turn bad", ", no reply"),
            };
            bar(
                x,
                width,
                0,
                answer.0,
                format!("turn {}{}", turn.row.n, answer.1),
                String::new(),
                line(&turn.row.text, 200),
            )
        })
        .collect()
}

fn call(story: &Story, axis: &Axis, action: &Action, y: u32, note: &str) -> Bar {
    let (x, width) = axis.span(action.at, action.ended_at.unwrap_or(action.at));
    let tool = line(action.attempt.tool.as_deref().unwrap_or("no tool"), 60);
    let class = match action.kind() {
        _ if action.refusal().is_some() => "refused",
        Some(OutcomeKind::Done) => "done",
        Some(OutcomeKind::Crashed) => "crashed",
        Some(OutcomeKind::Faulted) => "faulted",
        Some(OutcomeKind::WorldRefused) => "no",
        _ => "open",
    };
    let code = match action.refusal() {
        Some(code) => code.to_owned(),
        None => match &action.outcome {
            Some(outcome) if class != "done" => outcome.code.clone().unwrap_or_default(),
            _ => String::new(),
        },
    };
    let at = super::view::time(action.at.saturating_sub(story.span.0));
    let title = format!("#{} at +{at}: {tool}, {}{note}", action.seq, came_to(action));
    bar(x, width, y, class, tool, code, title)
}

fn bar(x: f64, width: f64, y: u32, class: &'static str, label: String, code: String, title: String) -> Bar {
    let (left, reach) = (x > 70.0, (x, x + width));
    Bar {
        x: percent(x),
        width: percent(width),
        y: y + 6,
        height: BAR,
        class,
        label,
        code,
        title,
        left,
        reach,
    }
}

/// Takes away the labels for which there is no room beside the one before; what they said stands in the bar's title
/// and in the table of calls.
fn label(bars: &mut [Bar]) {
    let mut taken: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for bar in bars {
        let chars = bar.label.chars().count() + bar.code.chars().count();
        let wide = f64::from(u32::try_from(chars).unwrap_or(u32::MAX)) * LETTER + 1.0;
        let (from, to) =
            if bar.left { (bar.reach.1 - wide, bar.reach.1) } else { (bar.reach.0, bar.reach.0 + wide) };
        let taken = taken.entry(bar.y).or_default();
        if taken.iter().any(|(start, end)| from < *end && *start < to) {
            bar.label.clear();
            bar.code.clear();
        } else if chars > 0 {
            taken.push((from, to));
        }
    }
}

fn percent(x: f64) -> String {
    format!("{x:.2}%")
}
