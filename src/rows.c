/*
 * rows.c
 *		Reading the rows of a table one by one.
 *
 * The rows of a query are handed on as the executor produces them, so that they are
 * not kept anywhere: the query asks for all columns, and what it gives are the
 * rows on the table's pages, of which only the columns needed are taken apart.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "storage/itemid.h"
#include "tcop/dest.h"
#include "utils/memutils.h"
#include "utils/rls.h"

#include "compat.h"
#include "rows.h"
#include "sql.h"

/* Pages that a sample has at least: rows of one page are often alike. */
#define SAMPLE_PAGES		300

typedef struct RowReceiver
{
	DestReceiver receiver;
	RowFunction function;
	void	   *state;
	MemoryContext context;		/* reset after each row */
} RowReceiver;

Relation
RowsOpen(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_MATVIEW:
		case RELKIND_VIEW:
		case RELKIND_FOREIGN_TABLE:
			return rel;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", RelationGetRelationName(rel)),
					 errhint("Name a table, a container or a view.")));
	}
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	RowReceiver *receiver = (RowReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);

	CHECK_FOR_INTERRUPTS();
	receiver->function(slot, receiver->state);
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return true;
}

static void
start_rows(DestReceiver *self, int operation, TupleDesc desc)
{
	(void) self, (void) operation, (void) desc;
}

static void
end_rows(DestReceiver *self)
{
	(void) self;
}

void
RowsRead(Relation rel, const char *clauses, RowFunction function, void *state)
{
	RowReceiver receiver = {
		.receiver = {.receiveSlot = receive_row, .rStartup = start_rows, .rShutdown = end_rows,
		.rDestroy = end_rows, .mydest = DestNone},
		.function = function,
		.state = state,
		.context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey row", ALLOCSET_DEFAULT_SIZES)
	};
	SPIExecuteOptions options = {.read_only = true, .dest = &receiver.receiver};
	char	   *query = psprintf("SELECT * FROM %s%s", QualifiedName(RelationGetRelid(rel)), clauses);

	if (SPI_execute_extended(query, &options) < 0)
		elog(ERROR, "SPI_execute_extended failed");
	MemoryContextDelete(receiver.context);
}

/*
 * Add up the sizes of a table and its children, as the planner estimates them;
 * false if one can't be sampled.  What has no statistics leaves *known false.
 */
static bool
estimate_size(Relation rel, double *rows, double *pages, bool *known)
{
	ListCell   *cell;
	bool		can_sample = true;

	*rows = *pages = 0;
	*known = true;
	foreach(cell, find_all_inheritors(RelationGetRelid(rel), AccessShareLock, NULL))
	{
		Relation	child = relation_open(lfirst_oid(cell), NoLock);
		BlockNumber child_pages;
		double		child_rows;
		double		allvisible;

		if (RELKIND_HAS_TABLE_AM(child->rd_rel->relkind))
		{
			estimate_rel_size(child, NULL, &child_pages, &child_rows, &allvisible);
			*rows += child_rows;
			*pages += child_pages;
			*known &= child_pages == 0 || child->rd_rel->relpages > 0;
		}
		else if (child->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			can_sample = false;
		relation_close(child, NoLock);
	}
	return can_sample;
}

RowsPlan
RowsPlanSample(Relation rel, int wanted)
{
	RowsPlan	plan = {.clause = "", .fraction = 1};
	double		rows;
	double		pages;
	bool		known;

	/* The estimate may be wrong, so up to twice the rows are taken as they are. */
	if (!estimate_size(rel, &rows, &pages, &known) || rows <= 2.0 * wanted || pages <= SAMPLE_PAGES)
		return plan;
	plan.fraction = Min(1, Max(1.2 * wanted / rows, SAMPLE_PAGES / pages));
	plan.clause = psprintf(" TABLESAMPLE SYSTEM (%g) REPEATABLE (0)", 100 * plan.fraction);
	/* Statistics count the rows that row security hides as well. */
	if (known && check_enable_rls(RelationGetRelid(rel), InvalidOid, true) != RLS_ENABLED)
		plan.rows = rows;
	return plan;
}

/* The size of the values that a row has in TOAST. */
static int64
toasted_bytes(TupleTableSlot *slot)
{
	int64		bytes = 0;

	slot_getallattrs(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		struct varlena *value = (struct varlena *) DatumGetPointer(slot->tts_values[i]);

		if (!slot->tts_isnull[i] && TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen == -1 &&
			VARATT_IS_EXTERNAL_ONDISK(value))
			bytes += toast_datum_size(PointerGetDatum(value));
	}
	return bytes;
}

int64
RowBytes(TupleTableSlot *slot)
{
	bool		copied;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, &copied);
	int64		bytes = sizeof(ItemIdData) + tuple->t_len;

	if (HeapTupleHasExternal(tuple))
		bytes += toasted_bytes(slot);
	if (copied)
		heap_freetuple(tuple);
	return bytes;
}
