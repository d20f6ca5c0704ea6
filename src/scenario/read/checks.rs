//! Sub-goals and their checks. A check that cannot fail is refused here, by every verb: it would be a silent green.

use std::collections::BTreeSet;

use regex::Regex;

use super::reader::Reader;
use super::situation::Scope;
use super::sql;
use crate::scenario::file::At;
use crate::scenario::file::check::{
    BoundsFile, CallFile, ChangeFile, CheckFile, HandOffFile, JudgeFile, OutcomeFile, RefusedFile, ReplyFile,
    SubGoalFile, TimesFile, TurnNumberFile, Written,
};
use crate::scenario::file::scalar::{Form, Table};
use crate::scenario::{
    CallPattern, Check, CheckKind, HandOff, JudgeCheck, OutcomeAsked, Pos, ReplyCheck, ReplyTest, SubGoal,
    Subject, TableChange, Times, WhichTurn,
};
use crate::verdict::Gate;

/// The sub-goals, at least one of which is required of the task.
pub(super) fn sub_goals(
    reader: &mut Reader,
    scope: &Scope<'_>,
    file: At<Vec<At<SubGoalFile>>>,
) -> Vec<SubGoal> {
    let mut ids = BTreeSet::new();
    let mut asks_task = false;
    let mut goals = Vec::new();
    for At { value: goal, pos } in file.value {
        let subject = subject(reader, scope, goal.subject.as_ref());
        let gate = goal.gate.unwrap_or(match &goal.subject {
            Some(At { value, .. }) if value != "task" => Gate::IfSeen,
            _ => Gate::Required,
        });
        asks_task |= subject == Some(Subject::Task) && gate == Gate::Required;
        id(reader, &goal.id, &mut ids);
        let check = one(reader, scope, pos, &goal.checks());
        if let (Some(subject), Some(check)) = (subject, check) {
            goals.push(SubGoal { id: goal.id.value, pos, subject, gate, check });
        }
    }
    if !asks_task {
        reader
            .error(file.pos, "goals.none_required", "no sub-goal is required of the task")
            .help("at least one has `subject: task` and `gate: required`, the defaults".to_owned());
    }
    goals
}

fn id(reader: &mut Reader, id: &At<String>, seen: &mut BTreeSet<String>) {
    if id.value.trim().is_empty() || id.value.len() > 100 || id.value.contains(char::is_control) {
        reader.error(id.pos, "goal.id", "an id is one line of 1 to 100 characters");
    } else if id.value == "answered" || id.value == "stayed_permitted" {
        let what = format!("every scenario has a sub-goal `{}` already", id.value);
        reader.error(id.pos, "goal.reserved", what).help("choose another id".to_owned());
    } else if !seen.insert(id.value.clone()) {
        let what = format!("there is a sub-goal `{}` already", id.value);
        reader.error(id.pos, "goal.repeated", what).help("give each sub-goal an id of its own".to_owned());
    }
}

fn subject(reader: &mut Reader, scope: &Scope<'_>, written: Option<&At<String>>) -> Option<Subject> {
    let Some(At { value, pos }) = written else {
        return Some(Subject::Task);
    };
    if value == "task" {
        return Some(Subject::Task);
    }
    let Some(worker) = value.strip_prefix("worker:") else {
        reader
            .error(*pos, "goal.subject", format!("`{value}` is no subject"))
            .help("write `task` or `worker:ID`".to_owned());
        return None;
    };
    let worker = At { value: worker.to_owned(), pos: *pos };
    scope.worker(reader, &worker).map(Subject::Worker)
}

/// The one check among those written.
fn one(reader: &mut Reader, scope: &Scope<'_>, pos: Pos, written: &[Written<'_>]) -> Option<Check> {
    match written {
        [check] => {
            let kind = kind(reader, scope, *check)?;
            Some(Check { pos: check.pos(), kind })
        }
        [] => {
            reader
                .error(pos, "check.none", "nothing is checked here")
                .help("add one check, such as `calls`, `reply` or `sql`".to_owned());
            None
        }
        _ => {
            reader
                .error(pos, "check.many", "more than one check is written here")
                .help("join them with `all: […]` or `any: […]`".to_owned());
            None
        }
    }
}

