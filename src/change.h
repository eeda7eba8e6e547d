/*
 * change.h
 *		Exchanging leaves of a container while it is in use.
 */
#ifndef PARTITIONKEY_CHANGE_H
#define PARTITIONKEY_CHANGE_H

#include "registry.h"
#include "tree.h"

/* A leaf that is to be, with its bound at the node it will hang on. */
typedef struct Piece
{
	int			modulus;
	int			remainder;
	Leaf		leaf;			/* its ranges; relid is set when it is made */
} Piece;

typedef struct Change
{
	const char *kind;			/* split, merge or isolate */
	const Container *container;
	Oid			parent;			/* the node that loses children, and gets others */
	List	   *children;		/* OIDs of those that go: leaves, or one node with all below it */
	Oid			model;			/* the leaf of those whose own settings the pieces get */
	int			modulus;		/* the bound that they have together at that node */
	int			remainder;
	bool		nested;			/* the pieces come under a node of their own, which gets that bound */
	int			level;			/* the level that the pieces divide by */
	int			across;			/* the level by which rows come apart, or together */
	List	   *pieces;			/* Piece * */
} Change;

/*
 * Do it, in many transactions: the caller is a procedure called outside a
 * transaction block, with SPI connected non-atomically, and has checked that
 * the user owns the container.  The pieces take in exactly the positions of the
 * children.  An error leaves the container as it was; what could not be removed
 * then is left to ChangeCleanup.
 */
extern void ChangeRun(const Change *change);

/*
 * Remove what operations that ended half-way left behind, of one container or
 * (InvalidOid) all that the user owns.  Gives how many could not be removed,
 * since something of them is in use; warns of those where something else failed.
 */
extern int	ChangeCleanup(Oid container);

#endif							/* PARTITIONKEY_CHANGE_H */
