-- A mail service, in a database of its own, which is not minikafka's:
--
--     createdb mailbox
--     psql -d mailbox -f mailbox.sql
--
-- It stands for any outside system that can refuse a worker which is too late: it
-- remembers the greatest token for each job.

CREATE TABLE fence (
	job text PRIMARY KEY,
	token bigint NOT NULL
);

CREATE TABLE mail (
	job text,
	recipient text,
	token bigint NOT NULL,
	body text NOT NULL,
	PRIMARY KEY (job, recipient)
);

CREATE FUNCTION deliver(job text, token bigint, recipient text, body text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
	INSERT INTO fence AS f VALUES (job, token)
	ON CONFLICT ON CONSTRAINT fence_pkey DO UPDATE SET token = excluded.token
		WHERE f.token <= excluded.token;
	IF NOT FOUND THEN
		RAISE 'a later worker has this job' USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;

	-- A former worker may have delivered some, and then have died.
	INSERT INTO mail VALUES (job, recipient, token, body)
	ON CONFLICT ON CONSTRAINT mail_pkey DO NOTHING;
END
$$;
