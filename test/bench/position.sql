-- The hash functions over short and long strings that are in shared buffers, ten calls a row. The
-- same query with a function that only looks at a string's length is measured too, to be
-- subtracted. The variants take turns in any order; a round gives the mean of its faster half.

CREATE TABLE bench.string12 AS
    SELECT 'tenant-' || lpad(i::text, 5, '0') AS t FROM generate_series(1, :strings) i;
CREATE TABLE bench.string1000 AS
    SELECT left(repeat(md5(i::text), 32), 1000) AS t FROM generate_series(1, :strings / 10) i;
VACUUM (ANALYZE, FREEZE) bench.string12, bench.string1000;

CREATE PROCEDURE bench.measure_position(len int, runs int, round int)
LANGUAGE plpgsql AS $$
DECLARE
    variant text;
    call text;
    query text;
    strings int;
    began timestamptz;
BEGIN
    CREATE TEMP TABLE run (variant text, seconds float8);
    FOR i IN 1 .. runs LOOP
        FOR variant, call IN VALUES
            ('nothing', 'octet_length(t)'),
            ('builtin', 'hashtextextended(t, 0)'),
            ('xxhash', 'partitionkey.text_xxhash_extended(t, 0)'),
            ('cosmos', 'partitionkey.text_cosmos_extended(t, 0)') ORDER BY random()
        LOOP
            SELECT format('SELECT count(*) FROM bench.string%s WHERE ', len) || string_agg(call || ' <> ' || n, ' AND ')
                INTO query FROM generate_series(1, 10) n;
            began := clock_timestamp();
            EXECUTE query INTO strings;
            INSERT INTO run VALUES (variant, extract(epoch FROM clock_timestamp() - began) / strings / 10);
        END LOOP;
    END LOOP;
    INSERT INTO bench.measurement
        SELECT 'position ' || len, r.variant, round, avg(seconds)
        FROM (SELECT *, row_number() OVER (PARTITION BY run.variant ORDER BY seconds) AS place FROM run) r
        WHERE place <= runs / 2
        GROUP BY r.variant;
    DROP TABLE run;
END
$$;

-- Round 0 is for the caches, and doesn't count.
SELECT format('CALL bench.measure_position(%s, %s, %s)', len, :runs, round)
FROM generate_series(0, :rounds) round, (VALUES (12), (1000)) v(len)
ORDER BY round, len \gexec
DELETE FROM bench.measurement WHERE round = 0;
