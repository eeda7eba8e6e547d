-- What can't become a container is refused before anything changes, with the way out.
\set VERBOSITY default
CREATE SCHEMA r;
SET search_path = r, public;

-- paths
CREATE TABLE logins (tenant_id text, "UserId" text, id int, "odd/name" text, "mixed' name" text);
SELECT partitionkey.create_container('logins', '{tenant_id}');
SELECT partitionkey.create_container('logins', '{//tenant_id}');
SELECT partitionkey.create_container('logins', '{/}');
SELECT partitionkey.create_container('logins', '{""}');
SELECT partitionkey.create_container('logins', '{"/  "}');
SELECT partitionkey.create_container('logins', '{/tenant_id//}');
SELECT partitionkey.create_container('logins', '{/tenant_id/*}');
SELECT partitionkey.create_container('logins', '{/tenant_id/?}');
SELECT partitionkey.create_container('logins', '{"/tenant_id/[]"}');
SELECT partitionkey.create_container('logins', '{/a/b}');
SELECT partitionkey.create_container('logins', ARRAY['/"tenant_id']);
SELECT partitionkey.create_container('logins', ARRAY['/"tenant_id"x']);
SELECT partitionkey.create_container('logins', '{/tenant_id,/Tenant_Id/}');
SELECT partitionkey.create_container('logins', '{/tenant_id,/UserId,/id,/id}');
SELECT partitionkey.create_container('logins', '{}');
SELECT partitionkey.create_container('logins', NULL);
SELECT partitionkey.create_container('logins', '{/tenant_id,NULL}');
SELECT partitionkey.create_container('logins', '{{/tenant_id,/id}}');
SELECT partitionkey.create_container(NULL, '{/tenant_id}');
-- unknown columns: the nearest name, if one is near
SELECT partitionkey.create_container('logins', '{/TenantId}');
SELECT partitionkey.create_container('logins', '{/userid}');
SELECT partitionkey.create_container('logins', '{/something_else_altogether}');
SELECT partitionkey.create_container('logins', '{/ctid}');
SELECT partitionkey.create_container('logins', ARRAY['/' || repeat('long', 100)]);

-- partitions
SELECT partitionkey.create_container('logins', '{/id}', '{3}');
SELECT partitionkey.create_container('logins', '{/id}', '{0}');
SELECT partitionkey.create_container('logins', '{/id}', '{-4}');
SELECT partitionkey.create_container('logins', '{/id}', '{4,NULL}');
SELECT partitionkey.create_container('logins', '{/id}', '{}');
SELECT partitionkey.create_container('logins', '{/id}', '{{2,2}}');
SELECT partitionkey.create_container('logins', '{/id}', '{4,4}');
SELECT partitionkey.create_container('logins', '{/id}', '{8192}');
SELECT partitionkey.create_container('logins', '{/id,/tenant_id}', '{128,64}');
SELECT partitionkey.create_container('logins', '{/id}', '{1}', 'md5');

-- keys
INSERT INTO logins VALUES ('a', NULL, 1), (NULL, 'u', 2), (NULL, 'v', 3);
SELECT partitionkey.create_container('logins', '{/tenant_id}');
CREATE TABLE keys (c char(10), j json, a int[], e bytea, g int GENERATED ALWAYS AS (1) STORED, m money, id int);
SELECT partitionkey.create_container('keys', '{/c}');
SELECT partitionkey.create_container('keys', '{/j}');
SELECT partitionkey.create_container('keys', '{/a}');
SELECT partitionkey.create_container('keys', '{/e}');
SELECT partitionkey.create_container('keys', '{/m}');
SELECT partitionkey.create_container('keys', '{/g}');
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE collated (k text COLLATE nocase, v varchar(5) COLLATE nocase);
SELECT partitionkey.create_container('collated', '{/k}');
SELECT partitionkey.create_container('collated', '{/v}');
-- by hand, too
CREATE TABLE collated_root (k text COLLATE nocase) PARTITION BY HASH (k partitionkey.text_xxhash_ops);
SELECT partitionkey.create_container('collated_root', '{/k}');
CREATE TABLE collated_leaf PARTITION OF collated_root FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO collated_root VALUES ('a');

-- unique constraints: each answered with the statement that mends it
CREATE TABLE uniques (tenant text, "User" text, id int,
	CONSTRAINT uniques_pkey PRIMARY KEY (id), CONSTRAINT "u (odd)" UNIQUE NULLS NOT DISTINCT (tenant, "User") INCLUDE (id) DEFERRABLE);
