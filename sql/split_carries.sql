-- What a partition has, its successors have too: splits, merges and isolated keys,
-- compared by the catalogs.
SET client_min_messages = warning;
SET partitionkey.retry_pause = 20;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_pk_disk LOCATION '';
CREATE ROLE regress_pk_owner;
CREATE ROLE regress_pk_member IN ROLE regress_pk_owner;
CREATE ROLE regress_pk_reader;
CREATE ROLE regress_pk_stranger;
GRANT CREATE ON TABLESPACE regress_pk_disk TO regress_pk_owner;
CREATE SCHEMA carry AUTHORIZATION regress_pk_owner;
GRANT USAGE ON SCHEMA carry TO PUBLIC;
SET search_path = carry;

-- Everything that belongs to a partition, a line for each thing. Its own name, and
-- names made from it, read "*"; an index that belongs to one of the container, and
-- the constraint of such an index, go by the name of that.
CREATE FUNCTION parent_index(index oid) RETURNS text LANGUAGE sql AS
	$$SELECT coalesce((SELECT relname FROM pg_class WHERE oid = nullif(pg_partition_root(index), index)), 'own')$$;
CREATE FUNCTION belongings(leaf regclass) RETURNS TABLE (kind text, name text, value text) LANGUAGE sql AS $$
	SELECT 'table', key, v FROM pg_class c LEFT JOIN pg_class toast ON toast.oid = c.reltoastrelid, LATERAL (VALUES
			('owner', c.relowner::regrole::text),
			('acl', (SELECT array_agg(a::text ORDER BY a::text) FROM unnest(c.relacl) a)::text),
			('schema', c.relnamespace::regnamespace::text),
			('access method', (SELECT amname FROM pg_am WHERE oid = c.relam)::text),
			('tablespace', (SELECT spcname FROM pg_tablespace WHERE oid = c.reltablespace)::text),
			('options', (SELECT array_agg(o ORDER BY o) FROM unnest(c.reloptions) o)::text),
			('toast options', (SELECT array_agg(o ORDER BY o) FROM unnest(toast.reloptions) o)::text),
			('toast tablespace', (SELECT spcname FROM pg_tablespace WHERE oid = toast.reltablespace)::text),
			('persistence', c.relpersistence::text),
			('replica identity', c.relreplident::text),
			('row security', c.relrowsecurity || ' ' || c.relforcerowsecurity),
			('comment', obj_description(c.oid, 'pg_class'))) t(key, v)
		WHERE c.oid = leaf
	UNION ALL
	SELECT 'column', attname, jsonb_strip_nulls(jsonb_build_object(
			'type', format_type(atttypid, atttypmod), 'collation', attcollation::regcollation, 'not null', attnotnull,
			'identity', attidentity, 'generated', attgenerated, 'default', pg_get_expr(adbin, adrelid),
			'storage', attstorage, 'compression', attcompression, 'options', (SELECT array_agg(o ORDER BY o) FROM unnest(attoptions) o WHERE starts_with(o, 'n_distinct')),
			'target', nullif(attstattarget, -1), 'acl', attacl::text, 'local', attislocal, 'parents', attinhcount,
			'comment', col_description(leaf, attnum)))::text
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		WHERE attrelid = leaf AND attnum > 0 AND NOT attisdropped
	UNION ALL
	SELECT 'constraint', CASE WHEN conindid <> 0 AND contype IN ('p', 'u', 'x') THEN parent_index(conindid) ELSE conname END,
		jsonb_strip_nulls(jsonb_build_object(
			'def', pg_get_constraintdef(c.oid), 'validated', convalidated, 'no inherit', connoinherit, 'deferrable', condeferrable, 'deferred', condeferred,
			'enforced', to_jsonb(c) -> 'conenforced', 'columns', (SELECT array_agg(attname ORDER BY n) FROM unnest(conkey) WITH ORDINALITY k(attnum, n) JOIN pg_attribute a USING (attnum) WHERE attrelid = leaf),
			'local', conislocal, 'parents', coninhcount, 'parent', (SELECT conname FROM pg_constraint WHERE oid = c.conparentid AND c.contype = 'f'),
			'triggers', (SELECT count(*) FROM pg_trigger WHERE tgconstraint = c.oid AND tgrelid = leaf),
			'comment', obj_description(c.oid, 'pg_constraint')))::text
		FROM pg_constraint c
		-- The container's own checks of a partition tell its range.
		WHERE conrelid = leaf AND conname !~ '^partitionkey_(?!valid_key)'
	UNION ALL
	SELECT 'index', parent_index(i.indexrelid), jsonb_strip_nulls(jsonb_build_object(
			'def', regexp_replace(replace(pg_get_indexdef(i.indexrelid), quote_ident(c.relname), '*'), ' ON ([^ .]+\.)?[^ ]+ ', ' ON * '),
			'options', c.reloptions, 'tablespace', (SELECT spcname FROM pg_tablespace WHERE oid = c.reltablespace), 'owner', c.relowner::regrole,
			'identity', indisreplident, 'clustered', indisclustered, 'valid', indisvalid, 'immediate', indimmediate,
			'targets', (SELECT jsonb_object_agg(attnum, attstattarget) FROM pg_attribute WHERE attrelid = c.oid AND attstattarget >= 0),
			'comment', obj_description(c.oid, 'pg_class')))::text
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE indrelid = leaf
	UNION ALL
	SELECT 'policy', polname, jsonb_build_object('cmd', polcmd, 'permissive', polpermissive, 'roles', polroles::regrole[]::text,
			'using', pg_get_expr(polqual, polrelid), 'check', pg_get_expr(polwithcheck, polrelid), 'comment', obj_description(oid, 'pg_policy'))::text
		FROM pg_policy WHERE polrelid = leaf
	UNION ALL
	SELECT 'trigger', tgname, jsonb_build_object('def', regexp_replace(pg_get_triggerdef(oid), ' ON ([^ .]+\.)?[^ ]+ ', ' ON * '),
			'enabled', tgenabled, 'inherited', tgparentid <> 0, 'comment', obj_description(oid, 'pg_trigger'))::text
		FROM pg_trigger WHERE tgrelid = leaf AND NOT tgisinternal
	UNION ALL
	SELECT 'rule', rulename, jsonb_build_object('def', regexp_replace(pg_get_ruledef(oid), ' ON ([A-Z]+) TO ([^ .]+\.)?[^ ]+ ', ' ON \1 TO * '), 'enabled', ev_enabled)::text
		FROM pg_rewrite WHERE ev_class = leaf
	UNION ALL
	SELECT 'statistics', 'own', jsonb_build_object('def', regexp_replace(pg_get_statisticsobjdef(oid), '^(CREATE STATISTICS) [^ ]+ (.*) FROM .*', '\1 \2'),
			'owner', stxowner::regrole, 'target', nullif(stxstattarget, -1), 'comment', obj_description(oid, 'pg_statistic_ext'))::text
		FROM pg_statistic_ext WHERE stxrelid = leaf
	UNION ALL
	SELECT 'published', p.pubname, NULL FROM pg_publication_rel r JOIN pg_publication p ON p.oid = prpubid WHERE prrelid = leaf
