/*
 * tree.c
 *		Walking and describing the partition tree; from a key to its leaves.
 *
 * The tree is always read from the catalogs, so whatever a user attaches or
 * detaches by hand is seen.  Names of partitions carry no meaning.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "key.h"
#include "privileges.h"
#include "puid.h"
#include "tree.h"

typedef struct Walk
{
	const Container *container;
	const uint64 *positions;	/* of the key looked for */
	int			nlevels;		/* number of positions */
	List	   *leaves;
} Walk;

bool
NodeKeyOf(Oid relid, NodeKey *key)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relid));
	Form_pg_partitioned_table form;
	bool		simple;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
	simple = form->partstrat == PARTITION_STRATEGY_HASH && form->partnatts == 1 && form->partattrs.values[0] != 0;
	if (simple)
	{
		bool		isnull;
		Datum		opclasses = SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partclass, &isnull);
		Datum		collations = SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partcollation, &isnull);

		key->attnum = form->partattrs.values[0];
		key->opfamily = get_opclass_family(((oidvector *) DatumGetPointer(opclasses))->values[0]);
		key->collation = ((oidvector *) DatumGetPointer(collations))->values[0];
	}
	ReleaseSysCache(tuple);
	return simple;
}

/*
 * The level that a node divides by, or -1 if it does not divide the way a
 * container does (a user can attach any partitioned table).
 */
static int
node_level(const Container *container, Relation node)
{
	NodeKey		key;
	char	   *suffix = psprintf("_%s_ops", PositionHashName(container->hash));
	HeapTuple	family;
	Form_pg_opfamily form;
	bool		ours;

	if (!NodeKeyOf(RelationGetRelid(node), &key))
		return -1;
	family = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(key.opfamily));
	if (!HeapTupleIsValid(family))
		return -1;
	form = (Form_pg_opfamily) GETSTRUCT(family);
	ours = form->opfnamespace == get_namespace_oid("partitionkey", true) &&
		strlen(NameStr(form->opfname)) > strlen(suffix) &&
		strcmp(NameStr(form->opfname) + strlen(NameStr(form->opfname)) - strlen(suffix), suffix) == 0;
	ReleaseSysCache(family);
	if (!ours)
		return -1;
	return ContainerLevel(container, get_attname(RelationGetRelid(node), key.attnum, false));
}

PositionRange
PositionRangeOfBound(int modulus, uint64 remainder)
{
	PositionRange range = {ReverseBits(remainder), pg_leftmost_one_pos32(modulus)};

	return range;
}

static void walk(Walk *w, Oid relid, Leaf path);

/* Narrow the range of a leaf's path by one hash bound. */
static void
narrow(Leaf *path, int level, int modulus, int remainder)
{
	PositionRange range;

	if ((modulus & (modulus - 1)) != 0)
	{
		path->regular = false;
		return;
	}
	range = PositionRangeOfBound(modulus, remainder);
	path->levels = Max(path->levels, level + 1);
	/* A bound that does not refine those above is no halving of a range. */
	if (range.bits < path->ranges[level].bits || !PositionInRange(range.min, path->ranges[level]))
		path->regular = false;
	else
		path->ranges[level] = range;
}

/* Go on with a node's partitions where its own key is not one of ours. */
static void
walk_irregular(Walk *w, Oid relid, Leaf path)
{
	ListCell   *cell;

	path.regular = false;
	foreach(cell, find_inheritance_children(relid, NoLock))
		walk(w, lfirst_oid(cell), path);
}

static void
walk(Walk *w, Oid relid, Leaf path)
{
	Relation	node;
	PartitionDesc partitions;
	int			level;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
	{
		Leaf	   *leaf = palloc(sizeof(Leaf));

		*leaf = path;
		leaf->relid = relid;
		w->leaves = lappend(w->leaves, leaf);
		return;
	}

	node = try_relation_open(relid, AccessShareLock);
	if (node == NULL)
		return;
	level = node_level(w->container, node);
	if (level < 0)
	{
		walk_irregular(w, relid, path);
		table_close(node, NoLock);
		return;
	}
	partitions = RelationGetPartitionDesc(node, true);
	for (int i = 0; i < partitions->nparts; i++)
	{
		Leaf		child = path;
		Datum	   *bound = partitions->boundinfo->datums[i];
		int			modulus = DatumGetInt32(bound[0]);
		int			remainder = DatumGetInt32(bound[1]);

		if (level < w->nlevels && RowHash(w->positions[level]) % modulus != (uint64) remainder)
			continue;
		narrow(&child, level, modulus, remainder);
		walk(w, partitions->oids[partitions->boundinfo->indexes[remainder]], child);
	}
	table_close(node, NoLock);
}

