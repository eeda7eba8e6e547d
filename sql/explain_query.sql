-- explain_query: each routing and each reason, on one, two and three levels.
CREATE SCHEMA eq;
SET search_path = eq, partitionkey;
SET client_min_messages = warning;

CREATE TABLE one (k text COLLATE "C", id int, v int, PRIMARY KEY (k, id));
SELECT create_container('one', '{/k}');
CREATE TABLE two (a text COLLATE "C", b text COLLATE "C", id int, PRIMARY KEY (a, b, id));
SELECT create_container('two', '{/a,/b}');
CREATE TABLE three (a text COLLATE "C", b bigint, c uuid, id int, PRIMARY KEY (a, b, c, id));
SELECT create_container('three', '{/a,/b,/c}');
CREATE TABLE plain (k text COLLATE "C", n int, PRIMARY KEY (k));

-- What a list of statements touches, a line each.
CREATE FUNCTION touches(VARIADIC queries text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s', q) || coalesce(E'\n    ' || e.container || ': ' || e.routing || ' ' || e.levels_bound || '/' || e.levels
		|| ', ' || e.partitions_hit || ' of ' || e.partitions_total || ', Cosmos ' || e.cosmos
		|| coalesce(E'\n    ' || e.reason, '') || coalesce(E'\n    ' || e.hint, ''), E'\n    no container')
	FROM unnest(queries) WITH ORDINALITY AS x(q, n) LEFT JOIN LATERAL explain_query(q) e ON true ORDER BY n
$$;
\pset format unaligned
\pset tuples_only

-- one level: the routings
SELECT touches(
	$$SELECT * FROM one WHERE k = 'a'$$,
	$$SELECT * FROM one WHERE k = $1$$,
	$$SELECT * FROM one WHERE k = $1 AND id > $2 ORDER BY id LIMIT $3$$,
	$$SELECT * FROM one WHERE (k, id) = ('a', 1)$$,
	$$SELECT * FROM one WHERE k = 'a'::varchar$$,
	$$SELECT * FROM one WHERE k = upper('a')$$,
	$$SELECT * FROM one WHERE k = current_setting('application_name')$$,
	$$SELECT * FROM one WHERE k IN ('a', 'b')$$,
	$$SELECT * FROM one WHERE k IN ($1, $2, $3)$$,
	$$SELECT * FROM one WHERE k = 'a' OR k = 'b'$$,
	$$SELECT * FROM one WHERE k = ANY ('{a,b}')$$,
	$$SELECT * FROM one WHERE k = ANY ($1)$$,
	$$SELECT * FROM one WHERE k = $1 OR k = ANY ($2)$$,
	$$SELECT * FROM one$$,
	$$SELECT max(id) FROM one$$,
	$$SELECT min(id), max(id) FROM one WHERE k = 'a'$$,
	$$SELECT max(id) FROM one WHERE k = $1$$,
	$$SELECT max(k) FROM one$$,
	$$SELECT max(id) FROM (SELECT id FROM one WHERE k = 'a' UNION ALL SELECT id FROM one WHERE k IN ('a', 'b')) u$$,
	$$SELECT * FROM one WHERE k = 'a' AND k = 'b'$$,
	$$SELECT * FROM one WHERE k = NULL$$);

