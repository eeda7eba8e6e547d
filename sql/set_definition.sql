-- Giving a container that exists its definition.

\set VERBOSITY default
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA set_definition;
SET search_path = set_definition;
SELECT '{"resource": {"id": "Orders", "_rid": "x", "partitionKey": {"paths": ["/TenantId", "/customer/id"], "kind": "MultiHash", "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/number"]}]}, "defaultTtl": 60}}' AS definition \gset

-- As a dump of the table alone leaves it: the table, with its partitions and indexes, but not the registry's row.
SELECT partitionkey.create_container_from_definition(:'definition', partitions => '{2,2}');
INSERT INTO orders_items VALUES ('{"id": "1", "TenantId": "a", "customer": {"id": "b"}, "number": 1}');
SELECT partitionkey.container_definition('orders') AS before \gset
DELETE FROM partitionkey.registry WHERE container = 'orders'::regclass;
SELECT partitionkey.set_container_definition('orders', :'definition');
SELECT partitionkey.create_container('orders', '{/tenantid,/customer_id}');
SELECT partitionkey.container_definition('orders');
INSERT INTO orders_items VALUES ('{"id": "2", "TenantId": "a", "customer": {"id": "b"}, "number": 2}');
SELECT DISTINCT reason, path FROM orders_quarantine;
SELECT partitionkey.set_container_definition('orders', :'definition');
SELECT partitionkey.container_definition('orders') = :'before' AS same, paths FROM partitionkey.containers WHERE container = 'orders'::regclass;
INSERT INTO orders_items VALUES ('{"id": "2", "TenantId": "a", "customer": {"id": "b"}, "number": 2}'), ('{"id": "3", "TenantId": "a", "customer": {"id": "b"}, "number": 2}');
SELECT tenantid, customer_id, id FROM orders ORDER BY id;
-- A definition can take the place of another one, but the key stays.
SELECT partitionkey.set_container_definition('orders', jsonb_set(:'before', '{defaultTtl}', '90'));
SELECT partitionkey.container_definition('orders')->'defaultTtl' AS ttl;
SELECT partitionkey.set_container_definition('orders', '{"partitionKey": {"paths": ["/tenantId", "/customer/id"], "kind": "MultiHash", "version": 2}}');
SELECT partitionkey.set_container_definition('orders', '{"partitionKey": {"paths": ["/TenantId"]}}');

-- A table of one's own.
CREATE TABLE visits (tenant text, visit text, doc jsonb, PRIMARY KEY (tenant, visit));
SELECT partitionkey.create_container('visits', '{/tenant}');
SELECT partitionkey.set_container_definition('visits', '{"partitionKey": {"paths": ["/tenantId"]}}');
ALTER TABLE visits RENAME tenant TO tenantid;
SELECT partitionkey.set_container_definition('visits', '{"partitionKey": {"paths": ["/tenantId"]}}');
ALTER TABLE visits RENAME visit TO id;
SELECT partitionkey.set_container_definition('visits', '{"partitionKey": {"paths": ["/tenantId"]}}');
SELECT paths, columns FROM partitionkey.containers WHERE container = 'visits'::regclass;
ALTER TABLE visits DROP doc;
SELECT partitionkey.set_container_definition('visits', '{"partitionKey": {"paths": ["/tenantId"]}}');
SELECT partitionkey.set_container_definition('visits', '{"partitionKey": {"kind": "Range", "paths": ["/tenant"]}}');
SELECT partitionkey.set_container_definition('visits', NULL) IS NULL AS nothing;
CREATE TABLE plain ();
SELECT partitionkey.set_container_definition('plain', :'definition');
SELECT partitionkey.set_container_definition('orders_pkey', :'definition');
BEGIN READ ONLY;
SELECT partitionkey.set_container_definition('orders', :'definition');
ROLLBACK;
CREATE ROLE set_definition_other;
GRANT USAGE ON SCHEMA set_definition TO set_definition_other;
SET ROLE set_definition_other;
SELECT partitionkey.set_container_definition('orders', :'definition');
RESET ROLE;

DROP SCHEMA set_definition CASCADE;
DROP ROLE set_definition_other;
