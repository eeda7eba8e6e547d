-- advise_key: the figures against plain SQL, the best key where it is known, warnings, queries, bad input.
CREATE SCHEMA adv;
SET search_path = adv, partitionkey;

-- Tenants of very different sizes with many users each, and what makes a bad key.
CREATE TABLE events AS
	SELECT i AS id, 'tenant-' || t AS tenant_id, 'tenant-' || t || '-u' || i * 7919 % (10 + 990 / t) AS user_id,
		   CASE WHEN i % 5 = 0 THEN 'product' ELSE 'review' END AS doc_type, '2025-01-01'::timestamptz + i * interval '7 s' AS created_at,
		   'x'::text AS constant, i % 1009 / 7.0 AS amount, upper('tenant-' || t) AS tenant_name
	FROM (SELECT i, 1 + (i * 7919::bigint % 8000)::int / 2000 * (i % 60) AS t FROM generate_series(1, 8000) i) generated;

-- the figures, counted in SQL; the skew is that of a container with these partitions
CREATE TABLE two_levels AS SELECT * FROM events; SELECT create_container('two_levels', '{/tenant_id,/user_id}', '{4,2}');
CREATE TABLE one_level AS SELECT * FROM events; SELECT create_container('one_level', '{/tenant_id}', '{8}');
CREATE TABLE three_levels AS SELECT * FROM events; SELECT create_container('three_levels', '{/doc_type,/tenant_id,/user_id}', '{2,2,2}');
CREATE FUNCTION counted(columns text, container regclass, OUT keys bigint, OUT share float8, OUT bytes numeric, OUT skew float8) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), max(n) / sum(n)::float8, max(b) FROM (SELECT count(*) AS n, sum(size) AS b FROM
		(SELECT *, pg_column_size(e) + 4 AS size FROM events e OFFSET 0) e GROUP BY %s) k', columns) INTO keys, share, bytes;
	SELECT max(items) / avg(items)::float8 INTO skew FROM verify(container);
END$$;
SELECT candidate, logical_partitions, round(largest_share::numeric, 4) AS largest_share, round(a.skew::numeric, 3) AS skew,
	   logical_partitions = keys AS keys, largest_share = share AS share, largest_bytes = bytes AS bytes, abs(a.skew - c.skew) < 1e-12 AS skew,
	   limit_share = largest_bytes / (20480 * 1024.0 * 1024.0) AS limit_share
FROM (VALUES ('/tenant_id', 'tenant_id', 'one_level'), ('/tenant_id,/user_id', 'tenant_id, user_id', 'two_levels'),
	('/doc_type,/tenant_id,/user_id', 'doc_type, tenant_id, user_id', 'three_levels')) v(candidate, columns, container)
JOIN advise_key('events', '{"/tenant_id","/tenant_id,/user_id","/doc_type,/tenant_id,/user_id"}') a USING (candidate), counted(columns, container::regclass) c
ORDER BY candidate COLLATE "C";
-- on a container by its own hash; other numbers of partitions; a container and its partition
SELECT candidate, logical_partitions, round(skew::numeric, 3) AS skew FROM advise_key('one_level', '{/tenant_id}', partitions => 1)
UNION ALL SELECT candidate, logical_partitions, round(skew::numeric, 3) FROM advise_key('one_level', '{/tenant_id}', partitions => 64)
UNION ALL SELECT candidate, logical_partitions, round(skew::numeric, 3) FROM advise_key('one_level_p0', '{/tenant_id}');
CREATE TABLE cosmos AS SELECT * FROM events; SELECT create_container('cosmos', '{/user_id}', '{8}', 'cosmos');
SELECT abs(skew - (SELECT max(items) / avg(items) FROM verify('cosmos'))) < 1e-12 AS skew FROM advise_key('cosmos', '{/user_id}');

