/*
 * staging.h
 *		Tables that take the place of leaves.
 *
 * They are made apart from the container, are filled there, and get what a leaf
 * has in two steps: at first what concerns their rows, and what would act on
 * the writing of rows, as triggers do, once they are in place.  All of it needs
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
 * While it is not part of the container, a table counts as the extension's, so
 * that pg_dump leaves it out; and no longer.
 */
extern void StagingHide(Oid relid);
extern void StagingShow(Oid relid);

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

/* Before a leaf, or a node with leaves, is attached: its foreign keys are deferred no longer than the old leaf's. */
extern void StagingEndDeferral(Oid model, Oid relid);

/*
 * What a leaf has by itself that can only be given to a successor once that is
 * a partition.  Collected while the leaf still is one, and nobody can change it.
 */
typedef struct StagingMarks
{
	Oid			leaf;			/* the successor */
	Oid			identity_index; /* indexes of the container, or invalid */
	Oid			clustered_index;
	List	   *commands;		/* char *, with the name that the successor has when they are collected */
} StagingMarks;

extern StagingMarks *StagingCollectMarks(Oid model, Oid leaf);
extern void StagingApplyMarks(const StagingMarks *marks);

/*
 * The checks that a leaf has from its parent and that are not validated, and how
 * to give them to a leaf, or a node with leaves, before it is attached: rows that
 * were copied need not meet them.
 */
extern List *StagingInheritedChecks(Oid model);
extern void StagingAddInheritedChecks(List *checks, Oid relid);

#endif							/* PARTITIONKEY_STAGING_H */
