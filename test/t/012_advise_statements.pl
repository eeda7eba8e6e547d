# advise_key with the queries that pg_stat_statements has seen.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track = all");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION partitionkey;
	CREATE SCHEMA app;
	CREATE SCHEMA "Statistics here";
	CREATE TABLE app.sessions AS
		SELECT 't' || i % 90 AS tenant_id, 'u' || i % 900 AS user_id, i AS id, 0 AS state FROM generate_series(1, 3000) i;
});
my $advise = q{SELECT candidate, round(single::numeric, 3), round(prefix::numeric, 3), round(fan_out::numeric, 3), warnings
	FROM partitionkey.advise_key('app.sessions', '{/tenant_id,"/tenant_id,/user_id",/state}') ORDER BY candidate COLLATE "C"};

like($node->safe_psql('postgres', $advise), qr{^/state\|\|\|\|}, 'the library without its extension: no queries are known');

$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements SCHEMA "Statistics here"; SELECT "Statistics here".pg_stat_statements_reset()');
# 12 reads of one user, 6 of a tenant, 2 of all; other tables, commands, and what can't be planned without its search_path
$node->safe_psql('postgres', join(';',
	(map { "SELECT count(*) FROM app.sessions WHERE tenant_id = 't$_' AND user_id = 'u$_'" } 1 .. 12),
	(map { "UPDATE app.sessions SET state = $_ WHERE tenant_id = 't$_'" } 1 .. 6),
	(map { "SELECT max(id) FROM app.sessions WHERE id <> $_" } 1 .. 2),
	'CREATE TABLE other (a int)', 'SELECT FROM other WHERE a = 1', 'SET search_path = app', 'SELECT FROM sessions WHERE id = 7'));
my ($status, $out, $err) = $node->psql('postgres', $advise);
like($out, qr{^/tenant_id\|0\.900\|0\.000\|0\.100\|}m, 'one level: shares by calls');
like($out, qr{^/tenant_id,/user_id\|0\.600\|0\.300\|0\.100\|}m, 'two levels');
like($out, qr{^/state\|0\.000\|0\.000\|1\.000\|.*mutable: statements update /state}m, 'what is updated');
like($err, qr{NOTICE:  3 of \d+ statements in pg_stat_statements read "sessions"}, 'it is told how many read the table');
like($err, qr{DETAIL:  \d+ were left out: commands, those of another search_path}, 'and how many could not be planned');

# What the advisor itself reads is nobody's query.
(undef, my $again) = $node->psql('postgres', $advise);
is($again, $out, 'its own reads do not count');

# Given queries take their place.
like($node->safe_psql('postgres', q{SELECT candidate, single FROM partitionkey.advise_key('app.sessions', '{/id}', '{SELECT FROM app.sessions WHERE id = 1}')}),
	qr{^/id\|1$}, 'given queries take their place');

# A user who may read the table but sees only his own statements.
$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	GRANT USAGE ON SCHEMA app TO reader;
	GRANT SELECT ON app.sessions TO reader});
($status, $out, $err) = $node->psql('postgres', "SET ROLE reader; $advise");
like($out, qr{^/tenant_id\|\|\|\|}m, 'a user who may not use the statistics gets advice without them');
$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA "Statistics here" TO reader');
($status, $out, $err) = $node->psql('postgres', "SET ROLE reader; SELECT FROM app.sessions WHERE id = 5; $advise");
is($status, 0, 'a user without rights on the statistics');
like($out, qr{^/tenant_id\|0\.000\|0\.000\|1\.000\|}m, 'has his own statements') or diag($err);