$$;
CREATE TABLE noted (kind text, name text, value text);
CREATE PROCEDURE note(leaf regclass) LANGUAGE sql AS
	$$DELETE FROM noted; INSERT INTO noted SELECT * FROM belongings(leaf)$$;
-- What partitions lack of what was noted ("-"), and what they have beyond that ("+").
CREATE FUNCTION differences(VARIADIC leaves regclass[]) RETURNS TABLE (leaf regclass, d text, kind text, name text, value text) LANGUAGE sql AS $$
	SELECT l, d.* FROM unnest(leaves) l, LATERAL (
		SELECT '-', m.* FROM (TABLE noted EXCEPT ALL SELECT * FROM belongings(l)) m
		UNION ALL SELECT '+', p.* FROM (SELECT * FROM belongings(l) EXCEPT ALL TABLE noted) p) d
	ORDER BY l::text, 3, 4, 2 DESC $$;
-- How much there is in the catalogs.
CREATE FUNCTION amounts() RETURNS TABLE (catalog text, n bigint) LANGUAGE sql AS $$
	SELECT 'relations ' || relkind::text, count(*) FROM pg_class WHERE relnamespace = 'carry'::regnamespace AND relname <> 'amounts_before' GROUP BY relkind
	UNION ALL SELECT 'types', count(*) FROM pg_type WHERE typnamespace = 'carry'::regnamespace AND typname !~ 'amounts_before'
	UNION ALL SELECT 'constraints ' || contype::text, count(*) FROM pg_constraint WHERE connamespace = 'carry'::regnamespace GROUP BY contype
	UNION ALL SELECT 'triggers', count(*) FROM pg_trigger
	UNION ALL SELECT 'policies', count(*) FROM pg_policy
	UNION ALL SELECT 'rules', count(*) FROM pg_rewrite
	UNION ALL SELECT 'statistics', count(*) FROM pg_statistic_ext
	UNION ALL SELECT 'comments', count(*) FROM pg_description d WHERE objoid >= 16384
	UNION ALL SELECT 'publications', count(*) FROM pg_publication_rel
	UNION ALL SELECT 'defaults', count(*) FROM pg_attrdef
	UNION ALL SELECT 'operations', count(*) FROM partitionkey.operation $$;
-- Names that tell of the making of a partition, not of the partition.
CREATE VIEW odd_names AS SELECT n FROM (
		SELECT relname FROM pg_class WHERE relnamespace = 'carry'::regnamespace
		UNION SELECT conname FROM pg_constraint WHERE connamespace = 'carry'::regnamespace
		UNION SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
		UNION SELECT stxname FROM pg_statistic_ext) o(n)
	WHERE n ~ '_(new|old)(_|\d|$)' OR n IN ('partitionkey_bound', '!partitionkey_dual_write');
