/*
 * columnpath.c
 *		Expressions of queries as paths: a column, or a property of a document.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "columnpath.h"

/* The names that a text, or an array of them, gives; false if they aren't known or some are NULL. */
static bool
constant_names(Node *node, List **names)
{
	Const	   *constant = (Const *) node;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (!IsA(node, Const) || constant->constisnull)
		return false;
	if (constant->consttype == TEXTOID || constant->consttype == UNKNOWNOID)
	{
		*names = list_make1(makeString(constant->consttype == TEXTOID ? TextDatumGetCString(constant->constvalue)
									   : DatumGetCString(constant->constvalue)));
		return true;
	}
	if (constant->consttype != TEXTARRAYOID)
		return false;
	deconstruct_array_builtin(DatumGetArrayTypeP(constant->constvalue), TEXTOID, &elements, &nulls, &n);
	*names = NIL;
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			return false;
		*names = lappend(*names, makeString(TextDatumGetCString(elements[i])));
	}
	return true;
}

/* The names of jsonb['a']['b']. */
static bool
subscript_names(SubscriptingRef *ref, List **names)
{
	ListCell   *cell;

	*names = NIL;
	if (ref->refcontainertype != JSONBOID || ref->reflowerindexpr != NIL)
		return false;
	foreach(cell, ref->refupperindexpr)
	{
		List	   *name;

		if (!constant_names(lfirst(cell), &name))
			return false;
		*names = list_concat(*names, name);
	}
	return true;
}

/* Whether a function takes a property from a document: ->, ->>, #>, #>> and what stands behind them. */
static bool
takes_property(Oid function)
{
	return function == F_JSONB_OBJECT_FIELD || function == F_JSONB_OBJECT_FIELD_TEXT ||
		function == F_JSONB_EXTRACT_PATH || function == F_JSONB_EXTRACT_PATH_TEXT;
}

/* The function of an expression, and its arguments; InvalidOid if it is none. */
static Oid
function_of(Node *node, List **args)
{
	if (IsA(node, FuncExpr))
	{
		*args = ((FuncExpr *) node)->args;
		return ((FuncExpr *) node)->funcid;
	}
	if (IsA(node, OpExpr))
	{
		*args = ((OpExpr *) node)->args;
		return get_opcode(((OpExpr *) node)->opno);
	}
	return InvalidOid;
}

/* What a cast to another type has as its argument, or NULL. */
static Node *
cast_argument(Node *node)
{
	if (IsA(node, CoerceViaIO))
		return (Node *) ((CoerceViaIO *) node)->arg;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CALL && ((FuncExpr *) node)->args != NIL)
		return linitial(((FuncExpr *) node)->args);
	return NULL;
}

ColumnPath *
ColumnPathOf(Node *node)
{
	ColumnPath *path = palloc0(sizeof(ColumnPath));
	bool		cast = false;

	for (;;)
	{
		List	   *args;
		List	   *names;

		if (IsA(node, Var))
			break;
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, SubscriptingRef))
		{
			if (!subscript_names((SubscriptingRef *) node, &names))
				return NULL;
			path->properties = list_concat(names, path->properties);
			node = (Node *) ((SubscriptingRef *) node)->refexpr;
		}
		else if (takes_property(function_of(node, &args)))
		{
			if (!constant_names(lsecond(args), &names))
				return NULL;
			path->properties = list_concat(names, path->properties);
			node = linitial(args);
		}
		else
		{
			node = cast_argument(node);
			if (node == NULL)
				return NULL;
			/* of the property that has been walked to, or will be */
			cast = true;
		}
	}
	path->attnum = ((Var *) node)->varattno;
	return path->attnum > 0 && !(cast && path->properties == NIL) ? path : NULL;
}

static List *
append_path(List *paths, AttrNumber attnum, List *names)
{
	ColumnPath *path = palloc(sizeof(ColumnPath));

	path->attnum = attnum;
	path->properties = names;
	return lappend(paths, path);
}

/* The properties of a constant object that is joined to a document. */
static List *
append_object(List *paths, AttrNumber attnum, Const *object)
{
	JsonbIterator *iterator;
	JsonbValue	value;
	JsonbIteratorToken token;

	if (object->constisnull || object->consttype != JSONBOID)
		return paths;
	iterator = JsonbIteratorInit(&DatumGetJsonbP(object->constvalue)->root);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
		if (token == WJB_KEY)
			paths = append_path(paths, attnum, list_make1(makeString(pnstrdup(value.val.string.val, value.val.string.len))));
	return paths;
}

/* The properties of an object that is joined to a document: a constant, or jsonb_build_object(name, value, ..). */
static List *
append_joined(List *paths, AttrNumber attnum, Node *object)
{
	List	   *args;
	List	   *names;

	if (IsA(object, Const))
		return append_object(paths, attnum, (Const *) object);
	if (function_of(object, &args) != F_JSONB_BUILD_OBJECT_ANY)
		return paths;
	for (int i = 0; i < list_length(args); i += 2)
		if (constant_names(list_nth(args, i), &names))
			paths = append_path(paths, attnum, names);
	return paths;
}

List *
ColumnPathsSet(Node *value, AttrNumber attnum)
{
	List	   *paths = NIL;
	List	   *args = NIL;
	List	   *names;

	for (;;)
	{
		Oid			function = function_of(value, &args);

		if (IsA(value, SubscriptingRef) && ((SubscriptingRef *) value)->refassgnexpr != NULL)
		{
			if (subscript_names((SubscriptingRef *) value, &names))
				paths = append_path(paths, attnum, names);
			value = (Node *) ((SubscriptingRef *) value)->refexpr;
			continue;
		}
		switch (function)
		{
			case F_JSONB_SET:
			case F_JSONB_SET_LAX:
			case F_JSONB_INSERT:
			case F_JSONB_DELETE_PATH:
			case F_JSONB_DELETE_JSONB_TEXT:
				if (constant_names(lsecond(args), &names))
					paths = append_path(paths, attnum, names);
				break;
			case F_JSONB_CONCAT:
				paths = append_joined(paths, attnum, lsecond(args));
				break;
			default:
				return paths;
		}
		value = linitial(args);
	}
}
