-- The operations on items: what each gives, and which status of Cosmos DB its failure has.
SET client_min_messages = warning;
SET search_path = public, partitionkey;

-- A command's outcome: its value without etag and time; or SQLSTATE, status and message.
CREATE FUNCTION outcome(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	message text;
	detail text;
BEGIN
	EXECUTE command INTO result;
	RETURN CASE WHEN result LIKE '{%' THEN (result::jsonb - '_etag' - '_ts')::text
		ELSE regexp_replace(result, '"(_etag|eTag)": "[^"]*", |"_ts": \d+, ', '', 'g') END;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' ', state, substring(detail FROM 'status is (\d+)'));
END $$;

-- A list of them, of which those are told that do not come out as they should.
CREATE TABLE attempt (n int GENERATED ALWAYS AS IDENTITY, command text, expected text);
CREATE PROCEDURE try_all() LANGUAGE plpgsql AS $$
DECLARE
	a attempt;
	seen text;
	wrong int := 0;
	total int := 0;
BEGIN
	FOR a IN SELECT * FROM attempt ORDER BY n LOOP
		seen := outcome(a.command);
		total := total + 1;
		IF seen IS DISTINCT FROM a.expected THEN
			wrong := wrong + 1;
			RAISE WARNING E'%\n  expected %\n  seen     %', a.command, a.expected, seen;
		END IF;
	END LOOP;
	DELETE FROM attempt;
	RAISE WARNING '% of % as expected', total - wrong, total;
END $$;

SELECT create_container_from_definition('{"id": "Orders", "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2},
	"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/number"]}]}}');
SELECT create_container_from_definition('{"id": "Mixed", "partitionKey": {"paths": ["/doc/pk"], "version": 2}}', key_types => '{jsonb}');
SELECT create_container_from_definition('{"id": "ByItem", "partitionKey": {"paths": ["/tenant", "/id"], "kind": "MultiHash", "version": 2}}');
SELECT create_container_from_definition('{"id": "Ids", "partitionKey": {"paths": ["/id"], "version": 2}}');

-- Items and ids: an id is unique within its key
INSERT INTO attempt (command, expected) VALUES
	($$SELECT create_item('orders', '{"id": "1", "tenant": "t1", "user": "u1", "n": 1}')$$, '{"n": 1, "id": "1", "user": "u1", "tenant": "t1"}'),
	($$SELECT create_item('orders', '{"id": "1", "tenant": "t1", "user": "u1", "n": 2}')$$, '23505 409'),
	($$SELECT create_item('orders', '{"id": "1", "tenant": "t1", "user": "u2", "n": 2}')$$, '{"n": 2, "id": "1", "user": "u2", "tenant": "t1"}'),
	($$SELECT read_item('orders', '1', '["t1","u1"]')$$, '{"n": 1, "id": "1", "user": "u1", "tenant": "t1"}'),
	($$SELECT read_item('orders', '1', '["t1","u3"]')$$, 'P0002 404'),
	($$SELECT read_item('orders', '2', '["t1","u1"]')$$, 'P0002 404'),
	($$SELECT upsert_item('orders', '{"id": "1", "tenant": "t1", "user": "u1", "n": 3}')$$, '{"n": 3, "id": "1", "user": "u1", "tenant": "t1"}'),
	($$SELECT upsert_item('orders', '{"id": "2", "tenant": "t1", "user": "u1", "number": 7}')$$, '{"id": "2", "user": "u1", "number": 7, "tenant": "t1"}'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1", "n": 4}')$$, '{"n": 4, "id": "1", "user": "u1", "tenant": "t1"}'),
	($$SELECT replace_item('orders', '3', '["t1","u1"]', '{"id": "3", "tenant": "t1", "user": "u1"}')$$, 'P0002 404'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u9"}')$$, '22023 400'),
	-- an id can be changed by replacing, as in Cosmos DB; not onto another one
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "5", "tenant": "t1", "user": "u1"}')$$, '{"id": "5", "user": "u1", "tenant": "t1"}'),
	($$SELECT replace_item('orders', '5', '["t1","u1"]', '{"id": "2", "tenant": "t1", "user": "u1"}')$$, '23505 409'),
	($$SELECT replace_item('orders', '5', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1", "number": 1}')$$, '{"id": "1", "user": "u1", "number": 1, "tenant": "t1"}'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "incr", "path": "/number", "value": 2}]')$$, '{"id": "1", "user": "u1", "number": 3, "tenant": "t1"}'),
	($$SELECT patch_item('orders', '9', '["t1","u1"]', '[{"op": "incr", "path": "/number", "value": 2}]')$$, 'P0002 404'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "remove", "path": "/nothing"}]')$$, '22023 400'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "set", "path": "/tenant", "value": "t2"}]')$$, '22023 400'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "set", "path": "/ttl", "value": 0}]')$$, '22023 400'),
	-- a unique key holds within a logical partition
	($$SELECT create_item('orders', '{"id": "6", "tenant": "t1", "user": "u1", "number": 7}')$$, '23505 409'),
	($$SELECT create_item('orders', '{"id": "6", "tenant": "t1", "user": "u2", "number": 7}')$$, '{"id": "6", "user": "u2", "number": 7, "tenant": "t1"}'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "set", "path": "/number", "value": 7}]')$$, '23505 409'),
	($$SELECT delete_item('orders', '6', '["t1","u2"]')$$, ''),
	($$SELECT delete_item('orders', '6', '["t1","u2"]')$$, 'P0002 404');
