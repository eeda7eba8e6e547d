/*
 * uniquekey.c
 *		The unique key of a container that an item would break.
 *
 * PostgreSQL tells of the index of a leaf, whose name nobody knows.  The container's
 * index is the one that it hangs on, and the paths are read from that, so that they are
 * told for indexes made by hand as well.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "columnpath.h"
#include "path.h"
#include "uniquekey.h"

/* The container's index that a leaf's index is a part of, or InvalidOid. */
static Oid
container_index(Oid container, Oid index)
{
	ListCell   *cell;

	if (get_rel_relkind(index) != RELKIND_INDEX || !get_rel_relispartition(index))
		return InvalidOid;
	foreach(cell, get_partition_ancestors(index))
		if (IndexGetRelation(lfirst_oid(cell), true) == container)
			return lfirst_oid(cell);
	return InvalidOid;
}

/* The path that names (String *) make, or NULL. */
static char *
joined_path(const List *names)
{
	StringInfoData path;
	ListCell   *cell;

	initStringInfo(&path);
	foreach(cell, names)
	{
		char	   *segment = PathSegment(strVal(lfirst(cell)));

		if (segment == NULL)
			return NULL;
		appendStringInfoString(&path, segment);
	}
	return path.data;
}

/* The path that a column takes its value from, or NULL. */
static char *
path_of_column(const ItemShape *shape, AttrNumber attnum)
{
	if (shape->id >= 0 && shape->columns[shape->id].attnum == attnum)
		return "/id";
	return shape->ts >= 0 && shape->columns[shape->ts].attnum == attnum ? "/_ts" : NULL;
}

/* The path that an expression over the document takes its value from, or NULL. */
static char *
path_of_expression(const ItemShape *shape, Node *expression)
{
	ColumnPath *path;

	/* so that null is the same as missing */
	if (IsA(expression, NullIfExpr))
		expression = linitial(((NullIfExpr *) expression)->args);
	path = ColumnPathOf(expression);
	return path == NULL || path->attnum != shape->columns[shape->doc].attnum ? NULL : joined_path(path->properties);
}

/* The level that a column is the key of, or -1. */
static int
level_of(const ItemShape *shape, AttrNumber attnum)
{
	for (int i = 0; i < shape->container->levels; i++)
		if (shape->columns[i].attnum == attnum)
			return i;
	return -1;
}

/* Read the paths of an index, and whether it is on nothing but key and id. */
static void
read_paths(const ItemShape *shape, Relation index, UniqueKey *key)
{
	List	   *expressions = RelationGetIndexExpressions(index);
	StringInfoData key_paths;
	StringInfoData paths;
	bool		known = true;
	bool		has_id = false;

	initStringInfo(&key_paths);
	initStringInfo(&paths);
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		AttrNumber	attnum = index->rd_index->indkey.values[i];
		int			level = attnum != 0 ? level_of(shape, attnum) : -1;
		char	   *path;

		has_id = has_id || (shape->id >= 0 && shape->columns[shape->id].attnum == attnum);
		if (level >= 0)
		{
			appendStringInfo(&key_paths, "%s%s", key_paths.len > 0 ? "," : "", shape->container->paths[level]);
			continue;
		}
		path = attnum != 0 ? path_of_column(shape, attnum) : path_of_expression(shape, linitial(expressions));
		if (attnum == 0)
			expressions = list_delete_first(expressions);
		known = known && path != NULL;
		if (known)
			appendStringInfo(&paths, "%s%s", paths.len > 0 ? "," : "", path);
	}
	key->identity = known && has_id && (paths.len == 0 || strcmp(paths.data, "/id") == 0);
	key->paths = !known ? NULL : paths.len > 0 ? paths.data : key_paths.data;
}

bool
UniqueKeyFind(const ItemShape *shape, const ErrorData *error, UniqueKey *key)
{
	Oid			schema = error->schema_name ? get_namespace_oid(error->schema_name, true) : InvalidOid;
	Oid			relid;
	Relation	index;

	if (!OidIsValid(schema) || error->constraint_name == NULL)
		return false;
	relid = container_index(shape->container->relid, get_relname_relid(error->constraint_name, schema));
	if (!OidIsValid(relid))
		return false;
	index = index_open(relid, AccessShareLock);
	key->index = pstrdup(RelationGetRelationName(index));
	read_paths(shape, index, key);
	index_close(index, NoLock);
	return true;
}
