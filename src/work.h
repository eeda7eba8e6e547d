/*
 * work.h
 *		A change of partitions under way, in steps that are transactions of their own.
 */
#ifndef PARTITIONKEY_WORK_H
#define PARTITIONKEY_WORK_H

#include "postgres.h"

#include "portability/instr_time.h"
#include "storage/lock.h"

#include "change.h"
#include "operation.h"
#include "sql.h"

/* A change under way.  All of it lives in its context, which the caller gives. */
typedef struct Work
{
	const Change *change;
	MemoryContext context;		/* lives as long as this */
	MemoryContext scratch;		/* of one attempt */
	Oid			owner;			/* of the container */
	List	   *sources;		/* leaves whose rows move */
	bool		keyed;			/* rows can be found again, so that writers need not wait */
	Oid			target;			/* where rows are put: the node, a staging table, or the only piece */
	Operation	op;
	int64		copied;
	instr_time	began;			/* the attempt */
	bool		met_row;		/* why the last attempt failed */
	bool		patient;		/* nobody is behind us yet: wait as long as the user wants */

	SqlActing	acting;			/* of the current transaction */
} Work;

/* What helps code of users that does not find by our search_path what it calls. */
#define SEARCH_PATH_HINT	"A function that is called for an index or a generated column needs a SET search_path of its own."

/* Something that a change does, under the locks of its transaction. */
typedef void (*WorkStep) (Work *w, void *arg);

extern Work *WorkNew(MemoryContext context);

/* Begin to act as the owner, in the current transaction; and end it. */
extern void WorkBegin(Work *w);
extern void WorkCommit(Work *w);

/*
 * Commit a part of the copy.  After a crash the operation is over anyway, so
 * nobody needs to wait for the disk.
 */
extern void WorkCommitLazily(Work *w);

/*
 * Try a step under a short lock timeout (partitionkey.lock_timeout), in a
 * subtransaction.  False if it could not get a lock, or met a row that is there
 * already (met_row); then all it did is undone.  Other errors are thrown.
 */
extern bool WorkAttempt(WorkStep step, Work *w, void *arg);

/*
 * Before another lock of an attempt: what is left of the time.  Those that have
 * been granted keep others waiting meanwhile.
 */
extern void WorkTighten(const Work *w);

/* Do a step in a transaction of its own, as often as it takes to get its locks. */
extern void WorkInsist(WorkStep step, Work *w, void *arg);

/* Record that the operation enters a phase, in a transaction of its own. */
extern void WorkEnter(Work *w, const char *phase);

/* Sleep, and be cancelled meanwhile. */
extern void WorkPause(int milliseconds);

/* Milliseconds since an attempt, or something else, began. */
extern double WorkMilliseconds(instr_time began);

/*
 * Between transactions: give up (ERRCODE_OBJECT_IN_USE) for somebody who wants to change the table and
 * keeps others waiting; or for one of those that we wait for ourselves.  Looks for
 * a gap as well.
 */
extern void WorkGiveWay(Work *w, const VirtualTransactionId *waited_for, int n);

/*
 * Give up (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE) if a change of an application could not be repeated; or
 * (ERRCODE_INSUFFICIENT_PRIVILEGE) because the owner has lost a right.
 */
extern void WorkCheckGap(const Work *w);

/* Give up (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE) if the new tables would be published. */
extern void WorkCheckPublications(const Work *w);

/* The lock that an operation has on a leaf all the time. */
extern LOCKTAG WorkLockTag(Oid relid);

#endif							/* PARTITIONKEY_WORK_H */