CALL try_all();

-- Etags: a write that names one is done only if the item still has it
INSERT INTO attempt (command, expected) VALUES
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1", "number": 4}', read_item('orders', '1', '["t1","u1"]')->>'_etag')$$,
	 '{"id": "1", "user": "u1", "number": 4, "tenant": "t1"}'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1"}', '"00000000-0000-0000-0000-000000000000"')$$, '55000 412'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1"}', 'no etag at all')$$, '55000 412'),
	($$SELECT replace_item('orders', '9', '["t1","u1"]', '{"id": "9", "tenant": "t1", "user": "u1"}', 'no etag at all')$$, 'P0002 404'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1", "number": 5}', '"' || (read_item('orders', '1', '["t1","u1"]')->>'_etag') || '"')$$,
	 '{"id": "1", "user": "u1", "number": 5, "tenant": "t1"}'),
	($$SELECT replace_item('orders', '1', '["t1","u1"]', '{"id": "1", "tenant": "t1", "user": "u1", "number": 6}', '*')$$,
	 '{"id": "1", "user": "u1", "number": 6, "tenant": "t1"}'),
	($$SELECT upsert_item('orders', '{"id": "1", "tenant": "t1", "user": "u1"}', 'x')$$, '55000 412'),
	-- an upsert of an item that is not there creates it, whatever the etag
	($$SELECT upsert_item('orders', '{"id": "8", "tenant": "t1", "user": "u1", "number": 8}', 'x')$$, '{"id": "8", "user": "u1", "number": 8, "tenant": "t1"}'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "incr", "path": "/number", "value": 1}]', NULL, 'x')$$, '55000 412'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "incr", "path": "/number", "value": 1}]', '$.number > 100')$$, '55000 412'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.number == 6')$$,
	 '{"x": 1, "id": "1", "user": "u1", "number": 6, "tenant": "t1"}'),
	($$SELECT patch_item('orders', '1', '["t1","u1"]', '[{"op": "set", "path": "/x", "value": 1}]', '$.nothing == 6')$$, '55000 412'),
	($$SELECT delete_item('orders', '8', '["t1","u1"]', 'x')$$, '55000 412'),
	($$SELECT delete_item('orders', '8', '["t1","u1"]', read_item('orders', '8', '["t1","u1"]')->>'_etag')$$, ''),
	($$SELECT move_item('orders', '1', '["t1","u1"]', '["t9","u9"]', 'x')$$, '55000 412');
CALL try_all();
-- each write gives another etag, also one by plain SQL, and a time
SELECT count(DISTINCT e) AS etags FROM (
	VALUES (create_item('orders', '{"id": "e", "tenant": "t3", "user": "u1", "number": 1}')->>'_etag'),
		   (upsert_item('orders', '{"id": "e", "tenant": "t3", "user": "u1", "number": 1}')->>'_etag'),
		   (upsert_item('orders', '{"id": "e", "tenant": "t3", "user": "u1", "number": 1}')->>'_etag')) v(e);
