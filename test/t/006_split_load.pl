# Partitions are split, merged and isolated while applications write and read: no statement of theirs fails because of
# it, and the rows stay equal to those of an ordinary table that gets the same changes in the same transactions.
# Several statements say so on their own: they compare both tables, or the catalogs, in one snapshot, and fail if they
# differ.  PARTITIONKEY_LOAD_SECONDS makes the main part longer, PARTITIONKEY_LOAD_SEED repeats the order of a run.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{PARTITIONKEY_LOAD_SECONDS} || 24;
my $seed = $ENV{PARTITIONKEY_LOAD_SEED} || int(rand(1_000_000));
srand($seed);
note "seed $seed";

my $patience = $PostgreSQL::Test::Utils::timeout_default;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_connections = 60\nmax_prepared_transactions = 1\nmax_locks_per_transaction = 256\npartitionkey.retry_pause = 50\n");
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;

#
# Sessions, pgbench, waiting
#

# A session of psql, kept open.  Like background_psql, which is not the same on all servers.
sub session
{
	my $s = { in => '', out => '', err => '', n => 0 };

	$s->{timer} = IPC::Run::timeout($patience);
	$s->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$s->{in}, '>', \$s->{out}, '2>', \$s->{err}, $s->{timer});
	return bless $s, 'Session';
}
sub Session::send
{
	my ($s, $sql) = @_;

	$sql .= ';' unless $sql =~ /;\s*$/;
	$s->{in} .= "$sql\n\\echo done $s->{n}\n\\warn done $s->{n}\n";
	$s->{run}->pump_nb;
}
# What the last statements sent have given; errors are appended.
sub Session::result
{
	my ($s) = @_;
	my $mark = "done $s->{n}\n";

	$s->{timer}->start($patience);
	$s->{run}->pump until $s->{out} =~ /^\Q$mark\E/m && $s->{err} =~ /^\Q$mark\E/m;
	$s->{n}++;
	(my $result = $s->{out} . $s->{err}) =~ s/^\Q$mark\E//mg;
	$s->{out} = $s->{err} = '';
	chomp $result;
	return $result;
}
sub Session::query { my ($s, $sql) = @_; $s->send($sql); return $s->result }
sub Session::quit { my ($s) = @_; $s->{timer}->start($patience); $s->{in} .= "\\q\n"; $s->{run}->finish }

sub value { return scalar $node->safe_psql('postgres', $_[0]) }

# Wait for the phase of an operation on a container.
sub wait_for_phase
{
	my ($container, $phase) = @_;

	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM partitionkey.operations WHERE container = '$container'::regclass AND phase = '$phase'")
		or die "$container: no operation came to phase $phase";
}

sub script { my ($name, $text) = @_; PostgreSQL::Test::Utils::append_to_file("$dir/$name.sql", "$text\n") }

