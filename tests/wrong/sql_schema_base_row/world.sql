CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, total_cents INTEGER NOT NULL) STRICT;
CREATE TABLE refunds (order_id TEXT NOT NULL REFERENCES orders(id), amount_cents INTEGER NOT NULL) STRICT;
INSERT INTO orders VALUES ('1', 'open', 5);
INSERT INTO refunds VALUES ('2', 5);
