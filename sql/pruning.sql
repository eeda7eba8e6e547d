-- Which partitions a statement touches, by the plan.
CREATE SCHEMA p;
SET search_path = p;
SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE logins (tenant text NOT NULL, usr text NOT NULL, id int NOT NULL, note text, PRIMARY KEY (tenant, usr, id));
INSERT INTO logins SELECT 't' || i % 40, 'u' || i % 30, i, 'n' FROM generate_series(1, 2000) i;
SELECT partitionkey.create_container('logins', '{/tenant,/usr}', '{8,4}');

-- Leaves scanned, and whether they are those that partition_of names.
CREATE FUNCTION scanned(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; leaves text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		leaves := leaves || substring(line, '(?:Scan|Update|Delete) on (?:p\.)?(\w+_p[0-9a-f_]+)');
	END LOOP;
	RETURN ARRAY(SELECT DISTINCT l FROM unnest(leaves) l WHERE l IS NOT NULL ORDER BY 1);
END $$;
CREATE FUNCTION leaves_of(VARIADIC keys jsonb[]) RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY(SELECT DISTINCT l::text FROM unnest(keys) k, partitionkey.partition_of('logins', k) l ORDER BY 1)
$$;

-- the plans themselves, once
EXPLAIN (COSTS OFF) SELECT * FROM logins WHERE tenant = 't1';
EXPLAIN (COSTS OFF) SELECT * FROM logins WHERE tenant = 't1' AND usr = 'u1';
EXPLAIN (COSTS OFF) UPDATE logins SET note = 'x' WHERE tenant = 't1' AND usr = 'u1';
EXPLAIN (COSTS OFF) DELETE FROM logins WHERE tenant = 't1' AND usr = 'u1';

CREATE TABLE cases (n int GENERATED ALWAYS AS IDENTITY, query text, leaves int, keys jsonb[]);
INSERT INTO cases (query, leaves, keys) VALUES
	('SELECT * FROM logins WHERE tenant = ''t1''', 4, ARRAY['["t1"]'::jsonb]),
	('SELECT * FROM logins WHERE tenant = ''t1'' AND usr = ''u1''', 1, ARRAY['["t1","u1"]'::jsonb]),
	('SELECT * FROM logins WHERE usr = ''u1'' AND tenant = ''t1'' AND id = 5', 1, ARRAY['["t1","u1"]'::jsonb]),
	('SELECT * FROM logins WHERE tenant IN (''t1'', ''t2'')', NULL, ARRAY['["t1"]', '["t2"]']::jsonb[]),
	('SELECT * FROM logins WHERE tenant = ANY (''{t1,t2}'')', NULL, ARRAY['["t1"]', '["t2"]']::jsonb[]),
	('SELECT * FROM logins WHERE tenant = ''t1'' AND usr IN (''u1'', ''u2'', ''u3'')', NULL, ARRAY['["t1","u1"]', '["t1","u2"]', '["t1","u3"]']::jsonb[]),
	('SELECT * FROM logins WHERE (tenant = ''t1'' AND usr = ''u1'') OR (tenant = ''t2'' AND usr = ''u2'')', NULL, ARRAY['["t1","u1"]', '["t2","u2"]']::jsonb[]),
	('SELECT * FROM logins WHERE (tenant, usr) IN ((''t1'', ''u1''), (''t2'', ''u2''))', NULL, ARRAY['["t1","u1"]', '["t2","u2"]']::jsonb[]),
	('SELECT * FROM logins WHERE (tenant, usr) = (''t1'', ''u1'')', 1, ARRAY['["t1","u1"]'::jsonb]),
	('UPDATE logins SET note = ''y'' WHERE tenant = ''t3'' AND usr = ''u3''', 1, ARRAY['["t3","u3"]'::jsonb]),
	('UPDATE logins SET note = ''y'' WHERE tenant = ''t3''', 4, ARRAY['["t3"]'::jsonb]),
	('DELETE FROM logins WHERE tenant = ''t3'' AND usr = ''u3''', 1, ARRAY['["t3","u3"]'::jsonb]),
	('DELETE FROM logins WHERE tenant = ''t3''', 4, ARRAY['["t3"]'::jsonb]),
	('SELECT * FROM logins WHERE tenant = ''t1''::varchar AND usr = ''u1''::varchar(3)', 1, ARRAY['["t1","u1"]'::jsonb]),
	('SELECT * FROM logins WHERE tenant = upper(''t1'')', 4, ARRAY['["T1"]'::jsonb]),
	-- PostgreSQL still prunes below each level-1 partition; Cosmos DB would not
	('SELECT * FROM logins WHERE usr = ''u1''', 8, NULL),
	-- what can't be pruned
	('SELECT * FROM logins', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE tenant LIKE ''t1%''', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE tenant = ''t1'' OR note = ''x''', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE tenant <> ''t1''', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE lower(tenant) = ''t1''', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE tenant > ''t1''', 32, ARRAY['[]'::jsonb]),
	('SELECT * FROM logins WHERE tenant = ''t1'' COLLATE "C"', 32, ARRAY['[]'::jsonb]),
	-- a name brings its collation "C" along, and a column of collation default isn't pruned by that
	('SELECT * FROM logins WHERE tenant = ''t1''::name', 32, ARRAY['[]'::jsonb]),
	-- nothing is equal to NULL
	('SELECT * FROM logins WHERE tenant = NULL', 0, NULL);
-- differences between the plan and the count, or the plan and partition_of
SELECT n, query, cardinality(scanned(query)) AS scanned, leaves, leaves_of(VARIADIC keys)
	FROM cases WHERE cardinality(scanned(query)) <> coalesce(leaves, cardinality(leaves_of(VARIADIC keys)))
		OR keys IS NOT NULL AND scanned(query) <> leaves_of(VARIADIC keys);
SELECT count(*) FROM cases;

-- prepared statements, custom and generic
PREPARE full_key(text, text) AS SELECT * FROM logins WHERE tenant = $1 AND usr = $2;
PREPARE prefix(text) AS SELECT count(*) FROM logins WHERE tenant = $1;
PREPARE many(text[]) AS SELECT count(*) FROM logins WHERE tenant = ANY ($1);
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE full_key('t1', 'u1');
SELECT cardinality(scanned('EXECUTE prefix(''t1'')')) AS prefix, scanned('EXECUTE many(''{t1,t2}'')') = leaves_of('["t1"]', '["t2"]') AS many;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE full_key('t1', 'u1');
EXPLAIN (COSTS OFF) EXECUTE prefix('t1');
EXECUTE prefix('t1');
EXECUTE prefix('nobody');
RESET plan_cache_mode;

-- the filter columns' index is used inside the partitions
RESET enable_indexscan; RESET enable_bitmapscan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM logins WHERE tenant = 't1' AND usr = 'u1' AND id = 31;
RESET enable_seqscan;
SET enable_indexscan = off; SET enable_bitmapscan = off;

-- integers: every width of column against every width of value
CREATE TABLE widths (i2 int2 NOT NULL, i4 int4 NOT NULL, i8 int8 NOT NULL);
INSERT INTO widths SELECT i, i, i FROM generate_series(-50, 50) i;
CREATE TABLE w2 (LIKE widths); INSERT INTO w2 SELECT * FROM widths;
CREATE TABLE w4 (LIKE widths); INSERT INTO w4 SELECT * FROM widths;
CREATE TABLE w8 (LIKE widths); INSERT INTO w8 SELECT * FROM widths;
SELECT partitionkey.create_container('w2', '{/i2}'), partitionkey.create_container('w4', '{/i4}', NULL, 'cosmos'), partitionkey.create_container('w8', '{/i8}');
CREATE FUNCTION touched(query text) RETURNS int LANGUAGE sql AS 'SELECT cardinality(scanned(query))';
SELECT t, v, touched(format('SELECT * FROM w%s WHERE i%1$s = %s', t, v)),
	(SELECT count(*) FROM partitionkey.partition_of(('w' || t)::regclass, '[-7]')) AS partitions
	FROM unnest('{2,4,8}'::text[]) t, unnest('{-7,''-7''::int2,''-7''::int4,''-7''::int8}'::text[]) v
	WHERE touched(format('SELECT * FROM w%s WHERE i%1$s = %s', t, v)) <> 1;
SELECT (SELECT count(*) FROM w2 WHERE i2 = -7::int8), (SELECT count(*) FROM w4 WHERE i4 = -7::int8), (SELECT count(*) FROM w8 WHERE i8 = -7::int2);
-- joins on columns of other widths find their rows
SELECT count(*) FROM w2 JOIN w8 ON w2.i2 = w8.i8;
SELECT count(*) FROM w4 JOIN w8 ON w4.i4 = w8.i8;
-- another type is not pruned: the column is cast
SELECT touched('SELECT * FROM w4 WHERE i4 = 7.0');

-- the other families
CREATE TABLE f (r real NOT NULL, d float8 NOT NULL, n name NOT NULL, v varchar(10) COLLATE "C" NOT NULL, t text COLLATE "C" NOT NULL, u uuid NOT NULL, b bool NOT NULL, num numeric NOT NULL, da date NOT NULL, ts timestamptz NOT NULL, j jsonb NOT NULL);
INSERT INTO f SELECT i / 4.0, i / 4.0, 'n' || i, 'v' || i, 't' || i, md5(i::text)::uuid, i % 2 = 0, i / 10.0, '2025-01-01'::date + i, '2025-01-01Z'::timestamptz + i * interval '1 h', to_jsonb(i) FROM generate_series(1, 50) i;
CREATE TABLE outcome (predicate text, scanned int, found bigint);
DO $$
DECLARE c record; t text; found bigint;
BEGIN
	FOR c IN SELECT * FROM (VALUES
		('r', 'r = 2.5'::text), ('r', 'r = 2.5::real'), ('r', 'r = 2.5::float8'), ('d', 'd = 2.5::real'), ('d', 'd = 2.5'),
		('n', 'n = ''n7'''), ('n', 'n = ''n7''::text'), ('v', 'v = ''v7'''), ('v', 'v = ''v7''::text'), ('v', 'v = ''v7''::name'), ('t', 't = ''t7'''), ('t', 't = ''t7''::name'), ('t', 't = ''t7''::varchar'),
		('u', 'u = ''8f14e45f-ceea-167a-5a36-dedd4bea2543'''), ('u', 'u = ''8F14E45FCEEA167A5A36DEDD4BEA2543'''),
		('b', 'b'), ('b', 'NOT b'), ('b', 'b = true'), ('b', 'b = ANY (ARRAY[true])'), ('num', 'num = 0.7'), ('num', 'num = 0.70'), ('num', 'num = 3'),
		('da', 'da = ''2025-01-08'''), ('ts', 'ts = ''2025-01-01 07:00Z'''), ('ts', 'ts = ''2025-01-01 09:00+02'''), ('j', 'j = ''7'''), ('j', 'j = ''7.0''')) x(col, predicate)
	LOOP
		FOREACH t IN ARRAY '{xxhash,cosmos}'::text[] LOOP
			CREATE TABLE one (LIKE f);
			INSERT INTO one SELECT * FROM f;
			PERFORM partitionkey.create_container('one', ARRAY['/' || c.col], '{16}', t);
			EXECUTE 'SELECT count(*) FROM one WHERE ' || c.predicate INTO found;
			INSERT INTO outcome VALUES (t || ': ' || c.predicate, touched('SELECT * FROM one WHERE ' || c.predicate), found);
			DROP TABLE one;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM outcome WHERE scanned <> 1 OR found <> CASE WHEN predicate ~ ': (NOT )?b' THEN 25 ELSE 1 END;
