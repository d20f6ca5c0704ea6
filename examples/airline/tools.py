"""A worker's tools: HTTP calls to the one address that this worker knows."""
import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request

ROUTES = {
    "search_flights": ("GET", "/flights"),
    "get_flight": ("GET", "/flights/{flight}"),
    "list_fares": ("GET", "/flights/{flight}/fares"),
    "find_bookings": ("GET", "/bookings"),
    "get_booking": ("GET", "/bookings/{code}"),
    "book_flight": ("POST", "/bookings"),
    "quote_change": ("GET", "/bookings/{code}/quote"),
    "change_flight": ("PATCH", "/bookings/{code}"),
    "cancel_booking": ("DELETE", "/bookings/{code}"),
    "seat_map": ("GET", "/flights/{flight}/seats"),
    "choose_seat": ("PUT", "/bookings/{code}/passengers/{n}/seat"),
    "add_bags": ("POST", "/bookings/{code}/bags"),
    "correct_name": ("PUT", "/bookings/{code}/passengers/{n}/name"),
}


class Answer:
    """What a tool answered. Status 0: no answer that can be read came, and what was done is not known."""

    def __init__(self, status, body):
        self.status, self.body = status, body
        error = body.get("error", body) if isinstance(body, dict) else {}
        self.code = error.get("code") if status >= 400 else None

    @property
    def done(self):
        return 200 <= self.status < 300

    @property
    def unclear(self):
        return self.status == 0 or self.status >= 500


class Tools:
    def __init__(self, variable):
        self.base = os.environ[variable].rstrip("/")

    def call(self, tool, args):
        method, path = ROUTES[tool]
        left = {name: value for name, value in args.items() if value is not None}
        for name in [name for name in left if "{%s}" % name in path]:
            path = path.replace("{%s}" % name, urllib.parse.quote(str(left.pop(name)), safe=""))
        body = None
        if method in ("POST", "PUT", "PATCH"):
            body = json.dumps(left).encode()
        elif left:
            path += "?" + urllib.parse.urlencode(left)
        request = urllib.request.Request(
            self.base + path, method=method, data=body, headers={"content-type": "application/json"}
        )
        try:
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return Answer(answer.status, json.loads(answer.read() or b"null"))
            except urllib.error.HTTPError as refusal:
                return Answer(refusal.code, json.loads(refusal.read() or b"null"))
        except (OSError, http.client.HTTPException, ValueError):
            return Answer(0, None)
