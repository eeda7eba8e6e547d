/*
 * verifyimport.c
 *		Whether a container has what is in an export: verify_import.
 *
 * From both sides comes an entry for each item: its key and its checksum.  They are
 * sorted by key, on disk if there are many, and compared logical partition by
 * logical partition.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "checksum.h"
#include "compat.h"
#include "extract.h"
#include "itemkeys.h"
#include "itemreader.h"
#include "itemrow.h"
#include "key.h"
#include "privileges.h"
#include "registry.h"
#include "rows.h"
#include "sql.h"

/* The columns of an entry: what it is sorted by first. */
enum
{
	ENTRY_HASH,
	ENTRY_KEY,
	ENTRY_STORED,
	ENTRY_WHOLE,
	ENTRY_WITHOUT_ID,
	ENTRY_HAS_ID,
	ENTRY_COLUMNS
};

typedef struct Comparison
{
	const Container *container;
	const ItemShape *shape;
	AttrNumber	places[MAX_ITEM_COLUMNS];	/* of its columns, among those that SELECT * gives, from 1 */
	SPIPlanPtr	keys;			/* for keys by expressions, or NULL */
	Tuplesortstate *sort;
	TupleTableSlot *entry;
	int64		faulty;			/* items of the export that can't be read, .. */
	int64		keyless;		/* .. that have an object or array as key, .. */
	int64		refused;		/* .. and whose key expressions give NULL or an error */
} Comparison;

/* What one side has of a logical partition, or in all. */
typedef struct Side
{
	int64		items;
	uint64		whole;
	uint64		without_id;
} Side;

typedef struct Partition
{
	Jsonb	   *key;
	Side		exported;
	Side		stored;
	int64		without_id;		/* items of the export */
} Partition;

/*
 * Collecting entries
 */

static TupleDesc
entry_desc(void)
{
	TupleDesc	desc = CreateTemplateTupleDesc(ENTRY_COLUMNS);

	TupleDescInitEntry(desc, ENTRY_HASH + 1, "hash", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_KEY + 1, "key", JSONBOID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_STORED + 1, "stored", BOOLOID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_WHOLE + 1, "whole", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_WITHOUT_ID + 1, "without_id", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_HAS_ID + 1, "has_id", BOOLOID, -1, 0);
	return desc;
}

/* Entries are sorted by the hash of the key, which is fast, and by the key in case that two have the same. */
static void
start_sort(Comparison *cmp)
{
	AttrNumber	columns[] = {ENTRY_HASH + 1, ENTRY_KEY + 1};
	Oid			operators[] = {
		lookup_type_cache(INT8OID, TYPECACHE_LT_OPR)->lt_opr,
		lookup_type_cache(JSONBOID, TYPECACHE_LT_OPR)->lt_opr
	};
	Oid			collations[] = {InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false};
	TupleDesc	desc = entry_desc();

	cmp->sort = tuplesort_begin_heap(desc, lengthof(columns), columns, operators, collations, nulls_first,
									 work_mem, NULL, TUPLESORT_NONE);
	cmp->entry = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
}

static void
add_entry(Comparison *cmp, const Component *key, Jsonb *doc, bool stored)
{
	Datum	   *values = cmp->entry->tts_values;
	Checksum	checksum = ChecksumOf(doc, cmp->shape->stripped);
	uint64		hash = 0;

	for (int i = 0; i < cmp->container->levels; i++)
		hash = hash_combine64(hash, Position(HASH_XXHASH, &key[i]));
	ExecClearTuple(cmp->entry);
	memset(cmp->entry->tts_isnull, false, ENTRY_COLUMNS * sizeof(bool));
	values[ENTRY_HASH] = UInt64GetDatum(hash);
	values[ENTRY_KEY] = JsonbPGetDatum(KeyToJsonb(key, cmp->container->levels));
	values[ENTRY_STORED] = BoolGetDatum(stored);
	values[ENTRY_WHOLE] = UInt64GetDatum(checksum.whole);
	values[ENTRY_WITHOUT_ID] = UInt64GetDatum(checksum.without_id);
	values[ENTRY_HAS_ID] = BoolGetDatum(checksum.has_id);
	ExecStoreVirtualTuple(cmp->entry);
	tuplesort_puttupleslot(cmp->sort, cmp->entry);
}

/*
 * Compute the key of an item by expressions; false if they give NULL or an error, so that an import
 * can't have taken the item.
 */
