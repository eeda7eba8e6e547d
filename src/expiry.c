/*
 * expiry.c
 *		Deleting the items that have expired.
 *
 * One query reads the container and finds the expired rows.  They are deleted in batches,
 * by their place (ctid) and key: the keys of a batch from one leaf lead to that leaf alone.
 * The function is one transaction; the procedure commits after each batch, and the query's result is
 * kept across that, so that the container is still read only once.
 *
 * Nobody is made to wait: each row of a batch is locked first, unless somebody else
 * holds it.  DELETE then looks again whether it has expired: it may have been renewed since
 * the query began, or another row may be in its place.  What a split has moved meanwhile is not
 * found any more.  All this is left for the next time.
 *
 * Locking goes past SQL, where it takes the privilege UPDATE.  Reading and deleting is
 * done by SQL with the caller's rights, row security included.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "itemrow.h"
#include "privileges.h"
#include "sql.h"
#include "ttl.h"

#define BATCH_ITEMS			1000	/* of the function */
#define MAX_BATCH_ITEMS		100000

/* Columns of the query; those of the key and the id, if there is one, come behind. */
enum
{
	COLUMN_TABLEOID = 1,
	COLUMN_CTID,
	COLUMN_FAULT,
	COLUMN_KEY
};

/* Rows of one leaf. */
typedef struct ExpiredRows
{
	Oid			leaf;
	int			n;
	Datum	   *tids;
	Datum	   *keys[MAX_LEVELS];
} ExpiredRows;

typedef struct Expiry
{
	const Container *container;
	const ItemShape *shape;
	char	   *name;			/* of the container, which may be dropped between batches */
	char	   *qualified_name;
	int32		default_ttl;
	char	   *command;		/* that deletes rows of a leaf */
	Const	   *constants[MAX_LEVELS + 2];	/* in it, as $1 and so on: the leaf, its rows, and their keys */
	Portal		portal;			/* of the query */
	ExpiredRows rows;

	MemoryContext context;		/* lives as long as this */
	MemoryContext batch_context;

	int64		deleted;
	int64		locked;			/* rows that others hold */
	int64		foreign;		/* expired items in foreign tables */
	int64		faults;			/* items whose ttl is not valid */
	char	   *first_fault;
} Expiry;

/*
 * Statements
 */

static const char *
column_name(const Expiry *expiry, int column)
{
	return quote_identifier(expiry->shape->columns[column].name);
}

static char *
query(const Expiry *expiry)
{
	const ItemShape *shape = expiry->shape;
	const char *doc = column_name(expiry, shape->doc);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT c.tableoid, c.ctid, partitionkey.ttl_fault(c.%s)", doc);
	for (int i = 0; i < expiry->container->levels; i++)
		appendStringInfo(&sql, ", c.%s", column_name(expiry, i));
	if (shape->id >= 0)
		appendStringInfo(&sql, ", c.%s", column_name(expiry, shape->id));
	appendStringInfo(&sql, " FROM %s AS c WHERE %s OR partitionkey.ttl_fault(c.%s) IS NOT NULL",
					 expiry->qualified_name, ItemShapeExpired(expiry->shape, expiry->default_ttl, "c"), doc);
	return sql.data;
}

/* It runs under the session's search_path, as triggers of users expect it, and so names operators in full. */
static void
make_command(Expiry *expiry)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "DELETE FROM %s AS c WHERE c.tableoid OPERATOR(pg_catalog.=) $1 AND c.ctid OPERATOR(pg_catalog.=) ANY ($2)",
					 expiry->qualified_name);
	for (int i = 0; i < expiry->container->levels; i++)
		appendStringInfo(&sql, " AND c.%s OPERATOR(pg_catalog.=) ANY ($%d)", column_name(expiry, i), i + 3);
	appendStringInfo(&sql, " AND %s", ItemShapeExpired(expiry->shape, expiry->default_ttl, "c"));
	expiry->command = sql.data;
}

/*
 * Deleting
 */

