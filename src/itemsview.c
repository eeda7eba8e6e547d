/*
 * itemsview.c
 *		The view <container>_items(doc): to load items from the client.
 *
 * An INSTEAD OF trigger takes each row's text for an item.  A faulty one goes to
 * the quarantine table, and the statement goes on; at its end a trigger tells of them.  The view, and so all that it
 * does, has the rights of whoever uses it; the container is found by the view's
 * query, so both may be renamed.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
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
#include "faultcount.h"
#include "itemline.h"
#include "itemsview.h"
#include "privileges.h"
#include "quarantine.h"
#include "sql.h"

/*
 * A statement that inserts.  Its triggers have nothing else in common, so the statements that run
 * are kept in a list, the innermost first.
 */
typedef struct ItemsView
{
	struct ItemsView *outer;
	Oid			relid;			/* of the view */
	MemoryContext context;		/* has all of it; when it goes, the statement is at its end, or has failed */
	MemoryContext row_context;
	MemoryContextCallback forget;
	const ItemShape *shape;		/* NULL before the first row, and so the batch */
	ItemBatch  *batch;
	ItemLines	lines;
	List	   *faults;			/* FaultCount * */
	int64		refused;
	bool		loaded;			/* the current row */
} ItemsView;

static ItemsView *statements = NULL;

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

/* Take a statement off the list. */
static void
forget_statement(void *arg)
{
	for (ItemsView **view = &statements; *view != NULL; view = &(*view)->outer)
		if (*view == arg)
		{
			*view = (*view)->outer;
			return;
		}
}

/* A statement begins. */
static void
begin_statement(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	MemoryContext context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "items view", ALLOCSET_DEFAULT_SIZES);
	ItemsView  *view = MemoryContextAllocZero(context, sizeof(ItemsView));

	view->context = context;
	view->row_context = AllocSetContextCreate(context, "row of an items view", ALLOCSET_DEFAULT_SIZES);
	view->relid = RelationGetRelid(trigger->tg_relation);
	view->forget.func = forget_statement;
	view->forget.arg = view;
	MemoryContextRegisterResetCallback(context, &view->forget);
	view->outer = statements;
	statements = view;
}

/* The statement that a trigger is of. */
static ItemsView *
current_statement(Relation rel)
{
	for (ItemsView *view = statements; view != NULL; view = view->outer)
		if (view->relid == RelationGetRelid(rel))
			return view;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("view \"%s\" lacks a trigger", RelationGetRelationName(rel)),
			 errhint("Make it anew with partitionkey.create_items_view.")));
}

/* Any view can have the trigger: the text of an item is in its first column. */
static void
check_column(Relation view)
{
	TupleDesc	desc = RelationGetDescr(view);

	if (desc->natts < 1 || TupleDescAttr(desc, 0)->atttypid != TEXTOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("view \"%s\" has no first column of type text, for items", RelationGetRelationName(view)),
				 errhint("Make a view with partitionkey.create_items_view.")));
}

/* Find out about the container at the first row of a statement. */
static void
prepare_statement(ItemsView *view, TriggerData *trigger)
{
	MemoryContext old = MemoryContextSwitchTo(view->context);
	const Container *container = ContainerLookup(container_of(trigger->tg_relation), false);
	Relation	rel = table_open(container->relid, RowExclusiveLock);
	const char *on_conflict = trigger->tg_trigger->tgnargs > 0 ? trigger->tg_trigger->tgargs[0] :
		OnConflictName(CONFLICT_QUARANTINE);
	ItemShape  *shape = ItemShapeFind(rel, container, NULL, false, false);

	check_column(trigger->tg_relation);
	table_close(rel, NoLock);
	view->batch = ItemBatchNew(shape, OnConflictFromName(on_conflict));
	view->shape = shape;
	MemoryContextSwitchTo(old);
}

/* Put an item into quarantine. */
static void
refuse(ItemsView *view, const CosmosItem *item, const ItemProblem *problem)
{
	Quarantine *quarantine = QuarantineFind(view->shape->container->relid, NULL, false);

	QuarantinePut(quarantine, item, problem);
	QuarantineEnd(quarantine);
	view->refused++;
	view->faults = FaultCountAdd(view->faults, item, problem, view->context);
}