/* Order leaves by the hash space of the first level, then of the next. */
static int
compare_leaves(const ListCell *a, const ListCell *b)
{
	const Leaf *x = lfirst(a);
	const Leaf *y = lfirst(b);

	for (int i = 0; i < MAX_LEVELS; i++)
		if (x->ranges[i].min != y->ranges[i].min)
			return x->ranges[i].min < y->ranges[i].min ? -1 : 1;
	return 0;
}

List *
ContainerLeaves(const Container *container, const uint64 *positions, int nlevels)
{
	Walk		w = {container, positions, nlevels, NIL};
	Leaf		whole = {0};

	whole.regular = true;
	walk(&w, container->relid, whole);
	list_sort(w.leaves, compare_leaves);
	return w.leaves;
}

/*
 * A bound as users see it: hex digits of the position, for the cosmos hash of
 * the EPK, whose first 64 of 126 bits the position is.
 */
static char *
bound_hex(PositionHash hash, uint64 position)
{
	if (hash == HASH_COSMOS)
		return psprintf("%016llX%016llX", (unsigned long long) (position >> 2),
						(unsigned long long) ((position & 3) << 62));
	return psprintf("%016llX", (unsigned long long) position);
}

/* As in Cosmos DB the space starts at '' and ends at 'FF'. */
void
PositionRangeBounds(PositionHash hash, PositionRange range, char **min, char **max)
{
	uint64		end = range.bits == 0 ? 0 : range.min + (UINT64CONST(1) << (64 - range.bits));

	*min = range.min == 0 ? pstrdup("") : bound_hex(hash, range.min);
	*max = end == 0 ? pstrdup("FF") : bound_hex(hash, end);
}

/*
 * partition_ranges(container regclass, OUT partition regclass,
 *					OUT min_inclusive text[], OUT max_exclusive text[])
 *
 * Gives nothing for a relation that is no container, for use in views.
 */
PG_FUNCTION_INFO_V1(partition_ranges);
Datum
partition_ranges(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Container  *container = ContainerLookup(PG_GETARG_OID(0), true);
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (container == NULL)
		return (Datum) 0;
	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Datum		min[MAX_LEVELS];
		Datum		max[MAX_LEVELS];
		Datum		values[3] = {ObjectIdGetDatum(leaf->relid)};
		bool		nulls[3] = {false, !leaf->regular, !leaf->regular};

		for (int i = 0; i < leaf->levels; i++)
		{
			char	   *lower;
			char	   *upper;

			PositionRangeBounds(container->hash, leaf->ranges[i], &lower, &upper);
			min[i] = CStringGetTextDatum(lower);
			max[i] = CStringGetTextDatum(upper);
		}
		values[1] = PointerGetDatum(construct_array_builtin(min, leaf->levels, TEXTOID));
		values[2] = PointerGetDatum(construct_array_builtin(max, leaf->levels, TEXTOID));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Read a bound as partition_ranges writes it.  The end of the space is the
 * position 0 with *end set.
 */
static uint64
parse_bound(PositionHash hash, const char *text, bool *end)
{
	char		digits[17] = "0000000000000000";
	size_t		len = strlen(text);
	uint64		value;

	*end = pg_strcasecmp(text, "FF") == 0;
	if (*end || len == 0)
		return 0;
	if (strspn(text, "0123456789abcdefABCDEF") != len || len > (hash == HASH_COSMOS ? 32 : 16))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a bound of the hash space", text),
				 errhint("A bound has up to %d hexadecimal digits; the space begins at '' and ends at 'FF'.", hash == HASH_COSMOS ? 32 : 16)));
	memcpy(digits, text, Min(len, 16));
	value = strtoull(digits, NULL, 16);
	if (hash == HASH_COSMOS)
	{
		/* The position is the first 64 bits of the 126 that an EPK has. */
		strcpy(digits, "0000000000000000");
		if (len > 16)
			memcpy(digits, text + 16, len - 16);
		value = value << 2 | strtoull(digits, NULL, 16) >> 62;
	}
	return value;
}

void
HashRangeFromArrays(const Container *container, ArrayType *min, ArrayType *max, HashRange *range)
{
	Datum	   *mins;
	Datum	   *maxs;
	int			nmaxs;

	deconstruct_array_builtin(min, TEXTOID, &mins, NULL, &range->levels);
	deconstruct_array_builtin(max, TEXTOID, &maxs, NULL, &nmaxs);
	if (range->levels != nmaxs || nmaxs > container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a range has as many lower as upper bounds, at most %d here", container->levels)));
	for (int i = 0; i < nmaxs; i++)
	{
		bool		min_is_end;
		bool		max_is_end;
		uint64		end;

		range->min[i] = parse_bound(container->hash, TextDatumGetCString(mins[i]), &min_is_end);
		end = parse_bound(container->hash, TextDatumGetCString(maxs[i]), &max_is_end);
		if (min_is_end || (!max_is_end && range->min[i] >= end))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("range of level %d is empty: from \"%s\" to below \"%s\"",
							i + 1, TextDatumGetCString(mins[i]), TextDatumGetCString(maxs[i])),
					 errhint("The lower bound must be less than the upper one; short bounds are padded with zeros on the right.")));
		range->last[i] = max_is_end ? PG_UINT64_MAX : end - 1;
	}
}