/* Keep those rows that can be locked now, as their version is that the snapshot shows. */
static void
lock_rows(Expiry *expiry, Relation leaf)
{
	ExpiredRows *rows = &expiry->rows;
	Snapshot	snapshot = GetActiveSnapshot();
	TableScanDesc scan = table_beginscan_tid(leaf, snapshot);
	TupleTableSlot *slot = table_slot_create(leaf, NULL);
	int			kept = 0;

	for (int i = 0; i < rows->n; i++)
	{
		ItemPointer tid = (ItemPointer) DatumGetPointer(rows->tids[i]);
		TM_FailureData failure;
		TM_Result	result;

		CHECK_FOR_INTERRUPTS();
		/* vacuum may have been there since the query */
		if (!table_tuple_tid_valid(scan, tid) || !table_tuple_fetch_row_version(leaf, tid, snapshot, slot))
			continue;
		result = table_tuple_lock(leaf, tid, snapshot, slot, GetCurrentCommandId(true), LockTupleExclusive, LockWaitSkip, 0, &failure);
		expiry->locked += result == TM_WouldBlock;
		if (result != TM_Ok)
			continue;
		rows->tids[kept] = rows->tids[i];
		for (int level = 0; level < expiry->container->levels; level++)
			rows->keys[level][kept] = rows->keys[level][i];
		kept++;
	}
	rows->n = kept;
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* An array of values of a type. */
static Const *
array_constant(Datum *elements, int n, Oid type)
{
	int16		length;
	bool		by_value;
	char		align;
	ArrayType  *array;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	array = construct_array(elements, n, type, length, by_value, align);
	return makeConst(get_array_type(type), -1, get_typcollation(type), -1, PointerGetDatum(array), false, false);
}

/* Parameters of the command are constants from the beginning: only by those is it planned for the leaf alone. */
static Node *
constant_of(ParseState *pstate, ParamRef *reference)
{
	Expiry	   *expiry = pstate->p_ref_hook_state;

	return copyObject((Node *) expiry->constants[reference->number - 1]);
}

static void
set_up_parser(ParseState *pstate, void *expiry)
{
	pstate->p_paramref_hook = constant_of;
	pstate->p_ref_hook_state = expiry;
}

/*
 * Have a command planned so that rows are found by their place.  If statistics are wrong, an
 * index on the key may seem as good, but many rows that stay can have the same key.
 */
static void
plan_command(SPIPlanPtr plan)
{
	static const char *const others[] = {"enable_indexscan", "enable_bitmapscan", "enable_seqscan"};
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("enable_tidscan", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	for (size_t i = 0; i < lengthof(others); i++)
		(void) set_config_option(others[i], "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	/* it is kept, being that of a statement without parameters */
	ReleaseCachedPlan(SPI_plan_get_cached_plan(plan), NULL);
	AtEOXact_GUC(false, nestlevel);
}

static void
execute_command(Expiry *expiry)
{
	const ExpiredRows *rows = &expiry->rows;
	SPIPlanPtr	plan;
	int			nestlevel;
	int			result;

	expiry->constants[0] = makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(rows->leaf), false, true);
	expiry->constants[1] = array_constant(rows->tids, rows->n, TIDOID);
	for (int i = 0; i < expiry->container->levels; i++)
		expiry->constants[i + 2] = array_constant(rows->keys[i], rows->n, expiry->shape->columns[i].type);
	plan = SPI_prepare_params(expiry->command, set_up_parser, expiry, 0);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_params failed: %s: %s", SPI_result_code_string(SPI_result), expiry->command);
	plan_command(plan);
	/* what triggers of users set is taken back */
	nestlevel = NewGUCNestLevel();
	result = SPI_execute_plan(plan, NULL, NULL, false, 0);
	if (result == SPI_OK_REWRITTEN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("items of container \"%s\" cannot be deleted", expiry->name),
				 errdetail("A rule does something else instead of DELETE."),
				 errhint("SELECT rulename FROM pg_rules WHERE tablename = %s", quote_literal_cstr(expiry->name))));
	if (result != SPI_OK_DELETE)
		elog(ERROR, "SPI_execute_plan failed: %s: %s", SPI_result_code_string(result), expiry->command);
	AtEOXact_GUC(false, nestlevel);
	expiry->deleted += SPI_processed;
	SPI_freeplan(plan);
}

/* Delete the rows of a leaf that have been gathered. */
static void
delete_rows(Expiry *expiry)
{
	ExpiredRows *rows = &expiry->rows;
	Relation	leaf = rows->n == 0 ? NULL : try_table_open(rows->leaf, RowExclusiveLock);

	if (leaf != NULL && leaf->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
	{
		/* Their rows can't be locked, nor told by their place. */
		expiry->foreign += rows->n;
		table_close(leaf, NoLock);
	}
	else if (leaf != NULL)
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		lock_rows(expiry, leaf);
		PopActiveSnapshot();
		table_close(leaf, NoLock);
		if (rows->n > 0)
			execute_command(expiry);
	}
	rows->n = 0;
}

/* Note an item whose ttl is not valid. */
static void
note_fault(Expiry *expiry, HeapTuple row, TupleDesc desc)
{
	StringInfoData text;
	MemoryContext old;

	if (expiry->faults++ > 0)
		return;
	old = MemoryContextSwitchTo(expiry->context);
	initStringInfo(&text);
	appendStringInfoString(&text, "key (");
	for (int i = 0; i < expiry->container->levels; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", SPI_getvalue(row, desc, COLUMN_KEY + i));
	appendStringInfoChar(&text, ')');
	if (expiry->shape->id >= 0)
		appendStringInfo(&text, ", id \"%s\"", SPI_getvalue(row, desc, COLUMN_KEY + expiry->container->levels));
	appendStringInfo(&text, ", ttl %s", SPI_getvalue(row, desc, COLUMN_FAULT));
	expiry->first_fault = text.data;
	MemoryContextSwitchTo(old);
}

/* Gather a row that the query gave. */
static void
add_row(Expiry *expiry, HeapTuple row, TupleDesc desc)
{
	ExpiredRows *rows = &expiry->rows;
	bool		isnull;
	Oid			leaf = DatumGetObjectId(SPI_getbinval(row, desc, COLUMN_TABLEOID, &isnull));

	(void) SPI_getbinval(row, desc, COLUMN_FAULT, &isnull);
	if (!isnull)
	{
		note_fault(expiry, row, desc);
		return;
	}
	if (leaf != rows->leaf)
		delete_rows(expiry);
	rows->leaf = leaf;
	rows->tids[rows->n] = SPI_getbinval(row, desc, COLUMN_CTID, &isnull);
	for (int i = 0; i < expiry->container->levels; i++)
		rows->keys[i][rows->n] = SPI_getbinval(row, desc, COLUMN_KEY + i, &isnull);
	rows->n++;
}

/* Delete up to so many of the next rows; false if there are none. */
static bool
delete_batch(Expiry *expiry, int items)
{
	MemoryContext old = MemoryContextSwitchTo(expiry->batch_context);
	SPITupleTable *found;
	uint64		n;

	expiry->rows.tids = palloc(sizeof(Datum) * items);
	for (int i = 0; i < expiry->container->levels; i++)
		expiry->rows.keys[i] = palloc(sizeof(Datum) * items);
	SPI_cursor_fetch(expiry->portal, true, items);
	found = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
		add_row(expiry, found->vals[i], found->tupdesc);
	delete_rows(expiry);
	SPI_freetuptable(found);
	MemoryContextSwitchTo(old);
	MemoryContextReset(expiry->batch_context);
	return n > 0;
}

/*
 * Beginning and end
 */

static void
check_container(const Expiry *expiry)
{
	AclResult	result = pg_class_aclcheck(expiry->container->relid, GetUserId(), ACL_DELETE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, expiry->name);
	RequireSelect(expiry->container->relid);
	if (expiry->shape->ts < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("container \"%s\" has no column for the time of the last change", expiry->name),
				 errdetail("Items expire by their time in a column \"ts\" of type timestamptz."),
				 errhint("ALTER TABLE %s ADD COLUMN ts timestamptz DEFAULT now()", expiry->qualified_name)));
}

static void
open_portal(Expiry *expiry)
{
	int			nestlevel = SqlBegin();
	char	   *sql = query(expiry);
	SPIPlanPtr	plan = SPI_prepare(sql, 0, NULL);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s: %s", SPI_result_code_string(SPI_result), sql);
	expiry->portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	SqlEnd(nestlevel);
}

/* Begin, or give NULL if nothing expires.  Needs SPI. */
static Expiry *
begin_expiry(Oid relid)
{
	Expiry	   *expiry = palloc0(sizeof(Expiry));
	Relation	rel;

	expiry->context = AllocSetContextCreate(CurrentMemoryContext, "expired items", ALLOCSET_DEFAULT_SIZES);
	expiry->batch_context = AllocSetContextCreate(expiry->context, "batch of expired items", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(expiry->context);
	expiry->container = ContainerLookup(relid, false);
	expiry->name = get_rel_name(relid);
	expiry->qualified_name = QualifiedName(relid);
	rel = table_open(relid, RowExclusiveLock);
	expiry->shape = ItemShapeFind(rel, expiry->container, NULL, false, false);
	table_close(rel, NoLock);
	check_container(expiry);
	if (!TtlDefault(RegistryDefinition(expiry->container), &expiry->default_ttl))
	{
		ereport(NOTICE,
				(errmsg("the time to live of container \"%s\" is off", expiry->name),
				 errdetail("No item expires, whatever its ttl."),
				 errhint("SELECT partitionkey.set_default_ttl(%s, -1) turns it on for items that have a ttl.",
						 quote_literal_cstr(expiry->qualified_name))));
		return NULL;
	}
	make_command(expiry);
	open_portal(expiry);
	return expiry;
}

/* Close the query, and tell what was left. */
static void
end_expiry(const Expiry *expiry)
{
	SPI_cursor_close(expiry->portal);
	if (expiry->locked > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld expired item of container \"%s\" was left, since another transaction holds it",
							   "%lld expired items of container \"%s\" were left, since other transactions hold them",
							   (unsigned long) expiry->locked, (long long) expiry->locked, expiry->name)));
	if (expiry->foreign > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld expired item of container \"%s\" was left, which is in a foreign table",
							   "%lld expired items of container \"%s\" were left, which are in foreign tables",
							   (unsigned long) expiry->foreign, (long long) expiry->foreign, expiry->name),
				 errhint("Delete them where they are stored.")));
	if (expiry->faults > 0)
		ereport(WARNING,
				(errmsg_plural("%lld item of container \"%s\" has a ttl that is not valid, and never expires",
							   "%lld items of container \"%s\" have a ttl that is not valid, and never expire",
							   (unsigned long) expiry->faults, (long long) expiry->faults, expiry->name),
				 errdetail("%s %s.", expiry->faults == 1 ? "It has" : "One of them has", expiry->first_fault),
				 errhint("SELECT * FROM %s WHERE partitionkey.ttl_fault(%s) IS NOT NULL",
						 expiry->qualified_name, column_name(expiry, expiry->shape->doc))));
}