fn kind(reader: &mut Reader, scope: &Scope<'_>, written: Written<'_>) -> Option<CheckKind> {
    Some(match written {
        Written::Calls(At { value, .. }) => {
            let (pattern, times) = calls(reader, scope, value);
            CheckKind::Calls(pattern, times)
        }
        Written::Called(At { value, .. }) => {
            no_outcome(reader, value, "spans do not say how a call ended");
            let (pattern, times) = calls(reader, scope, value);
            CheckKind::Called(pattern, times)
        }
        Written::Never(At { value, .. }) => {
            if let Some(times) = &value.times {
                reader
                    .error(times.pos, "check.times", "`never` has no `times`")
                    .help("write `calls` with `times`".to_owned());
            }
            CheckKind::Never(calls(reader, scope, value).0)
        }
        Written::Refused(At { value, .. }) => refused(reader, scope, value),
        Written::Order(At { value, pos }) => {
            if value.len() < 2 {
                cannot_fail(reader, *pos, "an order has at least two tools");
            }
            CheckKind::Order {
                worker: None,
                tools: value.iter().map(|tool| scope.tool(reader, tool)).collect(),
            }
        }
        Written::Within(At { value, .. }) => CheckKind::Within(reader.seconds(&value.seconds)?),
        Written::Delegated(At { value, .. }) => CheckKind::Delegated(hand_off(reader, scope, value)),
        Written::Transferred(At { value, .. }) => CheckKind::Transferred(hand_off(reader, scope, value)),
        Written::Reply(At { value, pos }) => CheckKind::Reply(reply(reader, scope, *pos, value)?),
        Written::Sql(text) => CheckKind::Sql(sql::sql(reader, &scope.parameters(), text)),
        Written::Changed(At { value, pos }) => changed(reader, *pos, value),
        Written::Unchanged(At { value, pos }) => {
            not_empty(reader, *pos, value);
            CheckKind::Unchanged(value.iter().map(|table| table.value.clone()).collect())
        }
        Written::Script(words) => CheckKind::Script {
            command: reader.command("`script`", words),
            folder: std::path::absolute(reader.folder()).unwrap_or_else(|_| reader.folder().into()),
        },
        Written::Judge(At { value, .. }) => CheckKind::Judge(judge(reader, value)),
        Written::All(At { value, pos }) => CheckKind::All(several(reader, scope, *pos, value)),
        Written::Any(At { value, pos }) => CheckKind::Any(several(reader, scope, *pos, value)),
        Written::Not(At { value, pos }) => {
            CheckKind::Not(Box::new(one(reader, scope, *pos, &value.checks())?))
        }
    })
}

fn cannot_fail(reader: &mut Reader, pos: Pos, why: &str) {
    reader.error(pos, "check.cannot_fail", format!("this check cannot fail: {why}"));
}

fn not_empty<T>(reader: &mut Reader, pos: Pos, list: &[T]) {
    if list.is_empty() {
        cannot_fail(reader, pos, "the list is empty");
    }
}

fn several(reader: &mut Reader, scope: &Scope<'_>, pos: Pos, checks: &[At<CheckFile>]) -> Vec<Check> {
    not_empty(reader, pos, checks);
    checks.iter().filter_map(|check| one(reader, scope, check.pos, &check.value.checks())).collect()
}

fn calls(reader: &mut Reader, scope: &Scope<'_>, file: &CallFile) -> (CallPattern, Times) {
    let pattern = CallPattern {
        worker: file.worker.as_ref().and_then(|name| scope.worker(reader, name)),
        tool: file.tool.as_ref().map(|name| scope.tool(reader, name)),
        args: file.args.as_ref().map(|args| scope.args(reader, args)),
        outcome: match file.outcome.as_ref().map(|outcome| outcome.value) {
            None | Some(OutcomeFile::Done) => OutcomeAsked::Done,
            Some(OutcomeFile::Reached) => OutcomeAsked::Reached,
            Some(OutcomeFile::Any) => OutcomeAsked::Any,
        },
    };
    (pattern, times(reader, file.times.as_ref()))
}

