-- Types puid and puid_family: text, order, casts, making them.
CREATE SCHEMA u;
-- operators, min and max need no search_path
SET search_path = u;
\set p '''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''

-- input and output
SELECT :p::partitionkey.puid, upper(:p)::partitionkey.puid AS upper_case, octet_length(partitionkey.puid_send(:p)) AS bytes;
SELECT 'a2720'::partitionkey.puid_family, 'A272F'::partitionkey.puid_family AS upper_case, '00000'::partitionkey.puid_family AS zero, 'fffff'::partitionkey.puid_family AS last;
SELECT partitionkey.puid_in('a2720172_54d7_13d0_7e9a_fb9fcc4a7c4e') AS any_version;
-- malformed, with the position of the fault
SELECT 'a2720172-54d7-43d0-9e9a-fb9fcc4a7c4e'::partitionkey.puid;
SELECT '{a2720172-54d7-43d0-9e9a-fb9fcc4a7c4e}'::partitionkey.puid;
SELECT 'a272017254d743d09e9afb9fcc4a7c4e'::partitionkey.puid;
SELECT 'a2720172_54d7_43d_9e9a_fb9fcc4a7c4e'::partitionkey.puid;
SELECT 'a272017_54d7_43d0_9e9a_fb9fcc4a7c4e'::partitionkey.puid;
SELECT 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4'::partitionkey.puid;
SELECT 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e0'::partitionkey.puid;
SELECT 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4g'::partitionkey.puid;
SELECT 'a272017電_54d7_43d0_9e9a_fb9fcc4a7c4e'::partitionkey.puid;
SELECT ' a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'::partitionkey.puid;
SELECT 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e '::partitionkey.puid;
SELECT ''::partitionkey.puid;
SELECT 'a2720'::partitionkey.puid;
SELECT ''::partitionkey.puid_family;
SELECT 'a272'::partitionkey.puid_family;
SELECT 'a27201'::partitionkey.puid_family;
SELECT 'a272g'::partitionkey.puid_family;
SELECT '-a272'::partitionkey.puid_family;
SELECT :p::partitionkey.puid_family;
-- binary input
CREATE TABLE b (id partitionkey.puid, f partitionkey.puid_family);
INSERT INTO b VALUES (:p, 'a2720'), ('00000000_0000_0000_0000_000000000000', '00000'), ('ffffffff_ffff_ffff_ffff_ffffffffffff', 'fffff'), (NULL, NULL);
\getenv builddir PG_ABS_BUILDDIR
\set file :builddir '/results/puid.bin'
COPY b TO :'file' (FORMAT binary);
CREATE TABLE c (LIKE b);
COPY c FROM :'file' (FORMAT binary);
SELECT * FROM c ORDER BY id;
-- a number that is no family, and 15 bytes that are no PUID
CREATE TABLE d (id bytea, f int);
INSERT INTO d VALUES ('\x000102030405060708090a0b0c0d0e0f', 1048576);
COPY d TO :'file' (FORMAT binary);
COPY c FROM :'file' (FORMAT binary);
UPDATE d SET id = '\x000102030405060708090a0b0c0d0e', f = 0;
COPY d TO :'file' (FORMAT binary);
COPY c FROM :'file' (FORMAT binary);

-- casts are explicit
SELECT :p::partitionkey.puid::uuid, 'a2720172-54d7-43d0-9e9a-fb9fcc4a7c4e'::uuid::partitionkey.puid, :p::partitionkey.puid::text::partitionkey.puid;
SELECT 'a2720'::partitionkey.puid_family::text::partitionkey.puid_family;
SELECT :p::partitionkey.puid = 'a2720172-54d7-43d0-9e9a-fb9fcc4a7c4e'::uuid;
SELECT :p::partitionkey.puid = :p::text;
SELECT 'a2720'::text = 'a2720'::partitionkey.puid_family;
INSERT INTO c SELECT 'a2720172-54d7-43d0-9e9a-fb9fcc4a7c4e'::uuid;
SELECT :p::partitionkey.puid::partitionkey.puid_family;
-- a domain over it
CREATE DOMAIN contract_id AS partitionkey.puid CHECK (VALUE <@ 'a2720');
SELECT :p::contract_id, partitionkey.family(:p::contract_id), :p::contract_id = :p;
SELECT 'b2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'::contract_id;

-- the order is that of the text, byte by byte
CREATE TABLE o (id partitionkey.puid, f partitionkey.puid_family);
INSERT INTO o SELECT p, partitionkey.family(p) FROM (SELECT md5(i::text)::uuid::partitionkey.puid AS p FROM generate_series(1, 2000) i) s;
SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY id::text COLLATE "C") AS puids,
	array_agg(f ORDER BY f) = array_agg(f ORDER BY f::text COLLATE "C") AS families,
	min(id)::text = min(id::text COLLATE "C") AS min, max(id)::text = max(id::text COLLATE "C") AS max,
	min(f)::text = min(f::text COLLATE "C") AS min_family, max(f)::text = max(f::text COLLATE "C") AS max_family FROM o;
SELECT count(*) AS pairs, count(*) FILTER (WHERE
	(a.id < b.id) <> (a.id::text COLLATE "C" < b.id::text COLLATE "C") OR (a.id <= b.id) <> (a.id::text COLLATE "C" <= b.id::text COLLATE "C") OR
	(a.id > b.id) <> (a.id::text COLLATE "C" > b.id::text COLLATE "C") OR (a.id >= b.id) <> (a.id::text COLLATE "C" >= b.id::text COLLATE "C") OR
	(a.id = b.id) <> (a.id::text = b.id::text) OR (a.id <> b.id) <> (a.id::text <> b.id::text) OR
	(a.f < b.f) <> (a.f::text COLLATE "C" < b.f::text COLLATE "C") OR (a.f <= b.f) <> (a.f::text COLLATE "C" <= b.f::text COLLATE "C") OR
	(a.f > b.f) <> (a.f::text COLLATE "C" > b.f::text COLLATE "C") OR (a.f >= b.f) <> (a.f::text COLLATE "C" >= b.f::text COLLATE "C") OR
	(a.f = b.f) <> (a.f::text = b.f::text) OR (a.f <> b.f) <> (a.f::text <> b.f::text) OR
	(a.id <@ b.f) <> (left(a.id::text, 5) = b.f::text) OR (b.f @> a.id) <> (left(a.id::text, 5) = b.f::text)) AS wrong
FROM (SELECT * FROM o ORDER BY id LIMIT 100) a, (SELECT * FROM o ORDER BY id LIMIT 100) b;
SELECT min(id), max(id) FROM o WHERE false;
-- btree and hash, in memory and in indexes
CREATE UNIQUE INDEX ON o (id);
CREATE INDEX ON o USING hash (id);
CREATE INDEX ON o (f);
CREATE INDEX ON o USING hash (f);
ANALYZE o;
CREATE FUNCTION index_scans(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; scans text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP scans := scans || substring(line, 'Index.*Scan.*'); END LOOP;
	RETURN array_remove(scans, NULL);
END $$;
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT index_scans('SELECT min(id), max(id) FROM o');
EXPLAIN (COSTS OFF) SELECT id FROM o ORDER BY id LIMIT 1;
RESET enable_seqscan; RESET enable_bitmapscan;
SELECT count(*) FROM o a JOIN o b USING (id);
SELECT count(*) FROM o a JOIN o b USING (f);
SET enable_hashjoin = off;
SELECT count(*) FROM o a JOIN o b USING (id);
SET enable_mergejoin = off;
SELECT count(*) FROM o a JOIN o b USING (id);
RESET enable_hashjoin; RESET enable_mergejoin;
SELECT count(DISTINCT id), count(DISTINCT f) = count(DISTINCT left(id::text, 5)) AS families FROM o;
SELECT count(*) FROM o WHERE id IN (SELECT id FROM o WHERE f > '80000') AND f <= '80000';

-- making them: version and variant are those of a version 4 UUID, and the family is the parent's
CREATE TABLE made AS SELECT partitionkey.puid() AS head FROM generate_series(1, 20000);
ALTER TABLE made ADD child partitionkey.puid, ADD member partitionkey.puid;
UPDATE made SET child = partitionkey.puid(head), member = partitionkey.puid(partitionkey.family(head));
SELECT count(*) FILTER (WHERE head::text !~ '^[0-9a-f]{8}_[0-9a-f]{4}_4[0-9a-f]{3}_[89ab][0-9a-f]{3}_[0-9a-f]{12}$') AS heads,
	count(*) FILTER (WHERE child::text !~ '^[0-9a-f]{8}_[0-9a-f]{4}_4[0-9a-f]{3}_[89ab][0-9a-f]{3}_[0-9a-f]{12}$') AS children,
	count(*) FILTER (WHERE left(child::text, 5) <> left(head::text, 5) OR left(member::text, 5) <> left(head::text, 5)) AS strangers,
	count(*) FILTER (WHERE child = head OR member = head OR member = child) AS twins,
	count(DISTINCT head) + count(DISTINCT child) + count(DISTINCT member) AS distinct_ids
FROM made;
-- every digit that is random takes all values about equally often: chi-squared with 15 degrees of freedom is
-- above 65 once in 10,000,000 cases; the digits of version and variant are left out
SELECT place, chi FROM (
	SELECT place, count(DISTINCT digit) AS digits, sum((n - 1250) ^ 2 / 1250) AS chi FROM (
		SELECT place, substr(head::text, place, 1) AS digit, count(*) AS n FROM made, generate_series(1, 36) place
		WHERE place NOT IN (9, 14, 15, 19, 20, 24) GROUP BY 1, 2) s
	GROUP BY 1) t WHERE digits <> 16 OR chi > 65;
SELECT place, chi FROM (
	SELECT place, count(DISTINCT digit) AS digits, sum((n - 1250) ^ 2 / 1250) AS chi FROM (
		SELECT place, substr(child::text, place, 1) AS digit, count(*) AS n FROM made, generate_series(6, 36) place
		WHERE place NOT IN (9, 14, 15, 19, 20, 24) GROUP BY 1, 2) s
	GROUP BY 1) t WHERE digits <> 16 OR chi > 65;
-- by name, a literal is a parent; without it, puid('...') is PostgreSQL's way to write a value of the type
SELECT partitionkey.puid(parent => :p) <> :p AS another, partitionkey.puid(parent => :p) <@ 'a2720' AS relative,
	partitionkey.puid(family => 'a2720') <@ 'a2720' AS member, partitionkey.puid(:p) = :p AS value;
SELECT partitionkey.puid('a2720');
SELECT partitionkey.puid(parent => NULL), partitionkey.puid(family => NULL);
SELECT partitionkey.family(:p), partitionkey.family_min('a2720'), partitionkey.family_max('a2720'), partitionkey.family_min('00000'), partitionkey.family_max('fffff');
-- each row gets one of its own, as a default too
SELECT provolatile, proparallel, count(*) FROM pg_proc WHERE pronamespace = 'partitionkey'::regnamespace AND proname = 'puid' GROUP BY 1, 2;
CREATE TABLE documents (id partitionkey.puid PRIMARY KEY DEFAULT partitionkey.puid(), n int);
INSERT INTO documents (n) SELECT generate_series(1, 1000);
INSERT INTO documents VALUES (:p, 0);
INSERT INTO documents VALUES (upper(:p)::partitionkey.puid, 0);
SELECT count(*), count(DISTINCT partitionkey.family(id)) > 900 AS families FROM documents;
DROP SCHEMA u CASCADE;
