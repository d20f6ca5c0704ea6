//! An app that is kept for many trials, one at a time (`per: slot`).
//!
//! Its addresses and tokens stay; what is behind them is another trial's from one moment to the next. A trial that is
//! over keeps its channels, closed, until the next one takes them over, and is concluded only then: a call or span that
//! comes in between belongs to neither, and keeps both from resting anything on an absence. What an app still does for
//! one trial when the next has begun cannot be told from what it does for that one; who needs to know starts the app
//! for each trial, which is the default.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::aftermath::{Aftermath, endings, found, outputs};
use super::conclusion::{Phases, conclude};
use super::opening::{OpenError, Opening, Planned, Secrets};
use super::stage::Stage;
use super::{App, Finished, Stand, Trial, not_written, unless};
use crate::journal::TrialError;
use crate::proxy::Channels;
use crate::spans::Intake;
use crate::target::Running;

/// An app between two trials.
pub struct Kept {
    app: Running,
    /// Of the scenario that it was started for: another environment needs another start.
    env: BTreeMap<String, String>,
    secrets: Secrets,
    before: Before,
}

/// A trial that is over and not concluded.
struct Before {
    planned: Planned,
    opening: Opening,
    phases: Phases,
    channels: Channels,
    /// What comes to the receiver in between.
    gap: Intake,
}

/// A trial that is over.
pub struct Ended {
    /// Which.
    pub planned: Planned,
    /// What it came to; an error where there is no record of it at all.
    pub finished: Result<Finished, OpenError>,
}

impl Kept {
    /// Whether a trial with this environment can be run in it.
    pub fn suits(&self, planned: &Planned) -> bool {
        self.env == planned.env()
    }

    /// Stops the app and concludes its last trial.
    pub async fn release(self, stage: &Stage) -> Ended {
        let Self { app, mut before, .. } = self;
        before.phases.resume();
        let stopped = app.stop().await;
        before.phases.end("stop");
        let journal = &before.opening.journal;
        outputs(journal, &stopped.output);
        let written = endings(journal, &stopped).map_err(not_written);
        before.conclude(stage, written).await.0
    }
}

impl Before {
    /// Gives up its channels and concludes it. Answers too how much came after it was over.
    async fn conclude(mut self, stage: &Stage, written: Result<(), TrialError>) -> (Ended, u64) {
        self.phases.resume();
        self.channels.seal().await;
        let gap = self.gap.close();
        let between = self.channels.late() + gap.spans.len() as u64 + gap.dropped;
        if between > 0 {
            // A row that cannot be written shows in the journal's own trouble, and the seal then fails.
            let _ = found(
                &self.opening.journal,
                BETWEEN,
                format!("{between} calls or spans came after it was over"),
            );
        }
        let finished = conclude(stage, &self.planned, self.opening, self.phases, written).await;
        (Ended { planned: self.planned, finished: Ok(finished) }, between)
    }
}

/// The finding of both trials that something came between.
const BETWEEN: &str = "between_trials";

/// Runs one trial in a kept app, or in a fresh one that is then kept. Answers the trials that are concluded with it (the
/// one before; this one too, where the app cannot be kept), and the app where it can.
pub async fn run_kept(
    stage: &Stage,
    kept: Option<Kept>,
    planned: Planned,
    interrupt: &CancellationToken,
) -> (Vec<Ended>, Option<Kept>) {
    let mut ended = Vec::new();
    let kept = match kept {
        Some(other) if !other.suits(&planned) => {
            ended.push(other.release(stage).await);
            None
        }
        kept => kept,
    };
    let (app, secrets, before) = match kept {
        Some(Kept { app, secrets, before, .. }) => (Some(app), Ok(secrets), Some(before)),
        None => (None, Secrets::new(stage), None),
    };
    let opened = secrets.and_then(|secrets| Ok((Opening::new(stage, &planned, secrets.clone())?, secrets)));
    let (opening, secrets) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            if let Some(before) = before {
                ended.push(before.conclude(stage, Ok(())).await.0);
            }
            ended.push(Ended { planned, finished: Err(error) });
            return (ended, None);
        }
    };
    let mut phases = Phases::new(stage.clock);
    let trial = Trial { stage, planned: &planned, opening: &opening };
    // From here on the addresses are this trial's.
    let stand = trial.open().await;
    if let Some(before) = before {
        let (over, between) = before.conclude(stage, Ok(())).await;
        ended.push(over);
        if between > 0 {
            let told = format!(
                "{between} calls or spans came before it began, of an app that had another trial before"
            );
            let _ = found(&opening.journal, BETWEEN, told);
        }
    }
    let conducted = match stand {
        Ok(stand) => unless(interrupt, trial.conduct_kept(app, stand, &mut phases)).await,
        Err(error) => Err(error),
    };
    let written = match conducted {
        Ok(Some((app, channels, gap))) => {
            let env = planned.env();
            let before = Before { planned, opening, phases, channels, gap };
            return (ended, Some(Kept { app, env, secrets, before }));
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    let finished = conclude(stage, &planned, opening, phases, written).await;
    ended.push(Ended { planned, finished: Ok(finished) });
    (ended, None)
}

impl Trial<'_> {
    /// As [`Trial::conduct`], and the app is kept where it did what it should: an app that did not is stopped.
    async fn conduct_kept(
        &self,
        app: Option<Running>,
        stand: Stand,
        phases: &mut Phases,
    ) -> Result<Option<(Running, Channels, Intake)>, TrialError> {
        let mut app = match app {
            Some(app) => app,
            None => self.start(&stand).await?,
        };
        app.serves(&self.planned.id);
        phases.end("start");
        let left = self.talk(&stand.channels, &mut app).await?;
        phases.end("turns");
        let settled = self.settle(&stand, left).await;
        phases.end("settle");
        if left != App::Talking || !settled {
            self.end(app, stand, settled, phases).await?;
            return Ok(None);
        }
        stand.channels.close();
        let gap = self.opening.intake(self.stage);
        let journal = &self.opening.journal;
        outputs(journal, &app.take_output());
        let served = stand.services.give_back(&self.stage.pool, journal).await;
        Aftermath {
            stage: self.stage,
            journal,
            world: &stand.world,
            received: stand.intake.close(),
            stopped: None,
            quiet: settled,
        }
        .write()?;
        served?;
        Ok(Some((app, stand.channels, gap)))
    }
}
