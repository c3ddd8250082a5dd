--
-- A clock that was ahead: the times of later records never go back, so what goes
-- by age stands still.  That is told, and there is a way out.
--
\set VERBOSITY terse
-- what others have left
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT minikafka.create_topic('clock', 2, retention => '1 hour', segment_records => 10);
SELECT minikafka.commit_offset('clock', 'clock', 0, 0);
SET minikafka.clock_offset = '365d';
SELECT minikafka.send('clock', 'wrong', partition => 0);
RESET minikafka.clock_offset;
SELECT count(minikafka.send('clock', 'right', partition => i % 2)) FROM generate_series(0, 39) i;
SELECT partition, count(*), bool_and(ts > now() + interval '1 day') AS ahead FROM minikafka_topics.clock GROUP BY 1 ORDER BY 1;

-- nothing goes by its age
SET minikafka.clock_offset = '2h';
CALL minikafka.expire('clock');
CALL minikafka.maintain();
SELECT * FROM minikafka.offsets('clock', 0);
SELECT * FROM minikafka.check_topic('clock');
-- and the age of what is unread is not known
SELECT partition, lag, time_lag FROM minikafka.lag('clock', 'clock');
SELECT partition, time_lag IS NULL AS unknown FROM minikafka.consumer_lag WHERE group_id = 'clock';
RESET minikafka.clock_offset;

-- caught up
SELECT minikafka.commit_offset('clock', 'clock', 0, 21);
SELECT partition, lag, time_lag FROM minikafka.lag('clock', 'clock') WHERE partition = 0;
-- the way out: with nothing in the log, times begin anew
SELECT minikafka.delete_records('clock', 0, -1);
SELECT * FROM minikafka.check_topic('clock');
SELECT minikafka.send('clock', 'after', partition => 0);
SELECT value, "offset", ts < now() + interval '1 hour' AS right FROM minikafka.fetch_text('clock', 0, 21);
SELECT lag, time_lag < interval '1 hour' AS known FROM minikafka.lag('clock', 'clock') WHERE partition = 0;
CALL minikafka.maintain();
SELECT * FROM minikafka.check_topic('clock');
SET minikafka.clock_offset = '2h';
CALL minikafka.expire('clock');
RESET minikafka.clock_offset;
SELECT * FROM minikafka.offsets('clock', 0);

-- a record that was sent meanwhile keeps the wrong time alive, until the log is empty
SET minikafka.clock_offset = '365d';
SELECT minikafka.send('clock', 'wrong', partition => 1);
RESET minikafka.clock_offset;
SELECT minikafka.send('clock', 'meanwhile', partition => 1);
SELECT minikafka.delete_records('clock', 1, 21);
SELECT partition, "offset", problem FROM minikafka.check_topic('clock');
SELECT minikafka.delete_records('clock', 1, -1);
SELECT minikafka.send('clock', 'right', partition => 1);
SELECT * FROM minikafka.check_topic('clock');

-- less than a minute is no mistake: a clock that is adjusted may go back
SET minikafka.clock_offset = '50s';
SELECT minikafka.send('clock', 'x', partition => 1);
RESET minikafka.clock_offset;
SELECT * FROM minikafka.check_topic('clock');
SELECT minikafka.commit_offset('clock', 'clock', 1, 23);
SELECT lag, time_lag FROM minikafka.lag('clock', 'clock') WHERE partition = 1;
CALL minikafka.maintain();

SELECT minikafka.delete_group('clock');
SELECT minikafka.drop_topic('clock');
