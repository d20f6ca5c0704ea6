"""The script in the place of a model: what each agent does next, from what it was asked and what it was shown.

A worker is a generator that yields calls, is sent their answers, and ends with what it tells the coordinator. The
coordinator yields what it asks of workers and what it says, and is sent their results and the traveller's next words.
"""
import os
import re
from dataclasses import dataclass, field
from typing import Any

MISBEHAVE = os.environ.get("MISBEHAVE", "")


@dataclass
class Call:
    """Call a tool and go on with its answer."""

    tool: str
    args: dict


@dataclass
class Ask:
    """Ask a worker and go on with its result."""

    worker: str
    task: dict = field(default_factory=dict)


@dataclass
class Done:
    """A worker's result."""

    result: Any


def euros(cents):
    return f"{cents // 100}.{cents % 100:02} euros"


def steady(tool, **args):
    """A read that is asked once more where no clear answer came."""
    answer = yield Call(tool, args)
    if answer.unclear:
        answer = yield Call(tool, args)
    return answer


NO = {
    "airport_unknown": "I do not know that airport.",
    "day_unreadable": "I could not read that day.",
    "flight_not_found": "There is no such flight.",
    "fare_not_sold": "That fare is not sold on that flight.",
    "sold_out": "I am sorry, that fare is sold out on that flight.",
    "too_late": "It is less than two hours to departure, too late for that.",
    "booking_not_found": "I could not find that booking.",
    "not_changeable": "A saver ticket cannot be changed.",
    "seat_taken": "That seat is taken.",
    "no_such_seat": "There is no such seat.",
    "another_person": "A ticket cannot be passed on to another person.",
    "passenger_not_found": "That passenger is not in the booking.",
    "not_permitted": "I am not allowed to do that.",
    "calls_exhausted": "I am not allowed to do that.",
}


def no(answer):
    return NO.get(answer.code, "I am sorry, that does not work now. Please try again later.")


# --- workers ---


def search(task):
    if "flight" in task:
        flight = yield from steady("get_flight", flight=task["flight"])
        fares = yield from steady("list_fares", flight=task["flight"])
        if not (flight.done and fares.done):
            yield Done({"no": no(fares if flight.done else flight)})
        fitting = [row for row in fares.body if row["fare"] == task["fare"]]
        yield Done({"flight": flight.body, "fare": fitting[0] if fitting else None})
    found = yield from steady("search_flights", **task)
    yield Done({"rows": found.body} if found.done else {"no": no(found)})


def booking(task):
    book = Call("book_flight", {**task, "contact": {"email": task["email"]}})
    email = book.args.pop("email")
    answer = yield book
    if answer.unclear and MISBEHAVE == "books_twice":
        answer = yield book
    elif answer.unclear:
        # It may have been done: look before anything is bought twice.
        made = yield from steady("find_bookings", email=email)
        here = [row for row in made.body or [] if row["flight_id"] == task["flight"] and row["state"] == "booked"]
        if here:
            yield Done({"booked": here[-1]})
        if made.done:
            answer = yield book
    yield Done({"booked": answer.body} if answer.done else {"no": no(answer)})


def changes(task):
    code = task["code"]
    if task["do"] == "look":
        found = yield from steady("get_booking", code=code)
        if not found.done:
            yield Done({"no": no(found)})
        if "flight" not in task:
            yield Done({"booking": found.body})
        quote = yield from steady("quote_change", code=code, flight=task["flight"])
        yield Done({"booking": found.body, "quote": quote.body} if quote.done else {"no": no(quote)})
    if task["do"] == "move":
        moved = yield Call("change_flight", {"code": code, "flight": task["flight"]})
        yield Done({"moved": moved.body} if moved.done else {"no": no(moved)})
    gone = yield Call("cancel_booking", {"code": code})
    if gone.status == 409 and "paid_back_cents" in (gone.body or {}):
        yield Done({"no": f"Booking {code} was cancelled already; {euros(gone.body['paid_back_cents'])} went back."})
    yield Done({"cancelled": gone.body} if gone.done else {"no": no(gone)})


def services(task):
    code = task["code"]
    found = yield from steady("get_booking", code=code)
    if not found.done:
        yield Done({"no": no(found)})
    if task["do"] == "bags":
        added = yield Call("add_bags", {"code": code, "pieces": task["pieces"]})
        if added.code == "too_many_bags":
            yield Done({"no": f"This fare carries {added.body['allowed']} bags in all."})
        yield Done({"said": f"Booking {code} has {added.body['bags']} bags."} if added.done else {"no": no(added)})
    if task["do"] == "move":
        moved = yield Call("change_flight", {"code": code, "flight": task["flight"]})
        yield Done({"moved": moved.body} if moved.done else {"no": no(moved)})
    n = next((one["n"] for one in found.body["passengers"] if one["name"] == task["name"]), None)
    if n is None:
        yield Done({"no": NO["passenger_not_found"]})
    if task["do"] == "name":
        corrected = yield Call("correct_name", {"code": code, "n": n, "name": task["to"]})
        yield Done({"said": f"The name is now {task['to']}."} if corrected.done else {"no": no(corrected)})
    given = yield Call("choose_seat", {"code": code, "n": n, "seat": task["seat"]})
    if given.code == "seat_taken":
        free = yield from steady("seat_map", flight=found.body["flight_id"], place="window")
        seats = ", ".join(row["seat"] for row in free.body[:3]) if free.done else "none that I can see"
        yield Done({"no": f"Seat {task['seat']} is taken. Free at the window: {seats}."})
    yield Done({"said": f"{task['name']} sits in {given.body['seat']}."} if given.done else {"no": no(given)})


