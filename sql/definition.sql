-- Containers made from their definitions in Cosmos DB, and the definitions given back.
CREATE SCHEMA staging;
SET search_path = staging;
CREATE VIEW shape AS SELECT attrelid::regclass AS container, string_agg(format('%s %s%s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' not null' END), ', ' ORDER BY attnum) AS columns
	FROM pg_attribute WHERE attrelid IN (SELECT container FROM partitionkey.containers) AND attnum > 0 GROUP BY 1;
CREATE VIEW index_of AS SELECT indrelid::regclass AS container, relname AS index, regexp_replace(pg_get_indexdef(indexrelid), ' INDEX.* USING', '') AS definition
	FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid IN (SELECT container FROM partitionkey.containers);
CREATE FUNCTION made(definition jsonb, name text DEFAULT NULL, key_types text[] DEFAULT NULL, partitions int[] DEFAULT NULL)
	RETURNS TABLE (container regclass, paths text[], columns text, hash text, leaves bigint) LANGUAGE plpgsql AS $$
	#variable_conflict use_column
	DECLARE made regclass := partitionkey.create_container_from_definition($1, $2, $3, $4);
	BEGIN
		RETURN QUERY SELECT c.container, c.paths, s.columns, c.hash, c.physical_partitions
			FROM partitionkey.containers c JOIN shape s USING (container) WHERE c.container = made;
	END$$;

-- Shapes: each wraps the same container
CREATE TABLE wrapped (n serial, definition jsonb);
INSERT INTO wrapped (definition) VALUES
	('{"id": "Orders", "partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2}}'),
	('{"resource": {"id": "Orders", "partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2, "systemKey": null}, "indexingPolicy": null, "uniqueKeyPolicy": null, "defaultTtl": null}}'),
	('{"id": "/subscriptions/1/containers/Orders", "name": "Orders", "type": "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers", "location": null, "tags": null, "resource": {"id": "Orders", "_rid": "abc=", "_ts": 1700000000, "partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2}}}'),
	('{"type": "Microsoft.DocumentDB/x", "name": "account/shop/Orders", "properties": {"resource": {"partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2}}, "options": {"throughput": 400}}}'),
	('[{"id": "Orders", "partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2}}]'),
	('{"_rid": "x", "_count": 1, "DocumentCollections": [{"id": "Orders", "partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2.0}}]}'),
	('{"value": [{"properties": {"resource": {"id": "Orders", "partitionKey": {"paths": ["/TenantId"], "version": 2}}}}]}');
DO $$
	DECLARE
		w record;
		result record;
	BEGIN
		FOR w IN SELECT * FROM wrapped ORDER BY n LOOP
			RAISE NOTICE 'shape %', w.n;
			SELECT * INTO result FROM made(w.definition);
			RAISE NOTICE '% %', result, (SELECT string_agg(definition, '; ' ORDER BY definition COLLATE "C") FROM index_of);
			RAISE NOTICE '%', partitionkey.container_definition('orders') - 'id' = '{"partitionKey": {"paths": ["/TenantId"], "kind": "Hash", "version": 2}}';
			DROP TABLE Orders;
		END LOOP;
	END$$;

-- What is no definition
\set SHOW_CONTEXT never
SELECT partitionkey.create_container_from_definition(NULL);
SELECT partitionkey.create_container_from_definition('"orders"');
SELECT partitionkey.create_container_from_definition('[]');
SELECT partitionkey.create_container_from_definition('[{"id": "a"}, {"id": "b"}]');
SELECT partitionkey.create_container_from_definition('{}');
SELECT partitionkey.create_container_from_definition('{"id": "a", "partitionKey": null, "indexingPolicy": {}}');
SELECT partitionkey.create_container_from_definition('{"resource": {"id": "a"}}');
SELECT partitionkey.create_container_from_definition('{"partitionKey": {"paths": ["/a"]}}');
SELECT partitionkey.create_container_from_definition('{"id": 5, "partitionKey": {"paths": ["/a"]}}');
SELECT partitionkey.create_container_from_definition('{"id": "", "partitionKey": {"paths": ["/a"]}}');

-- The partition key
CREATE FUNCTION keyed(key jsonb, key_types text[] DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		RETURN NEXT (SELECT columns FROM made(jsonb_build_object('id', 'k', 'partitionKey', key), NULL, $2, '{1}'));
		RETURN NEXT partitionkey.container_definition('k')->'partitionKey';
		DROP TABLE k;
	END$$;
SELECT keyed('"/a"');
SELECT keyed('["/a"]');
SELECT keyed('{"kind": "Hash"}');
SELECT keyed('{"paths": "/a"}');
SELECT keyed('{"paths": {}}');
SELECT keyed('{"paths": []}');
SELECT keyed('{"paths": ["/a", 1]}');
SELECT keyed('{"paths": ["a"]}');
SELECT keyed('{"paths": ["//a"]}');
SELECT keyed('{"paths": ["/"]}');
SELECT keyed('{"paths": ["/a/*"]}');
SELECT keyed('{"paths": ["/tags/[]"]}');
-- kind and version
SELECT keyed('{"paths": ["/a"]}');
SELECT keyed('{"paths": ["/a"], "kind": "Hash", "version": 1}');
SELECT keyed('{"paths": ["/a"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/a", "/b"], "kind": "MultiHash"}');
SELECT keyed('{"paths": ["/a", "/b"], "kind": "MultiHash", "version": 1}');
SELECT keyed('{"paths": ["/a", "/b"], "kind": "Hash"}');
SELECT keyed('{"paths": ["/a", "/b"]}');
SELECT keyed('{"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/a", "/\"a\""], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/a"], "kind": "Range"}');
SELECT keyed('{"paths": ["/a"], "kind": "hash"}');
SELECT keyed('{"paths": ["/a"], "kind": 1}');
SELECT keyed('{"paths": ["/a"], "version": "2"}');
SELECT keyed('{"paths": ["/a"], "version": 1.5}');
SELECT keyed('{"paths": ["/a"], "version": 1e309}');
SELECT keyed('{"paths": ["/_partitionKey"], "kind": "Hash", "version": 1, "systemKey": true}');
SELECT keyed('{"paths": ["/_partitionKey"], "kind": "Hash", "version": 2, "systemKey": true}', '{jsonb}');
SELECT keyed('{"paths": ["/a"], "version": 2, "systemKey": false, "extra": 1}');

-- Names of columns
SELECT keyed('{"paths": ["/TenantId", "/address/City", "/id"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/id"], "kind": "Hash", "version": 2}');
SELECT keyed('{"paths": ["/id", "/a"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/a/pk", "/b/pk", "/pk"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/doc", "/TS", "/customer/id"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/Id", "/id_key", "/ID"], "kind": "MultiHash", "version": 2}');
SELECT keyed('{"paths": ["/ctid", "/\"a b/c.d\"", "/''Quoted \"q\"''"], "kind": "MultiHash", "version": 2}');
SELECT keyed(jsonb_build_object('paths', jsonb_build_array('/' || repeat('x', 70), '/' || repeat('y', 60) || '/doc'), 'kind', 'MultiHash', 'version', 2));
SELECT keyed('{"paths": ["/Etag", "/a/etag"], "kind": "MultiHash", "version": 2}');

-- Types of keys
SELECT keyed('{"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}', '{double precision,Boolean,jsonb}');
SELECT keyed('{"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}', '{NULL,float8}');
SELECT keyed('{"paths": ["/a", "/b"], "kind": "MultiHash", "version": 2}', '{text}');
SELECT keyed('{"paths": ["/a"], "version": 2}', '{}');
SELECT keyed('{"paths": ["/a"], "version": 2}', '{bigint}');
SELECT keyed('{"paths": ["/id"], "version": 2}', '{jsonb}');

-- Names of containers
SELECT container FROM made('{"id": "My \"Orders\"", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT container FROM made('{"id": "orders-2025", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT container FROM made('{"id": "Orders_2", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT container FROM made('{"id": "orders", "partitionKey": {"paths": ["/a"], "version": 2}}', 'Chosen');
SELECT container FROM made('{"partitionKey": {"paths": ["/a"], "version": 2}}', '"public"."The other"');
SELECT container, partitionkey.container_definition(container)->>'id' AS id FROM partitionkey.containers ORDER BY container::text COLLATE "C";
SELECT container FROM made('{"id": "chosen", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT container FROM made('{"id": "wrapped", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'My Orders');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', '');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'nowhere.x');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'pg_temp.x');
SELECT container FROM made(jsonb_build_object('id', repeat('x', 64), 'partitionKey', '{"paths": ["/a"], "version": 2}'::jsonb));
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', repeat('n', 64));
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'public."' || repeat('.', 64) || '"');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', ' public . "' || repeat('""', 62) || 'N" ');
-- The id may stand around the container alone.
SELECT container FROM made('{"name": "account/database/AroundX", "properties": {"resource": {"partitionKey": {"paths": ["/a"], "version": 2}}}}');
SELECT partitionkey.container_definition('aroundx');
SELECT container FROM made('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', partitions => '{3}');
SET client_min_messages = warning;
DROP TABLE "My ""Orders""", "orders-2025", orders_2, chosen, "public"."The other", aroundx;
SELECT format('DROP TABLE public.%I', repeat('"', 62) || 'N') \gexec
RESET client_min_messages;

-- Every member without effect is told, the one for all properties with what to do
SELECT container FROM made('{"id": "idle", "partitionKey": {"paths": ["/a"], "kind": "Hash", "version": 2, "more": 1},
	"defaultTtl": 3600, "conflictResolutionPolicy": {"mode": "LastWriterWins"}, "analyticalStorageTtl": -1, "changeFeedPolicy": {},
	"computedProperties": [], "vectorEmbeddingPolicy": {}, "geospatialConfig": {"type": "Geography"}, "fullTextPolicy": {}, "unknown": {"x": 1}, "nothing": null,
	"_rid": "r", "_ts": 1, "_self": "s", "_etag": "e", "_docs": "docs/",
	"uniqueKeyPolicy": {"uniqueKeys": [], "also": 1},
	"indexingPolicy": {"indexingMode": "lazy", "automatic": true, "future": 1,
		"includedPaths": [{"path": "/*"}, {"path": "/old/?", "indexes": [{"kind": "Range", "dataType": "String", "precision": -1}]},
			{"path": "/where/?", "indexes": [{"kind": "Spatial", "dataType": "Point"}]}, {"path": "/?"}, {"path": "/both/?"}, {"path": "/_rid/?"}],
		"excludedPaths": [{"path": "/\"_etag\"/?"}, {"path": "/both/?"}, {"path": "/list/[]/secret/?"}],
		"spatialIndexes": [{"path": "/where/*", "types": ["Point"]}], "vectorIndexes": [{"path": "/v", "type": "flat"}], "fullTextIndexes": [{"path": "/text"}]}}');
SELECT index, definition FROM index_of WHERE container = 'idle'::regclass ORDER BY index COLLATE "C";
SELECT partitionkey.container_definition('idle') ?| '{_rid,_ts,_self,_etag,_docs,nothing}' AS has_service_members,
	partitionkey.container_definition('idle')->'unknown' AS unknown, partitionkey.container_definition('idle')->'defaultTtl' AS ttl;
SELECT container FROM made('{"id": "quiet", "_rid": "r", "partitionKey": {"paths": ["/a"], "version": 2}, "uniqueKeyPolicy": {"uniqueKeys": []}}');
DROP TABLE idle, quiet;

-- Indexing policies
CREATE FUNCTION indexed(policy jsonb, key text DEFAULT '{"paths": ["/TenantId", "/Nested/Level"], "kind": "MultiHash", "version": 2}')
	RETURNS TABLE (index name, definition text) LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM made(jsonb_build_object('id', 'i', 'indexingPolicy', policy, 'partitionKey', key::jsonb), partitions => '{1}');
		RETURN QUERY SELECT o.index, o.definition FROM index_of o WHERE o.container = 'i'::regclass ORDER BY 1;
		DROP TABLE i;
	END$$;
SELECT * FROM indexed('{"includedPaths": [{"path": "/price/?"}, {"path": "/price/?"}, {"path": "/address/city/?"}, {"path": "/\"a b\"/\"it''s\"/?"}, {"path": "/plain"}]}');
-- what is a column
SELECT * FROM indexed('{"includedPaths": [{"path": "/TenantId/?"}, {"path": "/Nested/Level/?"}, {"path": "/id/?"}, {"path": "/_ts/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/id/?"}]}', '{"paths": ["/id"], "version": 2}');
-- arrays, and all that is below a property
SELECT * FROM indexed('{"includedPaths": [{"path": "/tags/[]/?"}, {"path": "/items/[]/sku/?"}, {"path": "/items/[]/price/?"}, {"path": "/StartAt/*"}]}');
SELECT * FROM indexed('{"compositeIndexes": [[{"path": "/name", "order": "ascending"}, {"path": "/age", "order": "descending"}], [{"path": "/TenantId"}, {"path": "/_ts", "order": "descending"}], []]}');
-- excluded: the more precise path wins
SELECT * FROM indexed('{"includedPaths": [{"path": "/a/*"}, {"path": "/a/b/c/?"}, {"path": "/x/?"}], "excludedPaths": [{"path": "/*"}, {"path": "/a/b/*"}, {"path": "/a/d/[]/?"}, {"path": "/x/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/l/[]/a/?"}, {"path": "/m/[]/b/?"}, {"path": "/n/[]/c/?"}], "excludedPaths": [{"path": "/l/[]/a/?"}, {"path": "/m/[]/z/?"}, {"path": "/n/[]/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/*"}]}');
SET partitionkey.index_all_paths = on;
SELECT * FROM indexed('{"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/\"_etag\"/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/payload/*"}, {"path": "/a/b/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/*"}]}');
RESET partitionkey.index_all_paths;
SELECT * FROM indexed('{"indexingMode": "none", "includedPaths": [{"path": "/a/?"}], "excludedPaths": [{"path": "/*"}]}');
SELECT * FROM indexed('{"automatic": false, "includedPaths": [{"path": "/a/?"}]}');
SELECT * FROM indexed('[]');
SELECT * FROM indexed('{"indexingMode": "sometimes"}');
SELECT * FROM indexed('{"automatic": "yes"}');
SELECT * FROM indexed('{"includedPaths": {"path": "/a/?"}}');
SELECT * FROM indexed('{"includedPaths": ["/a/?"]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "a/?"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/a/*/b"}]}');
SELECT * FROM indexed('{"includedPaths": [{"path": "/\"a"}]}');
SELECT * FROM indexed('{"compositeIndexes": [{"path": "/a"}]}');
SELECT * FROM indexed('{"compositeIndexes": [[{"path": "/a/*"}, {"path": "/b"}]]}');
SELECT * FROM indexed('{"compositeIndexes": [[{"path": "/a", "order": "up"}]]}');

-- Queries that use them
SELECT container FROM made('{"id": "Products", "partitionKey": {"paths": ["/CategoryId"], "version": 2}, "indexingPolicy": {
	"includedPaths": [{"path": "/price/?"}, {"path": "/tags/[]/?"}, {"path": "/maker/*"}],
	"compositeIndexes": [[{"path": "/CategoryId"}, {"path": "/price", "order": "descending"}]]}}', partitions => '{1}');
CREATE FUNCTION index_conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
	DECLARE line text;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			IF line ~ 'Index Cond|Sort|Seq' THEN RETURN NEXT trim(line); END IF;
		END LOOP;
	END$$;
SET enable_seqscan = off;
SELECT index_conditions($$SELECT * FROM Products WHERE doc->'price' = '42'$$);
SELECT index_conditions($$SELECT * FROM Products WHERE doc->'price' BETWEEN '40' AND '50'$$);
SELECT index_conditions($$SELECT * FROM Products WHERE doc->'tags' @> '"red"'$$);
SELECT index_conditions($$SELECT * FROM Products WHERE doc->'maker' @> '{"city": "Berlin"}'$$);
SET enable_sort = off;
SELECT index_conditions($$SELECT * FROM Products WHERE CategoryId = 'c1' ORDER BY doc->'price' DESC$$);
RESET enable_seqscan;
RESET enable_sort;
DROP TABLE products;

-- Unique keys hold within a logical partition; missing is like null
SELECT container FROM made('{"id": "u", "partitionKey": {"paths": ["/k"], "version": 2}, "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/k", "/name/first", "/name/last"]}, {"paths": ["/id", "/x"]}, {"paths": ["/email"]}]}}', partitions => '{2}');
SELECT index, definition FROM index_of WHERE container = 'u'::regclass ORDER BY index COLLATE "C";
\set VERBOSITY sqlstate
INSERT INTO u VALUES ('a', '1', '{"email": "x", "name": {"first": "A", "last": "B"}}');
INSERT INTO u VALUES ('a', '2', '{"email": "x", "name": {"first": "A", "last": "C"}}');
INSERT INTO u VALUES ('b', '2', '{"email": "x", "name": {"first": "A", "last": "B"}}');
INSERT INTO u VALUES ('a', '3', '{"email": "X", "name": {"first": "A", "last": "B"}}');
INSERT INTO u VALUES ('a', '4', '{"name": {"first": "A"}}');
INSERT INTO u VALUES ('a', '5', '{"email": null, "name": {"first": "D"}}');
INSERT INTO u VALUES ('a', '6', '{"email": "y", "name": {"first": "A", "last": null}}');
INSERT INTO u VALUES ('a', '7', '{"email": 1, "name": "no object"}');
INSERT INTO u VALUES ('a', '8', '{"email": 1.0, "name": {"first": "E"}}');
INSERT INTO u VALUES ('a', '9', '{"email": "1"}');
SELECT k, id FROM u ORDER BY 1, 2;
-- and through splits and merges
INSERT INTO u SELECT 'k' || i, i, '{"email": "x"}' FROM generate_series(1, 100) i;
SELECT partition FROM partitionkey.partition_of('u', '["a"]') partition \gset
CALL partitionkey.split_partition(:'partition');
SELECT physical_partitions FROM partitionkey.containers WHERE container = 'u'::regclass;
INSERT INTO u VALUES ('a', '10', '{"email": "x"}');
INSERT INTO u VALUES ('a', '10', '{"email": null}');
SELECT partition AS a, lead(partition) OVER (ORDER BY min_inclusive) AS b FROM partitionkey.physical_partitions
	WHERE container = 'u'::regclass AND min_inclusive[1] COLLATE "C" >= (SELECT CASE WHEN partitionkey.epk_of('u', '["a"]') COLLATE "C" < '20' THEN '' ELSE '20' END) ORDER BY min_inclusive LIMIT 1 \gset
CALL partitionkey.merge_partitions(:'a', :'b');
SELECT physical_partitions FROM partitionkey.containers WHERE container = 'u'::regclass;
INSERT INTO u VALUES ('a', '10', '{"email": "x"}');
SELECT count(*) AS rows, (SELECT sum(misplaced) FROM partitionkey.verify('u')) AS misplaced FROM u;
\set VERBOSITY default
DROP TABLE u;
CREATE FUNCTION unique_keys(policy jsonb, key text DEFAULT '{"paths": ["/k"], "version": 2}') RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM made(jsonb_build_object('id', 'u', 'partitionKey', key::jsonb, 'uniqueKeyPolicy', policy), partitions => '{1}');
		RETURN QUERY SELECT definition FROM index_of WHERE container = 'u'::regclass ORDER BY 1;
		DROP TABLE u;
	END$$;
SELECT unique_keys('{"uniqueKeys": [{"paths": ["/email"]}]}', '{"paths": ["/k", "/id"], "kind": "MultiHash", "version": 2}');
SELECT unique_keys('{"uniqueKeys": [{"paths": ["/k"]}]}');
SELECT unique_keys('{"uniqueKeys": {"paths": ["/email"]}}');
SELECT unique_keys('{"uniqueKeys": [["/email"]]}');
SELECT unique_keys('{"uniqueKeys": [{"paths": []}]}');
SELECT unique_keys('{"uniqueKeys": [{"paths": [{"path": "/email"}]}]}');
SELECT unique_keys('{"uniqueKeys": [{"paths": ["/emails/[]"]}]}');
SELECT unique_keys('"/email"');

-- The time to live: -1 or whole seconds
CREATE FUNCTION kept_ttl(ttl jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE kept jsonb;
	BEGIN
		PERFORM made(jsonb_build_object('id', 'ttl', 'partitionKey', '{"paths": ["/a"], "version": 2}'::jsonb, 'defaultTtl', ttl), partitions => '{1}');
		kept := partitionkey.container_definition('ttl')->'defaultTtl';
		DROP TABLE ttl;
		RETURN kept;
	END$$;
SET client_min_messages = warning;
SELECT kept_ttl('-1'), kept_ttl('60'), kept_ttl('2147483647'), kept_ttl('null') IS NULL AS none;
SELECT kept_ttl('0');
SELECT kept_ttl('-2');
SELECT kept_ttl('1.5');
SELECT kept_ttl('2147483648');
SELECT kept_ttl('"60"');
RESET client_min_messages;

-- Null, missing and "" are three keys under jsonb, where Cosmos DB has them; 42 and 42.0 are one, "42" is another
SELECT container FROM made('{"id": "mixed", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}', key_types => '{jsonb}', partitions => '{16}');
INSERT INTO mixed SELECT pk, n, '{}' FROM (VALUES (1, 'null'::jsonb), (2, '{}'), (3, '""'), (4, '42'), (6, '"42"'), (7, 'true'), (8, '"true"')) v(n, pk);
INSERT INTO mixed VALUES ('4.2e1', '4', '{}');
INSERT INTO mixed VALUES ('[1]', '9', '{}');
SELECT pk, partitionkey.epk_of('mixed', jsonb_build_array(pk)) AS epk,
	count(*) FILTER (WHERE p.partition = mixed.tableoid) AS in_its_range
	FROM mixed JOIN partitionkey.physical_partitions p ON p.container = 'mixed'::regclass
		AND p.min_inclusive[1] COLLATE "C" <= partitionkey.epk_of('mixed', jsonb_build_array(pk)) AND p.max_exclusive[1] COLLATE "C" > partitionkey.epk_of('mixed', jsonb_build_array(pk))
	GROUP BY pk ORDER BY pk;
DROP TABLE mixed;

-- The EPK is that of the definition's kind and version
SELECT container FROM made('{"id": "v1", "partitionKey": {"paths": ["/pk"]}}', partitions => '{4}');
SELECT container FROM made('{"id": "multi", "partitionKey": {"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}}', partitions => '{4}');
SELECT partitionkey.epk_of('v1', '["a"]') AS v1, partitionkey.epk_of('v1', '[42]') AS v1_number, partitionkey.epk_of('multi', '["t1", "u1"]') AS multi, partitionkey.epk_of('multi', '["t1"]') AS prefix;
SELECT partitionkey.epk_of('v1', '["a", "b"]');
SELECT partitionkey.epk_of('wrapped', '["a"]');
INSERT INTO v1 SELECT 'k' || i, i, '{}' FROM generate_series(1, 100) i;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('v1');
DROP TABLE v1, multi;

-- There and back again: what container_definition gives makes the same tables
CREATE SCHEMA again;
CREATE TABLE round (definition jsonb);
INSERT INTO round VALUES
	('{"id": "One", "partitionKey": {"paths": ["/A"]}}'),
	('{"id": "two", "defaultTtl": 5, "partitionKey": {"paths": ["/a/pk", "/b/pk", "/id"], "kind": "MultiHash"},
	   "indexingPolicy": {"includedPaths": [{"path": "/*"}, {"path": "/x/?"}, {"path": "/y/[]/?"}], "excludedPaths": [{"path": "/z/*"}], "compositeIndexes": [[{"path": "/x", "order": "descending"}, {"path": "/_ts"}]]}}'),
	('{"id": "Three-3", "partitionKey": {"paths": ["/\"T t\""], "kind": "MultiHash", "version": 2}, "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/e", "/f"]}]}, "conflictResolutionPolicy": {"mode": "Custom"}}');
SET client_min_messages = warning;
CREATE VIEW everything AS
	SELECT c.relnamespace::regnamespace::text AS schema, c.relname, s.columns, o.index, o.definition, p.paths, p.hash, p.physical_partitions, partitionkey.container_definition(p.container) AS json
	FROM partitionkey.containers p JOIN pg_class c ON c.oid = p.container JOIN shape s USING (container) JOIN index_of o USING (container);
SELECT count(partitionkey.create_container_from_definition(definition)) FROM round;
SET search_path = again, staging;
SELECT count(partitionkey.create_container_from_definition(json)) FROM (SELECT DISTINCT json FROM everything) e;
SELECT schema, count(*) FROM everything GROUP BY 1 ORDER BY 1;
SELECT count(*) AS differences FROM (
	(SELECT relname, columns, index, definition, paths, hash, physical_partitions, json FROM everything WHERE schema = 'again' EXCEPT SELECT relname, columns, index, definition, paths, hash, physical_partitions, json FROM everything WHERE schema = 'staging')
	UNION ALL
	(SELECT relname, columns, index, definition, paths, hash, physical_partitions, json FROM everything WHERE schema = 'staging' EXCEPT SELECT relname, columns, index, definition, paths, hash, physical_partitions, json FROM everything WHERE schema = 'again')) d;
RESET client_min_messages;
SET search_path = staging;
SELECT partitionkey.container_definition('one'), partitionkey.container_definition('"Three-3"');
-- the id follows a new name
ALTER TABLE one RENAME TO "Renamed";
SELECT partitionkey.container_definition('"Renamed"')->>'id';
-- containers that were not made from one, and what is none
CREATE TABLE plain ("TenantId" text, n int);
SELECT partitionkey.create_container('plain', '{/TenantId,/n}');
SELECT partitionkey.container_definition('plain'), partitionkey.epk_of('plain', '["t1"]');
SELECT partitionkey.container_definition('wrapped');
SELECT partitionkey.container_definition(NULL) IS NULL AS none;

-- Needs CREATE on the schema, and nothing else; any search_path will do
CREATE ROLE regress_pk_stager;
CREATE SCHEMA theirs;
GRANT USAGE, CREATE ON SCHEMA theirs TO regress_pk_stager;
SET ROLE regress_pk_stager;
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'staging.x');
SET search_path = '';
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}');
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}, "indexingPolicy": {"includedPaths": [{"path": "/x/?"}]}}', 'theirs.x');
INSERT INTO theirs.x VALUES ('a', '1', '{"x": 1}');
SELECT tableowner, pg_catalog.count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'theirs' GROUP BY 1;
SELECT partitionkey.container_definition('theirs.x');
-- of others too: the registry is no secret
SELECT partitionkey.container_definition(container)->>'id' FROM partitionkey.containers WHERE container::pg_catalog.text LIKE '%Renamed%';
BEGIN READ ONLY;
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'theirs.y');
ROLLBACK;
-- all or nothing
BEGIN;
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/a"], "version": 2}}', 'theirs.y');
ROLLBACK;
SELECT pg_catalog.count(*) FROM partitionkey.registry WHERE container::pg_catalog.text LIKE '%.y';
RESET ROLE;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA staging, again, theirs CASCADE;
DROP ROLE regress_pk_stager;
SELECT * FROM partitionkey.containers;
