/*
 * patch.h
 *		Changing parts of an item by the operations of Cosmos DB's partial document update.
 *
 * Operations are a JSON array, or an object with it as "operations":
 *
 *		{"op": "add" | "set" | "replace" | "incr", "path": "/a/b", "value": ..}
 *		{"op": "remove", "path": "/a/b"}
 *		{"op": "move", "from": "/a/b", "path": "/c"}
 *
 * A path is a JSON pointer (RFC 6901).  What is refused, is with Cosmos DB's status 400 (22023).
 */
#ifndef PARTITIONKEY_PATCH_H
#define PARTITIONKEY_PATCH_H

#include "registry.h"

#define MAX_PATCH_OPERATIONS	10	/* Cosmos DB's limit */

/*
 * Refuse operations that are not valid whatever the item: what is no operation, too many of them, and paths
 * to what can't be changed, which are the id, system properties, and the partition key of a container if one is given.
 */
extern void PatchCheck(Jsonb *operations, const Container *container);

/*
 * A copy of an item with all operations applied, one after the other.  Refuses what is no operation,
 * and what can't be done with this item.
 */
extern Jsonb *PatchDocument(Jsonb *doc, Jsonb *operations);

#endif							/* PARTITIONKEY_PATCH_H */
