/*
 * operation.c
 *		The record of a change of the tree that is under way.
 *
 * The table belongs to the extension, and is written with its owner's rights
 * after the caller has checked those of the user.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "operation.h"
#include "sql.h"

static Oid
operation_table(void)
{
	return get_relname_relid("operation", get_namespace_oid("partitionkey", false));
}

/* The locks on an operation's number: objects of the table, in 32 bits. */
enum
{
	RUNNING,					/* of the session that works on it */
	CLEARING					/* of the one that removes what it left */
};

static LOCKTAG
lock_tag(int64 id, int which)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, operation_table(), (uint32) id, which);
	return tag;
}

static bool
take_lock(int64 id, int which)
{
	LOCKTAG		tag = lock_tag(id, which);

	switch (LockAcquire(&tag, ExclusiveLock, true, true))
	{
		case LOCKACQUIRE_NOT_AVAIL:
			return false;
		case LOCKACQUIRE_ALREADY_HELD:
		case LOCKACQUIRE_ALREADY_CLEAR:
			/* once is enough */
			LockRelease(&tag, ExclusiveLock, true);
			return true;
		default:
			return true;
	}
}

bool
OperationLock(int64 id)
{
	return take_lock(id, RUNNING);
}

bool
OperationClaim(int64 id)
{
	if (!take_lock(id, CLEARING))
		return false;
	if (!OperationRunning(id))
		return true;
	OperationUnlock(id);
	return false;
}

bool
OperationRunning(int64 id)
{
	LOCKTAG		tag = lock_tag(id, RUNNING);

	if (LockHeldBySession(&tag, ExclusiveLock))
		return true;
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, ShareLock, false);
	return false;
}

void
OperationUnlock(int64 id)
{
	for (int which = RUNNING; which <= CLEARING; which++)
	{
		LOCKTAG		tag = lock_tag(id, which);

		if (LockHeldBySession(&tag, ExclusiveLock))
			LockRelease(&tag, ExclusiveLock, true);
	}
}

/* Run a statement with parameters $1, ... as the owner of the table, by what is committed now. */
static void
execute(const char *sql, int nargs, Oid *types, Datum *values)
{
	SqlActing	acting = SqlBeginAs(RelationOwner(operation_table()));
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);

	if (plan == NULL || SPI_execute_snapshot(plan, values, NULL, IsolationUsesXactSnapshot() ? GetLatestSnapshot() : InvalidSnapshot,
											 InvalidSnapshot, false, false, 0) < 0)
		elog(ERROR, "SPI failed: %s: %s", SPI_result_code_string(SPI_result), sql);
	SqlEndAs(acting);
}

static Datum
oids_datum(List *oids)
{
	Datum	   *elements = palloc(sizeof(Datum) * (list_length(oids) + 1));
	int			n = 0;
	ListCell   *cell;

	foreach(cell, oids)
		elements[n++] = ObjectIdGetDatum(lfirst_oid(cell));
	return PointerGetDatum(construct_array_builtin(elements, n, OIDOID));
}

void
OperationInsert(Operation *op, int64 rows_estimated)
{
	Oid			types[] = {TEXTOID, OIDOID, OIDARRAYOID, OIDARRAYOID, INT8OID, OIDARRAYOID};
	Datum		values[] = {CStringGetTextDatum(op->kind), ObjectIdGetDatum(op->container), oids_datum(op->sources),
		oids_datum(op->made), Int64GetDatum(rows_estimated), oids_datum(op->replaced)};
	bool		isnull;

	execute("INSERT INTO partitionkey.operation (kind, container, partitions, made, rows_estimated, replaced, phase, pid)"
			" VALUES ($1, $2, $3::pg_catalog.regclass[], $4, $5, $6, 'preparing', pg_catalog.pg_backend_pid()) RETURNING id",
			lengthof(types), types, values);
	op->id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
}

void
OperationPhase(const Operation *op, const char *phase)
{
	Oid			types[] = {INT8OID, TEXTOID, BOOLOID};
	Datum		values[] = {Int64GetDatum(op->id), CStringGetTextDatum(phase), BoolGetDatum(op->swapped)};

	execute("UPDATE partitionkey.operation SET phase = $2, swapped = $3 WHERE id = $1",
			lengthof(types), types, values);
}

void
OperationCopied(const Operation *op, int64 rows)
{
	Oid			types[] = {INT8OID, INT8OID};
	Datum		values[] = {Int64GetDatum(op->id), Int64GetDatum(rows)};

	execute("UPDATE partitionkey.operation SET rows_copied = $2 WHERE id = $1", lengthof(types), types, values);
}

void
OperationFailed(const Operation *op, const char *error)
{
	Oid			types[] = {INT8OID, TEXTOID};
	Datum		values[] = {Int64GetDatum(op->id), CStringGetTextDatum(error)};

	execute("UPDATE partitionkey.operation SET error = $2 WHERE id = $1", lengthof(types), types, values);
}