static uint64
last_position(PositionRange range)
{
	return range.bits == 0 ? PG_UINT64_MAX : range.min | (PG_UINT64_MAX >> range.bits);
}

bool
LeafMeetsRange(const Leaf *leaf, const HashRange *range)
{
	for (int i = 0; i < range->levels; i++)
		if (last_position(leaf->ranges[i]) < range->min[i] || leaf->ranges[i].min > range->last[i])
			return false;
	return true;
}

bool
LeafInRange(const Leaf *leaf, const HashRange *range)
{
	for (int i = 0; i < range->levels; i++)
		if (leaf->ranges[i].min < range->min[i] || last_position(leaf->ranges[i]) > range->last[i])
			return false;
	return leaf->regular || range->levels == 0;
}

/*
 * partitions_in_range(container regclass, min_inclusive text[], max_exclusive text[])
 * returns setof regclass
 *
 * The leaves that have a part of a range now, whatever leaves had it when it
 * was noted.  Levels that are not given are taken as a whole.
 */
PG_FUNCTION_INFO_V1(partitions_in_range);
Datum
partitions_in_range(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Container  *container = ContainerLookup(PG_GETARG_OID(0), false);
	HashRange	range;
	ListCell   *cell;

	HashRangeFromArrays(container, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2), &range);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Datum		value = ObjectIdGetDatum(leaf->relid);
		bool		isnull = false;

		if (LeafMeetsRange(leaf, &range))
			tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
	return (Datum) 0;
}

static bool
is_integer_type(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID;
}

/* Read a text as a value of a type, which raises the type's own errors. */
static Datum
column_value(Oid typid, int32 typmod, char *value)
{
	Oid			input;
	Oid			ioparam;

	getTypeInputInfo(typid, &input, &ioparam);
	return OidInputFunctionCall(input, value, ioparam, typmod);
}

/* What to write instead of a value of the wrong kind. */
static const char *
kind_hint(const JsonbValue *value)
{
	if (value->type == jbvNull || value->type == jbvBinary)
		return "Only key columns of type jsonb hold Cosmos DB's null and undefined.";
	if (value->type == jbvString)
		return "Write numbers and booleans without quotes.";
	return "Write text, uuids, dates and times in quotes.";
}

/* Numbers that JSON has no digits for are strings there, as to_jsonb writes them. */
static bool
is_special_number(const JsonbValue *value)
{
	static const char *const names[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t i = 0; i < lengthof(names) && value->type == jbvString; i++)
		if (value->val.string.len == (int) strlen(names[i]) && memcmp(value->val.string.val, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * The component that a column holds when a key gives it this JSON value: a
 * string is read as the column's type, so that '["A0EE..."]' finds a uuid.
 */
static void
set_component(Component *c, const JsonbValue *value, int n, Oid relid, AttrNumber attnum)
{
	Oid			typid;
	int32		typmod;
	Oid			collation;
	bool		fits;

	get_atttypetypmodcoll(relid, attnum, &typid, &typmod, &collation);
	typid = getBaseTypeAndTypmod(typid, &typmod);

	if (typid == JSONBOID)
	{
		ComponentSetJsonbValue(c, value);
		return;
	}
	if (is_integer_type(typid))
		fits = value->type == jbvNumeric;
	else if (typid == NUMERICOID || typid == FLOAT4OID || typid == FLOAT8OID)
		fits = value->type == jbvNumeric || is_special_number(value);
	else if (typid == BOOLOID)
		fits = value->type == jbvBool;
	else
		fits = value->type == jbvString;
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("component %d of the key is %s, but column \"%s\" is of type %s",
						n + 1, KeyValueKind(value), get_attname(relid, attnum, false),
						format_type_be(typid)),
				 errhint("%s", kind_hint(value))));

	if (value->type == jbvBool)
		ComponentSetBool(c, value->val.boolean);
	else if (value->type == jbvString)
	{
		/* A PUID's key is its family: either will do for both. */
		if (PuidTypeOf(typid) != PUID_NEITHER)
			typid = value->val.string.len == FAMILY_DIGITS ? PuidFamilyTypeOid() : PuidTypeOid();
		ComponentSetDatum(c, typid, column_value(typid, typmod, pnstrdup(value->val.string.val, value->val.string.len)));
	}
	else
	{
		Datum		number = NumericGetDatum(value->val.numeric);

		/* 5.0 is a whole number, which the input of integers does not take. */
		if (is_integer_type(typid))
		{
			Datum		whole = DirectFunctionCall1(numeric_floor, number);

			if (!DatumGetBool(DirectFunctionCall2(numeric_eq, number, whole)))
				ereport(ERROR,
						(errcode(ERRCODE_DATATYPE_MISMATCH),
						 errmsg("component %d of the key is not a whole number, but column \"%s\" is of type %s",
								n + 1, get_attname(relid, attnum, false), format_type_be(typid))));
			number = whole;
		}
		ComponentSetDatum(c, typid, column_value(typid, typmod, DatumGetCString(DirectFunctionCall1(numeric_out, number))));
	}
}

int
ContainerKeyComponents(const Container *container, Jsonb *json, Component *components)
{
	Oid			relid = container->relid;
	Key			key;

	KeyFromJsonb(&key, json);
	if (key.levels > container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key has %d components, but container \"%s\" takes at most %d",
						key.levels, get_rel_name(relid), container->levels)));
	for (int i = 0; i < key.levels; i++)
	{
		AttrNumber	attnum = get_attnum(relid, container->columns[i]);

		if (attnum == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("container \"%s\" has no column \"%s\" any more, which is its partition key path \"%s\"",
							get_rel_name(relid), container->columns[i], container->paths[i]),
					 errhint("It was renamed while event triggers were off; give it its old name.")));
		set_component(&components[i], &key.values[i], i, relid, attnum);
	}
	return key.levels;
}

