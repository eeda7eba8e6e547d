/*
 * predicate.c
 *		What statements compare the columns of a table with.
 *
 * A statement is planned, and while that is done a hook looks at what the
 * planner knows of each table: by then it has expanded views, pulled up
 * sub-selects, folded constants and passed on equalities, so that what is seen
 * here is what can prune.
 *
 * Planning may run immutable functions, which may plan statements of their own,
 * or ask what these touch.  So the hook is installed once, and looks only at what
 * the statement that is being watched is planned with: its parameter list, which
 * is empty and is nobody else's.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "predicate.h"

/* A statement that is being planned. */
typedef struct Planning
{
	ParamListInfo params;		/* tells it from others */
	List	   *scans;			/* PredicateScan *: all that the planner looked at */
} Planning;

static Planning *planning = NULL;
static set_rel_pathlist_hook_type chained = NULL;

static bool
own_walker(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == 1;
	return expression_tree_walker(node, own_walker, unused);
}

static bool
foreign_walker(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno != 1;
	return expression_tree_walker(node, foreign_walker, unused);
}

/* Whether a value comes from elsewhere in the plan. */
static bool
late_walker(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, Var))
		return true;
	return expression_tree_walker(node, late_walker, unused);
}

bool
PredicateOwn(Node *node)
{
	return own_walker(node, NULL);
}

bool
PredicateForeign(Node *node)
{
	return foreign_walker(node, NULL);
}

bool
PredicateIsLate(Node *node)
{
	return late_walker(node, NULL);
}

bool
PredicateIsEquality(Oid operator)
{
	Oid			left;
	Oid			right;

	op_input_types(operator, &left, &right);
	return op_mergejoinable(operator, left) || op_hashjoinable(operator, left);
}

static BoundExpression *
make_bound(Node *expr, Node *value, Oid operator, Oid collation)
{
	BoundExpression *bound = palloc0(sizeof(BoundExpression));

	bound->expr = expr;
	bound->value = value;
	bound->operator = operator;
	bound->collation = collation;
	bound->constant = value == NULL || IsA(value, Const);
	bound->joined = PredicateForeign(value);
	bound->values = late_walker(value, NULL) ? 0 : 1;
	return bound;
}

/* expr = value, whichever way round. */
static List *
bound_by_operator(OpExpr *clause)
{
	Node	   *left;
	Node	   *right;
	Oid			operator = clause->opno;

	if (list_length(clause->args) != 2 || !PredicateIsEquality(operator))
		return NIL;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	if (!PredicateOwn(left))
	{
		Node	   *swap = left;

		left = right;
		right = swap;
		operator = get_commutator(operator);
	}
	if (!OidIsValid(operator) || !PredicateOwn(left) || PredicateForeign(left) || PredicateOwn(right))
		return NIL;
	return list_make1(make_bound(left, right, operator, clause->inputcollid));
}

