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

static HTAB *entries = NULL;

/* What entries had that are not valid any more; freed at the end of the transaction. */
static List *stale_contexts = NIL;
static List *stale_plans = NIL;

/*
 * The cache
 */

static void
invalidate(Datum arg pg_attribute_unused(), Oid relid)
{
	HASH_SEQ_STATUS scan;
	ItemAccess *access;

	if (OidIsValid(relid))
	{
		access = hash_search(entries, &relid, HASH_FIND, NULL);
		if (access != NULL)
			access->valid = false;
		return;
	}
	hash_seq_init(&scan, entries);
	while ((access = hash_seq_search(&scan)) != NULL)
		access->valid = false;
}

static void
invalidate_all(Datum arg, int cacheid pg_attribute_unused(), uint32 hashvalue pg_attribute_unused())
{
	invalidate(arg, InvalidOid);
}

static void
free_stale(XactEvent event, void *arg pg_attribute_unused())
{
	ListCell   *cell;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	foreach(cell, stale_plans)
		SPI_freeplan(lfirst(cell));
	foreach(cell, stale_contexts)
		MemoryContextDelete(lfirst(cell));
	list_free(stale_plans);
	list_free(stale_contexts);
	stale_plans = stale_contexts = NIL;
}

static void
create_cache(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(ItemAccess), .hcxt = CacheMemoryContext};

	entries = hash_create("partitionkey item access", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, invalidate_all, (Datum) 0);
	RegisterXactCallback(free_stale, NULL);
}

/* Put away what an entry has. */
static void
forget(ItemAccess *access)
{
	MemoryContext old = MemoryContextSwitchTo(CacheMemoryContext);

	if (access->context != NULL)
		stale_contexts = lappend(stale_contexts, access->context);
	for (int i = 0; i < ITEM_STATEMENTS; i++)
		if (access->plans[i] != NULL)
			stale_plans = lappend(stale_plans, access->plans[i]);
	access->context = NULL;
	memset(access->plans, 0, sizeof(access->plans));
	MemoryContextSwitchTo(old);
}

/* The same for all that are not valid any more: containers that were dropped are not asked for again. */
static void
forget_invalid(void)
{
	HASH_SEQ_STATUS scan;
	ItemAccess *access;

	hash_seq_init(&scan, entries);
	while ((access = hash_seq_search(&scan)) != NULL)
		if (!access->valid)
			forget(access);
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
	if (!OidIsValid(access->index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("items of container \"%s\" are not unique by key and id", RelationGetRelationName(rel)),
				 errdetail("It has no primary key or unique index on just the key columns and the id."),
				 errhint("ALTER TABLE %s ADD PRIMARY KEY (%s)", QualifiedName(access->relid), columns)));
}

