"""An app under trial that talks by lines of JSON on its standard streams, for the tests of `target`."""

import json
import sys

print("ready when you are", flush=True)
for line in sys.stdin:
    turn = json.loads(line)
    print("thinking", flush=True)
    if turn["turn"] == "close":
        break
    print(json.dumps({"reply": f"an old one", "n": turn["n"] - 1}), flush=True)
    reply = 5 if turn["turn"] == "number" else f"{turn['n']}: {turn['turn']} ({turn['trial']})"
    print(json.dumps({"reply": reply, "n": turn["n"]}), flush=True)
