# A key's position is that of its UTF-8 text, whatever the server encoding.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# The same characters, given by their code points in each encoding.
my %characters = (
	UTF8 => q{U&'\00C5ngstr\00F6m'::text},
	LATIN1 => q{convert_from('\xc56e67737472f66d', 'LATIN1')},
	WIN1252 => q{convert_from('\xc56e67737472f66d', 'WIN1252')},
	SQL_ASCII => q{convert_from('\xc3856e67737472c3b66d', 'SQL_ASCII')});
my %position;

foreach my $encoding (sort keys %characters)
{
	my $database = lc $encoding;
	my $text = $characters{$encoding};

	$node->safe_psql('postgres', "CREATE DATABASE $database ENCODING $encoding LOCALE 'C' TEMPLATE template0");
	$node->safe_psql($database, qq{
		CREATE EXTENSION partitionkey;
		CREATE TABLE t (k text NOT NULL, j jsonb NOT NULL, PRIMARY KEY (k, j));
		SELECT partitionkey.create_container('t', '{/k,/j}', '{8,4}', 'cosmos');
		INSERT INTO t SELECT $text || i, to_jsonb($text || i) FROM generate_series(1, 100) i;
	});
	$position{$encoding} = $node->safe_psql($database, qq{
		SELECT partitionkey.hash_position($text), partitionkey.hash_position($text, 'cosmos'),
			partitionkey.hash_position($text\::varchar), partitionkey.hash_suffix('b', $text, 100000), partitionkey.hash_suffix('b', $text, 100000, 'xxhash'), partitionkey.hash_position(to_jsonb($text)),
			partitionkey.effective_partition_key(jsonb_build_array($text)),
			partitionkey.effective_partition_key(jsonb_build_array(repeat($text, 20)), 'Hash', 1);
		SELECT string_agg(c::text, ',' ORDER BY p) FROM (SELECT tableoid::regclass::text AS p, count(*) AS c FROM t GROUP BY 1) x;
	});
	is($node->safe_psql($database, qq{
		SELECT partitionkey.split_synthetic_key(partitionkey.synthetic_key_strict($text, 'a', 1, 'b'), $text) = '{a,1,b}',
			partitionkey.synthetic_key('a', $text, to_jsonb($text)) = 'a_' || $text || '_' || $text}), 't|t', "$encoding: texts are joined and split");
	is($node->safe_psql($database, q{SELECT sum(items), sum(misplaced) FROM partitionkey.verify('t')}), '100|0', "$encoding: rows are in place");
	is($node->safe_psql($database, qq{SELECT count(*) FROM t WHERE k = $text || 7}), '1', "$encoding: and found");
	is($node->safe_psql($database, qq{SELECT count(*) FROM t, partitionkey.partition_of('t', jsonb_build_array(k, j)) p WHERE p = t.tableoid}), '100',
		"$encoding: and named by partition_of");
}
# Bytes that are no UTF-8 are taken as they are where nobody knows what they mean. By python3:
# int(hashlib.md5(b'\xe9').hexdigest(), 16) % 100000
is($node->safe_psql('sql_ascii', q{SELECT partitionkey.hash_suffix('b', E'\351', 100000)}), 'b_2791', 'bytes of SQL_ASCII have a digest');
foreach my $encoding ('LATIN1', 'WIN1252', 'SQL_ASCII')
{
	is($position{$encoding}, $position{UTF8}, "$encoding: same positions as UTF8");
}
# by the reference implementation of test/golden, for the UTF-8 bytes C3 85 6E 67 73 74 72 C3 B6 6D
like($position{UTF8}, qr/^4D64DF474BCD5076\|0252D07D78223C73\|/, 'the positions are right');

# the limit of a value counts the UTF-8 bytes, too
my ($ret, $stdout, $stderr) = $node->psql('latin1', q{INSERT INTO t VALUES (repeat(convert_from('\xe9', 'LATIN1'), 1024), '1')});
is($ret, 0, '1,024 characters of two bytes are a key');
($ret, $stdout, $stderr) = $node->psql('latin1', q{INSERT INTO t VALUES (repeat(convert_from('\xe9', 'LATIN1'), 1025), '1')});
like($stderr, qr/2050 bytes long/, '1,025 are too long');

$node->stop;
done_testing();
