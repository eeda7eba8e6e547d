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
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sql.h"
#include "stats.h"

/* A leaf is no hotter than the others if it has but little more than an even share. */
#define UNEVEN				1.5

/* Fewer rows read or written than this say nothing about a leaf. */
#define MIN_ACTIVITY		100

/* Values that grow with time: the correlation of value and place, and items a value, from which on they count as such. */
#define TIME_CORRELATION	0.9
#define TIME_ITEMS			20

/* What a value looks like that begins or ends with a date: with a year, a month, a week or a quarter, or seconds or milliseconds since 1970. */
#define TIME_PATTERN		"'(^|\\D)(19|20)\\d\\d([-/._]?(0[1-9]|1[0-2])|-?(W\\d\\d|Q[1-4])|$)|^1\\d{9}(\\d{3})?$'"

/* Columns of the query. */
enum
{
	KIND = 1, LEVEL, KEY, ITEMS, BYTES, READS, WRITES, LEAVES, PART, LARGEST, VALUES, TIME_LIKE
};

typedef struct Row
{
	char		kind;			/* 'k'ey, 'l'atest value of level 1, 'p'artition */
	int			level;			/* of a key: how many values it has */
	Jsonb	   *key;			/* of a partition, its largest key */
	char	   *text;			/* the same, as text */
	double		shares[4];		/* of the container's items, bytes, reads, writes; -1 if not known */
	ArrayType  *leaves;			/* that hold it */
	double		part;			/* of these leaves' items; of a partition, 1 if it holds a single key */
	double		largest;		/* the largest share that a key with one more value has in it */
	double		values;			/* how many keys of this level there are */
	bool		time_like;		/* the latest value looks like a time */
} Row;

typedef struct Hot
{
	Count		count;
	double		threshold;
	double		uneven;			/* the share from which on a leaf is hot */
	FunctionCallInfo fcinfo;
} Hot;

static const char *const measures[] = {"items", "bytes", "reads", "writes"};

/*
 * The counts of each level in turn, c3 to c1, and of those the keys above the
 * threshold.  A key's largest successor is above it, too, or is small enough.
 */
static char *
hot_query(const Hot *hot)
{
	StringInfoData sql;
	int			levels = hot->count.levels;

	initStringInfo(&sql);
	appendStringInfo(&sql, "WITH c%d AS MATERIALIZED (%s)", levels, CountQuery(&hot->count));
	for (int i = levels - 1; i > 0; i--)
		appendStringInfo(&sql, ", c%d AS MATERIALIZED (SELECT %s, leaf, sum(items) AS items, sum(bytes) AS bytes FROM c%d GROUP BY %s, leaf)",
						 i, CountKeyList(i), i + 1, CountKeyList(i));
	appendStringInfo(&sql, ", total AS (SELECT sum(items)::float8 AS items, sum(bytes)::float8 AS bytes FROM c1)"
					 ", leaves AS (%s)"
					 ", leaf AS (SELECT leaf, sum(items)::float8 AS items, sum(bytes)::float8 AS bytes, count(*) AS keys, max(items) AS largest FROM c%d GROUP BY leaf)"
					 ", hot AS MATERIALIZED (", CountLeaves(&hot->count), levels);
	for (int i = 1; i <= levels; i++)
		appendStringInfo(&sql, "%sSELECT %d AS level, jsonb_build_array(%s) AS key, k.items / total.items AS items, k.bytes / nullif(total.bytes, 0) AS bytes, holders, values"
						 " FROM (SELECT %s, sum(items)::float8 AS items, sum(bytes)::float8 AS bytes, array_agg(leaf) AS holders, count(*) OVER () AS values FROM c%d GROUP BY %s) k, total"
						 " WHERE greatest(k.items / total.items, k.bytes / total.bytes) > %.17g",
						 i > 1 ? " UNION ALL " : "", i, CountKeyList(i), CountKeyList(i), i, CountKeyList(i), hot->threshold);
	appendStringInfoString(&sql, "), next AS (SELECT level - 1 AS level, key - -1 AS key, max(items) AS items FROM hot WHERE level > 1 GROUP BY 1, 2)"
						   ", activity AS (SELECT leaf, (pg_stat_get_tuples_returned(leaf) + coalesce((SELECT sum(pg_stat_get_tuples_returned(indexrelid)) FROM pg_index WHERE indrelid = leaf), 0))::float8 AS reads,"
						   " (pg_stat_get_tuples_inserted(leaf) + pg_stat_get_tuples_updated(leaf) + pg_stat_get_tuples_deleted(leaf))::float8 AS writes FROM leaves)");

	/* the keys */
	appendStringInfoString(&sql, " SELECT 'k' AS kind, level, hot.key, hot.items, hot.bytes, NULL::float8 AS reads, NULL::float8 AS writes,"
						   " holders, hot.items * total.items / (SELECT sum(leaf.items) FROM leaf WHERE leaf.leaf = ANY (holders)) AS part,"
						   " next.items / hot.items AS largest, values::float8, false AS time_like, 0 AS place FROM total, hot LEFT JOIN next USING (level, key)");
	/* the leaves */
	appendStringInfo(&sql, " UNION ALL SELECT 'p', 0, CASE WHEN greatest(items, bytes, reads, writes) > %.17g THEN"
					 " (SELECT jsonb_build_array(%s) FROM c%d WHERE c%d.leaf = p.leaf ORDER BY items DESC, %s LIMIT 1) END,"
					 " items, bytes, reads, writes, ARRAY[leaf], (keys = 1)::int, largest, 0, false, place"
					 " FROM (SELECT leaf, leaf.items / nullif(total.items, 0) AS items, leaf.bytes / nullif(total.bytes, 0) AS bytes, keys, leaf.largest / leaf.items AS largest,"
					 " CASE WHEN sum(reads) OVER () >= %d THEN reads / sum(reads) OVER () END AS reads,"
					 " CASE WHEN sum(writes) OVER () >= %d THEN writes / sum(writes) OVER () END AS writes, place"
					 " FROM total, activity JOIN leaves USING (leaf) LEFT JOIN leaf USING (leaf)) p",
					 hot->uneven, CountKeyList(levels), levels, levels, CountKeyList(levels), MIN_ACTIVITY, MIN_ACTIVITY);
	/* the latest value of the first level */
	appendStringInfo(&sql, " UNION ALL (SELECT 'l', 1, jsonb_build_array(k1), sum(c1.items) / max(total.items), NULL, NULL, NULL, array_agg(leaf), 0, 0, count(*) OVER (),"
					 " jsonb_build_array(k1) ->> 0 ~ %s, 0 FROM c1, total GROUP BY k1 ORDER BY k1 DESC LIMIT 1)", TIME_PATTERN);
	appendStringInfoString(&sql, " ORDER BY kind, level, items DESC, bytes DESC, place, key");
	return sql.data;
}
