-- Splitting, merging and isolating, by one session: what comes out of it.
CREATE SCHEMA sp;
SET search_path = sp, partitionkey;
SET partitionkey.retry_pause = '20ms';
-- A bound as a number; the ends of the space are '' and 'FF'.
CREATE FUNCTION bound(hex text) RETURNS numeric LANGUAGE sql AS $$
	SELECT CASE hex WHEN 'FF' THEN 2::numeric ^ 64 WHEN '' THEN 0
		ELSE (SELECT sum(('x' || lpad(d, 8, '0'))::bit(32)::bigint::numeric * 16 ^ (16 - i)) FROM regexp_split_to_table(rpad(hex, 16, '0'), '') WITH ORDINALITY s(d, i)) END
$$;
-- Leaves as boxes: the part of the space that they fill, and pairs that overlap.
CREATE FUNCTION tiles(c regclass) RETURNS TABLE (leaves bigint, filled numeric, overlapping bigint) LANGUAGE sql AS $$
	WITH box AS (
		SELECT partition, l, coalesce(bound(min_inclusive[l]), 0) AS lo, coalesce(bound(max_exclusive[l]), 2::numeric ^ 64) AS hi
		FROM physical_partitions, generate_series(1, 3) l WHERE container = c)
	SELECT (SELECT count(DISTINCT partition) FROM box),
		(SELECT round(sum(part), 12) FROM (SELECT exp(sum(ln((hi - lo) / 2::numeric ^ 64))) AS part FROM box GROUP BY partition) p),
		(SELECT count(*) FROM (SELECT FROM box a JOIN box b ON a.l = b.l AND a.partition < b.partition AND a.lo < b.hi AND b.lo < a.hi GROUP BY a.partition, b.partition HAVING count(*) = 3) o)
$$;
CREATE FUNCTION whole(c regclass) RETURNS TABLE (leaves bigint, filled numeric, overlapping bigint, items numeric, misplaced numeric) LANGUAGE sql AS $$
	SELECT *, (SELECT sum(items) FROM verify(c)), (SELECT sum(misplaced) FROM verify(c)) FROM tiles(c)
$$;
CREATE VIEW left_behind AS SELECT (SELECT count(*) FROM operation) AS operations,
	(SELECT count(*) FROM pg_trigger WHERE tgname ~ 'partitionkey') AS triggers,
	(SELECT count(*) FROM pg_constraint WHERE conname ~ 'partitionkey_bound') AS bounds,
	(SELECT count(*) FROM pg_class c WHERE relnamespace = 'sp'::regnamespace AND relkind IN ('r', 'p') AND (relname ~ '_(new|old)' OR (relname ~ '_p[0-9a-f]' AND NOT relispartition))) AS tables;

CREATE TABLE logins (tenant text, usr text, id int, note text, PRIMARY KEY (tenant, usr, id));
INSERT INTO logins SELECT 't' || i % 40, 'u' || i % 30, i, 'n' FROM generate_series(1, 6000) i;
SELECT create_container('logins', '{/tenant,/usr}', '{2}');
SELECT * FROM whole('logins');

-- at its own level; the node above is put in at the first time, and used at the second
CALL split_partition('logins_p0');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'logins'::regclass;
CALL split_partition('logins_p4');
SELECT relid, parentrelid, level, isleaf FROM pg_partition_tree('logins');
SELECT * FROM whole('logins');
-- by the next path
CALL split_partition('logins_p0', '/usr');
CALL split_partition('logins_p0_8');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'logins'::regclass;
SELECT * FROM whole('logins');
SELECT * FROM left_behind;
EXPLAIN (COSTS OFF) SELECT * FROM logins WHERE tenant = 't3' AND usr = 'u3' AND id = 3;
SELECT count(*) FROM logins, partition_of('logins', jsonb_build_array(tenant, usr)) p WHERE p = logins.tableoid;
-- a range that was noted before
SELECT partitions_in_range('logins', '{""}', '{8000000000000000}');
SELECT partitions_in_range('logins', '{"",8000000000000000}', '{4000000000000000,FF}');
SELECT partitions_in_range('logins', '{8000000000000000}', '{FF}');
SELECT partitions_in_range('logins', '{}', '{}') EXCEPT SELECT partition FROM physical_partitions WHERE container = 'logins'::regclass;
SELECT partitions_in_range('logins', '{4}', '{4}');
SELECT partitions_in_range('logins', '{5}', '{4}');
SELECT partitions_in_range('logins', '{FF}', '{FF}');
SELECT partitions_in_range('logins', '{x}', '{FF}');
SELECT partitions_in_range('logins', '{"","",""}', '{FF,FF,FF}');
SELECT partitions_in_range('logins', '{""}', '{}');
SELECT partitions_in_range('left_behind', '{}', '{}');

