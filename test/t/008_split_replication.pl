# Splits and merges with others who follow: a logical subscriber to the container
# through its root, a container that is itself the target of a subscription, a
# streaming standby, and pg_dump.
use strict;
use warnings;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "autovacuum = off\npartitionkey.retry_pause = 50\n");
$publisher->start;
$publisher->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($publisher, 'backup', has_streaming => 1);
# Without feedback, the catalogs' vacuuming would conflict with readers' snapshots in the
# middle of an exchange, and the replay wait there, with the container locked.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1s\nmax_standby_streaming_delay = 10s\n");
$standby->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "autovacuum = off\npartitionkey.retry_pause = 50\n");
$subscriber->start;

# Sessions in the background are psql processes, which end by themselves.
my $sessions = 0;
sub background
{
	my ($node, $sql) = @_;
	my ($out, $err) = ('', '');
	my $file = $node->basedir . '/session' . $sessions++ . '.sql';
	append_to_file($file, $sql);
	my $run = IPC::Run::start(['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $file],
		'>', \$out, '2>', \$err, IPC::Run::timeout(60));
	return { run => $run, out => \$out, err => \$err };
}

sub finish
{
	my ($session, $what) = @_;
	$session->{run}->finish;
	is(${ $session->{err} }, '', "$what: no error");
	return ${ $session->{out} };
}

# deflt: keyed by the primary key, fully: by the whole row; steady never changes.
my $tables = q{
	CREATE TABLE deflt (k text NOT NULL, id int NOT NULL, v int, big text, PRIMARY KEY (k, id));
	CREATE TABLE fully (k text NOT NULL, id int NOT NULL, v int, big text, PRIMARY KEY (k, id));
	ALTER TABLE fully REPLICA IDENTITY FULL;
};
$publisher->safe_psql('postgres', "CREATE EXTENSION partitionkey; $tables" . q{
	INSERT INTO deflt SELECT 'k' || i % 50, i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 1000) i;
	INSERT INTO fully SELECT 'k' || i % 50, i, 0, repeat(md5(i::text), 100) FROM generate_series(1, 1000) i;
	SELECT partitionkey.create_container('deflt', '{/k,/id}', '{2}');
	SELECT partitionkey.create_container('fully', '{/k}', '{2}');
	ALTER TABLE fully_p0 REPLICA IDENTITY FULL;
	ALTER TABLE fully_p8 REPLICA IDENTITY FULL;
	CREATE TABLE steady (k text NOT NULL, id int NOT NULL, PRIMARY KEY (k, id));
	INSERT INTO steady SELECT 'k' || i % 50, i FROM generate_series(1, 5000) i;
	SELECT partitionkey.create_container('steady', '{/k}', '{1}');
	CREATE PUBLICATION pub FOR TABLE deflt, fully WITH (publish_via_partition_root);
	CREATE TABLE stop (at timestamptz);
	-- rows of its own for each session, so that none waits for another one's keys; a
	-- value of big that isn't written again is out of line, and not in the log
	CREATE PROCEDURE work(me int) LANGUAGE plpgsql AS $$
	DECLARE
		n int := 0;
		r int;
	BEGIN
		WHILE NOT EXISTS (SELECT FROM stop) AND n < 20000 LOOP
			n := n + 1;
			r := 1 + (random() * 499)::int * 2 + me;
			INSERT INTO deflt VALUES ('k' || r % 50, 1000 + 2 * n + me, me, 'new');
			INSERT INTO fully VALUES ('k' || r % 50, 1000 + 2 * n + me, me, 'new');
			UPDATE deflt SET v = v + 1 WHERE id = r;
			UPDATE fully SET v = v + 1 WHERE id = r;
			UPDATE deflt SET k = 'k' || (r + n) % 50 WHERE id = r;
			UPDATE fully SET k = 'k' || (r + n) % 50 WHERE id = r;
			DELETE FROM deflt WHERE id = 1000 + n - n % 2 + me AND n % 3 > 0;
			DELETE FROM fully WHERE id = 1000 + n - n % 2 + me AND n % 3 > 0;
			COMMIT;
			PERFORM pg_sleep(0.002);
		END LOOP;
	END$$;
	-- a transaction each time: a reader that goes on for long would hold up the replay
	CREATE PROCEDURE watch() LANGUAGE plpgsql AS $$
	DECLARE
		wrong text;
	BEGIN
		FOR i IN 1 .. 10000 LOOP
			EXIT WHEN EXISTS (SELECT FROM stop);
			SELECT format('%s rows, %s of them of one key', count(*), count(*) FILTER (WHERE k = 'k7')) INTO wrong FROM steady
				HAVING (count(*), count(*) FILTER (WHERE k = 'k7')) <> (5000, 100);
			IF FOUND THEN RAISE EXCEPTION '%', wrong; END IF;
			PERFORM count(*) FROM deflt WHERE k = 'k8';
			COMMIT;
			PERFORM pg_sleep(0.005);
		END LOOP;
	END$$;
});
# One target is an ordinary table, the other a container.
$subscriber->safe_psql('postgres', "CREATE EXTENSION partitionkey; $tables" . q{
	SELECT partitionkey.create_container('fully', '{/k}', '{1}');
	ALTER TABLE fully_p0 REPLICA IDENTITY FULL;
});
my $connstr = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '$connstr' PUBLICATION pub");
$subscriber->wait_for_subscription_sync($publisher, 'sub');

