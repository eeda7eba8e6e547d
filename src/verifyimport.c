/*
 * verifyimport.c
 *		Whether a container has what is in an export: verify_import.
 *
 * From both sides comes an entry for each item: its key, its id, its checksum, and its time.  They are
 * sorted by key and id, on disk if there are many, and compared logical partition by
 * logical partition.  Keys, ids and times of the export are what the columns make of them, so that it doesn't
 * count how they are written.
 */
#include "postgres.h"

#include <math.h>

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
#include "utils/timestamp.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "checksum.h"
#include "compat.h"
#include "extract.h"
#include "itemid.h"
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
	ENTRY_ID,					/* its hash; NULL if there is none */
	ENTRY_STORED,
	ENTRY_WHOLE,
	ENTRY_WITHOUT_ID,
	ENTRY_TIME,					/* or NULL */
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
	int64		keyless;		/* .. that have something as key that can't be one, .. */
	int64		refused;		/* .. and whose key expressions give none */
} Comparison;

/* What one side has of a logical partition, or in all. */
typedef struct Side
{
	int64		items;
	uint64		checksum;
} Side;

/* What both sides have with one id. */
typedef struct SameId
{
	uint64		id;
	int64		exported;		/* items */
	int64		stored;
	uint64		exported_whole; /* checksums */
	uint64		stored_whole;
	uint64		stored_without_id;
	int64		timeless;		/* items without a time, on both sides */
	uint64		exported_times;
	uint64		stored_times;
} SameId;

typedef struct Partition
{
	Jsonb	   *key;
	Side		exported;
	Side		stored;			/* the checksum is without that of the rows below until the partition is complete */
	int64		without_id;		/* items of the export */
	uint64		new_whole;		/* rows with ids that the export doesn't have */
	uint64		new_without_id;
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
	TupleDescInitEntry(desc, ENTRY_ID + 1, "id", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_STORED + 1, "stored", BOOLOID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_WHOLE + 1, "whole", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_WITHOUT_ID + 1, "without_id", INT8OID, -1, 0);
	TupleDescInitEntry(desc, ENTRY_TIME + 1, "time", TIMESTAMPTZOID, -1, 0);
	return desc;
}

/* Entries are sorted by the hash of the key, which is fast, by the key in case that two have the same, and by the id. */
static void
start_sort(Comparison *cmp)
{
	AttrNumber	columns[] = {ENTRY_HASH + 1, ENTRY_KEY + 1, ENTRY_ID + 1};
	Oid			operators[] = {
		lookup_type_cache(INT8OID, TYPECACHE_LT_OPR)->lt_opr,
		lookup_type_cache(JSONBOID, TYPECACHE_LT_OPR)->lt_opr,
		lookup_type_cache(INT8OID, TYPECACHE_LT_OPR)->lt_opr
	};
	Oid			collations[] = {InvalidOid, InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false, false};
	TupleDesc	desc = entry_desc();

	cmp->sort = tuplesort_begin_heap(desc, lengthof(columns), columns, operators, collations, nulls_first,
									 work_mem, NULL, TUPLESORT_NONE);
	cmp->entry = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
}

/* A number for two. */
static uint64
hash_pair(uint64 a, uint64 b)
{
	uint64		pair[] = {a, b};

	return hash_bytes_extended((unsigned char *) pair, sizeof(pair), 0);
}

/* The hash of an id as a text. */
static uint64
hash_text(const char *text, size_t length)
{
	return hash_bytes_extended((unsigned char *) text, length, 0);
}

/* The hash of an id as its column has it. */
static uint64
hash_id(Oid type, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *text;

	getTypeOutputInfo(type, &output, &varlena);
	text = OidOutputFunctionCall(output, value);
	return hash_text(text, strlen(text));
}

/* The hash of an id in a document; false if there is none. */
static bool
hash_document_id(Jsonb *doc, uint64 *hash)
{
	JsonbValue	id;
	char	   *reason;
	char	   *text;

	if (ItemFindId(doc, &id, &reason) == ID_MISSING)
		return false;
	if (id.type == jbvString)
		*hash = hash_text(id.val.string.val, id.val.string.len);
	else
	{
		text = JsonbToCString(NULL, &JsonbValueToJsonb(&id)->root, 0);
		*hash = hash_text(text, strlen(text));
	}
	return true;
}

