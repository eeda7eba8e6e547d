/*
 * conversion.h
 *		Turning an ordinary table into a container of the same name.
 */
#ifndef PARTITIONKEY_CONVERSION_H
#define PARTITIONKEY_CONVERSION_H

#include "layout.h"
#include "registry.h"

/*
 * Refuse a table that has something a container can't carry, naming it and the
 * way out.  Works for ordinary tables and for partitioned roots.  Needs SPI.
 */
extern void ConversionCheckKey(const Container *container);
extern void ConversionCheckTable(Oid relid);

/*
 * Refuse, in the given words ("cannot ..."), if objects outside a table depend
 * on it.  Needs SPI.
 */
extern void ConversionCheckDependents(Oid relid, const char *problem, const char *hint);

/* Prepare the key columns of a root: NOT NULL, and a check on their values.  Needs SPI. */
extern void ConversionConstrainKey(const Container *container);

/*
 * Make a partitioned table of the same name with everything the table had, move
 * the rows, drop the table, and set container->relid to the new one.  The
 * caller holds ACCESS EXCLUSIVE and has made the checks.  Needs SPI.
 */
extern void ConvertTable(Container *container, const Layout *layout);

#endif							/* PARTITIONKEY_CONVERSION_H */