my $runs = 0;
# Start pgbench with scripts (name => weight).
sub load
{
	my ($options, $settings, %scripts) = @_;
	# With a rate the times begin when the transaction was due.
	my $l = { out => '', err => '', log => "$dir/log" . ++$runs, lag => scalar(grep { $_ eq '-R' } @$options) };
	my @command = ('pgbench', '-n', '--max-tries=1', '-l', "--log-prefix=$l->{log}", @$options,
		(map { ('-f', "$dir/$_.sql\@$scripts{$_}") } sort keys %scripts), $node->connstr('postgres'));

	local $ENV{PGOPTIONS} = $settings;
	$l->{run} = IPC::Run::start(\@command, '<', \undef, '>', \$l->{out}, '2>', \$l->{err}, IPC::Run::timeout($patience + 20 * $seconds));
	return $l;
}
# Wait for its end: no statement may have failed.
sub finished
{
	my ($l, $what) = @_;
	my $ok = $l->{run}->finish;

	ok($ok && $l->{out} =~ /^number of failed transactions: 0 /m, "$what: no statement failed") or diag $l->{out}, $l->{err};
	my @times = sort { $a <=> $b } map { my @f = split; ($f[2] - ($l->{lag} ? $f[6] : 0)) / 1000 } map { split /\n/, PostgreSQL::Test::Utils::slurp_file($_) } glob("$l->{log}.*");
	($l->{tps}) = $l->{out} =~ /^tps = ([\d.]+)/m;
	return if !@times;
	$l->{max} = $times[-1];
	$l->{p999} = $times[ int($#times * 0.999) ];
	$l->{median} = $times[ $#times / 2 ];
	note sprintf('%s: %d transactions, %.0f/s; median %.1f ms, p99.9 %.1f ms, slowest %.1f ms', $what, scalar @times, $l->{tps} || 0, $l->{median}, $l->{p999}, $l->{max});
}

my @calls;
# Change the tree.  Gives whether it was changed; that nothing can be divided, or that a key has no rows just now, is an answer as well.
sub change
{
	my ($sql) = @_;
	my $start = time;
	my $endless = 0;
	my ($ret, $stdout, $stderr) = $node->psql('postgres', $sql, timeout => 60, timed_out => \$endless);

	if ($endless)
	{
		diag $node->safe_psql('postgres', 'SELECT kind, container, phase, rows_copied, pid FROM partitionkey.operations');
		$node->safe_psql('postgres', 'SELECT pg_terminate_backend(pid, 10000) FROM partitionkey.operations');
		fail "$sql ends";
		return 0;
	}
	push @calls, { sql => $sql, seconds => time - $start, error => $stderr };
	return $ret == 0 if $ret == 0 || $stderr =~ /cannot be divided|has no rows with this key/;
	fail $sql;
	diag $stderr;
	return 0;
}

# Leaves that are the halves of one range, and the node they hang on, read from the bounds.
sub halves
{
	my ($container) = @_;

	return map { [ split /\|/ ] } split /\n/, value(qq{
		WITH leaf AS (
			SELECT c.oid::regclass AS leaf, inhparent, m[1]::int AS modulus, m[2]::int AS remainder
			FROM pg_partition_tree('$container') t JOIN pg_class c ON c.oid = t.relid JOIN pg_inherits ON inhrelid = c.oid,
				regexp_match(pg_get_expr(relpartbound, c.oid), 'modulus (\\d+), remainder (\\d+)') m
			WHERE isleaf)
		SELECT a.leaf, b.leaf, inhparent::regclass FROM leaf a JOIN leaf b USING (inhparent, modulus)
		WHERE b.remainder = a.remainder + modulus / 2 ORDER BY hashtext(a.leaf::text || $seed)});
}
sub leaves { my ($container) = @_; return split /\n/, value("SELECT partition FROM partitionkey.physical_partitions WHERE container = '$container'::regclass") }
sub quoted { (my $name = $_[0]) =~ s/'/''/g; return "'$name'" }

# Nothing of an operation is left, and the tree has the rows of the shadow, each in its leaf.
sub check_container
{
	my ($container, $shadow, $what) = @_;

	is(value("SELECT count(*) FROM (TABLE $container EXCEPT ALL TABLE $shadow) x"), '0', "$what: no row too many, none doubled");
	is(value("SELECT count(*) FROM (TABLE $shadow EXCEPT ALL TABLE $container) x"), '0', "$what: no row is lost");
	is(value("SELECT sum(misplaced) || ' ' || (sum(items) = (SELECT count(*) FROM $shadow)) FROM partitionkey.verify(" . quoted($container) . ')'), '0 true', "$what: each row is in its leaf");
	is(value('SELECT check_tiles(' . quoted($container) . ')'), '', "$what: the ranges tile the space");
}

#
# The container of the main part, its shadow, and functions that look at the tree
#

$node->safe_psql('postgres', q{
	CREATE EXTENSION partitionkey;
	CREATE TABLE events (tenant text NOT NULL, "user" int NOT NULL, id int NOT NULL, n int NOT NULL, note text,
		doubled int GENERATED ALWAYS AS (n * 2) STORED, PRIMARY KEY (tenant, "user", id)) WITH (fillfactor = 80);
	INSERT INTO events SELECT 't' || i % 41, i % 97, i, 0, repeat('x', i % 50) FROM generate_series(1, 16000) i;
	-- a tenant with most rows of its leaf
	INSERT INTO events SELECT 'big', i % 197, i, 0, NULL FROM generate_series(16001, 20000) i;
	-- rows of these are never moved or deleted
	INSERT INTO events SELECT 'fixed' || i, i, 30000 + i, 0, NULL FROM generate_series(1, 20) i;
	CREATE SEQUENCE ids START 100000;
	SELECT partitionkey.create_container('events', '{/tenant,/user}', '{2}');
	CREATE INDEX ON events (id);
	CREATE TABLE shadow (tenant text, "user" int, id int PRIMARY KEY, n int, note text, doubled int) WITH (fillfactor = 80);
	INSERT INTO shadow SELECT * FROM events;
	VACUUM ANALYZE;

	-- where a bound lies in the space, from 0 to 1, by its first 48 bits; in the cosmos hash the space ends at 4000...
	CREATE FUNCTION place(bound text, hash text) RETURNS float8 IMMUTABLE LANGUAGE sql AS
		$$SELECT CASE bound WHEN 'FF' THEN 1
			ELSE ('x' || rpad(left(bound, 12), 12, '0'))::bit(48)::bigint / CASE hash WHEN 'cosmos' THEN 2::float8 ^ 46 ELSE 2::float8 ^ 48 END END$$;

	-- Leaves are boxes, with a side at each level.  They must have the volume of the space and not overlap.
	CREATE FUNCTION check_tiles(what regclass) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		total float8; shared text; boxes text;
	BEGIN
		WITH leaf AS MATERIALIZED (
			SELECT partition, place(coalesce(min_inclusive[1], ''), hash) AS a1, place(coalesce(max_exclusive[1], 'FF'), hash) AS b1,
				place(coalesce(min_inclusive[2], ''), hash) AS a2, place(coalesce(max_exclusive[2], 'FF'), hash) AS b2
			FROM partitionkey.physical_partitions JOIN partitionkey.containers USING (container) WHERE container = what)
		SELECT sum((b1 - a1) * (b2 - a2)), string_agg(leaf::text, ' '),
			(SELECT string_agg(x.partition || ' and ' || y.partition, ', ') FROM leaf x JOIN leaf y ON x.partition <> y.partition
				AND x.a1 < y.b1 AND y.a1 < x.b1 AND x.a2 < y.b2 AND y.a2 < x.b2)
		INTO total, boxes, shared FROM leaf;
		IF total IS DISTINCT FROM 1 OR shared IS NOT NULL THEN
			RAISE EXCEPTION 'the leaves of % cover %, overlaps: %; %', what, total, shared, boxes;
		END IF;
	END$$;

	-- Ranges that were noted before: just the leaves that have a part of them.
	CREATE FUNCTION check_ranges(what regclass) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		wrong text;
	BEGIN
		WITH leaf AS MATERIALIZED (SELECT * FROM partitionkey.partition_ranges(what)),
			noted(a, b) AS (VALUES ('', '8000000000000000'), ('8000000000000000', 'FF'), ('4000000000000000', '6000000000000000'), ('C400000000000000', 'FF'))
		SELECT string_agg(format('%s to %s: %s instead of %s', a, b, given, expected), '; ') INTO wrong
		FROM noted,
			LATERAL (SELECT array_agg(p ORDER BY p) FROM partitionkey.partitions_in_range(what, ARRAY[a], ARRAY[b]) p) g(given),
			LATERAL (SELECT array_agg(partition ORDER BY partition) FROM leaf
				WHERE place(min_inclusive[1], 'xxhash') < place(b, 'xxhash') AND place(max_exclusive[1], 'xxhash') > place(a, 'xxhash')) e(expected)
		WHERE given IS DISTINCT FROM expected;
		IF wrong IS NOT NULL THEN
			RAISE EXCEPTION '%', wrong;
		END IF;
	END$$;

	-- A key's row is in a leaf that partition_of gives, as one statement sees it.
	CREATE FUNCTION check_place(tenant text, usr int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		places text[];
	BEGIN
		EXECUTE format('SELECT array_agg(tableoid::regclass || %L || ARRAY(SELECT partitionkey.partition_of(%L, jsonb_build_array(tenant, "user")))::text
				|| ARRAY(SELECT partitionkey.partition_of(%L, jsonb_build_array(tenant)))::text)
			FROM events WHERE tenant = %L AND "user" = %L AND NOT (
				tableoid::regclass = ANY (ARRAY(SELECT partitionkey.partition_of(%L, jsonb_build_array(tenant, "user"))))
				AND tableoid::regclass = ANY (ARRAY(SELECT partitionkey.partition_of(%L, jsonb_build_array(tenant)))))',
			' not in ', 'events', 'events', tenant, usr, 'events', 'events') INTO places;
		IF places IS NOT NULL THEN
			RAISE EXCEPTION '%', places;
		END IF;
	END$$;

	-- The same rows, compared in the statement that calls it.
	CREATE FUNCTION differ(what text, a bigint[], b bigint[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF a IS DISTINCT FROM b THEN
			RAISE EXCEPTION '%: rows % instead of %', what, a, b;
		END IF;
	END$$;
});
is(value("SELECT check_tiles('events')"), '', 'the ranges tile the space before');

# Each client has rows of its own: id % 8 is its number.  So nothing that PostgreSQL itself fails for can happen: a row
# that somebody else moves, or changes in a transaction of another snapshot.
my $own = '\set id random(1, 2490) * 8 + :client_id + :first
SELECT coalesce(max(tenant), \'none\') AS tenant, coalesce(max("user"), 0) AS usr FROM shadow WHERE id = :id \gset
';
my $key = 'tenant = :tenant AND "user" = :usr::int AND id = :id::int';
my $everything = 'tenant = c.tenant, "user" = c."user", n = c.n, note = c.note, doubled = c.doubled';
my $anywhere = '\set t random(0, 40)
\set u random(0, 96)
';
my $insert = q{WITH c AS (INSERT INTO events (tenant, "user", id, n, note) VALUES ('t' || :t::int, :u::int, nextval('ids'), 0, 'new') RETURNING *) INSERT INTO shadow SELECT * FROM c;};
my $update = "WITH c AS (UPDATE events SET n = n + 1, note = left(md5(n::text), n % 33) WHERE $key RETURNING *) UPDATE shadow s SET $everything FROM c WHERE s.id = c.id;";
my $move = "WITH c AS (UPDATE events SET tenant = 't' || :t::int, \"user\" = :u::int WHERE $key RETURNING *) UPDATE shadow s SET $everything FROM c WHERE s.id = c.id;";
my $delete = "WITH c AS (DELETE FROM events WHERE $key RETURNING *) DELETE FROM shadow s USING c WHERE s.id = c.id;";
script('insert', $anywhere . $insert);
script('update', $own . $update);
script('move', $own . $anywhere . $move);
script('delete', $own . $delete);
# found by another index: this one locks all leaves
script('by_id', $own . "WITH c AS (UPDATE events SET n = n + 1 WHERE id = :id::int RETURNING *) UPDATE shadow s SET $everything FROM c WHERE s.id = c.id;");
# many rows in one statement, some of them in a new place
script('many', $anywhere . "WITH c AS (UPDATE events SET n = n + 1, \"user\" = CASE WHEN n % 3 = 0 THEN :u::int ELSE \"user\" END
 WHERE tenant = 't' || :t::int AND id % 8 = :client_id::int + :first::int RETURNING *) UPDATE shadow s SET $everything FROM c WHERE s.id = c.id;");
script('multi', $own . $anywhere . join("\n", 'BEGIN;', $insert, $update, 'SAVEPOINT a;', $delete, 'ROLLBACK TO a;', $update, $move,
	'SAVEPOINT b;', $insert, 'RELEASE b;', 'COMMIT;'));
# the row is found with the key it has had in this transaction
script('delete_again', $own . join("\n", 'BEGIN;', $delete,
	"WITH c AS (INSERT INTO events (tenant, \"user\", id, n, note) SELECT :tenant, :usr::int, :id::int, 7, 'again' WHERE :tenant <> 'none' RETURNING *) INSERT INTO shadow SELECT * FROM c;",
	$update, 'COMMIT;'));
script('abort', $own . $anywhere . join("\n", 'BEGIN;', $insert, $update, $move, 'ROLLBACK;'));
script('merge', $own . "BEGIN;
MERGE INTO events e USING (SELECT :tenant::text AS tenant, :usr::int AS usr, :id::int AS id) v ON e.tenant = v.tenant AND e.\"user\" = v.usr AND e.id = v.id
 WHEN MATCHED THEN UPDATE SET n = n + 1 WHEN NOT MATCHED THEN INSERT (tenant, \"user\", id, n) VALUES ('t1', 1, v.id, 1);
MERGE INTO shadow e USING (SELECT :tenant::text AS tenant, :usr::int AS usr, :id::int AS id) v ON e.tenant = v.tenant AND e.\"user\" = v.usr AND e.id = v.id
 WHEN MATCHED THEN UPDATE SET n = n + 1, doubled = 2 * (n + 1) WHEN NOT MATCHED THEN INSERT VALUES ('t1', 1, v.id, 1, NULL, 2);
COMMIT;");
# all clients on the same rows
script('upsert', q{\set k random(1, 60)
WITH c AS (INSERT INTO events VALUES ('hot' || :k::int % 7, :k::int, 40000 + :k::int, 1, 'first') ON CONFLICT (tenant, "user", id) DO UPDATE SET n = events.n + 1, note = 'again' RETURNING *) INSERT INTO shadow SELECT * FROM c ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n, note = EXCLUDED.note, doubled = EXCLUDED.doubled;});
script('hot_delete', q{\set k random(1, 60)
WITH c AS (DELETE FROM events WHERE tenant = 'hot' || :k::int % 7 AND "user" = :k::int RETURNING *) DELETE FROM shadow s USING c WHERE s.id = c.id;});
my %writes = (insert => 4, update => 8, move => 6, delete => 1, by_id => 1, many => 1, multi => 3, delete_again => 3, abort => 2, merge => 2);
my %hot = (upsert => 6, hot_delete => 2);

my $sums = 'ARRAY[count(*), sum(n), sum(hashtext(tenant)), sum("user"), sum(id), sum(doubled), sum(hashtext(note))]';
script('read_all', "SELECT differ('all', (SELECT $sums FROM events), (SELECT $sums FROM shadow));");
script('read_tenant', $anywhere . "SELECT differ('tenant', (SELECT $sums FROM events WHERE tenant = 't' || :t::int), (SELECT $sums FROM shadow WHERE tenant = 't' || :t::int));");
script('read_key', q{\set k random(1, 20)
SELECT differ('key', (SELECT ARRAY[count(*), sum(id)] FROM events WHERE tenant = 'fixed' || :k::int AND "user" = :k::int), ARRAY[1, 30000 + :k::int]);});
# a snapshot that is older than the first look at the container: in between may lie a swap
script('read_old', "\\set ms random(10, 200)\nBEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM ids;\nSELECT pg_sleep(:ms / 1000.0);
SELECT differ('old snapshot', (SELECT $sums FROM events), (SELECT $sums FROM shadow));\nCOMMIT;");
script('tiles', "SELECT check_tiles('events');\n\\sleep 5 ms");
# nobody changes the tree while this one has it locked, so that the two functions speak of the same
script('noted', "BEGIN;\nLOCK TABLE ONLY events IN ACCESS SHARE MODE;\nSELECT count(*) FROM events WHERE false;\nSELECT check_ranges('events');\nCOMMIT;");
script('places', "\\set k random(1, 20)\nSELECT check_place('fixed' || :k::int, :k::int);\n\\sleep 2 ms");

#
# The same load without changes of the tree and with them
#

sub start_all
{
	my ($time) = @_;
	my @common = ('-T', $time, '-M', 'prepared');

	return (
		[ 'writers', load([ @common, '-c', 4, '-D', 'first=0' ], '', %writes, %hot) ],
		[ 'REPEATABLE READ writers', load([ @common, '-c', 2, '-R', 60, '-D', 'first=4' ], '-c default_transaction_isolation=repeatable\ read', %writes) ],
		# a single one: with others PostgreSQL may see dependencies where there are none
		[ 'SERIALIZABLE writer', load([ @common, '-c', 1, '-R', 30, '-D', 'first=6' ], '-c default_transaction_isolation=serializable', %writes) ],
		[ 'readers', load([ @common, '-c', 2, '-R', 60 ], '', read_tenant => 6, read_key => 6, read_all => 1) ],
		[ 'readers with generic plans', load([ @common, '-c', 1, '-R', 40 ], '-c plan_cache_mode=force_generic_plan', read_tenant => 4, read_key => 4, read_all => 1) ],
		[ 'writer with generic plans', load([ @common, '-c', 1, '-R', 30, '-D', 'first=7' ], '-c plan_cache_mode=force_generic_plan', %writes, %hot) ],
		[ 'readers with old snapshots', load([ @common, '-c', 2, '-R', 8 ], '', read_old => 1) ],
		[ 'ranges', load([ @common, '-c', 1, '-R', 60 ], '', tiles => 6, noted => 1) ],
		[ 'places', load([ @common, '-c', 1, '-R', 60 ], '', places => 1) ]);
}

my @quiet = start_all(4);
finished($_->[1], "without changes, $_->[0]") foreach @quiet;

my @busy = start_all($seconds);
my $begin = time;
my $deadline = $begin + $seconds - 1;
my $cursor = session();
my $most = 2;
my ($splits, $by_user, $merges, $isolated, $cursors) = (0, 0, 0, 0, 0);

# A cursor is open while a leaf is changed that it has yet to read: then the swap waits for it, and others for neither.
sub change_beside_cursor
{
	my ($sql) = @_;
	my $op = session();

	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT e.id, (SELECT count(*) FROM shadow) AS total FROM events e');
	my ($id, $total) = split /\|/, (split /\n/, $cursor->query('FETCH 100 FROM c'))[0];
	$op->send($sql);
	sleep 0.5;
	$cursor->send('FETCH ALL FROM c; COMMIT');
	my @rest = split /\n/, $cursor->result;
	is(scalar(grep { /^\d+\|$total$/ } @rest), $total - 100, 'an open cursor reads all rows');
	my $error = $op->result;
	is($error, '', "beside a cursor: $sql") unless $error =~ /cannot be divided/;
	$op->quit;
	$cursors++;
}

while (time < $deadline)
{
	# grow
	# at least a few, however slow the machine is
	for (my $tries = 0; time < $begin + 0.55 * $seconds || ($splits < 6 && $tries < 50); $tries++)
	{
		my @leaves = leaves('events');

		$most = @leaves if @leaves > $most;
		last if @leaves >= 48;
		my $leaf = quoted($leaves[ rand @leaves ]);
		my $path = !$by_user || rand() < 0.25 ? ", '/user'" : '';
		my $sql = "CALL partitionkey.split_partition($leaf$path)";
		if ($splits == 4)
		{
			change_beside_cursor($sql);
			$splits++;
			next;
		}
		next if $path && value("SELECT count(*) FROM partitionkey.physical_partitions WHERE partition = $leaf\::regclass AND array_length(min_inclusive, 1) > 1");
		change($sql) or next;
		$splits++;
		$by_user++ if $path;
	}
	last if time >= $deadline && $isolated;
	my $tenant = $isolated ? 't' . int(rand(41)) : 'big';
	change("CALL partitionkey.isolate_key('events', '[\"$tenant\"]')") and $isolated++;
	$most = leaves('events') if leaves('events') > $most;
	# hot ones come and go, and may come after it
	is(value(qq{SELECT count(DISTINCT tenant) || ' ' || max(tenant) FROM events
		WHERE tenant !~ '^hot' AND tableoid = ANY (ARRAY(SELECT partitionkey.partition_of('events', '["$tenant"]')))}),
		"1 $tenant", "$tenant has partitions of its own");
	# merge
	for (my $tries = 0; time < $deadline || (!$merges && $tries < 10); $tries++)
	{
		my @halves = halves('events');

		last if !@halves || leaves('events') <= 2;
		change('CALL partitionkey.merge_partitions(' . quoted($halves[0][0]) . ', ' . quoted($halves[0][1]) . ')') and $merges++;
	}
	$begin = time if leaves('events') <= 2;
}
note sprintf('%d splits, %d of them by /user, up to %d leaves; %d keys isolated; %d merges', $splits, $by_user, $most, $isolated, $merges);
note sprintf('changes took %.2f s on average, %.2f s at most', eval { my $sum = 0; $sum += $_->{seconds} foreach @calls; $sum / @calls }, (sort { $b <=> $a } map { $_->{seconds} } @calls)[0]);
finished($_->[1], "under changes, $_->[0]") foreach @busy;
ok($splits > 4 && $merges > 0 && $isolated > 0 && $cursors > 0, 'there were changes of each kind');
note sprintf('writers: %.2f of the throughput; slowest statement %.1f ms instead of %.1f ms, p99.9 %.1f ms instead of %.1f ms',
	$busy[0][1]{tps} / $quiet[0][1]{tps}, $busy[0][1]{max}, $quiet[0][1]{max}, $busy[0][1]{p999}, $quiet[0][1]{p999});
# A bound for the verdict that a busy machine keeps; the figures above are what counts.
ok($busy[0][1]{max} < 5000, 'no writer was held up for long');
check_container('events', 'shadow', 'after the load');

# back to the two leaves that the container was made with
for (my @halves; leaves('events') > 2 && (@halves = halves('events'));)
{
	change('CALL partitionkey.merge_partitions(' . quoted($halves[0][0]) . ', ' . quoted($halves[0][1]) . ')') or last;
}
is(scalar(leaves('events')), 2, 'merged to two leaves');
check_container('events', 'shadow', 'merged');
$cursor->quit;

#
# From 8 leaves to 64 and back, in random order
#

$node->safe_psql('postgres', q{
	CREATE TABLE wide (k int, id int, n int NOT NULL, PRIMARY KEY (k, id));
	INSERT INTO wide SELECT i, i % 8, 0 FROM generate_series(1, 16000) i;
	SELECT partitionkey.create_container('wide', '{/k}', '{8}');
	CREATE TABLE wide_shadow AS TABLE wide;
	ALTER TABLE wide_shadow ADD PRIMARY KEY (k, id);
	VACUUM ANALYZE wide, wide_shadow;
});
# each client has the ids of its number
my $row = "\\set k random(1, 20000)\n";
my $mine = 'k = :k::int AND id = :client_id::int';
script('wide_put', $row . 'WITH c AS (INSERT INTO wide VALUES (:k::int, :client_id::int, 1) ON CONFLICT (k, id) DO UPDATE SET n = wide.n + 1 RETURNING *)
 INSERT INTO wide_shadow SELECT * FROM c ON CONFLICT (k, id) DO UPDATE SET n = EXCLUDED.n;');
script('wide_delete', $row . "WITH c AS (DELETE FROM wide WHERE $mine RETURNING *) DELETE FROM wide_shadow s USING c WHERE s.k = c.k AND s.id = c.id;");
script('wide_move', $row . "WITH c AS (UPDATE wide SET k = k + 30000 WHERE $mine RETURNING *) UPDATE wide_shadow s SET k = c.k FROM c WHERE s.k = c.k - 30000 AND s.id = c.id;");
script('wide_read', "SELECT differ('wide', (SELECT ARRAY[count(*), sum(k), sum(n)] FROM wide), (SELECT ARRAY[count(*), sum(k), sum(n)] FROM wide_shadow));");
script('wide_tiles', "SELECT check_tiles('wide');\n\\sleep 5 ms");

my ($wide_changes, $wide_most, $growing, $wide_round) = (0, 8, 1, 0);
# each round under a load of its own, until all is done
for (; $growing || leaves('wide') > 8; $wide_round++)
{
	my @loads = (load([ '-T', 4, '-M', 'prepared', '-c', 4, '-R', 150 ], '', wide_put => 6, wide_delete => 2, wide_move => 2),
		load([ '-T', 4, '-M', 'prepared', '-c', 1, '-R', 20 ], '', wide_read => 1), load([ '-T', 4, '-c', 1, '-R', 40 ], '', wide_tiles => 1));
	for (my $end = time + 4; time < $end;)
	{
		my @leaves = leaves('wide');
		my @halves = halves('wide');

		$wide_most = @leaves if @leaves > $wide_most;
		$growing &&= @leaves < 64;
		last if !$growing && @leaves <= 8;
		# not those that the container was made with
		@halves = grep { $_->[2] ne 'wide' } @halves;
		my $sql = $growing ? 'split_partition(' . quoted($leaves[ rand @leaves ]) . ')' : 'merge_partitions(' . quoted($halves[0][0]) . ', ' . quoted($halves[0][1]) . ')';
		my $done = change("CALL partitionkey.$sql");
		my @after = leaves('wide');
		my $gained = @after - @leaves;
		# a half without rows is halved again, so that a split may make more than two leaves
		my $right = !$done ? $gained == 0 : $growing ? $gained >= 1 : $gained == -1;
		$wide_changes += abs $gained;
		ok($right, $sql) or diag "@leaves\n@after\n$calls[-1]{error}" if !$right;
	}
	finished($loads[$_], "8 to 64 leaves and back, round $wide_round, " . qw(writers reader ranges)[$_]) foreach 0 .. 2;
	is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('wide')}), '0', "round $wide_round: each row is in its leaf");
	last if $wide_round > 100;
}
cmp_ok($wide_most, '>=', 64, 'there were 64 leaves');
is(scalar(leaves('wide')), 8, 'merged to 8 leaves');
is($wide_changes, 2 * ($wide_most - 8), 'as many leaves gained as lost');
check_container('wide', 'wide_shadow', '64 leaves and back');

#
# Snapshots: sessions stop at chosen points here
#

$node->safe_psql('postgres', q{
	CREATE TABLE snap (k int PRIMARY KEY, v int);
	INSERT INTO snap SELECT i, 0 FROM generate_series(1, 2000) i;
	SELECT partitionkey.create_container('snap', '{/k}', '{2}');
	CREATE TABLE elsewhere (v int);
	INSERT INTO elsewhere VALUES (0);
});
my $rows = q{SELECT count(*), sum(v), md5(string_agg(k || ' ' || v, ',' ORDER BY k)) FROM snap};
my ($op, $old, $holder, $writer) = map { session() } 1 .. 4;

# Keys of the leaf that is to be changed next, and one that is not in it.
sub keys_of { my ($leaf, $n) = @_; return split /\n/, value("SELECT k FROM $leaf WHERE k > 0 ORDER BY k LIMIT $n") }

foreach my $isolation ('REPEATABLE READ', 'SERIALIZABLE')
{
	# A snapshot from before the copy keeps the operation waiting, and what it writes counts.
	my $leaf = (leaves('snap'))[0];
	my @k = keys_of($leaf, 6);
	my $before = value($rows);

	$old->query("BEGIN ISOLATION LEVEL $isolation; SELECT v FROM elsewhere");
	$op->send("CALL partitionkey.split_partition('$leaf')");
	wait_for_phase('snap', 'waiting');
	is($old->query($rows), $before, "$isolation, older than the copy: sees all rows");
	is($writer->query("UPDATE snap SET v = 1 WHERE k = $k[0]; DELETE FROM snap WHERE k = $k[5]"), '', 'others write meanwhile');
	is($old->query($rows), $before, "$isolation, older than the copy: sees the same rows again");
	is($old->query("UPDATE snap SET v = 2 WHERE k = $k[1]; DELETE FROM snap WHERE k = $k[2]; UPDATE snap SET k = -k WHERE k = $k[3];
		INSERT INTO snap VALUES (-1000 - $k[4], 3); UPDATE snap SET v = 4 WHERE k = -1000 - $k[4]; INSERT INTO snap VALUES ($k[4], 5) ON CONFLICT (k) DO UPDATE SET v = 6"),
		'', "$isolation, older than the copy: can write");
	my $own = $old->query($rows);
	is($old->query('COMMIT'), '', "$isolation, older than the copy: commits");
	is($op->result, '', 'the split goes on');
	is(value("SELECT string_agg(k || ' ' || v, ', ' ORDER BY k) FROM snap WHERE k IN (-$k[3], -1000 - $k[4]) OR k BETWEEN 1 AND $k[5]
			AND k IN ($k[0], $k[1], $k[2], $k[3], $k[4], $k[5])"),
		join(', ', map { "@$_" } sort { $a->[0] <=> $b->[0] } [ $k[0], 1 ], [ $k[1], 2 ], [ -$k[3], 0 ], [ -1000 - $k[4], 4 ], [ $k[4], 6 ]),
		"$isolation, older than the copy: what it wrote is there");
	is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('snap')}), '0', 'each row is in its leaf');

	# A snapshot between the copy and the swap sees the same rows on both sides.  The savepoint gives back the locks.
	$leaf = (leaves('snap'))[-1];
	@k = keys_of($leaf, 8);
	$holder->query("BEGIN; SELECT * FROM snap WHERE k = $k[0]");
	$op->send("CALL partitionkey.split_partition('$leaf')");
	wait_for_phase('snap', 'swapping');
	$writer->query("UPDATE snap SET v = 7 WHERE k = $k[1]");
	$old->query("BEGIN ISOLATION LEVEL $isolation; SAVEPOINT a");
	$before = $old->query($rows);
	is($old->query('ROLLBACK TO a'), '', 'a snapshot between copy and swap');
	# what comes after it, on both sides of the swap
	$writer->query("UPDATE snap SET v = 8 WHERE k IN ($k[1], $k[2]); DELETE FROM snap WHERE k = $k[3]; UPDATE snap SET k = -k WHERE k = $k[4]; INSERT INTO snap VALUES (-2000 - $k[5], 1)");
	$holder->query('COMMIT');
	if ($isolation eq 'SERIALIZABLE')
	{
		# What it has read, others look for in the old leaf: so that stays until it ends.
		sleep 1;
		is(value(q{SELECT phase FROM partitionkey.operations}), 'swapping', 'the swap waits for a SERIALIZABLE transaction that has read the leaf');
		is($old->query("$rows; COMMIT"), $before, "$isolation: the same rows as before");
		is($op->result, '', 'the swap is made');
		is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('snap')}), '0', 'each row is in its leaf');
		next;
	}
	is($op->result, '', 'the swap is made');
	$writer->query("UPDATE snap SET v = 9 WHERE k IN ($k[1], $k[6]); DELETE FROM snap WHERE k = $k[5]");
	is($old->query($rows), $before, "$isolation: the same rows before and after the swap");
	is($old->query("UPDATE snap SET v = 10 WHERE k = $k[7]; COMMIT"), '', "$isolation: a row that nobody changed since can be written");
	is(value("SELECT v FROM snap WHERE k = $k[7]"), '10', "$isolation: and is");
	# a row that was written since the snapshot can't: that is so without a swap, too
	is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('snap')}), '0', 'each row is in its leaf');
}

# A transaction that has been prepared meanwhile has no process any more; what it has read counts all the same.
{
	my $leaf = (leaves('snap'))[0];
	my ($k) = keys_of($leaf, 1);

	$holder->query("BEGIN; SELECT * FROM snap WHERE k = $k");
	$op->send("CALL partitionkey.split_partition('$leaf')");
	wait_for_phase('snap', 'swapping');
	$old->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM elsewhere');
	$writer->query("BEGIN ISOLATION LEVEL SERIALIZABLE; $rows; UPDATE elsewhere SET v = v + 1; PREPARE TRANSACTION 'reader'");
	is($writer->query("COMMIT PREPARED 'reader'"), '', 'a prepared SERIALIZABLE transaction has read the leaf');
	$holder->query('COMMIT');
	sleep 1;
	is(value(q{SELECT phase FROM partitionkey.operations}), 'swapping', 'the swap waits');
	like($old->query("UPDATE snap SET v = 11 WHERE k = $k; ROLLBACK"), qr/could not serialize access/, 'and the conflict is found');
	is($op->result, '', 'the swap is made');
	is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('snap')}), '0', 'each row is in its leaf');
}

