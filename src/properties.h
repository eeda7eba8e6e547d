/*
 * properties.h
 *		The properties that the documents in a table have.
 */
#ifndef PARTITIONKEY_PROPERTIES_H
#define PARTITIONKEY_PROPERTIES_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

typedef struct Property
{
	char	   *path;			/* as ExtractFind takes it */
	int			items;			/* rows with a scalar there, of those looked at */
} Property;

/*
 * The paths (Property *) that lead to scalars in the jsonb columns of a table, the most
 * frequent first.  Looks at a sample of some rows.  Properties that
 * Cosmos DB adds itself (_ts and the like) are left out.  Needs SPI.
 */
extern List *PropertiesFind(Relation rel);

/* The paths (char *) that are worth being meant: columns, and properties that many documents have.  Needs SPI. */
extern List *PropertiesKnown(Relation rel);

/* Whether a property of this name is one that Cosmos DB itself puts into every item: _rid, _ts ... */
extern bool PropertyIsSystem(const char *name, int length);

/* "99.9 % of items have no /country; did you mean /Country?", or "no item has ..", with the nearest of known paths, if one is near. */
extern char *PropertiesMissing(const char *path, double share, List *known);

#endif							/* PARTITIONKEY_PROPERTIES_H */
