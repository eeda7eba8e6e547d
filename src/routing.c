/*
 * routing.c
 *		How a statement's conditions choose among the partitions of a container.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_inherits.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"

#include "cause.h"
#include "layout.h"
#include "predicate.h"
#include "routing.h"

RoutingKey *
RoutingKeyOf(const Container *container)
{
	RoutingKey *key = palloc0(sizeof(RoutingKey));

	key->container = container;
	key->children = list_length(find_inheritance_children(container->relid, NoLock));
	for (int i = 0; i < container->levels; i++)
	{
		Oid			typid;
		int32		typmod;

		key->attnums[i] = get_attnum(container->relid, container->columns[i]);
		/* A column that was renamed or altered while event triggers were off is never bound. */
		if (key->attnums[i] == InvalidAttrNumber || ComponentTypeName(ContainerColumnType(container, i)) == NULL)
			continue;
		key->families[i] = LayoutOperatorFamily(container, i);
		get_atttypetypmodcoll(container->relid, key->attnums[i], &typid, &typmod, &key->collations[i]);
	}
	return key;
}

const char *
RoutingName(RoutingKind kind)
{
	static const char *const names[] = {"single", "keys", "prefix", "fan-out"};

	return names[kind];
}

/* The level whose bare column an expression is, or -1. */
static int
expression_level(const RoutingKey *key, Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	for (int i = 0; IsA(expr, Var) && i < key->container->levels; i++)
		if (((Var *) expr)->varattno == key->attnums[i] && OidIsValid(key->families[i]))
			return i;
	return -1;
}

/*
 * Whether PostgreSQL can prune by it.  An array that is a parameter is known if
 * the plan is made for its value.
 */
static bool
can_prune(const RoutingKey *key, int level, const BoundExpression *bound, bool executed)
{
	if (bound->joined)
		return false;
	if (OidIsValid(bound->operator) &&
		get_op_opfamily_strategy(bound->operator, key->families[level]) != HTEqualStrategyNumber)
		return false;
	if (OidIsValid(bound->operator) && OidIsValid(key->collations[level]) && bound->collation != key->collations[level])
		return false;
	if (bound->array)
		return !executed && IsA(bound->value, Param) && ((Param *) bound->value)->paramkind == PARAM_EXTERN;
	return true;
}

/* How many values a level has at most; 0 if that isn't known.  A list has its length even if a sub-select gives some of them. */
static int
values_of(const BoundExpression *bound, bool executed)
{
	if (bound->values == 0 && !executed && !bound->joined && bound->value && IsA(bound->value, ArrayExpr) &&
		!((ArrayExpr *) bound->value)->multidims)
		return list_length(((ArrayExpr *) bound->value)->elements);
	return bound->values;
}

/* The kind that the levels which are bound make. */
static void
set_kind(Routing *routing, int levels)
{
	bool		one = true;

	routing->leading = 0;
	while (routing->leading < levels && routing->bound[routing->leading])
		one &= routing->values[routing->leading++] == 1;
	if (routing->leading == levels)
		routing->kind = one ? ROUTING_SINGLE : ROUTING_KEYS;
	else
		routing->kind = routing->leading > 0 ? ROUTING_PREFIX : ROUTING_FAN_OUT;
}

Routing
RoutingOf(const RoutingKey *key, List *list, bool executed)
{
	Routing		routing = {0};
	ListCell   *cell;

	foreach(cell, list)
	{
		BoundExpression *bound = lfirst(cell);
		int			i = expression_level(key, bound->expr);
		int			values = values_of(bound, executed);

		if (i < 0 || !can_prune(key, i, bound, executed))
			continue;
		/* Of two conditions the one that is known, or gives fewer values. */
		if (routing.bound[i] && (values == 0 || (routing.values[i] != 0 && routing.values[i] <= values)))
			continue;
		routing.bound[i] = true;
		routing.values[i] = values;
		routing.late[i] = !bound->constant;
		routing.dependent[i] = bound->values == 0 && !bound->array && !bound->constant;
		routing.array[i] = bound->array;
	}
	set_kind(&routing, key->container->levels);
	return routing;
}

void
RoutingSettle(const RoutingKey *key, Routing *routing, int children, bool plan_chooses)
{
	if (!routing->bound[0] && children < key->children)
	{
		routing->bound[0] = true;
		routing->values[0] = Max(children, 2);	/* a partition is not one key */
	}
	else if (routing->bound[0] && !plan_chooses && !routing->array[0] && children > Max(routing->values[0], 1))
		routing->bound[0] = false;
	set_kind(routing, key->container->levels);
}

/* The paths of the levels after the leading ones that are bound, or NULL. */
static char *
deeper_paths(const RoutingKey *key, const Routing *routing, List *conditions, List *joins)
{
	StringInfoData paths;

	initStringInfo(&paths);
	for (int i = routing->leading + 1; i < key->container->levels; i++)
	{
		bool		joined = !routing->bound[i] && CauseOf(key, i, conditions, joins).kind == CAUSE_JOIN;

		if (routing->bound[i] || joined)
			appendStringInfo(&paths, "%s%s%s", paths.len > 0 ? ", " : "", key->container->paths[i], joined ? " by a join" : "");
	}
	return paths.len > 0 ? paths.data : NULL;
}

char *
RoutingReason(const RoutingKey *key, const Routing *routing, CmdType command, List *conditions, List *joins, char **hint)
{
	Cause		cause = CauseOf(key, routing->leading, conditions, joins);
	char	   *reason = CauseReason(key, routing->leading, cause);
	char	   *deeper = deeper_paths(key, routing, conditions, joins);

	*hint = CauseHint(key, routing->leading, command, cause);
	return deeper && cause.kind == CAUSE_NONE ? psprintf("%s; only deeper levels have one (%s)", reason, deeper) : reason;
}
