-- What demo.sql looks at plans with, and what it measures time with.
CREATE SCHEMA demo;

-- The plan of a query that is run, without the lines that say nothing about partitions.
CREATE FUNCTION demo.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		CONTINUE WHEN line ~ '^ *(Recheck Cond|Heap Blocks|Heap Fetches|Index Searches):';
		RETURN NEXT '  ' || line;
	END LOOP;
END $$;

-- The tables that a query really reads: those of its plan, but for nodes that were never executed.
-- Partitions that are pruned, in planning or at run time ("Subplans Removed"), are not in the plan.
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

-- 'touches 4 of 16 partitions ...': the count is taken from the plan.
CREATE FUNCTION demo.touches(root regclass, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO rows;
	RETURN format('  => touches %s of %s partitions, returns %s',
				  (SELECT count(*) FROM demo.tables_read(query)), (SELECT count(*) FROM demo.partitions(root)),
				  CASE rows WHEN 1 THEN '1 row' ELSE ltrim(to_char(rows, '999,999')) || ' rows' END);
END $$;

-- The same reads on each layout, and what they were found to cost.
CREATE TABLE demo.reads (
	layout regclass,
	read text,
	query text,
	rows bigint,			-- returned
	checksum numeric,		-- over the event_ids returned
	touched int,			-- partitions
	milliseconds float[],	-- one element a run
	PRIMARY KEY (layout, read)
);

-- Fills in the costs. Times are those a client sees, planning included; the layouts take turns.
CREATE PROCEDURE demo.measure(runs int) LANGUAGE plpgsql AS $$
DECLARE
	r demo.reads;
	start timestamptz;
BEGIN
	FOR r IN TABLE demo.reads LOOP
		EXECUTE 'SELECT count(*), sum(event_id) FROM (' || r.query || ') q' INTO r.rows, r.checksum;
		UPDATE demo.reads SET rows = r.rows, checksum = r.checksum,
			touched = (SELECT count(*) FROM demo.tables_read(r.query))
		WHERE (layout, read) = (r.layout, r.read);
	END LOOP;
	FOR run IN 1 .. runs LOOP
		FOR r IN SELECT * FROM demo.reads ORDER BY read, layout LOOP
			start := clock_timestamp();
			EXECUTE r.query;
			UPDATE demo.reads
			SET milliseconds = milliseconds || 1000 * extract(epoch FROM clock_timestamp() - start)::float
			WHERE (layout, read) = (r.layout, r.read);
		END LOOP;
	END LOOP;
	IF EXISTS (SELECT FROM demo.reads GROUP BY read HAVING count(DISTINCT (rows, checksum)) > 1) THEN
		RAISE 'the layouts returned different rows';
	END IF;
END $$;
