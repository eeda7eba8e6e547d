-- Comparing a container with the export that it was loaded from, with the options of the load.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA verify_import;
SET search_path = verify_import;
CREATE PROCEDURE write(VARIADIC lines text[]) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY (SELECT unnest(%L::text[])) TO %L (FORMAT csv, QUOTE E''\x01'', DELIMITER E''\x02'')',
        lines, current_setting('data_directory') || '/verify_import.json');
END $$;
CREATE FUNCTION load(container regclass, keys text[] DEFAULT NULL, generate_ids boolean DEFAULT false, keep_system boolean DEFAULT false,
    OUT read bigint, OUT loaded bigint, OUT reasons jsonb) LANGUAGE sql AS $$
    SELECT read, loaded, reasons FROM partitionkey.import_items($1, 'verify_import.json', keys => $2, generate_ids => $3, keep_system => $4)
$$;
-- The checksums are no figures to be kept.
CREATE FUNCTION compare(container regclass, keys text[] DEFAULT NULL, keep_system boolean DEFAULT false,
    OUT key jsonb, OUT source_items bigint, OUT container_items bigint, OUT same boolean, OUT difference text, OUT source_without_id bigint)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT key, source_items, container_items, source_checksum = container_checksum, difference, source_without_id
    FROM partitionkey.verify_import($1, 'verify_import.json', $2, $3)
    ORDER BY key
$$;

--
-- Keys by expressions
--

CREATE TABLE events (month text, device jsonb, id text, doc jsonb NOT NULL, ts timestamptz, PRIMARY KEY (month, device, id));
SELECT partitionkey.create_container('events', '{/month,/device}', '{2,2}');
CREATE FUNCTION month(doc jsonb) RETURNS text LANGUAGE sql RETURN to_char(to_timestamp((doc->>'_ts')::float8) AT TIME ZONE 'UTC', 'YYYY-MM');
-- The month is of _ts, which the stored documents don't have; an item has a month of its own, which doesn't count.
CALL write('{"id": "1", "device": "a", "_ts": 1700000000}', '{"id": "2", "device": "a", "_ts": 1700000001}', '{"id": "3", "device": 7, "_ts": 1710000000}',
    '{"id": "4", "device": 7, "_ts": 1720000000, "month": "never"}', '{"id": "5", "_ts": 1700000000}', '{"id": "6", "device": "b"}', '{"id": "7", "device": "b", "_ts": "x"}', 'x');
SELECT * FROM load('events', '{month(doc),NULL}');
SELECT month, device, id FROM events ORDER BY id;
SELECT * FROM compare('events', '{month(doc),NULL}');
-- Another expression tells another key, and without one the key is what the paths say.
SELECT * FROM compare('events', '{left(month(doc)\,4),NULL}');
SELECT * FROM compare('events');
UPDATE events SET doc = doc || '{"new": 1}' WHERE id = '2';
DELETE FROM events WHERE id = '4';
SELECT * FROM compare('events', '{month(doc),NULL}');
SELECT * FROM compare('events', '{month(doc)}');
SELECT * FROM compare('events', '{no_such_function(doc),NULL}');
SELECT * FROM compare('events', ARRAY['1); DROP TABLE events; SELECT (1', NULL]);
-- An error that tells nothing about an item ends it.
CREATE FUNCTION forbidden(doc jsonb) RETURNS text LANGUAGE sql AS $$ SELECT rolpassword FROM pg_authid LIMIT 1 $$;
CREATE ROLE verify_import_reader;
GRANT pg_read_server_files TO verify_import_reader;
GRANT USAGE ON SCHEMA verify_import TO verify_import_reader;
GRANT SELECT ON events TO verify_import_reader;
SET ROLE verify_import_reader;
SELECT * FROM compare('events', '{forbidden(doc),NULL}');
SELECT count(*) FROM compare('events', '{month(doc),NULL}');
RESET ROLE;

--
-- Ids that were made, and system properties
--

