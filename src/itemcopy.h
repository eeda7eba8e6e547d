/*
 * itemcopy.h
 *		Writing rows of items by COPY's own machinery.
 */
#ifndef PARTITIONKEY_ITEMCOPY_H
#define PARTITIONKEY_ITEMCOPY_H

#include "itemrow.h"

/*
 * Write rows to a container that is open; gives how many were written, which are
 * fewer if a trigger leaves some out.  Checks the privilege to INSERT.
 */
extern uint64 ItemCopy(const ItemShape *shape, Relation rel, ItemRow **rows, int n);

#endif							/* PARTITIONKEY_ITEMCOPY_H */
