/*
 * contents.c
 *		What each leaf of a container holds; the map of partitions for psql.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include <math.h>

#include "contents.h"

/* The length of the bar of the fullest leaf. */
#define BAR_LENGTH			30

/* Columns of the query. */
enum
{
	PLACE = 1, LEVEL, KEY, LABEL, ITEMS, BYTES, PARTS, HOT
};

/*
 * The keys of a level, ranked among those of a leaf with the same values
 * before; r1, r2, r3 are the ranks of a key and its prefixes.
 */
static void
append_ranks(StringInfo sql, int level, int nparts, double threshold)
{
	char	   *keys = CountKeyList(level);
	char	   *above = level > 1 ? psprintf(", %s", CountKeyList(level - 1)) : "";
	const char *ranks_above = level > 2 ? "r1, r2" : "r1";

	appendStringInfo(sql, ", s%d AS (SELECT *, row_number() OVER (PARTITION BY leaf%s ORDER BY bytes DESC, items DESC, k%d) AS r%d,"
					 " sum(items) OVER (PARTITION BY %s) > %.17g * sum(items) OVER ()"
					 " OR sum(bytes) OVER (PARTITION BY %s) > %.17g * sum(bytes) OVER () AS above FROM c%d)",
					 level, above, level, level, keys, threshold, keys, threshold, level);
	if (level == 1)
		appendStringInfo(sql, ", p1 AS (SELECT *, above AS hot FROM s1 WHERE r1 <= %d)", nparts);
	else
		appendStringInfo(sql, ", p%d AS (SELECT s%d.*, %s, p.hot OR above AS hot"
						 " FROM s%d JOIN (SELECT leaf%s, hot, %s FROM p%d) p USING (leaf%s) WHERE r%d <= %d)",
						 level, level, ranks_above, level, above, ranks_above, level - 1, above, level, nparts);
}

/* Leaves and keys, each with its parts after it. */
static char *
contents_query(const Count *count, double threshold, const int *nparts)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "WITH %s", CountRollup(count));
	for (int level = 1; level <= count->levels; level++)
		append_ranks(&sql, level, nparts[level - 1], threshold);
	appendStringInfo(&sql, " SELECT place, level, key, coalesce(key ->> -1, 'null'), items::bigint, bytes::bigint, parts, hot FROM (%s) a"
					 " JOIN (SELECT 0 AS level, NULL::jsonb AS key, leaf, coalesce(items, 0) AS items, coalesce(bytes, 0) AS bytes,"
					 " coalesce(parts, 0) AS parts,"
					 " coalesce(greatest(items / sum(items) OVER (), bytes / sum(bytes) OVER (), reads, writes) > %.17g, false) AS hot,"
					 " NULL::bigint AS r1, NULL::bigint AS r2, NULL::bigint AS r3 FROM (%s) a LEFT JOIN"
					 " (SELECT leaf, sum(items) AS items, sum(bytes) AS bytes, count(*) AS parts FROM c1 GROUP BY leaf) l USING (leaf)",
					 CountLeaves(count), HotLeafShare(count, threshold), CountActivity(count));
	for (int level = 1; level <= count->levels; level++)
		appendStringInfo(&sql, " UNION ALL SELECT %d, jsonb_build_array(%s), leaf, items, bytes, parts, hot, r1, %s, %s FROM p%d",
						 level, CountKeyList(level), level > 1 ? "r2" : "NULL", level > 2 ? "r3" : "NULL", level);
	appendStringInfoString(&sql, ") k USING (leaf) ORDER BY place, r1 NULLS FIRST, r2 NULLS FIRST, r3 NULLS FIRST");
	return sql.data;
}

static int64
number_of(HeapTuple tuple, TupleDesc desc, int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(tuple, desc, column, &isnull));
}

static Contents *
read_contents(const Count *count, HeapTuple tuple, TupleDesc desc)
{
	Contents   *contents = palloc0_object(Contents);
	bool		isnull;

	contents->level = DatumGetInt32(SPI_getbinval(tuple, desc, LEVEL, &isnull));
	contents->leaf = list_nth(count->leaves, number_of(tuple, desc, PLACE) - 1);
	contents->key = SPI_getvalue(tuple, desc, KEY);
	contents->label = SPI_getvalue(tuple, desc, LABEL);
	contents->items = number_of(tuple, desc, ITEMS);
	contents->bytes = number_of(tuple, desc, BYTES);
	contents->nparts = number_of(tuple, desc, PARTS);
	contents->hot = DatumGetBool(SPI_getbinval(tuple, desc, HOT, &isnull));
	return contents;
}

List *
ContentsOfLeaves(const Count *count, double threshold, const int *nparts)
{
	List	   *leaves = NIL;
	Contents   *path[MAX_LEVELS + 1];	/* the leaf and keys that what follows is a part of */

	if (SPI_execute(contents_query(count, threshold, nparts), true, 0) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Contents   *contents = read_contents(count, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);

		if (contents->level == 0)
			leaves = lappend(leaves, contents);
		else
			path[contents->level - 1]->parts = lappend(path[contents->level - 1]->parts, contents);
		path[contents->level] = contents;
	}
	return leaves;
}

/* A bar of characters that every encoding has; what is not nothing is seen. */
static char *
bar(int64 items, int64 most)
{
	int			length = most == 0 ? 0 : (int) ceil((double) BAR_LENGTH * items / most);
	char	   *result = palloc(length + 1);

	memset(result, '#', length);
	result[length] = '\0';
	return result;
}

/*
 * partition_map(container regclass, sample float8)
 * returns setof (partition regclass, items bigint, bytes bigint, share float8, bar text, largest_key jsonb)
 */
PG_FUNCTION_INFO_V1(partition_map);
Datum
partition_map(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Count		count;
	List	   *contents;
	ListCell   *cell;
	int64		total = 0;
	int64		most = 0;
	int			nparts = 1;
	int			nestlevel;

	InitMaterializedSRF(fcinfo, 0);
	if (!CountFromArguments(&count, fcinfo, -1, 1))
		return (Datum) 0;
	nestlevel = CountBegin(&count);
	count.levels = 1;
	contents = ContentsOfLeaves(&count, 1, &nparts);
	foreach(cell, contents)
	{
		total += ((Contents *) lfirst(cell))->items;
		most = Max(most, ((Contents *) lfirst(cell))->items);
	}
	foreach(cell, contents)
	{
		Contents   *leaf = lfirst(cell);
		Datum		values[6] = {ObjectIdGetDatum(leaf->leaf->relid), Int64GetDatum(leaf->items), Int64GetDatum(leaf->bytes),
			Float8GetDatum(total == 0 ? 0 : (double) leaf->items / total), CStringGetTextDatum(bar(leaf->items, most)), 0};
		bool		nulls[6] = {false, false, false, total == 0, false, leaf->parts == NIL};

		if (leaf->parts != NIL)
			values[5] = DirectFunctionCall1(jsonb_in, CStringGetDatum(((Contents *) linitial(leaf->parts))->key));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	CountTellError(&count);
	CountEnd(nestlevel);
	return (Datum) 0;
}
