-- Counting the rows and bytes of all keys, by logical_partitions and by a query of one's own; and a
-- sample of one per cent of the blocks of a larger container against counting it. In turn; round 0
-- is for the caches, and doesn't count.

\set size '28 + pg_column_size(tenant_id) + pg_column_size(user_id) + pg_column_size(id) + pg_column_size(created_at) + pg_column_size(payload)'
SELECT format('CALL bench.measure_counting(%L, %L, %s, %L)', figure, variant, round, replace(query, 'SIZE', :'size'))
FROM generate_series(0, :rounds) round, (VALUES
    ('keys of all levels', 'plain', $$ SELECT tenant_id, user_id, count(*), sum(SIZE) FROM container.event GROUP BY 1, 2 $$),
    ('keys of all levels', 'logical_partitions', $$ SELECT * FROM partitionkey.logical_partitions('container.event') $$),
    ('keys of level 1', 'plain', $$ SELECT tenant_id, count(*), sum(SIZE) FROM container.event GROUP BY 1 $$),
    ('keys of level 1', 'logical_partitions', $$ SELECT * FROM partitionkey.logical_partitions('container.event', 1) $$)) v(figure, variant, query)
ORDER BY round, figure, random() \gexec

CREATE TABLE bench.large (tenant_id int, id int, payload text);
SELECT FROM partitionkey.create_container('bench.large', '{/tenant_id}');
INSERT INTO bench.large SELECT i % 1000, i, 'fifty bytes or so in each of the rows, as it were' FROM generate_series(1, :large_rows) i;
VACUUM (ANALYZE, FREEZE) bench.large;
SELECT format('CALL bench.measure_counting(%L, %L, %s, %L)', 'sample', variant, round, query)
FROM generate_series(0, :rounds) round, (VALUES
    ('exact', $$ SELECT * FROM partitionkey.logical_partitions('bench.large') $$),
    ('one per cent', $$ SELECT * FROM partitionkey.logical_partitions('bench.large', sample => 1) $$)) v(variant, query)
ORDER BY round, random() \gexec
DROP TABLE bench.large;
