SELECT * FROM pgmq.read('waiting', 30, 1) \gset
SELECT pgmq.delete('waiting', :msg_id::bigint);
