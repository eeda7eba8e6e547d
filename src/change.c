/*
 * change.c
 *		Exchanging leaves of a container while it is in use.
 *
 * The rows of the old leaves are copied to new ones, made apart from the
 * container, while a trigger repeats there what applications write meanwhile
 * (dualwrite.c).  Then the new leaves take the place of the old ones in one
 * short transaction.  Each step is a transaction of its own:
 *
 *	preparing	record the operation, make the new tables
 *	starting	put the trigger on the old leaves
 *	copying		copy the rows, some thousand at a time
 *	waiting		until no transaction is left whose snapshot is older than the
 *				copies: it would miss the rows copied since
 *	swapping	lock the node above, detach the old leaves, attach the new ones
 *	dropping	drop the old leaves
 *
 * Locks.  The session holds SHARE UPDATE EXCLUSIVE on the old leaves all the
 * time, which keeps out other operations and changes of the table's definition.
 * Somebody who wants to change the definition must not wait for us until the
 * end, since all others would then wait for him: when there is a waiter, the
 * operation gives up.  All other locks are asked for with a short timeout, after
 * which we step back and try again later, since others queue up behind us.
 *
 * The node above must be locked against everybody for the swap: a session that
 * waits only for a leaf goes on with the routing it has once it gets the lock.
 *
 * Rows are copied in the order of their blocks.  Those that come into a block
 * after it was copied were written since the trigger is there.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic_ext.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/syscache.h"

#include "change.h"
#include "compat.h"
#include "dualwrite.h"
#include "obstacle.h"
#include "operation.h"
#include "settings.h"
#include "sql.h"
#include "staging.h"

/* A change under way. */
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
	bool		met_row;		/* why the last attempt failed */
	bool		patient;		/* nobody is behind us yet: wait as long as the user wants */

	SqlActing	acting;			/* of the current transaction */
} Work;

static Work *
new_work(MemoryContext context)
{
	Work	   *w = MemoryContextAllocZero(context, sizeof(Work));

	w->context = context;
	w->scratch = AllocSetContextCreate(context, "attempt at a change of partitions", ALLOCSET_DEFAULT_SIZES);
	return w;
}

/* Begin to act as the owner. */
static void
act(Work *w)
{
	w->acting = SqlBeginAs(w->owner);
}

static void
commit(Work *w)
{
	SqlEndAs(w->acting);
	SPI_commit();
	MemoryContextSwitchTo(w->context);
}

/*
 * Commit a part of the copy.  After a crash the operation is over anyway, so
 * nobody needs to wait for the disk.
 */
static void
commit_lazily(Work *w)
{
	SqlEndAs(w->acting);
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	SPI_commit();
	MemoryContextSwitchTo(w->context);
}

/*
 * Try something under a short lock timeout, in a subtransaction.  False if it
 * could not get a lock, or met a row that is there already; then all it did is
 * undone.
 */
static bool
attempt(void (*step) (Work *w, void *arg), Work *w, void *arg)
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

static void
enter(Work *w, const char *phase)
{
	act(w);
	OperationPhase(&w->op, phase);
	commit(w);
}

static void
pause_for(int milliseconds)
{
	CHECK_FOR_INTERRUPTS();
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

static LOCKTAG
relation_tag(Oid relid)
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
	return SqlCount("SELECT count(*) FROM pg_catalog.pg_locks WHERE NOT granted AND relation OPERATOR(pg_catalog.=) %u"
					" AND mode OPERATOR(pg_catalog.<>) 'ShareUpdateExclusiveLock'", relid) > 0;
}

/*
 * Give way to somebody who wants to change the table.  While we wait for others'
 * snapshots, to everybody: he may be one of them.
 */
