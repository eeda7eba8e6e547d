-- Time to live: which items expire, and deleting them.
SET search_path = public, pg_temp;
CREATE SCHEMA other;

-- The matrix of the container's default and the item's ttl, 30 s after the last change.  A ttl is inert
-- while the default is off; -1 is on without a default; what is not valid never expires.
SELECT ttl, bool_or(expired) FILTER (WHERE default_ttl IS NULL) AS "off", bool_or(expired) FILTER (WHERE default_ttl = -1) AS "-1", bool_or(expired) FILTER (WHERE default_ttl = 60) AS "60",
	bool_or(expired) FILTER (WHERE default_ttl = 20) AS "20"
FROM (SELECT ttl, default_ttl, partitionkey.item_expired(CASE WHEN ttl = 'absent' THEN '{"id": "1"}' ELSE jsonb_build_object('id', '1', 'ttl', ttl::jsonb) END, statement_timestamp() - interval '30 s', default_ttl) AS expired
	FROM unnest(ARRAY['absent', '-1', '10', '2000', '0', '"10"', 'null', '1.5', '10.0', '-2', '2147483647', '2147483648', '1e400', 'true', '[]', '{}']) ttl, unnest('{NULL,-1,60,20}'::int[]) default_ttl) matrix
GROUP BY ttl ORDER BY ttl COLLATE "C";
-- it expires when its last second is over
SELECT s, partitionkey.item_expired('{}', statement_timestamp() - s * interval '1 s', 10) FROM unnest('{9.999999,10,10.000001,-5}'::numeric[]) s;
-- by the start of the statement, in a long transaction, too
BEGIN;
SELECT pg_sleep(1.1) IS NULL AS slept;
SELECT partitionkey.item_expired('{}', now(), 1) AS later, partitionkey.item_expired('{}', statement_timestamp(), 1) AS at_once, partitionkey.item_expired('{}', clock_timestamp() - interval '1 s', 1) FROM (SELECT pg_sleep(0.1)) s;
COMMIT;
-- what has no time, no document, or no object as a document
SELECT partitionkey.item_expired('{}', NULL, 1) AS no_time, partitionkey.item_expired('{"ttl": 1}', 'infinity', 1) AS infinity, partitionkey.item_expired('{"ttl": 1}', '-infinity', 1) AS minus_infinity,
	partitionkey.item_expired('{"ttl": 1}', '294276-12-31 23:59:59.999999+00', 1) AS last, partitionkey.item_expired('{"ttl": 2147483647}', '4713-01-01 00:00:00+00 BC', 1) AS first,
	partitionkey.item_expired(NULL, '2020-01-01', 1) AS no_doc, partitionkey.item_expired('[{"ttl": -1}]', '2020-01-01', 1) AS array, partitionkey.item_expired('"ttl"', '2020-01-01', 1) AS string,
	partitionkey.item_expired('{"a": {"ttl": -1}}', '2020-01-01', 1) AS nested, partitionkey.item_expired('{"TTL": -1}', '2020-01-01', 1) AS upper;
SELECT partitionkey.item_expired('{}', now(), 0);
SELECT partitionkey.item_expired('{}', now(), -2);
SELECT doc, partitionkey.ttl_fault(doc) FROM (VALUES ('{}'::jsonb), ('{"ttl": null}'), ('{"ttl": -1}'), ('{"ttl": 1}'), ('{"ttl": 42.0}'), ('{"ttl": 2147483647}'), ('3'), (NULL),
	('{"ttl": 0}'), ('{"ttl": -2}'), ('{"ttl": 1.5}'), ('{"ttl": 2147483648}'), ('{"ttl": "10"}'), ('{"ttl": true}'), ('{"ttl": [10]}')) v(doc);
SELECT length(partitionkey.ttl_fault(jsonb_build_object('ttl', repeat('x', 1000)))), octet_length(partitionkey.ttl_fault(jsonb_build_object('ttl', repeat('ä', 1000)))) <= 43 AS short;

