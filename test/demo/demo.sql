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
\echo 'Azure Cosmos DB divides a container by a hierarchical partition key, such as /TenantId, /UserId:'
\echo 'a tenant may outgrow a partition, and yet reading all of it does not ask all partitions. Here is'
\echo 'the same in PostgreSQL.'
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
:tell
VACUUM ANALYZE logins;
\echo
\echo 'It still is a table, now divided into partitions, by two levels of keys:'
\echo
:show
SELECT * FROM partitionkey.containers;
SELECT partition, min_inclusive, max_exclusive, items
FROM partitionkey.physical_partitions WHERE container = 'logins'::regclass LIMIT 4;
:tell
\echo 'A partition is a range of the hash of tenant_id by a range of the hash of user_id. So the'
\echo 'partitions form a grid: all of a tenant is in one line of it, a user of that tenant in one cell.'
\echo 'The events in each cell:'
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
\echo 'Every row, its hashes computed again, is where it belongs:'
\echo
:show
SELECT sum(items) AS items, sum(misplaced) AS misplaced FROM partitionkey.verify('logins');
:tell

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
INSERT INTO demo.reads
SELECT read, layout, replace(query, 'logins', layout::text)
FROM unnest('{logins,logins_flat,logins_tenant}'::regclass[]) layout,
	 (VALUES (1, :'all_of_tenant'), (2, :'user_of_tenant'), (3, :'one_event')) reads (read, query);
INSERT INTO demo.reads VALUES
	(1, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_id = ''Adatum'''),
	(2, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_user = ''Adatum_carla2'''),
	(3, 'logins_synthetic', 'SELECT * FROM logins_synthetic WHERE tenant_user = ''Adatum_carla2'' AND event_id = 116');
CALL demo.measure(runs => 25);
\echo
SELECT demo.side_by_side();
\echo
\echo 'All four hold and return the same rows. Times are the median of 25 runs with planning, all in'
\echo 'memory. The synthetic and the flat key spread a tenant so far that reading it asks all partitions.'
\echo 'The tenant only asks one, but then no tenant can be larger than a partition, whatever it grows to.'
