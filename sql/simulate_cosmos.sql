-- simulate_cosmos: what it takes, and what it says. The values are in golden_simulate.
CREATE SCHEMA sim;
SET search_path = sim, partitionkey;

-- by hand: EPKs 11622DAA... undefined, 378867E4... null, 32E9366E... '', 23C3EC20... Contoso, 0A4BA226... contoso
CREATE TABLE hand (doc jsonb);
INSERT INTO hand VALUES ('{"id": "1", "pk": null}'), ('{"id": "2"}'), ('{"id": "3", "pk": ""}'), ('{"id": "4", "pk": "Contoso"}'), ('{"id": "5", "pk": "contoso"}');
SELECT partition, min_inclusive, max_exclusive, items, share FROM simulate_cosmos('hand', '{/pk}');
SELECT partition, min_inclusive, max_exclusive, items, share FROM simulate_cosmos('hand', '{/doc/pk}', 2);
SELECT partition, items FROM simulate_cosmos('hand', '{/pk}', 64) WHERE items > 0;
SELECT * FROM simulate_cosmos('hand', '{/pk}', 1);

-- the same as by effective_partition_key, in ranges of any number; keys that are one in Cosmos DB are here
CREATE TABLE spread (id bigint, tenant text COLLATE "C", day date, at timestamptz, u uuid);
INSERT INTO spread SELECT 9007199254740990 + i % 90, 't' || i % 50, date '2025-01-01' + i % 40, '2025-01-01 10:00Z'::timestamptz + i * interval '1.5 s', md5(i::text)::uuid FROM generate_series(1, 2000) i;
CREATE FUNCTION differences(path text, key text, n int) RETURNS TABLE (items numeric, differ bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH epks AS MATERIALIZED (SELECT effective_partition_key(jsonb_build_array(%s)) COLLATE "C" AS epk FROM spread)
		SELECT sum(s.items), count(*) FILTER (WHERE s.items <> (SELECT count(*) FROM epks WHERE epk >= s.min_inclusive AND epk < s.max_exclusive))
		FROM simulate_cosmos(''spread'', ARRAY[%L], %s) s', key, path, n);
END$$;
SELECT path, n, d.* FROM (VALUES ('/id', 'id'), ('/tenant', 'tenant'), ('/day', 'day'), ('/u', 'u'), ('/at', $$to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || rtrim(to_char(at AT TIME ZONE 'UTC', '.FF1'), '.0') || 'Z'$$)) v(path, key), unnest('{3,8,100}'::int[]) n, differences(path, key, n) d;
SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German';
SELECT sum(differ) FROM differences('/at', $$to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || rtrim(to_char(at AT TIME ZONE 'UTC', '.FF1'), '.0') || 'Z'$$, 50);
RESET TimeZone; RESET DateStyle;

-- bytes are those of the rows, with TOAST
CREATE TABLE wide (k int, v text);
ALTER TABLE wide ALTER v SET STORAGE EXTERNAL;
INSERT INTO wide VALUES (1, repeat('x', 10000)), (1, NULL), (2, 'short');
SELECT sum(bytes) = (SELECT sum(4 + 24 + 4 + coalesce(CASE WHEN length(v) > 2000 THEN 18 + 10000 ELSE length(v) + 1 END, 0)) FROM wide) AS exact FROM simulate_cosmos('wide', '{/k}');

-- any table: names that need quotes, dropped columns, generated columns, inheritance, views, partitions, containers
CREATE TABLE "Odd ""table" (gone int, "Key, ""x""" text, n int, j jsonb, twice int GENERATED ALWAYS AS (n * 2) STORED);
ALTER TABLE "Odd ""table" DROP COLUMN gone;
INSERT INTO "Odd ""table" SELECT 'k' || i % 5, i % 4, jsonb_build_object('a/b', jsonb_build_object('c d', i % 3), 'n', i) FROM generate_series(1, 60) i;
SELECT sum(items), count(*) FILTER (WHERE items > 0) FROM simulate_cosmos('"Odd ""table"', ARRAY[$$/'Key, "x"'$$], 1000);
SELECT sum(items), count(*) FILTER (WHERE items > 0) FROM simulate_cosmos('"Odd ""table"', ARRAY['/"a/b"/c d'], 1000);
SELECT sum(items), count(*) FILTER (WHERE items > 0) FROM simulate_cosmos('"Odd ""table"', '{/twice}', 1000);
-- n is the column, not the property
SELECT count(*) FILTER (WHERE items > 0) AS column_n FROM simulate_cosmos('"Odd ""table"', '{/n}', 1000);
SELECT count(*) FILTER (WHERE items > 0) > 40 AS property_n FROM simulate_cosmos('"Odd ""table"', '{/j/n}', 1000);
CREATE TABLE parent (k int); CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1), (2);
SELECT sum(items) FROM simulate_cosmos('parent', '{/k}');
CREATE VIEW a_view AS SELECT tenant || '-' || id % 3 AS key FROM spread;
CREATE MATERIALIZED VIEW stored AS SELECT * FROM a_view;
SELECT (SELECT array_agg(items) FROM simulate_cosmos('a_view', '{/key}')) = (SELECT array_agg(items) FROM simulate_cosmos('stored', '{/key}')) AS same;
CREATE TABLE orders (tenant text NOT NULL, id int NOT NULL, PRIMARY KEY (tenant, id));
SELECT create_container('orders', '{/tenant,/id}', '{4}', 'cosmos');
SELECT * FROM simulate_cosmos('orders', '{/tenant}', 2);
INSERT INTO orders SELECT 't' || i % 30, i FROM generate_series(1, 900) i;
-- a container of hash cosmos with one level is divided as Cosmos DB does
SELECT p.items = v.items AS same FROM simulate_cosmos('orders', '{/tenant,/id}', 4) p JOIN (SELECT row_number() OVER () - 1 AS partition, items FROM verify('orders')) v USING (partition);
SELECT (SELECT sum(items) FROM simulate_cosmos('orders_p0', '{/tenant}')) = (SELECT items FROM verify('orders') LIMIT 1) AS one_partition;

