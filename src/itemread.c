/*
 * itemread.c
 *		Finding one item by its key and id, or all with an id.
 *
 * A point read goes down the tree by the hash, as PostgreSQL routes a row, and
 * looks into the one leaf's unique index: a query would be planned each time, since
 * a plan for all keys has all partitions.  Where more than the table's own
 * privileges decides about what the caller sees, or the tree has nodes that are not
 * ours, it is a query.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

#include "compat.h"
#include "itemread.h"
#include "itemresult.h"
#include "sql.h"
#include "status.h"
#include "ttl.h"

/* How many keys an error names. */
#define KEYS_TOLD			5

/* What has to be known of a leaf to look into it; 0 where there is nothing. */
typedef struct ItemLeaf
{
	Oid			relid;			/* hash key */
	bool		valid;
	Oid			index;			/* unique, on just key and id */
	int			columns[MAX_LEVELS + 1];	/* of the shape, in the index's order */
	RegProcedure equals[MAX_LEVELS + 1];
	AttrNumber	doc;
	AttrNumber	etag;
	AttrNumber	ts;
} ItemLeaf;

static HTAB *leaves = NULL;

static void
invalidate_leaf(Datum arg pg_attribute_unused(), Oid relid)
{
	HASH_SEQ_STATUS scan;
	ItemLeaf   *leaf;

	if (OidIsValid(relid))
	{
		leaf = hash_search(leaves, &relid, HASH_FIND, NULL);
		if (leaf != NULL)
			leaf->valid = false;
		return;
	}
	hash_seq_init(&scan, leaves);
	while ((leaf = hash_seq_search(&scan)) != NULL)
		leaf->valid = false;
}

/* The column of the shape that a column of a table is, among key and id; -1 if it is none. */
static int
identity_column(const ItemAccess *access, Relation rel, AttrNumber attnum)
{
	for (int i = 0; attnum > 0 && i < access->identity; i++)
		if (strcmp(NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname), access->shape->columns[i].name) == 0)
			return i;
	return -1;
}

/* Take over an index of a leaf, if it is the one to look into. */
static bool
take_index(ItemLeaf *leaf, const ItemAccess *access, Relation rel, Relation index)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indimmediate || !form->indisvalid || form->indnkeyatts != access->identity ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < access->identity; i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			equals = get_opfamily_member(index->rd_opfamily[i], type, type, BTEqualStrategyNumber);

		leaf->columns[i] = identity_column(access, rel, form->indkey.values[i]);
		leaf->equals[i] = OidIsValid(equals) ? get_opcode(equals) : InvalidOid;
		if (leaf->columns[i] < 0 || !RegProcedureIsValid(leaf->equals[i]))
			return false;
	}
	leaf->index = RelationGetRelid(index);
	return true;
}

static AttrNumber
leaf_column(Relation rel, const ItemShape *shape, int column)
{
	return column < 0 ? InvalidAttrNumber : get_attnum(RelationGetRelid(rel), shape->columns[column].name);
}

