//! One HTTP request, by hand.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: HeaderMap,
}

pub fn request(path: &str, content_type: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path).header("content-type", content_type).body(Full::new(body.into())).expect("a request")
}

pub async fn send(to: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    let stream = TcpStream::connect(to).await.expect("a connection");
    let io = TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("http/1.1");
    let driving = tokio::spawn(connection);
    let mut request = request;
    let host = to.to_string().parse().expect("a header");
    request.headers_mut().insert("host", host);
    let response = sender.send_request(request).await.expect("an answer");
    let answer = read(response).await;
    driving.abort();
    answer
}

pub async fn send_http2(to: SocketAddr, mut request: Request<Full<Bytes>>) -> Answer {
    let stream = TcpStream::connect(to).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let io = TokioIo::new(stream);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("http/2");
    let driving = tokio::spawn(connection);
    let uri = format!("http://{to}{}", request.uri().path());
    *request.uri_mut() = uri.parse().expect("a uri");
    let response = sender.send_request(request).await.expect("an answer");
    let answer = read(response).await;
    driving.abort();
    answer
}

async fn read(response: hyper::Response<hyper::body::Incoming>) -> Answer {
    let (head, body) = response.into_parts();
    let collected = body.collect().await.expect("a body");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Answer { status: head.status, headers: head.headers, body: collected.to_bytes(), trailers }
}