my $content = q{
	SELECT count(*), sum(v), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::bigint) FROM deflt t;
	SELECT count(*), sum(v), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::bigint) FROM fully t;
};

# Writers on the publisher, readers on the standby, and changes of the trees on both.
my @writers = map { background($publisher, "CALL work($_);") } 0 .. 1;
$publisher->wait_for_catchup($standby, 'replay', $publisher->lsn('insert'));
my $reader = background($standby, 'CALL watch();');
my $on_subscriber = background($subscriber, q{
	SET partitionkey.batch_rows = 50;
	CALL partitionkey.split_partition('fully_p0', '/k');
	CALL partitionkey.split_partition('fully_p0', '/k');
	CALL partitionkey.split_partition('fully_p8', '/k');
	CALL partitionkey.merge_partitions('fully_p8', 'fully_pc');
	CALL partitionkey.isolate_key('fully', '["k3"]');
});
my (undef, undef, $changes) = $publisher->psql('postgres', q{
	SET partitionkey.batch_rows = 50;
	CALL partitionkey.split_partition('steady_p0', '/k');
	CALL partitionkey.split_partition('deflt_p0', '/k');
	CALL partitionkey.split_partition('fully_p0', '/k');
	CALL partitionkey.split_partition('deflt_p8', '/id');
	CALL partitionkey.split_partition('fully_p4', '/k');
	CALL partitionkey.split_partition('steady_p8', '/k');
	CALL partitionkey.merge_partitions('deflt_p0', 'deflt_p4');
	CALL partitionkey.merge_partitions('fully_p4', 'fully_p6');
	CALL partitionkey.merge_partitions('steady_p8', 'steady_pc');
	CALL partitionkey.isolate_key('deflt', '["k7"]');
	CALL partitionkey.isolate_key('fully', '["k8"]');
});
is($changes, '', 'splits on the publisher: no error');
finish($on_subscriber, 'splits on the subscriber');
$publisher->safe_psql('postgres', 'INSERT INTO stop VALUES (now())');
finish($_, 'writer') foreach @writers;
finish($reader, 'reader of the standby');

$publisher->wait_for_catchup('sub');
my $expected = $publisher->safe_psql('postgres', $content);
cmp_ok((split /\|/, $expected)[0], '>', 1000, 'the writers have written');
is($subscriber->safe_psql('postgres', $content), $expected, 'the subscriber has what the publisher has');
is($publisher->safe_psql('postgres', q{SELECT sum(misplaced) FROM unnest('{deflt,fully,steady}'::regclass[]) c, partitionkey.verify(c)}), '0', 'every row of the publisher is in its place');
is($subscriber->safe_psql('postgres', q{SELECT sum(misplaced), count(*) > 3 FROM partitionkey.verify('fully')}), '0|t', 'every row of the subscriber is in its place');
is($subscriber->safe_psql('postgres', 'SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'), '0', 'nothing went wrong while it was applied');
is($publisher->safe_psql('postgres', q{SELECT string_agg(DISTINCT tablename, ',') FROM pg_publication_tables}), 'deflt,fully', 'the roots are published, and they alone');
is($publisher->safe_psql('postgres', q{SELECT string_agg(DISTINCT relreplident::text, '') FROM pg_class WHERE relkind = 'r' AND relname ~ '^fully_'}), 'f', 'the partitions have the identity of those before');
$publisher->wait_for_catchup($standby, 'replay', $publisher->lsn('insert'));
is($standby->safe_psql('postgres', $content), $expected, 'so has the standby');

