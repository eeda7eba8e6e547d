/*
 * key.h
 *		A partition key, or a prefix of one, as the Cosmos SDKs write it: a JSON
 *		array with one scalar per level, {} standing for undefined.
 */
#ifndef PARTITIONKEY_KEY_H
#define PARTITIONKEY_KEY_H

#include "component.h"

typedef struct Key
{
	int			levels;			/* number of components */
	JsonbValue	values[MAX_LEVELS]; /* scalars; jbvBinary is {} */
} Key;

/*
 * Take a key apart.  Values point into the JSON.  Errors, all 22023: no array,
 * more than MAX_LEVELS components, a component that is no scalar.
 */
extern void KeyFromJsonb(Key *key, Jsonb *json);

/* The same; instead of an error it gives its message and hint, or NULL. */
extern char *KeyRead(Key *key, Jsonb *json, const char **hint);

/*
 * The shortest decimal that is read as a binary64, which is not NaN; for an infinity,
 * a number that is too large for one.
 */
extern Numeric KeyNumber(double number);

/*
 * A key of some components as JSON, as Cosmos DB sees it: numbers are binary64, written
 * by KeyNumber.  NaN is a string, since JSON has no such number.
 */
extern Jsonb *KeyToJsonb(const Component *components, int levels);

/* What a component is, for messages: "a string", "null", "undefined" ... */
extern const char *KeyValueKind(const JsonbValue *value);

/* Cosmos DB's limit on a partition key value. */
#define MAX_VALUE_BYTES		2048

/* Whether a component is over it. */
extern bool KeyValueTooLong(const Component *c);

#endif							/* PARTITIONKEY_KEY_H */
