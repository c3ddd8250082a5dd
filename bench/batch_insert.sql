-- The same records, as rows of a plain table.
INSERT INTO bench.plain (partition, key, value)
SELECT k % :partitions, int4send(k), :value::bytea
FROM generate_series(1, 1000) AS k;
