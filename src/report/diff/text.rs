//! A diff on a terminal: what moved, then what was done more or less of, then the counts.

use std::io::{self, Write};

use super::{Change, Diff, Moved, Shift, Side};

/// Writes what changed. What did not is only counted.
pub fn diff(out: &mut dyn Write, diff: &Diff) -> io::Result<()> {
    let mut order: Vec<_> = diff.scenarios.iter().collect();
    order.sort_by_key(|(name, change)| (change.moved, *name));
    for (name, change) in order {
        if change.moved == Moved::Same && change.measures.is_empty() {
            continue;
        }
        writeln!(out, "{:9}  {name}{}", word(change.moved), verdicts(change))?;
        let rate = change.pass_rate.filter(|rate| rate.before != rate.after);
        if let Some(rate) = rate {
            writeln!(out, "    pass rate {}", told(&rate))?;
        }
        for (what, shift) in &change.measures {
            writeln!(out, "    {what} {}", told(shift))?;
        }
    }
    let count = |moved| diff.count(moved);
    writeln!(
        out,
        "{} regressed, {} fixed, {} changed, {} new, {} vanished, {} same",
        count(Moved::Regressed),
        count(Moved::Fixed),
        count(Moved::Changed),
        count(Moved::New),
        count(Moved::Vanished),
        count(Moved::Same),
    )
}

fn word(moved: Moved) -> &'static str {
    match moved {
        Moved::Regressed => "regressed",
        Moved::Fixed => "fixed",
        Moved::Changed => "changed",
        Moved::New => "new",
        Moved::Vanished => "vanished",
        Moved::Same => "same",
    }
}

fn verdicts(change: &Change) -> String {
    let side =
        |side: &Side| format!("{} ({} of {})", side.verdict.word(), side.trials.passed, side.trials.trials());
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if change.moved == Moved::Same && before == after => String::new(),
        (Some(before), Some(after)) => format!("  {} -> {}", side(before), side(after)),
        (Some(one), None) | (None, Some(one)) => format!("  {}", side(one)),
        (None, None) => String::new(),
    }
}

fn told(shift: &Shift) -> String {
    let moved = format!("{:.2} -> {:.2}", shift.before, shift.after);
    match shift.interval {
        None => format!("{moved} (one trial: may be chance)"),
        Some(range) => {
            let sure = if shift.is_sure() { "" } else { ": may be chance" };
            format!("{moved} (by {:+.2} to {:+.2}, 95 %{sure})", range.low, range.high)
        }
    }
}