static void
fill_leaf(ItemLeaf *leaf, const ItemAccess *access, Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *cell;
	bool		found = false;

	leaf->index = InvalidOid;
	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		found = found || take_index(leaf, access, rel, index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	leaf->doc = leaf_column(rel, access->shape, access->shape->doc);
	leaf->ts = leaf_column(rel, access->shape, access->shape->ts);
	leaf->etag = access->has_etag ? get_attnum(RelationGetRelid(rel), "etag") : InvalidAttrNumber;
}

/* What is known of a leaf that is open. */
static ItemLeaf *
find_leaf(const ItemAccess *access, Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	ItemLeaf   *leaf;
	bool		found;

	if (leaves == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(ItemLeaf), .hcxt = CacheMemoryContext};

		leaves = hash_create("partitionkey item leaves", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		CacheRegisterRelcacheCallback(invalidate_leaf, (Datum) 0);
	}
	leaf = hash_search(leaves, &relid, HASH_ENTER, &found);
	if (!found || !leaf->valid)
	{
		ItemLeaf	filled = {.relid = relid};

		fill_leaf(&filled, access, rel);
		leaf = hash_search(leaves, &relid, HASH_ENTER, &found);
		*leaf = filled;
		leaf->valid = true;
	}
	return leaf;
}

/* The child of a node that a row belongs to, by its hash; InvalidOid if there is none, *ours false if the node is not of our kind. */
static Oid
route(const ItemAccess *access, Relation node, const ItemRow *row, bool *ours)
{
	PartitionKey key = RelationGetPartitionKey(node);
	PartitionBoundInfo bounds;
	int			column;
	bool		isnull = false;
	uint64		hash;
	int			partition;

	*ours = key->strategy == PARTITION_STRATEGY_HASH && key->partnatts == 1;
	column = *ours ? identity_column(access, node, key->partattrs[0]) : -1;
	if (column < 0)
	{
		*ours = false;
		return InvalidOid;
	}
	bounds = RelationGetPartitionDesc(node, true)->boundinfo;
	if (bounds == NULL)
		return InvalidOid;
	hash = compute_partition_hash_value(1, key->partsupfunc, key->partcollation, unconstify(Datum *, &row->values[column]), &isnull);
	partition = bounds->indexes[hash % bounds->nindexes];
	return partition < 0 ? InvalidOid : RelationGetPartitionDesc(node, true)->oids[partition];
}

/* Open the leaf that a row belongs to; NULL if there is none, or *ours is false.  Locks stay as those of a query would. */
static Relation
open_leaf(const ItemAccess *access, const ItemRow *row, bool *ours)
{
	Relation	rel = table_open(access->relid, AccessShareLock);

	*ours = true;
	while (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		Oid			child = route(access, rel, row, ours);

		table_close(rel, NoLock);
		if (!OidIsValid(child))
			return NULL;
		rel = table_open(child, AccessShareLock);
	}
	*ours = rel->rd_rel->relkind == RELKIND_RELATION;
	if (!*ours)
		table_close(rel, NoLock);
	return *ours ? rel : NULL;
}

static void
take_slot(const ItemLeaf *leaf, TupleTableSlot *slot, StoredItem *stored)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, leaf->doc, &isnull);

	memset(stored, 0, sizeof(StoredItem));
	StoredItemSetDoc(stored, value, isnull);
	if (leaf->etag != InvalidAttrNumber)
	{
		value = slot_getattr(slot, leaf->etag, &isnull);
		stored->has_etag = !isnull;
		if (!isnull)
			stored->etag = *DatumGetUUIDP(value);
	}
	if (leaf->ts != InvalidAttrNumber)
	{
		value = slot_getattr(slot, leaf->ts, &isnull);
		stored->has_ts = !isnull;
		stored->ts = isnull ? 0 : DatumGetTimestampTz(value);
	}
}

/* Whether an index has all that the snapshots of this transaction may see, as PostgreSQL's planner asks. */
static bool
is_usable(Relation index)
{
	return !index->rd_index->indcheckxmin ||
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin);
}

/* Look for a row in a leaf, through an index that is open. */
static bool
look_into_leaf(const ItemAccess *access, const ItemLeaf *leaf, Relation rel, Relation index, const ItemRow *row, StoredItem *stored)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	ScanKeyData keys[MAX_LEVELS + 1];
	IndexScanDesc scan;
	bool		found;

	for (int i = 0; i < access->identity; i++)
		ScanKeyEntryInitialize(&keys[i], 0, i + 1, BTEqualStrategyNumber, InvalidOid, index->rd_indcollation[i],
							   leaf->equals[i], row->values[leaf->columns[i]]);
	scan = IndexBeginScan(rel, index, GetActiveSnapshot(), access->identity);
	index_rescan(scan, keys, access->identity, NULL, 0);
	found = index_getnext_slot(scan, ForwardScanDirection, slot);
	if (found)
		take_slot(leaf, slot, stored);
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return found && !(access->has_ttl && stored->has_ts &&
					  TtlExpired(stored->doc, stored->ts, access->default_ttl, GetCurrentStatementStartTimestamp()));
}

/* Whether the table's own privileges are all that decides what the caller sees. */
static bool
is_open(const ItemAccess *access)
{
	return pg_class_aclcheck(access->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(access->relid, InvalidOid, true) != RLS_ENABLED;
}

/* Find an item in what the active snapshot sees. */
static bool
find_item(ItemAccess *access, ItemPlace *place, StoredItem *stored)
{
	bool		ours = is_open(access);
	Relation	rel = ours ? open_leaf(access, &place->row, &ours) : NULL;
	bool		found = false;

	if (rel != NULL)
	{
		ItemLeaf   *leaf = find_leaf(access, rel);
		Relation	index = OidIsValid(leaf->index) ? index_open(leaf->index, AccessShareLock) : NULL;

		ours = index != NULL && is_usable(index);
		if (ours)
			found = look_into_leaf(access, leaf, rel, index, &place->row, stored);
		if (index != NULL)
			index_close(index, NoLock);
		table_close(rel, NoLock);
	}
	return ours ? found : ItemAccessRun(access, ITEM_READ, place->row.values, NULL, stored);
}

bool
ItemFindNow(ItemAccess *access, ItemPlace *place, StoredItem *stored)
{
	bool		found;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	found = find_item(access, place, stored);
	PopActiveSnapshot();
	return found;
}

/*
 * All items with an id
 */

/* Take the key of a row that ItemAccessFindById has found. */
static void
take_key(const ItemAccess *access, uint64 i, ItemRow *row)
{
	bool		isnull;

	for (int level = 0; level < access->container->levels; level++)
		row->values[level] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, level + 1, &isnull);
}

