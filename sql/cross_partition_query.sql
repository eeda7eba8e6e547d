-- cross_partition_query: what is really executed counts.
CREATE SCHEMA xp;
SET search_path = xp, partitionkey;
SET client_min_messages = warning;
\set SHOW_CONTEXT never

CREATE TABLE one (k text COLLATE "C", id int, v int, PRIMARY KEY (k, id));
SELECT create_container('one', '{/k}', '{4}');
CREATE TABLE two (a text COLLATE "C", b text COLLATE "C", id int, PRIMARY KEY (a, b, id));
SELECT create_container('two', '{/a,/b}', '{2,2}');
CREATE TABLE plain (k text COLLATE "C" PRIMARY KEY, n int);
CREATE TABLE by_hand (k text) PARTITION BY HASH (k);
CREATE TABLE by_hand_0 PARTITION OF by_hand FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hand_1 PARTITION OF by_hand FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO one SELECT 'k' || i, i FROM generate_series(1, 40) i;
INSERT INTO two SELECT 'a' || i % 5, 'b' || i, i FROM generate_series(1, 40) i;
INSERT INTO plain SELECT 'k' || i, i FROM generate_series(1, 40) i;
ANALYZE one; ANALYZE two; ANALYZE plain;

-- the settings
SHOW partitionkey.cross_partition_query;
SELECT count(*) FROM one;
SET partitionkey.cross_partition_query = nothing;
RESET client_min_messages;
SET partitionkey.cross_partition_query = notice;
SELECT count(*) FROM one;
SET partitionkey.cross_partition_query = warning;
SELECT count(*) FROM two WHERE b = 'b1';
SET partitionkey.cross_partition_query = error;
SELECT count(*) FROM one;
\set VERBOSITY sqlstate
SELECT count(*) FROM one;
\set VERBOSITY default

-- what is none
SELECT v FROM one WHERE k = 'k1';
SELECT count(*) FROM one WHERE k IN ('k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8');
SELECT count(*) FROM one WHERE k = 'k1' OR k = 'k2';
SELECT count(*) FROM one WHERE k = 'k1' AND k = 'k2';
SELECT count(*) FROM two WHERE a = 'a1';
SELECT count(*) FROM two WHERE a IN ('a0', 'a1', 'a2', 'a3', 'a4');
SELECT count(*) FROM plain;
SELECT count(*) FROM by_hand;
SELECT count(*) > 0 FROM one_p0;
SELECT count(*) FROM one WHERE k = current_setting('application_name');
EXPLAIN (COSTS OFF) SELECT FROM one;
INSERT INTO one VALUES ('n1', 1), ('n2', 2);
INSERT INTO one SELECT 'm' || i, i FROM generate_series(1, 4) i;
UPDATE one SET v = 1 WHERE k = 'n1';
DELETE FROM one WHERE k IN ('n1', 'n2');
MERGE INTO one USING (VALUES ('m1', 1)) s (k, id) ON one.k = 'm1' AND one.id = s.id WHEN MATCHED THEN DELETE;

-- each reason
SELECT count(*) FROM one WHERE k = 'k1' OR id = 1;
SELECT count(*) FROM one WHERE k LIKE 'k1%';
SELECT count(*) FROM one WHERE k >= 'k1';
SELECT count(*) FROM one WHERE k <> 'k1';
SELECT count(*) FROM one WHERE lower(k) = 'k1';
SELECT count(*) FROM one WHERE k::bytea = 'k1';
SELECT count(*) FROM one WHERE k = 'k1' COLLATE "POSIX";
SELECT count(*) FROM one WHERE k IS NOT DISTINCT FROM 'k1';
SELECT count(*) FROM one WHERE k = ANY (ARRAY(SELECT k FROM plain WHERE n = 1));
SELECT count(*) FROM two WHERE a = '1' OR b = '2';
UPDATE one SET v = 1;
DELETE FROM two WHERE b = 'b1';
INSERT INTO plain SELECT k FROM one;
SET enable_partition_pruning = off;
SELECT count(*) FROM one WHERE k = 'k1';
RESET enable_partition_pruning;
-- an aggregate for each partition reads all, unless the value is a constant
SET enable_partitionwise_aggregate = on;
CREATE TABLE many (k text COLLATE "C", id int);
SELECT create_container('many', '{/k}', '{4}');
INSERT INTO many SELECT 'k' || i % 10, i FROM generate_series(1, 5000) i;
ANALYZE many;
SELECT k, count(*) FROM many WHERE k = concat('k', 1) GROUP BY k;
SELECT k, count(*) FROM many WHERE k = (SELECT 'k1' FROM plain LIMIT 1) GROUP BY k;
SELECT k, count(*) FROM many WHERE k = 'k1' GROUP BY k;
RESET enable_partitionwise_aggregate;
SELECT k, count(*) FROM many WHERE k = concat('k', 1) GROUP BY k;
SELECT k, count(*) FROM many WHERE k = (SELECT 'k1' FROM plain LIMIT 1) GROUP BY k;
-- other conditions may choose as well
SELECT count(*) FROM one WHERE k = 'k1' OR k IS NULL;

