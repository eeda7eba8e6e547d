-- Key values: what is one key and what is another.
CREATE SCHEMA k;
SET search_path = k, partitionkey;

-- case, blanks and the spellings of Å: five keys
CREATE TABLE spelled (k text NOT NULL, n int NOT NULL, PRIMARY KEY (k, n));
SELECT create_container('spelled', '{/k}');
INSERT INTO spelled VALUES ('Contoso', 1), ('contoso', 2), ('Contoso ', 3), (U&'\00C5', 4), (U&'A\030A', 5);
SELECT count(DISTINCT hash_position(k)) AS positions, count(DISTINCT effective_partition_key(jsonb_build_array(k))) AS epks FROM spelled;
SELECT n, (SELECT array_agg(s.n) FROM spelled s WHERE s.k = t.k) AS found, left(effective_partition_key(jsonb_build_array(k)), 8) AS epk FROM spelled t ORDER BY n;

-- lengths: 1, 100, 101, 2048 bytes, 700 CJK characters; and just too long
CREATE TABLE lengths (k text NOT NULL, j jsonb NOT NULL, v varchar NOT NULL, n int);
SELECT create_container('lengths', '{/k,/j,/v}', '{4,2,2}');
\d lengths
INSERT INTO lengths SELECT s, to_jsonb(s), s, length(s) FROM unnest(ARRAY[repeat('x', 1), repeat('x', 100), repeat('x', 101), repeat('x', 2048), repeat(U&'\96FB', 700), repeat(U&'\+01F600', 512), '']) s;
SELECT n, octet_length(k) AS bytes, (SELECT count(*) FROM lengths l WHERE l.k = t.k AND l.j = t.j AND l.v = t.v) AS found FROM lengths t ORDER BY octet_length(k);
INSERT INTO lengths VALUES (repeat('x', 2049), '1', 'v');
INSERT INTO lengths VALUES ('k', '1', repeat('x', 3000));
INSERT INTO lengths VALUES ('k', to_jsonb(repeat('x', 2049)), 'v');
-- over the limit in UTF-8 and in UTF-16
INSERT INTO lengths VALUES (repeat(U&'\00E9', 1025), '1', 'v');
INSERT INTO lengths VALUES (repeat(U&'\96FB', 1025), '1', 'v');
INSERT INTO lengths VALUES (repeat(U&'\+01F600', 513), '1', 'v');
UPDATE lengths SET v = repeat('x', 2049) WHERE k = 'x';
-- a search for such a key finds nothing, and is no error
SELECT count(*) FROM lengths WHERE k = repeat('x', 3000);
SELECT count(*) FROM lengths WHERE j = to_jsonb(repeat('x', 3000)) OR j = '[1]' OR j = '{"a":1}';
-- long keys that don't compress, in an index
CREATE TABLE indexed (k text PRIMARY KEY);
SELECT create_container('indexed', '{/k}', '{2}', 'cosmos');
INSERT INTO indexed SELECT string_agg(md5(i::text), '') FROM generate_series(1, 64) i;
INSERT INTO indexed SELECT string_agg(md5(i::text), '') FROM generate_series(1, 65) i;
SELECT length(k) FROM indexed;

-- the limit is per value, and named by its place in the key
CREATE TABLE places (id int NOT NULL, v text NOT NULL);
SELECT create_container('places', '{/id,/v}');
INSERT INTO places VALUES (1, repeat('x', 3000));
-- valid_key by itself
SELECT valid_key('a'::text), valid_key(1), valid_key(true, current_date, 1.5), valid_key('unknown'), valid_key(NULL::text);
SELECT valid_key('a'::text, '[1]'::jsonb);
SELECT valid_key('\x00'::bytea);
SELECT valid_key(VARIADIC ARRAY['a', 'b']);

-- null, undefined, '' and 0 are four keys of a jsonb column; numbers are one key whatever their form
CREATE TABLE mixed (k jsonb NOT NULL, n int);
SELECT create_container('mixed', '{/k}', '{8}', 'cosmos');
INSERT INTO mixed VALUES ('null', 1), ('{}', 2), ('""', 3), ('0', 4), ('42', 5), ('42.0', 6), ('4.2e1', 7), ('"42"', 8), ('-0', 9), ('false', 10), ('true', 11);
SELECT array_agg(n ORDER BY n) AS items, jsonb_typeof(k), effective_partition_key(jsonb_build_array(k)) AS epk FROM mixed GROUP BY k ORDER BY 1;
SELECT min(n) FROM mixed WHERE k = 'null'; SELECT min(n) FROM mixed WHERE k = '{}'; SELECT count(*) FROM mixed WHERE k = '42';
INSERT INTO mixed VALUES ('[1]');
INSERT INTO mixed VALUES ('{"a": 1}');
SELECT sum(items), sum(misplaced) FROM verify('mixed');

-- numbers beyond a double's precision or range share a position, but stay different keys
CREATE TABLE numbers (k numeric NOT NULL);
SELECT create_container('numbers', '{/k}');
INSERT INTO numbers VALUES (9007199254740992), (9007199254740993), (1e400), (1e401), ('NaN'), ('Infinity'), (-1e400), (1e-400), (0);
SELECT k, (SELECT count(*) FROM numbers m WHERE m.k = n.k) AS found FROM numbers n WHERE k IN (9007199254740992, 9007199254740993) ORDER BY 1;
SELECT count(*) FROM numbers WHERE k = 1e400; SELECT count(*) FROM numbers WHERE k = 'NaN'; SELECT count(*) FROM numbers WHERE k = 1e-400;
SELECT sum(items), sum(misplaced) FROM verify('numbers');
CREATE TABLE doubles (k float8 NOT NULL);
SELECT create_container('doubles', '{/k}');
INSERT INTO doubles VALUES ('-0'), ('0'), ('NaN'), ('Infinity'), ('-Infinity');
SELECT count(*) FROM doubles WHERE k = 0; SELECT count(*) FROM doubles WHERE k = 'NaN';
SELECT sum(items), sum(misplaced) FROM verify('doubles');

