//! One run worked off by many machines: trials go out over a NATS JetStream work queue, sealed records come back through
//! its object store.
//!
//! ```text
//! run --queue ─ Remote ─▶ stream mocktrial-tasks ─▶ Worker (any number) ─▶ bucket mocktrial-RUN (records)
//!                 ▲                                    │ ack after the record is stored
//!                 └──────── stream mocktrial-reports ◀─┘
//! ```
//!
//! A task is acknowledged after its record is stored and reported, so a worker that dies has its task given to another.
//! Whatever comes twice is known by the trial's id. The run that asked verifies every record before it counts, and goes
//! on as if it had run the trial itself: bindings, repeats, reports and the run file do not know the difference. A queue
//! carries records, which hold no secret; who may write to it is the server's to say.

mod asking;
mod message;
mod serving;

use std::time::Duration;

use async_nats::jetstream::{self, object_store, stream};

pub use asking::Remote;
pub use message::{Order, Report};
pub use serving::{Bench, Benches, serve};

/// The stream of trials that wait for a worker, and its subject.
const TASKS: &str = "mocktrial-tasks";
const TASK_SUBJECT: &str = "mocktrial.tasks";
/// The stream of trials that are over; a run's reports have its id at the end of the subject.
const REPORTS: &str = "mocktrial-reports";
const REPORT_SUBJECT: &str = "mocktrial.reports";
/// The consumer that all workers share.
const WORKERS: &str = "workers";
/// How long a task stays with a worker that says nothing; one that lives says so three times as often.
const ACK_WAIT: Duration = Duration::from_secs(15);
/// How long the server knows a message again that is sent twice.
const KNOWN_AGAIN: Duration = Duration::from_secs(3600);
/// How long reports and records wait for the run that asked for them.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// After something could not be done: the server may be down for a moment.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Why the queue cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the queue at {server}: {why}")]
pub struct QueueError {
    /// Without user and password.
    pub server: String,
    /// What went wrong.
    pub why: String,
}

/// A connection to the queue.
#[derive(Clone)]
pub struct Queue {
    server: String,
    jetstream: jetstream::Context,
}

impl Queue {
    /// Connects, and makes the streams where they are not there yet. The connection comes back by itself when it is lost.
    pub async fn connect(url: &str) -> Result<Self, QueueError> {
        let server = without_password(url);
        let failed = |why: String| QueueError { server: server.clone(), why };
        let client = async_nats::ConnectOptions::new()
            .name("mocktrial")
            .connect(url)
            .await
            .map_err(|error| failed(format!("cannot be reached: {error}")))?;
        let jetstream = jetstream::new(client);
        let queue = Self { server: server.clone(), jetstream };
        queue.stream(TASKS, TASK_SUBJECT.to_owned(), stream::RetentionPolicy::WorkQueue).await?;
        queue.stream(REPORTS, format!("{REPORT_SUBJECT}.*"), stream::RetentionPolicy::Limits).await?;
        Ok(queue)
    }

    async fn stream(
        &self,
        name: &str,
        subject: String,
        retention: stream::RetentionPolicy,
    ) -> Result<stream::Stream, QueueError> {
        let config = stream::Config {
            name: name.to_owned(),
            subjects: vec![subject],
            retention,
            storage: stream::StorageType::File,
            duplicate_window: KNOWN_AGAIN,
            max_age: KEPT,
            ..stream::Config::default()
        };
        let made = self.jetstream.get_or_create_stream(config).await;
        made.map_err(|error| self.failed(format!("no stream `{name}`: {error} (is JetStream enabled?)")))
    }

    /// The store of a run's records.
    async fn bucket(&self, run: &str) -> Result<object_store::ObjectStore, QueueError> {
        let bucket = bucket(run);
        if let Ok(store) = self.jetstream.get_object_store(&bucket).await {
            return Ok(store);
        }
        let config = object_store::Config { bucket, max_age: KEPT, ..object_store::Config::default() };
        let made = self.jetstream.create_object_store(config).await;
        made.map_err(|error| self.failed(format!("no store for the records: {error}")))
    }

    /// Publishes under an id by which the server knows it again, until the server has it.
    async fn publish(&self, subject: String, id: &str, message: &impl serde::Serialize) {
        // What is published is ours and plain: it always is JSON.
        let Ok(payload) = serde_json::to_vec(message) else { return };
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
        loop {
            let sent = self
                .jetstream
                .publish_with_headers(subject.clone(), headers.clone(), payload.clone().into())
                .await;
            if let Ok(acked) = sent
                && acked.await.is_ok()
            {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    fn failed(&self, why: String) -> QueueError {
        QueueError { server: self.server.clone(), why }
    }
}

/// Trouble that passes by itself, or does not: somebody may be looking.
fn complain(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "mocktrial: {what}");
}

fn bucket(run: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    format!("mocktrial-{}", run.chars().map(plain).collect::<String>())
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_and_no_run_id_breaks_a_bucket() {
        assert_eq!(without_password("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(without_password("me:secret@host"), "host");
        assert_eq!(without_password("nats://host:4222"), "nats://host:4222");
        assert_eq!(bucket("1764-12/../x y"), "mocktrial-1764-12____x_y");
    }
}