-- one level: the reasons
SELECT touches(
	$$SELECT * FROM one WHERE id = 1$$,
	$$SELECT * FROM one WHERE k = 'a' OR id = 1$$,
	$$SELECT * FROM one WHERE k LIKE 'a%'$$,
	$$SELECT * FROM one WHERE k ILIKE 'a%' AND id = 1$$,
	$$SELECT * FROM one WHERE k ~ '^a'$$,
	$$SELECT * FROM one WHERE k > 'a'$$,
	$$SELECT * FROM one WHERE 'a' >= k$$,
	$$SELECT * FROM one WHERE k BETWEEN 'a' AND 'b'$$,
	$$SELECT * FROM one WHERE (k, id) > ('a', 1)$$,
	$$SELECT * FROM one WHERE k <> 'a'$$,
	$$SELECT * FROM one WHERE k NOT IN ('a', 'b')$$,
	$$SELECT * FROM one WHERE k IS DISTINCT FROM 'a'$$,
	$$SELECT * FROM one WHERE lower(k) = 'a'$$,
	$$SELECT * FROM one WHERE k || '' = 'a'$$,
	$$SELECT * FROM one WHERE coalesce(k, '') = 'a'$$,
	$$SELECT * FROM one WHERE k::int = 1$$,
	$$SELECT * FROM one WHERE k IS NOT DISTINCT FROM 'a'$$,
	$$SELECT * FROM one WHERE k = 'a' COLLATE "POSIX"$$,
	$$SELECT * FROM one WHERE k = random()::text$$,
	$$SELECT * FROM one WHERE k = id::text$$,
	$$SELECT * FROM one WHERE k = ANY (string_to_array(current_setting('application_name'), ','))$$,
	$$SELECT * FROM one WHERE k = ANY (ARRAY(SELECT k FROM plain))$$,
	$$SELECT * FROM one WHERE k NOT IN (SELECT k FROM plain)$$);

-- sub-selects and joins, by the plan
SELECT touches(
	$$SELECT * FROM one WHERE k = (SELECT max(k) FROM plain)$$,
	$$SELECT (SELECT count(*) FROM one WHERE one.k = plain.k) FROM plain$$,
	$$SELECT * FROM one JOIN plain USING (k) WHERE plain.k = 'a'$$);
SET enable_nestloop = off;
SELECT touches(
	$$SELECT * FROM one JOIN plain USING (k)$$,
	$$SELECT * FROM one WHERE k IN (SELECT k FROM plain WHERE n = 1)$$,
	$$SELECT * FROM two JOIN plain ON two.b = plain.k WHERE two.a = 'x'$$,
	$$SELECT * FROM one LEFT JOIN plain ON one.k = 'a' AND plain.k = one.k$$);
RESET enable_nestloop;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SET enable_material = off;
SELECT touches(
	$$SELECT * FROM plain JOIN one ON one.k = plain.k WHERE plain.n = 1$$,
	$$SELECT * FROM plain LEFT JOIN two ON two.a = plain.k AND two.b = plain.k$$);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_seqscan;
RESET enable_material;

-- What to write instead is given only where it gives the same rows.  Values that the column can't have, casts that make
-- several values one, functions in the syntax of SQL.
CREATE TABLE number (k bigint, id int, PRIMARY KEY (k, id));
CREATE TABLE exact (k numeric, id int, PRIMARY KEY (k, id));
CREATE TABLE day (k date, id int, PRIMARY KEY (k, id));
CREATE TABLE moment (k timestamp, id int, PRIMARY KEY (k, id));
CREATE TABLE yes (k boolean, id int, PRIMARY KEY (k, id));
CREATE TABLE uid (k uuid, id int, PRIMARY KEY (k, id));
SELECT create_container('number', '{/k}'), create_container('exact', '{/k}'), create_container('day', '{/k}'),
	create_container('moment', '{/k}'), create_container('yes', '{/k}', '{2}'), create_container('uid', '{/k}');
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT touches(
	$$SELECT * FROM number WHERE k = 2.5$$,
	$$SELECT * FROM number WHERE k = 2.0$$,
	$$SELECT * FROM number WHERE k = 'NaN'::float8$$,
	$$SELECT * FROM number WHERE k = $1::numeric$$,
	$$SELECT * FROM number WHERE k IN (1, 2.5)$$,
	$$SELECT * FROM number WHERE k IN (1.0, 2.0)$$,
	$$SELECT * FROM number WHERE k = ANY ($1::numeric[])$$,
	$$SELECT * FROM number WHERE k = 1 OR k = 2 OR k = 3.0$$,
	$$SELECT * FROM number WHERE k IS NOT DISTINCT FROM 1.0$$,
	$$SELECT * FROM number WHERE (k = 1) IS TRUE$$,
	$$SELECT * FROM number WHERE (k = 1) IS NOT TRUE$$,
	$$SELECT * FROM number WHERE (k = 1) IS UNKNOWN$$,
	$$SELECT * FROM number WHERE k::text LIKE '1%'$$,
	$$SELECT * FROM exact WHERE k::int = 5$$,
	$$SELECT * FROM exact WHERE k::int > 3$$,
	$$SELECT * FROM exact WHERE k = 1::float8$$,
	$$SELECT * FROM day WHERE k = timestamp '2025-01-02 12:00'$$,
	$$SELECT * FROM day WHERE k = timestamp '2025-01-02'$$,
	$$SELECT * FROM day WHERE k = now()$$,
	$$SELECT * FROM day WHERE extract(year FROM k) = 2025$$,
	$$SELECT * FROM moment WHERE k::date = '2025-01-02'$$,
	$$SELECT * FROM moment WHERE k = date '2025-01-02'$$,
	$$SELECT * FROM moment WHERE k AT TIME ZONE 'UTC' = now()$$,
	$$SELECT * FROM yes WHERE k IS TRUE$$,
	$$SELECT * FROM yes WHERE k IS NOT TRUE$$,
	$$SELECT * FROM yes WHERE k IS NOT UNKNOWN$$,
	$$SELECT * FROM uid WHERE k::text = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'$$,
	$$SELECT * FROM one WHERE k::varchar(3) = 'k10'$$,
	$$SELECT * FROM one WHERE trim(k) = 'a'$$,
	$$SELECT * FROM one WHERE trim(k) LIKE 'a%'$$,
	$$SELECT * FROM one WHERE k IS NULL$$,
	$$SELECT * FROM one WHERE false$$);