/* Where else an id is: a sentence for an error's detail, palloc'd by the caller's context. */
static char *
other_keys(ItemAccess *access, const ItemPlace *place)
{
	MemoryContext context = CurrentMemoryContext;
	StringInfoData detail;
	int			told = 0;

	initStringInfo(&detail);
	if (access->shape->id < access->container->levels && access->container->levels == 1)
		return detail.data;
	if (!access->id_indexed)
		return "Other keys were not looked at, since no index begins with the id.";
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	ItemAccessFindById(access, place->row.values[access->shape->id], KEYS_TOLD + 2);
	PopActiveSnapshot();
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		ItemRow		row;

		take_key(access, i, &row);
		/* what this statement itself has written is not there for it yet */
		if (ItemRowsSamePlace(access->shape, &row, &place->row, access->container->levels))
			continue;
		if (++told <= KEYS_TOLD)
			appendStringInfo(&detail, "%s%s", told > 1 ? ", " : "The id exists under ", ItemRowKeyText(access->shape, &row));
	}
	if (told > KEYS_TOLD)
		appendStringInfoString(&detail, " and more");
	appendStringInfoString(&detail, told > 0 ? "." : "The id exists under no other key.");
	MemoryContextSwitchTo(context);
	detail.data = pstrdup(detail.data);
	SPI_finish();
	return detail.data;
}

void
ItemNotFound(ItemAccess *access, const ItemPlace *place)
{
	char	   *others = other_keys(access, place);

	ereport(ERROR,
			(StatusCode(COSMOS_NOT_FOUND),
			 errmsg("%s does not exist", ItemPlaceName(access, place)),
			 StatusDetail(COSMOS_NOT_FOUND, "%s", others),
			 access->id_indexed ? 0 :
			 errhint("partitionkey.find_items(container, id) looks in all partitions.")));
}

/* read_item(container regclass, id text, key jsonb) returns jsonb */
PG_FUNCTION_INFO_V1(read_item);
Datum
read_item(PG_FUNCTION_ARGS)
{
	ItemAccess *access;
	ItemPlace	place;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "id", "key", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemPlaceRead(access, &place, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(2));
	if (!find_item(access, &place, &stored))
		ItemNotFound(access, &place);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/* find_items(container regclass, id text) returns table (key jsonb, item jsonb) */
PG_FUNCTION_INFO_V1(find_items);
Datum
find_items(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ItemAccess *access;
	int			levels;
	ItemPlace	place;

	ItemRequireArguments(fcinfo, "container", "id", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	levels = access->container->levels;
	ItemPlaceReadId(access, &place, PG_GETARG_TEXT_PP(1));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	SPI_connect();
	ItemAccessFindById(access, place.row.values[access->shape->id], 0);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		StoredItem	stored;
		ItemRow		row;
		Datum		values[2];
		bool		nulls[2] = {false, false};

		CHECK_FOR_INTERRUPTS();
		StoredItemTake(&stored, i, levels + 1);
		take_key(access, i, &row);
		values[0] = JsonbPGetDatum(ItemRowKey(access->shape, &row));
		values[1] = JsonbPGetDatum(StoredItemResult(&stored));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	SPI_finish();
	return (Datum) 0;
}

/* as_item(doc jsonb, etag uuid, ts timestamptz) returns jsonb */
PG_FUNCTION_INFO_V1(as_item);
Datum
as_item(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_JSONB_P(ItemResult(PG_GETARG_JSONB_P(0), !PG_ARGISNULL(1), PG_ARGISNULL(1) ? NULL : PG_GETARG_UUID_P(1),
								 !PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_TIMESTAMPTZ(2)));
}

/* has_expired(container regclass, doc jsonb, ts timestamptz) returns boolean */
PG_FUNCTION_INFO_V1(has_expired);
Datum
has_expired(PG_FUNCTION_ARGS)
{
	ItemAccess *access;

	ItemRequireArguments(fcinfo, "container", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	PG_RETURN_BOOL(access->has_ttl && !PG_ARGISNULL(2) &&
				   TtlExpired(PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1), PG_GETARG_TIMESTAMPTZ(2), access->default_ttl,
							  GetCurrentStatementStartTimestamp()));
}