int
ContainerKeyPositions(const Container *container, Jsonb *json, uint64 *positions)
{
	Component	components[MAX_LEVELS];
	int			levels = ContainerKeyComponents(container, json, components);

	for (int i = 0; i < levels; i++)
		positions[i] = Position(container->hash, &components[i]);
	return levels;
}

/* partition_of(container regclass, key jsonb) returns setof regclass */
PG_FUNCTION_INFO_V1(partition_of);
Datum
partition_of(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);
	Container  *container;
	int			nlevels;
	uint64		positions[MAX_LEVELS];
	ListCell   *cell;

	RequireSelect(relid);
	container = ContainerLookup(relid, false);
	nlevels = ContainerKeyPositions(container, PG_GETARG_JSONB_P(1), positions);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, ContainerLeaves(container, positions, nlevels))
	{
		Datum		value = ObjectIdGetDatum(((Leaf *) lfirst(cell))->relid);
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
	return (Datum) 0;
}

/* Whether a row lies where its own key says.  NULL hashes as 0, as in PostgreSQL. */
static bool
row_in_place(const Container *container, const Leaf *leaf, const AttrNumber *attnums, TupleTableSlot *slot)
{
	for (int level = 0; level < leaf->levels; level++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, attnums[level], &isnull);
		Component	component;
		uint64		position = 0;

		if (!isnull)
		{
			ComponentSetDatum(&component, TupleDescAttr(slot->tts_tupleDescriptor, attnums[level] - 1)->atttypid, value);
			position = Position(container->hash, &component);
		}
		if (!PositionInRange(position, leaf->ranges[level]))
			return false;
	}
	return true;
}

/* Count a leaf's rows, and those that lie in the wrong one. */
static void
verify_leaf(const Container *container, const Leaf *leaf, Relation rel, int64 *items, int64 *misplaced)
{
	AttrNumber	attnums[MAX_LEVELS];
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan;
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey verify",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context;

	for (int i = 0; i < leaf->levels; i++)
		attnums[i] = get_attnum(leaf->relid, container->columns[i]);
	scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);
	old_context = MemoryContextSwitchTo(row_context);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		(*items)++;
		if (!row_in_place(container, leaf, attnums, slot))
			(*misplaced)++;
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(old_context);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
}

/* verify(container regclass) returns table (partition regclass, items bigint, misplaced bigint) */
PG_FUNCTION_INFO_V1(verify);
Datum
verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);
	Container  *container;
	ListCell   *cell;

	RequireSelect(relid);
	container = ContainerLookup(relid, false);
	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security hides rows of container \"%s\" from you", get_rel_name(relid)),
				 errhint("Run verify as the owner or as a role with BYPASSRLS.")));

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Relation	rel = try_relation_open(leaf->relid, AccessShareLock);
		int64		items = 0;
		int64		misplaced = 0;
		Datum		values[3];
		bool		nulls[3] = {false, false, !leaf->regular};

		if (rel == NULL)
			continue;
		if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot verify partition \"%s\" because it is no ordinary table",
							RelationGetRelationName(rel))));
		verify_leaf(container, leaf, rel, &items, &misplaced);
		table_close(rel, AccessShareLock);
		values[0] = ObjectIdGetDatum(leaf->relid);
		values[1] = Int64GetDatum(items);
		values[2] = Int64GetDatum(misplaced);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
