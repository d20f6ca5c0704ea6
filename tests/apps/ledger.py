"""A service on PostgreSQL, or in memory, behind the tools of an app; and, with `app`, the app itself.

usage: ledger.py serve PORT [SOCKET-FOLDER] | ledger.py app
"""

import json
import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Memory:
    def __init__(self):
        self.refunds = []

    def refund(self, order_id):
        self.refunds.append(order_id)
        return len(self.refunds)

    def reset(self):
        self.refunds.clear()


class Postgres:
    def __init__(self, folder):
        import pg8000.native

        self.db = pg8000.native.Connection("desk", database="postgres", unix_sock=f"{folder}/.s.PGSQL.5432")
        self.db.run("CREATE TABLE IF NOT EXISTS refunds (order_id text NOT NULL)")

    def refund(self, order_id):
        self.db.run("INSERT INTO refunds VALUES (:id)", id=order_id)
        return self.db.run("SELECT count(*) FROM refunds")[0][0]

    def reset(self):
        self.db.run("TRUNCATE refunds")


def serve(port, store):
    class Handler(BaseHTTPRequestHandler):
        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.answer(200, {"ready": True})

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.path == "/reset":
                store.reset()
                return self.answer(200, {})
            order = json.loads(body)["order_id"]
            self.answer(201, {"refunds": store.refund(order), "process": os.getpid()})

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def app():
    for _ in sys.stdin:
        body = json.dumps({"order_id": "1042"}).encode()
        request = urllib.request.Request(os.environ["REFUND_URL"] + "/refunds", body)
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request) as answer:
            said = json.load(answer)
        print(json.dumps({"reply": f"refunds={said['refunds']} process={said['process']}"}), flush=True)


if sys.argv[1] == "app":
    app()
else:
    serve(int(sys.argv[2]), Postgres(sys.argv[3]) if len(sys.argv) > 3 else Memory())