UPDATE orders SET doc = doc || '{"by": "SQL"}' WHERE tenant = 't3';
SELECT read_item('orders', 'e', '["t3","u1"]') - '_etag' - '_ts' AS item,
	(read_item('orders', 'e', '["t3","u1"]')->>'_etag')::uuid = etag AS etag,
	(read_item('orders', 'e', '["t3","u1"]')->>'_ts')::bigint = floor(extract(epoch FROM ts)) AS ts,
	now() - ts < '1 min' AS recent
FROM orders WHERE tenant = 't3';
-- what is read can be written back: system properties are not kept in the document
SELECT upsert_item('orders', read_item('orders', 'e', '["t3","u1"]') || '{"again": true}') ? '_etag' AS has_etag;
SELECT doc FROM orders WHERE tenant = 't3';

-- Keys of every kind, where the column takes them, by a nested path
INSERT INTO attempt (command, expected)
SELECT format($$SELECT create_item('mixed', %L)$$, doc), doc::text
FROM unnest(ARRAY['{"id": "1", "doc": {"pk": "a"}}', '{"id": "1", "doc": {"pk": ""}}', '{"id": "1", "doc": {"pk": 42}}',
	'{"id": "1", "doc": {"pk": true}}', '{"id": "1", "doc": {"pk": false}}', '{"id": "1", "doc": {"pk": null}}',
	'{"id": "1", "doc": {"x": 1}}']::jsonb[]) doc;
INSERT INTO attempt (command, expected) VALUES
	-- undefined, whichever way: the parent is absent, null, or a scalar
	($$SELECT create_item('mixed', '{"id": "1"}')$$, '23505 409'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": null}')$$, '23505 409'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": "scalar"}')$$, '23505 409'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": {"pk": 4.2e1}}')$$, '23505 409'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": {"pk": "42"}}')$$, '{"id": "1", "doc": {"pk": "42"}}'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": {"pk": [1]}}')$$, '22023 400'),
	($$SELECT create_item('mixed', '{"id": "1", "doc": {"pk": {"a": 1}}}')$$, '22023 400'),
	($$SELECT read_item('mixed', '1', '["a"]')$$, '{"id": "1", "doc": {"pk": "a"}}'),
	($$SELECT read_item('mixed', '1', '[""]')$$, '{"id": "1", "doc": {"pk": ""}}'),
	($$SELECT read_item('mixed', '1', '[42.0]')$$, '{"id": "1", "doc": {"pk": 42}}'),
	($$SELECT read_item('mixed', '1', '["42"]')$$, '{"id": "1", "doc": {"pk": "42"}}'),
	($$SELECT read_item('mixed', '1', '[true]')$$, '{"id": "1", "doc": {"pk": true}}'),
	($$SELECT read_item('mixed', '1', '[false]')$$, '{"id": "1", "doc": {"pk": false}}'),
	($$SELECT read_item('mixed', '1', '[null]')$$, '{"id": "1", "doc": {"pk": null}}'),
	($$SELECT read_item('mixed', '1', '[{}]')$$, '{"id": "1", "doc": {"x": 1}}'),
	($$SELECT read_item('mixed', '1', '[[]]')$$, '22023 400'),
	($$SELECT read_item('mixed', '1', '[{"a": 1}]')$$, '22023 400'),
	($$SELECT replace_item('mixed', '1', '[{}]', '{"id": "1", "doc": {"pk": null}}')$$, '22023 400'),
	($$SELECT move_item('mixed', '1', '[{}]', '[null]')$$, '23505 409'),
	($$SELECT delete_item('mixed', '1', '[null]')$$, ''),
	($$SELECT move_item('mixed', '1', '[{}]', '[null]')$$, '{"id": "1", "doc": {"x": 1, "pk": null}}'),
	($$SELECT move_item('mixed', '1', '[null]', '[{}]')$$, '{"id": "1", "doc": {"x": 1}}'),
	($$SELECT create_item('mixed', '{"id": "2", "doc": 5}')$$, '{"id": "2", "doc": 5}'),
	($$SELECT move_item('mixed', '2', '[{}]', '["b"]')$$, '22023 400'),
	($$SELECT create_item('mixed', '{"id": "3"}')$$, '{"id": "3"}'),
	($$SELECT move_item('mixed', '3', '[{}]', '["b"]')$$, '{"id": "3", "doc": {"pk": "b"}}'),
	-- columns of type text have no place for other keys
	($$SELECT create_item('orders', '{"id": "1", "tenant": null, "user": "u1"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": "1", "user": "u1"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": "1", "tenant": 5, "user": "u1"}')$$, '22023 400'),
	($$SELECT read_item('orders', '1', '[5,"u1"]')$$, '22023 400');
