"""An airline desk in plain Python: a coordinator that hands work to four workers, each with an HTTP client of its own.

Its model is scripted (model.py), so it runs without a network and without a key. It exports no spans: what it did is seen
at its channels alone.

  PORT                                               where the door listens; GET /health, POST /chat {"session","message"}
  SEARCH_URL, BOOKING_URL, CHANGES_URL, SERVICES_URL each worker's base address
  MISBEHAVE                                          overreaches: the services worker moves a booking itself
                                                     books_twice: the booking worker books again after a cut answer
"""
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import model
from tools import Tools

WORKERS = {name: Tools(f"{name.upper()}_URL") for name in ("search", "booking", "changes", "services")}


def work(worker, task):
    """One run of a worker: what its model asks for is done, and shown to it, until it answers."""
    script = getattr(model, worker)(task)
    step = next(script)
    while isinstance(step, model.Call):
        step = script.send(WORKERS[worker].call(step.tool, step.args))
    return step.result


class Session:
    """One traveller's talk with the coordinator, which lasts over turns."""

    def __init__(self):
        self.script = model.coordinator()
        next(self.script)
        self.lock = threading.Lock()

    def turn(self, message):
        with self.lock:
            step = self.script.send(message)
            while isinstance(step, model.Ask):
                step = self.script.send(work(step.worker, step.task))
            return step


SESSIONS = {}
LOCK = threading.Lock()


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"ok": True})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with LOCK:
            session = SESSIONS.setdefault(asked["session"], Session())
        self.answer({"reply": session.turn(asked["message"])})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Door).serve_forever()
