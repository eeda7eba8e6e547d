-- The rows, in a file, and the tables for them: `event` in a schema for each variant.

CREATE SCHEMA plain;
CREATE TABLE plain.event (
    tenant_id text,
    user_id text,
    id bigint,
    created_at timestamptz NOT NULL,
    payload text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, id)
);

CREATE SCHEMA builtin;
CREATE TABLE builtin.event (LIKE plain.event INCLUDING ALL) PARTITION BY HASH (tenant_id);
CALL bench.divide_builtin('builtin.event', 8, 4);

-- The same again: what differs between the two is noise.
CREATE SCHEMA again;
CREATE TABLE again.event (LIKE plain.event INCLUDING ALL) PARTITION BY HASH (tenant_id);
CALL bench.divide_builtin('again.event', 8, 4);

CREATE SCHEMA container;
CREATE TABLE container.event (LIKE plain.event INCLUDING ALL);
SELECT FROM partitionkey.create_container('container.event', '{/tenant_id,/user_id}', '{8,4}');

-- A container without the check on the length of key values, which the others don't have.
CREATE SCHEMA unchecked;
CREATE TABLE unchecked.event (LIKE plain.event INCLUDING ALL);
SELECT FROM partitionkey.create_container('unchecked.event', '{/tenant_id,/user_id}', '{8,4}');
SELECT format('ALTER TABLE %s DROP CONSTRAINT partitionkey_valid_key', partition)
FROM partitionkey.physical_partitions WHERE container = 'unchecked.event'::regclass \gexec

-- Divided by tenant only: the second level is left for splits.
CREATE SCHEMA undivided;
CREATE TABLE undivided.event (LIKE plain.event INCLUDING ALL);
SELECT FROM partitionkey.create_container('undivided.event', '{/tenant_id,/user_id}', '{8}');

-- Row i is the same for everybody, so that point.pgbench can name its key. Of a million rows, each
-- hundredth is one of the 400 small tenants' (25 rows each); the others belong to 792 larger ones
-- (1,250 rows and 45 users each).
CREATE VIEW bench.row AS
    SELECT 'tenant-' || CASE WHEN i % 100 = 0 THEN 801 + i / 100 % 400 ELSE 1 + i * 7919 % 800 END AS tenant_id,
        'user-' || 1000 + i * 104729 % 9000 AS user_id,
        i AS id,
        timestamptz '2025-01-01 00:00:00+00' + i * interval '1.37 s' AS created_at,
        left(md5(i::text) || md5((-i)::text), 50) AS payload
    FROM generate_series(1::bigint, :rows) i;

SELECT format('COPY (SELECT * FROM bench.row WHERE (id - 1) / %s = %s) TO %L',
    :rows / :pieces, piece - 1, :'file' || piece)
FROM generate_series(1, :pieces) piece \gexec
