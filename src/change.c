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
 *	copying		copy the rows, some thousand at a time (copying.c)
 *	waiting		until no transaction is left whose snapshot is older than the
 *				copies: it would miss the rows copied since (snapshots.c)
 *	swapping	lock the node above, detach the old leaves, attach the new ones
 *	dropping	drop the old leaves
 *
 * Locks.  The session holds SHARE UPDATE EXCLUSIVE on the old leaves all the
 * time, which keeps out other operations and changes of the table's definition.
 * Somebody who wants to change the definition must not wait for us until the
 * end, since all others would then wait for him: when there is a waiter, the
 * operation gives up.  All other locks are asked for with a short timeout (work.c).
 *
 * The node above must be locked against everybody for the swap: a session that
 * waits only for a leaf goes on with the routing it has once it gets the lock.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "change.h"
#include "compat.h"
#include "copying.h"
#include "dualwrite.h"
#include "failure.h"
#include "fitness.h"
#include "hiding.h"
#include "leafname.h"
#include "obstacle.h"
#include "operation.h"
#include "rights.h"
#include "settings.h"
#include "snapshots.h"
#include "sql.h"
#include "staging.h"
#include "work.h"

static void
changed_meanwhile(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the partition has been changed meanwhile"),
			 errhint("Call it again.")));
}

/* Look again, once nobody else can change the leaves: they may not be what they were. */
static void
check_children(const Work *w)
{
	ListCell   *cell;

	foreach(cell, w->change->children)
		if (get_rel_name(lfirst_oid(cell)) == NULL || !get_rel_relispartition(lfirst_oid(cell)) ||
			get_partition_parent(lfirst_oid(cell), true) != w->change->parent)
			changed_meanwhile();
}

/* What can be exchanged, for the same reason. */
static void
check_sources(const Work *w)
{
	ListCell   *cell;

	check_children(w);
	foreach(cell, w->sources)
	{
		if (w->keyed && !OidIsValid(DualWriteIndex(lfirst_oid(cell))))
			changed_meanwhile();
		ObstacleCheckDependents(lfirst_oid(cell), "exchange partition", "Drop them first.");
	}
	/* A node that goes as well. */
	foreach(cell, w->change->children)
		ObstacleCheckDependents(lfirst_oid(cell), "exchange partition", "Drop them first.");
	WorkCheckPublications(w);
	FitnessRequire(w->change->container, w->change->children, w->change->across);
}

