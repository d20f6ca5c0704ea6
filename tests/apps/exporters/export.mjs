// Exports one small trace as a stock JavaScript app does. usage: export.mjs http|proto|grpc. Everything else is environment.

import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${process.argv[2]}`);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const tracer = provider.getTracer("exporters.test", "1.2.3");

const agent = tracer.startSpan("invoke_agent refund");
const within = trace.setSpan(context.active(), agent);
const tool = tracer.startSpan("execute_tool issue_refund", { kind: SpanKind.CLIENT }, within);
tool.setAttribute("gen_ai.tool.name", "issue_refund");
tool.setAttribute("amount", 5990);
tool.setAttribute("rate", 0.5);
tool.setAttribute("final", true);
tool.setAttribute("items", ["a", "b"]);
tool.addEvent("asked", { by: "coordinator" });
tool.setStatus({ code: SpanStatusCode.ERROR, message: "already refunded" });
tool.end();
agent.end();

await provider.forceFlush();
await provider.shutdown();
