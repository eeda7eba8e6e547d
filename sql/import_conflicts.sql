-- Items that are there already, and those that break a unique key.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA import_conflicts;
SET search_path = import_conflicts;
CREATE PROCEDURE write(VARIADIC lines text[]) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('COPY (SELECT unnest(%L::text[])) TO %L (FORMAT csv, QUOTE E''\x01'', DELIMITER E''\x02'')',
        lines, current_setting('data_directory') || '/import_conflicts.json');
END $$;
CREATE FUNCTION load(container regclass, on_conflict text DEFAULT 'quarantine', keys text[] DEFAULT NULL,
    OUT read bigint, OUT loaded bigint, OUT replaced bigint, OUT skipped bigint, OUT reasons jsonb) LANGUAGE sql AS $$
    SELECT read, loaded, replaced, skipped, reasons
    FROM partitionkey.import_items($1, 'import_conflicts.json', $2, keys => $3)
$$;

--
-- Unique keys: the container's index and the paths are told, not the leaf's
--

SELECT partitionkey.create_container_from_definition('{"id": "People", "partitionKey": {"paths": ["/Country", "/city"], "kind": "MultiHash", "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/name/first", "/name/last name"]}]}}', partitions => '{2,2}');
CALL write('{"id": "1", "Country": "Chile", "city": "a", "email": "x", "name": {"first": "A", "last name": "B"}}',
    '{"id": "2", "Country": "Chile", "city": "a", "email": "x", "name": {"first": "C", "last name": "D"}}',
    '{"id": "3", "Country": "Chile", "city": "a", "email": "y", "name": {"first": "A", "last name": "B"}}',
    '{"id": "4", "Country": "Chile", "city": "b", "email": "x", "name": {"first": "A", "last name": "B"}}',
    '{"id": "5", "Country": "Chile", "city": "c"}',
    '{"id": "6", "Country": "Chile", "city": "c", "email": null, "name": null}',
    '{"id": "1", "Country": "Chile", "city": "a", "email": "z"}');
SELECT * FROM load('people');
SELECT line, reason, path, detail FROM people_quarantine ORDER BY line;
SELECT id FROM people ORDER BY id;
-- Whatever is to be done with items that are there, breaking a unique key is a fault.
TRUNCATE people_quarantine;
SELECT * FROM load('people', 'replace');
SELECT line, reason, path FROM people_quarantine ORDER BY line;
TRUNCATE people, people_quarantine;
CALL write('{"id": "1", "Country": "Chile", "city": "a", "email": "x"}', '{"id": "2", "Country": "Chile", "city": "a", "email": "x"}');
SELECT * FROM load('people', 'error');
CALL write('{"id": "1", "Country": "Chile", "city": "a", "email": "w"}');
SELECT * FROM load('people', 'error');
-- Through the view.
SELECT partitionkey.create_items_view('people');
INSERT INTO people_items VALUES ('{"id": "8", "Country": "Chile", "city": "a", "email": "x"}');
SELECT reason, path, detail FROM people_quarantine ORDER BY loaded_at DESC LIMIT 1;
-- The partition key alone; an index of a leaf alone.
SELECT partitionkey.create_container_from_definition('{"id": "singles", "partitionKey": {"paths": ["/pk"], "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/pk"]}]}}', partitions => '{1}');
CALL write('{"id": "1", "pk": "a"}', '{"id": "2", "pk": "a"}', '{"id": "3", "pk": "b", "n": 1}', '{"id": "4", "pk": "c", "n": 1}');
SELECT partition AS leaf FROM partitionkey.physical_partitions WHERE container = 'singles'::regclass \gset
CREATE UNIQUE INDEX leaf_n ON :leaf ((doc->'n'));
SELECT * FROM load('singles');
SELECT line, reason, path, detail FROM singles_quarantine ORDER BY line;
-- Who may not read the columns is told of duplicates as well.
CREATE ROLE import_conflicts_writer;
GRANT pg_read_server_files TO import_conflicts_writer;
GRANT USAGE ON SCHEMA import_conflicts TO import_conflicts_writer;
GRANT INSERT ON people, people_quarantine TO import_conflicts_writer;
TRUNCATE people, people_quarantine;
CALL write('{"id": "1", "Country": "Chile", "city": "a", "email": "x"}', '{"id": "2", "Country": "Chile", "city": "a", "email": "x"}', '{"id": "1", "Country": "Chile", "city": "a", "email": "y"}');
SET ROLE import_conflicts_writer;
SELECT * FROM load('people');
RESET ROLE;
SELECT line, reason, path, detail FROM people_quarantine ORDER BY line;

