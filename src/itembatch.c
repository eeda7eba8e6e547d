/*
 * itembatch.c
 *		Writing rows of items to a container, a batch at a time.
 *
 * The fast way is COPY.  A batch is a subtransaction.  If COPY meets a row that is
 * there already, the batch is undone and done by INSERT ... ON CONFLICT: by one statement,
 * or row by row if triggers or row security have a say.  If anything else is wrong with a row, the batch is undone and its halves are
 * tried, and theirs, down to the row that is refused.
 *
 * Statements run under the session's search_path, as triggers, defaults and key
 * expressions of users expect it; they name everything in full, and use no operators.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "itembatch.h"
#include "itemcopy.h"
#include "itemkeys.h"
#include "sql.h"
#include "tree.h"
#include "uniquekey.h"

/*
 * COPY keeps rows for so many leaves, and writes those of one when it needs room
 * for another.  For a container with more leaves it is given the rows leaf by leaf.
 */
#define COPY_BUFFERS		32

struct ItemBatch
{
	const ItemShape *shape;
	OnConflict	on_conflict;
	Oid			relid;
	bool		unique;			/* there is a unique index on key and id */
	char	   *arbiter;		/* its columns; NULL if there is none, or the user may not look into them */
	TransactionId asked;		/* in which the following were found out */
	bool		secured;		/* row security applies, which COPY doesn't know */
	int			triggers;		/* that can leave rows out, or change them; -1 if they have not been counted yet */
	int			leaves;			/* of the container; 0 if they have not been counted yet */
	bool		inserting;		/* the last batch met rows that were there, and so may the next one: COPY is not tried */

	MemoryContext context;		/* of the rows that are being written */
	RowReport	report;
	void	   *state;
	RowOutcome *outcomes;		/* of the rows of an attempt */
	ItemProblem *problems;		/* of those that it refuses before they are written */
	ErrorData  *error;			/* of the last attempt that failed */
};

/* Something that is done with rows, in a subtransaction with an SPI connection of its own; may set outcomes. */
typedef void (*RowMethod) (ItemBatch *batch, ItemRow **rows, int n);

static const char *const conflict_names[] = {
	[CONFLICT_QUARANTINE] = "quarantine",
	[CONFLICT_SKIP] = "skip",
	[CONFLICT_REPLACE] = "replace",
	[CONFLICT_ERROR] = "error"
};

const char *
OnConflictName(OnConflict on_conflict)
{
	return conflict_names[on_conflict];
}

OnConflict
OnConflictFromName(const char *name)
{
	for (size_t i = 0; i < lengthof(conflict_names); i++)
		if (strcmp(name, conflict_names[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("on_conflict can't be \"%s\"", name),
			 errhint("It is \"quarantine\", \"skip\", \"replace\" or \"error\".")));
}

/*
 * Rows
 */

/* How many of the columns are key and id: they come first. */
static int
identity_size(const ItemShape *shape)
{
	return Max(shape->container->levels, shape->id + 1);
}

/* A row with what it is sorted by. */
typedef struct PlacedRow
{
	uint64		position;
	int			place;			/* in the batch, for rows of one position */
	ItemRow    *row;
} PlacedRow;

static int
compare_placed_rows(const void *a, const void *b)
{
	const PlacedRow *x = a;
	const PlacedRow *y = b;

	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->place - y->place;
}

/*
 * Ways to write
 */

static Relation
open_container(const ItemBatch *batch)
{
	Relation	rel = table_open(batch->relid, RowExclusiveLock);

	if (!ItemShapeFits(batch->shape, rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of container \"%s\" have been changed meanwhile", RelationGetRelationName(rel)),
				 errhint("Load the rest again, with on_conflict => 'skip'.")));
	return rel;
}

/* Write rows by COPY. */
static void
copy_rows(ItemBatch *batch, ItemRow **rows, int n)
{
	Relation	rel = open_container(batch);
	uint64		processed = ItemCopy(batch->shape, rel, rows, n);

	table_close(rel, NoLock);
	/* A trigger can make COPY leave rows out; which ones is not told. */
	for (uint64 i = processed; i < (uint64) n; i++)
		batch->outcomes[i] = ROW_SKIPPED;
}

