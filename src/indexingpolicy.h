/*
 * indexingpolicy.h
 *		Indexing policies and unique key policies as indexes.
 */
#ifndef PARTITIONKEY_INDEXINGPOLICY_H
#define PARTITIONKEY_INDEXINGPOLICY_H

#include "definition.h"

/* An index to be made. */
typedef struct PolicyIndex
{
	bool		unique;
	bool		all_paths;		/* is on all properties, so made only where asked for */
	const char *method;			/* "btree" or "gin" */
	char	   *label;			/* what it is on, for its name */
	char	   *columns;		/* as CREATE INDEX takes them */
} PolicyIndex;

/*
 * The indexes (PolicyIndex *) that a definition's policies mean for a container
 * with these key columns, and columns id, doc and ts.  Notes what has no effect
 * in definition->idle.  Errors 22023, and 42601 for paths.
 */
extern List *PolicyIndexes(Definition *definition, const Container *container);

#endif							/* PARTITIONKEY_INDEXINGPOLICY_H */