# The copy leaves the machine to who writes, and to nobody else.  The lock on a row keeps it at its first block until then.
$node->safe_psql('postgres', q{
	CREATE TABLE paced (k int PRIMARY KEY, v int);
	INSERT INTO paced SELECT i, 0 FROM generate_series(1, 40000) i;
	SELECT partitionkey.create_container('paced', '{/k}', '{1}');
});
$holder->query('BEGIN; SELECT FROM paced WHERE k = 1 FOR UPDATE');
$op->query('SET partitionkey.copy_effort = 0.01; SET partitionkey.batch_rows = 100');
$op->send("CALL partitionkey.split_partition('paced_p0')");
wait_for_phase('paced', 'copying');
$writer->query('BEGIN; UPDATE paced SET v = 1 WHERE k = 40000');
$holder->query('COMMIT');
sleep 2;
# 177 batches that take a millisecond or more, and 99 times that for each pause
cmp_ok(value('SELECT rows_copied FROM partitionkey.operations'), '<', 20000, 'who writes slows down the copy');
$begin = time;
$writer->query('COMMIT');
is($op->result, '', 'the split is made');
cmp_ok(time - $begin, '<', 8, 'the copy is fast when nobody writes');
is(value(q{SELECT count(*) || ' ' || sum(v) FROM paced}), '40000 1', 'all rows are there');
$op->query('RESET partitionkey.copy_effort; RESET partitionkey.batch_rows');

