/*
 * tree.h
 *		The partition tree of a container, read from PostgreSQL's catalogs.
 *
 * Every node divides by one key column.  Going down the tree, the positions of
 * each level that can still occur are one range: those whose first bits equal
 * a given prefix.
 */
#ifndef PARTITIONKEY_TREE_H
#define PARTITIONKEY_TREE_H

#include "nodes/pg_list.h"
#include "utils/array.h"

#include "registry.h"

typedef struct PositionRange
{
	uint64		min;			/* lowest position */
	int			bits;			/* number of leading bits that all positions share */
} PositionRange;

typedef struct Leaf
{
	Oid			relid;
	int			levels;			/* how many levels the path to the leaf divides by */
	bool		regular;		/* every node above divides by our hash with a power of two; if
								 * not, the ranges are not known */
	PositionRange ranges[MAX_LEVELS];
} Leaf;

/* A part of the hash space: at each of its levels the positions from min to last; levels that it has not are taken as a whole. */
typedef struct HashRange
{
	int			levels;
	uint64		min[MAX_LEVELS];
	uint64		last[MAX_LEVELS];
} HashRange;

/* What a node divides by, where that is the hash of one column. */
typedef struct NodeKey
{
	AttrNumber	attnum;
	Oid			opfamily;
	Oid			collation;
} NodeKey;

/*
 * Read a partitioned table's key from the catalog; false if it is another kind
 * of key.  The relation cache would plan a key's expressions, and so run
 * functions that their owner wrote with the rights of whoever asks.
 */
extern bool NodeKeyOf(Oid relid, NodeKey *key);

/*
 * The leaves (Leaf *, palloc'd) that can hold a key whose first nlevels
 * positions are given; nlevels = 0 gives all.  In the order of the hash space.
 * Takes AccessShareLock on the partitioned nodes, kept to the transaction's
 * end, and none on the leaves.
 */
extern List *ContainerLeaves(const Container *container, const uint64 *positions, int nlevels);

/*
 * Read a key, or a prefix, written as a JSON array, as the container's columns
 * hold it.  Sets its components, which may point into the JSON, or the position of each, and gives their number.
 * Errors 22023, 42804, and those of the types' input.
 */
extern int	ContainerKeyComponents(const Container *container, Jsonb *json, Component *components);
extern int	ContainerKeyPositions(const Container *container, Jsonb *json, uint64 *positions);

/* A range's bounds as users see them, with '' and 'FF' for the ends of the space; palloc'd. */
extern void PositionRangeBounds(PositionHash hash, PositionRange range, char **min, char **max);

/* Read such bounds: arrays of text with an element for each level.  Errors 22023. */
extern void HashRangeFromArrays(const Container *container, ArrayType *min, ArrayType *max, HashRange *range);

/* Whether a leaf has a part of a range, or nothing else. */
extern bool LeafMeetsRange(const Leaf *leaf, const HashRange *range);
extern bool LeafInRange(const Leaf *leaf, const HashRange *range);

/* The positions that a hash bound takes in; the modulus is a power of two. */
extern PositionRange PositionRangeOfBound(int modulus, uint64 remainder);

/* Whether a position lies in a range. */
static inline bool
PositionInRange(uint64 position, PositionRange range)
{
	return range.bits == 0 || ((position ^ range.min) >> (64 - range.bits)) == 0;
}

#endif							/* PARTITIONKEY_TREE_H */
