/*
 * extract.h
 *		Where in a row, or in a document, the value of a partition key path is.
 *
 * A path names a column, and from a jsonb column it may go on to a property.
 * A property is found by walking through objects, as Cosmos DB does: if a step
 * is absent, or leads through a scalar or an array, the value is undefined; null
 * is null; an object or array as the value can't be part of a key.
 */
#ifndef PARTITIONKEY_EXTRACT_H
#define PARTITIONKEY_EXTRACT_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "component.h"

typedef struct Extract
{
	char	   *path;			/* as given */
	AttrNumber	attnum;			/* the column */
	int			column;			/* its place among the columns that SELECT * gives, from 0 */
	Oid			type;			/* its type */
	List	   *properties;		/* names (String *) to walk from there; NIL for the column itself */
} Extract;

/*
 * Find what a path names in a table: a column by PathColumn's rules, and below a
 * jsonb column a property.  If no column has the first name, but the table has a
 * single column of type jsonb, the path is one of that column's documents.
 * Errors: those of PathSegments; 42703, 42804.
 */
extern Extract *ExtractFind(Relation rel, const char *path);

/* Whether two paths lead to the same. */
static inline bool
ExtractsSame(const Extract *a, const Extract *b)
{
	return a->attnum == b->attnum && equal(a->properties, b->properties);
}

/* The table's only column of type jsonb, or InvalidAttrNumber; whether it has any. */
extern AttrNumber ExtractDocumentColumn(Relation rel);
extern bool ExtractHasDocuments(Relation rel);

/*
 * Set a component to the value in a row.  A column that is NULL gives null, and
 * a document that is NULL has no properties.  False, and undefined, for an
 * object or array.  A jsonb value had better be detoasted by the caller, if more than
 * one path leads into it; the component may point into it.
 */
extern bool ExtractComponent(const Extract *extract, Datum value, bool isnull, Component *c);

/* How many columns SELECT * gives before one. */
extern int	ExtractColumnsBefore(TupleDesc desc, AttrNumber attnum);

/* The names (String *) that a path leads along from a document on.  Errors: those of PathSegments. */
extern List *ExtractNames(const char *path);

/* The property of a document that a list of names (String *) leads to; false if it is undefined. */
extern bool ExtractValue(JsonbContainer *document, const List *names, JsonbValue *value);

/* Set a component to the property of a document that a list of names (String *) leads to. */
extern bool ExtractProperty(JsonbContainer *document, const List *names, Component *c);

#endif							/* PARTITIONKEY_EXTRACT_H */