/* The statement for rows that come as arrays, one for each column. */
static SPIPlanPtr
prepare_insert(const ItemBatch *batch, const char *conflict)
{
	const ItemShape *shape = batch->shape;
	StringInfoData sql;
	Oid			types[MAX_ITEM_COLUMNS];
	SPIPlanPtr	plan;

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT ",
					 QualifiedName(batch->relid), ItemShapeColumns(shape));
	for (int i = 0; i < shape->ncolumns; i++)
	{
		appendStringInfo(&sql, "%spg_catalog.unnest($%d)", i > 0 ? ", " : "", i + 1);
		/* a domain's constraints are checked by the assignment */
		types[i] = get_array_type(shape->columns[i].type);
	}
	appendStringInfoString(&sql, conflict);
	plan = SPI_prepare(sql.data, shape->ncolumns, types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

/* The values of a column of some rows, as an array. */
static Datum
column_array(const ItemBatch *batch, int column, ItemRow **rows, int n)
{
	Oid			type = batch->shape->columns[column].type;
	Datum	   *values = palloc(sizeof(Datum) * n);
	bool	   *nulls = palloc(sizeof(bool) * n);
	int			lower = 1;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	for (int i = 0; i < n; i++)
	{
		values[i] = rows[i]->values[column];
		nulls[i] = rows[i]->nulls[column];
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, type, typlen, typbyval, typalign));
}

/* Insert rows, all by one statement. */
static void
execute_insert(const ItemBatch *batch, SPIPlanPtr plan, ItemRow **rows, int n)
{
	Datum		values[MAX_ITEM_COLUMNS];

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < batch->shape->ncolumns; i++)
		values[i] = column_array(batch, i, rows, n);
	if (SPI_execute_plan(plan, values, NULL, false, 0) < 0)
		elog(ERROR, "SPI_execute_plan failed");
}

/*
 * item_replaces() returns boolean, item_replaced() returns boolean
 *
 * An INSERT ... ON CONFLICT DO UPDATE does not tell of a row whether it has replaced one.  These do: the
 * first, a condition of DO UPDATE, is called just for those; the second gives back that it was, for each row.
 */
static bool replaced = false;

PG_FUNCTION_INFO_V1(item_replaces);
Datum
item_replaces(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	replaced = true;
	PG_RETURN_BOOL(true);
}

PG_FUNCTION_INFO_V1(item_replaced);
Datum
item_replaced(PG_FUNCTION_ARGS)
{
	bool		result = replaced;

	(void) fcinfo;
	replaced = false;
	PG_RETURN_BOOL(result);
}

/* The clause by which an item takes the place of another one with its key and id. */
static char *
replace_clause(const ItemBatch *batch)
{
	const ItemShape *shape = batch->shape;
	const char *doc = quote_identifier(shape->columns[shape->doc].name);
	char	   *clause = psprintf(" ON CONFLICT (%s) DO UPDATE SET %s = EXCLUDED.%s", batch->arbiter, doc, doc);

	if (shape->ts >= 0)
		clause = psprintf("%s, ts = EXCLUDED.ts", clause);
	return psprintf("%s WHERE partitionkey.item_replaces() RETURNING partitionkey.item_replaced()", clause);
}

/* Whether a row is one that a statement has given back: the columns of key and id. */
static bool
is_returned(const ItemShape *shape, const ItemRow *row, uint64 returned)
{
	for (int i = 0; i < identity_size(shape); i++)
	{
		int16		typlen;
		bool		typbyval;
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[returned], SPI_tuptable->tupdesc, i + 1, &isnull);

		get_typlenbyval(shape->columns[i].type, &typlen, &typbyval);
		if (isnull != row->nulls[i] || (!isnull && !datum_image_eq(value, row->values[i], typbyval, typlen)))
			return false;
	}
	return true;
}

