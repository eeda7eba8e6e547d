-- Making PUIDs, of new families and of given ones, and random UUIDs.

CREATE TABLE bench.parent AS
    SELECT i, partitionkey.puid() AS id FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.parent;

INSERT INTO bench.call VALUES
    ('puid', 'nothing', 'bench.parent', 'abs(i)'),
    ('puid', 'uuid', 'bench.parent', 'gen_random_uuid()'),
    ('puid', 'puid', 'bench.parent', 'partitionkey.puid()'),
    ('puid', 'child', 'bench.parent', 'partitionkey.puid(parent => id)');
CALL bench.measure_calls('{puid}', :rounds, :runs);
