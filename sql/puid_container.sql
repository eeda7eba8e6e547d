-- Tables partitioned by PUID: a family is in one partition, and found there by its range.
CREATE SCHEMA pc;
SET search_path = pc;
SET max_parallel_workers_per_gather = 0;
-- Leaves that a plan scans, and leaves that it really executes.
CREATE FUNCTION scanned(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; leaves text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		leaves := leaves || substring(line, '(?:Scan|Update|Delete).* on (?:pc\.)?(\w+_p[0-9a-f_]+)(?: |$)');
	END LOOP;
	RETURN ARRAY(SELECT DISTINCT l FROM unnest(leaves) l WHERE l IS NOT NULL ORDER BY 1);
END $$;
CREATE FUNCTION executed(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
	RETURN count(DISTINCT node ->> 'Relation Name')
		FROM jsonb_path_query(plan, '$.** ? (exists (@."Relation Name") && @."Actual Loops" > 0)') node
		WHERE node ->> 'Relation Name' ~ '_p[0-9a-f]$';
END $$;

-- 10,000 families
CREATE TABLE documents (id partitionkey.puid PRIMARY KEY DEFAULT partitionkey.puid(), owner partitionkey.puid, note text);
INSERT INTO documents (id, owner) SELECT id, id FROM (SELECT partitionkey.puid() AS id FROM generate_series(1, 10000)) heads;
SELECT partitionkey.create_container('documents', '{/id}', '{4}');
\d documents
INSERT INTO documents (id, owner) SELECT partitionkey.puid(parent => id), id FROM documents, generate_series(1, 3);
INSERT INTO documents VALUES ('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e', 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e', 'head'), ('a27202b3_0000_4000_8000_000000000000', 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e', 'child');
VACUUM ANALYZE documents;
SELECT count(*) FROM documents;
-- all of a family in one leaf, and that is the leaf of the family's text
SELECT count(*) FROM (SELECT FROM documents GROUP BY partitionkey.family(id) HAVING count(DISTINCT tableoid) > 1) torn;
SELECT count(DISTINCT tableoid) FROM documents;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('documents');
SELECT count(*) AS elsewhere FROM documents d JOIN partitionkey.physical_partitions p ON p.partition = d.tableoid
	WHERE NOT (partitionkey.hash_position(left(d.id::text, 5)) >= p.min_inclusive[1] COLLATE "C"
		AND (p.max_exclusive[1] = 'FF' OR partitionkey.hash_position(left(d.id::text, 5)) < p.max_exclusive[1] COLLATE "C"));
-- unique over the whole table
INSERT INTO documents VALUES ('A2720172_54D7_43D0_9E9A_FB9FCC4A7C4E');
INSERT INTO documents VALUES ('A2720172_54D7_43D0_9E9A_FB9FCC4A7C4E') ON CONFLICT (id) DO UPDATE SET note = 'again' RETURNING id, note;
-- by the family too
SELECT partitionkey.partition_of('documents', '["a2720"]') = tableoid::regclass AS by_family,
	partitionkey.partition_of('documents', '["A2720172_54D7_43D0_9E9A_FB9FCC4A7C4E"]') = tableoid::regclass AS by_puid
FROM documents WHERE note = 'again';
SELECT partitionkey.partition_of('documents', '["a272"]');
SELECT partitionkey.partition_of('documents', '["a272z"]');
SELECT partitionkey.partition_of('documents', '[1]');

-- one partition, and in it the range of the family in the primary key: for a constant,
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id = 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e';
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id <@ 'a2720';
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE 'a2720' @> id;
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id <@ partitionkey.family('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e');
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id <@ 'fffff' ORDER BY id;
EXPLAIN (COSTS OFF) UPDATE documents SET note = 'x' WHERE id <@ 'a2720';
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id <@ NULL;
SELECT id, note FROM documents WHERE id <@ 'a2720' ORDER BY id;
-- a parameter,
PREPARE relatives(partitionkey.puid) AS SELECT id, note FROM documents WHERE id <@ partitionkey.family($1) ORDER BY id;
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE relatives('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE relatives('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e');
EXECUTE relatives('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e');
RESET plan_cache_mode;
-- and a join
CREATE TABLE wanted (f partitionkey.puid_family);
INSERT INTO wanted VALUES ('a2720');
ANALYZE wanted;
EXPLAIN (COSTS OFF) SELECT d.* FROM wanted w JOIN documents d ON d.id <@ w.f;
SELECT d.id FROM wanted w JOIN documents d ON d.id <@ w.f ORDER BY 1;
SELECT d.id FROM wanted w JOIN documents d ON w.f @> d.id ORDER BY 1;
SELECT executed('SELECT d.* FROM wanted w JOIN documents d ON d.id <@ w.f') AS joined,
	executed('SELECT d.* FROM documents h JOIN documents d ON d.id <@ partitionkey.family(h.id) WHERE h.id = ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e''') AS relatives,
	executed('SELECT d.* FROM documents d WHERE d.id <@ (SELECT f FROM wanted)') AS sub_select;
RESET enable_bitmapscan;
-- which are pruned, by how many leaves
SELECT query, cardinality(scanned('SELECT * FROM documents WHERE ' || query)) AS leaves FROM (VALUES
	('id = ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''),
	('id <@ ''a2720'''),
	('id <@ ''a2720'' AND id = ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''),
	('id <@ ''a2720'' AND note = ''x'''),
	('id <@ ''a2720'' AND id > ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''),
	('id <@ any (''{a2720,a2720}'')'),
	('id <@ ''a2720'' OR id = ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''),
	('partitionkey.puid_in_family(id, ''a2720'')'),
	('partitionkey.family(id) = ''a2720'''),
	('id::text LIKE ''a2720%'''),
	('NOT id <@ ''a2720''')) v(query);
SELECT count(*) FROM documents WHERE NOT id <@ 'a2720';
SELECT count(*) FROM documents WHERE id <@ any ('{a2720,a2721}') AND note <> '';
-- the ends of the space
INSERT INTO documents SELECT f::uuid::partitionkey.puid FROM unnest('{00000000-0000-0000-0000-000000000000,00000fff-ffff-ffff-ffff-ffffffffffff,00001000-0000-0000-0000-000000000000,ffffefff-ffff-ffff-ffff-ffffffffffff,fffff000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]) f ON CONFLICT DO NOTHING;
SELECT count(*) FILTER (WHERE id <@ '00000') = count(*) FILTER (WHERE id::text LIKE '00000%') AS first, count(*) FILTER (WHERE id <@ 'fffff') = count(*) FILTER (WHERE id::text LIKE 'fffff%') AS last FROM documents;
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM documents WHERE id <@ '00000') = (SELECT count(*) FROM documents WHERE id::text LIKE '00000%') AS first,
	(SELECT count(*) FROM documents WHERE id <@ 'fffff') = (SELECT count(*) FROM documents WHERE id::text LIKE 'fffff%') AS last;
RESET enable_seqscan;
-- a large family is estimated as one
CREATE TABLE skewed (id partitionkey.puid PRIMARY KEY);
INSERT INTO skewed SELECT partitionkey.puid(family => 'bbbbb') FROM generate_series(1, 5000);
INSERT INTO skewed SELECT partitionkey.puid() FROM generate_series(1, 5000);
ANALYZE skewed;
CREATE FUNCTION estimated(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END $$;
SELECT estimated('SELECT FROM skewed WHERE id <@ ''bbbbb''') BETWEEN 4000 AND 6000 AS large, estimated('SELECT FROM skewed WHERE id <@ ''00001''') < 20 AS small,
	estimated('SELECT FROM skewed WHERE id <= ''80000000_0000_0000_0000_000000000000''') BETWEEN 2000 AND 3000 AS half_of_the_others;
-- also where its PUIDs are repeated, beside NULLs
CREATE TABLE owners AS SELECT CASE WHEN i <= 2000 THEN ('a2720000_0000_4000_8000_00000000000' || i % 10)::partitionkey.puid END AS owner FROM generate_series(1, 10000) i;
ANALYZE owners;
SELECT estimated('SELECT FROM owners WHERE owner <@ ''a2720''') BETWEEN 1900 AND 2100 AS repeated, estimated('SELECT FROM owners WHERE ''a2720'' @> owner') BETWEEN 1900 AND 2100 AS commuted;

-- the answers don't depend on the plan: PostgreSQL may take <@ for an equality, but a family has many PUIDs
CREATE TABLE f (f partitionkey.puid_family, n int);
INSERT INTO f SELECT partitionkey.family(id), row_number() OVER () FROM (SELECT id FROM documents ORDER BY id LIMIT 400) x;
INSERT INTO f VALUES ('a2720', 1), ('a2720', 2), (NULL, 3);
CREATE TABLE few AS SELECT id FROM documents WHERE id <@ any (ARRAY(SELECT f FROM f));
CREATE INDEX ON f USING hash (f);
CREATE INDEX ON few USING hash (id);
CREATE INDEX ON few (id);
ANALYZE f, few;
CREATE TABLE answers (query text, plain text, answer bigint);
INSERT INTO answers (query) VALUES
	('FROM f JOIN few ON few.id <@ f.f'), ('FROM f JOIN few ON f.f @> few.id'),
	('FROM f WHERE EXISTS (SELECT FROM few WHERE few.id <@ f.f)'), ('FROM f WHERE EXISTS (SELECT FROM few WHERE f.f @> few.id)'),
	('FROM few WHERE EXISTS (SELECT FROM f WHERE few.id <@ f.f)'), ('FROM few WHERE EXISTS (SELECT FROM f WHERE f.f @> few.id)'),
	('FROM f WHERE NOT EXISTS (SELECT FROM few WHERE few.id <@ f.f)'), ('FROM few WHERE NOT EXISTS (SELECT FROM f WHERE f.f @> few.id)'),
	('FROM f, LATERAL (SELECT FROM few WHERE few.id <@ f.f LIMIT 1) l'),
	('FROM f LEFT JOIN few ON few.id <@ f.f'), ('FROM few LEFT JOIN f ON f.f @> few.id'), ('FROM few FULL JOIN f ON few.id <@ f.f'),
	('FROM f LEFT JOIN (SELECT DISTINCT id FROM few) d ON d.id <@ f.f'), ('FROM f JOIN (SELECT DISTINCT id FROM few) d ON f.f @> d.id'),
	('FROM few LEFT JOIN (SELECT DISTINCT f FROM f) d ON few.id <@ d.f'),
	('FROM f LEFT JOIN (SELECT id, count(*) FROM few GROUP BY id) d ON d.id <@ f.f'),
	('FROM f WHERE EXISTS (SELECT FROM (SELECT DISTINCT id FROM few) d WHERE d.id <@ f.f)'),
	('FROM few a JOIN few b ON a.id <@ partitionkey.family(b.id)'), ('FROM few a JOIN documents b ON a.id = b.id AND b.id <@ partitionkey.family(a.id)'),
	('FROM documents d WHERE EXISTS (SELECT FROM f WHERE d.id <@ f.f)'), ('FROM f WHERE EXISTS (SELECT FROM documents d WHERE d.id <@ f.f)'),
	('FROM few a, few b, f WHERE a.id = b.id AND a.id <@ f.f AND b.id <@ f.f');
-- the same questions in text, which has no trick
UPDATE answers SET plain = regexp_replace(regexp_replace(regexp_replace(query,
	'(\w+\.id) <@ partitionkey.family\((\w+\.id)\)', 'left(\1::text, 5) = left(\2::text, 5)', 'g'),
	'(\w+\.id) <@ (\w+\.f)', 'left(\1::text, 5) = \2::text', 'g'),
	'(\w+\.f) @> (\w+\.id)', '\1::text = left(\2::text, 5)', 'g');
INSERT INTO answers VALUES
	('FROM f WHERE f @> ANY (SELECT id FROM few)', 'FROM f WHERE f::text IN (SELECT left(id::text, 5) FROM few)'),
	('FROM few WHERE id <@ ANY (SELECT f FROM f)', 'FROM few WHERE left(id::text, 5) IN (SELECT f::text FROM f)'),
	('FROM few WHERE id <@ ALL (SELECT f FROM f WHERE n < 0)', 'FROM few WHERE true'),
	('FROM few WHERE id <@ ANY (ARRAY(SELECT f FROM f))', 'FROM few WHERE left(id::text, 5) IN (SELECT f::text FROM f)'),
	-- the functions behind the operators, with what changes from row to row
	('FROM documents WHERE partitionkey.puid_in_family(id, partitionkey.family(id))', 'FROM documents'),
	('FROM documents WHERE partitionkey.puid_family_contains(partitionkey.family(id), id)', 'FROM documents'),
	('FROM documents WHERE partitionkey.puid_in_family(id, partitionkey.family(owner))', 'FROM documents WHERE left(id::text, 5) = left(owner::text, 5)'),
	('FROM f JOIN documents d ON partitionkey.puid_in_family(d.id, coalesce(f.f, partitionkey.family(d.owner)))', 'FROM f JOIN documents d ON left(d.id::text, 5) = coalesce(f.f::text, left(d.owner::text, 5))'),
	('FROM few a JOIN few b ON a.id OPERATOR(partitionkey.~=~) b.id', 'FROM few a JOIN few b ON left(a.id::text, 5) = left(b.id::text, 5)'),
	('FROM f WHERE EXISTS (SELECT FROM few a JOIN few b ON a.id OPERATOR(partitionkey.~=~) b.id WHERE f.f @> a.id)', 'FROM f WHERE f::text IN (SELECT left(id::text, 5) FROM few)');
DO $$
DECLARE a record; n bigint;
BEGIN
	FOR a IN SELECT * FROM answers LOOP
		EXECUTE 'SELECT count(*) ' || a.plain INTO n;
		UPDATE answers SET answer = n WHERE query = a.query;
	END LOOP;
END $$;
SELECT count(*) AS questions, count(*) FILTER (WHERE plain ~ '<@|@>|puid') AS not_in_text, count(*) FILTER (WHERE answer > 0) AS not_zero FROM answers;
CREATE FUNCTION wrong_answers(off text[]) RETURNS TABLE (query text, got bigint, answer bigint) LANGUAGE plpgsql AS $$
DECLARE setting text;
BEGIN
	FOREACH setting IN ARRAY off LOOP PERFORM set_config(setting, 'off', true); END LOOP;
	FOR query, answer IN SELECT a.query, a.answer FROM answers a LOOP
		EXECUTE 'SELECT count(*) ' || query INTO got;
		IF got IS DISTINCT FROM answer THEN RETURN NEXT; END IF;
	END LOOP;
	FOREACH setting IN ARRAY off LOOP PERFORM set_config(setting, 'on', true); END LOOP;
END $$;
SELECT * FROM (VALUES
	('{}'::text[]), ('{enable_hashjoin}'), ('{enable_nestloop}'), ('{enable_mergejoin}'), ('{enable_nestloop,enable_mergejoin}'), ('{enable_hashjoin,enable_mergejoin}'),
	('{enable_hashjoin,enable_nestloop}'), ('{enable_hashagg}'), ('{enable_sort}'), ('{enable_seqscan}'), ('{enable_seqscan,enable_hashjoin}'), ('{enable_memoize,enable_hashjoin}'),
	('{enable_material,enable_hashjoin}'), ('{enable_indexscan,enable_bitmapscan}')) s(off), wrong_answers(s.off);

-- partitions are joined one by one on the PUID
CREATE TABLE copies (id partitionkey.puid PRIMARY KEY);
SELECT partitionkey.create_container('copies', '{/id}', '{4}');
INSERT INTO copies SELECT id FROM documents WHERE note IS NULL;
ANALYZE copies;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM documents d JOIN copies c ON d.id = c.id;
SELECT (SELECT count(*) FROM documents d JOIN copies c ON d.id = c.id) = (SELECT count(*) FROM copies) AS same,
	(SELECT count(*) FROM documents d JOIN copies c ON d.id <@ partitionkey.family(c.id)) = (SELECT count(*) FROM documents d JOIN copies c ON left(d.id::text, 5) = left(c.id::text, 5)) AS relatives;
RESET enable_partitionwise_join;

-- row security does not keep the operators from the index
CREATE ROLE regress_pk_reader;
GRANT USAGE ON SCHEMA pc TO regress_pk_reader;
GRANT SELECT ON documents TO regress_pk_reader;
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION visible(note text) RETURNS boolean LANGUAGE plpgsql COST 1 AS 'BEGIN RETURN note IS NOT NULL; END';
CREATE POLICY noted ON documents USING (visible(note));
SET ROLE regress_pk_reader;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM documents WHERE id <@ 'a2720';
SELECT id FROM documents WHERE id <@ 'a2720' ORDER BY id;
RESET enable_bitmapscan;
RESET ROLE;
ALTER TABLE documents DISABLE ROW LEVEL SECURITY;

-- hash cosmos, a family as key, a hierarchical key
CREATE TABLE cosmos (id partitionkey.puid PRIMARY KEY) PARTITION BY HASH (id partitionkey.puid_family_cosmos_ops);
SELECT partitionkey.create_container('cosmos', '{/id}', '{4}');
CREATE TABLE by_text (family text, id text, PRIMARY KEY (family, id));
SELECT partitionkey.create_container('by_text', '{/family}', '{4}', 'cosmos');
CREATE TABLE by_family (family partitionkey.puid_family, id int, PRIMARY KEY (family, id));
SELECT partitionkey.create_container('by_family', '{/family}', '{4}', 'cosmos');
\d by_family
INSERT INTO cosmos SELECT id FROM documents;
INSERT INTO by_text SELECT left(id::text, 5), id FROM documents;
INSERT INTO by_family SELECT partitionkey.family(id), row_number() OVER () FROM documents;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('cosmos');
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('by_family');
-- the three have every family at the same place
CREATE FUNCTION items(container regclass) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(items ORDER BY partition::text) FROM partitionkey.verify(container)
$$;
SELECT items('cosmos') = items('by_text') AS as_text, items('cosmos') = items('by_family') AS as_family, cardinality(items('cosmos')) AS leaves;
-- their partitions correspond, but PostgreSQL doesn't join them one by one, as the key types differ
SET enable_partitionwise_join = on;
SELECT (SELECT count(*) FROM cosmos c JOIN by_family b ON c.id <@ b.family) = (SELECT count(*) FROM cosmos c JOIN by_family b ON left(c.id::text, 5) = b.family::text) AS same;
RESET enable_partitionwise_join;
SELECT scanned('SELECT * FROM by_family WHERE family = ''a2720'''), scanned('SELECT * FROM by_text WHERE family = ''a2720''');
SELECT partitionkey.partition_of('by_family', '["a2720"]'), partitionkey.partition_of('by_family', '["a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e"]');
SELECT scanned('SELECT * FROM by_family WHERE family @> ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e''');
CREATE TABLE deep (tenant int, id partitionkey.puid, PRIMARY KEY (tenant, id));
SELECT partitionkey.create_container('deep', '{/tenant,/id}', '{4,4}');
INSERT INTO deep SELECT 1, id FROM documents WHERE note IS NOT NULL;
SELECT scanned('SELECT * FROM deep WHERE tenant = 1 AND id <@ ''a2720''');
CREATE TABLE wrong (family partitionkey.puid_family) PARTITION BY HASH (family);
SELECT partitionkey.create_container('wrong', '{/family}');
-- a uuid column becomes one of PUIDs
CREATE TABLE accounts (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int);
INSERT INTO accounts (n) SELECT generate_series(1, 100);
ALTER TABLE accounts ALTER id DROP DEFAULT, ALTER id TYPE partitionkey.puid USING id::partitionkey.puid, ALTER id SET DEFAULT partitionkey.puid();
SELECT partitionkey.create_container('accounts', '{/id}');
INSERT INTO accounts (n) VALUES (101);
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('accounts');

-- families that intersect: a pointer row in each of both, each direction reads one partition
CREATE TABLE links (id partitionkey.puid PRIMARY KEY, owner partitionkey.puid NOT NULL, ref partitionkey.puid NOT NULL);
SELECT partitionkey.create_container('links', '{/id}');
CREATE FUNCTION link(a partitionkey.puid, b partitionkey.puid) RETURNS void LANGUAGE sql AS $$
	INSERT INTO links VALUES (partitionkey.puid(parent => a), a, b), (partitionkey.puid(parent => b), b, a)
$$;
-- two customers that share a family by chance, and three meter points
SELECT link('11111111_1111_4111_8111_111111111111', '22222222_2222_4222_8222_222222222222'),
	link('11111111_1111_4111_8111_111111111111', '33333333_3333_4333_8333_333333333333'),
	link('11111aaa_1111_4111_8111_111111111111', '33333333_3333_4333_8333_333333333333'),
	link('11111aaa_1111_4111_8111_111111111111', '44444444_4444_4444_8444_444444444444');
-- a customer's meter points
SELECT ref FROM links WHERE id <@ partitionkey.family('11111111_1111_4111_8111_111111111111') AND owner = '11111111_1111_4111_8111_111111111111' ORDER BY ref;
-- a meter point's customers
SELECT ref FROM links WHERE id <@ partitionkey.family('33333333_3333_4333_8333_333333333333') AND owner = '33333333_3333_4333_8333_333333333333' ORDER BY ref;
SELECT cardinality(scanned('SELECT ref FROM links WHERE id <@ partitionkey.family(''11111111_1111_4111_8111_111111111111'') AND owner = ''11111111_1111_4111_8111_111111111111''')) AS one,
	cardinality(scanned('SELECT ref FROM links WHERE id <@ partitionkey.family(''33333333_3333_4333_8333_333333333333'') AND owner = ''33333333_3333_4333_8333_333333333333''')) AS other;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('links');
DROP SCHEMA pc CASCADE;
DROP ROLE regress_pk_reader;
