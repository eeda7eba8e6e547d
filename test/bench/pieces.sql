-- How loading empty tables is measured. The variants take turns, in any order, with each piece of
-- the rows; the time of a variant is that of all its pieces.

CREATE TABLE bench.piece (figure text, variant text, round int, took interval);

-- `relation` is the format of a table's name, given its variant; `statement` that of what loads a
-- piece, given the table and the number of the piece.
CREATE PROCEDURE bench.measure_pieces(figure text, variants text[], relation text, statement text, pieces int, rounds int)
LANGUAGE plpgsql AS $$
DECLARE
    variant text;
    began timestamptz;
BEGIN
    FOR round IN 1 .. rounds LOOP
        EXECUTE (SELECT 'TRUNCATE ' || string_agg(format(relation, v), ', ') FROM unnest(variants) v);
        COMMIT;
        CHECKPOINT;
        FOR piece IN 1 .. pieces LOOP
            FOR variant IN SELECT v FROM unnest(variants) v ORDER BY random() LOOP
                began := clock_timestamp();
                EXECUTE format(statement, format(relation, variant), piece);
                COMMIT;
                INSERT INTO bench.piece VALUES (figure, variant, round, clock_timestamp() - began);
            END LOOP;
        END LOOP;
    END LOOP;
    INSERT INTO bench.measurement
        SELECT p.figure, p.variant, p.round, extract(epoch FROM sum(took))
        FROM bench.piece p WHERE p.figure = measure_pieces.figure
        GROUP BY p.figure, p.variant, p.round;
END
$$;