/* Add an entry; id and time may be NULL. */
static void
add_entry(Comparison *cmp, const Component *key, Jsonb *doc, bool stored, const uint64 *id, const TimestampTz *time)
{
	Datum	   *values = cmp->entry->tts_values;
	bool	   *nulls = cmp->entry->tts_isnull;
	Checksum	checksum = ChecksumOf(doc, cmp->shape->stripped);
	uint64		hash = 0;

	for (int i = 0; i < cmp->container->levels; i++)
		hash = hash_combine64(hash, Position(HASH_XXHASH, &key[i]));
	ExecClearTuple(cmp->entry);
	memset(nulls, false, ENTRY_COLUMNS * sizeof(bool));
	values[ENTRY_HASH] = UInt64GetDatum(hash);
	values[ENTRY_KEY] = JsonbPGetDatum(KeyToJsonb(key, cmp->container->levels));
	nulls[ENTRY_ID] = id == NULL;
	values[ENTRY_ID] = id ? UInt64GetDatum(*id) : (Datum) 0;
	values[ENTRY_STORED] = BoolGetDatum(stored);
	values[ENTRY_WHOLE] = UInt64GetDatum(id ? hash_pair(*id, checksum.whole) : checksum.whole);
	values[ENTRY_WITHOUT_ID] = UInt64GetDatum(checksum.without_id);
	nulls[ENTRY_TIME] = time == NULL;
	values[ENTRY_TIME] = time ? TimestampTzGetDatum(*time) : (Datum) 0;
	ExecStoreVirtualTuple(cmp->entry);
	tuplesort_puttupleslot(cmp->sort, cmp->entry);
}

/*
 * Compute the key of an item by expressions; false if they give none, or an error, so that an import
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

/*
 * Set a level's component of an item's key: what the column makes of the value, or, if it doesn't take it, the value as
 * it is.  False if no column takes it.
 */
static bool
set_exported_key(const Comparison *cmp, const CosmosItem *item, int level, ItemRow *row, Component *component)
{
	const ItemShape *shape = cmp->shape;
	JsonbValue	value;
	ItemProblem problem;

	if (shape->keys[level] != NULL)
		return ComponentSetDatum(component, shape->columns[level].type, row->values[level]);
	if (ItemRowTakeKey(shape, level, ExtractValue(&item->doc->root, shape->names[level], &value) ? &value : NULL, row, &problem))
		return ComponentSetDatum(component, shape->columns[level].type, row->values[level]);
	return ExtractProperty(&item->doc->root, shape->names[level], component) &&
		!(component->type == COMPONENT_NUMBER && isinf(component->number));
}

/* The hash of an item's id, as its column would have it; false if it has none. */
static bool
hash_exported_id(const Comparison *cmp, const CosmosItem *item, ItemRow *row, uint64 *hash)
{
	const ItemShape *shape = cmp->shape;
	JsonbValue	id;
	char	   *reason;
	ItemProblem problem;

	if (shape->id < shape->container->levels || ItemFindId(item->doc, &id, &reason) == ID_MISSING ||
		!ItemRowTakeId(shape, &id, row, &problem))
		return hash_document_id(item->doc, hash);
	*hash = hash_id(shape->columns[shape->id].type, row->values[shape->id]);
	return true;
}

