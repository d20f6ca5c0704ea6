//! Trouble made on purpose: which fault a call meets, and what exactly it does.
//!
//! The first fault of the file that fits and is due applies; every fault that fits counts the call. A drawn value hangs
//! on the trial's seed, the fault and the number of the call alone, so that it is the same however calls interleave.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::name::{ToolName, WorkerId};
use crate::scenario::{Fault, FaultKind};

/// The faults of one trial.
#[derive(Debug)]
pub struct Faults {
    seed: u64,
    armed: Vec<(Fault, AtomicU64)>,
}

/// A fault that applies to this call.
#[derive(Clone, Debug)]
pub struct Due {
    /// What it does, a latency range drawn to one value.
    pub kind: FaultKind,
    /// For people.
    pub reason: String,
}

impl Faults {
    /// `seed` is the trial's.
    pub fn new(seed: u64, faults: &[Fault]) -> Self {
        Self { seed, armed: faults.iter().map(|fault| (fault.clone(), AtomicU64::new(0))).collect() }
    }

    /// Whether a call of `tool` may ever be answered stale, so that its answers are to be kept.
    pub fn keeps_answers_of(&self, tool: &ToolName) -> bool {
        self.armed.iter().any(|(fault, _)| {
            matches!(fault.kind, FaultKind::Stale) && fault.tool.as_ref().is_none_or(|one| one == tool)
        })
    }

    /// Counts the call, and gives the fault it meets.
    pub fn meet(&self, worker: Option<&WorkerId>, tool: &ToolName, args: &Value) -> Option<Due> {
        let mut due = None;
        for (index, (fault, met)) in self.armed.iter().enumerate() {
            let fits = fault.worker.as_ref().is_none_or(|one| Some(one) == worker)
                && fault.tool.as_ref().is_none_or(|one| one == tool)
                && fault.args.as_ref().is_none_or(|asked| holds(asked, args));
            if !fits {
                continue;
            }
            let nth = met.fetch_add(1, Ordering::Relaxed) + 1;
            if due.is_none() && fault.on_call.is_none_or(|on| on == nth) {
                due = Some(self.drawn(index as u64, nth, &fault.kind));
            }
        }
        due
    }

    fn drawn(&self, index: u64, nth: u64, kind: &FaultKind) -> Due {
        let kind = match kind {
            FaultKind::Latency { min, max } if max > min => {
                let span = u64::try_from((*max - *min).as_nanos()).unwrap_or(u64::MAX);
                let draw = mixed(mixed(self.seed ^ mixed(index)) ^ nth);
                let by = *min + Duration::from_nanos(draw % span.saturating_add(1).max(1));
                FaultKind::Latency { min: by, max: by }
            }
            other => other.clone(),
        };
        let reason = match &kind {
            FaultKind::Latency { min, .. } => format!("latency {min:?}"),
            FaultKind::Reply { status, .. } => format!("reply {status}"),
            FaultKind::Drop => "drop".to_owned(),
            FaultKind::Truncate(bytes) => format!("truncate {bytes}"),
            FaultKind::Disconnect => "disconnect".to_owned(),
            FaultKind::Stall(time) => format!("stall {time:?}"),
            FaultKind::Stale => "stale".to_owned(),
        };
        Due { kind, reason }
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether `given` holds what is `asked`: objects by key, lists by place and length, numbers by value.
fn holds(asked: &Value, given: &Value) -> bool {
    match (asked, given) {
        (Value::Object(asked), Value::Object(given)) => {
            asked.iter().all(|(key, value)| given.get(key).is_some_and(|given| holds(value, given)))
        }
        (Value::Array(asked), Value::Array(given)) => {
            asked.len() == given.len() && asked.iter().zip(given).all(|(asked, given)| holds(asked, given))
        }
        (Value::Number(asked), Value::Number(given)) => asked == given || asked.as_f64() == given.as_f64(),
        _ => asked == given,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::scenario::Pos;

    fn fault(tool: &str, on_call: Option<u64>, args: Option<Value>, kind: FaultKind) -> Fault {
        Fault {
            pos: Pos::default(),
            worker: WorkerId::new("refund").ok(),
            tool: Some(ToolName::new(tool)),
            on_call,
            args,
            kind,
        }
    }

    fn meet(faults: &Faults, worker: &str, tool: &str, args: &Value) -> Option<String> {
        let worker = WorkerId::new(worker).ok();
        faults.meet(worker.as_ref(), &ToolName::new(tool), args).map(|due| due.reason)
    }

    #[test]
    fn a_fault_meets_the_nth_call_that_fits_it_and_no_other() {
        let faults = Faults::new(1, &[fault("get", Some(2), Some(json!({"id": 7})), FaultKind::Drop)]);
        assert_eq!(meet(&faults, "refund", "get", &json!({"id": 7.0, "x": 1})), None);
        for (worker, tool, args) in [
            ("lookup", "get", json!({"id": 7})),
            ("refund", "put", json!({"id": 7})),
            ("refund", "get", json!({"id": 8})),
            ("refund", "get", json!(null)),
        ] {
            assert_eq!(meet(&faults, worker, tool, &args), None);
        }
        assert_eq!(meet(&faults, "refund", "get", &json!({"id": 7})).as_deref(), Some("drop"));
        assert_eq!(meet(&faults, "refund", "get", &json!({"id": 7})), None);
    }

    #[test]
    fn the_first_that_is_due_applies_and_the_others_still_count() {
        let faults = Faults::new(
            1,
            &[
                fault("get", Some(1), None, FaultKind::Drop),
                fault("get", Some(2), None, FaultKind::Disconnect),
            ],
        );
        assert_eq!(meet(&faults, "refund", "get", &json!(null)).as_deref(), Some("drop"));
        assert_eq!(meet(&faults, "refund", "get", &json!(null)).as_deref(), Some("disconnect"));
    }

    proptest! {
        #[test]
        fn a_drawn_latency_lies_in_its_range_and_hangs_on_the_seed_alone(seed: u64, min in 0u64..1000, more in 0u64..1000) {
            let (min, max) = (Duration::from_millis(min), Duration::from_millis(min + more));
            let range = [fault("get", None, None, FaultKind::Latency { min, max })];
            let run = || {
                let faults = Faults::new(seed, &range);
                [1, 2, 3].map(|_| match faults.meet(WorkerId::new("refund").ok().as_ref(), &ToolName::new("get"), &Value::Null) {
                    Some(Due { kind: FaultKind::Latency { min, max }, .. }) => (min, max),
                    other => panic!("no latency: {other:?}"),
                })
            };
            let first = run();
            for (low, high) in first {
                prop_assert!(low == high && low >= min && low <= max);
            }
            prop_assert_eq!(first, run());
        }
    }

    #[test]
    fn two_calls_draw_two_values() {
        let kind = FaultKind::Latency { min: Duration::ZERO, max: Duration::from_secs(9) };
        let faults = Faults::new(3, &[fault("get", None, None, kind)]);
        assert_ne!(meet(&faults, "refund", "get", &json!(1)), meet(&faults, "refund", "get", &json!(1)));
    }
}
