/*
 * itemsview.c
 *		The view <container>_items(doc): to load items from the client.
 *
 * An INSTEAD OF trigger takes each row's text for an item.  A faulty one goes to
 * the quarantine table, and the statement goes on.  The view, and so all that it
 * does, has the rights of whoever uses it; the container is found by the view's
 * query, so both may be renamed.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "itemsview.h"
#include "privileges.h"
#include "quarantine.h"
#include "sql.h"

/* What a statement needs, in memory that lives as long as it. */
typedef struct ItemsView
{
	const ItemShape *shape;
	ItemBatch  *batch;
	MemoryContext row_context;
	int64		line;			/* rows so far */
	int64		refused;
	bool		loaded;			/* the current row */
} ItemsView;

/* The container that a view of ours shows. */
static Oid
container_of(Relation view)
{
	ListCell   *cell;

	foreach(cell, get_view_query(view)->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		if (rte->rtekind == RTE_RELATION && rte->inFromCl)
			return rte->relid;
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("view \"%s\" does not show a container", RelationGetRelationName(view)),
			 errhint("Make one with partitionkey.create_items_view.")));
}

/* Set up at the first row of a statement. */
static ItemsView *
begin_statement(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	ItemsView  *view = palloc0(sizeof(ItemsView));
	const Container *container = ContainerLookup(container_of(trigger->tg_relation), false);
	Relation	rel = table_open(container->relid, RowExclusiveLock);
	const char *on_conflict = trigger->tg_trigger->tgnargs > 0 ? trigger->tg_trigger->tgargs[0] :
		OnConflictName(CONFLICT_QUARANTINE);

	view->shape = ItemShapeFind(rel, container, NULL, false, false);
	table_close(rel, NoLock);
	view->batch = ItemBatchNew(view->shape, OnConflictFromName(on_conflict));
	view->row_context = AllocSetContextCreate(CurrentMemoryContext, "row of an items view", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return view;
}

/* Put an item into quarantine, and say so once for a statement. */
static void
refuse(ItemsView *view, const CosmosItem *item, const ItemProblem *problem)
{
	Quarantine *quarantine = QuarantineFind(view->shape->container->relid, NULL, false);

	QuarantinePut(quarantine, item, problem);
	QuarantineEnd(quarantine);
	if (view->refused++ == 0)
		ereport(WARNING,
				(errmsg("items were put into quarantine table %s", quarantine->qualified),
				 errdetail("The first one is row " INT64_FORMAT ": %s: %s.", item->line, problem->reason, problem->detail)));
}

/* A RowReport. */
static void
take_outcome(ItemRow *row, RowOutcome outcome, const ItemProblem *problem, void *state)
{
	ItemsView  *view = state;

	view->loaded = outcome == ROW_LOADED || outcome == ROW_REPLACED;
	if (outcome == ROW_REFUSED)
		refuse(view, &row->item, problem);
}

/* Load the item of a text. */
static void
load_text(ItemsView *view, text *value)
{
	CosmosItem	item;
	ItemRow    *row = palloc(sizeof(ItemRow));
	ItemProblem problem;

	ItemFromText(&item, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	item.line = view->line;
	if (ItemRowMake(view->shape, &item, row, &problem))
		ItemBatchWrite(view->batch, &row, 1, take_outcome, view);
	else
		refuse(view, &item, &problem);
}

static bool
is_blank(text *value)
{
	const char *p = VARDATA_ANY(value);

	for (size_t i = 0; i < VARSIZE_ANY_EXHDR(value); i++)
		if (strchr(" \t\r\n", p[i]) == NULL)
			return false;
	return true;
}

/*
 * items_view_insert() returns trigger
 *
 * A row that is not loaded is not counted by the statement either.  Blank lines
 * of a file are no items, but count as rows, so that the others have their numbers.
 */
PG_FUNCTION_INFO_V1(items_view_insert);
Datum
items_view_insert(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	MemoryContext old;
	ItemsView  *view;
	bool		isnull;
	Datum		value;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_INSTEAD(trigger->tg_event) || !TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("items_view_insert is for INSTEAD OF INSERT triggers of views that create_items_view makes")));
	SPI_connect();
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = begin_statement(fcinfo);
	view = fcinfo->flinfo->fn_extra;
	view->line++;
	view->loaded = false;
	value = heap_getattr(trigger->tg_trigtuple, 1, RelationGetDescr(trigger->tg_relation), &isnull);
	if (!isnull)
	{
		old = MemoryContextSwitchTo(view->row_context);
		if (!is_blank(DatumGetTextPP(value)))
			load_text(view, DatumGetTextPP(value));
		MemoryContextSwitchTo(old);
		MemoryContextReset(view->row_context);
	}
	SPI_finish();
	return PointerGetDatum(view->loaded ? trigger->tg_trigtuple : NULL);
}

Oid
ItemsViewCreate(Oid container, OnConflict on_conflict)
{
	Relation	rel = table_open(container, AccessShareLock);
	ItemShape  *shape = ItemShapeFind(rel, ContainerLookup(container, false), NULL, false, false);
	char	   *name = makeObjectName(RelationGetRelationName(rel), NULL, "items");
	char	   *qualified = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), name);
	int			nestlevel = SqlBegin();

	SqlExecute("CREATE VIEW %s WITH (security_invoker = true) AS SELECT %s::text AS doc FROM %s",
			   qualified, quote_identifier(shape->columns[shape->doc].name), QualifiedName(container));
	SqlExecute("CREATE TRIGGER partitionkey_insert INSTEAD OF INSERT ON %s FOR EACH ROW"
			   " EXECUTE FUNCTION partitionkey.items_view_insert(%s)", qualified, quote_literal_cstr(OnConflictName(on_conflict)));
	SqlExecute("COMMENT ON VIEW %s IS %s", qualified,
			   quote_literal_cstr(psprintf("items of container %s as JSON; INSERT or \\copy loads some",
										   RelationGetRelationName(rel))));
	SqlEnd(nestlevel);
	table_close(rel, NoLock);
	return get_relname_relid(name, get_rel_namespace(container));
}

/* create_items_view(container regclass, on_conflict text) returns regclass */
PG_FUNCTION_INFO_V1(create_items_view);
Datum
create_items_view(PG_FUNCTION_ARGS)
{
	Oid			view;

	SPI_connect();
	view = ItemsViewCreate(PG_GETARG_OID(0), OnConflictFromName(text_to_cstring(PG_GETARG_TEXT_PP(1))));
	SPI_finish();
	PG_RETURN_OID(view);
}
