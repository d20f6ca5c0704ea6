//! The one listener of all trials' model addresses.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::http;
use super::session::{Address, Live, Session};
use crate::journal::Journal;
use crate::name::Token;
use crate::scenario::{Case, Contract, ModelFamily, ModelMode};

/// Connections waiting to be accepted: more than any app opens at once.
const BACKLOG: u32 = 4096;

/// The secrets of a trial's model addresses, by variable; made before its record, so that the record can redact them.
#[derive(Clone, Debug, Default)]
pub struct ModelTokens(BTreeMap<String, Token>);

impl ModelTokens {
    /// One for each variable of `model.env`; none where the contract has no model endpoint.
    pub fn new(contract: &Contract) -> Result<Self, getrandom::Error> {
        if contract.model.mode == ModelMode::None {
            return Ok(Self::default());
        }
        let names = contract.model.env.keys();
        names.map(|name| Ok((name.clone(), Token::random()?))).collect::<Result<_, _>>().map(Self)
    }

    /// All of them, for the redactor.
    pub fn all(&self) -> impl Iterator<Item = &Token> {
        self.0.values()
    }
}

/// What a trial's model addresses are made of.
pub struct SessionSpec<'a> {
    /// Its model, limits and host names.
    pub contract: &'a Contract,
    /// From [`ModelTokens::new`], of the same contract.
    pub tokens: &'a ModelTokens,
    /// For templates.
    pub case: &'a Case,
    /// Where calls and findings go.
    pub journal: Journal,
}

/// A listener that is open until it is dropped; its connections end with it.
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Endpoint {
    /// Listens on `address` (port 0 chooses one), within the tokio runtime of the caller.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let shared = Arc::new(Shared::default());
        Ok(Self {
            address: listener.local_addr()?,
            accepting: tokio::spawn(accept(listener, Arc::clone(&shared))),
            shared,
        })
    }

    /// Opens the addresses of one trial; none where its contract's model is not scripted.
    pub fn open(&self, spec: SessionSpec<'_>) -> Option<Session> {
        let model = &spec.contract.model;
        let script = model.script.clone()?;
        let live = Arc::new(Live {
            script,
            case: spec.case.clone(),
            journal: spec.journal,
            limit: spec.contract.limits.body,
            closed: AtomicBool::new(false),
            seen: Mutex::default(),
        });
        let base = base(self.address, spec.contract.app.advertise.as_deref());
        let mut env = Vec::new();
        let mut doors = self.shared.doors.write().unwrap_or_else(PoisonError::into_inner);
        for (index, (name, address)) in model.env.iter().enumerate() {
            let Some(token) = spec.tokens.0.get(name) else { continue };
            // The clients of OpenAI alone want the version in their base URL.
            let version = if address.family == ModelFamily::OpenAi { "/v1" } else { "" };
            env.push((name.clone(), format!("{base}/{}{version}", token.expose())));
            let address = Address { index, family: address.family, worker: address.worker.clone() };
            doors.push(OpenDoor { token: token.clone(), address, live: Arc::clone(&live) });
        }
        drop(doors);
        Some(Session { shared: Arc::clone(&self.shared), live, env })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn base(address: SocketAddr, advertise: Option<&str>) -> String {
    let host = match (advertise, address.ip()) {
        (Some(host), _) => host.to_owned(),
        (None, IpAddr::V4(ip)) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        (None, IpAddr::V6(ip)) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.to_string(),
        (None, ip) => ip.to_string(),
    };
    match host.contains(':') && !host.starts_with('[') {
        true => format!("http://[{host}]:{}", address.port()),
        false => format!("http://{host}:{}", address.port()),
    }
}

/// What every connection needs.
#[derive(Default)]
pub struct Shared {
    doors: RwLock<Vec<OpenDoor>>,
}

struct OpenDoor {
    token: Token,
    address: Address,
    live: Arc<Live>,
}

impl Shared {
    /// Whose address it is. Every open one is compared, so that the time taken says nothing about which matched.
    pub fn find(&self, claim: &str) -> Option<(Arc<Live>, Address)> {
        let doors = self.doors.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for door in doors.iter() {
            if door.token.matches(claim) {
                found = Some(door);
            }
        }
        found.map(|door| (Arc::clone(&door.live), door.address.clone()))
    }

    pub fn forget(&self, live: &Arc<Live>) {
        let mut doors = self.doors.write().unwrap_or_else(PoisonError::into_inner);
        doors.retain(|door| !Arc::ptr_eq(&door.live, live));
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
    // A piece of a stream is to leave at once; a socket that cannot be told so is only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(http::serve(shared, request).await) }
    });
    // How a connection ends is the app's business.
    drop(auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await);
}