fn no_outcome(reader: &mut Reader, file: &CallFile, why: &str) {
    if let Some(outcome) = &file.outcome {
        reader.error(outcome.pos, "check.outcome", format!("`outcome` does not stand here: {why}"));
    }
}

/// At least one where nothing is said.
fn times(reader: &mut Reader, written: Option<&At<TimesFile>>) -> Times {
    let Some(At { value, pos }) = written else {
        return Times::default();
    };
    let times = bounds(reader, *pos, value);
    if times.min == 0 && times.max.is_none() {
        cannot_fail(reader, *pos, "any number of times is right");
    }
    times
}

fn bounds(reader: &mut Reader, pos: Pos, written: &TimesFile) -> Times {
    match *written {
        Form::Short(n) => Times { min: n, max: Some(n) },
        Form::Long(BoundsFile { at_least, at_most }) => {
            let times = Times { min: at_least.unwrap_or(0), max: at_most };
            if times.max.is_some_and(|max| max < times.min) {
                let what =
                    format!("no number is at least {} and at most {}", times.min, times.max.unwrap_or(0));
                reader.error(pos, "check.cannot_pass", what);
            }
            times
        }
    }
}

fn refused(reader: &mut Reader, scope: &Scope<'_>, file: &RefusedFile) -> CheckKind {
    if let Some(code) = &file.code {
        reader.filled("a code", code);
        refusal_code(reader, scope, code);
    }
    CheckKind::Refused {
        worker: file.worker.as_ref().and_then(|name| scope.worker(reader, name)),
        tool: file.tool.as_ref().map(|name| scope.tool(reader, name)),
        code: file.code.as_ref().map(|code| code.value.clone()),
        times: times(reader, file.times.as_ref()),
    }
}

/// Codes of a channel, of peers, and of the world's own `refuse` rules. An upstream may refuse with codes of its own.
fn refusal_code(reader: &mut Reader, scope: &Scope<'_>, code: &At<String>) {
    const OURS: &[&str] = &[
        "not_permitted",
        "deadline_passed",
        "calls_exhausted",
        "unknown_channel",
        "unknown_action",
        "trial_closed",
        "body_too_large",
        "log_unavailable",
        "invalid_arguments",
        "agent.unknown",
        "agent.not_delegable",
        "delegation.depth",
        "delegation.cap",
        "delegation.cycle",
        "delegation.deadline_passed",
        "brief.untrusted_field",
    ];
    let world = &scope.contract.world;
    if !world.upstreams.is_empty() {
        return;
    }
    let rules = world.tools.iter().flat_map(|tool| match &tool.behaviour {
        crate::scenario::Behaviour::Sqlite(tool) => tool.refuse.as_slice(),
        crate::scenario::Behaviour::Upstream { .. } => &[],
    });
    let codes = rules.map(|rule| rule.code.as_str()).chain(OURS.iter().copied());
    reader.known("refusal.unknown", "refusal code", code, codes);
}

fn hand_off(reader: &mut Reader, scope: &Scope<'_>, file: &HandOffFile) -> HandOff {
    if let Some(from) = &file.from {
        scope.worker(reader, from);
    }
    if let Some(to) = &file.to {
        scope.agent(reader, to);
    }
    HandOff {
        from: file.from.as_ref().map(|from| from.value.clone()),
        to: file.to.as_ref().map(|to| to.value.clone()),
        times: times(reader, file.times.as_ref()),
    }
}

