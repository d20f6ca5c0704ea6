//! The side of the run: orders go out, records come back.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::message::{Common, Order, Report, Try};
use super::{AGAIN_AFTER, Queue, QueueError, REPORT_SUBJECT, REPORTS, TASK_SUBJECT, bucket, complain};
use crate::record::{Anchor, Options, TrialState, verify};
use crate::scheduler::over::over;
use crate::scheduler::plan::Task;
use crate::scheduler::pool::Done;
use crate::scheduler::tries::{broken, retry};
use crate::trial::{Finished, Planned, Stage};

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Report>>>>;

/// No record is larger, whatever a store says.
const RECORD: u64 = 1 << 30;

/// Runs trials elsewhere.
pub struct Remote {
    queue: Queue,
    common: Common,
    waiting: Waiting,
    reports: AbortOnDropHandle<()>,
}

impl Remote {
    /// For the run `run`, whose workers find the same files under `paths`: `digest` says which they are.
    pub async fn open(
        queue: Queue,
        run: String,
        digest: String,
        paths: Vec<PathBuf>,
        run_seed: u64,
    ) -> Result<Self, QueueError> {
        queue.bucket(&run).await?;
        let waiting = Waiting::default();
        let reports =
            AbortOnDropHandle::new(tokio::spawn(hear(queue.clone(), run.clone(), Arc::clone(&waiting))));
        let common = Common { run, digest, paths, run_seed };
        Ok(Self { queue, common, waiting, reports })
    }

    /// One trial, and once more where the worker found infrastructure to blame.
    pub(in crate::scheduler) async fn one(
        &self,
        stage: &Stage,
        place: usize,
        Task { suite, planned, first }: Task,
        interrupt: &CancellationToken,
    ) -> Done {
        let (tell, told) = oneshot::channel();
        self.waiting().insert(planned.id.to_string(), tell);
        let order = Order::new(&self.common, suite, &planned);
        let id = format!("{}/{}", order.run, order.id);
        let asked = async {
            self.queue.publish(TASK_SUBJECT.to_owned(), &id, &order).await;
            told.await.ok()
        };
        let report = tokio::select! {
            biased;
            () = interrupt.cancelled() => None,
            report = asked => report,
        };
        let Some(report) = report else {
            let told = "the run was interrupted while a worker had this trial".to_owned();
            let finished = broken(stage, &planned, "interrupted", told);
            return Done { place, suite, planned, finished: Some(finished), first };
        };
        let mut tries = Vec::new();
        for one in &report.tries {
            let planned = match one.id == planned.id.as_str() {
                true => planned.clone(),
                false => retry(planned.clone()),
            };
            let finished = self.fetch(stage, &planned, one).await;
            tries.push((planned, finished));
        }
        let Some((counts, finished)) = tries.pop() else {
            let finished = broken(stage, &planned, "no_record", "the worker reported no try".to_owned());
            return Done { place, suite, planned, finished: Some(finished), first };
        };
        let first = first.or(tries.pop().map(|(_, finished)| finished));
        Done { place, suite, planned: counts, finished: Some(finished), first }
    }

    /// Brings a record here and verifies it: what does not hold, or is another's, is no record.
    async fn fetch(&self, stage: &Stage, planned: &Planned, one: &Try) -> Finished {
        let TrialState::Sealed { seal, .. } = &one.trial.state else {
            let (code, why) =
                one.error.clone().unwrap_or(("no_record".to_owned(), "the worker gave no reason".to_owned()));
            return broken(stage, planned, &code, why);
        };
        let bad =
            |why: String| broken(stage, planned, "no_record", format!("its record from the queue: {why}"));
        let path = planned.path(&stage.out);
        if let Err(why) = self.download(planned.id.as_str(), &path).await {
            return bad(why);
        }
        let anchor = Anchor { seal: seal.clone() };
        let file = match fs::File::open(&path) {
            Ok(file) => io::BufReader::with_capacity(1 << 18, file),
            Err(error) => return bad(error.to_string()),
        };
        let vouched = match verify(file, Options { key: None, anchor: Some(&anchor) }) {
            Ok(vouched) => vouched,
            Err(error) => return bad(error.to_string()),
        };
        match over(&path, &vouched) {
            Ok((row, _)) if row.id() != planned.id => bad(format!("it is the record of {}", row.id())),
            Ok((_, mut finished)) => {
                finished.took = std::time::Duration::from_micros(one.trial.micros.unwrap_or(0));
                finished.began = stage.now();
                finished
            }
            Err(error) => bad(error.to_string()),
        }
    }

    /// Under its own name only when it is whole.
    async fn download(&self, id: &str, path: &Path) -> Result<(), String> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut tries = 0;
        let bytes = loop {
            let got = async {
                let store = self.queue.bucket(&self.common.run).await.map_err(|error| error.to_string())?;
                let object = store.get(id).await.map_err(|error| error.to_string())?;
                let mut bytes = Vec::new();
                object.take(RECORD).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
                Ok::<_, String>(bytes)
            };
            match got.await {
                Ok(bytes) => break bytes,
                Err(error) if tries > 20 => return Err(error),
                Err(_) => {
                    tries += 1;
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            }
        };
        let written = || -> io::Result<()> {
            let mut file = tempfile::Builder::new().prefix(".from-").suffix(".tmp").tempfile_in(folder)?;
            io::Write::write_all(&mut file, &bytes)?;
            file.as_file().sync_data()?;
            file.persist(path)?;
            Ok(())
        };
        written().map_err(|error| error.to_string())
    }

    /// The run is over: what the queue still keeps of it may go. Best effort, since it goes by itself in time.
    pub async fn close(&self) {
        self.reports.abort();
        let _ = self.queue.jetstream.delete_object_store(bucket(&self.common.run)).await;
        if let Ok(stream) = self.queue.jetstream.get_stream(REPORTS).await {
            let _ = stream.delete_consumer(&consumer(&self.common.run)).await;
            let _ = stream.purge().filter(subject(&self.common.run)).await;
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Report>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn subject(run: &str) -> String {
    format!("{REPORT_SUBJECT}.{}", consumer(run))
}

fn consumer(run: &str) -> String {
    bucket(run)
}

/// Hands each report to whoever waits for it; one that comes twice finds nobody.
async fn hear(queue: Queue, run: String, waiting: Waiting) {
    loop {
        if let Err(error) = listen(&queue, &run, &waiting).await {
            complain(&format!("{error}; trying again"));
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

async fn listen(queue: &Queue, run: &str, waiting: &Waiting) -> Result<(), QueueError> {
    let failed = |why: String| queue.failed(why);
    let stream = queue.jetstream.get_stream(REPORTS).await.map_err(|error| failed(error.to_string()))?;
    let name = consumer(run);
    let config = pull::Config {
        durable_name: Some(name.clone()),
        filter_subject: subject(run),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ..pull::Config::default()
    };
    let consumer = stream.get_or_create_consumer(&name, config);
    let consumer = consumer.await.map_err(|error| failed(error.to_string()))?;
    let mut messages = consumer.messages().await.map_err(|error| failed(error.to_string()))?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| failed(error.to_string()))?;
        if let Ok(report) = serde_json::from_slice::<Report>(&message.payload) {
            let waits = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&report.ordered);
            if let Some(waits) = waits {
                let _ = waits.send(report);
            }
        }
        let _ = message.ack().await;
    }
    Ok(())
}