static void
give_way(const Work *w, bool to_all)
{
	ListCell   *cell;

	foreach(cell, w->sources)
	{
		LOCKTAG		tag = relation_tag(lfirst_oid(cell));

		if (LockHasWaiters(&tag, ShareUpdateExclusiveLock, true) && (to_all || blocks_others(lfirst_oid(cell))))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("gave up the %s of partition \"%s\", because another session wants to change the table",
							w->change->kind, get_rel_name(lfirst_oid(cell))),
					 errhint("Call it again when the other session is done.")));
	}
}

/* Do a step in a transaction of its own, as often as it takes to get its locks. */
static void
insist(void (*step) (Work *w, void *arg), Work *w, void *arg)
{
	for (;;)
	{
		bool		done;

		if (w->op.id != 0)
			give_way(w, false);
		act(w);
		done = attempt(step, w, arg);
		commit(w);
		if (done)
			return;
		pause_for(SettingRetryPause);
	}
}

/* Look again, once nobody else can change the leaves: they may not be what they were. */
static void
check_children(const Work *w)
{
	ListCell   *cell;

	foreach(cell, w->change->children)
		if (get_rel_name(lfirst_oid(cell)) == NULL || !get_rel_relispartition(lfirst_oid(cell)) ||
			get_partition_parent(lfirst_oid(cell), true) != w->change->parent)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the partition has been changed meanwhile"),
					 errhint("Call it again.")));
}

static void
lock_sources_step(Work *w, void *arg)
{
	ListCell   *cell;

	(void) arg;
	foreach(cell, w->sources)
	{
		LOCKTAG		tag = relation_tag(lfirst_oid(cell));

		if (LockAcquire(&tag, ShareUpdateExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL)
			continue;
		if (SqlCount("SELECT count(*) FROM partitionkey.operations WHERE %u = ANY (partitions) AND running", lfirst_oid(cell)) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("another operation is at work on partition \"%s\"", get_rel_name(lfirst_oid(cell))),
					 errhint("See the view partitionkey.operations.")));
		(void) LockAcquire(&tag, ShareUpdateExclusiveLock, true, false);
	}
	AcceptInvalidationMessages();
	check_children(w);
	foreach(cell, w->sources)
		ObstacleCheckDependents(lfirst_oid(cell), "exchange partition", "Drop them first.");
}

static char *
staging_name(const Work *w, const char *what, int n)
{
	Oid			schema = get_rel_namespace(w->change->container->relid);

	return ChooseRelationName(get_rel_name(w->change->container->relid), NULL, psprintf("%s_%d", what, n), schema, false);
}

/*
 * Tables that foreign keys refer to are changed by making, attaching and
 * dropping leaves.  They are locked first and with the strongest lock, so that
 * nobody who has a weaker one comes in between.
 */
static void
lock_referenced(const Work *w)
{
	List	   *referenced = NIL;
	ListCell   *cell;

	foreach(cell, w->op.sources)
		referenced = list_concat_unique_oid(referenced,
											SqlOids("SELECT DISTINCT confrelid FROM pg_constraint WHERE conrelid = %u AND contype = 'f' ORDER BY 1",
													lfirst_oid(cell)));
	foreach(cell, referenced)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		(void) find_all_inheritors(lfirst_oid(cell), AccessExclusiveLock, NULL);
	}
}

/* Note a table that has been made, beyond the attempt. */
static void
note_made(Work *w, Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);

	w->op.made = lappend_oid(w->op.made, relid);
	MemoryContextSwitchTo(old);
}

/* Make the new leaves, and what routes rows to them. */
static void
make_tables(Work *w)
{
	const Change *c = w->change;
	bool		alone = list_length(c->pieces) == 1 && !c->nested;
	Oid			model = linitial_oid(w->sources);
	ListCell   *cell;
	int			n = 0;

	if (!alone)
	{
		w->target = StagingMakeNode(c->container, c->parent, staging_name(w, "new", 0), c->level);
		note_made(w, w->target);
	}
	foreach(cell, c->pieces)
	{
		Piece	   *piece = lfirst(cell);

		StagingMakeLeaf(c->container, model, staging_name(w, "new", ++n), &piece->leaf);
		note_made(w, piece->leaf.relid);
		if (c->nested)
			StagingAddBound(piece->leaf.relid, c->parent, c->modulus, c->remainder);
		else
			StagingAddBound(piece->leaf.relid, c->parent, piece->modulus, piece->remainder);
		if (!alone)
			SqlExecute("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)",
					   QualifiedName(w->target), QualifiedName(piece->leaf.relid), piece->modulus, piece->remainder);
		else
			w->target = piece->leaf.relid;
	}
	foreach(cell, w->op.made)
		StagingHide(lfirst_oid(cell));
}

