-- The hash functions over short and long strings.

CREATE TABLE bench.string12 AS
    SELECT 'tenant-' || lpad(i::text, 5, '0') AS t FROM generate_series(1, :strings) i;
CREATE TABLE bench.string1000 AS
    SELECT left(repeat(md5(i::text), 32), 1000) AS t FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.string12, bench.string1000;

INSERT INTO bench.call
    SELECT 'position ' || len, variant, format('bench.string%s', len)::regclass, call
    FROM (VALUES (12), (1000)) s(len), (VALUES
        ('nothing', 'octet_length(t)'),
        ('builtin', 'hashtextextended(t, 0)'),
        ('xxhash', 'partitionkey.text_xxhash_extended(t, 0)'),
        ('cosmos', 'partitionkey.text_cosmos_extended(t, 0)')) v(variant, call);
CALL bench.measure_calls('{position 12,position 1000}', :rounds, :runs);