static void
lock_sources_step(Work *w, void *arg)
{
	ListCell   *cell;

	(void) arg;
	foreach(cell, w->sources)
	{
		LOCKTAG		tag = WorkLockTag(lfirst_oid(cell));

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
	check_sources(w);
}

static char *
staging_name(const Work *w, Oid model, int n)
{
	return LeafFreeName(get_rel_name(w->change->container->relid), psprintf("new_%d", n), get_rel_namespace(model));
}

/*
 * Tables that foreign keys refer to are changed by attaching and dropping
 * leaves.  They are locked first and with the strongest lock, so that
 * nobody who has a weaker one comes in between.
 */
static void
lock_referenced(Work *w)
{
	List	   *referenced = NIL;
	ListCell   *cell;

	foreach(cell, w->op.sources)
		referenced = list_concat_unique_oid(referenced,
											SqlOids("SELECT DISTINCT confrelid FROM pg_constraint WHERE conrelid = %u AND contype = 'f' ORDER BY 1",
													lfirst_oid(cell)));
	foreach(cell, referenced)
	{
		WorkTighten(w);
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

	RightsRequire(c->container->relid, w->owner, w->sources);
	if (!alone)
	{
		w->target = StagingMakeNode(c->container, c->parent, staging_name(w, c->parent, 0), c->level);
		note_made(w, w->target);
	}
	foreach(cell, c->pieces)
	{
		Piece	   *piece = lfirst(cell);

		StagingMakeLeaf(c->container, model, staging_name(w, model, ++n), &piece->leaf);
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

/*
 * Copy one row, and take it back: code of users that computes columns or index
 * entries may fail under another search_path, and had better do so before the
 * changes of applications are repeated.
 */
static void
rehearse(Work *w)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *columns = DualWriteList(DualWriteColumns(linitial_oid(w->sources)), "");
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		SqlExecute("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM ONLY %s LIMIT 1 ON CONFLICT (%s) DO NOTHING",
				   QualifiedName(w->target), columns, columns, QualifiedName(linitial_oid(w->sources)),
				   DualWriteArbiter(DualWriteIndex(linitial_oid(w->sources))));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error != NULL)
		ReThrowError(error);
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
	make_tables(w);
	foreach(cell, w->op.made)
		HidingHide(lfirst_oid(cell));
	rehearse(w);
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
	StagingConstraints *constraints = StagingCollectConstraints(model);
	StagingMarks *marks = StagingCollectMarks(model);
	ListCell   *cell;
	ListCell   *below;

	/* Privileges may have changed meanwhile.  Before others have to wait for it. */
	FitnessRequire(c->container, c->children, c->across);
	if (w->op.id != 0)
		HidingLock();
	lock_referenced(w);
	WorkTighten(w);
	LockRelationOid(c->parent, AccessExclusiveLock);
	WorkCheckPublications(w);
	*locked = GetCurrentTimestamp();
	foreach(cell, w->sources)
	{
		WorkTighten(w);
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);
		DualWriteStop(lfirst_oid(cell));
		check_not_read(lfirst_oid(cell));
	}
	WorkCheckGap(w);
	AcceptInvalidationMessages();
	parent = QualifiedName(c->parent);
	container = get_rel_name(c->container->relid);
	foreach(cell, w->op.made)
		HidingShow(lfirst_oid(cell));
	foreach(cell, c->children)
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			StagingGiveIdentity(c->parent, lfirst_oid(below));
	foreach(cell, c->children)
		SqlExecute("ALTER TABLE %s DETACH PARTITION %s", parent, QualifiedName(lfirst_oid(cell)));
	/* The new ones can have the names. */
	foreach(cell, c->children)
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			LeafRename(lfirst_oid(below), get_rel_name(lfirst_oid(below)), "old");
	if (c->nested)
	{
		StagingAddConstraintsBelow(constraints, w->target);
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
			StagingAddConstraints(constraints, piece->leaf.relid);
			SqlExecute("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)",
					   parent, name, piece->modulus, piece->remainder);
		}
		if (c->nested)
			StagingGiveIdentity(w->target, piece->leaf.relid);
		StagingDropBound(piece->leaf.relid);
		StagingApplyMarks(marks, piece->leaf.relid);
	}
	foreach(cell, c->pieces)
		LeafRename(((Piece *) lfirst(cell))->leaf.relid, container, LeafLabel(&((Piece *) lfirst(cell))->leaf));
	if (c->nested)
		LeafRename(w->target, container, psprintf("%s_n", LeafLabel(&((Piece *) linitial(c->pieces))->leaf)));
	foreach(cell, w->sources)
		StagingKeepSequences(lfirst_oid(cell), ((Piece *) linitial(c->pieces))->leaf.relid);
	w->op.swapped = true;
	if (w->op.id != 0)
		OperationPhase(&w->op, "dropping");
}

/*
 * Drop a table of an operation that is part of no container, whoever owns it by
 * now.  Event triggers hear of it, unless its owner may not name it any more.
 */
static void
drop_if_apart(Oid relid)
{
	ObjectAddress table = {RelationRelationId, relid, 0};
	Oid			owner;
	SqlActing	acting;

	LockRelationOid(relid, AccessExclusiveLock);
	if (get_rel_name(relid) == NULL || get_rel_relispartition(relid))
		return;
	owner = RelationOwner(relid);
	acting = SqlBeginAs(owner);
	if (SchemaAclCheck(get_rel_namespace(relid), owner, ACL_USAGE) == ACLCHECK_OK)
		SqlExecute("DROP TABLE %s", QualifiedName(relid));
	else
		performDeletion(&table, DROP_RESTRICT, 0);
	CommandCounterIncrement();
	SqlEndAs(acting);
}

/*
 * Lock tables that are part of no container before others, which have waiters.
 * Only VACUUM can have them, which PostgreSQL ends for us if we are patient.
 */
static void
lock_apart(Oid relid)
{
	ListCell   *cell;

	if (get_rel_name(relid) == NULL || get_rel_relispartition(relid))
		return;
	SqlExecute("SET LOCAL lock_timeout = %d", 2 * DeadlockTimeout);
	LockRelationOid(relid, AccessExclusiveLock);
	foreach(cell, find_all_inheritors(relid, AccessExclusiveLock, NULL))
	{
		Relation	rel = table_open(lfirst_oid(cell), NoLock);

		if (OidIsValid(rel->rd_rel->reltoastrelid))
			LockRelationOid(rel->rd_rel->reltoastrelid, AccessExclusiveLock);
		table_close(rel, NoLock);
	}
}

