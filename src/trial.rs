//! The story of one trial, readable top to bottom.
//!
//! A fresh world, fresh channels and fresh tokens; the app is started, talked to, settled and stopped; what was seen
//! is written down, read back, and graded from there, so that a verdict rests on the record and on nothing else.
//! Nothing here decides: `permit` decides on the wire, `grade` on the evidence. What breaks on our side is an `error`
//! of the trial, never the app's `failed`.

mod aftermath;
mod bare;
mod conclusion;
mod kept;
mod opening;
mod services;
mod stage;

pub use bare::{Bare, BareError};
pub use conclusion::{Finished, Phase};
pub use kept::{Ended, Kept, run_kept};
pub use opening::{OpenError, Planned, first_row};
pub use stage::{Stage, StageError};

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::journal::{FindingRow, JournalError, ReplyRow, TrialError, TurnRow};
use crate::model::Session;
use crate::proxy::Channels;
use crate::scenario::{Flush, fill};
use crate::spans::{Intake, Protocol};
use crate::target::{Launch, Running, Said, TurnTrouble};
use crate::world::World;
use aftermath::Aftermath;
use conclusion::Phases;
use opening::{Opening, Secrets};
use services::Services;

/// How long a call in flight may hold up the end, where its worker has no deadline.
const IN_FLIGHT: Duration = Duration::from_secs(5);
/// The batch delay the app's exporter is told; its telemetry is out when it was quiet for two of them.
const BATCH_DELAY: Duration = Duration::from_millis(200);
/// The longest that telemetry is waited for.
const TELEMETRY: Duration = Duration::from_secs(2);

/// Runs one trial to its sealed record. An error here means that there is no record at all; whatever goes wrong once
/// there is one is told in it. When `interrupt` is cancelled the record stays unsealed and says how far it got.
pub async fn run(
    stage: &Stage,
    planned: &Planned,
    interrupt: &CancellationToken,
) -> Result<Finished, OpenError> {
    let opening = Opening::new(stage, planned, Secrets::new(stage)?)?;
    let mut phases = Phases::new(stage.clock);
    let trial = Trial { stage, planned, opening: &opening };
    let conducted = unless(interrupt, trial.conduct(&mut phases)).await;
    Ok(conclusion::conclude(stage, planned, opening, phases, conducted).await)
}

/// What comes of `work`, if it is not interrupted before.
async fn unless<T>(
    interrupt: &CancellationToken,
    work: impl Future<Output = Result<T, TrialError>>,
) -> Result<T, TrialError> {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => Err(TrialError {
            code: "interrupted".to_owned(),
            message: "the run was interrupted".to_owned(),
            line: None,
        }),
        done = work => done,
    }
}

struct Trial<'a> {
    stage: &'a Stage,
    planned: &'a Planned,
    opening: &'a Opening,
}

/// How the app was left when the turns were over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum App {
    /// It answered them all.
    Talking,
    /// It owes an answer, and may still be at work on it.
    Owing,
    /// It is not there any more.
    Gone,
}

/// What stands around the app.
struct Stand {
    world: Arc<World>,
    services: Services,
    channels: Channels,
    models: Option<Session>,
    intake: Intake,
}

