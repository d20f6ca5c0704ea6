//! One HTTP exchange with the app over a connection of its own.
//!
//! No pool: a connection kept from one trial could be answered by an app of another, and one kept while an app dies
//! would blur whether it was there to answer.

use std::io;

use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

/// The host and port that `url` names.
pub(super) fn address(url: &Uri) -> Result<(String, u16), String> {
    if url.scheme_str() != Some("http") {
        return Err(format!("`{url}` is not an http:// address"));
    }
    let host = url.host().ok_or_else(|| format!("`{url}` names no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), url.port_u16().unwrap_or(80)))
}

/// Connects. A connection to oneself is none: asked for a local port that nobody listens at, the system may pick that
/// very port as the source, and the two ends then meet.
pub(super) async fn connect(address: &(String, u16)) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((address.0.as_str(), address.1)).await?;
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An answer that has begun; its connection ends with it.
pub(super) struct Answer {
    pub(super) head: http::response::Parts,
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

/// Sends `request` over `stream` and waits for the head of the answer.
pub(super) async fn send(stream: TcpStream, request: Request<Full<Bytes>>) -> hyper::Result<Answer> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        // Its error is the request's as well, and told there.
        let _ = connection.await;
    }));
    let (head, body) = Response::into_parts(sender.send_request(request).await?);
    Ok(Answer { head, body, _connection: connection })
}

impl Answer {
    /// The next piece of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Option<hyper::Result<Bytes>> {
        loop {
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A request to `url` in origin form, with the `host` that belongs to it.
pub(super) fn request(method: http::Method, url: &Uri) -> http::request::Builder {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let host = url.authority().map_or("", |authority| authority.as_str());
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Request::builder().method(method).uri(path).header(http::header::HOST, host)
}
