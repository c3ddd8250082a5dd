BEGIN;
SELECT pgq.next_batch('waiting', 'c') AS batch \gset
SELECT * FROM pgq.get_batch_events(:batch);
SELECT pgq.finish_batch(:batch);
COMMIT;
