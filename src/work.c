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

#include "compat.h"
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

void
WorkBegin(Work *w)
{
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
		/* Well below the time after which PostgreSQL looks for deadlocks, so that it finds none with us. */
		if (!w->patient)
			SqlExecute("SET LOCAL lock_timeout = %d", Max(1, Min(SettingLockTimeout, DeadlockTimeout / 2)));
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
		/* The last one is of a row that moved to another partition while the copy waited for it. */
		if (w->patient || (!w->met_row && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE && error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED &&
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
 * Whether somebody waits for a lock that keeps applications waiting behind it:
 * VACUUM, for one, can wait for us until the end.
 */
static bool
blocks_others(Oid relid)
{
	int			nestlevel = SqlBegin();
	bool		blocks = SqlCount("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %u AND mode <> 'ShareUpdateExclusiveLock'",
								  relid) > 0;

	SqlEnd(nestlevel);
	return blocks;
}

/*
 * Give way to somebody who wants to change the table.  While we wait for others'
 * snapshots, to everybody: he may be one of them.
 */
void
WorkGiveWay(const Work *w, bool to_all)
{
	ListCell   *cell;

	foreach(cell, w->sources)
	{
		LOCKTAG		tag = WorkLockTag(lfirst_oid(cell));

		if (LockHasWaiters(&tag, ShareUpdateExclusiveLock, true) && (to_all || blocks_others(lfirst_oid(cell))))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("gave up the %s of partition \"%s\", because another session wants to change the table",
							w->change->kind, get_rel_name(lfirst_oid(cell))),
					 errhint("Call it again when the other session is done.")));
	}
}

void
WorkInsist(WorkStep step, Work *w, void *arg)
{
	for (;;)
	{
		bool		done;

		if (w->op.id != 0)
			WorkGiveWay(w, false);
		WorkBegin(w);
		done = WorkAttempt(step, w, arg);
		WorkCommit(w);
		if (done)
			return;
		WorkPause(SettingRetryPause);
	}
}
