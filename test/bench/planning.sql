-- The planner's time for a query with the full key, as EXPLAIN tells it: blocks of plans in turn.
-- EXPLAIN counts whole microseconds, so a block gives the mean of its faster half, not its median.

CREATE SCHEMA planning;

CREATE PROCEDURE bench.make_planned(layout text, paths text[])
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE planning.%I (LIKE plain.event INCLUDING ALL)', layout);
    PERFORM partitionkey.create_container(format('planning.%I', layout)::regclass, paths, layout::int[]);
END
$$;

CREATE PROCEDURE bench.measure_planning(layouts text[], condition text, plans int, round int)
LANGUAGE plpgsql AS $$
DECLARE
    layout text;
    plan json;
    times float8[];
BEGIN
    FOREACH layout IN ARRAY layouts LOOP
        times := '{}';
        FOR i IN 1 .. plans LOOP
            EXECUTE format('EXPLAIN (SUMMARY, FORMAT JSON) SELECT * FROM planning.%I WHERE %s', layout, condition)
                INTO plan;
            times := times || (plan -> 0 ->> 'Planning Time')::float8 / 1000;
        END LOOP;
        INSERT INTO bench.measurement
            SELECT 'planning', layout, round, avg(t)
            FROM (SELECT t FROM unnest(times) t ORDER BY t LIMIT plans / 2) h;
    END LOOP;
END
$$;

SET client_min_messages = error; -- 2,048 are many, as create_container says
CALL bench.make_planned('{32}', '{/tenant_id}');
CALL bench.make_planned('{2048}', '{/tenant_id}');
CALL bench.make_planned('{8,4}', '{/tenant_id,/user_id}');
CALL bench.make_planned('{64,32}', '{/tenant_id,/user_id}');

-- Round 0 is for the caches, and doesn't count.
SELECT format('CALL bench.measure_planning(%L, %L, %s, %s)',
    CASE WHEN round % 2 = 1 THEN layouts ELSE ARRAY[layouts[2], layouts[1]] END, condition, :plans, round)
FROM generate_series(0, :rounds) round, (VALUES
    (ARRAY['{32}', '{2048}'], $$ tenant_id = 'tenant-123' $$),
    (ARRAY['{8,4}', '{64,32}'], $$ tenant_id = 'tenant-123' AND user_id = 'user-4567' $$)) v(layouts, condition)
ORDER BY round, layouts \gexec
DELETE FROM bench.measurement WHERE round = 0;
