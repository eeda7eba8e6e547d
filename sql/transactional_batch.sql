-- Transactional batches
SET client_min_messages = warning;
SET search_path = public, partitionkey;
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never

SELECT create_container_from_definition('{"id": "Carts", "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2},
	"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/number"]}]}}');
-- The result of a batch, an operation on each line, without etags and times.
CREATE FUNCTION batch(key jsonb, operations jsonb) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', r->>'statusCode', (r->'resourceBody') - '_etag' - '_ts', r->>'message', CASE WHEN r ? 'eTag' THEN
		CASE WHEN r->>'eTag' = r->'resourceBody'->>'_etag' THEN 'etag' ELSE 'other etag' END END)
	FROM jsonb_array_elements(transactional_batch('carts', key, operations)) r
$$;

-- all kinds of operations, each of which sees what those before it did
SELECT batch('["t","u"]', '[
	{"operationType": "Create", "resourceBody": {"id": "1", "tenant": "t", "user": "u", "number": 1}},
	{"operationType": "Upsert", "resourceBody": {"id": "2", "tenant": "t", "user": "u", "number": 2}},
	{"operationType": "Upsert", "resourceBody": {"id": "1", "tenant": "t", "user": "u", "number": 3}},
	{"operationType": "Read", "id": "1"},
	{"operationType": "Replace", "id": "2", "resourceBody": {"id": "2", "tenant": "t", "user": "u", "number": 4}},
	{"operationType": "Patch", "id": "2", "resourceBody": {"operations": [{"op": "incr", "path": "/number", "value": 10}]}, "condition": "$.number == 4"},
	{"operationType": "Delete", "id": "1"},
	{"operationType": "create", "partitionKey": ["t", "u"], "resourceBody": {"id": "1", "tenant": "t", "user": "u", "again": true}}]');
SELECT doc FROM carts ORDER BY id;
-- what fails undoes all; the others depend on it
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Create", "resourceBody": {"id": "2", "tenant": "t", "user": "u"}}, {"operationType": "Delete", "id": "2"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Read", "id": "3"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Replace", "id": "2", "resourceBody": {"id": "2", "tenant": "t", "user": "u"}, "ifMatch": "x"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Patch", "id": "2", "resourceBody": [{"op": "remove", "path": "/x"}]}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Patch", "id": "2", "resourceBody": [{"op": "set", "path": "/number", "value": 1}], "condition": "$.number == 4"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Upsert", "resourceBody": {"id": 1, "tenant": "t", "user": "u"}}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Create", "resourceBody": {"id": "3", "tenant": "t", "user": "v"}}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Create", "resourceBody": {"id": "3", "tenant": "t", "user": "u", "ttl": 0}}]');
-- a unique key
SELECT regexp_replace(batch, '"[^"]*"', '"..."', 'g') FROM batch('["t","u"]', '[{"operationType": "Delete", "id": "1"}, {"operationType": "Create", "resourceBody": {"id": "3", "tenant": "t", "user": "u", "number": 14}}]');
SELECT doc FROM carts ORDER BY id;
-- several creates: it is told which one failed, the first of them
SELECT batch('["t","z"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', id, 'tenant', 't', 'user', 'z', 'number', n)))
	FROM (VALUES ('a', 1), ('b', 2), ('a', 3), ('c', 4)) v(id, n)));
SELECT batch('["t","z"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', id, 'tenant', 't', 'user', 'z', 'number', n)))
	FROM (VALUES ('a', 1), ('b', 2), ('c', 2), ('', 4)) v(id, n)));
SELECT batch('["t","u"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', id, 'tenant', 't', 'user', 'u', 'number', n)))
	FROM (VALUES ('a', 21), ('2', 22), ('c', 23)) v(id, n)));
SELECT batch('["t","z"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody', jsonb_build_object('id', id, 'tenant', 't', 'user', 'z', 'number', n)))
	FROM (VALUES ('c', 1), ('b', 2), ('a', 3)) v(id, n)));
SELECT delete_partition('carts', '["t","z"]');
-- the session goes on, and what was before the batch in its transaction stays
BEGIN;
SELECT create_item('carts', '{"id": "0", "tenant": "t", "user": "u", "number": 0}') ? 'id';
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "0"}, {"operationType": "Read", "id": "3"}]');
COMMIT;
SELECT id FROM carts ORDER BY id;
-- errors that Cosmos DB has no status for are errors of the statement
ALTER TABLE carts ADD CONSTRAINT small CHECK ((doc->>'number')::int < 1000);
\set VERBOSITY terse
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "0"}, {"operationType": "Patch", "id": "2", "resourceBody": [{"op": "set", "path": "/number", "value": 1000}]}]');
\set VERBOSITY default
ALTER TABLE carts DROP CONSTRAINT small;

-- Batches that are none
SELECT batch('["t"]', '[{"operationType": "Read", "id": "1"}]');
SELECT batch('["t","u","v"]', '[{"operationType": "Read", "id": "1"}]');
SELECT batch(NULL, '[{"operationType": "Read", "id": "1"}]');
SELECT batch('["t","u"]', '[]');
SELECT batch('["t","u"]', '{}');
SELECT batch('["t","u"]', '["Read"]');
SELECT batch('["t","u"]', '[{"id": "1"}]');
SELECT batch('["t","u"]', '[{"operationType": "Truncate", "id": "1"}]');
SELECT batch('["t","u"]', '[{"operationType": "Read"}]');
SELECT batch('["t","u"]', '[{"operationType": "Read", "id": 1}]');
SELECT batch('["t","u"]', '[{"operationType": "Create", "id": "1", "resourceBody": {}}]');
SELECT batch('["t","u"]', '[{"operationType": "Create"}]');
SELECT batch('["t","u"]', '[{"operationType": "Patch", "id": "1"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1", "resourceBody": {}}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1", "if_match": "x"}]');
SELECT batch('["t","u"]', '[{"operationType": "Delete", "id": "1", "condition": "$.n == 1"}]');
SELECT batch('["t","u"]', '[{"operationType": "Read", "id": "1"}, {"operationType": "Read", "partitionKey": ["t", "v"], "id": "1"}]');
SELECT batch('["t","u"]', '[{"operationType": "Read", "partitionKey": ["t"], "id": "1"}]');
\set VERBOSITY sqlstate
SELECT batch('["t","u"]', '[{"operationType": "Patch", "id": "1", "resourceBody": [], "condition": "no path"}]');
\set VERBOSITY default
-- 100 operations are the most, and 2 MB
SELECT count(*) FROM batch('["t","u"]', (SELECT jsonb_agg('{"operationType": "Read", "id": "1"}'::jsonb) FROM generate_series(1, 100)));
SELECT batch('["t","u"]', (SELECT jsonb_agg('{"operationType": "Read", "id": "1"}'::jsonb) FROM generate_series(1, 101)));
SELECT count(*) FROM batch('["t","v"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody',
	jsonb_build_object('id', i::text, 'tenant', 't', 'user', 'v', 'number', i, 'text', repeat('x', 20000)))) FROM generate_series(1, 100) i));
SELECT batch('["t","w"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody',
	jsonb_build_object('id', i::text, 'tenant', 't', 'user', 'w', 'number', i, 'text', repeat('x', 21000)))) FROM generate_series(1, 100) i));
SELECT count(*) FROM carts WHERE tenant = 't' AND "user" IN ('v', 'w');

DROP TABLE carts;
DROP FUNCTION batch;
