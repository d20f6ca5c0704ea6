"""An app under trial that leaks its secret and its tokens wherever it can, for tests/canary.rs. Talks by lines of JSON."""

import json
import os
import sys
import urllib.parse
import urllib.request

secret = os.environ["API_KEY"]
tools, traces = os.environ["REFUND_URL"], os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
escaped = json.dumps(secret)[1:-1]
ways = [
    secret,
    escaped,
    json.dumps(escaped)[1:-1],
    json.dumps(secret, ensure_ascii=False)[1:-1],
    urllib.parse.quote(secret, safe=""),
    urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""),
    urllib.parse.quote_plus(secret),
    tools,
    traces,
]
with open(os.environ["WITNESS"], "a") as witness:
    witness.write(tools + "\n" + traces + "\n")


def post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **headers})
    try:
        urllib.request.urlopen(request, timeout=20).read()
    except urllib.error.HTTPError as error:
        error.read()


def attribute(key, text):
    return {"key": key, "value": {"stringValue": text}}


for line in sys.stdin:
    turn = json.loads(line)
    for n, way in enumerate(ways):
        # In two writes, so that neither holds the whole.
        for stream in (sys.stdout, sys.stderr):
            stream.write(way[: len(way) // 2])
            stream.flush()
            stream.write(way[len(way) // 2 :] + "\n")
            stream.flush()
        headers = {"authorization": "Bearer " + secret.encode("ascii", "ignore").decode(), "x-way": urllib.parse.quote(way)}
        post(tools + "/refunds?key=" + urllib.parse.quote(way, safe=""), {"order_id": way, "amount_cents": n}, headers)
        post(tools + "/nothing/" + urllib.parse.quote(way, safe=""), {way: way}, headers)
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "POST " + secret,
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [attribute(f"way.{n}", way) for n, way in enumerate(ways)] + [attribute(secret, "key")],
        "status": {"code": 2, "message": escaped},
    }
    post(traces, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, {})
    print(json.dumps({"reply": " ".join(ways), "n": turn["n"]}), flush=True)
