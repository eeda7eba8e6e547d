/*
 * staging.h
 *		Tables that take the place of leaves.
 *
 * They are made apart from the container, are filled there, and get what a leaf
 * has in two steps: at first what concerns the storing of rows, and what would act
 * on the writing of rows, as triggers and constraints do, when they take its place.  All of it needs
 * SPI, and is done by the owner of the container.
 */
#ifndef PARTITIONKEY_STAGING_H
#define PARTITIONKEY_STAGING_H

#include "registry.h"
#include "tree.h"

/* Make a table like a leaf, for other ranges of positions: leaf->relid is set. */
extern void StagingMakeLeaf(const Container *container, Oid model, const char *name, Leaf *leaf);

/* Make a partitioned table like a node, divided by the hash of a level's key. */
extern Oid	StagingMakeNode(const Container *container, Oid model, const char *name, int level);

/*
 * Give a leaf a check that proves to ATTACH that its rows fit a bound of a
 * node, so that they are not read under its lock; and take it away again.
 */
extern void StagingAddBound(Oid leaf, Oid parent, int modulus, int remainder);
extern void StagingDropBound(Oid leaf);

/*
 * Make a leaf's columns identities as those of the node above are.  ATTACH does
 * so (since PostgreSQL 17) for the table that it attaches, but not for what is
 * below that, and DETACH relies on it.
 */
extern void StagingGiveIdentity(Oid node, Oid leaf);

/*
 * The checks and foreign keys of a leaf, collected while it is a partition; and
 * how to give them to a leaf, or to a node with leaves, before it is attached.
 * While they are filled, new tables have none: what a check calls need not work
 * for the owner, and foreign keys act on their own.  The rows meet them as far as
 * they did in the leaf.
 */
typedef struct StagingConstraints
{
	Oid			model;
	List	   *all;			/* char *: actions of ALTER TABLE */
	List	   *checks;			/* those from the node above that a node gets */
	List	   *others;
} StagingConstraints;

extern StagingConstraints *StagingCollectConstraints(Oid model);
extern void StagingAddConstraints(const StagingConstraints *constraints, Oid leaf);
extern void StagingAddConstraintsBelow(const StagingConstraints *constraints, Oid node);

/*
 * What else a leaf has that is given to a successor once that is a partition.
 * Collected while the leaf still is one, and nobody can change it; applied when
 * it has left its name, which the successor takes for a moment.
 */
typedef struct StagingMarks
{
	Oid			model;
	char	   *name;
	bool		switched;		/* triggers of foreign keys are not enabled as usual */
	List	   *commands;		/* char *, for a table of the leaf's name */
} StagingMarks;

extern StagingMarks *StagingCollectMarks(Oid model);
extern void StagingApplyMarks(const StagingMarks *marks, Oid leaf);

/* Sequences that belong to columns of a table go to another. */
extern void StagingKeepSequences(Oid from, Oid to);

#endif							/* PARTITIONKEY_STAGING_H */
