-- What was measured on, for the head of the output.

SELECT format(E'PostgreSQL %s, %s cores, %s rows of %s bytes in the file', current_setting('server_version'),
    :cores, :rows, (pg_stat_file(:'file')).size / :rows);
SELECT string_agg(format('%s = %s', name, current_setting(name)), ', ' ORDER BY name) || E'\n'
FROM pg_settings
WHERE name IN ('shared_buffers', 'max_wal_size', 'wal_level', 'fsync', 'autovacuum', 'jit', 'lc_collate',
    'max_parallel_workers_per_gather');
