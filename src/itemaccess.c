/*
 * itemaccess.c
 *		What the item functions have to know of a container, kept for the session.
 *
 * An item is read or written by a prepared statement.  It names everything in
 * full, operators too, and runs under the session's search_path, so that
 * triggers and policies of the table see the settings that they see in any statement.
 *
 * An entry holds until something of the table, its registration or its schema's name changes.
 * One that is in use then lives on to the end of the transaction.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "etag.h"
#include "itemaccess.h"
#include "itemresult.h"
#include "sql.h"
#include "status.h"
#include "ttl.h"
#include "uniquekey.h"

typedef struct Entry
{
	Oid			relid;			/* hash key */
	ItemAccess *access;			/* NULL if there is none */
} Entry;

static HTAB *entries = NULL;

/* What is not valid any more, and may be in use; freed at the end of the transaction. */
static List *stale = NIL;

/*
 * The cache
 */

static void
invalidate(Datum arg pg_attribute_unused(), Oid relid)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	if (OidIsValid(relid))
	{
		entry = hash_search(entries, &relid, HASH_FIND, NULL);
		if (entry != NULL && entry->access != NULL)
			entry->access->valid = false;
		return;
	}
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		if (entry->access != NULL)
			entry->access->valid = false;
}

static void
invalidate_all(Datum arg, int cacheid pg_attribute_unused(), uint32 hashvalue pg_attribute_unused())
{
	invalidate(arg, InvalidOid);
}

static void
free_access(ItemAccess *access)
{
	for (int i = 0; i < ITEM_STATEMENTS; i++)
		if (access->plans[i] != NULL)
			SPI_freeplan(access->plans[i]);
	if (access->by_id != NULL)
		SPI_freeplan(access->by_id);
	MemoryContextDelete(access->context);
}

static void
free_stale(XactEvent event, void *arg pg_attribute_unused())
{
	ListCell   *cell;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	foreach(cell, stale)
		free_access(lfirst(cell));
	list_free(stale);
	stale = NIL;
}

static void
create_cache(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Entry), .hcxt = CacheMemoryContext};

	entries = hash_create("partitionkey item access", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate_all, (Datum) 0);
	RegisterXactCallback(free_stale, NULL);
}

/* Put away all that is not valid any more: containers that were dropped are not asked for again. */
static void
put_away_invalid(void)
{
	MemoryContext old = MemoryContextSwitchTo(CacheMemoryContext);
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		if (entry->access != NULL && !entry->access->valid)
		{
			stale = lappend(stale, entry->access);
			entry->access = NULL;
		}
	MemoryContextSwitchTo(old);
}

/*
 * Finding out
 */

/* Whether a unique index is on just the columns of key and id. */
static bool
is_identity_index(const ItemAccess *access, Relation index)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indimmediate || !form->indisvalid || form->indnkeyatts != access->identity ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < access->identity; i++)
	{
		bool		found = false;

		for (int j = 0; j < form->indnkeyatts; j++)
			found |= form->indkey.values[j] == access->shape->columns[i].attnum;
		if (!found)
			return false;
	}
	return true;
}

static void
find_indexes(ItemAccess *access, Relation rel)
{
	AttrNumber	id = access->shape->columns[access->shape->id].attnum;
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *cell;

	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!OidIsValid(access->index) && is_identity_index(access, index))
			access->index = RelationGetRelid(index);
		if (index->rd_index->indkey.values[0] == id && index->rd_index->indisvalid &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
			access->id_indexed = true;
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

/* Whether values of a type are strings in JSON. */
static bool
takes_strings(Oid type)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(type, &category, &preferred);
	return category != TYPCATEGORY_NUMERIC && category != TYPCATEGORY_BOOLEAN;
}

