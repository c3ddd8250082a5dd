-- The same record, as an event of PgQ.
\set key random(1, 1000000)
SELECT pgq.insert_event('bench', :key, :value);