# --- the coordinator ---


def agrees(text):
    return re.search(r"\b(yes|go ahead|please do)\b", text.lower()) is not None


def coordinator():
    said = yield None
    while True:
        said = yield from handle(said)


def handle(said):
    """Answers one wish and gives the words that are none of its own: the traveller's next wish."""
    if wish := re.search(r"from ([A-Z]{3}) to ([A-Z]{3}) on (\d{4}-\d\d-\d\d)", said):
        return (yield from find(said, *wish.groups()))
    if wish := re.search(r"book (\w+) in (saver|standard|flex) for (.+), mail (\S+@[\w.]+\w)", said, re.I):
        return (yield from buy(*wish.groups()))
    if wish := re.search(r"move booking (\w+) to (\w+)", said, re.I):
        return (yield from move(*wish.groups()))
    if wish := re.search(r"cancel booking (\w+)", said, re.I):
        return (yield from cancel(wish[1]))
    if wish := re.search(r"(\d+) bags? .*booking (\w+)", said, re.I):
        return (yield from serve({"do": "bags", "code": wish[2], "pieces": int(wish[1])}))
    if wish := re.search(r"seat (\w+) for (.+) in booking (\w+)", said, re.I):
        return (yield from serve({"do": "seat", "code": wish[3], "name": wish[2], "seat": wish[1]}))
    if wish := re.search(r"name (.+) to (.+) in booking (\w+)", said, re.I):
        return (yield from serve({"do": "name", "code": wish[3], "name": wish[1], "to": wish[2]}))
    return (yield "I can find, book, move and cancel flights, and see to seats, bags and names.")


def find(said, origin, destination, day):
    task = {"origin": origin, "destination": destination, "day": day, "page": 1}
    if limit := re.search(r"under (\d+) euros", said):
        task["max_cents"] = int(limit[1]) * 100
    if fare := re.search(r"\b(saver|standard|flex)\b", said):
        task["fare"] = fare[1]
    while True:
        found = yield Ask("search", task)
        if "no" in found:
            return (yield found["no"])
        if not found["rows"]:
            return (yield "I found no flights like that.")
        rows = [f"{row['id']} {row['fare']} {euros(row['cents'])}" for row in found["rows"]]
        more = found["rows"][0]["total"] - 3 * task["page"]
        said = yield "; ".join(rows) + (f"; {more} more." if more > 0 else ".")
        if more <= 0 or "more" not in said.lower():
            return said
        task = {**task, "page": task["page"] + 1}


def buy(flight, fare, names, email):
    names = re.split(r",\s*|\s+and\s+", names)
    found = yield Ask("search", {"flight": flight, "fare": fare})
    if "no" in found:
        return (yield found["no"])
    if found["fare"] is None:
        return (yield NO["fare_not_sold"])
    price = euros(found["fare"]["cents"] * len(names))
    said = yield f"{flight} to {found['flight']['to_city']} in {fare} is {price} for {len(names)}. Shall I book it?"
    if not agrees(said):
        return (yield "All right, nothing was booked.")
    task = {"flight": flight, "fare": fare, "passengers": [{"name": name} for name in names], "email": email}
    made = yield Ask("booking", task)
    if "no" in made:
        return (yield made["no"])
    return (yield f"Booked: your code is {made['booked']['code']}, {euros(made['booked']['cents'])}.")


def move(code, flight):
    if MISBEHAVE == "overreaches":
        done = yield Ask("services", {"do": "move", "code": code, "flight": flight})
        return (yield done.get("no", "Moved."))
    found = yield Ask("changes", {"do": "look", "code": code, "flight": flight})
    if "no" in found:
        return (yield found["no"])
    quote = found["quote"]
    if quote["change_cents"] is None:
        return (yield NO["not_changeable"])
    due = quote["change_cents"] + quote["difference_cents"]
    said = yield f"Moving booking {code} to {flight} costs {euros(due)}. Shall I?"
    if not agrees(said):
        return (yield "All right, your booking stays as it is.")
    done = yield Ask("changes", {"do": "move", "code": code, "flight": flight})
    return (yield done.get("no", f"Booking {code} is on {flight} now, for {euros(due)}."))


def cancel(code):
    found = yield Ask("changes", {"do": "look", "code": code})
    if "no" in found:
        return (yield found["no"])
    said = yield f"Booking {code} is a {found['booking']['fare']} ticket. Shall I cancel it?"
    if not agrees(said):
        return (yield "All right, your booking stays as it is.")
    done = yield Ask("changes", {"do": "cancel", "code": code})
    if "no" in done:
        return (yield done["no"])
    return (yield f"Booking {code} is cancelled; {euros(done['cancelled']['paid_back_cents'])} go back to you.")


def serve(task):
    done = yield Ask("services", task)
    return (yield done.get("said") or done["no"])
