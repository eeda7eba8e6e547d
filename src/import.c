/*
 * import.c
 *		Loading the items of an export into a container: import_items, which is all
 *		or nothing, and import_items_in_batches, which commits after each batch.
 *
 * Items are read one by one and become rows; the faulty ones go to the
 * quarantine table, the others wait for their batch to be full.  Everything is done with the
 * caller's own rights.
 *
 * The progress of the whole is shown in pg_stat_progress_copy.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "compat.h"
#include "faultcount.h"
#include "itembatch.h"
#include "itemkeys.h"
#include "itemreader.h"
#include "itemrow.h"
#include "path.h"
#include "privileges.h"
#include "properties.h"
#include "quarantine.h"
#include "sql.h"

/* A batch ends here, if it doesn't by the number of its items; memory is bounded by it. */
#define BATCH_BYTES			(16 * 1024 * 1024)
#define BATCH_ITEMS			10000

/* From so many items on, their share of faults says something. */
#define MIN_ITEMS			10000

#define PROGRESS_ITEMS		256 /* between updates of the progress */
#define MISSING_ITEMS		1000	/* items without a property that are searched for a similar one */
#define KNOWN_PROPERTIES	300

typedef struct Import
{
	const Container *container;
	const ItemShape *shape;
	ItemBatch  *batch;
	Quarantine *quarantine;		/* NULL if no fault is allowed anyway */
	ItemReader *reader;
	double		max_faults;		/* share */
	int			batch_items;
	bool		commits;		/* after each batch */

	MemoryContext context;		/* lives as long as this */
	MemoryContext batch_context;
	MemoryContext fault_context;	/* of one faulty item */
	ItemRow   **rows;			/* of the batch */
	int			nrows;
	int			nitems;			/* of the batch, with the faulty ones */
	Size		bytes;

	instr_time	began;
	int64		read;
	int64		loaded;
	int64		replaced;
	int64		skipped;
	int64		quarantined;
	List	   *reasons;		/* FaultCount * */
	int64		looked[MAX_LEVELS]; /* items whose value of a level was looked at .. */
	int64		undefined[MAX_LEVELS];	/* .. and those that have none */
	List	   *known;			/* char *, paths of the properties of items without one of the key's */
	int64		inexact;		/* items whose key is not the number that it seems to be */
	char	   *first_inexact;
} Import;

/*
 * Counting
 */

static const char *
place_of(const CosmosItem *item)
{
	return psprintf("%s, line " INT64_FORMAT, item->file, item->line);
}

/* Whether a path is noted. */
static bool
is_known(const Import *import, const char *path)
{
	ListCell   *cell;

	foreach(cell, import->known)
		if (strcmp(lfirst(cell), path) == 0)
			return true;
	return false;
}

/* Note the paths of properties, down to a depth and up to a number, since one of them may have been meant. */
static void
note_properties(Import *import, JsonbContainer *object, const char *prefix, int depth)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue	value;
	JsonbIteratorToken token;
	const char *path = NULL;

	while (list_length(import->known) < KNOWN_PROPERTIES && (token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			char	   *segment = PathSegment(pnstrdup(value.val.string.val, value.val.string.len));

			path = segment == NULL ? NULL : psprintf("%s%s", prefix, segment);
			if (path != NULL && !is_known(import, path))
			{
				MemoryContext old = MemoryContextSwitchTo(import->context);

				import->known = lappend(import->known, pstrdup(path));
				MemoryContextSwitchTo(old);
			}
		}
		else if (token == WJB_VALUE && path != NULL && depth > 1 &&
				 value.type == jbvBinary && JsonContainerIsObject(value.val.binary.data))
			note_properties(import, value.val.binary.data, path, depth - 1);
	}
}

/* Count what is remarkable about an item's key, whether it is loaded or not. */
static void
count_key(Import *import, const CosmosItem *item, const ItemRow *row)
{
	MemoryContext old;

	for (int i = 0; i < import->container->levels; i++)
	{
		import->looked[i] += row->looked[i];
		if (!row->undefined[i])
			continue;
		import->undefined[i]++;
		if (import->undefined[i] > MISSING_ITEMS)
			continue;
		old = MemoryContextSwitchTo(import->fault_context);
		note_properties(import, &item->doc->root, "", list_length(import->shape->names[i]));
		MemoryContextSwitchTo(old);
		MemoryContextReset(import->fault_context);
	}
}

