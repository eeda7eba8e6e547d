-- A container answers as a plain table does, for every tenant of a skewed set:
-- 400 tenants, 50 users each, one tenant with 40 % of the rows.
CREATE TABLE plain (tenant text NOT NULL, usr int NOT NULL, id int NOT NULL, v int, PRIMARY KEY (tenant, usr, id));
INSERT INTO plain
	SELECT CASE WHEN i % 10 < 4 THEN 'tenant-0' ELSE md5((i / 10 % 399 + 1)::text) END, i % 50, i, i * 7 % 1000
	FROM generate_series(1, 40000) i;
SELECT count(DISTINCT tenant), count(DISTINCT usr), count(*) FILTER (WHERE tenant = 'tenant-0') FROM plain;
CREATE TABLE container (LIKE plain INCLUDING ALL);
INSERT INTO container SELECT * FROM plain;
SELECT partitionkey.create_container('container', '{/tenant,/usr}', '{8,4}');
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('container');

CREATE TABLE outcome (tenant text, prefix bigint, full_key bigint, leaves_ok bool);
DO $$
DECLARE t text; p bigint; f bigint; ok bool;
BEGIN
	FOR t IN SELECT DISTINCT tenant FROM plain LOOP
		SELECT count(*) INTO p FROM ((SELECT * FROM plain WHERE tenant = t EXCEPT ALL SELECT * FROM container WHERE tenant = t)
			UNION ALL (SELECT * FROM container WHERE tenant = t EXCEPT ALL SELECT * FROM plain WHERE tenant = t)) d;
		SELECT count(*) INTO f FROM ((SELECT * FROM plain WHERE tenant = t AND usr = 7 EXCEPT ALL SELECT * FROM container WHERE tenant = t AND usr = 7)
			UNION ALL (SELECT * FROM container WHERE tenant = t AND usr = 7 EXCEPT ALL SELECT * FROM plain WHERE tenant = t AND usr = 7)) d;
		-- every row of the tenant lies in a leaf that partition_of names, for the prefix and for the full key
		SELECT bool_and(tableoid::regclass = ANY (ARRAY(SELECT partitionkey.partition_of('container', jsonb_build_array(t))))) INTO ok
			FROM container WHERE tenant = t;
		ok := ok AND NOT EXISTS (SELECT FROM container WHERE tenant = t AND usr = 7
			AND tableoid <> (SELECT partitionkey.partition_of('container', jsonb_build_array(t, 7))));
		INSERT INTO outcome VALUES (t, p, f, ok);
	END LOOP;
END $$;
SELECT count(*) AS tenants, sum(prefix) AS prefix_differs, sum(full_key) AS full_key_differs, bool_and(leaves_ok) AS leaves_ok FROM outcome;

-- groups, distinct, order and paging over all partitions
SELECT count(*) FROM ((SELECT tenant, count(*), sum(v) FROM plain GROUP BY 1) EXCEPT (SELECT tenant, count(*), sum(v) FROM container GROUP BY 1)) d;
SELECT count(*) FROM ((SELECT DISTINCT v FROM plain) EXCEPT (SELECT DISTINCT v FROM container)) d;
DO $$
DECLARE page int; a int[]; b int[];
BEGIN
	FOR page IN 0 .. 39 LOOP
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM plain ORDER BY v, id LIMIT 37 OFFSET %s) x', page * 37) INTO a;
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM container ORDER BY v, id LIMIT 37 OFFSET %s) x', page * 37) INTO b;
		IF a <> b OR cardinality(a) <> 37 THEN RAISE WARNING 'page % differs', page; END IF;
	END LOOP;
END $$;

-- 100,000 keys, 8 partitions: each leaf holds the keys of one range of the hash space and no others
CREATE TABLE many (k text NOT NULL, h text NOT NULL);
CREATE TABLE many_cosmos (k text NOT NULL, h text NOT NULL);
INSERT INTO many SELECT 'key-' || i, partitionkey.hash_position('key-' || i) FROM generate_series(1, 100000) i;
INSERT INTO many_cosmos SELECT k, partitionkey.effective_partition_key(jsonb_build_array(k)) FROM many;
SELECT partitionkey.create_container('many', '{/k}'), partitionkey.create_container('many_cosmos', '{/k}', NULL, 'cosmos');
SELECT p.container, count(*) AS leaves, sum(m.rows) AS rows, sum(m.outside) AS outside, max(m.rows) < 1.1 * min(m.rows) AS even
	FROM partitionkey.physical_partitions p, LATERAL (
		SELECT count(*) AS rows, count(*) FILTER (WHERE h COLLATE "C" < p.min_inclusive[1] OR p.max_exclusive[1] <> 'FF' AND h COLLATE "C" >= p.max_exclusive[1]) AS outside
		FROM (SELECT h FROM many WHERE tableoid = p.partition UNION ALL SELECT h FROM many_cosmos WHERE tableoid = p.partition) x) m
	WHERE p.container IN ('many'::regclass, 'many_cosmos'::regclass) GROUP BY 1 ORDER BY 1;
-- the ranges tile the space
SELECT container, count(*) AS leaves, bool_and(min_inclusive[1] = before) AS no_gap, min(min_inclusive[1]) AS first, (array_agg(max_exclusive[1] ORDER BY min_inclusive[1] DESC))[1] AS last
	FROM (SELECT *, coalesce(lag(max_exclusive[1]) OVER (PARTITION BY container ORDER BY min_inclusive[1] COLLATE "C"), '') AS before
		FROM partitionkey.physical_partitions) x
	WHERE container IN ('many'::regclass, 'many_cosmos'::regclass) GROUP BY 1 ORDER BY 1;

DROP TABLE plain, container, outcome, many, many_cosmos;
