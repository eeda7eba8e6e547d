/*
 * layout.h
 *		How many partitions a new container has, and making them.
 */
#ifndef PARTITIONKEY_LAYOUT_H
#define PARTITIONKEY_LAYOUT_H

#include "registry.h"
#include "tree.h"

/*
 * How often a range of the hash space is halved at most: PostgreSQL keeps an
 * array as long as the largest modulus of a node in each session, of 4 MB then,
 * and makes it anew, with everybody waiting, after each change of the node.
 */
#define MAX_RANGE_BITS		20

typedef struct Layout
{
	int			levels;			/* levels divided from the start */
	int			partitions[MAX_LEVELS]; /* a power of two for each */
	int			leaves;			/* their product */
} Layout;

/* Refuse a number of partitions that is no power of two (22023) or too large (54000). */
extern void LayoutCheckPartitions(int partitions);

/*
 * The layout that an int[] asks for (NULL: the default for this number of
 * paths).  Errors 22023; warns above 256 leaves.
 */
extern void LayoutFromDatum(Layout *layout, Datum partitions, bool isnull, int paths);

/*
 * Check that the lock table can hold the locks on the new tables, of which
 * each leaf has "relations" (itself, TOAST table, indexes).  Error 53200.
 */
extern void LayoutCheckLocks(const Layout *layout, int relations);

/* The operator class of a type, and of a level's key column, as "schema"."name". */
extern char *LayoutTypeOperatorClass(Oid typid, PositionHash hash);
extern char *LayoutOperatorClass(const Container *container, int level);

/* Its operator family. */
extern Oid	LayoutOperatorFamily(const Container *container, int level);

/*
 * The checks on boolean key columns of a leaf with these ranges, as table
 * constraints: "CONSTRAINT ... CHECK (...)" (char *).
 */
extern List *LayoutBooleanChecks(const Container *container, const PositionRange *ranges);

/*
 * Make the partitions below the container's root, which has none, and name
 * them after the given name.  Leaves are made with the given words before TABLE ("", "UNLOGGED") and clauses at the
 * end (USING, WITH).  They belong to the current user, who must be the root's
 * owner, and have no privileges but his.  Needs SPI.
 */
extern void LayoutCreate(const Container *container, const char *name, const Layout *layout,
						 const char *persistence, const char *clauses);

#endif							/* PARTITIONKEY_LAYOUT_H */
