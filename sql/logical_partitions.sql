-- logical_partitions: items, bytes, shares and leaves of keys, against plain SQL.
CREATE SCHEMA lp;
SET search_path = lp, partitionkey;
SET timezone = 'UTC';

-- known shares: half for one tenant, a quarter for the next, the rest for ten; some rows with much text
CREATE TABLE logins (junk int, tenant text, usr text NOT NULL, id int, note text, doubled int GENERATED ALWAYS AS (id * 2) STORED, flag boolean);
ALTER TABLE logins DROP COLUMN junk;
ALTER TABLE logins ALTER note SET STORAGE EXTERNAL;
INSERT INTO logins (tenant, usr, id, note, flag)
SELECT CASE WHEN i % 2 = 0 THEN 'half' WHEN i % 4 = 1 THEN 'quarter' ELSE 't' || i % 10 END, 'u' || i % 40, i,
	CASE WHEN i % 1000 = 0 THEN repeat('x', 20000) WHEN i % 3 > 0 THEN repeat('y', i % 7) END, CASE WHEN i % 5 > 0 THEN i % 2 = 0 END
FROM generate_series(1, 4000) i;
SELECT create_container('logins', '{/tenant,/usr}', '{4,2}');

-- the same by hand: what is stored of each column, and 28 bytes for the row itself
CREATE VIEW by_hand AS
	SELECT tenant, usr, tableoid AS leaf, 28 + coalesce(pg_column_size(tenant), 0) + coalesce(pg_column_size(usr), 0) + coalesce(pg_column_size(id), 0)
		+ coalesce(pg_column_size(note), 0) + coalesce(pg_column_size(doubled), 0) + coalesce(pg_column_size(flag), 0) AS size FROM logins;
CREATE VIEW full_keys AS
	SELECT jsonb_build_array(tenant, usr) AS key, count(*) AS items, sum(size)::bigint AS bytes, count(*) / 4000.0::float8 AS share, array_agg(DISTINCT leaf::regclass) AS partitions
	FROM by_hand GROUP BY tenant, usr;
CREATE VIEW tenants AS
	SELECT jsonb_build_array(tenant) AS key, count(*) AS items, sum(size)::bigint AS bytes, count(*) / 4000.0::float8 AS share, array_agg(DISTINCT leaf::regclass) AS partitions
	FROM by_hand GROUP BY tenant;
SELECT count(*), sum(items), sum(bytes) > 80000 AS with_toast, round(sum(share)::numeric, 9) AS share FROM logical_partitions('logins');
SELECT * FROM logical_partitions('logins') EXCEPT SELECT * FROM full_keys;
SELECT * FROM full_keys EXCEPT SELECT * FROM logical_partitions('logins');
-- leaves of a prefix in the order of the hash space
SELECT key, items, share, cardinality(partitions) AS leaves FROM logical_partitions('logins', levels => 1) LIMIT 2;
SELECT count(*), sum(items), count(*) FILTER (WHERE partitions <> ARRAY(SELECT p FROM partition_of('logins', key) p WHERE p = ANY (partitions))) AS disorders,
	count(*) FILTER (WHERE NOT partitions <@ ARRAY(SELECT partition_of('logins', key))) AS elsewhere FROM logical_partitions('logins', 1);
SELECT key, items, bytes, share, (SELECT array_agg(p ORDER BY p::oid) FROM unnest(partitions) p) FROM logical_partitions('logins', 1)
EXCEPT SELECT key, items, bytes, share, (SELECT array_agg(p ORDER BY p::oid) FROM unnest(partitions) p) FROM tenants;
SELECT count(*) FROM logical_partitions('logins', levels => 2);
-- largest first
SELECT count(*) AS disorders FROM (SELECT items, lag(items) OVER (ORDER BY n) AS before FROM (SELECT items, row_number() OVER () AS n FROM logical_partitions('logins')) x) y WHERE before < items;
-- a sample of all blocks is exact; one of half of them is near
SELECT * FROM logical_partitions('logins', sample => 100) EXCEPT SELECT * FROM full_keys;
CREATE TABLE wide (k int, note text);
INSERT INTO wide SELECT i % 4, repeat('z', 200) FROM generate_series(1, 40000) i;
SELECT create_container('wide', '{/k}', '{2}');
-- a quarter of the rows lies in about 330 blocks, so the error to expect is 0.06; six times that would be a wonder
SELECT key, abs(items - 10000) < 4000 AS items, abs(bytes / items::float8 - 236) < 1 AS bytes, abs(share - 0.25) < 0.1 AS share
FROM logical_partitions('wide', sample => 50) ORDER BY key;
SELECT count(*) FROM logical_partitions('wide', sample => 20);

