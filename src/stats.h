/*
 * stats.h
 *		Counting what a container holds, by key and by leaf.
 *
 * All counts are of one query on the container, never on its leaves, so that
 * they need SELECT on the container alone, and take in the rows that the caller
 * may see.
 */
#ifndef PARTITIONKEY_STATS_H
#define PARTITIONKEY_STATS_H

#include "fmgr.h"

#include "registry.h"
#include "tree.h"

/* What is to be counted. */
typedef struct Count
{
	const Container *container;
	List	   *leaves;			/* Leaf *, all of the container, in the order of the hash space */
	int			levels;			/* how many levels of the keys are told apart */
	double		sample;			/* percentage of the blocks that is read; 100 for an exact count */
} Count;

/*
 * Read the arguments "levels" (NULL: all) and "sample" (NULL: all rows) of a
 * function, by their places, and look up the container, which is its first
 * argument.  False if that is NULL.  Errors 42501, 42809, 22023 and 2202H.
 */
extern bool CountFromArguments(Count *count, FunctionCallInfo fcinfo, int levels, int sample);

/*
 * Start and end running queries on counts: SPI with the caller's own rights,
 * and settings under which they are fast.
 */
extern int	CountBegin(const Count *count);
extern void CountEnd(int nestlevel);

/*
 * The query that counts: columns k1, k2, k3 (of the levels told apart), leaf
 * oid, items bigint and bytes bigint, one row for each key and leaf.
 */
extern char *CountQuery(const Count *count);

/*
 * The counts of each level as a WITH list, c3 to c1: the columns of CountQuery
 * up to that level, and parts bigint, the number of keys with one more value.
 */
extern char *CountRollup(const Count *count);

/* The columns of that query that hold the key: "k1, k2". */
extern char *CountKeyList(int levels);

/* The leaves as a query: columns leaf oid, place bigint. */
extern char *CountLeaves(const Count *count);

/*
 * Each leaf's share of the rows read and written since the statistics were
 * reset, until now, as a query that gives it: columns leaf oid, place bigint,
 * reads float8, writes float8, which are NULL where little was read or written
 * in all, or where some leaves have been counted for longer than others, as
 * after a split.  Needs SPI.
 */
extern char *CountActivity(const Count *count);

/* If a sample is read, tell what error to expect in what comes of it. */
extern void CountTellError(const Count *count);

/*
 * The share from which on keys are hot, as an argument (error 22023), and that
 * for leaves: a leaf that has but little more than an even share is not.
 */
extern double ThresholdArgument(double threshold);
extern double HotLeafShare(const Count *count, double threshold);

/* A level's value in a row, as an SQL expression: what the rows of a logical partition share. */
extern char *KeyExpression(const Container *container, int level);

/* The stored size of a row's values, with TOAST, as an SQL expression. */
extern char *RowSize(Oid relid);

#endif							/* PARTITIONKEY_STATS_H */