-- merging: the halves of a range only
CALL merge_partitions('logins_p4', 'logins_p8');
CALL merge_partitions('logins_p4', 'logins_p0_0');
CALL merge_partitions('logins_p8', 'logins_p4');
CALL merge_partitions('logins_p4', 'logins_p4');
CALL merge_partitions('logins_p0_8', 'logins_p0_c');
SELECT partition FROM physical_partitions WHERE container = 'logins'::regclass;
CALL merge_partitions('logins_p0_0', 'logins_p0_8');
CALL merge_partitions('logins_p4', 'logins_p6');
CALL merge_partitions('logins_p4', 'logins_p0');
SELECT relid, parentrelid, level, isleaf FROM pg_partition_tree('logins');
SELECT * FROM whole('logins');
SELECT * FROM left_behind;
CALL merge_partitions('logins_p0', 'logins_p8');
SELECT relid, level, isleaf FROM pg_partition_tree('logins');
SELECT * FROM whole('logins');
CALL split_partition('logins_p0');
SELECT * FROM whole('logins');

-- a key of its own, and all of a tenant
CALL isolate_key('logins', '["t7"]');
SELECT count(DISTINCT tableoid) AS leaves, (SELECT count(DISTINCT tenant) FROM logins o WHERE o.tableoid = min(l.tableoid::bigint)::oid) AS tenants_in_it FROM logins l WHERE tenant = 't7';
SELECT * FROM whole('logins');
CALL isolate_key('logins', '["t7"]');
CALL isolate_key('logins', '["t7","u7"]');
SELECT count(DISTINCT (tenant, usr)) FROM logins WHERE tableoid = (SELECT tableoid FROM logins WHERE tenant = 't7' AND usr = 'u7' LIMIT 1);
CALL isolate_key('logins', '["nobody"]');
SELECT count(*) FROM logins JOIN partition_of('logins', '["nobody"]') p ON p = logins.tableoid;
SELECT * FROM whole('logins');
-- a tenant that is divided by user from the start
CREATE TABLE grid (LIKE logins INCLUDING ALL);
INSERT INTO grid SELECT * FROM logins;
SELECT create_container('grid', '{/tenant,/usr}', '{2,2}');
CALL isolate_key('grid', '["t7"]');
SELECT count(DISTINCT tableoid) AS leaves, (SELECT count(DISTINCT tenant) FROM grid o WHERE o.tableoid = min(g.tableoid::bigint)::oid) AS tenants_in_it FROM grid g WHERE tenant = 't7';
SELECT * FROM whole('grid');

