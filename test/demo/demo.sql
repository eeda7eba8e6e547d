-- What `make demo` shows, in an empty database. There are two modes: in `:show`, psql prints each
-- query as it runs it, and the result as a table; in `:tell`, only the text that is the result.
\set show '\\set ECHO queries \\pset tuples_only off \\pset format aligned'
\set tell '\\set ECHO none \\pset tuples_only on \\pset format unaligned'
\set QUIET on
\pset footer off
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION partitionkey;
\ir functions.sql

\echo
\echo 'A hierarchical partition key, such as /TenantId, /UserId, lets Azure Cosmos DB divide even a single'
\echo 'large tenant, and yet find all of a tenant in a few partitions. partitionkey gives that to tables.'
\echo
\echo == 1. An ordinary table
\echo
:show
CREATE TABLE logins (
    tenant_id  text,
    user_id    text,
    event_id   bigint,
    at         timestamptz,
    ip         inet,
    PRIMARY KEY (tenant_id, user_id, event_id)
);
:tell
\ir events.sql
ANALYZE logins;
\echo
SELECT format('It is filled with %s login events of %s tenants of very different sizes:',
			  demo.number(count(*)), demo.number(count(DISTINCT tenant_id)))
FROM logins;
\echo
:show
SELECT tenant_id, count(*) AS events, count(DISTINCT user_id) AS users,
       round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent_of_all
FROM logins GROUP BY tenant_id ORDER BY events DESC LIMIT 4;
:tell
SELECT format('The ten largest tenants have %s %% of the events; the smallest tenant has %s events.',
			  round(100 * sum(n) FILTER (WHERE place <= 10) / sum(n)), min(n))
FROM (SELECT count(*) AS n, row_number() OVER (ORDER BY count(*) DESC) AS place FROM logins GROUP BY tenant_id) t;

\echo
\echo == 2. One line gives it a hierarchical partition key
\echo
:show
\timing on
SELECT partitionkey.create_container('logins', '{/tenant_id,/user_id}');
\timing off
VACUUM ANALYZE logins;
:tell
\echo
\echo 'It is the same table, now with 4 partitions by tenant_id, each divided into 4 by user_id (the'
\echo 'defaults for two levels; a third argument asks for other numbers):'
\echo
:show
SELECT * FROM partitionkey.containers;
SELECT partition, min_inclusive, max_exclusive, items
FROM partitionkey.physical_partitions WHERE container = 'logins'::regclass LIMIT 4;
:tell
\echo 'A partition is a range of the hash of tenant_id by a range of the hash of user_id. So the'
\echo 'partitions form a grid: all of a tenant is in one line of it, a user of that tenant in one cell.'
\echo 'Here are the events in each cell; the lines and columns are named by the first digit of where'
\echo 'they begin, as are the partitions, such as logins_p8_4:'
\echo
WITH cell AS (
	SELECT 'from ' || coalesce(nullif(left(min_inclusive[1], 1), ''), '0') AS tenant,
		   'from ' || coalesce(nullif(left(min_inclusive[2], 1), ''), '0') AS usr,
		   demo.number(v.items) AS events
	FROM partitionkey.verify('logins') v JOIN partitionkey.physical_partitions USING (partition)
)
SELECT '                   user_id' || string_agg(DISTINCT lpad(usr, 9), '') FROM cell
UNION ALL
(SELECT '        tenant_id ' || tenant || '  ' || string_agg(lpad(events, 9), '' ORDER BY usr) FROM cell GROUP BY tenant ORDER BY tenant);
\echo
\echo 'No row is misplaced, as hashing all of them again shows:'
\echo
:show
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('logins');
:tell
DO $$ BEGIN
	ASSERT (SELECT sum(items) = 200000 AND sum(misplaced) = 0 FROM partitionkey.verify('logins')), 'rows are lost or misplaced';
END $$;

\echo == 3. The three reads, as plain SQL, with their plans (shortened)
\set all_of_tenant 'SELECT * FROM logins WHERE tenant_id = ''Adatum'''
\set user_of_tenant 'SELECT * FROM logins WHERE tenant_id = ''Adatum'' AND user_id = ''carla2'''
\set one_event 'SELECT * FROM logins WHERE tenant_id = ''Adatum'' AND user_id = ''carla2'' AND event_id = 116'
\echo
\echo '-- All of a tenant: one line of the grid'
\echo :all_of_tenant;
\echo
SELECT demo.plan(:'all_of_tenant');
SELECT demo.touches('logins', :'all_of_tenant');
\echo
\echo '-- A user of a tenant: one partition'
\echo :user_of_tenant;
\echo
SELECT demo.plan(:'user_of_tenant');
SELECT demo.touches('logins', :'user_of_tenant');
\echo
\echo '-- One event: the same partition, by the primary key'
\echo :one_event;
\echo
SELECT demo.plan(:'one_event');
SELECT demo.touches('logins', :'one_event');

