-- diagram and partition_map: what is drawn, and that it is well-formed whatever names and keys are.
CREATE SCHEMA dg;
SET search_path = dg, partitionkey;
-- tags that are opened and not closed in turn, or characters that XML can't have
CREATE FUNCTION faults(svg text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tag text[];
	open text[] = '{}';
BEGIN
	FOR tag IN SELECT m FROM regexp_matches(svg, '<(/?)([a-z]+)([^<>]*?)(/?)>', 'g') m LOOP
		IF tag[1] = '/' THEN
			IF open[cardinality(open)] IS DISTINCT FROM tag[2] THEN
				RETURN format('%s closes %s', tag[2], open);
			END IF;
			open = open[:cardinality(open) - 1];
		ELSIF tag[4] <> '/' THEN
			open = open || tag[2];
		END IF;
	END LOOP;
	RETURN CASE WHEN open <> '{}' THEN 'open: ' || open::text
		WHEN regexp_replace(svg, '<(/?)([a-z]+)([^<>]*?)(/?)>', '', 'g') ~ '[<>\x01-\x09\x0b-\x1f]' THEN 'unescaped'
		WHEN regexp_replace(svg, '&(amp|lt|gt|quot|#8230);', '', 'g') ~ '&' THEN 'unescaped &' END;
END $$;
-- how often something is drawn, above the legend
CREATE FUNCTION drawn(svg text, what text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM regexp_matches(regexp_replace(svg, '<rect class="leaf" [^>]*width="24\.0".*', ''), what, 'g')
$$;

CREATE TABLE "b<&"">" (tenant text, usr text, id int);
INSERT INTO "b<&"">" SELECT CASE WHEN i % 10 < 9 THEN '<&">' ELSE E'tab\tline\nend' END, 'u' || i % 40, i FROM generate_series(1, 1000) i;
SELECT create_container('"b<&"">"', '{/tenant,/usr}', '{8}');
SELECT faults(diagram('"b<&"">"'));
SELECT d LIKE '<svg xmlns="http://www.w3.org/2000/svg"%</svg>' || chr(10) AS svg, d ~ 'prefers-color-scheme:dark' AS dark, drawn(d, '"leaf"') AS leaves,
	drawn(d, '"hotleaf"') AS hot_leaves, drawn(d, '"hotkey"') AS hot_keys, drawn(d, '"key"') AS keys, d ~ '>&lt;&amp;&quot;&gt;</text>' AS labelled,
	d ~ '>b&lt;&amp;&quot;&gt;</text>' AS titled, d ~ 'more than 20 %' AS legend
FROM diagram('"b<&"">"') d;
-- the first level only; another threshold
SELECT drawn(d, '"hotkey"') AS hot_keys, drawn(d, '"key"') AS keys FROM diagram('"b<&"">"', levels => 1) d;
SELECT drawn(d, '"hotkey"') AS hot_keys, drawn(d, '"key"') AS keys, drawn(d, '"hotleaf"') AS hot_leaves FROM diagram('"b<&"">"', levels => 1, threshold => 0.95) d;
-- what fills a leaf: the fullest (150 high, less 17 for its name) has all of it; the other has 100 rows of 48.75 bytes to 900 of 40.75
SELECT m[1] AS class, round(m[2]::numeric) AS height FROM regexp_matches(diagram('"b<&"">"', levels => 1), '<rect class="(key|hotkey)" x="[0-9.]+" y="[0-9.]+" width="2[0-9.]{4}" height="([0-9.]+)"', 'g') m;

-- split levels in frames; the boxes in the order of the hash space
CREATE TABLE nested (a text, b text, c text);
INSERT INTO nested SELECT 'a' || i % 40, 'b' || i % 50, 'c' || i FROM generate_series(1, 2000) i;
SELECT create_container('nested', '{/a,/b,/c}', '{4,2,2}');
SELECT faults(d), drawn(d, '"leaf"') AS leaves, drawn(d, '"frame"') AS frames, drawn(d, '>/a 0000 - 4000<') AS first, drawn(d, '>/a C000 - FF<') AS last, drawn(d, '>/b 8000 - FF<') AS halves FROM diagram('nested') d;
SELECT string_agg(m[1], ' ') = (SELECT string_agg(partition::text, ' ' ORDER BY min_inclusive COLLATE "C") FROM physical_partitions WHERE container = 'nested'::regclass) AS in_order
FROM regexp_matches(diagram('nested'), '<title>(nested_p[^:]*):', 'g') m;
CREATE TABLE epks (a text, b text);
SELECT create_container('epks', '{/a,/b}', '{2,2}', hash => 'cosmos');
SELECT m[1] FROM regexp_matches(diagram('epks'), '>(/a [^<]*)<', 'g') m;
-- many leaves and keys, small
CREATE TABLE many (k text, id int);
INSERT INTO many SELECT '大客户株式会社' || i, i FROM generate_series(1, 20000) i;
SELECT create_container('many', '{/k}', '{256}');
SELECT faults(d), drawn(d, '"leaf"') AS leaves, drawn(d, '"key"') AS keys, drawn(d, '"rest"') AS rests, length(d) < 500000 AS small FROM diagram('many') d;
-- the small ones of a hot key are hot; shares are of the bytes; frames are explained where there are some
SELECT drawn(d, '>28 more: [^<]*</title><rect class="hotkey"') AS rest, drawn(d, '900 items, 36 kB \(88.3 %\)') AS share,
	d ~ 'range of one path' AS frame FROM diagram('"b<&"">"') d;
SELECT d ~ 'range of one path' AS frame FROM diagram('nested') d;
-- nothing in it
CREATE TABLE empty (tenant text, usr text);
SELECT create_container('empty', '{/tenant,/usr}');
SELECT d ~ 'physical partition, empty<' AS legend, d ~ '0 bytes<' AS none FROM diagram('empty') d;
SELECT faults(d), drawn(d, '"leaf"') AS leaves, drawn(d, '"(hot)?key"') AS keys FROM diagram('empty') d;
SELECT * FROM partition_map('empty') LIMIT 2;

-- the map for psql
CREATE TABLE mapped (k text, id int, note text);
INSERT INTO mapped SELECT CASE WHEN i % 10 < 6 THEN 'most' ELSE 'k' || i % 200 END, i, 'xxx' FROM generate_series(1, 2000) i;
SELECT create_container('mapped', '{/k}', '{4}');
SELECT * FROM partition_map('mapped');
SELECT partition, items FROM partition_map('mapped') EXCEPT SELECT tableoid::regclass, count(*) FROM mapped GROUP BY 1;
SELECT sum(items), sum(bytes) = (SELECT sum(28 + pg_column_size(k) + pg_column_size(id) + pg_column_size(note)) FROM mapped) AS bytes, sum(share), max(length(bar)) FROM partition_map('mapped');
SELECT sum(items) FROM partition_map('mapped', sample => 100);

-- what is not right
SELECT diagram('mapped', 2);
SELECT diagram('mapped', threshold => 2);
SELECT diagram('mapped', sample => -1);
SELECT diagram('pg_class');
SELECT diagram(NULL) IS NULL, diagram('mapped', threshold => NULL) IS NULL;
SELECT * FROM partition_map('mapped', 0);
SELECT * FROM partition_map('mapped_p0');
SELECT * FROM partition_map(NULL);
SELECT faults(diagram('mapped', sample => 50));
SET client_min_messages = warning;
DROP SCHEMA dg CASCADE;
