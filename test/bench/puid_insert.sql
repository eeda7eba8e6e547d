-- INSERT into a table whose primary key is a new PUID or a random UUID, in pieces of 10,000 rows.

CREATE SCHEMA keyed;
CREATE TABLE keyed.puid (id partitionkey.puid PRIMARY KEY DEFAULT partitionkey.puid(), n int NOT NULL);
CREATE TABLE keyed.uuid (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int NOT NULL);
CREATE TABLE keyed.again (LIKE keyed.uuid INCLUDING ALL);

CALL bench.measure_pieces('puid insert', '{puid,uuid,again}', 'keyed.%I',
    'INSERT INTO %s (n) SELECT generate_series(1, 10000)', :pieces, :rounds);
