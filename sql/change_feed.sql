-- Etags and the change feed.  Etags and tokens differ from run to run, so they are compared, and never shown.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_feed_owner;
CREATE ROLE regress_feed_reader;
CREATE SCHEMA feed;
GRANT ALL ON SCHEMA feed TO regress_feed_owner;
GRANT USAGE ON SCHEMA feed TO regress_feed_reader;
SET search_path = feed, partitionkey, public;

SELECT create_container_from_definition('{"id": "c", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}}', partitions => '{4,2}');

-- What is read from a feed in pieces of some size, in order.
CREATE FUNCTION followed(container regclass, size int, scope jsonb DEFAULT NULL, token text DEFAULT NULL) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n int;
BEGIN
	LOOP
		n := 0;
		FOR r IN SELECT * FROM items_changed_since(container, CASE WHEN token IS NULL THEN scope END, token, size) LOOP
			RETURN NEXT r.item;
			token := r.continuation;
			n := n + 1;
		END LOOP;
		EXIT WHEN n = 0;
	END LOOP;
END$$;

-- Wait for those who hold the feed back just now: autovacuum.
CREATE PROCEDURE settle() LANGUAGE plpgsql AS $$
DECLARE
	next xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
	WHILE pg_snapshot_xmin(pg_current_snapshot()) < next LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
END$$;
-- The error of a statement, or NULL.
CREATE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN SQLERRM;
END$$;

