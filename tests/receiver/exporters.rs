//! The exporters that apps use, each as it comes and told only by the environment we hand out.
//!
//! The Python and JavaScript ones are installed by the first test that needs them, into `target/test-envs`, and found
//! there again. Where they cannot be installed a test says `skipped`; with `MOCKTRIAL_NO_SKIP=1` it fails.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mocktrial::spans::{AttrValue, Intake, Protocol, Received, Span, Status};
use opentelemetry::trace::{Span as _, SpanKind, Tracer, TracerProvider};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::{Compression, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::process::Command;

use crate::{LIMITS, open};

/// Every exporter sends the same small trace.
fn check(received: Received) {
    let find = |name: &str| -> Span {
        let mut found = received.spans.iter().filter(|span| &*span.name == name);
        let span = found.next().unwrap_or_else(|| panic!("no {name}: {received:?}"));
        assert!(found.next().is_none(), "{name} twice");
        span.clone()
    };
    let agent = find("invoke_agent refund");
    let tool = find("execute_tool issue_refund");
    assert_eq!(received.spans.len(), 2);
    assert_eq!((received.dropped, received.foreign_spans), (0, 0));
    assert!(received.rejected.is_empty(), "{:?}", received.rejected);
    assert_eq!(agent.parent, None);
    assert_eq!(tool.parent, Some(agent.span_id));
    assert_eq!(tool.trace_id, agent.trace_id);
    assert_eq!(tool.kind, 3);
    assert_eq!(tool.attributes.text("gen_ai.tool.name"), Some("issue_refund"));
    assert_eq!(tool.attributes.get("amount"), Some(&AttrValue::Int(5990)));
    assert_eq!(tool.attributes.get("rate"), Some(&AttrValue::Double(0.5)));
    assert_eq!(tool.attributes.get("final"), Some(&AttrValue::Bool(true)));
    let items = ["a", "b"].map(|item| AttrValue::Str(item.into())).to_vec();
    assert_eq!(tool.attributes.get("items"), Some(&AttrValue::List(items)));
    assert_eq!(&*tool.events[0].name, "asked");
    assert_eq!(tool.events[0].attributes.text("by"), Some("coordinator"));
    assert_eq!((tool.status, &*tool.status_message), (Status::Error, "already refunded"));
    assert!(tool.start > 0 && tool.end >= tool.start && !tool.cut);
    assert_eq!((&*tool.scope.name, &*tool.scope.version), ("exporters.test", "1.2.3"));
    assert!(tool.resource.text("service.name").is_some());
}

fn variable(env: &[(String, String)], name: &str) -> String {
    let found = env.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.clone()).expect("a variable")
}

fn trace(provider: &SdkTracerProvider) {
    let scope = opentelemetry::InstrumentationScope::builder("exporters.test").with_version("1.2.3").build();
    let tracer = provider.tracer_with_scope(scope);
    tracer.in_span("invoke_agent refund", |_| {
        let mut tool =
            tracer.span_builder("execute_tool issue_refund").with_kind(SpanKind::Client).start(&tracer);
        tool.set_attribute(KeyValue::new("gen_ai.tool.name", "issue_refund"));
        tool.set_attribute(KeyValue::new("amount", 5990));
        tool.set_attribute(KeyValue::new("rate", 0.5));
        tool.set_attribute(KeyValue::new("final", true));
        let items = vec![StringValue::from("a"), StringValue::from("b")];
        tool.set_attribute(KeyValue::new("items", Value::Array(Array::String(items))));
        tool.add_event("asked", vec![KeyValue::new("by", "coordinator")]);
        tool.set_status(opentelemetry::trace::Status::error("already refunded"));
        tool.end();
    });
}

