/*
 * stats.c
 *		Counting what a container holds, by key and by leaf; logical partitions.
 *
 * The rows are grouped by key and leaf.  PostgreSQL then groups each leaf by
 * itself, with a hash table for the keys of one leaf at a time, which is faster
 * than to group the whole; what is grouped further has few rows.
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include <math.h>

#include "privileges.h"
#include "puid.h"
#include "sql.h"
#include "stats.h"

/* The header of a row, with its line pointer. */
#define ROW_OVERHEAD		28

/* So many hash tables at once may each have work_mem, as a query with some joins has them. */
#define FULL_HASH_TABLES	8

/* Percentage of the blocks to read, at least. */
#define MIN_SAMPLE			1e-6

/* Fewer rows read or written than this say nothing about a leaf. */
#define MIN_ACTIVITY		100

/* A leaf is hot if it has more than so many even shares. */
#define UNEVEN				1.5

bool
CountFromArguments(Count *count, FunctionCallInfo fcinfo, int levels, int sample)
{
	if (PG_ARGISNULL(0))
		return false;
	RequireSelect(PG_GETARG_OID(0));
	count->container = ContainerLookup(PG_GETARG_OID(0), false);
	count->leaves = ContainerLeaves(count->container, NULL, 0);
	count->levels = levels < 0 || PG_ARGISNULL(levels) ? count->container->levels : PG_GETARG_INT32(levels);
	count->sample = PG_ARGISNULL(sample) ? 100 : PG_GETARG_FLOAT8(sample);
	if (count->levels < 1 || count->levels > count->container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("levels must be between 1 and %d, the number of paths of container \"%s\"",
						count->container->levels, get_rel_name(count->container->relid))));
	if (!(count->sample >= MIN_SAMPLE && count->sample <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLESAMPLE_ARGUMENT),
				 errmsg("sample must be a percentage from %g to 100", MIN_SAMPLE)));
	return true;
}

int
CountBegin(const Count *count)
{
	int			nestlevel;
	int			share = work_mem / Max(1, list_length(count->leaves)) * FULL_HASH_TABLES;

	SPI_connect();
	nestlevel = SqlBegin();
	(void) set_config_option("enable_partitionwise_aggregate", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	/* All leaves have hash tables at the same time. */
	if (share < work_mem)
		(void) set_config_option("work_mem", psprintf("%d", Max(share, Min(work_mem, 1024))),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
CountEnd(int nestlevel)
{
	SqlEnd(nestlevel);
	SPI_finish();
}

char *
KeyExpression(const Container *container, int level)
{
	const char *column = quote_identifier(container->columns[level]);

	/* A PUID is placed by its family, so that this is its key. */
	if (PuidTypeOf(getBaseType(ContainerColumnType(container, level))) == PUID_ITSELF)
		return psprintf("partitionkey.family(%s)", column);
	return pstrdup(column);
}

char *
RowSize(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData values;
	int			fixed = ROW_OVERHEAD;

	initStringInfo(&values);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		/* What is not stored ('v': a virtual generated column) has no size. */
		if (att->attisdropped || att->attgenerated == 'v')
			continue;
		if (att->attnotnull && att->attlen > 0)
			fixed += att->attlen;
		else if (att->attnotnull)
			appendStringInfo(&values, " + pg_column_size(%s)", quote_identifier(NameStr(att->attname)));
		else
			appendStringInfo(&values, " + coalesce(pg_column_size(%s), 0)", quote_identifier(NameStr(att->attname)));
	}
	table_close(rel, NoLock);
	return psprintf("%d::bigint%s", fixed, values.data);
}

char *
CountKeyList(int levels)
{
	static const char *const lists[] = {"k1", "k1, k2", "k1, k2, k3"};

	StaticAssertStmt(lengthof(lists) == MAX_LEVELS, "a list for each number of levels");
	return pstrdup(lists[levels - 1]);
}

char *
CountLeaves(const Count *count)
{
	StringInfoData sql;
	ListCell   *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT leaf, place FROM unnest('{");
	foreach(cell, count->leaves)
		appendStringInfo(&sql, "%s%u", cell == list_head(count->leaves) ? "" : ",", ((Leaf *) lfirst(cell))->relid);
	appendStringInfoString(&sql, "}'::oid[]) WITH ORDINALITY AS l(leaf, place)");
	return sql.data;
}

/* Whether leaves have ranges of different sizes, so that some were made later than others, by a split or merge. */
static bool
differ_in_age(const Count *count)
{
	int			first = -1;
	ListCell   *cell;

	foreach(cell, count->leaves)
	{
		const Leaf *leaf = lfirst(cell);
		int			bits = 0;

		for (int i = 0; i < leaf->levels; i++)
			bits += leaf->ranges[i].bits;
		if (first < 0)
			first = bits;
		if (leaf->regular && bits != first)
			return true;
	}
	return false;
}

char *
CountActivity(const Count *count)
{
	/* Rows that were loaded or copied are among those inserted, unless the statistics were reset since. */
	const char *comparable = differ_in_age(count) ? "bool_and(inserted = 0 OR inserted < rows) OVER ()" : "true";
	char	   *shares = psprintf("SELECT leaf, place, CASE WHEN %s AND sum(reads) OVER () >= %d THEN reads / sum(reads) OVER () END AS reads,"
					" CASE WHEN %s AND sum(writes) OVER () >= %d THEN writes / sum(writes) OVER () END AS writes FROM (SELECT leaf, place,"
					" pg_stat_get_tuples_inserted(leaf) AS inserted, (SELECT reltuples FROM pg_class WHERE oid = leaf) AS rows,"
					" (pg_stat_get_tuples_returned(leaf) + coalesce((SELECT sum(pg_stat_get_tuples_returned(indexrelid))"
					" FROM pg_index WHERE indrelid = leaf), 0))::float8 AS reads, (pg_stat_get_tuples_inserted(leaf)"
					" + pg_stat_get_tuples_updated(leaf) + pg_stat_get_tuples_deleted(leaf))::float8 AS writes FROM (%s) l) a",
					comparable, MIN_ACTIVITY, comparable, MIN_ACTIVITY, CountLeaves(count));

	/* Not a part of the query that counts: parallel workers tell what they have read when they end, which may be before. */
	return linitial(SqlStrings("SELECT format('SELECT * FROM unnest(%%L::oid[], %%L::bigint[], %%L::float8[], %%L::float8[])"
							   " AS a(leaf, place, reads, writes)',"
							   " array_agg(leaf), array_agg(place), array_agg(reads), array_agg(writes)) FROM (%s) a",
							   shares));
}

char *
CountQuery(const Count *count)
{
	StringInfoData sql;
	char	   *scale = count->sample < 100 ? psprintf(" * %.17g", 100 / count->sample) : "";

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < count->levels; i++)
		appendStringInfo(&sql, "%s AS k%d, ", KeyExpression(count->container, i), i + 1);
	appendStringInfo(&sql, "tableoid AS leaf, (count(*)%s)::bigint AS items, (sum(%s)%s)::bigint AS bytes FROM %s",
					 scale, RowSize(count->container->relid), scale, QualifiedName(count->container->relid));
	if (count->sample < 100)
		appendStringInfo(&sql, " TABLESAMPLE SYSTEM (%.17g)", count->sample);
	appendStringInfoString(&sql, " GROUP BY tableoid");
	for (int i = 0; i < count->levels; i++)
		appendStringInfo(&sql, ", %d", i + 1);
	return sql.data;
}

char *
CountRollup(const Count *count)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "c%d AS MATERIALIZED (SELECT *, 0::bigint AS parts FROM (%s) c)", count->levels, CountQuery(count));
	for (int i = count->levels - 1; i > 0; i--)
		appendStringInfo(&sql, ", c%d AS MATERIALIZED (SELECT %s, leaf, sum(items)::bigint AS items, sum(bytes)::bigint AS bytes,"
						 " count(*) AS parts FROM c%d GROUP BY %s, leaf)",
						 i, CountKeyList(i), i + 1, CountKeyList(i));
	return sql.data;
}