static bool
is_deterministic(Oid relid, const ItemColumn *column)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(relid, column->attnum, &type, &typmod, &collation);
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* Refuse a container whose items are not to be told apart by key and id. */
static void
require_identity(const ItemAccess *access, Relation rel)
{
	const ItemShape *shape = access->shape;
	char	   *columns = ContainerColumnList(access->container);

	if (shape->id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("container \"%s\" has no column for the id of an item", RelationGetRelationName(rel)),
				 errhint("ALTER TABLE %s ADD COLUMN id text; fill it, and make it part of the primary key.",
						 QualifiedName(access->relid))));
	if (shape->id >= access->container->levels)
		columns = psprintf("%s, %s", columns, quote_identifier(shape->columns[shape->id].name));
	if (!takes_strings(shape->columns[shape->id].type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of container \"%s\" is of type %s, but the id of an item is a string",
						shape->columns[shape->id].name, RelationGetRelationName(rel),
						format_type_be(shape->columns[shape->id].declared)),
				 errhint("ALTER TABLE %s ALTER COLUMN %s TYPE text", QualifiedName(access->relid),
						 quote_identifier(shape->columns[shape->id].name))));
	if (!is_deterministic(access->relid, &shape->columns[shape->id]))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of container \"%s\" has a nondeterministic collation",
						shape->columns[shape->id].name, RelationGetRelationName(rel)),
				 errdetail("Under it different ids are equal."),
				 errhint("ALTER TABLE %s ALTER COLUMN %s TYPE text COLLATE \"C\"", QualifiedName(access->relid),
						 quote_identifier(shape->columns[shape->id].name))));
	if (!OidIsValid(access->index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("items of container \"%s\" are not unique by key and id", RelationGetRelationName(rel)),
				 errdetail("It has no primary key or unique index on just the key columns and the id."),
				 errhint("ALTER TABLE %s ADD PRIMARY KEY (%s)", QualifiedName(access->relid), columns)));
}

/* Find out about a container; its memory is that of the context, which is the current one. */
static ItemAccess *
make_access(Relation rel, MemoryContext context)
{
	ItemAccess *access = palloc0(sizeof(ItemAccess));
	Jsonb	   *definition;

	access->relid = RelationGetRelid(rel);
	access->context = context;
	access->container = ContainerLookup(access->relid, false);
	access->shape = ItemShapeFind(rel, access->container, NULL, false, false);
	access->identity = Max(access->container->levels, access->shape->id + 1);
	access->has_etag = EtagColumn(rel) != InvalidAttrNumber;
	if (access->shape->id >= 0)
		find_indexes(access, rel);
	require_identity(access, rel);
	definition = RegistryDefinition(access->container);
	access->has_ttl = definition != NULL && access->shape->ts >= 0 && TtlDefault(definition, &access->default_ttl);
	return access;
}

/*
 * The same, kept in an entry.  It is marked valid at first, so that whatever comes in
 * meanwhile makes it invalid again.
 */
static ItemAccess *
refill(Entry *entry)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey item access", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Oid			relid = entry->relid;
	ItemAccess *access;
	Relation	rel;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		(void) ContainerLookup(relid, false);
	rel = table_open(relid, NoLock);
	access = make_access(rel, context);
	table_close(rel, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, CacheMemoryContext);
	access->valid = true;
	return access;
}

ItemAccess *
ItemAccessFind(Oid relid)
{
	Entry	   *entry;
	ItemAccess *access;
	bool		found;

	if (entries == NULL)
		create_cache();
	LockRelationOid(relid, AccessShareLock);
	/* a lock that the transaction has already does not take them in */
	AcceptInvalidationMessages();
	entry = hash_search(entries, &relid, HASH_ENTER, &found);
	if (!found)
		entry->access = NULL;
	if (entry->access != NULL && entry->access->valid)
		return entry->access;
	put_away_invalid();
	access = refill(entry);
	/* a nested call may have made the table of entries larger */
	entry = hash_search(entries, &relid, HASH_ENTER, NULL);
	entry->access = access;
	return access;
}

/*
 * The statements
 */

/* The condition under which an item has expired, as SQL; NULL if none does. */
static char *
expired_condition(const ItemAccess *access)
{
	return access->has_ttl ? ItemShapeExpired(access->shape, access->default_ttl, "item") : NULL;
}

