SELECT format(E'PostgreSQL %s, %s, %s\n%s cores, %s rows of %s bytes\n',
    current_setting('server_version'), string_agg(name || ' = ' || current_setting(name), ', '),
    'C.UTF-8', :'cores', :'rows', 130)
FROM pg_settings WHERE name IN ('shared_buffers', 'fsync', 'wal_level', 'jit', 'autovacuum', 'max_wal_size');
