-- COPY of all rows into an empty table.

CALL bench.measure_pieces('copy', '{container,unchecked,builtin,again,plain}', '%I.event',
    format('COPY %%s FROM %L', :'file' || '%s'), :pieces, :rounds);
