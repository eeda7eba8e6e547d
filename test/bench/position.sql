-- The hash functions over short and long strings that are in shared buffers, ten calls a row. The
-- same query with a function that only looks at a string's length is measured too, to be
-- subtracted.

CREATE TABLE bench.string12 AS
    SELECT 'tenant-' || lpad((i % 100000)::text, 5, '0') AS t FROM generate_series(1, :strings) i;
CREATE TABLE bench.string1000 AS
    SELECT left(repeat(md5(i::text), 32), 1000) AS t FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.string12, bench.string1000;
CHECKPOINT;

CREATE PROCEDURE bench.measure_position(variants text[], len int, round int)
LANGUAGE plpgsql AS $$
DECLARE
    variant text;
    query text;
    began timestamptz;
BEGIN
    FOREACH variant IN ARRAY variants LOOP
        SELECT format('SELECT count(*) FROM bench.string%s WHERE ', len) || string_agg(CASE variant
                WHEN 'nothing' THEN 'octet_length(t)'
                WHEN 'builtin' THEN 'hashtextextended(t, 0)'
                WHEN 'xxhash' THEN 'partitionkey.text_xxhash_extended(t, 0)'
                WHEN 'cosmos' THEN 'partitionkey.text_cosmos_extended(t, 0)' END || ' <> ' || i, ' AND ')
            INTO query
            FROM generate_series(1, 10) i;
        began := clock_timestamp();
        EXECUTE query;
        INSERT INTO bench.measurement VALUES ('position ' || len, variant, round,
            extract(epoch FROM clock_timestamp() - began));
    END LOOP;
END
$$;

-- Round 0 is for the caches, and doesn't count.
SELECT format('CALL bench.measure_position(%L, %s, %s)',
    CASE WHEN round % 2 = 1 THEN '{nothing,builtin,xxhash,cosmos}' ELSE '{cosmos,xxhash,builtin,nothing}' END, len, round)
FROM generate_series(0, :rounds) round, (VALUES (12), (1000)) v(len)
ORDER BY round, len \gexec
DELETE FROM bench.measurement WHERE round = 0;