/* expr = ANY (array), IN (...) */
static List *
bound_by_array(ScalarArrayOpExpr *clause)
{
	Node	   *left = linitial(clause->args);
	Node	   *right = lsecond(clause->args);
	BoundExpression *bound;

	if (!clause->useOr || !PredicateIsEquality(clause->opno) || !PredicateOwn(left) || PredicateForeign(left) || PredicateOwn(right))
		return NIL;
	bound = make_bound(left, right, clause->opno, clause->inputcollid);
	if (bound->constant && !((Const *) right)->constisnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(((Const *) right)->constvalue);

		bound->values = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	else if (IsA(right, ArrayExpr) && !((ArrayExpr *) right)->multidims)
		bound->values = bound->values == 0 ? 0 : list_length(((ArrayExpr *) right)->elements);
	else
	{
		bound->values = 0;
		bound->array = !bound->constant;
	}
	return list_make1(bound);
}

/* A boolean column that is a condition itself. */
static List *
bound_by_itself(Node *column)
{
	if (!PredicateOwn(column))
		return NIL;
	return list_make1(make_bound(column, NULL, InvalidOid, InvalidOid));
}

/* The bound expression of a list that binds the same as another. */
static BoundExpression *
find_bound(List *list, const BoundExpression *like)
{
	ListCell   *cell;

	foreach(cell, list)
	{
		BoundExpression *bound = lfirst(cell);

		if (bound->collation == like->collation && equal(bound->expr, like->expr) &&
			(bound->operator == like->operator || equality_ops_are_compatible(bound->operator, like->operator)))
			return bound;
	}
	return NULL;
}

static List *bound_by_clause(Node *clause);

/* What each arm of an OR binds, with the values of all. */
static List *
bound_by_or(List *arms)
{
	List	   *list = bound_by_clause(linitial(arms));
	ListCell   *arm;

	for_each_from(arm, arms, 1)
	{
		List	   *other = bound_by_clause(lfirst(arm));
		List	   *common = NIL;
		ListCell   *cell;

		foreach(cell, list)
		{
			BoundExpression *bound = lfirst(cell);
			BoundExpression *same = find_bound(other, bound);

			if (same == NULL)
				continue;
			bound->values = bound->values == 0 || same->values == 0 ? 0 : bound->values + same->values;
			bound->constant &= same->constant;
			bound->joined |= same->joined;
			if (same->array)
				bound->value = same->value;
			bound->array |= same->array;
			common = lappend(common, bound);
		}
		list = common;
	}
	return list;
}

static List *
bound_by_clause(Node *clause)
{
	if (contain_volatile_functions(clause))
		return NIL;
	if (IsA(clause, OpExpr))
		return bound_by_operator((OpExpr *) clause);
	if (IsA(clause, ScalarArrayOpExpr))
		return bound_by_array((ScalarArrayOpExpr *) clause);
	if (is_orclause(clause))
		return bound_by_or(((BoolExpr *) clause)->args);
	if (is_andclause(clause))
		return PredicateBound(((BoolExpr *) clause)->args);
	if (is_notclause(clause) && IsA(get_notclausearg(clause), Var))
		return bound_by_itself((Node *) get_notclausearg(clause));
	if (IsA(clause, Var))
		return bound_by_itself(clause);
	return NIL;
}

List *
PredicateBound(List *clauses)
{
	List	   *list = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
		list = list_concat(list, bound_by_clause(lfirst(cell)));
	return list;
}

/* Give a table's Vars varno 1, and those of others another. */
static Node *
renumber(Node *node, void *rti)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = (Index) var->varno == *(Index *) rti ? 1 : var->varno + 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, renumber, rti);
}

/* The join clauses that equivalence classes stand for.  Those have no members of partitions, but of the table above. */
static List *
class_joins(PlannerInfo *root, RelOptInfo *child)
{
	RelOptInfo *rel = child->top_parent_relids ? find_base_rel(root, bms_singleton_member(child->top_parent_relids)) : child;
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, root->eq_classes)
	{
		EquivalenceClass *class = lfirst(cell);
		EquivalenceMember *own = NULL;
		EquivalenceMember *other = NULL;
		ListCell   *member;
		Oid			operator;

		if (class->ec_has_const || class->ec_has_volatile || !bms_is_subset(rel->relids, class->ec_relids))
			continue;
		foreach(member, class->ec_members)
		{
			EquivalenceMember *em = lfirst(member);

			if (em->em_is_child)
				continue;
			if (bms_equal(em->em_relids, rel->relids))
				own = own ? own : em;
			else if (!bms_overlap(em->em_relids, rel->relids))
				other = other ? other : em;
		}
		if (own == NULL || other == NULL)
			continue;
		operator = get_opfamily_member(linitial_oid(class->ec_opfamilies), own->em_datatype, other->em_datatype,
									   BTEqualStrategyNumber);
		if (OidIsValid(operator))
			clauses = lappend(clauses, make_opclause(operator, BOOLOID, false, own->em_expr, other->em_expr,
													 InvalidOid, class->ec_collation));
	}
	return rel == child ? clauses : (List *) OfPartition(root, (Node *) clauses, child, rel);
}

