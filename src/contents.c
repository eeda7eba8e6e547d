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
	PLACE = 1, LEAF_ITEMS, LEAF_BYTES, LEAF_KEYS, LEAF_HOT, KEY, LABEL, ITEMS, BYTES, HOT
};

/*
 * One row for each of the largest keys of a leaf, with the sums of the leaf, and
 * one for a leaf without rows.
 */
static char *
contents_query(const Count *count, double threshold, int nlargest)
{
	StringInfoData sql;
	char	   *keys = CountKeyList(count->levels);
	const char *total = "sum(%s) OVER (PARTITION BY %s)::float8 / sum(%s) OVER ()";

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT place, coalesce(leaf_items, 0)::bigint, coalesce(leaf_bytes, 0)::bigint, coalesce(leaf_keys, 0),"
					 " coalesce(greatest(leaf_share, reads, writes) > %.17g, false), key,"
					 " (SELECT string_agg(coalesce(v, 'null'), ' / ' ORDER BY n) FROM jsonb_array_elements_text(key) WITH ORDINALITY AS e(v, n)),"
					 " items, bytes, key_share > %.17g FROM (%s) activity LEFT JOIN (SELECT jsonb_build_array(%s) AS key, s.* FROM (SELECT *",
					 HotLeafShare(count, threshold), threshold, CountActivity(count), keys);
	appendStringInfo(&sql, ", row_number() OVER (PARTITION BY leaf ORDER BY bytes DESC, items DESC, %s) AS rank, sum(items) OVER (PARTITION BY leaf) AS leaf_items,"
					 " sum(bytes) OVER (PARTITION BY leaf) AS leaf_bytes, count(*) OVER (PARTITION BY leaf) AS leaf_keys, greatest(", keys);
	appendStringInfo(&sql, total, "items", "leaf", "items");
	appendStringInfoString(&sql, ", ");
	appendStringInfo(&sql, total, "bytes", "leaf", "bytes");
	appendStringInfoString(&sql, ") AS leaf_share, greatest(0");
	for (int i = 1; i <= count->levels; i++)
	{
		appendStringInfoString(&sql, ", ");
		appendStringInfo(&sql, total, "items", CountKeyList(i), "items");
		appendStringInfoString(&sql, ", ");
		appendStringInfo(&sql, total, "bytes", CountKeyList(i), "bytes");
	}
	appendStringInfo(&sql, ") AS key_share FROM (%s) c) s WHERE rank <= %d) k USING (leaf) ORDER BY place, rank", CountQuery(count), nlargest);
	return sql.data;
}

static int64
number_of(HeapTuple tuple, TupleDesc desc, int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(tuple, desc, column, &isnull));
}

static KeyContents *
read_key(HeapTuple tuple, TupleDesc desc)
{
	KeyContents *key = palloc_object(KeyContents);
	bool		isnull;

	key->key = SPI_getvalue(tuple, desc, KEY);
	key->label = SPI_getvalue(tuple, desc, LABEL);
	key->items = number_of(tuple, desc, ITEMS);
	key->bytes = number_of(tuple, desc, BYTES);
	key->hot = DatumGetBool(SPI_getbinval(tuple, desc, HOT, &isnull));
	return key;
}

List *
ContentsOfLeaves(const Count *count, double threshold, int nlargest)
{
	List	   *contents = NIL;

	if (SPI_execute(contents_query(count, threshold, nlargest), true, 0) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		const Leaf *leaf = list_nth(count->leaves, number_of(tuple, desc, PLACE) - 1);
		LeafContents *last = contents == NIL ? NULL : llast(contents);
		bool		isnull;

		if (last == NULL || last->leaf != leaf)
		{
			last = palloc0_object(LeafContents);
			last->leaf = leaf;
			last->items = number_of(tuple, desc, LEAF_ITEMS);
			last->bytes = number_of(tuple, desc, LEAF_BYTES);
			last->nkeys = number_of(tuple, desc, LEAF_KEYS);
			last->hot = DatumGetBool(SPI_getbinval(tuple, desc, LEAF_HOT, &isnull));
			contents = lappend(contents, last);
		}
		if (last->nkeys > 0)
			last->largest = lappend(last->largest, read_key(tuple, desc));
	}
	return contents;
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
	int			nestlevel;

	InitMaterializedSRF(fcinfo, 0);
	if (!CountFromArguments(&count, fcinfo, -1, 1))
		return (Datum) 0;
	nestlevel = CountBegin(&count);
	contents = ContentsOfLeaves(&count, 1, 1);
	foreach(cell, contents)
	{
		total += ((LeafContents *) lfirst(cell))->items;
		most = Max(most, ((LeafContents *) lfirst(cell))->items);
	}
	foreach(cell, contents)
	{
		LeafContents *leaf = lfirst(cell);
		Datum		values[6] = {ObjectIdGetDatum(leaf->leaf->relid), Int64GetDatum(leaf->items), Int64GetDatum(leaf->bytes),
			Float8GetDatum(total == 0 ? 0 : (double) leaf->items / total), CStringGetTextDatum(bar(leaf->items, most)), 0};
		bool		nulls[6] = {false, false, false, total == 0, false, leaf->largest == NIL};

		if (leaf->largest != NIL)
			values[5] = DirectFunctionCall1(jsonb_in, CStringGetDatum(((KeyContents *) linitial(leaf->largest))->key));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	CountTellError(&count);
	CountEnd(nestlevel);
	return (Datum) 0;
}