-- what Cosmos DB would refuse, and what was not meant
CREATE TABLE volcanoes (doc jsonb);
INSERT INTO volcanoes SELECT jsonb_build_object('id', i, 'Country', 'c' || i % 40, 'Location', jsonb_build_object('type', 'Point', 'coordinates', '[1, 2]'::jsonb)) FROM generate_series(1, 1575) i;
INSERT INTO volcanoes VALUES ('{"id": 1576, "country": "x"}');
SELECT partition, items FROM simulate_cosmos('volcanoes', '{/country}');
SELECT partition, items FROM simulate_cosmos('volcanoes', '{/Location}', 2);
SELECT partition, items FROM simulate_cosmos('volcanoes', '{/Location/coordinates}', 2);
SELECT partition, items FROM simulate_cosmos('volcanoes', '{/Location/coordinates/type}', 2);
SELECT partition, items FROM simulate_cosmos('volcanoes', '{/Location/Type}', 2);
CREATE TABLE extremes (n numeric, f float8, t text);
INSERT INTO extremes VALUES (1e400, 1, 'a'), (1, 'NaN', 'b'), (2, 2, repeat('x', 2049)), (NULL, NULL, NULL);
SELECT sum(items) FROM simulate_cosmos('extremes', '{/n,/f,/t}');

-- arguments
SELECT * FROM simulate_cosmos(NULL, '{/a}');
SELECT * FROM simulate_cosmos('hand', NULL);
SELECT * FROM simulate_cosmos('hand', '{/pk}', NULL);
SELECT * FROM simulate_cosmos('hand', '{}');
SELECT * FROM simulate_cosmos('hand', '{/a,/b,/c,/d}');
SELECT * FROM simulate_cosmos('hand', '{NULL}');
SELECT * FROM simulate_cosmos('hand', '{pk}');
SELECT * FROM simulate_cosmos('hand', '{//pk}');
SELECT * FROM simulate_cosmos('hand', '{/}');
SELECT * FROM simulate_cosmos('hand', '{/pk}', 0);
SELECT * FROM simulate_cosmos('hand', '{/pk}', 10001);
SELECT count(*), sum(items) FROM simulate_cosmos('hand', '{/pk}', 10000);
SELECT * FROM simulate_cosmos('spread', '{/Tennant}');
SELECT * FROM simulate_cosmos('spread', '{/tenant/name}');
SELECT * FROM simulate_cosmos(0, '{/a}');
CREATE SEQUENCE counter;
SELECT * FROM simulate_cosmos('counter', '{/last_value}');
CREATE INDEX spread_index ON spread (id);
SELECT * FROM simulate_cosmos('spread_index', '{/id}');
CREATE TABLE unfit (c char(3), a int[], j json, d jsonb, e jsonb);
SELECT * FROM simulate_cosmos('unfit', '{/c}');
SELECT * FROM simulate_cosmos('unfit', '{/j/x}');
-- two jsonb columns: which one?
SELECT * FROM simulate_cosmos('unfit', '{/x}');
SELECT sum(items) FROM simulate_cosmos('unfit', '{/d/x}');

-- SELECT is enough, and needed; row security counts; read-only; whatever the search_path
CREATE ROLE regress_sim_reader;
GRANT USAGE ON SCHEMA sim TO regress_sim_reader;
SET ROLE regress_sim_reader;
SELECT * FROM simulate_cosmos('spread', '{/tenant}');
RESET ROLE;
GRANT SELECT ON spread, orders, a_view TO regress_sim_reader;
ALTER TABLE spread ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON spread USING (tenant = 't1');
SET ROLE regress_sim_reader;
SELECT sum(items) FROM simulate_cosmos('spread', '{/tenant}');
BEGIN READ ONLY;
SET LOCAL search_path = '';
SELECT sum(items) FROM partitionkey.simulate_cosmos('sim.orders', '{/tenant}');
-- no lock that blocks a writer
SELECT DISTINCT mode FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation WHERE l.pid = pg_catalog.pg_backend_pid() AND c.relname OPERATOR(pg_catalog.~) '^orders';
COMMIT;
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA sim CASCADE;
DROP ROLE regress_sim_reader;
