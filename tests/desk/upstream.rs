//! A service to stand behind channels: it says what it saw, and misbehaves where its path asks for it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

/// The service; ends with the runtime of its test.
#[derive(Clone)]
pub struct Upstream {
    pub address: SocketAddr,
    /// Requests that arrived.
    pub seen: Arc<AtomicUsize>,
    /// Connections that were opened.
    pub connections: Arc<AtomicUsize>,
}

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Frames = Sender<Bytes, Infallible>;

impl Upstream {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let upstream = Self {
            address: listener.local_addr().expect("an address"),
            seen: Arc::default(),
            connections: Arc::default(),
        };
        let own = upstream.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.fetch_add(1, Ordering::SeqCst);
                let own = own.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        own.seen.fetch_add(1, Ordering::SeqCst);
                        async move { Ok::<_, Infallible>(answer(request).await) }
                    });
                    let mut server = hyper::server::conn::http1::Builder::new();
                    server.auto_date_header(false);
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        upstream
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

/// A service that answers every connection with these bytes and closes it.
pub async fn scripted(bytes: &'static [u8]) -> SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    address
}

fn fixed(bytes: impl Into<Bytes>) -> Body {
    let bytes: Bytes = bytes.into();
    Full::new(bytes).boxed_unsync()
}

async fn answer(request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    match path.as_str() {
        "/no-content" => plain(StatusCode::NO_CONTENT, Bytes::new()),
        "/not-modified" => {
            let mut response = plain(StatusCode::NOT_MODIFIED, Bytes::new());
            response.headers_mut().insert("etag", "\"v1\"".parse().expect("a value"));
            response
        }
        "/conflict" => {
            with_type(plain(StatusCode::CONFLICT, "{\"why\":\"twice\"}"), "application/problem+json")
        }
        "/broken" => with_type(plain(StatusCode::INTERNAL_SERVER_ERROR, "{\"oops\":1}"), "application/json"),
        "/odd" => odd(),
        "/zipped" => {
            let mut response = plain(
                StatusCode::OK,
                Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            );
            response.headers_mut().insert("content-encoding", "gzip".parse().expect("a value"));
            response
        }
        "/trailers" => trailers(),
        "/stream" => stream(request.into_body()),
        "/large" => Response::new(fixed(vec![b'x'; 20 << 20])),
        "/count" => {
            let mut body = request.into_body();
            let mut total = 0usize;
            while let Some(Ok(frame)) = body.frame().await {
                total += frame.data_ref().map_or(0, Bytes::len);
            }
            Response::new(fixed(total.to_string()))
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Response::new(fixed("slow"))
        }
        "/never" => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Response::new(fixed("never"))
        }
        _ => echo(request).await,
    }
}

fn plain(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(fixed(body));
    *response.status_mut() = status;
    response
}

fn with_type(mut response: Response<Body>, kind: &'static str) -> Response<Body> {
    response.headers_mut().insert("content-type", kind.parse().expect("a value"));
    response
}

fn odd() -> Response<Body> {
    let mut response = Response::new(fixed("odd"));
    let headers = response.headers_mut();
    for value in ["a=1; Path=/", "b=2", "a=1; Path=/"] {
        headers.append("set-cookie", value.parse().expect("a value"));
    }
    let high = http::HeaderValue::from_bytes(b"caf\xe9 \t\"quoted\"").expect("obs-text");
    headers.insert("x-odd_name!#$%&'*+.^`|~", high);
    headers.insert("x-empty", "".parse().expect("a value"));
    headers.insert("www-authenticate", "Basic realm=\"x\"".parse().expect("a value"));
    headers.insert("link", "</a>; rel=next, </b>; rel=prev".parse().expect("a value"));
    response
}

fn trailers() -> Response<Body> {
    let frames = async_frames(|mut send| async move {
        let _ = send.send_data(Bytes::from_static(b"body")).await;
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "4".parse().expect("a value"));
        let _ = send.send_trailers(trailers).await;
    });
    let mut response = Response::new(frames);
    response.headers_mut().insert("trailer", "x-sum".parse().expect("a value"));
    response
}

/// Each piece of the request's body comes back at once, as it arrives.
fn stream(mut body: Incoming) -> Response<Body> {
    let frames = async_frames(|mut send| async move {
        let _ = send.send_data(Bytes::from_static(b"data: start\n\n")).await;
        while let Some(Ok(frame)) = body.frame().await {
            if let Ok(data) = frame.into_data()
                && send.send_data(data).await.is_err()
            {
                return;
            }
        }
    });
    with_type(Response::new(frames), "text/event-stream")
}

fn async_frames<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(Frames) -> F) -> Body {
    let (send, body) = Channel::new(1);
    tokio::spawn(make(send));
    body.boxed_unsync()
}

async fn echo(request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let collected = body.collect().await.expect("a body");
    let trailers: Vec<_> = collected
        .trailers()
        .into_iter()
        .flatten()
        .map(|(n, v)| (n.to_string(), latin(v.as_bytes())))
        .collect();
    let mut headers: Vec<_> = parts
        .headers
        .iter()
        // This hop's own.
        .filter(|(name, _)| {
            !matches!(name.as_str(), "host" | "connection" | "transfer-encoding" | "content-length")
        })
        .map(|(name, value)| (name.to_string(), latin(value.as_bytes())))
        .collect();
    // The order of different names says nothing (RFC 9110 5.3); that of one name stays.
    headers.sort_by(|a, b| a.0.cmp(&b.0));
    let seen = json!({
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "host": parts.headers.get("host").map(|host| latin(host.as_bytes())),
        "headers": headers,
        "trailers": trailers,
        "body": latin(&collected.to_bytes()),
    });
    with_type(Response::new(fixed(seen.to_string())), "application/json")
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