/*
 * Insert those of some rows that are not there yet.  Of several, the statement gives back those that it
 * has inserted, in their order, and so it is known which.
 */
static void
insert_new(const ItemBatch *batch, SPIPlanPtr plan, ItemRow **rows, int n, RowOutcome *outcomes)
{
	uint64		inserted = 0;

	execute_insert(batch, plan, rows, n);
	for (int i = 0; i < n; i++)
	{
		if (inserted < SPI_processed && (SPI_tuptable == NULL || is_returned(batch->shape, rows[i], inserted)))
			inserted++;
		else
			outcomes[i] = ROW_SKIPPED;
	}
	if (inserted != SPI_processed)
		elog(ERROR, "rows that were inserted are not those that were given");
}

/* Equal for rows with the same key and id. */
static uint64
identity_hash(const ItemShape *shape, const ItemRow *row)
{
	uint64		hash = 0;

	for (int i = 0; i < identity_size(shape); i++)
	{
		Component	component;

		if (row->nulls[i] || ComponentTypeName(shape->columns[i].type) == NULL)
			continue;
		(void) ComponentSetDatum(&component, shape->columns[i].type, row->values[i]);
		hash = hash_combine64(hash, Position(HASH_XXHASH, &component));
	}
	return hash;
}

/*
 * Arrange rows in rounds: a statement can't replace a row twice, so the second item with a key and id
 * comes in the second round.
 */
static void
arrange_rounds(const ItemShape *shape, PlacedRow *placed, int n)
{
	uint64		hash = 0;
	int			round = 0;

	for (int i = 0; i < n; i++)
		placed[i].position = identity_hash(shape, placed[i].row);
	qsort(placed, n, sizeof(PlacedRow), compare_placed_rows);
	for (int i = 0; i < n; i++)
	{
		round = i > 0 && placed[i].position == hash ? round + 1 : 0;
		hash = placed[i].position;
		placed[i].position = round;
	}
	qsort(placed, n, sizeof(PlacedRow), compare_placed_rows);
}

/*
 * Insert rows, or let them take the place of those that are there, by one statement.  It gives a row back
 * for each, in their order, that tells what was done, but for those that a trigger has left out.
 */
static void
replace_set(ItemBatch *batch, SPIPlanPtr plan, ItemRow **rows, const PlacedRow *placed, int n)
{
	bool		outer = replaced;

	replaced = false;
	execute_insert(batch, plan, rows, n);
	replaced = outer;
	if (n > 1 && SPI_processed != (uint64) n)
		elog(ERROR, "rows have been left out");
	for (int i = 0; i < n; i++)
	{
		bool		isnull;

		if (SPI_processed == 0)
			batch->outcomes[placed[i].place] = ROW_SKIPPED;
		else if (DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull)))
		{
			batch->outcomes[placed[i].place] = ROW_REPLACED;
			batch->inserting = true;
		}
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Insert or replace rows: in rounds, or each by itself. */
static void
replace_rows(ItemBatch *batch, ItemRow **rows, int n, bool singly)
{
	SPIPlanPtr	plan = prepare_insert(batch, replace_clause(batch));
	PlacedRow  *placed = palloc(sizeof(PlacedRow) * n);
	ItemRow   **set = palloc(sizeof(ItemRow *) * n);
	int			count;

	for (int i = 0; i < n; i++)
		placed[i] = (PlacedRow) {.position = i,.place = i,.row = rows[i]};
	if (!singly)
		arrange_rounds(batch->shape, placed, n);
	for (int first = 0; first < n; first += count)
	{
		for (count = 0; first + count < n && placed[first + count].position == placed[first].position; count++)
			set[count] = placed[first + count].row;
		replace_set(batch, plan, set, placed + first, count);
	}
}