CREATE FUNCTION tree(container regclass) RETURNS TABLE (partition text, level int, leaf bool, bound text) LANGUAGE sql AS
	$$SELECT relid::text, t.level, isleaf, pg_get_expr(relpartbound, relid) FROM pg_partition_tree(container) t JOIN pg_class c ON c.oid = relid ORDER BY relid::text COLLATE "C"$$;
GRANT SELECT ON ALL TABLES IN SCHEMA carry TO PUBLIC;

-- a container with everything
SET ROLE regress_pk_owner;
CREATE DOMAIN grade AS int DEFAULT 3 CHECK (VALUE < 100);
CREATE TABLE other (id int PRIMARY KEY, UNIQUE (id) INCLUDE (id));
INSERT INTO other SELECT generate_series(1, 10);
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO fires VALUES (TG_NAME, TG_OP); RETURN NULL; END$$;
CREATE TABLE fires (name text, op text);
CREATE TABLE c (
	gone int,
	tenant text NOT NULL,
	usr text COLLATE "C" NOT NULL,
	id int NOT NULL,
	gone_too text DEFAULT 'x',
	g grade,
	doc text COMPRESSION pglz,
	ref int REFERENCES other ON DELETE SET NULL ON UPDATE CASCADE DEFERRABLE,
	twice int GENERATED ALWAYS AS (id * 2) STORED,
	num int GENERATED BY DEFAULT AS IDENTITY,
	at timestamptz DEFAULT '2020-01-01 00:00+00',
	price numeric(10,2) DEFAULT 1.5,
	words text[] DEFAULT '{}',
	CONSTRAINT positive CHECK (id > 0),
	CONSTRAINT c_key PRIMARY KEY (tenant, usr, id) INCLUDE (g) WITH (fillfactor = 71),
	CONSTRAINT once UNIQUE NULLS NOT DISTINCT (tenant, usr, id, g) USING INDEX TABLESPACE regress_pk_disk
) WITH (fillfactor = 72, autovacuum_vacuum_scale_factor = 0.07, toast.autovacuum_enabled = off) TABLESPACE regress_pk_disk;
CREATE INDEX part ON c (id DESC NULLS LAST, doc text_pattern_ops) WHERE price > 1 AND at > '2019-01-01 00:00+00';
CREATE INDEX expr ON c (lower(doc), (id % 7));
ALTER INDEX expr ALTER COLUMN 1 SET STATISTICS 33;
CREATE UNIQUE INDEX ident ON c (tenant, usr, id, num);
CREATE INDEX words ON c USING gin (words) WITH (fastupdate = off);
ALTER TABLE c DROP gone, DROP gone_too, ALTER doc SET STORAGE EXTERNAL;
INSERT INTO c (tenant, usr, id, doc, ref, num) SELECT 't' || i % 40, 'u' || i % 7, i, repeat('d', i), i % 10 + 1, i FROM generate_series(1, 400) i;
SELECT partitionkey.create_container('c', '{/tenant,/usr}', '{2}');
ALTER TABLE c ALTER doc SET STATISTICS 44, ALTER usr SET (n_distinct = -0.3);
ALTER TABLE c ADD CONSTRAINT later CHECK (id < 1000) NOT VALID;
ALTER TABLE c ADD COLUMN added int DEFAULT 5;
COMMENT ON COLUMN c.doc IS 'of the container';
CREATE TRIGGER fire AFTER INSERT OR UPDATE OR DELETE ON c FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER fire_too AFTER INSERT ON c FOR EACH ROW WHEN (new.id > 5) EXECUTE FUNCTION fired();
CREATE TRIGGER fire_always AFTER DELETE ON c FOR EACH ROW EXECUTE FUNCTION fired();
CREATE STATISTICS of_c (dependencies) ON tenant, usr FROM c;
-- and with what partitions alone can have
DO $$
DECLARE l text;
BEGIN
	FOREACH l IN ARRAY '{c_p0,c_p8}'::text[] LOOP
		EXECUTE replace($c$
			GRANT SELECT, INSERT (id, doc) ON % TO regress_pk_reader;
			GRANT UPDATE (doc) ON % TO regress_pk_reader WITH GRANT OPTION;
			GRANT DELETE ON % TO PUBLIC;
			REVOKE TRUNCATE ON % FROM regress_pk_owner;
			ALTER TABLE % REPLICA IDENTITY USING INDEX %_tenant_usr_id_num_idx;
			ALTER TABLE % CLUSTER ON %_lower_expr_idx;
			ALTER TABLE % SET (fillfactor = 73, autovacuum_enabled = off, toast.autovacuum_vacuum_threshold = 99);
			ALTER TABLE % ALTER doc SET STORAGE MAIN, ALTER doc SET STATISTICS 45, ALTER price SET DEFAULT 2.5, ALTER id SET (n_distinct = -0.5);
			ALTER TABLE % ADD CONSTRAINT alone CHECK (id <> 77777) NO INHERIT, ADD CONSTRAINT late CHECK (id <> 88888) NOT VALID;
			ALTER TABLE % ADD CONSTRAINT refers FOREIGN KEY (added) REFERENCES other (id) MATCH FULL ON DELETE CASCADE NOT VALID;
			CREATE INDEX own_% ON % (price) INCLUDE (at) WITH (fillfactor = 55) TABLESPACE regress_pk_disk WHERE id > 3;
			CREATE INDEX own_expr_% ON % ((id + 1));
			ALTER INDEX own_expr_% ALTER COLUMN 1 SET STATISTICS 66;
			ALTER TABLE % ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
			CREATE POLICY mine ON % AS PERMISSIVE FOR ALL TO regress_pk_owner, regress_pk_reader USING (true) WITH CHECK (id > 0);
			CREATE POLICY less ON % AS RESTRICTIVE FOR SELECT USING (id < 5000);
			ALTER TABLE % DISABLE TRIGGER fire_too;
			ALTER TABLE % ENABLE ALWAYS TRIGGER fire_always;
			CREATE TRIGGER leafs BEFORE UPDATE OF doc, id ON % FOR EACH ROW WHEN (old.doc = ' ON ') EXECUTE FUNCTION fired('a', ' ON carry.c_p0 ');
			ALTER TABLE % ENABLE REPLICA TRIGGER leafs;
			CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON % DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fired();
			ALTER TABLE % DISABLE TRIGGER deferred;
			CREATE TRIGGER whole AFTER INSERT ON % REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION fired();
			CREATE RULE also AS ON DELETE TO % WHERE old.id = 99999 DO ALSO NOTHING;
			CREATE STATISTICS of_% (ndistinct, mcv) ON tenant, id, (id / 3) FROM %;
			ALTER STATISTICS of_% SET STATISTICS 77;
			COMMENT ON TABLE % IS 'a partition''s';
			COMMENT ON COLUMN %.id IS 'a column''s';
			COMMENT ON CONSTRAINT positive ON % IS 'a check''s';
			COMMENT ON CONSTRAINT c_ref_fkey ON % IS 'a foreign key''s';
			COMMENT ON CONSTRAINT %_pkey ON % IS 'a primary key''s';
			COMMENT ON INDEX own_% IS 'an index''s';
			COMMENT ON INDEX %_id_doc_idx IS 'a container''s index''s';
			COMMENT ON TRIGGER leafs ON % IS 'a trigger''s';
			COMMENT ON TRIGGER fire ON % IS 'an inherited trigger''s';
			COMMENT ON POLICY mine ON % IS 'a policy''s';
			COMMENT ON STATISTICS of_% IS 'statistics''';
		$c$, '%', l);
	END LOOP;
