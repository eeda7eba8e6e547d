-- Values of an import: a column keeps them as they are, whether they come by path or by an expression.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE SCHEMA import_values;
SET search_path = import_values;
CREATE PROCEDURE write(VARIADIC lines text[]) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY (SELECT unnest(%L::text[])) TO %L (FORMAT csv, QUOTE E''\x01'', DELIMITER E''\x02'')',
        lines, current_setting('data_directory') || '/import_values.json');
END $$;
CREATE FUNCTION load(container regclass, keys text[] DEFAULT NULL, on_conflict text DEFAULT 'quarantine', generate_ids boolean DEFAULT false,
    OUT read bigint, OUT loaded bigint, OUT skipped bigint, OUT reasons jsonb) LANGUAGE sql AS $$
    SELECT read, loaded, skipped, reasons
    FROM partitionkey.import_items($1, 'import_values.json', $3, keys => $2, generate_ids => $4)
$$;
-- Load JSON scalars into a key column of a type: which are kept, and as what, and why the others are not.
CREATE FUNCTION try(type text, VARIADIC scalars text[], OUT scalar text, OUT kept text, OUT reason text, OUT detail text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    lines text[] := (SELECT array_agg(format('{"id": "%s", "pk": %s}', n, s) ORDER BY n) FROM unnest(scalars) WITH ORDINALITY x(s, n));
BEGIN
    EXECUTE format('CREATE TABLE tried (pk %s, id text, doc jsonb, PRIMARY KEY (pk, id))', type);
    PERFORM partitionkey.create_container('tried', '{/pk}', '{2}', 'cosmos');
    CALL write(VARIADIC lines);
    PERFORM load('tried');
    CREATE TABLE IF NOT EXISTS tried_quarantine (line bigint, reason text, detail text);
    RETURN QUERY SELECT s, t.pk::text, q.reason, q.detail FROM unnest(scalars) WITH ORDINALITY x(s, n)
        LEFT JOIN tried t ON t.id = n::text LEFT JOIN tried_quarantine q ON q.line = n ORDER BY n;
    DROP TABLE tried, tried_quarantine;
END $$;

--
-- Types that take more than they keep
--

SELECT * FROM try('numeric(5,2)', '1.239', '1.24', '1.240', '0.001', '1234.5', '7');
SELECT * FROM try('numeric', '1.239', '1e400', '0.1');
SELECT * FROM try('varchar(3)', '"abc"', '"abc  "', '"ab "', '"abcd"', '"日本語"');
SELECT * FROM try('real', '0.5', '0.1', '0.100000001', '16777217', '1e39');
SELECT * FROM try('double precision', '0.5', '0.1', '1e308');
SELECT * FROM try('date', '"2025-01-28"', '"20250128"', '"today"', '"now"', '"infinity"', '"2025-01-28T10:00:00Z"', '"2025-01-28T00:00:00Z"',
    '"2025-01-28T00:00:00+02:00"', '"Jan 28 2025"', '"01/02/2025"', '"01-02-2025"');
SELECT * FROM try('timestamptz', '"2025-01-28T10:00:00.0000000Z"', '"2025-01-28T10:00:00.1234567Z"', '"2025-01-28T10:00:00.123456+02:00"',
    '"now"', '"2025-01-28 tomorrow"', '"2025-01-28"');
SELECT * FROM try('timestamptz(0)', '"2025-01-28T10:00:00.000Z"', '"2025-01-28T10:00:00.5Z"');
SELECT * FROM try('timestamp', '"2025-01-28T10:00:00Z"', '"2025-01-28T10:00:00+02:00"', '"2025-01-28T10:00:00.25"', '"2025-01-28T08:00:00-00"');
SELECT * FROM try('uuid', '"00000000-0000-0000-0000-00000000000a"', '"00000000-0000-0000-0000-00000000000B"');
-- Of 2^53 and the number behind it Cosmos DB makes one key, bigint two; the load tells so.
SET client_min_messages = notice;
CREATE TABLE wide (pk bigint, id text, doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('wide', '{/pk}', '{2}', 'cosmos');
CALL write('{"id": "1", "pk": 9007199254740992}', '{"id": "2", "pk": 9007199254740993}');
SELECT * FROM load('wide');
SELECT pk, id FROM wide ORDER BY pk;
SELECT * FROM load('wide', ARRAY['(doc->>''pk'')::bigint + 2']);
SET client_min_messages = warning;
-- The id is no exception.
CREATE TABLE ids (pk text, id varchar(4), doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('ids', '{/pk}', '{2}', 'cosmos');
CALL write('{"id": "abcd", "pk": "a"}', '{"id": "abcd ", "pk": "a"}', '{"id": "abcde", "pk": "a"}', '{"id": "abc ", "pk": "a"}');
SELECT * FROM load('ids');
SELECT line, reason, path, detail FROM ids_quarantine ORDER BY line;
CREATE TABLE padded (pk text, id char(4), doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('padded', '{/pk}', '{2}', 'cosmos');
CALL write('{"id": "ab", "pk": "a"}', '{"id": "ab ", "pk": "a"}', '{"id": "abcd", "pk": "a"}');
SELECT * FROM load('padded');
SELECT line, reason, path, detail FROM padded_quarantine ORDER BY line;

--
-- Keys by expressions are held to the same
--

SELECT partitionkey.create_container_from_definition('{"id": "mixed", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}', key_types => '{jsonb}');
SELECT partitionkey.create_container_from_definition('{"id": "texts", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}');
CALL write('{"id": "1", "n": 9007199254740993}', '{"id": "2", "n": 1e400}', '{"id": "3"}', '{"id": "4", "n": null}', '{"id": "5", "n": "x"}',
    '{"id": "6", "n": [1]}', '{"id": "7", "n": {}}');
SELECT * FROM load('mixed', '{doc->''n''}');
SELECT pk, id, partitionkey.epk_of('mixed', jsonb_build_array(pk)) IS NOT NULL AS epk FROM mixed ORDER BY id;
SELECT line, reason, path, detail FROM mixed_quarantine ORDER BY line;
SELECT * FROM load('texts', '{doc->''n''}');
SELECT pk, id FROM texts ORDER BY id;
SELECT line, reason, path, detail FROM texts_quarantine ORDER BY line;
TRUNCATE mixed, mixed_quarantine, texts, texts_quarantine;
CALL write('{"id": "1", "n": 5}');
-- A literal; numbers that are no JSON yet; a text that is a number; what SQL calls NULL.
SELECT * FROM load('mixed', ARRAY['''const''']);
SELECT * FROM load('mixed', ARRAY['1e400::numeric']);
SELECT * FROM load('mixed', ARRAY['9007199254740993']);
SELECT * FROM load('mixed', ARRAY['''NaN''::float8']);
SELECT * FROM load('mixed', ARRAY['NULL']);
SELECT * FROM load('mixed', ARRAY['repeat(''x'', 3000)']);
SELECT pk, id FROM mixed ORDER BY pk;
SELECT reason, path, detail FROM mixed_quarantine ORDER BY ctid;
SELECT * FROM load('texts', ARRAY['(doc->>''n'')::int + 1']);
SELECT * FROM load('texts', ARRAY['NULL']);
SELECT pk, id FROM texts ORDER BY pk;
SELECT reason, path, detail FROM texts_quarantine ORDER BY ctid;
CREATE TABLE fitted (day date, name varchar(3), n int, id text, doc jsonb, PRIMARY KEY (day, name, n, id));
SELECT partitionkey.create_container('fitted', '{/day,/name,/n}', '{2,1,1}', 'cosmos');
CALL write('{"id": "1", "at": "2025-01-28T00:00:00Z", "n": "5"}', '{"id": "2", "at": "2025-01-28T10:00:00Z", "n": "5"}', '{"id": "3", "at": "2025-01-28T00:00:00Z", "n": "five"}');
SELECT * FROM load('fitted', ARRAY['doc->>''at''', '''abc''', 'doc->>''n''']);
SELECT * FROM load('fitted', ARRAY['(doc->>''at'')::date', '''abcd''', '5']);
SELECT * FROM load('fitted', ARRAY['(doc->>''at'')::date', 'doc->>''id''', '7.5']);
SELECT * FROM load('fitted', ARRAY['(doc->>''at'')::date', 'doc->>''id''', '7.0']);
SELECT day, name, n, id FROM fitted ORDER BY id, name;
SELECT line, reason, path, detail FROM fitted_quarantine ORDER BY ctid;

--
-- What is no expression over an item
--

SELECT * FROM load('texts', ARRAY['1), (''a''']);
SELECT * FROM load('texts', ARRAY['count(*)']);
SELECT * FROM load('texts', ARRAY['(SELECT count(*) FROM pg_class WHERE relname = ''texts'')']);
SELECT * FROM load('texts', ARRAY['rank() OVER ()']);
SELECT * FROM load('texts', ARRAY['unnest(ARRAY[''a'', ''b''])']);
SELECT * FROM load('texts', ARRAY['unnest(ARRAY[]::text[])']);
SELECT * FROM load('texts', ARRAY['1) AS k0 UNION SELECT (2']);
SELECT reasons FROM load('mixed', ARRAY['item']);
SELECT * FROM load('texts', ARRAY['']);
SELECT * FROM load('fitted', ARRAY['1), (2', NULL, NULL]);

--
-- Errors of expressions and defaults
--

-- One that looks like a duplicate is the expression's own.
CREATE FUNCTION fail() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE unique_violation USING MESSAGE = 'no value', SCHEMA = 'import_values', TABLE = 'texts', CONSTRAINT = 'texts_pkey';
END $$;
TRUNCATE texts, texts_quarantine;
SELECT * FROM load('texts', ARRAY['fail()'], 'error');
SELECT * FROM load('texts', ARRAY['fail()'], 'skip');
SELECT reason, path, detail FROM texts_quarantine ORDER BY ctid LIMIT 1;
-- The default of ts sees tables in each transaction, and what it raises is about the item.
CREATE TABLE clock (at timestamptz);
INSERT INTO clock VALUES ('2025-01-28');
CREATE FUNCTION clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM import_values.clock';
CREATE TABLE timed (pk text, id text, doc jsonb, ts timestamptz DEFAULT clock(), PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('timed', '{/pk}', '{2}', 'cosmos');
CALL write('{"id": "1", "pk": "a"}', '{"id": "2", "pk": "a"}', '{"id": "3", "pk": "a", "_ts": 0}', '{"id": "4", "pk": "b"}');
CALL partitionkey.import_items_in_batches('timed', 'import_values.json', batch_items => 1) \gset
SELECT id, ts FROM timed ORDER BY id;
CREATE SEQUENCE ticks;
CREATE FUNCTION tick() RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    RETURN to_timestamp(1000 / (nextval('import_values.ticks') % 2));
END $$;
ALTER TABLE timed ALTER ts SET DEFAULT tick();
TRUNCATE timed;
CALL partitionkey.import_items_in_batches('timed', 'import_values.json', batch_items => 1) \gset
SELECT id, ts FROM timed ORDER BY id;
SELECT line, reason, detail FROM timed_quarantine ORDER BY line;
-- A time that is finer than the column.
CREATE TABLE seconds (pk text, id text, doc jsonb, ts timestamptz(0), PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('seconds', '{/pk}', '{2}', 'cosmos');
CALL write('{"id": "1", "pk": "a", "_ts": 1.25}');
SELECT * FROM load('seconds');
SELECT id, ts FROM seconds;

--
-- Rows that a trigger leaves out are no duplicates
--

CREATE TABLE chosen (pk text, id text, doc jsonb, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('chosen', '{/pk}', '{2}', 'cosmos');
CREATE FUNCTION choose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN NEW.doc ? 'out' THEN NULL ELSE NEW END;
END $$;
CREATE TRIGGER choose BEFORE INSERT ON chosen FOR EACH ROW EXECUTE FUNCTION choose();
CALL write('{"id": "1", "pk": "a"}', '{"id": "2", "pk": "a", "out": 1}', '{"id": "1", "pk": "a"}', '{"id": "3", "pk": "a", "out": 1}', '{"id": "4", "pk": "b"}');
SELECT * FROM load('chosen');
SELECT line, reason, detail FROM chosen_quarantine ORDER BY line;
SELECT id FROM chosen ORDER BY id;
SELECT * FROM load('chosen', on_conflict => 'skip');
SELECT * FROM load('chosen', on_conflict => 'error');
CALL write('{"id": "5", "pk": "a"}', '{"id": "2", "pk": "a", "out": 1}', '{"id": "6", "pk": "b"}');
SELECT * FROM load('chosen', on_conflict => 'error');
TRUNCATE chosen;
CREATE UNIQUE INDEX ON chosen (pk, (doc->'n')) WHERE doc ? 'n';
CALL write('{"id": "1", "pk": "a", "n": 1}', '{"id": "2", "pk": "a", "out": 1}', '{"id": "3", "pk": "a", "n": 1}');
SELECT * FROM load('chosen', on_conflict => 'error');

--
-- The trigger of an items view on another view
--

CREATE VIEW numbers AS SELECT 1::int8 AS doc FROM texts;
CREATE TRIGGER begins BEFORE INSERT ON numbers FOR EACH STATEMENT EXECUTE FUNCTION partitionkey.items_view_insert();
CREATE TRIGGER inserts INSTEAD OF INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION partitionkey.items_view_insert();
INSERT INTO numbers VALUES (12345678901);
CREATE VIEW nothing AS SELECT FROM texts;
CREATE TRIGGER begins BEFORE INSERT ON nothing FOR EACH STATEMENT EXECUTE FUNCTION partitionkey.items_view_insert();
CREATE TRIGGER inserts INSTEAD OF INSERT ON nothing FOR EACH ROW EXECUTE FUNCTION partitionkey.items_view_insert();
INSERT INTO nothing DEFAULT VALUES;

--
-- What is named after a container with a long name is not another one's
--

SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/pk"], "version": 2}}', repeat('n', 62) || 'a');
SELECT partitionkey.create_container_from_definition('{"id": "x", "partitionKey": {"paths": ["/pk"], "version": 2}}', repeat('n', 62) || 'b');
CALL write('{"id": "1"}');
SELECT read, loaded FROM load((repeat('n', 62) || 'a')::regclass);
SELECT read, loaded FROM load((repeat('n', 62) || 'b')::regclass);
SELECT partitionkey.create_items_view((repeat('n', 62) || 'a')::regclass) <> partitionkey.create_items_view((repeat('n', 62) || 'b')::regclass) AS two;
SELECT regexp_replace(relname, '_[0-9a-f]{8}_', '_xxxxxxxx_') AS name, count(DISTINCT relname) FROM pg_class
    WHERE relnamespace = 'import_values'::regnamespace AND relname ~ '^n+_.*(items|quarantine)$' GROUP BY 1 ORDER BY min(relname::text COLLATE "C");
SELECT * FROM partitionkey.import_items('texts', 'import_values.json', quarantine => repeat('q', 64));

--
-- Items with very many properties, and numbers that are no keys
--

CREATE TABLE wide_items (item jsonb);
INSERT INTO wide_items SELECT jsonb_object_agg('k' || p, 1) || '{"below": {"Pk": 1}}' || jsonb_build_object('id', i::text)
    FROM generate_series(1, 20) i, generate_series(1, 20000) p GROUP BY i;
COPY wide_items TO '/tmp/import_values_wide.json';
SET statement_timeout = '60s';
SELECT read, reasons FROM partitionkey.import_items('texts', '/tmp/import_values_wide.json');
SELECT kind, count(*) FROM partitionkey.inspect_export('/tmp/import_values_wide.json', '{/pk}') GROUP BY kind ORDER BY kind COLLATE "C";
RESET statement_timeout;
COPY (SELECT WHERE false) TO PROGRAM 'rm /tmp/import_values_wide.json';
CALL write('{"id": "1", "pk": 1e400}', '{"id": "2", "pk": -1e400}', '{"id": "3", "pk": 5}');
SELECT items, types, distinct_keys, largest_key, key_types, note FROM partitionkey.inspect_export('import_values.json', '{/pk}') WHERE kind = 'path';

COPY (SELECT WHERE false) TO PROGRAM 'rm import_values.json';
DROP SCHEMA import_values CASCADE;
