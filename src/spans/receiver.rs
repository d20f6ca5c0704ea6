//! The receiver: one listener per process, shared by all trials, told apart by token.
//!
//! One port answers OTLP over HTTP (protobuf and JSON, `/TOKEN/v1/traces`) and over gRPC (the token in the metadata).
//! Logs and metrics are answered and dropped, so that apps with every signal on do not complain. Spans under no token,
//! a wrong or a dead one are counted as foreign and never kept. Refuses to hold more than a fixed amount of bodies in
//! memory: beyond it the answer is 503 with `Retry-After`, which exporters obey.

mod answer;
mod body;
mod export;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::intake::{Intake, Lane, SpanLimits};
use crate::clock::Clock;
use crate::name::Token;
use body::InFlight;

/// The header or metadata key that carries a token.
pub(super) const CHANNEL_HEADER: &str = "mocktrial-channel";

/// Bodies held at one time, over all connections, as sent and as decompressed.
const IN_FLIGHT: u64 = 128 << 20;

/// Connections at one time; more wait in the backlog.
const CONNECTIONS: usize = 1024;

/// How long requests in progress may take to end once the receiver stops.
const GRACE: Duration = Duration::from_millis(500);

/// A listening receiver. Dropping it stops the listener and every connection.
pub struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Receiver {
    /// Listens at `address` (port 0: any free one). Must be called inside a tokio runtime, which then serves it.
    pub fn bind(address: SocketAddr, clock: Clock) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(1024)?;
        let address = listener.local_addr()?;
        let receiver = Self {
            shared: Arc::new(Shared::new(clock)),
            address,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let accepting =
            accept(listener, Arc::clone(&receiver.shared), receiver.stop.clone(), receiver.tasks.clone());
        receiver.tasks.spawn(accepting);
        Ok(receiver)
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Begins to keep what comes under `token`.
    pub fn open(&self, token: Token, limits: SpanLimits) -> Intake {
        self.open_lane(Lane::new(token, limits), |lanes, lane| {
            lanes.open.push(lane);
        })
    }

    /// For a receiver that stands alone: what comes under no token or an unknown one is not foreign but written on.
    ///
    /// `sink` gets one record of a length-delimited protobuf file for each request, as it came (JSON is turned into
    /// protobuf); it is called on a runtime thread, one request at a time. Nothing is kept or de-duplicated, of
    /// `limits` only `attribute` and `body` apply. A request that cannot be written is answered 503, to be sent again.
    pub fn write_on(
        &self,
        limits: SpanLimits,
        sink: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static,
    ) -> Result<Intake, getrandom::Error> {
        let lane = Lane::written_on(Token::random()?, limits, Box::new(sink));
        Ok(self.open_lane(lane, |lanes, lane| lanes.rest = Some(lane)))
    }

    fn open_lane(&self, lane: Lane, put: impl FnOnce(&mut Lanes, Arc<Lane>)) -> Intake {
        let lane = Arc::new(lane);
        let shared = &self.shared;
        let mut lanes = shared.lanes.write().unwrap_or_else(PoisonError::into_inner);
        put(&mut lanes, Arc::clone(&lane));
        drop(lanes);
        Intake::new(lane, Arc::clone(shared), self.address)
    }

    /// Spans that belonged to nobody, since the receiver was bound.
    pub fn foreign_spans(&self) -> u64 {
        self.shared.foreign.load(Ordering::Relaxed)
    }

    /// Stops listening and waits for requests in progress, half a second at most. New requests are answered 503.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.cancel();
        self.tasks.close();
    }
}

/// What all connections share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) foreign: AtomicU64,
    in_flight: Arc<InFlight>,
    lanes: RwLock<Lanes>,
}

#[derive(Default)]
struct Lanes {
    open: Vec<Arc<Lane>>,
    rest: Option<Arc<Lane>>,
}

impl Shared {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            foreign: AtomicU64::new(0),
            in_flight: Arc::new(InFlight::new(IN_FLIGHT)),
            lanes: RwLock::default(),
        }
    }

    /// The lane of a token. Every open one is compared, so that the time taken says nothing about which matched.
    fn lane(&self, claim: Option<&str>) -> Option<Arc<Lane>> {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for lane in &lanes.open {
            if claim.is_some_and(|claim| lane.token.matches(claim)) {
                found = Some(lane);
            }
        }
        found.or(lanes.rest.as_ref()).map(Arc::clone)
    }

    pub(super) fn forget(&self, lane: &Arc<Lane>) {
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        lanes.open.retain(|open| !Arc::ptr_eq(open, lane));
        lanes.rest.take_if(|rest| Arc::ptr_eq(rest, lane));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let serving = serve(stream, Arc::clone(&shared), stop.clone());
                tasks.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            // Out of file descriptors, or a client that left at once: the next accept may do better.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, stop: CancellationToken) {
    // An answer is one small write; a socket that cannot be told so is only slower.
    let _ = stream.set_nodelay(true);
    let stopping = stop.clone();
    let service = service_fn(move |request| {
        let (shared, stopping) = (Arc::clone(&shared), stopping.clone());
        async move {
            let answer = export::answer(&shared, request, stopping.is_cancelled()).await;
            Ok::<_, Infallible>(answer)
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // How a connection ended is the client's affair: what it exported is kept or was answered.
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(GRACE, connection).await;
        }
    }
}