/* The condition that a column is a parameter. */
static void
append_equals(StringInfo sql, const ItemColumn *column, int parameter)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, TYPECACHE_EQ_OPR);

	generate_operator_clause(sql, psprintf("item.%s", quote_identifier(column->name)), column->type, type->eq_opr,
							 psprintf("$%d", parameter), column->type);
}

char *
ItemAccessIdentity(const ItemAccess *access, int n)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(&sql, i > 0 ? " AND " : "");
		append_equals(&sql, &access->shape->columns[i], i + 1);
	}
	return sql.data;
}

/* The columns of a StoredItem. */
static char *
stored_columns(const ItemAccess *access)
{
	const ItemShape *shape = access->shape;

	return psprintf("item.%s, %s, %s", quote_identifier(shape->columns[shape->doc].name),
					access->has_etag ? "item.etag" : "NULL::pg_catalog.uuid",
					shape->ts >= 0 ? psprintf("item.%s", quote_identifier(shape->columns[shape->ts].name)) :
					"NULL::pg_catalog.timestamptz");
}

/* A statement as it is put together. */
typedef struct Draft
{
	const ItemAccess *access;
	StringInfoData sql;
	Oid			types[MAX_ITEM_PARAMETERS];
	int			parameters;
} Draft;

static int
parameter(Draft *draft, Oid type)
{
	draft->types[draft->parameters] = type;
	return ++draft->parameters;
}

static const char *
doc_name(const Draft *draft)
{
	return quote_identifier(draft->access->shape->columns[draft->access->shape->doc].name);
}

/* $1 ...: key and id */
static void
identity_parameters(Draft *draft)
{
	for (int i = 0; i < draft->access->identity; i++)
		(void) parameter(draft, draft->access->shape->columns[i].type);
}

/* The item with this key and id, if it has not expired. */
static void
append_found(Draft *draft)
{
	char	   *expired = expired_condition(draft->access);

	appendStringInfo(&draft->sql, " WHERE %s", ItemAccessIdentity(draft->access, draft->access->identity));
	if (expired != NULL)
		appendStringInfo(&draft->sql, " AND NOT %s", expired);
}

/* A parameter more: the etag that it must have, or NULL. */
static void
append_match(Draft *draft)
{
	int			etag = parameter(draft, UUIDOID);

	if (draft->access->has_etag)
		appendStringInfo(&draft->sql, " AND ($%d IS NULL OR item.etag OPERATOR(pg_catalog.=) $%d)", etag, etag);
}

static void
append_returning(Draft *draft)
{
	appendStringInfo(&draft->sql, " RETURNING %s", stored_columns(draft->access));
}

static void
append_set_ts(Draft *draft)
{
	const ItemShape *shape = draft->access->shape;

	if (shape->ts >= 0)
		appendStringInfo(&draft->sql, ", %s = $%d", quote_identifier(shape->columns[shape->ts].name),
						 parameter(draft, TIMESTAMPTZOID));
}

static void
draft_select(Draft *draft, const char *clause)
{
	identity_parameters(draft);
	appendStringInfo(&draft->sql, "SELECT %s FROM %s AS item", stored_columns(draft->access),
					 QualifiedName(draft->access->relid));
	append_found(draft);
	appendStringInfoString(&draft->sql, clause);
}

