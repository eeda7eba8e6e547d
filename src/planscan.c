/*
 * planscan.c
 *		The scans of tables in a finished plan.
 *
 * What a scan applies as index condition, recheck or filter is all that limits
 * the rows of that table before they are read: conditions of joins are there
 * only where the join looks up the table anew for each row, as parameters.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "planscan.h"

Index *
PlanParents(const PlannedStmt *stmt)
{
	Index	   *parents = palloc0((list_length(stmt->rtable) + 1) * sizeof(Index));
	ListCell   *cell;

	foreach(cell, stmt->appendRelations)
	{
		AppendRelInfo *info = lfirst(cell);

		/* The arms of a UNION ALL have a parent as well, which is no table. */
		if (rt_fetch(info->parent_relid, stmt->rtable)->rtekind == RTE_RELATION)
			parents[info->child_relid] = info->parent_relid;
	}
	return parents;
}

Index
PlanScanRti(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_ForeignScan:
		case T_CustomScan:
			return ((const Scan *) plan)->scanrelid;
		default:
			return 0;
	}
}

typedef struct Search
{
	Index	   *parents;
	Index		rti;
} Search;

static Plan *find_in(Plan *plan, const Search *search);

static Plan *
find_in_list(List *plans, const Search *search)
{
	Plan	   *found = NULL;
	ListCell   *cell;

	foreach(cell, plans)
	{
		found = find_in(lfirst(cell), search);
		if (found)
			break;
	}
	return found;
}

static Plan *
find_in(Plan *plan, const Search *search)
{
	Plan	   *found = NULL;

	check_stack_depth();
	if (plan == NULL)
		return NULL;
	for (Index rti = PlanScanRti(plan); rti != 0; rti = search->parents[rti])
		if (rti == search->rti)
			return plan;
	if (IsA(plan, Append))
		found = find_in_list(((Append *) plan)->appendplans, search);
	else if (IsA(plan, MergeAppend))
		found = find_in_list(((MergeAppend *) plan)->mergeplans, search);
	else if (IsA(plan, SubqueryScan))
		found = find_in(((SubqueryScan *) plan)->subplan, search);
	else if (IsA(plan, CustomScan))
		found = find_in_list(((CustomScan *) plan)->custom_plans, search);
	if (found == NULL)
		found = find_in(plan->lefttree, search);
	return found ? found : find_in(plan->righttree, search);
}

Plan *
PlanFindScan(const PlannedStmt *stmt, Index rti)
{
	Search		search = {PlanParents(stmt), rti};
	Plan	   *found = find_in(stmt->planTree, &search);

	return found ? found : find_in_list(stmt->subplans, &search);
}

typedef struct Translation
{
	Index		rti;
	List	   *index_columns;	/* of an index-only scan, TargetEntry */
	Oid			from;
	Oid			to;
} Translation;

static Node *
translate(Node *node, void *context)
{
	Translation *t = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varno == INDEX_VAR)
			return translate((Node *) list_nth_node(TargetEntry, t->index_columns, var->varattno - 1)->expr, context);
		var = copyObject(var);
		if ((Index) var->varno != t->rti)
			var->varno = 2;
		else
		{
			var->varno = 1;
			if (t->from != t->to && var->varattno > 0)
				var->varattno = get_attnum(t->to, get_attname(t->from, var->varattno, false));
		}
		return (Node *) var;
	}
	return expression_tree_mutator(node, translate, context);
}

List *
PlanScanConditions(const PlannedStmt *stmt, const Plan *scan, Oid relid)
{
	Index		rti = PlanScanRti(scan);
	Translation t = {rti, NIL, rt_fetch(rti, stmt->rtable)->relid, relid};
	List	   *index_conditions = NIL;

	if (IsA(scan, IndexScan))
		index_conditions = ((const IndexScan *) scan)->indexqualorig;
	else if (IsA(scan, BitmapHeapScan))
		index_conditions = ((const BitmapHeapScan *) scan)->bitmapqualorig;
	else if (IsA(scan, IndexOnlyScan))
	{
		index_conditions = ((const IndexOnlyScan *) scan)->recheckqual;
		t.index_columns = ((const IndexOnlyScan *) scan)->indextlist;
	}
	return (List *) translate((Node *) list_concat_copy(index_conditions, scan->qual), &t);
}
