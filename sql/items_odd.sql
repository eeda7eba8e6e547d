-- Items that are odd, tables that have a say of their own, and what has expired
SET client_min_messages = warning;
SET search_path = public, partitionkey;
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- A row without a document is one of an empty document
CREATE TABLE holes (t text, u text, id text, doc jsonb, PRIMARY KEY (t, u, id));
SELECT create_container('holes', '{/t,/u}');
INSERT INTO holes VALUES ('a', 'b', 'n', NULL), ('a', 'b', 'm', '[1]'), ('a', 'b', 's', '7');
SELECT read_item('holes', 'n', '["a","b"]'), (SELECT item FROM find_items('holes', 'n'));
SELECT patch_item('holes', 'n', '["a","b"]', '[{"op": "set", "path": "/x", "value": 1}]');
UPDATE holes SET doc = NULL WHERE id = 'n';
SELECT transactional_batch('holes', '["a","b"]', '[{"operationType": "Read", "id": "n"}]');
SELECT move_item('holes', 'n', '["a","b"]', '["a","c"]');
-- and one whose document is no object can be read, replaced and deleted
SELECT read_item('holes', 'm', '["a","b"]');
SELECT move_item('holes', 'm', '["a","b"]', '["a","c"]');
SELECT move_item('holes', 's', '["a","b"]', '["a","c"]');
SELECT patch_item('holes', 'm', '["a","b"]', '[{"op": "set", "path": "/x", "value": 1}]');
SELECT replace_item('holes', 'm', '["a","b"]', '{"id": "m", "t": "a", "u": "b"}');

-- A trigger may change the table, and look into it, while an item is written
SELECT create_container_from_definition('{"id": "shifting", "partitionKey": {"paths": ["/k"], "version": 2}}');
CREATE FUNCTION shift() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE shifting RENAME COLUMN ts TO ts2;
	BEGIN PERFORM read_item('shifting', '1', '["k"]'); EXCEPTION WHEN no_data_found THEN NULL; END;
	RETURN NULL;
END $$;
CREATE TRIGGER aa BEFORE INSERT ON shifting FOR EACH ROW EXECUTE FUNCTION shift();
SELECT create_item('shifting', '{"id": "1", "k": "k"}');
CREATE OR REPLACE FUNCTION shift() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE shifting RENAME COLUMN id TO idx;
	BEGIN PERFORM read_item('shifting', '1', '["k"]'); EXCEPTION WHEN OTHERS THEN NULL; END;
	RETURN NULL;
END $$;
SELECT create_item('shifting', '{"id": "1", "k": "k"}');
DROP TRIGGER aa ON shifting;
SELECT create_item('shifting', '{"id": "1", "k": "k"}') ? '_etag' AS written;

-- A key path never leads into an array
SELECT create_container_from_definition('{"id": "arrays", "partitionKey": {"paths": ["/t", "/a/0"], "kind": "MultiHash", "version": 2}}', key_types => '{jsonb,jsonb}');
SELECT create_item('arrays', '{"id": "1", "t": "x", "a": [1, 2]}') ? 'id' AS written;
SELECT move_item('arrays', '1', '["x",{}]', '["y",{}]') - '{_etag,_ts}'::text[] AS moved;

-- Numbers beyond 2^53 are told as they are
CREATE TABLE large (k bigint, id text, doc jsonb, PRIMARY KEY (k, id));
SELECT create_container('large', '{/k}');
SELECT create_item('large', '{"id": "1", "k": 9007199254740993}'), create_item('large', '{"id": "1", "k": 9223372036854775807}');
SELECT key, read_item('large', '1', key) AS item FROM find_items('large', '1') ORDER BY key;

-- Ids are strings, and all different
CREATE TABLE numbered (k text, id int, doc jsonb, PRIMARY KEY (k, id));
SELECT create_container('numbered', '{/k}');
SELECT create_item('numbered', '{"id": 1, "k": "a"}');
SELECT upsert_item('large', '{"id": 1, "k": 1}');

-- Conditions
SELECT create_container_from_definition('{"id": "cond", "partitionKey": {"paths": ["/k"], "version": 2}}');
SELECT create_item('cond', '{"id": "1", "k": "a", "n": 5, "on": true}') ? 'id' AS written;
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', '$ ? (@.n < 100)');
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.n');
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.n < 1');
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.nothing < 1');
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', 'exists($ ? (@.n < 100))')->'x' AS x;
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 2}]', '$.on')->'x' AS x;
-- one that is met is not blamed for what a trigger does
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
CREATE TRIGGER refuse BEFORE UPDATE ON cond FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT patch_item('cond', '1', '["a"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.n == 5');
DROP TRIGGER refuse ON cond;

-- In a batch only what is the item's own becomes a status
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$DECLARE x int; BEGIN SELECT relnatts INTO STRICT x FROM pg_class WHERE oid = 0; RETURN NEW; END$$;
CREATE TRIGGER refuse BEFORE INSERT ON cond FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT transactional_batch('cond', '["a"]', '[{"operationType": "Create", "resourceBody": {"id": "2", "k": "a"}}]');
DROP TRIGGER refuse ON cond;
CREATE INDEX ON cond ((doc->'long'));
\set VERBOSITY sqlstate
SELECT transactional_batch('cond', '["a"]', jsonb_build_array(jsonb_build_object('operationType', 'Create', 'resourceBody',
	jsonb_build_object('id', '2', 'k', 'a', 'long', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) i)))));
