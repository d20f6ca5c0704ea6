-- The world of the airline desk: what flies, what it costs, who is booked, and what was paid. Money is in cents.
CREATE TABLE airports (
  code TEXT PRIMARY KEY CHECK (length(code) = 3),
  city TEXT NOT NULL
) STRICT;

-- Rows from flights.csv.
CREATE TABLE flights (
  id TEXT PRIMARY KEY,
  origin TEXT NOT NULL REFERENCES airports (code),
  destination TEXT NOT NULL REFERENCES airports (code),
  departs_at TEXT NOT NULL,
  arrives_at TEXT NOT NULL
) STRICT;

-- What may be done with a ticket of each kind. No change_cents: it cannot be changed at all.
CREATE TABLE fare_rules (
  fare TEXT PRIMARY KEY,
  change_cents INTEGER,
  refund_percent INTEGER NOT NULL CHECK (refund_percent BETWEEN 0 AND 100),
  bags INTEGER NOT NULL
) STRICT;

-- Rows from fares.csv.
CREATE TABLE fares (
  flight_id TEXT NOT NULL REFERENCES flights (id),
  fare TEXT NOT NULL REFERENCES fare_rules (fare),
  cents INTEGER NOT NULL CHECK (cents > 0),
  seats_left INTEGER NOT NULL CHECK (seats_left >= 0),
  PRIMARY KEY (flight_id, fare)
) STRICT;

CREATE TABLE bookings (
  n INTEGER PRIMARY KEY,
  code TEXT NOT NULL UNIQUE DEFAULT ('B' || upper(hex(randomblob(3)))),
  flight_id TEXT NOT NULL REFERENCES flights (id),
  fare TEXT NOT NULL REFERENCES fare_rules (fare),
  state TEXT NOT NULL DEFAULT 'booked' CHECK (state IN ('booked', 'cancelled')),
  email TEXT NOT NULL,
  cents INTEGER NOT NULL,
  bags INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE passengers (
  booking TEXT NOT NULL REFERENCES bookings (code),
  n INTEGER NOT NULL,
  name TEXT NOT NULL,
  seat TEXT,
  PRIMARY KEY (booking, n)
) STRICT;

-- Below zero: paid back.
CREATE TABLE payments (
  id INTEGER PRIMARY KEY,
  booking TEXT NOT NULL REFERENCES bookings (code),
  cents INTEGER NOT NULL CHECK (cents <> 0),
  reason TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE seats (
  seat TEXT PRIMARY KEY,
  place TEXT NOT NULL CHECK (place IN ('window', 'middle', 'aisle'))
) STRICT;

-- A passenger as a seat map shows one.
CREATE VIEW taken AS
  SELECT bookings.flight_id, passengers.seat
  FROM passengers JOIN bookings ON bookings.code = passengers.booking
  WHERE bookings.state = 'booked' AND passengers.seat IS NOT NULL;

INSERT INTO airports VALUES ('HAM', 'Hamburg'), ('LIS', 'Lisbon'), ('OSL', 'Oslo'), ('VIE', 'Vienna');
INSERT INTO fare_rules VALUES ('saver', NULL, 0, 0), ('standard', 4000, 50, 1), ('flex', 0, 100, 2);
INSERT INTO seats
  SELECT line.value || letter.value, CASE letter.value WHEN 'A' THEN 'window' WHEN 'B' THEN 'middle' ELSE 'aisle' END
  FROM json_each('[1, 2, 3, 4]') AS line, json_each('["A", "B", "C"]') AS letter;
