"""Exports one small trace as a stock Python app does. usage: export.py http|grpc. Everything else is environment."""

import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if sys.argv[1] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("exporters.test", "1.2.3")

with tracer.start_as_current_span("invoke_agent refund"):
    with tracer.start_as_current_span("execute_tool issue_refund", kind=trace.SpanKind.CLIENT) as span:
        span.set_attribute("gen_ai.tool.name", "issue_refund")
        span.set_attribute("amount", 5990)
        span.set_attribute("rate", 0.5)
        span.set_attribute("final", True)
        span.set_attribute("items", ["a", "b"])
        span.add_event("asked", {"by": "coordinator"})
        span.set_status(trace.Status(trace.StatusCode.ERROR, "already refunded"))

if not provider.force_flush():
    sys.exit("the flush failed")
provider.shutdown()
