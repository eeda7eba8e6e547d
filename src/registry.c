/*
 * registry.c
 *		Reading and writing the registry, and keeping it true.
 *
 * Users may only read the table; it is written from here, below SQL's
 * privileges, after an ownership check by the caller.  Two event triggers of
 * the extension keep it true: a dropped container is forgotten, a renamed key
 * column is followed, and a key column can't be dropped or made unfit for a key
 * (PostgreSQL itself sees to that only at levels that the tree uses).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "registry.h"
#include "sql.h"

/* Columns of partitionkey.registry */
#define Anum_registry_container		1
#define Anum_registry_paths			2
#define Anum_registry_columns		3
#define Anum_registry_hash			4
#define Anum_registry_definition	5
#define Anum_registry_partitions	6
#define Anum_registry_isolated		7
#define Natts_registry				7

/* Open the registry; NULL while the extension is being dropped. */
static Relation
open_registry(LOCKMODE lockmode)
{
	Oid			relid = get_relname_relid("registry", get_namespace_oid("partitionkey", true));

	return OidIsValid(relid) ? table_open(relid, lockmode) : NULL;
}

/* Find a container's row; to be ended by the caller. */
static HeapTuple
find_row(Relation registry, Oid relid, SysScanDesc *scan)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_registry_container, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	*scan = systable_beginscan(registry, PrimaryKeyIndex(registry), true, NULL, 1, &key);
	return systable_getnext(*scan);
}

/* Take the levels' strings out of a text[]; gives their number. */
static int
get_strings(HeapTuple row, TupleDesc desc, AttrNumber attnum, char **strings)
{
	bool		isnull;
	ArrayType  *array = DatumGetArrayTypeP(heap_getattr(row, attnum, desc, &isnull));
	Datum	   *elements;
	int			n;

	deconstruct_array_builtin(array, TEXTOID, &elements, NULL, &n);
	if (n > MAX_LEVELS)
		elog(ERROR, "registry row has %d levels", n);
	for (int i = 0; i < n; i++)
		strings[i] = TextDatumGetCString(elements[i]);
	return n;
}

static Datum
strings_datum(char *const *strings, int n)
{
	Datum		datums[MAX_LEVELS];

	for (int i = 0; i < n; i++)
		datums[i] = CStringGetTextDatum(strings[i]);
	return PointerGetDatum(construct_array_builtin(datums, n, TEXTOID));
}

/* Take the number of partitions of each level out of a row. */
static void
get_partitions(HeapTuple row, TupleDesc desc, Container *container)
{
	bool		isnull;
	ArrayType  *array = DatumGetArrayTypeP(heap_getattr(row, Anum_registry_partitions, desc, &isnull));

	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != container->levels || array_contains_nulls(array))
		elog(ERROR, "registry row of relation %u is damaged", container->relid);
	memcpy(container->partitions, ARR_DATA_PTR(array), sizeof(int32) * container->levels);
}

static Datum
partitions_datum(const Container *container)
{
	Datum		datums[MAX_LEVELS];

	for (int i = 0; i < container->levels; i++)
		datums[i] = Int32GetDatum(container->partitions[i]);
	return PointerGetDatum(construct_array_builtin(datums, container->levels, INT4OID));
}

static Container *
container_from_row(HeapTuple row, TupleDesc desc, Oid relid)
{
	Container  *container = palloc0(sizeof(Container));
	bool		isnull;

	container->relid = relid;
	container->levels = get_strings(row, desc, Anum_registry_paths, container->paths);
	if (get_strings(row, desc, Anum_registry_columns, container->columns) != container->levels)
		elog(ERROR, "registry row of relation %u is damaged", relid);
	container->hash = PositionHashFromName(TextDatumGetCString(heap_getattr(row, Anum_registry_hash, desc, &isnull)));
	get_partitions(row, desc, container);
	return container;
}

/* What to give instead of a relation that is no container. */
static char *
container_hint(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	ListCell   *cell;

	if (get_rel_relispartition(relid) && relkind != RELKIND_INDEX && relkind != RELKIND_PARTITIONED_INDEX)
		foreach(cell, get_partition_ancestors(relid))
			if (ContainerLookup(lfirst_oid(cell), true) != NULL)
				return psprintf("It is a partition of container \"%s\". Give that.", get_rel_name(lfirst_oid(cell)));
	if (relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE)
		return "Make it one with partitionkey.create_container; the view partitionkey.containers lists them.";
	return "Only a table can be one; the view partitionkey.containers lists them.";
}


