-- What was measured on, for the head of the output.

SELECT format('PostgreSQL %s, %s cores, %s rows of %s bytes', current_setting('server_version'), :cores, :rows,
    (SELECT round(avg(length(r::text))) FROM bench.row r WHERE id <= 1000));
SELECT string_agg(format('%s = %s', name, current_setting(name)), ', ' ORDER BY name) || E'\n'
FROM pg_settings
WHERE name IN ('shared_buffers', 'max_wal_size', 'wal_level', 'fsync', 'autovacuum', 'jit', 'lc_collate',
    'max_parallel_workers_per_gather');
