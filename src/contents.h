/*
 * contents.h
 *		What each leaf of a container holds.
 */
#ifndef PARTITIONKEY_CONTENTS_H
#define PARTITIONKEY_CONTENTS_H

#include "stats.h"

/* A leaf (level 0), or what it holds of a key with so many values. */
typedef struct Contents
{
	int			level;
	const Leaf *leaf;
	char	   *key;			/* a JSON array; NULL for the leaf */
	char	   *label;			/* the last value of the key, for people */
	int64		items;
	int64		bytes;
	bool		hot;			/* the leaf, or the key in all leaves or one of its prefixes */
	int64		nparts;			/* how many keys with one more value it holds */
	List	   *parts;			/* Contents *, of the largest of those by bytes */
} Contents;

/*
 * The contents of all leaves (Contents *), in the order of the hash space, with
 * so many of the largest parts of a leaf, of those, and so on.  Between
 * CountBegin and CountEnd.
 */
extern List *ContentsOfLeaves(const Count *count, double threshold, const int *nparts);

#endif							/* PARTITIONKEY_CONTENTS_H */
