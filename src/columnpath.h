/*
 * columnpath.h
 *		Expressions of queries as paths: a column, or a property of a document.
 */
#ifndef PARTITIONKEY_COLUMNPATH_H
#define PARTITIONKEY_COLUMNPATH_H

#include "nodes/primnodes.h"

typedef struct ColumnPath
{
	AttrNumber	attnum;
	List	   *properties;		/* names (String *) */
} ColumnPath;

/*
 * The path that an expression is the value of, or NULL.  A property may be cast,
 * since a key of any type can be made of it; a column with a cast is not the
 * column: PostgreSQL doesn't prune by it.
 */
extern ColumnPath *ColumnPathOf(Node *node);

/*
 * The properties (ColumnPath *) of a jsonb column that are set by its new value, as far as that is made of
 * the old one: by jsonb_set, ||, -, a subscript and the like.
 */
extern List *ColumnPathsSet(Node *value, AttrNumber attnum);

#endif							/* PARTITIONKEY_COLUMNPATH_H */