void
CountTellError(const Count *count)
{
	double		factor = 100 / count->sample - 1;

	if (factor <= 0)
		return;
	ereport(NOTICE,
			(errmsg("items and bytes are estimated from a sample of %g %% of the blocks", count->sample),
			 errdetail("The relative error to expect is sqrt(%.6g / blocks), where \"blocks\" is the number of blocks"
					   " that have rows of the key:"
					   " at most its items, at least its bytes / %d. That is %.2g %% for 1,000 blocks, %.2g %% for 100,000."
					   " Keys of which no row was read are missing.",
					   factor, BLCKSZ, 100 * sqrt(factor / 1000), 100 * sqrt(factor / 100000))));
}

double
ThresholdArgument(double threshold)
{
	if (!(threshold >= 0 && threshold <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold must be a share from 0 to 1"),
				 errhint("Write 0.2 for 20 per cent.")));
	return threshold;
}

double
HotLeafShare(const Count *count, double threshold)
{
	return Max(threshold, UNEVEN / Max(1, list_length(count->leaves)));
}

/* Whether each key lies in one leaf, as it does where no deeper level divides. */
static bool
one_leaf_a_key(const Count *count)
{
	ListCell   *cell;

	foreach(cell, count->leaves)
	{
		Leaf	   *leaf = lfirst(cell);

		if (!leaf->regular || leaf->levels > count->levels)
			return false;
	}
	return true;
}

/*
 * logical_partitions(container regclass, levels int, sample float8)
 * returns setof (key jsonb, items bigint, bytes bigint, share float8, partitions regclass[])
 */
PG_FUNCTION_INFO_V1(logical_partitions);
Datum
logical_partitions(PG_FUNCTION_ARGS)
{
	Count		count;
	char	   *keys;
	char	   *counted;
	int			nestlevel;

	InitMaterializedSRF(fcinfo, 0);
	if (!CountFromArguments(&count, fcinfo, 1, 2))
		return (Datum) 0;
	nestlevel = CountBegin(&count);
	keys = CountKeyList(count.levels);
	if (one_leaf_a_key(&count))
		counted = psprintf("SELECT *, ARRAY[leaf::regclass] AS leaves FROM (%s) c", CountQuery(&count));
	else
		counted = psprintf("SELECT %s, sum(items)::bigint AS items, sum(bytes)::bigint AS bytes,"
						   " array_agg(leaf::regclass ORDER BY place) AS leaves FROM (%s) c JOIN (%s) l USING (leaf) GROUP BY %s",
						   keys, CountQuery(&count), CountLeaves(&count), keys);
	SqlIntoResult(fcinfo, psprintf("SELECT jsonb_build_array(%s), items, bytes, items / (sum(items) OVER ())::float8, leaves"
								   " FROM (%s) k ORDER BY items DESC, bytes DESC, %s", keys, counted, keys));
	CountTellError(&count);
	CountEnd(nestlevel);
	return (Datum) 0;
}
