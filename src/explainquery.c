/*
 * explainquery.c
 *		What a statement touches, without running it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "cause.h"
#include "compat.h"
#include "cosmos.h"
#include "planscan.h"
#include "predicate.h"
#include "routing.h"
#include "tree.h"

/* Most and fewest first. */
static int
compare_counts(const ListCell *a, const ListCell *b)
{
	return b->int_value - a->int_value;
}

/* The level that a node divides by, or -1. */
static int
node_level(const Container *container, Oid relid)
{
	NodeKey		key;

	if (!NodeKeyOf(relid, &key))
		return -1;
	return ContainerLevel(container, get_attname(relid, key.attnum, false));
}

/* A read of a container in the plan that was made. */
typedef struct ContainerScan
{
	const PredicateScan *scan;
	const RoutingKey *key;
	Routing		routing;
	Bitmapset  *scanned;		/* entries of the plan's range table: */
	Bitmapset  *pruned;			/* as PlanScanned and PlanPruned have them */
} ContainerScan;

/* Where a relation of the planner is in the plan's range table: all entries of a query stay together there. */
static Index
place_in_plan(const PredicateScan *scan, const RelOptInfo *rel)
{
	return scan->rti + rel->relid - scan->rel->relid;
}

static int	leaves_hit(const ContainerScan *read, RelOptInfo *rel);

/* For each child of a node that is read the number of its leaves that are. */
static List *
children_hit(const ContainerScan *read, RelOptInfo *rel)
{
	List	   *counts = NIL;
	int			child = -1;

	while ((child = bms_next_member(rel->live_parts, child)) >= 0)
	{
		int			hit = leaves_hit(read, rel->part_rels[child]);

		if (hit > 0)
			counts = lappend_int(counts, hit);
	}
	return counts;
}

/* Whether a level's values, which the planner did not know, choose among the children of a node. */
static bool
chooses_late(const ContainerScan *read, RelOptInfo *rel, int level)
{
	if (level < 0 || !read->routing.bound[level] || !read->routing.late[level])
		return false;
	return read->routing.array[level] || bms_is_member(place_in_plan(read->scan, rel), read->pruned);
}

/*
 * The leaves that are left below a node.  Where the planner did not know the
 * values of a level, each takes one child; it is the one with the most leaves.
 */
static int
leaves_hit(const ContainerScan *read, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, read->scan->root);
	List	   *counts;
	int			level;
	int			hit = 0;
	ListCell   *cell;

	check_stack_depth();
	if (rte->relkind != RELKIND_PARTITIONED_TABLE)
		return bms_is_member(place_in_plan(read->scan, rel), read->scanned) ? 1 : 0;
	counts = children_hit(read, rel);
	level = node_level(read->key->container, rte->relid);
	if (chooses_late(read, rel, level))
	{
		list_sort(counts, compare_counts);
		counts = list_truncate(counts, Max(read->routing.values[level], 1));
	}
	foreach(cell, counts)
		hit += lfirst_int(cell);
	return hit;
}

/* What a read binds, in the plan that was made. */
static Routing
scan_routing(const PredicateScan *scan, const RoutingKey *key)
{
	List	   *bound = scan->bound;
	Plan	   *found = scan->rti != 0 ? PlanFindScan(scan->plan, scan->rti) : NULL;

	ListCell   *cell;

	/* The plan adds what a nested loop looks up; its other conditions have been seen, or were made of those for an index. */
	if (found)
		foreach(cell, PredicateBound(PlanScanConditions(scan->plan, found, scan->relid)))
			if (((BoundExpression *) lfirst(cell))->values == 0)
				bound = lappend(list_copy(bound), lfirst(cell));
	return RoutingOf(key, bound, false);
}

/* Words for what is not known before the statement runs, or NULL. */
static const char *
unknown_reason(const PredicateScan *scan, const Routing *routing)
{
	for (int i = 0; i < MAX_LEVELS; i++)
	{
		if (routing->bound[i] && routing->dependent[i] && routing->values[i] > 0)
			return "the partitions are chosen while it runs, by a sub-select";
		if (!routing->bound[i] || routing->values[i] != 0)
			continue;
		if (scan->command == CMD_INSERT)
			return "each row goes to the partition of its key; partitions_hit is for one row";
		if (routing->dependent[i])
			return "the partitions are chosen while it runs, by a sub-select or join; partitions_hit is for one key";
		return "the length of an array is not known; partitions_hit is for one key";
	}
	return NULL;
}

