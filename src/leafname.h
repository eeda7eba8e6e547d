/*
 * leafname.h
 *		Names of leaves, and of what is named after them.
 */
#ifndef PARTITIONKEY_LEAFNAME_H
#define PARTITIONKEY_LEAFNAME_H

#include "tree.h"

/* A name for people: where the ranges of a leaf begin, in hex.  Palloc'd. */
extern char *LeafLabel(const Leaf *leaf);

/*
 * A name "base_label", or the next one, that neither a relation nor a type of
 * the schema has: tables are types as well.  Palloc'd.
 */
extern char *LeafFreeName(const char *base, const char *label, Oid schema);

/*
 * Rename a table that is locked to "base_label", or what comes next if that is
 * taken, with those of its indexes and extended statistics that are named after it.
 */
extern void LeafRename(Oid relid, const char *base, const char *label);

#endif							/* PARTITIONKEY_LEAFNAME_H */