/* $1 ... are the columns of the shape. */
static void
draft_insert(Draft *draft, ItemStatement statement)
{
	const ItemShape *shape = draft->access->shape;
	char	   *expired = expired_condition(draft->access);
	const char *doc = doc_name(draft);

	appendStringInfo(&draft->sql, "INSERT INTO %s AS item (%s) OVERRIDING SYSTEM VALUE VALUES (",
					 QualifiedName(draft->access->relid), ItemShapeColumns(shape));
	for (int i = 0; i < shape->ncolumns; i++)
		appendStringInfo(&draft->sql, "%s$%d", i > 0 ? ", " : "", parameter(draft, shape->columns[i].type));
	appendStringInfoString(&draft->sql, ") ON CONFLICT (");
	for (int i = 0; i < draft->access->identity; i++)
		appendStringInfo(&draft->sql, "%s%s", i > 0 ? ", " : "", quote_identifier(shape->columns[i].name));
	if (statement == ITEM_CREATE)
		appendStringInfoString(&draft->sql, ") DO NOTHING");
	else
	{
		appendStringInfo(&draft->sql, ") DO UPDATE SET %s = EXCLUDED.%s", doc, doc);
		if (shape->ts >= 0)
			appendStringInfo(&draft->sql, ", %s = EXCLUDED.%s", quote_identifier(shape->columns[shape->ts].name),
							 quote_identifier(shape->columns[shape->ts].name));
		/* one that has expired is no part of the new one: it is deleted before */
		appendStringInfo(&draft->sql, " WHERE %s%s", expired ? "NOT " : "true", expired ? expired : "");
	}
	if (statement == ITEM_UPSERT_MATCH)
		appendStringInfo(&draft->sql, " AND item.etag OPERATOR(pg_catalog.=) $%d", parameter(draft, UUIDOID));
	append_returning(draft);
}

/* The columns of the key, arrays of the ids and docs, ts (if there is such a column). */
static void
draft_create_all(Draft *draft)
{
	const ItemShape *shape = draft->access->shape;
	int			levels = draft->access->container->levels;
	const ItemColumn *id = &shape->columns[shape->id];
	const char *id_name = quote_identifier(id->name);
	int			ids;
	int			docs;

	appendStringInfo(&draft->sql, "INSERT INTO %s AS item (%s, %s, %s", QualifiedName(draft->access->relid),
					 ContainerColumnList(draft->access->container), id_name, doc_name(draft));
	if (shape->ts >= 0)
		appendStringInfo(&draft->sql, ", %s", quote_identifier(shape->columns[shape->ts].name));
	appendStringInfoString(&draft->sql, ") OVERRIDING SYSTEM VALUE SELECT ");
	for (int i = 0; i < levels; i++)
		appendStringInfo(&draft->sql, "$%d, ", parameter(draft, shape->columns[i].type));
	ids = parameter(draft, get_array_type(id->type));
	docs = parameter(draft, JSONBARRAYOID);
	appendStringInfoString(&draft->sql, "u.id, u.doc");
	if (shape->ts >= 0)
		appendStringInfo(&draft->sql, ", $%d", parameter(draft, TIMESTAMPTZOID));
	appendStringInfo(&draft->sql, " FROM ROWS FROM (pg_catalog.unnest($%d), pg_catalog.unnest($%d)) AS u(id, doc)"
					 " ON CONFLICT (%s, %s) DO NOTHING", ids, docs, ContainerColumnList(draft->access->container), id_name);
	append_returning(draft);
}

static void
begin_update(Draft *draft)
{
	identity_parameters(draft);
	appendStringInfo(&draft->sql, "UPDATE %s AS item SET ", QualifiedName(draft->access->relid));
}

/* Behind key and id: id (unless it is part of the key), doc, ts (if there is such a column), etag. */
static void
draft_replace(Draft *draft)
{
	const ItemShape *shape = draft->access->shape;

	begin_update(draft);
	if (shape->id >= draft->access->container->levels)
		appendStringInfo(&draft->sql, "%s = $%d, ", quote_identifier(shape->columns[shape->id].name),
						 parameter(draft, shape->columns[shape->id].type));
	appendStringInfo(&draft->sql, "%s = $%d", doc_name(draft), parameter(draft, JSONBOID));
	append_set_ts(draft);
	append_found(draft);
	append_match(draft);
	append_returning(draft);
}

