-- The world of the returns desk: what was ordered, when it came, and what was paid back.
CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('open', 'delivered', 'cancelled')),
  total_cents INTEGER NOT NULL CHECK (total_cents > 0)
);

-- Absent: the day is not known, and the window does not close.
CREATE TABLE deliveries (
  order_id TEXT PRIMARY KEY REFERENCES orders (id),
  delivered_on TEXT NOT NULL
);

CREATE TABLE refunds (
  order_id TEXT NOT NULL REFERENCES orders (id),
  amount_cents INTEGER NOT NULL CHECK (amount_cents > 0)
);

-- Somebody else's orders, which no trial should touch.
INSERT INTO orders VALUES ('1001', 'delivered', 2500), ('1002', 'open', 12900);
INSERT INTO deliveries VALUES ('1001', '2026-02-20');
