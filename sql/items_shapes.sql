-- The item functions and plain SQL agree, whatever the types of keys and the shape of the tree.
SET client_min_messages = warning;
SET search_path = public, partitionkey;

-- the id in the key, mixed types, a nested path
SELECT create_container_from_definition('{"id": "mixed", "partitionKey": {"paths": ["/a", "/b/c", "/id"], "kind": "MultiHash", "version": 2}}',
	key_types => '{jsonb,double precision,text}', partitions => '{2,2,2}');
SELECT create_container_from_definition('{"id": "flags", "partitionKey": {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}}',
	key_types => '{text,boolean}', partitions => '{1}');
SELECT create_container_from_definition('{"id": "ids", "partitionKey": {"paths": ["/id"], "version": 2}}', partitions => '{4}');
-- no definition, columns in another order, one dropped, neither etag nor ts
CREATE TABLE "By Hand" (doc jsonb NOT NULL, dropped int, id text NOT NULL, b uuid NOT NULL, a numeric(10,2) NOT NULL, PRIMARY KEY (id, b, a));
ALTER TABLE "By Hand" DROP COLUMN dropped;
SELECT create_container('"By Hand"', '{/a,/b}', '{2,4}');
CREATE TABLE containers_of_test AS SELECT * FROM unnest(ARRAY['mixed', 'flags', 'ids', '"By Hand"']::regclass[]) c;

CREATE FUNCTION doc_of(c regclass, i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_build_object('n', i) || CASE c::text
		WHEN 'mixed' THEN jsonb_build_object('id', 'i' || i % 100, 'b', jsonb_build_object('c', i % 7 / 2.0))
			|| (CASE i % 5 WHEN 0 THEN '{"a": null}' WHEN 1 THEN '{}' WHEN 2 THEN '{"a": 7}' WHEN 3 THEN jsonb_build_object('a', 's' || i % 13) ELSE '{"a": true}' END)
		WHEN 'flags' THEN jsonb_build_object('id', i::text, 'a', 't' || i % 9, 'b', i % 3 = 0)
		WHEN 'ids' THEN jsonb_build_object('id', 'x' || i)
		ELSE jsonb_build_object('id', 'n' || i % 30, 'a', i % 17 / 4.0, 'b', md5((i % 5)::text)::uuid) END $$;
CREATE FUNCTION key_of(c regclass, doc jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE c::text WHEN 'mixed' THEN jsonb_build_array(coalesce(doc->'a', '{}'), doc->'b'->'c', doc->'id')
		WHEN 'ids' THEN jsonb_build_array(doc->'id') ELSE jsonb_build_array(doc->'a', doc->'b') END $$;
-- another key, which no item has
CREATE FUNCTION elsewhere(c regclass) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE c::text WHEN 'mixed' THEN '["moved", 77]' WHEN 'flags' THEN '["moved", true]' WHEN 'ids' THEN NULL ELSE '[3.55, "00000000-0000-0000-0000-000000000001"]' END::jsonb $$;
CREATE FUNCTION content(item jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$SELECT item - '{_etag,_ts}'::text[]$$;

-- Each function on an item that plain SQL has found; it is afterwards as it was before.
CREATE FUNCTION check_item(c regclass, id text, doc jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	place jsonb := key_of(c, doc);
BEGIN
	ASSERT content(read_item(c, id, place)) = doc, 'read_item';
	ASSERT (SELECT jsonb_agg(content(f.item)) FROM find_items(c, id) f WHERE f.key = place) = jsonb_build_array(doc), 'find_items';
	BEGIN
		PERFORM create_item(c, doc);
		ASSERT false, 'create_item';
	EXCEPTION WHEN unique_violation THEN
	END;
	ASSERT patch_item(c, id, place, '[{"op": "incr", "path": "/n", "value": 1000}]')->'n' = to_jsonb((doc->>'n')::int + 1000), 'patch_item';
	ASSERT content(replace_item(c, id, place, doc || '{"replaced": true}')) = doc || '{"replaced": true}', 'replace_item';
	ASSERT content(upsert_item(c, doc)) = doc, 'upsert_item';
	IF elsewhere(c) IS NOT NULL THEN
		PERFORM move_item(c, id, place, elsewhere(c));
		BEGIN
			PERFORM read_item(c, id, place);
			ASSERT false, 'move_item';
		EXCEPTION WHEN no_data_found THEN
		END;
		ASSERT content(move_item(c, id, elsewhere(c), place)) = doc, 'move_item back';
	END IF;
	PERFORM delete_item(c, id, place);
	ASSERT (SELECT count(*) FROM find_items(c, id) f WHERE f.key = place) = 0, 'delete_item';
	ASSERT content(create_item(c, doc)) = doc, 'create_item of one that was deleted';
END$$;
CREATE FUNCTION check_containers() RETURNS TABLE (container regclass, items bigint, same boolean, misplaced numeric) LANGUAGE plpgsql AS $$
DECLARE
	before jsonb; after jsonb;
BEGIN
	FOR container IN SELECT c FROM containers_of_test LOOP
		EXECUTE format('SELECT jsonb_agg(doc ORDER BY doc) FROM %s', container) INTO before;
		EXECUTE format('SELECT count(check_item(%L, id, doc)) FROM (SELECT id, doc FROM %s OFFSET 0) x', container, container) INTO items;
		EXECUTE format('SELECT jsonb_agg(doc ORDER BY doc) FROM %s', container) INTO after;
		same := before = after;
		EXECUTE format('SELECT sum(misplaced) FROM verify(%L)', container) INTO misplaced;
		RETURN NEXT;
	END LOOP;
END$$;

SELECT count(upsert_item(c, doc_of(c, i))) FROM containers_of_test, generate_series(1, 50) i;
SELECT * FROM check_containers();

-- partitions in two
SELECT format('CALL split_partition(%L)', partition) FROM physical_partitions WHERE container IN (SELECT c FROM containers_of_test) AND partition::text ~ '_p0(_0)*"?$' ORDER BY container, partition \gexec
SELECT * FROM check_containers();

-- isolated keys and prefixes
CALL isolate_key('mixed', '[null]');
CALL isolate_key('mixed', '[{}, 0.5]');
CALL isolate_key('flags', '["t3"]');
CALL isolate_key('ids', '["x33"]');
CALL isolate_key('"By Hand"', '[1.25]');
SELECT * FROM check_containers();

-- no index on the id
DROP INDEX mixed_id_idx, flags_id_idx;
SELECT * FROM check_containers();

-- rows that plain SQL has written
UPDATE "By Hand" SET a = 4.25, doc = doc || '{"a": 4.25}' WHERE a = 4;
INSERT INTO flags (a, b, id, doc) VALUES ('new', true, '1', '{"id": "1", "a": "new", "b": true, "n": 1}');
SELECT * FROM check_containers();

DROP TABLE mixed, flags, ids, "By Hand", containers_of_test;
DROP FUNCTION doc_of, key_of, elsewhere, content, check_item, check_containers;
