-- Where rows would lie in Cosmos DB, and how many keys they have, in turn.

CREATE TABLE bench.simulated AS
    SELECT tenant_id, id, jsonb_build_object('tenant_id', tenant_id, 'user_id', user_id, 'id', id, 'payload', payload) AS doc
    FROM bench.row;
VACUUM (ANALYZE, FREEZE) bench.simulated;

CREATE TABLE bench.simulation (figure text, variant text, query text);
INSERT INTO bench.simulation VALUES
    ('simulate text', 'simulate', $$ SELECT sum(items) FROM partitionkey.simulate_cosmos('bench.simulated', '{/tenant_id}') $$),
    ('simulate text', 'distinct', 'SELECT count(DISTINCT tenant_id) FROM bench.simulated'),
    ('simulate bigint', 'simulate', $$ SELECT sum(items) FROM partitionkey.simulate_cosmos('bench.simulated', '{/id}') $$),
    ('simulate bigint', 'distinct', 'SELECT count(DISTINCT id) FROM bench.simulated'),
    ('simulate jsonb', 'simulate', $$ SELECT sum(items) FROM partitionkey.simulate_cosmos('bench.simulated', '{/doc/tenant_id}') $$),
    ('simulate jsonb', 'distinct', $$ SELECT count(DISTINCT doc->>'tenant_id') FROM bench.simulated $$),
    ('simulate text', 'advise', $$ SELECT count(*) FROM partitionkey.advise_key('bench.simulated') $$);

CREATE PROCEDURE bench.measure_simulation(rounds int)
LANGUAGE plpgsql AS $$
DECLARE
    measured bench.simulation;
    ignored bigint;
    began timestamptz;
BEGIN
    FOR round IN 0 .. rounds LOOP
        FOR measured IN SELECT * FROM bench.simulation ORDER BY random() LOOP
            began := clock_timestamp();
            EXECUTE measured.query INTO ignored;
            -- round 0 is for the caches
            INSERT INTO bench.measurement
                SELECT measured.figure, measured.variant, round, extract(epoch FROM clock_timestamp() - began)
                WHERE round > 0;
        END LOOP;
    END LOOP;
END
$$;
SET client_min_messages = warning;
CALL bench.measure_simulation(:rounds);
DROP TABLE bench.simulated;