/* A statement has ended: tell of its faults. */
static void
end_statement(ItemsView *view)
{
	if (view->refused > 0)
	{
		Quarantine *quarantine = QuarantineFind(view->shape->container->relid, NULL, false);

		ereport(WARNING,
				(errmsg_plural("%lld item was put into quarantine table %s", "%lld items were put into quarantine table %s",
							   (unsigned long) view->refused, (long long) view->refused, quarantine->qualified),
				 errdetail("%s", FaultCountsFirst(view->faults)),
				 errhint("See them by SELECT line, reason, detail, item FROM %s", quarantine->qualified)));
	}
	MemoryContextDelete(view->context);
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

/* Load the item of a row's text. */
static void
load_text(ItemsView *view, text *value)
{
	char	   *line = VARDATA_ANY(value);
	int			length = VARSIZE_ANY_EXHDR(value);
	CosmosItem	item;
	ItemRow    *row = palloc(sizeof(ItemRow));
	ItemProblem problem;

	if (!ItemLineNext(&view->lines, &line, &length))
		return;
	ItemFromText(&item, line, length);
	item.line = view->lines.line;
	if (ItemRowMake(view->shape, &item, row, &problem))
		ItemBatchWrite(view->batch, &row, 1, take_outcome, view);
	else
		refuse(view, &item, &problem);
}

/*
 * Load the item of a row.  One that is not loaded is not counted by the statement either.  Rows without an item
 * count, so that the others have the numbers of their lines.
 */
static Datum
load_row(ItemsView *view, TriggerData *trigger)
{
	bool		isnull;
	Datum		value;
	MemoryContext old;

	if (view->shape == NULL)
		prepare_statement(view, trigger);
	value = heap_getattr(trigger->tg_trigtuple, 1, RelationGetDescr(trigger->tg_relation), &isnull);
	view->loaded = false;
	old = MemoryContextSwitchTo(view->row_context);
	if (isnull)
		view->lines.line++;
	else
		load_text(view, DatumGetTextPP(value));
	MemoryContextSwitchTo(old);
	MemoryContextReset(view->row_context);
	return PointerGetDatum(view->loaded ? trigger->tg_trigtuple : NULL);
}

/* items_view_insert() returns trigger: of a row, and before and after a statement */
PG_FUNCTION_INFO_V1(items_view_insert);
Datum
items_view_insert(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Datum		result = PointerGetDatum(NULL);

	if (!CALLED_AS_TRIGGER(fcinfo) || trigger->tg_relation->rd_rel->relkind != RELKIND_VIEW ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("items_view_insert is for INSERT triggers of views that create_items_view makes")));
	SPI_connect();
	if (TRIGGER_FIRED_INSTEAD(trigger->tg_event))
		result = load_row(current_statement(trigger->tg_relation), trigger);
	else if (TRIGGER_FIRED_BEFORE(trigger->tg_event))
		begin_statement(fcinfo);
	else
		end_statement(current_statement(trigger->tg_relation));
	SPI_finish();
	return result;
}

/*
 * items_view_update() returns trigger
 *
 * A new document may mean another key and id, and what was computed while loading can't be
 * computed again.
 */
PG_FUNCTION_INFO_V1(items_view_update);
Datum
items_view_update(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_INSTEAD(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("items_view_update is for UPDATE triggers of views that create_items_view makes")));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("items can't be updated through view \"%s\"", RelationGetRelationName(trigger->tg_relation)),
			 errdetail("The key columns and the id have to be what the item says."),
			 errhint("Update container %s itself, or insert whole items into a view made with on_conflict => 'replace'.",
					 QualifiedName(container_of(trigger->tg_relation)))));
}

/* The SQL for a trigger of a view. */
static char *
trigger_sql(const char *view, const char *name, const char *event, const char *each, const char *function, const char *argument)
{
	return psprintf("CREATE OR REPLACE TRIGGER %s %s ON %s FOR EACH %s EXECUTE FUNCTION partitionkey.%s(%s)",
					name, event, view, each, function, argument);
}

char *
ItemsViewName(Oid container)
{
	return NameAfter(container, "items");
}

List *
ItemsViewsOf(Oid container)
{
	return SqlOids(ITEMS_VIEWS, container);
}

Oid
ItemsViewCreate(Oid container, OnConflict on_conflict)
{
	Relation	rel = table_open(container, AccessShareLock);
	ItemShape  *shape = ItemShapeFind(rel, ContainerLookup(container, false), NULL, false, false);
	char	   *name = ItemsViewName(container);
	char	   *qualified = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), name);
	char	   *argument = quote_literal_cstr(OnConflictName(on_conflict));
	int			nestlevel = SqlBegin();
	ObjectAddress table = {RelationRelationId, container, 0};
	ObjectAddress view = {RelationRelationId, get_relname_relid(name, RelationGetNamespace(rel)), 0};
	bool		exists = list_member_oid(ItemsViewsOf(container), view.objectId);

	SqlExecute("CREATE %sVIEW %s WITH (security_invoker = true) AS SELECT %s::text AS doc FROM %s", exists ? "OR REPLACE " : "",
			   qualified, quote_identifier(shape->columns[shape->doc].name), QualifiedName(container));
	SqlExecute("%s", trigger_sql(qualified, "partitionkey_begin", "BEFORE INSERT", "STATEMENT", "items_view_insert", ""));
	SqlExecute("%s", trigger_sql(qualified, "partitionkey_insert", "INSTEAD OF INSERT", "ROW", "items_view_insert", argument));
	SqlExecute("%s", trigger_sql(qualified, "partitionkey_end", "AFTER INSERT", "STATEMENT", "items_view_insert", ""));
	SqlExecute("%s", trigger_sql(qualified, "partitionkey_update", "INSTEAD OF UPDATE", "ROW", "items_view_update", ""));
	SqlExecute("COMMENT ON VIEW %s IS %s", qualified,
			   quote_literal_cstr(psprintf("items of container %s as JSON; INSERT or \\copy loads some",
										   RelationGetRelationName(rel))));
	SqlEnd(nestlevel);
	table_close(rel, NoLock);
	/* so that DROP TABLE takes it along; no dump has this */
	view.objectId = get_relname_relid(name, get_rel_namespace(container));
	deleteDependencyRecordsForSpecific(RelationRelationId, view.objectId, DEPENDENCY_AUTO, RelationRelationId, container);
	recordDependencyOn(&view, &table, DEPENDENCY_AUTO);
	return view.objectId;
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
