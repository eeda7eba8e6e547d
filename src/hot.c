/*
 * hot.c
 *		What carries more than its share: hot keys, levels and leaves.
 *
 * Rows are counted once, by full key and leaf; the counts are added up for each
 * shorter prefix.  The server's statistics give the reads and writes of leaves,
 * and whether the values of the first level grow as rows are written.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "puid.h"
#include "sql.h"
#include "stats.h"
#include "timelike.h"

/* Values that grow with time: the correlation of value and place, and items a value, from which on they count as such. */
#define TIME_CORRELATION	0.9
#define TIME_ITEMS			20

/* Numbers that are counted up look like times now and then, but not so many in a row. */
#define TIME_VALUES			40

/* Columns of the query. */
enum
{
	KIND = 1, LEVEL, KEY, ITEMS, BYTES, READS, WRITES, LEAVES, PART, LARGEST, VALUES, LATEST
};

typedef struct Row
{
	char		kind;			/* 'k'ey, 'l'atest value of level 1, 'p'artition */
	int			level;			/* of a key: how many values it has */
	Jsonb	   *key;			/* of a partition, its largest key */
	char	   *text;			/* the same, as text */
	double		shares[4];		/* of the container's items, bytes, reads, writes; -1 if not known */
	ArrayType  *leaves;			/* that hold it */
	double		part;			/* a key's part of these leaves' items; 1 for a partition with a single key;
								 * of the latest value, how many items a value has */
	double		largest;		/* the largest share that a key with one more value has in it */
	double		values;			/* how many keys of this level there are */
	bool		time_like;		/* the latest values look like times */
} Row;

typedef struct Hot
{
	Count		count;
	double		threshold;
	double		uneven;			/* the share from which on a leaf is hot */
	Row		   *rows;
	int			nrows;
	ReturnSetInfo *result;
} Hot;

static const char *const measures[] = {"items", "bytes", "reads", "writes"};

/*
 * Those keys of a level that are above the threshold.  A key's largest
 * successor is among those of the next level, or is small enough.
 */
static void
append_hot_keys(StringInfo sql, const Hot *hot, int level)
{
	char	   *keys = CountKeyList(level);

	appendStringInfo(sql, "%sSELECT %d AS level, jsonb_build_array(%s) AS key, k.items, k.bytes, holders, values"
					 " FROM (SELECT %s, sum(items)::float8 AS items, sum(bytes)::float8 AS bytes, array_agg(leaf) AS holders,"
					 " count(*) OVER () AS values FROM c%d GROUP BY %s) k, total WHERE greatest(k.items / total.items, k.bytes / total.bytes) > %.17g",
					 level > 1 ? " UNION ALL " : "", level, keys, keys, level, keys, hot->threshold);
}

/* The rows for the leaves, with the largest key of those that are hot. */
static void
append_leaves(StringInfo sql, const Hot *hot)
{
	int			levels = hot->count.levels;
	char	   *keys = CountKeyList(levels);

	appendStringInfo(sql, " UNION ALL SELECT 'p', 0, CASE WHEN greatest(items, bytes, reads, writes) > %.17g THEN"
					 " (SELECT jsonb_build_array(%s) FROM c%d WHERE c%d.leaf = p.leaf ORDER BY items DESC, %s LIMIT 1) END,"
					 " items, bytes, reads, writes, ARRAY[leaf], (keys = 1)::int, largest, 0, NULL, place"
					 " FROM (SELECT leaf, place, keys, leaf.items / total.items AS items, leaf.bytes / total.bytes AS bytes,"
					 " leaf.largest / leaf.items AS largest, reads, writes FROM total, activity LEFT JOIN leaf USING (leaf)) p",
					 hot->uneven, keys, levels, levels, keys);
}

