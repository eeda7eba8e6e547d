/*
 * ttl.h
 *		The time to live of items.
 *
 * A container's default, the member defaultTtl of its definition, turns it on.  An
 * item's own ttl comes before the default.  Both are seconds from the last change (ts)
 * on; -1 is for ever.
 */
#ifndef PARTITIONKEY_TTL_H
#define PARTITIONKEY_TTL_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/jsonb.h"

#define TTL_NEVER			(-1)

/* Read a ttl: -1, or whole seconds from 1 to 2147483647; false if it is anything else. */
extern bool TtlRead(const JsonbValue *value, int32 *seconds);

/* Refuse a ttl that is anything else, naming the member that it is the value of (22023, Cosmos DB's status 400). */
extern void TtlRequire(const char *member, const JsonbValue *value);

/*
 * A container's default by its definition, which may be NULL; false if time to live is off.
 * TTL_NEVER: it is on, but only items with a ttl of their own expire.
 */
extern bool TtlDefault(Jsonb *definition, int32 *seconds);

/* Refuse an item whose own ttl is not valid; one that is null counts as absent. */
extern void TtlCheck(Jsonb *doc);

/*
 * Whether an item has expired at a time, in a container with this default; doc may be NULL.
 * With a ttl that is not valid it never does.
 */
extern bool TtlExpired(Jsonb *doc, TimestampTz ts, int32 default_ttl, TimestampTz now);

#endif							/* PARTITIONKEY_TTL_H */
