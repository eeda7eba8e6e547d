/*
 * conversion.h
 *		Turning an ordinary table into a container of the same name.
 */
#ifndef PARTITIONKEY_CONVERSION_H
#define PARTITIONKEY_CONVERSION_H

#include "layout.h"
#include "registry.h"

/* Make the key columns NOT NULL.  Needs SPI. */
extern void ConversionRequireKey(const Container *container);

/*
 * Add the check on key values, if the key has columns that need it, to a root
 * and its partitions.  It is NOT VALID, so that the planner leaves it out of
 * its search for constraints that exclude a partition: that would cost it time
 * for each partition of each query, and never find anything.  Rows that are
 * written are checked all the same, and there are none yet.  Needs SPI.
 */
extern void ConversionGuardKey(const Container *container);

/*
 * Make a partitioned table of the same name with everything the table had, move
 * the rows, drop the table, and set container->relid to the new one.  The
 * caller holds ACCESS EXCLUSIVE and has made the checks.  Needs SPI.
 */
extern void ConvertTable(Container *container, const Layout *layout);

#endif							/* PARTITIONKEY_CONVERSION_H */
