/*
 * candidate.c
 *		How the rows of a sample would be divided by a partition key.
 *
 * Rows with equal positions at all levels have one key, as they do in Cosmos DB.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "candidate.h"

/* A row with a hash of the first values of its key. */
typedef struct KeyedRow
{
	uint64		key;
	int			row;
} KeyedRow;

#define ST_SORT sort_keyed_rows
#define ST_ELEMENT_TYPE KeyedRow
#define ST_COMPARE(a, b) ((a)->key < (b)->key ? -1 : (a)->key > (b)->key)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

Candidate *
CandidateMake(const Sample *sample, const int *paths, int levels)
{
	Candidate  *candidate = palloc0(sizeof(Candidate));
	StringInfoData name;

	initStringInfo(&name);
	for (int i = 0; i < levels; i++)
	{
		candidate->paths[i] = paths[i];
		appendStringInfo(&name, "%s%s", i > 0 ? "," : "", sample->paths[paths[i]].extract->path);
	}
	candidate->name = name.data;
	candidate->levels = levels;
	return candidate;
}

/*
 * How many groups a table has of which a sample has some: those that were met
 * once hint at those that were not met at all (Haas and Stokes's estimator
 * Duj1, as ANALYZE has it).
 */
static double
estimate_groups(const Sample *sample, int groups, int met_once)
{
	double		n = sample->nrows;

	if (sample->complete)
		return groups;
	return Max(groups, rint(n * groups / (n - met_once + met_once * n / sample->rows)));
}

/*
 * How many rows a group has in the whole table of which some were met.  The largest of many groups
 * is so by chance, too, so that twice what chance does is taken off; what is left
 * of small groups is nothing.
 */
static double
estimate_rows(const Sample *sample, int met)
{
	double		by_chance = 2 * sqrt(met * (1 - (double) met / sample->nrows));

	return sample->complete ? met : Max(0, met - by_chance) * sample->rows / sample->nrows;
}

/* Group rows that are sorted by their keys. */
static void
group_rows(Grouping *grouping, const Sample *sample, const KeyedRow *rows)
{
	int			groups = 0;
	int			met_once = 0;
	int			largest = 0;
	double		largest_bytes = 0;
	double		widest = 0;		/* bytes of a row on a group's average */
	double		squares = 0;

	for (int start = 0, end; start < sample->nrows; start = end)
	{
		double		bytes = 0;

		for (end = start; end < sample->nrows && rows[end].key == rows[start].key; end++)
			bytes += sample->bytes[rows[end].row];
		groups++;
		squares += (double) (end - start) * (end - start);
		met_once += end - start == 1 ? 1 : 0;
		bytes /= end - start;
		widest = Max(widest, bytes);
		largest_bytes = Max(largest_bytes, bytes * estimate_rows(sample, end - start));
		if (end - start > largest)
		{
			largest = end - start;
			grouping->largest_row = rows[start].row;
		}
	}
	grouping->groups = estimate_groups(sample, groups, met_once);
	grouping->concentration = squares / sample->nrows / sample->nrows;
	grouping->largest_share = (double) largest / sample->nrows;
	/* No less than a group of the average size has. */
	if (!sample->complete)
		largest_bytes = Max(largest_bytes, widest * sample->rows / grouping->groups);
	grouping->largest_bytes = rint(largest_bytes);
}

static void
measure_prefixes(Candidate *candidate, const Sample *sample)
{
	KeyedRow   *rows = palloc(sizeof(KeyedRow) * sample->nrows);
	uint64	   *keys = palloc0(sizeof(uint64) * sample->nrows);

	for (int level = 0; level < candidate->levels; level++)
	{
		const uint64 *positions = sample->paths[candidate->paths[level]].positions;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < sample->nrows; i++)
		{
			keys[i] = level == 0 ? positions[i] : hash_combine64(keys[i], positions[i]);
			rows[i] = (KeyedRow) {keys[i], i};
		}
		sort_keyed_rows(rows, sample->nrows);
		group_rows(&candidate->prefixes[level], sample, rows);
	}
	pfree(rows);
	pfree(keys);
}

