-- Loading documents of about 300 bytes: by import_items from NDJSON, as they are and as Cosmos DB exports
-- them, with its system properties; and by COPY of the ready-made rows. Each into a container of its own.

SET client_min_messages = warning;
CREATE TABLE bench.copied (tenantid text, userid text, id text, doc jsonb NOT NULL, PRIMARY KEY (tenantid, userid, id));
CREATE TABLE bench.imported (LIKE bench.copied INCLUDING ALL);
CREATE TABLE bench.exported (LIKE bench.copied INCLUDING ALL);
SELECT FROM partitionkey.create_container('bench.copied', '{/tenantId,/userId}', '{4,2}', 'cosmos');
SELECT FROM partitionkey.create_container('bench.imported', '{/tenantId,/userId}', '{4,2}', 'cosmos');
SELECT FROM partitionkey.create_container('bench.exported', '{/tenantId,/userId}', '{4,2}', 'cosmos');

CREATE VIEW bench.document AS
    SELECT i, tenantid, userid, id, format('{"id":"%s","tenantId":"%s","userId":"%s","name":"Item number %s","price":%s,"tags":["new","%s"],'
        '"address":{"city":"City %s","zip":"%s"},"description":"Lorem ipsum dolor sit amet, consectetur adipiscing elit, %s"',
        id, tenantid, userid, i, round(i % 10000 / 7.0, 2), left(digest, 6), i % 300, left(digest, 5), digest) AS members
    FROM (
        SELECT i, 'tenant-' || i * 7919 % 5000 AS tenantid, 'user-' || i * 104729 % 9000 AS userid, lpad(i::text, 8, '0') AS id, md5(i::text) AS digest
        FROM generate_series(1::bigint, :rows) i) d;

SELECT format('COPY (SELECT %s FROM bench.document WHERE (i - 1) / %s = %s) TO %L %s',
    columns, :rows / :pieces, piece - 1, :'file' || variant || piece, options)
FROM generate_series(1, :pieces) piece, (VALUES
    ('copied', $$ tenantid, userid, id, (members || '}')::jsonb $$, ''),
    ('imported', $$ members || '}' $$, $$ (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02') $$),
    ('exported', $$ members || ',"_rid":"ZhwfAJ1vKQABAAAAAAAAAA==","_self":"dbs/ZhwfAA==/colls/ZhwfAJ1vKQA=/","_etag":"\"' || id
        || '-0000\"","_attachments":"attachments/","_ts":' || 1700000000 + i || '}' $$, $$ (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02') $$)) v(variant, columns, options) \gexec

CREATE PROCEDURE bench.load_documents(relation regclass, file text)
LANGUAGE plpgsql AS $$
BEGIN
    IF relation = 'bench.copied'::regclass THEN
        EXECUTE format('COPY bench.copied FROM %L', file);
    ELSE
        PERFORM partitionkey.import_items(relation, file, max_faults => 0);
    END IF;
END
$$;

CALL bench.measure_pieces('import', '{copied,imported,exported}', 'bench.%I',
    format('CALL bench.load_documents(%%1$L, %L || substr(%%1$L, 7) || %%2$s)', :'file'), :pieces, :rounds);
DROP TABLE bench.copied, bench.imported, bench.exported;