static char *
hot_query(const Hot *hot)
{
	StringInfoData sql;
	int			levels = hot->count.levels;

	initStringInfo(&sql);
	appendStringInfo(&sql, "WITH %s, total AS (SELECT sum(items)::float8 AS items, sum(bytes)::float8 AS bytes FROM c1), activity AS (%s),"
					 " leaf AS (SELECT leaf, sum(items)::float8 AS items, sum(bytes)::float8 AS bytes, count(*) AS keys,"
					 " max(items) AS largest FROM c%d GROUP BY leaf), hot AS MATERIALIZED (", CountRollup(&hot->count), CountActivity(&hot->count), levels);
	for (int level = 1; level <= levels; level++)
		append_hot_keys(&sql, hot, level);
	appendStringInfoString(&sql, "), next AS (SELECT level - 1 AS level, key - -1 AS key, max(items) AS items FROM hot WHERE level > 1 GROUP BY 1, 2)"
						   " SELECT 'k' AS kind, level, hot.key, hot.items / total.items AS items, hot.bytes / total.bytes AS bytes,"
						   " NULL::float8 AS reads, NULL::float8 AS writes, holders,"
						   " hot.items / (SELECT sum(leaf.items) FROM leaf WHERE leaf.leaf = ANY (holders)) AS part,"
						   " next.items / hot.items AS largest, values::float8, NULL::text[] AS latest, 0 AS place"
						   " FROM total, hot LEFT JOIN next USING (level, key)");
	append_leaves(&sql, hot);
	/* the latest value of the first level */
	appendStringInfo(&sql, " UNION ALL (SELECT 'l', 1, jsonb_build_array(k1), sum(c1.items) / max(total.items), NULL, NULL, NULL, array_agg(leaf),"
					 " max(total.items) / count(*) OVER (), 0, count(*) OVER (),"
					 " ARRAY(SELECT coalesce(jsonb_build_array(k1) ->> 0, '') FROM (SELECT DISTINCT k1 FROM c1 ORDER BY k1 DESC LIMIT %d) latest), 0"
					 " FROM c1, total GROUP BY k1 ORDER BY k1 DESC LIMIT 1)", TIME_VALUES);
	appendStringInfoString(&sql, " ORDER BY kind, level, items DESC, bytes DESC, place, key");
	return sql.data;
}

static double
number_of(HeapTuple tuple, TupleDesc desc, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, desc, column, &isnull);

	return isnull ? -1 : DatumGetFloat8(value);
}

static bool
all_time_like(ArrayType *texts)
{
	Datum	   *elements;
	int			n;

	deconstruct_array_builtin(texts, TEXTOID, &elements, NULL, &n);
	for (int i = 0; i < n; i++)
		if (!TimeLikeText(VARDATA_ANY(elements[i]), VARSIZE_ANY_EXHDR(elements[i])))
			return false;
	return true;
}

static void
read_row(Row *row, HeapTuple tuple, TupleDesc desc)
{
	bool		isnull;
	Datum		value;

	row->kind = SPI_getvalue(tuple, desc, KIND)[0];
	row->level = DatumGetInt32(SPI_getbinval(tuple, desc, LEVEL, &isnull));
	value = SPI_getbinval(tuple, desc, KEY, &isnull);
	row->key = isnull ? NULL : DatumGetJsonbP(value);
	row->text = isnull ? NULL : SPI_getvalue(tuple, desc, KEY);
	for (int i = 0; i < (int) lengthof(row->shares); i++)
		row->shares[i] = number_of(tuple, desc, ITEMS + i);
	row->leaves = DatumGetArrayTypeP(SPI_getbinval(tuple, desc, LEAVES, &isnull));
	row->part = number_of(tuple, desc, PART);
	row->largest = number_of(tuple, desc, LARGEST);
	row->values = number_of(tuple, desc, VALUES);
	value = SPI_getbinval(tuple, desc, LATEST, &isnull);
	row->time_like = !isnull && all_time_like(DatumGetArrayTypeP(value));
}

static void
read_rows(Hot *hot)
{
	if (SPI_execute(hot_query(hot), true, 0) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed");
	hot->nrows = SPI_processed;
	hot->rows = palloc0_array(Row, Max(1, hot->nrows));
	for (int i = 0; i < hot->nrows; i++)
		read_row(&hot->rows[i], SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
}

static bool
holds(const Row *row, Oid leaf)
{
	Oid		   *leaves = (Oid *) ARR_DATA_PTR(row->leaves);

	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(row->leaves), ARR_DIMS(row->leaves)); i++)
		if (leaves[i] == leaf)
			return true;
	return false;
}