CREATE UNIQUE INDEX uniques_lower ON uniques (lower(tenant), "User") WHERE id > 0;
SELECT partitionkey.create_container('uniques', '{/tenant,/User}');
ALTER TABLE r.uniques DROP CONSTRAINT uniques_pkey, ADD CONSTRAINT uniques_pkey PRIMARY KEY (tenant, "User", id);
SELECT partitionkey.create_container('uniques', '{/tenant,/User,/id}', '{2}');
ALTER TABLE r.uniques DROP CONSTRAINT "u (odd)", ADD CONSTRAINT "u (odd)" UNIQUE NULLS NOT DISTINCT (tenant, "User", id) INCLUDE (id) DEFERRABLE;
SELECT partitionkey.create_container('uniques', '{/tenant,/User,/id}', '{2}');
DROP INDEX r.uniques_lower; CREATE UNIQUE INDEX uniques_lower ON r.uniques USING btree (tenant, id, lower(tenant), "User") WHERE (id > 0);
SELECT partitionkey.create_container('uniques', '{/tenant,/User,/id}', '{2}');

-- what depends on the table
CREATE TABLE target (k int PRIMARY KEY, parent int, v text);
CREATE TABLE referer (id int, k int CONSTRAINT referer_k REFERENCES target);
SELECT partitionkey.create_container('target', '{/k}');
DROP TABLE referer;
ALTER TABLE target ADD CONSTRAINT target_parent FOREIGN KEY (parent) REFERENCES target;
SELECT partitionkey.create_container('target', '{/k}');
ALTER TABLE target DROP CONSTRAINT target_parent;
CREATE VIEW seen AS SELECT k FROM target;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM target;
CREATE FUNCTION whole(t target) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM target; END;
CREATE TABLE holder (t target);
SELECT partitionkey.create_container('target', '{/k}');
DROP VIEW seen; DROP MATERIALIZED VIEW kept; DROP FUNCTION whole, atomic; DROP TABLE holder;
SET client_min_messages = error; -- it warns of wal_level
CREATE PUBLICATION pub FOR TABLE target;
RESET client_min_messages;
SELECT partitionkey.create_container('target', '{/k}');
DROP PUBLICATION pub;
CREATE RULE quiet AS ON DELETE TO target DO INSTEAD NOTHING;
SELECT partitionkey.create_container('target', '{/k}');
DROP RULE quiet ON target;
CREATE TABLE child () INHERITS (target);
SELECT partitionkey.create_container('child', '{/k}');
SELECT partitionkey.create_container('target', '{/k}');
DROP TABLE child;
CREATE TYPE shape AS (k int, v text);
CREATE TABLE typed OF shape;
SELECT partitionkey.create_container('typed', '{/k}');
CREATE TABLE other (id int PRIMARY KEY);
ALTER TABLE target ADD CONSTRAINT unchecked FOREIGN KEY (parent) REFERENCES other NOT VALID;
SELECT partitionkey.create_container('target', '{/k}');
ALTER TABLE target DROP CONSTRAINT unchecked;
ALTER TABLE target ADD CONSTRAINT alone CHECK (k > 0) NO INHERIT;
SELECT partitionkey.create_container('target', '{/k}');
ALTER TABLE target DROP CONSTRAINT alone;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER moved AFTER INSERT ON target REFERENCING NEW TABLE AS fresh FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT partitionkey.create_container('target', '{/k}');
DROP TRIGGER moved ON target;

-- what is no table of one's own
CREATE VIEW a_view AS SELECT 1 AS k;
SELECT partitionkey.create_container('a_view', '{/k}');
SELECT partitionkey.create_container('pg_class', '{/oid}');
CREATE TEMP TABLE passing (k int);
SELECT partitionkey.create_container('passing', '{/k}');
CREATE TABLE parted (k int) PARTITION BY LIST (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
SELECT partitionkey.create_container('parted_1', '{/k}');
SELECT partitionkey.create_container('parted', '{/k}');
SELECT partitionkey.create_container('partitionkey.registry', '{/hash}');
SELECT partitionkey.create_container(4294967295::regclass, '{/hash}');
-- in use by the same session
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM target;
FETCH c;
SELECT partitionkey.create_container('target', '{/k}');
ROLLBACK;

-- nothing has changed, and without its obstacles the table can be made one
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'r'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1;
SELECT count(*) FROM partitionkey.containers;
SELECT partitionkey.create_container('target', '{/k}', '{1}');
SELECT partitionkey.create_container('target', '{/k}', '{1}');

-- no longer than warned of
CREATE TABLE many (k int);
SELECT partitionkey.create_container('many', '{/k}', '{512}');
SET client_min_messages = error;
DROP SCHEMA r CASCADE;
