-- Point reads of a session, timed within the server: for sessions that have the library loaded, and others.
CREATE PROCEDURE bench.read_points(variant text, round int, n int, rows int)
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
    row int;
BEGIN
    FOR i IN 1 .. n + 200 LOOP
        IF i = 200 THEN
            began := clock_timestamp();
        END IF;
        row := 1 + (i * 7907 + round * 31) % rows;
        PERFORM FROM builtin.event WHERE tenant_id = 'tenant-' || row % 800 AND user_id = 'user-' || row % 9000 AND id = row;
    END LOOP;
    INSERT INTO bench.measurement VALUES ('point loaded', variant, round, n / extract(epoch FROM clock_timestamp() - began));
END
$$;
