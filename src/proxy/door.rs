//! The one listener of all channels of all trials.
//!
//! No time-outs on idle connections and none on slow heads: an app's pool must not find its connections closed because
//! its model was thinking. What is open ends with the door.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::http::{self, Client};
use super::registry::Registry;
use crate::name::{TrialId, WorkerId};

/// Connections waiting to be accepted: more than any app opens at once, so that none is told to try again.
const BACKLOG: u32 = 4096;

/// A listener that is open until it is dropped; its connections end with it.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What every connection needs.
#[derive(Debug)]
pub struct Shared {
    pub registry: Registry,
    pub client: Client,
}

/// Calls that came after the seal of their trial, for the run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateCalls {
    /// Whose.
    pub trial: TrialId,
    /// Through whose channel; null through the shared one.
    pub worker: Option<WorkerId>,
    /// How many.
    pub calls: u64,
}

impl Door {
    /// Listens on `address` (port 0 chooses one), within the tokio runtime of the caller.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let shared = Arc::new(Shared {
            registry: Registry::new().map_err(|error| io::Error::other(error.to_string()))?,
            client: Client::new(),
        });
        Ok(Self {
            address: listener.local_addr()?,
            accepting: tokio::spawn(accept(listener, Arc::clone(&shared))),
            shared,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://HOST:PORT`, with `advertise` as the host where it is given. A door on every interface is reached on
    /// loopback.
    pub fn base(&self, advertise: Option<&str>) -> String {
        let port = self.address.port();
        match (advertise, self.address.ip()) {
            (Some(host), _) if host.contains(':') && !host.starts_with('[') => {
                format!("http://[{host}]:{port}")
            }
            (Some(host), _) => format!("http://{host}:{port}"),
            (None, IpAddr::V4(ip)) if ip.is_unspecified() => {
                format!("http://{}:{port}", Ipv4Addr::LOCALHOST)
            }
            (None, IpAddr::V6(ip)) if ip.is_unspecified() => {
                format!("http://[{}]:{port}", Ipv6Addr::LOCALHOST)
            }
            (None, IpAddr::V4(ip)) => format!("http://{ip}:{port}"),
            (None, IpAddr::V6(ip)) => format!("http://[{ip}]:{port}"),
        }
    }

    /// Keyed digests of tokens that opened nothing, and how often each was tried.
    pub fn unknown_tokens(&self) -> BTreeMap<String, u64> {
        self.shared.registry.unknown()
    }

    /// Calls that came after their trial was sealed.
    pub fn late_calls(&self) -> Vec<LateCalls> {
        let counted = self.shared.registry.gone().into_iter().map(|late| LateCalls {
            trial: late.trial.clone(),
            worker: late.worker.clone(),
            calls: late.calls.load(Ordering::Relaxed),
        });
        let mut late: Vec<_> = counted.filter(|late| late.calls > 0).collect();
        late.sort_by(|a, b| (&a.trial, &a.worker).cmp(&(&b.trial, &b.worker)));
        late
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and its connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
                // Out of descriptors: those that close make room.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(move |request| http::serve(Arc::clone(&shared), request));
    let mut server = auto::Builder::new(TokioExecutor::new());
    // The answer's own headers, and no more.
    server.http1().auto_date_header(false);
    server.http2().auto_date_header(false);
    // How a connection ends is the app's business.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}