static bool
compute_key(const Comparison *cmp, ItemRow *row)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;
	ItemProblem problem;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		MemoryContextSwitchTo(context);
		done = ItemKeysCompute(cmp->shape, cmp->keys, row, &problem);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (!ItemRowIsFault(error->sqlerrcode))
			ReThrowError(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* Add an item of the export. */
static void
add_exported(Comparison *cmp, const CosmosItem *item)
{
	const ItemShape *shape = cmp->shape;
	ItemRow		row = {.original = item->doc};
	Component	key[MAX_LEVELS];

	if (item->fault != ITEM_SOUND)
	{
		cmp->faulty++;
		return;
	}
	if (cmp->keys != NULL && !compute_key(cmp, &row))
	{
		cmp->refused++;
		return;
	}
	for (int i = 0; i < cmp->container->levels; i++)
		if (shape->keys[i] != NULL ? !ComponentSetDatum(&key[i], shape->columns[i].type, row.values[i]) :
			!ExtractProperty(&item->doc->root, shape->names[i], &key[i]))
		{
			cmp->keyless++;
			return;
		}
	add_entry(cmp, key, item->doc, false);
}

static void
add_export(Comparison *cmp, const char *source)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "partitionkey verification", ALLOCSET_DEFAULT_SIZES);
	ItemReader *reader = ItemReaderOpen(source);
	CosmosItem	item;

	while (ItemReaderNext(reader, &item))
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);

		add_exported(cmp, &item);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
	}
	ItemReaderClose(reader);
}

/*
 * Set the key of a row.  Where its document has no value at a path, the column can't say so,
 * and the caller gives no expression, the value was computed while loading: it counts as none, as it does for
 * the item of the export.
 */
static void
set_stored_key(const Comparison *cmp, TupleTableSlot *slot, Jsonb *doc, Component *key)
{
	const ItemShape *shape = cmp->shape;

	for (int i = 0; i < cmp->container->levels; i++)
	{
		JsonbValue	ignored;
		bool		isnull;

		if (shape->keys[i] == NULL && shape->columns[i].type != JSONBOID && !ExtractValue(&doc->root, shape->names[i], &ignored))
			(void) ExtractProperty(&doc->root, shape->names[i], &key[i]);
		else
			(void) ComponentSetDatum(&key[i], shape->columns[i].type, slot_getattr(slot, cmp->places[i], &isnull));
	}
}

/* Add a row of the container.  A document that is NULL has no properties. */
static void
add_stored(TupleTableSlot *slot, void *state)
{
	Comparison *cmp = state;
	Component	key[MAX_LEVELS];
	bool		isnull;
	Datum		value = slot_getattr(slot, cmp->places[cmp->shape->doc], &isnull);
	Jsonb	   *doc;

	if (isnull)
		value = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	doc = DatumGetJsonbP(value);
	set_stored_key(cmp, slot, doc, key);
	add_entry(cmp, key, doc, true);
}

/*
 * Comparing
 */

static void
add_to_side(Side *side, const Side *more)
{
	side->items += more->items;
	side->whole += more->whole;
	side->without_id += more->without_id;
}

/* Take an entry, one of those with this key, into a partition. */
static void
take_entry(Partition *partition, TupleTableSlot *entry)
{
	Datum	   *values = entry->tts_values;
	Side		item = {1, DatumGetUInt64(values[ENTRY_WHOLE]), DatumGetUInt64(values[ENTRY_WITHOUT_ID])};
	bool		stored = DatumGetBool(values[ENTRY_STORED]);

	add_to_side(stored ? &partition->stored : &partition->exported, &item);
	partition->without_id += !stored && !DatumGetBool(values[ENTRY_HAS_ID]);
}

/* If items of the export have no id, those in the container may have got one, and it doesn't count. */
static uint64
counted(const Partition *partition, const Side *side)
{
	return partition->without_id == 0 ? side->whole : side->without_id;
}

/* How the sides of a partition differ, or NULL. */
static char *
difference(const Partition *partition)
{
	int64		missing = partition->exported.items - partition->stored.items;

	if (missing > 0)
		return psprintf(INT64_FORMAT " missing in the container", missing);
	if (missing < 0)
		return psprintf(INT64_FORMAT " more in the container", -missing);
	if (counted(partition, &partition->exported) != counted(partition, &partition->stored))
		return "other content";
	return NULL;
}