\set VERBOSITY terse
SELECT jsonb_path_query(transactional_batch('cond', '["a"]', '[{"operationType": "Read", "id": "9"}]'), '$[*].detail');
-- the key may be written in another way, as the REST API has it, too
SELECT jsonb_path_query(transactional_batch('cond', '["a"]', '[{"operationType": "Read", "id": "1", "partitionKey": "[\"a\"]"}]'), '$[*].statusCode');
SELECT transactional_batch('cond', '["a"]', '[{"operationType": "Read", "id": "1", "partitionKey": "[\"b\"]"}]');
SELECT create_container_from_definition('{"id": "anykey", "partitionKey": {"paths": ["/k"], "version": 2}}', key_types => '{jsonb}');
SELECT jsonb_path_query(transactional_batch('anykey', '[9007199254740993]',
	'[{"operationType": "Create", "partitionKey": [9007199254740992], "resourceBody": {"id": "1", "k": 9007199254740993}}]'), '$[*].statusCode');
SELECT transactional_batch('cond', '["a"]', '[{"operationType": "Patch", "id": "1", "resourceBody": {"operations": [], "condition": "from c"}}]');

-- Sizes: a number counts as a binary64 is written, and depth does not hide size
SELECT create_item('cond', ('{"id": "n", "k": "a", "v": [' || repeat('1e308,', 40000) || '1]}')::jsonb) ? 'id' AS written;
SELECT transactional_batch('cond', '["a"]', jsonb_build_array(
	jsonb_build_object('operationType', 'Create', 'resourceBody', ('{"id": "d", "k": "a", "v": ' || repeat('[', 127) || repeat(']', 127) || '}')::jsonb),
	jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', 'e', 'k', 'a', 'v', repeat('a', 1900000))),
	jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', 'f', 'k', 'a', 'v', repeat('a', 1900000)))));

-- Policies run in the session's search_path, also where all keys are looked at
CREATE ROLE regress_items_odd;
CREATE ROLE regress_items_nobody;
CREATE TABLE members (u name, t text);
INSERT INTO members VALUES ('regress_items_odd', 'x');
GRANT SELECT ON members TO regress_items_odd;
CREATE FUNCTION may(x text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$BEGIN RETURN EXISTS (SELECT FROM members m WHERE m.u = current_user AND m.t = x); END$$;
SELECT create_container_from_definition('{"id": "rl", "partitionKey": {"paths": ["/t"], "version": 2}}');
GRANT ALL ON rl TO regress_items_odd;
SELECT create_item('rl', '{"id": "1", "t": "x"}') ? 'id', create_item('rl', '{"id": "1", "t": "y"}') ? 'id';
ALTER TABLE rl ENABLE ROW LEVEL SECURITY;
CREATE POLICY may_read ON rl FOR SELECT USING (may(t));
SET ROLE regress_items_odd;
SELECT read_item('rl', '2', '["x"]');
SELECT read_item('rl', '1', '["y"]');
SELECT key FROM find_items('rl', '1');
SELECT delete_item('rl', '1', '["x"]');
SET partitionkey.cross_partition_query = error;
SELECT key FROM find_items('rl', '1');
RESET partitionkey.cross_partition_query;
-- who may do nothing can't make others wait
SET ROLE regress_items_nobody;
SELECT transactional_batch('cond', '["a"]', '[{"operationType": "Create", "resourceBody": {"k": "a"}}]');
RESET ROLE;

-- What has expired is no more: neither its place, nor other columns, nor in the way of a new id
SELECT create_container_from_definition('{"id": "gone", "defaultTtl": 3600, "partitionKey": {"paths": ["/k"], "version": 2},
	"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/sku"]}]}}');
ALTER TABLE gone ADD COLUMN extra int DEFAULT 5;
SELECT count(create_item('gone', jsonb_build_object('id', i::text, 'k', 'x', 'sku', i))) FROM generate_series(1, 4) i;
UPDATE gone SET ts = now() - interval '2 hours', extra = 99 WHERE id IN ('1', '2', '3');
SELECT create_item('gone', '{"id": "1", "k": "x", "sku": 11}') ? 'id', upsert_item('gone', '{"id": "2", "k": "x", "sku": 12}') ? 'id',
	replace_item('gone', '4', '["x"]', '{"id": "3", "k": "x", "sku": 13}') ? 'id';
SELECT id, extra, doc FROM gone ORDER BY id;
UPDATE gone SET ts = now() - interval '2 hours' WHERE id = '1';
\set VERBOSITY default
SELECT create_item('gone', '{"id": "5", "k": "x", "sku": 11}');
SELECT replace_item('gone', '2', '["x"]', '{"id": "3", "k": "x"}');
\set VERBOSITY terse
-- queries can have items as the functions give them, without those that have expired
SELECT as_item(doc, etag, ts) = read_item('gone', id, '["x"]') AS same FROM gone WHERE NOT has_expired('gone', doc, ts) ORDER BY id;
SELECT as_item('{"a": 1}', NULL, NULL), as_item(NULL, NULL, NULL), as_item('{"a": 1}', NULL, '2025-01-01 00:00:00.9+00');
SELECT has_expired('gone', '{"ttl": -1}', '2000-01-01'), has_expired('gone', '{}', '2000-01-01'), has_expired('gone', '{}', NULL), has_expired('cond', '{"ttl": 1}', '2000-01-01');

DROP TABLE holes, shifting, arrays, large, numbered, cond, anykey, rl, members, gone CASCADE;
DROP FUNCTION shift, refuse, may;
DROP ROLE regress_items_odd, regress_items_nobody;