--
-- Etags: one for each write, in the order of writing, whatever the statement says
--
INSERT INTO c SELECT 't' || g % 5, 'u' || g % 10, g, jsonb_build_object('id', g::text, 'n', g) FROM generate_series(1, 60) g;
COPY c (t, u, id, doc) FROM stdin;
t1	u1	61	{"id": "61", "n": 61}
t2	u2	62	{"id": "62", "n": 62}
\.
INSERT INTO c VALUES ('t3', 'u3', '63', '{"id": "63", "n": 63}', NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
SELECT count(*), count(etag), count(DISTINCT etag), bool_and(etag < 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS ours, bool_and(ts BETWEEN now() - interval '1 h' AND clock_timestamp()) AS times,
	array_agg(id ORDER BY etag) = array_agg(id ORDER BY id::int) AS in_order FROM c;
-- the parts of an etag: the system, the transaction, a counter
BEGIN;
INSERT INTO c SELECT 't1', 'u1', g, '{}' FROM generate_series(101, 102) g;
SAVEPOINT s;
INSERT INTO c SELECT 't1', 'u1', g, '{}' FROM generate_series(103, 104) g;
SELECT bool_and(('x' || substr(replace(etag::text, '-', ''), 1, 13))::bit(52)::bigint = (SELECT system_identifier >> 12 FROM pg_control_system())) AS system,
	bool_and(('x' || substr(replace(etag::text, '-', ''), 14, 11))::bit(44)::bigint = pg_current_xact_id()::text::bigint) AS transaction,
	array_agg(('x' || substr(replace(etag::text, '-', ''), 25))::bit(32)::int ORDER BY id) AS counter FROM c WHERE id::int > 100;
ROLLBACK;
-- an update gives a new one; the time is the statement's if it says one
CREATE TABLE was AS SELECT id, etag, ts FROM c;
UPDATE c SET doc = doc || '{"v": 2}' WHERE id = '1';
UPDATE c SET ts = '2020-01-01 00:00:00.9Z' WHERE id = '2';
UPDATE c SET etag = '00000000-0000-0000-0000-000000000000', ts = NULL WHERE id = '3';
INSERT INTO c VALUES ('t4', 'u4', '4', '{"id": "4", "n": 4, "v": 2}') ON CONFLICT (t, u, id) DO UPDATE SET doc = excluded.doc;
INSERT INTO c VALUES ('t4', 'u4', '64', '{"id": "64", "n": 64}', '1969-12-31 23:59:58.5Z');
SELECT id, c.etag > ALL (SELECT etag FROM was) AS new, c.ts IS NOT DISTINCT FROM was.ts AS same_time, extract(epoch FROM c.ts) < 1600000000 AS told
	FROM c LEFT JOIN was USING (id) WHERE c.etag IS DISTINCT FROM was.etag ORDER BY c.etag;
UPDATE c SET ts = now() WHERE id = '3';

--
-- The feed: the latest version of each, in the order of change
--
CALL settle();
SELECT string_agg(item->>'id', ' ') FROM items_changed_since('c');
SELECT string_agg(item->>'id', ' ') FROM items_changed_since('c', max_items => 5);
SELECT size, count(*), array_agg(item ORDER BY i) = (SELECT array_agg(item) FROM items_changed_since('c')) AS same
	FROM (VALUES (1), (7), (64), (1000)) s(size), followed('c', size) WITH ORDINALITY f(item, i) GROUP BY 1 ORDER BY 1;
-- the item: its document, etag and time, in whole seconds
SELECT count(*) AS items, count(*) FILTER (WHERE item = doc || jsonb_build_object('_etag', etag, '_ts', floor(extract(epoch FROM ts)))) AS same
	FROM items_changed_since('c') JOIN c ON item->>'id' = id;
SELECT id, item->'_ts' FROM items_changed_since('c') JOIN c ON item->>'id' = id WHERE id IN ('2', '64') ORDER BY 1;
-- nothing new, and then something; a deleted item is in it no more
SELECT continuation AS token FROM items_changed_since('c', max_items => 100) OFFSET 63 \gset
SELECT count(*) FROM items_changed_since('c', NULL, :'token');
UPDATE c SET doc = doc || '{"v": 3}' WHERE id IN ('1', '5', '6');
UPDATE c SET doc = doc || '{"v": 4}' WHERE id = '5';
DELETE FROM c WHERE id = '6';
CALL settle();
SELECT item - '{_etag,_ts}'::text[] AS item FROM items_changed_since('c', NULL, :'token');
-- one's own changes come when they are committed
SELECT change_feed_start('c') AS start \gset
BEGIN;
UPDATE c SET doc = doc || '{"v": 5}' WHERE id = '5';
SELECT count(*) FROM items_changed_since('c', NULL, :'start');
WITH written AS (INSERT INTO c VALUES ('t0', 'u0', '70', '{"id": "70"}') RETURNING id) SELECT count(*) FROM written, items_changed_since('c', NULL, :'start');
COMMIT;
CALL settle();
SELECT item - '{_etag,_ts}'::text[] AS item FROM items_changed_since('c', NULL, :'start');
-- all that was changed before is behind a start, and a start is behind all that
SELECT count(*) FROM items_changed_since('c', NULL, change_feed_start('c'));
BEGIN TRANSACTION READ ONLY;
SELECT count(*) FROM items_changed_since('c', NULL, :'start');
SELECT length(change_feed_start('c')) > 0 AS given;
COMMIT;

--
-- Documents of all forms: byte by byte what jsonb makes itself
--
SELECT create_container_from_definition('{"id": "forms", "partitionKey": {"paths": ["/k"], "kind": "Hash", "version": 2}}', partitions => '{2}');
INSERT INTO forms SELECT 'k', row_number() OVER (), doc FROM (
	SELECT doc::jsonb FROM unnest(ARRAY['{}', '{"a": 1}', '{"_ts": "old", "_etag": [1]}', '{"_ts": 1}', '{"_etag": null, "zzzzzz": {"a": [1, 2.5]}}',
		'{"": 1, "_t": true, "_tt": 12345.678, "aaaaa": "b", "_etah": {}, "_etaf": []}', '{"é": "ü", "n": null, "deep": {"_ts": 5, "_etag": 6}}']) doc
	UNION ALL SELECT (SELECT jsonb_object_agg(repeat(chr(97 + i % 26), 1 + i % 7) || i % (n + 1), CASE i % 5 WHEN 0 THEN to_jsonb(i / 7.0) WHEN 1 THEN to_jsonb(repeat('x', i)) WHEN 2 THEN jsonb_build_array(i, 'a')
		WHEN 3 THEN 'true' ELSE jsonb_build_object('n', i, repeat('y', i % 3), 1e20) END) FROM generate_series(0, n) i) FROM generate_series(1, 140, 3) n) d;
UPDATE forms SET ts = 'infinity' WHERE id = '1';
INSERT INTO forms VALUES ('k', 'array', '[1]'), ('k', 'scalar', '"x"');
CREATE VIEW formed AS
	SELECT id, item, CASE WHEN jsonb_typeof(doc) <> 'object' THEN doc
		ELSE doc || jsonb_build_object('_etag', etag) || CASE WHEN isfinite(ts) THEN jsonb_build_object('_ts', floor(extract(epoch FROM ts))) ELSE '{}' END END AS expected
	FROM (SELECT *, row_number() OVER (ORDER BY etag) AS i FROM forms) forms JOIN items_changed_since('forms') WITH ORDINALITY f(item, token, i) USING (i);
CALL settle();
SELECT count(*), count(*) FILTER (WHERE item = expected AND item::text = expected::text AND pg_column_size(expected) - pg_column_size(item) IN (0, 3) -- a short header
		AND (jsonb_typeof(item) <> 'object' OR (SELECT bool_and(item->key = value) FROM jsonb_each(expected)))) AS same,
	count(*) FILTER (WHERE jsonb_typeof(item) = 'object' AND NOT item ? '_ts') AS timeless FROM formed;
SELECT item FROM formed WHERE id IN ('array', 'scalar') ORDER BY id;

--
-- Scopes
--
SELECT string_agg(item->>'id', ' ') FROM items_changed_since('c', '["t1"]');
SELECT string_agg(item->>'id', ' ') FROM items_changed_since('c', '["t1", "u6"]');
SELECT count(*) FROM items_changed_since('c', '[]');
SELECT count(*) FROM items_changed_since('c', '["nobody"]');
SELECT count(*) FROM followed('c', 2, '["t2"]');
CREATE TABLE ranges AS SELECT range, i FROM read_feed_ranges('c') WITH ORDINALITY r(range, i);
SELECT range FROM ranges ORDER BY i LIMIT 2;
CREATE VIEW by_range AS SELECT i, array_agg(item->>'id' ORDER BY item->>'id') AS ids FROM ranges, followed('c', 3, range) item GROUP BY 1;
CREATE TABLE ranged AS TABLE by_range;
SELECT count(*) > 1 AS several, sum(cardinality(ids)) AS items, (SELECT count(DISTINCT id) FROM ranged, unnest(ids) id) AS different FROM ranged;
SELECT count(*) FROM ranged JOIN LATERAL unnest(ids) id ON true JOIN c USING (id)
	WHERE c.tableoid NOT IN (SELECT partition FROM physical_partitions p, ranges WHERE ranges.i = ranged.i
		AND range = jsonb_build_object('min', min_inclusive, 'max', max_exclusive));
SELECT count(*) FROM items_changed_since('c', '{"min": [], "max": []}');
SELECT sum(n) FROM (SELECT count(item) AS n FROM (VALUES ('{"min": [""], "max": ["15"]}'::jsonb), ('{"min": ["15"], "max": ["FF"]}')) r(range), items_changed_since('c', range)) s;
-- only what can have them is read
BEGIN;
SELECT count(*) > 0 AS found FROM items_changed_since('c', '["t1", "u6"]');
SELECT count(*) AS tables, bool_and(relation = (SELECT partition_of FROM partition_of('c', '["t1", "u6"]'))) AS right_one FROM pg_locks JOIN pg_class ON pg_class.oid = relation
	WHERE pid = pg_backend_pid() AND relkind = 'r' AND relispartition;
COMMIT;
BEGIN;
SELECT count(*) > 0 AS found FROM items_changed_since('c', '["t1"]');
SELECT count(*) AS tables, bool_and(relation IN (SELECT partition_of('c', '["t1"]'))) AS right_ones FROM pg_locks JOIN pg_class ON pg_class.oid = relation
	WHERE pid = pg_backend_pid() AND relkind = 'r' AND relispartition;
COMMIT;
BEGIN;
SELECT count(*) IS NOT NULL AS read FROM items_changed_since('c', (SELECT range FROM ranges WHERE i = 3));
SELECT count(*) AS tables FROM pg_locks JOIN pg_class ON pg_class.oid = relation WHERE pid = pg_backend_pid() AND relkind = 'r' AND relispartition;
COMMIT;

--
-- Splits, merges and keys of their own leave etags, ranges and tokens as they are
--
CREATE TABLE before AS SELECT id, etag, ts, doc FROM c;
CALL settle();
SELECT array_agg(continuation ORDER BY i) AS tokens FROM items_changed_since('c', max_items => 10) WITH ORDINALITY f(item, continuation, i) \gset
SELECT partition AS leaf FROM physical_partitions JOIN c ON c.tableoid = partition WHERE container = 'c'::regclass GROUP BY 1 ORDER BY count(*) DESC, partition::text LIMIT 1 \gset
CALL split_partition(:'leaf');
SELECT tgenabled, count(*) FROM pg_trigger WHERE tgname = 'partitionkey_etag' AND tgrelid IN (SELECT partition FROM physical_partitions WHERE container = 'c'::regclass) GROUP BY 1;
SELECT count(*) AS changed FROM (TABLE before EXCEPT SELECT id, etag, ts, doc FROM c) x;
CALL settle();
SELECT count(*) AS differences FROM (TABLE ranged EXCEPT TABLE by_range) x;
CALL isolate_key('c', '["t1", "u1"]');
SELECT count(*) AS changed FROM (TABLE before EXCEPT SELECT id, etag, ts, doc FROM c) x;
CALL settle();
SELECT count(*) AS differences FROM (TABLE ranged EXCEPT TABLE by_range) x;
SELECT count(*) AS partitions FROM physical_partitions WHERE container = 'c'::regclass \gset
CREATE VIEW halves AS SELECT a.partition AS a, b.partition AS b FROM physical_partitions a JOIN physical_partitions b ON a.container = b.container
	AND a.min_inclusive[1] = b.min_inclusive[1] AND a.max_exclusive[1] = b.max_exclusive[1] AND a.max_exclusive[2] = b.min_inclusive[2]
	WHERE a.container = 'c'::regclass AND cardinality(a.min_inclusive) = 2 AND cardinality(b.min_inclusive) = 2;
SELECT format('CALL merge_partitions(%L, %L)', a, b) FROM (SELECT * FROM halves ORDER BY a::text LIMIT 2) h \gexec
SELECT count(*) = :partitions - 2 AS merged FROM physical_partitions WHERE container = 'c'::regclass;
SELECT count(*) AS changed FROM (TABLE before EXCEPT SELECT id, etag, ts, doc FROM c) x;
SELECT count(*) AS differences FROM (TABLE ranged EXCEPT TABLE by_range) x;
SELECT count(*) FROM items_changed_since('c', NULL, (:'tokens'::text[])[10]);
INSERT INTO c SELECT 't' || g % 5, 'u' || g % 10, g, jsonb_build_object('id', g::text) FROM generate_series(201, 240) g;
SELECT count(*), count(etag) FROM c WHERE id::int > 200;

SELECT create_items_view('c');
INSERT INTO c_items SELECT jsonb_build_object('id', 'by view ' || g, 't', 't1', 'u', 'u1', '_ts', 1700000000 + g) FROM generate_series(1, 3) g;
CALL settle();
SELECT item - '_etag' AS item FROM items_changed_since('c', max_items => 1000) WHERE item->>'id' LIKE 'by view%';
DELETE FROM c WHERE id LIKE 'by view%';
DROP VIEW c_items;

--
-- Tokens
--
SELECT items_changed_since('forms', NULL, :'token');
SELECT items_changed_since('c', NULL, :'token' || 'A');
SELECT items_changed_since('c', NULL, substr(:'token', 1, 40));
SELECT items_changed_since('c', NULL, '');
SELECT items_changed_since('c', NULL, 'no token');
SELECT items_changed_since('c', NULL, translate(:'token', 'A', 'B'));
SELECT count(*) AS accepted FROM generate_series(1, length(:'token')) i WHERE substr(:'token', i, 1) <> 'x'
	AND error_of(format('SELECT items_changed_since(''c'', NULL, %L)', overlay(:'token' PLACING 'x' FROM i FOR 1))) IS NULL;
SELECT items_changed_since('c', '["t1"]', :'token');
SELECT change_feed_start('c', '["t1"]') AS t1 \gset
SELECT items_changed_since('c', '["t2"]', :'t1');
SELECT items_changed_since('c', '{"min": [""], "max": ["FF"]}', :'t1');
UPDATE c SET doc = doc || '{"v": 6}' WHERE id IN ('11', '12');
CALL settle();
SELECT item->>'id' AS id FROM items_changed_since('c', '["t1"]', :'t1');
SELECT item->>'id' AS id FROM items_changed_since('c', NULL, :'t1');
ALTER TABLE c RENAME TO "Odd c";
SELECT item->>'id' AS id FROM items_changed_since('"Odd c"', NULL, :'t1');
ALTER TABLE "Odd c" RENAME TO c;
DROP TABLE forms CASCADE;
SELECT items_changed_since('c', '3');
SELECT items_changed_since('c', '"t1"');
SELECT items_changed_since('c', '["t1", "u1", "1"]');
SELECT items_changed_since('c', '[1]');
SELECT items_changed_since('c', '{"min": [""]}');
SELECT items_changed_since('c', '{"min": [""], "max": ["FF"], "more": 1}');
SELECT items_changed_since('c', '{"min": "", "max": ["FF"]}');
SELECT items_changed_since('c', '{"min": [0], "max": ["FF"]}');
SELECT items_changed_since('c', '{"min": ["FF"], "max": ["FF"]}');
SELECT items_changed_since('c', '{"min": ["x"], "max": ["FF"]}');
SELECT items_changed_since('c', '{"min": ["", ""], "max": ["FF"]}');
SELECT items_changed_since('c', max_items => 0);
SELECT items_changed_since('c', max_items => NULL);
SELECT items_changed_since(NULL);
SELECT change_feed_start(NULL);
SELECT items_changed_since('c_p0');
SELECT items_changed_since('was');
SELECT items_changed_since(0);
SELECT change_feed_start('was');
SELECT read_feed_ranges('was');

--
-- What came from other systems comes first, then what was written here
--
ALTER TABLE c DISABLE TRIGGER partitionkey_etag;
UPDATE c SET etag = (CASE id WHEN '10' THEN '00000000-0000-1000-0000-000000000001' WHEN '20' THEN '00000000-0000-2000-0000-ffffffffffff' ELSE 'fffffff0-0000-0000-0000-000000000000' END)::uuid
	WHERE id IN ('10', '20', '30');
UPDATE c SET etag = NULL WHERE id = '40';
ALTER TABLE c ENABLE ALWAYS TRIGGER partitionkey_etag;
CALL settle();
SELECT item->>'id' AS id FROM items_changed_since('c', max_items => 4);
SELECT count(*), count(DISTINCT item->>'id') FROM followed('c', 1) item;
SELECT count(*) FROM followed('c', 2, '["t0"]') item;
-- a row without an etag is in no feed until it gets one
SELECT count(*) FROM items_changed_since('c') WHERE item->>'id' = '40';
SET client_min_messages = notice;
SELECT enable_change_feed('c');
SELECT enable_change_feed('c');
SET client_min_messages = warning;
CALL settle();
SELECT count(*) FROM items_changed_since('c') WHERE item->>'id' = '40';

--
-- Without the index it is slower, and the same
--
CREATE TABLE read AS SELECT * FROM items_changed_since('c', max_items => 2000) WITH ORDINALITY;
DROP INDEX c_etag_idx;
SELECT count(*) AS differences FROM ((TABLE read EXCEPT SELECT * FROM items_changed_since('c', max_items => 2000) WITH ORDINALITY)
	UNION ALL (SELECT * FROM items_changed_since('c', max_items => 2000) WITH ORDINALITY EXCEPT TABLE read)) x;
SELECT count(*) FROM items_changed_since('c', '["t1"]');
SELECT enable_change_feed('c');
SELECT indexdef FROM pg_indexes WHERE indexname = 'c_etag_idx';

--
-- enable_change_feed
--
SET SESSION AUTHORIZATION regress_feed_owner;
CREATE TABLE plain (gone int, "Key 1" jsonb NOT NULL, "ID" int NOT NULL, body jsonb, ts timestamptz, PRIMARY KEY ("Key 1", "ID"));
INSERT INTO plain SELECT 1, CASE g % 3 WHEN 0 THEN 'null' WHEN 1 THEN '{}' ELSE to_jsonb(g % 2) END, g, jsonb_build_object('g', g) FROM generate_series(1, 30) g;
ALTER TABLE plain DROP COLUMN gone;
SELECT create_container('plain', ARRAY['/''Key 1''', '/ID'], '{2}');
SELECT items_changed_since('plain');
SELECT change_feed_start('plain');
CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'fired'; END$$;
CREATE TRIGGER never BEFORE UPDATE OR INSERT ON plain FOR EACH ROW EXECUTE FUNCTION never();
SELECT enable_change_feed('plain');
DROP TRIGGER never ON plain;
SET client_min_messages = notice;
SELECT enable_change_feed('plain');
SET client_min_messages = warning;
SELECT count(*), count(DISTINCT etag), count(ts) FROM plain;
CALL settle();
SELECT count(*), count(item->'_etag'), count(item->'_ts') FROM items_changed_since('plain');
SELECT count(*) FROM items_changed_since('plain', '[null]');
SELECT count(*) FROM items_changed_since('plain', '[{}]');
SELECT count(*) FROM items_changed_since('plain', '[1]');
SELECT count(*) FROM items_changed_since('plain', '[1.0, 5]');
SELECT count(*) FROM items_changed_since('plain', '["1"]');
SELECT change_feed_start('plain') AS start \gset
-- columns of leaves have other numbers than those of the container
CALL split_partition('plain_p0');
UPDATE plain SET body = NULL WHERE "ID" IN (3, 4);
INSERT INTO plain VALUES ('2', 31, '{"g": 31}');
CALL settle();
SELECT item - '{_ts,_etag}'::text[] AS item, item ?& '{_ts,_etag}' AS complete FROM items_changed_since('plain', NULL, :'start') ORDER BY item->'g';
-- a disabled trigger, and what that left behind
ALTER TABLE plain DISABLE TRIGGER partitionkey_etag;
SELECT items_changed_since('plain');
INSERT INTO plain VALUES ('2', 32, '{"g": 32}');
SELECT enable_change_feed('plain');
CALL settle();
SELECT item->'g' AS g FROM items_changed_since('plain', NULL, :'start') WHERE item->'g' > '31';
-- what it refuses
SELECT enable_change_feed(NULL);
SELECT enable_change_feed('plain_p8');
BEGIN TRANSACTION READ ONLY;
SELECT enable_change_feed('plain');
ROLLBACK;
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT enable_change_feed('plain');
RESET SESSION AUTHORIZATION;
CREATE TABLE typed (k text NOT NULL, doc jsonb, etag text);
SELECT create_container('typed', '{/k}', '{2}');
SELECT enable_change_feed('typed');
ALTER TABLE typed ALTER COLUMN etag TYPE uuid USING NULL;
SELECT enable_change_feed('typed');
SELECT indexname FROM pg_indexes WHERE tablename = 'typed';
DROP TRIGGER partitionkey_etag ON typed;
CREATE TRIGGER partitionkey_etag BEFORE UPDATE ON typed FOR EACH ROW EXECUTE FUNCTION set_etag();
SELECT enable_change_feed('typed');
CREATE TABLE keyed (etag text NOT NULL, doc jsonb);
SELECT create_container('keyed', '{/etag}', '{2}');
SELECT enable_change_feed('keyed');
CREATE TABLE documentless (k text NOT NULL);
SELECT create_container('documentless', '{/k}', '{2}');
SELECT enable_change_feed('documentless');
-- a key called ts is not a time of change
CREATE TABLE timed (ts timestamptz NOT NULL, doc jsonb);
SELECT create_container('timed', '{/ts}', '{2}');
SELECT enable_change_feed('timed');
INSERT INTO timed VALUES ('2025-01-01Z', '{"n": 1}');
UPDATE timed SET doc = '{"n": 2}';
CALL settle();
SELECT ts = '2025-01-01Z' AS kept, item - '_etag' AS item FROM timed, items_changed_since('timed');
-- a time of less precision, and one of a domain
CREATE DOMAIN past AS timestamptz CHECK (value < '2025-01-01Z');
CREATE TABLE rounded (k text NOT NULL, doc jsonb, ts timestamptz(0));
SELECT create_container('rounded', '{/k}', '{2}');
SELECT enable_change_feed('rounded');
INSERT INTO rounded SELECT 'now', '{}' FROM generate_series(1, 5);
SELECT count(*) FILTER (WHERE ts = ts::timestamptz(0)) AS rounded FROM rounded;
DELETE FROM rounded;
-- times far away: days from 1970-01-01 to 294276-01-01 are 106762574, and to 4713-01-01 BC (Julian day 38) 38 - 2440588
INSERT INTO rounded VALUES ('far', '{}', '294276-01-01Z'), ('old', '{}', '4713-01-01Z BC'), ('never', '{}', 'infinity'), ('before', '{}', '1969-12-31 23:59:59Z');
CALL settle();
SELECT k, item->'_ts' AS ts, (item->>'_ts')::bigint / 86400 AS days FROM items_changed_since('rounded') JOIN rounded ON item->>'_etag' = etag::text ORDER BY k;
CREATE TABLE dated (k text NOT NULL, doc jsonb, ts past);
SELECT create_container('dated', '{/k}', '{2}');
SELECT enable_change_feed('dated');
INSERT INTO dated VALUES ('told', '{}', '2024-01-01Z');
INSERT INTO dated VALUES ('now', '{}');
SELECT k FROM dated;
-- triggers of the owner run with his rights, whoever enables the feed
SET SESSION AUTHORIZATION regress_feed_owner;
CREATE TABLE trapped (k text NOT NULL, doc jsonb, etag uuid, who name);
SELECT create_container('trapped', '{/k}', '{2}');
INSERT INTO trapped VALUES ('a', '{}');
CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.who := current_user; RETURN NEW; END$$;
CREATE TRIGGER trap BEFORE UPDATE ON trapped FOR EACH ROW EXECUTE FUNCTION trap();
RESET SESSION AUTHORIZATION;
SELECT enable_change_feed('trapped');
SELECT etag IS NOT NULL AS filled, who FROM trapped;
-- triggers of partitions; rows behind row security that is forced on the owner
SET SESSION AUTHORIZATION regress_feed_owner;
DROP TRIGGER trap ON trapped;
SELECT partition_of AS leaf FROM partition_of('trapped', '["a"]') \gset
ALTER TABLE trapped ENABLE ROW LEVEL SECURITY;
ALTER TABLE trapped FORCE ROW LEVEL SECURITY;
ALTER TABLE :leaf DISABLE TRIGGER USER;
RESET SESSION AUTHORIZATION;
INSERT INTO trapped VALUES ('a', '{}');
SELECT items_changed_since('trapped', '["a"]');
SET SESSION AUTHORIZATION regress_feed_owner;
SET client_min_messages = notice;
SELECT enable_change_feed('trapped');
SELECT enable_change_feed('trapped');
ALTER TABLE :leaf ENABLE TRIGGER USER;
SELECT enable_change_feed('trapped');
SELECT enable_change_feed('trapped');
SET client_min_messages = warning;
RESET SESSION AUTHORIZATION;
SELECT count(*), count(etag) FROM trapped;
SELECT count(*), count(*) FILTER (WHERE tgenabled = 'A') AS always FROM pg_trigger WHERE tgname = 'partitionkey_etag' AND tgrelid IN (SELECT relid FROM pg_partition_tree('trapped'));
-- the trigger in other places
CREATE TABLE elsewhere (a int);
CREATE TRIGGER t BEFORE INSERT ON elsewhere FOR EACH ROW EXECUTE FUNCTION set_etag();
INSERT INTO elsewhere VALUES (1);
DROP TRIGGER t ON elsewhere;
CREATE TRIGGER t AFTER INSERT ON elsewhere FOR EACH ROW EXECUTE FUNCTION set_etag();
INSERT INTO elsewhere VALUES (1);
DROP TRIGGER t ON elsewhere;
CREATE TRIGGER t BEFORE DELETE ON elsewhere FOR EACH STATEMENT EXECUTE FUNCTION set_etag();
DELETE FROM elsewhere;
SELECT set_etag();

--
-- Privileges
--
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain');
SELECT change_feed_start('plain');
SELECT read_feed_ranges('plain');
RESET SESSION AUTHORIZATION;
-- some columns
GRANT SELECT (body, etag, ts) ON plain TO regress_feed_reader;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain');
SELECT count(*) FROM items_changed_since('plain', '[null]');
RESET SESSION AUTHORIZATION;
GRANT SELECT ("Key 1") ON plain TO regress_feed_reader;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain', '[null]');
SELECT sum(n) FROM (SELECT count(item) AS n FROM read_feed_ranges('plain') range, items_changed_since('plain', range)) s;
RESET SESSION AUTHORIZATION;
-- all of it, from partitions that are the owner's alone
GRANT SELECT ON plain TO regress_feed_reader;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain', '[null]');
SELECT sum(n) FROM (SELECT count(item) AS n FROM read_feed_ranges('plain') range, items_changed_since('plain', range)) s;
SELECT current_user, current_setting('search_path');
RESET SESSION AUTHORIZATION;
-- partitions that their owner may not read, or not reach, are read as those of the container
SELECT partition_of AS leaf FROM partition_of('plain', '[null]') \gset
REVOKE SELECT ON :leaf FROM regress_feed_owner;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain', '[null]');
RESET SESSION AUTHORIZATION;
GRANT SELECT ON :leaf TO regress_feed_owner;
CREATE SCHEMA feed_hidden;
ALTER TABLE :leaf SET SCHEMA feed_hidden;
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain', '[null]');
RESET SESSION AUTHORIZATION;
ALTER TABLE feed_hidden.:leaf SET SCHEMA feed;
DROP SCHEMA feed_hidden;
-- row security; of a key its partition alone is read
CREATE TABLE secured (t text NOT NULL, n int NOT NULL, doc jsonb);
SELECT create_container('secured', '{/t,/n}', '{4,4}');
SELECT enable_change_feed('secured');
INSERT INTO secured SELECT 'it''s \' || i % 4, i % 8, jsonb_build_object('i', i) FROM generate_series(1, 96) i;
GRANT SELECT ON secured TO regress_feed_reader;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY third ON secured USING ((doc->>'i')::int % 3 = 0);
CALL settle();
SET SESSION AUTHORIZATION regress_feed_reader;
BEGIN;
SELECT count(*) FROM items_changed_since('secured', '["it''s \\1", 5]');
SELECT count(*) AS tables FROM pg_locks JOIN pg_class ON pg_class.oid = relation WHERE pid = pg_backend_pid() AND relkind = 'r' AND relispartition;
COMMIT;
SELECT count(*) FROM items_changed_since('secured', '["it''s \\1"]');
SELECT count(*) FROM items_changed_since('secured', '["it''s \\1", 6]');
RESET SESSION AUTHORIZATION;
CREATE TABLE mixed (k jsonb NOT NULL, doc jsonb);
SELECT create_container('mixed', '{/k}', '{4}');
SELECT enable_change_feed('mixed');
INSERT INTO mixed SELECT k, '{}' FROM unnest(ARRAY['"a\"b"', '"1"', '1', '1.0', '1.00000000000000000000001', 'null', 'true', '{}']::jsonb[]) k;
GRANT SELECT ON mixed TO regress_feed_reader;
ALTER TABLE mixed ENABLE ROW LEVEL SECURITY;
CREATE POLICY everything ON mixed USING (true);
CALL settle();
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT key, count(item) FROM unnest(ARRAY['["a\"b"]', '["1"]', '[1]', '[null]', '[true]', '[{}]', '[false]']::jsonb[]) WITH ORDINALITY k(key, i) LEFT JOIN LATERAL items_changed_since('mixed', key) ON true
	GROUP BY key, i ORDER BY i;
RESET SESSION AUTHORIZATION;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON plain USING ("ID" % 2 = 0 AND current_user = 'regress_feed_reader');
SET SESSION AUTHORIZATION regress_feed_reader;
SELECT count(*) FROM items_changed_since('plain');
SELECT count(*) FROM items_changed_since('plain', '[null]');
SELECT sum(n) FROM (SELECT count(item) AS n FROM read_feed_ranges('plain') range, items_changed_since('plain', range)) s;
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_feed_owner;
SELECT count(*) FROM items_changed_since('plain', '[null]');
ALTER TABLE plain FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM items_changed_since('plain', '[null]');
RESET SESSION AUTHORIZATION;

DROP SCHEMA feed CASCADE;
DROP ROLE regress_feed_owner, regress_feed_reader;