/* Remove what must not stay, whether the swap has been made or not. */
static void
clear_step(Work *w, void *arg)
{
	ListCell   *cell;

	(void) arg;
	HidingLock();
	if (w->op.swapped)
	{
		foreach(cell, w->op.replaced)
			lock_apart(lfirst_oid(cell));
		WorkTighten(w);
		lock_referenced(w);
		foreach(cell, w->op.replaced)
			drop_if_apart(lfirst_oid(cell));
	}
	else
		foreach(cell, w->op.sources)
			DualWriteStop(lfirst_oid(cell));
	foreach(cell, w->op.made)
		HidingShow(lfirst_oid(cell));
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

		WorkBegin(w);
		done = WorkAttempt(clear_step, w, NULL);
		WorkCommit(w);
		if (done)
		{
			OperationUnlock(w->op.id);
			return true;
		}
		WorkPause(SettingRetryPause);
	}
	return false;
}

static void
unlock_sources(const Work *w)
{
	ListCell   *cell;

	foreach(cell, w->sources)
	{
		LOCKTAG		tag = WorkLockTag(lfirst_oid(cell));

		LockRelease(&tag, ShareUpdateExclusiveLock, true);
	}
}

static void
run(Work *w)
{
	TimestampTz locked;
	ListCell   *cell;

	w->patient = true;
	WorkInsist(lock_sources_step, w, NULL);
	w->patient = false;
	WorkInsist(prepare_step, w, NULL);
	WorkEnter(w, "starting");
	foreach(cell, w->sources)
		WorkInsist(start_step, w, &lfirst_oid(cell));
	WorkEnter(w, "copying");
	CopySources(w);
	WorkEnter(w, "waiting");
	SnapshotsWait(w);
	WorkEnter(w, "swapping");
	WorkInsist(swap_step, w, &locked);
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
	{
		LockRelationOid(lfirst_oid(cell), ShareRowExclusiveLock);
		/* The swap would wait for it, and writers for the swap. */
		check_not_read(lfirst_oid(cell));
	}
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
		WorkBegin(w);
		if (WorkAttempt(lock_writers_step, w, NULL))
			break;
		WorkCommit(w);
		WorkPause(SettingRetryPause);
	}
	AcceptInvalidationMessages();
	check_sources(w);
	make_tables(w);
	SqlExecute("SET CONSTRAINTS ALL IMMEDIATE");
	foreach(cell, w->sources)
	{
		char	   *columns = DualWriteList(DualWriteColumns(lfirst_oid(cell)), "");

		SqlExecute("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM ONLY %s",
				   QualifiedName(w->target), columns, columns, QualifiedName(lfirst_oid(cell)));
	}
	SqlExecute("ANALYZE %s", QualifiedName(w->target));
	while (!WorkAttempt(swap_step, w, &locked))
		WorkPause(SettingRetryPause);
	foreach(cell, w->op.replaced)
		drop_if_apart(lfirst_oid(cell));
	foreach(cell, w->op.made)
		drop_if_apart(lfirst_oid(cell));
	WorkCommit(w);
}

/*
 * Clear away what a failed change left, as far as that is possible.  Whoever we
 * gave way to may be dropping the same tables now, so try again on errors.
 */