/* Count an item whose key is not the number that it seems to be. */
static void
count_inexact(Import *import, const ItemRow *row)
{
	if (row->inexact && import->inexact++ == 0)
		import->first_inexact = MemoryContextStrdup(import->context, place_of(&row->item));
}

static void
report_progress(const Import *import)
{
	const int	parameters[] = {
		PROGRESS_COPY_COMMAND,
		PROGRESS_COPY_TYPE,
		PROGRESS_COPY_BYTES_TOTAL,
		PROGRESS_COPY_BYTES_PROCESSED,
		PROGRESS_COPY_TUPLES_PROCESSED,
		PROGRESS_COPY_TUPLES_EXCLUDED
	};
	const int64 values[] = {
		PROGRESS_COPY_COMMAND_FROM,
		PROGRESS_COPY_TYPE_FILE,
		ItemReaderTotal(import->reader),
		ItemReaderBytes(import->reader),
		import->loaded + import->replaced,
		import->skipped + import->quarantined
	};

	pgstat_progress_update_multi_param(lengthof(parameters), parameters, values);
}

/*
 * Loading
 */

/* How faulty items could be loaded as they are: sentences with a blank before each, or "". */
static char *
way_to_load(const Import *import)
{
	StringInfoData text;

	initStringInfo(&text);
	if (!import->shape->generate_ids && FaultCountFind(import->reasons, "missing id") != NULL)
		appendStringInfoString(&text, " With generate_ids => true, items without an id get one.");
	if (FaultCountFind(import->reasons, "key of another type") != NULL || FaultCountFind(import->reasons, "key not exact") != NULL ||
		FaultCountFind(import->reasons, "key null") != NULL)
		appendStringInfoString(&text, " For keys of other types make the container with key_types of partitionkey.create_container_from_definition;"
							   " a column of type jsonb takes them all.");
	return text.data;
}

/* Fail if there are more faults than the user allows. */
static void
check_faults(const Import *import)
{
	if (import->quarantined > import->max_faults * import->read)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg(INT64_FORMAT " of " INT64_FORMAT " items are faulty, more than max_faults allows",
						import->quarantined, import->read),
				 errdetail("%s", FaultCountsFirst(import->reasons)),
				 import->commits ? errhint("Batches that were committed before remain.") :
				 errhint("Nothing was loaded. Mend the items, or allow a greater share of faults.%s", way_to_load(import))));
}

static void
put_into_quarantine(Import *import, const CosmosItem *item, const ItemProblem *problem)
{
	MemoryContext old = MemoryContextSwitchTo(import->fault_context);

	import->quarantined++;
	import->reasons = FaultCountAdd(import->reasons, item, problem, import->context);
	if (import->quarantine != NULL)
		QuarantinePut(import->quarantine, item, problem);
	MemoryContextSwitchTo(old);
	MemoryContextReset(import->fault_context);
}

/* A RowReport. */
static void
count_row(ItemRow *row, RowOutcome outcome, const ItemProblem *problem, void *state)
{
	Import	   *import = state;

	/* keys by expressions are known by now */
	count_inexact(import, row);
	switch (outcome)
	{
		case ROW_LOADED:
			import->loaded++;
			break;
		case ROW_REPLACED:
			import->replaced++;
			break;
		case ROW_SKIPPED:
			import->skipped++;
			break;
		case ROW_REFUSED:
			put_into_quarantine(import, &row->item, problem);
	}
}

static void
end_batch(Import *import, bool last)
{
	MemoryContextSwitchTo(import->batch_context);
	ItemBatchWrite(import->batch, import->rows, import->nrows, count_row, import);
	if (last || import->read >= MIN_ITEMS || import->max_faults == 0)
		check_faults(import);
	if (import->quarantine != NULL)
		QuarantineEnd(import->quarantine);
	if (import->commits)
		SPI_commit();
	MemoryContextSwitchTo(import->context);
	MemoryContextReset(import->batch_context);
	import->nrows = import->nitems = 0;
	import->bytes = 0;
	report_progress(import);
}

