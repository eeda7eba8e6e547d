/*
 * itemwrite.h
 *		Writing one item, as Cosmos DB's operations do.
 *
 * All raise an error with Cosmos DB's status (see status.h), and set stored to
 * the item as it is afterwards.
 */
#ifndef PARTITIONKEY_ITEMWRITE_H
#define PARTITIONKEY_ITEMWRITE_H

#include "itemplace.h"

/* What a write asks of the item that is there; NULL for nothing. */
typedef struct ItemCondition
{
	text	   *if_match;		/* its etag */
	Datum		predicate;		/* a jsonpath, or 0 */
} ItemCondition;

/* Make a row of a document; refuses what Cosmos DB would (400, 413). */
extern void ItemRowFromDoc(ItemAccess *access, Jsonb *doc, bool generate_id, ItemRow *row);

/* Refuse a row with another key than a place's (400). */
extern void ItemRequireKey(const ItemAccess *access, const ItemPlace *place, const ItemRow *row);

extern void ItemCreate(ItemAccess *access, ItemRow *row, StoredItem *stored);

/* Create items of one logical partition, which do not expire, at once; false if that is not possible for all of them. */
extern bool ItemCreateAll(ItemAccess *access, ItemRow *rows, int n, StoredItem *stored);

extern void ItemUpsert(ItemAccess *access, ItemRow *row, const ItemCondition *condition, StoredItem *stored);
extern void ItemReplace(ItemAccess *access, ItemPlace *place, ItemRow *row, const ItemCondition *condition, StoredItem *stored);
extern void ItemPatch(ItemAccess *access, ItemPlace *place, Jsonb *operations, const ItemCondition *condition, StoredItem *stored);
extern void ItemDelete(ItemAccess *access, ItemPlace *place, const ItemCondition *condition);

/* Refuse a place that an item has (409, with a detail); one that has expired is deleted. */
extern void ItemFreePlace(ItemAccess *access, ItemPlace *place, const char *detail);

/* Find an item and lock it for a change (404, 412). */
extern void ItemLock(ItemAccess *access, ItemPlace *place, const ItemCondition *condition, StoredItem *stored);

/*
 * Run a statement that changes or locks the item of a place, and raise why there is nothing to change
 * (404, 412).  values and nulls are its parameters; stored may be NULL.
 */
extern void ItemChange(ItemAccess *access, ItemStatement statement, Datum *values, const char *nulls, ItemPlace *place,
					   const ItemCondition *condition, StoredItem *stored);

#endif							/* PARTITIONKEY_ITEMWRITE_H */
