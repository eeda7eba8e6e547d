/*
 * contents.h
 *		What each leaf of a container holds.
 */
#ifndef PARTITIONKEY_CONTENTS_H
#define PARTITIONKEY_CONTENTS_H

#include "stats.h"

typedef struct KeyContents
{
	char	   *key;			/* a JSON array */
	char	   *label;			/* its values for people: tenant / user */
	int64		items;
	int64		bytes;
	bool		hot;			/* it, or a prefix of it, has more than the threshold */
} KeyContents;

typedef struct LeafContents
{
	const Leaf *leaf;
	int64		items;
	int64		bytes;
	int64		nkeys;
	List	   *largest;		/* KeyContents *, of the keys with the most bytes */
	bool		hot;
} LeafContents;

/*
 * The contents of all leaves (LeafContents *), in the order of the hash space,
 * with a number of the largest keys of each.  Between CountBegin and CountEnd.
 */
extern List *ContentsOfLeaves(const Count *count, double threshold, int nlargest);

#endif							/* PARTITIONKEY_CONTENTS_H */