-- The container's default: off, on, and on with seconds.  Nothing else of the definition changes, and nothing is said about keys.
SELECT partitionkey.create_container_from_definition('{"id": "Sessions", "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2}, "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mail"]}]}, "defaultTtl": 1}');
SELECT partitionkey.container_definition('sessions');
SELECT partitionkey.set_default_ttl('sessions', -1);
SELECT partitionkey.container_definition('sessions')->'defaultTtl' AS ttl;
SELECT partitionkey.set_default_ttl('sessions', NULL);
SELECT partitionkey.container_definition('sessions') AS off;
SELECT partitionkey.set_default_ttl('sessions', 2147483647);
SELECT partitionkey.container_definition('sessions')->'defaultTtl' AS ttl;
SELECT partitionkey.set_default_ttl('sessions', 0);
SELECT partitionkey.set_default_ttl('sessions', -2);
SELECT partitionkey.set_default_ttl(NULL, 1);
SELECT partitionkey.set_default_ttl('pg_class', 1);
BEGIN READ ONLY;
SELECT partitionkey.set_default_ttl('sessions', 1);
ROLLBACK;
BEGIN;
SELECT partitionkey.set_default_ttl('sessions', 7);
SELECT partitionkey.set_default_ttl('sessions', 8);
SELECT partitionkey.container_definition('sessions')->'defaultTtl' AS ttl;
ROLLBACK;
SELECT partitionkey.container_definition('sessions')->'defaultTtl' AS ttl;
-- a container that was not made from a definition
CREATE TABLE "My Table" (k int NOT NULL, "Doc" jsonb, ts timestamptz DEFAULT now());
SELECT partitionkey.create_container('"My Table"', '{/k}', '{2}');
SELECT partitionkey.container_definition('"My Table"'), partitionkey.epk_of('"My Table"', '[1]') AS epk \gset
SELECT partitionkey.set_default_ttl('"My Table"', 60);
SELECT partitionkey.container_definition('"My Table"'), partitionkey.container_definition('"My Table"') - 'defaultTtl' = :'container_definition' AS same, partitionkey.epk_of('"My Table"', '[1]') = :'epk' AS same_epk;
ALTER TABLE "My Table" RENAME TO it;
SELECT partitionkey.container_definition('it');
ALTER TABLE it RENAME TO "My Table";

-- Deleting: the matrix again, as rows
CREATE FUNCTION fill(default_ttl int) RETURNS void LANGUAGE sql AS $$
	SELECT partitionkey.set_default_ttl('sessions', default_ttl);
	TRUNCATE sessions;
	INSERT INTO sessions (tenant, "user", id, doc, ts) SELECT 't' || n % 3, 'u' || n % 2, ttl, CASE WHEN ttl = 'absent' THEN '{}' ELSE jsonb_build_object('ttl', ttl::jsonb) END || jsonb_build_object('mail', n), statement_timestamp() - interval '30 s'
	FROM unnest(ARRAY['absent', '-1', '10', '2000', '0', '"10"', 'null', '1.5']) WITH ORDINALITY t(ttl, n) $$;
SELECT fill(NULL);
SELECT partitionkey.delete_expired('sessions');
SELECT count(*) FROM sessions;
SELECT fill(-1);
SELECT partitionkey.delete_expired('sessions');
SELECT string_agg(id, ' ' ORDER BY id COLLATE "C") AS "left" FROM sessions;
SELECT fill(60);
CALL partitionkey.delete_expired_in_batches('sessions');
SELECT string_agg(id, ' ' ORDER BY id COLLATE "C") AS "left" FROM sessions;
SELECT fill(20);
CALL partitionkey.delete_expired_in_batches('sessions', 1);
SELECT string_agg(id, ' ' ORDER BY id COLLATE "C") AS "left" FROM sessions;
-- what never expires is told each time, and can be found
SELECT id, partitionkey.ttl_fault(doc) FROM sessions WHERE partitionkey.ttl_fault(doc) IS NOT NULL ORDER BY id COLLATE "C";
SELECT partitionkey.delete_expired('sessions');
DELETE FROM sessions WHERE id <> '1.5';
SELECT partitionkey.delete_expired('sessions');
TRUNCATE sessions;
SELECT partitionkey.delete_expired('sessions');
CALL partitionkey.delete_expired_in_batches('sessions');

