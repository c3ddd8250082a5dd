SELECT count(*) FROM pgmq.delete('waiting', ARRAY(SELECT msg_id FROM pgmq.read('waiting', 30, :records)));