CREATE TABLE shop (country text, id text, doc jsonb NOT NULL, ts timestamptz, PRIMARY KEY (country, id));
SELECT partitionkey.create_container('shop', '{/country}', '{4}', 'cosmos');
CALL write('{"country": "Chile", "n": 1}', '{"country": "Chile", "id": null, "n": 2}', '{"country": "Chile", "id": "3"}', '{"country": "Peru", "id": "4", "_etag": "x", "_ts": 5}');
SELECT * FROM load('shop', generate_ids => true);
SELECT * FROM compare('shop');
UPDATE shop SET doc = doc || '{"id": "5"}', id = '5' WHERE id = '4';
SELECT * FROM compare('shop');
-- Without generate_ids they have not been loaded.
TRUNCATE shop;
SELECT * FROM load('shop');
SELECT * FROM compare('shop');
-- System properties count where they have been kept.
TRUNCATE shop;
SELECT * FROM load('shop', generate_ids => true, keep_system => true);
SELECT * FROM compare('shop');
SELECT * FROM compare('shop', keep_system => true);
UPDATE shop SET doc = doc || '{"_etag": "y"}' WHERE id = '4';
SELECT * FROM compare('shop');
SELECT * FROM compare('shop', keep_system => true);

--
-- Columns: the id, the time, and keys that are written in several ways
--

SELECT partitionkey.create_container_from_definition('{"id": "g1", "partitionKey": {"paths": ["/pk"], "version": 2}}');
CALL write('{"id": "1", "pk": "a", "_ts": 1700000000}', '{"id": "2", "pk": "a", "_ts": 1700000001}', '{"id": "3", "pk": "b"}', '{"id": "4", "pk": "b", "_ts": 1700000003}');
SELECT * FROM load('g1');
SELECT * FROM compare('g1');
-- which would give rows the time of these changes
ALTER TABLE g1 DISABLE TRIGGER partitionkey_etag;
UPDATE g1 SET id = 'zzz' WHERE id = '3';
SELECT * FROM compare('g1');
UPDATE g1 SET id = '3' WHERE id = 'zzz';
-- A time counts where both sides have one; those of two items can't be exchanged.
UPDATE g1 SET ts = now() WHERE id = '3';
UPDATE g1 SET ts = NULL WHERE id = '4';
SELECT * FROM compare('g1');
UPDATE g1 SET ts = to_timestamp(1700000003 - id::int) WHERE id IN ('1', '2');
SELECT * FROM compare('g1');
UPDATE g1 SET ts = to_timestamp(1700000000 + id::int - 1) WHERE id IN ('1', '2');
SELECT * FROM compare('g1');
-- An item without an id does not hide what has become of the others.
TRUNCATE g1;
CALL write('{"id": "1", "pk": "a", "n": 1}', '{"pk": "a", "n": 2}', '{"id": "3", "pk": "a", "n": 3}');
SELECT * FROM load('g1', generate_ids => true);
SELECT * FROM compare('g1');
UPDATE g1 SET id = '4', doc = doc || '{"id": "4"}' WHERE id = '1';
SELECT * FROM compare('g1');
UPDATE g1 SET id = '1', doc = doc || '{"id": "1"}' WHERE id = '4';
UPDATE g1 SET doc = doc || '{"n": 5}' WHERE doc->'n' = '2';
SELECT * FROM compare('g1');
-- Keys and ids that columns write in their own way; a number that is no key.
CREATE TABLE written (u uuid, d date, t timestamptz, id uuid, doc jsonb, PRIMARY KEY (u, d, t, id));
SELECT partitionkey.create_container('written', '{/u,/d,/t}', '{2,1,1}', 'cosmos');
CALL write('{"id": "AAAAAAAA-0000-0000-0000-000000000001", "u": "ABCDEFAB-0000-0000-0000-00000000000F", "d": "20250128", "t": "2025-01-28T10:00:00.0000000Z"}',
    '{"id": "AAAAAAAA-0000-0000-0000-000000000002", "u": "ABCDEFAB-0000-0000-0000-00000000000F", "d": "2025-01-28", "t": "2025-01-28T12:00:00+02:00"}');
SELECT * FROM load('written');
SELECT * FROM compare('written');
SELECT partitionkey.create_container_from_definition('{"id": "numbers", "partitionKey": {"paths": ["/n"], "version": 2}}', key_types => '{double precision}');
CALL write('{"id": "1", "n": 1e400}', '{"id": "2", "n": 4.20}', '{"id": "3", "n": 9007199254740993}', '{"id": "4", "n": "x"}', '{"id": "5", "n": []}');
SELECT * FROM load('numbers');
SELECT * FROM compare('numbers');

SELECT * FROM partitionkey.verify_import(NULL, 'verify_import.json');
SELECT * FROM partitionkey.verify_import('shop', NULL);
SELECT * FROM partitionkey.verify_import('shop', 'verify_import.json', keep_system => NULL);

COPY (SELECT WHERE false) TO PROGRAM 'rm verify_import.json';
DROP SCHEMA verify_import CASCADE;
DROP ROLE verify_import_reader;