-- Many items, of all leaves; a part of them at a time; by keys of several types
SET client_min_messages = warning;
CREATE TABLE numbers (a text NOT NULL, b numeric NOT NULL, c jsonb NOT NULL, gone int, doc jsonb NOT NULL, ts timestamptz NOT NULL) PARTITION BY HASH (a partitionkey.text_xxhash_ops);
ALTER TABLE numbers DROP COLUMN gone;
SELECT partitionkey.create_container('numbers', '{/a,/b,/c}', '{2,2,2}');
RESET client_min_messages;
SELECT partitionkey.set_default_ttl('numbers', 100);
INSERT INTO numbers SELECT 'a' || n % 7, n % 5 + 0.5, CASE n % 4 WHEN 0 THEN 'null' WHEN 1 THEN '{}' ELSE to_jsonb(n) END, jsonb_build_object('n', n), now() - CASE WHEN n % 3 = 0 THEN interval '1 day' ELSE '10 s' END FROM generate_series(1, 6000) n;
SELECT partitionkey.delete_expired('numbers', 0), partitionkey.delete_expired('numbers', 150);
SELECT count(*), count(*) FILTER (WHERE ts < now() - interval '1 h') AS expired FROM numbers;
SELECT partitionkey.delete_expired('numbers', 1200);
CALL partitionkey.delete_expired_in_batches('numbers', 7);
SELECT count(*), count(*) FILTER (WHERE ts < now() - interval '1 h') AS expired, sum((doc->>'n')::int) = (SELECT sum(n) FROM generate_series(1, 6000) n WHERE n % 3 <> 0) AS right_ones FROM numbers;
-- each statement of a batch reads only the leaves that its keys lead to, whatever the session refuses
INSERT INTO numbers SELECT 'a', 1, '1', '{}', '2020-01-01' FROM generate_series(1, 10);
SET partitionkey.cross_partition_query = error;
SELECT partitionkey.delete_expired('numbers');
RESET partitionkey.cross_partition_query;
SELECT partitionkey.delete_expired('numbers', -1);
SELECT partitionkey.delete_expired(NULL);
CALL partitionkey.delete_expired_in_batches(NULL);
CALL partitionkey.delete_expired_in_batches('numbers', NULL);
CALL partitionkey.delete_expired_in_batches('numbers', 0);
CALL partitionkey.delete_expired_in_batches('numbers', 100001);
SELECT partitionkey.delete_expired('pg_class');
SELECT partitionkey.delete_expired((SELECT partition FROM partitionkey.physical_partitions WHERE container = 'numbers'::regclass LIMIT 1)) IS NULL;
BEGIN;
CALL partitionkey.delete_expired_in_batches('numbers');
ROLLBACK;
BEGIN READ ONLY;
SELECT partitionkey.delete_expired('numbers');
ROLLBACK;
-- the default is changed in the same transaction, and all is undone with it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT partitionkey.set_default_ttl('numbers', 5);
SELECT partitionkey.delete_expired('numbers');
ROLLBACK;
SELECT count(*) FROM numbers;
-- a leaf that was split has the items that expire in its halves
SET client_min_messages = warning;
SELECT format('CALL partitionkey.split_partition(%L)', min(partition::text)) FROM partitionkey.physical_partitions WHERE container = 'numbers'::regclass \gexec
RESET client_min_messages;
UPDATE numbers SET ts = '2020-01-01' WHERE doc->>'n' LIKE '%1';
SELECT (SELECT count(*) FROM numbers WHERE ts = '2020-01-01') = partitionkey.delete_expired('numbers') AS all_of_them;
SELECT sum(misplaced) AS misplaced FROM partitionkey.verify('numbers');

-- Triggers see each row, and may keep it; what they set is taken back; an error leaves the batches before
CREATE TABLE seen (k int, path text);
CREATE FUNCTION other.keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.seen VALUES (OLD.k, current_setting('search_path'));
	PERFORM set_config('search_path', 'pg_catalog', false);
	IF OLD."Doc" ? 'fail' THEN
		RAISE EXCEPTION 'no';
	END IF;
	RETURN CASE WHEN OLD."Doc" ? 'keep' THEN NULL ELSE OLD END;
