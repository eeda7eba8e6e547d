/*
 * layout.c
 *		How many partitions a new container has, and making them.
 *
 * Each partition is named after its place in the hash space: the lower bounds
 * of its levels, in hex, as in logins_p4_c.  That is for people; no code reads
 * the names.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "layout.h"
#include "privileges.h"
#include "sql.h"

#define WARN_LEAVES			256
#define MAX_LEAVES			4096

static const Layout default_layouts[MAX_LEVELS] = {
	{1, {8}, 8},
	{2, {4, 4}, 16},
	{3, {4, 2, 2}, 16}
};

void
LayoutCheckPartitions(int partitions)
{
	if (partitions < 1 || (partitions & (partitions - 1)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of partitions %d is not a power of two", partitions),
				 errdetail("A partition is a range of the hash space, halved as often as needed."),
				 errhint("Use 1, 2, 4, 8, 16 and so on.")));
	if (partitions > MAX_LEAVES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number of partitions %d is over the limit of %d", partitions, MAX_LEAVES),
				 errhint("A query of all partitions locks each of them, and the lock table of max_locks_per_transaction is too small for that; use fewer.")));
}

void
LayoutFromDatum(Layout *layout, Datum partitions, bool isnull, int paths)
{
	ArrayType  *array;
	int32	   *numbers;

	if (isnull)
	{
		*layout = default_layouts[paths - 1];
		return;
	}

	array = DatumGetArrayTypeP(partitions);
	if (ARR_NDIM(array) != 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions must be a one-dimensional array of numbers without nulls"),
				 errhint("Write for example '{8}' or '{4,4}', or leave it out for the default.")));
	layout->levels = ARR_DIMS(array)[0];
	if (layout->levels > paths)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions has %d numbers, but the number of partition key paths is %d",
						layout->levels, paths),
				 errhint("Give at most one number for each path.")));

	numbers = (int32 *) ARR_DATA_PTR(array);
	layout->leaves = 1;
	for (int i = 0; i < layout->levels; i++)
	{
		LayoutCheckPartitions(numbers[i]);
		layout->partitions[i] = numbers[i];
		layout->leaves *= numbers[i];
		LayoutCheckPartitions(layout->leaves);
	}
	if (layout->leaves > WARN_LEAVES)
		ereport(WARNING,
				(errmsg("container will have %d leaf partitions", layout->leaves),
				 errdetail("Each query without a key plans, locks and opens all of them, and each session keeps their descriptions in memory."),
				 errhint("Use at most %d, unless you know why.", WARN_LEAVES)));
}

void
LayoutCheckLocks(const Layout *layout, int relations)
{
	int64		sessions = MaxBackends + max_prepared_xacts;
	/* Two more for what is locked while a table is made. */
	int64		needed = (int64) layout->leaves * (relations + 2);
	int64		capacity = max_locks_per_xact * sessions;

	if (needed > capacity)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("making %d leaf partitions needs about " INT64_FORMAT " locks, but the server has room for " INT64_FORMAT,
						layout->leaves, needed, capacity),
				 errhint("Ask for fewer partitions, or set max_locks_per_transaction to at least " INT64_FORMAT " and restart the server.",
						 needed / sessions + 1)));
}

static char *
operator_class_name(Oid typid, PositionHash hash)
{
	return psprintf("%s_%s_ops", ComponentTypeName(typid), PositionHashName(hash));
}

char *
LayoutTypeOperatorClass(Oid typid, PositionHash hash)
{
	return quote_qualified_identifier("partitionkey", operator_class_name(typid, hash));
}

char *
LayoutOperatorClass(const Container *container, int level)
{
	return LayoutTypeOperatorClass(ContainerColumnType(container, level), container->hash);
}

/* Found whatever the user may see, since it is asked for in statements of all. */
Oid
LayoutOperatorFamily(const Container *container, int level)
{
	return get_opclass_family(GetSysCacheOid3(CLAAMNAMENSP, Anum_pg_opclass_oid, ObjectIdGetDatum(HASH_AM_OID),
											  CStringGetDatum(operator_class_name(ContainerColumnType(container, level), container->hash)),
											  ObjectIdGetDatum(get_namespace_oid("partitionkey", false))));
}

