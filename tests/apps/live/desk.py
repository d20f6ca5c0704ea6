"""What the desks of all Python frameworks share: their tools, what their models say, and the chat door.

The models are scripted, so a desk needs no network and no key. The tools call each worker's own address, and write to
TOOLS_LOG what they did and what they were answered: the truth that a trial's record is compared with.

  PORT               where the door listens; GET /health, POST /chat {"message"} -> {"reply"}
  ORDER_LOOKUP_URL   base address of the order tools
  REFUND_URL         base address of the refund tools
  TOOLS_LOG          file to append one JSON object a call to
"""
import asyncio
import json
import os
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

turn = 0


def call(worker: str, tool: str, arguments: dict, method: str, path: str, body: dict | None = None) -> str:
    """A refusal is an answer that the model reads, not an exception."""
    request = urllib.request.Request(
        os.environ[worker.upper() + "_URL"].rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        status, text = refusal.code, refusal.read().decode()
    with open(os.environ["TOOLS_LOG"], "a") as log:
        log.write(json.dumps({"worker": worker, "tool": tool, "arguments": arguments, "status": status}) + "\n")
    return text


def get_order(worker: str, order_id: str) -> str:
    return call(worker, "get_order", {"order_id": order_id}, "GET", f"/orders/{order_id}")


def issue_refund(worker: str, order_id: str, amount_cents: int) -> str:
    body = {"order_id": order_id, "amount_cents": amount_cents}
    return call(worker, "issue_refund", body, "POST", "/refunds", body)


def says(agent: str, asked: str, answered: bool) -> str | list[tuple[str, dict]]:
    """What an agent's model answers: a text, or calls. `answered`: it has the results of the calls it asked for."""
    if agent == "coordinator":
        if turn == 1:
            both = [("order_lookup", {"request": "Find order 1042"}), ("refund", {"request": "Check order 1042"})]
            return "Order 1042 was delivered. Shall I pay it back?" if answered else both
        return "Your refund is on its way." if answered else [("refund", {"request": "Pay back order 1042"})]
    if answered:
        return "Done."
    if agent == "refund" and "Pay" in asked:
        return [("issue_refund", {"order_id": "1042", "amount_cents": 5990})]
    return [("get_order", {"order_id": "1042"})]


def serve(answer) -> None:
    """`answer`: from a user's message to the reply, a coroutine function."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send({"ok": True})

        def do_POST(self):
            global turn
            turn += 1
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = asyncio.run(answer(asked["message"]))
            provider.force_flush()  # the contract says `on_reply`
            self.send({"reply": reply})

        def send(self, body):
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Door).serve_forever()
