/*
 * itemkeys.h
 *		Keys of items by SQL expressions over the item.
 */
#ifndef PARTITIONKEY_ITEMKEYS_H
#define PARTITIONKEY_ITEMKEYS_H

#include "executor/spi.h"
#include "utils/array.h"

#include "itemrow.h"

/* Take the expressions out of an argument: one for each level, or NULL.  Error 22023 for another number. */
extern char **ItemKeysRead(const Container *container, ArrayType *array);

/*
 * Prepare the query for the keys of a shape; NULL if it has no expressions.  Raises the errors
 * that they have as such.  Needs SPI.
 */
extern SPIPlanPtr ItemKeysPrepare(const ItemShape *shape);

/* Compute the keys of a row that have expressions; false and the problem if the container can't have one.  Needs SPI. */
extern bool ItemKeysCompute(const ItemShape *shape, SPIPlanPtr plan, ItemRow *row, ItemProblem *problem);

#endif							/* PARTITIONKEY_ITEMKEYS_H */