# Functions of a user that planning his statement would run are not run for others, however they are called: an operator, a cast,
# a domain's check; what he does to a statement of theirs ends nothing and leaves nothing behind.
$node->safe_psql('postgres', q{
	CREATE ROLE mallory LOGIN;
	CREATE SCHEMA own AUTHORIZATION mallory;
	GRANT USAGE ON SCHEMA app TO mallory;
	GRANT SELECT ON app.sessions TO mallory;
	GRANT USAGE ON SCHEMA "Statistics here" TO mallory;
	GRANT pg_read_all_stats TO reader;
	SET ROLE mallory;
	CREATE FUNCTION own.evil() RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		$$BEGIN RAISE WARNING 'running as %', current_user; PERFORM set_config('work_mem', '77MB', false); PERFORM pg_advisory_lock(77); RETURN 1; END$$;
	CREATE FUNCTION own.cancel(int, int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'cancelled' USING ERRCODE = '57014'; END$$;
	CREATE OPERATOR own.=== (FUNCTION = own.cancel, LEFTARG = int, RIGHTARG = int);
	CREATE DOMAIN own.checked AS text CHECK (own.evil() = length(VALUE));
	CREATE VIEW own.seen AS SELECT id FROM app.sessions WHERE id = own.evil();
	RESET ROLE;
	CREATE FUNCTION app.two() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 2; END';});
my $superuser = $node->safe_psql('postgres', 'SELECT "Statistics here".pg_stat_statements_reset(); SELECT current_user');
$superuser =~ s/.*\n//s;
$node->psql('postgres', $_) foreach map { "SET SESSION AUTHORIZATION mallory; $_" }
	'SELECT FROM app.sessions WHERE id = own.evil()',
	'SELECT FROM app.sessions WHERE id = 1 AND 1 OPERATOR(own.===) 2',
	q{SELECT FROM app.sessions WHERE tenant_id = current_setting('application_name')::own.checked},
	'SELECT FROM own.seen',
	'SELECT id, own.evil() FROM app.sessions WHERE id = 1',
	'SELECT FROM app.sessions WHERE user_id = app.two()::text';
($status, $out, $err) = $node->psql('postgres', "$advise; SELECT current_user, current_setting('work_mem'), count(*) FROM pg_locks WHERE locktype = 'advisory'");
is($status, 0, 'statements of others end nothing');
unlike($err, qr{running as}, 'their functions do not run');
like($err, qr{NOTICE:  1 of \d+ statements}, 'but those of superusers');
like($out, qr{\n\Q$superuser\E\|4MB\|0$}, 'and nothing is left behind');
($status, $out, $err) = $node->psql('postgres', "SET SESSION AUTHORIZATION mallory; SELECT single FROM partitionkey.advise_key('app.sessions', '{/id}')");
like($err, qr{running as mallory}, 'his own run for himself') or diag($out);
($status, $out, $err) = $node->psql('postgres', "SET SESSION AUTHORIZATION reader; $advise");
unlike($err, qr{running as}, 'a user without his rights does not plan his statements');
like($out, qr{^/tenant_id\|\|\|\|}m, 'and has none of his own');
unlike($err, qr{pg_stat_statements}, 'of which there is nothing to tell');

# Locks are not waited for: not on another table of a statement, nor if a statement that writes would have to.
$node->safe_psql('postgres', q{
	CREATE TABLE app.other AS SELECT 1 AS id;
	SELECT "Statistics here".pg_stat_statements_reset();
	SELECT FROM app.sessions JOIN app.other USING (id);
	SELECT FROM app.other;
	UPDATE app.sessions SET state = 1 WHERE id = 0;
	SELECT FROM app.sessions WHERE tenant_id = 't1'});
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK app.other; LOCK app.sessions IN SHARE MODE');
($status, $out, $err) = $node->psql('postgres', "SET statement_timeout = '60s'; $advise");
is($status, 0, 'locks are not waited for');
like($err, qr{NOTICE:  1 of \d+ statements}, 'what meets one is left out');
$locker->quit;
($status, $out, $err) = $node->psql('postgres', $advise);
like($err, qr{NOTICE:  3 of \d+ statements}, 'without locks all count');

$node->stop;
done_testing();
