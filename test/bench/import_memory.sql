-- Loading a JSON array of so many megabytes, from a file that the server writes.

SET client_min_messages = warning;
CREATE UNLOGGED TABLE bench.array (pk text, id text, doc jsonb NOT NULL, PRIMARY KEY (pk, id));
SELECT FROM partitionkey.create_container('bench.array', '{/pk}', '{4}', 'cosmos');
COPY (
    SELECT '[{"id":"first","pk":"first"}'
    UNION ALL
    SELECT format(',{"id":"%s","pk":"key %s","text":"%s"}', i, i % 1000, repeat(md5(i::text), 46)) FROM generate_series(1, :megabytes::bigint * 1024 * 1024 / 1515) i
    UNION ALL
    SELECT ']') TO :'file' (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02');
SELECT pg_backend_pid() \g :pidfile
SELECT FROM partitionkey.import_items('bench.array', :'file', max_faults => 0);
DROP TABLE bench.array;
