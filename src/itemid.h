/*
 * itemid.h
 *		The id of an item, and what may be wrong with it in Cosmos DB.
 */
#ifndef PARTITIONKEY_ITEMID_H
#define PARTITIONKEY_ITEMID_H

#include "postgres.h"

#include "utils/jsonb.h"

typedef enum IdFault
{
	ID_SOUND,
	ID_MISSING,					/* or null */
	ID_NUMERIC,
	ID_NO_STRING,
	ID_EMPTY,
	ID_TOO_LONG
} IdFault;

#define ID_FAULTS			(ID_TOO_LONG + 1)

/* Find the id of an item: its value, unless it is missing, and of a fault the reason, palloc'd. */
extern IdFault ItemFindId(const Jsonb *doc, JsonbValue *id, char **reason);

/* A short name for a fault: "missing id" ... */
extern const char *IdFaultName(IdFault fault);

#endif							/* PARTITIONKEY_ITEMID_H */