/* Put a row: key, source_items, container_items, source_checksum, container_checksum, difference, source_without_id. */
static void
put_partition(ReturnSetInfo *result, const Partition *partition, const char *text)
{
	Datum		values[7];
	bool		nulls[7] = {partition->key == NULL, false, false, false, false, text == NULL, false};

	values[0] = JsonbPGetDatum(partition->key);
	values[1] = Int64GetDatum(partition->exported.items);
	values[2] = Int64GetDatum(partition->stored.items);
	values[3] = CStringGetTextDatum(psprintf("%016llx", (unsigned long long) counted(partition, &partition->exported)));
	values[4] = CStringGetTextDatum(psprintf("%016llx", (unsigned long long) counted(partition, &partition->stored)));
	if (text != NULL)
		values[5] = CStringGetTextDatum(text);
	values[6] = Int64GetDatum(partition->without_id);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* What differs in all, or NULL. */
static char *
difference_of_all(const Comparison *cmp, int64 partitions, int64 different)
{
	StringInfoData text;

	initStringInfo(&text);
	if (different > 0)
		appendStringInfo(&text, INT64_FORMAT " of " INT64_FORMAT " logical partitions differ", different, partitions);
	if (cmp->faulty > 0)
		appendStringInfo(&text, "%sitems that can't be read: " INT64_FORMAT, text.len > 0 ? "; " : "", cmp->faulty);
	if (cmp->keyless > 0)
		appendStringInfo(&text, "%sitems with an object or array as key: " INT64_FORMAT, text.len > 0 ? "; " : "", cmp->keyless);
	if (cmp->refused > 0)
		appendStringInfo(&text, "%sitems whose key expressions give NULL or an error: " INT64_FORMAT, text.len > 0 ? "; " : "", cmp->refused);
	return text.len > 0 ? text.data : NULL;
}

/* Add a side of a partition to that of all, as it was compared. */
static void
add_counted(Side *all, const Partition *partition, const Side *side)
{
	uint64		sum = counted(partition, side);
	Side		more = {side->items, sum, sum};

	add_to_side(all, &more);
}

/* A partition is complete: tell it if it differs, and add it to the sum of all, as it was compared. */
static bool
finish_partition(ReturnSetInfo *result, const Partition *partition, Partition *all)
{
	char	   *text = difference(partition);

	add_counted(&all->exported, partition, &partition->exported);
	add_counted(&all->stored, partition, &partition->stored);
	all->without_id += partition->without_id;
	if (text != NULL)
		put_partition(result, partition, text);
	return text != NULL;
}

/* Whether an entry belongs to a partition. */
static bool
has_key(const Partition *partition, TupleTableSlot *entry)
{
	return partition->key != NULL &&
		compareJsonbContainers(&partition->key->root, &DatumGetJsonbP(entry->tts_values[ENTRY_KEY])->root) == 0;
}

static void
compare(Comparison *cmp, ReturnSetInfo *result)
{
	TupleTableSlot *entry = MakeSingleTupleTableSlot(cmp->entry->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	Partition	partition = {.key = NULL};
	Partition	all = {.key = NULL};
	int64		partitions = 0;
	int64		different = 0;

	tuplesort_performsort(cmp->sort);
	while (tuplesort_gettupleslot(cmp->sort, true, false, entry, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(entry);
		if (!has_key(&partition, entry))
		{
			if (partition.key != NULL)
			{
				different += finish_partition(result, &partition, &all);
				pfree(partition.key);
			}
			partition = (Partition) {
				.key = (Jsonb *) PG_DETOAST_DATUM_COPY(entry->tts_values[ENTRY_KEY])
			};
			partitions++;
		}
		take_entry(&partition, entry);
	}
	if (partition.key != NULL)
		different += finish_partition(result, &partition, &all);
	put_partition(result, &all, difference_of_all(cmp, partitions, different));
	ExecDropSingleTupleTableSlot(entry);
}

/* Find out how items are rows of the container, and where its columns are. */
static void
find_shape(Comparison *cmp, Relation rel, char *const *keys, bool keep_system)
{
	const ItemShape *shape = ItemShapeFind(rel, cmp->container, keys, false, keep_system);

	for (int i = 0; i < shape->ncolumns; i++)
		cmp->places[i] = ExtractColumnsBefore(RelationGetDescr(rel), shape->columns[i].attnum) + 1;
	cmp->shape = shape;
}

/*
 * verify_import(container regclass, source text, keys text[], keep_system boolean) returns setof
 * (key jsonb, source_items bigint, container_items bigint, source_checksum text, container_checksum text,
 * difference text, source_without_id bigint)
 */
PG_FUNCTION_INFO_V1(verify_import);
Datum
verify_import(PG_FUNCTION_ARGS)
{
	Comparison	cmp = {.container = NULL};
	Relation	rel;
	int			nestlevel;

	SqlRequireArgument(fcinfo, 0, "container");
	SqlRequireArgument(fcinfo, 1, "source");
	SqlRequireArgument(fcinfo, 3, "keep_system");
	InitMaterializedSRF(fcinfo, 0);
	RequireSelect(PG_GETARG_OID(0));
	cmp.container = ContainerLookup(PG_GETARG_OID(0), false);
	rel = RowsOpen(cmp.container->relid);
	find_shape(&cmp, rel, PG_ARGISNULL(2) ? NULL : ItemKeysRead(cmp.container, PG_GETARG_ARRAYTYPE_P(2)), PG_GETARG_BOOL(3));
	start_sort(&cmp);
	SPI_connect();
	/* Expressions are the caller's, and see what he has set. */
	cmp.keys = ItemKeysPrepare(cmp.shape);
	add_export(&cmp, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	nestlevel = SqlBegin();
	/* With the caller's own rights: he sees the rows that he may see. */
	RowsRead(rel, "", add_stored, &cmp);
	SqlEnd(nestlevel);
	SPI_finish();
	relation_close(rel, NoLock);
	compare(&cmp, (ReturnSetInfo *) fcinfo->resultinfo);
	tuplesort_end(cmp.sort);
	ExecDropSingleTupleTableSlot(cmp.entry);
	return (Datum) 0;
}