/* Add an item of the export. */
static void
add_exported(Comparison *cmp, const CosmosItem *item)
{
	const ItemShape *shape = cmp->shape;
	ItemRow		row = {.original = item->doc};
	Component	key[MAX_LEVELS];
	uint64		id;
	TimestampTz time = 0;

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
		if (!set_exported_key(cmp, item, i, &row, &key[i]))
		{
			cmp->keyless++;
			return;
		}
	row.timeless = shape->ts < 0;
	if (shape->ts >= 0)
		ItemRowTakeTime(shape, item->doc, &row);
	if (!row.timeless)
		time = DatumGetTimestampTz(row.values[shape->ts]);
	add_entry(cmp, key, item->doc, false, hash_exported_id(cmp, item, &row, &id) ? &id : NULL, row.timeless ? NULL : &time);
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

/* The hash of a row's id; false if it has none. */
static bool
hash_stored_id(const Comparison *cmp, TupleTableSlot *slot, Jsonb *doc, uint64 *hash)
{
	const ItemShape *shape = cmp->shape;
	bool		isnull;
	Datum		value;

	if (shape->id < shape->container->levels)
		return hash_document_id(doc, hash);
	value = slot_getattr(slot, cmp->places[shape->id], &isnull);
	if (!isnull)
		*hash = hash_id(shape->columns[shape->id].type, value);
	return !isnull;
}

/* Add a row of the container.  A document that is NULL has no properties. */
static void
add_stored(TupleTableSlot *slot, void *state)
{
	Comparison *cmp = state;
	const ItemShape *shape = cmp->shape;
	Component	key[MAX_LEVELS];
	bool		isnull;
	bool		timeless = true;
	Datum		value = slot_getattr(slot, cmp->places[shape->doc], &isnull);
	Jsonb	   *doc;
	uint64		id;
	TimestampTz time = 0;

	if (isnull)
		value = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	doc = DatumGetJsonbP(value);
	set_stored_key(cmp, slot, doc, key);
	if (shape->ts >= 0)
		time = DatumGetTimestampTz(slot_getattr(slot, cmp->places[shape->ts], &timeless));
	add_entry(cmp, key, doc, true, hash_stored_id(cmp, slot, doc, &id) ? &id : NULL, timeless ? NULL : &time);
}

/*
 * Comparing
 */

/* Take an entry among those with its id. */
static void
take_into_id(SameId *same, Datum *values, bool *nulls)
{
	uint64		time = nulls[ENTRY_TIME] ? 0 : hash_pair(same->id, (uint64) DatumGetTimestampTz(values[ENTRY_TIME]));

	same->timeless += nulls[ENTRY_TIME];
	if (DatumGetBool(values[ENTRY_STORED]))
	{
		same->stored++;
		same->stored_whole += DatumGetUInt64(values[ENTRY_WHOLE]);
		same->stored_without_id += DatumGetUInt64(values[ENTRY_WITHOUT_ID]);
		same->stored_times += time;
	}
	else
	{
		same->exported++;
		same->exported_whole += DatumGetUInt64(values[ENTRY_WHOLE]);
		same->exported_times += time;
	}
}

/* All entries with an id have come: take them into their partition.  Times count where both sides have them. */
static void
finish_id(Partition *partition, SameId *same)
{
	bool		timed = same->timeless == 0 && same->stored > 0;

	partition->exported.items += same->exported;
	partition->stored.items += same->stored;
	if (same->exported == 0)
	{
		partition->new_whole += same->stored_whole;
		partition->new_without_id += same->stored_without_id;
	}
	else
	{
		partition->exported.checksum += same->exported_whole + (timed ? same->exported_times : 0);
		partition->stored.checksum += same->stored_whole + (timed ? same->stored_times : 0);
	}
	*same = (SameId) {0};
}

/* Take an entry, one of those with this key, into a partition. */
static void
take_entry(Partition *partition, SameId *same, TupleTableSlot *entry)
{
	Datum	   *values = entry->tts_values;
	bool	   *nulls = entry->tts_isnull;
	uint64		id = nulls[ENTRY_ID] ? 0 : DatumGetUInt64(values[ENTRY_ID]);

	if (nulls[ENTRY_ID] && !DatumGetBool(values[ENTRY_STORED]))
	{
		partition->without_id++;
		partition->exported.items++;
		partition->exported.checksum += DatumGetUInt64(values[ENTRY_WITHOUT_ID]);
		return;
	}
	if (id != same->id)
		finish_id(partition, same);
	same->id = id;
	take_into_id(same, values, nulls);
}

/*
 * A partition is complete.  If items of the export have no id, rows with ids that it doesn't have may have got them while
 * loading, and those ids don't count.
 */
static void
complete_partition(Partition *partition, SameId *same)
{
	finish_id(partition, same);
	partition->stored.checksum += partition->without_id == 0 ? partition->new_whole : partition->new_without_id;
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
	if (partition->exported.checksum != partition->stored.checksum)
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
	values[3] = CStringGetTextDatum(psprintf("%016llx", (unsigned long long) partition->exported.checksum));
	values[4] = CStringGetTextDatum(psprintf("%016llx", (unsigned long long) partition->stored.checksum));
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
		appendStringInfo(&text, "%sitems with an object, an array or a number out of range as key: " INT64_FORMAT,
						 text.len > 0 ? "; " : "", cmp->keyless);
	if (cmp->refused > 0)
		appendStringInfo(&text, "%sitems whose key expressions give no key, or an error: " INT64_FORMAT,
						 text.len > 0 ? "; " : "", cmp->refused);
	return text.len > 0 ? text.data : NULL;
}

static void
add_to_side(Side *all, const Side *side)
{
	all->items += side->items;
	all->checksum += side->checksum;
}

/* Tell a complete partition if it differs, and add it to the sum of all. */
static bool
finish_partition(ReturnSetInfo *result, Partition *partition, SameId *same, Partition *all)
{
	char	   *text;

	complete_partition(partition, same);
	text = difference(partition);
	add_to_side(&all->exported, &partition->exported);
	add_to_side(&all->stored, &partition->stored);
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
	SameId		same = {0};
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
				different += finish_partition(result, &partition, &same, &all);
				pfree(partition.key);
			}
			partition = (Partition) {
				.key = (Jsonb *) PG_DETOAST_DATUM_COPY(entry->tts_values[ENTRY_KEY])
			};
			partitions++;
		}
		take_entry(&partition, &same, entry);
	}
	if (partition.key != NULL)
		different += finish_partition(result, &partition, &same, &all);
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