-- Without queries: the tenant with its users; the others by their faults.
SELECT candidate, score, logical_partitions AS keys, round(largest_share::numeric, 3) AS largest, round(skew::numeric, 2) AS skew FROM advise_key('events') LIMIT 4;
SELECT candidate, warnings FROM advise_key('events', '{/id,/tenant_id,/user_id,/doc_type,/created_at,/constant,/amount,"/tenant_id,/user_id","/tenant_id,/tenant_name","/user_id,/tenant_id","/doc_type,/user_id","/tenant_id,/created_at"}') ORDER BY candidate COLLATE "C";
-- what is proposed is bounded, and never a column by itself twice
SELECT count(*) <= 57 AS bounded, count(DISTINCT candidate) = count(*) AS different, count(*) FILTER (WHERE candidate NOT LIKE '%,%') AS alone FROM advise_key('events');
-- each item has a place in one order only, the broad level first
SELECT candidate FROM advise_key('events') WHERE candidate ~ 'user_id.*tenant_id|id,/doc_type|created_at,' ORDER BY 1;

-- The diagonal: levels with the same values.
CREATE TABLE accounts AS SELECT 'u' || i % 1000 AS tenant_id, 'u' || CASE WHEN i % 10 = 0 THEN i ELSE i % 1000 END AS user_id FROM generate_series(1, 5000) i;
SELECT warnings FROM advise_key('accounts', '{"/tenant_id,/user_id"}');

-- The size of the largest logical partition.
CREATE TABLE large AS SELECT i % 200 AS k, repeat('x', 1000) AS pad FROM generate_series(1, 2000) i;
INSERT INTO large SELECT 7, repeat('x', 1000) FROM generate_series(1, 890);
SET partitionkey.logical_partition_limit = '1MB';
SELECT largest_bytes, round(limit_share::numeric, 3) AS limit_share, warnings FROM advise_key('large', '{/k}', partitions => 2);
RESET partitionkey.logical_partition_limit;

-- Documents: undefined, null and what is no scalar are told apart; a misspelled path is told.
CREATE TABLE volcanoes (doc jsonb);
INSERT INTO volcanoes SELECT jsonb_build_object('id', i, 'Country', 'c' || i % 120, 'Region', CASE WHEN i % 4 > 0 THEN 'r' || i % 100 END,
	'Location', jsonb_build_object('type', 'Point', 'zip', i % 300), '_ts', i, 'a/b', jsonb_build_object('c,d', i % 150)) FROM generate_series(1, 1575) i;
INSERT INTO volcanoes VALUES ('{"id": 1576, "country": "x"}');
SELECT candidate, logical_partitions AS keys, round(undefined_share::numeric, 4) AS undefined, round(null_share::numeric, 4) AS "null", round(not_scalar_share::numeric, 4) AS not_scalar, warnings
FROM advise_key('volcanoes', '{/country,/Country,/Region,/Location,/Location/zip,/doc/Location/Zip,"/Country,/Location"}') ORDER BY candidate COLLATE "C";
SELECT candidate, logical_partitions AS keys FROM advise_key('volcanoes') WHERE candidate NOT LIKE '%,/%';
SELECT candidate, logical_partitions AS keys FROM advise_key('volcanoes', ARRAY['/"a/b"/"c,d",/Country', $$/'a/b'/'c,d' , /id$$]);
-- columns and documents side by side: a property with the name of a column is named with the document's
CREATE TABLE mixed AS SELECT (doc->>'id')::int AS id, doc FROM volcanoes;
SELECT candidate FROM advise_key('mixed') WHERE candidate NOT LIKE '%,/%' ORDER BY candidate COLLATE "C";
CREATE TABLE several (a jsonb, b jsonb, n int);
INSERT INTO several SELECT jsonb_build_object('x', i % 100), to_jsonb(i % 200), i FROM generate_series(1, 1000) i;
SELECT candidate, logical_partitions AS keys FROM advise_key('several') WHERE candidate NOT LIKE '%,/%' ORDER BY candidate COLLATE "C";
-- a wide value, NULLs, values too long for a key, a generated column, a collation
CREATE TABLE odd (k text, long text, n int, twice int GENERATED ALWAYS AS (n * 2) STORED);
INSERT INTO odd SELECT CASE WHEN i % 10 = 0 THEN NULL WHEN i % 10 < 9 THEN repeat('é', 200) ELSE i::text END, CASE WHEN i % 50 = 0 THEN repeat('y', 3000) ELSE i::text END, i FROM generate_series(1, 1000) i;
SELECT candidate, round(null_share::numeric, 3) AS "null", warnings FROM advise_key('odd', '{/k,/long,/twice}') ORDER BY candidate COLLATE "C";
SELECT candidate FROM advise_key('odd') WHERE candidate = '/twice';

