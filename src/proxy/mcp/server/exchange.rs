//! One request on its way to a server, and what comes back for it before its answer.

use serde_json::Value;
use tokio::sync::mpsc;

use super::super::session::UNREAD;

/// What comes from a server.
#[derive(Debug)]
pub enum Event {
    /// The answer; the last that comes.
    Response(Value),
    /// Progress, a log line.
    Notification(Value),
    /// The server asks the client.
    Request(Value),
    /// There will be no answer, and why.
    Gone(&'static str),
}

impl Event {
    /// By the shape of the message.
    pub fn of(message: Value) -> Self {
        match (message.get("method").is_some(), message.get("id").is_some()) {
            (true, true) => Self::Request(message),
            (true, false) => Self::Notification(message),
            (false, _) => Self::Response(message),
        }
    }
}

/// The end at which the events of one request come.
#[derive(Debug)]
pub struct Exchange {
    send: mpsc::Sender<Event>,
    receive: mpsc::Receiver<Event>,
}

impl Exchange {
    /// Nothing has come yet.
    pub fn new() -> Self {
        let (send, receive) = mpsc::channel(UNREAD);
        Self { send, receive }
    }

    /// For whoever reads from the server.
    pub fn sender(&self) -> mpsc::Sender<Event> {
        self.send.clone()
    }

    /// The next event.
    pub async fn next(&mut self) -> Event {
        self.receive.recv().await.unwrap_or(Event::Gone("the server is gone"))
    }
}
