-- Upkeep of containers: whose code runs, how far ranges are halved, what stays isolated, what goes on after failures, messages.
CREATE SCHEMA up;
SET partitionkey.retry_pause = '20ms';
SET partitionkey.lock_timeout = '50ms';

-- who may create objects in a schema of the search_path gains nothing from upkeep by a superuser
CREATE ROLE regress_pk_evil;
GRANT CREATE, USAGE ON SCHEMA up TO regress_pk_evil;
SET ROLE regress_pk_evil;
CREATE FUNCTION up.evil() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil as %', current_user; RETURN true; END $$;
CREATE FUNCTION up.pg_total_relation_size(int) RETURNS bigint LANGUAGE sql AS 'SELECT up.evil()::int::bigint';
CREATE FUNCTION up.pg_relation_size(int) RETURNS bigint LANGUAGE sql AS 'SELECT up.evil()::int::bigint';
CREATE FUNCTION up.pg_partition_tree(int) RETURNS TABLE (relid regclass) LANGUAGE sql AS 'SELECT NULL::regclass WHERE up.evil()';
CREATE FUNCTION up.same(oid, regclass) RETURNS boolean LANGUAGE sql AS 'SELECT up.evil()';
CREATE FUNCTION up.same(oid, int) RETURNS boolean LANGUAGE sql AS 'SELECT up.evil()';
CREATE FUNCTION up.same(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT up.evil()';
CREATE FUNCTION up.same("char", text) RETURNS boolean LANGUAGE sql AS 'SELECT up.evil()';
CREATE FUNCTION up.same(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT up.evil()';
CREATE OPERATOR up.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = up.same);
CREATE OPERATOR up.= (LEFTARG = oid, RIGHTARG = int, FUNCTION = up.same);
CREATE OPERATOR up.= (LEFTARG = int, RIGHTARG = int, FUNCTION = up.same);
CREATE OPERATOR up.= (LEFTARG = "char", RIGHTARG = text, FUNCTION = up.same);
CREATE OPERATOR up.= (LEFTARG = name, RIGHTARG = text, FUNCTION = up.same);
RESET ROLE;
CREATE TABLE up.big (k int, id int, pad text, PRIMARY KEY (k, id));
SELECT partitionkey.create_container('up.big', '{/k}', '{2}');
INSERT INTO up.big SELECT CASE WHEN i % 2 = 0 THEN 7 ELSE i % 100 END, i, repeat(md5(i::text), 5) FROM generate_series(1, 15000) i;
SET search_path = up, pg_catalog;
SET partitionkey.physical_partition_limit = '1MB'; SET partitionkey.logical_partition_limit = '1MB';
CALL partitionkey.maintain('up.big');
CALL partitionkey.maintain();
CALL partitionkey.cleanup('up.big');
CALL partitionkey.cleanup();
SET partitionkey.physical_partition_limit = '100MB';
CALL partitionkey.maintain('up.big');
CALL partitionkey.isolate_key('up.big', '[7]');
SELECT key FROM partitionkey.large_keys('up.big');
CALL partitionkey.drop_container('up.big');
-- it would be called
SELECT count(*) FROM pg_class c WHERE c.oid OPERATOR(up.=) 'pg_class'::regclass AND relname OPERATOR(pg_catalog.=) 'pg_class';
RESET search_path; RESET partitionkey.physical_partition_limit; RESET partitionkey.logical_partition_limit;
SET client_min_messages = error; DROP SCHEMA up CASCADE; CREATE SCHEMA up; RESET client_min_messages;
DROP OWNED BY regress_pk_evil; DROP ROLE regress_pk_evil;
SET search_path = up, partitionkey;

-- halving ends at 20 bits: these keys share more than that
SELECT left(min(hash_position(k)), 5), left(max(hash_position(k)), 5) FROM unnest('{tenant452,tenant34585,tenant37055}'::text[]) k;
CREATE TABLE close (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
SELECT create_container('close', '{/tenant,/usr}', '{1}');
INSERT INTO close SELECT t, 'u' || i % 3, i FROM unnest('{tenant452,tenant34585,tenant37055,other}'::text[]) t, generate_series(1, 30) i;
CALL isolate_key('close', '["tenant452"]');
SELECT count(DISTINCT tableoid) AS leaves, count(DISTINCT tenant) AS tenants FROM close WHERE tenant <> 'other';
SELECT tableoid::regclass AS leaf FROM close WHERE tenant = 'tenant452' LIMIT 1 \gset
SELECT tableoid <> :'leaf'::regclass AS apart FROM close WHERE tenant = 'other' LIMIT 1;
-- the next path is still there
CALL isolate_key('close', '["tenant452","u1"]');
SELECT count(DISTINCT (tenant, usr)) FROM close WHERE tableoid = (SELECT tableoid FROM close WHERE tenant = 'tenant452' AND usr = 'u1' LIMIT 1);
SELECT max(modulus) FROM pg_class, substring(pg_get_expr(relpartbound, oid), 'modulus (\d+)') s, CAST(s AS int) modulus WHERE relnamespace = 'up'::regnamespace;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('close');
CREATE TABLE close1 (k text, id int, PRIMARY KEY (k, id));
SELECT create_container('close1', '{/k}', '{1}');
INSERT INTO close1 SELECT k, i FROM unnest('{k80,k776,k1}'::text[]) k, generate_series(1, 30) i;
CALL isolate_key('close1', '["k80"]');
SELECT tableoid::regclass AS leaf FROM close1 WHERE k = 'k80' LIMIT 1 \gset
CALL split_partition(:'leaf');
CALL split_partition(:'leaf', '/k');
-- an empty leaf at the end, too
DELETE FROM close1 WHERE k IN ('k80', 'k776');
CALL split_partition(:'leaf');
-- maintain goes on to other leaves
INSERT INTO close1 SELECT k, i FROM unnest('{k80,k776}'::text[]) k, generate_series(1, 15000) i;
INSERT INTO close1 SELECT 'n' || i % 100, i FROM generate_series(1, 30000) i;
SET partitionkey.physical_partition_limit = '1MB';
SET client_min_messages = error;
CALL maintain('close1');
RESET client_min_messages;
SELECT partition = :'leaf'::regclass AS that FROM physical_partitions WHERE container = 'close1'::regclass AND bytes > 1024 * 1024;
RESET partitionkey.physical_partition_limit;

-- what is isolated stays so; levels are kept; the rest goes back to what create_container made, and no further
CREATE TABLE ev (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
SELECT create_container('ev', '{/tenant,/usr}', '{2,2}');
INSERT INTO ev SELECT 't' || i % 20, 'u' || i % 31, i FROM generate_series(1, 3000) i;
SELECT partitions, isolated FROM registry WHERE container = 'ev'::regclass;
CREATE VIEW tenants AS SELECT tableoid::regclass AS leaf, array_agg(DISTINCT tenant) AS tenants FROM ev GROUP BY 1;
CALL isolate_key('ev', '["t1"]');
SELECT count(*) FROM tenants WHERE tenants = '{t1}';
SELECT count(*) FROM tenants WHERE 't1' = ANY (tenants);
CALL isolate_key('ev', '["t1"]');
CALL isolate_key('ev', '["nobody"]');
SELECT isolated FROM registry WHERE container = 'ev'::regclass;
-- each leaf keeps its half of the users
SELECT count(*) FROM physical_partitions WHERE container = 'ev'::regclass AND cardinality(min_inclusive) <> 2;
CALL maintain('ev');
SELECT count(*) FROM tenants WHERE tenants = '{t1}';
SELECT count(*) FROM tenants WHERE 't1' = ANY (tenants);
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('ev');
-- by the other path
SELECT tableoid::regclass AS leaf FROM ev WHERE tenant = 't1' LIMIT 1 \gset
CALL split_partition(:'leaf', '/usr');
SELECT count(*) FROM tenants WHERE tenants = '{t1}';
CALL maintain('ev');
SELECT count(*) FROM tenants WHERE tenants = '{t1}';
-- by hand it ends, and maintain makes the four leaves again
CREATE FUNCTION other_half(leaf regclass) RETURNS regclass LANGUAGE sql AS $$
	WITH s AS (SELECT c.oid, i.inhparent, m[1]::int AS modulus, m[2]::int AS remainder FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid,
		regexp_match(pg_get_expr(relpartbound, c.oid), 'modulus (\d+), remainder (\d+)') m)
	SELECT b.oid FROM s a JOIN s b ON a.inhparent = b.inhparent AND a.modulus = b.modulus AND (a.remainder # (a.modulus / 2)) = b.remainder WHERE a.oid = leaf $$;
SELECT format('CALL merge_partitions(%L, %L)', leaf, other_half(leaf)) AS merge FROM tenants WHERE tenants = '{t1}' ORDER BY leaf::text LIMIT 1 \gset
:merge;
SELECT isolated FROM registry WHERE container = 'ev'::regclass;
CALL maintain('ev');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'ev'::regclass;
CALL maintain('ev');
SELECT count(*) FROM physical_partitions WHERE container = 'ev'::regclass;
-- splits by the next path are merged as well
CREATE TABLE two (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
SELECT create_container('two', '{/tenant,/usr}', '{2}');
INSERT INTO two SELECT * FROM ev;
CALL split_partition('two_p0', '/usr');
CALL split_partition('two_p0_8', '/USR');
CALL maintain('two');
SELECT partition, min_inclusive, max_exclusive FROM physical_partitions WHERE container = 'two'::regclass;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('two');
-- a tree that is declared again
CALL split_partition('two_p8');
SELECT partitions FROM registry WHERE container = 'two'::regclass;
DELETE FROM registry WHERE container = 'two'::regclass;
SELECT create_container('two', '{/tenant,/usr}');
SELECT partitions FROM registry WHERE container = 'two'::regclass;

-- one failure does not stop the rest
CREATE TABLE bad (k text, id int, pad text, PRIMARY KEY (k, id));
SELECT create_container('bad', '{/k}', '{1}');
INSERT INTO bad SELECT 'only', i, repeat(md5(i::text), 5) FROM generate_series(1, 10000) i;
CREATE TABLE good (k text, id int, pad text, PRIMARY KEY (k, id));
SELECT create_container('good', '{/k}', '{1}');
INSERT INTO good SELECT 'k' || i % 100, i, pad FROM (SELECT id AS i, pad FROM bad) b;
SET partitionkey.physical_partition_limit = '2MB';
CALL maintain();
SELECT count(*) > 1 AS divided FROM physical_partitions WHERE container = 'good'::regclass;
RESET partitionkey.physical_partition_limit;
-- a foreign key is told once for a container
CREATE TABLE refers (k text, id int, FOREIGN KEY (k, id) REFERENCES good);
CALL maintain('good');
DROP TABLE refers;
-- operations that ended half-way, as a crash leaves them: one of them can't be removed, the next is
CREATE ROLE regress_pk_crash;
GRANT USAGE, CREATE ON SCHEMA up TO regress_pk_crash;
SET ROLE regress_pk_crash;
CREATE TABLE stuck (k text, id int, PRIMARY KEY (k, id));
SELECT create_container('stuck', '{/k}', '{1}');
CREATE TABLE gone (k text, id int, PRIMARY KEY (k, id));
SELECT create_container('gone', '{/k}', '{1}');
CREATE TABLE stuck_new_0 (k text); CREATE TABLE gone_new_0 (k text) PARTITION BY HASH (k); CREATE TABLE gone_new_1 PARTITION OF gone_new_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE VIEW depends AS SELECT FROM stuck_new_0;
RESET ROLE;
INSERT INTO operation (id, kind, container, partitions, replaced, made, phase, rows_estimated, pid) OVERRIDING SYSTEM VALUE VALUES
	(1000, 'split', 'stuck', '{stuck_p0}', ARRAY['stuck_p0'::regclass], ARRAY['stuck_new_0'::regclass], 'copying', 0, 0),
	(1001, 'split', 'gone', '{gone_p0}', ARRAY['gone_p0'::regclass], ARRAY['gone_new_0'::regclass, 'gone_new_1'], 'copying', 0, 0);
INSERT INTO pg_depend SELECT 'pg_class'::regclass, c, 0, 'pg_extension'::regclass, e.oid, 0, 'e'
	FROM pg_extension e, unnest('{stuck_new_0,gone_new_0,gone_new_1}'::regclass[]) c WHERE extname = 'partitionkey';
-- PostgreSQL 18's pg_upgrade makes their types members, too
INSERT INTO pg_depend SELECT 'pg_type'::regclass, t, 0, 'pg_extension'::regclass, e.oid, 0, 'e'
	FROM pg_extension e, pg_class c JOIN pg_type r ON r.oid = c.reltype, unnest(ARRAY[r.oid, r.typarray]) t
	WHERE extname = 'partitionkey' AND c.oid IN ('stuck_new_0'::regclass, 'gone_new_0'::regclass, 'gone_new_1'::regclass);
SET ROLE regress_pk_crash;
DROP TABLE gone;
DROP TABLE gone_new_0;
CALL cleanup();
SELECT relname FROM pg_class WHERE relname ~ '_new_\d$';
SELECT kind, container, running FROM operations;
CALL maintain('stuck');
DROP VIEW depends;
CALL cleanup('stuck');
SELECT count(*) FROM operations;
SELECT relname FROM pg_class WHERE relname ~ '_new_\d$';
RESET ROLE;
-- of a container and tables that nobody has any more
INSERT INTO operation (kind, container, partitions, replaced, made, phase, rows_estimated, pid) VALUES ('merge', 1, '{}', '{}', '{}', 'copying', 0, 0);
SET ROLE regress_pk_crash;
CALL cleanup();
RESET ROLE;
SELECT count(*) FROM operation;

-- messages: merging
CALL split_partition('ev_p8_0', '/usr');
CALL merge_partitions('ev_p0_0', 'two_p0');
CALL merge_partitions('bad_p0', 'bad_p0');
CALL merge_partitions('ev_p8_8', 'ev_p8_0');
CALL merge_partitions('ev_p0_0', 'ev_p8_8');
CALL merge_partitions('ev_p0_0', 'ev');
ALTER TABLE ev_p0_8 SET UNLOGGED;
CALL merge_partitions('ev_p0_0', 'ev_p0_8');
ALTER TABLE ev_p0_8 SET LOGGED;
-- what leaves have by themselves is the first one's
ALTER TABLE ev_p8_0 SET (fillfactor = 70);
ALTER TABLE ev_p8_4 SET (fillfactor = 80);
CALL merge_partitions('ev_p8_4', 'ev_p8_0');
SELECT reloptions FROM pg_class WHERE oid = 'ev_p8_0'::regclass;
ALTER TABLE ev_p8_0 SET (fillfactor = 70);
ALTER TABLE ev_p8_8 SET (fillfactor = 80);
CALL merge_partitions('ev_p8_8', 'ev_p8_0');
SELECT reloptions FROM pg_class WHERE oid = 'ev_p8'::regclass;
-- what depends on a leaf itself
CREATE VIEW on_leaf AS SELECT FROM ev_p8;
CALL split_partition('ev_p8');
DROP VIEW on_leaf;
SET client_min_messages = error; CREATE PUBLICATION regress_pk_leaf FOR TABLE ev_p8; RESET client_min_messages;
CALL split_partition('ev_p8');
DROP PUBLICATION regress_pk_leaf;
-- splitting
CALL split_partition('ev_p8', 'usr');
CALL split_partition('ev_p8', '/nothing');
CALL split_partition('ev_p8', '/a/b');
CALL split_partition('ev_p8', '/id');
ALTER TABLE two RENAME usr TO "Who";
CALL split_partition('two_p0', '/Who');
CALL merge_partitions('two_p0_0', 'two_p0_8');
CALL split_partition('two_p0', '/usr');
SELECT count(*) FROM physical_partitions WHERE container = 'two'::regclass;
CALL split_partition('bad_p0', '/k');
CREATE TABLE one (tenant text, usr text, id int, PRIMARY KEY (tenant, usr, id));
SELECT create_container('one', '{/tenant,/usr}', '{1}');
INSERT INTO one SELECT 't', 'u' || i, i FROM generate_series(1, 10) i;
CALL split_partition('one_p0', '/tenant');
TRUNCATE bad;
CALL split_partition('bad_p0');
-- others
CALL cleanup('refers');
CREATE TABLE plain (k int);
CALL cleanup('plain');
CALL maintain('plain');
CALL maintain(NULL);
CALL cleanup(NULL);
BEGIN;
CALL maintain();
ROLLBACK;
SELECT partitions_in_range('two', '{5}', '{4}');
SELECT partitions_in_range('two', '{c}', '{ff}') = partitions_in_range('two', '{C000000000000000}', '{FF}') AS same;

-- owners: without CREATE on the schema; of leaves
REVOKE CREATE ON SCHEMA up FROM regress_pk_crash;
SET ROLE regress_pk_crash;
INSERT INTO stuck SELECT 'k' || i % 20, i FROM generate_series(1, 100) i;
CALL split_partition('stuck_p0');
CALL isolate_key('stuck', '["k1"]');
RESET ROLE;
CALL split_partition('stuck_p0');
GRANT CREATE ON SCHEMA up TO regress_pk_crash;
CREATE ROLE regress_pk_leaf;
ALTER TABLE stuck_p0 OWNER TO regress_pk_leaf;
CALL split_partition('stuck_p0');
CALL isolate_key('stuck', '["k1"]');
SET ROLE regress_pk_crash;
CALL split_partition('stuck_p0');
RESET ROLE;
ALTER TABLE stuck_p0 OWNER TO regress_pk_crash;
SET ROLE regress_pk_crash;
CALL split_partition('stuck_p0');
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('stuck');
RESET ROLE;

-- a DETACH CONCURRENTLY that did not come to its end
CALL split_partition('stuck_p0');
UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = 'stuck_p0'::regclass;
\c
SET search_path = up, partitionkey;
CALL split_partition('stuck_p0');
CALL merge_partitions('stuck_p4', 'stuck_p0');
CALL merge_partitions('stuck_p4', 'stuck_p8');
INSERT INTO stuck SELECT 'x' || j, i FROM generate_series(1, 500) j, generate_series(1, 60) i WHERE hash_position('x' || j) >= '8';
SET partitionkey.physical_partition_limit = '1MB';
CALL maintain('stuck');
RESET partitionkey.physical_partition_limit;
SELECT count(*) > 2 AS divided FROM physical_partitions WHERE container = 'stuck'::regclass;
CALL maintain('stuck');
SELECT partition FROM physical_partitions WHERE container = 'stuck'::regclass;
SELECT min(k) AS key FROM stuck WHERE tableoid = 'stuck_p8'::regclass \gset
CALL isolate_key('stuck', jsonb_build_array(:'key'));
SELECT count(DISTINCT k) FROM stuck s JOIN partition_of('stuck', jsonb_build_array(:'key')) p ON p = s.tableoid;
UPDATE pg_inherits SET inhdetachpending = false WHERE inhrelid = 'stuck_p0'::regclass;
\c
SET search_path = up, partitionkey;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM verify('stuck');

SELECT count(*) FROM operation;
SELECT relname FROM pg_class WHERE relnamespace = 'up'::regnamespace AND relname ~ '_(new|old)(_|$)';
SET client_min_messages = warning;
DROP SCHEMA up CASCADE;
DROP OWNED BY regress_pk_crash, regress_pk_leaf;
DROP ROLE regress_pk_crash, regress_pk_leaf;
