//! One turn of the conversation: what the user says goes in, what the app answers comes out as text.
//!
//! A face per file. None of them decides what a reply is worth; what cannot be read as a reply is trouble, told with
//! what was wrong, and never an empty reply.

mod chat;
mod http;
mod sse;
mod stdio;

pub(super) use stdio::{Pipes, replies};

use std::time::Duration;

use serde_json::{Value, json};

use super::running::Exit;
use crate::scenario::Talk;

/// What the app answered to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// As it came; secrets are the caller's to redact.
    pub text: String,
}

/// One thing said before this turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// By the user.
    User(String),
    /// By the app.
    App(String),
}

/// Why a turn got no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnTrouble {
    /// The app was gone, or went before its reply was complete. Finding `app_exited`.
    #[error("the app {0} before it had replied")]
    Exited(Exit),
    /// The turn's time, or what was left of the trial's, ran out. Finding `turn_timed_out`.
    #[error("no complete reply within {0:?}")]
    TimedOut(Duration),
    /// The app lives, and what it gave is no reply. Finding `bad_reply`.
    #[error("{why}")]
    BadReply {
        /// What was wrong, with the beginning of what came; unredacted.
        why: String,
    },
}

/// A turn on its way to the app.
pub(super) struct Question<'a> {
    /// From 1.
    pub(super) n: u32,
    /// What the user says.
    pub(super) text: &'a str,
    /// What was said before.
    pub(super) history: &'a [Said],
    /// `${port}`.
    pub(super) port: &'a str,
    /// `${trial}`.
    pub(super) trial: &'a str,
    /// Longest answer that is read, in bytes.
    pub(super) limit: u64,
}

/// Why an exchange gave no reply, before it is known whether the app still lives.
pub(super) enum Trouble {
    /// The connection did not come about or broke, as it does when an app dies.
    Broken(String),
    /// An answer came that is no reply.
    Bad(String),
}

/// Puts `question` to the app, with no bound on time: that is the caller's.
pub(super) async fn ask(
    talk: &Talk,
    question: &Question<'_>,
    pipes: Option<&mut Pipes>,
) -> Result<Reply, Trouble> {
    let text = match talk {
        Talk::Http { post, body, headers, reply } => http::ask(question, post, body, headers, reply).await?,
        Talk::OpenAiChat { url, model, stream } => chat::ask(question, url, model, *stream).await?,
        Talk::Stdio => match pipes {
            Some(pipes) => stdio::ask(question, pipes).await?,
            None => {
                return Err(Trouble::Bad("the app's standard streams are not ours".into()));
            }
        },
        Talk::A2a { .. } => {
            return Err(Trouble::Bad("`talk: a2a` is not supported yet".into()));
        }
    };
    Ok(Reply { text })
}

impl Question<'_> {
    /// The history as chat messages, `[{"role","content"}]`.
    fn messages(&self) -> Vec<Value> {
        let message = |said: &Said| match said {
            Said::User(text) => json!({ "role": "user", "content": text }),
            Said::App(text) => json!({ "role": "assistant", "content": text }),
        };
        self.history.iter().map(message).collect()
    }
}

/// The beginning of an answer, for a message.
fn beginning(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let dots = if bytes.len() > 200 { "…" } else { "" };
    format!("`{}{dots}`", head.trim())
}