static int64
estimated_rows(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	float4		rows = HeapTupleIsValid(tuple) ? ((Form_pg_class) GETSTRUCT(tuple))->reltuples : 0;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return rows > 0 ? rows : 0;
}

static void
prepare_step(Work *w, void *arg)
{
	int64		rows = 0;
	ListCell   *cell;

	(void) arg;
	if (w->op.id != 0)
		OperationUnlock(w->op.id);
	w->op.made = NIL;
	lock_referenced(w);
	make_tables(w);
	foreach(cell, w->sources)
		rows += estimated_rows(lfirst_oid(cell));
	OperationInsert(&w->op, rows);
	if (!OperationLock(w->op.id))
		elog(ERROR, "operation " INT64_FORMAT " is locked", w->op.id);
}

static void
start_step(Work *w, void *arg)
{
	DualWriteStart(*(Oid *) arg, w->target, w->op.id);
}

/* What a batch copies. */
typedef struct Batch
{
	Oid			source;
	char	   *columns;
	char	   *key;			/* columns of the unique index */
	BlockNumber from;
	BlockNumber to;				/* exclusive */
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
			   " (SELECT %s FROM ONLY %s WHERE ctid >= '(%u,0)' AND ctid < '(%u,0)' FOR KEY SHARE) batch %s",
			   QualifiedName(w->target), batch->columns, batch->columns, QualifiedName(batch->source), batch->from, batch->to,
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
	LOCKTAG		tag = relation_tag(relid);
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
	pause_for((int) Min(milliseconds * (1 / SettingCopyEffort - 1), 1000));
}

static double
milliseconds_since(instr_time began)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, began);
	return INSTR_TIME_GET_MILLISEC(now);
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
	BlockNumber blocks = number_of_blocks(source);
	BlockNumber size = 1;		/* blocks of a batch, by what the last one held */
	int			failures = 0;
	int			skipped = 0;
	int			conflicts = 0;

	batch.source = source;
	batch.columns = DualWriteList(DualWriteColumns(source), "");
	batch.key = DualWriteList(DualWriteKeyColumns(DualWriteIndex(source)), "");
	while (batch.from < blocks)
	{
		instr_time	began;
		double		took;
		bool		written;
		bool		done;

		give_way(w, false);
		INSTR_TIME_SET_CURRENT(began);
		batch.to = Min(blocks, batch.from + size);
		act(w);
		done = attempt(copy_step, w, &batch);
		commit_lazily(w);
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
			pause_for(Min(SettingRetryPause, 10 << Min(failures, 6)));
			failures++;
			continue;
		}
		failures = conflicts = 0;
		/* Where applications write, the next batch is likely to meet a row, too. */
		batch.skip = batch.skip && ++skipped % 16 != 0;
		w->copied += batch.rows;
		batch.from = batch.to;
		took = milliseconds_since(began);
		written = is_written(source);
		if (batch.rows > SettingBatchRows || (written && took > SettingLockTimeout / 2))
			size = Max(1, size / 2);
		else if (batch.rows < SettingBatchRows / 2 && !(written && took > SettingLockTimeout / 4))
			size = Min(size * 2, 4096);
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

