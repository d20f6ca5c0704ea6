CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, total_cents INTEGER NOT NULL) STRICT;
CREATE TABLE refunds (order_id TEXT, amount_cents INTEGER, at TEXT) STRICT;