/* Clauses of RestrictInfos. */
static List *
bare_clauses(List *infos)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, infos)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	return clauses;
}

/*
 * What a join's clause says of a table's rows: nothing (NULL) if all are kept, or are
 * what those of the other side are looked up in; with NOT EXISTS the contrary.
 */
static Node *
limiting_clause(PlannerInfo *root, RelOptInfo *rel, Node *clause)
{
	Relids		relids = pull_varnos(root, clause);
	Relids		own = rel->top_parent_relids ? rel->top_parent_relids : rel->relids;	/* joins know no partitions */
	ListCell   *cell;

	foreach(cell, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst(cell);
		bool		left = bms_overlap(own, join->syn_lefthand) && bms_overlap(relids, join->syn_righthand);
		bool		right = bms_overlap(own, join->syn_righthand) && bms_overlap(relids, join->syn_lefthand);

		if (join->jointype == JOIN_ANTI && left)
			return (Node *) make_notclause((Expr *) clause);
		if (join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI ? right : left || (right && join->jointype == JOIN_FULL))
			return NULL;
	}
	return clause;
}

static List *
limiting_clauses(PlannerInfo *root, RelOptInfo *rel, List *clauses)
{
	List	   *limiting = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		Node	   *clause = limiting_clause(root, rel, lfirst(cell));

		if (clause)
			limiting = lappend(limiting, clause);
	}
	return limiting;
}

/*
 * The query that the planner tries for a min or max, in the place of the one around
 * it, or NULL: such a query is planned after the targets of that one are known, and before
 * its tables are looked at.
 */
static PlannerInfo *
min_max_query(PlannerInfo *root)
{
	for (; root->parent_root; root = root->parent_root)
		if (root->parent_root->processed_tlist != NIL && root->parent_root->simple_rel_array == NULL)
			return root;
	return NULL;
}

static void
note_scan(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	PredicateScan *scan = palloc0(sizeof(PredicateScan));
	List	   *joined;
	ListCell   *cell;

	scan->relid = rte->relid;
	scan->command = (Index) root->parse->resultRelation == rti ? root->parse->commandType : CMD_SELECT;
	scan->root = root;
	scan->min_max = min_max_query(root);
	scan->rel = rel;
	scan->conditions = (List *) renumber((Node *) bare_clauses(rel->baserestrictinfo), &rti);
	scan->joins = (List *) renumber((Node *) limiting_clauses(root, rel, list_concat(class_joins(root, rel),
																					 bare_clauses(rel->joininfo))), &rti);

	/* A clause of an outer join that has no Vars of other tables does not limit its rows either. */
	joined = PredicateBound(scan->joins);
	foreach(cell, joined)
		((BoundExpression *) lfirst(cell))->joined = true;
	scan->bound = list_concat(PredicateBound(scan->conditions), joined);
	planning->scans = lappend(planning->scans, scan);
}

/*
 * Whether a relation of the planner is a table of the statement, or a partition
 * of one that may be a container itself.  It may be an arm of a UNION ALL.
 */
static bool
is_table(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (rte->rtekind != RTE_RELATION)
		return false;
	return rel->reloptkind == RELOPT_BASEREL || rte->relkind == RELKIND_PARTITIONED_TABLE ||
		planner_rt_fetch(root->append_rel_array[rti]->parent_relid, root)->rtekind != RTE_RELATION;
}

/* set_rel_pathlist_hook */
static void
look_at_table(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (chained)
		chained(root, rel, rti, rte);
	if (planning && root->glob->boundParams == planning->params && is_table(root, rel, rti, rte))
		note_scan(root, rel, rti, rte);
}

