-- Splitting a leaf that nobody writes to, and INSERT ... SELECT of the same rows into empty
-- partitions with the same indexes, in turn. The leaf is put together again in between.

SET client_min_messages = warning;
CREATE TABLE bench.copied (LIKE bench.grown INCLUDING ALL) PARTITION BY HASH (tenant_id partitionkey.text_xxhash_ops);
CREATE TABLE bench.copied_0 PARTITION OF bench.copied FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE bench.copied_1 PARTITION OF bench.copied FOR VALUES WITH (MODULUS 2, REMAINDER 1);

CREATE PROCEDURE bench.measure_insert(round int)
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    INSERT INTO bench.copied SELECT * FROM bench.grown;
    COMMIT;
    INSERT INTO bench.measurement VALUES ('split', 'insert', round, extract(epoch FROM clock_timestamp() - began));
END
$$;
CREATE PROCEDURE bench.measure_split(round int)
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    CALL partitionkey.split_partition('bench.grown_p0');
    INSERT INTO bench.measurement VALUES ('split', 'split', round, extract(epoch FROM clock_timestamp() - began));
END
$$;
SELECT unnest(ARRAY['TRUNCATE bench.copied', 'CHECKPOINT', format('CALL bench.measure_insert(%s)', round), 'CHECKPOINT',
    format('CALL bench.measure_split(%s)', round), 'CALL partitionkey.merge_partitions(''bench.grown_p0'', ''bench.grown_p8'')'])
FROM generate_series(1, :rounds) round \gexec
DROP TABLE bench.copied;
