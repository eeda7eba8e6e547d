/*
 * limits.h
 *		Keys that grow towards the size that a logical partition may have.
 */
#ifndef PARTITIONKEY_LIMITS_H
#define PARTITIONKEY_LIMITS_H

#include "registry.h"

/*
 * A query for the keys, and prefixes of keys, above 80 % of
 * partitionkey.logical_partition_limit: key jsonb, bytes bigint, share float8,
 * relieved_by text (the path of the next level, or NULL for a full key).
 */
extern char *LimitsQuery(const Container *container);

#endif							/* PARTITIONKEY_LIMITS_H */
