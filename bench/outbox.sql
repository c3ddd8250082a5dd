-- 100,000 rows, each of which fires a trigger; then the table is emptied.
INSERT INTO :table SELECT i, 'customer ' || i, i * 1.5, now(), 'something about order ' || i FROM generate_series(1, 100000) AS i;
TRUNCATE :table;
