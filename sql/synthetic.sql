-- Synthetic keys: made of several values, or ending in a bucket; and read back.
CREATE SCHEMA s;
SET search_path = s, partitionkey;
\pset null '(null)'

-- parts joined
SELECT synthetic_key('Microsoft', 'Marjolaine_Mayer14'), synthetic_key('Microsoft', 'Marjolaine', 'Mayer', 14), synthetic_key('one'), synthetic_key('', ''), synthetic_key_with('', 'a', 'b');
-- every type in its canonical text
SELECT n, key FROM (VALUES
	(1, synthetic_key('text'::text, 'varchar'::varchar(10), 'char'::char(10), 'name'::name, ' blanks ')),
	(2, synthetic_key(1::int2, -2::int4, 9223372036854775807::int8)),
	(3, synthetic_key(1.50, 1.00, 100, -0.0, 0.000001, 1e20::numeric, 123456789012345678901234567890.12)),
	(4, synthetic_key(1.5::float8, 1::float8, 0.1::float8, -0.0::float8, 1e20::float8, 1e-7::float8, 123456789.123456789::float8)),
	(5, synthetic_key(0.1::float4, 16777216::float4, 1e10::float4)),
	(6, synthetic_key('NaN'::float8, '-Infinity'::float8, 'NaN'::numeric, 'Infinity'::numeric)),
	(7, synthetic_key(true, false)),
	(8, synthetic_key('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid)),
	(9, synthetic_key(date '2025-01-28', date 'infinity', date '0044-03-15 BC')),
	(10, synthetic_key(timestamp '2025-01-28 12:30', timestamptz '2025-01-28 12:30:00.25+01')),
	(11, synthetic_key('"a_b"'::jsonb, '1.50'::jsonb, 'true'::jsonb, '{"x": "deep"}'::jsonb -> 'x')),
	(12, synthetic_key('a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e'::puid, 'a2720'::puid_family)),
	(13, synthetic_key(VARIADIC ARRAY['a', 'b', 'c'])),
	(14, synthetic_key(VARIADIC ARRAY[1.50, 2.0])),
	(15, synthetic_key_with('|', date '2025-01-28', 7)),
	(16, synthetic_key_with(' -- ', 'a', NULL::text || 'b' IS NULL))) v(n, key) ORDER BY n;
-- equal values of different types make equal keys
SELECT synthetic_key(1) = ALL (ARRAY[synthetic_key(1::int2), synthetic_key(1::int8), synthetic_key(1.0), synthetic_key(1::float4), synthetic_key(1::float8), synthetic_key('1'::jsonb), synthetic_key('1')]) AS same;
-- independent of settings
CREATE TABLE before AS SELECT synthetic_key(0.1::float8, 1::float4 / 3, date '2025-01-28', timestamp '2025-01-28 12:30', timestamptz '2025-01-28 12:30+00', 1.5) AS key,
	time_bucket_key('d', '2025-01-28 12:30+00') AS bucket;
SET DateStyle = 'German'; SET TimeZone = 'Asia/Tokyo'; SET extra_float_digits = -10; SET IntervalStyle = 'iso_8601'; SET lc_numeric = 'C'; SET bytea_output = 'escape';
SELECT key = synthetic_key(0.1::float8, 1::float4 / 3, '2025-01-28'::date, '2025-01-28 12:30'::timestamp, '2025-01-28 12:30+00'::timestamptz, 1.5) AS key,
	bucket = time_bucket_key('d', '2025-01-28 12:30+00') AS bucket, before FROM before;
RESET DateStyle; RESET TimeZone; RESET extra_float_digits; RESET IntervalStyle; RESET lc_numeric; RESET bytea_output;
-- what is no part
SELECT synthetic_key('a', NULL, 'c');
SELECT synthetic_key('a', NULL::int);
SELECT synthetic_key('a', 'null'::jsonb);
SELECT synthetic_key('a', '[1]'::jsonb);
SELECT synthetic_key('a', '{}'::jsonb);
SELECT synthetic_key(VARIADIC ARRAY['a', NULL]);
SELECT synthetic_key(VARIADIC NULL::text[]);
SELECT synthetic_key(VARIADIC '{}'::text[]);
SELECT synthetic_key('a', interval '1 day');
SELECT synthetic_key('a', '\x00'::bytea);
SELECT synthetic_key('a', ARRAY[1]);
SELECT synthetic_key_with(NULL, 'a', 'b');
SELECT synthetic_key();
CREATE TYPE mood AS ENUM ('fine');
SELECT synthetic_key('fine'::mood);
SELECT synthetic_key('fine'::mood::text);
CREATE DOMAIN code AS char(4);
SELECT synthetic_key('ab'::code, 1);

-- keys that are split again
SELECT synthetic_key('a_b', 'c') = synthetic_key('a', 'b_c') AS one_key;
SELECT synthetic_key_strict('_', 'a', 'b', 1), split_synthetic_key(synthetic_key_strict('_', 'a', 'b', 1));
SELECT synthetic_key_strict('_', 'a_b', 'c');
SELECT synthetic_key_strict('_', 'a', 'b_c');
SELECT synthetic_key_strict('_', 'a', '_');
SELECT synthetic_key_strict('|', 'a_b', 'c'), split_synthetic_key('a_b|c', '|');
-- a separator of several characters may begin in a part
SELECT synthetic_key_strict('--', 'a-', 'b');
SELECT synthetic_key_strict('--', 'a', '-b'), split_synthetic_key(synthetic_key_strict('--', 'a', '-b'), '--');
SELECT synthetic_key_strict('aba', 'ab', 'c');
SELECT synthetic_key_strict('', 'a', 'b');
SELECT synthetic_key_strict(NULL, 'a', 'b');
SELECT synthetic_key_strict(repeat('-', 1000), repeat('電-', 100), repeat('-', 1000));
SELECT split_synthetic_key('a_b', '');
SELECT split_synthetic_key(''), split_synthetic_key('_'), split_synthetic_key('a'), split_synthetic_key(NULL), split_synthetic_key('a', NULL);
SELECT split_synthetic_key(synthetic_key_strict('_', '')), split_synthetic_key(synthetic_key_strict('_', '', '')), split_synthetic_key(synthetic_key_strict('電', 'a', 'é', ''), '電');
-- whatever is accepted comes back, and what can't come back is refused: all texts of up to three of a, b, - in two and three parts
CREATE FUNCTION strict_or_null(separator text, VARIADIC parts text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN partitionkey.synthetic_key_strict(separator, VARIADIC parts);
EXCEPTION WHEN invalid_parameter_value THEN RETURN NULL;
END $$;
CREATE TABLE words AS WITH c(c) AS (VALUES (''), ('a'), ('-')) SELECT DISTINCT a.c || b.c || c.c AS w FROM c a, c b, c c;
SELECT count(*) AS cases, count(key) AS accepted, count(*) FILTER (WHERE split_synthetic_key(key, separator) <> parts) AS broken,
	count(*) FILTER (WHERE key IS NULL AND string_to_array(nullif(array_to_string(parts, separator), ''), separator) = parts) AS refused_without_need
FROM (SELECT separator, parts, strict_or_null(separator, VARIADIC parts) AS key FROM unnest('{-,--,-a-,aa}'::text[]) separator,
	(SELECT ARRAY[x.w, y.w] AS parts FROM words x, words y UNION ALL SELECT ARRAY[x.w, y.w, z.w] FROM words x, words y, words z) p) t;

-- a suffix by a digest: golden_bucket.sql has the values
SELECT hash_suffix('electronics', 'order-1'), hash_suffix('electronics', 'order-1', 400, 'sha256'), hash_suffix('', '', 1), hash_suffix(NULL, 'a'), hash_suffix('a', NULL);
SELECT hash_suffix('a', 'b', 0);
SELECT hash_suffix('a', 'b', -1);
SELECT hash_suffix('a', 'b', 100001);
SELECT hash_suffix('a', 'b', 10, 'MD5');
SELECT hash_suffix('a', 'b', 10, 'sha1');
-- at random, evenly
SELECT random_suffix('a', 0);
SELECT random_suffix('a', 100001);
SELECT random_suffix('a', 1), random_suffix(NULL);
-- a statement can be cancelled while keys are made
CREATE FUNCTION seconds_until_cancelled(query text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE began timestamptz := clock_timestamp();
BEGIN
	EXECUTE query;
	RETURN NULL;
EXCEPTION WHEN query_canceled THEN RETURN extract(epoch FROM clock_timestamp() - began);
END $$;
SET statement_timeout = '30ms';
SELECT seconds_until_cancelled('SELECT suffix_keys(repeat(''x'', 10000), 100000)') < 1 AS suffixes;
SELECT seconds_until_cancelled('SELECT time_bucket_keys(repeat(''x'', 10000), ''2020-01-01 00:00+00'', ''2020-01-02 00:00+00'', ''1 second'')') < 1 AS buckets;
RESET statement_timeout;
-- chi-squared with 4 degrees of freedom is above 40 less than once in 10,000,000 cases
SELECT array_agg(DISTINCT key ORDER BY key) AS keys, sum((n - 4000) ^ 2 / 4000) < 40 AS even FROM (SELECT random_suffix('base') AS key, count(*) AS n FROM generate_series(1, 20000) GROUP BY 1) x;
SELECT suffix_keys('electronics', 3), suffix_keys('', 1), suffix_keys(NULL, 2), cardinality(suffix_keys('a', 100000));
SELECT suffix_keys('a', 0);
SELECT suffix_keys('a', 100001);
SELECT suffix_keys(repeat('a', 100000), 100000);
SELECT count(*) AS not_among_them FROM generate_series(1, 1000) i, unnest('{md5,sha256,xxhash}'::text[]) algorithm WHERE hash_suffix('e', i::text, 7, algorithm) <> ALL (suffix_keys('e', 7));
SELECT algorithm, count(DISTINCT hash_suffix('e', i::text, 7, algorithm)) FROM generate_series(1, 1000) i, unnest('{md5,sha256,xxhash}'::text[]) algorithm GROUP BY 1 ORDER BY 1;

-- time buckets: golden_bucket.sql has more
SELECT time_bucket_key('device-123', '2025-01-28 12:30+00'), time_bucket_key('device-123', '2025-01-28 12:30+00', '1 day'), time_bucket_key('device-123', '2025-01-28 12:30+00', '1 minute'),
	time_bucket_key('device-123', '2025-01-28 12:44:59.999999+00', '15 minutes'), time_bucket_key('device-123', '2025-01-28 12:30+00', '7 days') AS week, to_char(date '2025-01-27', 'FMDay') AS its_first_day;
SELECT time_bucket_key(NULL, now()), time_bucket_key('d', NULL), time_bucket_key('d', now(), NULL);
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '1 month');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '1 year -360 days');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '0');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '-1 hour');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '1 day -24 hours');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '0.5 seconds');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '2147483647 days');
SELECT time_bucket_key('d', '2025-01-28 12:30+00', '106751991 days'), time_bucket_key('d', '9999-12-31 23:59:59+00'), time_bucket_key('d', '0001-01-01 00:00+00');
SELECT time_bucket_key('d', '10000-01-01 00:00+00');
SELECT time_bucket_key('d', '0001-12-31 23:59:59+00 BC');
SELECT time_bucket_key('d', '1990-01-28 12:30+00', '106751991 days');
SELECT time_bucket_key('d', 'infinity');
-- all buckets that meet a span, both of its ends included
SELECT time_bucket_keys('d', '2025-01-28 12:59:59.999999+00', '2025-01-28 14:00+00');
SELECT time_bucket_keys('d', '2025-01-28 12:30+00', '2025-01-28 12:30+00', '1 day'), time_bucket_keys('d', '2025-01-26 00:00+00', '2025-02-03 00:00+00', '7 days') AS weeks, time_bucket_keys(NULL, now(), now());
SELECT count(*) AS moments, count(*) FILTER (WHERE time_bucket_key('d', at, width) <> ALL (time_bucket_keys('d', '2024-12-25 10:11:12+00', '2025-01-05 13:14:15+00', width))) AS missing,
	bool_and((SELECT count(DISTINCT k) = count(*) FROM unnest(time_bucket_keys('d', '2024-12-25 10:11:12+00', '2025-01-05 13:14:15+00', width)) k)) AS no_doubles
