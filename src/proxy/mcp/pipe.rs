//! The face on a pipe: one message a line, both eras on one pair of streams (MCP, Transports, stdio).

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::caller::{self, Caller, Reply, is_call};
use super::era::{self, Era};
use super::message::{self, CONNECTION_CLOSED, Failure, Message};
use super::session::{Session, UNREAD};
use crate::proxy::channel::Channel;
use crate::proxy::door::Shared;
use crate::proxy::gate::Lane;
use crate::proxy::http::Closed;

/// A channel on a pipe.
#[derive(Debug)]
pub struct PipeFace {
    shared: Arc<Shared>,
    channel: Arc<Channel>,
    lane: Arc<Lane>,
    session: Arc<Session>,
}

impl PipeFace {
    /// Whoever holds the pipe is the lane's worker.
    pub(in crate::proxy) fn new(shared: &Arc<Shared>, channel: &Arc<Channel>, lane: &Arc<Lane>) -> Self {
        let session = Session::of_pipe();
        let (shared, channel, lane) = (Arc::clone(shared), Arc::clone(channel), Arc::clone(lane));
        Self { shared, channel, lane, session }
    }

    /// Serves one client until it closes its end; calls begun by then run to their end.
    pub async fn serve(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> std::io::Result<()> {
        let (out, lines) = mpsc::channel(UNREAD);
        let writing = tokio::spawn(write(output, lines));
        let unasked = self.session.listen();
        let telling = tokio::spawn(tell(unasked, out.clone()));
        let mut calls = JoinSet::new();
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            let at_most = self.channel.site.body_at_most;
            let count = (&mut input).take(at_most).read_until(b'\n', &mut line).await?;
            if count == 0 {
                break;
            }
            if !line.ends_with(b"\n") && line.len() as u64 >= at_most {
                // Where the next message begins nobody can say.
                return Err(std::io::Error::other(format!("a message is over {at_most} bytes")));
            }
            while calls.try_join_next().is_some() {}
            if !line.trim_ascii().is_empty() {
                self.take(&line, &out, &mut calls).await;
            }
        }
        while calls.join_next().await.is_some() {}
        telling.abort();
        let _ = telling.await;
        drop(out);
        writing.await.map_err(std::io::Error::other)?
    }

    fn caller(&self, era: Era) -> Caller {
        Caller {
            shared: Arc::clone(&self.shared),
            site: Arc::clone(&self.channel.site),
            lane: Arc::clone(&self.lane),
            stranger: None,
            era,
            session: Some(Arc::clone(&self.session)),
            headers: http::HeaderMap::new(),
            request: None,
        }
    }

    async fn take(&self, line: &[u8], out: &mpsc::Sender<Line>, calls: &mut JoinSet<()>) {
        let message = match message::read(line) {
            Ok(message) => message,
            Err(unread) => {
                let given =
                    serde_json::json!({ "body": String::from_utf8_lossy(crate::proxy::body::head(line)) });
                self.caller(Era::Handshake).not_taken(caller::unread(&unread.to_string()), given);
                let _ = out.send(Line::Whole(unread.failure().to_response(&Value::Null))).await;
                return;
            }
        };
        match message {
            Message::Response(answer) => self.session.answered(answer),
            Message::Notification(notification) => {
                self.caller(Era::Handshake).notified(notification).await;
            }
            Message::Request(request) => {
                let era = Era::on_pipe(&request);
                let caller = self.caller(era);
                if era == Era::Stateless
                    && let Err(failure) = era::envelope(&request, None)
                {
                    let response = failure.to_response(&request.id);
                    if is_call(&Message::Request(request.clone())) {
                        caller.not_taken(caller::unread(&failure.message), Value::Object(request.params));
                    }
                    let _ = out.send(Line::Whole(response)).await;
                    return;
                }
                calls.spawn(answer(caller, request, out.clone()));
            }
        }
    }
}

/// What is written.
#[derive(Debug)]
enum Line {
    Whole(Value),
    /// Only its first bytes: a fault.
    Cut(Value, u64),
}

async fn answer(caller: Caller, request: message::Request, out: mpsc::Sender<Line>) {
    let (events, inbox) = mpsc::channel(UNREAD);
    let telling = tell(inbox, out.clone());
    let answering = async {
        let answered = caller.answer(&request, &events).await;
        drop(events);
        answered
    };
    let (answered, ()) = tokio::join!(answering, telling);
    let line = match answered {
        Ok(Reply { message: Some(message), cut_after: Some(after), .. }) => Line::Cut(message, after),
        Ok(Reply { message: Some(message), .. }) => Line::Whole(message),
        Ok(Reply { message: None, .. }) => return,
        // A pipe that were closed for one call would be closed for all.
        Err(Closed) => {
            Line::Whole(Failure::new(CONNECTION_CLOSED, "Connection closed").to_response(&request.id))
        }
    };
    let _ = out.send(line).await;
}

async fn tell(mut from: mpsc::Receiver<Value>, to: mpsc::Sender<Line>) {
    while let Some(message) = from.recv().await {
        if to.send(Line::Whole(message)).await.is_err() {
            return;
        }
    }
}

async fn write(
    mut output: impl AsyncWrite + Send + Unpin,
    mut lines: mpsc::Receiver<Line>,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        let (message, cut) = match line {
            Line::Whole(message) => (message, None),
            Line::Cut(message, after) => (message, Some(after)),
        };
        let mut bytes = message.to_string().into_bytes();
        if let Some(after) = cut {
            bytes.truncate(usize::try_from(after).unwrap_or(usize::MAX));
        }
        bytes.push(b'\n');
        output.write_all(&bytes).await?;
        output.flush().await?;
    }
    Ok(())
}
