SELECT * FROM pgmq.pop('waiting');