-- patterns: those without wildcards are equalities, also where an index is looked up
SET enable_seqscan = off;
SELECT touches(
	$$SELECT * FROM one WHERE k LIKE 'k1'$$,
	$$SELECT * FROM one WHERE k LIKE 'k_1'$$,
	$$SELECT * FROM one WHERE k ILIKE '123'$$,
	$$SELECT * FROM one WHERE k ILIKE 'k1'$$,
	$$SELECT * FROM one WHERE k SIMILAR TO 'k1'$$,
	$$SELECT * FROM one WHERE k ~ '^tenant-1$'$$,
	$$SELECT * FROM one WHERE k ~ '^k.1$'$$,
	$$SELECT * FROM one WHERE k NOT LIKE 'k1'$$,
	$$SELECT * FROM one WHERE k NOT SIMILAR TO 'k1'$$);
SET partitionkey.cross_partition_query = notice;
SET client_min_messages = notice;
SELECT FROM one WHERE k LIKE 'k1';
SET client_min_messages = warning;
RESET partitionkey.cross_partition_query;
RESET enable_seqscan;

-- sub-selects and joins: which side is limited, and by what
SET enable_nestloop = off;
SELECT touches(
	$$SELECT * FROM one WHERE NOT EXISTS (SELECT FROM plain WHERE plain.k = one.k)$$,
	$$SELECT * FROM one LEFT JOIN plain USING (k)$$,
	$$SELECT * FROM one FULL JOIN plain USING (k)$$,
	$$SELECT * FROM one RIGHT JOIN plain USING (k)$$,
	$$SELECT * FROM one WHERE k IN (SELECT k FROM one WHERE v = 1)$$,
	$$SELECT * FROM one x JOIN one y USING (k)$$,
	$$SELECT * FROM one WHERE k = (SELECT k FROM plain WHERE n = one.id)$$,
	$$SELECT * FROM (SELECT * FROM one LIMIT 10) x WHERE k = 'a'$$,
	$$SELECT * FROM (SELECT *, row_number() OVER (ORDER BY v) FROM one) x WHERE k = 'a'$$,
	$$WITH x AS MATERIALIZED (SELECT * FROM one) SELECT * FROM x WHERE k = 'a'$$,
	$$SELECT * FROM (SELECT * FROM one LIMIT 10) x WHERE v = 1$$,
	$$SELECT * FROM two JOIN plain ON two.b = plain.k$$,
	$$SELECT * FROM number WHERE k = (SELECT 1)$$,
	$$SELECT * FROM number WHERE k IN (1, (SELECT max(n) FROM plain))$$);