END$$;
RESET ROLE;
SET client_min_messages = error; -- where wal_level is lower
CREATE PUBLICATION regress_pk_pub FOR TABLE c WHERE (id > 0) WITH (publish_via_partition_root);
SET client_min_messages = warning;
CREATE TABLE amounts_before AS SELECT * FROM amounts();
-- (PostgreSQL 18 has a constraint for each NOT NULL too)
SELECT kind, count(*) FROM belongings('c_p0') WHERE value NOT LIKE '%"def": "NOT NULL %' GROUP BY kind ORDER BY kind;
CALL note('c_p0');
SELECT count(*) FROM differences('c_p8');
-- Rows that a constraint which isn't validated doesn't allow stay, too.
SET session_replication_role = replica;
INSERT INTO c (tenant, usr, id, num, added) SELECT 't' || i, 'u', 1, 1000 + i, 5 FROM generate_series(100, 120) i;
RESET session_replication_role;
SELECT count(*), sum(id), sum(hashtext(c::text)) AS checksum FROM c \gset before_
TRUNCATE fires;

-- the first split of a partition of the root, by its own path
SET ROLE regress_pk_owner;
CALL partitionkey.split_partition('c_p0', '/tenant');
RESET ROLE;
SELECT * FROM tree('c');
SELECT * FROM differences('c_p0', 'c_p4');
SELECT * FROM odd_names ORDER BY n COLLATE "C";
-- again, in its own node
SET ROLE regress_pk_member;
CALL partitionkey.split_partition('c_p4', '/tenant');
RESET ROLE;
SELECT * FROM differences('c_p4', 'c_p6');
-- by the next path
CALL partitionkey.split_partition('c_p8', '/usr');
SELECT * FROM tree('c');
SELECT * FROM differences('c_p0', 'c_p4', 'c_p6', 'c_p8_0', 'c_p8_8');
-- and in that node
CALL partitionkey.split_partition('c_p8_8', '/usr');
SELECT * FROM tree('c');
SELECT * FROM differences(VARIADIC ARRAY(SELECT partition::regclass FROM tree('c') WHERE leaf));
SELECT * FROM odd_names ORDER BY n COLLATE "C";
SELECT count(*) AS leaves, sum(items), sum(misplaced) FROM partitionkey.verify('c');
SELECT count(*) = :before_count AND sum(id) = :before_sum AND sum(hashtext(c::text)) = :before_checksum AS same FROM c;
-- no trigger of the table's has taken the copies for changes
SELECT * FROM fires;

