BEGIN;
SELECT next_offset AS next FROM bench.position WHERE consumer = 'c' \gset
SELECT * FROM copy WHERE id >= :next::bigint ORDER BY id LIMIT :records::bigint;
UPDATE bench.position SET next_offset = :next + :records::bigint WHERE consumer = 'c';
COMMIT;