static void
undo(Work *w, const ErrorData *error)
{
	volatile bool done = false;
	volatile bool left = true;

	for (volatile int i = 0; i < 3 && !done; i++)
	{
		PG_TRY();
		{
			/* The lock went with the transaction; somebody else may clean up already. */
			left = OperationClaim(w->op.id) && !clear(w);
			done = true;
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(w->context);
			FlushErrorState();
			SPI_rollback();
			MemoryContextSwitchTo(w->context);
			WorkPause(SettingRetryPause);
		}
		PG_END_TRY();
	}
	if (!left)
		return;
	/* Whoever looks for it finds out why: as the extension, since the owner may be able to do nothing. */
	OperationFailed(&w->op, error->message);
	SPI_commit();
	MemoryContextSwitchTo(w->context);
	OperationUnlock(w->op.id);
	ereport(WARNING,
			(errmsg("what the %s of container \"%s\" has made could not be removed", w->op.kind, get_rel_name(w->op.container)),
			 errhint("CALL partitionkey.cleanup() later; if it fails, its WARNING says why.")));
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

static void
require_rights(Work *w)
{
	WorkBegin(w);
	RightsRequire(w->change->container->relid, w->owner, w->sources);
	WorkCommit(w);
}

void
ChangeRun(const Change *change)
{
	Work	   *w = WorkNew(CurrentMemoryContext);
	ListCell   *cell;

	w->change = change;
	w->owner = RelationOwner(change->container->relid);
	w->sources = lcons_oid(change->model, list_delete_oid(leaves_below(change->children), change->model));
	w->keyed = true;
	foreach(cell, w->sources)
		w->keyed &= OidIsValid(DualWriteIndex(lfirst_oid(cell)));
	w->op.kind = change->kind;
	w->op.container = change->container->relid;
	w->op.sources = w->sources;
	w->op.replaced = change->children;
	if (!w->keyed)
		ereport(NOTICE,
				(errmsg("\"%s\" has no key to find rows by, so writers of the partition wait until its rows are copied",
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
		/* A right that has been lost meanwhile is told as one that was missing from the start. */
		if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
			require_rights(w);
		/* Code of users could not find something in the copy. */
		if (error->sqlerrcode == ERRCODE_UNDEFINED_FUNCTION || error->sqlerrcode == ERRCODE_UNDEFINED_TABLE || error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT)
			error->hint = pstrdup(SEARCH_PATH_HINT);
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * Triggers that no operation is on record for, as a dump that was taken during
 * one brings along.
 */
static List *
stray_triggers(Oid container)
{
	int			nestlevel = SqlBegin();
	List	   *strays = SqlOids("SELECT tgrelid FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid"
								 " WHERE tgfoid = 'partitionkey.dual_write'::regproc AND pg_has_role(relowner, 'USAGE')"
								 " AND (0 = %u OR tgrelid IN (SELECT relid FROM pg_partition_tree(%u)))"
								 " AND NOT EXISTS (SELECT FROM partitionkey.operations WHERE tgrelid = ANY (partitions::oid[]))",
								 container, container);

	SqlEnd(nestlevel);
	return strays;
}

static void
stop_stray(void *arg)
{
	DualWriteStop(*(Oid *) arg);
}

static void
remove_stray(void *arg)
{
	FailureContain(stop_stray, arg);
	SPI_commit();
}

static void
remove_strays(Oid container)
{
	List	   *strays = stray_triggers(container);
	ListCell   *cell;

	foreach(cell, strays)
		(void) FailureWarn(remove_stray, &lfirst_oid(cell),
						   psprintf("the trigger of an operation on table \"%s\" could not be removed", get_rel_name(lfirst_oid(cell))));
}

/*
 * Who owns what an operation left: if its container has been dropped, whoever
 * owns the tables.  If there are none, only the record is left to remove, and
 * anybody may.
 */
static Oid
owner_of_rest(const Operation *op)
{
	List	   *tables = lcons_oid(op->container, list_concat_copy(op->made, op->replaced));
	ListCell   *cell;

	foreach(cell, tables)
		if (OidIsValid(RelationOwner(lfirst_oid(cell))))
			return RelationOwner(lfirst_oid(cell));
	return GetUserId();
}

typedef struct Rest
{
	Work	   *work;
	bool		cleared;
} Rest;

static void
clear_rest(void *arg)
{
	Rest	   *rest = arg;

	rest->cleared = clear(rest->work);
	if (!rest->cleared)
		OperationUnlock(rest->work->op.id);
}

int
ChangeCleanup(Oid container)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *numbers = OperationNumbers(container);
	ListCell   *cell;
	int			in_use = 0;

	remove_strays(container);
	foreach(cell, numbers)
	{
		Operation  *op = OperationTake(*(int64 *) lfirst(cell));
		Rest		rest;
		const char *name;

		if (op == NULL)
			continue;
		rest.work = WorkNew(context);
		rest.work->op = *op;
		rest.work->owner = owner_of_rest(op);
		if (!has_privs_of_role(GetUserId(), rest.work->owner))
		{
			OperationUnlock(op->id);
			continue;
		}
		name = get_rel_name(op->container);
		if (FailureWarn(clear_rest, &rest,
						psprintf("the %s of container \"%s\" (operation " INT64_FORMAT ") could not be cleaned up",
								 op->kind, name != NULL ? name : psprintf("%u", op->container), op->id)) &&
			!rest.cleared)
			in_use++;
	}
	return in_use;
}
