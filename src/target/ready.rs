//! When the app may be talked to.
//!
//! The operating system gives no event for somebody else's `listen`, so this is the one place that tries again and
//! again: after waits that grow with the time already spent. Whoever calls it watches the app's end meanwhile.

use std::time::Duration;

use http::{Method, Uri};
use http_body_util::Full;
use hyper::body::Bytes;

use super::http::{address, connect, request, send};

/// The first wait, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(20));

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
        let (mut wait, longest) = WAITS;
        while let Err(not_yet) = self.once().await {
            *why = not_yet;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(longest);
        }
    }
}
