-- How long a query takes; round 0 is for the caches, and doesn't count.

CREATE OR REPLACE PROCEDURE bench.measure_counting(figure text, variant text, round int, query text)
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
BEGIN
    SET LOCAL client_min_messages = warning;
    began := clock_timestamp();
    EXECUTE query; -- as it is: of a subquery the planner would leave out what is not asked for
    INSERT INTO bench.measurement SELECT $1, $2, $3, extract(epoch FROM clock_timestamp() - began) WHERE $3 > 0;
END
$$;
