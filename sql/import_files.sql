-- Files that an import reads, and the table for what is wrong with their items.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA import_files;
SET search_path = import_files;
-- A file of just these bytes, in the server's directory.
CREATE PROCEDURE write(content bytea) LANGUAGE plpgsql AS $$
DECLARE
    object oid := lo_from_bytea(0, content);
BEGIN
    PERFORM lo_export(object, current_setting('data_directory') || '/import_files.json');
    PERFORM lo_unlink(object);
END $$;
-- ASCII in an encoding with so many zero bytes before and behind each character.
CREATE FUNCTION padded(content text, before int, behind int) RETURNS bytea LANGUAGE sql RETURN
    decode((SELECT string_agg(repeat('00', before) || to_hex(ascii(c)) || repeat('00', behind), '' ORDER BY n)
            FROM regexp_split_to_table(content, '') WITH ORDINALITY t(c, n)), 'hex');
CREATE TABLE shop (country text, id text, doc jsonb NOT NULL, PRIMARY KEY (country, id));
SELECT partitionkey.create_container('shop', '{/country}', '{1}');

-- UTF-32 is told, with and without a byte order mark; UTF-16 is read.
CALL write('\xFFFE0000' || padded('{"id": "1", "country": "Chile"}', 0, 3));
SELECT loaded FROM partitionkey.import_items('shop', 'import_files.json');
CALL write('\x0000FEFF' || padded('{"id": "1", "country": "Chile"}', 3, 0));
SELECT kind, name FROM partitionkey.inspect_export('import_files.json') WHERE kind = 'format';
CALL write(padded('{"id": "1", "country": "Chile"}', 0, 3));
SELECT loaded FROM partitionkey.import_items('shop', 'import_files.json');
CALL write(padded('{"id": "1", "country": "Chile"}', 3, 0));
SELECT loaded FROM partitionkey.import_items('shop', 'import_files.json');
CALL write('\xFFFE' || padded('{"id": "1", "country": "Chile"}', 0, 1));
SELECT loaded FROM partitionkey.import_items('shop', 'import_files.json');
CALL write(padded('{"id": "2", "country": "Chile"}', 1, 0));
SELECT loaded FROM partitionkey.import_items('shop', 'import_files.json');
CALL write('\xFFFE');
SELECT read FROM partitionkey.import_items('shop', 'import_files.json', max_faults => 0);

-- A path is the server's.
SELECT loaded FROM partitionkey.import_items('shop', 'no/such.json');

-- The quarantine table says what is in it.
CALL write('x');
SELECT quarantined FROM partitionkey.import_items('shop', 'import_files.json');
SELECT attname, col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'shop_quarantine'::regclass AND attnum > 0 ORDER BY attnum;

-- A definition with a byte order mark, as psql gives it of a file.
SELECT partitionkey.create_container_from_definition(E'\uFEFF{"id": "marked", "partitionKey": {"paths": ["/pk"], "version": 2}}', partitions => '{1}');
SELECT partitionkey.create_container_from_definition('{"id": "a", }');
SELECT partitionkey.create_container_from_definition(definition => NULL);

COPY (SELECT WHERE false) TO PROGRAM 'rm import_files.json';
DROP SCHEMA import_files CASCADE;
