/*
 * conversion.h
 *		Turning an ordinary table into a container of the same name.
 */
#ifndef PARTITIONKEY_CONVERSION_H
#define PARTITIONKEY_CONVERSION_H

#include "layout.h"
#include "registry.h"
#include "tree.h"

/* Make the key columns NOT NULL.  Needs SPI. */
extern void ConversionRequireKey(const Container *container);

/*
 * Give the leaves, or one of them, that need it the check on key values.  It is NOT
 * VALID, so that the planner leaves it out of its search for constraints that
 * exclude a partition, which would cost time for each partition of each query
 * and never find anything; rows that are written are checked all the same.  It
 * is on the leaves alone, since a restore adds such constraints table by table,
 * and one that went down a tree could deadlock with the building of indexes.
 * Needs SPI.
 */
extern void ConversionGuardLeaves(const Container *container);
extern void ConversionGuardLeaf(const Container *container, const Leaf *leaf);

/*
 * Make a partitioned table of the same name with everything the table had, move
 * the rows, drop the table, and set container->relid to the new one.  The
 * caller holds ACCESS EXCLUSIVE, acts as the owner, and has made the checks.
 * Reports NULLs in key columns (23502).  Needs SPI.
 */
extern void ConvertTable(Container *container, const Layout *layout);

#endif							/* PARTITIONKEY_CONVERSION_H */
