# pg_dump and restore, plain, custom and directory format, serial and parallel:
# the same rows in the same leaves, the same containers.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql('postgres', q{
	CREATE DATABASE source;
	CREATE ROLE app;
});
$node->safe_psql('source', q{
	CREATE EXTENSION partitionkey;
	CREATE SCHEMA "Odd schema" AUTHORIZATION app;
	CREATE TABLE logins (tenant text NOT NULL, usr text NOT NULL, id int GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (tenant, usr, id));
	INSERT INTO logins (tenant, usr) SELECT 't' || i % 97, 'u' || i % 13 FROM generate_series(1, 5000) i;
	SELECT partitionkey.create_container('logins', '{/tenant,/usr}', '{4,4}');
	CREATE TABLE "Odd schema"."Items" ("Key ""x""" jsonb NOT NULL, flag bool NOT NULL, n numeric NOT NULL);
	INSERT INTO "Odd schema"."Items" SELECT to_jsonb(i), i % 3 = 0, i / 7.0 FROM generate_series(1, 500) i;
	INSERT INTO "Odd schema"."Items" VALUES ('null', true, 0), ('{}', false, 'NaN'), ('"é"', true, 1e400);
	SET search_path = "Odd schema";
	SELECT partitionkey.create_container('"Items"', ARRAY[$$/'Key "x"'$$, '/flag', '/n'], '{4,2,2}', 'cosmos');
	ALTER TABLE "Items" OWNER TO app;
	CREATE TABLE later (a uuid NOT NULL, b timestamptz NOT NULL, c real NOT NULL);
	SELECT partitionkey.create_container('later', '{/a,/b,/c}', '{8}');
	INSERT INTO later SELECT md5(i::text)::uuid, '2025-01-01Z'::timestamptz + i * interval '1 h', i / 10.0 FROM generate_series(1, 500) i;
	ALTER TABLE later RENAME COLUMN c TO renamed;
	ALTER TABLE later RENAME TO renamed;
	CALL partitionkey.isolate_key('renamed', '["c4ca4238-a0b9-2382-0dcc-509a6f75849b"]');
	SET search_path = public;
	SELECT partitionkey.create_container_from_definition('{"id": "Orders", "partitionKey": {"paths": ["/TenantId", "/a/\\"b c\\""], "kind": "MultiHash", "version": 2}, "defaultTtl": -1,
		"indexingPolicy": {"includedPaths": [{"path": "/price/?"}, {"path": "/tags/[]/?"}], "compositeIndexes": [[{"path": "/price"}, {"path": "/_ts", "order": "descending"}]]},
		"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/email"]}]}}', key_types => '{text,jsonb}', partitions => '{2,2}');
	INSERT INTO orders SELECT 't' || i % 10, to_jsonb(i % 7), i, jsonb_build_object('email', i, 'price', i, 'tags', jsonb_build_array(i % 3)), now() FROM generate_series(1, 300) i;
});

# Every row with its leaf, and what the extension knows.
my $contents = q{
	SELECT tableoid::regclass::text, * FROM logins ORDER BY 1, 2, 3, 4;
	SELECT tableoid::regclass::text, * FROM "Odd schema"."Items" ORDER BY 1, 2, 3, 4;
	SELECT tableoid::regclass::text, * FROM "Odd schema".renamed ORDER BY 1, 2;
	SELECT tableoid::regclass::text, * FROM orders ORDER BY 1, 2, 3, 4;
	SELECT partitionkey.container_definition('orders');
	SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN (SELECT 'orders'::regclass UNION SELECT partition FROM partitionkey.physical_partitions WHERE container = 'orders'::regclass) ORDER BY indexrelid::regclass::text;
	SELECT container, paths, columns, hash, physical_partitions FROM partitionkey.containers ORDER BY container::text;
	SELECT container, partitions, isolated FROM partitionkey.registry ORDER BY container::text;
	SELECT container, partition, min_inclusive, max_exclusive FROM partitionkey.physical_partitions ORDER BY container::text, partition::text;
};
my $before = $node->safe_psql('source', $contents);
ok(length($before) > 100_000, 'there is something to compare');
like($before, qr/renamed\|\{8,1,1\}\|\[\["c4ca4238-a0b9-2382-0dcc-509a6f75849b"\]\]/, 'an isolated key');

sub check_restored
{
	my ($database, $how) = @_;

	is($node->safe_psql($database, $contents), $before, "$how: same rows in the same leaves");
	foreach my $container ('logins', '"Odd schema"."Items"', '"Odd schema".renamed', 'orders')
	{
		is($node->safe_psql($database, "SELECT sum(misplaced) FROM partitionkey.verify('$container')"),
			'0', "$how: nothing misplaced in $container");
	}
	is($node->safe_psql($database, q{SELECT count(*) FROM logins, partitionkey.partition_of('logins', jsonb_build_array(tenant, usr)) p WHERE logins.tableoid = p}),
		'5000', "$how: partition_of still names the leaf");
	# the container lives on: identity, registry, dropping
	$node->safe_psql($database, q{
		INSERT INTO logins (tenant, usr) VALUES ('t1', 'u1');
		ALTER TABLE "Odd schema".renamed RENAME COLUMN renamed TO again;
		DROP TABLE "Odd schema"."Items";
	});
	my ($status, $stdout, $stderr) = $node->psql($database, q{INSERT INTO orders VALUES ('t1', '1', 'x', '{"email": 1}')});
	like($stderr, qr/duplicate key value violates unique constraint/, "$how: the definition's unique key holds");
	is($node->safe_psql($database, q{SELECT string_agg(container::text || columns::text, ' ' ORDER BY container::text) FROM partitionkey.containers}),
		'"Odd schema".renamed{a,b,again} logins{tenant,usr} orders{tenantid,"b c"}', "$how: the registry is alive");
}

my $dir = PostgreSQL::Test::Utils::tempdir;

$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'source' ], 'plain dump');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'plain' ], 'plain restore');
check_restored('plain', 'plain');

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'source' ], 'custom dump');
$node->safe_psql('postgres', 'CREATE DATABASE custom');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'custom', '-j2', "$dir/custom" ], 'custom restore with two jobs');
check_restored('custom', 'custom -j2');

$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dir/directory", 'source' ], 'directory dump with two jobs');
$node->safe_psql('postgres', 'CREATE DATABASE directory');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'directory', "$dir/directory" ], 'directory restore');
check_restored('directory', 'directory');

$node->command_ok([ 'pg_dump', '--load-via-partition-root', '-f', "$dir/root.sql", 'source' ], 'dump by way of the roots');
$node->safe_psql('postgres', 'CREATE DATABASE root');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/root.sql", 'root' ], 'restore by way of the roots');
check_restored('root', 'by way of the roots');

# A dump of some tables leaves the registry behind: declared again, it keeps its tree.
$node->command_ok([ 'pg_dump', '-t', 'logins*', '-f', "$dir/table.sql", 'source' ], 'dump of a table');
$node->safe_psql('postgres', 'CREATE DATABASE one');
$node->safe_psql('one', 'CREATE EXTENSION partitionkey');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/table.sql", 'one' ], 'restore of a table');
$node->safe_psql('one', q{SELECT partitionkey.create_container('logins', '{/tenant,/usr}')});
is($node->safe_psql('one', q{SELECT count(*), sum(items), sum(misplaced) FROM partitionkey.verify('logins')}),
	'16|5000|0', 'declared again, the container has its leaves and rows');

$node->stop;
done_testing();