/* Count the values of a level that have a mark, as a share of those that there are. */
static double
marked_share(const Sample *sample, const SamplePath *path, uint8 mark)
{
	int			marked = 0;
	int			present = 0;

	for (int i = 0; i < sample->nrows; i++)
	{
		marked += path->values[i] & mark ? 1 : 0;
		present += (path->values[i] & VALUE_KIND) == VALUE_PRESENT ? 1 : 0;
	}
	return (double) marked / Max(present, 1);
}

/* The share of rows with the same value at two levels. */
static double
equal_share(const Sample *sample, const SamplePath *a, const SamplePath *b)
{
	int			equal = 0;

	for (int i = 0; i < sample->nrows; i++)
		equal += a->positions[i] == b->positions[i] ? 1 : 0;
	return (double) equal / sample->nrows;
}

static void
measure_values(Candidate *candidate, const Sample *sample)
{
	int			worst_values[VALUE_KIND + 1] = {0};

	for (int i = 0; i < sample->nrows; i++)
	{
		uint8		worst = VALUE_PRESENT;

		for (int level = 0; level < candidate->levels; level++)
			worst = Max(worst, sample->paths[candidate->paths[level]].values[i] & VALUE_KIND);
		worst_values[worst]++;
	}
	candidate->undefined = (double) worst_values[VALUE_UNDEFINED] / sample->nrows;
	candidate->null = (double) worst_values[VALUE_NULL] / sample->nrows;
	candidate->not_scalar = (double) worst_values[VALUE_NOT_SCALAR] / sample->nrows;
	for (int level = 0; level < candidate->levels; level++)
	{
		const SamplePath *path = &sample->paths[candidate->paths[level]];

		candidate->times[level] = marked_share(sample, path, VALUE_TIME);
		candidate->fractions[level] = marked_share(sample, path, VALUE_FRACTION);
		candidate->texts[level] = marked_share(sample, path, VALUE_WORDY);
		if (level > 0)
			candidate->equal[level] = equal_share(sample, &sample->paths[candidate->paths[level - 1]], path);
	}
}

/*
 * The largest of the physical partitions over their average.  They are the leaves
 * of a container that is divided by all its levels, as evenly as halving allows.
 */
static double
measure_skew(const Candidate *candidate, const Sample *sample, int partitions)
{
	int			all_bits = pg_leftmost_one_pos32(partitions);
	int		   *items = palloc0(sizeof(int) * partitions);
	int			largest = 0;

	for (int i = 0; i < sample->nrows; i++)
	{
		uint32		leaf = 0;

		for (int level = 0; level < candidate->levels; level++)
		{
			int			bits = all_bits / candidate->levels + (level < all_bits % candidate->levels ? 1 : 0);

			if (bits > 0)
				leaf = leaf << bits | sample->paths[candidate->paths[level]].positions[i] >> (64 - bits);
		}
		items[leaf]++;
		largest = Max(largest, items[leaf]);
	}
	pfree(items);
	return (double) largest * partitions / sample->nrows;
}

void
CandidateMeasure(Candidate *candidate, const Sample *sample, int partitions)
{
	measure_prefixes(candidate, sample);
	measure_values(candidate, sample);
	candidate->skew = measure_skew(candidate, sample, partitions);
}

bool
CandidateIsTime(const Candidate *candidate, int level)
{
	return candidate->times[level] >= 0.9;
}

/* Fractions measure something; whole numbers among them don't change that. */
bool
CandidateIsMeasured(const Candidate *candidate, int level)
{
	return candidate->fractions[level] >= 0.1;
}

bool
CandidateIsWordy(const Candidate *candidate, int level)
{
	return candidate->texts[level] >= 0.1;
}

/* It adds few keys, and those that it divides are few: a single large one would show. */
bool
CandidateIsFollowing(const Candidate *candidate, int level)
{
	const Grouping *above = &candidate->prefixes[level - 1];
	const Grouping *own = &candidate->prefixes[level];

	return own->groups <= 1.05 * above->groups && own->concentration >= 0.95 * above->concentration;
}

bool
CandidateIsDiagonal(const Candidate *candidate, int level)
{
	return candidate->equal[level] >= 0.5;
}