-- which way: one value has most of the rows, so the next path divides them
CREATE TABLE whale (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
SELECT create_container('whale', '{/tenant,/usr}', '{1}');
INSERT INTO whale SELECT CASE WHEN i % 10 < 6 THEN 'whale' ELSE 't' || i % 40 END, 'u' || i % 50, i FROM generate_series(1, 4000) i;
ANALYZE whale;
CALL split_partition('whale_p0');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'whale'::regclass;
SELECT * FROM whole('whale');
-- two values in one half of the range: it is halved until they are apart
CREATE TABLE two (tenant text, id int, PRIMARY KEY (tenant, id));
SELECT create_container('two', '{/tenant}', '{1}');
INSERT INTO two SELECT v, i FROM (SELECT v FROM (SELECT 'v' || j AS v FROM generate_series(1, 1000) j) c WHERE hash_position(v) < '08' ORDER BY v LIMIT 2) x, generate_series(1, 100) i;
CALL split_partition('two_p0');
SELECT items FROM verify('two') WHERE items > 0;
SELECT * FROM whole('two');
-- the diagonal: the second level repeats the first, so that it divides nothing that the first has left
CREATE TABLE diagonal (tenant text, usr text, PRIMARY KEY (tenant, usr));
SELECT create_container('diagonal', '{/tenant,/usr}', '{2}');
INSERT INTO diagonal SELECT 'u' || i, 'u' || i FROM generate_series(1, 1000) i;
CALL split_partition('diagonal_p0');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'diagonal'::regclass;
CALL split_partition('diagonal_p0', '/usr');
SELECT * FROM whole('diagonal');
-- a logical partition is never divided
CREATE TABLE single (tenant text, id int, PRIMARY KEY (tenant, id));
SELECT create_container('single', '{/tenant}', '{1}');
INSERT INTO single SELECT 'only', i FROM generate_series(1, 100) i;
CALL split_partition('single_p0');
CALL split_partition('single_p0', '/tenant');
CALL split_partition('single_p0', '/id');
SELECT * FROM whole('single');
-- an empty leaf is halved
TRUNCATE single;
CALL split_partition('single_p0');
SELECT * FROM whole('single');

-- without a primary key
CREATE TABLE heap (k int NOT NULL, n int);
SELECT create_container('heap', '{/k}', '{2}');
INSERT INTO heap SELECT i % 20, i FROM generate_series(1, 1000) i;
INSERT INTO heap VALUES (1, 1), (1, 1);
CALL split_partition('heap_p0');
SELECT * FROM whole('heap');
-- other types, the other hash, names
CREATE TABLE "Odd ""names""" ("The key" boolean, "B" jsonb, c puid, "Id" int, d int GENERATED ALWAYS AS ("Id" * 2) STORED, gone int, PRIMARY KEY ("The key", "B", c, "Id"));
ALTER TABLE "Odd ""names""" DROP COLUMN gone;
INSERT INTO "Odd ""names""" SELECT i % 2 = 0, to_jsonb(i % 7), puid(family => lpad(to_hex(i % 11), 5, '0')::puid_family), i FROM generate_series(1, 700) i;
SELECT create_container('"Odd ""names"""', '{/The key,/B,/c}', '{1,2}', 'cosmos');
CALL split_partition('"Odd ""names""_p0_0"');
CALL split_partition('"Odd ""names""_p0_8"', '/c');
SELECT partition, cardinality(min_inclusive) AS levels FROM physical_partitions WHERE container = '"Odd ""names"""'::regclass;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('"Odd ""names"""');
SELECT sum(d) = 2 * sum("Id") AS generated FROM "Odd ""names""";
-- boolean keys are pruned in new leaves, too
CREATE TABLE flags (flag boolean, id int, PRIMARY KEY (flag, id));
SELECT create_container('flags', '{/flag}', '{1}');
INSERT INTO flags SELECT i % 3 = 0, i FROM generate_series(1, 90) i;
CALL split_partition('flags_p0');
SELECT items FROM verify('flags') WHERE items > 0 ORDER BY 1;
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM flags WHERE flag;
RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;

-- maintain: leaves above the limit are divided, small ones that a split made are merged again
CREATE TABLE big (k int, id int, pad text, PRIMARY KEY (k, id));
SELECT create_container('big', '{/k}', '{2}');
INSERT INTO big SELECT i % 100, i, repeat(md5(i::text), 5) FROM generate_series(1, 15000) i;
SET partitionkey.physical_partition_limit = '1MB';
CALL maintain('big');
SELECT count(*) > 2 AS divided, max(bytes) <= 1024 * 1024 AS small_enough FROM physical_partitions WHERE container = 'big'::regclass;
SELECT overlapping, filled, items, misplaced FROM whole('big');
SET partitionkey.physical_partition_limit = '100MB';
CALL maintain('big');
SELECT * FROM whole('big');
-- what can't be divided is told, and the rest goes on; so are large keys
INSERT INTO big SELECT 7, i, repeat(md5(i::text), 5) FROM generate_series(20000, 30000) i;
SET partitionkey.physical_partition_limit = '1MB'; SET partitionkey.logical_partition_limit = '2MB';
SET client_min_messages = error;
CALL maintain('big');
RESET client_min_messages;
SELECT count(DISTINCT k) AS keys_in_large_leaves FROM big b JOIN physical_partitions p ON p.partition = b.tableoid WHERE p.bytes > 1024 * 1024;
SELECT key, share BETWEEN 0.8 AND 1.2 AS share, relieved_by FROM large_keys('big');
SELECT overlapping, filled, items, misplaced FROM whole('big');
RESET partitionkey.physical_partition_limit;
SELECT key, relieved_by FROM large_keys('whale');
SET partitionkey.logical_partition_limit = '1MB';
INSERT INTO whale SELECT 'whale', 'u' || i % 2, 100000 + i FROM generate_series(1, 30000) i;
SELECT key, relieved_by FROM large_keys('whale');
RESET partitionkey.logical_partition_limit;

-- what is refused
BEGIN;
CALL split_partition('logins_p0');
ROLLBACK;
DO $$ BEGIN CALL split_partition('heap_p0'); END $$;
CALL split_partition(NULL);
CALL merge_partitions('heap_p0', NULL);
CALL isolate_key(NULL, '["a"]');
CALL isolate_key('logins', NULL);
CALL isolate_key('logins', '[]');
CALL isolate_key('logins', '["a","b","c"]');
CALL isolate_key('logins_p0_n', '["a"]');
CALL split_partition('logins');
CALL split_partition('left_behind');
CALL split_partition('heap_p0', '/n');
CALL maintain('left_behind');
CREATE TABLE refers (tenant text, usr text, id int, FOREIGN KEY (tenant, usr, id) REFERENCES logins);
SELECT 'CALL split_partition(' || quote_literal(min(partition::text)) || ')' AS call FROM physical_partitions WHERE container = 'logins'::regclass \gset
:call;
DROP TABLE refers;
SET client_min_messages = error;
CREATE PUBLICATION everything FOR ALL TABLES;
CALL split_partition('heap_p0');
DROP PUBLICATION everything;
CREATE PUBLICATION schema FOR TABLES IN SCHEMA sp;
CALL split_partition('heap_p0');
DROP PUBLICATION schema;
RESET client_min_messages;
CREATE ROLE regress_pk_other;
GRANT USAGE ON SCHEMA sp TO regress_pk_other;
GRANT ALL ON ALL TABLES IN SCHEMA sp TO regress_pk_other;
SET ROLE regress_pk_other;
CALL split_partition('heap_p0');
CALL merge_partitions('heap_p0', 'heap_p4');
CALL isolate_key('heap', '[1]');
CALL maintain('heap');
CALL cleanup('heap');
CALL maintain();
CALL cleanup();
SELECT count(*) FROM operations;
SELECT count(*) FROM operation;
RESET ROLE;
-- nobody writes elsewhere by the trigger
CREATE TABLE victim (k int PRIMARY KEY);
GRANT CREATE ON SCHEMA sp TO regress_pk_other;
SET ROLE regress_pk_other;
CREATE TABLE own (k int PRIMARY KEY);
DO $$ BEGIN EXECUTE format('CREATE TRIGGER t AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION partitionkey.dual_write(%s, 1)', 'victim'::regclass::oid); END $$;
INSERT INTO own VALUES (1);
RESET ROLE;
SELECT count(*) FROM victim;
SELECT * FROM left_behind;
SET client_min_messages = warning;
DROP SCHEMA sp CASCADE;
DROP OWNED BY regress_pk_other;
DROP ROLE regress_pk_other;

-- leaves are merged only if they are alike in what they ask of their rows
CREATE TABLE asks (k text, id int, v int, PRIMARY KEY (k, id));
SELECT create_container('asks', '{/k}', '{1}');
INSERT INTO asks SELECT 'k' || i % 50, i, i FROM generate_series(1, 1000) i;
CALL split_partition('asks_p0');
ALTER TABLE asks_p0 ADD CHECK (v >= 0);
CALL merge_partitions('asks_p0', 'asks_p8');
CALL merge_partitions('asks_p8', 'asks_p0');
ALTER TABLE asks_p0 DROP CONSTRAINT asks_p0_v_check;
CREATE UNIQUE INDEX ON asks_p8 (v) WHERE v > 5;
CALL merge_partitions('asks_p0', 'asks_p8');
DROP INDEX asks_p8_v_idx;
ALTER TABLE asks_p8 ALTER v SET NOT NULL;
CALL merge_partitions('asks_p0', 'asks_p8');
ALTER TABLE asks_p8 ALTER v DROP NOT NULL;

-- names that types have, and checks whose names only begin like those of the extension
CREATE DOMAIN asks_p8_old AS int;
CREATE DOMAIN asks_new_1 AS int;
CREATE TYPE asks_pc AS ENUM ('a');
ALTER TABLE asks ADD CONSTRAINT partitionkey_mine CHECK (v >= 0);
ALTER TABLE asks_p8 ADD CONSTRAINT partitionkey_own CHECK (v >= -1);
CALL split_partition('asks_p8');
SELECT conrelid::regclass::text COLLATE "C" AS partition, conname, convalidated FROM pg_constraint
WHERE conname IN ('partitionkey_mine', 'partitionkey_own') ORDER BY 1, 2;
ALTER TABLE asks DROP CONSTRAINT partitionkey_mine;

-- a deferrable constraint over the columns of the key: writers could not find their rows
ALTER TABLE asks ADD UNIQUE (id, k) DEFERRABLE;
SET client_min_messages = notice;
CALL split_partition('asks_p0');
SET client_min_messages = warning;
SELECT sum(items), sum(misplaced) FROM verify('asks');
SELECT count(*) FROM operations;
DROP TABLE asks;
DROP DOMAIN asks_p8_old, asks_new_1;
DROP TYPE asks_pc;

-- a leaf of another role, though the container's owner has its rights; and foreign keys that are switched off
CREATE ROLE regress_pk_member;
CREATE ROLE regress_pk_group ROLE regress_pk_member;
CREATE SCHEMA kept AUTHORIZATION regress_pk_member;
SET search_path = kept, partitionkey;
CREATE TABLE referenced (id int PRIMARY KEY);
GRANT REFERENCES ON referenced TO regress_pk_member;
SET ROLE regress_pk_member;
CREATE TABLE owned (k text, id int, r int REFERENCES referenced, PRIMARY KEY (k, id));
SELECT create_container('owned', '{/k}', '{1}');
INSERT INTO owned SELECT 'k' || i % 50, i FROM generate_series(1, 500) i;
RESET ROLE;
ALTER TABLE owned DISABLE TRIGGER ALL;
ALTER TABLE owned_p0 OWNER TO regress_pk_group;
SET ROLE regress_pk_member;
CALL split_partition('owned_p0');
RESET ROLE;
ALTER TABLE owned_p0 OWNER TO regress_pk_member;
SET ROLE regress_pk_member;
CALL split_partition('owned_p0');
RESET ROLE;
SELECT relname, relowner::regrole, (SELECT string_agg(DISTINCT tgenabled::text, '') FROM pg_trigger WHERE tgrelid = c.oid) AS triggers
FROM pg_class c JOIN pg_partition_tree('owned') t ON t.relid = c.oid WHERE isleaf ORDER BY 1;
INSERT INTO owned VALUES ('new', 1, 77);
SELECT sum(items), sum(misplaced) FROM verify('owned');
DROP SCHEMA kept CASCADE;
DROP OWNED BY regress_pk_member, regress_pk_group;
DROP ROLE regress_pk_member, regress_pk_group;

-- rights that the owner has lost: told before anything is copied, and all at once
CREATE ROLE regress_pk_owner;
CREATE SCHEMA made;
CREATE SCHEMA elsewhere;
GRANT USAGE, CREATE ON SCHEMA made TO regress_pk_owner;
GRANT USAGE ON SCHEMA elsewhere TO regress_pk_owner;
CREATE FUNCTION elsewhere.computed(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION elsewhere."Indexed"(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION elsewhere.checked(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE FUNCTION elsewhere.most() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1000; END';
CREATE FUNCTION elsewhere.fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE DOMAIN elsewhere.kind AS int;
CREATE TABLE elsewhere.ref (id int PRIMARY KEY);
GRANT REFERENCES ON elsewhere.ref TO regress_pk_owner;
SET ROLE regress_pk_owner;
CREATE TABLE made.t (k text, id int CHECK (elsewhere.checked(id)) CHECK (id < elsewhere.most()), r int REFERENCES elsewhere.ref, d elsewhere.kind[],
	g int GENERATED ALWAYS AS (elsewhere.computed(id)) STORED, PRIMARY KEY (k, id));
CREATE INDEX ON made.t (elsewhere."Indexed"(id));
SELECT create_container('made.t', '{/k}', '{1}');
CREATE TRIGGER fired BEFORE INSERT ON made.t_p0 FOR EACH ROW EXECUTE FUNCTION elsewhere.fired();
RESET ROLE;
REVOKE REFERENCES ON elsewhere.ref FROM regress_pk_owner;
CALL split_partition('made.t_p0');
GRANT REFERENCES (id) ON elsewhere.ref TO regress_pk_owner;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA elsewhere FROM PUBLIC;
REVOKE USAGE ON TYPE elsewhere.kind FROM PUBLIC;
REVOKE UPDATE, TRIGGER ON made.t_p0 FROM regress_pk_owner;
CALL split_partition('made.t_p0');
SET ROLE regress_pk_owner;
CALL split_partition('made.t_p0');
RESET ROLE;
-- what the error tells to do is enough; a check with columns in it is not called
GRANT EXECUTE ON FUNCTION elsewhere.computed(int), elsewhere."Indexed"(int), elsewhere.most(), elsewhere.fired() TO regress_pk_owner;
GRANT USAGE ON TYPE elsewhere.kind TO regress_pk_owner;
GRANT UPDATE, TRIGGER ON made.t_p0 TO regress_pk_owner;
CALL split_partition('made.t_p0');
REVOKE USAGE ON SCHEMA elsewhere FROM regress_pk_owner;
CALL split_partition('made.t_p0');
CALL merge_partitions('made.t_p0', 'made.t_p8');
SELECT relid FROM pg_partition_tree('made.t') WHERE isleaf ORDER BY 1;
SELECT (SELECT count(*) FROM operation) AS operations, (SELECT count(*) FROM pg_class WHERE relnamespace = 'made'::regnamespace AND relname ~ '_(new|old)') AS tables;
-- also for a table without a key, where all is one transaction
CREATE TABLE made.keyless (k text, r int);
ALTER TABLE made.keyless OWNER TO regress_pk_owner;
GRANT USAGE ON SCHEMA elsewhere TO regress_pk_owner;
SET ROLE regress_pk_owner;
ALTER TABLE made.keyless ADD FOREIGN KEY (r) REFERENCES elsewhere.ref;
SELECT create_container('made.keyless', '{/k}', '{1}');
RESET ROLE;
REVOKE REFERENCES (id) ON elsewhere.ref FROM regress_pk_owner;
CALL split_partition('made.keyless_p0');
DROP SCHEMA made, elsewhere CASCADE;
DROP OWNED BY regress_pk_owner;
DROP ROLE regress_pk_owner;
