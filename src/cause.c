/*
 * cause.c
 *		Why conditions on a key column don't choose partitions.
 *
 * Pruning takes the bare column, an equality of the operator family that the
 * container divides by, the column's collation, and a value that is known by
 * the time.  What a condition has instead is found from its expression tree.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "cause.h"
#include "compat.h"
#include "predicate.h"

typedef struct Column
{
	AttrNumber	attnum;
	Oid			family;
	Oid			collation;
} Column;

static Cause
make_cause(CauseKind kind, const char *what)
{
	Cause		cause = {kind, what, InvalidOid};

	return cause;
}

static bool
mentions(Node *node, void *attnum)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == 1 && ((Var *) node)->varattno == *(AttrNumber *) attnum;
	return expression_tree_walker(node, mentions, attnum);
}

static bool
has_subselect(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, has_subselect, unused);
}

static Node *
strip_relabel(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* The argument of a cast and how it was written; NULL for what is no cast. */
static Node *
cast_argument(Node *node, CoercionForm *form)
{
	if (IsA(node, CoerceViaIO))
	{
		*form = ((CoerceViaIO *) node)->coerceformat;
		return (Node *) ((CoerceViaIO *) node)->arg;
	}
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CALL && ((FuncExpr *) node)->args != NIL)
	{
		*form = ((FuncExpr *) node)->funcformat;
		return linitial(((FuncExpr *) node)->args);
	}
	return NULL;
}

/* The column is compared inside of an expression: a cast or something else. */
static Cause
cause_of_expression(Node *expr)
{
	CoercionForm form = COERCE_EXPLICIT_CALL;
	Node	   *arg = cast_argument(expr, &form);

	if (arg != NULL && IsA(strip_relabel(arg), Var))
		return (Cause) {form == COERCE_IMPLICIT_CAST ? CAUSE_TYPE : CAUSE_CAST, format_type_be(exprType(expr)), exprType(expr)};
	while (arg != NULL)
	{
		expr = strip_relabel(arg);
		arg = cast_argument(expr, &form);
	}
	if (IsA(expr, FuncExpr))
		return make_cause(CAUSE_FUNCTION, psprintf("function %s", get_func_name(((FuncExpr *) expr)->funcid)));
	if (IsA(expr, OpExpr))
		return make_cause(CAUSE_FUNCTION, psprintf("operator %s", get_opname(((OpExpr *) expr)->opno)));
	return make_cause(CAUSE_FUNCTION, "an expression");
}

static bool
is_pattern(const char *operator)
{
	static const char *const patterns[] = {"~~", "~~*", "!~~", "!~~*", "~", "~*", "!~", "!~*", "^@"};

	for (size_t i = 0; i < lengthof(patterns); i++)
		if (strcmp(operator, patterns[i]) == 0)
			return true;
	return false;
}

/* The bare column is compared by an operator that is no equality. */
static Cause
cause_of_operator(Oid operator)
{
	Oid			negator = get_negator(operator);
	char	   *name = get_opname(operator);

	if (is_pattern(name))
		return make_cause(CAUSE_PATTERN, strcmp(name, "~~") == 0 ? "LIKE" : strcmp(name, "~~*") == 0 ? "ILIKE" : name);
	if (OidIsValid(negator) && PredicateIsEquality(negator))
		return make_cause(CAUSE_INEQUALITY, name);
	if (get_op_index_interpretation(operator) != NIL)
		return make_cause(CAUSE_RANGE, name);
	return make_cause(CAUSE_OPERATOR, name);
}

/* "column = value": by which of its parts does it not prune? */
static Cause
cause_of_equality(const Column *column, Oid operator, Oid collation, Node *value, bool array)
{
	if (get_op_opfamily_strategy(operator, column->family) != HTEqualStrategyNumber)
		return make_cause(CAUSE_TYPE, format_type_be(array ? get_element_type(exprType(value)) : exprType(value)));
	if (OidIsValid(column->collation) && collation != column->collation)
		return make_cause(CAUSE_COLLATION, get_collation_name(collation));
	if (PredicateOwn(value))
		return make_cause(CAUSE_SAME_ROW, NULL);
	if (contain_volatile_functions(value))
		return make_cause(CAUSE_VOLATILE, NULL);
	if (PredicateForeign(value))
		return make_cause(CAUSE_JOIN, NULL);
	if (has_subselect(value, NULL))
		return make_cause(CAUSE_SUBSELECT, NULL);
	return make_cause(array && !IsA(value, Const) && !IsA(value, ArrayExpr) ? CAUSE_ARRAY : CAUSE_UNPRUNED, NULL);
}