static void
copy(Work *w)
{
	ListCell   *cell;

	foreach(cell, w->sources)
		copy_source(w, lfirst_oid(cell));
	enter(w, "analyzing");
	insist(analyze_step, w, NULL);
}

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
	return SqlCount("SELECT count(*) FROM (SELECT backend_xmin AS xmin FROM pg_catalog.pg_stat_get_activity(NULL) WHERE backend_type OPERATOR(pg_catalog.=) 'walsender'"
					" UNION ALL SELECT s.xmin FROM pg_catalog.pg_get_replication_slots() s WHERE s.slot_type OPERATOR(pg_catalog.=) 'physical') x"
					" WHERE x.xmin IS NOT NULL AND pg_catalog.age(x.xmin) OPERATOR(pg_catalog.>) pg_catalog.age('%u'::pg_catalog.xid)", limit) > 0;
}

/*
 * Wait until every snapshot in this database sees what has been copied, as
 * CREATE INDEX CONCURRENTLY does: until those transactions that have an older
 * one now are gone, or have a newer one.
 */
static void
wait_for_snapshots(Work *w)
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

		give_way(w, true);
		/* What is remembered of the catalogs must not keep another operation waiting. */
		InvalidateCatalogSnapshot();
		pause_for(milliseconds);
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
		give_way(w, true);
		pause_for(100);
	}
}

/* A name for people: where the ranges of a leaf begin, in hex. */
static char *
label_of(const Leaf *leaf)
{
	StringInfoData label;

	initStringInfo(&label);
	appendStringInfoChar(&label, 'p');
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		PositionRange range = leaf->ranges[level];
		int			digits = Max(1, (range.bits + 3) / 4);

		if (level > 0 && range.bits == 0)
			break;
		appendStringInfo(&label, "%s%0*llx", level == 0 ? "" : "_", digits, (unsigned long long) (range.min >> (64 - 4 * digits)));
	}
	return label.data;
}

/* What follows a table's name and "_" in the name of something that is named after it, or NULL. */
static const char *
rest_of_name(const char *name, const char *table)
{
	return strncmp(name, table, strlen(table)) == 0 && name[strlen(table)] == '_' ? name + strlen(table) + 1 : NULL;
}

static void
rename_statistics(Oid statistics, const char *old, const char *new)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(statistics));
	Form_pg_statistic_ext form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
	const char *rest = rest_of_name(NameStr(form->stxname), old);
	char	   *name = rest != NULL ? makeObjectName(new, NULL, rest) : NULL;

	for (int n = 1; rest != NULL && SearchSysCacheExists2(STATEXTNAMENSP, PointerGetDatum(name), ObjectIdGetDatum(form->stxnamespace)); n++)
		name = makeObjectName(new, NULL, psprintf("%s%d", rest, n));
	if (rest != NULL)
		SqlExecute("ALTER STATISTICS %s RENAME TO %s",
				   quote_qualified_identifier(get_namespace_name(form->stxnamespace), NameStr(form->stxname)), quote_identifier(name));
	ReleaseSysCache(tuple);
}

/* Rename a table, and those of its indexes and extended statistics that are named after it. */
static void
rename_table(Oid relid, const char *base, const char *label)
{
	Oid			schema = get_rel_namespace(relid);
	char	   *old = get_rel_name(relid);
	char	   *name = ChooseRelationName(base, NULL, label, schema, false);
	Relation	rel = table_open(relid, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	List	   *statistics = RelationGetStatExtList(rel);
	ListCell   *cell;

	table_close(rel, NoLock);
	SqlExecute("ALTER TABLE %s RENAME TO %s", QualifiedName(relid), quote_identifier(name));
	foreach(cell, indexes)
	{
		const char *rest = rest_of_name(get_rel_name(lfirst_oid(cell)), old);

		if (rest != NULL)
			SqlExecute("ALTER INDEX %s RENAME TO %s", QualifiedName(lfirst_oid(cell)),
					   quote_identifier(ChooseRelationName(name, NULL, rest, schema, false)));
	}
	foreach(cell, statistics)
		rename_statistics(lfirst_oid(cell), old, name);
}

/*
 * A serializable transaction that has read the leaf leaves its mark there, and
 * those that write the row later look for it.  They would not find it on the
 * new leaf: so wait until it is gone.
 */
static void
check_not_read(Oid leaf)
{
	if (SqlCount("SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
				 " AND relation IN (SELECT %u UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = %u)", leaf, leaf) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("partition \"%s\" has been read by a serializable transaction", get_rel_name(leaf))));
}