-- positions don't depend on the session
SELECT hash_position('2025-01-28 12:30:00.25+02'::timestamptz) AS a, hash_position('2025-01-28'::date) AS b, hash_position(0.1::float8) AS c \gset
SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'SQL, DMY'; SET extra_float_digits = -10;
SELECT hash_position('2025-01-28 10:30:00.25+00'::timestamptz) = :'a', hash_position('2025-01-28'::date) = :'b', hash_position(0.1::float8) = :'c';
RESET TimeZone; RESET DateStyle; RESET extra_float_digits;
SELECT hash_position('2025-01-28T10:30:00.25Z'::text) = :'a' AS iso;

-- hash_position: a literal is text; errors
SELECT hash_position('abc') = hash_position('abc'::text), hash_position(NULL::text) IS NULL;
SELECT hash_position('abc', 'md5');
SELECT hash_position('{1}'::int[]);
SELECT hash_position('a'::char(3));
SELECT hash_position('[1]'::jsonb);

-- effective_partition_key: errors
SELECT effective_partition_key('["a"]', 'Range');
SELECT effective_partition_key('["a"]', 'hash');
SELECT effective_partition_key('["a"]', 'Hash', 3);
SELECT effective_partition_key('["a"]', 'MultiHash', 1);
SELECT effective_partition_key('"a"');
SELECT effective_partition_key('{}');
SELECT effective_partition_key('["a", [1]]');
SELECT effective_partition_key('["a", {"b": 1}]');
SELECT effective_partition_key('["a", "b", "c", "d"]');
SELECT effective_partition_key('["a", "b", "c", "d"]', 'Hash', 2);
SELECT effective_partition_key('[1e309]', 'Hash', 2);
SELECT effective_partition_key('[-1e400]', 'Hash', 1);
SELECT effective_partition_key('[1e-400]') = effective_partition_key('[0]') AS underflow;
SELECT * FROM epk_range('["a","b"]', 1);
SELECT * FROM epk_range('["a"]', 4);
SELECT * FROM epk_range('["a"]', 0);
SELECT * FROM epk_range('"a"', 2);

-- partition_of: every answer is defined
CREATE TABLE typed (a int NOT NULL, b uuid NOT NULL, c bool NOT NULL);
SELECT create_container('typed', '{/a,/b,/c}', '{4,2,2}');
SELECT count(*) AS every_leaf FROM partition_of('typed', '[]');
SELECT count(*) FROM partition_of('typed', '[5]');
SELECT count(*) FROM partition_of('typed', '[5,"8f14e45f-ceea-167a-5a36-dedd4bea2543"]');
SELECT partition_of('typed', '[5,"8f14e45f-ceea-167a-5a36-dedd4bea2543",true]') = partition_of('typed', '[5.0,"8F14E45FCEEA167A5A36DEDD4BEA2543",true]') AS same;
INSERT INTO typed VALUES (5, '8f14e45f-ceea-167a-5a36-dedd4bea2543', true);
SELECT tableoid::regclass = partition_of('typed', '[5,"8f14e45f-ceea-167a-5a36-dedd4bea2543",true]') AS right FROM typed;
SELECT partition_of('typed', '[5,"8f14e45f-ceea-167a-5a36-dedd4bea2543",true,1]');
SELECT partition_of('mixed', '["a","b"]');
SELECT partition_of('typed', '["5"]');
SELECT partition_of('typed', '[5.5]');
SELECT partition_of('typed', '[99999999999999]');
SELECT partition_of('doubles', '[1e400]');
SELECT partition_of('typed', '[null]');
SELECT partition_of('typed', '[{}]');
SELECT partition_of('typed', '[5,"no uuid"]');
SELECT partition_of('typed', '[5,7]');
SELECT partition_of('typed', '[[5]]');
SELECT partition_of('typed', '5');
SELECT partition_of('pg_class', '[5]');
SELECT count(*) FROM partition_of('typed', NULL);
SELECT partition_of('mixed', '[null]') = tableoid::regclass AS right FROM mixed WHERE k = 'null';
SELECT partition_of('mixed', '[{}]') = tableoid::regclass AS right FROM mixed WHERE k = '{}';
-- more keys than levels that are divided
CREATE TABLE later (a text NOT NULL, b text NOT NULL, c text NOT NULL);
SELECT create_container('later', '{/a,/b,/c}', '{8}');
SELECT (SELECT count(*) FROM partition_of('later', '["x"]')) AS prefix, (SELECT count(*) FROM partition_of('later', '["x","y","z"]')) AS full_key, (SELECT count(*) FROM partition_of('later', '[]')) AS all;
SELECT DISTINCT cardinality(min_inclusive) AS levels_used FROM physical_partitions WHERE container = 'later'::regclass;
-- a float4 column holds another number than the JSON text says
CREATE TABLE reals (k real NOT NULL);
SELECT create_container('reals', '{/k}', '{64}');
INSERT INTO reals SELECT i / 10.0 FROM generate_series(1, 100) i;
SELECT count(*) AS found, count(*) FILTER (WHERE r.tableoid <> p) AS elsewhere
	FROM generate_series(1, 100) i JOIN reals r ON r.k = (i / 10.0)::real, partition_of('reals', jsonb_build_array(i / 10.0)) p;

SET client_min_messages = warning;
DROP SCHEMA k CASCADE;
