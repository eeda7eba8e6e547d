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

/*
 * "99.9 % of items have no /country; did you mean /Country?", with the column or
 * frequent property whose path is nearest, if one is near.  Needs SPI.
 */
extern char *PropertiesMissing(Relation rel, const char *path, double share);

#endif							/* PARTITIONKEY_PROPERTIES_H */
