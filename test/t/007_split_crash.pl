# Splits, merges and isolations that end half-way: killed, cancelled, out of
# time, crashed with the server, in the way of a command that changes the table,
# or by an error.  The container is whole afterwards, can be written to, and the
# operation can be run again; cleanup() leaves nothing behind.
use strict;
use warnings;
no warnings 'uninitialized';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $LONG = 20;    # seconds after which something is taken to hang

my $node = PostgreSQL::Test::Cluster->new('main');
# Small WAL segments, so that a limit on the size of files can be smaller than a table.
$node->init(extra => ['--wal-segsize=1']);
# A test cluster stays down after a crash unless told otherwise.
$node->append_conf('postgresql.conf', q{
restart_after_crash = on
autovacuum = off
max_connections = 40
max_locks_per_transaction = 256
min_wal_size = 2MB
max_wal_size = 200MB
partitionkey.retry_pause = 20
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION partitionkey; CREATE ROLE other');

#
# Sessions that go on while the test does something else
#

sub psql_start
{
	my ($in, $out, $err, @options) = @_;

	return IPC::Run::start([ 'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), @options ],
		'<', $in, '>', $out, '2>', $err);
}

sub session
{
	my $s = { in => '', out => '', err => '', n => 0 };

	$s->{run} = psql_start(\$s->{in}, \$s->{out}, \$s->{err});
	$s->{pid} = ask($s, 'SELECT pg_backend_pid()');
	return $s;
}

sub send_sql
{
	my ($s, $sql) = @_;

	$s->{n}++;
	$s->{out} = $s->{err} = '';
	$s->{in} .= "$sql;\n\\echo =$s->{n}=\n";
	eval { $s->{run}->pump_nb };
}

sub answered
{
	my ($s) = @_;
	my $more = eval { $s->{run}->pump_nb; $s->{run}->pumpable };

	return $s->{out} =~ /=$s->{n}=/ || !$more;
}

# What a session says to the last command: its output, then its messages.
sub answer
{
	my ($s) = @_;
	my $end = time + $LONG;

	while (!answered($s))
	{
		return "no answer within $LONG s" if time > $end;
		sleep 0.005;
	}
	# standard error is another pipe
	for (1 .. 4)
	{
		sleep 0.005;
		eval { $s->{run}->pump_nb };
	}
	(my $answer = "$s->{out}$s->{err}") =~ s/=$s->{n}=\n//;
	chomp $answer;
	return $answer;
}

sub ask
{
	my ($s, $sql) = @_;

	send_sql($s, $sql);
	return answer($s);
}

sub quit
{
	my ($s) = @_;

	# so that it doesn't keep the test waiting if it hangs
	query("SELECT pg_terminate_backend($s->{pid})") if !answered($s);
	$s->{in} .= "\\q\n";
	eval { IPC::Run::finish($s->{run}) };
}

# The result of a query, or the first line of the error.
sub query
{
	my ($sql) = @_;
	# psql may end before it reads a statement, when the server is down.
	my ($ret, $out, $err) = eval { $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]) };

	return "psql: $@" if !defined $ret;
	return $ret == 0 ? $out : $err =~ /((?:ERROR|FATAL|PANIC): .*)/ ? $1 : "psql: $err";
}

sub wait_for
{
	my ($sql, $what) = @_;
	my $end = time + $LONG;

	while (time < $end)
	{
		return 1 if query($sql) eq 't';
		sleep 0.02;
	}
	die "$what: not within $LONG s";
}

sub wait_up { wait_for('SELECT true', 'the server') }

#
# What must hold
#

# Whatever operations make besides the partitions of containers.
my $left_over = q{
	SELECT coalesce(string_agg(what, ', ' ORDER BY what), 'nothing') FROM (
		SELECT 'table ' || c.oid::regclass AS what FROM pg_class c
		WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname <> 'shadow'
		  AND NOT EXISTS (SELECT FROM partitionkey.registry, pg_partition_tree(container) t WHERE t.relid = c.oid)
		UNION ALL SELECT 'trigger on ' || tgrelid::regclass FROM pg_trigger WHERE tgfoid = 'partitionkey.dual_write'::regproc
		UNION ALL SELECT 'check of ' || conrelid::regclass FROM pg_constraint WHERE conname = 'partitionkey_bound'
		UNION ALL SELECT 'operation in phase ' || phase FROM partitionkey.operation
		UNION ALL SELECT 'invalid ' || indexrelid::regclass FROM pg_index WHERE NOT indisvalid) l};

# The ranges follow each other from the beginning of the space to its end.
my $tiled = q{
	SELECT bool_and(lower = before) AND min(lower) = '' AND max(upper) = 'FF' FROM (
		SELECT lower, upper, coalesce(lag(upper) OVER (ORDER BY lower), '') AS before FROM (
			SELECT min_inclusive[1] COLLATE "C" AS lower, max_exclusive[1] COLLATE "C" AS upper
			FROM partitionkey.physical_partitions WHERE container = 't'::regclass) r) o};

my $misplaced = q{SELECT sum(misplaced) FROM partitionkey.verify('t')};

# Insert, update, move to another partition, delete, without an effect that lasts.
my $write = q{
	BEGIN;
	INSERT INTO t (tenant, id) SELECT 't' || i, 1000000 + i FROM generate_series(1, 40) i;
	UPDATE t SET id = id + 1000000 WHERE id > 1000000;
	UPDATE t SET tenant = 't' || (substr(tenant, 2)::int + 1) % 100 WHERE id % 7 = 0;
	DELETE FROM t WHERE id % 11 = 0;
	ROLLBACK};

sub make_container
{
	my ($rows, $more) = @_;

	# A crash of the server is a fault of one case only.
	wait_up();
	# Few rows a block make many batches.
	my $said = query(qq{
		SET client_min_messages = error;
		DROP TABLE IF EXISTS t, shadow;
		CALL partitionkey.cleanup();
		CREATE TABLE t (tenant text NOT NULL, id int NOT NULL, n int DEFAULT 0, PRIMARY KEY (tenant, id)) WITH (fillfactor = 10);
		INSERT INTO t SELECT 't' || i % 100, i, 0 FROM generate_series(1, $rows) i;
		SELECT partitionkey.create_container('t', '{/tenant}', '{4}');
		CREATE TABLE shadow AS SELECT tenant, id FROM t;
	} . ($more // ''));
	fail("a new container: $said") if $said ne 't';
}

# The leaves in the order of their ranges: name, lower and upper end in 32 bits.
sub leaves
{
	return map {
		my ($name, $lower, $upper) = split /\|/;
		[ $name, hex(substr($lower . '0' x 8, 0, 8)), $upper eq 'FF' ? 2**32 : hex(substr($upper, 0, 8)) ]
	} split /\n/, query(q{
		SELECT partition, min_inclusive[1], max_exclusive[1] FROM partitionkey.physical_partitions
		WHERE container = 't'::regclass ORDER BY min_inclusive[1] COLLATE "C"});
}

sub operation
{
	my ($kind) = @_;

	wait_up();
	my @leaves = leaves();

	return q{CALL partitionkey.isolate_key('t', '["t7"]')} if $kind eq 'isolate';
	return q{CALL partitionkey.maintain('t')} if $kind eq 'maintain';
	if ($kind eq 'merge')
	{
		foreach my $i (0 .. $#leaves - 1)
		{
			my ($a, $b) = @leaves[ $i, $i + 1 ];
			my $width = $a->[2] - $a->[1];

			return "CALL partitionkey.merge_partitions('$a->[0]', '$b->[0]')"
				if $b->[2] - $b->[1] == $width && $a->[1] % (2 * $width) == 0;
		}
	}
	return "CALL partitionkey.split_partition('$leaves[0][0]')";
}

my $state = qq{
	SELECT 'rows ' || count(*) FROM (SELECT tenant, id FROM t EXCEPT ALL SELECT * FROM shadow) a
		FULL JOIN (SELECT * FROM shadow EXCEPT ALL SELECT tenant, id FROM t) b USING (id);
	SELECT 'misplaced ' || (${\ ($misplaced) });
	SELECT 'tiled ' || (${\ ($tiled) });
	$write; };

# The container t is whole, can be written to, and an operation runs on it,
# before or after cleanup().  With "clean" there must be nothing to clean up.
sub check_whole
{
	my ($name, %o) = @_;
	my $whole = "rows 0\nmisplaced 0\ntiled true\n";
	my $left = "SELECT 'left ' || ($left_over)";
	my $said = $o{clean} ? query($state . $left) : $o{cleanup} ? query("$state; CALL partitionkey.cleanup(); $left") : query("$state; SELECT 'left nothing'");
	wait_up();
	my $again = query(operation('split'));
	my $end = query("CALL partitionkey.cleanup(); $state; $left");

	is("$said; again: $again; $end", "${whole}left nothing; again: ; ${whole}left nothing", "$name: whole, can be written, and divided again");
}

# A leaf of another owner than the container's is not divided, until it is given back.
sub give_back
{
	my ($name) = @_;

	like(query(q{CALL partitionkey.split_partition('t_p0')}), qr/ERROR:  55000: partition "t_p0" has another owner/, "$name: not divided");
	is(query('ALTER TABLE t_p0 OWNER TO CURRENT_USER'), '', "$name: given back");
}

#
# Killed at random points while a writer is at work.  What the writer was told
# is committed must be there, what it wasn't must not; only of the statement
# that it was waiting for is that unknown.
#

my @model;    # by id: tenant and n of the row
my $next;

# Statements for the writer, with what each does: an id, and its row afterwards.
sub writer_script
{
	my ($count) = @_;
	my @rows = @model;
	my $script = '';
	my @effects;

	foreach my $k (1 .. $count)
	{
		my $tenant = 't' . int(rand 100);
		my $id = 1 + int(rand(@rows - 1));

		if ($k % 3 == 0 || !$rows[$id])
		{
			$id = @rows;
			$rows[$id] = [ $tenant, $k ];
			$script .= "INSERT INTO t VALUES ('$tenant', $id, $k) RETURNING $k;\n";
		}
		elsif ($k % 3 == 1)
		{
			$script .= "DELETE FROM t WHERE tenant = '$rows[$id][0]' AND id = $id RETURNING $k;\n";
			$rows[$id] = undef;
		}
		else
		{
			# every other one moves the row to another key
			$tenant = $rows[$id][0] if $k % 2;
			$script .= "UPDATE t SET tenant = '$tenant', n = $k WHERE tenant = '$rows[$id][0]' AND id = $id RETURNING $k;\n";
			$rows[$id] = [ $tenant, $k ];
		}
		push @effects, [ $id, $rows[$id] ];
	}
	return ($script, \@effects);
}

sub contents
{
	return join '', map { $model[$_] ? "$_|$model[$_][0]|$model[$_][1]\n" : '' } 1 .. $#model;
}

make_container(1500);
$node->safe_psql('postgres', 'DROP TABLE shadow');
$model[$_] = [ 't' . $_ % 100, 0 ] foreach 1 .. 1500;

# how long they take, to know when to kill
my @kinds = ('split', 'merge', 'isolate', 'maintain');
my %takes;
foreach my $kind (@kinds)
{
	my $call = operation($kind);
	my $s = session();

	ask($s, 'SET partitionkey.batch_rows = 1');
	my $start = time;
	is(ask($s, $call), '', "$kind without a disturbance");
	$takes{$kind} = time - $start;
	quit($s);
}

my $seed = srand;
my $half_way = 0;
my $round = 0;
my %killed_in;
my $statements = 0;
my @problems;
my $begin = time;

while ($half_way < 30 && $round < 100 && time < $begin + 300 && @problems < 10)
{
	my $kind = $kinds[ $round % 4 ];
	my $cleans = int($round / 4) % 2;
	my $call = operation($kind);
	my ($script, $effects) = writer_script(60000);
	my ($out, $err) = ('', '');
	my $s = session();
	my $pid = $s->{pid};
	ask($s, 'SET partitionkey.batch_rows = 1');
	# From a file: a pipe that breaks would take the last answers with it.
	my $file = PostgreSQL::Test::Utils::tempdir . '/writer.sql';
	append_to_file($file, $script);
	my $writer = psql_start(\my $nothing, \$out, \$err, '-f', $file);
	my $name = sprintf 'round %d, %s', ++$round, $kind;

	# the writer is at work
	for (my $i = 0; $i < 1000 && $out eq ''; $i++) { $writer->pump_nb; sleep 0.002; }
	send_sql($s, $call);
	my $end = time + rand($takes{$kind});
	do { sleep 0.002; $writer->pump_nb; } while (time < $end);
	my $running = !answered($s);
	kill 'KILL', $pid or die "kill $pid: $!";
	# both sessions end, since the server starts anew
	eval { $writer->finish };
	eval { IPC::Run::finish($s->{run}) };
	wait_up();

	push @problems, "$name: the operation failed: $s->{err}" if $s->{err} =~ /ERROR/;
	push @problems, "$name: the writer failed: $err" if $err =~ /(ERROR|PANIC)/;
	my $phase = query(q{SELECT coalesce(string_agg(phase, ','), 'none') FROM partitionkey.operation});
	$half_way += $running;
	$killed_in{$phase}++ if $running;

	my ($acknowledged) = (0, $out =~ /(\d+)\s*\z/);
	$acknowledged = $1 if $out =~ /(\d+)\n\z/;
	push @problems, "$name: the writer was through" if $acknowledged == @$effects;
	$statements += $acknowledged;
	$model[ $_->[0] ] = $_->[1] foreach @$effects[ 0 .. $acknowledged - 1 ];
	my $rows = query('SELECT id, tenant, n FROM t ORDER BY id') . "\n";
	if ($rows ne contents() && $acknowledged < @$effects)
	{
		# The last one may have been committed without an answer.
		my ($id, $row) = @{ $effects->[$acknowledged] };
		my $before = $model[$id];
		my $expected = contents();

		$model[$id] = $row;
		if ($rows ne contents())
		{
			my %there = map { $_ => 1 } split /\n/, $rows;
			my %wanted = map { $_ => 1 } split /\n/, $expected;

			push @problems, "$name, in phase $phase, statement $acknowledged acknowledged: lost or old: " .
				join(' ', (sort grep { !$there{$_} } keys %wanted)[ 0 .. 5 ]) . ', instead: ' .
				join(' ', (sort grep { !$wanted{$_} } keys %there)[ 0 .. 5 ]);
			$model[$id] = $before;
		}
	}
	my $check = sub {
		my ($when) = @_;
		my $result = query("SELECT ($misplaced), ($tiled); $write");

		push @problems, "$name, in phase $phase, $when: $result" if $result ne '0|t';
	};
	$check->('after recovery');
	if ($cleans)
	{
		my $said = query('CALL partitionkey.cleanup()');

		push @problems, "$name, in phase $phase, cleanup: $said" if $said ne '';
		$said = query($left_over);
		push @problems, "$name, in phase $phase, left by cleanup: $said" if $said ne 'nothing';
	}
	my $said = query(operation($kind));
	push @problems, "$name, in phase $phase, again" . ($cleans ? '' : ' without cleanup') . ": $said" if $said ne '';
	query('CALL partitionkey.cleanup()');
	$check->('in the end');
	$said = query($left_over);
	push @problems, "$name, in phase $phase, left in the end: $said" if $said ne 'nothing';
	push @problems, "$name: rows differ in the end" if query('SELECT id, tenant, n FROM t ORDER BY id') . "\n" ne contents();
}
is(join("\n", @problems), '', 'no fault in any round') or diag("srand $seed");
cmp_ok($half_way, '>=', 30, 'killed half-way');
note("$round rounds, $half_way killed half-way in " . int(time - $begin) . " s; $statements statements acknowledged; phases: " .
	join(', ', map { "$_ $killed_in{$_}" } sort keys %killed_in));

#
# In each phase
#
note('at ' . int(time - $^T));

# Start an operation that stays in a phase until it is let go on.
sub stop_in
{
	my ($phase, $leaf, %o) = @_;
	my $op = { holders => [], phase => $phase };
	my $h = session();

	if ($phase eq 'starting')
	{
		# a transaction that has written before the trigger is there
		ask($h, "BEGIN; INSERT INTO t SELECT tenant, 999999, 0 FROM $leaf LIMIT 1");
	}
	elsif ($phase eq 'copying')
	{
		ask($h, "BEGIN; SELECT 1 FROM $leaf WHERE ctid = (SELECT max(ctid) FROM $leaf) FOR UPDATE");
	}
	elsif ($phase eq 'waiting')
	{
		ask($h, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	}
	elsif ($phase eq 'swapping')
	{
		ask($h, 'BEGIN; LOCK TABLE ONLY t IN ACCESS SHARE MODE');
	}
	elsif ($phase eq 'dropping')
	{
		$node->safe_psql('postgres', q{
			CREATE FUNCTION slowly() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); END';
			CREATE EVENT TRIGGER slowly ON sql_drop WHEN TAG IN ('DROP TABLE') EXECUTE FUNCTION slowly()});
	}
	$op->{holder} = $h;
	$op->{session} = session();
	$op->{pid} = $op->{session}{pid};
	ask($op->{session}, $o{settings}) if $o{settings};
	send_sql($op->{session}, $o{call} // "CALL partitionkey.split_partition('$leaf')");
	# The first phase is named when the trigger is there, or when it is waited for.
	my $phases = $phase eq 'starting' ? q{'preparing', 'starting'} : "'$phase'";
	wait_for("SELECT count(*) > 0 FROM partitionkey.operations WHERE pid = $op->{pid} AND running AND phase IN ($phases)", "phase $phase");
	return $op;
}

sub let_go
{
	my ($op) = @_;

	if ($op->{phase} eq 'dropping')
	{
		query('DROP EVENT TRIGGER IF EXISTS slowly; DROP FUNCTION IF EXISTS slowly()');
	}
	else
	{
		ask($op->{holder}, 'ROLLBACK');
	}
	quit($op->{holder});
}

sub first_leaf { return (leaves())[0][0] }

my @phases = ('starting', 'copying', 'waiting', 'swapping', 'dropping');
my %ends = (
	'pg_cancel_backend' => qr/ERROR:  57014: canceling statement due to user request/,
	'statement_timeout' => qr/ERROR:  57014: canceling statement due to statement timeout/,
	'pg_terminate_backend' => qr/FATAL:  57P01: terminating connection due to administrator command/,
	'SIGKILL' => qr/server closed the connection unexpectedly/,
	'immediate shutdown' => qr/57P0[12]|server closed the connection unexpectedly/);

foreach my $end (sort keys %ends)
{
	# The timeout comes by the same way as the cancel.
	foreach my $phase ($end eq 'statement_timeout' ? ('copying', 'waiting') : @phases)
	{
		make_container(300);
		my $op = stop_in($phase, 't_p0', settings => $end eq 'statement_timeout' ? 'SET statement_timeout = 1000' : undef);
		my $start = time;

		if ($end eq 'SIGKILL')
		{
			kill 'KILL', $op->{pid} or die "kill: $!";
		}
		elsif ($end eq 'immediate shutdown')
		{
			$node->stop('immediate');
		}
		elsif ($end =~ /^pg_/)
		{
			query("SELECT $end($op->{pid})");
		}
		my $said = answer($op->{session});
		my $took = time - $start;
		$node->start if $end eq 'immediate shutdown';
		wait_up();
		like($said, $ends{$end}, "$end, $phase: the error");
		cmp_ok($took, '<', 5, "$end, $phase: soon");
		let_go($op);
		# an idle session doesn't stand in anybody's way, either
		check_whole("$end, $phase", cleanup => $phase ne 'copying');
		quit($op->{session});
	}
}

# The user's lock_timeout is not for locks that are asked for again and again,
foreach my $phase ('starting', 'copying', 'swapping')
{
	make_container(300);
	my $op = stop_in($phase, 't_p0', settings => 'SET lock_timeout = 10');

	sleep 0.3;
	let_go($op);
	is(answer($op->{session}), '', "lock_timeout of the user, $phase");
	check_whole("lock_timeout, $phase", clean => 1);
	quit($op->{session});
}
# but when it waits for VACUUM or its like.
{
	make_container(300);
	my ($h, $s) = (session(), session());

	ask($h, 'BEGIN; LOCK TABLE t_p0 IN SHARE UPDATE EXCLUSIVE MODE');
	like(ask($s, "SET lock_timeout = 50; CALL partitionkey.split_partition('t_p0')"),
		qr/ERROR:  (55P03|55006)/, 'another session holds the lock');
	quit($h);
	check_whole('lock not available', clean => 1);
	quit($s);
}

#
# Commands that change the table
#
note('at ' . int(time - $^T));

my $gave_up = qr/ERROR:  55006: gave up the split of partition "t_p0"/;

# In each phase, with sessions that are in the way of both.
foreach my $phase (@phases)
{
	make_container(300);
	my $op = stop_in($phase, 't_p0');
	my $ddl = session();

	send_sql($ddl, 'ALTER TABLE t ADD COLUMN added int DEFAULT 1');
	sleep 0.1;
	let_go($op);
	my $start = time;
	is(answer($ddl), '', "ALTER TABLE, $phase: done");
	cmp_ok(time - $start, '<', 5, "ALTER TABLE, $phase: soon");
	like(answer($op->{session}), $phase eq 'dropping' ? qr/^$/ : $gave_up, "ALTER TABLE, $phase: the operation gave up");
	check_whole("ALTER TABLE, $phase", clean => 1);
	quit($_) foreach $ddl, $op->{session};
}

# All kinds, while an operation waits for a snapshot that is in nobody else's way.
foreach my $command (
	'ALTER TABLE t ALTER COLUMN n TYPE bigint',
	'ALTER TABLE t ADD CONSTRAINT positive CHECK (n >= 0)',
	'ALTER TABLE t RENAME COLUMN n TO renamed',
	'ALTER TABLE t DROP COLUMN n',
	'ALTER TABLE t_p0 OWNER TO other',
	'TRUNCATE t_p0',
	'CREATE INDEX ON t (n)',
	'VACUUM FULL t_p0',
	'CLUSTER t_p0 USING t_p0_pkey',
	'REINDEX TABLE t_p0',
	'ALTER TABLE t DETACH PARTITION t_p0',
	'ALTER TABLE t_p0 RENAME TO t_renamed')
{
	make_container(300);
	my $op = stop_in('waiting', 't_p0');
	my $ddl = session();

	send_sql($ddl, $command);
	like(answer($op->{session}), $gave_up, "$command: the operation gives up");
	is(answer($ddl), '', "$command: done");
	let_go($op);
	my $gone = $command =~ /DETACH/ ? q{DELETE FROM shadow WHERE (tenant, id) IN (SELECT tenant, id FROM t_p0); DROP TABLE t_p0} :
		$command =~ /TRUNCATE/ ? 'DELETE FROM shadow WHERE id NOT IN (SELECT id FROM t)' : undef;
	# Its rows are the test's own, or gone as it was told.
	$node->safe_psql('postgres', $gone) if $gone;
	if ($command =~ /DETACH/)
	{
		is(query($left_over), 'nothing', "$command: nothing left");
		is(query('SELECT count(*) FROM t') . ' ' . query($misplaced), query('SELECT count(*) FROM shadow') . ' 0', "$command: the others are whole");
	}
	else
	{
		give_back($command) if $command =~ /t_p0 OWNER/;
		check_whole($command, clean => 1);
	}
	quit($_) foreach $ddl, $op->{session};
}

note('at ' . int(time - $^T));
# Those that keep no application waiting may wait themselves, or make it give up.
# Their snapshot must not be what the operation waits for, while they wait for it.
foreach my $command (
	'ALTER TABLE t_p0 SET (fillfactor = 50)',
	'CREATE INDEX CONCURRENTLY ON t_p0 (n)',
	'REINDEX TABLE CONCURRENTLY t_p0',
	'VACUUM t_p0',
	'ANALYZE t',
	'ALTER TABLE t DETACH PARTITION t_p0 CONCURRENTLY')
{
	make_container(300);
	my $op = stop_in('copying', 't_p0');
	my $ddl = session();

	send_sql($ddl, $command);
	sleep 0.2;
	let_go($op);
	like(answer($op->{session}), qr/^$|$gave_up/, "$command: the operation ends");
	like(answer($ddl), $command =~ /VACUUM|ANALYZE/ ? qr/^$/ : qr/^$|ERROR:  (42P01|XX000|55000|42704)/, "$command: it ends");
	quit($_) foreach $ddl, $op->{session};
	query('DELETE FROM shadow WHERE (tenant, id) NOT IN (SELECT tenant, id FROM t); DROP TABLE t_p0')
		if $command =~ /DETACH/ && query(q{SELECT relispartition FROM pg_class WHERE relname = 't_p0'}) eq 'f';
	query(q{DO 'DECLARE i regclass; BEGIN FOR i IN SELECT indexrelid FROM pg_index WHERE NOT indisvalid LOOP EXECUTE ''DROP INDEX '' || i; END LOOP; END'})
		if $command =~ /INDEX/;
	check_whole($command, clean => 1) if $command !~ /DETACH/;
}

# DROP ... CASCADE of something that the new tables depend on drops them, and neither the extension nor what others have.
query(q{
	CREATE ROLE dropper;
	CREATE TABLE others (k int PRIMARY KEY);
	SELECT partitionkey.create_container('others', '{/k}')});
foreach my $command ('DROP SCHEMA dropped CASCADE', 'DROP OWNED BY dropper', 'DROP DOMAIN dropped.name CASCADE', 'DROP EXTENSION citext CASCADE')
{
	foreach my $left (0, 1)
	{
		query(q{
			CREATE SCHEMA dropped AUTHORIZATION dropper;
			CREATE EXTENSION IF NOT EXISTS citext;
			SET ROLE dropper;
			CREATE DOMAIN dropped.name AS text;
			CREATE TABLE dropped.c (k dropped.name, n int, c public.citext, PRIMARY KEY (k, n));
			SELECT partitionkey.create_container('dropped.c', '{/k}', '{1}');
			INSERT INTO dropped.c SELECT 'k' || i, i FROM generate_series(1, 300) i});
		my ($h, $s) = (session(), session());
		ask($h, 'BEGIN; SELECT FROM dropped.c WHERE n = 150 FOR UPDATE');
		send_sql($s, q{SET ROLE dropper; SET partitionkey.retry_pause = 10; SET partitionkey.batch_rows = 1; CALL partitionkey.split_partition('dropped.c_p0')});
		$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM partitionkey.operations WHERE phase = 'copying'});
		if ($left)
		{
			query('SELECT pg_terminate_backend(pid, 10000) FROM partitionkey.operations');
			quit($h);
		}
		my $ddl = session();
		send_sql($ddl, 'SET client_min_messages = warning; ' . ($command =~ /EXTENSION/ ? '' : 'SET ROLE dropper; ') . $command);
		if (!$left)
		{
			sleep 0.2;
			quit($h);
			like(answer($s), qr/ERROR:  (55006|55000|42P01|XX000)|^$/, "$command: the operation ends");
		}
		my $answer = answer($ddl);
		is($answer, '', "$command, left-overs $left: done");
		quit($_) foreach $ddl, $left ? () : $s;
		is(query(q{SELECT count(*) FROM pg_extension WHERE extname = 'partitionkey'}) . query(q{SELECT count(*) FROM partitionkey.verify('others')}), '18',
			"$command, left-overs $left: what others have is there");
		query('CALL partitionkey.cleanup(); DROP SCHEMA IF EXISTS dropped CASCADE');
		is(query($left_over), 'nothing', "$command, left-overs $left: nothing left");
	}
}
query('DROP TABLE others; DROP EXTENSION IF EXISTS citext; DROP OWNED BY dropper; DROP ROLE dropper');

# Writers go on while a column is added, renamed and dropped, and the operation gives up.
foreach my $command ('ALTER TABLE t ADD COLUMN added int DEFAULT 1', 'ALTER TABLE t RENAME COLUMN added TO renamed', 'ALTER TABLE t DROP COLUMN renamed')
{
	make_container(3000) if $command =~ /ADD/;
	my $s = session();
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 3, '--max-tries=1', '-f', '-', $node->connstr('postgres') ],
		'<', \"\\set i random(1, 1000000)\nINSERT INTO t (tenant, id) VALUES ('w' || :i % 50, 1000000 + :i) ON CONFLICT DO NOTHING;\nDELETE FROM t WHERE id = 1000000 + :i;\n",
		'>', \$out, '2>', \$err);
	sleep 0.5;
	send_sql($s, q{SET partitionkey.batch_rows = 1; SET partitionkey.copy_effort = 0.01; CALL partitionkey.split_partition('t_p0')});
	sleep 0.5;
	is(query(q{SELECT phase FROM partitionkey.operations}), 'copying', "$command beside writers: the copy is under way");
	is(query($command), '', "$command beside writers: done");
	like(answer($s), $gave_up, "$command beside writers: the operation gives up");
	ok($load->finish && $out =~ /^number of failed transactions: 0 /m, "$command: no writer fails") or diag $out, $err;
	quit($s);
	query('DELETE FROM t WHERE id >= 1000000');
}
check_whole('columns changed beside writers', clean => 1);

# Those that are in nobody's way.
foreach my $command (
	'CALL partitionkey.cleanup()',
	q{CALL partitionkey.split_partition('t_p8')},
	'ALTER TABLE t RENAME TO t2; ALTER TABLE t2 RENAME TO t',
	'ANALYZE t_pC',
	'VACUUM t_pC')
{
	foreach my $phase ($command =~ /cleanup/ ? @phases : $command =~ /split/ ? ('copying') : ('waiting'))
	{
		make_container(300);
		my $op = stop_in($phase, 't_p0');
		my $s = session();

		is(ask($s, $command), '', "$command, $phase: done");
		let_go($op);
		is(answer($op->{session}), '', "$command, $phase: the operation is not disturbed");
		check_whole("$command, $phase", clean => 1);
		quit($_) foreach $s, $op->{session};
	}
}

foreach my $phase ('starting', 'copying', 'waiting', 'swapping')
{
	make_container(300);
	my $op = stop_in($phase, 't_p0');

	like(query(q{CALL partitionkey.split_partition('t_p0')}), qr/^ERROR:  55006: another operation is at work/, "a second split, $phase");
	like(query(q{CALL partitionkey.merge_partitions('t_p0', 't_p4')}), qr/^ERROR:  55006: another operation is at work/, "a merge, $phase");
	let_go($op);
	is(answer($op->{session}), '', "a second split, $phase: the first goes on");
	check_whole("a second split, $phase", clean => 1);
	quit($op->{session});
}

foreach my $command ('DROP TABLE t', q{CALL partitionkey.drop_container('t')}, 'DROP EXTENSION partitionkey CASCADE')
{
	make_container(300);
	my $op = stop_in('waiting', 't_p0');
	my $ddl = session();

	send_sql($ddl, "SET client_min_messages = error; $command");
	is(answer($ddl), '', "$command: done");
	like(answer($op->{session}), qr/ERROR:  \w{5}: /, "$command: the operation ends");
	let_go($op);
	query('CREATE EXTENSION IF NOT EXISTS partitionkey');
	query('DROP TABLE shadow');
	is(query($left_over), 'nothing', "$command: nothing left");
	quit($_) foreach $ddl, $op->{session};
}

note('at ' . int(time - $^T));
#
# What an ended session left is in nobody's way, until it is cleaned up.
#

foreach my $command (
	'ALTER TABLE t ADD COLUMN added int DEFAULT 1',
	'ALTER TABLE t RENAME COLUMN n TO renamed',
	'ALTER TABLE t ALTER COLUMN n TYPE text',
	'ALTER TABLE t DROP COLUMN n',
	'ALTER TABLE t RENAME COLUMN tenant TO renamed; ALTER TABLE t RENAME COLUMN renamed TO tenant',
	'ALTER TABLE t DROP CONSTRAINT t_pkey',
	'ALTER TABLE t_p0 OWNER TO other',
	'ALTER TABLE t OWNER TO other')
{
	make_container(300);
	my $op = stop_in('waiting', 't_p0');

	query("SELECT pg_terminate_backend($op->{pid})");
	answer($op->{session});
	let_go($op);
	is(query($command), '', "$command, after an operation was ended");
	if ($command =~ /t OWNER/)
	{
		is(query($write), '', "$command: can be written");
		is(query('CALL partitionkey.cleanup()'), '', "$command: cleanup");
		is(query($left_over), 'nothing', "$command: nothing left");
	}
	else
	{
		give_back("$command, after an operation was ended") if $command =~ /t_p0 OWNER/;
		check_whole("$command, after an operation was ended", cleanup => 1);
	}
	quit($op->{session});
}

# Nobody drops the tables that are being filled.
foreach my $phase ('copying', 'waiting', 'swapping')
{
	make_container(300);
	my $op = stop_in($phase, 't_p0');

	like(query('DROP TABLE t_new_0'), qr/ERROR:  2BP01: /, "new tables can't be dropped, $phase");
	let_go($op);
	is(answer($op->{session}), '', "new tables can't be dropped, $phase: the operation ends");
	check_whole("new tables can't be dropped, $phase", cleanup => 1);
	quit($op->{session});
}

# A schema gets another name while a session has plans for the new tables.
{
	make_container(300);
	my $op = stop_in('waiting', 't_p0');
	my $s = session();

	is(ask($s, 'UPDATE t SET n = 1'), '', 'a session with plans');
	is(query('ALTER SCHEMA public RENAME TO renamed'), '', 'the schema is renamed');
	is(ask($s, 'UPDATE renamed.t SET n = 2'), '', 'the session can write');
	query('ALTER SCHEMA renamed RENAME TO public');
	let_go($op);
	like(answer($op->{session}), qr/^$|ERROR:  \w{5}/, 'the operation ends');
	check_whole('schema renamed', cleanup => 1);
	quit($_) foreach $s, $op->{session};
}

# A row that was to be copied moves to another partition at the moment.
{
	make_container(300);
	my $op = stop_in('copying', 't_p0');
	my $s = session();

	ask($op->{holder}, q{UPDATE t SET tenant = x.tenant FROM (SELECT tenant FROM t_pC LIMIT 1) x
		WHERE t.ctid = (SELECT max(ctid) FROM t_p0) AND t.tableoid = 't_p0'::regclass});
	# Wait until the copy waits for the row.
	wait_for("SELECT count(*) > 0 FROM pg_locks WHERE pid = $op->{pid} AND NOT granted", 'wait for a row');
	ask($op->{holder}, 'COMMIT');
	is(answer($op->{session}), '', 'a row moves away while it is waited for');
	query('DROP TABLE shadow; CREATE TABLE shadow AS SELECT tenant, id FROM t');
	is(query('SELECT count(*) FROM t'), '300', 'no row is lost or doubled');
	check_whole('a row moved', clean => 1);
	quit($_) foreach $s, $op->{holder}, $op->{session};
}

# Only dropping the old leaf failed: others can do that, though the session lives.
{
	make_container(300);
	my ($s, $reader) = (session(), session());

	# an event trigger that refuses, as somebody's lock would
	query(q{
		CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION USING ERRCODE = 'lock_not_available'; END$$;
		CREATE EVENT TRIGGER refuse ON sql_drop WHEN TAG IN ('DROP TABLE') EXECUTE FUNCTION refuse()});
	like(ask($s, "CALL partitionkey.split_partition('t_p0')"), qr/WARNING:  \w{5}: the old partition could not be dropped yet/, 'the old leaf is in use');
	query('DROP EVENT TRIGGER refuse; DROP FUNCTION refuse()');
	is(query('CALL partitionkey.cleanup()'), '', 'cleanup() by another session');
	check_whole('the old leaf was in use', clean => 1);
	quit($s);
}

# cleanup() in a loop never takes away what is being made.
{
	make_container(300);
	my $script = "CALL partitionkey.cleanup();\n" x 20_000;
	my ($err, $failed) = ('', '');
	my @cleaners = map { my ($in, $out) = ($script, ''); psql_start(\$in, \$out, \$err) } 1 .. 2;

	foreach my $i (1 .. 12)
	{
		my $said = query(operation($i % 2 ? 'split' : 'merge'));

		$failed .= "$said\n" if $said ne '';
	}
	$_->signal('TERM') foreach @cleaners;
	eval { $_->finish } foreach @cleaners;
	is($failed, '', 'operations while others clean up');
	unlike($err, qr/ERROR|connection/, 'cleanup has no error');
	wait_up();
	check_whole('cleanup in a loop', cleanup => 1);
}

note('at ' . int(time - $^T));
#
# Errors
#

{
	# Old rows may be what a constraint allows no new ones to be.
	make_container(300, 'ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0) NOT VALID;');
	is(query(q{CALL partitionkey.split_partition('t_p0')}), '', 'rows that a constraint forbids only from now on');
	is(query(q{SELECT count(*), bool_or(convalidated) FROM pg_constraint WHERE conname = 'positive'}), '7|f', 'the constraint is as it was');
	query('ALTER TABLE t DROP CONSTRAINT positive');
	check_whole('a row forbidden', clean => 1);

	# Rows that cannot be put into the new tables.
	make_container(300);
	query(q{
		CREATE FUNCTION fussy(n int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
			$$BEGIN IF current_setting('fussy.now', true) = 'yes' THEN RAISE EXCEPTION 'not today'; END IF; RETURN true; END$$;
		CREATE INDEX fussy ON t (public.fussy(n))});
	is(query(q{SET fussy.now = 'yes'; CALL partitionkey.split_partition('t_p0')}), 'ERROR:  P0001: not today', 'an index expression fails');
	check_whole('an index expression failed', clean => 1);
	# Checks held in the old leaf, so that they need not be tried again.
	query('DROP INDEX fussy; ALTER TABLE t ADD CONSTRAINT fussy CHECK (public.fussy(n))');
	is(query(q{SET fussy.now = 'yes'; CALL partitionkey.split_partition('t_p0')}), '', 'a check is not tried');
	is(query(q{SELECT count(*) = (SELECT count(*) FROM pg_partition_tree('t')), bool_and(convalidated) FROM pg_constraint WHERE conname = 'fussy'}), 't|t', 'it is there');
	check_whole('a check not tried', clean => 1);
	query('ALTER TABLE t DROP CONSTRAINT fussy; DROP FUNCTION fussy');

	foreach my $tag ('CREATE TABLE', 'CREATE TRIGGER', 'ALTER TABLE', 'DROP TRIGGER')
	{
		make_container(300);
		query(qq{
			CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS \$\$BEGIN RAISE EXCEPTION 'not today'; END\$\$;
			CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('$tag') EXECUTE FUNCTION refuse()});
		like(query(q{CALL partitionkey.split_partition('t_p0')}), qr/^ERROR:  P0001: not today/, "$tag refused");
		is(query('SELECT error FROM partitionkey.operations'), 'not today', "$tag refused: the record tells why") if $tag eq 'DROP TRIGGER';
		query('DROP EVENT TRIGGER refuse; DROP FUNCTION refuse()');
		check_whole("$tag refused", cleanup => 1);
	}

	# A function that ANALYZE calls on the new tables, and nobody else.
	make_container(300);
	query(q{
		CREATE FUNCTION fussy(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
			$$BEGIN IF current_setting('fussy.now', true) = 'yes' THEN RAISE EXCEPTION 'not today'; END IF; RETURN n; END$$;
		CREATE STATISTICS expression ON (public.fussy(n)) FROM t_p0});
	is(query(q{SET fussy.now = 'yes'; CALL partitionkey.split_partition('t_p0')}), 'ERROR:  P0001: not today', 'a function fails in ANALYZE');
	check_whole('a function failed in ANALYZE', clean => 1);
	query('DROP TABLE t; DROP FUNCTION fussy');
}

SKIP:
{
	my $found = eval { IPC::Run::run([ 'prlimit', '--version' ], '>', \my $out, '2>', \my $err) };

	skip 'no prlimit here', 3 unless $found;
	# 8,000 rows of 800 bytes: either half takes more than the 1 MB a file may have
	make_container(1);
	query(q{
		SET client_min_messages = error; DROP TABLE t, shadow;
		CREATE TABLE t (tenant text NOT NULL, id int NOT NULL, n int, filler text DEFAULT repeat('x', 800), PRIMARY KEY (tenant, id));
		INSERT INTO t SELECT 't' || i % 200, i FROM generate_series(1, 8000) i;
		SELECT partitionkey.create_container('t', '{/tenant}', '{2}');
		CREATE TABLE shadow AS SELECT tenant, id FROM t});
	my $s = session();

	IPC::Run::run([ 'prlimit', '--pid', $s->{pid}, '--fsize=' . 1024 * 1024 ]) or die 'prlimit failed';
	like(ask($s, q{CALL partitionkey.split_partition('t_p0')}), qr/ERROR:  \w{5}: could not (extend|write)/, 'no room on disk');
	quit($s);
	check_whole('no room on disk', clean => 1);
}

note('at ' . int(time - $^T));
is(query('SELECT count(*) FROM pg_prepared_xacts'), '0', 'the server is alive');
$node->stop;
done_testing();
