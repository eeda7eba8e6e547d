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
#include "pattern.h"
#include "predicate.h"

typedef struct Column
{
	AttrNumber	attnum;
	Oid			family;
	Oid			collation;
	Oid			type;
} Column;

static Cause
make_cause(CauseKind kind, const char *what)
{
	Cause		cause = {.kind = kind,.what = what};

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

/* A function in words, as its SQL syntax has it where that has another name. */
static char *
function_in_words(Oid function)
{
	char	   *name = get_func_name(function);

	if (strcmp(name, "timezone") == 0)
		return pstrdup("AT TIME ZONE");
	return psprintf("function %s", strcmp(name, "btrim") == 0 ? "trim" : name);
}

/* The column is compared inside of an expression. */
static Cause
cause_of_expression(Node *expr)
{
	Cast		cast;

	expr = CastStrip(expr, &cast);
	if (IsA(expr, FuncExpr))
		return make_cause(CAUSE_FUNCTION, function_in_words(((FuncExpr *) expr)->funcid));
	if (IsA(expr, OpExpr))
		return make_cause(CAUSE_FUNCTION, psprintf("operator %s", get_opname(((OpExpr *) expr)->opno)));
	return make_cause(CAUSE_FUNCTION, "an expression");
}

/* Patterns by their operators, as SQL has them where it does. */
static const char *
pattern_name(const char *operator, Node *value)
{
	static const char *const patterns[][2] = {
		{"~~", "LIKE"}, {"!~~", "NOT LIKE"}, {"~~*", "ILIKE"}, {"!~~*", "NOT ILIKE"},
		{"~", "~"}, {"!~", "!~"}, {"~*", "~*"}, {"!~*", "!~*"}, {"^@", "^@"}
	};

	if (PatternIsSimilarTo(value) && strcmp(operator, "~") == 0)
		return "SIMILAR TO";
	if (PatternIsSimilarTo(value) && strcmp(operator, "!~") == 0)
		return "NOT SIMILAR TO";
	for (size_t i = 0; i < lengthof(patterns); i++)
		if (strcmp(operator, patterns[i][0]) == 0)
			return patterns[i][1];
	return NULL;
}

/* The column is compared by an operator that is no equality. */
static Cause
cause_of_operator(Oid operator, Node *value)
{
	Oid			negator = get_negator(operator);
	char	   *name = get_opname(operator);
	const char *pattern = pattern_name(name, value);

	if (pattern)
	{
		Cause		cause = make_cause(strncmp(name, "!", 1) == 0 ? CAUSE_INEQUALITY : CAUSE_PATTERN, pattern);

		cause.value = value;
		return cause;
	}
	if (OidIsValid(negator) && PredicateIsEquality(negator))
		return make_cause(CAUSE_INEQUALITY, name);
	if (get_op_index_interpretation(operator) != NIL)
		return make_cause(CAUSE_RANGE, name);
	return make_cause(CAUSE_OPERATOR, name);
}

static Cause
cause_of_type(CauseKind kind, CastFit fit, Oid type, Node *value)
{
	Cause		cause = {.kind = kind,.what = format_type_be(type),.type = type,.fit = fit,.value = value};

	return cause;
}

/* "column = value": by which of its parts does it not prune? */
static Cause
cause_of_equality(const Column *column, Oid operator, Oid collation, Node *value, bool array)
{
	Oid			type = array ? get_element_type(exprType(value)) : exprType(value);

	if (has_subselect(value, NULL) && PredicateOwn(value))
		return make_cause(CAUSE_SAME_ROW, "a sub-select that is run for each row");
	if (get_op_opfamily_strategy(operator, column->family) != HTEqualStrategyNumber)
		return cause_of_type(CAUSE_TYPE, CastFitOfValue(getBaseType(column->type), getBaseType(type)), type, value);
	if (OidIsValid(column->collation) && collation != column->collation)
	{
		Cause		cause = make_cause(CAUSE_COLLATION, get_collation_name(collation));

		cause.fit = get_collation_isdeterministic(collation) ? CAST_SAME : CAST_MANY;
		return cause;
	}
	if (PredicateOwn(value))
		return make_cause(CAUSE_SAME_ROW, "a column of the same row");
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
	Cast		cast;
	Cast		other;
	Node	   *left = linitial(args);
	Node	   *value = lsecond(args);
	Node	   *expr = CastStrip(left, &cast);

	if (!mentions(expr, &attnum) || (!IsA(expr, Var) && IsA(CastStrip(value, &other), Var) && mentions(value, &attnum)))
	{
		left = value;
		expr = CastStrip(left, &cast);
		value = linitial(args);
		operator = get_commutator(operator);
	}
	if (!IsA(expr, Var))
		return cause_of_expression(left);
	if (!OidIsValid(operator))
		return make_cause(CAUSE_FUNCTION, "an expression");
	if (!PredicateIsEquality(operator))
		return cause_of_operator(operator, value);
	if (OidIsValid(cast.type))
		return cause_of_type(cast.implicit ? CAUSE_TYPE : CAUSE_CAST, cast.fit, cast.type, value);
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
cause_of_not(const Column *column, Node *arg)
{
	if (IsA(arg, DistinctExpr))
	{
		DistinctExpr *distinct = (DistinctExpr *) arg;
		Cause		cause = cause_of_comparison(column, distinct->opno, distinct->inputcollid, distinct->args, false);

		return cause.kind == CAUSE_UNPRUNED ? make_cause(CAUSE_NOT_DISTINCT, NULL) : cause;
	}
	if (IsA(arg, SubPlan) || IsA(arg, AlternativeSubPlan))
		return make_cause(CAUSE_INEQUALITY, IsA(arg, SubPlan) && ((SubPlan *) arg)->subLinkType == ANY_SUBLINK ? "NOT IN" : "NOT EXISTS");
	return make_cause(CAUSE_INEQUALITY, "NOT");
}

/* IS TRUE and the like, of a boolean column or of a condition on the column. */
static Cause
cause_of_test(const Column *column, const BooleanTest *test)
{
	static const char *const names[] = {"IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN"};
	const char *name = names[test->booltesttype];
	Node	   *arg = (Node *) test->arg;
	Cause		cause;

	if (IsA(arg, Var))
	{
		if (test->booltesttype == IS_UNKNOWN || test->booltesttype == IS_NOT_UNKNOWN)
			return make_cause(CAUSE_NULL_TEST, name);
		return make_cause(CAUSE_IS_TRUE, test->booltesttype == IS_TRUE || test->booltesttype == IS_NOT_FALSE ? "true" : "false");
	}
	if (test->booltesttype == IS_NOT_TRUE || test->booltesttype == IS_FALSE)
		return make_cause(CAUSE_INEQUALITY, name);
	if (test->booltesttype != IS_TRUE)
		return make_cause(CAUSE_FUNCTION, name);
	cause = cause_of_clause(column, arg);
	return cause.kind == CAUSE_UNPRUNED ? make_cause(CAUSE_IS_TRUE, NULL) : cause;
}

static Cause
cause_of_subplan(const Column *column, const SubPlan *subplan)
{
	AttrNumber	attnum = column->attnum;

	/* column IN (SELECT ..) that is tested row by row */
	if (subplan->subLinkType == ANY_SUBLINK && subplan->args == NIL && mentions(subplan->testexpr, &attnum))
		return make_cause(CAUSE_SUBSELECT, NULL);
	return make_cause(CAUSE_SAME_ROW, "a sub-select that is run for each row");
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
		return cause_of_not(column, (Node *) get_notclausearg(clause));
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
			return cause_of_test(column, (BooleanTest *) clause);
		case T_NullTest:
			/* That a key is not NULL is no condition; the planner adds it for a min or max. */
			return make_cause(((NullTest *) clause)->nulltesttype == IS_NULL ? CAUSE_NULL_TEST : CAUSE_NONE, "IS NULL");
		case T_RowCompareExpr:
			return make_cause(CAUSE_RANGE, "a comparison of rows");
		case T_SubPlan:
			return cause_of_subplan(column, (SubPlan *) clause);
		case T_AlternativeSubPlan:
			return make_cause(CAUSE_SAME_ROW, "a sub-select that is run for each row");
		case T_Var:
			return make_cause(CAUSE_UNPRUNED, NULL);
		default:
			break;
	}
	return cause_of_expression(clause);
}

/* BETWEEN has become two conditions. */
static bool
has_upper_bound(const Column *column, List *conditions)
{
	ListCell   *cell;

	foreach(cell, conditions)
	{
		Cause		cause = cause_of_clause(column, lfirst(cell));

		if (cause.kind == CAUSE_RANGE && strcmp(cause.what, "<=") == 0)
			return true;
	}
	return false;
}

Cause
CauseOf(const RoutingKey *key, int level, List *conditions, List *joins)
{
	Column		column = {key->attnums[level], key->families[level], key->collations[level], ContainerColumnType(key->container, level)};
	Cause		cause = cause_of_and(&column, conditions);

	if (cause.kind == CAUSE_RANGE && strcmp(cause.what, ">=") == 0 && has_upper_bound(&column, conditions))
		cause.what = "BETWEEN";
	if (cause.kind == CAUSE_NONE)
	{
		cause = cause_of_and(&column, joins);
		if (cause.kind == CAUSE_UNPRUNED)
			cause.kind = CAUSE_LATE;
	}
	return cause;
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
			return psprintf("is tested for NULL (%s), which a key never is", cause.what);
		case CAUSE_OPERATOR:
			return psprintf("is compared by an operator (%s) that is no equality of the key", cause.what);
		case CAUSE_VOLATILE:
			return "is compared with a volatile expression, which may differ from row to row";
		case CAUSE_SAME_ROW:
			return psprintf("is compared with %s", cause.what);
		case CAUSE_ARRAY:
			return "is compared with an array that was not known when the statement was planned";
		case CAUSE_SUBSELECT:
			return "is compared with a sub-select, which is known only while the statement runs";
		case CAUSE_JOIN:
			return "is compared with another table's rows, which are known only while the statement runs";
		case CAUSE_LATE:
			return "has a condition that comes after its rows are read: in an outer join, or outside of a sub-select";
		case CAUSE_UNPRUNED:
			return "has a condition that was not used to prune";
	}
	return NULL;
}

