/*
 * snapshots.c
 *		Waiting until all can see what has been copied.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "snapshots.h"

static VirtualTransactionId *
transactions_before(TransactionId limit, int *n)
{
	return GetCurrentVirtualXIDs(limit, true, false, PROC_IS_AUTOVACUUM | PROC_IN_VACUUM | PROC_IN_SAFE_IC, n);
}

/* Those of a list that are in another one as well, moved to its front; gives their number. */
static int
keep_common(VirtualTransactionId *list, int n, const VirtualTransactionId *other, int nother)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < nother; j++)
			if (VirtualTransactionIdEquals(list[i], other[j]))
			{
				list[kept++] = list[i];
				break;
			}
	return kept;
}

/*
 * Whether a standby that reports its oldest snapshot (hot_standby_feedback) has
 * one that is older than a transaction.
 */
static bool
standby_before(TransactionId limit)
{
	int			nestlevel = SqlBegin();
	bool		before = SqlCount("SELECT count(*) FROM (SELECT backend_xmin AS xmin FROM pg_stat_get_activity(NULL) WHERE backend_type = 'walsender'"
								  " UNION ALL SELECT s.xmin FROM pg_get_replication_slots() s WHERE s.slot_type = 'physical') x"
								  " WHERE x.xmin IS NOT NULL AND age(x.xmin) > age('%u'::xid)", limit) > 0;

	SqlEnd(nestlevel);
	return before;
}

/*
 * Wait until every snapshot in this database sees what has been copied, as
 * CREATE INDEX CONCURRENTLY does: until those transactions that have an older
 * one now are gone, or have a newer one.
 */
void
SnapshotsWait(Work *w)
{
	TransactionId limit;
	VirtualTransactionId *old;
	int			nold;
	int			milliseconds = 5;

	PushActiveSnapshot(GetTransactionSnapshot());
	limit = GetActiveSnapshot()->xmin;
	PopActiveSnapshot();
	SPI_commit();
	MemoryContextSwitchTo(w->context);
	old = transactions_before(limit, &nold);
	while (nold > 0)
	{
		VirtualTransactionId *now;
		int			nnow;

		WorkGiveWay(w, old, nold);
		/* What is remembered of the catalogs must not keep another operation waiting. */
		InvalidateCatalogSnapshot();
		WorkPause(milliseconds);
		milliseconds = Min(2 * milliseconds, 200);
		now = transactions_before(limit, &nnow);
		nold = keep_common(old, nold, now, nnow);
		pfree(now);
	}
	pfree(old);
	while (standby_before(limit))
	{
		SPI_commit();
		MemoryContextSwitchTo(w->context);
		WorkGiveWay(w, NULL, 0);
		WorkPause(100);
	}
}