/* Make a row of an item for the batch, or put it into quarantine. */
static void
add_item(Import *import, const CosmosItem *item)
{
	ItemRow    *row = palloc(sizeof(ItemRow));
	ItemProblem problem;
	bool		sound = ItemRowMake(import->shape, item, row, &problem);

	import->read++;
	import->nitems++;
	/* what a faulty one needs is kept until the end of the batch as well */
	import->bytes += 2 * item->length + sizeof(ItemRow);
	count_key(import, item, row);
	if (!sound)
	{
		count_inexact(import, row);
		put_into_quarantine(import, item, &problem);
		return;
	}
	/* should it be refused, its text is wanted */
	row->item.text = pnstrdup(item->text, item->length);
	import->rows[import->nrows++] = row;
}

static void
load_items(Import *import)
{
	CosmosItem	item;

	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, import->container->relid);
	report_progress(import);
	while (ItemReaderNext(import->reader, &item))
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(import->batch_context);
		add_item(import, &item);
		MemoryContextSwitchTo(import->context);
		if (import->nitems >= import->batch_items || import->bytes >= BATCH_BYTES)
			end_batch(import, false);
		else if (import->read % PROGRESS_ITEMS == 0)
			report_progress(import);
	}
	end_batch(import, true);
	ItemReaderClose(import->reader);
	pgstat_progress_end_command();
}

/*
 * Telling what has happened
 */

/* Warn of a part of the key that most items don't have. */
static void
report_undefined(const Import *import)
{
	for (int i = 0; i < import->container->levels; i++)
	{
		double		share = (double) import->undefined[i] / Max(import->looked[i], 1);

		if (share >= 0.5 && import->shape->keys[i] == NULL)
			ereport(WARNING,
					(errmsg("%s", PropertiesMissing(import->container->paths[i], share, import->known))));
	}
}

static void
report_result(const Import *import)
{
	const char *way = way_to_load(import);

	report_undefined(import);
	/* who loads a file again and skips what is there has what he wants */
	if (import->loaded + import->replaced == 0 && (import->skipped == 0 || import->quarantined > 0))
		ereport(WARNING,
				(errmsg("no item was loaded into container \"%s\"", get_rel_name(import->container->relid)),
				 import->read == 0 ? errdetail("The source has no items.") : errdetail("%s", FaultCountsFirst(import->reasons))));
	if (import->quarantined > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld item was put into quarantine table %s", "%lld items were put into quarantine table %s",
							   (unsigned long) import->quarantined, (long long) import->quarantined, import->quarantine->qualified),
				 errdetail("%s", FaultCountsBrief(import->reasons)),
				 *way ? errhint("%s", way + 1) : 0));
	if (import->inexact > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld item has a number in its key that Cosmos DB takes for another one",
							   "%lld items have numbers in their keys that Cosmos DB takes for others",
							   (unsigned long) import->inexact, (long long) import->inexact),
				 errdetail("It keeps numbers as binary64, which has 53 bits. The first one is in %s.", import->first_inexact)));
	if (!ItemBatchIsUnique(import->batch))
		ereport(NOTICE,
				(errmsg("container \"%s\" may have several items with one key and id", get_rel_name(import->container->relid)),
				 errdetail("It has no primary key or unique index on just those.")));
}

