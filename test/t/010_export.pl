# Exports of Cosmos DB are read in whatever format they come, item by item, with the faulty ones told apart.
use strict;
use warnings;
use utf8;
use Encode;
use File::Basename;
use File::Path qw(make_path);
use IO::Compress::Gzip qw(gzip $GzipError);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION partitionkey');
my $dir = PostgreSQL::Test::Utils::tempdir;
my $files = 0;

# Write bytes to a new file, or to one of the folder of this name.
sub file
{
	my ($bytes, $name) = @_;
	my $path = "$dir/" . ($name // 'f' . ++$files);
	open(my $out, '>:raw', $path) or die "$path: $!";
	print $out $bytes;
	close $out;
	return $path;
}

sub compressed
{
	my ($bytes) = @_;
	my $result;
	gzip(\$bytes => \$result) or die $GzipError;
	return $result;
}

# What is read from a file: line:offset:id of a sound item, line:offset:fault of another.
sub items_of
{
	my ($source, $db) = @_;
	return $node->safe_psql($db // 'postgres', qq{
		SELECT string_agg(line || ':' || byte_offset || ':' || coalesce(item->>'id', '') || coalesce(fault, ''), ' ' ORDER BY file, line, byte_offset)
		FROM partitionkey.read_export('$source')});
}