/* Behind key and id: operations, ts (if there is such a column), etag, condition. */
static void
draft_patch(Draft *draft)
{
	int			condition;

	begin_update(draft);
	appendStringInfo(&draft->sql, "%s = partitionkey.patch_document(coalesce(item.%s, '{}'), $%d)", doc_name(draft), doc_name(draft),
					 parameter(draft, JSONBOID));
	append_set_ts(draft);
	append_found(draft);
	append_match(draft);
	condition = parameter(draft, JSONPATHOID);
	appendStringInfo(&draft->sql, " AND ($%d IS NULL OR pg_catalog.jsonb_path_match(item.%s, $%d, '{}', true))",
					 condition, doc_name(draft), condition);
	append_returning(draft);
}

/* Behind key and id: the columns of the key, doc, ts (if there is such a column). */
static void
draft_move(Draft *draft)
{
	const ItemShape *shape = draft->access->shape;

	begin_update(draft);
	for (int i = 0; i < draft->access->container->levels; i++)
		appendStringInfo(&draft->sql, "%s = $%d, ", quote_identifier(shape->columns[i].name),
						 parameter(draft, shape->columns[i].type));
	appendStringInfo(&draft->sql, "%s = $%d", doc_name(draft), parameter(draft, JSONBOID));
	append_set_ts(draft);
	append_found(draft);
	append_returning(draft);
}

/* Behind key and id: etag. */
static void
draft_delete(Draft *draft)
{
	identity_parameters(draft);
	appendStringInfo(&draft->sql, "DELETE FROM %s AS item", QualifiedName(draft->access->relid));
	append_found(draft);
	append_match(draft);
	append_returning(draft);
}

static void
draft_delete_expired(Draft *draft)
{
	identity_parameters(draft);
	appendStringInfo(&draft->sql, "DELETE FROM %s AS item WHERE %s AND %s", QualifiedName(draft->access->relid),
					 ItemAccessIdentity(draft->access, draft->access->identity), expired_condition(draft->access));
}

static void
draft_statement(Draft *draft, ItemStatement statement)
{
	switch (statement)
	{
		case ITEM_READ:
			draft_select(draft, "");
			break;
		case ITEM_LOCK:
			draft_select(draft, " FOR UPDATE");
			break;
		case ITEM_CREATE_ALL:
			draft_create_all(draft);
			break;
		case ITEM_CREATE:
		case ITEM_UPSERT:
		case ITEM_UPSERT_MATCH:
			draft_insert(draft, statement);
			break;
		case ITEM_REPLACE:
			draft_replace(draft);
			break;
		case ITEM_PATCH:
			draft_patch(draft);
			break;
		case ITEM_MOVE:
			draft_move(draft);
			break;
		case ITEM_DELETE:
			draft_delete(draft);
			break;
		case ITEM_DELETE_EXPIRED:
			draft_delete_expired(draft);
			break;
	}
}

/* Prepare a statement that has not been prepared yet.  Needs SPI. */
static void
prepare(ItemAccess *access, ItemStatement statement)
{
	Draft		draft = {.access = access};
	SPIPlanPtr	plan;

	initStringInfo(&draft.sql);
	draft_statement(&draft, statement);
	plan = SPI_prepare(draft.sql.data, draft.parameters, draft.types);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	access->plans[statement] = plan;
}

void
StoredItemSetDoc(StoredItem *stored, Datum doc, bool isnull)
{
	if (isnull)
		doc = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	stored->doc = DatumGetJsonbPCopy(doc);
}

void
StoredItemTake(StoredItem *stored, uint64 row, int column)
{
	HeapTuple	tuple = SPI_tuptable->vals[row];
	TupleDesc	desc = SPI_tuptable->tupdesc;
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, desc, column, &isnull);

	memset(stored, 0, sizeof(StoredItem));
	StoredItemSetDoc(stored, value, isnull);
	value = SPI_getbinval(tuple, desc, column + 1, &isnull);
	stored->has_etag = !isnull;
	if (!isnull)
		stored->etag = *DatumGetUUIDP(value);
	value = SPI_getbinval(tuple, desc, column + 2, &isnull);
	stored->has_ts = !isnull;
	stored->ts = isnull ? 0 : DatumGetTimestampTz(value);
}

