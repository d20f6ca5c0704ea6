//! What every face does with a call that has begun: the fault it meets, the second look at its deadline, and what the
//! embedded world says. How an answer looks on the wire is the face's own.

use std::time::Duration;

use serde_json::{Value, json};

use super::channel::Site;
use super::faults::Due;
use super::gate::{self, Call};
use super::said::{Answer, Said};
use crate::journal::OutcomeKind;
use crate::name::ToolName;
use crate::permit::{Permit, Refusal};
use crate::scenario::FaultKind;
use crate::world::{AnswerKind, WorldAnswer};

/// What a fault does once the world has answered.
#[derive(Clone, Copy, Debug)]
pub enum Afterwards {
    /// Nothing.
    Pass,
    /// Lets so many bytes of the answer through.
    Truncate(u64),
    /// Closes the connection instead of answering.
    Disconnect,
    /// Answers so much later.
    Stall(Duration),
}

/// Where a call goes from its fault.
#[derive(Debug)]
pub enum Way {
    /// To the world.
    On(Permit, Afterwards),
    /// Nowhere: a fault answers in the world's place. The value is for the row.
    Instead(Said, Value),
    /// Nowhere: the connection is closed.
    Closed,
    /// Nowhere: refused after its attempt row.
    Refused(Refusal),
}

/// Meets the fault that is due.
pub async fn meet(
    site: &Site,
    tool: Option<&ToolName>,
    call: &mut Call,
    permit: Permit,
    due: Option<Due>,
) -> Way {
    let afterwards = match due.map(|due| due.kind) {
        None => Afterwards::Pass,
        Some(FaultKind::Latency { min, .. }) => {
            call.cut = true;
            return match after_a_sleep(site, permit, min).await {
                Ok(permit) => Way::On(permit, Afterwards::Pass),
                Err(refusal) => Way::Refused(refusal),
            };
        }
        Some(FaultKind::Reply { status, headers, body }) => {
            let answer = Answer::json(status, &headers, body.as_ref());
            return Way::Instead(Said::Http(answer), body.unwrap_or(Value::Null));
        }
        Some(FaultKind::Drop) => return Way::Closed,
        // The first call has nothing before it, and goes to the world.
        Some(FaultKind::Stale) => match tool.and_then(|tool| site.stale(tool)) {
            Some(said) => {
                let recorded = said.recorded();
                return Way::Instead(said, recorded);
            }
            None => Afterwards::Pass,
        },
        Some(FaultKind::Truncate(after)) => Afterwards::Truncate(after),
        Some(FaultKind::Disconnect) => Afterwards::Disconnect,
        Some(FaultKind::Stall(time)) => Afterwards::Stall(time),
    };
    call.cut |= !matches!(afterwards, Afterwards::Pass);
    Way::On(permit, afterwards)
}

/// Sleeps for a fault; the deadline and the trial's end are looked at again afterwards.
async fn after_a_sleep(site: &Site, permit: Permit, time: Duration) -> Result<Permit, Refusal> {
    tokio::select! {
        () = tokio::time::sleep(time) => permit.still(site.state.clock.now()),
        () = site.state.closed.cancelled() => Err(gate::closed()),
    }
}

/// Waits for a stall, until the trial ends at most.
pub async fn stall(site: &Site, afterwards: Afterwards) {
    if let Afterwards::Stall(time) = afterwards {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = site.state.closed.cancelled() => {}
        }
    }
}

/// How an answer of the world is written down: kind, code, and result.
#[derive(Debug)]
pub struct Verdict {
    pub kind: OutcomeKind,
    pub code: Option<String>,
    pub result: Value,
}

/// Asks the embedded world. `unreadable` says why there are no arguments to ask it with. None: it failed us.
pub async fn ask_world(
    site: &Site,
    permit: Permit,
    arguments: Value,
    unreadable: Option<&str>,
) -> Result<(Answer, Verdict), &'static str> {
    let Some(world) = site.world.clone() else {
        return Err("world_unavailable");
    };
    let said = match unreadable {
        Some(why) => {
            let code = "invalid_arguments";
            WorldAnswer {
                kind: AnswerKind::Refused { code: code.to_owned() },
                status: 400,
                headers: Default::default(),
                body: Some(json!({ "error": { "code": code, "message": why } })),
            }
        }
        // A statement may take seconds; it does not hold up the calls beside it.
        None => tokio::task::spawn_blocking(move || world.call(permit, &arguments))
            .await
            .map_err(|_| "world_crashed")?,
    };
    let (kind, code) = match said.kind {
        AnswerKind::Done => (OutcomeKind::Done, None),
        AnswerKind::Refused { code } => (OutcomeKind::WorldRefused, Some(code)),
        AnswerKind::Crashed { code, .. } => (OutcomeKind::Crashed, Some(code.to_owned())),
    };
    let answer = Answer::json(said.status, &said.headers, said.body.as_ref());
    Ok((answer, Verdict { kind, code, result: said.body.unwrap_or(Value::Null) }))
}
