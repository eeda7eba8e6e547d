-- create_container on an ordinary table: everything the table had is carried over.
-- The catalogs are read before and after, by a query of their own.
CREATE ROLE regress_pk_owner;
CREATE ROLE regress_pk_reader;
CREATE ROLE regress_pk_writer;
CREATE SCHEMA shop AUTHORIZATION regress_pk_owner;
SET ROLE regress_pk_owner;
CREATE TABLE shop.customer (id int PRIMARY KEY);
INSERT INTO shop.customer SELECT generate_series(1, 10);
CREATE SEQUENCE shop.ticket_numbers;
CREATE FUNCTION shop.stamp() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN NEW.note := coalesce(NEW.note, '') || '+'; RETURN NEW; END$$;
CREATE FUNCTION shop.nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;

CREATE TABLE shop.orders (
	dropped int,
	tenant text NOT NULL,
	user_id int,
	id bigint GENERATED ALWAYS AS IDENTITY (START 1000 INCREMENT 5),
	ticket bigint DEFAULT nextval('shop.ticket_numbers'),
	amount numeric(10,2) DEFAULT 0 CHECK (amount >= 0),
	doubled numeric GENERATED ALWAYS AS (amount * 2) STORED,
	note varchar(100) COLLATE "C",
	customer int NOT NULL,
	at date DEFAULT '2025-01-28',
	CONSTRAINT orders_pk PRIMARY KEY (tenant, user_id, id) WITH (fillfactor = 80),
	CONSTRAINT orders_ticket UNIQUE NULLS NOT DISTINCT (tenant, user_id, ticket) INCLUDE (note) DEFERRABLE,
	CONSTRAINT orders_customer FOREIGN KEY (customer) REFERENCES shop.customer ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 70, autovacuum_enabled = off, toast.autovacuum_vacuum_threshold = 77);
ALTER TABLE shop.orders DROP COLUMN dropped;
ALTER SEQUENCE shop.ticket_numbers OWNED BY shop.orders.ticket;
INSERT INTO shop.orders (tenant, user_id, amount, note, customer)
	SELECT 'tenant-' || i % 20, i % 7, i, 'note ' || i, 1 + i % 10 FROM generate_series(1, 1000) i;
ALTER TABLE shop.orders ADD CONSTRAINT orders_late CHECK (amount < 900) NOT VALID;
CREATE INDEX orders_note ON shop.orders (lower(note), at DESC NULLS LAST) INCLUDE (amount) WHERE amount > 10;
CREATE INDEX orders_brin ON shop.orders USING brin (at) WITH (pages_per_range = 16);
ALTER INDEX shop.orders_note ALTER COLUMN 1 SET STATISTICS 222;
CREATE STATISTICS shop.orders_stats (ndistinct, dependencies) ON tenant, user_id FROM shop.orders;
ALTER STATISTICS shop.orders_stats SET STATISTICS 333;
ALTER TABLE shop.orders ALTER COLUMN note SET STATISTICS 444;
ALTER TABLE shop.orders ALTER COLUMN note SET STORAGE EXTERNAL;
ALTER TABLE shop.orders ALTER COLUMN note SET COMPRESSION pglz;
ALTER TABLE shop.orders ALTER COLUMN tenant SET (n_distinct = -0.25);
CREATE TRIGGER stamp BEFORE INSERT ON shop.orders FOR EACH ROW WHEN (NEW.amount > 5) EXECUTE FUNCTION shop.stamp();
CREATE TRIGGER counted AFTER UPDATE OF amount ON shop.orders FOR EACH STATEMENT EXECUTE FUNCTION shop.nothing();
CREATE CONSTRAINT TRIGGER later AFTER DELETE ON shop.orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shop.nothing();
ALTER TABLE shop.orders DISABLE TRIGGER counted;
ALTER TABLE shop.orders ENABLE ALWAYS TRIGGER later;
ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY;
ALTER TABLE shop.orders FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.orders USING (tenant = current_setting('shop.tenant', true));
CREATE POLICY readable ON shop.orders AS RESTRICTIVE FOR SELECT TO regress_pk_reader, regress_pk_writer USING (amount < (SELECT count(*) + 500 FROM shop.customer));
CREATE POLICY writable ON shop.orders FOR INSERT TO regress_pk_writer WITH CHECK (amount > 1);
GRANT SELECT ON shop.customer TO regress_pk_reader;
GRANT USAGE ON SCHEMA shop TO regress_pk_reader, regress_pk_writer;
GRANT SELECT ON shop.orders TO regress_pk_reader WITH GRANT OPTION;
GRANT INSERT, UPDATE (note, amount) ON shop.orders TO regress_pk_writer;
GRANT USAGE ON SEQUENCE shop.orders_id_seq TO regress_pk_writer;
COMMENT ON TABLE shop.orders IS 'the "orders"';
COMMENT ON COLUMN shop.orders.note IS 'it''s a note';
COMMENT ON CONSTRAINT orders_pk ON shop.orders IS 'pk';
COMMENT ON CONSTRAINT orders_customer ON shop.orders IS 'fk';
COMMENT ON INDEX shop.orders_note IS 'by note';
COMMENT ON TRIGGER stamp ON shop.orders IS 'stamps';
COMMENT ON POLICY own ON shop.orders IS 'their own';
COMMENT ON STATISTICS shop.orders_stats IS 'stats';
ALTER TABLE shop.orders REPLICA IDENTITY USING INDEX orders_pk;
ALTER TABLE shop.orders CLUSTER ON orders_brin; -- can't, and that is fine
ALTER TABLE shop.orders CLUSTER ON orders_pk;
RESET ROLE;
-- a grant by another grantor
SET ROLE regress_pk_reader;
GRANT SELECT ON shop.orders TO regress_pk_writer;
RESET ROLE;