-- what is not right
SELECT * FROM logical_partitions('logins', 3);
SELECT * FROM logical_partitions('logins', 0);
SELECT * FROM logical_partitions('logins', sample => 0);
SELECT * FROM logical_partitions('logins', sample => 101);
SELECT * FROM logical_partitions('logins', sample => 'NaN');
SELECT * FROM logical_partitions('by_hand');
SELECT * FROM logical_partitions('logins_p0_0');
CREATE VIEW seen AS SELECT * FROM logins;
SELECT * FROM logical_partitions('seen');
DROP VIEW seen;
SELECT * FROM logical_partitions(NULL);
SELECT * FROM logical_partitions(0);

-- empty
CREATE TABLE empty (tenant text, usr text);
SELECT create_container('empty', '{/tenant,/usr}');
SELECT * FROM logical_partitions('empty');
SELECT * FROM logical_partitions('empty', 1);

-- keys as they are given back: to partition_of and to isolate_key
CREATE DOMAIN short AS text;
CREATE TABLE typed (name text, type text, vals text);
INSERT INTO typed VALUES ('t_text', 'text', $${"a","","A \"b\" \\ e","null"}$$), ('t_varchar', 'varchar(10)', '{a,b}'), ('t_domain', 'short', '{a,b}'), ('t_name', 'name', '{a,b}'),
	('t_uuid', 'uuid', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,00000000-0000-0000-0000-000000000000}'),
	('t_int2', 'int2', '{1,-1,32767}'), ('t_int4', 'int4', '{0,7}'), ('t_int8', 'int8', '{9223372036854775807,9007199254740993}'),
	('t_numeric', 'numeric', '{1.50,NaN,Infinity,-Infinity,1e30,0.1}'), ('t_float4', 'float4', '{0.1,NaN,-Infinity}'), ('t_float8', 'float8', '{0.1,-0,1e-20,NaN,Infinity}'),
	('t_bool', 'bool', '{t,f}'), ('t_date', 'date', '{2025-01-28,0044-03-15 BC,infinity}'), ('t_timestamp', 'timestamp', '{2025-01-28 12:30:00.25,-infinity}'),
	('t_timestamptz', 'timestamptz', '{2025-01-28 12:30:00.25+02,2025-07-01 00:00+00}'), ('t_jsonb', 'jsonb', $${"null","{}","true","1.5","\"a\"","\"\""}$$),
	('t_puid', 'puid', '{a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e,b0001172_54d7_43d0_9e9a_fb9fcc4a7c4e}'), ('t_family', 'puid_family', '{a2720,b0001}');
SELECT format('CREATE TABLE %I (k %s, n int, PRIMARY KEY (k, n))', name, type) FROM typed \gexec
SELECT format('INSERT INTO %I SELECT v, i FROM unnest(%L::%s[]) v, generate_series(1, 5) i', name, vals, regexp_replace(type, '\(.*', '')) FROM typed \gexec
SELECT count(*) FROM typed, create_container(name::regclass, '{/k}', '{2}');
SET timezone = 'Asia/Tokyo';
SELECT name, key, items, partitions = ARRAY(SELECT partition_of(name::regclass, key)) AS found FROM typed, logical_partitions(name::regclass) ORDER BY name, key;
SET timezone = 'UTC';
SELECT format('CALL isolate_key(%L, %L)', name, (SELECT key FROM logical_partitions(name::regclass) ORDER BY key DESC LIMIT 1)) FROM typed \gexec
SELECT name, key, m.items AS alone FROM typed, LATERAL (SELECT key FROM logical_partitions(name::regclass) ORDER BY key DESC LIMIT 1) k,
	partition_of(name::regclass, key) p JOIN LATERAL partition_map(name::regclass) m ON m.partition = p ORDER BY name;
