CREATE TABLE orders (id TEXT PRIMARY KEY);
CREATE TABEL refunds (order_id TEXT);