static void
swap_step(Work *w, void *arg)
{
	const Change *c = w->change;
	char	   *parent;
	const char *container;
	TimestampTz *locked = arg;
	Oid			model = linitial_oid(w->sources);
	List	   *inherited_checks = StagingInheritedChecks(model);
	List	   *marks = NIL;
	ListCell   *cell;
	ListCell   *below;

	foreach(cell, c->pieces)
		marks = lappend(marks, StagingCollectMarks(model, ((Piece *) lfirst(cell))->leaf.relid));
	lock_referenced(w);
	LockRelationOid(c->parent, AccessExclusiveLock);
	*locked = GetCurrentTimestamp();
	foreach(cell, w->sources)
	{
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		DualWriteStop(lfirst_oid(cell));
		check_not_read(lfirst_oid(cell));
	}
	AcceptInvalidationMessages();
	parent = QualifiedName(c->parent);
	container = get_rel_name(c->container->relid);
	foreach(cell, w->op.made)
		StagingShow(lfirst_oid(cell));
	foreach(cell, c->children)
		SqlExecute("ALTER TABLE %s DETACH PARTITION %s", parent, QualifiedName(lfirst_oid(cell)));
	/* The new ones can have the names. */
	foreach(cell, c->children)
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			rename_table(lfirst_oid(below), get_rel_name(lfirst_oid(below)), "old");
	if (c->nested)
	{
		StagingEndDeferral(model, w->target);
		StagingAddInheritedChecks(inherited_checks, w->target);
		SqlExecute("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)",
				   parent, QualifiedName(w->target), c->modulus, c->remainder);
	}
	foreach(cell, c->pieces)
	{
		Piece	   *piece = lfirst(cell);
		char	   *name = QualifiedName(piece->leaf.relid);

		if (!c->nested)
		{
			if (w->target != piece->leaf.relid)
				SqlExecute("ALTER TABLE %s DETACH PARTITION %s", QualifiedName(w->target), name);
			StagingEndDeferral(model, piece->leaf.relid);
			StagingAddInheritedChecks(inherited_checks, piece->leaf.relid);
			SqlExecute("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)",
					   parent, name, piece->modulus, piece->remainder);
		}
		if (c->nested)
			StagingGiveIdentity(w->target, piece->leaf.relid);
		StagingDropBound(piece->leaf.relid);
		StagingApplyMarks(list_nth(marks, foreach_current_index(cell)));
		rename_table(piece->leaf.relid, container, label_of(&piece->leaf));
	}
	if (c->nested)
		rename_table(w->target, container, psprintf("%s_n", label_of(&((Piece *) linitial(c->pieces))->leaf)));
	w->op.swapped = true;
	if (w->op.id != 0)
		OperationPhase(&w->op, "dropping");
}

/* Drop a table of an operation that is part of no container, whoever owns it by now. */
static void
drop_if_apart(Oid relid)
{
	SqlActing	acting;

	if (get_rel_name(relid) == NULL || get_rel_relispartition(relid))
		return;
	acting = SqlBeginAs(RelationOwner(relid));
	SqlExecute("DROP TABLE %s", QualifiedName(relid));
	SqlEndAs(acting);
}

/* Remove what must not stay, whether the swap has been made or not. */
static void
clear_step(Work *w, void *arg)
{
	ListCell   *cell;

	(void) arg;
	lock_referenced(w);
	if (w->op.swapped)
		foreach(cell, w->op.replaced)
			drop_if_apart(lfirst_oid(cell));
	else
		foreach(cell, w->op.sources)
			DualWriteStop(lfirst_oid(cell));
	foreach(cell, w->op.made)
		StagingShow(lfirst_oid(cell));
	foreach(cell, w->op.made)
		drop_if_apart(lfirst_oid(cell));
	OperationDelete(&w->op);
}