static Cause
cause_of_comparison(const Column *column, Oid operator, Oid collation, List *args, bool array)
{
	AttrNumber	attnum = column->attnum;
	Node	   *expr = strip_relabel(linitial(args));
	Node	   *value = lsecond(args);

	if (!mentions(expr, &attnum) || (!IsA(expr, Var) && IsA(strip_relabel(value), Var) && mentions(value, &attnum)))
	{
		expr = strip_relabel(value);
		value = linitial(args);
		operator = get_commutator(operator);
	}
	if (!IsA(expr, Var))
		return cause_of_expression(expr);
	if (!OidIsValid(operator))
		return make_cause(CAUSE_FUNCTION, "an expression");
	if (!PredicateIsEquality(operator))
		return cause_of_operator(operator);
	return cause_of_equality(column, operator, collation, value, array);
}

static Cause cause_of_clause(const Column *column, Node *clause);

/* An OR whose arms don't all have the column in them, else the cause of the first arm that has one. */
static Cause
cause_of_or(const Column *column, List *arms)
{
	AttrNumber	attnum = column->attnum;
	Cause		cause = make_cause(CAUSE_UNPRUNED, NULL);
	ListCell   *cell;

	foreach(cell, arms)
		if (!mentions(lfirst(cell), &attnum))
			return make_cause(CAUSE_OR, NULL);
	foreach(cell, arms)
	{
		cause = cause_of_clause(column, lfirst(cell));
		if (cause.kind != CAUSE_UNPRUNED)
			break;
	}
	return cause;
}

static Cause
cause_of_and(const Column *column, List *arms)
{
	Cause		cause = make_cause(CAUSE_NONE, NULL);
	ListCell   *cell;

	foreach(cell, arms)
	{
		cause = cause_of_clause(column, lfirst(cell));
		if (cause.kind != CAUSE_NONE)
			break;
	}
	return cause;
}

static Cause
cause_of_clause(const Column *column, Node *clause)
{
	AttrNumber	attnum = column->attnum;

	if (!mentions(clause, &attnum))
		return make_cause(CAUSE_NONE, NULL);
	if (is_orclause(clause))
		return cause_of_or(column, ((BoolExpr *) clause)->args);
	if (is_andclause(clause))
		return cause_of_and(column, ((BoolExpr *) clause)->args);
	if (is_notclause(clause))
	{
		Node	   *arg = (Node *) get_notclausearg(clause);

		if (IsA(arg, DistinctExpr))
			return make_cause(CAUSE_NOT_DISTINCT, NULL);
		if (IsA(arg, SubPlan) || IsA(arg, AlternativeSubPlan))
			return make_cause(CAUSE_SUBSELECT, NULL);
		return make_cause(CAUSE_INEQUALITY, "NOT");
	}
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			if (list_length(((OpExpr *) clause)->args) != 2)
				break;
			return cause_of_comparison(column, ((OpExpr *) clause)->opno, ((OpExpr *) clause)->inputcollid,
									   ((OpExpr *) clause)->args, false);
		case T_ScalarArrayOpExpr:
			if (!((ScalarArrayOpExpr *) clause)->useOr && PredicateIsEquality(((ScalarArrayOpExpr *) clause)->opno))
				return make_cause(CAUSE_OPERATOR, "= ALL");
			return cause_of_comparison(column, ((ScalarArrayOpExpr *) clause)->opno, ((ScalarArrayOpExpr *) clause)->inputcollid,
									   ((ScalarArrayOpExpr *) clause)->args, true);
		case T_DistinctExpr:
			return make_cause(CAUSE_INEQUALITY, "IS DISTINCT FROM");
		case T_BooleanTest:
			return make_cause(CAUSE_IS_TRUE, NULL);
		case T_NullTest:
			/* That a key is not NULL is no condition; the planner adds it for a min or max. */
			return make_cause(((NullTest *) clause)->nulltesttype == IS_NULL ? CAUSE_NULL_TEST : CAUSE_NONE, NULL);
		case T_RowCompareExpr:
			return make_cause(CAUSE_RANGE, "a comparison of rows");
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return make_cause(CAUSE_SUBSELECT, NULL);
		case T_Var:
			return make_cause(CAUSE_UNPRUNED, NULL);
		default:
			break;
	}
	return cause_of_expression(clause);
}