/* Say what a row that a unique index refuses is in conflict with, as the user knows it. */
static void
explain_conflict(const ItemAccess *access, ErrorData *error)
{
	UniqueKey	key;

	error->detail = StatusText(COSMOS_CONFLICT, error->detail);
	if (!UniqueKeyFind(access->shape, error, &key))
		return;
	if (key.identity)
		error->message = psprintf("container \"%s\" has an item with this key and id already", get_rel_name(access->relid));
	else if (key.paths != NULL)
		error->message = psprintf("another item of the logical partition has the same unique key %s", key.paths);
	if (access->has_ttl && error->hint == NULL)
		error->hint = psprintf("It may have expired, and still be there: SELECT partitionkey.delete_expired(%s)",
							   quote_literal_cstr(QualifiedName(access->relid)));
}

/*
 * Run a plan.  A row that another unique index refuses is a conflict of Cosmos DB's,
 * too: a unique key's, or one with an item that was written at the same moment.
 */
static void
execute(const ItemAccess *access, SPIPlanPtr plan, Datum *values, const char *nulls, bool read_only)
{
	MemoryContext context = CurrentMemoryContext;
	int			result;

	PG_TRY();
	{
		result = SPI_execute_plan(plan, values, nulls, read_only, 0);
		if (result < 0)
			elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (geterrcode() != ERRCODE_UNIQUE_VIOLATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		explain_conflict(access, error);
		ReThrowError(error);
	}
	PG_END_TRY();
}

bool
ItemAccessRun(ItemAccess *access, ItemStatement statement, Datum *values, const char *nulls, StoredItem *stored)
{
	MemoryContext context = CurrentMemoryContext;
	bool		found;

	SPI_connect();
	if (access->plans[statement] == NULL)
		prepare(access, statement);
	execute(access, access->plans[statement], values, nulls, statement == ITEM_READ);
	found = SPI_processed > 0;
	if (found && stored != NULL)
	{
		MemoryContext spi = MemoryContextSwitchTo(context);

		StoredItemTake(stored, 0, 1);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return found;
}

bool
ItemAccessCreateAll(ItemAccess *access, Datum *values, int n, StoredItem *stored)
{
	MemoryContext context = CurrentMemoryContext;
	bool		all;

	SPI_connect();
	if (access->plans[ITEM_CREATE_ALL] == NULL)
		prepare(access, ITEM_CREATE_ALL);
	execute(access, access->plans[ITEM_CREATE_ALL], values, NULL, false);
	all = SPI_processed == (uint64) n;
	MemoryContextSwitchTo(context);
	for (int i = 0; all && i < n; i++)
		StoredItemTake(&stored[i], i, 1);
	SPI_finish();
	return all;
}

static SPIPlanPtr
prepare_by_id(ItemAccess *access)
{
	const ItemColumn *id = &access->shape->columns[access->shape->id];
	char	   *expired = expired_condition(access);
	Oid			type = id->type;
	StringInfoData sql;
	SPIPlanPtr	plan;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	for (int i = 0; i < access->container->levels; i++)
		appendStringInfo(&sql, "item.%s, ", quote_identifier(access->shape->columns[i].name));
	appendStringInfo(&sql, "%s FROM %s AS item WHERE ", stored_columns(access), QualifiedName(access->relid));
	append_equals(&sql, id, 1);
	if (expired != NULL)
		appendStringInfo(&sql, " AND NOT %s", expired);
	plan = SPI_prepare(sql.data, 1, &type);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

void
ItemAccessFindById(ItemAccess *access, Datum id, long limit)
{
	int			nestlevel = SqlBeginFanOut();

	if (access->by_id == NULL)
		access->by_id = prepare_by_id(access);
	if (SPI_execute_plan(access->by_id, &id, NULL, true, limit) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_plan failed");
	SqlEnd(nestlevel);
}

Jsonb *
StoredItemResult(const StoredItem *stored)
{
	return ItemResult(stored->doc, stored->has_etag, &stored->etag, stored->has_ts, stored->ts);
}
