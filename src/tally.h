/*
 * tally.h
 *		How many different values there are, and how frequent the most frequent
 *		is, in bounded memory.
 *
 * Values are given by a hash of 64 bits.  As long as there are not more than a
 * bound of them, all are counted, and the figures are exact.  From then on their
 * number is estimated by HyperLogLog, and rare values are dropped from the table
 * (lossy counting), so that the most frequent one may be counted a little too low.
 */
#ifndef PARTITIONKEY_TALLY_H
#define PARTITIONKEY_TALLY_H

#include "lib/hyperloglog.h"

typedef struct Tally
{
	struct values_hash *values;
	uint32		bound;
	int64		added;			/* how many values, all in all */
	int64		dropped;		/* what was dropped was counted no more often than this */
	bool		estimated;		/* something was dropped */
	hyperLogLogState sketch;	/* then */
	uint64		largest;		/* the most frequent value */
	int64		largest_count;
} Tally;

/* Begin; palloc'd in the current context. */
extern void TallyInit(Tally *tally, uint32 bound);

/* Count a value.  True if it has become the most frequent one instead of another. */
extern bool TallyAdd(Tally *tally, uint64 hash);

/* How many different values there are. */
extern int64 TallyDistinct(Tally *tally);

#endif							/* PARTITIONKEY_TALLY_H */
