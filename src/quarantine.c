/*
 * quarantine.c
 *		Keeping faulty items in a table, with where they were and what is wrong.
 *
 * The table is made when the first item needs it, by the user who loads, with
 * his own rights.  He can read it, mend what is in it, and drop it.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "compat.h"
#include "quarantine.h"
#include "sql.h"

/* Name, type, and comment. */
static const char *const columns[][3] = {
	{"file", "text", "path of the file on the server; NULL for an item that came through the items view"},
	{"line", "bigint", "line on which the item begins, from 1; row of the statement for one from the items view"},
	{"byte_offset", "bigint", "bytes of the file, as decompressed, before the item"},
	{"reason", "text", "what is wrong, the same for the same kind of fault"},
	{"detail", "text", "what is wrong with this item"},
	{"path", "text", "the path that it is about, or NULL"},
	{"item", "text", "the item as it was; bytes that are not valid are written as \\xHH"},
	{"loaded_at", "timestamptz DEFAULT pg_catalog.now()", "time of the load"}
};

/*
 * A table that nobody has named must belong to somebody whose triggers the user
 * trusts: himself, the owner of the container, or a superuser.
 */
static void
check_owner(Oid relid, const Quarantine *quarantine)
{
	Oid			owner = RelationOwner(relid);

	if (!quarantine->named && owner != GetUserId() && owner != RelationOwner(quarantine->container) && !superuser_arg(owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("quarantine table \"%s\" belongs to another user", quarantine->name),
				 quarantine->nameable ?
				 errhint("Name the table, with the argument quarantine, if you trust \"%s\".", GetUserNameFromId(owner, false)) :
				 errhint("A view puts faulty items there. Let it belong to the owner of the container.")));
}

/* What to do if faulty items can't be put into the table. */
static const char *
way_out(const Quarantine *quarantine)
{
	return quarantine->nameable ? "Name a table that you can make or write to, with the argument quarantine." :
		"A view puts faulty items there. The owner of the container can make the table, by a load of his own, and grant INSERT on it.";
}

/* Refuse a table that can't take what is put in. */
static void
check_table(Oid relid, const Quarantine *quarantine)
{
	char		relkind = get_rel_relkind(relid);

	check_owner(relid, quarantine);
	if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", quarantine->name),
				 errhint("%s", way_out(quarantine))));
	for (size_t i = 0; i < lengthof(columns); i++)
		if (get_attnum(relid, columns[i][0]) == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("quarantine table \"%s\" has no column \"%s\"", quarantine->name, columns[i][0]),
					 errdetail("It needs the columns file, line, byte_offset, reason, detail, path, item and loaded_at."),
					 errhint("%s", way_out(quarantine))));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_INSERT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relkind), quarantine->name);
}

/* A load without faults needs no table, so this is asked only when one has to be made. */
static void
check_can_create(Oid schema, const Quarantine *quarantine)
{
	if (SchemaAclCheck(schema, GetUserId(), ACL_CREATE) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for schema %s", quarantine->schema),
				 errdetail("Faulty items would be put into a table %s, which does not exist.", quarantine->qualified),
				 errhint("%s", way_out(quarantine))));
}

Quarantine *
QuarantineFind(Oid container, const char *name, bool nameable)
{
	Quarantine *quarantine = palloc0(sizeof(Quarantine));
	Oid			schema;
	Oid			relid;

	quarantine->container = container;
	quarantine->named = name != NULL;
	quarantine->nameable = nameable;
	if (name == NULL)
	{
		schema = get_rel_namespace(container);
		quarantine->name = NameAfter(container, "quarantine");
	}
	else
	{
		RangeVar   *table;

		CheckNameLengths(name);
		table = makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
		/* where a table of this name is, or else where it would be made */
		relid = RangeVarGetRelid(table, NoLock, true);
		schema = OidIsValid(relid) ? get_rel_namespace(relid) : RangeVarGetCreationNamespace(table);
		quarantine->name = table->relname;
	}
	quarantine->schema = get_namespace_name(schema);
	quarantine->qualified = quote_qualified_identifier(quarantine->schema, quarantine->name);
	relid = get_relname_relid(quarantine->name, schema);
	if (OidIsValid(relid))
		check_table(relid, quarantine);
	return quarantine;
}

