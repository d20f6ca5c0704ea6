//! Repeats on a terminal: what each case of several trials came to, and how much that says.

use std::io::{self, Write};

use crate::grade::{Range, Tally};
use crate::record::RunFile;
use crate::scenario::PassRule;

/// Tells of every case that has more than one trial. Nothing where there is none.
pub fn repeats(out: &mut dyn Write, run: &RunFile) -> io::Result<()> {
    let mut told = false;
    for ((name, case), tally) in run.cases() {
        if tally.trials() < 2 {
            continue;
        }
        told = true;
        let pass = run.scenarios.get(name).map(|scenario| scenario.pass).unwrap_or_default();
        let rule = match pass {
            PassRule::All => "all".to_owned(),
            PassRule::AtLeast(k) => format!("at least {k}"),
        };
        let flaky = if tally.is_flaky() { ", flaky" } else { "" };
        writeln!(
            out,
            "{name}/{case}: {} of {} trials passed{}; {rule} must: {}{flaky}",
            tally.passed,
            tally.trials(),
            others(tally),
            tally.judge(pass).word(),
        )?;
        writeln!(
            out,
            "    pass^k {}; pass@k {}; pass rate {} (95 %)",
            draws(tally, Tally::pass_hat),
            draws(tally, Tally::pass_at),
            tally.pass_rate()
        )?;
    }
    if told {
        writeln!(
            out,
            "pass^k: the chance that k of a case's trials, drawn without putting back, all pass; pass@k: that one of them does. \
             Every planned trial is in the denominator; one that is unknown, broken or not run counts as failed at the lower \
             end and as passed at the upper."
        )?;
    }
    Ok(())
}

fn others(tally: Tally) -> String {
    let counts = [
        (tally.failed, "failed"),
        (tally.unknown, "unknown"),
        (tally.error, "error"),
        (tally.not_run, "not run"),
    ];
    counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}")).collect()
}

/// For k of 1, 2, 4 and so on, as far as there are trials.
fn draws(tally: Tally, of: impl Fn(Tally, u64) -> Range) -> String {
    let ks = std::iter::successors(Some(1u64), |k| Some(k * 2)).take_while(|k| *k <= tally.trials());
    ks.map(|k| format!("k={k} {}", of(tally, k))).collect::<Vec<_>>().join(", ")
}
