/*
 * itemkeys.h
 *		Keys of items by SQL expressions over the item.
 */
#ifndef PARTITIONKEY_ITEMKEYS_H
#define PARTITIONKEY_ITEMKEYS_H

#include "itemrow.h"

/* Raise the errors that the expressions of a shape have as such.  Needs SPI. */
extern void ItemKeysCheck(const ItemShape *shape);

/* Compute the keys of rows that have expressions, into memory of a context.  Needs SPI. */
extern void ItemKeysCompute(const ItemShape *shape, ItemRow **rows, int n, MemoryContext context);

#endif							/* PARTITIONKEY_ITEMKEYS_H */
