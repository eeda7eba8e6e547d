# A streaming standby: everything that reads works there, and a crash of the
# primary in the middle of create_container leaves the table as it was.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', q{
	CREATE EXTENSION partitionkey;
	CREATE TABLE t (k text NOT NULL, v int NOT NULL, PRIMARY KEY (k, v));
	INSERT INTO t SELECT 'k' || i % 50, i FROM generate_series(1, 1000) i;
	SELECT partitionkey.create_container('t', '{/k,/v}', '{4,4}');
	CREATE TABLE plain (LIKE t INCLUDING ALL);
	INSERT INTO plain TABLE t;
});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

my $reads = q{
	SELECT tableoid::regclass, * FROM t WHERE k = 'k7' ORDER BY 1, 3;
	SELECT * FROM partitionkey.containers;
	SELECT partition, min_inclusive, max_exclusive FROM partitionkey.physical_partitions;
	SELECT * FROM partitionkey.partition_of('t', '["k7"]');
	SELECT * FROM partitionkey.verify('t');
};
is($standby->safe_psql('postgres', $reads), $primary->safe_psql('postgres', $reads), 'the standby answers as the primary does');
my ($ret, $stdout, $stderr) = $standby->psql('postgres', q{SELECT partitionkey.create_container('plain', '{/k}')});
like($stderr, qr/read-only transaction|during recovery/, 'nothing is changed on a standby');

# a crash half-way
my $background = $primary->background_psql('postgres');
$background->query_safe(q{BEGIN; SELECT partitionkey.create_container('plain', '{/k}')});
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->stop('immediate');
$background->{run}->kill_kill;
$primary->start;
is($primary->safe_psql('postgres', q{
	SELECT relkind FROM pg_class WHERE relname = 'plain';
	SELECT count(*), sum(v) FROM plain;
	SELECT count(*) FROM pg_class WHERE relname LIKE 'plain%p%';
	SELECT count(*) FROM partitionkey.registry;
}), "r\n1000|500500\n1\n1", 'after a crash the table is as it was');
$primary->safe_psql('postgres', q{SELECT partitionkey.create_container('plain', '{/k}')});
is($primary->safe_psql('postgres', q{SELECT sum(items), sum(misplaced) FROM partitionkey.verify('plain')}), '1000|0', 'and can be made a container');

$standby->stop;
$primary->stop;
done_testing();
