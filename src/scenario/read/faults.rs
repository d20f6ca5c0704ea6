//! Faults and the steps of the solution: a few kinds each, told apart by which key is written.

use super::reader::Reader;
use super::situation::Scope;
use crate::scenario::file::At;
use crate::scenario::file::scenario::{FaultFile, FaultReplyFile, HandOffStepFile, StepFile};
use crate::scenario::{Fault, FaultKind, Pos, Step, StepKind};

pub(super) fn fault(
    reader: &mut Reader,
    scope: &Scope<'_>,
    At { value: file, pos }: At<FaultFile>,
) -> Option<Fault> {
    let worker = file.worker.as_ref().and_then(|name| scope.worker(reader, name));
    let tool = file.tool.as_ref().map(|name| scope.tool(reader, name));
    let args = file.args.as_ref().map(|args| scope.args(reader, args));
    if let Some(At { value: 0, pos }) = file.on_call {
        reader.error(pos, "fault.on_call", "calls are counted from 1");
    }
    let on_call = file.on_call.as_ref().map(|n| n.value);
    let kind = kind(reader, scope, pos, file)?;
    Some(Fault { pos, worker, tool, on_call, args, kind })
}

fn kind(reader: &mut Reader, scope: &Scope<'_>, pos: Pos, file: FaultFile) -> Option<FaultKind> {
    let mut flag = |key: &str, written: Option<At<bool>>| -> bool {
        if let Some(At { value: false, pos }) = written {
            reader
                .error(pos, "fault.false", format!("`{key}: false` is no fault"))
                .help("leave the fault out".to_owned());
        }
        written.is_some()
    };
    let (drop, disconnect, stale) =
        (flag("drop", file.drop), flag("disconnect", file.disconnect), flag("stale", file.stale));
    let kinds = [
        file.latency.map(|time| {
            let (min, max) = reader.time_range(&time);
            FaultKind::Latency { min, max }
        }),
        file.reply.map(|answer| reply(reader, scope, answer)),
        drop.then_some(FaultKind::Drop),
        file.truncate.map(|bytes| FaultKind::Truncate(bytes.value)),
        disconnect.then_some(FaultKind::Disconnect),
        file.stall.map(|time| FaultKind::Stall(reader.time(&time))),
        stale.then_some(FaultKind::Stale),
    ];
    let mut kinds = kinds.into_iter().flatten();
    let first = kinds.next();
    if first.is_none() || kinds.next().is_some() {
        reader
            .error(pos, "fault.kind", "a fault is exactly one thing that happens")
            .help("one of latency, reply, drop, truncate, disconnect, stall, stale".to_owned());
    }
    first
}

fn reply(reader: &mut Reader, scope: &Scope<'_>, At { value: file, .. }: At<FaultReplyFile>) -> FaultKind {
    if !(200..=599).contains(&file.status.value) {
        let what = format!("{} is no status of an answer", file.status.value);
        reader.error(file.status.pos, "fault.status", what).help("200 to 599".to_owned());
    }
    FaultKind::Reply {
        status: file.status.value,
        headers: reader.headers(file.headers),
        body: file.body.as_ref().map(|body| scope.free(reader, body)),
    }
}

pub(super) fn step(
    reader: &mut Reader,
    scope: &Scope<'_>,
    At { value: file, pos }: At<StepFile>,
) -> Option<Step> {
    let is_call = file.worker.is_some() || file.tool.is_some() || file.args.is_some();
    let kinds = [file.delegate.is_some(), file.transfer.is_some(), file.reply.is_some(), is_call];
    if kinds.iter().filter(|there| **there).count() != 1 {
        reader.error(
            pos,
            "step.kind",
            "a step is one of `delegate`, `transfer`, `reply`, and a call by `worker` of `tool`",
        );
        return None;
    }
    let kind = if let Some(hand_off) = file.delegate {
        let (from, to) = hand_over(reader, scope, hand_off)?;
        StepKind::Delegate { from, to }
    } else if let Some(hand_off) = file.transfer {
        let (from, to) = hand_over(reader, scope, hand_off)?;
        StepKind::Transfer { from, to }
    } else if let Some(text) = file.reply {
        scope.text(reader, text.pos, &text.value);
        StepKind::Reply(text.value)
    } else {
        let (Some(worker), Some(tool)) = (file.worker, file.tool) else {
            reader.error(pos, "step.call", "a call names its `worker` and its `tool`");
            return None;
        };
        let worker = scope.worker(reader, &worker);
        let tool = scope.tool(reader, &tool);
        let args = file.args.as_ref().map(|args| scope.args(reader, args));
        StepKind::Call { worker: worker?, tool, args: args.unwrap_or_else(|| serde_json::json!({})) }
    };
    Some(Step { pos, kind })
}

fn hand_over(
    reader: &mut Reader,
    scope: &Scope<'_>,
    At { value: file, .. }: At<HandOffStepFile>,
) -> Option<(crate::name::WorkerId, String)> {
    let from = scope.worker(reader, &file.from);
    let to = scope.agent(reader, &file.to);
    (from.is_some() && to).then_some(())?;
    Some((from?, file.to.value))
}
