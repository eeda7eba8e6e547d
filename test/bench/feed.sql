-- The change feed: the last 100 of a container's items, against 10 ms and against a query of one's own on the index; and
-- those of a feed range and of a key. In turn; round 0 is for the caches, and doesn't count.

SET client_min_messages = warning;
SELECT FROM partitionkey.create_container_from_definition('{"id": "fed", "partitionKey": {"paths": ["/tenantId"], "kind": "Hash", "version": 2}}', 'bench.fed', partitions => '{8}');
INSERT INTO bench.fed SELECT 'tenant-' || i % 1000, i, jsonb_build_object('id', i::text, 'tenantId', 'tenant-' || i % 1000, 'text', repeat(md5(i::text), 5)) FROM generate_series(1, :rows) i;
VACUUM (ANALYZE, FREEZE) bench.fed;
CREATE TABLE bench.place AS
    SELECT NULL::jsonb AS scope, partitionkey.change_feed_start('bench.fed') AS token
    UNION ALL SELECT '["tenant-7"]', partitionkey.change_feed_start('bench.fed', '["tenant-7"]')
    UNION ALL (SELECT range, partitionkey.change_feed_start('bench.fed', range) FROM partitionkey.read_feed_ranges('bench.fed') range LIMIT 1);
CREATE TABLE bench.behind AS SELECT max(etag::text)::uuid AS etag FROM bench.fed;
UPDATE bench.fed SET doc = doc || '{"changed": true}' WHERE id::int <= 100;
SET enable_sort = off;

SELECT format('CALL bench.measure_counting(%L, %L, %s, %L)', 'feed', variant, round, query)
FROM generate_series(0, 20 * :rounds) round, (VALUES
    ('last 100', (SELECT format('SELECT * FROM partitionkey.items_changed_since(%L, NULL, %L, 100)', 'bench.fed', token) FROM bench.place WHERE scope IS NULL)),
    ('range', (SELECT format('SELECT * FROM partitionkey.items_changed_since(%L, NULL, %L, 100)', 'bench.fed', token) FROM bench.place WHERE jsonb_typeof(scope) = 'object')),
    ('key', (SELECT format('SELECT * FROM partitionkey.items_changed_since(%L, NULL, %L, 100)', 'bench.fed', token) FROM bench.place WHERE jsonb_typeof(scope) = 'array')),
    ('plain', (SELECT format('SELECT doc, etag, ts FROM bench.fed WHERE etag > %L ORDER BY etag LIMIT 100', etag) FROM bench.behind)),
    ('first 1000', 'SELECT * FROM partitionkey.items_changed_since(''bench.fed'')')) v(variant, query)
ORDER BY round, random() \gexec
INSERT INTO bench.measurement SELECT DISTINCT 'feed', '10 ms', round, 0.01 FROM bench.measurement WHERE figure = 'feed';
DROP TABLE bench.fed, bench.place, bench.behind;