static void
create_table(const Quarantine *quarantine)
{
	StringInfoData sql;
	int			nestlevel = SqlBegin();

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (", quarantine->qualified);
	for (size_t i = 0; i < lengthof(columns); i++)
		appendStringInfo(&sql, "%s%s %s", i > 0 ? ", " : "", columns[i][0], columns[i][1]);
	appendStringInfoChar(&sql, ')');
	SqlExecute("%s", sql.data);
	SqlExecute("COMMENT ON TABLE %s IS 'items that could not be loaded'", quarantine->qualified);
	for (size_t i = 0; i < lengthof(columns); i++)
		SqlExecute("COMMENT ON COLUMN %s.%s IS %s", quarantine->qualified, columns[i][0], quote_literal_cstr(columns[i][2]));
	SqlEnd(nestlevel);
}

/*
 * The table of the name, locked so that it is not dropped before this transaction has put items in; InvalidOid
 * if there is none.
 */
static Oid
lock_table(const Quarantine *quarantine, Oid schema)
{
	Oid			relid;

	while (OidIsValid(relid = get_relname_relid(quarantine->name, schema)))
	{
		check_table(relid, quarantine);
		LockRelationOid(relid, RowExclusiveLock);
		/* it may have been dropped, or renamed, while this waited */
		if (get_relname_relid(quarantine->name, schema) == relid)
			break;
		UnlockRelationOid(relid, RowExclusiveLock);
	}
	return relid;
}

/*
 * See that there is a table, and make it if need be.  Of several loads that want to make it, one does;
 * the others wait until its transaction has ended.
 */
static void
find_or_create(const Quarantine *quarantine)
{
	Oid			schema = get_namespace_oid(quarantine->schema, false);

	if (OidIsValid(lock_table(quarantine, schema)))
		return;
	check_can_create(schema, quarantine);
	LockDatabaseObject(NamespaceRelationId, schema, 1 | (uint16) string_hash(quarantine->name, NAMEDATALEN), ExclusiveLock);
	if (!OidIsValid(lock_table(quarantine, schema)))
		create_table(quarantine);
}

/* Prepare to put items in, in this transaction. */
static void
prepare(Quarantine *quarantine)
{
	Oid			types[] = {TEXTOID, INT8OID, INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID};

	find_or_create(quarantine);
	quarantine->insert = SPI_prepare(psprintf("INSERT INTO %s (file, line, byte_offset, reason, detail, path, item, loaded_at)"
											  " VALUES ($1, $2, $3, $4, $5, $6, $7, pg_catalog.now())", quarantine->qualified),
									 lengthof(types), types);
	if (quarantine->insert == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
}

static Datum
text_or_null(const char *string, char *isnull)
{
	*isnull = string == NULL ? 'n' : ' ';
	return string == NULL ? (Datum) 0 : CStringGetTextDatum(string);
}

void
QuarantinePut(Quarantine *quarantine, const CosmosItem *item, const ItemProblem *problem)
{
	MemoryContext context = CurrentMemoryContext;	/* which SPI leaves for its own */
	Datum		values[7];
	char		nulls[7] = {' ', ' ', ' ', ' ', ' ', ' ', ' '};

	if (quarantine->insert == NULL)
		prepare(quarantine);
	MemoryContextSwitchTo(context);
	values[0] = text_or_null(item->file, &nulls[0]);
	values[1] = Int64GetDatum(item->line);
	values[2] = Int64GetDatum(item->offset);
	values[3] = text_or_null(problem->reason, &nulls[3]);
	values[4] = text_or_null(problem->detail, &nulls[4]);
	values[5] = text_or_null(problem->path, &nulls[5]);
	values[6] = CStringGetTextDatum(ItemPrintable(item, item->length));
	if (SPI_execute_plan(quarantine->insert, values, nulls, false, 0) < 0)
		elog(ERROR, "SPI_execute_plan failed");
	MemoryContextSwitchTo(context);
}

void
QuarantineEnd(Quarantine *quarantine)
{
	if (quarantine->insert != NULL)
		SPI_freeplan(quarantine->insert);
	quarantine->insert = NULL;
}