static Datum
reasons_jsonb(const Import *import)
{
	JsonbParseState *state = NULL;
	ListCell   *cell;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	foreach(cell, import->reasons)
	{
		FaultCount *count = lfirst(cell);
		JsonbValue	value;

		value.type = jbvString;
		value.val.string.val = unconstify(char *, count->reason);
		value.val.string.len = strlen(count->reason);
		pushJsonbValue(&state, WJB_KEY, &value);
		value.type = jbvNumeric;
		value.val.numeric = int64_to_numeric(count->items);
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/* The result row: the same columns for the function and the procedure. */
static Datum
make_result(FunctionCallInfo fcinfo, const Import *import, Datum reasons)
{
	TupleDesc	desc;
	instr_time	took;
	double		seconds;
	Datum		values[8];
	bool		nulls[8] = {false};

	INSTR_TIME_SET_CURRENT(took);
	INSTR_TIME_SUBTRACT(took, import->began);
	seconds = INSTR_TIME_GET_DOUBLE(took);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(import->read);
	values[1] = Int64GetDatum(import->loaded);
	values[2] = Int64GetDatum(import->replaced);
	values[3] = Int64GetDatum(import->skipped);
	values[4] = Int64GetDatum(import->quarantined);
	values[5] = reasons;
	values[6] = Float8GetDatum(rint(seconds * 1000) / 1000);
	values[7] = Float8GetDatum(rint(import->read / Max(seconds, 1e-6)));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * The options
 */

static double
read_share(double share)
{
	if (!(share >= 0 && share <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_faults is a share of the items, from 0 to 1")));
	return share;
}

/* Read what the user wants; the arguments are those of the function. */
static Import *
begin_import(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"container", "source", "on_conflict", "generate_ids", "keep_system", "max_faults"};
	Import	   *import = palloc0(sizeof(Import));
	Relation	rel;

	for (size_t i = 0; i < lengthof(names); i++)
		SqlRequireArgument(fcinfo, i, names[i]);
	INSTR_TIME_SET_CURRENT(import->began);
	import->context = AllocSetContextCreate(CurrentMemoryContext, "import of items", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(import->context);
	/* one block that is kept, so that each batch finds the memory of the last one */
	import->batch_context = AllocSetContextCreate(import->context, "batch of items", BATCH_BYTES, BATCH_BYTES, BATCH_BYTES);
	import->fault_context = AllocSetContextCreate(import->context, "faulty item", ALLOCSET_DEFAULT_SIZES);
	import->container = ContainerLookup(PG_GETARG_OID(0), false);
	import->reader = ItemReaderOpen(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	import->max_faults = read_share(PG_GETARG_FLOAT8(5));
	rel = table_open(import->container->relid, RowExclusiveLock);
	import->shape = ItemShapeFind(rel, import->container,
								  PG_ARGISNULL(6) ? NULL : ItemKeysRead(import->container, PG_GETARG_ARRAYTYPE_P(6)),
								  PG_GETARG_BOOL(3), PG_GETARG_BOOL(4));
	table_close(rel, NoLock);
	import->batch = ItemBatchNew(import->shape, OnConflictFromName(text_to_cstring(PG_GETARG_TEXT_PP(2))));
	if (import->max_faults > 0)
		import->quarantine = QuarantineFind(import->container->relid,
											PG_ARGISNULL(7) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(7)), true);
	return import;
}

/* Load, and give the result in the caller's memory, which is behind the SPI connection. */
static Datum
run_import(FunctionCallInfo fcinfo, Import *import, MemoryContext caller)
{
	Datum		result;

	import->rows = palloc(sizeof(ItemRow *) * import->batch_items);
	load_items(import);
	report_result(import);
	MemoryContextSwitchTo(caller);
	result = make_result(fcinfo, import, reasons_jsonb(import));
	SPI_finish();
	return result;
}

/* import_items(container regclass, source text, ..), all or nothing */
PG_FUNCTION_INFO_V1(import_items);
Datum
import_items(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Import	   *import;

	PreventCommandIfReadOnly("import_items()");
	SPI_connect();
	import = begin_import(fcinfo);
	import->batch_items = BATCH_ITEMS;
	PG_RETURN_DATUM(run_import(fcinfo, import, caller));
}

/* import_items_in_batches(container regclass, source text, .., batch_items int), a procedure */
PG_FUNCTION_INFO_V1(import_items_in_batches);
Datum
import_items_in_batches(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Import	   *import;

	SqlBeginProcedure(fcinfo, "import_items_in_batches");
	PreventCommandIfReadOnly("import_items_in_batches()");
	SqlRequireArgument(fcinfo, 8, "batch_items");
	import = begin_import(fcinfo);
	import->batch_items = PG_GETARG_INT32(8);
	if (import->batch_items < 1 || import->batch_items > 1000000)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_items must be from 1 to 1000000")));
	import->commits = true;
	PG_RETURN_DATUM(run_import(fcinfo, import, caller));
}