typedef struct Making
{
	const Container *container;
	const Layout *layout;
	const char *persistence;
	const char *clauses;
	const char *name;
	Oid			namespace;
} Making;

/* The n-th partition of a node in the order of the hash space: its bound's remainder. */
static uint64
remainder_of(int n, int partitions)
{
	return ReverseBits(n) >> (64 - pg_leftmost_one_pos32(partitions)) % 64;
}

/* The n-th partition's label: the first hex digits of its lowest position. */
static char *
label_of(int n, int partitions)
{
	int			bits = pg_leftmost_one_pos32(partitions);
	int			digits = Max(1, (bits + 3) / 4);

	return psprintf("%0*x", digits, n << (4 * digits - bits));
}

/*
 * PostgreSQL turns "b = true" into "b", which it prunes by only for its own
 * operator families.  A check on what values of a boolean key a leaf can hold
 * lets constraint exclusion do it.  (With a parameter in place of the constant,
 * pruning works by itself.)
 */
List *
LayoutBooleanChecks(const Container *container, const PositionRange *ranges)
{
	List	   *checks = NIL;

	for (int level = 0; level < container->levels; level++)
	{
		const char *column = quote_identifier(container->columns[level]);
		bool		holds[2];

		if (getBaseType(ContainerColumnType(container, level)) != BOOLOID)
			continue;
		for (int value = 0; value <= 1; value++)
		{
			Component	c;

			ComponentSetBool(&c, value);
			holds[value] = PositionInRange(Position(container->hash, &c), ranges[level]);
		}
		if (holds[false] && holds[true])
			continue;
		checks = lappend(checks, psprintf("CONSTRAINT partitionkey_values_of_%d CHECK (%s%s%s)", level + 1,
										  holds[true] ? "" : "NOT ", column,
										  holds[false] || holds[true] ? "" : psprintf(" AND %s", column)));
	}
	return checks;
}

static void
make_node(const Making *m, const char *parent, const char *label, int level, const PositionRange *ranges)
{
	int			partitions = m->layout->partitions[level];
	bool		leaf = level + 1 == m->layout->levels;

	for (int i = 0; i < partitions; i++)
	{
		char	   *child_label = psprintf("%s%s%s", label, level == 0 ? "" : "_", label_of(i, partitions));
		char	   *name = ChooseRelationName(m->name, NULL, child_label, m->namespace, false);
		char	   *qualified = quote_qualified_identifier(get_namespace_name(m->namespace), name);
		uint64		remainder = remainder_of(i, partitions);
		PositionRange child_ranges[MAX_LEVELS];
		StringInfoData checks;
		ListCell   *cell;
		Oid			relid;

		CHECK_FOR_INTERRUPTS();
		memcpy(child_ranges, ranges, sizeof(child_ranges));
		child_ranges[level] = PositionRangeOfBound(partitions, remainder);
		initStringInfo(&checks);
		foreach(cell, LayoutBooleanChecks(m->container, child_ranges))
			appendStringInfo(&checks, "%s%s", checks.len > 0 ? ", " : "(", (char *) lfirst(cell));
		if (checks.len > 0)
			appendStringInfoChar(&checks, ')');
		if (leaf)
			SqlExecute("CREATE %s TABLE %s PARTITION OF %s %s FOR VALUES WITH (MODULUS %d, REMAINDER %d) %s",
					   m->persistence, qualified, parent,
					   checks.data,
					   partitions, (int) remainder, m->clauses);
		else
			SqlExecute("CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS %d, REMAINDER %d) PARTITION BY HASH (%s %s)",
					   qualified, parent, partitions, (int) remainder,
					   quote_identifier(m->container->columns[level + 1]),
					   LayoutOperatorClass(m->container, level + 1));
		relid = get_relname_relid(name, m->namespace);
		PrivilegesReset(relid);
		if (!leaf)
			make_node(m, qualified, child_label, level + 1, child_ranges);
	}
}

void
LayoutCreate(const Container *container, const char *name, const Layout *layout,
			 const char *persistence, const char *clauses)
{
	Making		m = {container, layout, persistence, clauses, name, get_rel_namespace(container->relid)};
	PositionRange ranges[MAX_LEVELS] = {0};

	make_node(&m, QualifiedName(container->relid), "p", 0, ranges);
}
