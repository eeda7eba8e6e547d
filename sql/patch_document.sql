-- Patch operations on an item: what they do, and what they refuse.
\pset format unaligned
\pset tuples_only on
SET search_path = partitionkey, pg_temp;
-- the result, or the error with detail and hint
CREATE FUNCTION pg_temp.patched(doc jsonb, operations jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	RETURN patch_document(doc, operations);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, SQLERRM, detail, nullif(hint, ''));
END$$;
CREATE TEMP TABLE item AS SELECT '{"id": "1", "o": {"n": 1, "s": "x", "null": null, "b": true}, "list": ["a", "b", "c"], "price": 455.95,
	"x/y": 1, "~": 2, "": 3, "-": 4, "0": 5}'::jsonb AS doc;
CREATE FUNCTION pg_temp.patched(operations jsonb) RETURNS text LANGUAGE sql AS 'SELECT pg_temp.patched(doc, operations) FROM item';
-- what a patch with one operation makes of a member
CREATE FUNCTION pg_temp.one(op text, path text, value jsonb, member text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN result LIKE '{%' THEN coalesce(result::jsonb->>member, 'none') ELSE result END
	FROM pg_temp.patched(jsonb_build_array(jsonb_build_object('op', op, 'path', path) || CASE WHEN value IS NULL THEN '{}' ELSE jsonb_build_object('value', value) END)) result $$;

-- several operations, in order
SELECT patch_document('{"id": "1", "name": "Road bicycle", "price": 455.95, "stock": {"count": 15}, "used": false, "tags": ["r"]}', '[
	{"op": "add", "path": "/colour", "value": "silver"},
	{"op": "remove", "path": "/used"},
	{"op": "set", "path": "/price", "value": 355.45},
	{"op": "incr", "path": "/stock/count", "value": 10},
	{"op": "add", "path": "/tags/-", "value": "new"},
	{"op": "move", "from": "/colour", "path": "/stock/colour"}]');
SELECT patch_document('{"a": 1}', '{"operations": [{"op": "set", "path": "/b", "value": 2}]}');
-- a later one sees what an earlier one did
SELECT patch_document('{}', '[{"op": "add", "path": "/a", "value": {"b": []}}, {"op": "add", "path": "/a/b/0", "value": {"c": 1}}, {"op": "incr", "path": "/a/b/0/c", "value": 1}, {"op": "move", "from": "/a/b/0/c", "path": "/c"}]');
-- one value put twice is two
SELECT patch_document('{}', '[{"op": "add", "path": "/a", "value": {"x": 1}}, {"op": "add", "path": "/b", "value": {"x": 1}}, {"op": "incr", "path": "/a/x", "value": 1}]');
SELECT patch_document(NULL, '[]') IS NULL, patch_document('{}', NULL) IS NULL;

-- add: a member is put or replaced, an element is inserted
SELECT pg_temp.one('add', '/new', '{"deep": [1, {"er": null}]}', 'new'), pg_temp.one('add', '/price', '"free"', 'price'), pg_temp.one('add', '/o/n', 'null', 'o');
SELECT pg_temp.one('add', '/list/0', '1', 'list'), pg_temp.one('add', '/list/2', '1', 'list'), pg_temp.one('add', '/list/3', '1', 'list'), pg_temp.one('add', '/list/-', '[]', 'list');
-- set: an element is replaced
SELECT pg_temp.one('set', '/new', '1', 'new'), pg_temp.one('set', '/price', '{}', 'price');
SELECT pg_temp.one('set', '/list/0', '1', 'list'), pg_temp.one('set', '/list/2', '1', 'list'), pg_temp.one('set', '/list/3', '1', 'list'), pg_temp.one('set', '/list/-', '1', 'list');
-- replace, remove: what is there
SELECT pg_temp.one('replace', '/price', 'null', 'price'), pg_temp.one('replace', '/list/1', '1', 'list'), pg_temp.one('replace', '/o', '1', 'o');
SELECT pg_temp.one('replace', '/new', '1', ''), pg_temp.one('replace', '/list/3', '1', ''), pg_temp.one('replace', '/list/-', '1', '');
SELECT pg_temp.one('remove', '/price', NULL, 'price'), pg_temp.one('remove', '/list/0', NULL, 'list'), pg_temp.one('remove', '/list/2', NULL, 'list'), pg_temp.one('remove', '/o/null', NULL, 'o');
SELECT pg_temp.one('remove', '/new', NULL, ''), pg_temp.one('remove', '/list/3', NULL, ''), pg_temp.one('remove', '/o/new', NULL, '');
-- incr: integers and fractions, exactly; a number that is not there is put
SELECT pg_temp.one('incr', '/o/n', '41', 'o'), pg_temp.one('incr', '/price', '0.05', 'price'), pg_temp.one('incr', '/price', '-455.95', 'price'), pg_temp.one('incr', '/new', '-1.50', 'new'), pg_temp.one('increment', '/0', '1', '0');
SELECT patch_document('{"a": 0.1, "b": 9007199254740993, "list": [5]}', '[{"op": "incr", "path": "/a", "value": 0.2}, {"op": "incr", "path": "/b", "value": 2}, {"op": "incr", "path": "/list/0", "value": 13}, {"op": "incr", "path": "/list/1", "value": 1}]');
SELECT pg_temp.one('incr', '/o/s', '1', ''), pg_temp.one('incr', '/o/null', '1', ''), pg_temp.one('incr', '/o/b', '1', ''), pg_temp.one('incr', '/list', '1', ''), pg_temp.one('incr', '/o', '1', '');
SELECT pg_temp.one('incr', '/o/n', '"1"', ''), pg_temp.one('incr', '/o/n', 'null', ''), pg_temp.one('incr', '/o/n', NULL, '');
SELECT pg_temp.patched('{"a": 1e308}', '[{"op": "incr", "path": "/a", "value": 7e307}]') = jsonb_build_object('a', 17e307)::text AS fits;
SELECT pg_temp.patched('{"a": 1e308}', '[{"op": "incr", "path": "/a", "value": 8e307}]');
SELECT pg_temp.patched('{"a": -1e308}', '[{"op": "incr", "path": "/a", "value": -1e308}]');
SELECT pg_temp.patched('{}', '[{"op": "incr", "path": "/a", "value": 1e309}]');
SELECT pg_temp.patched('{"a": 9e131071}', '[{"op": "incr", "path": "/a", "value": 9e131071}]');
SELECT pg_temp.patched('{"a": 9e131071}', '[{"op": "incr", "path": "/a", "value": 1}]');
-- move: taken out first, then added
SELECT o, pg_temp.patched('{"foo": ["all", "grass", "cows", "eat"], "a": {"b": {"c": 1}}, "d": 2}', jsonb_build_array(o)) FROM (VALUES
	('{"op": "move", "from": "/foo/1", "path": "/foo/3"}'::jsonb),
	('{"op": "move", "from": "/foo/3", "path": "/foo/0"}'),
	('{"op": "move", "from": "/foo/0", "path": "/foo/-"}'),
	('{"op": "move", "from": "/foo/0", "path": "/foo/4"}'),
	('{"op": "move", "from": "/foo/0", "path": "/foo/0"}'),
	('{"op": "move", "from": "/foo/0", "path": "/first"}'),
	('{"op": "move", "from": "/d", "path": "/a"}'),
	('{"op": "move", "from": "/d", "path": "/foo/1"}'),
	('{"op": "move", "from": "/a/b", "path": "/a"}'),
	('{"op": "move", "from": "/a/b", "path": "/a/b"}'),
	('{"op": "move", "from": "/a", "path": "/a/b"}'),
	('{"op": "move", "from": "/a", "path": "/a/b/x"}'),
	('{"op": "move", "from": "/a", "path": "/ab"}'),
	('{"op": "move", "from": "/none", "path": "/d"}'),
	('{"op": "move", "from": "/d", "path": "/none/d"}'),
	('{"op": "move", "path": "/d"}'),
	('{"op": "move", "from": "/d"}')) v(o);

-- paths
SELECT pg_temp.one('set', '/x~1y', '9', 'x/y'), pg_temp.one('set', '/~0', '9', '~'), pg_temp.one('set', '/', '9', ''), pg_temp.one('set', '/-', '9', '-'), pg_temp.one('set', '/0', '9', '0'), pg_temp.one('set', '/~01', '9', '~1'), pg_temp.one('set', '/ä', '"ö"', 'ä');
SELECT pg_temp.one('set', '/a~', '9', ''), pg_temp.one('set', '/a~2', '9', ''), pg_temp.one('set', '/a~/b', '9', '');
SELECT pg_temp.one('set', '', '9', ''), pg_temp.one('set', 'price', '9', '');
SELECT pg_temp.one('add', '/list/4', '1', ''), pg_temp.one('set', '/list/99999999999999999999', '1', ''), pg_temp.one('add', '/list/01', '1', ''), pg_temp.one('add', '/list/-1', '1', ''), pg_temp.one('add', '/list/1.0', '1', ''), pg_temp.one('add', '/list/', '1', ''), pg_temp.one('add', '/list/x', '1', '');
SELECT pg_temp.one('add', '/none/x', '1', ''), pg_temp.one('add', '/o/none/x', '1', ''), pg_temp.one('add', '/price/x', '1', ''), pg_temp.one('add', '/o/null/x', '1', ''), pg_temp.one('add', '/list/7/x', '1', ''), pg_temp.one('add', '/list/3/x', '1', ''), pg_temp.one('add', '/list/-/x', '1', ''), pg_temp.one('add', '/list/0/x', '1', '');

-- the second one fails: all do
SELECT pg_temp.patched('[{"op": "set", "path": "/price", "value": 1}, {"op": "remove", "path": "/none"}]');
-- what can't be changed
SELECT p, pg_temp.one('set', p, '1', ltrim(p, '/')) FROM unnest(ARRAY['/id', '/id/x', '/_rid', '/_self', '/_etag', '/_attachments', '/_ts', '/_lsn', '/_ts/x', '/ttl', '/_other', '/ID']) p;
SELECT pg_temp.one('set', '/o/id', '1', 'o'), pg_temp.one('set', '/o/_ts', '1', 'o');
SELECT pg_temp.patched('[{"op": "move", "from": "/id", "path": "/x"}]'), pg_temp.patched('[{"op": "move", "from": "/o/n", "path": "/id"}]'), pg_temp.patched('[{"op": "move", "from": "/_etag", "path": "/x"}]');

-- what is no patch
SELECT p, pg_temp.patched(p) FROM (VALUES ('[]'::jsonb), ('{}'), ('3'), ('"x"'), ('null'), ('{"operations": null}'), ('{"operations": {}}'), ('{"operations": []}'), ('{"operation": []}'),
	('{"operations": [{"op": "set", "path": "/price", "value": 1}], "condition": "from c where c.used"}'),
	('[3]'), ('[[]]'), ('[null]'), ('[{}]'), ('[{"op": null}]'), ('[{"op": 3}]'), ('[{"op": "test", "path": "/price", "value": 1}]'), ('[{"op": "copy", "from": "/price", "path": "/p"}]'), ('[{"op": "Set", "path": "/price", "value": 1}]'),
	('[{"op": "set", "value": 1}]'), ('[{"op": "set", "path": null, "value": 1}]'), ('[{"op": "set", "path": 4, "value": 1}]'), ('[{"op": "set", "path": ["price"], "value": 1}]'), ('[{"op": "set", "path": "/price"}]'),
	('[{"op": "move", "from": 4, "path": "/p"}]'), ('[{"op": "move", "from": "", "path": "/p"}]')) v(p);
SELECT pg_temp.patched('[1]', '[{"op": "set", "path": "/0", "value": 1}]'), pg_temp.patched('"x"', '[{"op": "set", "path": "/0", "value": 1}]');
-- ten are the limit
SELECT pg_temp.patched('{}', jsonb_agg(jsonb_build_object('op', 'set', 'path', '/a' || i, 'value', i))) FROM generate_series(1, 10) i;
SELECT pg_temp.patched('{}', jsonb_agg(jsonb_build_object('op', 'set', 'path', '/a' || i, 'value', i))) FROM generate_series(1, 11) i;

-- many members, in whatever order they are added, and many elements
WITH patch AS (SELECT jsonb_agg(jsonb_build_object('op', 'add', 'path', '/' || p, 'value', 1)) AS o FROM unnest('{zz,a,mmm,b,aaaa,z,y,m,bb,q}'::text[]) p),
	wide AS (SELECT jsonb_object_agg('k' || i, i) AS doc FROM generate_series(1, 1000) i)
SELECT patch_document(doc, o) = doc || '{"zz": 1, "a": 1, "mmm": 1, "b": 1, "aaaa": 1, "z": 1, "y": 1, "m": 1, "bb": 1, "q": 1}' AS same,
	patch_document(doc, o)->'mmm' AS found FROM wide, patch;
SELECT md5((patch_document(doc, '[{"op": "remove", "path": "/a/0"}, {"op": "remove", "path": "/a/49998"}, {"op": "add", "path": "/a/25000", "value": "x"}]')->'a')::text) =
	md5(((SELECT jsonb_agg(i) FROM generate_series(2, 25001) i) || '"x"' || (SELECT jsonb_agg(i) FROM generate_series(25002, 49999) i))::text) AS same
FROM (SELECT jsonb_build_object('a', jsonb_agg(i)) AS doc FROM generate_series(1, 50000) i) d;
-- deep ones
SELECT length(patch_document(('{"a":' || repeat('[', 1000) || repeat(']', 1000) || '}')::jsonb, '[{"op": "add", "path": "/b", "value": 1}]')::text);
SELECT patch_document(('{"a":' || repeat('{"a":', 200) || '1' || repeat('}', 200) || '}')::jsonb, jsonb_build_array(jsonb_build_object('op', 'incr', 'path', repeat('/a', 201), 'value', 1)))#>>(SELECT array_agg('a'::text) FROM generate_series(1, 201));
-- a table's documents, from TOAST as well
CREATE TEMP TABLE docs AS SELECT i AS id, jsonb_build_object('n', i, 'pad', (SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 300) j)) AS doc FROM generate_series(1, 20) i;
UPDATE docs SET doc = patch_document(doc, '[{"op": "incr", "path": "/n", "value": 100}, {"op": "add", "path": "/seen", "value": true}]');
SELECT count(*), sum((doc->>'n')::int), min(length(doc->>'pad')), bool_and((doc->>'seen')::bool) FROM docs;