-- nothing is read: a filter that is false from the start, a LIMIT 0; a sub-select is not known yet
SELECT count(*) FROM one WHERE now() < '2000-01-01';
DELETE FROM one WHERE now() < '2000-01-01';
SELECT * FROM one LIMIT 0;
SELECT count(*) FROM one WHERE now() > '2000-01-01';
SELECT * FROM one LIMIT 1;
SELECT count(*) FROM one WHERE (SELECT false);
-- what a WITH changes is changed all the same
WITH gone AS (DELETE FROM one RETURNING k) SELECT count(*) FROM gone LIMIT 0;
WITH gone AS (DELETE FROM one WHERE k = 'none' RETURNING k) SELECT count(*) FROM gone LIMIT 0;
WITH gone AS (DELETE FROM one RETURNING k) SELECT 1 WHERE now() < '2000-01-01';

-- a sub-select or a nested loop looks up one key at a time; other joins read all
SELECT count(*) FROM one WHERE k = (SELECT min(k) FROM plain);
SELECT count((SELECT v FROM one WHERE one.k = plain.k)) FROM plain;
SET enable_nestloop = off;
SELECT count(*) FROM one JOIN plain USING (k);
SELECT count(*) FROM one WHERE EXISTS (SELECT FROM plain WHERE plain.k = one.k AND n < 100);
SET enable_hashjoin = off;
SELECT count(*) FROM plain JOIN two ON two.a = plain.k;
RESET enable_nestloop;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SET enable_material = off;
SELECT count(*) FROM plain JOIN one USING (k) WHERE n = 1;
SELECT count(*) FROM one CROSS JOIN LATERAL (SELECT FROM plain WHERE plain.k = one.k OFFSET 0) x;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_seqscan;
RESET enable_material;

-- prepared statements: a parameter prunes in either kind of plan, an array in a custom plan only
PREPARE by_key(text) AS SELECT count(*) FROM one WHERE k = $1;
PREPARE by_keys(text[]) AS SELECT count(*) FROM one WHERE k = ANY ($1);
PREPARE by_other(int) AS SELECT count(*) FROM one WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_key('k1');
EXECUTE by_keys('{k1,k2}');
EXECUTE by_other(1);
SET plan_cache_mode = force_custom_plan;
EXECUTE by_key('k1');
EXECUTE by_keys('{k1,k2}');
EXECUTE by_other(1);
RESET plan_cache_mode;

