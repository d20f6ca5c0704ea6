//! When the app may be talked to.
//!
//! The operating system gives no event for somebody else's `listen`, so this is the one place that tries again and
//! again: after waits of a fifth of the time already spent. Whoever calls it watches the app's end meanwhile.

use std::io;
use std::time::Duration;

use http::{Method, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use tokio::io::unix::AsyncFd;

use super::http::{address, connect, request, send};

/// The first wait, the longest, and by how much each is longer than the one before.
const FIRST: Duration = Duration::from_micros(300);
const LONGEST: Duration = Duration::from_millis(20);
const GROWTH: f32 = 1.25;

/// What has to answer.
#[derive(Clone, Debug)]
pub(super) enum Probe {
    /// This URL, with any status below 500.
    Http(Uri),
    /// Whoever accepts a connection there: an app that is talked to over HTTP and says nothing of being ready.
    Connect((String, u16)),
    /// Nothing: started is ready.
    Nothing,
}

impl Probe {
    /// Where it looks; `None` where nowhere.
    pub(super) fn address(&self) -> Result<Option<(String, u16)>, String> {
        match self {
            Self::Http(url) => address(url).map(Some),
            Self::Connect(address) => Ok(Some(address.clone())),
            Self::Nothing => Ok(None),
        }
    }

    /// One attempt; why it was not ready.
    async fn once(&self) -> Result<(), String> {
        let Some(address) = self.address()? else {
            return Ok(());
        };
        let stream = connect(&address).await.map_err(|error| error.to_string())?;
        let Self::Http(url) = self else { return Ok(()) };
        let get = request(Method::GET, url).body(Full::new(Bytes::new()));
        let get = get.map_err(|error| error.to_string())?;
        let answer = send(stream, get).await.map_err(|error| error.to_string())?;
        if answer.head.status.is_server_error() {
            return Err(format!("it answered {}", answer.head.status));
        }
        Ok(())
    }

    /// Resolves once it was answered. The latest reason why it was not is kept in `why`.
    pub(super) async fn answered(&self, why: &mut String) {
        let mut wait = FIRST;
        while let Err(not_yet) = self.once().await {
            *why = not_yet;
            if nap(wait).await.is_err() {
                tokio::time::sleep(wait).await;
            }
            wait = wait.mul_f32(GROWTH).min(LONGEST);
        }
    }
}

/// Sleeps for less than a millisecond, if asked to: tokio's timers are whole milliseconds, and a small app is ready in
/// less than one.
#[expect(
    deprecated,
    reason = "its replacement is `unsafe`, which this crate forbids; an `OwnedFd` keeps the promise it asks for"
)]
async fn nap(wait: Duration) -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let it_value = Timespec::try_from(wait).map_err(|_| io::ErrorKind::InvalidInput)?;
    let once = Itimerspec { it_interval: Timespec::default(), it_value };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    AsyncFd::new(timer)?.readable().await?.retain_ready();
    Ok(())
}