/* The pattern's only match, if there is one. */
static char *
pattern_hint(const char *column, Cause cause)
{
	char	   *only = PatternOnlyMatch(cause.what, cause.value);

	if (only)
		return psprintf("Write %s = %s: the pattern matches nothing else.", column, quote_literal_cstr(only));
	return psprintf("Name the values: %s = ..., %s IN (...). Keep what is searched for by pattern or range in another column.",
					column, column);
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

	switch (cause.kind)
	{
		case CAUSE_NONE:
			return psprintf("Add the condition %s = ...", column);
		case CAUSE_OR:
			return psprintf("Write two statements, or a UNION of two, which leaves out what both find;"
							" or add a condition %s = ... to the other side of the OR.", column);
		case CAUSE_PATTERN:
			return pattern_hint(column, cause);
		case CAUSE_RANGE:
			return psprintf("Name the values: %s = ..., %s IN (...). Keep what is searched for by pattern or range in another column.",
							column, column);
		case CAUSE_INEQUALITY:
			return psprintf("Name the values that are wanted: %s IN (...).", column);
		case CAUSE_FUNCTION:
			return psprintf("Keep the value in the key in the form that is searched for, and write %s = ... for the column alone.", column);
		case CAUSE_CAST:
		case CAUSE_TYPE:
			return CastHint(column, typid, cause.fit, cause.type, cause.value);
		case CAUSE_COLLATION:
			if (cause.fit == CAST_MANY)
				return psprintf("Several values are equal under that collation. Name them: %s IN (...).", column);
			return psprintf("Use the collation of the column: %s = (...) COLLATE %s.", column,
							quote_identifier(get_collation_name(key->collations[level])));
		case CAUSE_NOT_DISTINCT:
			return psprintf("Write %s = ..., since a key is never NULL.", column);
		case CAUSE_IS_TRUE:
			return cause.what ? psprintf("Write %s = %s.", column, cause.what) : pstrdup("Write the condition without IS TRUE.");
		case CAUSE_NULL_TEST:
			return psprintf("It says the same of each row. Add the condition %s = ... with a value.", column);
		case CAUSE_OPERATOR:
		case CAUSE_SAME_ROW:
			return psprintf("Add the condition %s = ... with a value.", column);
		case CAUSE_VOLATILE:
			return psprintf("If one value is meant, compute it first, and give it as a parameter: %s = $1.", column);
		case CAUSE_ARRAY:
			return psprintf("Write %s IN ($1, $2, ...), or SET plan_cache_mode = force_custom_plan and give the array as a parameter.",
							column);
		case CAUSE_SUBSELECT:
			return psprintf("Read those values first, and give them as a parameter: %s = any ($1).", column);
		case CAUSE_JOIN:
			return psprintf("One side has to be read first. Give its values to the other as a parameter: %s = any ($1).", column);
		case CAUSE_LATE:
			if (command == CMD_MERGE)
				return "What is done WHEN NOT MATCHED BY SOURCE can be a DELETE or UPDATE of its own, with the condition in WHERE.";
			return psprintf("Put it where it limits what is read: %s = ... in WHERE, inside of the sub-select.", column);
		case CAUSE_UNPRUNED:
			return unpruned_hint();
	}
	return NULL;
}