-- wherever a statement is run
CREATE FUNCTION in_sql() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM xp.one';
CREATE FUNCTION in_plpgsql(key text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN count(*) FROM xp.one WHERE k = key OR key = 'all';
END $$;
SELECT in_sql();
SELECT in_plpgsql('all');
DO $$ BEGIN PERFORM * FROM xp.one; END $$;
COPY (SELECT * FROM one) TO STDOUT;
CREATE TABLE copy AS SELECT * FROM one;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM one;
ROLLBACK;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM one;
EXPLAIN (COSTS OFF) DELETE FROM one;
CREATE VIEW view AS SELECT * FROM one;
SELECT count(*) FROM view;
SELECT count(*) FROM view WHERE k = 'k1';
SELECT * FROM one WHERE k = 'k1' UNION ALL SELECT * FROM one WHERE id = 1;
WITH gone AS (DELETE FROM one RETURNING k) SELECT count(*) FROM gone;

-- not in what utility commands do for themselves, nor foreign keys, nor this extension
SET partitionkey.cross_partition_query = allow;
CREATE MATERIALIZED VIEW stored AS SELECT * FROM one;
CREATE TABLE referring AS SELECT k, id FROM one;
SET partitionkey.cross_partition_query = error;
REFRESH MATERIALIZED VIEW stored;
ALTER TABLE referring ADD CONSTRAINT fk FOREIGN KEY (k, id) REFERENCES one ON UPDATE CASCADE;
INSERT INTO referring VALUES ('k1', 1);
DELETE FROM referring WHERE k = 'k1';
UPDATE one SET id = 100 WHERE k = 'k2';
ALTER TABLE referring DROP CONSTRAINT fk;
ANALYZE one;
CREATE INDEX ON one (v);
ALTER TABLE one ADD CHECK (id > 0);
CALL split_partition('one_p0');
SELECT bool_and(misplaced = 0) FROM verify('one');
SELECT count(*) FROM large_keys('one');
SELECT count(*) > 0 FROM partition_of('one', '["k1"]');
SELECT routing FROM explain_query('SELECT * FROM xp.one');
CREATE TABLE new (k text, id int);
SELECT create_container('new', '{/k}', '{2}');
SELECT count(*) FROM new;
CALL drop_container('new');

-- after a split, and for a user with SELECT only
SELECT count(*) FROM one;
SELECT count(*) FROM one WHERE k = 'k1';
CREATE ROLE xp_reader;
GRANT USAGE ON SCHEMA xp TO xp_reader;
GRANT SELECT ON one TO xp_reader;
SET ROLE xp_reader;
SELECT count(*) FROM xp.one WHERE k = 'k1';
SELECT count(*) FROM xp.one;
RESET ROLE;

-- parallel plans: the leader tells, once
SET partitionkey.cross_partition_query = warning;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*) FROM one;
SELECT count(*) FROM one WHERE k = 'k1';
-- a worker tells of the statements in functions that it runs
CREATE FUNCTION counts(int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 AS $$ BEGIN RETURN (SELECT count(*) FROM xp.one WHERE id = $1); END $$;
CREATE FUNCTION looks_up(int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 AS $$ BEGIN RETURN (SELECT count(*) FROM xp.one WHERE k = 'k' || $1); END $$;
ALTER TABLE plain SET (parallel_workers = 2);
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT sum(counts(n)) FROM plain WHERE n <= 3;
SELECT sum(counts(n)) FROM plain WHERE n <= 3;
SELECT sum(looks_up(n)) FROM plain WHERE n < 10;
SET partitionkey.cross_partition_query = error;
\set VERBOSITY terse
SELECT sum(counts(n)) FROM plain WHERE n <= 3;
\set VERBOSITY default
SET partitionkey.cross_partition_query = warning;
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- a partitionwise join reads all of both
SET enable_partitionwise_join = on;
SELECT count(*) FROM one x JOIN one y USING (k);
RESET enable_partitionwise_join;

-- a container that is a partition of another table
CREATE TABLE parts (k text COLLATE "C", region int NOT NULL) PARTITION BY LIST (region);
CREATE TABLE attached (region int NOT NULL, k text COLLATE "C", PRIMARY KEY (k, region));
SELECT create_container('attached', '{/k}', '{4}');
ALTER TABLE parts ATTACH PARTITION attached FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT 'k' || i, 1 FROM generate_series(1, 40) i;
SELECT count(*) FROM parts;
UPDATE parts SET k = k;
SELECT count(*) FROM parts WHERE k = 'k1';
SELECT count(*) FROM parts WHERE region = 2;

-- names that need quoting
CREATE TABLE "a ""b""" ("Key %s" text COLLATE "C", id int, PRIMARY KEY ("Key %s", id));
SELECT create_container('"a ""b"""', '{"/Key %s"}', '{2}');
SELECT count(*) FROM "a ""b""";

RESET partitionkey.cross_partition_query;
SET client_min_messages = warning;
DROP OWNED BY xp_reader;
DROP ROLE xp_reader;
DROP SCHEMA xp CASCADE;
