-- Keys with a suffix by the digest of an id of 12 bytes.

CREATE TABLE bench.suffixed AS
    SELECT 'category-' || i % 100 AS base, 'tenant-' || lpad(i::text, 5, '0') AS id
    FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.suffixed;

INSERT INTO bench.call VALUES ('suffix', 'nothing', 'bench.suffixed', 'octet_length(id)');
INSERT INTO bench.call
    SELECT 'suffix', algorithm, 'bench.suffixed', format('partitionkey.hash_suffix(base, id, 10, %L)', algorithm)
    FROM unnest('{md5,sha256,xxhash}'::text[]) algorithm;
CALL bench.measure_calls('{suffix}', :rounds, :runs);
