# The check of statements and the counting of them: preloaded together with pg_stat_statements, and without a preload.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION partitionkey;
	CREATE TABLE t (session text, "user" text, tenant text, id int, PRIMARY KEY (session, "user", tenant, id));
	SELECT partitionkey.create_container('t', '{/session,/user,/tenant}', '{2,2,2}');
	CREATE TABLE one (k text, id int, PRIMARY KEY (k, id));
	SELECT partitionkey.create_container('one', '{/k}', '{4}');
	INSERT INTO one SELECT 'k' || i, i FROM generate_series(1, 100) i;
	CREATE ROLE reader;
	GRANT SELECT ON one, t TO reader;
});

#
# Without a preload
#

my ($ret, $stdout, $stderr) = $node->psql('postgres', 'SELECT * FROM partitionkey.routing_stats');
like($stderr, qr/must be loaded via shared_preload_libraries/, 'routing_stats says what it needs');
($ret, $stdout, $stderr) = $node->psql('postgres', 'SELECT partitionkey.routing_stats_reset()');
like($stderr, qr/must be loaded via shared_preload_libraries/, 'and so does its reset');

# The library is loaded by the first statement on a container; the setting, until then a word that nobody knows, counts for it.
($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = error;\nSELECT count(*) FROM one");
like($stderr, qr/cross-partition query on container "one"/, 'the first statement of a session is checked');
($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = error;\nSELECT count(*) FROM one WHERE k = 'k1'");
is($ret, 0, 'one key is fine');
$node->safe_psql('postgres', 'ALTER ROLE reader SET partitionkey.cross_partition_query = error; ALTER ROLE reader LOGIN');
($ret, $stdout, $stderr) = $node->psql('postgres', 'SELECT count(*) FROM one', extra_params => [ '-U', 'reader' ]);
like($stderr, qr/cross-partition query on container "one"/, 'a setting of a role counts');
($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = nonsense;\nSELECT count(*) FROM one");
like($stderr, qr/invalid value for parameter "partitionkey.cross_partition_query"/, 'a wrong value is told when the library is loaded');

# A MERGE that does something with what has no match reads the whole container.
SKIP:
{
	skip 'WHEN NOT MATCHED BY SOURCE is of PostgreSQL 17', 2 if $node->pg_version->major < 17;
	my $merge = q{MERGE INTO one USING (VALUES ('k1', 1)) s (k, id) ON one.k = s.k AND one.k = 'k1' AND one.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE};

	is($node->safe_psql('postgres', qq{SELECT routing, hint FROM partitionkey.explain_query(\$\$$merge\$\$)}),
		'fan-out|What is done WHEN NOT MATCHED BY SOURCE can be a DELETE or UPDATE of its own, with the condition in WHERE.', 'explain_query for MERGE');
	($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = error;\nSELECT 1 FROM one WHERE k = 'k1';\n$merge");
	like($stderr, qr/HINT:  What is done WHEN NOT MATCHED BY SOURCE can be/, 'the check for MERGE');
}

# Another session sees at once what becomes a container.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query(q{SET partitionkey.cross_partition_query = error});
$session->query(q{SELECT count(*) FROM one WHERE k = 'k1'});
$node->safe_psql('postgres', q{CREATE TABLE late (k text PRIMARY KEY) PARTITION BY HASH (k partitionkey.text_xxhash_ops);
	CREATE TABLE late_0 PARTITION OF late FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE late_1 PARTITION OF late FOR VALUES WITH (MODULUS 2, REMAINDER 1)});
is($session->query(q{SELECT count(*) FROM late}), '0', 'a partitioned table that is no container is not checked');
$node->safe_psql('postgres', q{SELECT partitionkey.create_container('late', '{/k}')});
is($session->query(q{SELECT count(*) FROM late}), '', 'it is checked once it is a container');
$node->safe_psql('postgres', q{CALL partitionkey.drop_container('late')});
$session->quit;

#
# In the middle of a split
#

# An old snapshot holds it up after the rows were copied, until it ends.
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->query_safe('SELECT 1');
my $asked = q{SELECT routing, partitions_hit, partitions_total FROM partitionkey.explain_query('SELECT * FROM one WHERE k = $1')
	UNION ALL SELECT routing, partitions_hit, partitions_total FROM partitionkey.explain_query('SELECT * FROM one')};
my $split = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{CALL partitionkey.split_partition('one_p0')} ]);
$node->poll_query_until('postgres', q{SELECT phase IN ('waiting', 'starting') FROM partitionkey.operations WHERE container = 'one'::regclass})
  or die 'the split does not wait';
is($node->safe_psql('postgres', $asked), "single|1|4\nfan-out|4|4", 'the tables that are filled are no part of the tree');
is($node->safe_psql('postgres', qq{BEGIN; SET LOCAL lock_timeout = '10s';
	SELECT count(*) FROM partitionkey.explain_query('UPDATE one SET id = id'); SELECT count(*) FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock')}), "1\n0", 'nothing is locked that anybody waits for');
($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = error;\nSELECT count(*) FROM one");
like($stderr, qr/It reads 4 of 4 partitions/, 'statements are checked meanwhile');
is($node->safe_psql('postgres', "SET partitionkey.cross_partition_query = error;\nUPDATE one SET id = 1 WHERE k = 'k1'; SELECT id FROM one WHERE k = 'k1'"),
	'1', 'and run, with what the split does for them');
$old->quit;
$split->finish or die 'the split failed';
is($node->safe_psql('postgres', $asked), "single|1|5\nfan-out|5|5", 'after the split there is one leaf more');

#
# Preloaded
#

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements,partitionkey'\npartitionkey.routing_stats_containers = 2\n");
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');

sub stats
{
	my ($container, $columns) = @_;

	return $node->safe_psql('postgres', "SELECT $columns FROM partitionkey.routing_stats WHERE container = '$container'::regclass");
}
my $counts = 'statements, single, keys, prefix, fan_out, levels';

is($node->safe_psql('postgres', 'SELECT count(*) FROM partitionkey.routing_stats'), '0', 'nothing is counted yet');
$node->safe_psql('postgres', q{
	SELECT count(*) FROM one WHERE k = 'k1';
	SELECT count(*) FROM one WHERE k = 'k2';
	SELECT count(*) FROM one WHERE k IN ('k1', 'k2');
	SELECT count(*) FROM one;
	SELECT count(*) FROM one x, one y WHERE x.k = 'k1';
	INSERT INTO one VALUES ('n', 1);
	INSERT INTO one VALUES ('n', 2), ('n', 3);
	DELETE FROM one WHERE k = 'n';
	SELECT 1;
	EXPLAIN SELECT * FROM one;
	CREATE INDEX ON one (id);
	SELECT count(*) FROM partitionkey.verify('one');
	SELECT count(*) FROM partitionkey.large_keys('one');
	SELECT count(*) FROM partitionkey.explain_query('SELECT * FROM one');
	SET partitionkey.track_routing = off;
	SELECT count(*) FROM one;
});
# single: two, INSERT of one, DELETE; keys: IN, INSERT of two; fan-out: all, and the join
is(stats('one', $counts), '8|4|2|0|2|{6}', 'each statement counts once for each container, by its widest read');
is(stats('one', 'advice'), '25 % of statements give no leading level (/k); add it to their conditions, or choose a key that they give', 'advice where no level helps');
is($node->safe_psql('postgres', q{SELECT calls FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM one WHERE k = $1'}),
	'2', 'pg_stat_statements counts as well');

# the levels in the wrong order
$node->safe_psql('postgres', q{
	DO $$ BEGIN
		FOR i IN 1 .. 95 LOOP
			PERFORM FROM t WHERE tenant = 'x' AND ("user" = 'u' || i);
		END LOOP;
		FOR i IN 1 .. 5 LOOP
			PERFORM FROM t WHERE session = 's' || i;
		END LOOP;
	END $$;
});
is(stats('t', $counts), '100|0|0|5|95|{5,95,95}', 'statements in functions, by the levels that they bind');
is(stats('t', 'advice'), '95 % of statements give no leading level (/session); order the paths /tenant,/user,/session', 'advice to reorder the paths');
is(stats('t', 'statements = single + keys + prefix + fan_out AND since < now()'), 't', 'the kinds add up');

# prepared statements, in both kinds of plan
$node->safe_psql('postgres', q{SELECT partitionkey.routing_stats_reset('one')});
is(stats('one', $counts), '', 'reset of one container');
isnt(stats('t', $counts), '', 'leaves the other');
$node->safe_psql('postgres', q{
	PREPARE p(text) AS SELECT count(*) FROM one WHERE k = $1;
	SET plan_cache_mode = force_generic_plan;
	EXECUTE p('k1');
	SET plan_cache_mode = force_custom_plan;
	EXECUTE p('k1');
});
is(stats('one', $counts), '2|2|0|0|0|{2}', 'parameters');

# the check and the counts together
($ret, $stdout, $stderr) = $node->psql('postgres', "SET partitionkey.cross_partition_query = error;\nSELECT count(*) FROM one");
like($stderr, qr/cross-partition query on container "one"/, 'the check works when preloaded');

# functions that parallel workers run
$node->safe_psql('postgres', q{
	CREATE FUNCTION looks_up(int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 AS $$BEGIN RETURN (SELECT count(*) FROM one WHERE k = 'k' || $1); END$$;
	CREATE TABLE numbers WITH (parallel_workers = 2) AS SELECT generate_series(1, 10) AS n;
	ANALYZE numbers;
	SELECT partitionkey.routing_stats_reset('one');
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET parallel_leader_participation = off;
	SELECT sum(looks_up(n)) FROM numbers;
});
is(stats('one', $counts), '10|10|0|0|0|{10}', 'statements in functions that parallel workers run');

# no room: there is some for two containers, and no statement fails
$node->safe_psql('postgres', q{
	CREATE TABLE third (k text PRIMARY KEY);
	SELECT partitionkey.create_container('third', '{/k}', '{2}');
	SELECT count(*) FROM third;
	SELECT count(*) FROM third;
});
is(stats('third', $counts), '', 'a container without room is not counted');
my $log = slurp_file($node->logfile);
my $told = () = $log =~ /routing_stats has no room for another container/g;
is($told, 1, 'which is logged once');

# a dropped container is not shown; the reset of all makes room
$node->safe_psql('postgres', q{CALL partitionkey.drop_container('t')});
is($node->safe_psql('postgres', 'SELECT count(*) FROM partitionkey.routing_stats'), '1', 'dropped containers are not shown');
$node->safe_psql('postgres', q{SELECT partitionkey.routing_stats_reset(); SELECT count(*) FROM third});
is(stats('third', $counts), '1|0|0|0|1|{0}', 'a reset makes room');

# other databases have counts of their own
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION partitionkey');
is($node->safe_psql('other', 'SELECT count(*) FROM partitionkey.routing_stats'), '0', 'by database');

# a database without the extension, with a table of the registry's name
$node->safe_psql('postgres', 'CREATE DATABASE without');
is($node->safe_psql('without', q{CREATE SCHEMA partitionkey; CREATE TABLE partitionkey.registry (container oid PRIMARY KEY, paths int);
	CREATE TABLE parted (k text) PARTITION BY HASH (k); CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
	INSERT INTO partitionkey.registry VALUES ('parted'::regclass, 1); SELECT count(*) FROM parted}), '0', 'no extension, no containers');

# privileges
is($node->safe_psql('postgres', 'SELECT count(*) FROM partitionkey.routing_stats', extra_params => [ '-U', 'reader' ]), '0', 'nobody sees containers that he may not read');
$node->safe_psql('postgres', 'GRANT SELECT ON third TO reader');
is($node->safe_psql('postgres', 'SELECT statements FROM partitionkey.routing_stats', extra_params => [ '-U', 'reader' ]), '1', 'who may read a container sees its counts');
$node->safe_psql('postgres', 'REVOKE SELECT ON third FROM reader; GRANT pg_monitor TO reader');
is($node->safe_psql('postgres', 'SELECT statements FROM partitionkey.routing_stats', extra_params => [ '-U', 'reader' ]), '1', 'and so does who may see all statistics');
($ret, $stdout, $stderr) = $node->psql('postgres', 'SELECT partitionkey.routing_stats_reset()', extra_params => [ '-U', 'reader' ]);
like($stderr, qr/permission denied for function routing_stats_reset/, 'not everybody may reset');

# sessions at once: no count is lost
$node->safe_psql('postgres', 'SELECT partitionkey.routing_stats_reset()');
my $script = PostgreSQL::Test::Utils::tempdir . '/read.pgbench';
append_to_file($script, "SELECT count(*) FROM one WHERE k = 'k1';\n");
$node->command_ok([ 'pgbench', '-n', '-c', '4', '-t', '250', '-f', $script, 'postgres' ], 'four sessions read');
is(stats('one', $counts), '1000|1000|0|0|0|{1000}', 'all is counted');

$node->stop;
done_testing();
