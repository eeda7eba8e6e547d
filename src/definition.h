/*
 * definition.h
 *		The definition of a Cosmos DB container, as the portal, the command line
 *		tools, ARM and the REST API write it.
 */
#ifndef PARTITIONKEY_DEFINITION_H
#define PARTITIONKEY_DEFINITION_H

#include "nodes/pg_list.h"

#include "registry.h"

typedef struct Definition
{
	Jsonb	   *json;			/* the container's own part of what was given, to be kept */
	char	   *id;				/* NULL if there is none */

	int			levels;			/* number of paths */
	char	   *paths[MAX_LEVELS];
	char	   *kind;			/* "Hash" or "MultiHash" */
	int			version;		/* 1 or 2 */
	bool		has_version;	/* the definition tells the version */
	bool		system_key;		/* the service added the key to a container without one */

	JsonbValue	indexing_policy;	/* an object, or null */
	JsonbValue	unique_key_policy;	/* the same */
	bool		has_ttl;		/* items can expire */
	int32		ttl;			/* the default, see ttl.h */

	/* members without effect (char *), as they are to be reported */
	List	   *idle;
	List	   *service;		/* of the container, but set by the service */
	List	   *around;			/* of what the definition was wrapped in */
} Definition;

/*
 * Take a definition apart.  Errors: 22023 for a definition that Cosmos DB would
 * not take either, 0A000 for kind Range, 42601 and 0A000 for paths.
 */
extern void DefinitionRead(Definition *definition, Jsonb *json);

/* The definition with which a container can be made in Cosmos DB as it is now. */
extern Jsonb *DefinitionOf(const Container *container);

/*
 * The name of the table for a container with this id: as SQL folds it where it
 * can be written without quotes, else the id itself.
 */
extern char *DefinitionTableName(const char *id);

#endif							/* PARTITIONKEY_DEFINITION_H */
