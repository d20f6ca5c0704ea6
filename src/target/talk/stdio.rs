//! `talk: stdio`: a line of JSON in (`{"trial","turn","n"}`), a line of JSON out (`{"reply"}`).
//!
//! An app that talks this way may also print: lines that are no JSON object with a `reply` are ordinary output. A
//! reply that names another turn's `n` is a late one, and not this turn's.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use super::super::output::Tap;
use super::{Question, Trouble};

/// Replies that may wait unread; an app that gives more has lost count.
const WAITING: usize = 16;

/// A line that means to be a reply: the object, or what is wrong with it.
pub(in super::super) type Lines = mpsc::Receiver<Result<Value, String>>;

/// The app's standard streams, as far as a conversation needs them.
pub(in super::super) struct Pipes {
    pub(in super::super) stdin: ChildStdin,
    pub(in super::super) lines: Lines,
}

/// Picks replies out of the app's standard output; lines of more than `limit` bytes are trouble.
pub(in super::super) fn replies(limit: u64) -> (Tap, Lines) {
    let (sender, lines) = mpsc::channel(WAITING);
    let mut line = Vec::new();
    let mut too_long = false;
    let tap = move |bytes: &[u8]| {
        for &byte in bytes {
            if byte != b'\n' {
                if line.len() as u64 >= limit {
                    too_long = true;
                    line.clear();
                }
                line.push(byte);
                continue;
            }
            let found = match serde_json::from_slice::<Value>(&line) {
                _ if std::mem::take(&mut too_long) => {
                    Some(Err(format!("a line is longer than {limit} bytes")))
                }
                Ok(value) if value.get("reply").is_some() => Some(Ok(value)),
                _ => None,
            };
            line.clear();
            if let Some(found) = found {
                // Full: the turn has enough to read already.
                let _ = sender.try_send(found);
            }
        }
    };
    (Box::new(tap), lines)
}

/// Writes the turn and waits for its reply. What was printed before the turn is not read as one.
pub(super) async fn ask(question: &Question<'_>, pipes: &mut Pipes) -> Result<String, Trouble> {
    while pipes.lines.try_recv().is_ok() {}
    let turn = json!({ "trial": question.trial, "turn": question.text, "n": question.n });
    let write = async {
        pipes.stdin.write_all(format!("{turn}\n").as_bytes()).await?;
        pipes.stdin.flush().await
    };
    write.await.map_err(|error| Trouble::Broken(format!("standard input: {error}")))?;
    loop {
        let line = pipes.lines.recv().await;
        let closed = || Trouble::Broken("standard output was closed".into());
        let line = line.ok_or_else(closed)?.map_err(Trouble::Bad)?;
        if line.get("n").is_some_and(|n| n.as_u64() != Some(question.n.into())) {
            continue;
        }
        return match &line["reply"] {
            Value::String(text) => Ok(text.clone()),
            other => Err(Trouble::Bad(format!("`reply` is not a string: {other}"))),
        };
    }
}