/* delete_expired(container regclass, max_items bigint) returns bigint */
PG_FUNCTION_INFO_V1(delete_expired);
Datum
delete_expired(PG_FUNCTION_ARGS)
{
	int64		max_items = PG_ARGISNULL(1) ? PG_INT64_MAX : PG_GETARG_INT64(1);
	Expiry	   *expiry;
	int64		deleted;

	PreventCommandIfReadOnly("delete_expired()");
	SqlRequireArgument(fcinfo, 0, "container");
	if (max_items < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_items must not be negative")));
	SPI_connect();
	expiry = begin_expiry(PG_GETARG_OID(0));
	while (expiry != NULL && expiry->deleted < max_items && delete_batch(expiry, Min(BATCH_ITEMS, max_items - expiry->deleted)))
		;
	if (expiry != NULL)
		end_expiry(expiry);
	deleted = expiry == NULL ? 0 : expiry->deleted;
	SPI_finish();
	PG_RETURN_INT64(deleted);
}

/* The procedure's result row. */
static Datum
make_result(FunctionCallInfo fcinfo, int64 deleted)
{
	TupleDesc	desc;
	Datum		value = Int64GetDatum(deleted);
	bool		isnull = false;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), &value, &isnull));
}

/* Whether a container's time to live is still what it was when its deletion began. */
static bool
is_unchanged(const Expiry *expiry)
{
	Container  *container = ContainerLookup(expiry->container->relid, true);
	int32		default_ttl;

	return container != NULL && TtlDefault(RegistryDefinition(container), &default_ttl) && default_ttl == expiry->default_ttl;
}

