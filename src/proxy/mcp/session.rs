//! What is remembered of a client between its requests: only the earlier era has this, and a pipe.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::name::Token;

/// So many sessions of one channel at once; the oldest goes when one more comes.
const AT_MOST: usize = 1024;

/// Messages to a client that it has not read yet; what is more is let go.
pub const UNREAD: usize = 256;

/// One client.
#[derive(Debug)]
pub struct Session {
    /// Its id on the wire; none on a pipe, which is a session by itself.
    id: Option<Token>,
    /// Tells sessions apart.
    pub number: u64,
    client: Mutex<Client>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Map<String, Value>>>>,
    next: AtomicU64,
    running: Mutex<HashMap<String, CancellationToken>>,
    listening: Mutex<Option<mpsc::Sender<Value>>>,
}

/// What a client said of itself when it came.
#[derive(Clone, Debug)]
pub struct Client {
    /// The version agreed on.
    pub version: String,
    /// What it can do.
    pub capabilities: Value,
    /// Who it is.
    pub info: Value,
}

impl Default for Client {
    fn default() -> Self {
        Self { version: super::era::HANDSHAKE[0].to_owned(), capabilities: json!({}), info: json!({}) }
    }
}

impl Session {
    fn new(id: Option<Token>, client: Client) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            id,
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            client: Mutex::new(client),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            running: Mutex::default(),
            listening: Mutex::default(),
        })
    }

    /// Of a pipe: the client says who it is later.
    pub fn of_pipe() -> Arc<Self> {
        Self::new(None, Client::default())
    }

    /// Whether it is a pipe's.
    pub fn is_pipe(&self) -> bool {
        self.id.is_none()
    }

    /// Its id on the wire.
    pub fn id(&self) -> Option<&str> {
        self.id.as_ref().map(Token::expose)
    }

    /// The client.
    pub fn client(&self) -> Client {
        lock(&self.client).clone()
    }

    /// The client said who it is.
    pub fn is_of(&self, client: Client) {
        *lock(&self.client) = client;
    }

    /// A request of a server's is put to the client under an id of ours; the answer comes to the receiver.
    pub fn ask(&self) -> (u64, oneshot::Receiver<Map<String, Value>>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (send, answer) = oneshot::channel();
        let mut asked = lock(&self.asked);
        // Whoever gave up waiting is not waited for.
        asked.retain(|_, waiting| !waiting.is_closed());
        asked.insert(id, send);
        (id, answer)
    }

    /// The client answered.
    pub fn answered(&self, response: Map<String, Value>) {
        let id = response.get("id").and_then(Value::as_u64);
        if let Some(waiting) = id.and_then(|id| lock(&self.asked).remove(&id)) {
            // Nobody waits any more: the server gave up.
            let _ = waiting.send(response);
        }
    }

    /// A request began; the token fires when the client gives it up.
    pub fn begins(&self, id: &Value) -> CancellationToken {
        let token = CancellationToken::new();
        lock(&self.running).insert(id.to_string(), token.clone());
        token
    }

    /// A request is over.
    pub fn ends(&self, id: &Value) {
        lock(&self.running).remove(&id.to_string());
    }

    /// The client gave a request up.
    pub fn cancel(&self, id: &Value) {
        if let Some(token) = lock(&self.running).get(&id.to_string()) {
            token.cancel();
        }
    }

    /// The client listens, from here on and here alone.
    pub fn listen(&self) -> mpsc::Receiver<Value> {
        let (send, receive) = mpsc::channel(UNREAD);
        *lock(&self.listening) = Some(send);
        receive
    }

    /// Tells the client something outside of any request. False: nobody listens, or nobody reads.
    pub fn tell(&self, message: Value) -> bool {
        lock(&self.listening).as_ref().is_some_and(|send| send.try_send(message).is_ok())
    }
}

/// The sessions of one channel.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Vec<Arc<Session>>>);

impl Sessions {
    /// One more. An error where the system has no randomness.
    pub fn open(&self, client: Client) -> Result<Arc<Session>, getrandom::Error> {
        let session = Session::new(Some(Token::random()?), client);
        let mut all = lock(&self.0);
        if all.len() >= AT_MOST {
            all.remove(0);
        }
        all.push(Arc::clone(&session));
        Ok(session)
    }

    /// The one of that id.
    pub fn find(&self, claim: &str) -> Option<Arc<Session>> {
        lock(&self.0).iter().find(|session| session.id.as_ref().is_some_and(|id| id.matches(claim))).cloned()
    }

    /// Ends one.
    pub fn close(&self, session: &Session) {
        lock(&self.0).retain(|other| other.number != session.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_to_whoever_asked_and_an_unasked_one_to_nobody() {
        let session = Session::of_pipe();
        let (first, mut one) = session.ask();
        let (second, mut two) = session.ask();
        let answer = |id: u64| {
            let Value::Object(fields) = json!({"id": id, "result": {"n": id}}) else { unreachable!() };
            fields
        };
        session.answered(answer(second));
        session.answered(answer(99));
        assert_eq!(two.try_recv().expect("answered")["result"]["n"], second);
        assert!(one.try_recv().is_err());
        session.answered(answer(first));
        assert!(one.try_recv().is_ok());
    }

    #[test]
    fn the_oldest_session_goes_when_there_are_too_many() {
        let sessions = Sessions::default();
        let first = sessions.open(Client::default()).expect("randomness");
        for _ in 0..AT_MOST {
            sessions.open(Client::default()).expect("randomness");
        }
        assert!(sessions.find(first.id().expect("an id")).is_none());
    }
}