/* The leaves that hold a key (OIDs), in the order of the hash space. */
static List *
leaves_of(const Hot *hot, const Row *row)
{
	List	   *leaves = NIL;
	ListCell   *cell;

	foreach(cell, hot->count.leaves)
		if (holds(row, ((Leaf *) lfirst(cell))->relid))
			leaves = lappend_oid(leaves, ((Leaf *) lfirst(cell))->relid);
	return leaves;
}

static void
emit(const Hot *hot, const char *kind, const Row *row, double share, const char *reason, const char *relief)
{
	List	   *leaves = row == NULL ? NIL : leaves_of(hot, row);
	Datum	   *elements = palloc_array(Datum, list_length(leaves) + 1);
	bool		is_key = row != NULL && row->kind != 'p';
	Datum		values[6] = {CStringGetTextDatum(kind), 0, 0, Float8GetDatum(share), CStringGetTextDatum(reason),
		CStringGetTextDatum(relief)};
	bool		nulls[6] = {false, !is_key, row == NULL, false, false, false};

	for (int i = 0; i < list_length(leaves); i++)
		elements[i] = ObjectIdGetDatum(list_nth_oid(leaves, i));
	if (is_key)
		values[1] = JsonbPGetDatum(row->key);
	if (row != NULL)
		values[2] = PointerGetDatum(construct_array(elements, list_length(leaves), REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT));
	tuplestore_putvalues(hot->result->setResult, hot->result->setDesc, values, nulls);
}

/* The shares above a limit in words; sets the greatest of all. */
static char *
shares_in_words(const Row *row, double limit, double *greatest)
{
	StringInfoData words;

	initStringInfo(&words);
	*greatest = 0;
	for (int i = 0; i < (int) lengthof(row->shares); i++)
	{
		*greatest = Max(*greatest, row->shares[i]);
		if (row->shares[i] > limit)
			appendStringInfo(&words, "%s%.1f %% of the %s", words.len > 0 ? ", " : "has ", 100 * row->shares[i], measures[i]);
	}
	if (row->shares[2] > limit || row->shares[3] > limit)
		appendStringInfoString(&words, " since the statistics were reset");
	return words.data;
}

/* What divides a logical partition, after "only". */
static const char *
spreading(const Container *container)
{
	bool		room = container->levels < MAX_LEVELS;

	/* A PUID is placed by its family, which a suffix would be a part of. */
	if (PuidTypeOf(getBaseType(ContainerColumnType(container, container->levels - 1))) == PUID_ITSELF)
		return room ? "one more level in the key (a PUID takes no suffix)" : "PUIDs of more families (a PUID takes no suffix)";
	return room ? "a suffix (partitionkey.hash_suffix) or one more level in the key" : "a suffix (partitionkey.hash_suffix)";
}

/*
 * A call and what it does, as a comment, so that the whole can be run; of somebody
 * else's container only he can.
 */
static char *
call(const Container *container, const char *procedure, const char *arguments, const char *comment)
{
	return psprintf("%sCALL partitionkey.%s(%s)%s%s", OwnsRelation(container->relid, GetUserId()) ? "" : "by the owner: ",
					procedure, arguments, comment ? " -- " : "", comment ? comment : "");
}

static char *
isolating(const Container *container, const Row *row, const char *comment)
{
	return call(container, "isolate_key",
				psprintf("%s, %s", quote_literal_cstr(QualifiedName(container->relid)), quote_literal_cstr(row->text)), comment);
}