\echo
\echo == 4. The same reads, beside other ways to divide the table into 16 partitions
\echo
\echo '  hierarchical   partitionkey: /tenant_id, then /user_id'
\echo '  synthetic      HASH (tenant_user), a column that joins both: ''Adatum_carla2''; to read all of a'
\echo '                 tenant, there is an index on tenant_id'
\echo '  flat           HASH (tenant_id, user_id)'
\echo '  tenant only    HASH (tenant_id)'
\ir layouts.sql
INSERT INTO demo.reads (read, layout, query)
SELECT read, layout, replace(query, 'logins', layout::text)
FROM unnest('{logins,logins_flat,logins_tenant}'::regclass[]) layout,
	 (VALUES (1, :'all_of_tenant'), (2, :'user_of_tenant'), (3, :'one_event')) reads (read, query);
INSERT INTO demo.reads (read, layout, query) VALUES
	(1, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_id = ''Adatum'''),
	(2, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_user = ''Adatum_carla2'''),
	(3, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_user = ''Adatum_carla2'' AND event_id = 116');
CALL demo.measure(runs => 101);
\echo
SELECT demo.side_by_side();
\echo
\echo 'All four return the same rows. Times are medians of 101 runs, planning included, all in memory; the'
\echo 'two small reads are mostly planning, which takes a little longer for two levels.'
\echo
\echo 'The synthetic and the flat key spread every tenant over all partitions, so reading a tenant asks'
\echo 'them all. The tenant only asks one, but can never divide a large tenant. The hierarchical key reads'
\echo 'a tenant from a few partitions, and divides it among those.'

\echo
\echo == 5. Ids that know their partition
\echo
\echo 'A PUID looks like a UUID. Its first five digits are its family, and the family is the partition key.'
\echo 'A customer''s contracts are of the customer''s family:'
\echo
:show
CREATE TABLE documents (
    id    partitionkey.puid PRIMARY KEY DEFAULT partitionkey.puid(),
    body  text
);
SELECT partitionkey.create_container('documents', '{/id}');
INSERT INTO documents (body) SELECT 'customer' FROM generate_series(1, 20000);
INSERT INTO documents VALUES ('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e', 'customer');
INSERT INTO documents SELECT partitionkey.puid(parent => id), 'contract' FROM documents, generate_series(1, 3);
:tell
VACUUM ANALYZE documents;
\set one_document 'SELECT * FROM documents WHERE id = ''a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'''
\set family 'SELECT * FROM documents WHERE id <@ ''a2720'''
\echo '-- One document: the id alone is the primary key, unique over all partitions'
\echo :one_document;
\echo
SELECT demo.plan(:'one_document');
SELECT demo.touches('documents', :'one_document');
\echo
\echo '-- A family: one partition, and a range of its primary key'
\echo :family;
\echo
SELECT demo.plan(:'family');
SELECT demo.touches('documents', :'family');
\echo
\echo == 6. Where the events lie, and what is hot
\echo
:show
SELECT partition, items, bar, largest_key FROM partitionkey.partition_map('logins');
SELECT key, reason, relieved_by FROM partitionkey.hot_partitions('logins', threshold => 0.15) WHERE kind = 'key' \gx
:tell
\echo
\echo == 7. The fullest partition is split; applications can go on meanwhile
\echo
SELECT partition AS fullest FROM partitionkey.partition_map('logins') ORDER BY items DESC LIMIT 1 \gset
:show
\timing on
CALL partitionkey.split_partition(:'fullest');
\timing off
SELECT partition, items, bar, largest_key FROM partitionkey.partition_map('logins')
WHERE starts_with(partition::text, 'logins_p8');
SELECT sum(misplaced) AS misplaced FROM partitionkey.verify('logins');
:tell
\echo
\echo == 8. What a query touches
\echo
:show
SELECT routing, partitions_hit || ' of ' || partitions_total AS partitions, reason
FROM partitionkey.explain_query('SELECT * FROM logins WHERE tenant_id = $1');
SELECT routing, partitions_hit || ' of ' || partitions_total AS partitions, reason, hint
FROM partitionkey.explain_query('SELECT * FROM logins WHERE lower(tenant_id) = $1') \gx
:tell
\echo
\echo == 9. Items, as an application of Cosmos DB knows them
\echo
\echo 'A container from its definition, and the operations of the SDKs, with their rules and statuses:'
\echo
:show
SELECT partitionkey.create_container_from_definition(
    '{"id": "Carts", "partitionKey": {"paths": ["/tenantId", "/userId"], "kind": "MultiHash", "version": 2}}');
SELECT partitionkey.upsert_item('carts', '{"id": "1", "tenantId": "Adatum", "userId": "carla2", "total": 40}')->>'total' AS total;
SELECT partitionkey.patch_item('carts', '1', '["Adatum","carla2"]', '[{"op": "incr", "path": "/total", "value": 2.5}]')->>'total' AS total;
SELECT partitionkey.move_item('carts', '1', '["Adatum","carla2"]', '["Fabrikam","carla2"]')->>'tenantId' AS tenant;
SELECT key, item->>'_etag' IS NOT NULL AS has_etag FROM partitionkey.find_items('carts', '1');
SELECT r->>'statusCode' AS status, r->'resourceBody'->>'id' AS id
FROM jsonb_array_elements(partitionkey.transactional_batch('carts', '["Fabrikam","carla2"]', '[
    {"operationType": "Create", "resourceBody": {"id": "2", "tenantId": "Fabrikam", "userId": "carla2"}},
    {"operationType": "Delete", "id": "1"}]')) r;
SELECT item->>'id' AS changed, item->>'tenantId' AS tenant FROM partitionkey.items_changed_since('carts');
:tell