/* delete_expired_in_batches(container regclass, batch_items int, INOUT deleted bigint), a procedure */
PG_FUNCTION_INFO_V1(delete_expired_in_batches);
Datum
delete_expired_in_batches(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Expiry	   *expiry;
	int64		deleted;

	SqlBeginProcedure(fcinfo, "delete_expired_in_batches");
	PreventCommandIfReadOnly("delete_expired_in_batches()");
	SqlRequireArgument(fcinfo, 0, "container");
	SqlRequireArgument(fcinfo, 1, "batch_items");
	if (PG_GETARG_INT32(1) < 1 || PG_GETARG_INT32(1) > MAX_BATCH_ITEMS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_items must be from 1 to %d", MAX_BATCH_ITEMS)));
	expiry = begin_expiry(PG_GETARG_OID(0));
	if (expiry != NULL)
	{
		/* a commit reads the rest of a pinned portal's rows; none are locked yet */
		PinPortal(expiry->portal);
		do
			SPI_commit();
		while (is_unchanged(expiry) && delete_batch(expiry, PG_GETARG_INT32(1)));
		UnpinPortal(expiry->portal);
		end_expiry(expiry);
	}
	deleted = expiry == NULL ? 0 : expiry->deleted;
	SPI_finish();
	MemoryContextSwitchTo(caller);
	PG_RETURN_DATUM(make_result(fcinfo, deleted));
}
