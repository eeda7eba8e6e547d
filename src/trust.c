/*
 * trust.c
 *		Whether planning a query runs code of users who are not trusted with it.
 *
 * The planner runs functions to fold constants and to estimate.  They are those
 * of the query, and those behind its types (a domain has checks, a cast may
 * go through its input function) and tables (expressions of indexes).  So it is
 * asked who owns them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/syscache.h"

#include "sql.h"
#include "trust.h"

typedef struct Trusted
{
	Oid			user;
	Oid			table_owner;
} Trusted;

static bool
trusts(Oid owner, Oid user)
{
	return owner == user || superuser_arg(owner);
}

/* check_function_callback */
static bool
is_strange_function(Oid function, void *context)
{
	HeapTuple	tuple;
	Oid			owner;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return !trusts(owner, ((Trusted *) context)->user);
}

static bool
is_strange_type(Oid type, const Trusted *trusted)
{
	HeapTuple	tuple;
	Oid			owner;

	if (type < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return true;
	owner = ((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	return !trusts(owner, trusted->user) && owner != trusted->table_owner;
}

static bool
is_strange_table(const RangeTblEntry *rte, const Trusted *trusted)
{
	Oid			owner;

	if (rte->rtekind != RTE_RELATION)
		return false;
	owner = RelationOwner(rte->relid);
	return !trusts(owner, trusted->user) && owner != trusted->table_owner;
}

/* Whether something of a query is neither trusted nor a part of what the walk goes into. */
static bool
strange_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return query_tree_walker((Query *) node, strange_walker, context, QTW_EXAMINE_RTES_BEFORE);
		case T_RangeTblEntry:
			return is_strange_table((RangeTblEntry *) node, context);
		case T_Const:
		case T_Param:
		case T_FuncExpr:
		case T_CoerceViaIO:
		case T_CoerceToDomain:
		case T_ArrayCoerceExpr:
		case T_ArrayExpr:
		case T_RowExpr:
			if (is_strange_type(exprType(node), context))
				return true;
			break;
		default:
			break;
	}
	return check_functions_in_node(node, is_strange_function, context) || expression_tree_walker(node, strange_walker, context);
}

bool
QueryIsTrusted(Query *query, Oid user, Oid table_owner)
{
	Trusted		trusted = {user, table_owner};

	return !strange_walker((Node *) query, &trusted);
}

static bool
names_walker(Node *node, void *relids)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, names_walker, relids, QTW_EXAMINE_RTES_BEFORE);
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_RELATION && list_member_oid(relids, ((RangeTblEntry *) node)->relid);
	return expression_tree_walker(node, names_walker, relids);
}

bool
QueryNames(Query *query, List *relids)
{
	return names_walker((Node *) query, relids);
}