CALL try_all();

-- Ids
INSERT INTO attempt (command, expected) VALUES
	($$SELECT create_item('orders', '{"tenant": "i", "user": "u"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": null, "tenant": "i", "user": "u"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": "", "tenant": "i", "user": "u"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": 7, "tenant": "i", "user": "u"}')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": ["7"], "tenant": "i", "user": "u"}')$$, '22023 400'),
	($$SELECT create_item('orders', '"text"')$$, '22023 400'),
	($$SELECT create_item('orders', '[]')$$, '22023 400'),
	($$SELECT create_item('orders', '{"id": "/a\\b?c#d", "tenant": "i", "user": "u", "number": 0}')$$, '{"id": "/a\\b?c#d", "user": "u", "number": 0, "tenant": "i"}'),
	($$SELECT read_item('orders', '/a\b?c#d', '["i","u"]')$$, '{"id": "/a\\b?c#d", "user": "u", "number": 0, "tenant": "i"}'),
	($$SELECT length(create_item('orders', jsonb_build_object('id', repeat('x', 255), 'tenant', 'i', 'user', 'u', 'number', 1))->>'id')$$, '255'),
	($$SELECT length(create_item('orders', jsonb_build_object('id', repeat('x', 1023), 'tenant', 'i', 'user', 'u', 'number', 2))->>'id')$$, '1023'),
	($$SELECT create_item('orders', jsonb_build_object('id', repeat('x', 1024), 'tenant', 'i', 'user', 'u', 'number', 3))$$, '22023 400'),
	($$SELECT length(create_item('orders', '{"tenant": "i", "user": "u", "number": 4}', generate_id => true)->>'id')$$, '36'),
	-- an item of 2 MB, and one byte more: 44 bytes are around the text
	($$SELECT length(create_item('orders', jsonb_build_object('id', 'b', 'tenant', 'i', 'user', 'u', 'text', repeat('x', 2 * 1024 * 1024 - 44)))->>'text')$$, '2097108'),
	($$SELECT create_item('orders', jsonb_build_object('id', 'c', 'tenant', 'i', 'user', 'u', 'text', repeat('x', 2 * 1024 * 1024 - 43)))$$, '54000 413'),
	($$SELECT patch_item('orders', 'b', '["i","u"]', '[{"op": "add", "path": "/more", "value": 1}]')$$, '54000 413'),
	($$SELECT create_item('orders', jsonb_build_object('id', 'd', 'tenant', 'i', 'user', 'u', 'deep', (repeat('[', 128) || repeat(']', 128))::jsonb))$$, '22023 400');
CALL try_all();
SELECT length('{"id":"b","tenant":"i","user":"u","text":""}') AS around;

-- Keys that are too short or too long
INSERT INTO attempt (command, expected) VALUES
	($$SELECT read_item('orders', '1', '["t1"]')$$, '22023 400'),
	($$SELECT read_item('orders', '1', '[]')$$, '22023 400'),
	($$SELECT read_item('orders', '1', '["t1","u1","x"]')$$, '22023 400'),
	($$SELECT read_item('orders', '1', '["t1","u1","x","y"]')$$, '22023 400'),
	($$SELECT read_item('orders', '1', '"t1"')$$, '22023 400'),
	($$SELECT read_item('orders', '1', NULL)$$, '22004'),
	($$SELECT read_item('orders', NULL, '["t1","u1"]')$$, '22004'),
	($$SELECT create_item('orders', NULL)$$, '22004'),
	-- with the id as the last level the key is completed from it
	($$SELECT create_item('byitem', '{"id": "7", "tenant": "t1"}')$$, '{"id": "7", "tenant": "t1"}'),
	($$SELECT read_item('byitem', '7', '["t1"]')$$, '{"id": "7", "tenant": "t1"}'),
	($$SELECT read_item('byitem', '7', '["t1","7"]')$$, '{"id": "7", "tenant": "t1"}'),
	($$SELECT read_item('byitem', '7', '["t1","8"]')$$, '22023 400'),
	($$SELECT patch_item('byitem', '7', '["t1"]', '[{"op": "set", "path": "/n", "value": 1}]')$$, '{"n": 1, "id": "7", "tenant": "t1"}'),
	($$SELECT replace_item('byitem', '7', '["t1"]', '{"id": "8", "tenant": "t1"}')$$, '22023 400'),
	($$SELECT move_item('byitem', '7', '["t1"]', '["t2"]')$$, '{"n": 1, "id": "7", "tenant": "t2"}'),
	($$SELECT transactional_batch('byitem', '["t2"]', '[{"operationType": "Read", "id": "7"}]')$$, '22023 400'),
	($$SELECT transactional_batch('byitem', '["t2","7"]', '[{"operationType": "Read", "id": "7"}]')$$,
	 '[{"statusCode": 200, "resourceBody": {"n": 1, "id": "7", "tenant": "t2"}}]'),
	($$SELECT delete_item('byitem', '7', '["t2"]')$$, ''),
	($$SELECT create_item('ids', '{"id": "7"}')$$, '{"id": "7"}'),
	($$SELECT read_item('ids', '7', '[]')$$, '{"id": "7"}'),
	($$SELECT read_item('ids', '7', '["7"]')$$, '{"id": "7"}'),
	($$SELECT read_item('ids', '8', '["8"]')$$, 'P0002 404'),
	-- what is no container
	($$SELECT read_item('attempt', '1', '["a"]')$$, '42809'),
	($$SELECT create_item('orders_p0', '{"id": "1"}')$$, '42809'),
	($$SELECT read_item('pg_class', '1', '["a"]')$$, '42809');
CALL try_all();

-- Moving
INSERT INTO attempt (command, expected) VALUES
	($$SELECT create_item('orders', '{"id": "m", "tenant": "a", "user": "u", "n": 1}')$$, '{"n": 1, "id": "m", "user": "u", "tenant": "a"}'),
	($$SELECT create_item('orders', '{"id": "m", "tenant": "e", "user": "u", "n": 2}')$$, '{"n": 2, "id": "m", "user": "u", "tenant": "e"}'),
	($$SELECT move_item('orders', 'm', '["a","u"]', '["e","u"]')$$, '23505 409'),
	($$SELECT read_item('orders', 'm', '["a","u"]')$$, '{"n": 1, "id": "m", "user": "u", "tenant": "a"}'),
	($$SELECT move_item('orders', 'm', '["a","u"]', '["f","v"]')$$, '{"n": 1, "id": "m", "user": "v", "tenant": "f"}'),
	($$SELECT read_item('orders', 'm', '["a","u"]')$$, 'P0002 404'),
	($$SELECT read_item('orders', 'm', '["f","v"]')$$, '{"n": 1, "id": "m", "user": "v", "tenant": "f"}'),
	($$SELECT move_item('orders', 'm', '["a","u"]', '["g","v"]')$$, 'P0002 404'),
	($$SELECT move_item('orders', 'm', '["f","v"]', '["f","v"]')$$, '22023 400'),
	($$SELECT move_item('orders', 'm', '["f","v"]', '["f"]')$$, '22023 400'),
	($$SELECT move_item('orders', 'm', '["f","v"]', '["f",null]')$$, '22023 400');
CALL try_all();
SELECT key, item - '_etag' - '_ts' AS item FROM find_items('orders', 'm') ORDER BY key;
SELECT key FROM find_items('orders', 'nothing');
SELECT key FROM find_items('ids', '7');
-- columns and document agree, whichever way an item came to its key
SELECT count(*) AS misplaced FROM orders WHERE tenant IS DISTINCT FROM doc->>'tenant' OR "user" IS DISTINCT FROM doc->>'user' OR id IS DISTINCT FROM doc->>'id';
SELECT count(*) AS misplaced FROM mixed WHERE pk IS DISTINCT FROM coalesce(CASE WHEN jsonb_typeof(doc->'doc') = 'object' THEN doc->'doc'->'pk' END, '{}');

-- Partitions
INSERT INTO attempt (command, expected) VALUES
	($$SELECT delete_partition('orders', '["i","u"]')$$, '5'),
	($$SELECT delete_partition('orders', '["i","u"]')$$, '0'),
	($$SELECT delete_partition('orders', '["t1"]')$$, '3'),
	($$SELECT delete_partition('orders', '[]')$$, '22023 400'),
	($$SELECT delete_partition('orders', '["a","b","c"]')$$, '22023 400'),
	($$SELECT delete_partition('mixed', '[{}]')$$, '2'),
	($$SELECT delete_partition('orders', NULL)$$, '22004');
CALL try_all();

-- What errors say
\set VERBOSITY default
SELECT read_item('orders', 'm', '["a","u"]');
SELECT read_item('orders', 'm', '["a"]');
SELECT replace_item('orders', 'm', '["e","u"]', '{"id": "m", "tenant": "x", "user": "u"}');
SELECT create_item('orders', '{"id": "1", "user": "u"}');
SELECT create_item('orders', '{"id": 1, "tenant": "t", "user": "u"}');
SELECT move_item('orders', 'm', '["f","v"]', '["e","u"]');
SELECT patch_item('orders', 'm', '["f","v"]', '[{"op": "set", "path": "/n", "value": 1}]', '$.n > 5');
SELECT read_item('orders', 'm', NULL);

-- Tables that are containers, but not made from a definition
CREATE TABLE notes (owner text, id text, doc jsonb, ts timestamptz, PRIMARY KEY (owner, id));
SELECT create_container('notes', '{/owner}', '{4}');
INSERT INTO attempt (command, expected) VALUES
	($$SELECT create_item('notes', '{"id": "1", "owner": "o"}')$$, '{"id": "1", "owner": "o"}'),
	($$SELECT read_item('notes', '1', '["o"]')$$, '{"id": "1", "owner": "o"}'),
	($$SELECT read_item('notes', '1', '["p"]')$$, 'P0002 404'),
	($$SELECT key FROM find_items('notes', '1')$$, '["o"]'),
	($$SELECT upsert_item('notes', '{"id": "1", "owner": "o"}', 'x')$$, '0A000'),
	($$SELECT upsert_item('notes', '{"id": "1", "owner": "o", "n": 1}')$$, '{"n": 1, "id": "1", "owner": "o"}');
CALL try_all();
SELECT read_item('notes', '1', '["p"]');
SELECT upsert_item('notes', '{"id": "1", "owner": "o"}', 'x');
CREATE TABLE lists (owner text NOT NULL, id text, doc jsonb);
SELECT create_container('lists', '{/owner}', '{4}');
SELECT create_item('lists', '{"id": "1", "owner": "o"}');
CREATE TABLE bare (owner text NOT NULL, doc jsonb);
SELECT create_container('bare', '{/owner}', '{4}');
SELECT create_item('bare', '{"id": "1", "owner": "o"}');
CREATE TABLE plain (owner text, id text, PRIMARY KEY (owner, id));
SELECT create_container('plain', '{/owner}', '{4}');
SELECT create_item('plain', '{"id": "1", "owner": "o"}');

-- Who may do what
CREATE ROLE regress_items_reader;
CREATE ROLE regress_items_writer;
CREATE ROLE regress_items_none;
GRANT SELECT ON notes TO regress_items_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO regress_items_writer;
GRANT EXECUTE ON FUNCTION outcome(text) TO PUBLIC;
SET ROLE regress_items_none;
SELECT outcome($$SELECT read_item('notes', '1', '["o"]')$$), outcome($$SELECT upsert_item('notes', '{"id": "1", "owner": "o"}')$$),
	outcome($$SELECT key FROM find_items('notes', '1')$$), outcome($$SELECT delete_partition('notes', '["o"]')$$);
SET ROLE regress_items_reader;
SELECT outcome($$SELECT read_item('notes', '1', '["o"]')$$), outcome($$SELECT upsert_item('notes', '{"id": "1", "owner": "o"}')$$),
	outcome($$SELECT key FROM find_items('notes', '1')$$), outcome($$SELECT delete_item('notes', '1', '["o"]')$$);
SET ROLE regress_items_writer;
SELECT outcome($$SELECT upsert_item('notes', '{"id": "1", "owner": "o"}')$$), outcome($$SELECT move_item('notes', '1', '["o"]', '["p"]')$$);
RESET ROLE;
-- row security hides items from point reads, too
SELECT upsert_item('notes', '{"id": "2", "owner": "q", "n": 2}') ? 'id' AS written;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (owner <> 'q');
SET ROLE regress_items_writer;
SELECT outcome($$SELECT read_item('notes', '1', '["p"]')$$), outcome($$SELECT read_item('notes', '2', '["q"]')$$),
	outcome($$SELECT count(*) FROM find_items('notes', '2')$$), outcome($$SELECT delete_item('notes', '2', '["q"]')$$),
	outcome($$SELECT upsert_item('notes', '{"id": "2", "owner": "q"}')$$);
RESET ROLE;
DROP POLICY own ON notes;
ALTER TABLE notes DISABLE ROW LEVEL SECURITY;
-- privileges on columns alone
REVOKE SELECT ON notes FROM regress_items_reader;
GRANT SELECT (owner, id, doc, ts) ON notes TO regress_items_reader;
SET ROLE regress_items_reader;
SELECT outcome($$SELECT read_item('notes', '1', '["p"]')$$);
RESET ROLE;
REVOKE SELECT (doc) ON notes FROM regress_items_reader;
SET ROLE regress_items_reader;
SELECT outcome($$SELECT read_item('notes', '1', '["p"]')$$);
RESET ROLE;

-- Triggers of the table have their say
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.doc ? 'refuse' THEN RETURN NULL; END IF; RETURN NEW; END$$;
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION keep();
SELECT outcome($$SELECT create_item('notes', '{"id": "3", "owner": "o", "refuse": 1}')$$),
	outcome($$SELECT patch_item('notes', '2', '["q"]', '[{"op": "add", "path": "/refuse", "value": 1}]')$$),
	outcome($$SELECT upsert_item('notes', '{"id": "2", "owner": "q", "refuse": 1}')$$);

-- The tree's shape does not matter
SELECT create_container_from_definition('{"id": "Shape", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}}', partitions => '{2}');
SELECT count(create_item('shape', jsonb_build_object('id', i::text, 't', 't' || i % 5, 'u', 'u' || i % 20))) FROM generate_series(1, 200) i;
CREATE TABLE before AS SELECT i, read_item('shape', i::text, jsonb_build_array('t' || i % 5, 'u' || i % 20)) AS item FROM generate_series(1, 200) i;
SELECT partition AS leaf FROM physical_partitions WHERE container = 'shape'::regclass ORDER BY 1 LIMIT 1 \gset
CALL split_partition(:'leaf');
CALL isolate_key('shape', '["t1"]');
SELECT partition_of('shape', '["t1","u1"]') AS leaf LIMIT 1 \gset
CALL split_partition(:'leaf');
SELECT count(*) > 2 AS more_leaves FROM physical_partitions WHERE container = 'shape'::regclass;
SELECT count(*) FILTER (WHERE item = read_item('shape', i::text, jsonb_build_array('t' || i % 5, 'u' || i % 20))) AS same FROM before;
SELECT count(*) AS by_sql FROM before b JOIN shape s ON s.id = b.i::text AND b.item - '_etag' - '_ts' = s.doc AND b.item->>'_etag' = s.etag::text;
-- names are quoted, a column may be dropped, the container renamed, a column too
CREATE TABLE "Or'ders ""x""" (drop_me int, "Key é" text, "id" varchar(40), other int DEFAULT 7, "Doc um" jsonb, PRIMARY KEY ("Key é", id));
SELECT create_container('"Or''ders ""x"""', '{"/\"Key é\""}', '{4}');
ALTER TABLE "Or'ders ""x""" DROP COLUMN drop_me;
SELECT create_item('"Or''ders ""x"""', '{"id": "1", "Key é": "k"}') ? 'id' AS created;
SELECT read_item('"Or''ders ""x"""', '1', '["k"]') - '_ts' AS item;
ALTER TABLE "Or'ders ""x""" RENAME COLUMN "Doc um" TO doc;
ALTER TABLE "Or'ders ""x""" RENAME TO renamed;
SELECT patch_item('renamed', '1', '["k"]', '[{"op": "add", "path": "/n", "value": 1}]') - '_ts' AS patched;
SELECT read_item('renamed', '1', '["k"]') - '_ts' AS item;
ALTER TABLE renamed ALTER COLUMN other DROP DEFAULT;
CREATE SCHEMA regress_items;
ALTER TABLE renamed SET SCHEMA regress_items;
SELECT upsert_item('regress_items.renamed', '{"id": "1", "Key é": "k", "n": 2}') - '_ts' AS item;
ALTER SCHEMA regress_items RENAME TO regress_items2;
SELECT upsert_item('regress_items2.renamed', '{"id": "1", "Key é": "k", "n": 3}') - '_ts' AS item;
SELECT read_item('regress_items2.renamed', '1', '["k"]') - '_ts' AS item;

-- Time to live: what has expired is not there, and its place is free
SELECT create_container_from_definition('{"id": "Short", "defaultTtl": 60, "partitionKey": {"paths": ["/pk"], "version": 2}}');
SELECT count(create_item('short', jsonb_build_object('id', i::text, 'pk', 'a'))) FROM generate_series(1, 6) i;
SELECT upsert_item('short', '{"id": "7", "pk": "a", "ttl": -1}') ? 'ttl' AS lives;
UPDATE short SET ts = now() - interval '61 s';
INSERT INTO attempt (command, expected) VALUES
	($$SELECT read_item('short', '1', '["a"]')$$, 'P0002 404'),
	($$SELECT read_item('short', '7', '["a"]')$$, '{"id": "7", "pk": "a", "ttl": -1}'),
	($$SELECT count(*) FROM find_items('short', '1')$$, '0'),
	($$SELECT replace_item('short', '1', '["a"]', '{"id": "1", "pk": "a"}')$$, 'P0002 404'),
	($$SELECT patch_item('short', '1', '["a"]', '[{"op": "add", "path": "/n", "value": 1}]')$$, 'P0002 404'),
	($$SELECT delete_item('short', '1', '["a"]')$$, 'P0002 404'),
	($$SELECT move_item('short', '1', '["a"]', '["b"]')$$, 'P0002 404'),
	($$SELECT create_item('short', '{"id": "1", "pk": "a", "new": true}')$$, '{"id": "1", "pk": "a", "new": true}'),
	($$SELECT upsert_item('short', '{"id": "2", "pk": "a", "new": true}', 'x')$$, '{"id": "2", "pk": "a", "new": true}'),
	($$SELECT create_item('short', '{"id": "3", "pk": "b"}')$$, '{"id": "3", "pk": "b"}'),
	($$SELECT move_item('short', '3', '["b"]', '["a"]')$$, '{"id": "3", "pk": "a"}'),
	($$SELECT create_item('short', '{"id": "8", "pk": "a", "ttl": 0}')$$, '22023 400'),
	($$SELECT create_item('short', '{"id": "8", "pk": "a", "ttl": "10"}')$$, '22023 400'),
	($$SELECT create_item('short', '{"id": "8", "pk": "a", "ttl": 1.5}')$$, '22023 400'),
	($$SELECT create_item('short', '{"id": "8", "pk": "a", "ttl": -2}')$$, '22023 400'),
	($$SELECT create_item('short', '{"id": "8", "pk": "a", "ttl": null}')$$, '{"id": "8", "pk": "a", "ttl": null}'),
	($$SELECT delete_expired('short')$$, '3'),
	($$SELECT string_agg(id, ',' ORDER BY id) FROM short$$, '1,2,3,7,8'),
	($$SELECT set_default_ttl('short', NULL)$$, '');
CALL try_all();
UPDATE short SET ts = now() - interval '1 year';
SELECT outcome($$SELECT read_item('short', '1', '["a"]')$$) AS off;

DROP SCHEMA regress_items2 CASCADE;
DROP TABLE orders, mixed, byitem, ids, notes, lists, bare, plain, shape, before, short, attempt;
DROP ROLE regress_items_reader, regress_items_writer, regress_items_none;
