/*
 * candidate.h
 *		A partition key that a table could have, and how it would do.
 */
#ifndef PARTITIONKEY_CANDIDATE_H
#define PARTITIONKEY_CANDIDATE_H

#include "nodes/pg_list.h"

#include "sample.h"

/* The rows that share the first values of a key. */
typedef struct Grouping
{
	double		groups;			/* how many different values there are, in the whole table */
	double		largest_share;	/* of the rows */
	int			largest_row;	/* in the sample: one of those with the most frequent values */
	double		largest_bytes;	/* of any group, in the whole table */
	double		concentration;	/* share of the rows that are in the group of a row, on the average */
} Grouping;

typedef struct Candidate
{
	char	   *name;			/* "/tenant_id,/user_id" */
	int			levels;
	int			paths[MAX_LEVELS];	/* in the sample */

	Grouping	prefixes[MAX_LEVELS];	/* by the first level, the first two ..; the last are the logical partitions */
	double		equal[MAX_LEVELS];	/* share of rows with the value of the level above */
	double		undefined;		/* shares of rows by the worst value in their key */
	double		null;
	double		not_scalar;
	double		times[MAX_LEVELS];	/* share of a level's values that look like dates, and that are fractions */
	double		fractions[MAX_LEVELS];
	double		texts[MAX_LEVELS];	/* and that are long texts */
	double		skew;			/* largest physical partition over the average */

	bool		queried;		/* there are queries of the table */
	double		single;			/* shares of them */
	double		prefix;
	double		fan_out;
	bool		updated[MAX_LEVELS];	/* a statement sets the level's column */

	double		score;
	List	   *warnings;		/* char * */
} Candidate;

/* A candidate of some paths of a sample. */
extern Candidate *CandidateMake(const Sample *sample, const int *paths, int levels);

/* Work out how its rows would lie in a number of physical partitions, a power of two.  The sample must not be empty. */
extern void CandidateMeasure(Candidate *candidate, const Sample *sample, int partitions);

/* The logical partitions. */
static inline const Grouping *
CandidateKeys(const Candidate *candidate)
{
	return &candidate->prefixes[candidate->levels - 1];
}

/* Whether a level's values are dates or times; whether they are fractions, which measure something. */
extern bool CandidateIsTime(const Candidate *candidate, int level);
extern bool CandidateIsMeasured(const Candidate *candidate, int level);

/* Whether many of a level's values are long texts. */
extern bool CandidateIsWordy(const Candidate *candidate, int level);

/*
 * Whether a level tells no rows apart that those above don't; whether most rows have the values
 * of the level above, and so fill the diagonal of the tree only.
 */
extern bool CandidateIsFollowing(const Candidate *candidate, int level);
extern bool CandidateIsDiagonal(const Candidate *candidate, int level);

#endif							/* PARTITIONKEY_CANDIDATE_H */