static void
fill(ItemAccess *access, Relation rel)
{
	Jsonb	   *definition;

	access->context = AllocSetContextCreate(CacheMemoryContext, "partitionkey item access", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(access->context);
	access->container = ContainerLookup(access->relid, false);
	access->shape = ItemShapeFind(rel, access->container, NULL, false, false);
	access->identity = Max(access->container->levels, access->shape->id + 1);
	access->has_etag = EtagColumn(rel) != InvalidAttrNumber;
	access->index = InvalidOid;
	access->id_indexed = false;
	if (access->shape->id >= 0)
		find_indexes(access, rel);
	require_identity(access, rel);
	definition = RegistryDefinition(access->container);
	access->has_ttl = definition != NULL && access->shape->ts >= 0 && TtlDefault(definition, &access->default_ttl);
}

ItemAccess *
ItemAccessFind(Oid relid)
{
	ItemAccess *access;
	Relation	rel;
	bool		found;

	if (entries == NULL)
		create_cache();
	LockRelationOid(relid, AccessShareLock);
	/* a lock that the transaction has already does not take them in */
	AcceptInvalidationMessages();
	access = hash_search(entries, &relid, HASH_ENTER, &found);
	if (!found)
	{
		access->valid = false;
		access->context = NULL;
		memset(access->plans, 0, sizeof(access->plans));
	}
	if (!access->valid)
	{
		MemoryContext old = CurrentMemoryContext;

		forget_invalid();
		if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
			(void) ContainerLookup(relid, false);
		rel = table_open(relid, NoLock);
		/* what comes in from now on makes it invalid again */
		access->valid = true;
		PG_TRY();
		{
			fill(access, rel);
		}
		PG_CATCH();
		{
			access->valid = false;
			MemoryContextDelete(access->context);
			access->context = NULL;
			PG_RE_THROW();
		}
		PG_END_TRY();
		table_close(rel, NoLock);
		MemoryContextSwitchTo(old);
	}
	return access;
}

/*
 * The statements
 */

char *
ItemAccessExpired(const ItemAccess *access, const char *alias)
{
	return access->has_ttl ? ItemShapeExpired(access->shape, access->default_ttl, alias) : NULL;
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

char *
ItemAccessStored(const ItemAccess *access)
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
	char	   *expired = ItemAccessExpired(draft->access, "item");

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
	appendStringInfo(&draft->sql, " RETURNING %s", ItemAccessStored(draft->access));
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
	appendStringInfo(&draft->sql, "SELECT %s FROM %s AS item", ItemAccessStored(draft->access),
					 QualifiedName(draft->access->relid));
	append_found(draft);
	appendStringInfoString(&draft->sql, clause);
}

/* $1 ... are the columns of the shape. */
static void
draft_insert(Draft *draft, ItemStatement statement)
{
	const ItemShape *shape = draft->access->shape;
	char	   *expired = ItemAccessExpired(draft->access, "item");
	const char *doc = doc_name(draft);

	appendStringInfo(&draft->sql, "INSERT INTO %s AS item (%s) OVERRIDING SYSTEM VALUE VALUES (",
					 QualifiedName(draft->access->relid), ItemShapeColumns(shape));
	for (int i = 0; i < shape->ncolumns; i++)
		appendStringInfo(&draft->sql, "%s$%d", i > 0 ? ", " : "", parameter(draft, shape->columns[i].type));
	appendStringInfoString(&draft->sql, ") ON CONFLICT (");
	for (int i = 0; i < draft->access->identity; i++)
		appendStringInfo(&draft->sql, "%s%s", i > 0 ? ", " : "", quote_identifier(shape->columns[i].name));
	if (statement == ITEM_CREATE && expired == NULL)
		appendStringInfoString(&draft->sql, ") DO NOTHING");
	else
	{
		appendStringInfo(&draft->sql, ") DO UPDATE SET %s = EXCLUDED.%s", doc, doc);
		if (shape->ts >= 0)
			appendStringInfo(&draft->sql, ", %s = EXCLUDED.%s", quote_identifier(shape->columns[shape->ts].name),
							 quote_identifier(shape->columns[shape->ts].name));
	}
	if (statement == ITEM_CREATE && expired != NULL)
		appendStringInfo(&draft->sql, " WHERE %s", expired);
	if (statement == ITEM_UPSERT_MATCH)
		appendStringInfo(&draft->sql, " WHERE item.etag OPERATOR(pg_catalog.=) $%d%s%s", parameter(draft, UUIDOID),
						 expired ? " OR " : "", expired ? expired : "");
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
	appendStringInfo(&draft->sql, "%s = partitionkey.patch_document(item.%s, $%d)", doc_name(draft), doc_name(draft),
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
					 ItemAccessIdentity(draft->access, draft->access->identity), ItemAccessExpired(draft->access, "item"));
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
StoredItemTake(StoredItem *stored, uint64 row, int column)
{
	HeapTuple	tuple = SPI_tuptable->vals[row];
	TupleDesc	desc = SPI_tuptable->tupdesc;
	bool		isnull;
	Datum		value = SPI_getbinval(tuple, desc, column, &isnull);

	memset(stored, 0, sizeof(StoredItem));
	stored->doc = isnull ? NULL : DatumGetJsonbPCopy(value);
	value = SPI_getbinval(tuple, desc, column + 1, &isnull);
	stored->has_etag = !isnull;
	if (!isnull)
		stored->etag = *DatumGetUUIDP(value);
	value = SPI_getbinval(tuple, desc, column + 2, &isnull);
	stored->has_ts = !isnull;
	stored->ts = isnull ? 0 : DatumGetTimestampTz(value);
}

/*
 * Run a plan.  A row that another unique index refuses is a conflict of Cosmos DB's,
 * too: a unique key's, or one with an item that was written at the same moment.
 */
static void
execute(SPIPlanPtr plan, Datum *values, const char *nulls, bool read_only)
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
		error->detail = StatusText(COSMOS_CONFLICT, error->detail);
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
	execute(access->plans[statement], values, nulls, statement == ITEM_READ);
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

Jsonb *
StoredItemResult(const StoredItem *stored)
{
	return ItemResult(stored->doc, stored->has_etag, &stored->etag, stored->has_ts, stored->ts);
}