-- Queries: single, prefix, fan-out.
CREATE TABLE sessions (session_id text, user_id text, tenant_id text, started timestamptz, state text);
INSERT INTO sessions SELECT 's' || i, 'u' || i % 700, 't' || i % 70, '2025-01-01'::timestamptz + i * interval '1 min', 'open' FROM generate_series(1, 7000) i;
CREATE VIEW open_sessions AS SELECT * FROM sessions WHERE state = 'open';
CREATE FUNCTION shares(candidates text[], VARIADIC queries text[]) RETURNS TABLE (candidate text, single numeric, prefix numeric, fan_out numeric) LANGUAGE sql AS
	$$SELECT candidate, round(single::numeric, 3), round(prefix::numeric, 3), round(fan_out::numeric, 3) FROM advise_key('sessions', candidates, queries) ORDER BY candidate COLLATE "C"$$;
SELECT * FROM shares('{/tenant_id,"/tenant_id,/user_id","/tenant_id,/user_id,/session_id"}',
	'SELECT * FROM sessions WHERE tenant_id = ''t1''',
	'SELECT * FROM sessions WHERE tenant_id = $1 AND user_id IN ($2, $3)',
	'SELECT * FROM open_sessions WHERE session_id = ANY ($1) AND user_id = $2 AND tenant_id = $3',
	'SELECT count(*) FROM sessions WHERE started > now()');
-- the levels in the wrong order
SELECT candidate, fan_out, warnings FROM advise_key('sessions', '{"/session_id,/user_id,/tenant_id","/tenant_id,/user_id,/session_id"}',
	array_fill('SELECT * FROM sessions WHERE tenant_id = $1'::text, '{19}') || 'SELECT * FROM sessions WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3'::text);
-- what binds and what does not; each query reads by its worst
SELECT q, s.single, s.prefix, s.fan_out FROM unnest(ARRAY[
	'SELECT FROM sessions WHERE user_id = $1 AND tenant_id LIKE ''t1''', 'SELECT FROM sessions WHERE tenant_id LIKE ''t%''', 'SELECT FROM sessions WHERE tenant_id > $1',
	'SELECT FROM sessions WHERE lower(tenant_id) = $1', 'SELECT FROM sessions WHERE tenant_id = ''a'' OR tenant_id = ''b''', 'SELECT FROM sessions WHERE tenant_id = ''a'' OR user_id = ''b''',
	'SELECT FROM sessions a JOIN sessions b USING (tenant_id) WHERE a.tenant_id = $1', 'SELECT FROM sessions a, sessions b WHERE a.tenant_id = $1',
	'DELETE FROM sessions WHERE tenant_id = $1', 'UPDATE sessions SET state = $1 WHERE tenant_id = $2', 'SELECT 1']) q, shares('{/tenant_id}', q) s;
-- what statements update is no key
SELECT candidate, warnings FROM advise_key('sessions', '{/state,/user_id}', '{"UPDATE sessions SET state = $1 WHERE user_id = $2"}') ORDER BY candidate COLLATE "C";
-- with queries the best key is the one that they give
SELECT candidate FROM advise_key('sessions', queries => '{SELECT FROM sessions WHERE tenant_id = $1 AND user_id = $2,SELECT FROM sessions WHERE tenant_id = $1}') LIMIT 1;
SELECT candidate FROM advise_key('sessions', queries => '{SELECT FROM sessions WHERE session_id = $1}') LIMIT 1;
-- properties of documents, however they are written
SELECT q, single, fan_out FROM unnest(ARRAY[$$doc->>'Country' = $1$$, $$doc->'Country' = $1$$, $$doc['Country'] = $1$$, $$doc #>> '{Country}' = $1$$, $$(doc->>'Country')::int = 1$$,
	$$jsonb_extract_path_text(doc, 'Country') = 'x'$$, $$doc->>'country' = 'x'$$, $$doc @> '{"Country": "x"}'$$, $$doc->$1::text = '1'$$, $$doc->'Country'->>'x' = '1'$$, $$doc::text = '1'$$]) q,
	advise_key('volcanoes', '{/Country}', ARRAY['SELECT FROM volcanoes WHERE ' || q]);
