-- Synthetic keys of two texts.

CREATE TABLE bench.part AS
    SELECT 'tenant-' || lpad(i::text, 5, '0') AS a, 'user-' || 1000 + i % 9000 AS b
    FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.part;

INSERT INTO bench.call VALUES
    ('synthetic', 'nothing', 'bench.part', 'octet_length(b)'),
    ('synthetic', 'builtin', 'bench.part', $$ format('%s_%s', a, b) $$),
    ('synthetic', 'synthetic_key', 'bench.part', 'partitionkey.synthetic_key(a, b)');
CALL bench.measure_calls('{synthetic}', :rounds, :runs);
