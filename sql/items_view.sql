-- The view <container>_items: what files of the client may look like, and what else can be done with it.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA items_view;
SET search_path = items_view;
-- A file of just these bytes, in the server's directory.
CREATE PROCEDURE write(content text) LANGUAGE plpgsql AS $$
DECLARE
    object oid := lo_from_bytea(0, convert_to(content, 'UTF8'));
BEGIN
    PERFORM lo_export(object, current_setting('data_directory') || '/items_view.json');
    PERFORM lo_unlink(object);
END $$;
RESET client_min_messages;
SELECT partitionkey.create_container_from_definition('{"id": "Shop", "partitionKey": {"paths": ["/country"], "version": 2}}', partitions => '{2}');
\set load 'COPY shop_items FROM ''items_view.json'' (FORMAT csv, QUOTE E''\\x01'', DELIMITER E''\\x02'');'

--
-- Files
--

-- NDJSON with a byte order mark, CRLF and blank lines.
CALL write(E'\uFEFF{"id": "1", "country": "Chile"}\r\n\r\n{"id": "2", "country": "Peru"}\r\n  \r\n');
:load
-- An array with an item on each line, as many tools write it.
CALL write(E'\uFEFF[\r\n{"id": "3", "country": "Chile"},\r\n\r\n  {"id": "4", "country": "Peru", "a": [{"b": 1}]} ,\r\n{"id": "5", "country": "Peru"}\r\n]\r\n');
:load
CALL write(E'[{"id": "6", "country": "Chile"},\n{"id": "7", "country": "Peru", "a": []},\n{"id": "8", "country": "a, b]"}]\n');
:load
CALL write(E'[{"id": "9", "country": "Chile"}\n,{"id": "10", "country": "Peru"}\n,{"id": "11", "country": "Peru"}\n]\n');
:load
CALL write(E'[]\n');
:load
CALL write('');
:load
SELECT country, array_agg(id ORDER BY id::int) FROM shop GROUP BY country ORDER BY country;
SELECT to_regclass('shop_quarantine');

-- Faults in such files are told at the end, once, with the numbers of the lines.  What looks like the end of the array is none.
CALL write(E'[\n{"id": "20", "country": "Chile", "a": [{"b": 1}],\n{"id": "21", "country": "Peru"},\nnothing,\n{"id": 22, "country": "Peru"},\n{"id": "23"},\n{"id": "24", "country": "Chile", "a": [{"b": 1}]\n{"id": 25, "country": "Peru"}\n]\n');
:load
SELECT line, reason, item FROM shop_quarantine ORDER BY line;
SELECT id FROM shop WHERE id::int >= 20;
-- A statement without faults says nothing, nor one without rows.
INSERT INTO shop_items VALUES ('{"id": "30", "country": "Chile"}');
INSERT INTO shop_items SELECT item FROM shop_quarantine WHERE false;
INSERT INTO shop_items VALUES ('[1, 2]'), ('"x"'), (','), (']'), ('  '), (NULL);

-- Formats that are something else.
CALL write(E'[\n  {\n    "id": "40",\n    "country": "Chile"\n  }\n]\n');
:load
CALL write(E'[{\n    "id": "40"}]\n');
:load
CALL write(E'{"id": "39", "country": "Chile"}\n\n[{"id": "40", "country": "Chile"},{"id": "41", "country": "Chile"}]\n');
:load
CALL write(E'[{"id": "40", "country": "Chile"}, {"id": "41", "country": "Chile"},\n{"id": "42", "country": "Chile"}]\n');
:load
CALL write(E'{"id": "40", "country": "Chile"} {"id": "41", "country": "Chile"}\n');
:load
SELECT count(*) FROM shop WHERE id::int >= 39;

-- Statements within statements, and those that fail, keep apart.
TRUNCATE shop_quarantine;
SELECT partitionkey.create_container_from_definition('{"id": "Other", "partitionKey": {"paths": ["/country"], "version": 2}}', partitions => '{1}');
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop_items VALUES ('from other'), (NEW.doc::text);
    RETURN NULL;
END $$;
CREATE TRIGGER pass AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION pass();
WITH x AS (INSERT INTO shop_items VALUES ('x') RETURNING 1) INSERT INTO other_items VALUES ('y'), ('{"id": "50", "country": "Chile"}');
DO $$
BEGIN
    INSERT INTO shop_items VALUES ('z'), ('{');
EXCEPTION WHEN bad_copy_file_format THEN
    INSERT INTO shop_items VALUES ('{"id": "51", "country": "Chile"}'), ('u');
END $$;
SELECT line, item FROM shop_quarantine ORDER BY item;
SELECT id FROM shop WHERE id::int >= 50 ORDER BY id;

--
-- Other statements
--

DELETE FROM shop_items WHERE doc::jsonb->>'id' IN ('50', '51', '52');
SELECT count(*) FROM shop WHERE id::int >= 50;
UPDATE shop_items SET doc = '{"id": "1", "country": "Peru"}' WHERE doc::jsonb->>'id' = '1';
INSERT INTO shop_items VALUES ('{"id": "1", "country": "Chile", "n": 1}');
-- What is done with items that are there can be changed.
CREATE ROLE items_view_writer;
GRANT SELECT ON shop_items TO items_view_writer;
SELECT partitionkey.create_items_view('shop', 'replace');
INSERT INTO shop_items VALUES ('{"id": "1", "country": "Chile", "n": 1}');
SELECT doc FROM shop_items WHERE doc::jsonb ? 'n';
SELECT has_table_privilege('items_view_writer', 'shop_items', 'SELECT');

--
-- With the container
--

CREATE TABLE taken_items ();
SELECT partitionkey.create_container_from_definition('{"id": "taken", "partitionKey": {"paths": ["/country"], "version": 2}}', partitions => '{1}');
SELECT partitionkey.create_items_view('taken');
-- They go together.
CREATE VIEW chile AS SELECT * FROM shop_items WHERE doc::jsonb->>'country' = 'Chile';
CALL partitionkey.drop_container('shop');
DROP TABLE shop;
DROP VIEW chile;
ALTER VIEW shop_items RENAME TO upsert;
SELECT partitionkey.create_items_view('shop');
CALL partitionkey.drop_container('shop');
SELECT to_regclass('shop'), to_regclass('shop_items'), to_regclass('upsert');
DROP TABLE other;
SELECT to_regclass('other'), to_regclass('other_items');

COPY (SELECT WHERE false) TO PROGRAM 'rm items_view.json';
SET client_min_messages = warning;
DROP SCHEMA items_view CASCADE;
DROP ROLE items_view_writer;