# The same without places, which are the order.
sub ids_of
{
	my ($source) = @_;
	return join ' ', map { s/^\d+:\d+://r } split / (?=\d+:\d+:)/, items_of($source);
}

sub format_of
{
	my ($source) = @_;
	return $node->safe_psql('postgres', qq{SELECT string_agg(name, '|') FROM partitionkey.inspect_export('$source') WHERE kind = 'format'});
}

sub like_error
{
	my ($sql, $error, $name) = @_;
	my (undef, undef, $stderr) = $node->psql('postgres', $sql);
	like($stderr, $error, $name);
}

# Where items are in a text, in an encoding.
sub places
{
	my ($text, $encoding, $mark, @items) = @_;
	my $from = 0;
	my @places;

	foreach my $item (@items)
	{
		my $at = index($text, $item, $from);
		my $before = substr($text, 0, $at);
		my ($id) = $item =~ /"id"\s*:\s*"(\d+)"/;
		push @places, (1 + ($before =~ tr/\n//)) . ':' . (length(encode($encoding, $before)) + $mark) . ":$id";
		$from = $at + length $item;
	}
	return join ' ', @places;
}

#
# Formats
#
my @lines = map { qq({"id":"$_","s":"é😀 \\"}{[\\\\","n":{"a":[1,{"x":"]"}]},"list":[{"id":"inner"},{"id":"other"}]}) } 1 .. 5;
my $pretty = JSON::PP->new->pretty->canonical;
my @pretty = map { $pretty->encode($pretty->decode($_)) =~ s/\n$//r } @lines;
my @nested = map { s/\n/\n    /gr } @pretty;
my @flat = map { s/^ +//gmr } @pretty;

foreach my $format (
	[ 'NDJSON', join("\n", @lines) . "\n", @lines ],
	[ 'NDJSON', join("\r\n\r\n", @lines), @lines ],
	[ 'NDJSON', "\n\n  " . join("\n\n  ", @lines), @lines ],
	[ 'JSON objects', join('', @lines), @lines ],
	[ 'JSON objects', join("\n", @pretty), @pretty ],
	[ 'JSON array', '[' . join(',', @lines) . ']', @lines ],
	[ 'JSON array', "[\n" . join(",\n", @lines) . "\n]\n", @lines ],
	[ 'JSON array', '[' . join(", \n ", @lines) . ']', @lines ],
	[ 'JSON array', "[\n  " . join("\n, ", @lines) . "\n]", @lines ],
	[ 'JSON array', "[\n    " . join(",\n    ", @nested) . "\n]", @nested ],
	[ 'JSON array', "[\r\n    " . join(",\r\n    ", map { s/\n/\r\n/gr } @nested) . "\r\n]", map { s/\n/\r\n/gr } @nested ],
	[ 'JSON array', "[\n" . join(",\n", @flat) . "\n]", @flat ],
	[ 'JSON array in "data"', '{"data":[' . join(',', @lines) . ']}', @lines ],
	[ 'JSON array in "data"', qq({\n  "\@odata.context": {"n": [5]},\n  "data": [\n    ) . join(",\n    ", @nested) . "\n  ],\n  \"next\": null\n}", @nested ],
	[ 'JSON array in "Documents"', '{"_rid":"x","Documents":[' . join(',', @lines) . '],"_count":5}', @lines ],
	[ 'JSON array in "Documents"', '{"_rid":"x","Documents":[' . join(',', @lines[0 .. 1]) . '],"_count":2}' . "\n" .
		'{"_rid":"x","Documents":[' . join(',', @lines[2 .. 4]) . '],"_count":3}', @lines ],
	[ 'JSON array in "value"', '{"@odata.context":"x","value":[' . join(',', @lines) . ']}', @lines ])
{
	my ($name, $text, @items) = @$format;
	my $path = file(encode('UTF-8', $text));

	is(items_of($path), places($text, 'UTF-8', 0, @items), "$name: items and their places");
	is(format_of($path), $name, "$name: is told");
	is($node->safe_psql('postgres', qq{SELECT string_agg((item - 'id')::text, '' ORDER BY line, byte_offset) = repeat((\$\$$lines[0]\$\$::jsonb - 'id')::text, 5)
		FROM partitionkey.read_export('$path')}), 't', "$name: and what is in them");

	foreach my $encoding ([ 'UTF-16LE', ', UTF-16 LE' ], [ 'UTF-16BE', ', UTF-16 BE' ], [ 'UTF-8', '' ])
	{
		my ($code, $told) = @$encoding;
		my $mark = encode($code, "\x{FEFF}");

		$path = file(compressed($mark . encode($code, $text)));
		is(items_of($path), places($text, $code, length $mark, @items), "$name: $code with byte order mark, gzip");
		is(format_of($path), "$name$told with byte order mark, gzip", "$name: $code: is told");
		next if $code eq 'UTF-8';
		$path = file(encode($code, $text));
		is(items_of($path), places($text, $code, 0, @items), "$name: $code without byte order mark");
	}
}

# gzip with several members, cut anywhere, and with padding
my $ndjson = encode('UTF-8', join("\n", @lines) . "\n");
my $path = file(compressed(substr($ndjson, 0, 150)) . compressed(substr($ndjson, 150)) . "\0\0\0");
is(ids_of($path), '1 2 3 4 5', 'gzip in several members');
like_error("SELECT * FROM partitionkey.read_export('" . file(substr(compressed($ndjson), 0, 60)) . "')",
	qr/could not decompress file .*It ends too early/s, 'a gzip file that is cut off');
like_error("SELECT * FROM partitionkey.read_export('" . file("\x1F\x8B and then something else") . "')",
	qr/could not decompress file/, 'what only begins as a gzip file');

my ($first, $second) = (compressed(substr($ndjson, 0, 150)), compressed(substr($ndjson, 150)));
like_error("SELECT * FROM partitionkey.read_export('" . file("$first$second$_->[0]") . "')",
	qr/could not decompress file .*Behind what is compressed comes something else/s, "a gzip file and $_->[1]")
	for [ 'junk', 'junk' ], [ "\0\0junk", 'junk behind padding' ], [ "\0" x 100000 . $first, 'a member behind padding' ];
like_error("SELECT * FROM partitionkey.read_export('" . file($first . $_->[1] . substr($second, length $_->[1])) . "')",
	qr/could not decompress file/, "a second member with another $_->[0]")
	for [ 'first byte', 'x' ], [ 'second byte', "\x1Fx" ], [ 'method', "\x1F\x8Bx" ];
is(ids_of(file("$first$second" . "\0" x 200000)), '1 2 3 4 5', 'much padding');

is(items_of(file('')), '', 'an empty file');
is(items_of(file("\n \n")), '', 'a file of blanks');
is(items_of(file('[]')), '', 'an empty array');
is(items_of(file('{"Documents":[],"_count":0}')), '', 'an empty wrapper');

# What is a wrapper, and what is an item that looks like one?
is(ids_of(file('{"id":"1","data":[{"id":"x"}]}')), '1', 'an object with an id is an item');
is(ids_of(file('{"data":[{"id":"x"}],"id":"1"}' . "\n" . '{"data":[{"id":"x"}],"id":"2"}')), '1 2', 'wherever it is');
is($node->safe_psql('postgres', "SELECT count(*) FROM partitionkey.read_export('" .
	file(qq({"data":[{"x":1}]}\n{"data":[{"x":2},{"x":3}]}\n)) . "') WHERE item ? 'data'"), '2', 'one of several objects is an item');
is($node->safe_psql('postgres', "SELECT count(*) FROM partitionkey.read_export('" . file('{"data":[1,2]}') . "')"), '1', 'an array of numbers is no array of items');
is(ids_of(file('{"rows":[{"id":"1"}]}')), '', 'an array of another name neither');
# nor does an object with data of its own wrap others
foreach my $order ('{"customer":"x","items":[{"sku":"a"},{"sku":"b"}]}', '{"items":[{"sku":"a"},{"sku":"b"}],"total":5}', '{"_count":1,"items":[],"n":1}',
	'{"value":[{"sku":"a"}],"items":[{"sku":"b"}]}', '{"order":{"_count":1},"Documents":[{"sku":"a"}]}')
{
	is($node->safe_psql('postgres', "SELECT count(*), bool_and(item = '$order') FROM partitionkey.read_export('" . file($order) . "')"), '1|t', "an item: $order");
}
is(ids_of(file(qq({$_"items":[{"id":"1"},{"id":"2"}]}))), '1 2', "a wrapper with $_")
	for '', '"_rid":"x","_count":2,', '"Count":2,"ContinuationToken":null,', '"@odata.context":"x","odata.nextLink":"y",', '"nextLink":"y","continuation":{"id":"x"},';
# longer than any item: its end need not be seen, and is not
is(ids_of(file('{"data":[' . join(',', map { qq({"id":"$_","s":") . 'x' x 1000000 . '"}' } 1 .. 6) . "],\"count\":6}\n" . '{"id":"7"}')),
	'1 2 3 4 5 6 7', 'a wrapper of some megabytes');

#
# Faults
#
my $long = 'x' x (2 * 1024 * 1024);
my $escaped = '\u00e9' x 400000;	# 2.4 MB as it is written, 0.8 MB as Cosmos DB has it
my $size = 2 * 1024 * 1024 - length '{"id":"1","s":""}';
my @faults = (
	[ '{"id":"1"}', '1' ],
	[ '{"id":"2","a":tru}', 'broken JSON' ],
	[ '{"id":"3"', 'broken JSON' ],
	[ '{"id":"4"}}', 'broken JSON' ],
	[ '{"id":"5","a":[1,2}', 'broken JSON' ],
	[ '{"id":"6","a":"b}', 'broken JSON' ],
	[ 'not JSON, at all', 'broken JSON' ],
	[ '{"id":"7",}', 'broken JSON' ],
	[ "{'id':'8'}", 'broken JSON' ],
	[ '{"id":"10","a":NaN}', 'broken JSON' ],
	[ '42', 'not an object' ],
	[ '"text"', 'not an object' ],
	[ 'null', 'not an object' ],
	[ '{"id":"11","s":"tenant\u0000admin"}', 'zero character' ],
	[ '{"id":"12","s":"not \\\\u0000"}', '12' ],
	[ '{"id":"13","s":"\ud83d"}', 'lone surrogate' ],
	[ '{"id":"14","s":"\ude00\ud83d"}', 'lone surrogate' ],
	[ '{"id":"15","s":"\ud83d\ud83d\ude00"}', 'lone surrogate' ],
	[ '{"id":"16","s":"\ud83d\ude00"}', '16' ],
	[ "{\"id\":\"17\",\"s\":\"\xFF\"}", 'bad encoding' ],
	[ "{\"id\":\"18\",\"s\":\"\xC3\"}", 'bad encoding' ],
	[ "{\"id\":\"19\",\"s\":\"\xED\xA0\xBD\"}", 'lone surrogate' ],
	[ "{\"id\":\"20\",\"s\":\"a\0b\"}", 'bad encoding' ],
	[ "{\"id\":\"21\",\"s\":\"tab\there\"}", 'broken JSON' ],
	[ "{\"id\":\"22\",\"s\":\"$long\"}", 'too large' ],
	[ '{"id":"1","s":"' . 'x' x $size . '"}', '1' ],
	[ '{"id":"1","s":"' . 'x' x ($size + 1) . '"}', 'too large' ],
	[ "{\"id\":\"23\",\"s\":\"$escaped\"}", '23' ],
	[ '{"id":"24",' . ' ' x 3000000 . '"a":1}', '24' ],
	[ '{"id":"25","a":' . '[' x 127 . ']' x 127 . '}', '25' ],
	[ '{"id":"26","a":' . '[' x 128 . ']' x 128 . '}', 'too deep' ],
	[ '{"id":"27","a":' . '[' x 100000 . ']' x 100000 . '}', 'too deep' ],
	[ '{"id":"28","a":1e200000}', 'number out of range' ],
	[ '{"id":"29","a":-0.0,"b":1E+2,"a":2}', '29' ],
	[ '{"id":"30"}', '30' ]);

# each on its line, with the number of the line and the byte
my $number = 0;
my $offset = 0;
my @expected;
foreach my $case (@faults)
{
	push @expected, ++$number . ":$offset:$case->[1]";
	$offset += 1 + length $case->[0];
}
$path = file(join("\n", map { $_->[0] } @faults) . "\n");
is(items_of($path), join(' ', @expected), 'faults in NDJSON');
is(format_of($path), 'NDJSON', 'which is still that');

# the same as elements, each on its line
$path = file("[\n" . join(",\n", map { $_->[0] } @faults) . "\n]\n");
is(ids_of($path), join(' ', map { $_->[1] } @faults), 'faults in an array with lines');

is($node->safe_psql('postgres', qq{SELECT string_agg(DISTINCT reason, '|' ORDER BY reason) FROM partitionkey.read_export('$path') WHERE fault IN
	('zero character', 'lone surrogate', 'too large', 'too deep', 'not an object')}),
	q{\u0000 can't be part of a text in PostgreSQL|\ud83d is half of a surrogate pair, which is no character|\ude00 is half of a surrogate pair, which is no character|}
	. q{an item is a JSON object|half of a surrogate pair is no character|the item has more than 2097152 bytes, Cosmos DB's limit|}
	. q{the item is nested more than 128 levels deep, Cosmos DB's limit}, 'reasons');
is($node->safe_psql('postgres', qq{SELECT string_agg(text, '|' ORDER BY line) FROM partitionkey.read_export('$path') WHERE fault = 'bad encoding'}),
	q({"id":"17","s":"\xFF"}|{"id":"18","s":"\xC3"}|{"id":"20","s":"a\x00b"}), 'bytes that are no text can be read');
is($node->safe_psql('postgres', qq{SELECT name || ' ' || items FROM partitionkey.inspect_export('$path') WHERE kind = 'fault' ORDER BY 1}),
	"bad encoding 3\nbroken JSON 10\nlone surrogate 4\nnot an object 3\nnumber out of range 1\ntoo deep 2\ntoo large 2\nzero character 1", 'and counted');

# half of a pair in UTF-16, at the end of it, and half of a unit
is(ids_of(file(encode('UTF-16LE', '{"id":"1","s":"') . "\x3D\xD8" . encode('UTF-16LE', qq("}\n{"id":"2"}\n)))), 'lone surrogate 2', 'half a pair in UTF-16');
is(ids_of(file(encode('UTF-16BE', qq({"id":"1"}\n{"id":"2)) . "\xD8\x3D")), '1 lone surrogate', 'at the end of the file');
is(ids_of(file(encode('UTF-16LE', qq({"id":"1"}\n{"id":"2)) . '"')), '1 bad encoding', 'half a unit there');

# a file that is cut off
is(ids_of(file('[{"id":"1"},{"id":"2"}')), '1 2 broken JSON', 'an array that is not closed');
is(ids_of(file('[{"id":"1"},{"id":"2"')), '1 broken JSON', 'nor its last element');
is(ids_of(file('{"data":[{"id":"1"},{"id":"2"}]')), '1 2 broken JSON', 'a wrapper that is not closed');
is(ids_of(file(qq({"id":"1"}\n{"id":"2","a))), '1 broken JSON', 'a line that is cut off');

# an item that is far too large is not held in memory
$path = file('[{"id":"1"},{"id":"2","s":"' . 'x' x 50000000 . '"},{"id":"3"}]');
is(items_of($path), '1:1:1 1:12:too large 1:50000030:3', 'an item of 50 MB');

# what can't be told apart, for more than an item can have
$path = file('[{"id":"1"},{"id":"2,"s":"' . '[{}],' x 600000 . '"},{"id":"3"}]');
is(ids_of($path), '1 broken JSON 3', 'an item with brackets in a string that is not one');

# Commas too many or too few break no item, nor does the next one on its line.
is(ids_of(file(qq({"id":"1"}\n{"id":"2"} {"id":"3"\n{"id":"4"}\n))), '1 2 broken JSON 4', 'two objects on a line');
is(ids_of(file('[{"id":"1"} {"id":"2"},,{"id":"3"},]')), '1 2 3', 'commas in an array');
is(ids_of(file(qq({"id":"1"},\n{"id":"2"},\n))), '1 2', 'commas in a sequence');

#
# A broken item takes no other along, and no part of it is taken for an item.
#
my %damage = (
	'a wrong word' => sub { $_[0] =~ s/"n" ?: ?\{/"n":{{/r },
	'no last bracket' => sub { $_[0] =~ s/\s*\}$//r },
	'half of it' => sub { substr($_[0], 0, length($_[0]) / 2) },
	'a bracket too many' => sub { "$_[0]}" },
	'no quote' => sub { $_[0] =~ s/"s"/"s/r },
	'no bracket inside' => sub { $_[0] =~ s/\}//r },
	'no array bracket inside' => sub { $_[0] =~ s/\]\}?(?=,\s*"n|\s*\}?$)//r },
	'an array bracket too many' => sub { $_[0] =~ s/"other"/"other"]/r },
	'a word instead' => sub { 'garbage' });
my @items = map { qq({"id":"$_","list":[{"id":"inner"},{"id":"other","x":[1,{"a":2}]}],"n":{"x":{"y":"a, {b} [c]"}},"s":"text"}) } 1 .. 30;
@pretty = map { $pretty->encode($pretty->decode($_)) =~ s/\n$//r } @items;
@nested = map { s/\n/\n    /gr } @pretty;
@flat = map { s/^ +//gmr } @pretty;
my %layouts = (
	'lines' => [ '', "\n", "\n", @items ],
	'an array of lines' => [ "[\n", ",\n", "\n]", @items ],
	'an array of lines between brackets' => [ '[', ",\n", ']', @items ],
	'lines in a wrapper' => [ '{"data":[', ",\n", ']}', @items ],
	'one line' => [ '[', ',', ']', @items ],
	'indented objects' => [ '', "\n", "\n", @pretty ],
	'an indented array' => [ "[\n    ", ",\n    ", "\n]", @nested ],
	'an array without indentation' => [ "[\n", ",\n", "\n]", @flat ]);
foreach my $layout (sort keys %layouts)
{
	my ($before, $between, $after, @texts) = @{ $layouts{$layout} };

	foreach my $kind (sort keys %damage)
	{
		foreach my $broken (0, 4, 29)
		{
			my @copy = @texts;
			my @ids = (1 .. 30);

			# A word instead of the first object: nothing tells that the array is one of objects.
			next if $layout eq 'lines in a wrapper' && $kind eq 'a word instead' && $broken == 0;
			$copy[$broken] = $damage{$kind}->($copy[$broken]);
			isnt($copy[$broken], $texts[$broken], "$kind: is broken") if $broken == 0;
			$ids[$broken] = 'broken JSON';
			is(ids_of(file($before . join($between, @copy) . $after)), "@ids", "$layout: $kind in item " . ($broken + 1));
		}
	}
}

# Exports with faults of all kinds at random places, of which is known where each item is (test/golden/broken_items.py)
my @generated = do
{
	open(my $in, '<:raw', dirname(__FILE__) . '/broken_items.json') or die $!;
	map { decode_json($_) } <$in>;
};
my $paths = join ',', map { file(encode('UTF-8', $_->{text})) } @generated;
my @read = split /\n/, $node->safe_psql('postgres', qq{SELECT string_agg(line || ':' || byte_offset || ':' || coalesce(item->>'id', '!'), ' ' ORDER BY line, byte_offset)
	FROM unnest(string_to_array('$paths', ',')) WITH ORDINALITY f (path, n), partitionkey.read_export(path) GROUP BY n ORDER BY n});
cmp_ok(scalar @generated, '>=', 200, 'exports with faults');
is($read[$_], $generated[$_]{items}, $generated[$_]{name}) for 0 .. $#generated;

# A member of the next item whose bracket is missing, an object in a broken item, a word between items
is(ids_of(file($_->[0])), $_->[1], $_->[2]) for
	[ '[{"id":"0"},"id":"1","pk":"a"},{"id":"2"}]', '0 broken JSON 2', 'no first bracket in an array' ],
	[ '[{"id":"1"},"x","y",{"id":"3"}]' . "\n" . '[{"id":"4"}]', '1 not an object not an object 3 4', 'words in an array' ],
	[ '{"id":"1"}"str"{"id":"2"}', '1 not an object 2', 'and in a sequence' ],
	[ qq([\n  {\n    "id": "1"\n  },\n\n    "id": "2",\n    "customer": {"id": "c9"}\n  },\n  {\n    "id": "3"\n  }\n]\n), '1 broken JSON 3', 'no first bracket of an indented item' ],
	[ qq({"id":"1"}\n{"id":"2", pk":"a","l":"},{","x":1}\n{}id":"3"}\n{"id":"4"}\n), '1 broken JSON broken JSON 4', 'a line is an item' ],
	[ '{"value":[{"id":"1"},{"id":"2","x":[}],"nextLink":null}', '1 broken JSON', 'the last item of a wrapper' ],
	[ qq({\n  "id": "1"\n}\n{\n  "id": "2"\n{\n{\n  "id": "3"\n}\n), '1 broken JSON 3', 'a bracket reversed' ],
	[ '{"databaseId":"d","collectionId":"c","partitionKey":{"paths":["/pk"]},"data":[{"id":"1"},{"id":"2"}]}', '1 2', 'a wrapper with the name of the container' ],
	[ qq({"id":"1"}\n\xEF\xBB\xBF{"id":"2"}\n\xEF\xBB\xBF{"id":"3"}), '1 2 3', 'byte order marks in between' ];

# Time is linear, and memory bounded: each of these is read at once.
foreach my $case (
	[ '{"id":"1",' . "\n" x 400000 . '"a":1}', 1, 0, 'blank lines in an item' ],
	[ '[' . '{"a":[1,' x 100000, 0, 1, 'an item that opens brackets only' ],
	[ '[' . join(',', ('{"a":[1}') x 100000) . ']', 0, 100000, 'no item is sound' ],
	[ '[' . join(',', map { ('{"id":"1","l":[{"x":1}', ('{"id":"2","l":[]}') x 21) } 1 .. 3000) . ']', 63000, 3000, 'items that are cut off' ],
	[ '[{"id":"1","pk":"a"},{"id":"2","pk":"a,"x":"y"}' . join('', map { qq(,{"id":"$_","t":") . 'x' x 200 . '"}' } 3 .. 150000) . ']', 149999, 1, 'a missing quote before 33 MB' ])
{
	is($node->safe_psql('postgres', "SET statement_timeout = '60s'; SELECT count(item), count(fault) FROM partitionkey.read_export('" . file($case->[0]) . "')"),
		"$case->[1]|$case->[2]", $case->[3]);
}

# A file that was split: the items that are whole in a piece are read, and it is told what the others are.
mkdir "$dir/pieces";
my $array = '[' . join(',', map { qq({"id":"$_","list":[{"id":"x"}],"s":"text"}) } 1 .. 40) . ']';
file(substr($array, 500 * $_, 500), "pieces/x0$_") for 0 .. int(length($array) / 500);
my @pieces = split / /, $node->safe_psql('postgres', qq{SELECT string_agg(coalesce(item->>'id', '!'), ' ' ORDER BY file, byte_offset) FROM partitionkey.read_export('$dir/pieces')});
is(join(' ', grep { $_ ne '!' } @pieces), join(' ', grep { my $at = index($array, qq({"id":"$_",)); int($at / 500) == int(($at + length(qq({"id":"$_","list":[{"id":"x"}],"s":"text"})) - 1) / 500) } 1 .. 40),
	'items in pieces of a file');
is($node->safe_psql('postgres', qq{SELECT count(*), min(right(file, 2)) FROM partitionkey.read_export('$dir/pieces') WHERE reason LIKE '%is a piece of a larger one%'}),
	int(length($array) / 500) . '|x1' =~ s/x1/01/r, 'which is told');

#
# Folders
#
mkdir "$dir/folder";
mkdir "$dir/folder/b";
mkdir "$dir/folder/.hidden";
mkdir "$dir/empty";
file('{"id":"3"}', 'folder/c.json');
file('[{"id":"2"}]', 'folder/b/x');
file(compressed(qq({"id":"1a"}\n{"id":"1b"}\n)), 'folder/a.json');
file('', 'folder/_SUCCESS');
file('{"id":"no"}', 'folder/.c.json.crc');
file('{"id":"no"}', 'folder/.hidden/x.json');
is(ids_of("$dir/folder"), '1a 1b 2 3', 'a folder, and one in it, in the order of the paths');
is($node->safe_psql('postgres', qq{SELECT replace(string_agg(DISTINCT file, ' ' ORDER BY file), '$dir', '') FROM partitionkey.read_export('$dir/folder/')}),
	'/folder/a.json /folder/b/x /folder/c.json', 'names of its files');
is($node->safe_psql('postgres', qq{SELECT string_agg(name || ' ' || items || ', ' || note, ' | ' ORDER BY name) FROM partitionkey.inspect_export('$dir/folder') WHERE kind = 'format'}),
	'JSON array 1, 1 file | NDJSON 1, 1 file | NDJSON, gzip 2, 1 file', 'and formats');
like_error("SELECT * FROM partitionkey.read_export('$dir/empty')", qr/folder ".*empty" has no files/, 'a folder without files');
like_error("SELECT * FROM partitionkey.read_export('$dir/none')", qr/could not open ".*none" for reading: No such file or directory.*The path is one of the server/s, 'no file');
like_error("SELECT * FROM partitionkey.read_export('/dev/null')", qr/"\/dev\/null" is neither a regular file nor a folder/, 'a device');
make_path("$dir/deep" . '/d' x 500);
file('{"id":"1"}', 'deep' . '/d' x 500 . '/a.json');
is(ids_of("$dir/deep"), '1', 'folders in folders');
mkdir "$dir/names";
file('{"id":"1"}', "names/caf\xE9.json");
is($node->safe_psql('postgres', "SELECT right(file, 13) FROM partitionkey.read_export('$dir/names')"), '/caf\xE9.json', 'a name that is no text');
file('{"id":"1"}', "it's.json");
is(items_of("$dir/it''s.json"), '1:0:1', 'a name with a quote');

#
# Who may
#
$node->safe_psql('postgres', 'CREATE ROLE reader; CREATE ROLE nobody; GRANT pg_read_server_files TO reader');
foreach my $function ("read_export('$dir/folder')", "inspect_export('$dir/folder')")
{
	like_error("SET ROLE nobody; SELECT * FROM partitionkey.$function", qr/permission denied to read files of the server/, "$function: not everybody");
	is($node->psql('postgres', "SET ROLE reader; SET default_transaction_read_only = on; SELECT * FROM partitionkey.$function"), 0, "$function: who may read files");
}

#
# inspect_export
#
my @docs = map { my $i = $_; +{ id => "i$i", pk => $i % 10 == 0 ? undef : 'k' . $i % 7, n => $i % 3 ? $i % 4 : "$i", Country => 'c', $i % 20 ? () : (late => JSON::PP::true),
	a => { b => { c => $i, d => [ 1 ] } }, _ts => 1700000000 + $i, _rid => 'r' } } 1 .. 400;
my $json = JSON::PP->new->canonical;
$path = file(join("\n", map { $json->encode($_) } @docs) . "\n" . '{"id":7}' . "\n" . '{"pk":"k1"}' . "\n" . '{"id":"' . 'x' x 1024 . qq("}\nbroken\n));
# Of 404 items 3 have no more than what is seen; 400 have Country. pk is null 40 times, k1 52 times and once more.
my %pk;
$pk{ $_->{pk} // 'null' }++ foreach @docs;
$pk{k1}++;
my ($largest) = sort { $pk{$b} <=> $pk{$a} } grep { $_ ne 'null' } keys %pk;
my $share = sprintf '%.6f', $pk{$largest} / 404;
my $inspected = sub {
	my ($columns, $where, $paths) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM partitionkey.inspect_export('$path', '$paths') WHERE $where");
};
is($inspected->('items', "kind = 'items'", '{}'), '404', 'number of items');
is($inspected->('types, nulls, undefined, distinct_keys, round(largest_share::numeric, 6), largest_key, key_types', "kind = 'path' AND name = '/pk'", '{/pk,/n}'),
	'string 361, null 40|40|2|' . (2 + scalar keys(%pk) - 1) . "|$share|\"$largest\"|{jsonb}", 'a path: strings, null and undefined');
my $numbers = grep { $_ % 3 } 1 .. 400;
is($inspected->('types, nulls, undefined, distinct_keys, key_types', "kind = 'path' AND name = '/n'", '{/pk,/n}'),
	"number $numbers, string " . (400 - $numbers) . '|0|3|' . (4 + 400 - $numbers + 1) . '|{jsonb}', 'numbers and strings: "4" is not 4');
is($inspected->('note', "kind = 'path'", '{/country}'), 'no item has /country; did you mean /Country?', 'a near miss');
is($inspected->('note', "kind = 'path'", '{/late}'), '95.0 % of items have no /late', 'few have it');
is($inspected->('types, undefined, note', "kind = 'path'", '{/a/b}'), 'object 400|3|0.7 % of items have no /a/b; 400 items with an object or array there, which can\'t be a key', 'objects are no keys');
is($inspected->('types, undefined, key_types', "kind = 'path'", '{/a/b/c/d}'), '|403|', 'a step through a scalar');
is($inspected->('types, undefined, key_types', "kind = 'path'", '{"/a/b/c"}'), 'number 400|3|{jsonb}', 'a nested path');
is($inspected->("string_agg(name || ' ' || items, ' ')", "kind = 'fault'", '{}'), 'broken JSON 1 missing id 1 numeric id 1 id too long 1', 'faults');
is($inspected->("string_agg(kind || name || ' ' || types, ', ')", "kind LIKE '%property'", '{}'),
	"property/id string 401, number 1, property/pk string 361, null 40, property/Country string 400, property/a/b/c number 400, property/a/b/d array 400, "
	. "property/n number $numbers, string " . (400 - $numbers) . ", property/late boolean 20, system property/_rid string 400, system property/_ts number 400", 'properties');
is($inspected->('items, distinct_keys, key_types', "kind = 'key'", '{/Country,/pk}'), '403|' . (1 + keys(%pk) + 1) . '|{jsonb,jsonb}', 'a key of two levels');
like_error("SELECT * FROM partitionkey.inspect_export('$path', '{pk}')", qr/does not start with a slash/, 'a path without a slash');
like_error("SELECT * FROM partitionkey.inspect_export('$path', '{NULL}')", qr/must not be null/, 'no path');
is($node->safe_psql('postgres', 'SELECT count(*) FROM partitionkey.inspect_export(NULL)'), '0', 'no source');

# types of single kinds, and names that need quotes
$path = file(qq({"id":"1","a/b":"x","it's":true,"say \\"hi\\"":1,"d.e":1.5," f ":"y"}\n{"id":"2","a/b":"y","it's":false,"say \\"hi\\"":1.0,"d.e":2," f ":"y"}\n));
is($node->safe_psql('postgres', "SELECT name || ' ' || distinct_keys || ' ' || (key_types)[1] FROM partitionkey.inspect_export('$path',
	ARRAY['/\"a/b\"', '/it''s', '/''say \"hi\"''', '/d.e', '/\" f \"']) WHERE kind = 'path'"),
	qq(/"a/b" 2 text\n/it's 2 boolean\n/'say "hi"' 1 double precision\n/d.e 2 double precision\n/" f " 1 text), 'paths with quotes, dots and blanks');

# the same id again, in one logical partition and in another
$path = file(join "\n", map { my ($id, $pk) = @$_; qq({"id":"$id","pk":$pk}) } [ 1, '"a"' ], [ 1, '"b"' ], [ 1, 42 ], [ 1, '42.0' ], [ 1, '"42"' ], [ 1, 'null' ], [ 2, 'null' ], [ 1, '"a"' ], [ 1, '"a"' ]);
is($node->safe_psql('postgres', "SELECT items, distinct_keys, largest_key, note FROM partitionkey.inspect_export('$path', '{/pk}') WHERE kind = 'key'"),
	'9|5|["a"]|3 items with the key and id of another one', 'duplicates');

# keys beyond 2^53
$path = file(join "\n", map { qq({"id":"$_","pk":$_}) } qw(9007199254740992 9007199254740993 9223372036854775806 9223372036854775807 42 42.0 4.2e1 -0 0));
is($node->safe_psql('postgres', "SELECT distinct_keys, note FROM partitionkey.inspect_export('$path', '{/pk}') WHERE kind = 'path'"),
	'4|4 numbers from 2^53 on, which Cosmos DB takes for 2 keys', 'numbers that are one key');

# more values than are counted exactly: the number is estimated, the share of the largest is not far off
open(my $many, '>', "$dir/many") or die;
print $many qq({"id":"$_","pk":") . ($_ % 4 ? "k$_" : 'large') . qq("}\n) foreach 1 .. 200000;
close $many;
is($node->safe_psql('postgres', "SELECT abs(distinct_keys - 150001) < 150001 * 0.04, abs(largest_share - 0.25) < 0.001, largest_key, note
	FROM partitionkey.inspect_export('$dir/many', '{/pk}') WHERE kind = 'path'"), 't|t|"large"|distinct_keys is an estimate, with an error of about 1 %', '150,001 values');

# cancelled at once
my ($ret, undef, $stderr) = $node->psql('postgres', "SET statement_timeout = '100ms'; SELECT count(*) FROM partitionkey.inspect_export('$dir/many'), generate_series(1, 1)");
like($stderr, qr/canceling statement due to statement timeout/, 'is cancelled');

#
# verify_import
#
$node->safe_psql('postgres', q{
	CREATE TABLE c (pk jsonb NOT NULL, n float8, id text, doc jsonb, ts timestamptz, PRIMARY KEY (pk, n, id));
	SELECT partitionkey.create_container('c', '{/pk,/n}', '{4,2}', 'cosmos');
	GRANT SELECT ON c TO reader;
	CREATE TABLE plain (id int)});
$path = file(join "\n", '{"id":"1","pk":"a","n":42,"x":{"b":1,"a":[1.0,2]},"_ts":5,"_rid":"r"}', '{"id":"2","pk":"a","n":4.2e1,"x":1e2}', '{"id":"3","pk":null,"n":1}',
	'{"id":"4","n":1}', '{"id":"5","pk":"","n":1}', '{"id":"6","pk":42,"n":1}', '{"id":"7","pk":9007199254740993,"n":1}', '{"pk":"no id","n":1}');
$node->safe_psql('postgres', q{
	INSERT INTO c VALUES ('"a"', 42, '1', '{"x":{"a":[1,2.00],"b":1.0},"n":42.0,"pk":"a","id":"1"}'), ('"a"', 42, '2', '{"id":"2","n":42,"pk":"a","x":100}'),
		('null', 1, '3', '{"id":"3","pk":null,"n":1}'), ('{}', 1, '4', '{"id":"4","n":1,"_etag":"new"}'), ('""', 1, '5', '{"id":"5","pk":"","n":1}'),
		('42', 1, '6', '{"id":"6","pk":42,"n":1}'), ('9007199254740993', 1, '7', '{"id":"7","pk":9007199254740993,"n":1}'),
		('"no id"', 1, 'made', '{"id":"made","pk":"no id","n":1}')});
my $verify = "SELECT key, source_items, container_items, source_checksum = container_checksum, difference FROM partitionkey.verify_import('c', '$path') ORDER BY key";
is($node->safe_psql('postgres', $verify), '|8|8|t|', 'the same, but for order, blanks, zeros, system properties and an id that was made');
is($node->safe_psql('postgres', "SET ROLE reader; SET default_transaction_read_only = on; SET search_path = ''; " . $verify =~ s/'c'/'public.c'/r), '|8|8|t|', 'by who may read both');
like_error("SET ROLE nobody; $verify", qr/permission denied for table c/, 'not by who may not read the container');
like_error("GRANT SELECT ON c TO nobody; SET ROLE nobody; $verify", qr/permission denied to read files/, 'nor the file');
like_error("SELECT partitionkey.verify_import('plain', '$path')", qr/is not a container/, 'no container');

$node->safe_psql('postgres', q{
	UPDATE c SET doc = jsonb_set(doc, '{x}', '"100"') WHERE id = '2';
	DELETE FROM c WHERE id = '5';
	INSERT INTO c VALUES ('"new"', 1, '8', '{"id":"8","pk":"new","n":1}'), ('42', 1, '9', '{"id":"9","pk":42,"n":1}')});
is($node->safe_psql('postgres', $verify),
	qq(["", 1]|1|0|f|1 missing in the container\n["a", 42]|2|2|f|other content\n["new", 1]|0|1|f|1 more in the container\n[42, 1]|1|2|f|1 more in the container\n)
	. '|8|9|f|4 of 8 logical partitions differ', 'what differs');
# Members exchanged between two items of a partition are noticed.
$path = file(qq({"id":"1","pk":"a","n":1,"x":1,"y":1}\n{"id":"2","pk":"a","n":1,"x":2,"y":2}\nbroken\n{"id":"3","pk":[1],"n":1}));
$node->safe_psql('postgres', q{TRUNCATE c;
	INSERT INTO c VALUES ('"a"', 1, '1', '{"id":"1","pk":"a","n":1,"x":1,"y":2}'), ('"a"', 1, '2', '{"id":"2","pk":"a","n":1,"x":2,"y":1}')});
is($node->safe_psql('postgres', $verify =~ s/import\('c', '[^']*'/import('c', '$path'/r),
	qq(["a", 1]|2|2|f|other content\n|2|2|f|1 of 1 logical partitions differ; items that can't be read: 1; items with an object, an array or a number out of range as key: 1), 'members exchanged');
$node->safe_psql('postgres', 'TRUNCATE c');
is($node->safe_psql('postgres', "SELECT * FROM partitionkey.verify_import('c', '" . file('[]') . "')"), '|0|0|0000000000000000|0000000000000000||0', 'nothing, twice');

# Keys that differ in the last of a binary64's digits are told apart, and can be used as they are told; those that are out of range are none.
$path = file(join "\n", map { qq({"id":"1","pk":$_,"n":1}) } qw(9007199254740990 9007199254740992 9007199254740994 0.1 0.10000000000000002 "Infinity" 1e400 -1e400 1e22));
is($node->safe_psql('postgres', "SELECT string_agg((key->0)::text, ' ' ORDER BY key), count(DISTINCT partitionkey.epk_of('c', key)) FROM partitionkey.verify_import('c', '$path') WHERE key IS NOT NULL"),
	'"Infinity" 0.1 0.10000000000000002 9007199254740990 9007199254740992 9007199254740994 10000000000000000000000|7', 'numbers in keys');

# inspect_export and import_items say the same about ids.
$path = file(join "\n", map { qq({"id":$_->[0],"pk":"a","n":1}) } [ 1 ], [ '""' ], [ 'null' ], [ 'true' ], [ '{}' ], [ '"' . 'x' x 1024 . '"' ], [ '"1"' ]);
my $ids = 'missing id 1, numeric id 1, id not a string 2, empty id 1, id too long 1';
is($node->safe_psql('postgres', "SELECT string_agg(name || ' ' || items, ', ') FROM partitionkey.inspect_export('$path') WHERE kind = 'fault'"), $ids, 'ids, inspected');
is($node->safe_psql('postgres', "SELECT string_agg(format('%s %s', r, reasons->>r), ', ') FROM partitionkey.import_items('c', '$path'),
	unnest('{missing id,numeric id,id not a string,empty id,id too long}'::text[]) r"), $ids, 'and imported');
is($node->safe_psql('postgres', "SELECT bool_and(right(note, length(detail)) = detail), count(*) FROM partitionkey.inspect_export('$path')
	JOIN (SELECT DISTINCT ON (reason) * FROM c_quarantine ORDER BY reason, line) q ON name = reason"), 't|5', 'with the same words');

# A key that was computed while loading, which documents don't have, doesn't count; one that they have does.
$node->safe_psql('postgres', q{
	CREATE TABLE s (pk text, tenant text, id text, doc jsonb, PRIMARY KEY (pk, tenant, id));
	SELECT partitionkey.create_container('s', '{/pk,/tenant}', '{4}', 'cosmos');
	INSERT INTO s VALUES ('t_1', 't', '1', '{"id":"1","tenant":"t"}'), ('t_2', 't', '2', '{"id":"2","tenant":"t"}'), ('u_3', 'v', '3', '{"id":"3","tenant":"u"}')});
$path = file(qq({"id":"1","tenant":"t"}\n{"id":"2","tenant":"t"}\n{"id":"3","tenant":"u"}));
is($node->safe_psql('postgres', "SELECT key, source_items, container_items, difference FROM partitionkey.verify_import('s', '$path') ORDER BY key"),
	qq([{}, "u"]|1|0|1 missing in the container\n[{}, "v"]|0|1|1 more in the container\n|3|3|2 of 3 logical partitions differ), 'computed keys');

#
# Other encodings of the server
#
$node->safe_psql('postgres', "CREATE DATABASE latin1 ENCODING LATIN1 LOCALE 'C' TEMPLATE template0");
$node->safe_psql('latin1', 'CREATE EXTENSION partitionkey');
$path = file(encode('UTF-8', qq({"id":"1","s":"é"}\n{"id":"2","s":"\\u00e9"}\n{"id":"3","s":"€"}\n{"id":"4","s":"\\u20ac"}\n)));
is(items_of($path, 'latin1'), '1:0:1 2:20:2 3:44:bad encoding 4:65:bad encoding', 'characters that the server encoding has, or not');
is($node->safe_psql('latin1', "SELECT bool_and(item->>'s' = chr(233)), string_agg(text, '') FROM partitionkey.read_export('$path') WHERE line IN (1, 2, 3)"),
	't|{"id":"3","s":"\xE2\x82\xAC"}', 'are converted');

# an escape that only looks like a zero
is(items_of(file('{"id":"1","s":"\\\\u0000 \\u65e5"}'), 'latin1'), '1:0:bad encoding', 'an escaped backslash');

$node->safe_psql('postgres', "CREATE DATABASE sql_ascii ENCODING SQL_ASCII LOCALE 'C' TEMPLATE template0");
$node->safe_psql('sql_ascii', 'CREATE EXTENSION partitionkey');
$path = file(qq({"id":"1"}\n{"id":"2","s":"\xFF"}\n{"id":"3","s":"\xC3\xA9"}\n));
is(items_of($path, 'sql_ascii'), '1:0:1 2:11:bad encoding 3:30:3', 'SQL_ASCII');
like(items_of(file(qq({"id":"1"}\n{"id":"2","s":"\\u00e9"}\n{"id":"3"})), 'sql_ascii'), qr/^1:0:1 2:11:bad encoding 3:35:3$/, 'escapes there');
is($node->safe_psql('sql_ascii', qq{CREATE TABLE c (pk text, id text, doc jsonb, PRIMARY KEY (pk, id));
	SET client_min_messages = error;
	SELECT partitionkey.create_container('c', '{/pk}', '{4}', 'cosmos');
	SELECT partitionkey.create_items_view('c');
	\\copy c_items from '} . file(qq({"id":"1","pk":"a"}\n{"id":"2","pk":"\xFF"}\n{"id":"3","pk":"a"}\n)) . qq{' (format csv, quote e'\\x01', delimiter e'\\x02')
	SELECT count(*), (SELECT string_agg(reason, '') FROM c_quarantine) FROM c}), "c\nc_items\n2|bad encoding", 'a line of other bytes, by a view');

$node->stop;
done_testing();
