-- All rows in all tables, once; analysed, and in shared buffers.

SELECT to_regclass('bench.filled') IS NULL AS missing \gset
\if :missing
TRUNCATE container.event, unchecked.event, undivided.event, builtin.event, again.event, plain.event;
SELECT format('COPY %I.event FROM %L', variant, :'file' || piece)
FROM generate_series(1, :pieces) piece, unnest('{container,unchecked,undivided,builtin,plain}'::text[]) variant \gexec
VACUUM (ANALYZE, FREEZE) container.event, unchecked.event, undivided.event, builtin.event, plain.event;
CHECKPOINT;
CREATE TABLE bench.filled ();
\endif
