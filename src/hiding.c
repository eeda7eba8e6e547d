/*
 * hiding.c
 *		Tables of an operation, which are not for anybody else.
 *
 * They are members of the extension, so that pg_dump leaves them out.  But
 * PostgreSQL drops an extension when DROP ... CASCADE reaches one of its
 * members, and all else that depends on the extension with it.  So before a
 * command that may reach them, an event trigger shows them all.  Its transaction
 * holds a lock meanwhile, in which no other is hidden.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "hiding.h"
#include "operation.h"

static Oid
own_extension(void)
{
	return get_extension_oid("partitionkey", false);
}

void
HidingLock(void)
{
	LockDatabaseObject(ExtensionRelationId, own_extension(), 0, RowExclusiveLock);
}

void
HidingHide(Oid relid)
{
	ObjectAddress table = {RelationRelationId, relid, 0};
	ObjectAddress extension = {ExtensionRelationId, own_extension(), 0};

	HidingLock();
	recordDependencyOn(&table, &extension, DEPENDENCY_EXTENSION);
}

void
HidingShow(Oid relid)
{
	Oid			type = get_rel_type_id(relid);

	(void) deleteDependencyRecordsForClass(RelationRelationId, relid, ExtensionRelationId, DEPENDENCY_EXTENSION);
	/* ALTER EXTENSION ... ADD TABLE, by which pg_upgrade does it, adds its types as well (PostgreSQL 18). */
	if (OidIsValid(type))
		(void) deleteDependencyRecordsForClass(TypeRelationId, type, ExtensionRelationId, DEPENDENCY_EXTENSION);
	if (OidIsValid(get_array_type(type)))
		(void) deleteDependencyRecordsForClass(TypeRelationId, get_array_type(type), ExtensionRelationId, DEPENDENCY_EXTENSION);
	CommandCounterIncrement();
}

static void
show_all(void)
{
	List	   *tables = OperationTables();
	ListCell   *cell;

	if (tables == NIL)
		return;
	/* Another one may do the same just now. */
	LockDatabaseObject(ExtensionRelationId, own_extension(), 1, ExclusiveLock);
	foreach(cell, tables)
		HidingShow(lfirst_oid(cell));
}

/* show_before_drop() returns event_trigger */
PG_FUNCTION_INFO_V1(show_before_drop);
Datum
show_before_drop(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		elog(ERROR, "not called by the event trigger manager");
	LockDatabaseObject(ExtensionRelationId, own_extension(), 0, ShareLock);
	SPI_connect();
	show_all();
	SPI_finish();
	PG_RETURN_NULL();
}