FROM generate_series(timestamptz '2024-12-25 10:11:12+00', '2025-01-05 13:14:15+00', '17 minutes') at, unnest('{15 minutes,1 hour,7 hours,1 day,3 days,7 days}'::interval[]) width;
SELECT cardinality(time_bucket_keys('d', '2025-01-01 00:00+00', timestamptz '2025-01-01 00:00+00' + interval '99999 seconds', '1 second'));
SELECT time_bucket_keys('d', '2025-01-01 00:00+00', timestamptz '2025-01-01 00:00+00' + interval '100000 seconds', '1 second');
SELECT time_bucket_keys('d', '0001-01-01 00:00+00', '9999-12-31 00:00+00', '1 second');
SELECT time_bucket_keys('d', '2025-01-02 00:00+00', '2025-01-01 00:00+00');
SELECT time_bucket_keys(repeat('a', 100000), '2025-01-01 00:00+00', '2025-01-02 00:00+00', '1 second');
SELECT time_bucket_keys('d', '1990-01-01 00:00+00', '294276-12-30 00:00+00', '1 hour');
SELECT time_bucket_keys('d', '4714-11-24 00:00+00 BC', '294276-12-31 00:00+00', '1 second');
SELECT time_bucket_keys('d', '1990-01-01 00:00+00', '200000-01-01 00:00+00', '57870370 days');
SELECT time_bucket_keys('d', '-infinity', '2025-01-01 00:00+00');
SELECT time_bucket_keys('d', '2025-01-01 00:00+00', 'infinity');
SELECT time_bucket_keys('d', '2025-01-01 00:00+00', '2025-01-02 00:00+00', '1 month');
SELECT time_bucket_keys('d', "from" => '2025-01-01 00:00+00', "to" => '2025-01-01 01:00+00');