-- What a table has, in words that don't depend on OIDs or on being partitioned.
CREATE FUNCTION facts(t regclass) RETURNS SETOF text LANGUAGE sql SET search_path = pg_catalog AS $$
	SELECT format('table owner %s acl %s rls %s %s', relowner::regrole, relacl, relrowsecurity, relforcerowsecurity) FROM pg_class WHERE oid = t
	UNION ALL SELECT format('column %s %s typmod %s notnull %s collation %s storage %s compression %s target %s options %s acl %s identity %s generated %s default %s',
		attname, atttypid::regtype, atttypmod, attnotnull, attcollation, attstorage, attcompression, coalesce(attstattarget, -1), substring(attoptions::text, 'n_distinct=[-.\d]+'), attacl, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = t AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT format('constraint %s %s valid %s', conname, pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE conrelid = t
	UNION ALL SELECT format('index %s options %s identity %s', replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '), c.reloptions, indisreplident)
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = t
	UNION ALL SELECT format('index column %s %s target %s', indexrelid::regclass, attnum, attstattarget) FROM pg_index JOIN pg_attribute ON attrelid = indexrelid
		WHERE indrelid = t AND attstattarget >= 0
	UNION ALL SELECT format('statistics %s target %s owner %s', pg_get_statisticsobjdef(oid), coalesce(stxstattarget, -1), stxowner::regrole) FROM pg_statistic_ext WHERE stxrelid = t
	UNION ALL SELECT format('trigger %s enabled %s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE tgrelid = t AND NOT tgisinternal
	UNION ALL SELECT format('policy %s %s %s %s using %s check %s', polname, polpermissive, polcmd, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
		FROM pg_policy WHERE polrelid = t
	UNION ALL SELECT format('comment on %s: %s', pg_describe_object(classoid, objoid, objsubid), description) FROM pg_description
		WHERE objoid = t OR objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = t UNION SELECT indexrelid FROM pg_index WHERE indrelid = t
			UNION SELECT oid FROM pg_trigger WHERE tgrelid = t UNION SELECT oid FROM pg_policy WHERE polrelid = t UNION SELECT oid FROM pg_statistic_ext WHERE stxrelid = t)
	UNION ALL SELECT format('sequence %s owner %s acl %s %s %s type %s', s.oid::regclass, relowner::regrole, relacl, seqincrement, seqstart, deptype)
		FROM pg_depend d JOIN pg_class s ON s.oid = d.objid JOIN pg_sequence ON seqrelid = s.oid WHERE refobjid = t AND deptype IN ('a', 'i') AND s.relkind = 'S'
	UNION ALL SELECT 'replica identity ' || relreplident::text FROM pg_class WHERE oid = t
$$;
CREATE TABLE before AS SELECT facts('shop.orders') AS fact;
CREATE TABLE rows_before AS SELECT * FROM shop.orders;

SELECT partitionkey.create_container('shop.orders', '{/tenant,/user_id}', '{4,2}');

SELECT count(*) >= 35 AS many_facts FROM before;
SELECT 'lost' AS what, fact FROM (TABLE before EXCEPT SELECT facts('shop.orders')) x(fact)
UNION ALL
SELECT 'new', fact FROM (SELECT facts('shop.orders') EXCEPT TABLE before) x(fact);
SELECT count(*), sum(ticket), sum(id), sum(doubled) FROM shop.orders;
SELECT count(*) AS differ FROM (TABLE rows_before EXCEPT ALL SELECT * FROM shop.orders) x;
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('shop.orders');

-- leaves: storage options, owner, no privileges for others, identity of replicas, clustering
SELECT DISTINCT c.relowner::regrole AS owner, c.relacl, c.reloptions, t.reloptions AS toast, c.relreplident,
	(SELECT bool_or(indisclustered AND indisreplident) FROM pg_index WHERE indrelid = c.oid) AS marked, c.relpersistence
	FROM pg_partition_tree('shop.orders') p JOIN pg_class c ON c.oid = p.relid LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE isleaf;
SELECT DISTINCT attname, coalesce(attstattarget, -1) AS target, attstorage, substring(attoptions::text, 'n_distinct=[-.\d]+') AS options FROM pg_partition_tree('shop.orders') p JOIN pg_attribute ON attrelid = p.relid
	WHERE attname IN ('note', 'tenant') ORDER BY 1;

-- identity and serial go on where they were; triggers, policies, checks work through the root
INSERT INTO shop.orders (tenant, user_id, amount, customer) VALUES ('tenant-1', 1, 7, 3) RETURNING id, ticket, note, doubled;
INSERT INTO shop.orders (tenant, user_id, amount, customer) VALUES ('tenant-1', 1, 900, 3);
INSERT INTO shop.orders (tenant, user_id, amount, customer) VALUES ('tenant-1', 1, 7, 99);
INSERT INTO shop.orders (tenant, amount, customer) VALUES ('tenant-1', 7, 3);
SET ROLE regress_pk_reader;
SET shop.tenant = 'tenant-3';
SELECT tenant, count(*) FROM shop.orders GROUP BY 1;
SELECT count(*) FROM shop.orders_p0_0;
RESET ROLE;

-- unlogged tables have unlogged leaves; another access path of the same kind of table
CREATE UNLOGGED TABLE fast (k int NOT NULL, v text);
INSERT INTO fast SELECT i, 'v' FROM generate_series(1, 100) i;
SELECT partitionkey.create_container('fast', '{/k}', '{2}');
SELECT relname, relpersistence FROM pg_class WHERE relname LIKE 'fast\_p_' ORDER BY 1;

-- an empty partitioned root under one of the operator classes
CREATE TABLE root (k uuid, l text, v int) PARTITION BY HASH (k partitionkey.uuid_cosmos_ops);
SELECT partitionkey.create_container('root', '{/k,/l}', '{2,2}', 'xxhash');
SELECT partitionkey.create_container('root', '{/l,/k}', '{2,2}');
SELECT partitionkey.create_container('root', '{/k,/l}', '{2,2}');
\d root
SELECT * FROM partitionkey.containers WHERE container = 'root'::regclass;
SELECT partition, min_inclusive, max_exclusive FROM partitionkey.physical_partitions WHERE container = 'root'::regclass;
SELECT partitionkey.create_container('root', '{/k}');
CREATE TABLE plain_root (k int) PARTITION BY HASH (k);
SELECT partitionkey.create_container('plain_root', '{/k}');
CREATE TABLE two_columns (k int, l int) PARTITION BY HASH (k partitionkey.int4_xxhash_ops, l partitionkey.int4_xxhash_ops);
SELECT partitionkey.create_container('two_columns', '{/k}');
-- one that has a container's tree keeps it, as after a restore of the table alone; what depends on it can stay
CREATE TABLE filled (k int, l text) PARTITION BY HASH (k partitionkey.int4_xxhash_ops);
CREATE TABLE filled_0 PARTITION OF filled FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE filled_1 PARTITION OF filled FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (l);
CREATE TABLE filled_1_0 PARTITION OF filled_1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT partitionkey.create_container('filled', '{/k,/l}');
DROP TABLE filled_1;
CREATE TABLE filled_1 PARTITION OF filled FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (l partitionkey.text_cosmos_ops);
CREATE TABLE filled_1_0 PARTITION OF filled_1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT partitionkey.create_container('filled', '{/k,/l}');
DROP TABLE filled_1;
CREATE TABLE filled_1 PARTITION OF filled FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (l partitionkey.text_xxhash_ops);
CREATE TABLE filled_1_0 PARTITION OF filled_1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO filled SELECT i, i FROM generate_series(1, 100) i;
CREATE VIEW on_filled AS SELECT * FROM filled;
SELECT partitionkey.create_container('filled', '{/k,/l}', '{2,2}');
SELECT partitionkey.create_container('filled', '{/k,/l}');
SELECT sum(items) AS items, sum(misplaced) AS misplaced, count(*) AS leaves FROM partitionkey.verify('filled');

DROP VIEW on_filled;

-- every type of key
CREATE TABLE types (t text, v varchar(20), n name, u uuid, i2 int2, i4 int4, i8 int8, d numeric, f4 float4, f8 float8,
	b boolean, da date, ts timestamp, tz timestamptz, j jsonb);
INSERT INTO types SELECT i::text, 'v' || i, 'n' || i, md5(i::text)::uuid, i, i, i, i / 10.0, i / 8.0, i / 3.0,
	i % 2 = 0, '2025-01-01'::date + i, '2025-01-01'::timestamp + i * interval '1 min', '2025-01-01Z'::timestamptz + i * interval '1 s', to_jsonb(i)
	FROM generate_series(1, 64) i;
CREATE TABLE outcome (hash text, columns text, items bigint, misplaced bigint, used bigint);
DO $$
DECLARE h text; c text;
BEGIN
	FOREACH h IN ARRAY '{xxhash,cosmos}'::text[] LOOP
		FOR c IN SELECT attname FROM pg_attribute WHERE attrelid = 'types'::regclass AND attnum > 0 ORDER BY attnum LOOP
			CREATE TABLE typed (LIKE types);
			INSERT INTO typed SELECT * FROM types;
			PERFORM partitionkey.create_container('typed', ARRAY['/' || c], '{4}', h);
			INSERT INTO outcome SELECT h, c, sum(items), sum(misplaced), count(*) FILTER (WHERE items > 0) FROM partitionkey.verify('typed');
			DROP TABLE typed;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
-- 64 values over 4 leaves use all of them; a boolean has two values
SELECT * FROM outcome WHERE items <> 64 OR misplaced <> 0 OR used <> 4 AND columns <> 'b' OR used > 2 AND columns = 'b';
SELECT count(*) FROM outcome;
SELECT count(*) FROM partitionkey.registry WHERE container = (SELECT max(oid) FROM pg_class WHERE relname = 'typed');

DROP TABLE shop.orders, fast, root, plain_root, two_columns, filled, types, outcome, before, rows_before;
-- forgotten with the tables
SELECT container FROM partitionkey.registry;
DROP FUNCTION facts;
DROP SCHEMA shop CASCADE;
DROP ROLE regress_pk_owner, regress_pk_reader, regress_pk_writer;
