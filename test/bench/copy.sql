-- One COPY of all rows into an empty table.

SELECT set_config('search_path', :'variant', false) \g /dev/null
TRUNCATE event;
CHECKPOINT;
SELECT clock_timestamp() AS began \gset
COPY event FROM :'file';
INSERT INTO bench.measurement
    VALUES ('copy', :'variant', :round, extract(epoch FROM clock_timestamp() - :'began'));
TRUNCATE event;