END$$;
CREATE TRIGGER keep BEFORE DELETE ON "My Table" FOR EACH ROW EXECUTE FUNCTION other.keep();
INSERT INTO "My Table" VALUES (1, '{}', '2020-01-01'), (2, '{"keep": true}', '2020-01-01'), (3, '{"ttl": -1}', '2020-01-01'), (4, NULL, '2020-01-01'), (5, '{}', NULL), (6, '{"ttl": "x"}', '2020-01-01');
SELECT partitionkey.delete_expired('"My Table"');
SELECT k FROM "My Table" ORDER BY k;
SELECT k FROM seen ORDER BY k;
SELECT DISTINCT path FROM seen WHERE path <> 'pg_catalog';
SHOW search_path;
TRUNCATE "My Table";
INSERT INTO "My Table" SELECT 1, CASE WHEN n = 25 THEN '{"fail": true}' ELSE '{}' END::jsonb, '2020-01-01' FROM generate_series(1, 30) n;
CALL partitionkey.delete_expired_in_batches('"My Table"', 10);
SELECT count(*) FROM "My Table";
SELECT partitionkey.delete_expired('"My Table"');
SELECT count(*) FROM "My Table";
DROP TRIGGER keep ON "My Table";
CALL partitionkey.delete_expired_in_batches('"My Table"');

-- What a container must have
CREATE TABLE plain (k text NOT NULL, v int);
SELECT partitionkey.create_container('plain', '{/k}', '{1}');
SELECT partitionkey.set_default_ttl('plain', 1);
SELECT partitionkey.delete_expired('plain');
ALTER TABLE plain ADD COLUMN doc jsonb;
SELECT partitionkey.delete_expired('plain');
ALTER TABLE plain ADD COLUMN ts timestamp;
CALL partitionkey.delete_expired_in_batches('plain');
DROP TABLE plain;

-- A rule in place of DELETE
INSERT INTO "My Table" VALUES (1, '{}', '2020-01-01');
CREATE RULE keep AS ON DELETE TO "My Table" DO INSTEAD NOTHING;
SELECT partitionkey.delete_expired('"My Table"');
DROP RULE keep ON "My Table";
DELETE FROM "My Table" WHERE ts = '2020-01-01';

-- Rights: DELETE and the columns read; row security; nobody but the owner changes the default
CREATE ROLE regress_pk_user;
GRANT USAGE ON SCHEMA public TO regress_pk_user;
INSERT INTO "My Table" SELECT n, jsonb_build_object('n', n), '2020-01-01' FROM generate_series(1, 10) n;
SET ROLE regress_pk_user;
SELECT partitionkey.delete_expired('"My Table"');
SELECT partitionkey.set_default_ttl('"My Table"', 1);
RESET ROLE;
GRANT DELETE ON "My Table" TO regress_pk_user;
SET ROLE regress_pk_user;
SELECT partitionkey.delete_expired('"My Table"');
RESET ROLE;
GRANT SELECT ON "My Table" TO regress_pk_user;
ALTER TABLE "My Table" ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON "My Table" FOR SELECT USING (k <= 8);
CREATE POLICY deletes ON "My Table" FOR DELETE USING (k <= 3);
SET ROLE regress_pk_user;
SELECT partitionkey.delete_expired('"My Table"');
CALL partitionkey.delete_expired_in_batches('"My Table"');
RESET ROLE;
SELECT string_agg(k::text, ' ' ORDER BY k) AS "left" FROM "My Table";
REVOKE USAGE ON SCHEMA public FROM regress_pk_user;
REVOKE ALL ON "My Table" FROM regress_pk_user;
DROP ROLE regress_pk_user;

SET client_min_messages = warning;
DROP TABLE sessions, numbers, "My Table", seen;
DROP FUNCTION fill;
DROP SCHEMA other CASCADE;
