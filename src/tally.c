/*
 * tally.c
 *		Counting values in bounded memory.
 */
#include "postgres.h"

#include <math.h>

#include "tally.h"

#define SKETCH_WIDTH		14	/* 16 kB, and a standard error of 0.8 % */

typedef struct Counted
{
	uint64		hash;
	int64		count;
	int64		missed;			/* it may have been counted so often before, and dropped */
	char		status;
} Counted;

#define SH_PREFIX			values
#define SH_ELEMENT_TYPE		Counted
#define SH_KEY_TYPE			uint64
#define SH_KEY				hash
#define SH_HASH_KEY(tb, key)	((uint32) (key))
#define SH_EQUAL(tb, a, b)	((a) == (b))
#define SH_SCOPE			static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void
TallyInit(Tally *tally, uint32 bound)
{
	memset(tally, 0, sizeof(Tally));
	tally->values = values_create(CurrentMemoryContext, 16, NULL);
	tally->bound = bound;
}

/* The estimate takes 32 bits of a hash. */
static void
add_to_sketch(Tally *tally, uint64 hash)
{
	addHyperLogLog(&tally->sketch, (uint32) (hash >> 32));
}

/* From now on the number of values is estimated. */
static void
start_sketch(Tally *tally)
{
	MemoryContext old = MemoryContextSwitchTo(tally->values->ctx);
	values_iterator iterator;
	Counted    *counted;

	initHyperLogLog(&tally->sketch, SKETCH_WIDTH);
	MemoryContextSwitchTo(old);
	tally->estimated = true;
	values_start_iterate(tally->values, &iterator);
	while ((counted = values_iterate(tally->values, &iterator)) != NULL)
		add_to_sketch(tally, counted->hash);
}

/* Drop the values that can't have been counted more often than a number that grows. */
static void
drop_rare(Tally *tally)
{
	values_hash *all = tally->values;
	values_iterator iterator;
	Counted    *counted;

	tally->dropped++;
	tally->values = values_create(all->ctx, 16, NULL);
	values_start_iterate(all, &iterator);
	while ((counted = values_iterate(all, &iterator)) != NULL)
	{
		Counted    *kept;
		bool		found;

		if (counted->count + counted->missed <= tally->dropped)
			continue;
		kept = values_insert(tally->values, counted->hash, &found);
		kept->count = counted->count;
		kept->missed = counted->missed;
	}
	values_destroy(all);
}

/* Whether the table should hold no more. */
static inline bool
is_full(const Tally *tally, uint32 bound)
{
	return tally->values->members >= bound;
}

bool
TallyAdd(Tally *tally, uint64 hash)
{
	Counted    *counted;
	bool		found;
	bool		overtakes = false;

	tally->added++;
	if (tally->estimated)
		add_to_sketch(tally, hash);
	counted = values_insert(tally->values, hash, &found);
	if (!found)
	{
		counted->count = 0;
		counted->missed = tally->dropped;
	}
	counted->count++;
	if (counted->count > tally->largest_count)
	{
		overtakes = tally->largest_count == 0 || tally->largest != hash;
		tally->largest = hash;
		tally->largest_count = counted->count;
	}
	if (is_full(tally, tally->bound + 1))
	{
		if (!tally->estimated)
			start_sketch(tally);
		/* Half of the room, so that this is not done for each new value. */
		while (is_full(tally, tally->bound / 2))
			drop_rare(tally);
	}
	return overtakes;
}

int64
TallyDistinct(Tally *tally)
{
	if (!tally->estimated)
		return tally->values->members;
	return Min((int64) rint(estimateHyperLogLog(&tally->sketch)), tally->added);
}