async fn flush(provider: SdkTracerProvider) {
    // It blocks until the exporter's own thread is done.
    let flushed =
        tokio::task::spawn_blocking(move || provider.force_flush().and_then(|()| provider.shutdown()));
    flushed.await.expect("no panic").expect("exported");
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_over_grpc() {
    let (_receiver, intake, token) = open(LIMITS);
    let env = intake.env(None, Protocol::Grpc);
    for compression in [None, Some(Compression::Gzip)] {
        let mut headers = http::HeaderMap::new();
        headers.insert("mocktrial-channel", token.parse().expect("a header"));
        let metadata = MetadataMap::from_headers(headers);
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(variable(&env, "OTEL_EXPORTER_OTLP_ENDPOINT"))
            .with_metadata(metadata);
        let exporter = match compression {
            Some(compression) => exporter.with_compression(compression),
            None => exporter,
        };
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter.build().expect("an exporter")).build();
        trace(&provider);
        flush(provider).await;
        assert!(intake.quiet(Duration::from_millis(20), Duration::from_secs(30)).await);
        let spans = intake.take();
        check(Received { spans, ..Received::default() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_over_http() {
    let (_receiver, intake, _) = open(LIMITS);
    let env = intake.env(None, Protocol::HttpProtobuf);
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_endpoint(variable(&env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
        .build()
        .expect("an exporter");
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter).build();
    tokio::task::spawn_blocking(move || {
        trace(&provider);
        provider.shutdown().expect("exported");
    })
    .await
    .expect("no panic");
    check(intake.close());
}

#[tokio::test]
async fn python_over_http() {
    python("python_over_http", "http", Protocol::HttpProtobuf, None).await;
}

#[tokio::test]
async fn python_over_http_in_gzip() {
    python("python_over_http_in_gzip", "http", Protocol::HttpProtobuf, Some("gzip")).await;
}

#[tokio::test]
async fn python_over_grpc() {
    python("python_over_grpc", "grpc", Protocol::Grpc, None).await;
}

#[tokio::test]
async fn python_over_grpc_in_gzip() {
    python("python_over_grpc_in_gzip", "grpc", Protocol::Grpc, Some("gzip")).await;
}

#[tokio::test]
async fn a_python_app_that_chose_grpc_itself_reaches_the_http_endpoint() {
    let test = "a_python_app_that_chose_grpc_itself_reaches_the_http_endpoint";
    python(test, "grpc", Protocol::HttpProtobuf, None).await;
}

#[tokio::test]
async fn javascript_over_http_json() {
    javascript("javascript_over_http_json", "http", Protocol::HttpJson, None).await;
}

#[tokio::test]
async fn javascript_over_http_json_in_gzip() {
    javascript("javascript_over_http_json_in_gzip", "http", Protocol::HttpJson, Some("gzip")).await;
}

#[tokio::test]
async fn javascript_over_http_protobuf() {
    javascript("javascript_over_http_protobuf", "proto", Protocol::HttpProtobuf, Some("gzip")).await;
}

#[tokio::test]
async fn javascript_over_grpc() {
    javascript("javascript_over_grpc", "grpc", Protocol::Grpc, None).await;
}

async fn python(test: &str, which: &str, protocol: Protocol, compression: Option<&str>) {
    let packages = [
        "opentelemetry-sdk>=1.45,<2",
        "opentelemetry-exporter-otlp-proto-http>=1.45,<2",
        "opentelemetry-exporter-otlp-proto-grpc>=1.45,<2",
    ];
    let home = match installed("exporters-python", |home| {
        let venv = home.join("venv");
        run(std::process::Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = venv.join("bin/pip");
        run(std::process::Command::new(pip)
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(packages))
    }) {
        Ok(home) => home,
        Err(why) => return skipped(test, &why),
    };
    let mut command = Command::new(home.join("venv/bin/python"));
    command.arg(program("export.py")).arg(which);
    export(command, protocol, compression).await;
}

async fn javascript(test: &str, which: &str, protocol: Protocol, compression: Option<&str>) {
    let packages = [
        "@opentelemetry/api@1",
        "@opentelemetry/sdk-trace-node@2",
        "@opentelemetry/exporter-trace-otlp-http@>=0.200",
        "@opentelemetry/exporter-trace-otlp-proto@>=0.200",
        "@opentelemetry/exporter-trace-otlp-grpc@>=0.200",
    ];
    let home = match installed("exporters-javascript", |home| {
        run(std::process::Command::new("npm")
            .args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"])
            .arg(home)
            .args(packages))
    }) {
        Ok(home) => home,
        Err(why) => return skipped(test, &why),
    };
    // Modules are looked for beside the program.
    let here = home.join("export.mjs");
    // Other tests run the same program: it is put there whole.
    let whole = tempfile::NamedTempFile::new_in(here.parent().expect("a folder")).expect("a file");
    fs::copy(program("export.mjs"), whole.path()).expect("copied");
    whole.persist(&here).expect("in its place");
    let mut command = Command::new("node");
    command.arg(here).arg(which);
    export(command, protocol, compression).await;
}

/// Runs an exporting program with nothing but what we hand out, and looks at what came.
async fn export(mut command: Command, protocol: Protocol, compression: Option<&str>) {
    let (_receiver, intake, _token): (_, Intake, _) = open(LIMITS);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(intake.env(None, protocol))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some(compression) = compression {
        command.env("OTEL_EXPORTER_OTLP_COMPRESSION", compression);
    }
    let running = tokio::time::timeout(Duration::from_secs(120), command.output());
    let output = running.await.expect("it ends").expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.trim().is_empty(), "the exporter complains: {said}");
    check(intake.close());
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/exporters").join(name)
}

/// A folder in which `install` was done once; others wait for it and find it done.
fn installed(name: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-envs").join(name);
    fs::create_dir_all(&home).map_err(|why| why.to_string())?;
    let lock = File::create(home.join("lock")).map_err(|why| why.to_string())?;
    lock.lock().map_err(|why| why.to_string())?;
    let done = home.join("installed");
    if !done.exists() {
        install(&home)?;
        File::create(done).map_err(|why| why.to_string())?;
    }
    Ok(home)
}

fn run(command: &mut std::process::Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{command:?}: {why}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn skipped(test: &str, why: &str) {
    println!("skipped: {test}: {why}");
    assert!(std::env::var_os("MOCKTRIAL_NO_SKIP").is_none_or(|no| no != "1"), "not to be skipped: {why}");
}
