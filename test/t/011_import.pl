# A file of 100,000 items with faults of every kind sprinkled in: exactly the faulty ones come to quarantine, each with
# its line, its place in the file and its reason, and all others into the container.  Then loads that end half-way: all
# or nothing, or whole batches.  The order of the faults changes with PARTITIONKEY_IMPORT_SEED.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $items = 100_000;
my $seed = $ENV{PARTITIONKEY_IMPORT_SEED} || 1;
srand($seed);
note "seed $seed";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "restart_after_crash = on\n");
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;
chmod 0755, $dir;

sub value { return scalar $node->safe_psql('postgres', $_[0]) }
# What a statement says on standard error.
sub errors { my ($ret, $out, $err) = $node->psql('postgres', $_[0]); return $err }

value('CREATE EXTENSION partitionkey');

sub create
{
	my ($name, $columns, $paths) = @_;

	value("CREATE TABLE $name ($columns, doc jsonb NOT NULL, ts timestamptz);
		SELECT partitionkey.create_container('$name', '$paths', NULL, 'cosmos')");
}

# A sound item, as Cosmos DB exports it.
sub sound
{
	my ($i, %other) = @_;
	my %property = (
		id => qq("item-$i"), tenantId => '"tenant-' . $i % 700 . '"', region => '"region ' . $i % 13 . '"',
		name => qq("Item \\u00e9 \xc3\xa9 $i"), n => $i / 8, nested => '{"a": [1, {"}": "{"}], "b": "\\\\"}',
		_rid => '"ZhwfAJ1vKQ=="', _self => '"dbs/ZhwfAA==/"', _etag => qq("\\"$i\\""), _attachments => '"attachments/"', _ts => 1_700_000_000 + $i,
		%other);

	return '{' . join(', ', map { "\"$_\": $property{$_}" } grep { defined $property{$_} } sort keys %property) . '}';
}

# Every kind of fault: its reason, its path, and what makes a sound item of a number faulty.
my @kinds = (
	[ 'broken JSON', '', sub { my $s = sound(@_); chop $s; $s } ],
	[ 'broken JSON', '', sub { (my $s = sound(@_)) =~ s/"region": "/"region": /; $s } ],
	[ 'broken JSON', '', sub { (my $s = sound(@_)) =~ s/, "name"/ "name"/; $s } ],
	[ 'broken JSON', '', sub { 'not JSON at all ' . $_[0] } ],
	[ 'not an object', '', sub { $_[0] } ],
	[ 'not an object', '', sub { "\"item $_[0]\"" } ],
	[ 'zero character', '', sub { sound(@_, tenantId => '"tenant\\u0000admin"') } ],
	[ 'zero character', '', sub { sound(@_, name => '"\\u0000"') } ],
	[ 'lone surrogate', '', sub { sound(@_, name => '"\\ud83d"') } ],
	[ 'lone surrogate', '', sub { sound(@_, name => '"\\ude00\\ud83d"') } ],
	[ 'bad encoding', '', sub { sound(@_, name => "\"\xff\"") } ],
	[ 'too large', '', sub { sound(@_, name => '"' . 'x' x (2 * 1024 * 1024) . '"') } ],
	[ 'too deep', '', sub { sound(@_, nested => '[' x 130 . ']' x 130) } ],
	[ 'key not a scalar', '/tenantId', sub { sound(@_, tenantId => '{"a": 1}') } ],
	[ 'key not a scalar', '/tenantId', sub { sound(@_, tenantId => '{}') } ],
	[ 'key not a scalar', '/region', sub { sound(@_, region => '["a"]') } ],
	[ 'key of another type', '/tenantId', sub { sound(@_, tenantId => 42) } ],
	[ 'key of another type', '/region', sub { sound(@_, region => 'true') } ],
	[ 'key null', '/tenantId', sub { sound(@_, tenantId => 'null') } ],
	[ 'key undefined', '/region', sub { sound(@_, region => undef) } ],
	[ 'key undefined', '/tenantId', sub { sound(@_, tenantId => undef, TenantId => '"a"') } ],
	[ 'key too long', '/tenantId', sub { sound(@_, tenantId => '"' . 'k' x 2049 . '"') } ],
	[ 'missing id', '/id', sub { sound(@_, id => undef) } ],
	[ 'missing id', '/id', sub { sound(@_, id => 'null') } ],
	[ 'numeric id', '/id', sub { sound(@_, id => $_[0]) } ],
	[ 'id not a string', '/id', sub { sound(@_, id => 'false') } ],
	[ 'empty id', '/id', sub { sound(@_, id => '""') } ],
	[ 'id too long', '/id', sub { sound(@_, id => '"' . "\xc3\xa9" x 512 . '"') } ]);

# What looks faulty, and is not.
my @unusual = (
	sub { sound(@_, tenantId => '""') },
	sub { my ($i) = @_; my $id = "$i " . "\xc3\xa9" x 500; $id .= 'x' x (1023 - length $id); sound(@_, id => "\"$id\"") },
	sub { sound(@_, tenantId => '"' . 'k' x 1500 . '"') },
	sub { sound(@_, name => '"\\ud83d\\ude00 \\\\u0000"') },
	sub { sound(@_, nested => '[' x 120 . ']' x 120) },
	sub { sound(@_, _ts => undef, _rid => undef) },
	sub { '  ' . sound(@_) . ' ' });

my $file = "$dir/items.json";
my %faulty;    # by number
$faulty{ 1 + int(rand($items - 1)) } = $_ for (@kinds) x 4;
my %unusual;
$unusual{ 1 + int(rand($items - 1)) } = $_ for (@unusual) x 4;
# Duplicates: of the item before, and of the first one of all.
my %duplicate;
$duplicate{ 1000 + int(rand($items - 1000)) } = 1 for 1 .. 20;
delete @unusual{ grep { exists $faulty{$_} || exists $duplicate{$_} || exists $duplicate{ $_ + 1 } } keys %unusual };
delete @faulty{ grep { exists $duplicate{$_} || exists $duplicate{ $_ + 1 } } keys %faulty };
delete $duplicate{ $_ + 1 } for keys %duplicate;

my ($line, $offset, $good, $sum) = (1, 0, 0, 0);
my (@expected, %text);
my %reasons;
open my $out, '>:raw', $file or die;
for my $i (0 .. $items - 1)
{
	my $kind = $faulty{$i};
	my $of = $i % 2 ? $i - 1 : 0;
	my $text = $kind ? $kind->[2]->($i) : $duplicate{$i} ? sound($of) : $unusual{$i} ? $unusual{$i}->($i) : sound($i);
	my $indent = $text =~ /^( *)/ ? length $1 : 0;

	if ($kind || $duplicate{$i})
	{
		push @expected, join('|', $line, $offset + $indent, $kind ? @$kind[ 0, 1 ] : ('duplicate', ''));
		$text{$line} = $text;
		$reasons{ $kind ? $kind->[0] : 'duplicate' }++;
	}
	else { $good++; $sum += $i }
	# Lines end in different ways, and some are blank.
	$text .= $i % 10 == 3 ? "\r\n" : $i % 1000 == 7 ? "\n \n\n" : "\n";
	print $out $text;
	$line += $text =~ tr/\n//;
	$offset += length $text;
}
close $out;
ok(keys(%reasons) >= 17, 'every reason is there');

#
# All of it
#

create('c', 'tenantid text, region text, id text, PRIMARY KEY (tenantid, region, id)', '{/tenantId,/region}');
my ($ret, $stdout, $stderr) = $node->psql('postgres', "SELECT read, loaded, replaced, skipped, quarantined, seconds > 0, items_per_second > 0, reasons FROM partitionkey.import_items('c', '$file')");
is($ret, 0, 'loaded') or diag $stderr;
like($stdout, qr/^\Q$items|$good|0|0|\E${\ scalar @expected}\|t\|t\|/, 'counts');
is_deeply(
	{ $stdout =~ /"([^"]+)": (\d+)/g },
	\%reasons, 'counts by reason');
like($stderr, qr/NOTICE:  ${\ scalar @expected} items were put into quarantine table public.c_quarantine/, 'a notice tells of the quarantine');
is(value("SELECT line, byte_offset, reason, path FROM c_quarantine ORDER BY line"), join("\n", @expected), 'exactly the faulty ones, each with its place and reason');
is(value("SELECT count(*) FROM c_quarantine WHERE file <> '$file' OR detail IS NULL OR loaded_at IS NULL"), 0, 'and with file and detail');
is(value('SELECT count(*) FROM c'), $good, 'all others are in the container');
is(value("SELECT sum((doc->>'n')::float8 * 8)::bigint FROM c"), $sum, 'and are the right ones');
is(value("SELECT count(*) FROM c WHERE tenantid <> doc->>'tenantId' OR region <> doc->>'region' OR id <> doc->>'id'"), 0, 'with their keys and ids');
is(value("SELECT count(*) FROM c WHERE doc ?| '{_rid,_self,_etag,_attachments,_ts}'"), 0, 'without system properties');
is(value("SELECT count(*) FROM c WHERE ts = to_timestamp(1700000000 + (doc->>'n')::float8 * 8)"), $good - value('SELECT count(*) FROM c WHERE ts IS NULL'), 'with their times');
is(value("SELECT sum(misplaced) FROM partitionkey.verify('c')"), 0, 'in the right partitions');
my @plain = grep { $text{$_} !~ /\xff/ } sort { $a <=> $b } keys %text;
{
	my %kept = map { split /\|/, $_, 2 } split /\n/, value("SELECT line, encode(convert_to(item, 'UTF8'), 'hex') FROM c_quarantine WHERE length(item) < 100000");

	is(join(',', grep { exists $kept{$_} && pack('H*', $kept{$_}) ne $text{$_} } @plain), '', 'their texts are kept');
}

# Again, in each of the ways.
value('TRUNCATE c_quarantine');
my $faults = @expected;
my $duplicates = $reasons{duplicate};
is(value("SELECT read, loaded, replaced, skipped, quarantined FROM partitionkey.import_items('c', '$file', on_conflict => 'skip')"),
	"$items|0|0|" . ($good + $duplicates) . '|' . ($faults - $duplicates), 'again, to skip');
value("UPDATE c SET doc = '{}'");
is(value("SELECT read, loaded, replaced, skipped, quarantined FROM partitionkey.import_items('c', '$file', on_conflict => 'replace')"),
	"$items|0|" . ($good + $duplicates) . '|0|' . ($faults - $duplicates), 'again, to replace');
is(value("SELECT sum((doc->>'n')::float8 * 8)::bigint FROM c"), $sum, 'replaced');
like(errors("SELECT FROM partitionkey.import_items('c', '$file', on_conflict => 'error')"),
	qr/^psql:<stdin>:1: ERROR:  container "c" has an item with key \(tenant-0, region 0\), id "item-0" already\nDETAIL:  File "\Q$file\E", line 1\./m, 'again, as an error');

# A share of faults that is too large.
value('TRUNCATE c, c_quarantine');
like(errors("SELECT FROM partitionkey.import_items('c', '$file', max_faults => 0.0001)"),
	qr/ERROR:  \d+ of \d+ items are faulty, more than max_faults allows\nDETAIL:  [a-zA-Z ]+: \d+, (the first one )?in \Q$file\E, line \d+, byte \d+: /, 'too many faults');
is(value('SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM c_quarantine)'), '0|0', 'nothing is left');
is(value("SELECT quarantined FROM partitionkey.import_items('c', '$file', max_faults => 0.01)"), $faults, 'not too many');

#
# Half-way: another session has a row that the load has to wait for, in the sixth batch.
#

my $batch = 10_000;
my $blocked = 55_555;
$blocked++ while $faulty{$blocked} || $duplicate{$blocked} || $unusual{$blocked};
my $faults_before = grep { exists $faulty{$_} || exists $duplicate{$_} } 0 .. 5 * $batch - 1;

# Start a load that waits; gives its session, the session in its way and its pid.
sub half_way
{
	my ($statement) = @_;
	my $blocker = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \my $blocker_in, '>', \my $blocker_out, IPC::Run::timeout(300));
	my $load = { out => '', err => '' };

	value('DROP TABLE IF EXISTS c_quarantine; TRUNCATE c');
	$blocker_in = "BEGIN; INSERT INTO c VALUES ('tenant-" . $blocked % 700 . "', 'region " . $blocked % 13 . "', 'item-$blocked', '{}'); SELECT 'there';\n";
	$blocker->pump until $blocker_out && $blocker_out =~ /there/;
	$load->{run} = IPC::Run::start([ 'psql', '-XAtq', '-c', $statement, '-d', $node->connstr('postgres') ], '<', \undef, '>', \$load->{out}, '2>', \$load->{err}, IPC::Run::timeout(300));
	$load->{blocker} = $blocker;
	$load->{blocker_in} = \$blocker_in;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%import\\_items%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()") or die;
	$load->{pid} = value("SELECT pid FROM pg_stat_activity WHERE query LIKE '%import\\_items%' AND wait_event_type = 'Lock'");
	return $load;
}
sub ended
{
	my ($load) = @_;

	$load->{run}->finish;
	${ $load->{blocker_in} } .= "ROLLBACK;\n\\q\n";
	eval { $load->{blocker}->finish };
}

my $all = "SELECT loaded FROM partitionkey.import_items('c', '$file')";
my $batches = "CALL partitionkey.import_items_in_batches('c', '$file', batch_items => $batch)";
my $here = 'SELECT (SELECT count(*) FROM c), (SELECT to_regclass(\'c_quarantine\') IS NULL)';
my @ends = (
	[ 'cancelled' => sub { value("SELECT pg_cancel_backend($_[0])") }, qr/canceling statement due to user request/ ],
	[ 'terminated' => sub { value("SELECT pg_terminate_backend($_[0])") }, qr/terminating connection/ ],
	[ 'killed' => sub { kill 9, $_[0] }, qr/server closed the connection/ ]);

for my $end (@ends)
{
	my ($how, $do, $message) = @$end;

	for my $statement ($all, $batches)
	{
		my $committed = $statement eq $batches;
		my $what = "$how, " . ($committed ? 'in batches' : 'all or nothing');
		my $load = half_way($statement);
		my $began;

		is(value("SELECT tuples_processed, tuples_excluded BETWEEN $faults_before AND $faults_before + 50, bytes_processed > bytes_total * 0.3, bytes_total
				FROM pg_stat_progress_copy WHERE relid = 'c'::regclass AND pid = $load->{pid}"),
			5 * $batch - $faults_before . '|t|t|' . -s $file, "$what: progress of the whole is seen by others");
		$began = time;
		$do->($load->{pid});
		ended($load);
		cmp_ok(time - $began, '<', 10, "$what: at once");
		like($load->{err}, $message, "$what: the message");
		$node->poll_query_until('postgres', 'SELECT true') or die;
		is(value($here), $committed ? 5 * $batch - $faults_before . '|f' : '0|t', "$what: what is left");
		is(value('SELECT count(*) FROM c_quarantine'), $faults_before, "$what: the quarantine is that of these batches") if $committed;
		is(value("SELECT loaded + skipped FROM partitionkey.import_items('c', '$file', on_conflict => 'skip')"), $good + $duplicates, "$what: the rest can be loaded");
		is(value('SELECT count(*) FROM c'), $good, "$what: all is there");
	}
}

# Not cancelled: the row in the way is given up, and the load goes on.
{
	my $load = half_way($batches);

	${ $load->{blocker_in} } .= "ROLLBACK;\n\\q\n";
	$load->{blocker}->finish;
	$load->{run}->finish;
	like($load->{out}, qr/^\Q$items|$good|0|0|$faults|\E/, 'in batches: the result');
	is(value('SELECT count(*) FROM c'), $good, 'in batches: all is there');
}

#
# From the client
#

value("TRUNCATE c; DROP TABLE c_quarantine; SELECT partitionkey.create_items_view('c')");
my $client = "$dir/client.json";
PostgreSQL::Test::Utils::append_to_file($client, join('', map { my $i = $_; ($i == 7 ? 'broken' : $i == 9 ? sound(8) : sound($i)) . "\n" } 1 .. 1000));
($ret, $stdout, $stderr) = $node->psql('postgres', "\\copy c_items FROM '$client' (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')");
like($stderr, qr/WARNING:  2 items were put into quarantine table public.c_quarantine/, 'copied from the client, with a warning');
is(value('SELECT count(*) FROM c'), 998, 'copied from the client');
is(value('SELECT line, reason FROM c_quarantine ORDER BY line'), "7|broken JSON\n9|duplicate", 'but the faulty ones');
is(value("SELECT count(*) FROM c_items WHERE doc::jsonb->>'id' IS NOT NULL"), 998, 'and read');

#
# Memory: faulty items are not kept, nor all names of properties
#

sub peak
{
	my ($statement) = @_;
	my $peak = q(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::int);
	my ($before, $after) = (split /\n/, value("$peak; $statement; $peak"))[ 0, -1 ];

	return ($after - $before) / 1024;
}

create('wide', 'pk text, id text, PRIMARY KEY (pk, id)', '{/pk}');
PostgreSQL::Test::Utils::append_to_file("$dir/large.json", ('{"pk": 5, "t": "' . 'x' x 200_000 . "\"}\n") x 1000);
cmp_ok(peak("SELECT quarantined FROM partitionkey.import_items('wide', '$dir/large.json', generate_ids => true)"), '<', 100, '200 MB of items that get an id and are faulty');
PostgreSQL::Test::Utils::append_to_file("$dir/wide.json", ('{"id": "1", ' . join(', ', map { "\"k$_\": 1" } 1 .. 50_000) . ", \"x\": {}}\n") x 40);
cmp_ok(peak("SELECT quarantined FROM partitionkey.import_items('wide', '$dir/wide.json')"), '<', 100, 'two million properties, but none of the key');
unlink "$dir/large.json", "$dir/wide.json";

#
# Dump and restore
#

$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", '-d', $node->connstr('postgres') ], 'dumped');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/dump.sql", '-d', $node->connstr('restored') ], 'restored');
is($node->safe_psql('restored', 'SELECT count(*) FROM c'), 998, 'restored: the items');
is($node->safe_psql('restored', 'SELECT line, reason FROM c_quarantine ORDER BY line'), "7|broken JSON\n9|duplicate", 'restored: the quarantine');
$node->psql('restored', q(INSERT INTO c_items VALUES ('{"id": "new", "tenantId": "a", "region": "b"}'), ('broken')));
is($node->safe_psql('restored', "SELECT (SELECT count(*) FROM c WHERE id = 'new'), (SELECT count(*) FROM c_quarantine)"), '1|3', 'restored: the view takes items');
is($node->safe_psql('restored', "SELECT sum(misplaced) FROM partitionkey.verify('c')"), 0, 'restored: in the right partitions');

# Split and merged, while a load commits its batches.
{
	value('TRUNCATE c; DROP TABLE c_quarantine');
	my $load = IPC::Run::start([ 'psql', '-XAtq', '-c', "CALL partitionkey.import_items_in_batches('c', '$file', batch_items => 1000)", '-d', $node->connstr('postgres') ],
		'<', \undef, '>', \my $result, '2>', \my $said, IPC::Run::timeout(300));

	value($_) for 'CALL partitionkey.split_partition(\'c_p0_0\')', 'CALL partitionkey.split_partition(\'c_p4_4\')';
	value("CALL partitionkey.merge_partitions('c_p0_0', 'c_p0_2')");
	$load->finish;
	like($result, qr/^\Q$items|$good|0|0|$faults|\E/, 'while partitions are split and merged') or diag $said;
	is(value("SELECT sum(items), sum(misplaced) FROM partitionkey.verify('c')"), "$good|0", 'all is there, in the right partitions');
}

$node->stop;
done_testing();