Container *
ContainerLookup(Oid relid, bool missing_ok)
{
	Relation	registry = open_registry(AccessShareLock);
	Container  *container = NULL;

	if (registry != NULL)
	{
		SysScanDesc scan;
		HeapTuple	row = find_row(registry, relid, &scan);

		if (HeapTupleIsValid(row) && get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
			container = container_from_row(row, RelationGetDescr(registry), relid);
		systable_endscan(scan);
		table_close(registry, AccessShareLock);
	}
	if (container == NULL && !missing_ok)
	{
		char	   *name = get_rel_name(relid);

		if (name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist", relid)));
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a container", name),
				 errhint("%s", container_hint(relid))));
	}
	return container;
}

int
ContainerLevel(const Container *container, const char *column)
{
	for (int i = 0; i < container->levels; i++)
		if (strcmp(container->columns[i], column) == 0)
			return i;
	return -1;
}

Oid
ContainerColumnType(const Container *container, int level)
{
	return get_atttype(container->relid, get_attnum(container->relid, container->columns[level]));
}

char *
ContainerColumnList(const Container *container)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", quote_identifier(container->columns[i]));
	return list.data;
}

void
ContainerCheckColumn(Oid relid, const char *path, Form_pg_attribute att)
{
	if (ComponentTypeName(att->atttypid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("partition key path \"%s\": column \"%s\" is of type %s, which can't be a partition key",
						path, NameStr(att->attname), format_type_be(att->atttypid)),
				 errhint("%s", ComponentTypeHint(att->atttypid))));
	if (att->attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition key path \"%s\": column \"%s\" is a generated column",
						path, NameStr(att->attname)),
				 errdetail("PostgreSQL computes it after it has chosen the partition."),
				 errhint("Make it an ordinary column that the application fills: ALTER TABLE %s ALTER COLUMN %s DROP EXPRESSION",
						 QualifiedName(relid), quote_identifier(NameStr(att->attname)))));
	if (OidIsValid(att->attcollation) && !get_collation_isdeterministic(att->attcollation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition key path \"%s\": column \"%s\" has the nondeterministic collation \"%s\"",
						path, NameStr(att->attname), get_collation_name(att->attcollation)),
				 errdetail("Under it different strings are equal, but have different places in the hash space."),
				 errhint("Use ALTER TABLE %s ALTER COLUMN %s TYPE %s COLLATE \"C\"",
						 QualifiedName(relid), quote_identifier(NameStr(att->attname)),
						 format_type_with_typemod(att->atttypid, att->atttypmod))));
}

void
RegistryInsert(const Container *container, Jsonb *definition)
{
	Relation	registry = open_registry(RowExclusiveLock);
	Datum		values[Natts_registry] = {0};
	bool		nulls[Natts_registry] = {false};

	if (registry == NULL)
		elog(ERROR, "table partitionkey.registry does not exist");
	values[Anum_registry_container - 1] = ObjectIdGetDatum(container->relid);
	values[Anum_registry_paths - 1] = strings_datum(container->paths, container->levels);
	values[Anum_registry_columns - 1] = strings_datum(container->columns, container->levels);
	values[Anum_registry_hash - 1] = CStringGetTextDatum(PositionHashName(container->hash));
	values[Anum_registry_definition - 1] = JsonbPGetDatum(definition);
	nulls[Anum_registry_definition - 1] = definition == NULL;
	values[Anum_registry_partitions - 1] = partitions_datum(container);
	values[Anum_registry_isolated - 1] = DirectFunctionCall1(jsonb_in, CStringGetDatum("[]"));
	CatalogTupleInsert(registry, heap_form_tuple(RelationGetDescr(registry), values, nulls));
	/* Sessions may have noted that it is none. */
	CacheInvalidateRelcacheByRelid(container->relid);
	table_close(registry, RowExclusiveLock);
}