/* Whether a trigger can leave rows out or change them, so that only of a single one is known what has become of it. */
static bool
has_row_triggers(ItemBatch *batch)
{
	if (batch->triggers < 0)
	{
		int			nestlevel = SqlBegin();

		batch->triggers = SqlCount("SELECT count(*) FROM pg_trigger t JOIN pg_partition_tree(%u) p ON t.tgrelid = p.relid"
								   " WHERE t.tgtype & %d = %d AND t.tgenabled <> 'D'"
								   " AND t.tgfoid <> 'partitionkey.set_etag'::regproc", batch->relid,
								   TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE);
		SqlEnd(nestlevel);
	}
	return batch->triggers > 0;
}

/*
 * Insert rows that are not there yet.  Where a trigger may have left out what was not inserted, rows that are there
 * have to be told by an error.
 */
static void
add_rows(ItemBatch *batch, ItemRow **rows, int n, bool singly)
{
	bool		skips = batch->arbiter != NULL && (batch->on_conflict == CONFLICT_SKIP || !has_row_triggers(batch));
	const char *conflict = skips ? psprintf(" ON CONFLICT (%s) DO NOTHING", batch->arbiter) : "";
	SPIPlanPtr	plan = prepare_insert(batch, singly || !skips ? conflict :
									  psprintf("%s RETURNING %s", conflict, batch->arbiter));
	int			step = singly ? 1 : n;

	for (int i = 0; i < n; i += step)
		insert_new(batch, plan, rows + i, step, batch->outcomes + i);
	for (int i = 0; i < n; i++)
	{
		if (batch->outcomes[i] == ROW_LOADED || !skips)
			continue;
		batch->inserting = true;
		if (batch->on_conflict != CONFLICT_SKIP)
			batch->outcomes[i] = ROW_REFUSED;
	}
}

/* Write rows by INSERT.  Row security would ask whether what a statement gives back may be seen. */
static void
insert_rows(ItemBatch *batch, ItemRow **rows, int n)
{
	bool		singly = n == 1 || batch->secured || has_row_triggers(batch);

	table_close(open_container(batch), NoLock);
	if (batch->on_conflict == CONFLICT_REPLACE)
		replace_rows(batch, rows, n, singly);
	else
		add_rows(batch, rows, n, singly);
}

/*
 * Attempts
 */

/*
 * Do something with rows in a subtransaction; false if one of them is refused, and then all
 * is undone.
 *
 * COPY would report its own progress: the load reports that of the whole.
 */
static bool
attempt(ItemBatch *batch, RowMethod method, ItemRow **rows, int n)
{
	ResourceOwner owner = CurrentResourceOwner;
	bool		tracked = pgstat_track_activities;
	volatile bool done = true;

	memset(batch->outcomes, 0, sizeof(RowOutcome) * n);
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		pgstat_track_activities = false;
		SPI_connect();
		method(batch, rows, n);
		SPI_finish();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(batch->context);
		batch->error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		done = false;
	}
	PG_END_TRY();
	pgstat_track_activities = tracked;
	MemoryContextSwitchTo(batch->context);
	CurrentResourceOwner = owner;
	if (!done && !ItemRowIsFault(batch->error->sqlerrcode) &&
		!(batch->secured && batch->error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE))
	{
		/* the line in it is that of a batch */
		batch->error->context = NULL;
		ReThrowError(batch->error);
	}
	return done;
}

/* A short reason for an error. */
static const char *
reason_of(int sqlerrcode)
{
	switch (sqlerrcode)
	{
		case ERRCODE_UNIQUE_VIOLATION:
			return "unique key";	/* of a leaf alone, or of another table, which a trigger writes to */
		case ERRCODE_FOREIGN_KEY_VIOLATION:
			return "foreign key";
		case ERRCODE_CHECK_VIOLATION:
			return "check constraint";
		case ERRCODE_NOT_NULL_VIOLATION:
			return "null value";
		case ERRCODE_EXCLUSION_VIOLATION:
			return "exclusion constraint";
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
			return "too large for an index";
		case ERRCODE_INSUFFICIENT_PRIVILEGE:
			return "row security";
		default:
			return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION ? "invalid value" : "refused";
	}
}

