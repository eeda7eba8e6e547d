/*
 * planscan.c
 *		The scans of tables in a finished plan.
 *
 * What a scan applies as index condition, recheck or filter is all that limits
 * the rows of that table before they are read: conditions of joins are there
 * only where the join looks up the table anew for each row, as parameters.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
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

/* The number of a partition's column in a table above it. */
static AttrNumber
column_in(Oid from, Oid to, AttrNumber attnum)
{
	return from == to || attnum <= 0 ? attnum : get_attnum(to, get_attname(from, attnum, false));
}

static Node *
column_expr(List *targets, AttrNumber attnum)
{
	return (Node *) list_nth_node(TargetEntry, targets, attnum - 1)->expr;
}

typedef struct Search
{
	const PlannedStmt *stmt;
	Index	   *parents;
	Index		rti;
	bool		joins_wanted;
	List	   *joins;			/* clauses of the joins above what was found */
} Search;

/* Follow a Var of an upper node down to the table that it comes from. */
typedef struct Descent
{
	const Search *search;
	const Plan *plan;
} Descent;

static Node *descend(Node *node, void *context);

/* The child that OUTER_VAR means, or what a scan of a subquery's own Vars mean. */
static const Plan *
child_of(const Plan *plan, int varno)
{
	if (varno == INNER_VAR)
		return plan->righttree;
	if (IsA(plan, Append))
		return linitial(((const Append *) plan)->appendplans);
	if (IsA(plan, MergeAppend))
		return linitial(((const MergeAppend *) plan)->mergeplans);
	if (IsA(plan, SubqueryScan))
		return ((const SubqueryScan *) plan)->subplan;
	return plan->lefttree;
}

/* A Var of a table, as one of the table that is looked for (varno 1) or of another. */
static Node *
table_var(const Search *search, const Var *var)
{
	Var		   *copy = copyObject((Var *) var);
	Index		rti = var->varno;

	while (rti != search->rti && rti <= (Index) list_length(search->stmt->rtable) && search->parents[rti] != 0)
		rti = search->parents[rti];
	copy->varno = 2;
	if (rti == search->rti)
	{
		Oid			from = rt_fetch(var->varno, search->stmt->rtable)->relid;
		Oid			to = rt_fetch(rti, search->stmt->rtable)->relid;

		copy->varno = 1;
		copy->varattno = column_in(from, to, var->varattno);
	}
	return (Node *) copy;
}

static Node *
descend(Node *node, void *context)
{
	const Descent *at = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, descend, context);
	if (var->varno == INDEX_VAR && IsA(at->plan, IndexOnlyScan))
		return descend(column_expr(((const IndexOnlyScan *) at->plan)->indextlist, var->varattno), context);
	if (var->varno == OUTER_VAR || var->varno == INNER_VAR || IsA(at->plan, SubqueryScan))
	{
		Descent		below = {at->search, child_of(at->plan, var->varno)};

		if (below.plan && var->varattno > 0 && var->varattno <= list_length(below.plan->targetlist))
			return descend(column_expr(below.plan->targetlist, var->varattno), &below);
	}
	return table_var(at->search, var);
}

/* An equality of a column with another table's, for a column that a nested loop hands to its inner side to look up. */
static List *
nested_loop_clauses(const NestLoop *loop, const Descent *at)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, loop->nestParams)
	{
		Node	   *column = descend((Node *) lfirst_node(NestLoopParam, cell)->paramval, (void *) at);
		Var		   *other;
		Oid			operator = lookup_type_cache(exprType(column), TYPECACHE_EQ_OPR)->eq_opr;

		if (!IsA(column, Var) || !OidIsValid(operator))
			continue;
		other = copyObject((Var *) column);
		other->varno = 2;
		clauses = lappend(clauses, make_opclause(operator, BOOLOID, false, (Expr *) column, (Expr *) other,
												 InvalidOid, exprCollation(column)));
	}
	return clauses;
}

/* The clauses of a join node. */
static List *
join_clauses(const Plan *plan, const Search *search)
{
	Descent		at = {search, plan};
	List	   *clauses = NIL;

	if (IsA(plan, HashJoin))
		clauses = ((const HashJoin *) plan)->hashclauses;
	else if (IsA(plan, MergeJoin))
		clauses = ((const MergeJoin *) plan)->mergeclauses;
	else if (!IsA(plan, NestLoop))
		return NIL;
	clauses = list_concat_copy(clauses, ((const Join *) plan)->joinqual);
	clauses = (List *) descend((Node *) clauses, &at);
	return IsA(plan, NestLoop) ? list_concat(clauses, nested_loop_clauses((const NestLoop *) plan, &at)) : clauses;
}