fn reply(reader: &mut Reader, scope: &Scope<'_>, pos: Pos, file: &ReplyFile) -> Option<ReplyCheck> {
    let turn = file.turn.as_ref().map_or(Some(WhichTurn::Any), |turn| which_turn(reader, scope, turn));
    let test = match (&file.contains, &file.matches, &file.json) {
        (Some(text), None, None) => {
            scope.text(reader, text.pos, &text.value);
            if text.value.is_empty() {
                cannot_fail(reader, text.pos, "every reply contains nothing");
            }
            ReplyTest::Contains(text.value.clone())
        }
        (None, Some(pattern), None) => {
            scope.text(reader, pattern.pos, &pattern.value);
            regex(reader, pattern);
            ReplyTest::Matches(pattern.value.clone())
        }
        (None, None, Some(At { value: json, .. })) => {
            reader.pointer(json.pointer.pos, &json.pointer.value);
            ReplyTest::Json { pointer: json.pointer.value.clone(), equals: scope.free(reader, &json.equals) }
        }
        _ => {
            reader.error(pos, "reply.test", "a reply check is one of `contains`, `matches` and `json`");
            return None;
        }
    };
    Some(ReplyCheck { turn: turn?, test })
}

fn which_turn(reader: &mut Reader, scope: &Scope<'_>, written: &At<TurnNumberFile>) -> Option<WhichTurn> {
    let text = written.value.0.as_str();
    match (text, text.parse::<u32>()) {
        ("last", _) => Some(WhichTurn::Last),
        ("any", _) => Some(WhichTurn::Any),
        (_, Ok(n)) if n >= 1 && usize::try_from(n).is_ok_and(|n| n <= scope.turns) => Some(WhichTurn::Nth(n)),
        _ => {
            let what = format!("there is no turn `{text}`");
            reader
                .error(written.pos, "reply.turn", what)
                .help(format!("1 to {}, `last` or `any`", scope.turns));
            None
        }
    }
}

/// A pattern is a regular expression once its placeholders are filled; whether it can fail is asked of it then.
fn regex(reader: &mut Reader, pattern: &At<String>) {
    if crate::scenario::fill::placeholders(&pattern.value).next().is_some() {
        return;
    }
    match Regex::new(&pattern.value) {
        Ok(regex) => {
            // What fits all of these, which have nothing in common, fits everything.
            let probes = ["", "a", "\n", "0 Ω", "x\ny\n", " "];
            if probes.iter().all(|probe| regex.is_match(probe)) {
                cannot_fail(reader, pattern.pos, "the pattern fits every reply");
            }
        }
        Err(error) => {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let what = format!("`{}` is no regular expression: {why}", pattern.value);
            reader.error(pattern.pos, "value.regex", what);
        }
    }
}

fn changed(reader: &mut Reader, pos: Pos, tables: &Table<At<ChangeFile>>) -> CheckKind {
    not_empty(reader, pos, &tables.0);
    let nothing = Times { min: 0, max: Some(0) };
    let anything = Times { min: 0, max: None };
    let mut changes = Vec::new();
    for (table, At { value, pos }) in &tables.0 {
        let mut count = |written: &Option<At<TimesFile>>| {
            written.as_ref().map_or(nothing, |at| bounds(reader, at.pos, &at.value))
        };
        let change = TableChange {
            table: table.value.clone(),
            added: count(&value.added),
            removed: count(&value.removed),
            changed: count(&value.changed),
        };
        if [change.added, change.removed, change.changed] == [anything; 3] {
            cannot_fail(reader, *pos, "any number of rows is right");
        }
        changes.push(change);
    }
    CheckKind::Changed(changes)
}

fn judge(reader: &mut Reader, file: &JudgeFile) -> JudgeCheck {
    let texts = [Some(&file.pass_when), Some(&file.fail_when), file.unknown_when.as_ref()];
    for text in texts.into_iter().flatten() {
        reader.filled("what a judge is told", text);
    }
    let votes = file.votes.as_ref().map_or(1, |votes| {
        if !(1..=25).contains(&votes.value) {
            reader.error(votes.pos, "judge.votes", "1 to 25 votes");
        }
        votes.value
    });
    JudgeCheck {
        pass_when: file.pass_when.value.clone(),
        fail_when: file.fail_when.value.clone(),
        unknown_when: file.unknown_when.as_ref().map(|text| text.value.clone()),
        votes,
    }
}
