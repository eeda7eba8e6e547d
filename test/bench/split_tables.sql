-- A container of one leaf to split, with rows that stay the same size.

SET client_min_messages = warning;
DROP TABLE IF EXISTS bench.grown;
CREATE TABLE bench.grown (
    tenant_id text,
    user_id text,
    id bigint,
    n bigint NOT NULL DEFAULT 0,
    payload text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, id)
);
INSERT INTO bench.grown
    SELECT 'tenant-' || i % 200, 'user-' || i % 5000, i, 0, repeat('x', 50) FROM generate_series(1, :rows) i;
SELECT FROM partitionkey.create_container('bench.grown', '{/tenant_id,/user_id}', '{1}');
VACUUM (ANALYZE) bench.grown;
CHECKPOINT;
