-- What was measured, and what is compared: the ratio of two variants of a figure, in each round.

CREATE EXTENSION partitionkey;
CREATE SCHEMA bench;

CREATE TABLE bench.measurement (
    figure text,
    variant text,
    round int,
    value float8 -- seconds (of a call, where functions are called), or transactions per second
);

CREATE TABLE bench.comparison (
    place int GENERATED ALWAYS AS IDENTITY,
    name text,
    compared text,
    figure text,
    variant text,
    against text,
    minus text,   -- the variant to subtract from both, if any
    wanted text,  -- 'at most' or 'at least'; null if for information only
    bound float8
);

INSERT INTO bench.comparison (name, compared, figure, variant, against, minus, wanted, bound) VALUES
    ('COPY', 'time: container {8,4} / built-in hash, 8 x 4', 'copy', 'container', 'builtin', NULL, 'at most', 1.0),
    ('COPY', 'time: container {8,4} / plain table', 'copy', 'container', 'plain', NULL, 'at most', 1.25),
    ('COPY', 'time: container {8,4} / the same without its check', 'copy', 'container', 'unchecked', NULL, NULL, NULL),
    ('COPY', 'time: container without its check / built-in hash', 'copy', 'unchecked', 'builtin', NULL, NULL, NULL),
    ('COPY', 'time: built-in hash, 8 x 4 / plain table', 'copy', 'builtin', 'plain', NULL, NULL, NULL),
    ('COPY', 'time: built-in hash, 8 x 4 / the same again, so the noise', 'copy', 'builtin', 'again', NULL, NULL, NULL),
    ('point read', 'throughput: container {8,4} / built-in hash, 8 x 4', 'point', 'container', 'builtin', NULL, 'at least', 0.95),
    ('point read', 'throughput: container {8,4} / the same without its check', 'point', 'container', 'unchecked', NULL, NULL, NULL),
    ('read a tenant of 25 rows', 'throughput: container {8,4} / plain table', 'prefix_small', 'container', 'plain', NULL, 'at least', 1.0),
    ('read a tenant of 25 rows', 'throughput: container {8} / plain table', 'prefix_small', 'undivided', 'plain', NULL, NULL, NULL),
    ('read a tenant of 25 rows', 'throughput: container {8,4} / built-in hash, 8 x 4', 'prefix_small', 'container', 'builtin', NULL, NULL, NULL),
    ('read a tenant of 1,250 rows', 'throughput: container {8,4} / plain table', 'prefix_large', 'container', 'plain', NULL, 'at least', 1.0),
    ('read a tenant of 1,250 rows', 'throughput: container {8} / plain table', 'prefix_large', 'undivided', 'plain', NULL, NULL, NULL),
    ('planning', 'time: {2048} / {32}', 'planning', '{2048}', '{32}', NULL, 'at most', 1.3),
    ('planning', 'time: {64,32} / {8,4}', 'planning', '{64,32}', '{8,4}', NULL, 'at most', 1.3),
    ('position', 'time: xxhash / hashtextextended, 12 bytes, net', 'position 12', 'xxhash', 'builtin', 'nothing', 'at most', 1.0),
    ('position', 'time: xxhash / hashtextextended, 12 bytes, with the query', 'position 12', 'xxhash', 'builtin', NULL, NULL, NULL),
    ('position', 'time: cosmos / hashtextextended, 12 bytes, net', 'position 12', 'cosmos', 'builtin', 'nothing', NULL, NULL),
    ('position', 'time: xxhash / hashtextextended, 1 kB, net', 'position 1000', 'xxhash', 'builtin', 'nothing', 'at most', 0.6),
    ('position', 'time: xxhash / hashtextextended, 1 kB, with the query', 'position 1000', 'xxhash', 'builtin', NULL, NULL, NULL),
    ('position', 'time: cosmos / hashtextextended, 1 kB, net', 'position 1000', 'cosmos', 'builtin', 'nothing', NULL, NULL),
    ('puid', 'time: puid() / gen_random_uuid(), net', 'puid', 'puid', 'uuid', 'nothing', 'at most', 0.5),
    ('puid', 'time: puid() / gen_random_uuid(), with the query', 'puid', 'puid', 'uuid', NULL, NULL, NULL),
    ('puid', 'time: puid(parent) / gen_random_uuid(), net', 'puid', 'child', 'uuid', 'nothing', NULL, NULL),
    ('puid insert', 'time: primary key puid / uuid', 'puid insert', 'puid', 'uuid', NULL, 'at most', 1.0),
    ('puid insert', 'time: primary key uuid / the same again, so the noise', 'puid insert', 'uuid', 'again', NULL, NULL, NULL),
    ('suffix', 'time: xxhash / md5, 12 bytes, net', 'suffix', 'xxhash', 'md5', 'nothing', 'at most', 0.33),
    ('suffix', 'time: xxhash / md5, 12 bytes, with the query', 'suffix', 'xxhash', 'md5', NULL, 'at most', 0.33),
    ('suffix', 'time: sha256 / md5, 12 bytes, net', 'suffix', 'sha256', 'md5', 'nothing', NULL, NULL),
    ('synthetic', 'time: synthetic_key / format, two texts, net', 'synthetic', 'synthetic_key', 'builtin', 'nothing', 'at most', 1.0),
    ('synthetic', 'time: synthetic_key / format, two texts, with the query', 'synthetic', 'synthetic_key', 'builtin', NULL, 'at most', 1.0),
    ('items', 'throughput: read_item / a prepared SELECT of the item', 'items_read', 'function', 'query', NULL, 'at least', 1.0),
    ('items', 'throughput: upsert_item / a prepared INSERT .. ON CONFLICT', 'items_upsert', 'function', 'statement', NULL, 'at least', 0.8),
    ('items', 'throughput: a batch of 100 creates / 100 create_item', 'items_batch', 'batch', 'single', NULL, 'at least', 3.0),
    ('routing', 'throughput of point reads: cross_partition_query error / allow', 'routing', 'error', 'allow', NULL, 'at least', 0.97),
    ('routing', 'throughput of point reads: allow / library not loaded', 'point loaded', 'loaded', 'not loaded', NULL, 'at least', 0.99),
    ('simulate', 'time: simulate_cosmos / count(DISTINCT key), text', 'simulate text', 'simulate', 'distinct', NULL, 'at most', 1.5),
    ('simulate', 'time: simulate_cosmos / count(DISTINCT key), bigint', 'simulate bigint', 'simulate', 'distinct', NULL, 'at most', 1.5),
    ('simulate', 'time: simulate_cosmos / count(DISTINCT key), property of jsonb', 'simulate jsonb', 'simulate', 'distinct', NULL, 'at most', 1.5),
    ('simulate', 'time: advise_key without candidates / count(DISTINCT key), text', 'simulate text', 'advise', 'distinct', NULL, NULL, NULL),
    ('split', 'rate: split / INSERT ... SELECT of the same rows', 'split', 'insert', 'split', NULL, 'at least', 0.6),
    ('import', 'rate: import_items from NDJSON / COPY of the ready-made rows', 'import', 'copied', 'imported', NULL, 'at least', 0.7),
    ('import', 'rate: import_items, with system properties / COPY of the ready-made rows', 'import', 'copied', 'exported', NULL, NULL, NULL),
    ('change feed', 'time: the last 100 items of the container / 10 ms', 'feed', 'last 100', '10 ms', NULL, 'at most', 1.0),
    ('change feed', 'time: the last 100 items of the container / SELECT by the index', 'feed', 'last 100', 'plain', NULL, NULL, NULL),
    ('change feed', 'time: what changed of a feed range, an eighth / 10 ms', 'feed', 'range', '10 ms', NULL, 'at most', 1.0),
    ('change feed', 'time: what changed of a key / 10 ms', 'feed', 'key', '10 ms', NULL, 'at most', 1.0),
    ('change feed', 'time: the first 1,000 items / 10 ms', 'feed', 'first 1000', '10 ms', NULL, NULL, NULL),
    ('logical_partitions', 'time: all levels / GROUP BY with count and sum of sizes', 'keys of all levels', 'logical_partitions', 'plain', NULL, 'at most', 1.2),
    ('logical_partitions', 'time: level 1 / GROUP BY with count and sum of sizes', 'keys of level 1', 'logical_partitions', 'plain', NULL, 'at most', 1.2),
    ('logical_partitions', 'time: a sample of 1 % / all rows', 'sample', 'one per cent', 'exact', NULL, 'at most', 0.1);