/* Conditions that the user wrote, not a policy of row security. */
static List *
written_conditions(const PredicateScan *scan)
{
	List	   *written = NIL;
	ListCell   *info;
	ListCell   *condition;

	forboth(info, scan->rel->baserestrictinfo, condition, scan->conditions)
		if (lfirst_node(RestrictInfo, info)->security_level >= scan->root->qual_security_level)
			written = lappend(written, lfirst(condition));
	return written;
}

/* Why a level has no value, in words. */
static char *
fan_out_reason(const PredicateScan *scan, const RoutingKey *key, const Routing *routing, char **hint)
{
	List	   *joins = list_concat_copy(scan->joins, scan->rti != 0 ? PlanOutsideConditions(scan->plan, scan->rti) : NIL);
	char	   *reason = RoutingReason(key, routing, scan->command, scan->conditions, joins, hint);
	List	   *written = written_conditions(scan);

	if (CauseOf(key, routing->leading, scan->conditions, joins).kind != CauseOf(key, routing->leading, written, joins).kind)
	{
		*hint = psprintf("Add the condition %s = ..., or change the policy.", quote_identifier(key->container->columns[routing->leading]));
		return psprintf("%s; the condition is that of a row security policy", reason);
	}
	return reason;
}

/* Why it is not one key, in words, and what to do about it (NULL if nothing is). */
static char *
scan_reason(const PredicateScan *scan, const RoutingKey *key, const Routing *routing, int hit, char **hint)
{
	const char *unknown = unknown_reason(scan, routing);
	char	   *reason = NULL;

	*hint = NULL;
	if (hit == 0)
		return "no row can meet the conditions: nothing is read";
	if (routing->leading < key->container->levels && scan->command != CMD_INSERT)
		reason = fan_out_reason(scan, key, routing, hint);
	if (unknown && hit > 0)
		reason = reason ? psprintf("%s; %s", reason, unknown) : pstrdup(unknown);
	return reason;
}

/* Look at what the plan makes of it: corrects the routing, and gives the number of leaves. */
static int
settle(ContainerScan *read)
{
	const PredicateScan *scan = read->scan;
	List	   *children;

	if (scan->rti == 0)
		return 0;
	read->scanned = PlanScanned(scan->plan);
	read->pruned = PlanPruned(scan->plan);
	children = children_hit(read, scan->rel);
	if (children != NIL)
		RoutingSettle(read->key, &read->routing, list_length(children), bms_is_member(scan->rti, read->pruned));
	return leaves_hit(read, scan->rel);
}

static void
explain_scan(ReturnSetInfo *result, const PredicateScan *scan, const Container *container)
{
	RoutingKey *key = RoutingKeyOf(container);
	ContainerScan read = {scan, key, scan_routing(scan, key), NULL, NULL};
	int			total = list_length(ContainerLeaves(container, NULL, 0));
	int			hit = scan->rel ? settle(&read) : Min(Max(read.routing.values[0], 1), total);
	Routing		routing = read.routing;
	char	   *hint;
	char	   *reason = scan_reason(scan, key, &routing, hit, &hint);
	Datum		values[9];
	bool		nulls[9] = {false};

	values[0] = ObjectIdGetDatum(container->relid);
	values[1] = CStringGetTextDatum(hit == 0 ? "none" : RoutingName(routing.kind));
	values[2] = Int32GetDatum(routing.leading);
	values[3] = Int32GetDatum(container->levels);
	values[4] = Int32GetDatum(hit);
	values[5] = Int32GetDatum(total);
	values[6] = CStringGetTextDatum(CosmosRouting(scan, key, &routing));
	nulls[7] = reason == NULL;
	values[7] = reason ? CStringGetTextDatum(reason) : (Datum) 0;
	nulls[8] = hint == NULL;
	values[8] = hint ? CStringGetTextDatum(hint) : (Datum) 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* explain_query(query text) returns table (container, routing, ...) */
PG_FUNCTION_INFO_V1(explain_query);
Datum
explain_query(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *scans = PredicateScans(text_to_cstring(PG_GETARG_TEXT_PP(0)), NULL, NULL);
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, scans)
	{
		PredicateScan *scan = lfirst(cell);
		Container  *container = ContainerLookup(scan->relid, true);

		if (container != NULL)
			explain_scan(result, scan, container);
	}
	return (Datum) 0;
}