-- together again
CALL partitionkey.merge_partitions('c_p8_8', 'c_p8_c');
CALL partitionkey.merge_partitions('c_p8_0', 'c_p8_8');
CALL partitionkey.merge_partitions('c_p6', 'c_p4');
SELECT * FROM tree('c');
SELECT * FROM differences('c_p0', 'c_p4', 'c_p8');
CALL partitionkey.merge_partitions('c_p0', 'c_p4');
SELECT * FROM tree('c');
SELECT * FROM differences('c_p0', 'c_p8');
SELECT * FROM odd_names ORDER BY n COLLATE "C";
-- nothing is left behind
(TABLE amounts_before EXCEPT SELECT * FROM amounts()) UNION ALL (SELECT * FROM amounts() EXCEPT TABLE amounts_before);
SELECT count(*) AS leaves, sum(items), sum(misplaced) FROM partitionkey.verify('c');
SELECT count(*) = :before_count AND sum(id) = :before_sum AND sum(hashtext(c::text)) = :before_checksum AS same FROM c;
-- a key of its own
CALL partitionkey.isolate_key('c', '["t1"]');
SELECT * FROM differences(VARIADIC ARRAY(SELECT partition::regclass FROM tree('c') WHERE leaf));
SELECT count(DISTINCT tenant) AS tenants FROM c WHERE tableoid = (SELECT partitionkey.partition_of('c', '["t1", "u1"]'));
SELECT bool_and(published = '{c}') AS published FROM (SELECT array_agg(tablename) AS published FROM pg_publication_tables WHERE pubname = 'regress_pk_pub') p;
SELECT count(*) FROM fires;
SELECT * FROM odd_names ORDER BY n COLLATE "C";

-- changes of the container afterwards reach every partition, and those only
CALL partitionkey.split_partition('c_p8', '/tenant');
CREATE FUNCTION reached(pattern text) RETURNS TABLE (leaves bigint, "with" bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM belongings(partition::regclass) b WHERE b.name || ' ' || coalesce(b.value, '') ~ pattern)) FROM tree('c') WHERE leaf $$;
ALTER TABLE c ADD COLUMN newest int NOT NULL DEFAULT 9;
SELECT leaves = "with" AS every FROM reached('newest');
ALTER TABLE c RENAME newest TO newer;
SELECT leaves = "with" AS every FROM reached('newer');
ALTER TABLE c ALTER newer TYPE bigint, ALTER newer DROP NOT NULL;
SELECT leaves = "with" AS every FROM reached('newer.*bigint');
CREATE INDEX brand_new ON c (newer);
SELECT leaves = "with" AS every FROM reached('brand_new');
ALTER INDEX expr RENAME TO expression;
DROP INDEX words, brand_new, ident;
SELECT "with" FROM reached('USING gin|brand_new|^ident|identity": true');
ALTER TABLE c ADD CONSTRAINT small CHECK (newer < 10), DROP CONSTRAINT positive, DROP CONSTRAINT once, DROP CONSTRAINT c_ref_fkey;
SELECT leaves = "with" AS every FROM reached('small');
SELECT "with" FROM reached('^(positive|once|c_ref_fkey) ');
ALTER TABLE c VALIDATE CONSTRAINT later;
SELECT leaves = "with" AS every FROM reached('later.*validated": true');
ALTER TABLE c DROP CONSTRAINT later, ADD FOREIGN KEY (g) REFERENCES other, DROP COLUMN doc CASCADE;
SELECT leaves = "with" AS every FROM reached('c_g_fkey');
SELECT "with" FROM reached('^(later|doc) ');
DROP TRIGGER fire ON c;
SELECT "with" FROM reached('^fire ');
ALTER TABLE c ALTER newer DROP DEFAULT, ALTER newer SET DEFAULT 8, DISABLE TRIGGER ALL;
ALTER TABLE c RENAME TO d;
ALTER TABLE d DROP CONSTRAINT c_key CASCADE;
SELECT count(*) FROM pg_index WHERE indisprimary AND indrelid IN (SELECT relid FROM pg_partition_tree('d'));
SELECT count(*) > 4 AS leaves, sum(items), sum(misplaced) FROM partitionkey.verify('d');
DROP TABLE d;
SELECT count(*) FROM pg_class WHERE relnamespace = 'carry'::regnamespace AND relname ~ '^(c|d)_';
TABLE partitionkey.operations;

