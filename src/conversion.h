/*
 * conversion.h
 *		Turning an ordinary table into a container of the same name.
 */
#ifndef PARTITIONKEY_CONVERSION_H
#define PARTITIONKEY_CONVERSION_H

#include "layout.h"
#include "registry.h"

/* Prepare the key columns of a root: NOT NULL, and a check on their values.  Needs SPI. */
extern void ConversionConstrainKey(const Container *container);

/*
 * Make a partitioned table of the same name with everything the table had, move
 * the rows, drop the table, and set container->relid to the new one.  The
 * caller holds ACCESS EXCLUSIVE and has made the checks.  Needs SPI.
 */
extern void ConvertTable(Container *container, const Layout *layout);

#endif							/* PARTITIONKEY_CONVERSION_H */
