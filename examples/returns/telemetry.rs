//! Spans in OpenTelemetry's GenAI conventions, sent by the stock OTLP exporter.
//!
//! Where they go and how often is read from `OTEL_…` by the SDK itself; a trial sets those.

use std::error::Error;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::{Injector, TextMapPropagator};
use opentelemetry::trace::{Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::runtime::Tokio;
use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use serde_json::Value;

/// Makes spans and sends them.
pub struct Telemetry {
    desk: &'static str,
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    flush: bool,
}

impl Telemetry {
    /// Of the desk of this name; `export: false` makes spans that go nowhere.
    pub fn new(desk: &'static str, export: bool) -> Result<Self, Box<dyn Error>> {
        let resource = Resource::builder().with_service_name(desk.replace(' ', "-")).build();
        let mut provider = SdkTracerProvider::builder().with_resource(resource);
        if export {
            let exporter = SpanExporter::builder().with_http().build()?;
            provider = provider.with_span_processor(BatchSpanProcessor::builder(exporter, Tokio).build());
        }
        let provider = provider.build();
        let tracer = provider.tracer(desk);
        let flush = export && std::env::var_os("FLUSH_BEFORE_REPLY").is_some();
        Ok(Self { desk, provider, tracer, flush })
    }

    /// One turn of the whole desk.
    pub fn workflow(&self, session: &str) -> Context {
        let attributes = [
            ("gen_ai.operation.name", "invoke_workflow"),
            ("gen_ai.workflow.name", self.desk),
            ("gen_ai.conversation.id", session),
        ];
        self.span(&format!("invoke_workflow {}", self.desk), &attributes, &Context::new())
    }

    /// One run of one agent.
    pub fn agent(&self, name: &str, above: &Context) -> Context {
        let attributes = [("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", name)];
        self.span(&format!("invoke_agent {name}"), &attributes, above)
    }

    /// One call of a tool by the agent `caller`.
    pub fn tool(&self, name: &str, caller: &str, arguments: &Value, above: &Context) -> Context {
        let attributes = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", name),
            ("gen_ai.tool.type", "function"),
            ("gen_ai.tool.call.arguments", &arguments.to_string()),
            ("gen_ai.agent.name", caller),
        ];
        self.span(&format!("execute_tool {name}"), &attributes, above)
    }

    fn span(&self, name: &str, attributes: &[(&'static str, &str)], above: &Context) -> Context {
        let attributes = attributes.iter().map(|(name, value)| KeyValue::new(*name, (*value).to_owned()));
        let span = self.tracer.span_builder(name.to_owned()).with_attributes(attributes);
        above.with_span(span.start_with_context(&self.tracer, above))
    }

    /// Sends what has ended, where the desk is to do so before it replies.
    pub async fn before_reply(&self) {
        if !self.flush {
            return;
        }
        let provider = self.provider.clone();
        let flushed = tokio::task::spawn_blocking(move || provider.force_flush()).await;
        if let Ok(Err(error)) = flushed {
            eprintln!("spans were not sent: {error}");
        }
    }
}

/// Marks a call that passes control to `to` and gets no answer (a draft of the conventions).
pub fn passes_control(call: &Context, to: &str) {
    call.span().set_attribute(KeyValue::new("gen_ai.transfer.mode", "pass_control"));
    call.span().set_attribute(KeyValue::new("gen_ai.transfer.target.type", "agent"));
    call.span().set_attribute(KeyValue::new("gen_ai.transfer.target.name", to.to_owned()));
}

/// Ends a call with what it gave.
pub fn end_call(call: &Context, result: &Value) {
    call.span().set_attribute(KeyValue::new("gen_ai.tool.call.result", result.to_string()));
    if let Some(code) = result["body"]["error"]["code"].as_str() {
        call.span().set_attribute(KeyValue::new("error.type", code.to_owned()));
        call.span().set_status(Status::error(code.to_owned()));
    }
    call.span().end();
}

/// Writes the span's `traceparent` into the headers of a call.
pub fn inject(span: &Context, headers: &mut HeaderMap) {
    struct Headers<'a>(&'a mut HeaderMap);
    impl Injector for Headers<'_> {
        fn set(&mut self, name: &str, value: String) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                self.0.insert(name, value);
            }
        }
    }
    TraceContextPropagator::new().inject_context(span, &mut Headers(headers));
}