static void
refuse_duplicate(const ItemBatch *batch, const ItemRow *row)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("container \"%s\" has an item with %s already", get_rel_name(batch->relid), ItemRowName(batch->shape, row)),
			 row->item.file ? errdetail("File \"%s\", line " INT64_FORMAT ".", row->item.file, row->item.line) : 0,
			 errhint("With on_conflict => 'skip', 'replace' or 'quarantine' the load goes on.")));
}

/* A message of PostgreSQL's with its detail. */
static char *
with_detail(char *message, const char *detail)
{
	return detail ? psprintf("%s: %s", message, detail) : message;
}

static void
report_refused(ItemBatch *batch, ItemRow *row)
{
	const ErrorData *error = batch->error;
	ItemProblem problem = {.reason = reason_of(error->sqlerrcode), .detail = with_detail(error->message, error->detail)};
	UniqueKey	key;

	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION && UniqueKeyFind(batch->shape, error, &key))
	{
		if (key.identity && batch->on_conflict == CONFLICT_ERROR)
			refuse_duplicate(batch, row);
		problem.reason = key.identity ? "duplicate" : "unique key";
		problem.path = key.paths;
		problem.detail = with_detail(psprintf("another item has the same values of unique key \"%s\"", key.index), error->detail);
	}
	batch->report(row, ROW_REFUSED, &problem, batch->state);
}

/* Report the rows of an attempt that was done. */
static void
report_rows(ItemBatch *batch, ItemRow **rows, int n)
{
	for (int i = 0; i < n; i++)
	{
		ItemProblem problem = {.reason = "duplicate"};

		if (batch->outcomes[i] != ROW_REFUSED)
		{
			batch->report(rows[i], batch->outcomes[i], NULL, batch->state);
			continue;
		}
		if (batch->on_conflict == CONFLICT_ERROR)
			refuse_duplicate(batch, rows[i]);
		problem.detail = psprintf("there is an item with %s already", ItemRowName(batch->shape, rows[i]));
		batch->report(rows[i], ROW_REFUSED, &problem, batch->state);
	}
}

static void
write_rows(ItemBatch *batch, RowMethod method, ItemRow **rows, int n)
{
	int			half = n / 2;

	if (n == 0)
		return;
	if (attempt(batch, method, rows, n))
		report_rows(batch, rows, n);
	else if (method == copy_rows && batch->arbiter != NULL && batch->error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
		write_rows(batch, insert_rows, rows, n);
	else if (n == 1)
		report_refused(batch, rows[0]);
	else
	{
		write_rows(batch, method, rows, half);
		write_rows(batch, method, rows + half, n - half);
	}
}

/*
 * Completing rows
 */

/* The default of ts, for rows without a time. */
static void
set_times(const ItemShape *shape, ItemRow **rows, int n)
{
	EState	   *estate = CreateExecutorState();
	ExprState  *expression = ExecPrepareExpr(shape->ts_default, estate);

	for (int i = 0; i < n; i++)
	{
		if (!rows[i]->timeless)
			continue;
		/* a timestamptz is passed by value */
		ResetPerTupleExprContext(estate);
		rows[i]->values[shape->ts] = ExecEvalExprSwitchContext(expression, GetPerTupleExprContext(estate),
															   &rows[i]->nulls[shape->ts]);
	}
	FreeExecutorState(estate);
}

/* Compute what rows have by code of the user's, keys and the time.  Not a way to write, but refuses rows as one does. */
static void
compute_values(ItemBatch *batch, ItemRow **rows, int n)
{
	MemoryContext old;
	SPIPlanPtr	keys;

	PushActiveSnapshot(GetTransactionSnapshot());
	keys = ItemKeysPrepare(batch->shape);
	old = MemoryContextSwitchTo(batch->context);
	for (int i = 0; keys != NULL && i < n; i++)
		if (!ItemKeysCompute(batch->shape, keys, rows[i], &batch->problems[i]))
			batch->outcomes[i] = ROW_REFUSED;
	MemoryContextSwitchTo(old);
	if (batch->shape->ts_default != NULL)
		set_times(batch->shape, rows, n);
	PopActiveSnapshot();
}

/* An expression, or the default, has raised an error for a row. */
static void
report_uncomputed(const ItemBatch *batch, ItemRow *row)
{
	const ErrorData *error = batch->error;
	ItemProblem problem = {.reason = "refused", .detail = with_detail(error->message, error->detail)};

	/* it is no key of the container's that is not unique */
	if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION)
		problem.reason = reason_of(error->sqlerrcode);
	batch->report(row, ROW_REFUSED, &problem, batch->state);
}