Jsonb *
RegistryIsolated(Oid relid)
{
	Relation	registry = open_registry(AccessShareLock);
	SysScanDesc scan;
	HeapTuple	row = find_row(registry, relid, &scan);
	bool		isnull;
	Jsonb	   *keys;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "relation %u is not in the registry", relid);
	keys = DatumGetJsonbPCopy(heap_getattr(row, Anum_registry_isolated, RelationGetDescr(registry), &isnull));
	systable_endscan(scan);
	table_close(registry, AccessShareLock);
	return keys;
}

/* Change columns of a container's row. */
static void
registry_update(Oid relid, Datum *values, bool *replace)
{
	Relation	registry = open_registry(RowExclusiveLock);
	SysScanDesc scan;
	HeapTuple	row = find_row(registry, relid, &scan);
	bool		nulls[Natts_registry] = {false};

	if (!HeapTupleIsValid(row))
		elog(ERROR, "relation %u is not in the registry", relid);
	CatalogTupleUpdate(registry, &row->t_self,
					   heap_modify_tuple(row, RelationGetDescr(registry), values, nulls, replace));
	systable_endscan(scan);
	table_close(registry, RowExclusiveLock);
}

void
RegistrySetIsolated(Oid relid, Jsonb *keys)
{
	Datum		values[Natts_registry] = {0};
	bool		replace[Natts_registry] = {false};

	values[Anum_registry_isolated - 1] = JsonbPGetDatum(keys);
	replace[Anum_registry_isolated - 1] = true;
	registry_update(relid, values, replace);
}

void
RegistrySetDefinition(const Container *container, Jsonb *definition)
{
	Datum		values[Natts_registry] = {0};
	bool		replace[Natts_registry] = {false};

	values[Anum_registry_paths - 1] = strings_datum(container->paths, container->levels);
	replace[Anum_registry_paths - 1] = true;
	values[Anum_registry_definition - 1] = JsonbPGetDatum(definition);
	replace[Anum_registry_definition - 1] = true;
	registry_update(container->relid, values, replace);
	/* Sessions may have noted its paths. */
	CacheInvalidateRelcacheByRelid(container->relid);
}

Jsonb *
RegistryDefinition(const Container *container)
{
	Relation	registry = open_registry(AccessShareLock);
	SysScanDesc scan;
	HeapTuple	row = find_row(registry, container->relid, &scan);
	Jsonb	   *definition = NULL;

	if (HeapTupleIsValid(row))
	{
		bool		isnull;
		Datum		value = heap_getattr(row, Anum_registry_definition, RelationGetDescr(registry), &isnull);

		if (!isnull)
			definition = DatumGetJsonbPCopy(value);
	}
	systable_endscan(scan);
	table_close(registry, AccessShareLock);
	return definition;
}

/* Forget a relation, if it is a container. */
static void
registry_delete(Relation registry, Oid relid)
{
	SysScanDesc scan;
	HeapTuple	row = find_row(registry, relid, &scan);

	if (HeapTupleIsValid(row))
		CatalogTupleDelete(registry, &row->t_self);
	systable_endscan(scan);
}

void
RegistryDelete(Oid relid)
{
	Relation	registry = open_registry(RowExclusiveLock);

	if (registry != NULL)
	{
		registry_delete(registry, relid);
		table_close(registry, RowExclusiveLock);
	}
}

/* Follow the new name of a column, if it is a container's key column. */
static void
registry_rename_column(Oid relid, const char *from, const char *to)
{
	Relation	registry = open_registry(RowExclusiveLock);
	SysScanDesc scan;
	HeapTuple	row;

	if (registry == NULL)
		return;
	row = find_row(registry, relid, &scan);
	if (HeapTupleIsValid(row))
	{
		TupleDesc	desc = RelationGetDescr(registry);
		Container  *container = container_from_row(row, desc, relid);
		int			level = ContainerLevel(container, from);

		if (level >= 0)
		{
			Datum		values[Natts_registry] = {0};
			bool		nulls[Natts_registry] = {false};
			bool		replace[Natts_registry] = {false};

			container->columns[level] = pstrdup(to);
			values[Anum_registry_columns - 1] = strings_datum(container->columns, container->levels);
			replace[Anum_registry_columns - 1] = true;
			CatalogTupleUpdate(registry, &row->t_self,
							   heap_modify_tuple(row, desc, values, nulls, replace));
		}
	}
	systable_endscan(scan);
	table_close(registry, RowExclusiveLock);
}

