"""An app under trial for the tests of `target`: echoes what it is told, and misbehaves as its arguments and turns say.

Arguments (any number): die, never, warming, deaf, child, tidy, escape, daemon, flood, noise; `robbed:HOW:FILE`: the
first time (FILE is not there yet) a stranger takes the port; the app dies of it, or stays while the stranger answers.
Turns: `die`, `hang`, `half`, `health`, `status`, `garbage`, `long`; anything else is echoed.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ways = set(sys.argv[1:])
asked_health = 0
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"data: {event}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def do_GET(self):
        global asked_health
        asked_health += 1
        cold = "warming" in ways and asked_health <= 3
        self.answer(b"{}", status=503 if cold or "never" in ways else 200)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/chat/completions":
            return self.complete(asked)
        text = asked["message"]
        if text == "die":
            os._exit(7)
        if text == "hang":
            time.sleep(60)
        if text == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"reply\": ")
            self.wfile.flush()
            os._exit(8)
        if text == "health":
            return self.answer(json.dumps({"reply": str(asked_health)}).encode())
        if text == "status":
            return self.answer(b"no such thing", status=500)
        if text == "garbage":
            return self.answer(b"<html>")
        if text == "long":
            return self.answer(b'{"reply": "' + b"x" * 100_000 + b'"}')
        said = "it is mine now" if "thief" in ways else f"you said {text}"
        if self.path == "/sse":
            pieces = [{"start": True}, {"delta": said[:4]}, {"delta": said[4:]}, {"end": True}]
            self.stream(json.dumps(piece) for piece in pieces)
        elif self.path == "/plain":
            self.answer(said.encode(), "text/plain")
        else:
            self.answer(json.dumps({"reply": said, "asked": asked}).encode())

    def complete(self, asked):
        said = " | ".join(f"{m['role']}: {m['content']}" for m in asked["messages"])
        if not asked["stream"]:
            message = {"role": "assistant", "content": said}
            return self.answer(json.dumps({"choices": [{"message": message}]}).encode())
        pieces = [{"role": "assistant"}, {"content": said[:5]}, {"content": said[5:]}]
        events = [json.dumps({"choices": [{"delta": piece}]}) for piece in pieces]
        self.stream(events if asked["messages"][-1]["content"] == "half" else [*events, "[DONE]"])


def shell(script):
    """Goes on once the shell has said that it is up, so that its traps are set."""
    subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE).stdout.readline()


def robbed(how, file):
    env = {"PORT": os.environ["PORT"], "PATH": os.environ["PATH"]}
    deeds = "thief never" if how == "die" else "thief"
    robber = f"'{sys.executable}' '{__file__}' {deeds} & echo $! > '{file}'"
    subprocess.run(["setsid", "sh", "-c", robber], env=env, **QUIET)
    while True:
        try:
            socket.create_connection(("127.0.0.1", int(env["PORT"]))).close()
            break
        except OSError:
            time.sleep(0.01)
    if how == "die":
        sys.exit("the port is taken")
    time.sleep(60)


for way in ways:
    if way.startswith("robbed:"):
        how, file = way.split(":")[1:]
        if not os.path.exists(file):
            robbed(how, file)
if "die" in ways:
    print("cannot go on", file=sys.stderr)
    sys.exit(3)
if "flood" in ways:
    sys.stdout.write("x" * 1_000_000 + "the end")
    sys.stdout.flush()
if "noise" in ways:
    print("my key is hunter2", flush=True)
if "deaf" in ways:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "child" in ways:
    shell("trap '' TERM; echo up; sleep 61 & wait; sleep 61")
if "tidy" in ways:
    shell("trap 'sleep 0.3; exit' TERM; echo up; while :; do sleep 0.05; done")
if "escape" in ways:
    subprocess.Popen(["sleep", "62"], start_new_session=True, **QUIET)
if "daemon" in ways:
    # Twice removed, in a session of its own, with nothing of ours but the mark in its environment.
    subprocess.run(["setsid", "sh", "-c", "sleep 63 & exit"], **QUIET)
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Chat).serve_forever()
