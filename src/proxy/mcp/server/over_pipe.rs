//! A server on the standard streams of a process: one JSON message a line (MCP, Transports, stdio).

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::super::message::{Failure, INTERNAL_ERROR};
use super::super::session::Session;
use super::exchange::{Event, Exchange};

/// The standard streams of a process that somebody else started and ends.
pub struct Pipes {
    /// What it reads.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
}

impl fmt::Debug for Pipes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipes")
    }
}

/// A connection to such a process, for all clients.
pub struct PipeLink {
    write: tokio::sync::Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    shared: Arc<Shared>,
    next: AtomicU64,
    reading: AbortOnDropHandle<()>,
}

impl fmt::Debug for PipeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PipeLink")
    }
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<HashMap<u64, mpsc::Sender<Event>>>,
    listeners: Mutex<Vec<Weak<Session>>>,
}

impl PipeLink {
    /// Reads from here on.
    pub fn start(pipes: Pipes, at_most: u64) -> Arc<Self> {
        Arc::new_cyclic(|link: &Weak<Self>| {
            let shared = Arc::new(Shared::default());
            let reading = read(pipes.stdout, at_most, Arc::clone(&shared), link.clone());
            Self {
                write: tokio::sync::Mutex::new(pipes.stdin),
                shared,
                next: AtomicU64::new(1),
                reading: AbortOnDropHandle::new(tokio::spawn(reading)),
            }
        })
    }

    /// A request's id, and where its events come.
    pub fn new_exchange(&self) -> (u64, Exchange) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let exchange = Exchange::new();
        let mut waiting = lock(&self.shared.waiting);
        // Whoever gave up is not waited for.
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(id, exchange.sender());
        (id, exchange)
    }

    /// A session that is told what the server says to nobody in particular.
    pub fn listened_by(&self, session: &Arc<Session>) {
        let mut listeners = lock(&self.shared.listeners);
        listeners.retain(|other| other.strong_count() > 0);
        if !listeners.iter().any(|other| other.as_ptr() == Arc::as_ptr(session)) {
            listeners.push(Arc::downgrade(session));
        }
    }

    /// Writes one message.
    pub async fn send(&self, message: &Value) -> Result<(), &'static str> {
        if self.reading.is_finished() {
            return Err("the server's process is gone");
        }
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut write = self.write.lock().await;
        let written = async {
            write.write_all(&line).await?;
            write.flush().await
        };
        written.await.map_err(|_: std::io::Error| "the server's process is gone")
    }
}

async fn read(
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    at_most: u64,
    shared: Arc<Shared>,
    link: Weak<PipeLink>,
) {
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        // What is longer than a message may be is not read on: nobody can say where the next one begins.
        match (&mut lines).take(at_most).read_until(b'\n', &mut line).await {
            Ok(count) if count > 0 && line.ends_with(b"\n") => {}
            _ => break,
        }
        // Whatever else a process prints there is none of ours.
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        shared.route(message, &link);
    }
    for (_, waiting) in lock(&shared.waiting).drain() {
        let _ = waiting.try_send(Event::Gone("the server's process is gone"));
    }
}

impl Shared {
    fn route(&self, message: Value, link: &Weak<PipeLink>) {
        let event = Event::of(message);
        match &event {
            Event::Response(response) => {
                let id = response["id"].as_u64().unwrap_or_default();
                if let Some(waiting) = lock(&self.waiting).remove(&id) {
                    let full = waiting.try_send(event);
                    // A reader that far behind is told its end when it comes there.
                    if let Err(mpsc::error::TrySendError::Full(event)) = full {
                        tokio::spawn(async move { waiting.send(event).await });
                    }
                }
            }
            Event::Notification(notification) => {
                let token = notification["params"]["progressToken"].as_u64();
                let mut waiting = lock(&self.waiting);
                waiting.retain(|_, sender| !sender.is_closed());
                let to = match token {
                    Some(token) => waiting.get(&token),
                    None if waiting.len() == 1 => waiting.values().next(),
                    None => None,
                };
                match to {
                    // What is told on the way may be lost; an answer is not.
                    Some(sender) => drop(sender.try_send(event)),
                    None => {
                        let listeners = lock(&self.listeners);
                        for session in listeners.iter().filter_map(Weak::upgrade) {
                            session.tell(notification.clone());
                        }
                    }
                }
            }
            Event::Request(request) => {
                let mut waiting = lock(&self.waiting);
                waiting.retain(|_, sender| !sender.is_closed());
                let only = (waiting.len() == 1).then(|| waiting.values().next()).flatten();
                let put = only.is_some_and(|sender| sender.try_send(Event::Request(request.clone())).is_ok());
                if !put {
                    let why = "it cannot be told which client is asked: several calls are open, or none";
                    let answer = match request["method"].as_str() {
                        Some("ping") => {
                            json!({ "jsonrpc": "2.0", "id": request["id"], "result": {} })
                        }
                        _ => Failure::new(INTERNAL_ERROR, why).to_response(&request["id"]),
                    };
                    if let Some(link) = link.upgrade() {
                        tokio::spawn(async move { link.send(&answer).await });
                    }
                }
            }
            Event::Gone(_) => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
