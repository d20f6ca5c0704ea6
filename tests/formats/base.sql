INSERT INTO orders VALUES ('1', 'open', 100);