-- read back: only the partitions of the keys
CREATE FUNCTION scanned(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; leaves text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP leaves := leaves || substring(line, 'Scan.* on (?:s\.)?(\w+_p[0-9a-f_]+)(?: |$)'); END LOOP;
	RETURN ARRAY(SELECT DISTINCT l FROM unnest(leaves) l WHERE l IS NOT NULL ORDER BY 1);
END $$;
CREATE FUNCTION leaves_of(container regclass, keys text[]) RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY(SELECT DISTINCT partition_of(container, jsonb_build_array(k))::text COLLATE "default" FROM unnest(keys) k ORDER BY 1)
$$;
CREATE TABLE items (pk text, id text, at timestamptz, PRIMARY KEY (pk, id));
SELECT create_container('items', '{/pk}', '{32}');
INSERT INTO items SELECT hash_suffix('electronics', 'i' || i, 3), 'i' || i, timestamptz '2025-01-28 00:00+00' + i * interval '1 minute' FROM generate_series(1, 300) i;
INSERT INTO items SELECT time_bucket_key('device-1', at, '6 hours'), id, at FROM items;
EXPLAIN (COSTS OFF) SELECT count(*) FROM items WHERE pk = ANY (suffix_keys('electronics', 1));
SELECT scanned(q) = leaves_of('items', keys) AS right_leaves, cardinality(scanned(q)) AS leaves FROM (VALUES
	('SELECT * FROM items WHERE pk = ANY (suffix_keys(''electronics'', 3))', '{electronics_0,electronics_1,electronics_2}'::text[]),
	('SELECT * FROM items WHERE pk = ANY (time_bucket_keys(''device-1'', ''2025-01-28 00:00+00'', ''2025-01-28 07:00+00'', ''6 hours''))', '{device-1_2025012800,device-1_2025012806}'),
	('SELECT * FROM items WHERE pk = hash_suffix(''electronics'', ''i7'', 3) AND id = ''i7''', ARRAY[hash_suffix('electronics', 'i7', 3)]),
	('SELECT * FROM items WHERE pk = synthetic_key(''electronics'', 1)', '{electronics_1}'),
	('SELECT * FROM items WHERE pk = time_bucket_key(''device-1'', ''2025-01-28 07:00+00'', ''6 hours'')', '{device-1_2025012806}')) v(q, keys);
SELECT count(*) FROM items WHERE pk = ANY (suffix_keys('electronics', 3));
SELECT count(*) FROM items WHERE pk = ANY (time_bucket_keys('device-1', '2025-01-28 00:00+00', '2025-01-28 03:00+00', '6 hours'));
SELECT count(*) FROM items WHERE pk = hash_suffix('electronics', 'i7', 3) AND id = 'i7';
-- with parameters, in a custom plan
PREPARE by_base(text) AS SELECT count(*) FROM items WHERE pk = ANY (suffix_keys($1, 3));
PREPARE by_span(timestamptz, timestamptz) AS SELECT count(*) FROM items WHERE pk = ANY (time_bucket_keys('device-1', $1, $2, '6 hours'));
SET plan_cache_mode = force_custom_plan;
SELECT scanned('EXECUTE by_base(''electronics'')') = leaves_of('items', suffix_keys('electronics', 3)) AS by_base,
	scanned('EXECUTE by_span(''2025-01-28 00:00+00'', ''2025-01-28 03:00+00'')') = leaves_of('items', '{device-1_2025012800}') AS by_span;
EXECUTE by_base('electronics');
RESET plan_cache_mode;
-- with what is known only when the query runs
CREATE FUNCTION executed(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
	RETURN count(DISTINCT node ->> 'Relation Name')
		FROM jsonb_path_query(plan, '$.** ? (exists (@."Relation Name") && @."Actual Loops" > 0)') node WHERE node ->> 'Relation Name' ~ '_p[0-9a-f]+$';
END $$;
SELECT cardinality(scanned('SELECT * FROM items WHERE pk = ANY (time_bucket_keys(''device-1'', now() - interval ''2 hours'', now(), ''6 hours''))')) AS all_of_them,
	executed('SELECT * FROM items WHERE pk IN (time_bucket_key(''device-1'', now(), ''6 hours''), time_bucket_key(''device-1'', now() - interval ''6 hours'', ''6 hours''))') BETWEEN 1 AND 2 AS few;
SET app.base = 'electronics';
SELECT executed('SELECT * FROM items WHERE pk = ANY (suffix_keys(current_setting(''app.base''), 3))') AS setting;
CREATE TABLE bases (base text);
INSERT INTO bases VALUES ('electronics'), (NULL);
ANALYZE bases;
SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT executed('SELECT count(*) FROM bases JOIN items ON pk = ANY (suffix_keys(base, 3))') AS joined;
SELECT count(*) FROM bases JOIN items ON pk = ANY (suffix_keys(base, 3));
RESET enable_hashjoin; RESET enable_mergejoin;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_base('electronics');
EXECUTE by_base('electronics');
EXECUTE by_base(NULL);
RESET plan_cache_mode;
-- an expensive base is not evaluated for each key
CREATE SEQUENCE calls;
CREATE FUNCTION expensive(t text) RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s.calls'); RETURN t; END $$;
SELECT suffix_keys(expensive(base), 2) FROM bases WHERE base IS NOT NULL;
SELECT last_value FROM calls;
-- written out or not, the keys are the same
SELECT suffix_keys(base, 2), suffix_keys(base, 101) = suffix_keys('electronics', 101) AS long, suffix_keys(base, NULL) FROM bases;
SELECT suffix_keys(base, 0) FROM bases;
SELECT count(DISTINCT k) FROM unnest(suffix_keys(random_suffix('a', 10), 3)) k;

SELECT proname, provolatile, proisstrict, proparallel FROM pg_proc WHERE pronamespace = 'partitionkey'::regnamespace
	AND proname IN ('synthetic_key', 'synthetic_key_with', 'synthetic_key_strict', 'split_synthetic_key', 'hash_suffix', 'random_suffix', 'suffix_keys', 'time_bucket_key', 'time_bucket_keys') ORDER BY proname COLLATE "C";
DROP SCHEMA s CASCADE;
