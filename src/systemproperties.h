/*
 * systemproperties.h
 *		The properties that Cosmos DB adds to an item.
 */
#ifndef PARTITIONKEY_SYSTEMPROPERTIES_H
#define PARTITIONKEY_SYSTEMPROPERTIES_H

#include "postgres.h"

#include "utils/jsonb.h"

#define SYSTEM_PROPERTIES	6
extern const char *const SystemProperties[SYSTEM_PROPERTIES];

/* Which of them; one bit for each. */
#define ALL_SYSTEM_PROPERTIES	((1 << SYSTEM_PROPERTIES) - 1)

/* The number of a property among them, or -1. */
extern int	SystemProperty(const char *name, int length);

/* A copy of an object without some of them. */
extern Jsonb *SystemPropertiesRemove(Jsonb *object, int which);

#endif							/* PARTITIONKEY_SYSTEMPROPERTIES_H */
