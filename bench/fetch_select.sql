-- The same rows, from a plain table; search_path says which.
\set start random(0, :records - 500)
SELECT :topic::text AS topic, partition, id, ts, key, value,
       coalesce(headers, '{}') AS headers
FROM copy WHERE id >= :start ORDER BY id LIMIT 500;