RESET enable_nestloop;
-- PostgreSQL 18 makes a list of these
SELECT cosmos FROM explain_query('SELECT * FROM number WHERE k IN (VALUES (1), (2))');
SET partitionkey.cross_partition_query = notice;
SET client_min_messages = notice;
SET enable_nestloop = off;
SELECT FROM (SELECT * FROM one LIMIT 10) x WHERE k = 'a';
WITH x AS MATERIALIZED (SELECT * FROM one) SELECT FROM x WHERE k = 'a';
SELECT FROM one WHERE NOT EXISTS (SELECT FROM plain WHERE plain.k = one.k);
SELECT FROM one LEFT JOIN plain USING (k);
RESET enable_nestloop;
SET client_min_messages = warning;
RESET partitionkey.cross_partition_query;

-- what depends on other tables' rows is not possible in Cosmos, however it is compared; an empty array does not
CREATE TABLE other (k text COLLATE "C", n numeric);
SELECT touches(
	$$SELECT * FROM one JOIN other ON one.k = other.k COLLATE "POSIX"$$,
	$$SELECT * FROM three JOIN other ON three.b = other.n AND three.a = 'x'$$,
	$$SELECT * FROM one JOIN other ON one.k::numeric = other.n$$,
	$$SELECT * FROM one WHERE k::numeric = (SELECT n FROM other LIMIT 1)$$,
	$$SELECT * FROM one WHERE k IS NOT DISTINCT FROM (SELECT k FROM other LIMIT 1)$$,
	$$SELECT * FROM one WHERE k = ANY ('{}')$$);

-- what the plan makes of it: other conditions than equalities may choose, an aggregate for each partition does not, and nothing may be read
CREATE TABLE flags (b boolean, n bigint, id int);
SELECT create_container('flags', '{/b,/n}', '{2,4}');
SELECT touches(
	$$SELECT * FROM one WHERE k = 'k18' OR k IS NULL$$,
	$$SELECT * FROM flags WHERE (b = true) IS FALSE$$,
	$$SELECT * FROM flags WHERE (b = true) IS FALSE AND n = 1$$,
	$$SELECT * FROM flags x LEFT JOIN flags y USING (b) WHERE x.id = NULL$$,
	$$SELECT * FROM one WHERE k = concat('k', 1)$$);
SET enable_partitionwise_aggregate = on;
SELECT touches(
	$$SELECT count(*), min(id), max(k) FROM one WHERE k IN (concat('k', 1))$$,
	$$SELECT count(*), min(id), max(k) FROM one WHERE k = $1$$,
	$$SELECT k, count(*) FROM one WHERE k = 'a' GROUP BY k$$,
	$$SELECT a, count(*) FROM two WHERE a = 'a' AND b = $1 GROUP BY a$$);
RESET enable_partitionwise_aggregate;
SET enable_partition_pruning = off;
SELECT touches($$SELECT * FROM one WHERE k = $1$$, $$SELECT * FROM one WHERE k = 'a'$$);
RESET enable_partition_pruning;

-- two levels
SELECT touches(
	$$SELECT * FROM two WHERE a = 'x' AND b = 'y'$$,
	$$SELECT * FROM two WHERE a = $1 AND b = $2$$,
	$$SELECT * FROM two WHERE a = $1 AND b IN ($2, $3)$$,
	$$SELECT * FROM two WHERE (a, b) IN (('1', '2'), ('3', '4'))$$,
	$$SELECT * FROM two WHERE (a, b) IN (($1, $2))$$,
	$$SELECT * FROM two WHERE a = 'x'$$,
	$$SELECT * FROM two WHERE a = $1$$,
	$$SELECT * FROM two WHERE a IN ('x', 'y') AND id = 1$$,
	$$SELECT * FROM two WHERE a = $1 AND b LIKE 'y%'$$,
	$$SELECT * FROM two WHERE b = 'y'$$,
	$$SELECT * FROM two WHERE b = $1$$,
	$$SELECT * FROM two WHERE a = '1' OR b = '2'$$,
	$$SELECT * FROM two WHERE (a = '1' AND b = '2') OR (a = '3' AND b = '4')$$,
	$$SELECT * FROM two WHERE lower(a) = 'x' AND b = 'y'$$);

