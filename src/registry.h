/*
 * registry.h
 *		The facts of a container that PostgreSQL's catalogs don't hold.
 *
 * Kept in the extension's table partitionkey.registry, which pg_dump takes
 * along.  Levels that the tree doesn't use yet are known only here.
 */
#ifndef PARTITIONKEY_REGISTRY_H
#define PARTITIONKEY_REGISTRY_H

#include "postgres.h"

#include "catalog/pg_attribute.h"
#include "utils/jsonb.h"

#include "component.h"
#include "position.h"

typedef struct Container
{
	Oid			relid;			/* the partitioned table */
	PositionHash hash;
	int			levels;			/* number of partition key paths */
	char	   *paths[MAX_LEVELS];	/* as given */
	char	   *columns[MAX_LEVELS];	/* the key column of each path */
	int			partitions[MAX_LEVELS]; /* how often create_container divided each level; 1 if it did not */
} Container;

/*
 * Read a container's facts, palloc'd.  NULL if the relation is none and
 * missing_ok, else error 42809.
 */
extern Container *ContainerLookup(Oid relid, bool missing_ok);

/* The type of a level's key column; the key columns as SQL: "a, b". */
extern Oid	ContainerColumnType(const Container *container, int level);
extern char *ContainerColumnList(const Container *container);

/* The level whose key column has this name, or -1. */
extern int	ContainerLevel(const Container *container, const char *column);

/* Refuse a column whose values can't be hashed as keys, naming its path. */
extern void ContainerCheckColumn(Oid relid, const char *path, Form_pg_attribute att);

/* Forget a relation, if it is a container. */
extern void RegistryDelete(Oid relid);

/* The keys that are to have partitions of their own, a JSON array of keys; and others instead. */
extern Jsonb *RegistryIsolated(Oid relid);
extern void RegistrySetIsolated(Oid relid, Jsonb *keys);

/*
 * Enter a container, with its definition in Cosmos DB if it was made from one,
 * else NULL.  The caller has checked that the user owns the table.
 */
extern void RegistryInsert(const Container *container, Jsonb *definition);

/* Give a container a definition, and the paths of that for its columns.  Checked by the caller, as above. */
extern void RegistrySetDefinition(const Container *container, Jsonb *definition);

/* That definition, palloc'd; NULL if there is none. */
extern Jsonb *RegistryDefinition(const Container *container);

#endif							/* PARTITIONKEY_REGISTRY_H */
