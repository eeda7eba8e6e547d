-- Which partitions are taken on: what an exchange could not keep is refused before anything is made.
CREATE SCHEMA fit;
SET search_path = fit, partitionkey;
SET partitionkey.retry_pause = '20ms';
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE ROLE regress_pk_fit;
CREATE ROLE regress_pk_other;
GRANT USAGE, CREATE ON SCHEMA fit TO regress_pk_fit, regress_pk_other;
-- Rows, leaves, and what operations leave behind.
CREATE FUNCTION state(c regclass) RETURNS TABLE (leaves bigint, items numeric, misplaced numeric, operations bigint, tables bigint) LANGUAGE sql AS $$
	SELECT count(*), sum(items), sum(misplaced), (SELECT count(*) FROM operation),
		(SELECT count(*) FROM pg_class r WHERE relnamespace = 'fit'::regnamespace AND relname ~ '_(new|old)(_|$)') FROM verify(c) $$;

-- what is unique must include the key: 1000 rows, of which many share an id
CREATE TABLE u (k int NOT NULL, id int NOT NULL, v text);
SELECT create_container('u', '{/k}', '{2}');
INSERT INTO u SELECT k, row_number() OVER (PARTITION BY p), 'x' FROM generate_series(1, 1000) k, partition_of('u', jsonb_build_array(k)) p;
CREATE UNIQUE INDEX lone_0 ON u_p0 (id);
CREATE UNIQUE INDEX lone_8 ON u_p8 (id);
CALL merge_partitions('u_p0', 'u_p8');
CALL split_partition('u_p8');
CALL isolate_key('u', '[1]');
DROP INDEX lone_0, lone_8;
ALTER TABLE u_p0 ADD CONSTRAINT lone UNIQUE (id);
CALL split_partition('u_p0');
ALTER TABLE u_p0 DROP CONSTRAINT lone, ADD CONSTRAINT lone EXCLUDE USING btree (id WITH =);
CALL split_partition('u_p0');
ALTER TABLE u_p0 DROP CONSTRAINT lone;
CREATE UNIQUE INDEX lone ON u_p0 ((1000 * k + id));
CALL split_partition('u_p0');
DROP INDEX lone;
SELECT * FROM state('u');
-- and with the key it is kept
CREATE UNIQUE INDEX ON u_p0 (lower(v), id, k);
CREATE UNIQUE INDEX ON u_p8 (lower(v), id, k);
ALTER TABLE u_p0 ADD CONSTRAINT pair_0 EXCLUDE USING btree (k WITH =, id WITH =);
ALTER TABLE u_p8 ADD CONSTRAINT pair_8 EXCLUDE USING btree (k WITH =, id WITH =);
SET client_min_messages = warning;
CALL split_partition('u_p0');
CALL merge_partitions('u_p4', 'u_p0');
CALL merge_partitions('u_p0', 'u_p8');
RESET client_min_messages;
SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid IN (SELECT relid FROM pg_partition_tree('u')) AND relkind = 'i' ORDER BY 1;
SELECT * FROM state('u');
-- a key column under a collation that calls different values equal
CREATE TABLE n (k text, id int, PRIMARY KEY (k, id));
SELECT create_container('n', '{/k}', '{2}');
INSERT INTO n SELECT k, 1 FROM unnest('{a,B,c,D,e,F,g,H}'::text[]) k;
CREATE UNIQUE INDEX n_same ON n_p0 (k COLLATE nocase, id);
CALL split_partition('n_p0');
DROP INDEX n_same;
-- only the column of the level that rows come apart or together by counts
CREATE TABLE w (t text NOT NULL, u text NOT NULL, id int NOT NULL);
SELECT create_container('w', '{/t,/u}', '{2}');
CREATE UNIQUE INDEX w_once ON w (t, id);
INSERT INTO w SELECT 't' || i % 20, 'u' || i % 10, i FROM generate_series(1, 400) i;
CREATE UNIQUE INDEX w_lone ON w_p0 (u, id);
CALL split_partition('w_p0', '/u');
DROP INDEX w_once;
CALL split_partition('w_p0', '/t');
DROP INDEX w_lone;
CREATE UNIQUE INDEX w_once ON w (t, id);
CALL split_partition('w_p0', '/t');
CALL merge_partitions('w_p0', 'w_p4');
SELECT * FROM state('w');

