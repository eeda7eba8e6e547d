-- Whoever calls create_container, the functions that a table's owner wrote run with the owner's rights,
-- and leave nothing behind in the session.
CREATE ROLE regress_pk_mal;
CREATE SCHEMA m AUTHORIZATION regress_pk_mal;
SET ROLE regress_pk_mal;
CREATE FUNCTION m.seen() RETURNS void LANGUAGE plpgsql AS
	$$BEGIN IF current_user <> 'regress_pk_mal' THEN RAISE EXCEPTION 'running as %', current_user; END IF; END$$;
CREATE FUNCTION m.evil(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM m.seen(); RETURN $1; END$$;
CREATE FUNCTION m.truth(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM m.seen();
	PERFORM set_config('search_path', 'm, pg_catalog', false), set_config('row_security', 'off', false); RETURN true; END$$;
CREATE DOMAIN m.dom AS text CHECK (m.truth(VALUE));
CREATE TYPE m.c AS (x int);
CREATE FUNCTION m.c2i(m.c) RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM m.seen(); RETURN ($1).x; END$$;
CREATE CAST (m.c AS int) WITH FUNCTION m.c2i(m.c) AS IMPLICIT;
CREATE TABLE m.pk (i int PRIMARY KEY);
INSERT INTO m.pk VALUES (1);
CREATE TABLE m.checked (k text, CHECK (m.evil(1) = 1), CHECK (m.truth(k)));
CREATE TABLE m.indexed (k text, v int);
CREATE INDEX ON m.indexed (k) WHERE m.evil(1) = 1;
CREATE INDEX ON m.indexed ((m.evil(1) + v));
CREATE STATISTICS m.st ON (m.evil(v)), k FROM m.indexed;
CREATE TABLE m.referring (k text NOT NULL, c m.c REFERENCES m.pk (i));
CREATE TABLE m.generated (k m.dom, g int GENERATED ALWAYS AS (m.evil(7)) STORED);
CREATE TABLE m.late (k text, v int);
CREATE TABLE m.root (k text NOT NULL, v int, CHECK (m.evil(2) = 2)) PARTITION BY HASH (k partitionkey.text_xxhash_ops);
CREATE INDEX ON m.root ((m.evil(1) + v));
INSERT INTO m.checked VALUES ('a'); INSERT INTO m.indexed VALUES ('a', 1); INSERT INTO m.referring VALUES ('a', ROW(1));
INSERT INTO m.generated VALUES ('a'); INSERT INTO m.late VALUES ('a', 1);
ALTER TABLE m.late ADD CHECK (m.evil(v) = v) NOT VALID;
ALTER TABLE m.late ENABLE ROW LEVEL SECURITY;
ALTER TABLE m.late FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON m.late USING (m.evil(1) = 2);
RESET ROLE;
RESET search_path;
RESET row_security;
SELECT partitionkey.create_container(relid, '{/k}', '{2}')
	FROM unnest('{m.checked,m.indexed,m.referring,m.generated,m.late,m.root}'::regclass[]) relid;
SELECT current_user, current_setting('search_path') AS search_path, current_setting('row_security') AS row_security;
SELECT c.container, v.items, v.misplaced FROM partitionkey.containers c,
	LATERAL (SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify(c.container)) v ORDER BY c.container::text;
SELECT partitionkey.partition_of('m.generated', '["a"]') IS NOT NULL AS asked;
SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'm'::regnamespace;
-- rows that row security hides from the owner are counted, too
CREATE TABLE m.hidden (k text, v int);
INSERT INTO m.hidden VALUES (NULL, 1);
ALTER TABLE m.hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, OWNER TO regress_pk_mal;
SELECT partitionkey.create_container('m.hidden', '{/k}');
SELECT relforcerowsecurity FROM pg_class WHERE oid = 'm.hidden'::regclass;
-- a container that has got another owner is dropped by him, with the leaves of the old one
CREATE ROLE regress_pk_heir;
ALTER TABLE m.late OWNER TO regress_pk_heir;
GRANT USAGE ON SCHEMA m TO regress_pk_heir;
SET ROLE regress_pk_heir;
CALL partitionkey.drop_container('m.late');
SELECT count(*) FROM pg_class WHERE relname LIKE 'late%';
CALL partitionkey.drop_container('m.root');
RESET ROLE;

-- definitions mean the same, whatever the session's settings
CREATE TABLE meant (k text, at timestamptz CHECK (at >= '2020-01-01 00:00+00'), f float8 CHECK (f > '1.0000000000000002'), i interval CHECK (i > '-1 day -02:03:04'));
CREATE INDEX meant_at ON meant (k) WHERE at > '2020-01-01 00:00+00';
CREATE POLICY pp ON meant USING (at < '2020-01-01 00:00+00');
SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET extra_float_digits = 1;
CREATE FUNCTION meaning() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'meant'::regclass
	UNION ALL SELECT regexp_replace(pg_get_indexdef('meant_at'::regclass), ' ON ONLY ', ' ON ')
	UNION ALL SELECT pg_get_expr(polqual, polrelid) FROM pg_policy WHERE polrelid = 'meant'::regclass $$;
CREATE TABLE before AS SELECT * FROM meaning() AS m;
SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'; SET extra_float_digits = 0;
SET standard_conforming_strings = off; SET quote_all_identifiers = on;
SELECT partitionkey.create_container('meant', '{/k}');
RESET standard_conforming_strings; RESET quote_all_identifiers;
SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET extra_float_digits = 1;
SELECT count(*) FROM before;
TABLE before EXCEPT SELECT * FROM meaning();
RESET TimeZone; RESET DateStyle; RESET IntervalStyle; RESET extra_float_digits;

-- what is made anew stays in its tablespace
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_pk_space LOCATION '';
CREATE TABLE here (k text PRIMARY KEY); CREATE TABLE there (k text PRIMARY KEY USING INDEX TABLESPACE pg_default) TABLESPACE regress_pk_space;
SET default_tablespace = regress_pk_space;
SELECT partitionkey.create_container('here', '{/k}', '{2}'), partitionkey.create_container('there', '{/k}', '{2}');
RESET default_tablespace;
SELECT relkind, (SELECT spcname FROM pg_tablespace t WHERE t.oid = c.reltablespace), array_agg(relname ORDER BY relname)
	FROM pg_class c WHERE relname ~ '^t?here' GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE here, there, meant, before;
DROP FUNCTION meaning;
DROP TABLESPACE regress_pk_space;

-- a transaction that reads by an old snapshot would lose what has been committed since
CREATE TABLE old (k text);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT partitionkey.create_container('old', '{/k}');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT partitionkey.create_container('old', '{/k}');
ROLLBACK;
-- published wholesale
SET client_min_messages = error;
CREATE PUBLICATION regress_pk_all FOR ALL TABLES;
CREATE PUBLICATION regress_pk_schema FOR TABLES IN SCHEMA public;
RESET client_min_messages;
SELECT partitionkey.create_container('old', '{/k}');
DROP PUBLICATION regress_pk_all;
SELECT partitionkey.create_container('old', '{/k}');
DROP PUBLICATION regress_pk_schema;
-- names that are kept for containers
ALTER TABLE old ADD CONSTRAINT partitionkey_valid_key CHECK (k <> 'x');
SELECT partitionkey.create_container('old', '{/k}');
DROP TABLE old;

-- a container below another table: its columns are looked after all the same
CREATE TABLE big (k text NOT NULL, r int NOT NULL, later int NOT NULL) PARTITION BY LIST (r);
CREATE TABLE part (k text NOT NULL, r int NOT NULL, later int NOT NULL);
INSERT INTO part VALUES ('a', 1, 1);
SELECT partitionkey.create_container('part', '{/k,/later}', '{2}');
ALTER TABLE big ATTACH PARTITION part FOR VALUES IN (1);
ALTER TABLE big RENAME k TO kk;
ALTER TABLE big ALTER later DROP NOT NULL;
SELECT columns FROM partitionkey.containers WHERE container = 'part'::regclass;
SELECT partitionkey.partition_of('part', '["a"]') = tableoid::regclass AS found FROM part;
-- a level not divided yet may become text: its values are guarded
ALTER TABLE big ALTER later TYPE text USING later::text;
INSERT INTO big VALUES ('b', 1, repeat('x', 3000));
CREATE TYPE shape AS (kk text, r int, later text);
ALTER TABLE big DETACH PARTITION part;
ALTER TABLE part OF shape;
-- renamed while nobody looked
SET session_replication_role = replica;
ALTER TABLE part RENAME kk TO lost;
RESET session_replication_role;
SELECT partitionkey.partition_of('part', '["a"]');
DROP TABLE big, part;
DROP TYPE shape;

-- a tree that leaves something out is no container
CREATE TABLE quarter (k text) PARTITION BY HASH (k partitionkey.text_xxhash_ops);
CREATE TABLE quarter_0 PARTITION OF quarter FOR VALUES WITH (MODULUS 4, REMAINDER 0);
SELECT partitionkey.create_container('quarter', '{/k}');
CREATE TABLE other_collation (k text) PARTITION BY HASH (k COLLATE "C" partitionkey.text_xxhash_ops);
SELECT partitionkey.create_container('other_collation', '{/k}');
DROP TABLE quarter, other_collation;

-- nor one whose partitions only seem to cover it
CREATE TABLE seeming (a int) PARTITION BY HASH (a partitionkey.int4_xxhash_ops);
CREATE TABLE seeming_0 PARTITION OF seeming FOR VALUES WITH (MODULUS 4, REMAINDER 0) PARTITION BY HASH (a partitionkey.int4_xxhash_ops);
CREATE TABLE seeming_00 PARTITION OF seeming_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE seeming_01 PARTITION OF seeming_0 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE seeming_1 PARTITION OF seeming FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE seeming_2 PARTITION OF seeming FOR VALUES WITH (MODULUS 4, REMAINDER 2);
SELECT partitionkey.create_container('seeming', '{/a}');
DROP TABLE seeming_00, seeming_01, seeming_1, seeming_2;
SELECT partitionkey.create_container('seeming', '{/a}');
DROP TABLE seeming;
CREATE TYPE shape AS (a int);
CREATE TABLE typed OF shape PARTITION BY HASH (a partitionkey.int4_xxhash_ops);
SELECT partitionkey.create_container('typed', '{/a}');
DROP TABLE typed;
DROP TYPE shape;
-- a copy of a leaf brings a check on other columns along
CREATE TABLE origin (k text, b bool, n int);
SELECT partitionkey.create_container('origin', '{/k,/b}', '{2,2}');
CREATE TABLE copied (LIKE origin_p0_0 INCLUDING ALL);
ALTER TABLE copied DROP CONSTRAINT IF EXISTS partitionkey_values_of_2, ADD z text;
SELECT partitionkey.create_container('copied', '{/z}', '{2}');
DROP TABLE origin, copied;
-- ALTER VIEW renames columns of tables, too
CREATE TABLE av (a int, b int);
SELECT partitionkey.create_container('av', '{/a,/b}', '{2}');
ALTER VIEW av RENAME COLUMN b TO bb;
SELECT columns FROM partitionkey.containers WHERE container = 'av'::regclass;
-- a container inside another is forgotten with it, and not dropped by itself
CREATE TABLE inner_one (a int, bb int);
SELECT partitionkey.create_container('inner_one', '{/bb}', '{2}');
ALTER TABLE av DETACH PARTITION av_p0;
ALTER TABLE inner_one ALTER a SET NOT NULL;
ALTER TABLE av ATTACH PARTITION inner_one FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CALL partitionkey.drop_container('inner_one');
CALL partitionkey.drop_container('av');
SELECT container FROM partitionkey.registry WHERE container NOT IN (SELECT oid FROM pg_class);
DROP TABLE av_p0;
-- expressions of partition keys, which the relation cache would run with the rights of whoever looks
SET ROLE regress_pk_mal;
CREATE TABLE m.expression (k text) PARTITION BY HASH ((k || m.evil(1)));
CREATE TABLE m.walked (k text);
SELECT partitionkey.create_container('m.walked', '{/k}', '{2}');
DROP TABLE m.walked_p8;
CREATE TABLE m.walked_p8 PARTITION OF m.walked FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH ((k || m.evil(5)));
CREATE TABLE m.walked_p8x PARTITION OF m.walked_p8 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
RESET ROLE;
\c
SELECT partitionkey.create_container('m.expression', '{/k}');
SELECT container, physical_partitions FROM partitionkey.containers WHERE container = 'm.walked'::regclass;
SELECT partition, min_inclusive FROM partitionkey.physical_partitions WHERE container = 'm.walked'::regclass;
SELECT count(*) FROM partitionkey.partition_of('m.walked', '["a"]');
SELECT count(*) FROM partitionkey.verify('m.walked');

-- long names with comments; an identity's type; a key's typmod
CREATE SCHEMA schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa;
CREATE TABLE schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa.table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb
	(k numeric(4,1), i smallint GENERATED ALWAYS AS IDENTITY, CONSTRAINT c CHECK (k > 0));
COMMENT ON COLUMN schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa.table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb.k IS 'a key';
COMMENT ON CONSTRAINT c ON schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa.table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb IS 'a check';
SET search_path = schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa;
INSERT INTO table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb SELECT i + 0.25 FROM generate_series(1, 50) i;
SELECT partitionkey.create_container('table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb', '{/k}');
SELECT description FROM pg_description WHERE objoid IN ('table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb'::regclass,
	(SELECT oid FROM pg_constraint WHERE conrelid = 'table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb'::regclass AND conname = 'c')) ORDER BY 1;
SELECT data_type, max_value, last_value FROM pg_sequences WHERE schemaname = 'schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa';
SELECT count(*) FILTER (WHERE t.tableoid = p) AS right FROM generate_series(1, 50) n
	JOIN table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb t ON t.k = (n + 0.25)::numeric(4,1),
	partitionkey.partition_of('table_of_forty_bytes_bbbbbbbbbbbbbbbbbbbbb', jsonb_build_array(n + 0.25)) p;
RESET search_path;

-- a schema partitionkey of somebody else's is not taken
SET client_min_messages = warning;
DROP SCHEMA m, schema_of_forty_bytes_aaaaaaaaaaaaaaaaaaaa CASCADE;
SELECT container FROM partitionkey.registry;
DROP EXTENSION partitionkey;
DROP SCHEMA partitionkey;
CREATE SCHEMA partitionkey AUTHORIZATION regress_pk_mal;
\set VERBOSITY terse
CREATE EXTENSION partitionkey;
\set VERBOSITY default
DROP SCHEMA partitionkey;
CREATE EXTENSION partitionkey;
DROP OWNED BY regress_pk_mal, regress_pk_heir;
DROP ROLE regress_pk_mal, regress_pk_heir;
