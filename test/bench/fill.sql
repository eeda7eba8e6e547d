-- All rows in all tables, once; analysed, and in shared buffers.

SELECT NOT EXISTS (SELECT FROM plain.event) AS empty \gset
\if :empty
COPY plain.event FROM :'file';
COPY builtin.event FROM :'file';
COPY container.event FROM :'file';
COPY unchecked.event FROM :'file';
COPY undivided.event FROM :'file';
VACUUM (ANALYZE, FREEZE) plain.event, builtin.event, container.event, unchecked.event, undivided.event;
CHECKPOINT;
\endif