Cause
CauseOf(const RoutingKey *key, int level, List *conditions, List *joins)
{
	Column		column = {key->attnums[level], key->families[level], key->collations[level]};
	Cause		cause = cause_of_and(&column, conditions);

	if (cause.kind == CAUSE_NONE)
	{
		cause = cause_of_and(&column, joins);
		if (cause.kind == CAUSE_UNPRUNED)
			cause.kind = CAUSE_OUTER_JOIN;
	}
	return cause;
}

bool
CauseIsElsewhere(const RoutingKey *key, int level, List *conditions, List *joins)
{
	AttrNumber	attnum = key->attnums[level];
	ListCell   *cell;

	foreach(cell, list_concat_copy(conditions, joins))
	{
		Node	   *clause = lfirst(cell);

		if (mentions(clause, &attnum) && (PredicateForeign(clause) || has_subselect(clause, NULL)))
			return true;
	}
	return false;
}

/* Whether a cast leaves a value what it is in Cosmos DB: numbers to numbers, what is a string there to strings. */
static bool
cast_is_nothing(Oid from, Oid to)
{
	char		from_category;
	char		to_category;
	bool		preferred;

	get_type_category_preferred(getBaseType(from), &from_category, &preferred);
	get_type_category_preferred(to, &to_category, &preferred);
	if (from_category == TYPCATEGORY_NUMERIC)
		return to_category == TYPCATEGORY_NUMERIC;
	return to_category == TYPCATEGORY_STRING && from_category != TYPCATEGORY_BOOLEAN && getBaseType(from) != JSONBOID;
}

bool
CauseIsPostgresOnly(const RoutingKey *key, int level, Cause cause)
{
	switch (cause.kind)
	{
		case CAUSE_TYPE:
		case CAUSE_COLLATION:
		case CAUSE_NOT_DISTINCT:
		case CAUSE_IS_TRUE:
		case CAUSE_UNPRUNED:
			return true;
		case CAUSE_CAST:
			return cast_is_nothing(ContainerColumnType(key->container, level), cause.type);
		default:
			return false;
	}
}

/* What is wrong with the condition on the column, to go after the level's name. */
static char *
cause_text(Cause cause)
{
	switch (cause.kind)
	{
		case CAUSE_NONE:
			return "has no condition";
		case CAUSE_OR:
			return "is in an OR with something else, which may be true in any partition";
		case CAUSE_PATTERN:
			return psprintf("is compared by a pattern (%s), and a hash has no order", cause.what);
		case CAUSE_RANGE:
			return psprintf("is compared by a range (%s), and a hash has no order", cause.what);
		case CAUSE_INEQUALITY:
			return psprintf("is excluded (%s), which leaves all other values", cause.what);
		case CAUSE_FUNCTION:
			return psprintf("is inside of %s, but the column itself is hashed", cause.what);
		case CAUSE_CAST:
			return psprintf("is cast to %s, but the column itself is hashed", cause.what);
		case CAUSE_TYPE:
			return psprintf("is compared with another type (%s), by an equality that is not the key's", cause.what);
		case CAUSE_COLLATION:
			return psprintf("is compared under another collation (\"%s\")", cause.what);
		case CAUSE_NOT_DISTINCT:
			return "is compared by IS NOT DISTINCT FROM, which does not prune";
		case CAUSE_IS_TRUE:
			return "is tested by IS, which does not prune";
		case CAUSE_NULL_TEST:
			return "is tested for NULL, which a key never is";
		case CAUSE_OPERATOR:
			return psprintf("is compared by an operator (%s) that is no equality of the key", cause.what);
		case CAUSE_VOLATILE:
			return "is compared with a volatile expression, which may differ from row to row";
		case CAUSE_SAME_ROW:
			return "is compared with a column of the same row";
		case CAUSE_ARRAY:
			return "is compared with an array that was not known when the statement was planned";
		case CAUSE_SUBSELECT:
			return "is compared with a sub-select, which is known only while the statement runs";
		case CAUSE_JOIN:
			return "is compared with another table's rows, which are known only while the statement runs";
		case CAUSE_OUTER_JOIN:
			return "has its condition in an outer join, which keeps all rows of the table";
		case CAUSE_UNPRUNED:
			return "has a condition that was not used to prune";
	}
	return NULL;
}

