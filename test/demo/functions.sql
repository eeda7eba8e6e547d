-- What the demo looks at plans with, and measures with.
CREATE SCHEMA demo;

-- The plan of a query that is run, without the lines that say nothing about partitions.
CREATE FUNCTION demo.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		CONTINUE WHEN line ~ '^ *(Recheck Cond|Heap Blocks|Heap Fetches|Index Searches):';
		RETURN NEXT '  ' || regexp_replace(line, '(rows=\d+)\.00', '\1');
	END LOOP;
END $$;

-- The tables that a query reads: those of its plan, but for nodes that were never executed.
-- A pruned partition is not in the plan, whether pruned by the planner or at the start of the run.
CREATE FUNCTION demo.tables_read(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT DISTINCT format('%I.%I', node ->> 'Schema', node ->> 'Relation Name')
		FROM jsonb_path_query(plan, '$.** ? (exists (@."Relation Name") && @."Actual Loops" > 0)') node;
END $$;

CREATE FUNCTION demo.partitions(root regclass) RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT relid FROM pg_partition_tree(root) WHERE isleaf
$$;

CREATE FUNCTION demo.rows_in(relation text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s q', relation) INTO rows;
	RETURN rows;
END $$;

CREATE FUNCTION demo.number(n numeric) RETURNS text LANGUAGE sql AS $$
	SELECT ltrim(to_char(n, '999,999,999'))
$$;

CREATE FUNCTION demo.touches(root regclass, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows bigint := demo.rows_in('(' || query || ')');
BEGIN
	RETURN format('=> touches %s of %s partitions, returns %s row%s',
				  (SELECT count(*) FROM demo.tables_read(query)), (SELECT count(*) FROM demo.partitions(root)),
				  demo.number(rows), CASE WHEN rows <> 1 THEN 's' END);
END $$;

-- The same reads of each layout, and what they are found to cost.
CREATE TABLE demo.reads (
	read int,
	layout regclass,
	query text,
	returned text,			-- the event_ids: how many, and their sum
	touched int,			-- partitions
	PRIMARY KEY (read, layout)
);
CREATE TABLE demo.runs (read int, layout regclass, milliseconds float);

-- Times are those that a client sees, planning included. The layouts take turns.
CREATE PROCEDURE demo.measure(runs int) LANGUAGE plpgsql AS $$
DECLARE
	r demo.reads;
	start timestamptz;
BEGIN
	FOR r IN TABLE demo.reads LOOP
		EXECUTE 'SELECT (count(event_id), sum(event_id)) FROM (' || r.query || ') q' INTO r.returned;
		UPDATE demo.reads SET returned = r.returned, touched = (SELECT count(*) FROM demo.tables_read(r.query))
		WHERE (read, layout) = (r.read, r.layout);
	END LOOP;
	IF EXISTS (SELECT FROM demo.reads GROUP BY read HAVING count(DISTINCT returned) <> 1) THEN
		RAISE 'a read does not return the same rows from all layouts';
	END IF;
	FOR r IN SELECT reads.* FROM demo.reads, generate_series(1, runs) run ORDER BY read, run, layout LOOP
		start := clock_timestamp();
		EXECUTE r.query;
		INSERT INTO demo.runs VALUES (r.read, r.layout, 1000 * extract(epoch FROM clock_timestamp() - start));
	END LOOP;
END $$;

-- The layouts as the columns of a table, in lines of text.
CREATE FUNCTION demo.side_by_side() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	layouts regclass[] := '{logins,logins_synthetic,logins_flat,logins_tenant}';
BEGIN
	RETURN QUERY
	WITH cell (line, label, layout, value) AS (
		SELECT 0, '', layout, heading
		FROM unnest(layouts, '{hierarchical,synthetic,flat,tenant only}'::text[]) h (layout, heading)
		UNION ALL
		SELECT read, ('{All of a tenant,A user of a tenant,One event}'::text[])[read], layout,
			   format('%s of %s  %s ms', touched, (SELECT count(*) FROM demo.partitions(layout)),
					  ltrim(to_char(median, '990.00')))
		FROM demo.reads JOIN (SELECT read, layout, percentile_cont(0.5) WITHIN GROUP (ORDER BY milliseconds) AS median
							  FROM demo.runs GROUP BY read, layout) m USING (read, layout)
		UNION ALL
		SELECT 4, 'Rows in all', layout, demo.number(demo.rows_in(layout::text)) FROM unnest(layouts) layout
		UNION ALL
		SELECT 5, 'Largest partition', layout, round(100.0 * max(n) / sum(n), 1) || ' %'
		FROM unnest(layouts) layout, demo.partitions(layout) p, demo.rows_in(p::text) n
		GROUP BY layout
	)
	SELECT '  ' || rpad(label, 20) || string_agg(lpad(value, 19), '' ORDER BY array_position(layouts, layout))
	FROM cell GROUP BY line, label ORDER BY line;
END $$;
