-- How calls of functions are measured: in queries over rows that are in shared buffers, ten calls a
-- row, and all that's asked of a result is whether there is one. The same query with a function
-- that does next to nothing is a variant as well, to be subtracted.

CREATE TABLE bench.call (
    figure text,
    variant text,
    relation regclass,
    call text -- volatile, or of the relation's columns: any other is made once, not for each row
);
CREATE TABLE bench.run (figure text, variant text, round int, seconds float8);

-- The variants of a figure take turns in any order; a round gives the mean of its faster half.
-- Round 0 is for the caches, and doesn't count.
CREATE PROCEDURE bench.measure_calls(figures text[], rounds int, runs int)
LANGUAGE plpgsql AS $$
DECLARE
    measured text;
    variant record;
    rows int;
    began timestamptz;
BEGIN
    FOR round IN 0 .. rounds LOOP
        FOREACH measured IN ARRAY figures LOOP
            FOR i IN 1 .. runs LOOP
                FOR variant IN
                    SELECT c.variant AS name, format('SELECT count(*) FROM %s WHERE %s', relation,
                        array_to_string(array_fill(call || ' IS NOT NULL', '{10}'), ' AND ')) AS query
                    FROM bench.call c WHERE figure = measured ORDER BY random()
                LOOP
                    began := clock_timestamp();
                    EXECUTE variant.query INTO rows;
                    INSERT INTO bench.run VALUES
                        (measured, variant.name, round, extract(epoch FROM clock_timestamp() - began) / rows / 10);
                END LOOP;
            END LOOP;
        END LOOP;
    END LOOP;
    INSERT INTO bench.measurement
        SELECT r.figure, r.variant, r.round, avg(seconds)
        FROM (SELECT *, row_number() OVER (PARTITION BY n.figure, n.variant, n.round ORDER BY seconds) AS place
            FROM bench.run n WHERE n.figure = ANY (figures)) r
        WHERE r.round > 0 AND place <= runs / 2
        GROUP BY r.figure, r.variant, r.round;
END
$$;