/* Complete rows, and report those that can't be; gives how many are left, which go to the front. */
static int
complete_rows(ItemBatch *batch, ItemRow **rows, int n)
{
	int			half = n / 2;
	int			left = 0;

	if (attempt(batch, compute_values, rows, n))
	{
		for (int i = 0; i < n; i++)
		{
			if (batch->outcomes[i] == ROW_REFUSED)
				batch->report(rows[i], ROW_REFUSED, &batch->problems[i], batch->state);
			else
				rows[left++] = rows[i];
		}
		return left;
	}
	if (n == 1)
	{
		report_uncomputed(batch, rows[0]);
		return 0;
	}
	left = complete_rows(batch, rows, half);
	n = complete_rows(batch, rows + half, n - half);
	memmove(rows + left, rows + half, sizeof(ItemRow *) * n);
	return left + n;
}

/* Whether rows have to be completed. */
static bool
is_incomplete(const ItemShape *shape, ItemRow **rows, int n)
{
	for (int i = 0; i < n; i++)
		if (rows[i]->original != NULL || (rows[i]->timeless && shape->ts_default != NULL))
			return true;
	return false;
}

/*
 * Batches
 */

/* Put rows in the order of the hash space by the first level, which has most to say about their leaf; those with the same key stay in order. */
static void
sort_rows(const ItemBatch *batch, ItemRow **rows, int n)
{
	const ItemShape *shape = batch->shape;
	PlacedRow  *placed;

	placed = palloc(sizeof(PlacedRow) * n);
	for (int i = 0; i < n; i++)
	{
		Component	component;

		(void) ComponentSetDatum(&component, shape->columns[0].type, rows[i]->values[0]);
		placed[i].position = Position(shape->container->hash, &component);
		placed[i].place = i;
		placed[i].row = rows[i];
	}
	qsort(placed, n, sizeof(PlacedRow), compare_placed_rows);
	for (int i = 0; i < n; i++)
		rows[i] = placed[i].row;
	pfree(placed);
}

/* Whether rows are sorted.  Of duplicates the first one is told. */
static bool
is_sorted(ItemBatch *batch)
{
	if (batch->leaves == 0)
		batch->leaves = list_length(ContainerLeaves(batch->shape->container, NULL, 0));
	return batch->leaves > COPY_BUFFERS && batch->on_conflict != CONFLICT_ERROR;
}

/* Find out what others may have changed before this transaction; now that the container is locked, they can't. */
static void
ask_container(ItemBatch *batch)
{
	TransactionId xid = GetTopTransactionId();

	if (batch->asked == xid)
		return;
	table_close(open_container(batch), NoLock);
	batch->secured = check_enable_rls(batch->relid, InvalidOid, false) == RLS_ENABLED;
	batch->triggers = -1;
	batch->asked = xid;
}

void
ItemBatchWrite(ItemBatch *batch, ItemRow **rows, int n, RowReport report, void *state)
{
	bool		insert;

	if (n == 0)
		return;
	ask_container(batch);
	batch->context = CurrentMemoryContext;
	batch->outcomes = palloc0(sizeof(RowOutcome) * n);
	batch->problems = palloc(sizeof(ItemProblem) * n);
	batch->report = report;
	batch->state = state;
	if (is_incomplete(batch->shape, rows, n))
		n = complete_rows(batch, rows, n);
	if (n > 1 && is_sorted(batch))
		sort_rows(batch, rows, n);
	insert = batch->secured || batch->inserting;
	batch->inserting = false;
	write_rows(batch, insert ? insert_rows : copy_rows, rows, n);
}