-- strings for numbers that JSON has no digits for, and no others
SELECT partition_of('t_float8', '["nan"]');
SELECT partition_of('t_int4', '["NaN"]');
-- members of a family are one logical partition
INSERT INTO t_puid VALUES ('a2720999_54d7_43d0_9e9a_fb9fcc4a7c4e', 1);
SELECT key, items FROM logical_partitions('t_puid');
SET partitionkey.logical_partition_limit = '1MB';
INSERT INTO t_puid SELECT overlay('a2720999_54d7_43d0_9e9a_fb9fcc4a7c4e' PLACING lpad(to_hex(i), 5, '0') FROM 30)::puid, i FROM generate_series(1, 20000) i;
SELECT key, bytes > 0.8 * 1048576 AS large FROM large_keys('t_puid');
RESET partitionkey.logical_partition_limit;

-- names that need quoting
CREATE SCHEMA "a b";
CREATE TABLE "a b"."Tab""le 'x'" ("k 1" text, "K'2" text);
INSERT INTO "a b"."Tab""le 'x'" VALUES ('it''s', '"'), ('it''s', '\');
SELECT create_container('"a b"."Tab""le ''x''"', '{/k 1,"/\"K''2\""}', '{2}');
SELECT key, items FROM logical_partitions('"a b"."Tab""le ''x''"');
SELECT key, items FROM logical_partitions('"a b"."Tab""le ''x''"', 1);

-- SELECT on the container is all it needs; row security hides rows
CREATE ROLE lp_reader;
CREATE ROLE lp_other;
GRANT USAGE ON SCHEMA lp TO lp_reader, lp_other;
GRANT SELECT ON logins TO lp_reader;
SET ROLE lp_reader;
SELECT count(*), sum(items) FROM logical_partitions('logins');
SELECT sum(items) FROM partition_map('logins');
SELECT kind, key, round(share::numeric, 2) AS share FROM hot_partitions('logins', 0.4) WHERE kind = 'key';
SELECT diagram('logins') ~ '>half</text>' AS drawn;
SET ROLE lp_other;
SELECT * FROM logical_partitions('logins');
SELECT * FROM partition_map('logins');
SELECT * FROM hot_partitions('logins');
SELECT diagram('logins');
RESET ROLE;
ALTER TABLE logins ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON logins TO lp_reader USING (tenant = 'quarter');
SET ROLE lp_reader;
SELECT key, items, share FROM logical_partitions('logins', 1);
SELECT sum(items) FROM partition_map('logins');
SELECT diagram('logins') ~ 'half' AS shows_others;
SELECT kind, key FROM hot_partitions('logins') WHERE kind = 'key' AND key ->> 0 <> 'quarter';
RESET ROLE;
ALTER TABLE logins DISABLE ROW LEVEL SECURITY;

-- nothing is locked but for reading, and reading is all it does
BEGIN READ ONLY;
SELECT count(*) FROM logical_partitions('logins');
SELECT count(*) FROM hot_partitions('logins', 0.4) WHERE kind = 'key';
SELECT count(*) FROM partition_map('logins');
SELECT length(diagram('logins')) > 1000;
SELECT DISTINCT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN ('relation', 'tuple', 'object');
COMMIT;
-- the caller's settings are as they were
SELECT current_setting('search_path'), current_setting('enable_partitionwise_aggregate');

DROP OWNED BY lp_reader, lp_other;
DROP ROLE lp_reader, lp_other;
SET client_min_messages = warning;
DROP SCHEMA lp, "a b" CASCADE;