SELECT q, single, fan_out FROM unnest(ARRAY[$$doc->'Location'->>'zip' = $1$$, $$doc['Location']['zip'] = $1$$, $$doc #> '{Location,zip}' = $1$$, $$(doc->'Location'->>'zip')::int IN (1, 2)$$]) q,
	advise_key('volcanoes', '{/Location/zip}', ARRAY['SELECT FROM volcanoes WHERE ' || q]);
-- what statements set in documents
SELECT q, array_agg(candidate ORDER BY candidate COLLATE "C") FILTER (WHERE warnings::text LIKE '%mutable%') AS mutable FROM unnest(ARRAY[
	$$doc = jsonb_set(doc, '{Country}', $1)$$, $$doc = jsonb_set(doc, '{Location}', '{}')$$, $$doc = jsonb_set(doc, '{Location,zip}', '1')$$, $$doc['Country'] = '1'$$,
	$$doc = doc || '{"Country": "x", "Region": "y"}'$$, $$doc = doc || jsonb_build_object('Region', $1::text, 'other', 1)$$, $$doc = doc - 'Country' #- '{Region}'$$, $$doc = $1$$]) q,
	advise_key('volcanoes', '{/Country,/Location/zip,/Region}', ARRAY['UPDATE volcanoes SET ' || q]) GROUP BY q ORDER BY q COLLATE "C";
SELECT candidate, warnings::text LIKE '%mutable%' AS mutable FROM advise_key('one_level', '{/user_id,/doc_type,/id}', '{"UPDATE one_level SET doc_type = $1, user_id = $2 WHERE tenant_id = $3"}') ORDER BY candidate COLLATE "C";
SELECT candidate, warnings::text LIKE '%mutable%' AS mutable FROM advise_key('sessions', '{/state}', '{"WITH u AS (UPDATE sessions SET state = $1 RETURNING 1) SELECT count(*) FROM u"}');
SELECT candidate, warnings::text LIKE '%mutable%' AS mutable FROM advise_key('sessions', '{/state,/user_id,/session_id}', ARRAY['MERGE INTO sessions s USING (SELECT $1::text AS id) n ON s.session_id = n.id WHEN MATCHED AND $2 THEN DELETE
	WHEN MATCHED THEN UPDATE SET state = ''x'', user_id = $3 WHEN NOT MATCHED THEN INSERT (session_id) VALUES (n.id)']) ORDER BY candidate COLLATE "C";

-- Times in documents.
CREATE TABLE readings AS SELECT jsonb_build_object('_ts', 1735689600 + i, 'ms', 1735689600000 + i, 'iso', to_char(timestamp '2025-01-01' + i * interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'day', to_char(timestamp '2025-01-01' + i * interval '1 h', 'YYYY-MM-DD'), 'number', 1000000 + i, 'version', '2025-1.' || i) AS doc FROM generate_series(1, 2000) i;
SELECT candidate, warnings::text LIKE '%time-like%' AS time FROM advise_key('readings', '{/_ts,/ms,/iso,/day,/number,/version}') ORDER BY candidate COLLATE "C";

-- Tables without rows.
CREATE TABLE empty (LIKE events);
SELECT * FROM advise_key('empty', '{/id,"/tenant_id,/user_id"}', '{SELECT FROM empty WHERE id = 1}');
SELECT create_container('empty', '{/tenant_id}');
SELECT count(*), max(score), max(logical_partitions) FROM advise_key('empty');
-- what looks like a time, of the values that there are; long texts; a level that divides little
CREATE TABLE traits (month text, at timestamptz, share numeric, employee int, center int, review text, code text);
INSERT INTO traits SELECT CASE WHEN i % 3 > 0 THEN '2025-0' || 1 + i % 9 END, CASE WHEN i % 2 = 0 THEN timestamptz '2025-01-01' + i * interval '1 min' END,
	CASE WHEN i % 4 = 0 THEN i + 0.5 WHEN i % 4 = 1 THEN i END, i % 600, CASE WHEN i % 600 < 10 AND i > 3000 THEN 1000 ELSE i % 40 END,
	repeat('lorem ipsum ', 12) || i, 'k' || i % 70 FROM generate_series(1, 6000) i;
SELECT candidate, logical_partitions AS keys, warning FROM advise_key('traits', '{/month,/at,/share,/review,"/employee,/center",/code}'), unnest(warnings) warning
WHERE warning ~ 'time-like|measured|long texts|follow' ORDER BY 1, 3;
-- proposed with a warning, and not as a part of others
SELECT candidate FROM advise_key('traits') WHERE candidate ~ '/review' ORDER BY 1;

CREATE TABLE nothing ();
SELECT * FROM advise_key('nothing');
CREATE TABLE single AS SELECT 1 AS a, NULL::text AS b;
SELECT candidate, score, logical_partitions AS keys, warnings FROM advise_key('single', partitions => 1);

-- Large tables are sampled; of a view rows are taken by chance.
CREATE TABLE many AS SELECT i % 3000 AS k, CASE WHEN i % 5 = 0 THEN 'whale' ELSE 'u' || i % 40000 END AS u FROM generate_series(1, 450000) i;
ANALYZE many;
CREATE VIEW many_view AS SELECT k, u, k % 10 = 0 AS flag FROM many;
SELECT candidate, round(largest_share::numeric, 2) AS largest FROM advise_key('many_view', '{/u,/flag}');
SET client_min_messages = warning;
SELECT candidate, abs(logical_partitions - CASE candidate WHEN '/k' THEN 3000 WHEN '/u' THEN 32001 ELSE 120001 END) < logical_partitions * 0.05 AS keys,
	   abs(largest_share - CASE candidate WHEN '/u' THEN 0.2 ELSE largest_share END) < 0.01 AS largest,
	   candidate = '/k' OR abs(largest_bytes::float8 / (SELECT sum(pg_column_size(m) + 4) FROM (SELECT * FROM many OFFSET 0) m WHERE u = 'whale') - 1) < 0.1 AS bytes
FROM advise_key('many', '{/k,/u}') ORDER BY candidate COLLATE "C";
-- a unique key has one row for each value, of 24 bytes for its header, 8 of data and 4 for its place; pairs have two
CREATE TABLE unique_keys AS SELECT i AS id, i % 225000 AS pair FROM generate_series(1, 450000) i;
ANALYZE unique_keys;
SELECT candidate, largest_bytes BETWEEN 36 * per AND 36 * per * 1.1 AS bytes
FROM advise_key('unique_keys', '{/id,/pair}') JOIN (VALUES ('/id', 1), ('/pair', 2)) v(candidate, per) USING (candidate) ORDER BY 1;
-- with row security a sample is scaled by what came of it, not by rows that the user may not see: he sees a tenth
CREATE ROLE regress_advise_tenth;
GRANT USAGE ON SCHEMA adv TO regress_advise_tenth;
GRANT SELECT ON unique_keys TO regress_advise_tenth;
ALTER TABLE unique_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenth ON unique_keys USING (id % 10 = 0);
SET ROLE regress_advise_tenth;
SELECT logical_partitions BETWEEN 40000 AND 50000 AS tenth FROM advise_key('unique_keys', '{/id}');
RESET ROLE;
DROP OWNED BY regress_advise_tenth;
DROP ROLE regress_advise_tenth;
RESET client_min_messages;

-- Bad input.
SELECT * FROM advise_key(NULL);
SELECT * FROM advise_key('events', partitions => NULL);
SELECT * FROM advise_key('events', partitions => 6);
SELECT * FROM advise_key('events', partitions => 8192);
SELECT * FROM advise_key('events', '{NULL}');
SELECT * FROM advise_key('events', '{""}');
SELECT * FROM advise_key('events', '{"/id,"}');
SELECT * FROM advise_key('events', '{tenant_id}');
SELECT * FROM advise_key('events', '{/tennant_id}');
SELECT * FROM advise_key('events', '{"/id,/id"}');
SELECT * FROM advise_key('volcanoes', '{"/Country,/doc/Country"}');
SELECT * FROM advise_key('events', '{"/id,/tenant_id,/user_id,/doc_type"}');
SELECT * FROM advise_key('volcanoes', (SELECT array_agg('/p' || i) FROM generate_series(1, 33) i));
SELECT * FROM advise_key('volcanoes', (SELECT array_agg('/p' || i % 9) FROM generate_series(1, 65) i));
SELECT * FROM advise_key('events', '{}');
SELECT * FROM advise_key('events', '{/id}', '{NULL}');
SELECT * FROM advise_key('events', '{/id}', '{SELECT 1,SELECT * FROM events WHER id = 1}');
SELECT * FROM advise_key('events', '{/id}', '{SELECT * FROM events WHERE ident = 1}');
SELECT * FROM advise_key('events', '{/id}', '{VACUUM events}');
SELECT * FROM advise_key('events', '{/id}', '{""}');
SELECT single, prefix, fan_out FROM advise_key('events', '{/id}', '{}');

-- SELECT is enough; row security counts; read-only; any search_path; no lock that blocks writers
CREATE ROLE regress_advise_reader;
GRANT USAGE ON SCHEMA adv TO regress_advise_reader;
SET ROLE regress_advise_reader;
SELECT * FROM advise_key('events', '{/id}');
RESET ROLE;
GRANT SELECT ON events, one_level TO regress_advise_reader;
SET ROLE regress_advise_reader;
BEGIN READ ONLY;
SELECT candidate, single FROM advise_key('events', '{/tenant_id}', '{SELECT FROM events WHERE tenant_id = $1}');
SET LOCAL search_path = '';
SELECT candidate, logical_partitions FROM partitionkey.advise_key('adv.one_level', '{/tenant_id}');
SELECT DISTINCT mode FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.relation
	WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid() AND c.relname OPERATOR(pg_catalog.~) '^(events|one_level)';
COMMIT;
SELECT * FROM advise_key('events', '{/tenant_id}', '{UPDATE events SET id = 1}');
RESET ROLE;
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON events USING (tenant_id COLLATE "C" < 'tenant-2');
SET ROLE regress_advise_reader;
SELECT logical_partitions, logical_partitions = (SELECT count(DISTINCT tenant_id) FROM events) AS counted FROM advise_key('events', '{/tenant_id}');
RESET ROLE;

-- What a container keeps in columns, its key and the id, counts once, by the column; a property of a like name is another.
SELECT partitionkey.create_container_from_definition('{"id": "kept", "partitionKey": {"paths": ["/TenantId", "/customer/id"], "kind": "MultiHash", "version": 2}}', partitions => '{2}');
INSERT INTO kept_items SELECT json_build_object('id', i::text, 'TenantId', 't' || i % 20, 'customer', json_build_object('id', 'c' || i % 50), 'tenantid', i % 7, 'city', 'x' || i % 9, '_ts', 1700000000 + i)
FROM generate_series(1, 400) i;
SELECT candidate FROM partitionkey.advise_key('kept') WHERE candidate NOT LIKE '%,%' ORDER BY candidate COLLATE "C";
-- It can be named.
SELECT candidate, logical_partitions FROM partitionkey.advise_key('kept', '{/doc/TenantId,/tenantid}') ORDER BY candidate COLLATE "C";
-- A key of type jsonb, which is another column of this type than the documents.
SELECT partitionkey.create_container_from_definition('{"id": "mixed_kept", "partitionKey": {"paths": ["/pk"], "version": 2}}', key_types => '{jsonb}', partitions => '{2}');
INSERT INTO mixed_kept_items SELECT json_build_object('id', i::text, 'pk', i % 20, 'city', 'x' || i % 9) FROM generate_series(1, 400) i;
SELECT candidate FROM partitionkey.advise_key('mixed_kept') WHERE candidate NOT LIKE '%,%' ORDER BY candidate COLLATE "C";

SET client_min_messages = warning;
DROP SCHEMA adv CASCADE;
DROP ROLE regress_advise_reader;