/* What the levels below a key do, or could. */
static char *
key_division(const Hot *hot, const Row *row, bool alone)
{
	const Container *container = hot->count.container;
	List	   *leaves = leaves_of(hot, row);
	const char *path;
	char	   *arguments;

	if (row->level == container->levels)
		return psprintf("only %s divides it", spreading(container));
	path = container->paths[row->level];
	if (row->largest > 0.5)
		return psprintf("the next level, %s, divides it little, since one value has %.1f %% of it", path, 100 * row->largest);
	if (list_length(leaves) > 1)
		return psprintf("the next level, %s, divides it over %d partitions; split those to spread it further",
						path, list_length(leaves));
	arguments = psprintf("%s, %s", quote_literal_cstr(QualifiedName(linitial_oid(leaves))), quote_literal_cstr(path));
	if (alone)
		return call(container, "split_partition", arguments, "next level: divides it");
	return psprintf("next level: CALL partitionkey.split_partition(%s) divides it", arguments);
}

static char *
key_relief(const Hot *hot, const Row *row)
{
	if (row->part < 1)
		return isolating(hot->count.container, row,
						 psprintf("isolate: keeps it apart from the others; %s", key_division(hot, row, false)));
	return key_division(hot, row, true);
}

static char *
level_relief(const Container *container, int level)
{
	if (level == container->levels)
		return psprintf("%s", spreading(container));
	return psprintf("next level: %s divides these ranges, by partitionkey.split_partition(partition, %s);"
					" or a container with another first path",
					container->paths[level], quote_literal_cstr(container->paths[level]));
}

static char *
leaf_relief(const Hot *hot, const Row *row)
{
	const Container *container = hot->count.container;

	if (row->part == 1)
		return psprintf("it holds nothing but the key %s, which only %s divides", row->text, spreading(container));
	if (row->largest > 0.5)
		return isolating(container, row, psprintf("isolate: the key has %.1f %% of its items", 100 * row->largest));
	return call(container, "split_partition", quote_literal_cstr(QualifiedName(linitial_oid(leaves_of(hot, row)))), NULL);
}

/* What comes after ranges that carry everything: whether the next level divides them, or could. */
static char *
after_ranges(const Hot *hot, const Row *row)
{
	const Container *container = hot->count.container;
	ListCell   *cell;

	if (row->level == container->levels)
		return "";
	foreach(cell, hot->count.leaves)
		if (((Leaf *) lfirst(cell))->levels <= row->level)
			return psprintf(" until %s divides %s", container->paths[row->level], row->values == 1 ? "it" : "them");
	return psprintf(", divided by %s", container->paths[row->level]);
}

/* A level with few values, before the first of its keys. */
static void
report_level(const Hot *hot, const Row *row)
{
	char	   *levels = row->level == 1 ? "level 1 has" : psprintf("levels 1 to %d have", row->level);
	bool		one = row->values == 1;

	if (1 / row->values > hot->threshold)
		emit(hot, "level", NULL, 1 / row->values,
			 psprintf("%s %.0f %s%s, so at most %.0f %s everything%s", levels, row->values, one ? "value" : "values",
					  hot->count.sample < 100 ? " in the sample" : "", row->values, one ? "range carries" : "ranges carry",
					  after_ranges(hot, row)),
			 level_relief(hot->count.container, row->level));
}

/* The first of the numbers that a column's statistics have of a kind, or 0. */
static double
statistic(HeapTuple tuple, int kind)
{
	AttStatsSlot slot;
	double		number;

	if (!get_attstatsslot(&slot, tuple, kind, InvalidOid, ATTSTATSSLOT_NUMBERS))
		return 0;
	number = slot.numbers[0];
	free_attstatsslot(&slot);
	return number;
}

/*
 * A leaf's correlation by the first level: false if there are no statistics.
 * Where one value has most of the rows they are in order whatever the others
 * are; that says nothing (*correlation is 2).
 */
static bool
leaf_correlation(Oid leaf, const char *column, double *correlation)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(leaf), Int16GetDatum(get_attnum(leaf, column)),
										BoolGetDatum(false));

	if (!HeapTupleIsValid(tuple))
		return false;
	*correlation = statistic(tuple, STATISTIC_KIND_MCV) > 0.5 ? 2 : statistic(tuple, STATISTIC_KIND_CORRELATION);
	ReleaseSysCache(tuple);
	return true;
}