/* Do that, with a few tries.  False if something is in use. */
static bool
clear(Work *w)
{
	for (int i = 0; i < 10; i++)
	{
		bool		done;

		act(w);
		done = attempt(clear_step, w, NULL);
		commit(w);
		if (done)
		{
			OperationUnlock(w->op.id);
			return true;
		}
		pause_for(SettingRetryPause);
	}
	return false;
}

static void
unlock_sources(const Work *w)
{
	ListCell   *cell;

	foreach(cell, w->sources)
	{
		LOCKTAG		tag = relation_tag(lfirst_oid(cell));

		LockRelease(&tag, ShareUpdateExclusiveLock, true);
	}
}

static void
run(Work *w)
{
	TimestampTz locked;
	ListCell   *cell;

	w->patient = true;
	insist(lock_sources_step, w, NULL);
	w->patient = false;
	insist(prepare_step, w, NULL);
	enter(w, "starting");
	foreach(cell, w->sources)
		insist(start_step, w, &lfirst_oid(cell));
	enter(w, "copying");
	copy(w);
	enter(w, "waiting");
	wait_for_snapshots(w);
	enter(w, "swapping");
	insist(swap_step, w, &locked);
	ereport(DEBUG1,
			(errmsg_internal("partitions were swapped within %.1f ms",
							 (GetCurrentTimestamp() - locked) / 1000.0)));
	unlock_sources(w);
	if (!clear(w))
	{
		OperationUnlock(w->op.id);
		ereport(WARNING,
				(errmsg("the old partition could not be dropped yet"),
				 errhint("CALL partitionkey.cleanup() later.")));
	}
}

/* Keep out writers: at the node, so that none of them waits for a leaf with the node locked. */
static void
lock_writers_step(Work *w, void *arg)
{
	ListCell   *cell;

	(void) arg;
	lock_referenced(w);
	LockRelationOid(w->change->parent, ShareRowExclusiveLock);
	foreach(cell, w->sources)
		LockRelationOid(lfirst_oid(cell), ShareRowExclusiveLock);
}

/*
 * Without a key rows can't be found again, so nobody may write until the swap:
 * all of it is one transaction.
 */
static void
run_locked(Work *w)
{
	TimestampTz locked;
	ListCell   *cell;

	for (;;)
	{
		act(w);
		if (attempt(lock_writers_step, w, NULL))
			break;
		commit(w);
		pause_for(SettingRetryPause);
	}
	AcceptInvalidationMessages();
	check_children(w);
	make_tables(w);
	SqlExecute("SET CONSTRAINTS ALL IMMEDIATE");
	foreach(cell, w->sources)
	{
		char	   *columns = DualWriteList(DualWriteColumns(lfirst_oid(cell)), "");

		SqlExecute("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM ONLY %s",
				   QualifiedName(w->target), columns, columns, QualifiedName(lfirst_oid(cell)));
	}
	SqlExecute("ANALYZE %s", QualifiedName(w->target));
	while (!attempt(swap_step, w, &locked))
		pause_for(SettingRetryPause);
	foreach(cell, w->op.replaced)
		drop_if_apart(lfirst_oid(cell));
	foreach(cell, w->op.made)
		drop_if_apart(lfirst_oid(cell));
	commit(w);
}

/*
 * Clear away what a failed change left, as far as that is possible.  Whoever we
 * gave way to may be dropping the same tables now, so try again on errors.
 */
