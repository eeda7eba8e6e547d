-- COPY of all rows into an empty table. The variants take turns, in any order, with each piece of
-- the rows; the time of a variant is that of all its pieces.

CREATE PROCEDURE bench.measure_copy(variants text[], file text, pieces int, round int)
LANGUAGE plpgsql AS $$
DECLARE
    variant text;
    began timestamptz;
BEGIN
    FOR piece IN 1 .. pieces LOOP
        FOR variant IN SELECT v FROM unnest(variants) v ORDER BY random() LOOP
            began := clock_timestamp();
            EXECUTE format('COPY %I.event FROM %L', variant, file || piece);
            COMMIT;
            INSERT INTO bench.piece VALUES (variant, round, clock_timestamp() - began);
        END LOOP;
    END LOOP;
END
$$;
CREATE TABLE bench.piece (variant text, round int, took interval);

SELECT 'TRUNCATE container.event, unchecked.event, builtin.event, again.event, plain.event', 'CHECKPOINT',
    format('CALL bench.measure_copy(%L, %L, %s, %s)', '{container,unchecked,builtin,again,plain}', :'file', :pieces, round)
FROM generate_series(1, :rounds) round \gexec
INSERT INTO bench.measurement
    SELECT 'copy', variant, round, extract(epoch FROM sum(took)) FROM bench.piece GROUP BY variant, round;