/*
 * How well the values of the first level follow the order of the rows, -1 to 1,
 * on the average of the leaves, weighted by their items; 0 if nothing is known.
 * Only a number is read from the statistics, no value of a row.
 */
static double
first_level_correlation(const Hot *hot, int *missing)
{
	double		sum = 0;
	double		weights = 0;

	*missing = 0;
	for (int i = 0; i < hot->nrows; i++)
	{
		const Row  *row = &hot->rows[i];
		double		correlation;

		if (row->kind != 'p' || row->shares[0] <= 0)
			continue;
		if (!leaf_correlation(linitial_oid(leaves_of(hot, row)), hot->count.container->columns[0], &correlation))
			(*missing)++;
		else if (correlation <= 1)
		{
			sum += row->shares[0] * correlation;
			weights += row->shares[0];
		}
	}
	return weights > 0 ? sum / weights : 0;
}

/* Whether the leaf that holds a key takes more than its share of the writes. */
static bool
takes_the_writes(const Hot *hot, const Row *latest)
{
	for (int i = 0; i < hot->nrows; i++)
		if (hot->rows[i].kind == 'p' && hot->rows[i].shares[3] > hot->uneven &&
			holds(latest, linitial_oid(leaves_of(hot, &hot->rows[i]))))
			return true;
	return false;
}

/* The latest value of the first level, if the values grow with time. */
static void
report_latest(const Hot *hot, const Row *row)
{
	const Container *container = hot->count.container;
	int			missing;
	double		correlation;

	if (row->part < TIME_ITEMS || row->values < 2)
		return;
	correlation = first_level_correlation(hot, &missing);
	if (missing > 0)
		ereport(NOTICE,
				(errmsg("there are no statistics of column \"%s\" for %d partitions, which tell whether its values grow with time",
						container->columns[0], missing),
				 errhint("Run ANALYZE %s.", QualifiedName(container->relid))));
	if (correlation < TIME_CORRELATION || !(row->time_like || takes_the_writes(hot, row)))
		return;
	emit(hot, "level", row, row->shares[0],
		 psprintf("write-hot: by the statistics the values of %s grow as rows are written (correlation %.2f),"
				  " so that the latest one takes all new rows",
				  container->paths[0], correlation),
		 psprintf("a path before %s that tells apart what is written at the same time,"
				  " or a suffix (partitionkey.hash_suffix) on its values", container->paths[0]));
}

static void
report_rows(const Hot *hot)
{
	int			level = 0;

	for (int i = 0; i < hot->nrows; i++)
	{
		const Row  *row = &hot->rows[i];
		double		share;
		char	   *words = shares_in_words(row, row->kind == 'p' ? hot->uneven : hot->threshold, &share);

		CHECK_FOR_INTERRUPTS();
		if (row->kind == 'l')
			report_latest(hot, row);
		else if (row->kind == 'p' && share > hot->uneven)
			emit(hot, "partition", row, share, words, leaf_relief(hot, row));
		else if (row->kind == 'k')
		{
			if (row->level != level)
				report_level(hot, row);
			level = row->level;
			emit(hot, "key", row, share, words, key_relief(hot, row));
		}
	}
}

/*
 * hot_partitions(container regclass, threshold float8, sample float8)
 * returns setof (kind text, key jsonb, partitions regclass[], share float8, reason text, relieved_by text)
 */
PG_FUNCTION_INFO_V1(hot_partitions);
Datum
hot_partitions(PG_FUNCTION_ARGS)
{
	Hot			hot = {0};
	int			nestlevel;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(1) || !CountFromArguments(&hot.count, fcinfo, -1, 2))
		return (Datum) 0;
	hot.result = (ReturnSetInfo *) fcinfo->resultinfo;
	hot.threshold = ThresholdArgument(PG_GETARG_FLOAT8(1));
	hot.uneven = HotLeafShare(&hot.count, hot.threshold);
	nestlevel = CountBegin(&hot.count);
	read_rows(&hot);
	report_rows(&hot);
	CountTellError(&hot.count);
	CountEnd(nestlevel);
	return (Datum) 0;
}