SELECT count(*) FROM outcome;

-- a boolean key: with constants by the checks of the partitions, with parameters by pruning; below a level, too
CREATE TABLE flags (b bool NOT NULL, k int NOT NULL, c bool NOT NULL);
INSERT INTO flags SELECT i % 3 = 0, i % 10, i % 7 = 0 FROM generate_series(1, 210) i;
SELECT partitionkey.create_container('flags', '{/b,/k,/c}', '{8,2,2}');
PREPARE flagged(bool) AS SELECT count(*) FROM flags WHERE b = $1;
SET plan_cache_mode = force_generic_plan;
SELECT touched('EXECUTE flagged(true)') AS generic, touched('EXECUTE flagged(false)') AS generic_false;
EXECUTE flagged(true); EXECUTE flagged(false);
RESET plan_cache_mode;
SELECT touched('SELECT * FROM flags WHERE b') AS level1, touched('SELECT * FROM flags WHERE NOT b AND k = 3') AS level2,
	touched('SELECT * FROM flags WHERE b AND k = 3 AND NOT c') AS level3, touched('UPDATE flags SET k = 4 WHERE b = false AND k = 3') AS updated;
SELECT count(*), count(*) FILTER (WHERE b), sum(k) FROM flags;
SELECT count(*) FROM flags WHERE b; SELECT count(*) FROM flags WHERE NOT b AND k = 3;
UPDATE flags SET b = NOT b; SELECT count(*) FROM flags WHERE b;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('flags');

-- equal keys: a join partition by partition
CREATE TABLE users (tenant text NOT NULL, usr text NOT NULL, name text, PRIMARY KEY (tenant, usr));
INSERT INTO users SELECT DISTINCT tenant, usr, 'x' FROM logins;
SELECT partitionkey.create_container('users', '{/tenant,/usr}', '{8,4}');
SET enable_partitionwise_join = on;
SELECT count(*) FROM logins JOIN users USING (tenant, usr);
CREATE FUNCTION joins(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text; n int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		n := n + (line ~ '(Hash|Merge) Join|Nested Loop')::int;
	END LOOP;
	RETURN n;
END $$;
SELECT joins('SELECT * FROM logins JOIN users USING (tenant, usr)') AS joined, joins('SELECT * FROM logins JOIN users USING (usr)') AS otherwise;
RESET enable_partitionwise_join;
SELECT count(*) FROM logins JOIN users USING (tenant, usr);

SET client_min_messages = warning;
DROP SCHEMA p CASCADE;
