//! Checks on the other closed evidence: replies, the world's tables, and what scripts and judges answered.

use serde_json::Value;

use super::value::{equal, escaped};
use super::weigh::{Court, Held, Side};
use crate::journal::{ChangeRow, ReplyRow};
use crate::scenario::{Pos, ReplyCheck, ReplyTest, Sql, TableChange, WhichTurn, fill, fill_value};
use crate::verdict::{Reason, Verdict};

/// Findings of an app that was ready and then died, let a turn run out, or gave no usable reply.
const APP_TROUBLE: [&str; 3] = ["app_exited", "turn_timed_out", "bad_reply"];

/// Whether a reply's text holds what is asked for.
type Finds = Box<dyn Fn(&str) -> bool>;

impl Court<'_> {
    /// The first finding that says the app was in trouble.
    pub(super) fn app_trouble(&self) -> Option<&'static str> {
        let mut codes = APP_TROUBLE.into_iter();
        codes.find(|code| self.evidence.found(code))
    }

    /// An app in trouble fails what is asked of its replies, from either side: it was to answer, and did not.
    pub(super) fn reply(&self, asked: &ReplyCheck, side: Side) -> Result<Held, String> {
        if let Some(code) = self.app_trouble() {
            return Ok(Held::new(Verdict::Failed, code));
        }
        let test = self.test(&asked.test)?;
        let all = &self.evidence.replies;
        let looked_at: Vec<&ReplyRow> = match asked.turn {
            WhichTurn::Nth(n) => all.iter().filter(|reply| reply.n == n).collect(),
            WhichTurn::Last => all.last().into_iter().collect(),
            WhichTurn::Any => all.iter().collect(),
        };
        let found = looked_at.iter().any(|reply| test(&reply.text));
        let verdict = if !found && looked_at.iter().any(|reply| reply.cut) {
            Verdict::Unknown(Reason::RecordIncomplete)
        } else {
            side.of(Verdict::of(found))
        };
        let seen = match looked_at.as_slice() {
            [] => "no reply".to_owned(),
            [one] => format!("{:?}", excerpt(&one.text)),
            [.., last] => {
                format!("{} replies, the last {:?}", looked_at.len(), excerpt(&last.text))
            }
        };
        Ok(Held::new(verdict, seen))
    }

    fn test(&self, asked: &ReplyTest) -> Result<Finds, String> {
        Ok(match asked {
            ReplyTest::Contains(text) => {
                let text = fill(text, self.case).to_lowercase();
                Box::new(move |reply| reply.to_lowercase().contains(&text))
            }
            ReplyTest::Matches(pattern) => {
                let pattern =
                    regex::Regex::new(&fill(pattern, &escaped(self.case))).map_err(|e| e.to_string())?;
                Box::new(move |reply| pattern.is_match(reply))
            }
            ReplyTest::Json { pointer, equals } => {
                let pointer = fill(pointer, self.case);
                let equals = fill_value(equals, self.case);
                Box::new(move |reply| {
                    let json = serde_json::from_str::<Value>(reply).ok();
                    let at = json.as_ref().and_then(|json| json.pointer(&pointer));
                    at.is_some_and(|at| equal(at, &equals))
                })
            }
        })
    }

    /// The statement's own 0 or 1. Where calls were refused for want of a log, the world is what the harness made of
    /// it, and shows nothing of the app.
    pub(super) fn sql(&self, sql: &Sql) -> Result<Held, String> {
        let holds = self.tables.check(sql, self.case)?;
        let verdict = match self.log_failed() {
            true => Verdict::Unknown(Reason::RecordIncomplete),
            false => Verdict::of(holds),
        };
        Ok(Held::new(verdict, if holds { "1" } else { "0" }))
    }

    pub(super) fn changed(&self, asked: &[TableChange]) -> Held {
        let mut holds = true;
        let mut seen = Vec::new();
        for table in asked {
            let (added, removed, changed) = self.change(&table.table);
            holds &= table.added.holds(added) && table.removed.holds(removed) && table.changed.holds(changed);
            seen.push(told(&table.table, (added, removed, changed)));
        }
        self.of_world(holds, seen)
    }

    pub(super) fn unchanged(&self, tables: &[String]) -> Held {
        let moved: Vec<_> = tables
            .iter()
            .map(|table| (table, self.change(table)))
            .filter(|(_, change)| *change != (0, 0, 0))
            .map(|(table, change)| told(table, change))
            .collect();
        self.of_world(moved.is_empty(), moved)
    }

    fn of_world(&self, holds: bool, seen: Vec<String>) -> Held {
        let verdict = match self.log_failed() {
            true => Verdict::Unknown(Reason::RecordIncomplete),
            false => Verdict::of(holds),
        };
        let seen = if seen.is_empty() { "no change".to_owned() } else { seen.join("; ") };
        Held::new(verdict, seen)
    }

    /// Rows that came, went and changed. The world is closed: no row about a table means it did not change.
    fn change(&self, table: &str) -> (u64, u64, u64) {
        let rows = self.evidence.changes.iter();
        rows.filter(|row| row.table == table).fold((0, 0, 0), |sum, row: &ChangeRow| {
            (sum.0 + row.added, sum.1 + row.removed, sum.2 + row.changed)
        })
    }

    /// What was answered to the check at `pos`. An answer that is none of the three
    /// words is none; asked again, the last answer counts.
    pub(super) fn answer(&self, by: &str, pos: Pos) -> Held {
        let unknown = Verdict::Unknown(match by {
            "judge" => Reason::JudgeFailed,
            _ => Reason::ScriptFailed,
        });
        let place = format!("{}:{}", pos.line, pos.column);
        let mut answers = self.evidence.answers.iter();
        let Some(answer) = answers.rfind(|row| row.check == place && row.by == by) else {
            return Held::new(unknown, format!("the {by} was not asked"));
        };
        let verdict = match answer.verdict.as_deref() {
            Some("passed") => Verdict::Passed,
            Some("failed") => Verdict::Failed,
            _ => unknown,
        };
        let word = answer.verdict.as_deref().unwrap_or("no answer");
        Held::new(verdict, format!("{by}: {word}, {:?}", excerpt(&answer.reason)))
    }
}

fn told(table: &str, (added, removed, changed): (u64, u64, u64)) -> String {
    format!("{table}: {added} added, {removed} removed, {changed} changed")
}

/// The beginning of a text, for one line.
pub(super) fn excerpt(text: &str) -> String {
    const CHARS: usize = 200;
    match text.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