-- Rows that a policy hides from the owner, and such as a constraint that isn't
-- validated would refuse, belong to the table all the same.
SET ROLE regress_pk_owner;
CREATE TABLE hidden (k text, id int, PRIMARY KEY (k, id));
INSERT INTO hidden SELECT 'k' || i % 20, i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('hidden', '{/k}', '{1}');
ALTER TABLE hidden_p0 ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY even ON hidden_p0 USING (id % 2 = 0) WITH CHECK (id % 4 = 0);
CALL partitionkey.split_partition('hidden_p0');
CREATE TABLE wrong (k text, id int, PRIMARY KEY (k, id));
INSERT INTO wrong SELECT 'k' || i % 20, i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('wrong', '{/k}', '{1}');
ALTER TABLE wrong ADD CONSTRAINT few CHECK (id < 50) NOT VALID;
CALL partitionkey.split_partition('wrong_p0');
-- constraints that are deferred
CREATE TABLE deferred (k text, id int REFERENCES other DEFERRABLE INITIALLY DEFERRED, u int, PRIMARY KEY (k, id));
INSERT INTO deferred SELECT 'k' || i, i % 10 + 1, i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('deferred', '{/k}', '{1}');
CALL partitionkey.split_partition('deferred_p0');
CREATE TABLE deferrable_unique (k text, id int, u int, PRIMARY KEY (k, id), UNIQUE (k, u) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO deferrable_unique SELECT 'k' || i, i, i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('deferrable_unique', '{/k}', '{1}');
CALL partitionkey.split_partition('deferrable_unique_p0');
RESET ROLE;
SELECT name, (SELECT count(*) FROM tree(name::regclass) WHERE leaf) AS leaves, (SELECT sum(items) FROM partitionkey.verify(name::regclass)) AS items
	FROM unnest('{hidden,wrong,deferred,deferrable_unique}'::text[]) name;
SELECT c.conname, every(convalidated = (conname <> 'few')) AS kept FROM pg_constraint c WHERE conrelid IN (SELECT partition::regclass FROM tree('wrong') WHERE leaf) AND contype = 'c' AND conname = 'few' GROUP BY 1;
DROP TABLE hidden, wrong, deferred, deferrable_unique;

-- columns that the leaves have in another order, and dropped ones in between
CREATE TABLE mixed (a int, k text NOT NULL, b int, id int NOT NULL, c int) PARTITION BY HASH (k partitionkey.text_xxhash_ops);
ALTER TABLE mixed DROP a;
CREATE TABLE mixed_1 (c int, x int, y int, id int NOT NULL, b int, k text NOT NULL);
ALTER TABLE mixed_1 DROP x, DROP y;
ALTER TABLE mixed ATTACH PARTITION mixed_1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
ALTER TABLE mixed ADD PRIMARY KEY (k, id);
INSERT INTO mixed SELECT 'k' || i % 30, i, i, i FROM generate_series(1, 90) i;
UPDATE mixed SET b = -id, c = 2 * id;
SELECT partitionkey.create_container('mixed', '{/k,/id}');
CALL note('mixed_1');
CALL partitionkey.split_partition('mixed_1', '/k');
SELECT * FROM tree('mixed');
CALL partitionkey.split_partition('mixed_p8', '/id');
SELECT * FROM differences(VARIADIC ARRAY(SELECT partition::regclass FROM tree('mixed') WHERE leaf));
SELECT count(*), bool_and(b = -id AND c = 2 * id AND k = 'k' || id % 30) AS right FROM mixed;
SELECT sum(items), sum(misplaced) FROM partitionkey.verify('mixed');
DROP TABLE mixed;

-- names that need quotes, or have no room for more
CREATE SCHEMA "Odd ON ""schema"" % \";
CREATE TABLE "Odd ON ""schema"" % \"."t ON ""Odd"".% \" ("k, CONSTRAINT c" bool NOT NULL, "It's %s \" int NOT NULL, "$1" text DEFAULT '%s \''', PRIMARY KEY ("It's %s \", "k, CONSTRAINT c"));
INSERT INTO "Odd ON ""schema"" % \"."t ON ""Odd"".% \" SELECT i % 2 = 0, i FROM generate_series(1, 64) i;
SELECT partitionkey.create_container('"Odd ON ""schema"" % \"."t ON ""Odd"".% \"', '{"/It''s %s \\","/k, CONSTRAINT c"}', '{1}');
CREATE TRIGGER " ON carry.""% ON " AFTER INSERT ON "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" FOR EACH ROW WHEN (new."$1" = ' ON "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" ') EXECUTE FUNCTION fired(' ON % \');
ALTER TABLE "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" ADD CONSTRAINT "c, CONSTRAINT %s ""c""" CHECK ("$1" <> '%d \'' ON ');
CREATE POLICY "p % ON ""x"" " ON "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" USING ("$1" <> '%d \''');
COMMENT ON TABLE "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" IS '%s \ '' "';
CREATE TEMP TABLE odd AS SELECT b.* FROM pg_partition_tree('"Odd ON ""schema"" % \"."t ON ""Odd"".% \"') t, belongings(relid) b WHERE isleaf AND kind NOT IN ('index', 'trigger')
	AND name <> 'partitionkey_valid_key'; -- not needed where both levels are divided
SET quote_all_identifiers = on;
SET escape_string_warning = off;
SET standard_conforming_strings = off;
SELECT format('CALL partitionkey.split_partition(%L, %L)', relid, '/It''s %s \\') FROM pg_partition_tree('"Odd ON ""schema"" % \\"."t ON ""Odd"".% \\"') WHERE isleaf \gexec
SELECT format('CALL partitionkey.split_partition(%L, %L)', relid, '/k, CONSTRAINT c') FROM pg_partition_tree('"Odd ON ""schema"" % \\"."t ON ""Odd"".% \\"') WHERE isleaf \gexec
RESET quote_all_identifiers;
RESET standard_conforming_strings;
SELECT count(DISTINCT (tableoid, "k, CONSTRAINT c")) = count(DISTINCT tableoid) AS apart FROM "Odd ON ""schema"" % \"."t ON ""Odd"".% \";
SELECT relid, d.* FROM pg_partition_tree('"Odd ON ""schema"" % \"."t ON ""Odd"".% \"') t, LATERAL (TABLE odd EXCEPT SELECT * FROM belongings(relid)) d WHERE isleaf;
SELECT count(*) = count(DISTINCT tgrelid) AS one_each, bool_and(strpos(pg_get_triggerdef(t.oid), $x$WHEN ((new."$1" = ' ON "Odd ON ""schema"" % \"."t ON ""Odd"".% \_p0" '::text)) EXECUTE FUNCTION fired(' ON % \')$x$) > 0) AS same FROM pg_trigger t JOIN pg_partition_tree('"Odd ON ""schema"" % \"."t ON ""Odd"".% \"') p ON tgrelid = relid WHERE tgname = ' ON carry."% ON ';
SELECT sum(items), sum(misplaced) FROM partitionkey.verify('"Odd ON ""schema"" % \"."t ON ""Odd"".% \"');
DROP SCHEMA "Odd ON ""schema"" % \" CASCADE;
CREATE TABLE a23456789012345678901234567890123456789012345678901234567890123 (a23456789012345678901234567890123456789012345678901234567890123 int PRIMARY KEY);
INSERT INTO a23456789012345678901234567890123456789012345678901234567890123 SELECT generate_series(1, 100);
SELECT partitionkey.create_container('a23456789012345678901234567890123456789012345678901234567890123', '{/a23456789012345678901234567890123456789012345678901234567890123}', '{1}');
SELECT format('CALL partitionkey.split_partition(%L)', partition) FROM tree('a23456789012345678901234567890123456789012345678901234567890123') WHERE leaf \gexec
SELECT format('CALL partitionkey.split_partition(%L)', partition) FROM tree('a23456789012345678901234567890123456789012345678901234567890123') WHERE leaf \gexec
SELECT count(*), count(DISTINCT partition), count(*) FILTER (WHERE leaf) AS leaves, (SELECT sum(misplaced) FROM partitionkey.verify('a23456789012345678901234567890123456789012345678901234567890123')) AS misplaced
	FROM tree('a23456789012345678901234567890123456789012345678901234567890123');
DROP TABLE a23456789012345678901234567890123456789012345678901234567890123;

-- unlogged, another access method, and no primary key
CREATE ACCESS METHOD regress_pk_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE UNLOGGED TABLE fast (k text, v int) USING regress_pk_heap;
INSERT INTO fast SELECT 'k' || i, i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('fast', '{/k}', '{1}');
ALTER TABLE fast_p0 REPLICA IDENTITY FULL;
CALL note('fast_p0');
SET client_min_messages = notice;
CALL partitionkey.split_partition('fast_p0');
SET client_min_messages = warning;
SELECT * FROM differences('fast_p0', 'fast_p8');
SELECT count(*), sum(v) FROM fast;
DROP TABLE fast;
DROP ACCESS METHOD regress_pk_heap;

-- who may do it: the owner, as has been shown his members, and nobody else
CREATE TABLE vault (k text PRIMARY KEY);
SET ROLE regress_pk_owner;
CREATE TABLE mine (k text PRIMARY KEY);
INSERT INTO mine SELECT 'k' || i FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('mine', '{/k}', '{2}');
GRANT ALL ON mine, mine_p0, mine_p8 TO regress_pk_stranger;
GRANT ALL ON SCHEMA carry TO regress_pk_stranger;
SET ROLE regress_pk_stranger;
CALL partitionkey.split_partition('mine_p0');
CALL partitionkey.merge_partitions('mine_p0', 'mine_p8');
CALL partitionkey.isolate_key('mine', '["k1"]');
CALL partitionkey.maintain('mine');
CALL partitionkey.cleanup('mine');
CALL partitionkey.maintain();
CALL partitionkey.cleanup();
SELECT count(*) FROM partitionkey.operation;
-- The trigger function writes with great power, and isn't there for tables of one's own.
CREATE TABLE hook (k text PRIMARY KEY);
DO $$
BEGIN
	EXECUTE format('CREATE TRIGGER hook AFTER INSERT ON hook FOR EACH ROW EXECUTE FUNCTION partitionkey.dual_write(%s, 1)', 'vault'::regclass::oid);
	INSERT INTO hook VALUES ('smuggled');
EXCEPTION WHEN OTHERS THEN NULL;
END$$;
RESET ROLE;
SELECT count(*) FROM vault;
DROP TABLE hook, vault;

-- Whoever calls, what the owner wrote runs as the owner, and changes nothing for
-- the caller's session.
CREATE ROLE regress_pk_mal;
CREATE SCHEMA mal AUTHORIZATION regress_pk_mal;
SET ROLE regress_pk_mal;
CREATE FUNCTION mal.seen(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_pk_mal' THEN RAISE EXCEPTION '% as %', what, current_user; END IF;
	PERFORM pg_catalog.set_config('search_path', 'mal, pg_catalog', false), pg_catalog.set_config('row_security', 'off', false);
END$$;
CREATE FUNCTION mal.evil(int, text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen($2); RETURN $1; END$$;
CREATE FUNCTION mal.format(text, text, text) RETURNS text LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen('format'); RETURN pg_catalog.format($1, $2, $3); END$$;
CREATE FUNCTION mal.hash_position(text, text) RETURNS text LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen('hash_position'); RETURN '0000000000000000'; END$$;
CREATE FUNCTION mal.same(oid, oid) RETURNS bool LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen('='); RETURN $1::text = $2::text; END$$;
CREATE OPERATOR mal.= (FUNCTION = mal.same, LEFTARG = oid, RIGHTARG = oid);
CREATE DOMAIN mal.dom AS int CHECK (mal.evil(VALUE, 'domain') = VALUE);
CREATE FUNCTION mal.fire() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen('trigger'); RETURN new; END$$;
CREATE TYPE mal.c AS (x int);
CREATE FUNCTION mal.c2i(mal.c) RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM mal.seen('cast'); RETURN ($1).x; END$$;
CREATE CAST (mal.c AS int) WITH FUNCTION mal.c2i(mal.c) AS IMPLICIT;
CREATE TABLE mal.pk (i int PRIMARY KEY);
INSERT INTO mal.pk VALUES (1);
CREATE TABLE mal.t (k text NOT NULL, id int NOT NULL, d mal.dom, f mal.c REFERENCES mal.pk, v int DEFAULT mal.evil(1, 'default'), pad text,
	g int GENERATED ALWAYS AS (mal.evil(id, 'generated')) STORED, PRIMARY KEY (k, id), CHECK (mal.evil(id, 'check') = id));
CREATE INDEX ON mal.t ((mal.evil(id, 'index'))) WHERE mal.evil(id, 'predicate') > 0;
CREATE STATISTICS mal.s ON (mal.evil(id, 'statistics')), k FROM mal.t;
INSERT INTO mal.t SELECT 'k' || i, i, i, ROW(1)::mal.c, i, repeat(md5(i::text), 20) FROM generate_series(1, 2400) i;
SELECT partitionkey.create_container('mal.t', '{/k}', '{1}');
CREATE TRIGGER fire BEFORE INSERT OR UPDATE OR DELETE ON mal.t FOR EACH ROW EXECUTE FUNCTION mal.fire();
CREATE POLICY p ON mal.t_p0 USING (mal.evil(id, 'policy') > 0);
CREATE STATISTICS mal.s_too ON (mal.evil(id, 'statistics')), k FROM mal.t_p0;
ALTER TABLE mal.t_p0 ENABLE ROW LEVEL SECURITY;
RESET ROLE;
RESET row_security;
SET search_path = carry;
SET partitionkey.physical_partition_limit = '1MB';
CALL partitionkey.maintain('mal.t');
SELECT count(*) > 2 AS divided FROM tree('mal.t') WHERE leaf;
SELECT format('CALL partitionkey.split_partition(%L)', partition) FROM tree('mal.t') WHERE leaf ORDER BY partition LIMIT 1 \gexec
CALL partitionkey.isolate_key('mal.t', '["k7"]');
RESET partitionkey.physical_partition_limit;
CALL partitionkey.maintain('mal.t');
CALL partitionkey.cleanup();
SELECT current_user = session_user AS same_user, current_setting('search_path') AS search_path, current_setting('row_security') AS row_security;
SELECT sum(items), sum(misplaced) FROM partitionkey.verify('mal.t');
SELECT DISTINCT relowner::regrole FROM pg_class WHERE relnamespace = 'mal'::regnamespace;

DROP PUBLICATION regress_pk_pub;
DROP SCHEMA mal CASCADE;
DROP SCHEMA carry CASCADE;
DROP OWNED BY regress_pk_owner, regress_pk_member, regress_pk_reader, regress_pk_stranger, regress_pk_mal;
DROP ROLE regress_pk_owner, regress_pk_member, regress_pk_reader, regress_pk_stranger, regress_pk_mal;
DROP TABLESPACE regress_pk_disk;
