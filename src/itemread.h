/*
 * itemread.h
 *		Finding one item by its key and id.
 */
#ifndef PARTITIONKEY_ITEMREAD_H
#define PARTITIONKEY_ITEMREAD_H

#include "itemplace.h"

/* Find an item in what is committed now, and in what the transaction itself has done. */
extern bool ItemFindNow(ItemAccess *access, ItemPlace *place, StoredItem *stored);

/* Status 404, with the keys under which the id does exist. */
pg_noreturn extern void ItemNotFound(ItemAccess *access, const ItemPlace *place);

#endif							/* PARTITIONKEY_ITEMREAD_H */
