/*
 * cosmos.h
 *		How Cosmos DB would route the same conditions.
 */
#ifndef PARTITIONKEY_COSMOS_H
#define PARTITIONKEY_COSMOS_H

#include "predicate.h"
#include "routing.h"

/* The name of a routing, as RoutingName has them, or "not possible". */
extern const char *CosmosRouting(const PredicateScan *scan, const RoutingKey *key, const Routing *routing);

#endif							/* PARTITIONKEY_COSMOS_H */
