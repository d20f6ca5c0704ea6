//! The side of a worker: tasks are taken, run like any trial, and acknowledged when their records are stored.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::asking::subject;
use super::message::{Order, Report, Try};
use super::{ACK_WAIT, AGAIN_AFTER, Queue, QueueError, TASKS, WORKERS, complain};
use crate::scenario::Suite;
use crate::scheduler::ledger::{Ledger, entry};
use crate::scheduler::pool::Done;
use crate::scheduler::tries::one;
use crate::trial::{Finished, Planned, Stage};

/// What a worker runs one run's trials with.
pub struct Bench {
    /// Digest of its files.
    pub digest: String,
    /// Its suites, in the order of the run's.
    pub suites: Vec<Suite>,
    /// One per suite.
    pub stages: Vec<Arc<Stage>>,
    /// Of what runs here.
    pub ledger: Ledger,
    /// Where its records go first.
    pub out: PathBuf,
}

/// Makes the bench of a run from its first order.
pub trait Benches: Send + Sync + 'static {
    /// An error is told, and the order left to another worker.
    fn bench(&self, order: &Order) -> impl Future<Output = Result<Bench, String>> + Send;
}

/// Takes tasks until `wind_down`, `jobs` at a time; those in flight are finished unless `interrupt` ends them, and then
/// go to another worker.
pub async fn serve<B: Benches>(
    queue: Queue,
    benches: B,
    jobs: usize,
    wind_down: &CancellationToken,
    interrupt: &CancellationToken,
) -> Result<(), QueueError> {
    let worker = Arc::new(Worker { queue, benches, known: Mutex::default(), interrupt: interrupt.clone() });
    let mut flying = JoinSet::new();
    while !wind_down.is_cancelled() {
        let taken = tokio::select! {
            biased;
            () = wind_down.cancelled() => break,
            taken = worker.take(jobs, &mut flying) => taken,
        };
        if let Err(error) = taken {
            complain(&format!("{error}; trying again"));
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
    while flying.join_next().await.is_some() {}
    for bench in worker.known.lock().await.values() {
        for stage in &bench.stages {
            stage.end_services().await;
        }
    }
    Ok(())
}

struct Worker<B> {
    queue: Queue,
    benches: B,
    known: Mutex<HashMap<String, Arc<Bench>>>,
    interrupt: CancellationToken,
}

impl<B: Benches> Worker<B> {
    /// Takes tasks as long as the server gives any.
    async fn take(self: &Arc<Self>, jobs: usize, flying: &mut JoinSet<()>) -> Result<(), QueueError> {
        let failed = |why: String| self.queue.failed(why);
        let stream =
            self.queue.jetstream.get_stream(TASKS).await.map_err(|error| failed(error.to_string()))?;
        let config = pull::Config {
            durable_name: Some(WORKERS.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            ..pull::Config::default()
        };
        let consumer = stream.get_or_create_consumer(WORKERS, config);
        let consumer = consumer.await.map_err(|error| failed(error.to_string()))?;
        // One at a time: what a worker holds and does not run, no other can.
        let messages = consumer.stream().max_messages_per_batch(1).messages();
        let mut messages = messages.await.map_err(|error| failed(error.to_string()))?;
        loop {
            while flying.len() >= jobs {
                flying.join_next().await;
            }
            let Some(message) = messages.next().await else { return Ok(()) };
            let message = message.map_err(|error| failed(error.to_string()))?;
            let worker = Arc::clone(self);
            flying.spawn(async move { worker.handle(message).await });
        }
    }

    async fn handle(&self, message: Message) {
        let alive = async {
            loop {
                tokio::time::sleep(ACK_WAIT / 3).await;
                let _ = message.ack_with(AckKind::Progress).await;
            }
        };
        let worked = tokio::select! {
            worked = self.work(&message.payload) => worked,
            () = alive => return,
        };
        let _ = match worked {
            // Until the server has it: an acknowledgement that is lost only has the trial come again, and be known.
            Ok(()) => message.double_ack().await,
            Err(why) => {
                complain(&format!("a task is left to another worker: {why}"));
                message.ack_with(AckKind::Nak(Some(ACK_WAIT / 3))).await
            }
        };
    }

    async fn work(&self, payload: &[u8]) -> Result<(), String> {
        let order: Order = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let reported = format!("{}.report", order.id);
        let store = self.queue.bucket(&order.run).await.map_err(|error| error.to_string())?;
        if let Ok(mut known) = store.get(&reported).await {
            // It was run, and its worker died before it could say so.
            let mut bytes = Vec::new();
            let read = tokio::io::AsyncReadExt::read_to_end(&mut known, &mut bytes).await;
            if let (Ok(_), Ok(report)) = (read, serde_json::from_slice::<Report>(&bytes)) {
                self.report(&order, &report).await;
                return Ok(());
            }
        }
        let bench = self.bench(&order).await?;
        let task =
            order.task(&bench.suites).ok_or_else(|| format!("there is no {} in the files here", order.id))?;
        let stage = &bench.stages[task.suite];
        let done = one(stage, 0, task, &bench.ledger, &self.interrupt).await;
        if self.interrupt.is_cancelled() {
            return Err("interrupted".to_owned());
        }
        let report = report(&order, stage, &done);
        for (planned, finished) in tries(&done) {
            if finished.sealed.is_some() {
                let mut file =
                    tokio::fs::File::open(&finished.path).await.map_err(|error| error.to_string())?;
                store.put(planned.as_str(), &mut file).await.map_err(|error| error.to_string())?;
            }
        }
        let bytes = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
        store.put(reported.as_str(), &mut bytes.as_slice()).await.map_err(|error| error.to_string())?;
        self.report(&order, &report).await;
        Ok(())
    }

    async fn report(&self, order: &Order, report: &Report) {
        let id = format!("{}/{}", order.run, order.id);
        self.queue.publish(subject(&order.run), &id, report).await;
    }

    async fn bench(&self, order: &Order) -> Result<Arc<Bench>, String> {
        let mut known = self.known.lock().await;
        if let Some(bench) = known.get(&order.run) {
            return Ok(Arc::clone(bench));
        }
        let bench = self.benches.bench(order).await?;
        if bench.digest != order.digest {
            return Err(format!(
                "the files under {:?} are not those that run {} was planned from",
                order.paths, order.run
            ));
        }
        let bench = Arc::new(bench);
        known.insert(order.run.clone(), Arc::clone(&bench));
        Ok(bench)
    }
}

/// Each try with its id, the one that counts last.
fn tries(done: &Done) -> Vec<(String, &Finished)> {
    let first =
        done.first.iter().zip(done.planned.retry_of.iter()).map(|(first, id)| (id.to_string(), first));
    first.chain(done.finished.iter().map(|finished| (done.planned.id.to_string(), finished))).collect()
}

fn report(order: &Order, stage: &Stage, done: &Done) -> Report {
    let told = |(id, finished): (String, &Finished)| {
        let counts = id == done.planned.id.as_str();
        let retry_of = done.planned.retry_of.clone().filter(|_| counts);
        let planned = Planned { retry_of, ..done.planned.clone() };
        let error = finished.end.error.as_ref().map(|error| (error.code.clone(), error.message.clone()));
        Try { id, trial: entry(&planned, Some(finished), stage.clock()), error }
    };
    Report { ordered: order.id.clone(), tries: tries(done).into_iter().map(told).collect() }
}