-- three levels
SELECT touches(
	$$SELECT * FROM three WHERE a = $1 AND b = $2 AND c = $3$$,
	$$SELECT * FROM three WHERE a = $1 AND b = $2$$,
	$$SELECT * FROM three WHERE a = $1$$,
	$$SELECT * FROM three WHERE a = $1 AND c = $2$$,
	$$SELECT * FROM three WHERE b = 1$$,
	$$SELECT * FROM three WHERE b = 1 AND c = $1$$,
	$$SELECT * FROM three WHERE c = $1$$,
	$$SELECT * FROM three WHERE id = 1$$,
	$$SELECT * FROM three WHERE a = $1 AND b = 1::smallint AND c = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'$$,
	$$SELECT * FROM three WHERE (a = $1 AND b IN (1, 2) AND c = $2) OR (c = $3 AND a = $4 AND b = 3)$$,
	$$SELECT * FROM three WHERE a = $1 AND b = 1.0$$,
	$$SELECT * FROM three WHERE a = $1 AND b = $2::float8$$,
	$$SELECT * FROM three WHERE a = $1 AND b = 99999999999999999999$$,
	$$SELECT * FROM three WHERE a = $1 AND b IN (1, 2.5)$$,
	$$SELECT * FROM three WHERE a = $1 AND b = $2 AND c::text = $3$$,
	$$SELECT * FROM three WHERE a = $1 AND b = $2 AND c > $3$$);

-- Each reason on each level of a container of one, two and three: what it is on the first level of one, with the
-- levels before it bound.
CREATE TABLE deep1 (a text COLLATE "C", id int, PRIMARY KEY (a, id));
CREATE TABLE deep2 (a text COLLATE "C", b text COLLATE "C", id int, PRIMARY KEY (a, b, id));
CREATE TABLE deep3 (a text COLLATE "C", b text COLLATE "C", c text COLLATE "C", id int, PRIMARY KEY (a, b, c, id));
SELECT create_container('deep1', '{/a}', '{2}'), create_container('deep2', '{/a,/b}', '{2,2}'), create_container('deep3', '{/a,/b,/c}', '{2,2,2}');
CREATE VIEW reasons AS
	SELECT x.levels, level, condition, e.routing, e.levels_bound, e.reason
	FROM generate_series(1, 3) x (levels)
	JOIN generate_series(1, 3) level ON level <= x.levels
	CROSS JOIN unnest(ARRAY['true', $$(@ = 'x' OR id = 1)$$, $$@ LIKE 'x%'$$, $$@ ~ 'x'$$, $$@ > 'x'$$, $$@ BETWEEN 'x' AND 'y'$$, $$@ <> 'x'$$,
		$$@ NOT IN ('x', 'y')$$, $$@ IS DISTINCT FROM 'x'$$, $$lower(@) = 'x'$$, $$@ || 'y' = 'x'$$, $$@::int = 1$$, $$@::bytea = 'x'$$,
		$$@ = 'x' COLLATE "POSIX"$$, $$@ IS NOT DISTINCT FROM 'x'$$, $$@ = random()::text$$, $$@ = id::text$$,
		$$@ = ANY (ARRAY(SELECT k FROM plain))$$, $$@ NOT IN (SELECT k FROM plain)$$,
		$$@ = ANY (string_to_array(current_setting('application_name'), ','))$$]) condition
	CROSS JOIN LATERAL explain_query(format('SELECT * FROM deep%s WHERE %s %s', x.levels,
		array_to_string((ARRAY[$$a = '1' AND$$, $$b = '2' AND$$])[1:level - 1], ' '), replace(condition, '@', chr(96 + level)))) e;
SELECT count(*), count(DISTINCT condition) FROM reasons;
SELECT r.levels, r.level, r.condition, r.routing, r.levels_bound, r.reason, first.reason FROM reasons r JOIN reasons first USING (condition)
WHERE first.levels = 1 AND (r.routing, r.levels_bound, r.reason) IS DISTINCT FROM
	(CASE r.level WHEN 1 THEN 'fan-out' ELSE 'prefix' END, r.level - 1,
	 replace(first.reason, 'level 1 (/a)', format('level %s (/%s)', r.level, chr(96 + r.level))));