# An old snapshot on the standby is none that the primary sees.  If it can't show
# all rows, it must not show some.
my $old = background($standby, q{
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SELECT count(*) FROM stop;
	DO $$BEGIN
		FOR i IN 1 .. 200 LOOP
			PERFORM pg_stat_clear_snapshot();
			EXIT WHEN pg_last_wal_replay_lsn() >= (SELECT CASE WHEN pg_stat_file('reached', true) IS NULL THEN 'FFFFFFFF/0' ELSE pg_read_file('reached') END)::pg_lsn;
			PERFORM pg_sleep(0.1);
		END LOOP;
	END$$;
	SELECT count(*) FROM steady;
	COMMIT;
});
$standby->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND query ~ 'pg_read_file' AND pid <> pg_backend_pid()});
my $leaf = $publisher->safe_psql('postgres', q{SELECT partition_of FROM partitionkey.partition_of('steady', '["k7"]')});
$publisher->safe_psql('postgres', "CALL partitionkey.split_partition('$leaf', '/k')");
append_to_file($standby->data_dir . '/reached', $publisher->lsn('insert'));
$old->{run}->finish;
ok(${ $old->{err} } ne '' || ${ $old->{out} } eq "1\n5000\n", 'an old snapshot on the standby sees all rows, or an error')
	or diag("it saw ${ $old->{out} }");

# A dump in the middle of a split: held up by a transaction with an old snapshot.
my $hold = background($publisher, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM stop; DO $$BEGIN FOR i IN 1 .. 200 LOOP EXIT WHEN (pg_stat_file('go_on', true)).size IS NOT NULL; PERFORM pg_sleep(0.1); END LOOP; END$$; COMMIT;});
$publisher->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND query ~ 'go_on' AND pid <> pg_backend_pid()});
$leaf = $publisher->safe_psql('postgres', q{SELECT partition_of FROM partitionkey.partition_of('deflt', '["k9", 9]')});
my $split = background($publisher, "CALL partitionkey.split_partition('$leaf', '/k');");
ok($publisher->poll_query_until('postgres', q{SELECT phase = 'waiting' AND running FROM partitionkey.operations}), 'all is copied');
my $dump = $publisher->backup_dir . '/dump.sql';
$publisher->command_ok(['pg_dump', '--no-sync', '-f', $dump, '-d', $publisher->connstr('postgres')], 'dumped during the split');
append_to_file($publisher->data_dir . '/go_on', '');
finish($hold, 'transaction with an old snapshot');
finish($split, 'split while a dump was taken');
is($publisher->safe_psql('postgres', $content), $expected, 'the split came to its end');

$publisher->safe_psql('postgres', 'CREATE DATABASE restored');
my ($out, $err) = run_command(['psql', '-Xq', '-v', 'ON_ERROR_STOP=0', '-f', $dump, '-d', $publisher->connstr('restored')]);
is($err, '', 'it can be restored');
is($publisher->safe_psql('restored', $content), $expected, 'with all rows');
$publisher->safe_psql('restored', q{UPDATE deflt SET v = v + 1});
$publisher->safe_psql('restored', q{CALL partitionkey.cleanup()});
is($publisher->safe_psql('restored', q{
	SELECT count(*) FROM partitionkey.operations;
	SELECT count(*) FROM pg_class WHERE relname ~ '_(new|old)_';
	SELECT count(*) FROM pg_class c WHERE relkind = 'r' AND relname ~ '^deflt' AND NOT relispartition;
	SELECT count(*) FROM pg_trigger WHERE tgname ~ '^partitionkey';
	SELECT count(*) FROM pg_constraint WHERE conname = 'partitionkey_bound';
}), "0\n0\n0\n0\n0", 'and nothing of the split is left there after cleanup');
is($publisher->safe_psql('restored', q{SELECT sum(misplaced), sum(items) = (SELECT count(*) FROM deflt) FROM partitionkey.verify('deflt')}), '0|t', 'it is a whole container');
my (undef, undef, $again) = $publisher->psql('restored', "CALL partitionkey.split_partition('$leaf')");
is($again, '', 'a partition can be split there');
is($publisher->safe_psql('restored', q{SELECT sum(misplaced), sum(items) = (SELECT count(*) FROM deflt) FROM partitionkey.verify('deflt')}), '0|t', 'and the container is whole afterwards');

$standby->stop;
$subscriber->stop;
$publisher->stop;
done_testing();
