/*
 * cosmos.c
 *		How Cosmos DB would route the same conditions.
 *
 * Its items have no collations, one type of numbers, and strings for uuids and times,
 * so that the same equality can choose there where a cast or a collation keeps PostgreSQL
 * from it.  It has no joins of containers, and no sub-selects on others.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "cast.h"
#include "cosmos.h"

/* What a condition gives for a column, beside numbers of values. */
#define MANY				0	/* several values, how many is not known */
#define NO_VALUE			-1
#define ELSEWHERE			-2	/* values of other tables' rows */

typedef struct Column
{
	const PredicateScan *scan;
	AttrNumber	attnum;
} Column;

static int	values_of(const Column *column, Node *clause);

static bool is_elsewhere(Node *node, void *scan);

/* Whether a sub-select that the planner has made a parameter reads no table, as (SELECT 1). */
static bool
is_constant_param(const PredicateScan *scan, int param)
{
	for (PlannerInfo *root = scan->root; root != NULL; root = root->parent_root)
	{
		ListCell   *cell;

		foreach(cell, root->init_plans)
		{
			SubPlan    *subplan = lfirst(cell);

			if (list_member_int(subplan->setParam, param))
			{
				Plan	   *plan = list_nth(root->glob->subplans, subplan->plan_id - 1);

				return plan != NULL && IsA(plan, Result) && plan->lefttree == NULL && plan->initPlan == NIL &&
					!is_elsewhere((Node *) plan->targetlist, (void *) scan);
			}
		}
	}
	return false;
}

/* Whether a value is made of what comes from elsewhere in the plan. */
static bool
is_elsewhere(Node *node, void *scan)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC && !is_constant_param(scan, ((Param *) node)->paramid);
	if (IsA(node, Var) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, is_elsewhere, scan);
}

/* The number of values in a list in the FROM clause, or 0.  Other tables have numbers one higher than in the statement. */
static int
listed_values(const Column *column, Node *value)
{
	RangeTblEntry *rte;

	if (!IsA(value, Var) || ((Var *) value)->varno < 2)
		return 0;
	rte = planner_rt_fetch(((Var *) value)->varno - 1, column->scan->root);
	return rte->rtekind == RTE_VALUES ? list_length(rte->values_lists) : 0;
}

static int
array_length(Node *value)
{
	if (IsA(value, ArrayExpr) && !((ArrayExpr *) value)->multidims)
		return list_length(((ArrayExpr *) value)->elements);
	if (IsA(value, Const) && !((Const *) value)->constisnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(((Const *) value)->constvalue);

		return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	return MANY;
}

static bool
is_column(const Column *column, Node *expr)
{
	Cast		cast;

	expr = CastStrip(expr, &cast);
	return IsA(expr, Var) && ((Var *) expr)->varno == 1 && ((Var *) expr)->varattno == column->attnum && cast.nothing;
}

/* Whether an expression has the column in it. */
static bool
mentions(const Column *column, Node *expr)
{
	Bitmapset  *attnums = NULL;

	pull_varattnos(expr, 1, &attnums);
	return bms_is_member(column->attnum - FirstLowInvalidHeapAttributeNumber, attnums);
}

/*
 * column = value, whichever way round, or column = ANY (array).  What has to be equal to
 * values of other tables' rows can't be asked for, even if it is an expression of the column.
 */
static int
values_of_comparison(const Column *column, Oid operator, Oid collation, List *args, bool array)
{
	bool		turned = !mentions(column, linitial(args));
	Node	   *expr = turned ? lsecond(args) : linitial(args);
	Node	   *value = turned ? linitial(args) : lsecond(args);
	int			listed;
	Cast		cast;

	if (!mentions(column, expr) || PredicateOwn(value) || !PredicateIsEquality(operator) || contain_volatile_functions(value))
		return NO_VALUE;
	listed = listed_values(column, CastStrip(value, &cast));
	if (listed == 0 && is_elsewhere(value, (void *) column->scan))
		return ELSEWHERE;
	if (!is_column(column, expr) || (OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return NO_VALUE;
	if (listed > 0)
		return listed;
	return array ? array_length(value) : 1;
}

/* An OR has the values of all arms, if all have some. */
static int
values_of_or(const Column *column, List *arms)
{
	int			sum = 0;
	bool		many = false;
	ListCell   *cell;

	foreach(cell, arms)
	{
		int			values = values_of(column, lfirst(cell));

		if (values < 0)
			return values;
		many |= values == MANY;
		sum += values;
	}
	return many ? MANY : sum;
}

/* Of conditions that must all hold, the one with the fewest values counts. */
static int
values_of_all(const Column *column, List *clauses)
{
	int			best = NO_VALUE;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		int			values = values_of(column, lfirst(cell));

		if (values == NO_VALUE)
			continue;
		if (best == NO_VALUE || best == ELSEWHERE || (values > 0 && (best == MANY || values < best)))
			best = values;
	}
	return best;
}

/* How many values a condition gives for a column. */
static int
values_of(const Column *column, Node *clause)
{
	if (is_orclause(clause))
		return values_of_or(column, ((BoolExpr *) clause)->args);
	if (is_andclause(clause))
		return values_of_all(column, ((BoolExpr *) clause)->args);
	if (is_notclause(clause))
	{
		OpExpr	   *arg = (OpExpr *) get_notclausearg(clause);

		if (IsA(arg, DistinctExpr))
			return values_of_comparison(column, arg->opno, arg->inputcollid, arg->args, false);
		return is_column(column, (Node *) arg) ? 1 : NO_VALUE;
	}
	if (IsA(clause, BooleanTest))
	{
		BooleanTest *test = (BooleanTest *) clause;

		if (is_column(column, (Node *) test->arg))
			return test->booltesttype == IS_UNKNOWN || test->booltesttype == IS_NOT_UNKNOWN ? NO_VALUE : 1;
		return test->booltesttype == IS_TRUE ? values_of(column, (Node *) test->arg) : NO_VALUE;
	}
	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
		return values_of_comparison(column, ((OpExpr *) clause)->opno, ((OpExpr *) clause)->inputcollid, ((OpExpr *) clause)->args, false);
	if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
		return values_of_comparison(column, ((ScalarArrayOpExpr *) clause)->opno, ((ScalarArrayOpExpr *) clause)->inputcollid,
									((ScalarArrayOpExpr *) clause)->args, true);
	return is_column(column, clause) ? 1 : NO_VALUE;
}

/* The conditions that other tables' rows are in. */
static List *
foreign_clauses(List *joins)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, joins)
		if (PredicateForeign(lfirst(cell)))
			clauses = lappend(clauses, lfirst(cell));
	return clauses;
}

const char *
CosmosRouting(const PredicateScan *scan, const RoutingKey *key, const Routing *routing)
{
	List	   *bound = NIL;
	Routing		there;

	if (scan->command == CMD_INSERT)
		return RoutingName(routing->kind);
	for (int i = 0; i < key->container->levels; i++)
	{
		Column		column = {scan, key->attnums[i]};
		BoundExpression *level = palloc0(sizeof(BoundExpression));
		int			values = values_of_all(&column, scan->conditions);

		if (values == NO_VALUE)
			values = values_of_all(&column, foreign_clauses(scan->joins));
		if (i == 0 && values == ELSEWHERE)
			return "not possible";
		if (values < 0)
			break;
		level->expr = (Node *) makeVar(1, key->attnums[i], InvalidOid, -1, InvalidOid, 0);
		level->values = values;
		bound = lappend(bound, level);
	}
	there = RoutingOf(key, bound, false);
	return RoutingName(there.kind);
}