static void
undo(Work *w, const ErrorData *error)
{
	volatile bool done = false;

	for (int i = 0; i < 3 && !done; i++)
	{
		PG_TRY();
		{
			/* The lock went with the transaction; somebody else may clean up already. */
			done = !OperationLock(w->op.id) || clear(w);
			if (!done)
			{
				act(w);
				OperationFailed(&w->op, error->message);
				commit(w);
				OperationUnlock(w->op.id);
				done = true;
			}
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(w->context);
			FlushErrorState();
			SPI_rollback();
			MemoryContextSwitchTo(w->context);
			pause_for(SettingRetryPause);
		}
		PG_END_TRY();
	}
}

static List *
leaves_below(List *children)
{
	List	   *leaves = NIL;
	ListCell   *cell;
	ListCell   *below;

	foreach(cell, children)
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			if (get_rel_relkind(lfirst_oid(below)) != RELKIND_PARTITIONED_TABLE)
				leaves = lappend_oid(leaves, lfirst_oid(below));
	return leaves;
}

void
ChangeChoose(Change *change, Oid partition, void (*choose) (Change *change, Oid partition))
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		choose(change, partition);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		CurrentResourceOwner = owner;
		ReThrowError(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

void
ChangeRun(const Change *change)
{
	Work	   *w = new_work(CurrentMemoryContext);
	ListCell   *cell;

	w->change = change;
	w->owner = RelationOwner(change->container->relid);
	w->sources = leaves_below(change->children);
	w->keyed = true;
	foreach(cell, w->sources)
		w->keyed &= OidIsValid(DualWriteIndex(lfirst_oid(cell)));
	w->op.kind = change->kind;
	w->op.container = change->container->relid;
	w->op.sources = w->sources;
	w->op.replaced = change->children;
	if (!w->keyed)
		ereport(NOTICE,
				(errmsg("\"%s\" has no primary key, so writers of the partition wait until its rows are copied",
						get_rel_name(change->container->relid)),
				 errhint("A primary key or a unique index over columns that are not null lets them go on.")));

	PG_TRY();
	{
		if (w->keyed)
			run(w);
		else
			run_locked(w);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(w->context);
		error = CopyErrorData();
		FlushErrorState();
		SPI_rollback();
		MemoryContextSwitchTo(w->context);
		if (w->op.id != 0)
			undo(w, error);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * Remove triggers that no operation is on record for, as a dump that was taken
 * during one brings along.
 */
static void
remove_strays(Oid container)
{
	List	   *strays = SqlOids("SELECT tgrelid FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) tgrelid"
								 " WHERE tgfoid OPERATOR(pg_catalog.=) 'partitionkey.dual_write'::pg_catalog.regproc AND pg_catalog.pg_has_role(relowner, 'USAGE')"
								 " AND (0 OPERATOR(pg_catalog.=) %u OR tgrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(%u)))"
								 " AND NOT EXISTS (SELECT FROM partitionkey.operations WHERE tgrelid OPERATOR(pg_catalog.=) ANY (partitions::pg_catalog.oid[]))",
								 container, container);
	ListCell   *cell;

	foreach(cell, strays)
	{
		SqlActing	acting = SqlBeginAs(RelationOwner(lfirst_oid(cell)));

		DualWriteStop(lfirst_oid(cell));
		SqlEndAs(acting);
	}
	SPI_commit();
}

int
ChangeCleanup(Oid container)
{
	List	   *left;
	ListCell   *cell;
	int			remaining = 0;
	MemoryContext context = CurrentMemoryContext;

	left = OperationsLeft(container);
	remove_strays(container);
	foreach(cell, left)
	{
		Work	   *w = new_work(context);

		w->op = *(Operation *) lfirst(cell);
		w->owner = RelationOwner(w->op.container);
		/* What a dropped container left is for superusers. */
		if (!OidIsValid(w->owner) && superuser())
			w->owner = GetUserId();
		if (!OidIsValid(w->owner) || !has_privs_of_role(GetUserId(), w->owner))
			OperationUnlock(w->op.id);
		else if (!clear(w))
		{
			OperationUnlock(w->op.id);
			remaining++;
		}
	}
	return remaining;
}
