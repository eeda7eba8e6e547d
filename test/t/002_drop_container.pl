# drop_container removes what DROP TABLE can't, and can be called again after a crash.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_locks_per_transaction = 1024\nmax_connections = 20\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION partitionkey;
	CREATE TABLE big (tenant text NOT NULL, id int NOT NULL, note text, PRIMARY KEY (tenant, id));
	INSERT INTO big SELECT 't' || i, i FROM generate_series(1, 10000) i;
	SET client_min_messages = error;
	SELECT partitionkey.create_container('big', '{/tenant}', '{2048}');
	CREATE TABLE crashed (LIKE big);
	SELECT partitionkey.create_container('crashed', '{/tenant}', '{64}');
});
is($node->safe_psql('postgres', q{SELECT count(*) || ' ' || sum(items) || ' ' || sum(misplaced) FROM partitionkey.verify('big')}),
	'2048 10000 0', 'a container of 2,048 leaves');

# too many tables for the default lock table
$node->append_conf('postgresql.conf', "max_locks_per_transaction = 64\n");
$node->restart;
my ($ret, $stdout, $stderr) = $node->psql('postgres', 'DROP TABLE big');
isnt($ret, 0, 'DROP TABLE fails');
like($stderr, qr/out of shared memory/, 'DROP TABLE runs out of lock memory');
$node->safe_psql('postgres', q{CREATE TABLE again (LIKE crashed)});
($ret, $stdout, $stderr) = $node->psql('postgres', q{SELECT partitionkey.create_container('again', '{/tenant}', '{2048}')});
like($stderr, qr/ERROR:  making 2048 leaf partitions needs about \d+ locks, but the server has room for \d+/, 'as many can not be made in one transaction');
like($stderr, qr/HINT:  .*max_locks_per_transaction to at least \d+/, 'the setting to change is named');
($ret, $stdout, $stderr) = $node->psql('postgres', q{SELECT partitionkey.create_container('again', '{/tenant}', '{8192}')});
like($stderr, qr/over the limit of 4096.*max_locks_per_transaction/s, 'a limit of leaves');
# so small that a query of all leaves has no room, too
$node->append_conf('postgresql.conf', "max_locks_per_transaction = 10\n");
$node->restart;
is($node->safe_psql('postgres', q{CALL partitionkey.drop_container('big'); SELECT count(*) FROM pg_class WHERE relname LIKE 'big%'}),
	'0', 'drop_container drops all of it');
is($node->safe_psql('postgres', q{SELECT string_agg(container::text, ' ') FROM partitionkey.registry}), 'crashed', 'and forgets it');

# killed between two partitions: nobody is left locked out, and a second call finishes
my $holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query('BEGIN; LOCK TABLE crashed_p80 IN ACCESS SHARE MODE');
my $background = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $background->query('SELECT pg_backend_pid()');
$background->query_until(qr//, "CALL partitionkey.drop_container('crashed');\n");
$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND NOT granted")
	or die 'drop_container did not come to the partition';
($ret, $stdout, $stderr) = $node->psql('postgres', q{SET lock_timeout = '100ms'; SELECT count(*) FROM crashed});
like($stderr, qr/relation "crashed" does not exist/, 'nobody takes half a container for the whole');
($ret, $stdout, $stderr) = $node->psql('postgres', q{SET lock_timeout = '100ms'; SELECT count(*) FROM crashed_dropping});
like($stderr, qr/lock timeout/, 'or reads it');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
$background->{run}->finish;
$holder->quit;
my $left = $node->safe_psql('postgres', q{SELECT physical_partitions FROM partitionkey.containers});
ok($left > 0 && $left < 64, "ended half-way: $left partitions are left");
$node->safe_psql('postgres', q{CALL partitionkey.drop_container('crashed_dropping')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname LIKE 'crashed%'}), '0', 'a second call finishes');

$node->stop;
done_testing();