/* The plans below a node. */
static List *
children_of(Plan *plan)
{
	List	   *children = list_make2(plan->lefttree, plan->righttree);

	if (IsA(plan, Append))
		return list_concat(children, ((Append *) plan)->appendplans);
	if (IsA(plan, MergeAppend))
		return list_concat(children, ((MergeAppend *) plan)->mergeplans);
	if (IsA(plan, SubqueryScan))
		return lappend(children, ((SubqueryScan *) plan)->subplan);
	if (IsA(plan, CustomScan))
		return list_concat(children, ((CustomScan *) plan)->custom_plans);
	return children;
}

static Plan *find_in(Plan *plan, Search *search);

static Plan *
find_in_list(List *plans, Search *search)
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
find_in(Plan *plan, Search *search)
{
	Plan	   *found;

	check_stack_depth();
	if (plan == NULL)
		return NULL;
	for (Index rti = PlanScanRti(plan); rti != 0; rti = search->parents[rti])
		if (rti == search->rti)
			return plan;
	found = find_in_list(children_of(plan), search);
	if (found && search->joins_wanted)
		search->joins = list_concat(search->joins, join_clauses(plan, search));
	return found;
}

static Plan *
find(Search *search)
{
	Plan	   *found = find_in(search->stmt->planTree, search);

	return found ? found : find_in_list(search->stmt->subplans, search);
}

Plan *
PlanFindScan(const PlannedStmt *stmt, Index rti)
{
	Search		search = {stmt, PlanParents(stmt), rti, false, NIL};

	return find(&search);
}

List *
PlanJoinConditions(const PlannedStmt *stmt, Index rti)
{
	Search		search = {stmt, PlanParents(stmt), rti, true, NIL};

	return find(&search) ? search.joins : NIL;
}

/* All nodes of a plan. */
static List *
add_nodes(List *nodes, Plan *plan)
{
	ListCell   *cell;

	check_stack_depth();
	if (plan == NULL)
		return nodes;
	nodes = lappend(nodes, plan);
	foreach(cell, children_of(plan))
		nodes = add_nodes(nodes, lfirst(cell));
	return nodes;
}

static List *
nodes_of(const PlannedStmt *stmt)
{
	List	   *nodes = add_nodes(NIL, stmt->planTree);
	ListCell   *cell;

	foreach(cell, stmt->subplans)
		nodes = add_nodes(nodes, lfirst(cell));
	return nodes;
}

Bitmapset *
PlanScanned(const PlannedStmt *stmt)
{
	Bitmapset  *scanned = NULL;
	ListCell   *cell;

	foreach(cell, nodes_of(stmt))
	{
		Plan	   *plan = lfirst(cell);

		if (PlanScanRti(plan) != 0)
			scanned = bms_add_member(scanned, PlanScanRti(plan));
		else if (IsA(plan, ForeignScan))
			scanned = bms_add_members(scanned, ((ForeignScan *) plan)->fs_relids);
		else if (IsA(plan, CustomScan))
			scanned = bms_add_members(scanned, ((CustomScan *) plan)->custom_relids);
	}
	return scanned;
}

static Bitmapset *
add_pruned(Bitmapset *pruned, const PartitionPruneInfo *info)
{
	ListCell   *hierarchy;
	ListCell   *cell;

	if (info == NULL)
		return pruned;
	foreach(hierarchy, info->prune_infos)
		foreach(cell, lfirst_node(List, hierarchy))
		{
			PartitionedRelPruneInfo *table = lfirst_node(PartitionedRelPruneInfo, cell);

			if (table->initial_pruning_steps != NIL || table->exec_pruning_steps != NIL)
				pruned = bms_add_member(pruned, table->rtindex);
		}
	return pruned;
}

Bitmapset *
PlanPruned(const PlannedStmt *stmt)
{
	Bitmapset  *pruned = NULL;
	ListCell   *cell;

	foreach(cell, nodes_of(stmt))
	{
		if (IsA(lfirst(cell), Append))
			pruned = add_pruned(pruned, PruneInfoOf(stmt, (Append *) lfirst(cell)));
		else if (IsA(lfirst(cell), MergeAppend))
			pruned = add_pruned(pruned, PruneInfoOf(stmt, (MergeAppend *) lfirst(cell)));
	}
	return pruned;
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
			return translate(column_expr(t->index_columns, var->varattno), context);
		var = copyObject(var);
		if ((Index) var->varno != t->rti)
			var->varno = 2;
		else
		{
			var->varno = 1;
			var->varattno = column_in(t->from, t->to, var->varattno);
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