CREATE VIEW bench.ratio AS
    SELECT c.place, m.round,
        (m.value - coalesce(s.value, 0)) / (a.value - coalesce(s.value, 0)) AS ratio
    FROM bench.comparison c
    JOIN bench.measurement m ON m.figure = c.figure AND m.variant = c.variant
    JOIN bench.measurement a ON a.figure = c.figure AND a.variant = c.against AND a.round = m.round
    LEFT JOIN bench.measurement s ON s.figure = c.figure AND s.variant = c.minus AND s.round = m.round;

CREATE FUNCTION bench.quantity(figure text, variant text, value float8) RETURNS text
LANGUAGE sql AS $$
    SELECT CASE
        WHEN figure ~ 'memory' THEN round(value) || ' MB'
        WHEN figure ~ '^(point|prefix|routing|items)' OR variant ~ '^tps' THEN round(value) || ' tps'
        WHEN value < 1e-6 THEN round(value::numeric * 1e9, 1) || ' ns'
        WHEN value < 0.01 THEN round(value::numeric * 1e6, 1) || ' us'
        WHEN value < 1 THEN round(value::numeric * 1e3, 1) || ' ms'
        ELSE round(value::numeric, 2) || ' s' END
$$;

-- A tree of PostgreSQL's own: hash by tenant, then by user.
CREATE PROCEDURE bench.divide_builtin(root regclass, tenants int, users int)
LANGUAGE plpgsql AS $$
DECLARE
    node text;
BEGIN
    FOR t IN 0 .. tenants - 1 LOOP
        node := format('%s_%s', root, t);
        EXECUTE format('CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s) PARTITION BY HASH (user_id)',
            node, root, tenants, t);
        FOR u IN 0 .. users - 1 LOOP
            EXECUTE format('CREATE TABLE %s_%s PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                node, u, node, users, u);
        END LOOP;
    END LOOP;
END
$$;
