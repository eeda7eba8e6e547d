/*
 * obstacle.h
 *		What keeps a table from becoming a container.
 */
#ifndef PARTITIONKEY_OBSTACLE_H
#define PARTITIONKEY_OBSTACLE_H

#include "registry.h"

/*
 * Refuse a table, ordinary or partitioned, that has something a container
 * can't have, or a key that can't be one.  Errors 0A000, 2BP01, 42804.  Need SPI.
 */
extern void ObstacleCheckTable(Oid relid);
extern void ObstacleCheckKey(const Container *container);

/*
 * Refuse with 2BP01 ("cannot <problem> ...") if objects outside a table and
 * its partitions depend on them.  Needs SPI.
 */
extern void ObstacleCheckDependents(Oid relid, const char *problem, const char *hint);

/*
 * Refuse (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE) to make tables for a container
 * beside some of its partitions (OIDs) while a publication would take them along.
 */
extern void ObstacleCheckPublications(Oid container, List *partitions);

#endif							/* PARTITIONKEY_OBSTACLE_H */
