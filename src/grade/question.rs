//! What a check asks, in words, for people who read a verdict.

use crate::scenario::{CallPattern, Check, CheckKind, HandOff, OutcomeAsked, ReplyTest, Times, WhichTurn};

/// One line.
pub(super) fn asked(check: &Check) -> String {
    match &check.kind {
        CheckKind::Calls(pattern, times) => format!("{}, {}", calls(pattern, true), often(*times)),
        CheckKind::Never(pattern) => format!("{}, never", calls(pattern, true)),
        CheckKind::Refused { worker, tool, code, times } => {
            let tool = tool.as_ref().map_or("calls".to_owned(), |tool| format!("calls of {tool}"));
            let by = worker.as_ref().map_or(String::new(), |worker| format!(" by {worker}"));
            let code = code.as_ref().map_or(String::new(), |code| format!(" with {code}"));
            format!("{tool}{by} refused{code}, {}", often(*times))
        }
        CheckKind::Order { worker, tools } => {
            let tools: Vec<_> = tools.iter().map(|tool| tool.as_str()).collect();
            let by = worker.as_ref().map_or(String::new(), |worker| format!(" by {worker}"));
            format!("done calls{by} in the order {}", tools.join(", "))
        }
        CheckKind::Within(limit) => format!("the last done call within {limit:?}"),
        CheckKind::Delegated(asked) => hand_off("delegated", asked),
        CheckKind::Transferred(asked) => hand_off("transferred", asked),
        CheckKind::Called(pattern, times) => {
            format!("{} in spans, {}", calls(pattern, false), often(*times))
        }
        CheckKind::Reply(reply) => {
            let which = match reply.turn {
                WhichTurn::Nth(n) => format!("the reply to turn {n}"),
                WhichTurn::Last => "the last reply".to_owned(),
                WhichTurn::Any => "a reply".to_owned(),
            };
            match &reply.test {
                ReplyTest::Contains(text) => format!("{which} contains {text:?}"),
                ReplyTest::Matches(pattern) => format!("{which} matches {pattern:?}"),
                ReplyTest::Json { pointer, equals } => {
                    format!("{which} is JSON with {equals} at {pointer:?}")
                }
            }
        }
        CheckKind::Sql(sql) => sql.text.split_whitespace().collect::<Vec<_>>().join(" "),
        CheckKind::Changed(changes) => {
            let tables: Vec<_> = changes
                .iter()
                .map(|table| {
                    let parts =
                        [("added", table.added), ("removed", table.removed), ("changed", table.changed)];
                    let parts = parts.map(|(what, times)| format!("{what} {}", often(times)));
                    format!("{}: {}", table.table, parts.join(", "))
                })
                .collect();
            tables.join("; ")
        }
        CheckKind::Unchanged(tables) => format!("no change of {}", tables.join(", ")),
        CheckKind::Script { command, .. } => format!("script {:?}", command.join(" ")),
        CheckKind::Judge(judge) => format!("a judge: {:?}", judge.pass_when),
        CheckKind::All(checks) => format!("all of ({})", list(checks)),
        CheckKind::Any(checks) => format!("any of ({})", list(checks)),
        CheckKind::Not(inner) => format!("not ({})", asked(inner)),
    }
}

fn list(checks: &[Check]) -> String {
    checks.iter().map(asked).collect::<Vec<_>>().join("; ")
}

fn calls(pattern: &CallPattern, in_log: bool) -> String {
    let mut text = match &pattern.tool {
        Some(tool) => format!("calls of {tool}"),
        None => "calls".to_owned(),
    };
    if let Some(worker) = &pattern.worker {
        text.push_str(&format!(" by {worker}"));
    }
    if let Some(args) = &pattern.args {
        text.push_str(&format!(" with {args}"));
    }
    text.push_str(match pattern.outcome {
        _ if !in_log => "",
        OutcomeAsked::Done => " done",
        OutcomeAsked::Reached => " that reached the world",
        OutcomeAsked::Any => " attempted",
    });
    text
}

fn hand_off(kind: &str, asked: &HandOff) -> String {
    let from = asked.from.as_deref().unwrap_or("anyone");
    let to = asked.to.as_deref().unwrap_or("anyone");
    format!("{from} {kind} to {to}, {}", often(asked.times))
}

fn often(times: Times) -> String {
    match (times.min, times.max) {
        (min, None) => format!("at least {min}"),
        (min, Some(max)) if min == max => format!("exactly {min}"),
        (0, Some(max)) => format!("at most {max}"),
        (min, Some(max)) => format!("{min} to {max}"),
    }
}
