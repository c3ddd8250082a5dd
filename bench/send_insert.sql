-- The same record, as a row of a plain table.
\set key random(1, 1000000)
\set partition random(0, :partitions - 1)
INSERT INTO bench.plain (partition, key, value)
VALUES (:partition, :key::bytea, :value::bytea);
