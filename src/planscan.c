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
#include "predicate.h"

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
	int			subplan;		/* number of the subplan that it was found in, or 0 */
	bool		grouped;		/* rows are grouped, numbered or counted between it and the nodes above */
	List	   *joins;			/* clauses of the joins above what was found */
	List	   *outside;		/* conditions of the sub-selects that it was found in, from outside */
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
child_of(const PlannedStmt *stmt, const Plan *plan, int varno)
{
	if (varno == INNER_VAR)
		return plan->righttree;
	if (IsA(plan, Append))
		return linitial(((const Append *) plan)->appendplans);
	if (IsA(plan, MergeAppend))
		return linitial(((const MergeAppend *) plan)->mergeplans);
	if (IsA(plan, SubqueryScan))
		return ((const SubqueryScan *) plan)->subplan;
	if (IsA(plan, CteScan))
		return list_nth(stmt->subplans, ((const CteScan *) plan)->ctePlanId - 1);
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
	if (var->varno == OUTER_VAR || var->varno == INNER_VAR || IsA(at->plan, SubqueryScan) || IsA(at->plan, CteScan))
	{
		Descent		below = {at->search, child_of(at->search->stmt, at->plan, var->varno)};

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

/* Whether a join limits the rows of one of its sides, keeps all, or leaves out those that the clauses meet. */
typedef enum JoinEffect
{
	JOIN_LIMITS,
	JOIN_KEEPS,
	JOIN_EXCLUDES
} JoinEffect;

static JoinEffect
join_effect(JoinType type, bool outer)
{
	switch (type)
	{
		case JOIN_LEFT:
			return outer ? JOIN_KEEPS : JOIN_LIMITS;
		case JOIN_RIGHT:
		case JOIN_SEMI:
			return outer ? JOIN_LIMITS : JOIN_KEEPS;
		case JOIN_FULL:
			return JOIN_KEEPS;
		case JOIN_ANTI:
			return outer ? JOIN_EXCLUDES : JOIN_KEEPS;
#if PG_VERSION_NUM >= 160000
		case JOIN_RIGHT_ANTI:
			return outer ? JOIN_KEEPS : JOIN_EXCLUDES;
#endif
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
			return outer ? JOIN_KEEPS : JOIN_LIMITS;
#endif
		default:
			return JOIN_LIMITS;
	}
}

/* What the clauses of a join node say of the rows of one of its sides. */
static List *
join_clauses(const Plan *plan, const Search *search, bool outer)
{
	Descent		at = {search, plan};
	List	   *clauses = NIL;
	List	   *result = NIL;
	JoinEffect	effect;
	ListCell   *cell;

	if (IsA(plan, HashJoin))
		clauses = ((const HashJoin *) plan)->hashclauses;
	else if (IsA(plan, MergeJoin))
		clauses = ((const MergeJoin *) plan)->mergeclauses;
	else if (!IsA(plan, NestLoop))
		return NIL;
	effect = join_effect(((const Join *) plan)->jointype, outer);
	clauses = list_concat_copy(clauses, ((const Join *) plan)->joinqual);
	clauses = (List *) descend((Node *) clauses, &at);
	if (IsA(plan, NestLoop))
		clauses = list_concat(clauses, nested_loop_clauses((const NestLoop *) plan, &at));
	foreach(cell, clauses)
		if (effect == JOIN_EXCLUDES)
			result = lappend(result, make_notclause(lfirst(cell)));
		else if (effect == JOIN_LIMITS || !PredicateForeign(lfirst(cell)))
			result = lappend(result, lfirst(cell));
	return result;
}

/* The plans below a node. */
static List *
children_of(const Plan *plan)
{
	List	   *children = NIL;

	if (IsA(plan, Append))
		children = list_copy(((const Append *) plan)->appendplans);
	else if (IsA(plan, MergeAppend))
		children = list_copy(((const MergeAppend *) plan)->mergeplans);
	else if (IsA(plan, SubqueryScan))
		children = list_make1(((const SubqueryScan *) plan)->subplan);
	else if (IsA(plan, CustomScan))
		children = list_copy(((const CustomScan *) plan)->custom_plans);
	if (plan->lefttree)
		children = lappend(children, plan->lefttree);
	if (plan->righttree)
		children = lappend(children, plan->righttree);
	return children;
}

/* Whether a node's rows are not those below it, so that a join with them is none with those. */
static bool
groups_rows(const Plan *plan)
{
	return IsA(plan, Agg) || IsA(plan, Group) || IsA(plan, Unique) || IsA(plan, WindowAgg) || IsA(plan, Limit) || IsA(plan, SetOp);
}

/* Take in what a node says of rows that were found below one of its children. */
static void
note_clauses(const Plan *plan, const Plan *child, Search *search)
{
	Descent		at = {search, plan};

	if (IsA(plan, SubqueryScan) || IsA(plan, CteScan))
		search->outside = list_concat(search->outside, (List *) descend((Node *) plan->qual, &at));
	search->grouped |= groups_rows(plan);
	if (!search->grouped)
		search->joins = list_concat(search->joins, join_clauses(plan, search, child == plan->lefttree));
}

static Plan *
find_in(Plan *plan, Search *search)
{
	Plan	   *found = NULL;
	ListCell   *cell;

	check_stack_depth();
	for (Index rti = PlanScanRti(plan); rti != 0; rti = search->parents[rti])
		if (rti == search->rti)
			return plan;
	foreach(cell, children_of(plan))
	{
		found = find_in(lfirst(cell), search);
		if (found)
		{
			note_clauses(plan, lfirst(cell), search);
			break;
		}
	}
	return found;
}

static Plan *
find(Search *search)
{
	Plan	   *found = find_in(search->stmt->planTree, search);
	ListCell   *cell;

	foreach(cell, search->stmt->subplans)
	{
		if (found)
			break;
		/* A subplan that is not used has been set to NULL. */
		if (lfirst(cell))
			found = find_in(lfirst(cell), search);
		search->subplan = foreach_current_index(cell) + 1;
	}
	return found;
}

/* Take in the conditions on the rows of a WITH query where these are read. */
static void
note_cte_scans(Plan *plan, Search *search)
{
	ListCell   *cell;

	check_stack_depth();
	if (IsA(plan, CteScan) && ((CteScan *) plan)->ctePlanId == search->subplan)
		note_clauses(plan, NULL, search);
	foreach(cell, children_of(plan))
		note_cte_scans(lfirst(cell), search);
}

Plan *
PlanFindScan(const PlannedStmt *stmt, Index rti)
{
	Search		search = {.stmt = stmt,.parents = PlanParents(stmt),.rti = rti};

	return find(&search);
}

List *
PlanOutsideConditions(const PlannedStmt *stmt, Index rti)
{
	Search		search = {.stmt = stmt,.parents = PlanParents(stmt),.rti = rti};
	List	   *own = NIL;
	ListCell   *cell;

	if (find(&search) == NULL)
		return NIL;
	if (search.subplan != 0)
		note_cte_scans(stmt->planTree, &search);
	foreach(cell, search.outside)
		if (PredicateOwn(lfirst(cell)) && !PredicateForeign(lfirst(cell)))
			own = lappend(own, lfirst(cell));
	return own;
}

List *
PlanJoinConditions(const PlannedStmt *stmt, Index rti)
{
	Search		search = {.stmt = stmt,.parents = PlanParents(stmt),.rti = rti};

	return find(&search) ? list_concat(search.joins, PlanOutsideConditions(stmt, rti)) : NIL;
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
	/* Index conditions come last, since some are only what the planner has made of others: of a pattern without wildcards. */
	return (List *) translate((Node *) list_concat_copy(scan->qual, index_conditions), &t);
}