/* Refuse to lose a key column of a container that stays. */
static void
check_dropped_column(Oid relid, const char *column)
{
	Container  *container = ContainerLookup(relid, true);
	int			level = container ? ContainerLevel(container, column) : -1;

	if (level >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop column \"%s\" because it is the partition key path \"%s\" of container \"%s\"",
						column, container->paths[level], get_rel_name(relid)),
				 errhint("The paths of a container can't be changed; make a new table with another key.")));
}

/* registry_on_drop() returns event_trigger, on sql_drop */
PG_FUNCTION_INFO_V1(registry_on_drop);
Datum
registry_on_drop(PG_FUNCTION_ARGS)
{
	Relation	registry;
	int			nestlevel;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		elog(ERROR, "not called by the event trigger manager");

	registry = open_registry(RowExclusiveLock);
	if (registry == NULL)
		PG_RETURN_NULL();
	nestlevel = SqlBegin();
	SPI_connect();
	SqlExecute("SELECT objid, objsubid <> 0, address_names[cardinality(address_names)]"
			   " FROM pg_event_trigger_dropped_objects()"
			   " WHERE classid = 'pg_class'::regclass AND object_type IN ('table', 'table column')");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(row, desc, 1, &isnull));

		if (DatumGetBool(SPI_getbinval(row, desc, 2, &isnull)))
			check_dropped_column(relid, SPI_getvalue(row, desc, 3));
		else
			registry_delete(registry, relid);
	}
	SPI_finish();
	SqlEnd(nestlevel);
	table_close(registry, RowExclusiveLock);
	PG_RETURN_NULL();
}

/* The type that a table is OF, or InvalidOid. */
static Oid
get_rel_type_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			type = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		type = ((Form_pg_class) GETSTRUCT(tuple))->reloftype;
		ReleaseSysCache(tuple);
	}
	return type;
}

/*
 * Refuse to make a key column unfit for a key.  PostgreSQL itself refuses a new
 * type for levels that the tree uses, and a NULL only by a primary key.
 */
static void
check_altered(Oid relid)
{
	Container  *container = ContainerLookup(relid, true);

	if (container != NULL && OidIsValid(get_rel_type_of(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("container \"%s\" cannot be a typed table", get_rel_name(relid))));
	for (int i = 0; container != NULL && i < container->levels; i++)
	{
		HeapTuple	tuple = SearchSysCacheAttName(relid, container->columns[i]);
		Form_pg_attribute att;

		if (!HeapTupleIsValid(tuple))
			continue;			/* check_dropped_column has its say */
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		ContainerCheckColumn(relid, container->paths[i], att);
		if (!att->attnotnull)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("column \"%s\" must be NOT NULL because it is the partition key path \"%s\" of container \"%s\"",
							container->columns[i], container->paths[i], get_rel_name(relid))));
		ReleaseSysCache(tuple);
	}
}

/* registry_on_alter() returns event_trigger, on ddl_command_end of ALTER TABLE */
PG_FUNCTION_INFO_V1(registry_on_alter);
Datum
registry_on_alter(PG_FUNCTION_ARGS)
{
	RenameStmt *statement;
	List	   *altered;
	ListCell   *cell;
	int			nestlevel;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		elog(ERROR, "not called by the event trigger manager");

	statement = (RenameStmt *) ((EventTriggerData *) fcinfo->context)->parsetree;
	if (IsA(statement, RenameStmt) && statement->renameType == OBJECT_COLUMN)
	{
		Oid			relid = RangeVarGetRelid(statement->relation, NoLock, true);

		if (OidIsValid(relid))
			foreach(cell, find_all_inheritors(relid, NoLock, NULL))
				registry_rename_column(lfirst_oid(cell), statement->subname, statement->newname);
		PG_RETURN_NULL();
	}

	nestlevel = SqlBegin();
	SPI_connect();
	altered = SqlOids("SELECT DISTINCT objid FROM pg_event_trigger_ddl_commands() WHERE classid = 'pg_class'::regclass");
	foreach(cell, altered)
	{
		ListCell   *below;

		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			check_altered(lfirst_oid(below));
	}
	SPI_finish();
	SqlEnd(nestlevel);
	PG_RETURN_NULL();
}
