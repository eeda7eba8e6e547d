-- Loading items: rows of them, options, and what goes wrong.

\set ON_ERROR_STOP 0
\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA import_test;
SET search_path = import_test;

-- A file in the server's directory, with one item on each line.
CREATE PROCEDURE write(VARIADIC lines text[]) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY (SELECT unnest(%L::text[])) TO %L (FORMAT csv, QUOTE E''\x01'', DELIMITER E''\x02'')',
        lines, current_setting('data_directory') || '/import_test.json');
END $$;
-- Loading it: the counts, without the times.
CREATE FUNCTION load(container regclass, on_conflict text DEFAULT 'quarantine', generate_ids boolean DEFAULT false,
    keep_system boolean DEFAULT false, max_faults float8 DEFAULT 1, keys text[] DEFAULT NULL, quarantine text DEFAULT NULL,
    OUT read bigint, OUT loaded bigint, OUT replaced bigint, OUT skipped bigint, OUT reasons jsonb) LANGUAGE sql AS $$
    SELECT read, loaded, replaced, skipped, reasons
    FROM partitionkey.import_items($1, 'import_test.json', $2, $3, $4, $5, $6, $7)
$$;
RESET client_min_messages;

CREATE TABLE shop (country text, id text, doc jsonb NOT NULL, ts timestamptz, PRIMARY KEY (country, id));
SELECT partitionkey.create_container('shop', '{/country}', '{4}', 'cosmos');
CALL write('{"id": "1", "country": "Chile", "_ts": 1700000000, "_etag": "x", "a": {"_ts": 1}}',
    '{"id": "1", "country": "Peru"}',
    '{"id": "1", "country": "Chile", "again": true}',
    '{"id": "2", "country": ""}');
SELECT * FROM load('shop');
SELECT country, id, doc, ts AT TIME ZONE 'UTC' AS ts FROM shop ORDER BY country, id;
SELECT file, line, byte_offset, reason, detail, path, item, loaded_at > now() - interval '1 hour' AS recent FROM shop_quarantine;

-- The same file again.
SELECT * FROM load('shop', 'skip');
SELECT * FROM load('shop', 'replace');
SELECT doc FROM shop WHERE country = 'Chile';
SELECT * FROM load('shop', 'error');
SELECT * FROM load('shop', 'ignore');
SELECT * FROM load('shop', NULL);

-- The near miss.  Nothing is loaded, or hardly anything.
TRUNCATE shop, shop_quarantine;
CALL write('{"id": "1", "Country": "Chile"}', '{"id": "2", "Country": "Peru", "countries": []}');
SELECT * FROM load('shop');
SELECT DISTINCT reason, detail, path FROM shop_quarantine;
CALL write('{"id": "1", "Country": "Chile"}', '{"id": "2", "country": "Peru"}');
SELECT * FROM load('shop');
-- An item whose key is not looked at, since it has another fault, doesn't count.
CALL write('{"Country": "Chile"}', 'x', '{"id": "2", "Country": "Peru"}', '{"id": "3", "Country": "Peru"}', '{"id": 4, "country": "Chile"}');
SELECT * FROM load('shop');
-- A key of another type.
CALL write('{"id": "1", "country": true}', '{"id": "2", "country": 5}', '{"id": "3", "country": null}');
SELECT * FROM load('shop');
CALL write(VARIADIC '{}');
SELECT * FROM load('shop');
SELECT FROM partitionkey.import_items('shop', 'no/such/file.json');

-- Ids that are made.
TRUNCATE shop, shop_quarantine;
CALL write('{"country": "Chile"}', '{"country": "Chile", "id": null}', '{"country": "Chile", "id": 3}');
SELECT * FROM load('shop', generate_ids => true);
SELECT count(DISTINCT id), bool_and(id::uuid IS NOT NULL AND doc->>'id' = id) FROM shop;

-- A share of faults that is allowed: with none, no quarantine is needed.
DROP TABLE shop_quarantine;
SELECT * FROM load('shop', max_faults => 0);
SELECT * FROM load('shop', max_faults => 0.5);
SELECT * FROM load('shop', max_faults => -1);
SELECT * FROM load('shop', max_faults => 'NaN');
SELECT to_regclass('shop_quarantine');

-- Another quarantine: one that is made, one that is there, one that can't be.
SELECT * FROM load('shop', quarantine => '"faulty items"');
SELECT * FROM load('shop', quarantine => 'import_test."faulty items"');
SELECT reason, count(*) FROM "faulty items" GROUP BY reason ORDER BY reason;
SELECT * FROM load('shop', quarantine => 'shop');
SELECT * FROM load('shop', quarantine => 'nowhere.faulty');
SELECT * FROM load('shop', quarantine => 'pg_tables');