# Two SERIALIZABLE transactions read what the other one writes.  One of them fails, whatever happens in between.
sub write_skew
{
	my ($between) = @_;
	my $leaf = (leaves('snap'))[0];
	my ($k) = keys_of($leaf, 1);

	if ($between)
	{
		$holder->query("BEGIN; SELECT * FROM snap WHERE k = $k");
		$op->send("CALL partitionkey.split_partition('$leaf')");
		wait_for_phase('snap', 'swapping');
	}
	$old->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM elsewhere');
	my $errors = $writer->query("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT FROM snap WHERE k = $k; UPDATE elsewhere SET v = v + 1; COMMIT");
	if ($between)
	{
		$holder->query('COMMIT');
		# The swap is made now, or waits until these transactions have ended.
		for (1 .. 30) { last if !value('SELECT count(*) FROM partitionkey.operations'); sleep 0.1 }
	}
	$errors .= $old->query("UPDATE snap SET v = v + 1 WHERE k = $k; COMMIT");
	is($op->result, '', 'the split ends') if $between;
	return $errors;
}
like(write_skew(0), qr/could not serialize access/, 'write skew is found');
like(write_skew(1), qr/could not serialize access/, 'write skew is found across a swap');

# A row that the copy waits for goes to another leaf.
{
	my $leaf = (leaves('snap'))[0];
	# one that belongs elsewhere with its sign changed
	my $k = value("SELECT k FROM $leaf WHERE k > 0 AND NOT EXISTS (SELECT FROM partitionkey.partition_of('snap', to_jsonb(ARRAY[-k])) p WHERE p = '$leaf'::regclass)
		AND NOT EXISTS (SELECT FROM snap s WHERE s.k = -$leaf.k) LIMIT 1");

	$holder->query("BEGIN; SELECT * FROM snap WHERE k = $k FOR UPDATE");
	# so that it waits most of the time
	$op->query('SET partitionkey.lock_timeout = 450; SET partitionkey.retry_pause = 1');
	$op->send("CALL partitionkey.split_partition('$leaf')");
	wait_for_phase('snap', 'copying');
	sleep 0.3;
	is($holder->query("UPDATE snap SET k = -k WHERE k = $k; COMMIT"), '', 'a row that the copy waits for is moved');
	is($op->result, '', 'which is no reason to fail');
	is(value("SELECT count(*) FROM snap WHERE k IN ($k, -$k)"), '1', 'and there is one of it');
	$op->query('RESET partitionkey.lock_timeout; RESET partitionkey.retry_pause');
}

# Foreign keys: the new tables have them as well, which must not get into anybody's way.
$node->safe_psql('postgres', q{
	CREATE TABLE parent (id int PRIMARY KEY);
	INSERT INTO parent SELECT generate_series(1, 10);
	CREATE TABLE child (k int, parent int CONSTRAINT child_parent REFERENCES parent DEFERRABLE, PRIMARY KEY (k));
	INSERT INTO child SELECT i, 1 + i % 10 FROM generate_series(1, 500) i;
	SELECT partitionkey.create_container('child', '{/k}', '{2}');
});
$holder->query('BEGIN; SELECT * FROM parent');
$op->send("CALL partitionkey.split_partition('child_p0')");
sleep 0.2;
is($holder->query(join '', map { "SAVEPOINT a; DELETE FROM parent WHERE id = 0; SELECT pg_sleep(0.02); ROLLBACK TO a;" } 1 .. 20) =~ s/^\n*$//r, '', 'the other table can be read and then written');
$holder->query('COMMIT');
is($op->result, '', 'split of a container with a foreign key');
# put off before the operation begins, by name
$writer->query('BEGIN; SET CONSTRAINTS child_parent DEFERRED');
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM elsewhere');
$op->send("CALL partitionkey.split_partition('child_p8')");
wait_for_phase('child', 'waiting');
is($writer->query('INSERT INTO child SELECT i, 100 FROM generate_series(1001, 1010) i; INSERT INTO parent VALUES (100); COMMIT'), '', 'a constraint that is deferred stays so');
$old->query('COMMIT');
is($op->result, '', 'the split goes on');
is(value('SELECT count(*) FROM child'), '510', 'with all rows');

# Two rows exchange what is unique, in one statement.
$node->safe_psql('postgres', q{
	CREATE TABLE pair (k int, id int, slot int, PRIMARY KEY (k, id), UNIQUE (k, slot) DEFERRABLE);
	INSERT INTO pair SELECT i % 10, i, i FROM generate_series(1, 500) i;
	SELECT partitionkey.create_container('pair', '{/k}', '{1}');
});
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM elsewhere');
$op->send("CALL partitionkey.split_partition('pair_p0')");
wait_for_phase('pair', 'waiting');
is($writer->query('UPDATE pair SET slot = 12 - slot WHERE k = 1 AND id IN (1, 11)'), '', 'two rows exchange a unique value');
$old->query('COMMIT');
is($op->result, '', 'the split goes on');
is(value('SELECT string_agg(id || \' \' || slot, \', \' ORDER BY id) FROM pair WHERE k = 1 AND id < 12'), '1 11, 11 1', 'they have');
$_->quit foreach $op, $old, $holder, $writer;

#
# Tables of other kinds, by roles with no more rights than they need
#

$node->safe_psql('postgres', q{
	CREATE ROLE keeper LOGIN;
	CREATE ROLE app LOGIN;
	CREATE SCHEMA "Odd Schema" AUTHORIZATION keeper;
	GRANT CREATE ON SCHEMA public TO keeper;
	GRANT USAGE ON SCHEMA "Odd Schema" TO app;
	SET ROLE keeper;

	-- odd names, a boolean level, identity, TOAST, a generated column, foreign key, trigger, row security
	CREATE TABLE "Odd Schema"."Part's" (id int PRIMARY KEY);
	INSERT INTO "Odd Schema"."Part's" SELECT generate_series(1, 3000);
	CREATE TABLE "Odd Schema"."Mixed ""Case"" Täble" ("Tenant Id" text, "is Open" boolean, nr bigint GENERATED ALWAYS AS IDENTITY, "Näme" text, "select" int DEFAULT 1,
		"Len %I" int GENERATED ALWAYS AS (length("Näme")) STORED, part int REFERENCES "Odd Schema"."Part's" ON DELETE CASCADE,
		PRIMARY KEY ("Tenant Id", "is Open", nr));
	ALTER TABLE "Odd Schema"."Mixed ""Case"" Täble" ALTER "Näme" SET STORAGE EXTERNAL;
	INSERT INTO "Odd Schema"."Mixed ""Case"" Täble" ("Tenant Id", "is Open", "Näme", part)
		SELECT 'Tenant ''' || i % 9, i % 2 = 0, CASE WHEN i % 10 = 0 THEN repeat(md5(i::text), 200) END, i FROM generate_series(1, 2000) i;
	CREATE TABLE fired (op text, nr bigint, n int);
	CREATE FUNCTION count_firing() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO public.fired VALUES (TG_OP, coalesce(NEW.nr, OLD.nr), coalesce(NEW."select", OLD."select")); RETURN NULL; END$$;
	CREATE TRIGGER "a count" AFTER INSERT OR UPDATE OR DELETE ON "Odd Schema"."Mixed ""Case"" Täble" FOR EACH ROW EXECUTE FUNCTION count_firing();
	CREATE FUNCTION count_statement() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO public.fired VALUES ('STATEMENT ' || TG_OP); RETURN NULL; END$$;
	CREATE TRIGGER statements AFTER INSERT OR UPDATE OR DELETE ON "Odd Schema"."Mixed ""Case"" Täble" FOR EACH STATEMENT EXECUTE FUNCTION count_statement();
	ALTER TABLE "Odd Schema"."Mixed ""Case"" Täble" ENABLE ROW LEVEL SECURITY;
	ALTER TABLE "Odd Schema"."Mixed ""Case"" Täble" FORCE ROW LEVEL SECURITY;
	CREATE POLICY everybody ON "Odd Schema"."Mixed ""Case"" Täble" USING (true);
	SELECT partitionkey.create_container('"Odd Schema"."Mixed ""Case"" Täble"', '{/Tenant Id,/is Open}', '{2}');
	CREATE TABLE odd_shadow ("Tenant Id" text, "is Open" boolean, nr bigint PRIMARY KEY, "Näme" text, "select" int, "Len %I" int,
		part int REFERENCES "Odd Schema"."Part's" ON DELETE CASCADE);
	CREATE INDEX ON odd_shadow (part);
	CREATE INDEX ON "Odd Schema"."Mixed ""Case"" Täble" (part);
	INSERT INTO odd_shadow SELECT * FROM "Odd Schema"."Mixed ""Case"" Täble";
	CREATE TABLE expected (LIKE fired);
	TRUNCATE fired;

	-- JSON of all kinds in the hash of Cosmos DB
	CREATE TABLE docs (key jsonb, id int, open boolean, n int DEFAULT 0, PRIMARY KEY (key, open, id));
	INSERT INTO docs SELECT CASE i % 5 WHEN 0 THEN to_jsonb(i / 10) WHEN 1 THEN to_jsonb('s' || i / 10) WHEN 2 THEN 'null' WHEN 3 THEN '{}' ELSE 'true' END, i, i % 3 = 0 FROM generate_series(1, 2000) i;
	SELECT partitionkey.create_container('docs', '{/key,/id,/open}', '{2}', 'cosmos');
	CREATE TABLE docs_shadow (LIKE docs, PRIMARY KEY (id));
	INSERT INTO docs_shadow SELECT * FROM docs;

	-- families
	CREATE TABLE families (id partitionkey.puid PRIMARY KEY DEFAULT partitionkey.puid(), number serial, n int DEFAULT 0);
	INSERT INTO families SELECT FROM generate_series(1, 1000);
	SELECT partitionkey.create_container('families', '{/id}', '{2}');
	INSERT INTO families SELECT partitionkey.puid(parent => id) FROM families;
	CREATE TABLE families_shadow (LIKE families, PRIMARY KEY (number));
	INSERT INTO families_shadow SELECT * FROM families;

	-- equal numbers in different forms, two values that change places, a constraint that is checked at the end of a statement
	CREATE TABLE slots (k numeric, id int, slot int, v int DEFAULT 0, PRIMARY KEY (k, id), UNIQUE (k, slot) DEFERRABLE);
	INSERT INTO slots SELECT i % 20, i, i FROM generate_series(1, 2000) i;
	SELECT partitionkey.create_container('slots', '{/k}', '{2}');
	CREATE TABLE slots_shadow (LIKE slots, PRIMARY KEY (id));
	INSERT INTO slots_shadow SELECT * FROM slots;

	-- no key, unlogged: writers wait for the copy
	CREATE UNLOGGED TABLE keyless (tenant text NOT NULL, at timestamptz NOT NULL, id int, v int);
	INSERT INTO keyless SELECT 'k' || i % 20, '2026-01-01'::timestamptz + i % 7 * interval '1 day', i, 0 FROM generate_series(1, 4000) i;
	SELECT partitionkey.create_container('keyless', '{/tenant,/at}', '{2}');
	CREATE INDEX ON keyless (id);
	CREATE TABLE keyless_shadow (LIKE keyless, PRIMARY KEY (id));
	INSERT INTO keyless_shadow SELECT * FROM keyless;
	ANALYZE;
	GRANT SELECT, INSERT, UPDATE, DELETE ON "Odd Schema"."Mixed ""Case"" Täble", odd_shadow, expected, docs, docs_shadow, families, families_shadow,
		slots, slots_shadow, keyless, keyless_shadow TO app;
	GRANT USAGE ON SEQUENCE families_number_seq TO app;
	GRANT SELECT, DELETE ON "Odd Schema"."Part's" TO app;
	RESET ROLE;
	GRANT USAGE ON SEQUENCE ids TO app;
});
my $odd = '"Odd Schema"."Mixed ""Case"" Täble"';
script('odd_insert', qq{\\set t random(0, 12)
BEGIN;
WITH c AS (INSERT INTO $odd ("Tenant Id", "is Open", "Näme") VALUES ('Tenant ''' || :t::int, :t::int % 2 = 0, repeat(md5(:t::text), 100)) RETURNING *),
 s AS (INSERT INTO odd_shadow SELECT * FROM c) INSERT INTO expected SELECT 'INSERT', nr, "select" FROM c;
INSERT INTO expected VALUES ('STATEMENT INSERT');
COMMIT;});
# the large values are not changed, or are
script('odd_update', qq{\\set nr random(1, 500) * 4 + :client_id
\\set large random(0, 3)
SELECT coalesce(max("Tenant Id"), '') AS t, coalesce(bool_or("is Open"), false) AS o FROM odd_shadow WHERE nr = :nr \\gset
BEGIN;
WITH c AS (UPDATE $odd SET "select" = "select" + 1, "Näme" = CASE WHEN :large::int = 0 THEN repeat(md5(nr::text), 150) ELSE "Näme" END
 WHERE "Tenant Id" = :t AND "is Open" = :o::boolean AND nr = :nr::bigint RETURNING *),
 s AS (UPDATE odd_shadow s SET "select" = c."select", "Näme" = c."Näme", "Len %I" = c."Len %I" FROM c WHERE s.nr = c.nr) INSERT INTO expected SELECT 'UPDATE', nr, "select" FROM c;
INSERT INTO expected VALUES ('STATEMENT UPDATE');
COMMIT;});
script('odd_delete', qq{\\set nr random(1, 500) * 4 + :client_id
BEGIN;
WITH c AS (DELETE FROM $odd WHERE nr = :nr::bigint RETURNING *), s AS (DELETE FROM odd_shadow s USING c WHERE s.nr = c.nr) INSERT INTO expected SELECT 'DELETE', nr, "select" FROM c;
INSERT INTO expected VALUES ('STATEMENT DELETE');
COMMIT;});
script('odd_cascade', qq{\\set part random(1, 500) * 4 + :client_id
BEGIN;
INSERT INTO expected SELECT 'DELETE', nr, "select" FROM $odd WHERE part = :part::int FOR UPDATE;
INSERT INTO expected SELECT 'STATEMENT DELETE' FROM "Odd Schema"."Part's" WHERE id = :part::int;
DELETE FROM "Odd Schema"."Part's" WHERE id = :part::int;
COMMIT;});
script('docs', q{\set id random(1, 500) * 4 + :client_id
\set k random(1, 100)
WITH c AS (INSERT INTO docs SELECT CASE WHEN :k::int % 2 = 0 THEN to_jsonb(:k::int) ELSE to_jsonb('new ' || :k::int) END, nextval('ids'), :k::int % 3 = 0 RETURNING *) INSERT INTO docs_shadow SELECT * FROM c;
WITH c AS (UPDATE docs SET n = n + 1, key = CASE WHEN n % 2 = 0 THEN to_jsonb(:k::int) ELSE key END, open = n % 3 = 0 WHERE id = :id::int RETURNING *)
 UPDATE docs_shadow s SET n = c.n, key = c.key, open = c.open FROM c WHERE s.id = c.id;
\set id random(1, 500) * 4 + :client_id
WITH c AS (DELETE FROM docs WHERE id = :id::int AND n > 2 RETURNING *) DELETE FROM docs_shadow s USING c WHERE s.id = c.id;});
script('families', q{\set number random(1, 500) * 4 + :client_id
\set k random(0, 1)
SELECT coalesce(max(id::text), 'a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e') AS id FROM families_shadow WHERE number = :number \gset
WITH c AS (INSERT INTO families (id) VALUES (CASE WHEN :k::int = 0 THEN partitionkey.puid() ELSE partitionkey.puid(parent => :id::partitionkey.puid) END) RETURNING *) INSERT INTO families_shadow SELECT * FROM c;
WITH c AS (UPDATE families SET n = n + 1, id = CASE WHEN n % 3 = 0 THEN partitionkey.puid() ELSE id END WHERE id = :id::partitionkey.puid RETURNING *)
 UPDATE families_shadow s SET n = c.n, id = c.id FROM c WHERE s.number = c.number;
\set number random(1, 500) * 4 + :client_id
WITH d AS (SELECT id FROM families_shadow WHERE number = :number::int AND n > 3), c AS (DELETE FROM families f USING d WHERE f.id = d.id RETURNING f.*) DELETE FROM families_shadow s USING c WHERE s.number = c.number;});
# k, a number like 7 or 7.0, belongs to one client
script('slots', q{\set k random(0, 4) * 4 + :client_id
\set form random(0, 2)
WITH c AS (UPDATE slots SET v = v + 1, k = CASE :form::int WHEN 0 THEN round(k) WHEN 1 THEN round(k, 2) ELSE k END WHERE k = :k::numeric RETURNING *)
 UPDATE slots_shadow s SET v = c.v, k = c.k FROM c WHERE s.id = c.id;
WITH c AS (UPDATE slots SET slot = -slot - 1 WHERE k = :k::numeric RETURNING *) UPDATE slots_shadow s SET slot = c.slot FROM c WHERE s.id = c.id;});
# the slots of two rows change places
script('slots_swap', q{\set k random(0, 4) * 4 + :client_id
WITH two AS (SELECT id, sum(slot) OVER () - slot AS other FROM (SELECT id, slot FROM slots_shadow WHERE k = :k::numeric ORDER BY id LIMIT 2) x),
 c AS (UPDATE slots s SET slot = two.other FROM two WHERE s.k = :k::numeric AND s.id = two.id RETURNING s.*)
 UPDATE slots_shadow s SET slot = c.slot FROM c WHERE s.id = c.id;});
script('keyless', q{\set id random(1, 1000) * 4 + :client_id
\set k random(0, 20)
WITH c AS (INSERT INTO keyless VALUES ('k' || :k::int, '2026-02-01', nextval('ids'), 1) RETURNING *) INSERT INTO keyless_shadow SELECT * FROM c;
WITH c AS (UPDATE keyless SET v = v + 1, tenant = CASE WHEN v % 2 = 0 THEN 'k' || :k::int ELSE tenant END WHERE id = :id::int RETURNING *)
 UPDATE keyless_shadow s SET v = c.v, tenant = c.tenant FROM c WHERE s.id = c.id;
\set id random(1, 1000) * 4 + :client_id
WITH c AS (DELETE FROM keyless WHERE id = :id::int AND v > 2 RETURNING *) DELETE FROM keyless_shadow s USING c WHERE s.id = c.id;});

my %zoo = (
	$odd => [ 'odd_shadow', '["Tenant \'3"]', 'odd_insert', 'odd_update', 'odd_delete', 'odd_cascade' ],
	docs => [ 'docs_shadow', '["s17"]', 'docs' ],
	families => [ 'families_shadow', undef, 'families' ],
	slots => [ 'slots_shadow', '[7]', 'slots', 'slots_swap' ]);
my $load_time = $seconds / 2;
my %loads = map { my $c = $_; ($c => load([ '-T', $load_time, '-M', 'prepared', '-c', 4, '-R', 150, '-U', 'app' ], '',
	map { ($_ => 1) } @{ $zoo{$c} }[ 2 .. $#{ $zoo{$c} } ])) } keys %zoo;
$begin = time;
for (my $round = 0; time < $begin + $load_time - 2; $round++)
{
	foreach my $c (sort keys %zoo)
	{
		my $as = 'SET SESSION AUTHORIZATION keeper;';
		my @halves = halves($c);

		last if time >= $begin + $load_time - 1;
		if ($round == 2 && defined $zoo{$c}[1])
		{
			change("$as CALL partitionkey.isolate_key(" . quoted($c) . ', ' . quoted($zoo{$c}[1]) . ')');
			next;
		}
		if ($round % 3 == 2 && @halves)
		{
			change("$as CALL partitionkey.merge_partitions(" . quoted($halves[0][0]) . ', ' . quoted($halves[0][1]) . ')');
			next;
		}
		my @leaves = leaves($c);
		change("$as CALL partitionkey.split_partition(" . quoted($leaves[ rand @leaves ]) . ')');
	}
}
finished($loads{$_}, "$_") foreach sort keys %loads;
foreach my $c (sort keys %zoo)
{
	note "$c: " . leaves($c) . ' leaves';
	check_container($c, $zoo{$c}[0], $c);
}
# Without a key the copy is made under a lock; writers wait, and go on afterwards.
my $waiting = load([ '-T', 5, '-M', 'prepared', '-c', 4, '-R', 150, '-U', 'app' ], '', keyless => 1);
$begin = time;
foreach my $call (q{split_partition('keyless_p0')}, q{isolate_key('keyless', '["k7"]')}, undef)
{
	my @halves = halves('keyless');

	last unless change('SET SESSION AUTHORIZATION keeper; CALL partitionkey.'
		. ($call || 'merge_partitions(' . quoted($halves[0][0]) . ', ' . quoted($halves[0][1]) . ')'));
}
note sprintf('keyless: three changes in %.1f s', time - $begin);
finished($waiting, 'keyless');
check_container('keyless', 'keyless_shadow', 'keyless');
is(value('SELECT count(*) FROM (TABLE fired EXCEPT ALL TABLE expected) x'), '0', 'triggers fire for nothing but changes');
is(value('SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE fired) x'), '0', 'triggers fire for each change');
is(value(q{SELECT string_agg(DISTINCT relpersistence::text, '') FROM pg_class JOIN pg_partition_tree('keyless') ON relid = oid WHERE isleaf}), 'u', 'unlogged stays unlogged');
is(value(qq{INSERT INTO $odd ("Tenant Id", "is Open") VALUES ('new', true) RETURNING nr > (SELECT max(nr) FROM odd_shadow)}), 't', 'identity goes on');

is(value('SELECT count(*) FROM partitionkey.operations'), '0', 'no operation is left');
is(value(q{
	SELECT string_agg(relname, ' ') FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace IN ('public'::regnamespace, '"Odd Schema"'::regnamespace) AND NOT relispartition
		AND oid NOT IN (SELECT container FROM partitionkey.containers)
		AND relname !~ 'shadow$' AND relname NOT IN ('Part''s', 'parent', 'elsewhere', 'fired', 'expected')}), '', 'no table is left');
is(value(q{SELECT count(*) FROM pg_trigger WHERE tgname ~ 'partitionkey'}), '0', 'no trigger is left');
is(value(q{SELECT count(*) FROM pg_constraint WHERE conname ~ 'partitionkey_bound'}), '0', 'no bound is left');

$node->stop;
done_testing();