void
OperationDelete(const Operation *op)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(op->id)};

	execute("DELETE FROM partitionkey.operation WHERE id = $1", lengthof(types), types, values);
	/* Also those of transactions that ended later than their operation. */
	execute("DELETE FROM partitionkey.gap WHERE NOT EXISTS (SELECT FROM partitionkey.operation WHERE id = operation)", 0, NULL, NULL);
}

bool
OperationWrites(int64 id, Oid leaf, Oid target)
{
	Oid			types[] = {INT8OID, OIDOID, OIDOID};
	Datum		values[] = {Int64GetDatum(id), ObjectIdGetDatum(leaf), ObjectIdGetDatum(target)};

	execute("SELECT FROM partitionkey.operation WHERE id = $1 AND $2 = ANY (partitions) AND $3 = ANY (made)"
			" AND NOT EXISTS (SELECT FROM partitionkey.gap WHERE operation = $1)",
			lengthof(types), types, values);
	SPI_freetuptable(SPI_tuptable);
	return SPI_processed > 0;
}

void
OperationAddGap(int64 id, const char *error)
{
	Oid			types[] = {INT8OID, TEXTOID};
	Datum		values[] = {Int64GetDatum(id), CStringGetTextDatum(error)};

	execute("INSERT INTO partitionkey.gap VALUES ($1, $2)", lengthof(types), types, values);
}

bool
OperationGapsAtHand(void)
{
	Oid			gap = get_relname_relid("gap", get_namespace_oid("partitionkey", true));

	return OidIsValid(gap) && ConditionalLockRelationOid(gap, AccessShareLock);
}

char *
OperationGap(int64 id)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(id)};
	char	   *error;

	execute("SELECT error FROM partitionkey.gap WHERE operation = $1 LIMIT 1", lengthof(types), types, values);
	error = SPI_processed > 0 ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : NULL;
	SPI_freetuptable(SPI_tuptable);
	return error;
}

static List *
oid_list(Datum array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *oids = NIL;

	deconstruct_array_builtin(DatumGetArrayTypeP(array), OIDOID, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
		oids = lappend_oid(oids, DatumGetObjectId(elements[i]));
	return oids;
}

static Operation *
read_row(HeapTuple row, TupleDesc desc)
{
	Operation  *op = palloc0(sizeof(Operation));
	bool		isnull;

	op->id = DatumGetInt64(SPI_getbinval(row, desc, 1, &isnull));
	op->kind = SPI_getvalue(row, desc, 2);
	op->container = DatumGetObjectId(SPI_getbinval(row, desc, 3, &isnull));
	op->sources = oid_list(SPI_getbinval(row, desc, 4, &isnull));
	op->made = oid_list(SPI_getbinval(row, desc, 5, &isnull));
	op->swapped = DatumGetBool(SPI_getbinval(row, desc, 6, &isnull));
	op->replaced = oid_list(SPI_getbinval(row, desc, 7, &isnull));
	return op;
}

/* Read an operation that is locked; NULL if it has ended meanwhile. */
static Operation *
read_operation(int64 id)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(id)};
	Operation  *op = NULL;

	execute("SELECT id, kind, container::pg_catalog.oid, partitions::pg_catalog.oid[], made, swapped, replaced FROM partitionkey.operation"
			" WHERE id = $1", lengthof(types), types, values);
	if (SPI_processed > 0)
		op = read_row(SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
	SPI_freetuptable(SPI_tuptable);
	return op;
}

List *
OperationTables(void)
{
	List	   *tables = NIL;
	bool		isnull;

	execute("SELECT pg_catalog.array_agg(t) FROM (SELECT pg_catalog.unnest(made) FROM partitionkey.operation) m(t)", 0, NULL, NULL);
	if (SPI_processed > 0)
	{
		Datum		array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		tables = isnull ? NIL : oid_list(array);
	}
	SPI_freetuptable(SPI_tuptable);
	return tables;
}

List *
OperationNumbers(Oid container)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(container)};
	List	   *numbers = NIL;

	execute("SELECT id FROM partitionkey.operation WHERE $1 IN (0, container) ORDER BY id", lengthof(types), types, values);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int64	   *id = palloc(sizeof(int64));
		bool		isnull;

		*id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));
		numbers = lappend(numbers, id);
	}
	SPI_freetuptable(SPI_tuptable);
	return numbers;
}

Operation *
OperationTake(int64 id)
{
	Operation  *op;

	if (!OperationClaim(id))
		return NULL;
	/* It is as it will stay, now that it is locked. */
	op = read_operation(id);
	if (op == NULL)
		OperationUnlock(id);
	return op;
}