/*
 * Preparing
 */

/* The columns of key and id: "a, b, id". */
static char *
identity_columns(const ItemShape *shape)
{
	char	   *columns = ContainerColumnList(shape->container);

	return shape->id < shape->container->levels ? columns :
		psprintf("%s, %s", columns, quote_identifier(shape->columns[shape->id].name));
}

/* Whether a unique index is on just these. */
static bool
is_unique(const ItemShape *shape)
{
	int			n = identity_size(shape);
	MemoryContext context = CurrentMemoryContext;	/* which SPI leaves for its own */
	StringInfoData attnums;
	int			nestlevel;
	int64		found;

	if (shape->id < 0)
		return false;
	initStringInfo(&attnums);
	for (int i = 0; i < n; i++)
		appendStringInfo(&attnums, "%s%d", i > 0 ? ", " : "", shape->columns[i].attnum);
	nestlevel = SqlBegin();
	found = SqlCount("SELECT count(*) FROM pg_index WHERE indrelid = %u AND indisunique AND indisvalid AND indimmediate"
					 " AND indpred IS NULL AND indnkeyatts = %d"
					 " AND NOT EXISTS (SELECT FROM unnest((indkey::int2[])[0:indnkeyatts - 1]) k WHERE k NOT IN (%s))",
					 shape->container->relid, n, attnums.data);
	SqlEnd(nestlevel);
	MemoryContextSwitchTo(context);
	return found > 0;
}

/* Whether the user has a privilege on some of the columns, or on the whole container. */
static bool
has_privilege(const ItemShape *shape, int first, int n, AclMode privilege)
{
	Oid			relid = shape->container->relid;

	if (pg_class_aclcheck(relid, GetUserId(), privilege) == ACLCHECK_OK)
		return true;
	for (int i = first; i < first + n; i++)
		if (pg_attribute_aclcheck(relid, shape->columns[i].attnum, GetUserId(), privilege) != ACLCHECK_OK)
			return false;
	return true;
}

/* What is to be skipped or replaced has to be found. */
static void
check_finds(const ItemBatch *batch)
{
	if (!batch->unique)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("items that are in container \"%s\" already can't be found", get_rel_name(batch->relid)),
				 errdetail("It has no primary key or unique index on just the key columns and the id."),
				 batch->shape->id < 0 ? errhint("It has no column \"id\", either.") :
				 errhint("ALTER TABLE %s ADD PRIMARY KEY (%s)", QualifiedName(batch->relid), identity_columns(batch->shape))));
	if (batch->arbiter == NULL ||
		(batch->on_conflict == CONFLICT_REPLACE && !has_privilege(batch->shape, batch->shape->doc, 1, ACL_UPDATE)))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(batch->relid));
}

ItemBatch *
ItemBatchNew(const ItemShape *shape, OnConflict on_conflict)
{
	MemoryContext context = CurrentMemoryContext;
	ItemBatch  *batch = palloc0(sizeof(ItemBatch));
	SPIPlanPtr	keys;

	batch->shape = shape;
	batch->on_conflict = on_conflict;
	batch->relid = shape->container->relid;
	if (!has_privilege(shape, 0, shape->ncolumns, ACL_INSERT))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(batch->relid));
	batch->unique = is_unique(shape);
	/* ON CONFLICT looks into the columns of its index */
	batch->arbiter = batch->unique && has_privilege(shape, 0, identity_size(shape), ACL_SELECT) ? identity_columns(shape) : NULL;
	if (on_conflict == CONFLICT_SKIP || on_conflict == CONFLICT_REPLACE)
		check_finds(batch);
	/* errors of key expressions are told now, not of each item */
	keys = ItemKeysPrepare(shape);
	if (keys != NULL)
		SPI_freeplan(keys);
	MemoryContextSwitchTo(context);
	return batch;
}

bool
ItemBatchIsUnique(const ItemBatch *batch)
{
	return batch->unique;
}
