/*
 * itemplace.h
 *		Where an item is: its full key and its id, as the SDKs name it.
 */
#ifndef PARTITIONKEY_ITEMPLACE_H
#define PARTITIONKEY_ITEMPLACE_H

#include "fmgr.h"

#include "compat.h"
#include "itemaccess.h"

typedef struct ItemPlace
{
	Key			key;			/* as given, and completed */
	char	   *id;				/* NULL for a logical partition, or several */
	ItemRow		row;			/* has the key and the id only */
} ItemPlace;

/*
 * Read the arguments id and key of a point operation.  If the last level is the
 * id and is left out, it is completed.  Errors: status 400.
 */
extern void ItemPlaceRead(const ItemAccess *access, ItemPlace *place, text *id, Jsonb *key);

/* Read a full key, or a prefix of one, or an id alone.  Errors: status 400. */
extern void ItemPlaceReadKey(const ItemAccess *access, ItemPlace *place, Jsonb *key);
extern void ItemPlaceReadPrefix(const ItemAccess *access, ItemPlace *place, Jsonb *key);
extern void ItemPlaceReadId(const ItemAccess *access, ItemPlace *place, text *id);

/* Refuse NULL as one of the first arguments of a function (22004); their names, and NULL behind them. */
extern void ItemRequireArguments(FunctionCallInfo fcinfo,...);

/* For messages: item "7" of logical partition ["t1"] in container "orders". */
extern char *ItemPlaceName(const ItemAccess *access, const ItemPlace *place);

/* The key of a row: ["t1", "u1"]; as text, for messages. */
extern Jsonb *ItemRowKey(const ItemShape *shape, const ItemRow *row);
extern char *ItemRowKeyText(const ItemShape *shape, const ItemRow *row);

/* An error, status 400 or 413, for an "item" or a "key" that a container doesn't take. */
pg_noreturn extern void ItemRefuse(const ItemAccess *access, const char *what, const ItemProblem *problem);

#endif							/* PARTITIONKEY_ITEMPLACE_H */