-- other statements
SELECT touches(
	$$INSERT INTO one VALUES ('a', 1)$$,
	$$INSERT INTO one VALUES ($1, $2) ON CONFLICT (k, id) DO UPDATE SET v = excluded.v$$,
	$$INSERT INTO one VALUES ('a', 1), ('b', 2)$$,
	$$INSERT INTO one SELECT k, n FROM plain$$,
	$$INSERT INTO one SELECT a, id FROM two WHERE a = 'x'$$,
	$$UPDATE one SET v = 1 WHERE k = $1 AND id = $2$$,
	$$UPDATE two SET id = 0 WHERE b = 'y'$$,
	$$DELETE FROM three WHERE a = $1$$,
	$$MERGE INTO one USING (VALUES ('a', 1)) AS s (k, id) ON one.k = s.k AND one.id = s.id
	  WHEN MATCHED THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.id)$$,
	$$WITH gone AS (DELETE FROM one WHERE k = 'a' RETURNING k) SELECT count(*) FROM gone$$,
	$$WITH new AS (INSERT INTO one VALUES ('a', 1) RETURNING k) SELECT count(*) FROM new$$,
	$$SELECT * FROM one WHERE k = 'a' UNION ALL SELECT * FROM one WHERE k LIKE 'b%'$$,
	$$SELECT k FROM one UNION ALL SELECT a FROM two$$,
	$$SELECT * FROM (SELECT k FROM one UNION ALL SELECT a FROM two) u WHERE k = 'a'$$,
	$$SELECT k FROM one UNION SELECT a FROM two WHERE a = 'x'$$,
	$$SELECT * FROM one x, one y WHERE x.k = 'a' AND y.k = x.k$$,
	$$SELECT * FROM plain$$,
	$$TABLE one$$,
	$$VALUES (1)$$,
	$$SELECT * FROM one_p2$$);

-- views are looked through, row security is seen
CREATE VIEW v AS SELECT a AS tenant, b, id FROM two WHERE id > 0;
CREATE VIEW of_one AS SELECT * FROM v WHERE tenant = 'x';
SELECT touches($$SELECT * FROM v WHERE tenant = 'x' AND b = 'y'$$, $$SELECT * FROM v$$, $$UPDATE of_one SET id = 1$$);

-- a container that is a partition of another table
CREATE TABLE parts (id int NOT NULL, k text COLLATE "C") PARTITION BY LIST (id);
CREATE TABLE attached (k text COLLATE "C", id int NOT NULL, PRIMARY KEY (k, id));
SELECT create_container('attached', '{/k}', '{4}');
ALTER TABLE parts ATTACH PARTITION attached FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
SET enable_nestloop = off;
SELECT touches($$SELECT * FROM parts$$, $$SELECT * FROM parts WHERE k = 'a'$$, $$SELECT * FROM parts WHERE id = 2$$,
	$$SELECT * FROM parts JOIN plain USING (k)$$, $$SELECT * FROM parts LEFT JOIN plain USING (k)$$,
	$$SELECT * FROM parts WHERE NOT EXISTS (SELECT FROM plain WHERE plain.k = parts.k)$$, $$SELECT * FROM (SELECT * FROM parts LIMIT 1) p WHERE k = 'a'$$,
	$$DELETE FROM parts WHERE k LIKE 'a%'$$,
	$$SELECT * FROM (SELECT k FROM parts UNION ALL SELECT k FROM one) u WHERE k IN ('a', 'b')$$);
RESET enable_nestloop;