--
-- Replacing: as a whole, in the order of the file
--

CREATE TABLE numbers (pk numeric, id text, doc jsonb NOT NULL CHECK (doc->>'v' <> 'bad'), ts timestamptz, changes int NOT NULL DEFAULT 0, PRIMARY KEY (pk, id));
SELECT partitionkey.create_container('numbers', '{/pk}', '{4}');
-- 2,000 items, of which each is there four times; one of them is bad.
CREATE PROCEDURE write_numbers(version text) LANGUAGE plpgsql AS $$
DECLARE
    lines text[] := array_agg(format('{"id": "%s", "pk": %s, "v": "%s", "n": %s}', i % 500, CASE WHEN i > 1000 THEN (i % 500)::numeric(5, 2) ELSE i % 500 END,
        CASE WHEN i = 1777 THEN 'bad' ELSE version END, i) ORDER BY i) FROM generate_series(1, 2000) i;
BEGIN
    CALL write(VARIADIC lines);
END $$;
CALL write_numbers('first');
SELECT * FROM load('numbers', 'replace');
-- The last item of each stays; 1777 is refused, so that 1277 stays.
SELECT count(*), sum((doc->>'n')::int), min((doc->>'n')::int), (SELECT sum(i) - 500 FROM generate_series(1501, 2000) i) AS expected FROM numbers;
SELECT line, reason FROM numbers_quarantine;
CALL write_numbers('second');
SELECT * FROM load('numbers', 'replace');
SELECT doc->>'v' AS v, count(*) FROM numbers GROUP BY v;
SELECT * FROM load('numbers', 'skip');
TRUNCATE numbers_quarantine;
SELECT * FROM load('numbers');
SELECT reason, count(*), min(line), max(line) FROM numbers_quarantine GROUP BY reason ORDER BY reason;
-- New ones between: which is which is known.
TRUNCATE numbers, numbers_quarantine;
INSERT INTO numbers SELECT i, i::text, '{}' FROM generate_series(0, 499, 5) i;
SELECT * FROM load('numbers');
SELECT count(*), count(*) FILTER (WHERE line <= 500), count(*) FILTER (WHERE line <= 500 AND line % 5 = 0), count(*) FILTER (WHERE reason <> 'duplicate') FROM numbers_quarantine;
-- A trigger that leaves rows out, or changes them, has its say of each row.
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.doc->>'n')::int % 10 = 3 THEN RETURN NULL; END IF;
    IF TG_OP = 'UPDATE' THEN NEW.changes := OLD.changes + 1; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON numbers FOR EACH ROW EXECUTE FUNCTION change();
TRUNCATE numbers, numbers_quarantine;
SELECT * FROM load('numbers', 'replace');
SELECT changes, count(*) FROM numbers GROUP BY changes ORDER BY changes;
-- Row security.
DROP TRIGGER change ON numbers;
TRUNCATE numbers, numbers_quarantine;
INSERT INTO numbers VALUES (1, '1', '{"owner": "import_conflicts_writer"}'), (2, '2', '{"owner": "other"}');
GRANT SELECT, INSERT, UPDATE ON numbers TO import_conflicts_writer;
GRANT INSERT ON numbers_quarantine TO import_conflicts_writer;
ALTER TABLE numbers ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON numbers TO import_conflicts_writer USING (doc->>'owner' = current_user);
CALL write('{"id": "1", "pk": 1, "owner": "import_conflicts_writer", "n": 1}', '{"id": "2", "pk": 2, "owner": "import_conflicts_writer"}',
    '{"id": "3", "pk": 3, "owner": "import_conflicts_writer"}', '{"id": "4", "pk": 4, "owner": "other"}');
SET ROLE import_conflicts_writer;
SELECT * FROM load('numbers', 'replace');
RESET ROLE;
SELECT id, doc FROM numbers ORDER BY id;
SELECT line, reason FROM numbers_quarantine ORDER BY line;

COPY (SELECT WHERE false) TO PROGRAM 'rm import_conflicts.json';
DROP SCHEMA import_conflicts CASCADE;
DROP ROLE import_conflicts_writer;
