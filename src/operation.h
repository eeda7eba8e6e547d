/*
 * operation.h
 *		The record of a change of the tree that is under way.
 *
 * A row of partitionkey.operation, written in the transaction that creates what
 * it names, so that whatever a crash leaves behind can be found and removed.
 * The session that works on it holds a lock on the row's number, which ends
 * with the session, or an error of it: then nobody works on it any more.
 */
#ifndef PARTITIONKEY_OPERATION_H
#define PARTITIONKEY_OPERATION_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct Operation
{
	int64		id;
	const char *kind;			/* split, merge or isolate */
	Oid			container;
	List	   *sources;		/* leaves whose rows move */
	List	   *replaced;		/* what is taken out of the tree: those, or the node above */
	List	   *made;			/* tables that were made for it, the outermost first */
	bool		swapped;		/* the new leaves are in place, the old ones are not */
} Operation;

/* Enter an operation, and set its id.  Needs SPI. */
extern void OperationInsert(Operation *op, int64 rows_estimated);

/* Record how far it is.  "swapped" is set with the phase.  Needs SPI. */
extern void OperationPhase(const Operation *op, const char *phase);
extern void OperationCopied(const Operation *op, int64 rows);
extern void OperationFailed(const Operation *op, const char *error);

/* Forget it.  Needs SPI. */
extern void OperationDelete(const Operation *op);

/* The numbers (int64 *) of all operations on record, of one container or (InvalidOid) all.  Needs SPI. */
extern List *OperationNumbers(Oid container);

/* Read an operation that nobody works on, and lock it for the session; else NULL.  Needs SPI. */
extern Operation *OperationTake(int64 id);

/*
 * Whether the rows of a leaf are to be written to a table as well, by an
 * operation that is recorded and has no gap.  Needs SPI.
 */
extern bool OperationWrites(int64 id, Oid leaf, Oid target);

/*
 * A change that could not be repeated, and why: from the commit of the current
 * transaction on the operation can't go on.  And whether there is one: the error,
 * or NULL.  Need SPI.
 */
extern void OperationAddGap(int64 id, const char *error);
extern char *OperationGap(int64 id);

/* Whether that can be asked without waiting. */
extern bool OperationGapsAtHand(void);

/* The tables that operations on record have made (OIDs), wherever they are by now.  Needs SPI. */
extern List *OperationTables(void);

/*
 * Take an operation for the session: to work on it, or, when nobody does any
 * more, to remove what it left.  False if somebody else has it.
 */
extern bool OperationLock(int64 id);
extern bool OperationClaim(int64 id);
extern void OperationUnlock(int64 id);

/* Whether a session works on it.  False while what it left is removed: then the leaves are changed by others already. */
extern bool OperationRunning(int64 id);

#endif							/* PARTITIONKEY_OPERATION_H */
