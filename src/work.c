/*
 * work.c
 *		The steps of a change of partitions, each a transaction of its own.
 *
 * Locks are asked for with a short timeout, after which the step is undone and
 * tried again later, since others queue up behind us.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "obstacle.h"
#include "rights.h"
#include "settings.h"
#include "work.h"

Work *
WorkNew(MemoryContext context)
{
	Work	   *w = MemoryContextAllocZero(context, sizeof(Work));

	w->context = context;
	w->scratch = AllocSetContextCreate(context, "attempt at a change of partitions", ALLOCSET_DEFAULT_SIZES);
	return w;
}

/* Each step sees what is committed when it begins, whatever the user's transactions are like. */
void
WorkBegin(Work *w)
{
	if (!FirstSnapshotSet)
		(void) set_config_option("transaction_isolation", "read committed", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SET, true, 0, false);
	w->acting = SqlBeginAs(w->owner);
}

void
WorkCommit(Work *w)
{
	SqlEndAs(w->acting);
	SPI_commit();
	MemoryContextSwitchTo(w->context);
}

void
WorkCommitLazily(Work *w)
{
	SqlEndAs(w->acting);
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	SPI_commit();
	MemoryContextSwitchTo(w->context);
}

double
WorkMilliseconds(instr_time began)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, began);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* The time is well below that after which PostgreSQL looks for deadlocks, so that it finds none with us. */
void
WorkTighten(const Work *w)
{
	int			left = Min(SettingLockTimeout, DeadlockTimeout / 2) - (int) WorkMilliseconds(w->began);

	if (!w->patient)
		SqlExecute("SET LOCAL lock_timeout = %d", Max(1, left));
}

/* GRANT changes the catalogs without a lock on the table; who comes second fails. */
static bool
is_catalog_conflict(const ErrorData *error)
{
	return error->message_id != NULL &&
		(strcmp(error->message_id, "tuple concurrently updated") == 0 || strcmp(error->message_id, "tuple concurrently deleted") == 0);
}

bool
WorkAttempt(WorkStep step, Work *w, void *arg)
{
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	w->met_row = false;

	MemoryContextReset(w->scratch);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(w->scratch);
	PG_TRY();
	{
		INSTR_TIME_SET_CURRENT(w->began);
		WorkTighten(w);
		step(w, arg);
		SqlExecute("SET LOCAL lock_timeout = 0");
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(w->context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		CurrentResourceOwner = owner;
		w->met_row = error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION || error->sqlerrcode == ERRCODE_EXCLUSION_VIOLATION;
		/* The last ones are of a row that moved to another partition while the copy waited for it, and of a GRANT at the same time. */
		if (w->patient || (!w->met_row && !is_catalog_conflict(error) && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE && error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED &&
			 error->sqlerrcode != ERRCODE_T_R_SERIALIZATION_FAILURE))
			ReThrowError(error);
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(w->context);
	CurrentResourceOwner = owner;
	return done;
}

void
WorkEnter(Work *w, const char *phase)
{
	WorkBegin(w);
	OperationPhase(&w->op, phase);
	WorkCommit(w);
}

void
WorkPause(int milliseconds)
{
	CHECK_FOR_INTERRUPTS();
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

LOCKTAG
WorkLockTag(Oid relid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	return tag;
}

/*
 * Whether somebody waits for a lock that keeps applications waiting behind it, or
 * has others that do.  VACUUM, for one, can mostly wait for us until the end.
 */
static bool
blocks_others(Oid relid)
{
	int			nestlevel = SqlBegin();
	bool		blocks = SqlCount("SELECT count(*) FROM pg_locks w WHERE NOT granted AND relation = %u AND (mode <> 'ShareUpdateExclusiveLock'"
								  " OR EXISTS (SELECT FROM pg_locks o WHERE NOT o.granted AND w.pid = ANY (pg_blocking_pids(o.pid))))", relid) > 0;

	SqlEnd(nestlevel);
	return blocks;
}

/* Whether one of these transactions waits for a lock on a table. */
static bool
waits_for(Oid relid, const VirtualTransactionId *transactions, int n)
{
	int			nestlevel = SqlBegin();
	bool		waits = false;

	for (int i = 0; i < n && !waits; i++)
		waits = SqlCount("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %u AND virtualtransaction = '%d/%u'",
						 relid, VirtualTransactionBackend(transactions[i]), transactions[i].localTransactionId) > 0;
	SqlEnd(nestlevel);
	return waits;
}

void
WorkCheckGap(const Work *w)
{
	char	   *error = OperationGap(w->op.id);

	if (error == NULL)
		return;
	RightsRequire(w->change->container->relid, w->owner, w->sources);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("gave up the %s of partition \"%s\", because a change of an application could not be repeated in the new one",
					w->change->kind, get_rel_name(linitial_oid(w->sources))),
			 errdetail("The error there was: %s", error),
			 errhint(SEARCH_PATH_HINT " A unique value that a trigger takes before all of the statement is done can't be repeated: call it again when nobody does so.")));
}

/* New leaves are made beside the old ones, and the node above them beside the parent. */
void
WorkCheckPublications(const Work *w)
{
	List	   *beside = list_append_unique_oid(list_copy(w->sources), w->change->parent);

	ObstacleCheckPublications(w->change->container->relid, beside);
	list_free(beside);
}

void
WorkGiveWay(Work *w, const VirtualTransactionId *waited_for, int n)
{
	ListCell   *cell;

	foreach(cell, w->sources)
	{
		LOCKTAG		tag = WorkLockTag(lfirst_oid(cell));

		if (LockHasWaiters(&tag, ShareUpdateExclusiveLock, true) &&
			(blocks_others(lfirst_oid(cell)) || waits_for(lfirst_oid(cell), waited_for, n)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("gave up the %s of partition \"%s\", because another session wants to change the table",
							w->change->kind, get_rel_name(lfirst_oid(cell))),
					 errhint("Call it again when the other session is done.")));
	}
	WorkBegin(w);
	/* DROP EXTENSION may have it, and be about to wait for us. */
	if (OperationGapsAtHand())
		WorkCheckGap(w);
	WorkCheckPublications(w);
	WorkCommit(w);
}

void
WorkInsist(WorkStep step, Work *w, void *arg)
{
	for (;;)
	{
		bool		done;

		if (w->op.id != 0)
			WorkGiveWay(w, NULL, 0);
		WorkBegin(w);
		done = WorkAttempt(step, w, arg);
		WorkCommit(w);
		if (done)
			return;
		WorkPause(SettingRetryPause);
	}
}