-- other types: boolean, date, jsonb, PUIDs, domains
CREATE DOMAIN tenant AS bigint;
CREATE TABLE typed (flag boolean, d date, t tenant, PRIMARY KEY (flag, d, t));
SELECT create_container('typed', '{/flag,/d,/t}', '{2,4,2}');
CREATE TABLE docs (key jsonb, id int, PRIMARY KEY (key, id));
SELECT create_container('docs', '{/key}');
CREATE TABLE contracts (id puid PRIMARY KEY);
SELECT create_container('contracts', '{/id}');
SELECT touches(
	$$SELECT * FROM typed WHERE flag AND d = '2025-01-28' AND t = 1$$,
	$$SELECT * FROM typed WHERE NOT flag AND d = current_date$$,
	$$SELECT * FROM typed WHERE flag = $1 AND d = $2::timestamptz$$,
	$$SELECT * FROM typed WHERE flag IS TRUE$$,
	$$SELECT * FROM docs WHERE key = '"a"'$$,
	$$SELECT * FROM docs WHERE key @> '"a"'$$,
	$$SELECT * FROM docs WHERE key ->> 0 = 'a'$$,
	$$SELECT * FROM contracts WHERE id = $1$$,
	$$SELECT * FROM contracts WHERE id <@ 'a2720'$$,
	$$SELECT * FROM contracts WHERE family(id) = 'a2720'$$);

-- names that need quoting, columns in another order, a dropped column
CREATE TABLE "Äpfel & ""Birnen""" (gone int, id int, "Tenant Id" text COLLATE "C", PRIMARY KEY ("Tenant Id", id));
ALTER TABLE "Äpfel & ""Birnen""" DROP COLUMN gone;
SELECT create_container('"Äpfel & ""Birnen"""', '{"/Tenant Id"}');
SELECT touches(
	$$SELECT * FROM "Äpfel & ""Birnen""" WHERE "Tenant Id" = 'a'$$,
	$$SELECT * FROM "Äpfel & ""Birnen""" WHERE "Tenant Id" > 'a'$$);

-- a generated column, which the planner replaces by its expression if it is not stored (since PostgreSQL 18)
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'VIRTUAL' ELSE 'STORED' END AS kind \gset
CREATE TABLE generated (k text COLLATE "C", n int);
SELECT create_container('generated', '{/k}', '{4}');
ALTER TABLE generated ADD twice int GENERATED ALWAYS AS (n * 2) :kind;
SELECT touches($$SELECT * FROM generated WHERE k = 'a' AND twice = 2$$, $$SELECT twice FROM generated WHERE twice = 2$$,
	$$UPDATE generated SET n = 1 WHERE k IN ('a', 'b') AND twice = 2$$);
SELECT single, fan_out FROM advise_key('generated', '{/k}', '{SELECT twice FROM eq.generated WHERE k = $1 AND twice = 4}');

-- levels that the tree doesn't use
CREATE TABLE later (a text COLLATE "C", b text COLLATE "C", id int, PRIMARY KEY (a, b, id));
SELECT create_container('later', '{/a,/b}', '{4}');
SELECT touches($$SELECT * FROM later WHERE a = 'x' AND b = 'y'$$, $$SELECT * FROM later WHERE a = 'x'$$, $$SELECT * FROM later WHERE b = 'y'$$);

-- an uneven tree, after splits: a parameter is where the most leaves are, a constant where it is
INSERT INTO later SELECT 'a' || i % 50, 'b' || i, i FROM generate_series(1, 400) i;
CALL split_partition('later_p4', '/b');
SELECT touches($$SELECT * FROM later WHERE a = $1$$, $$SELECT * FROM later WHERE a = 'a1'$$, $$SELECT * FROM later WHERE b = $1$$, $$SELECT * FROM later$$);
SELECT partition_of('later', '["a1"]');

-- the counts are those of the hash space
SELECT count(DISTINCT p) FROM partition_of('one', '["a"]') p;
SELECT count(DISTINCT p) FROM (SELECT partition_of('one', '["a"]') UNION ALL SELECT partition_of('one', '["b"]')) AS x (p);
SELECT count(DISTINCT p) FROM (SELECT partition_of('two', '["x"]') UNION ALL SELECT partition_of('two', '["y"]')) AS x (p);
SELECT count(DISTINCT p) FROM (SELECT partition_of('two', '["1","2"]') UNION ALL SELECT partition_of('two', '["3","4"]')) AS x (p);