char *
CauseReason(const RoutingKey *key, int level, Cause cause)
{
	return psprintf("level %d (%s) %s", level + 1, key->container->paths[level], cause_text(cause));
}

/* Which setting keeps a condition from pruning. */
static char *
unpruned_hint(void)
{
	if (!enable_partition_pruning)
		return "SET enable_partition_pruning = on.";
	if (enable_partitionwise_aggregate || enable_partitionwise_join)
		return psprintf("SET %s = off: such a plan chooses by constants only.",
						enable_partitionwise_aggregate ? "enable_partitionwise_aggregate" : "enable_partitionwise_join");
	return "See that constraint_exclusion is not off, for a boolean key.";
}

char *
CauseHint(const RoutingKey *key, int level, CmdType command, Cause cause)
{
	const char *column = quote_identifier(key->container->columns[level]);
	Oid			typid = ContainerColumnType(key->container, level);
	char	   *type = format_type_be(typid);

	switch (cause.kind)
	{
		case CAUSE_NONE:
			return psprintf("Add the condition %s = ...", column);
		case CAUSE_OR:
			return psprintf("Write two statements, or a UNION ALL of two, or add a condition %s = ... to the other side of the OR.",
							column);
		case CAUSE_PATTERN:
		case CAUSE_RANGE:
			return psprintf("Name the values: %s = ..., %s IN (...). Keep what is searched for by pattern or range in another column.",
							column, column);
		case CAUSE_INEQUALITY:
			return psprintf("Name the values that are wanted: %s IN (...).", column);
		case CAUSE_FUNCTION:
			return psprintf("Write %s = ... for the column alone; keep the value in it in the form that is searched for.", column);
		case CAUSE_CAST:
		case CAUSE_TYPE:
			return psprintf("Cast the value instead: %s = (...)::%s.", column, type);
		case CAUSE_COLLATION:
			return psprintf("Use the collation of the column: %s = (...) COLLATE %s.", column,
							quote_identifier(get_collation_name(key->collations[level])));
		case CAUSE_NOT_DISTINCT:
			return psprintf("Write %s = ..., since a key is never NULL.", column);
		case CAUSE_IS_TRUE:
			return psprintf("Write %s = true or %s = false.", column, column);
		case CAUSE_NULL_TEST:
		case CAUSE_OPERATOR:
		case CAUSE_SAME_ROW:
			return psprintf("Write %s = ... with a value.", column);
		case CAUSE_VOLATILE:
			return psprintf("Compute the value first, and give it as a parameter: %s = $1.", column);
		case CAUSE_ARRAY:
			return psprintf("Write %s IN ($1, $2, ...), or SET plan_cache_mode = force_custom_plan and give the array as a parameter.",
							column);
		case CAUSE_SUBSELECT:
		case CAUSE_JOIN:
			return psprintf("Read those values first, and give them as a parameter: %s = any ($1).", column);
		case CAUSE_OUTER_JOIN:
			if (command == CMD_MERGE)
				return "What is done WHEN NOT MATCHED BY SOURCE can be a DELETE or UPDATE of its own, with the condition in WHERE.";
			return "Write the condition in WHERE.";
		case CAUSE_UNPRUNED:
			return unpruned_hint();
	}
	return NULL;
}
