//! The one client that reaches upstream services, and how a service's address is written.

use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, InvalidUri, PathAndQuery, Scheme};
use http::{Request, Response, Uri, Version};
use http_body::{Frame, SizeHint};
use hyper::body::{Body, Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::received::Taken;

/// A kept connection is used again within this time. Shorter than the keep-alive of any server in wide use (uvicorn
/// and Node 5 s, gunicorn 2 s), so that a call does not meet a connection that is just being closed.
const KEPT_OPEN: Duration = Duration::from_millis(1500);

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Where a service is: scheme, host, port, and a path that stands before every path.
#[derive(Clone, Debug)]
pub struct Base {
    scheme: Scheme,
    authority: Authority,
    path: String,
}

/// Why a text is no address of a service.
#[derive(Debug, thiserror::Error)]
pub enum BadBase {
    /// No URL.
    #[error("no URL: {0}")]
    Url(#[from] InvalidUri),
    /// No `http` or `https` URL with a host.
    #[error("an `http://` or `https://` URL with a host is wanted")]
    Scheme,
    /// A query or a user has no place there.
    #[error("a base address has no query and no user")]
    More,
}

impl Base {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self, BadBase> {
        let parts = url.parse::<Uri>()?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(BadBase::Scheme);
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(BadBase::Scheme);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() || authority.as_str().contains('@') {
            return Err(BadBase::More);
        }
        Ok(Self { scheme, authority, path: path.path().trim_end_matches('/').to_owned() })
    }

    /// Whether it wants TLS.
    pub fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// `target` there, byte for byte.
    pub fn at(&self, target: &str) -> Option<Uri> {
        let target = if self.path.is_empty() {
            PathAndQuery::try_from(target)
        } else {
            PathAndQuery::try_from(format!("{}{target}", self.path))
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(target.ok()?)
            .build()
            .ok()
    }
}

/// Reaches upstreams over kept connections, one pool for all trials.
#[derive(Debug)]
pub struct Client {
    plain: legacy::Client<HttpConnector, RequestBody>,
    /// Made when the first `https` upstream is opened: reading the system's certificates takes milliseconds.
    tls: OnceLock<legacy::Client<HttpsConnector<HttpConnector>, RequestBody>>,
}

impl Client {
    /// Without TLS, until [`Client::load_roots`].
    pub fn new() -> Self {
        Self { plain: builder().build(connector()), tls: OnceLock::new() }
    }

    /// Reads the system's trusted certificates, once.
    pub fn load_roots(&self) -> io::Result<()> {
        if self.tls.get().is_none() {
            let mut connector = connector();
            connector.enforce_http(false);
            let connector = HttpsConnectorBuilder::new()
                .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?
                .https_or_http()
                .enable_all_versions()
                .wrap_connector(connector);
            self.tls.get_or_init(|| builder().build(connector));
        }
        Ok(())
    }

    /// Sends one request. `request`'s URI is a [`Base::at`].
    pub async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<Incoming>, legacy::Error> {
        *request.version_mut() = Version::HTTP_11;
        let tls = request.uri().scheme() == Some(&Scheme::HTTPS);
        match self.tls.get().filter(|_| tls) {
            Some(client) => client.request(request).await,
            None => self.plain.request(request).await,
        }
    }
}

fn builder() -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_idle_timeout(KEPT_OPEN).pool_max_idle_per_host(1024).pool_timer(TokioTimer::new());
    builder
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    connector
}

/// A request's body as an upstream gets it.
#[derive(Debug)]
pub struct RequestBody(Taken);

impl From<Taken> for RequestBody {
    fn from(taken: Taken) -> Self {
        Self(taken)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Taken::Streaming(body) => Pin::new(body).poll_frame(cx),
            Taken::None => Poll::Ready(None),
            Taken::Whole { bytes, trailers } => Poll::Ready(if bytes.is_empty() {
                trailers.take().map(|trailers| Ok(Frame::trailers(trailers)))
            } else {
                Some(Ok(Frame::data(std::mem::take(bytes))))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Taken::Streaming(body) => body.is_end_stream(),
            Taken::None => true,
            Taken::Whole { bytes, trailers } => bytes.is_empty() && trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Taken::Streaming(body) => body.size_hint(),
            Taken::None => SizeHint::with_exact(0),
            // Trailers need the chunked coding, which a known length would rule out.
            Taken::Whole { bytes, trailers: None } => SizeHint::with_exact(bytes.len() as u64),
            Taken::Whole { bytes, .. } => {
                let mut hint = SizeHint::new();
                hint.set_lower(bytes.len() as u64);
                hint
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_stands_before_the_target_and_changes_nothing_of_it() {
        let at = |base: &str, target: &str| {
            Base::parse(base).expect("a base").at(target).map(|uri| uri.to_string())
        };
        assert_eq!(at("http://h:1", "/a%2Fb//c?x=%20&x=+").as_deref(), Some("http://h:1/a%2Fb//c?x=%20&x=+"));
        assert_eq!(at("https://h/v1/", "/a").as_deref(), Some("https://h/v1/a"));
    }

    #[test]
    fn what_is_no_base_is_said_at_once() {
        for bad in ["", "h:1", "/path", "ftp://h", "http://h?x=1", "http://user@h/"] {
            assert!(Base::parse(bad).is_err(), "{bad}");
        }
    }
}