void
PredicateStart(void)
{
	chained = set_rel_pathlist_hook;
	set_rel_pathlist_hook = look_at_table;
}

/* Whether a query was planned as an alternative of a sub-select that was not chosen. */
static bool
is_dropped(PlannerInfo *root)
{
	for (; root->parent_root; root = root->parent_root)
	{
		ListCell   *subroot;
		ListCell   *subplan;

		forboth(subroot, root->glob->subroots, subplan, root->glob->subplans)
			if (lfirst(subroot) == root && lfirst(subplan) == NULL)
				return true;
	}
	return false;
}

/* Find a table of the planner in the plan, where its entry is a copy with the same names. */
static Index
plan_rti(PlannedStmt *plan, const RangeTblEntry *rte)
{
	ListCell   *cell;

	foreach(cell, plan->rtable)
		if (lfirst_node(RangeTblEntry, cell)->eref == rte->eref)
			return foreach_current_index(cell) + 1;
	return 0;
}

/* Plan a query and watch it. */
static PlannedStmt *
plan_watched(Planning *mine, Query *query, const char *text)
{
	Planning   *outer = planning;
	PlannedStmt *plan = NULL;

	PG_TRY();
	{
		planning = mine;
		plan = standard_planner(query, text, CURSOR_OPT_PARALLEL_OK, mine->params);
	}
	PG_FINALLY();
	{
		planning = outer;
	}
	PG_END_TRY();
	CheckPrivileges(plan);
	return plan;
}

/* Whether a list has a query that is within the same one. */
static bool
has_sibling(const List *roots, const PlannerInfo *root)
{
	ListCell   *cell;

	foreach(cell, roots)
		if (((PlannerInfo *) lfirst(cell))->parent_root == root->parent_root)
			return true;
	return false;
}

/* The queries for a min or max that took the place of the query around them; of several for one of these the first. */
static List *
chosen_min_max(const Planning *mine)
{
	List	   *chosen = NIL;
	ListCell   *cell;

	foreach(cell, mine->scans)
	{
		PredicateScan *scan = lfirst(cell);

		if (scan->min_max != NULL && scan->rti != 0 && !has_sibling(chosen, scan->min_max))
			chosen = lappend(chosen, scan->min_max);
	}
	return chosen;
}

/* Whether a scan is one of the plan, given the queries for a min or max that are. */
static bool
is_used(const PredicateScan *scan, const List *min_max)
{
	ListCell   *cell;

	if (is_dropped(scan->root))
		return false;
	if (scan->min_max)
		return list_member_ptr(min_max, scan->min_max);
	foreach(cell, min_max)
	{
		PlannerInfo *replaced = ((PlannerInfo *) lfirst(cell))->parent_root;

		if (scan->root == replaced)
			return false;
		/* A query in its FROM is not in the plan, one in its WHERE is. */
		for (PlannerInfo *root = scan->root; root; root = root->parent_root)
			if (root == replaced && scan->rti == 0)
				return false;
	}
	return true;
}

/* The tables that a query reads. */
static List *
read_scans(Query *query, const char *text)
{
	Planning	mine = {makeParamList(0), NIL};
	PlannedStmt *plan = plan_watched(&mine, query, text);
	List	   *scans = NIL;
	List	   *min_max;
	ListCell   *cell;

	foreach(cell, mine.scans)
	{
		PredicateScan *scan = lfirst(cell);

		scan->plan = plan;
		scan->rti = plan_rti(plan, planner_rt_fetch(scan->rel->relid, scan->root));
	}
	min_max = chosen_min_max(&mine);
	foreach(cell, mine.scans)
		if (is_used(lfirst(cell), min_max))
			scans = lappend(scans, lfirst(cell));
	return scans;
}

