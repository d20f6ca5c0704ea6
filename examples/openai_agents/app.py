"""The returns desk on the OpenAI Agents SDK: a coordinator that hands work to two workers, each with tools of its own.

Nothing in here is made for being tried: the SDK's agents and runner, OpenInference for its spans, one HTTP client per
worker that reads its address from that worker's environment variable, and a chat door. The model is whatever answers at
OPENAI_BASE_URL.

  PORT               where the door listens; GET /health, POST /chat {"session","message"} -> {"reply"}
  ORDER_LOOKUP_URL   base address of the order tools
  REFUND_URL         base address of the refund tools
  MISBEHAVE          wrong_worker: the lookup worker tries to issue the refund itself
"""
import asyncio
import json
import os
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agents import Agent, RunConfig, Runner, function_tool, set_trace_processors
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
set_trace_processors([])  # the SDK's own exporter would ask for a key
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)


def ask(variable: str, method: str, path: str, body: dict | None = None) -> str:
    """One tool call over HTTP. A refusal is an answer that the model reads, not an exception."""
    request = urllib.request.Request(
        os.environ[variable].rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.read().decode()


@function_tool
def get_order(order_id: str) -> str:
    """Look up one order."""
    return ask("ORDER_LOOKUP_URL", "GET", f"/orders/{order_id}")


@function_tool
def issue_refund(order_id: str, amount_cents: int) -> str:
    """Refund an order once."""
    worker = "ORDER_LOOKUP_URL" if os.environ.get("MISBEHAVE") == "wrong_worker" else "REFUND_URL"
    return ask(worker, "POST", "/refunds", {"order_id": order_id, "amount_cents": amount_cents})


model = os.environ.get("MODEL", "gpt-5.1")
lookup = Agent(name="Order Lookup", instructions="Lookup finds orders.", tools=[get_order], model=model)
refund = Agent(name="Refund", instructions="Refund pays back.", tools=[issue_refund], model=model)
coordinator = Agent(
    name="Coordinator",
    instructions="Coordinator answers the customer and hands the work out.",
    model=model,
    tools=[
        lookup.as_tool(tool_name="order_lookup", tool_description="Find an order"),
        refund.as_tool(tool_name="refund", tool_description="Refund an order"),
    ],
)
history: dict[str, list] = {}
loop = asyncio.new_event_loop()  # one for all turns, since the SDK's connections belong to the loop that opened them
threading.Thread(target=loop.run_forever, daemon=True).start()


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"ok": True})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        heard = history.get(asked["session"], []) + [{"role": "user", "content": asked["message"]}]
        running = Runner.run(coordinator, heard, run_config=RunConfig(workflow_name="returns desk"))
        done = asyncio.run_coroutine_threadsafe(running, loop).result()
        history[asked["session"]] = heard + [{"role": "assistant", "content": done.final_output}]
        provider.force_flush()  # `telemetry: { flush: on_reply }` says so in the contract
        self.answer({"reply": done.final_output})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Door).serve_forever()