-- indexes that are no indexes yet, and constraints that are none any more
INSERT INTO n VALUES ('d', 1), ('d', 2);
SELECT partition_of('n', '["d"]') AS leaf \gset
CREATE UNIQUE INDEX CONCURRENTLY n_invalid ON :leaf (k);
CALL split_partition(:'leaf');
DROP INDEX n_invalid;
ALTER TABLE n ADD UNIQUE (id, k) DEFERRABLE;
ALTER TABLE :leaf DISABLE TRIGGER ALL;
CALL split_partition(:'leaf');
ALTER TABLE :leaf ENABLE TRIGGER ALL;
SELECT * FROM state('n');

-- other owners, who would have code run as the container's; of leaves, and of the node above
CREATE TABLE o (k int, id int, PRIMARY KEY (k, id));
SELECT create_container('o', '{/k}', '{2}');
INSERT INTO o SELECT i, i FROM generate_series(1, 100) i;
ALTER TABLE o OWNER TO regress_pk_fit;
ALTER TABLE o_p0 OWNER TO regress_pk_fit;
GRANT regress_pk_other TO regress_pk_fit;
ALTER TABLE o_p8 OWNER TO regress_pk_other;
SELECT min(id) AS id FROM o_p8 \gset
SET ROLE regress_pk_other;
CREATE TABLE loot (who name);
CREATE FUNCTION steal() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO fit.loot VALUES (current_user); END $$;
CREATE FUNCTION steal(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM fit.steal(); RETURN v; END $$;
GRANT INSERT ON loot TO regress_pk_fit;
CREATE INDEX ON o_p8 (steal(id));
TRUNCATE loot;
SET ROLE regress_pk_fit;
CALL split_partition('o_p8');
CALL merge_partitions('o_p0', 'o_p8');
CALL isolate_key('o', jsonb_build_array(:id));
SET partitionkey.physical_partition_limit = '1MB';
RESET ROLE;
CALL maintain('o');
CALL split_partition('o_p0');
ALTER TABLE o_p0_n OWNER TO regress_pk_other;
CALL split_partition('o_p0');
CALL merge_partitions('o_p0', 'o_p4');
ALTER TABLE o_p0_n OWNER TO regress_pk_fit;
SELECT DISTINCT who FROM loot;
SELECT * FROM state('o');
-- ALTER TABLE gives away the container alone: all that is below it needs the same
SET ROLE regress_pk_fit;
CREATE TABLE "given O'n" (k int, id int, PRIMARY KEY (k, id));
SELECT create_container('"given O''n"', '{/k}', '{2}');
INSERT INTO "given O'n" SELECT i, i FROM generate_series(1, 100) i;
RESET ROLE;
ALTER TABLE "given O'n" OWNER TO CURRENT_USER;
CALL split_partition('"given O''n_p0"');
CALL maintain('"given O''n"');
SELECT format('ALTER TABLE %s OWNER TO %I', relid, 'postgres') FROM pg_partition_tree('fit."given O''n"') \gexec
CALL split_partition('"given O''n_p0"');
CALL merge_partitions('"given O''n_p0"', '"given O''n_p4"');
CALL maintain('"given O''n"');
SELECT * FROM state('"given O''n"');

-- leaves that become one: each of these lines tells them apart
CREATE TABLE ref (id int PRIMARY KEY);
INSERT INTO ref SELECT generate_series(0, 100);
CREATE TABLE t (k text NOT NULL, id int NOT NULL, v int, w text, r int REFERENCES ref, PRIMARY KEY (k, id));
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER fire BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fired();
SELECT create_container('t', '{/k}', '{2}');
INSERT INTO t SELECT 'k' || i % 50, i, i, 'w' || i, i FROM generate_series(1, 100) i;
CREATE TABLE difference (n serial, make text, undo text);
INSERT INTO difference (make, undo) VALUES
	('CREATE UNIQUE INDEX a ON t_p0 (k, v); CREATE UNIQUE INDEX b ON t_p8 (k, v) NULLS NOT DISTINCT', 'DROP INDEX a, b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, w); CREATE UNIQUE INDEX b ON t_p8 (k, w COLLATE nocase)', 'DROP INDEX a, b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, w); CREATE UNIQUE INDEX b ON t_p8 (k, w text_pattern_ops)', 'DROP INDEX a, b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, v DESC); CREATE UNIQUE INDEX b ON t_p8 (k, v NULLS FIRST)', 'DROP INDEX a, b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, v) WHERE v > 1; CREATE UNIQUE INDEX b ON t_p8 (k, v) WHERE v > 2', 'DROP INDEX a, b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, v) INCLUDE (w); CREATE UNIQUE INDEX b ON t_p8 (k, v)', 'DROP INDEX a, b'),
	('ALTER TABLE t_p0 ADD CONSTRAINT a UNIQUE (k, v); ALTER TABLE t_p8 ADD CONSTRAINT b UNIQUE (k, v) DEFERRABLE', 'ALTER TABLE t_p0 DROP CONSTRAINT a; ALTER TABLE t_p8 DROP CONSTRAINT b'),
	('CREATE UNIQUE INDEX a ON t_p0 (k, v); ALTER TABLE t_p8 ADD CONSTRAINT b EXCLUDE USING btree (k WITH =, v WITH =)', 'DROP INDEX a; ALTER TABLE t_p8 DROP CONSTRAINT b'),
	('ALTER TABLE t_p8 ADD CHECK (v > 0) NOT VALID', 'ALTER TABLE t_p8 DROP CONSTRAINT t_p8_v_check'),
	('ALTER TABLE t_p8 ADD FOREIGN KEY (v) REFERENCES ref ON DELETE CASCADE', 'ALTER TABLE t_p8 DROP CONSTRAINT t_p8_v_fkey'),
	('ALTER TABLE t_p8 DISABLE TRIGGER ALL', 'ALTER TABLE t_p8 ENABLE TRIGGER ALL'),
	('ALTER TABLE t_p0 ALTER v SET NOT NULL', 'ALTER TABLE t_p0 ALTER v DROP NOT NULL'),
	('CREATE TRIGGER own AFTER INSERT ON t_p8 FOR EACH ROW WHEN (new.v > 1) EXECUTE FUNCTION fired()', 'DROP TRIGGER own ON t_p8'),
	('ALTER TABLE t_p0 ENABLE ALWAYS TRIGGER fire', 'ALTER TABLE t_p0 ENABLE TRIGGER fire'),
	('CREATE RULE also AS ON DELETE TO t_p8 DO ALSO NOTHING', 'DROP RULE also ON t_p8'),
	('ALTER TABLE t_p8 ENABLE ROW LEVEL SECURITY', 'ALTER TABLE t_p8 DISABLE ROW LEVEL SECURITY'),
	('ALTER TABLE t_p0 FORCE ROW LEVEL SECURITY', 'ALTER TABLE t_p0 NO FORCE ROW LEVEL SECURITY'),
	('CREATE POLICY own ON t_p8 FOR SELECT TO regress_pk_fit USING (v > 1)', 'DROP POLICY own ON t_p8'),
	('GRANT SELECT, DELETE ON t_p0 TO regress_pk_fit', 'REVOKE ALL ON t_p0 FROM regress_pk_fit'),
	('GRANT UPDATE (v) ON t_p8 TO PUBLIC', 'REVOKE UPDATE (v) ON t_p8 FROM PUBLIC'),
	('GRANT SELECT ON t_p0, t_p8 TO regress_pk_fit; GRANT SELECT ON t_p8 TO regress_pk_fit WITH GRANT OPTION', 'REVOKE ALL ON t_p0, t_p8 FROM regress_pk_fit'),
	('ALTER TABLE t_p8 REPLICA IDENTITY FULL', 'ALTER TABLE t_p8 REPLICA IDENTITY DEFAULT');
SELECT unnest(ARRAY[make, 'CALL merge_partitions(''t_p0'', ''t_p8'')', undo]) FROM difference ORDER BY n \gexec
SELECT * FROM state('t');
-- generated columns
CREATE TABLE g (k text NOT NULL, v int, g int GENERATED ALWAYS AS (v * 2) STORED);
CREATE TABLE otherwise (k text NOT NULL, v int, g int GENERATED ALWAYS AS (v * 1000) STORED);
SELECT create_container('g', '{/k}', '{2}');
-- (as PostgreSQL 17's ALTER TABLE ... SET EXPRESSION can do)
UPDATE pg_attrdef SET adbin = (SELECT adbin FROM pg_attrdef WHERE adrelid = 'otherwise'::regclass) WHERE adrelid = 'g_p8'::regclass;
CALL merge_partitions('g_p0', 'g_p8');
-- alike in all that matters: what they have by themselves is the first one's
ALTER TABLE t_p8 ALTER v SET DEFAULT 7, ALTER w SET STATISTICS 7, SET (fillfactor = 70);
CREATE INDEX ON t_p0 (v);
COMMENT ON TABLE t_p8 IS 'another';
CALL merge_partitions('t_p8', 't_p0');
SELECT * FROM state('t');
SELECT obj_description(relid) FROM pg_partition_tree('t') WHERE isleaf;

-- maintain leaves such leaves alone, says so, and goes on
CREATE TABLE m (k int, id int, PRIMARY KEY (k, id));
SELECT create_container('m', '{/k}', '{2}');
INSERT INTO m SELECT i, i FROM generate_series(1, 100) i;
CALL split_partition('m_p0');
CALL split_partition('m_p8');
CREATE TABLE m2 (LIKE m INCLUDING ALL);
SELECT create_container('m2', '{/k}', '{1}');
CALL split_partition('m2_p0');
GRANT SELECT ON m_p4 TO regress_pk_fit;
ALTER TABLE m2_p8 OWNER TO regress_pk_other;
CALL split_partition('m_p0_n');
SET partitionkey.physical_partition_limit = '100MB';
CALL maintain('m');
CALL maintain('m2');
SELECT partition FROM physical_partitions WHERE container = 'm'::regclass;
SELECT has_table_privilege('regress_pk_fit', 'm_p0', 'SELECT') AS p0, has_table_privilege('regress_pk_fit', 'm_p4', 'SELECT') AS p4;
REVOKE SELECT ON m_p4 FROM regress_pk_fit;
CALL maintain('m');
SELECT * FROM state('m');
RESET partitionkey.physical_partition_limit;

-- what names the leaf itself does so in its successors, too, which are alike then
CREATE TABLE soft (k text, id int, gone bool, PRIMARY KEY (k, id));
SELECT create_container('soft', '{/k}', '{1}');
INSERT INTO soft SELECT 'k' || i % 50, i FROM generate_series(1, 100) i;
CREATE RULE soft AS ON DELETE TO soft_p0 DO INSTEAD UPDATE soft_p0 SET gone = true WHERE soft_p0.k = old.k AND soft_p0.id = old.id;
CREATE POLICY latest ON soft_p0 USING (id = (SELECT max(id) FROM soft_p0 s WHERE s.k = soft_p0.k) OR gone = (SELECT bool_or(gone) FROM soft_p0 WHERE id = 1));
CREATE TRIGGER named BEFORE INSERT ON soft_p0 FOR EACH ROW EXECUTE FUNCTION fired('it''s soft_p0');
CREATE TABLE soft_p0_log (k text);
CALL split_partition('soft_p0');
SELECT tablename, qual ~ (tablename || ' s\s') AS reads_itself FROM pg_policies WHERE tablename LIKE 'soft%' ORDER BY 1;
DELETE FROM soft_p8 WHERE id IN (SELECT min(id) FROM soft_p8);
CALL merge_partitions('soft_p0', 'soft_p8');
SELECT count(*), count(*) FILTER (WHERE gone) AS gone FROM soft;
SELECT pg_get_ruledef(oid) FROM pg_rewrite WHERE rulename = 'soft';
CALL split_partition('soft_p0');
CREATE TABLE soft_p8_log (k text);
CREATE RULE log AS ON DELETE TO soft_p0 DO ALSO INSERT INTO soft_p0_log VALUES (old.k);
CREATE RULE log AS ON DELETE TO soft_p8 DO ALSO INSERT INTO soft_p8_log VALUES (old.k);
CALL merge_partitions('soft_p0', 'soft_p8');

-- each hint can be typed as it is
CREATE TABLE ref2 (id int PRIMARY KEY);
CREATE TABLE "e\1 ON & USING x" (k text, id int, v int, PRIMARY KEY (k, id));
SELECT create_container('"e\1 ON & USING x"', '{/k}', '{2}');
ALTER TABLE "e\1 ON & USING x_p0" RENAME TO x0;
ALTER TABLE x0 ADD CHECK (v > 0) NOT VALID, ADD CHECK (v > 1), ADD FOREIGN KEY (v) REFERENCES ref2 NOT VALID;
ALTER TABLE "e\1 ON & USING x_p8" ADD CHECK (v > 0), ADD CHECK (v > 1) NOT VALID, ADD FOREIGN KEY (v) REFERENCES ref2;
ALTER TABLE x0 ADD FOREIGN KEY (id) REFERENCES ref2;
ALTER TABLE ref2 DISABLE TRIGGER ALL;
ALTER TABLE "e\1 ON & USING x_p8" ADD FOREIGN KEY (id) REFERENCES ref2;
CREATE UNIQUE INDEX "i ON x USING y" ON "e\1 ON & USING x_p8" (k, v) WHERE v > 1;
CREATE TRIGGER "t ON x" BEFORE INSERT ON x0 FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER "t ON x" BEFORE INSERT ON "e\1 ON & USING x_p8" FOR EACH ROW EXECUTE FUNCTION fired('other');
CREATE TRIGGER off BEFORE INSERT ON x0 FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER off BEFORE INSERT ON "e\1 ON & USING x_p8" FOR EACH ROW EXECUTE FUNCTION fired();
ALTER TABLE x0 DISABLE TRIGGER off;
CREATE RULE "r TO x" AS ON DELETE TO x0 DO ALSO NOTHING;
CREATE RULE "r TO x" AS ON DELETE TO "e\1 ON & USING x_p8" DO INSTEAD NOTHING;
CREATE RULE off AS ON UPDATE TO x0 DO ALSO NOTHING;
CREATE RULE off AS ON UPDATE TO "e\1 ON & USING x_p8" DO ALSO NOTHING;
ALTER TABLE x0 DISABLE RULE off;
CREATE POLICY p ON x0 USING (v > 1);
CREATE POLICY p ON "e\1 ON & USING x_p8" USING (v > 2);
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit.x0 VALIDATE CONSTRAINT x0_v_check;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit."e\1 ON & USING x_p8" VALIDATE CONSTRAINT "e\1 ON & USING x_p8_v_check1";
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit.x0 VALIDATE CONSTRAINT x0_v_fkey;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit.ref2 ENABLE TRIGGER ALL;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
CREATE UNIQUE INDEX ON fit.x0 USING btree (k, v) WHERE (v > 1);
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
DROP TRIGGER "t ON x" ON fit."e\1 ON & USING x_p8"; CREATE TRIGGER "t ON x" BEFORE INSERT ON fit."e\1 ON & USING x_p8" FOR EACH ROW EXECUTE FUNCTION fit.fired();
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit."e\1 ON & USING x_p8" DISABLE TRIGGER off;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
DROP RULE "r TO x" ON fit."e\1 ON & USING x_p8"; CREATE RULE "r TO x" AS
    ON DELETE TO fit."e\1 ON & USING x_p8" DO NOTHING;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
ALTER TABLE fit."e\1 ON & USING x_p8" DISABLE RULE off;
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
DROP POLICY p ON fit."e\1 ON & USING x_p8"; CREATE POLICY p ON fit."e\1 ON & USING x_p8" AS PERMISSIVE FOR ALL TO public USING ((v > 1));
CALL merge_partitions('x0', '"e\1 ON & USING x_p8"');
SELECT * FROM state('"e\1 ON & USING x"');

-- the node above, where a merge puts a leaf in its place: what it has by itself would go with it
CREATE TABLE d (t text, u text, id int, PRIMARY KEY (t, u, id));
SELECT create_container('d', '{/t,/u}', '{2}');
INSERT INTO d SELECT 't' || i % 20, 'u' || i % 10, i FROM generate_series(1, 400) i;
CALL split_partition('d_p0');
CREATE VIEW "seen" AS SELECT * FROM d_p0_n;
CALL merge_partitions('d_p0', 'd_p4');
SET partitionkey.physical_partition_limit = '100MB';
CALL maintain('d');
DROP VIEW "seen";
CREATE TABLE burden (n serial, make text, undo text);
INSERT INTO burden (make, undo) VALUES
	('CREATE TRIGGER "An Audit" AFTER INSERT ON d_p0_n FOR EACH ROW EXECUTE FUNCTION fired()', 'DROP TRIGGER "An Audit" ON d_p0_n'),
	('CREATE TRIGGER one BEFORE INSERT ON d_p0_n FOR EACH STATEMENT EXECUTE FUNCTION fired()', 'DROP TRIGGER one ON d_p0_n'),
	('CREATE RULE kept AS ON DELETE TO d_p0_n DO INSTEAD NOTHING', 'DROP RULE kept ON d_p0_n'),
	('CREATE POLICY hidden ON d_p0_n USING (false)', 'DROP POLICY hidden ON d_p0_n'),
	('ALTER TABLE d_p0_n FORCE ROW LEVEL SECURITY', 'ALTER TABLE d_p0_n DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY'),
	('CREATE STATISTICS pair ON t, u FROM d_p0_n', 'DROP STATISTICS pair'),
	('SET client_min_messages = error; CREATE PUBLICATION regress_pk_node FOR TABLE d_p0_n; RESET client_min_messages', 'DROP PUBLICATION regress_pk_node'),
	('GRANT SELECT, DELETE ON d_p0_n TO regress_pk_fit', 'REVOKE SELECT, DELETE ON d_p0_n FROM regress_pk_fit'),
	('GRANT SELECT ON d_p0, d_p4 TO regress_pk_fit; GRANT SELECT ON d_p0_n TO regress_pk_fit WITH GRANT OPTION', 'REVOKE SELECT ON d_p0_n, d_p0, d_p4 FROM regress_pk_fit'),
	('GRANT UPDATE (id) ON d_p0_n TO PUBLIC', 'REVOKE UPDATE (id) ON d_p0_n FROM PUBLIC');
SELECT unnest(ARRAY[make, 'CALL merge_partitions(''d_p0'', ''d_p4'')', undo]) FROM burden ORDER BY n \gexec
CREATE RULE kept AS ON DELETE TO d_p0_n DO INSTEAD NOTHING;
CALL maintain('d');
RESET partitionkey.physical_partition_limit;
DROP RULE kept ON d_p0_n;
SELECT * FROM state('d');
-- but not what the leaf has as well
GRANT SELECT ON ALL TABLES IN SCHEMA fit TO regress_pk_other;
CALL merge_partitions('d_p0', 'd_p4');
SELECT * FROM state('d');
SELECT has_table_privilege('regress_pk_other', 'd_p0', 'SELECT') AS sees;
REVOKE ALL ON ALL TABLES IN SCHEMA fit FROM regress_pk_other;

-- indexes that are alike but for one thing: the mark goes to the right one
CREATE TABLE marked (k int NOT NULL, id text NOT NULL, v int);
CREATE INDEX ON marked USING hash (v);
CREATE INDEX ON marked USING btree (v);
CREATE UNIQUE INDEX ON marked (k, id COLLATE "C" DESC);
CREATE UNIQUE INDEX ON marked (k, id);
SELECT create_container('marked', '{/k}', '{1}');
ALTER TABLE marked_p0 CLUSTER ON marked_p0_v_idx1, REPLICA IDENTITY USING INDEX marked_p0_k_id_idx1;
INSERT INTO marked SELECT i, i, i FROM generate_series(1, 100) i;
CALL split_partition('marked_p0');
SELECT relid, pg_get_indexdef(indexrelid), indisclustered AS clustered, indisreplident AS identity
	FROM pg_partition_tree('marked') JOIN pg_index ON indrelid = relid WHERE isleaf AND (indisclustered OR indisreplident) ORDER BY 1, 3;

-- who may refer to a partitioned table needs nothing for its partitions
CREATE SCHEMA fit_parts;
CREATE TABLE whole (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE fit_parts.part PARTITION OF whole FOR VALUES FROM (0) TO (1000);
INSERT INTO whole SELECT generate_series(1, 100);
GRANT REFERENCES, SELECT ON whole TO regress_pk_fit;
SET ROLE regress_pk_fit;
CREATE TABLE refers (k int, id int REFERENCES whole, PRIMARY KEY (k, id));
SELECT create_container('refers', '{/k}', '{1}');
INSERT INTO refers SELECT i, i FROM generate_series(1, 100) i;
ALTER TABLE refers_p0 ADD CONSTRAINT of_its_own FOREIGN KEY (k) REFERENCES whole;
CALL split_partition('refers_p0');
CALL merge_partitions('refers_p0', 'refers_p8');
RESET ROLE;
REVOKE REFERENCES ON whole FROM regress_pk_fit;
CALL split_partition('refers_p0');
SELECT * FROM state('refers');
SET client_min_messages = warning;
DROP SCHEMA fit_parts CASCADE;
RESET client_min_messages;

-- code of users that needs the writer's search_path for one row
CREATE FUNCTION far(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN v; END';
CREATE FUNCTION near(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF v > 90 THEN RETURN far(v); END IF; RETURN v; END';
CREATE TABLE reaching (k int, v int, PRIMARY KEY (k));
CREATE INDEX ON reaching (near(v));
SELECT create_container('reaching', '{/k}', '{1}');
INSERT INTO reaching SELECT i, i FROM generate_series(1, 100) i;
\set SHOW_CONTEXT never
CALL split_partition('reaching_p0');
\set SHOW_CONTEXT errors
ALTER FUNCTION near SET search_path = fit;
CALL split_partition('reaching_p0');
SELECT * FROM state('reaching');

-- triggers of foreign keys, on both sides, are switched as they were
CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (50);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (50) TO (1000);
INSERT INTO parts SELECT generate_series(1, 100);
CREATE TABLE f (k int, id int REFERENCES ref, PRIMARY KEY (k, id));
SELECT create_container('f', '{/k}', '{1}');
INSERT INTO f SELECT i, i FROM generate_series(1, 100) i;
ALTER TABLE f_p0 ADD CONSTRAINT to_ref FOREIGN KEY (id) REFERENCES ref ON DELETE CASCADE, ADD CONSTRAINT to_parts FOREIGN KEY (id) REFERENCES parts;
CREATE FUNCTION switched(leaf regclass) RETURNS TABLE (conname name, on_table regclass, fires regproc, tgenabled "char") LANGUAGE sql AS $$
	SELECT coalesce(p.conname, c.conname), nullif(tgrelid, leaf), tgfoid, tgenabled FROM pg_trigger t JOIN pg_constraint c ON c.oid = tgconstraint
		LEFT JOIN pg_constraint p ON p.oid = c.conparentid AND p.conrelid = c.conrelid WHERE c.conrelid = leaf $$;
ALTER TABLE parts_2 DISABLE TRIGGER ALL;
ALTER TABLE ref DISABLE TRIGGER ALL;
DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE f_p0 ENABLE ALWAYS TRIGGER %I', tgname) FROM pg_trigger t JOIN pg_constraint c ON c.oid = tgconstraint
	WHERE conrelid = 'f_p0'::regclass AND tgrelid = conrelid AND conname = 'to_ref' AND tgtype & 4 = 4); END $$;
CREATE TABLE before AS SELECT * FROM switched('f_p0');
SELECT tgenabled, count(*) FROM before GROUP BY 1 ORDER BY 1;
CALL split_partition('f_p0');
SELECT l.relid, d.* FROM pg_partition_tree('f') l, LATERAL (
	(TABLE before EXCEPT ALL SELECT * FROM switched(relid)) UNION ALL (SELECT * FROM switched(relid) EXCEPT ALL TABLE before)) d WHERE isleaf;

SET client_min_messages = warning;
DROP SCHEMA fit CASCADE;
DROP OWNED BY regress_pk_fit, regress_pk_other;
DROP ROLE regress_pk_fit, regress_pk_other;
