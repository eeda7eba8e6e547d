# A day of a shop: four sessions read, write, patch, move and delete products by the item functions, each those of its
# own, so that a model outside the database knows what each call has to give; and all count on shared counters.
# Meanwhile leaves are split and merged, and a reader follows the change feed.  Then: a session that ends within a
# batch, dump and restore, and memory.
# PARTITIONKEY_ITEMS_SECONDS makes the day longer, PARTITIONKEY_ITEMS_SEED repeats the order of a run.
use strict;
use warnings;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{PARTITIONKEY_ITEMS_SECONDS} || 15;
my $seed = $ENV{PARTITIONKEY_ITEMS_SEED} || int(rand(1_000_000));
srand($seed);
note "seed $seed";

my $patience = $PostgreSQL::Test::Utils::timeout_default;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "partitionkey.retry_pause = 50\n");
$node->start;

my $json = JSON::PP->new->canonical->ascii;

#
# Sessions
#

# A session of psql, kept open, which tells the SQLSTATE behind each statement's result.
sub session
{
	my $s = { in => '', out => '', err => '' };

	$s->{timer} = IPC::Run::timeout($patience);
	$s->{run} = IPC::Run::start([ 'psql', '-XAtq', '-F', "\t", '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr('postgres') ],
		'<', \$s->{in}, '>', \$s->{out}, '2>', \$s->{err}, $s->{timer});
	return bless $s, 'Session';
}
sub Session::send
{
	my ($s, @statements) = @_;

	$s->{in} .= join('', map { $_ . (/\\gset$/ ? '' : ';') . "\n\\echo = :SQLSTATE\n" } @statements) . "\\echo done\n";
	$s->{run}->pump_nb;
}
sub Session::is_done { my ($s) = @_; $s->{run}->pump_nb; return $s->{out} =~ /^done\n/m }
# For each statement its result and SQLSTATE, "t 00000".
sub Session::results
{
	my ($s) = @_;

	$s->{timer}->start($patience);
	$s->{run}->pump until $s->{out} =~ /^done\n/m;
	$s->{out} =~ s/^done\n//m;
	my @results = map { s/\n\z//r } split /^= (\w{5})\n/m, $s->{out};
	$s->{out} = $s->{err} = '';
	return map { length $results[ 2 * $_ ] ? "$results[2 * $_] $results[2 * $_ + 1]" : $results[ 2 * $_ + 1 ] } 0 .. $#results / 2;
}
sub Session::query { my ($s, @statements) = @_; $s->send(@statements); return ($s->results)[-1] }
sub Session::quit { my ($s) = @_; $s->{timer}->start($patience); $s->{in} .= "\\q\n"; $s->{run}->finish }

sub value { return scalar $node->safe_psql($_[1] || 'postgres', $_[0]) }
sub any { return $_[ rand @_ ] }

#
# Products
#

my @categories = map { "Category $_" } 1 .. 12;
my $made = 0;

sub product
{
	my ($id, $key) = @_;

	return { id => $id, category => $key->[0], shelf => $key->[1], name => "Product $id of \x{fc} \"$key->[0]\"", price => 100 + int(rand(900)), version => ++$made,
		tags => [ map { "tag $_" } 1 .. int(rand(4)) ], text => 'x' x int(rand(200)) };
}
sub text { (my $t = $json->encode($_[0])) =~ s/'/''/g; return "'$t'" }
sub key { return [ $_[0]{category}, $_[0]{shelf} ] }

value(q{
	CREATE EXTENSION partitionkey;
	SET client_min_messages = warning;
	SELECT partitionkey.create_container_from_definition(
		'{"id": "shop", "partitionKey": {"paths": ["/category", "/shelf"], "kind": "MultiHash", "version": 2}, "defaultTtl": -1}', partitions => '{4}');
	CREATE FUNCTION same(item jsonb, expected jsonb) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$SELECT item - '{_etag,_ts}'::text[] = expected AND item ? '_etag' AND item ? '_ts'$$;
	CREATE FUNCTION statuses(result jsonb) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT string_agg(r->>'statusCode', ',') FROM jsonb_array_elements(result) r$$;
	SELECT partitionkey.create_item('shop', jsonb_build_object('id', 'counter' || i, 'category', 'counters', 'shelf', 'all', 'n', 0)) FROM generate_series(1, 3) i;
});

#
# The operations: statements with what each has to give.  A session has a shelf of its own in each category, and a category of its own.
#

sub is_same { my ($call, $doc) = @_; return [ "SELECT same(partitionkey.$call, " . text($doc) . ')', 't 00000' ] }
sub fails { my ($call, $sqlstate) = @_; return [ "SELECT partitionkey.$call", $sqlstate ] }
# An item as the feed's reader tells them apart.
sub name { my ($doc) = @_; return join '/', @{$doc}{qw(id category shelf)} }
sub place { my ($doc) = @_; return text($doc->{id}) =~ s/"//gr . ', ' . text(key($doc)) }

sub a_key { my ($s) = @_; return rand() < 0.8 ? [ any(@categories), "shelf $s->{number}" ] : [ "Own $s->{number}", any('left', 'right') ] }
sub a_product { my ($s) = @_; my @ids = sort keys %{ $s->{items} }; return @ids ? $s->{items}{ any(@ids) } : undef }
sub new_product { my ($s) = @_; my $id = "$s->{number}-" . ++$s->{made}; return $s->{items}{$id} = product($id, a_key($s)) }
sub elsewhere { my ($s, $doc) = @_; my $key; do { $key = a_key($s) } while ("@$key" eq "@{key($doc)}"); return $key }
sub with { my ($doc, %changes) = @_; return { %$doc, %changes } }
sub patch { return text([@_]) }

my %counters = map { ("counter$_" => 0) } 1 .. 3;
my %left;

my %operations = (
	read => sub {
		my ($s, $doc) = @_;
		return (is_same("read_item('shop', " . place($doc) . ')', $doc), fails("read_item('shop', 'none', " . text(key($doc)) . ')', 'P0002'));
	},
	find => sub {
		my ($s, $doc) = @_;
		return [ "SELECT key = " . text(key($doc)) . ", same(item, " . text($doc) . ") FROM partitionkey.find_items('shop', " . text($doc->{id}) =~ s/"//gr . ')', "t\tt 00000" ];
	},
	create => sub {
		my ($s) = @_;
		my $doc = new_product($s);
		return (is_same("create_item('shop', " . text($doc) . ')', $doc), fails("create_item('shop', " . text(with($doc, name => 'other')) . ')', '23505'));
	},
	upsert => sub {
		my ($s, $doc) = @_;
		$doc = $s->{items}{ $doc->{id} } = product($doc->{id}, key($doc));
		return is_same("upsert_item('shop', " . text($doc) . ')', $doc);
	},
	upsert_new => sub {
		my ($s) = @_;
		my $doc = new_product($s);
		return is_same("upsert_item('shop', " . text($doc) . ')', $doc);
	},
	replace => sub {
		my ($s, $doc) = @_;
		my $new = $s->{items}{ $doc->{id} } = product($doc->{id}, key($doc));
		return (fails("replace_item('shop', " . place($doc) . ', ' . text(with($new, shelf => 'other')) . ')', '22023'),
			is_same("replace_item('shop', " . place($doc) . ', ' . text($new) . ')', $new),
			fails("replace_item('shop', 'none', " . text(key($doc)) . ', ' . text(with($new, id => 'none')) . ')', 'P0002'));
	},
	replace_match => sub {
		my ($s, $doc) = @_;
		my $new = $s->{items}{ $doc->{id} } = product($doc->{id}, key($doc));
		my $call = "replace_item('shop', " . place($doc) . ', ' . text($new);
		return (["SELECT partitionkey.read_item('shop', " . place($doc) . ")->>'_etag' AS etag \\gset", '00000'],
			is_same("$call, :'etag')", $new), fails("$call, :'etag')", '55000'));
	},
	patch => sub {
		my ($s, $doc) = @_;
		my $new = $s->{items}{ $doc->{id} } = with($doc, price => $doc->{price} + 7, name => "patched $doc->{id}", tags => [ @{ $doc->{tags} }, 'last' ]);
		return is_same("patch_item('shop', " . place($doc) . ', ' . patch({ op => 'incr', path => '/price', value => 7 },
			{ op => 'set', path => '/name', value => $new->{name} }, { op => 'add', path => '/tags/-', value => 'last' }) . ", '\$.price == $doc->{price}')", $new);
	},
	patch_condition => sub {
		my ($s, $doc) = @_;
		return fails("patch_item('shop', " . place($doc) . ', ' . patch({ op => 'set', path => '/price', value => 0 }) . ", '\$.price < 0')", '55000');
	},
	count => sub {
		my $counter = any(sort keys %counters);
		$counters{$counter} += 3;
		return [ "SELECT partitionkey.patch_item('shop', '$counter', '[\"counters\", \"all\"]', " . patch({ op => 'incr', path => '/n', value => 3 }) . ') IS NULL', 'f 00000' ];
	},
	count_batch => sub {
		my @order = sort { rand() <=> 0.5 } keys %counters;
		$counters{$_}++ foreach @order;
		return [ "SELECT statuses(partitionkey.transactional_batch('shop', '[\"counters\", \"all\"]', " . text([ map {
			{ operationType => 'Patch', id => $_, resourceBody => { operations => [ { op => 'incr', path => '/n', value => 1 } ] } } } @order ]) . '))', '200,200,200 00000' ];
	},
	move => sub {
		my ($s, $doc) = @_;
		my $to = elsewhere($s, $doc);
		my $new = $s->{items}{ $doc->{id} } = with($doc, category => $to->[0], shelf => $to->[1]);
		$left{ name($doc) } = 1;
		return (is_same("move_item('shop', " . place($doc) . ', ' . text($to) . ')', $new), fails("read_item('shop', " . place($doc) . ')', 'P0002'));
	},
	move_occupied => sub {
		my ($s, $doc) = @_;
		my $to = elsewhere($s, $doc);
		my $twin = product($doc->{id}, $to);
		$left{ name($twin) } = 1;
		return (is_same("create_item('shop', " . text($twin) . ')', $twin), fails("move_item('shop', " . place($doc) . ', ' . text($to) . ')', '23505'),
			is_same("read_item('shop', " . place($doc) . ')', $doc), is_same("read_item('shop', " . place($twin) . ')', $twin),
			[ "SELECT partitionkey.delete_item('shop', " . place($twin) . ')', '00000' ]);
	},
	delete => sub {
		my ($s, $doc) = @_;
		delete $s->{items}{ $doc->{id} };
		$left{ name($doc) } = 1;
		return ([ "SELECT partitionkey.delete_item('shop', " . place($doc) . ')', '00000' ], fails("delete_item('shop', " . place($doc) . ')', 'P0002'));
	},
	batch => sub {
		my ($s, $doc) = @_;
		my @new = map { product("$s->{number}-" . ++$s->{made}, key($doc)) } 1 .. 5;
		my $patched = with($doc, price => $doc->{price} + 1);
		$s->{items}{ $_->{id} } = $_ foreach $patched, @new[ 0 .. 3 ];
		return [ "SELECT statuses(partitionkey.transactional_batch('shop', " . text(key($doc)) . ', ' . text([
			(map { { operationType => 'Create', resourceBody => $_ } } @new[ 0 .. 2 ], with($new[4], name => 'not for long')), { operationType => 'Upsert', resourceBody => $new[3] },
			{ operationType => 'Patch', id => $doc->{id}, resourceBody => { operations => [ { op => 'incr', path => '/price', value => 1 } ] } },
			{ operationType => 'Replace', id => $new[4]{id}, resourceBody => $new[4] }, { operationType => 'Read', id => $new[4]{id} },
			{ operationType => 'Delete', id => $new[4]{id} } ]) . '))', '201,201,201,201,201,200,200,200,204 00000' ];
	},
	batch_fails => sub {
		my ($s, $doc) = @_;
		return ([ "SELECT statuses(partitionkey.transactional_batch('shop', " . text(key($doc)) . ', ' . text([
			{ operationType => 'Delete', id => $doc->{id} }, { operationType => 'Create', resourceBody => product("$s->{number}-never", key($doc)) },
			{ operationType => 'Read', id => $doc->{id} }, { operationType => 'Upsert', resourceBody => product("$s->{number}-never 2", key($doc)) } ]) . '))', '424,424,404,424 00000' ],
			is_same("read_item('shop', " . place($doc) . ')', $doc));
	},
	delete_partition => sub {
		my ($s, $doc) = @_;
		# of the own category all shelves
		my @key = $doc->{category} =~ /^Own/ ? ($doc->{category}) : @{ key($doc) };
		my @gone = grep { $_->{category} eq $key[0] && (@key == 1 || $_->{shelf} eq $key[1]) } values %{ $s->{items} };
		delete $s->{items}{ $_->{id} } foreach @gone;
		$left{ name($_) } = 1 foreach @gone;
		return [ "SELECT partitionkey.delete_partition('shop', " . text(\@key) . ')', @gone . ' 00000' ];
	});
my @weighted = map { my $w = /^(read|patch|upsert|upsert_new|move|count)$/ ? 6 : /^(create|batch)$/ ? 4 : /^delete_partition$/ ? 1 : 3; ($_) x $w } sort keys %operations;

#
# The day
#

my @sessions = map { { number => $_, items => {}, made => 0, psql => session(), calls => 0, queue => [] } } 1 .. 4;
my $follower = { psql => session(), items => {}, token => 'NULL', pages => 0 };
my %count;
my @wrong;

sub go_on
{
	my ($s) = @_;

	$s->{queue} = [];
	while (@{ $s->{queue} } < 20)
	{
		my $what = any(@weighted);
		my $doc = a_product($s);

		$what = 'create' unless defined $doc;
		$count{$what}++;
		push @{ $s->{queue} }, $operations{$what}->($s, $doc);
	}
	$s->{psql}->send(map { $_->[0] } @{ $s->{queue} });
}
sub take
{
	my ($s) = @_;
	my @results = $s->{psql}->results;

	$s->{calls} += @results;
	push @wrong, map { $results[$_] eq $s->{queue}[$_][1] ? () : "$s->{queue}[$_][0]: $results[$_], not $s->{queue}[$_][1]" } 0 .. $#results;
	push @wrong, @results . ' results of ' . @{ $s->{queue} } unless @results == @{ $s->{queue} };
}

# The next page of the feed; false if there is nothing new.
sub follow { $follower->{psql}->send("SELECT item - '{_etag,_ts}'::text[], continuation FROM partitionkey.items_changed_since('shop', NULL, $follower->{token}, 50)") }
sub follow_take
{
	my ($rows) = $follower->{psql}->results;

	$rows =~ s/ ?00000\z// or die "the feed: $rows";
	foreach my $row (split /\n/, $rows)
	{
		my ($item, $token) = split /\t/, $row;

		$follower->{items}{ name(decode_json($item)) } = $item;
		$follower->{token} = "'$token'";
	}
	$follower->{pages}++;
	return length $rows;
}

# Each session begins with some products.
foreach my $s (@sessions)
{
	$s->{queue} = [ map { $operations{upsert_new}->($s) } 1 .. 100 ];
	$s->{psql}->send(map { $_->[0] } @{ $s->{queue} });
	take($s);
}
is("@wrong", '', 'the shop opens');

# The leaf with most rows is split, and merged again.
my $splitter = session();
my @leaf = split /\n/, value(q{SELECT tableoid::regclass FROM shop GROUP BY 1 ORDER BY count(*) DESC LIMIT 1});
my $splits = 0;
my $merges = 0;
my @change = ("CALL partitionkey.split_partition('$leaf[0]')");
my $new_leaf = "SELECT string_agg(quote_literal(partition), ', ') FROM partitionkey.physical_partitions WHERE container = 'shop'::regclass AND (partition::text = '$leaf[0]' OR partition::text NOT IN ("
	. value(q{SELECT string_agg(quote_literal(partition), ', ') FROM partitionkey.physical_partitions WHERE container = 'shop'::regclass}) . '))';

my $begin = time;
$_->{psql}->send('SELECT 1') && $_->{psql}->results foreach @sessions;
go_on($_) foreach @sessions;
follow();
$splitter->send(@change);
while (time < $begin + $seconds)
{
	foreach my $s (@sessions)
	{
		next unless $s->{psql}->is_done;
		take($s);
		go_on($s);
	}
	if ($follower->{psql}->is_done)
	{
		follow_take();
		follow();
	}
	if ($splitter->is_done)
	{
		my ($result) = $splitter->results;

		push @wrong, "$change[0]: $result" unless $result eq '00000';
		$change[0] =~ /split/ ? $splits++ : $merges++;
		@change = $change[0] =~ /split/ ? ('CALL partitionkey.merge_partitions(' . value($new_leaf) . ')') : ("CALL partitionkey.split_partition('$leaf[0]')");
		$splitter->send(@change);
	}
	sleep 0.002;
}
take($_) foreach @sessions;
my $elapsed = time - $begin;
push @wrong, grep { !/^00000$/ } $splitter->results;
follow_take();
do { follow() } while follow_take();

my $calls = 0;
$calls += $_->{calls} foreach @sessions;
note sprintf('%d calls in %.1f s, %d splits, %d merges, %d pages of the feed; %s', $calls, $elapsed, $splits, $merges, $follower->{pages},
	join ', ', map { "$_ $count{$_}" } sort keys %count);
is(scalar(@wrong), 0, 'each call gave what the model expects') or diag join "\n", @wrong > 20 ? @wrong[ 0 .. 19 ] : @wrong;
ok($splits > 0 && $merges > 0, 'a leaf was split and merged meanwhile');
is(scalar(grep { !$count{$_} } keys %operations), 0, 'each kind of call was made');

#
# The final state
#

my %model = ((map { %{ $_->{items} } } @sessions),
	map { ($_ => { id => $_, category => 'counters', shelf => 'all', n => $counters{$_} }) } keys %counters);
cmp_ok(scalar(keys %model), '>', 100, 'there is something to compare');
value('CREATE TABLE model (id text PRIMARY KEY, doc jsonb)');
value(join ";\n", map { 'INSERT INTO model VALUES (' . text($_) =~ s/"//gr . ', ' . text($model{$_}) . ')' } sort keys %model);
my $differences = q{SELECT count(*) FROM (SELECT doc->>'category', doc->>'shelf', id, doc FROM model) m (category, shelf, id, doc) FULL JOIN shop s USING (category, shelf, id)
	WHERE m.doc IS DISTINCT FROM s.doc};
is(value($differences), '0', "the container's items are those of the model");
is(value(q{SELECT sum(misplaced) || ' ' || sum(items) FROM partitionkey.verify('shop')}), '0 ' . keys %model, 'each item is in its leaf');
is(value(q{SELECT count(*) FROM model m WHERE (SELECT count(*) FROM partitionkey.find_items('shop', m.id)) <> 1}), '0', 'find_items finds each id once');
is(value(q{SELECT count(*) FROM model m WHERE NOT same(partitionkey.read_item('shop', m.id, jsonb_build_array(doc->'category', doc->'shelf')), doc)}), '0', 'read_item finds each item');
my $followed = $follower->{items};
my @missed = grep { !$followed->{ name($_) } || $json->encode(decode_json($followed->{ name($_) })) ne $json->encode($_) } values %model;
is(scalar(@missed), 0, 'who followed the change feed has the final state') or diag join "\n", map { $json->encode($_) . ', not ' . ($followed->{ name($_) } || 'nothing') } @missed > 5 ? @missed[ 0 .. 4 ] : @missed;
my %final = map { (name($_) => 1) } values %model;
is(join(', ', grep { !$final{$_} && !$left{$_} } sort keys %$followed), '', 'and nothing else but places that items have left');
value(q{CREATE TABLE again AS SELECT item - '{_etag,_ts}'::text[] AS doc FROM partitionkey.items_changed_since('shop', max_items => 1000000)});
is(value('SELECT count(*) FROM (SELECT doc FROM model EXCEPT ALL TABLE again) x') . value('SELECT count(*) FROM (TABLE again EXCEPT ALL SELECT doc FROM model) x'), '00',
	'the feed from the start has each item once');
$_->quit foreach $splitter, $follower->{psql}, map { $_->{psql} } @sessions;

#
# A session that is ended within a batch
#

my ($locker, $victim) = (session(), session());
my $state = q{SELECT md5(string_agg(s::text, ' ' ORDER BY category, shelf, id)) FROM shop s};
value(q{SELECT partitionkey.create_item('shop', '{"id": "locked", "category": "c", "shelf": "s"}')});
my $before = value($state);
my $pid = $victim->query('SELECT pg_backend_pid()') =~ s/ 00000//r;
$locker->query('BEGIN', q{SELECT FROM shop WHERE id = 'locked' FOR UPDATE});
$victim->send(q{SELECT partitionkey.transactional_batch('shop', '["c", "s"]', (SELECT jsonb_agg(jsonb_build_object('operationType', 'Create', 'resourceBody',
	jsonb_build_object('id', i::text, 'category', 'c', 'shelf', 's'))) FROM generate_series(1, 90) i) || '[{"operationType": "Delete", "id": "locked"}]')});
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid") or die 'the batch does not wait';
is(value("SELECT pg_terminate_backend($pid, 60000)"), 't', 'the session is ended');
eval { $victim->{run}->finish };
$locker->query('COMMIT');
is(value($state), $before, 'nothing of its batch is there');
# nor its lock
is(value(q{SELECT statuses(partitionkey.transactional_batch('shop', '["c", "s"]', '[{"operationType": "Delete", "id": "locked"}]'))}), '204', 'the next batch goes on');
$locker->quit;

#
# Dump and restore
#

value(q{
	SELECT partitionkey.create_item('shop', '{"id": "short", "category": "ttl", "shelf": "s", "ttl": 10}');
	SELECT partitionkey.create_item('shop', '{"id": "long", "category": "ttl", "shelf": "s", "ttl": 100000}');
	SELECT partitionkey.create_item('shop', '{"id": "late", "category": "ttl", "shelf": "s"}');
	UPDATE shop SET ts = now() - interval '60 s' WHERE category = 'ttl';
});
my $contents = q{SELECT * FROM shop ORDER BY category, shelf, id; SELECT partitionkey.container_definition('shop')};
$before = value($contents);
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $file = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
command_ok([ 'pg_dump', '-f', $file, $node->connstr('postgres') ], 'pg_dump');
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr('restored') ], 'restore');
my $product = (grep { $_->{category} ne 'ttl' } map { $model{$_} } sort grep { /-/ } keys %model)[0];
my $place = place($product);
is(value($contents, 'restored'), $before, 'the same items, with their etags');
is(value(q{SELECT count(*) FROM model m WHERE NOT same(partitionkey.read_item('shop', m.id, jsonb_build_array(doc->'category', doc->'shelf')), doc)}, 'restored'), '0', 'read_item finds them');
is(value(q{SELECT id, (SELECT count(*) FROM partitionkey.find_items('shop', id)) FROM unnest('{short,long,late}'::text[]) id}, 'restored'), "short|0\nlong|1\nlate|1", 'time to live is as it was');
is(value(q{SELECT partitionkey.delete_expired('shop')}, 'restored'), '1', 'what has expired is deleted');
is(value(qq{SELECT partitionkey.read_item('shop', $place)->>'_etag'}, 'restored'), value(qq{SELECT partitionkey.read_item('shop', $place)->>'_etag'}), 'the same etag');
my $etag = value(qq{SELECT partitionkey.read_item('shop', $place)->>'_etag'});
my $increment = patch({ op => 'incr', path => '/price', value => 1 });
is(value(qq{SELECT partitionkey.patch_item('shop', $place, $increment, if_match => '$etag')->>'price'}, 'restored'), $product->{price} + 1, 'if_match with an etag of before');
my ($ret, $out, $err) = $node->psql('restored', qq{\\set VERBOSITY sqlstate\nSELECT partitionkey.patch_item('shop', $place, $increment, if_match => '$etag')});
is($err =~ s/^.*ERROR: +//sr, '55000', 'which it has no more then');
is(value(qq{
	SELECT item->>'id' FROM partitionkey.items_changed_since('shop', max_items => 1000000) WITH ORDINALITY ORDER BY ordinality DESC LIMIT 1}, 'restored'), $product->{id}, 'the feed goes on');
is(value(q{SELECT count(*) FROM partitionkey.items_changed_since('shop', max_items => 1000000)}, 'restored'), value(q{SELECT count(*) FROM shop}, 'restored'), 'and has all items');
is(value(qq{SELECT partitionkey.move_item('shop', $place, '["moved", "s"]')->>'category'}, 'restored'), 'moved', 'move_item');
is(value(q{SELECT statuses(partitionkey.transactional_batch('shop', '["moved", "s"]', '[{"operationType": "Create", "resourceBody": {"id": "n", "category": "moved", "shelf": "s"}},
	{"operationType": "Read", "id": "n"}]'))}, 'restored'), '201,200', 'transactional_batch');
is(value(q{SELECT partitionkey.delete_partition('shop', '["moved"]')}, 'restored'), '2', 'delete_partition');
is(value(q{SELECT sum(misplaced) FROM partitionkey.verify('shop')}, 'restored'), '0', 'each item is in its leaf');

#
# Memory: calls in one transaction leave nothing behind
#

value(q{
	-- without what PostgreSQL keeps of each row that is changed twice, and each subtransaction
	CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS $$SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name NOT IN ('Combo CIDs', 'TopTransactionContext')$$;
	CREATE FUNCTION calls(call text, n int) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		before bigint; used bigint;
	BEGIN
		FOR round IN 0 .. 1 LOOP
			before := memory();
			-- the first round fills caches
			EXECUTE format('DO $do$ DECLARE id text; key jsonb; doc jsonb; BEGIN FOR i IN %s .. %s LOOP
				id := (i %% 1000)::text; key := jsonb_build_array(''m'' || i %% 50, ''s''); doc := jsonb_build_object(''id'', id, ''category'', key->0, ''shelf'', ''s'', ''n'', i); %s;
				END LOOP; END$do$', round * 200 + 1, CASE round WHEN 0 THEN 200 ELSE n END, call);
			used := memory() - before;
		END LOOP;
		RETURN used;
	END$$;
	SELECT partitionkey.upsert_item('shop', jsonb_build_object('id', i::text, 'category', 'm' || i % 50, 'shelf', 's', 'n', 0)) FROM generate_series(0, 999) i;
	VACUUM ANALYZE shop;
});
my %memory = (
	read_item => q{PERFORM partitionkey.read_item('shop', id, key)},
	'read_item of none' => q{BEGIN PERFORM partitionkey.read_item('shop', 'none', key); EXCEPTION WHEN no_data_found THEN END},
	create_item => q{PERFORM partitionkey.create_item('shop', doc || jsonb_build_object('id', 'new' || i))},
	'create_item in conflict' => q{BEGIN PERFORM partitionkey.create_item('shop', doc); EXCEPTION WHEN unique_violation THEN END},
	upsert_item => q{PERFORM partitionkey.upsert_item('shop', doc)},
	replace_item => q{PERFORM partitionkey.replace_item('shop', id, key, doc)},
	patch_item => q{PERFORM partitionkey.patch_item('shop', id, key, '[{"op": "incr", "path": "/n", "value": 1}]')},
	'move_item' => q{PERFORM partitionkey.move_item('shop', id, key, '["m", "s"]'), partitionkey.move_item('shop', id, '["m", "s"]', key)},
	delete_item => q{PERFORM partitionkey.create_item('shop', doc || '{"id": "short-lived"}'), partitionkey.delete_item('shop', 'short-lived', key)},
	find_items => q{PERFORM partitionkey.find_items('shop', id)},
	delete_partition => q{PERFORM partitionkey.delete_partition('shop', '["none"]')},
	transactional_batch => q{PERFORM partitionkey.transactional_batch('shop', key, jsonb_build_array(jsonb_build_object('operationType', 'Upsert', 'resourceBody', doc)))},
	'transactional_batch that fails' => q{PERFORM partitionkey.transactional_batch('shop', key, jsonb_build_array(jsonb_build_object('operationType', 'Upsert', 'resourceBody', doc),
		jsonb_build_object('operationType', 'Read', 'id', 'none')))},
	items_changed_since => q{PERFORM partitionkey.items_changed_since('shop', scope => key, max_items => 5)});
foreach my $what (sort keys %memory)
{
	(my $call = $memory{$what}) =~ s/'/''/g;
	my $used = value("BEGIN; SELECT calls('$call', 2000); ROLLBACK");

	note "$used bytes";
	cmp_ok($used, '<', 100_000, "memory of 2000 calls: $what");
}

$node->stop;
done_testing();