-- Arguments.
SELECT * FROM load(NULL);
SELECT * FROM load('shop_p0');
SELECT * FROM load('faulty items');
SELECT FROM partitionkey.import_items('shop', NULL);
BEGIN READ ONLY;
SELECT * FROM load('shop');
ROLLBACK;
BEGIN;
CALL partitionkey.import_items_in_batches('shop', 'import_test.json');
ROLLBACK;
CALL partitionkey.import_items_in_batches('shop', 'import_test.json', batch_items => 0);
CALL partitionkey.import_items_in_batches('shop', 'import_test.json', batch_items => NULL);

--
-- Keys of several types
--

-- null, missing and "" are three partitions under a key of type jsonb; 42, 42.0 and 4.2e1 are one key, "42" another.
CREATE TABLE mixed (pk jsonb, id text, doc jsonb NOT NULL, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('mixed', '{/pk}', '{8}', 'cosmos');
CALL write('{"id": "null", "pk": null}', '{"id": "missing"}', '{"id": "empty", "pk": ""}', '{"id": "42", "pk": 42}',
    '{"id": "42.0", "pk": 42.0}', '{"id": "4.2e1", "pk": 4.2e1}', '{"id": "string", "pk": "42"}', '{"id": "true", "pk": true}',
    '{"id": "object", "pk": {}}', '{"id": "array", "pk": [1]}', '{"id": "-0", "pk": -0.0}', '{"id": "0", "pk": 0}',
    '{"id": "huge", "pk": 1e309}', '{"id": "42", "pk": 42.0}');
SELECT * FROM load('mixed');
SELECT pk, array_agg(id ORDER BY id), partitionkey.effective_partition_key(jsonb_build_array(pk), 'Hash', 2)
FROM mixed GROUP BY pk ORDER BY pk;
SELECT line, reason, detail, path FROM mixed_quarantine ORDER BY line;
SELECT sum(misplaced) FROM partitionkey.verify('mixed');

-- Numbers beyond 2^53: Cosmos DB takes those for one that are the same binary64.
TRUNCATE mixed, mixed_quarantine;
CALL write('{"id": "1", "pk": 9007199254740992}', '{"id": "1", "pk": 9007199254740993}', '{"id": "1", "pk": 9223372036854775806}',
    '{"id": "1", "pk": 9223372036854775807}', '{"id": "2", "pk": 9223372036854775808}', '{"id": "1", "pk": 0.1}',
    '{"id": "2", "pk": 0.1000000000000000055511151231257827}', '{"id": "1", "pk": 1e22}');
SELECT * FROM load('mixed');
SELECT pk, array_agg(id ORDER BY id), partitionkey.effective_partition_key(jsonb_build_array(pk), 'Hash', 2)
FROM mixed GROUP BY pk ORDER BY pk;
SELECT line, reason FROM mixed_quarantine ORDER BY line;

-- Other types of columns, in a table made for something else.
CREATE DOMAIN short AS text CHECK (length(VALUE) <= 5);
CREATE TABLE typed (day date, number bigint, word short, id uuid NOT NULL, loaded int GENERATED ALWAYS AS (length(word)) STORED,
    serial int GENERATED ALWAYS AS IDENTITY, ts timestamptz NOT NULL DEFAULT '2000-01-01 00:00Z', body jsonb CHECK (body ? 'n'),
    PRIMARY KEY (day, number, word, id));
SELECT partitionkey.create_container('typed', '{/day,/number,/word}', '{2,2,2}');
CALL write('{"id": "00000000-0000-0000-0000-000000000001", "day": "2025-01-28", "number": 7, "word": "a", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000002", "day": "2025-01-28", "number": 7.0, "word": "b", "n": 1, "_ts": 1}',
    '{"id": "00000000-0000-0000-0000-000000000003", "day": "2025-01-28", "number": 7.5, "word": "a", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000004", "day": "2025-02-30", "number": 7, "word": "a", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000005", "day": "2025-01-28", "number": 1e20, "word": "a", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000006", "day": "2025-01-28", "number": 7, "word": "longer", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000007", "day": "2025-01-28", "number": 7, "word": "a"}',
    '{"id": "8", "day": "2025-01-28", "number": 7, "word": "a", "n": 1}',
    '{"id": 9, "day": "2025-01-28", "number": 7, "word": "a", "n": 1}',
    '{"id": "00000000-0000-0000-0000-000000000010", "day": 20250128, "number": "7", "word": "a", "n": 1}');
SELECT * FROM load('typed');
SELECT day, number, word, right(id::text, 2) AS id, loaded, serial IS NOT NULL AS serial, ts AT TIME ZONE 'UTC' AS ts, body FROM typed ORDER BY id;
SELECT line, reason, detail, path FROM typed_quarantine ORDER BY line;

-- A length that a key column keeps to.
CREATE TABLE lengths (code varchar(3), id text, doc jsonb, PRIMARY KEY (code, id));
SELECT partitionkey.create_container('lengths', '{/code}');
CALL write('{"id": "1", "code": "abc"}', '{"id": "1", "code": "abcd"}');
SELECT * FROM load('lengths');
SELECT line, reason, detail, path FROM lengths_quarantine;

--
-- Paths
--

-- Names with blanks, dots, slashes and quotes; a column that holds the id as the last level.
CREATE TABLE "My ""Table""" ("a b.c" text, "d/e" text, id text, doc jsonb, PRIMARY KEY ("a b.c", "d/e", id));
SELECT partitionkey.create_container('"My ""Table"""', ARRAY['/a b.c', '/"d/e"', '/id'], '{2,2}', 'cosmos');
CALL write('{"id": "1", "a b.c": "x", "d/e": "y"}', '{"id": "1", "a b.c": "x", "d/e": "y", "f": 1}', '{"a b.c": "x", "d/e": "y"}');
SELECT * FROM load('"My ""Table"""');
TABLE "My ""Table""";
SELECT line, reason, detail, path FROM "My ""Table""_quarantine" ORDER BY line;

-- A quote in quotes.
CREATE TABLE quoted ("x "" y" text, id text, doc jsonb, PRIMARY KEY ("x "" y", id));
SELECT partitionkey.create_container('quoted', ARRAY['/"x \" y"']);
CALL write('{"id": "1", "x \" y": "a"}', '{"id": "2", "x \\\" y": "a"}');
SELECT * FROM load('quoted');
TABLE quoted;

-- A nested path: what it leads through may be missing, a scalar, an array or null; then it is undefined.
CREATE TABLE nested (pk jsonb, id text, doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('nested', '{/pk}');
UPDATE partitionkey.registry SET paths = '{/doc/pk}' WHERE container = 'nested'::regclass;
CALL write('{"id": "1", "doc": {"pk": "a"}}', '{"id": "2", "doc": {}}', '{"id": "3"}', '{"id": "4", "doc": 5}', '{"id": "5", "doc": null}',
    '{"id": "6", "doc": {"pk": null}}', '{"id": "7", "doc": [{"pk": "a"}]}', '{"id": "8", "doc": {"pk": {"pk": 1}}}', '{"id": "9", "pk": "a"}',
    '{"id": "10", "Doc": {"PK": 1}}');
SELECT * FROM load('nested');
SELECT pk, array_agg(id ORDER BY id) FROM nested GROUP BY pk ORDER BY pk;
SELECT line, reason, detail, path FROM nested_quarantine;

-- A path that begins as system properties do is no system property.
CREATE TABLE underscore (_partitionkey text, _ts int, id text, doc jsonb, PRIMARY KEY (_partitionkey, _ts, id));
SELECT partitionkey.create_container('underscore', '{/_partitionKey,/_ts}');
CALL write('{"id": "1", "_partitionKey": "A", "_rid": "r", "_ts": 1, "_self": "s", "_etag": "e", "_attachments": "a", "_lsn": 1, "_mine": 1}');
SELECT * FROM load('underscore');
TABLE underscore;
TRUNCATE underscore;
SELECT * FROM load('underscore', keep_system => true);
TABLE underscore;

-- System properties are taken out of items of any shape, and leave what jsonb's own operator leaves.
CREATE TABLE shape AS
    SELECT i, jsonb_build_object('id', i::text, 'country', 'shape', '_rid', repeat('r', i % 5), '_ts', i, '_etag', i * 1.5, '_lsn', jsonb_build_array(i), '_ridge', true)
        || (SELECT jsonb_object_agg('k' || j, CASE j % 4 WHEN 0 THEN to_jsonb(j * i) WHEN 1 THEN to_jsonb(repeat('x', j % 7)) WHEN 2 THEN jsonb_build_array(j, 'a') ELSE 'null' END)
            FROM generate_series(1, i) j) AS doc
    FROM generate_series(1, 70) i;
SELECT array_agg(doc::text ORDER BY i) AS documents FROM shape \gset
CALL write(VARIADIC :'documents');
SELECT * FROM load('shop');
SELECT count(*), count(*) FILTER (WHERE jsonb_send(shop.doc) = jsonb_send(shape.doc - '{_rid,_ts,_etag,_lsn}'::text[]))
FROM shop JOIN shape ON shop.country = 'shape' AND shop.id = shape.i::text;

--
-- Keys by expressions
--

CREATE TABLE synthetic (pk text, id text, doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('synthetic', '{/pk}');
CREATE FUNCTION month(doc jsonb) RETURNS text LANGUAGE sql RETURN to_char(to_timestamp((doc->>'_ts')::float8) AT TIME ZONE 'UTC', 'YYYY-MM');
CALL write('{"id": "1", "device": "a-b", "date": "c", "_ts": 1700000000}', '{"id": "1", "device": "a", "date": "b-c", "_ts": 1700000000}',
    '{"id": "2", "device": null, "_ts": 1700000000}', '{"id": "3", "device": "a", "_ts": "x"}');
SELECT * FROM load('synthetic', keys => ARRAY['partitionkey.synthetic_key(doc->>''device'', doc->>''date'') -- a comment']);
SELECT pk, id, doc FROM synthetic ORDER BY pk, id;
SELECT line, reason, detail FROM synthetic_quarantine ORDER BY line;
TRUNCATE synthetic, synthetic_quarantine;
SELECT * FROM load('synthetic', keys => ARRAY['import_test.month(doc)']);
SELECT pk, id FROM synthetic ORDER BY pk, id;
SELECT line, reason, detail FROM synthetic_quarantine ORDER BY line;
SELECT * FROM load('synthetic', keys => ARRAY['no_such_function(doc)']);
SELECT * FROM load('synthetic', keys => ARRAY['1); DROP TABLE synthetic; SELECT (1']);
SELECT * FROM load('synthetic', keys => ARRAY['1', '2']);
TRUNCATE mixed;
SELECT * FROM load('mixed', keys => ARRAY['doc->>''device''']);
SELECT pk, id FROM mixed ORDER BY id, pk;

--
-- What the table has of its own: constraints, triggers, row security, foreign keys
--

CREATE TABLE country (name text PRIMARY KEY);
INSERT INTO country VALUES ('Chile'), ('Peru');
CREATE TABLE guarded (country text REFERENCES country, id text, doc jsonb CHECK (doc->>'n' <> '13'), email text, PRIMARY KEY (country, id));
SELECT partitionkey.create_container('guarded', '{/country}', '{4}');
CREATE UNIQUE INDEX ON guarded (country, (doc->>'email')) NULLS NOT DISTINCT;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.doc->>'n' = '14' THEN RAISE 'not 14'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO country VALUES (NEW.id || ' was there'); RETURN NULL; END $$;
CREATE TRIGGER note AFTER INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION note();
CALL write('{"id": "1", "country": "Chile", "email": "a"}', '{"id": "2", "country": "Chile", "email": "a"}',
    '{"id": "3", "country": "Peru", "email": "a"}', '{"id": "4", "country": "Mali", "email": "b"}', '{"id": "5", "country": "Chile", "n": 13, "email": "c"}',
    '{"id": "6", "country": "Chile", "n": 14, "email": "d"}', '{"id": "1", "country": "Chile", "email": "e"}', '{"id": "7", "country": "Chile"}', '{"id": "8", "country": "Chile"}');
SELECT * FROM load('guarded');
SELECT country, id FROM guarded ORDER BY id;
SELECT line, reason FROM guarded_quarantine ORDER BY line;
SELECT name FROM country ORDER BY name;
DROP INDEX guarded_country_expr_idx;

-- Without a unique key nobody can tell what is there already.
CREATE TABLE keyless (country text NOT NULL, id text, doc jsonb);
SELECT partitionkey.create_container('keyless', '{/country}');
SELECT * FROM load('keyless', 'skip');
SELECT * FROM load('keyless');

-- No column for documents, or several.
CREATE TABLE bare (country text, id text, PRIMARY KEY (country, id));
SELECT partitionkey.create_container('bare', '{/country}');
SELECT * FROM load('bare');
ALTER TABLE bare ADD a jsonb, ADD b jsonb;
SELECT * FROM load('bare');

--
-- The rights of who loads
--

CREATE ROLE import_writer;
GRANT pg_read_server_files TO import_writer;
GRANT USAGE ON SCHEMA import_test TO import_writer;
GRANT INSERT ON shop TO import_writer;
TRUNCATE shop;
CALL write('{"id": "1", "country": "Chile"}', '{"id": "1", "country": "Chile"}', 'x', '{"id": "2", "country": "Peru"}');
SET ROLE import_writer;
SELECT * FROM load('shop');
SELECT * FROM load('mixed', max_faults => 0);
RESET ROLE;
-- Without faults no table is needed; a view can't name another one.
SELECT partitionkey.create_items_view('shop');
GRANT INSERT, SELECT ON shop_items TO import_writer;
CALL write('{"id": "1", "country": "Chile"}');
SET ROLE import_writer;
SELECT * FROM load('shop');
INSERT INTO shop_items VALUES ('{"id": "2", "country": "Chile"}');
INSERT INTO shop_items VALUES ('{"id": "3"}');
RESET ROLE;
SELECT country, id FROM shop ORDER BY id;
DROP VIEW shop_items;
TRUNCATE shop;
CALL write('{"id": "1", "country": "Chile"}', '{"id": "1", "country": "Chile"}', 'x', '{"id": "2", "country": "Peru"}');
CREATE TABLE shop_quarantine (file text, line bigint, byte_offset bigint, reason text, detail text, path text, item text, loaded_at timestamptz);
GRANT INSERT ON shop_quarantine TO import_writer;
SET ROLE import_writer;
SELECT * FROM load('shop');
SELECT * FROM load('shop', 'skip');
RESET ROLE;
SELECT line, reason FROM shop_quarantine ORDER BY line;
GRANT SELECT ON shop TO import_writer;
SET ROLE import_writer;
SELECT * FROM load('shop', 'skip');
SELECT * FROM load('shop', 'replace');
RESET ROLE;

-- A quarantine table that somebody else has put there may have triggers of his.
CREATE ROLE import_other;
ALTER TABLE shop_quarantine OWNER TO import_other;
SELECT * FROM load('shop', 'skip');
SELECT * FROM load('shop', 'skip', quarantine => 'shop_quarantine');
ALTER TABLE shop_quarantine OWNER TO CURRENT_USER;

-- Row security.
TRUNCATE shop, shop_quarantine;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON shop TO import_writer USING (true) WITH CHECK (country <> 'Peru');
SET ROLE import_writer;
SELECT * FROM load('shop');
RESET ROLE;
SELECT country, id FROM shop;
SELECT line, reason FROM shop_quarantine ORDER BY line;

-- Who may not read files of the server loads from the client.
REVOKE pg_read_server_files FROM import_writer;
SET ROLE import_writer;
SELECT * FROM load('shop');
SELECT * FROM load('shop', 'nonsense', quarantine => 'pg_tables');
RESET ROLE;
SELECT partitionkey.create_items_view('shop');
SELECT partitionkey.create_items_view('shop');
GRANT INSERT, SELECT ON shop_items TO import_writer;
TRUNCATE shop, shop_quarantine;
SET ROLE import_writer;
INSERT INTO shop_items VALUES ('{"id": "1", "country": "Chile", "_ts": 5}'), ('nothing'), (''), (NULL), ('{"id": "1", "country": "Chile"}'), ('{"id": "1", "country": "Peru"}') RETURNING doc;
TABLE shop_items;
RESET ROLE;
SELECT file, line, reason, item FROM shop_quarantine ORDER BY line;
\copy shop_items FROM stdin (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
{"id": "5", "country": "a, \"quoted\" one", "tab": "\t"}
{"id": "6", "country": "b"

{"id": "7", "country": "c"}
\.
SELECT country, id, doc, ts FROM shop WHERE ts IS NULL ORDER BY id;
SELECT file, line, reason, item FROM shop_quarantine WHERE loaded_at > (SELECT min(loaded_at) FROM shop_quarantine) ORDER BY line;

-- A view that replaces, under other names.
DROP VIEW shop_items;
SELECT partitionkey.create_items_view('shop', 'replace');
ALTER VIEW shop_items RENAME TO upsert;
ALTER TABLE shop RENAME TO store;
INSERT INTO upsert VALUES ('{"id": "7", "country": "c", "new": true}');
SELECT doc FROM store WHERE id = '7';
SELECT partitionkey.create_items_view('store', 'nothing');
SELECT partitionkey.create_items_view('upsert');
CREATE TRIGGER wrong BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION partitionkey.items_view_insert();
INSERT INTO store VALUES ('a', 'b', '{}');

COPY (SELECT WHERE false) TO PROGRAM 'rm import_test.json';
SET client_min_messages = warning;
DROP SCHEMA import_test CASCADE;
DROP ROLE import_writer, import_other;
