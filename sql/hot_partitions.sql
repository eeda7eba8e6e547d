-- hot_partitions: what is reported, with which reason and relief; and what is not.
CREATE SCHEMA hp;
SET search_path = hp, partitionkey;
SET client_min_messages = warning;
-- without the shares of reads and writes, which hang on when the server's statistics come in
CREATE FUNCTION hot(c regclass, threshold float8 DEFAULT 0.2) RETURNS TABLE (kind text, key jsonb, partitions regclass[], share numeric, reason text, relieved_by text) LANGUAGE sql AS $$
	SELECT kind, key, partitions, CASE WHEN kind <> 'partition' THEN round(share::numeric, 3) END, regexp_replace(reason, ', [0-9.]+ % of the (reads|writes)|( since the statistics were reset)', '', 'g'), relieved_by FROM hot_partitions(c, threshold)
$$;
\x

-- a tenant with nine tenths of the rows, in four leaves; and the same, undivided by the next level
CREATE TABLE whale (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
INSERT INTO whale SELECT CASE WHEN i % 10 < 9 THEN 'whale' ELSE 'ten' || lpad((i % 40)::text, 2, '0') END, 'u' || lpad((i % 200)::text, 3, '0'), i FROM generate_series(1, 4000) i;
SELECT count(*) FROM create_container('whale', '{/tenant,/usr}');
SELECT key, share, reason, relieved_by, cardinality(partitions) FROM hot('whale') WHERE kind <> 'partition';
SELECT count(*) = (SELECT count(*) FROM partition_map('whale') WHERE share > 0.2) AS leaves, min(relieved_by) ~ '^CALL partitionkey.split_partition\(''hp.whale_p' AS split FROM hot('whale') WHERE kind = 'partition';
CREATE TABLE small (LIKE whale INCLUDING ALL);
INSERT INTO small SELECT * FROM whale;
SELECT count(*) FROM create_container('small', '{/tenant,/usr}', '{8}');
SELECT * FROM hot('small');
-- what it says, done
SELECT substring(relieved_by FROM 'CALL [^;]*?\)') || ';' FROM hot('small') WHERE kind = 'key' \gexec
SELECT key, reason, relieved_by FROM hot('small') WHERE kind = 'key';
SELECT substring(relieved_by FROM 'CALL partitionkey.split[^;]*?\)') || ';' FROM hot('small') WHERE kind = 'key' \gexec
SELECT key, reason, relieved_by FROM hot('small') WHERE kind = 'key';

-- a logical partition that is too large; alone in its leaf
CREATE TABLE single (k text, id int, PRIMARY KEY (k, id));
INSERT INTO single SELECT CASE WHEN i % 2 = 0 THEN 'half' ELSE 'k' || lpad(i::text, 4, '0') END, i FROM generate_series(1, 2000) i;
SELECT count(*) FROM create_container('single', '{/k}');
SELECT kind, key, share, reason, relieved_by FROM hot('single');
CALL isolate_key('single', '["half"]');
SELECT kind, key, share, reason, relieved_by FROM hot('single');

-- a next level that does not help, since one of its values has it all
CREATE TABLE child (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
INSERT INTO child SELECT CASE WHEN i % 10 < 6 THEN 'big' ELSE 't' || i END, CASE WHEN i % 50 = 0 THEN 'other' ELSE 'bot' END, i FROM generate_series(1, 2000) i;
SELECT count(*) FROM create_container('child', '{/tenant,/usr}', '{16}');
SELECT kind, key, share, reason, relieved_by FROM hot('child');

-- few bytes in many rows, and many in few
CREATE TABLE fat (k text, id int, note text);
INSERT INTO fat SELECT CASE WHEN i = 1 THEN 'fat' ELSE 'k' || i END, i, CASE WHEN i = 1 THEN (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 3000) j) END
FROM generate_series(1, 1000) i;
SELECT count(*) FROM create_container('fat', '{/k}');
SELECT key, share > 0.5 AS much, regexp_replace(reason, '[0-9.]+', 'N') AS reason FROM hot('fat') WHERE kind = 'key';

-- two values at the first level, though the full keys are many
CREATE TABLE tx (processed boolean, center text, paid_by text, id int);
INSERT INTO tx SELECT i % 2 = 0, 'c' || i % 70, 'p' || i % 900, i FROM generate_series(1, 6000) i;
SELECT count(*) FROM create_container('tx', '{/processed,/center,/paid_by}', '{8}');
SELECT count(*) > 1000 AS many FROM logical_partitions('tx');
SELECT * FROM hot('tx') WHERE kind <> 'partition';
-- still so if neither of the two is above the threshold
SELECT kind, reason FROM hot('tx', 0.45) WHERE kind = 'level';
SELECT kind, reason FROM hot('tx', 0.6);
-- one value
CREATE TABLE constant (k text, id int);
INSERT INTO constant SELECT 'only', i FROM generate_series(1, 100) i;
SELECT count(*) FROM create_container('constant', '{/k}');
SELECT * FROM hot('constant');
CREATE TABLE few (tenant text, usr text, id int);
INSERT INTO few SELECT 'only', 'u' || i % 3, i FROM generate_series(1, 300) i;
SELECT count(*) FROM create_container('few', '{/tenant,/usr,/id}', '{4}');
SELECT kind, key, share, reason, relieved_by FROM hot('few', 0.4);

-- no false alarm: sequential ids are spread by the hash, in whatever order they come
CREATE TABLE seq (id bigint PRIMARY KEY);
INSERT INTO seq SELECT generate_series(1, 5000);
SELECT count(*) FROM create_container('seq', '{/id}');
SELECT * FROM hot_partitions('seq');
CREATE TABLE lines (order_id bigint, line int, PRIMARY KEY (order_id, line));
INSERT INTO lines SELECT i / 25, i FROM generate_series(1, 5000) i;
SELECT count(*) FROM create_container('lines', '{/order_id}', '{4}');
SELECT * FROM hot_partitions('lines');
-- nor are tenants that were loaded one after the other, nor an only leaf
CREATE TABLE loaded (tenant text, id int, PRIMARY KEY (tenant, id));
INSERT INTO loaded SELECT 'tenant' || lpad((i / 50)::text, 3, '0'), i FROM generate_series(1, 5000) i;
SELECT count(*) FROM create_container('loaded', '{/tenant}', '{1}');
SELECT * FROM hot_partitions('loaded');
-- values joined to one key: each full key is small
CREATE TABLE joined (k text, id int);
INSERT INTO joined SELECT synthetic_key(tenant, usr), id FROM whale;
SELECT count(*) FROM create_container('joined', '{/k}');
SELECT * FROM hot_partitions('joined');
-- the diagonal: a second level that repeats the first leaves most leaves empty
CREATE TABLE diagonal (a text, b text);
INSERT INTO diagonal SELECT 'v' || i, 'v' || i FROM generate_series(1, 4000) i;
SELECT count(*) FROM create_container('diagonal', '{/a,/b}');
SELECT kind, count(*), sum(cardinality(partitions)) FROM hot('diagonal') GROUP BY kind;

-- write-hot: the newest day takes all new rows, whatever the column is called and its type
CREATE TABLE day (tenant_id date, id int);
INSERT INTO day SELECT date '2025-01-01' + i / 100, i FROM generate_series(0, 2999) i;
SELECT count(*) FROM create_container('day', '{/tenant_id}', '{4}');
SELECT kind, key, share, reason, relieved_by FROM hot('day') WHERE kind <> 'partition';
SET standard_conforming_strings = off;
SELECT kind, key FROM hot('day') WHERE kind <> 'partition';
RESET standard_conforming_strings;
CREATE TABLE texts (k text COLLATE "C", id int);
INSERT INTO texts SELECT 'log_' || to_char(date '2025-01-01' + i / 100, 'YYYYMMDD'), i FROM generate_series(0, 2999) i;
SELECT count(*) FROM create_container('texts', '{/k}', '{4}');
SELECT kind, key, reason FROM hot('texts') WHERE kind <> 'partition';
CREATE TABLE hours (k timestamptz, usr text);
INSERT INTO hours SELECT timestamptz '2025-01-01 00:00+00' + i / 100 * interval '1 hour', 'u' || i % 100 FROM generate_series(0, 2999) i;
SELECT count(*) FROM create_container('hours', '{/k,/usr}', '{4,2}');
SELECT kind, reason FROM hot('hours') WHERE kind <> 'partition';
CREATE TABLE numbers (k int, id int);
INSERT INTO numbers SELECT to_char(date '2025-01-01' + i / 100, 'YYYYMMDD')::int, i FROM generate_series(0, 2999) i;
SELECT count(*) FROM create_container('numbers', '{/k}', '{4}');
SELECT kind, key, reason FROM hot('numbers') WHERE kind <> 'partition';
-- a date and a number; a month; a week; a quarter; seconds since 1970
CREATE TABLE spelled (k text COLLATE "C", id int);
SELECT count(*) FROM create_container('spelled', '{/k}', '{4}');
CREATE FUNCTION write_hot(expression text, many int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE spelled;
	EXECUTE format('INSERT INTO spelled SELECT %s, i FROM (SELECT i, date ''2023-11-20'' + i / 30 AS d, i / 30 AS n FROM generate_series(0, %s * 30 - 1) i) x', expression, many);
	ANALYZE spelled;
	RETURN (SELECT key FROM hot('spelled') WHERE kind = 'level' AND key IS NOT NULL);
END$$;
SELECT e, write_hot(e, 70) FROM unnest(ARRAY[$$to_char(d, 'YYYY-MM-DD"#7"')$$, $$to_char(d, '"log-"YYYYMMDD')$$, $$to_char(d, 'YYYYMMDDHH24')$$, $$extract(epoch FROM d)::bigint::text$$,
	$$to_char(date '2020-01-01' + n * interval '1 month', 'YYYYMM')$$, $$to_char(date '2020-01-01' + n * interval '1 month', 'YYYY/MM"-x"')$$,
	$$to_char(d + n * 7, 'IYYY"-W"IW')$$, $$to_char(date '2010-01-01' + n * interval '3 months', 'YYYY"-Q"Q')$$]) e;
-- numbers that are counted up are none, though years and months are among them
SELECT e, write_hot(e, 70) FROM unnest(ARRAY[$$'tenant-' || 1930 + n$$, $$(1930 + n)::text$$, $$'tenant-' || 200043 + n$$, $$(200043 + n)::text$$, $$'c' || 20250062 + n$$,
	$$'order-' || 2001034500 + n * 37$$, $$'t' || 1000 + n$$]) e;
CREATE TABLE counted (tenant int, id int);
INSERT INTO counted SELECT 1000 + i / 30, i FROM generate_series(0, 29999) i;
SELECT count(*) FROM create_container('counted', '{/tenant}', '{4}');
SELECT kind, key FROM hot('counted') WHERE kind <> 'partition';
-- days in any order are not, even if they are called a time
CREATE TABLE birth (created_at date, id int);
INSERT INTO birth SELECT date '1980-01-01' + i * 7919 % 100, i FROM generate_series(0, 2999) i;
SELECT count(*) FROM create_container('birth', '{/created_at}', '{4}');
SELECT kind, key, reason FROM hot('birth') WHERE kind <> 'partition';
-- without statistics it can't be told
CREATE TABLE fresh (d date, id int) WITH (autovacuum_enabled = off);
SELECT count(*) FROM create_container('fresh', '{/d}', '{4}');
INSERT INTO fresh SELECT date '2025-01-01' + i / 100, i FROM generate_series(0, 2999) i;
SET client_min_messages = notice;
SELECT kind, key FROM hot_partitions('fresh') WHERE kind <> 'partition';
ANALYZE fresh;
SELECT kind, key FROM hot_partitions('fresh') WHERE kind <> 'partition';
SET client_min_messages = warning;

-- reads and writes since the statistics were reset: of evenly filled leaves one is busy
CREATE TABLE busy (k int PRIMARY KEY, n int DEFAULT 0);
INSERT INTO busy SELECT generate_series(1, 4000);
SELECT count(*) FROM create_container('busy', '{/k}');
SELECT pg_stat_force_next_flush();
SELECT count(pg_stat_reset_single_table_counters(relid)) FROM pg_partition_tree('busy');
SELECT count(pg_stat_reset_single_table_counters(indexrelid)) FROM pg_partition_tree('busy') t JOIN pg_index i ON i.indrelid = t.relid;
SELECT * FROM hot_partitions('busy') WHERE kind = 'partition' AND reason ~ 'writes';
DO $$ BEGIN FOR i IN 1 .. 500 LOOP UPDATE busy SET n = n + 1 WHERE k = 7; END LOOP; END $$;
SELECT pg_stat_force_next_flush();
SELECT partitions = ARRAY(SELECT partition_of('busy', '[7]')) AS the_one, round(share::numeric, 1) AS share, reason ~ '100.0 % of the writes since the statistics were reset$' AS writes,
	relieved_by FROM hot_partitions('busy') WHERE kind = 'partition';
-- what it reads itself is not among the reads, though parallel workers tell theirs when they end
CREATE TABLE uneven (k int, id int);
INSERT INTO uneven SELECT CASE WHEN i % 2 = 0 THEN 7 ELSE i END, i FROM generate_series(1, 4000) i;
SELECT count(*) FROM create_container('uneven', '{/k}');
SELECT pg_stat_force_next_flush();
SELECT count(pg_stat_reset_single_table_counters(relid)) FROM pg_partition_tree('uneven');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT reason ~ 'items' AS items, reason ~ 'reads' AS reads FROM hot_partitions('uneven') WHERE kind = 'partition';
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;
-- values that grow without looking like times are told by the writes that the latest one takes
CREATE TABLE batch (n int, id int);
SELECT count(*) FROM create_container('batch', '{/n}');
INSERT INTO batch SELECT 500000 + i / 50, i FROM generate_series(0, 1999) i;
ANALYZE batch;
SELECT pg_stat_force_next_flush();
SELECT kind FROM hot_partitions('batch') WHERE kind = 'level';
SELECT count(pg_stat_reset_single_table_counters(relid)) FROM pg_partition_tree('batch');
INSERT INTO batch SELECT 500040, i FROM generate_series(0, 199) i;
SELECT pg_stat_force_next_flush();
SELECT kind, key FROM hot_partitions('batch') WHERE kind = 'level';

-- after a split leaves have been counted for different times, until their statistics are reset
CREATE TABLE aged (k int, id int, PRIMARY KEY (k, id));
SELECT count(*) FROM create_container('aged', '{/k}', '{4}');
INSERT INTO aged SELECT i, i FROM generate_series(1, 4000) i;
ANALYZE aged;
DO $$ BEGIN FOR i IN 1 .. 30 LOOP PERFORM count(*) FROM aged; END LOOP; END $$;
SELECT partition_of('aged', '[7]') AS leaf \gset
CALL split_partition(:'leaf');
SELECT pg_stat_force_next_flush();
SELECT count(*) FROM hot_partitions('aged');
SELECT count(pg_stat_reset_single_table_counters(relid)) FROM pg_partition_tree('aged');
DO $$ BEGIN FOR i IN 1 .. 300 LOOP UPDATE aged SET id = id + 10000 WHERE k = 7; END LOOP; END $$;
SELECT pg_stat_force_next_flush();
SELECT partitions = ARRAY(SELECT partition_of('aged', '[7]')) AS the_one, reason ~ '100.0 % of the writes' AS writes FROM hot_partitions('aged') WHERE kind = 'partition';

-- a level that the next one divides already; PUIDs, which take no suffix
CREATE TABLE divided (a text, b text, id int);
INSERT INTO divided SELECT 'a' || i % 4, 'b' || i, i FROM generate_series(1, 800) i;
SELECT count(*) FROM create_container('divided', '{/a,/b}', '{4,4}');
SELECT reason FROM hot('divided') WHERE kind = 'level';
CREATE TABLE families (id puid PRIMARY KEY);
INSERT INTO families SELECT puid(parent => 'a2720f2e-3c4d-4aaa-8aaa-0123456789ab'::uuid::puid) FROM generate_series(1, 100);
SELECT count(*) FROM create_container('families', '{/id}', '{2}');
SELECT kind, relieved_by FROM hot('families') WHERE kind <> 'level';
-- calls that only the owner can make
CREATE ROLE hp_reader;
GRANT USAGE ON SCHEMA hp TO hp_reader;
GRANT SELECT ON divided TO hp_reader;
SET ROLE hp_reader;
SELECT DISTINCT regexp_replace(relieved_by, '\(.*', '') FROM hot('divided', 0.1) WHERE relieved_by ~ 'CALL';
RESET ROLE;
DROP OWNED BY hp_reader;
DROP ROLE hp_reader;

-- what is not right, and nothing
SELECT * FROM hot_partitions('seq', 20);
SELECT * FROM hot_partitions('seq', -0.1);
SELECT * FROM hot_partitions('seq', 'NaN');
SELECT * FROM hot_partitions('seq', sample => 0);
SELECT * FROM hot_partitions('seq', NULL);
SELECT * FROM hot_partitions(NULL);
SELECT * FROM hot_partitions('pg_class');
CREATE TABLE empty (tenant text, usr text);
SELECT count(*) FROM create_container('empty', '{/tenant,/usr}');
SELECT * FROM hot_partitions('empty');
SELECT * FROM hot_partitions('empty', 0);
-- names and values that need quoting: the calls can be made as they are
CREATE TABLE "Hot ""'x'" ("T'1" text, "u 2" text, id int, PRIMARY KEY ("T'1", "u 2", id));
INSERT INTO "Hot ""'x'" SELECT CASE WHEN i % 2 = 0 THEN $k$it's \ "$k$ ELSE 't' || i END, 'u' || i, i FROM generate_series(1, 200) i;
SELECT count(*) FROM create_container($$"Hot ""'x'"$$, ARRAY[$$/T'1$$, '/u 2'], '{4}');
SELECT relieved_by FROM hot($$"Hot ""'x'"$$) WHERE kind = 'key';
SELECT relieved_by FROM hot($$"Hot ""'x'"$$) WHERE kind = 'key' \gexec
SELECT relieved_by FROM hot($$"Hot ""'x'"$$) WHERE kind = 'key';
-- a leaf that is divided by hand in another way
CREATE TABLE byhand (k text, n int) PARTITION BY HASH (k text_xxhash_ops);
CREATE TABLE byhand_0 PARTITION OF byhand FOR VALUES WITH (MODULUS 2, REMAINDER 0) PARTITION BY RANGE (n);
CREATE TABLE byhand_0a PARTITION OF byhand_0 FOR VALUES FROM (0) TO (100);
CREATE TABLE byhand_0b PARTITION OF byhand_0 FOR VALUES FROM (100) TO (1000);
CREATE TABLE byhand_1 PARTITION OF byhand FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO registry (container, paths, columns, hash, partitions) VALUES ('byhand', '{/k}', '{k}', 'xxhash', '{1}');
INSERT INTO byhand SELECT 'k' || i % 10, i FROM generate_series(1, 800) i;
SELECT key, items, partitions FROM logical_partitions('byhand') ORDER BY key;
SELECT partition, items FROM partition_map('byhand');
SELECT kind, partitions FROM hot('byhand', 0.5);
SELECT count(*) FROM regexp_matches(diagram('byhand'), '<title>byhand_', 'g');
-- a sample will do: a share this large is seen in any
SELECT kind, key FROM hot_partitions('whale', 0.4, sample => 60) WHERE kind = 'key';
DROP SCHEMA hp CASCADE;
