/*
 * copying.c
 *		Copying the rows of leaves while applications write to them.
 *
 * Rows are copied in the order of their blocks, a batch in one transaction.
 * Those that come into a block after it was copied were written since the
 * trigger is there.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "executor/spi.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "copying.h"
#include "dualwrite.h"
#include "settings.h"

/* Places for rows in a block, at least. */
#define BLOCK_PLACES		(MaxHeapTuplesPerPage + 1)

/* Blocks that a batch takes at most. */
#define MAX_BLOCKS			4096

/* What a batch copies. */
typedef struct Batch
{
	Oid			source;
	char	   *columns;
	char	   *key;			/* the unique index, as ON CONFLICT takes it */
	int64		from;			/* places, in the order of their blocks */
	int64		to;				/* exclusive */
	bool		skip;			/* leave rows alone that are there already */
	int64		rows;			/* copied */
} Batch;

static void
copy_step(Work *w, void *arg)
{
	Batch	   *batch = arg;

	DualWriteLockCopy(w->op.id);
	/* Nothing can be deferred in a security-restricted operation, and rows that are committed meet all constraints. */
	SqlExecute("SET CONSTRAINTS ALL IMMEDIATE");
	SqlExecute("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT * FROM"
			   " (SELECT %s FROM ONLY %s WHERE ctid >= '(%u,%d)' AND ctid < '(%u,%d)' FOR KEY SHARE) batch %s",
			   QualifiedName(w->target), batch->columns, batch->columns, QualifiedName(batch->source),
			   (BlockNumber) (batch->from / BLOCK_PLACES), (int) (batch->from % BLOCK_PLACES),
			   (BlockNumber) (batch->to / BLOCK_PLACES), (int) (batch->to % BLOCK_PLACES),
			   batch->skip ? psprintf("ON CONFLICT (%s) DO NOTHING", batch->key) : "");
	batch->rows = SPI_processed;
	OperationCopied(&w->op, w->copied + batch->rows);
}

static BlockNumber
number_of_blocks(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	table_close(rel, AccessShareLock);
	return blocks;
}

/* Whether anybody is changing rows of a table just now. */
static bool
is_written(Oid relid)
{
	LOCKTAG		tag = WorkLockTag(relid);
	VirtualTransactionId *writers = GetLockConflicts(&tag, ShareLock, NULL);
	bool		any = VirtualTransactionIdIsValid(writers[0]);

	pfree(writers);
	return any;
}

/* Leave the machine to applications for the rest of the time, as VACUUM does. */
static void
pace(double milliseconds)
{
	/* A batch that waited for a lock has left the machine alone already. */
	WorkPause((int) Min(milliseconds * (1 / SettingCopyEffort - 1), 1000));
}

/*
 * Most batches meet no row that is there already, and can do without looking
 * for one, which takes half as long again.  One that does is done over.
 *
 * Who changes a row of a batch waits for the end of it, so a batch must be short
 * while applications write; else nobody is there to be kept waiting.
 */
static void
copy_source(Work *w, Oid source)
{
	Batch		batch = {0};
	int64		end = (int64) number_of_blocks(source) * BLOCK_PLACES;
	int64		size = BLOCK_PLACES;	/* places of a batch, by what the last one held */
	int			failures = 0;
	int			skipped = 0;
	int			conflicts = 0;

	batch.source = source;
	batch.columns = DualWriteList(DualWriteColumns(source), "");
	batch.key = DualWriteArbiter(DualWriteIndex(source));
	while (batch.from < end)
	{
		instr_time	began;
		double		took;
		bool		written;
		bool		done;

		WorkGiveWay(w, NULL, 0);
		INSTR_TIME_SET_CURRENT(began);
		batch.to = Min(end, batch.from + size);
		WorkBegin(w);
		done = WorkAttempt(copy_step, w, &batch);
		WorkCommitLazily(w);
		if (!done && w->met_row && !batch.skip)
		{
			batch.skip = true;
			continue;
		}
		/* Another unique key may be in the hands of a row that is being changed. */
		if (!done && w->met_row && ++conflicts > 100)
			ereport(ERROR,
					(errcode(ERRCODE_UNIQUE_VIOLATION),
					 errmsg("partition \"%s\" has rows that its own constraints forbid", get_rel_name(source)),
					 errhint("REINDEX it, and remove duplicates.")));
		if (!done)
		{
			size = Max(1, size / 2);
			WorkPause(Min(SettingRetryPause, 10 << Min(failures, 6)));
			failures++;
			continue;
		}
		failures = conflicts = 0;
		/* Where applications write, the next batch is likely to meet a row, too. */
		batch.skip = batch.skip && ++skipped % 16 != 0;
		w->copied += batch.rows;
		batch.from = batch.to;
		took = WorkMilliseconds(began);
		written = is_written(source);
		if (batch.rows > SettingBatchRows || (written && took > SettingLockTimeout / 2))
			size = Max(1, size / 2);
		else if (batch.rows < SettingBatchRows / 2 && !(written && took > SettingLockTimeout / 4))
			size = Min(size * 2, MAX_BLOCKS * BLOCK_PLACES);
		if (written)
			pace(took);
	}
}

static void
analyze_step(Work *w, void *arg)
{
	(void) arg;
	/* Nobody else has these tables, and what it calls may take its time. */
	SqlExecute("SET LOCAL lock_timeout = 0");
	SqlExecute("ANALYZE %s", QualifiedName(w->target));
}

void
CopySources(Work *w)
{
	ListCell   *cell;

	foreach(cell, w->sources)
		copy_source(w, lfirst_oid(cell));
	WorkEnter(w, "analyzing");
	WorkInsist(analyze_step, w, NULL);
}
