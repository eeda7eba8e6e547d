-- A container for the operations on items, as one is made from a definition.

SET client_min_messages = warning;
DROP TABLE IF EXISTS bench.shop CASCADE;
DROP SEQUENCE IF EXISTS bench.item_id;
SELECT FROM partitionkey.create_container_from_definition('{"id": "shop", "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2}}', 'bench.shop');
INSERT INTO bench.shop (tenant, "user", id, doc)
SELECT 't' || i % 100, 'u' || i % 1000, 'i' || i, jsonb_build_object('id', 'i' || i, 'tenant', 't' || i % 100, 'user', 'u' || i % 1000,
    'total', i, 'name', repeat(md5(i::text), 5), 'tags', '["a", "b"]'::jsonb)
FROM generate_series(1, :rows) i;
CREATE SEQUENCE bench.item_id CACHE 1000;
VACUUM (ANALYZE, FREEZE) bench.shop;