/* How many rows an INSERT writes, 0 if they come from a query. */
static int
insert_rows(Query *query)
{
	List	   *from = query->jointree->fromlist;
	RangeTblEntry *rte;

	if (from == NIL)
		return 1;
	rte = rt_fetch(linitial_node(RangeTblRef, from)->rtindex, query->rtable);
	return rte->rtekind == RTE_VALUES ? list_length(rte->values_lists) : 0;
}

/* The rows that an INSERT writes, each of its columns bound to what they have there. */
static PredicateScan *
insert_scan(Query *query)
{
	PredicateScan *scan = palloc0(sizeof(PredicateScan));
	int			rows = insert_rows(query);
	ListCell   *cell;

	scan->relid = rt_fetch(query->resultRelation, query->rtable)->relid;
	scan->command = CMD_INSERT;
	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst(cell);
		Node	   *column = (Node *) makeVar(1, target->resno, exprType((Node *) target->expr), -1, InvalidOid, 0);
		BoundExpression *bound = make_bound(column, NULL, InvalidOid, InvalidOid);

		bound->values = rows;
		bound->constant = false;
		scan->bound = lappend(scan->bound, bound);
	}
	return scan;
}

/* The INSERTs of a statement: it is one, or has some in its WITH. */
static List *
insert_scans(Query *query)
{
	List	   *scans = NIL;
	ListCell   *cell;

	foreach(cell, query->cteList)
		scans = list_concat(scans, insert_scans(castNode(Query, lfirst_node(CommonTableExpr, cell)->ctequery)));
	if (query->commandType == CMD_INSERT)
		scans = lappend(scans, insert_scan(query));
	return scans;
}

/* A statement around another. */
static void
error_around(Node *command)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the query in %s has to be given alone", CreateCommandName(command)),
			 errhint("Give the SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE without what is around it.")));
}

/* Parse a text that must be one statement that can be planned. */
static RawStmt *
parse_one(const char *text)
{
	List	   *statements = pg_parse_query(text);
	RawStmt    *raw;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 statements == NIL ? errmsg("there is no statement in the text")
				 : errmsg("there are %d statements in the text", list_length(statements)),
				 errhint("Give one statement at a time.")));
	raw = linitial_node(RawStmt, statements);
	switch (nodeTag(raw->stmt))
	{
		case T_SelectStmt:
		case T_InsertStmt:
		case T_UpdateStmt:
		case T_DeleteStmt:
		case T_MergeStmt:
			return raw;
		case T_ExplainStmt:
		case T_DeclareCursorStmt:
		case T_CreateTableAsStmt:
		case T_PrepareStmt:
		case T_ViewStmt:
		case T_CopyStmt:
			error_around(raw->stmt);
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("%s is no statement that reads or writes rows", CreateCommandName(raw->stmt)),
					 errhint("Give a SELECT, VALUES, INSERT, UPDATE, DELETE or MERGE.")));
	}
	return NULL;
}

/* The place of an error is one in the text, which is not what the client sent. */
static void
error_in_text(void *text)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
}

static List *
scans_of(const char *text, PredicateFilter filter, void *context)
{
	Oid		   *types = NULL;
	int			ntypes = 0;
	List	   *scans = NIL;
	RawStmt    *raw = parse_one(text);
	ListCell   *cell;

	foreach(cell, pg_analyze_and_rewrite_varparams(raw, text, &types, &ntypes, NULL))
	{
		Query	   *query = lfirst(cell);

		/* SELECT INTO, and what rules make of a statement. */
		if (query->commandType == CMD_UTILITY)
			error_around(query->utilityStmt);
		if (filter && !filter(query, context))
			continue;
		scans = list_concat(scans, insert_scans(query));
		scans = list_concat(scans, read_scans(query, text));
	}
	return scans;
}

List *
PredicateScans(const char *text, PredicateFilter filter, void *context)
{
	ErrorContextCallback callback = {error_context_stack, error_in_text, (void *) text};
	List	   *scans;

	error_context_stack = &callback;
	scans = scans_of(text, filter, context);
	error_context_stack = callback.previous;
	return scans;
}