-- what is no statement that can be planned
SELECT explain_query('');
SELECT explain_query(' ; ');
SELECT explain_query('SELECT 1; SELECT 2');
SELECT explain_query('SELEC 1');
SELECT explain_query('DROP TABLE eq.one');
SELECT explain_query('EXPLAIN SELECT 1');
SELECT explain_query('DECLARE c CURSOR FOR SELECT 1');
SELECT explain_query('CREATE TABLE x AS SELECT * FROM eq.one');
SELECT explain_query('SELECT * INTO x FROM eq.one');
SELECT explain_query('SELECT * FROM nowhere');
SELECT explain_query('SELECT * FROM eq.one WHERE nothing = 1');
SELECT count(*) FROM explain_query(NULL);
\set VERBOSITY sqlstate
SELECT explain_query('');
SELECT explain_query('SELECT 1; SELECT 2');
SELECT explain_query('DROP TABLE eq.one');
\set VERBOSITY default

-- privileges as for running it; SELECT is enough
CREATE ROLE eq_reader;
GRANT USAGE ON SCHEMA eq TO eq_reader;
GRANT SELECT ON one TO eq_reader;
SET ROLE eq_reader;
SELECT touches($$SELECT * FROM one WHERE k = 'a'$$, $$SELECT * FROM one$$);
SELECT explain_query('SELECT * FROM two');
SELECT explain_query('UPDATE one SET v = 1');
RESET ROLE;
ALTER TABLE one ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON one USING (k = current_setting('application_name'));
SET ROLE eq_reader;
SELECT touches($$SELECT * FROM one$$);
RESET ROLE;
ALTER POLICY own ON one USING (k = 'a' OR k = 'b');
SET ROLE eq_reader;
SELECT touches($$SELECT * FROM one$$);
RESET ROLE;
ALTER POLICY own ON one USING (lower(k) = 'a');
SET ROLE eq_reader;
SELECT touches($$SELECT * FROM one$$, $$SELECT * FROM one WHERE k = 'a'$$);
RESET ROLE;
ALTER TABLE one DISABLE ROW LEVEL SECURITY;

-- nothing is run: not the statement, nor a function in it that is not immutable; a read-only transaction will do
CREATE FUNCTION shout() RETURNS text LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE EXCEPTION 'I was called'; END $$;
BEGIN READ ONLY;
SELECT touches($$DELETE FROM one WHERE k = 'a'$$, $$SELECT shout(), one.* FROM one WHERE k = 'a'$$);
COMMIT;
-- a function that is called while a statement is planned may ask, or plan, itself; also for another user
CREATE FUNCTION asks(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN (SELECT min(routing) FROM partitionkey.explain_query(format('SELECT * FROM eq.one, eq.two WHERE eq.one.k = %L', t)));
END $$;
CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM partitionkey.explain_query('SELECT nothing');
EXCEPTION WHEN undefined_column THEN
	RETURN 'a';
END $$;
SELECT touches($$SELECT * FROM one WHERE k = asks('a')$$, $$SELECT * FROM one WHERE k = fails() AND id = length(fails())$$, $$SELECT * FROM two WHERE a = asks(asks('b'))$$);
SELECT single FROM advise_key('plain', '{/k}', ARRAY[$$SELECT * FROM eq.plain WHERE k = eq.asks('a')$$]);
CREATE FUNCTION for_ever() RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN (SELECT min(routing) FROM partitionkey.explain_query('SELECT * FROM eq.one WHERE k = eq.for_ever()')); END $$;
\set VERBOSITY sqlstate
SELECT explain_query('SELECT * FROM eq.one WHERE k = eq.for_ever()');
\set VERBOSITY default
-- no lock that blocks writers: none above ROW EXCLUSIVE for what a statement writes, else ACCESS SHARE
BEGIN;
SELECT count(*) FROM explain_query('UPDATE two SET id = 1');
SELECT DISTINCT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation::regclass::text LIKE 'two%' ORDER BY 1;
COMMIT;
-- whatever the search path
SET search_path = '';
SELECT container, routing FROM partitionkey.explain_query('SELECT * FROM eq.two WHERE a = ''x''');

RESET client_min_messages;
SET client_min_messages = warning;
DROP OWNED BY eq_reader;
DROP ROLE eq_reader;
DROP SCHEMA eq CASCADE;
