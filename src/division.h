/*
 * division.h
 *		Which way a leaf is divided.
 */
#ifndef PARTITIONKEY_DIVISION_H
#define PARTITIONKEY_DIVISION_H

#include "change.h"

/* Where a partition hangs in the tree. */
typedef struct Place
{
	Oid			parent;
	int			level;			/* that the parent divides by */
	int			modulus;		/* its bound there */
	int			remainder;
	bool		own_node;		/* the parent was put there by a split: it divides by the column of its own parent */
} Place;

/* The container that a partition belongs to, and its place in it.  Errors 42809. */
extern Container *DivisionContainer(Oid partition);
extern Place DivisionPlace(const Container *container, Oid partition);

/* The leaf's ranges. */
extern Leaf *DivisionLeaf(const Container *container, Oid partition);

/*
 * Fill a change with the division of a leaf: at its own level, or by the next
 * path, whichever divides its rows; a path forces one.  Error 55000 if it can't
 * be divided, naming the key.  Needs SPI.
 */
extern void DivisionChoose(Change *change, Oid partition, const char *path);

/*
 * Fill a change with the merge of two leaves that are the halves of a range.
 * If they are all that a node below the root has, they take its place.  Error
 * 22023 if they are not, telling what would fit.
 */
extern void DivisionMerge(Change *change, Oid a, Oid b);

/* What goes then: the halves, or their node. */
extern List *DivisionMerged(const Container *container, Oid a, Oid b);

/* The partition at the other half of a place's range, or InvalidOid if that is divided, or missing. */
extern Oid	DivisionOtherHalf(const Place *place);

/*
 * Fill a change with the next step towards leaves that have a key, or a prefix,
 * for themselves; false if nothing is left to do.  Leaves found to be so are
 * added to a list, and not looked at again.  Needs SPI.
 */
extern bool DivisionIsolate(Change *change, const uint64 *positions, int nlevels, List **apart);

/* Error P0002 if there are no rows with a key, or a prefix.  Needs SPI. */
extern void DivisionCheckKey(const Container *container, const uint64 *positions, int nlevels);

#endif							/* PARTITIONKEY_DIVISION_H */
