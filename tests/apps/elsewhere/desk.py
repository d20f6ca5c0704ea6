"""A desk on standard streams that needs nothing installed: one good call, one to the wrong worker's address, three spans.

Where it runs is not its business: the addresses stand in its environment."""
import json
import os
import sys
import time
import urllib.error
import urllib.request


def send(address, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def span(number, parent, operation, key, name):
    attributes = {"gen_ai.operation.name": operation, key: name}
    now = time.time_ns()
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"{operation} {name}",
        "startTimeUnixNano": str(now + number),
        "endTimeUnixNano": str(now + 1000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


for line in sys.stdin:
    turn = json.loads(line)
    refund = {"order_id": "1042", "amount_cents": 5990}
    got = [
        send(os.environ["ORDER_LOOKUP_URL"].rstrip("/") + "/orders/1042"),
        send(os.environ["ORDER_LOOKUP_URL"].rstrip("/") + "/refunds", refund),
        send(os.environ["REFUND_URL"].rstrip("/") + "/refunds", refund),
    ]
    spans = [
        span(1, None, "invoke_agent", "gen_ai.agent.name", "coordinator"),
        span(2, 1, "execute_tool", "gen_ai.tool.name", "ask_refund"),
        span(3, 2, "invoke_agent", "gen_ai.agent.name", "refund"),
        span(4, 3, "execute_tool", "gen_ai.tool.name", "issue_refund"),
    ]
    export = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    got.append(send(os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], export))
    print(json.dumps({"reply": " ".join(map(str, got)), "n": turn["n"]}), flush=True)