impl Trial<'_> {
    /// From the fresh world to what is left when the app is gone. An error is trouble of ours or of the machine.
    async fn conduct(&self, phases: &mut Phases) -> Result<(), TrialError> {
        let stand = self.open().await?;
        let mut app = self.start(&stand).await?;
        phases.end("start");

        let left = self.talk(&stand.channels, &mut app).await?;
        phases.end("turns");

        let settled = self.settle(&stand, left).await;
        phases.end("settle");

        self.end(app, stand, settled, phases).await
    }

    async fn open(&self) -> Result<Stand, TrialError> {
        let world = self.opening.world(self.stage, self.planned)?;
        let (services, started) = self.opening.services(self.stage, self.planned).await?;
        let channels = self.opening.channels(self.stage, self.planned, world.clone(), started)?;
        let models = self.opening.models(self.stage, self.planned);
        Ok(Stand { world, services, channels, models, intake: self.opening.intake(self.stage) })
    }

    async fn start(&self, stand: &Stand) -> Result<Running, TrialError> {
        let app = &self.stage.contract.app;
        let mut env = stand.channels.env().to_vec();
        env.extend(stand.models.iter().flat_map(Session::env).cloned());
        env.extend(stand.intake.env(app.advertise.as_deref(), Protocol::default()));
        let launch = Launch {
            app,
            limits: &self.stage.contract.limits,
            trial: &self.planned.id,
            scenario_env: &self.planned.env(),
            harness_env: &env,
            clock: self.stage.clock,
            filter: &self.opening.filters(),
        };
        launch.start().await.map_err(|error| {
            if let Some(stopped) = &error.stopped {
                aftermath::outputs(&self.opening.journal, &stopped.output);
            }
            TrialError { code: error.code().to_owned(), message: error.why.to_string(), line: None }
        })
    }

    /// Stops the app, waits until nothing of it is left, and writes down what was seen.
    async fn end(
        &self,
        app: Running,
        stand: Stand,
        settled: bool,
        phases: &mut Phases,
    ) -> Result<(), TrialError> {
        stand.channels.close();
        stand.models.iter().for_each(Session::close);
        let stopped = app.stop().await;
        let quiet = stand.intake.quiet(Duration::ZERO, TELEMETRY).await;
        phases.end("stop");

        stand.channels.seal().await;
        let served = stand.services.give_back(&self.stage.pool, &self.opening.journal).await;
        Aftermath {
            stage: self.stage,
            journal: &self.opening.journal,
            world: &stand.world,
            received: stand.intake.close(),
            stopped: Some(stopped),
            quiet: settled && quiet,
        }
        .write()?;
        served
    }

    /// Puts each turn to the app, in order; the first that gets no reply is the last.
    async fn talk(&self, channels: &Channels, app: &mut Running) -> Result<App, TrialError> {
        let (clock, journal) = (self.stage.clock, &self.opening.journal);
        let until = clock.now().plus(self.stage.contract.limits.trial);
        let mut history = Vec::new();
        for (turn, n) in self.planned.scenario.turns.iter().zip(1..) {
            let text = fill(&turn.user, self.planned.values());
            let said = TurnRow { n, text: text.clone(), expects_reply: turn.expects_reply };
            journal.append(&said).map_err(not_written)?;
            channels.turn_started(clock.now());
            let reply = match app.turn(n, &text, &history, until).await {
                Ok(reply) => reply,
                Err(trouble) => {
                    journal.append(&trouble_met(n, &trouble)).map_err(not_written)?;
                    return Ok(match trouble {
                        TurnTrouble::Exited(_) => App::Gone,
                        _ => App::Owing,
                    });
                }
            };
            let answered = ReplyRow { n, text: reply.text.clone(), cut: false };
            journal.append(&answered).map_err(not_written)?;
            history.extend([Said::User(text), Said::App(reply.text)]);
        }
        Ok(App::Talking)
    }

    /// Waits until no call is in flight and the app's telemetry is out. Exporters lose what they have not sent when
    /// they are stopped, so the app is settled first. False: the telemetry never fell quiet.
    async fn settle(&self, stand: &Stand, app: App) -> bool {
        stand.channels.settled(IN_FLIGHT).await;
        match (self.stage.contract.app.flush, app) {
            (Flush::None, _) | (Flush::OnReply, _) | (_, App::Gone) => true,
            (Flush::Batch, _) => stand.intake.quiet(2 * BATCH_DELAY, TELEMETRY).await,
        }
    }
}

fn not_written(error: JournalError) -> TrialError {
    TrialError { code: "log_unavailable".to_owned(), message: error.to_string(), line: None }
}

fn trouble_met(n: u32, trouble: &TurnTrouble) -> FindingRow {
    let code = match trouble {
        TurnTrouble::Exited(_) => "app_exited",
        TurnTrouble::TimedOut(_) => "turn_timed_out",
        TurnTrouble::BadReply { .. } => "bad_reply",
    };
    FindingRow { code: code.to_owned(), worker: None, detail: format!("turn {n}: {trouble}") }
}
