/*
 * component.h
 *		A component: one value of a partition key, as it is hashed.
 *
 * Cosmos DB tells six kinds of value apart by a type byte, which is followed
 * by the value's bytes.  Every SQL value that can be part of a key becomes
 * such a component, and both hashes start from it; so equal components share
 * a position whatever SQL type they come from.  These bytes are frozen: a
 * stored row's partition depends on them.
 */
#ifndef PARTITIONKEY_COMPONENT_H
#define PARTITIONKEY_COMPONENT_H

#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/datetime.h"
#include "utils/jsonb.h"

/* Cosmos's type bytes. */
#define COMPONENT_UNDEFINED	0x00
#define COMPONENT_NULL		0x01
#define COMPONENT_FALSE		0x02
#define COMPONENT_TRUE		0x03
#define COMPONENT_NUMBER	0x05
#define COMPONENT_STRING	0x08

/* A key has one component per partition key path. */
#define MAX_LEVELS			3

typedef struct Component
{
	uint8		type;			/* one of COMPONENT_* */
	const char *data;			/* value bytes: none, 8 of a binary64 in little
								 * endian, or the string in UTF-8; may point
								 * into the value or into buf */
	size_t		len;			/* number of value bytes */
	double		number;			/* the value of a COMPONENT_NUMBER */
	char		buf[MAXDATELEN + 1];	/* room for what has to be formatted */
} Component;

/*
 * Set a component from a C value.  A string is given in the server encoding;
 * in a database that is not UTF8 it is converted, and that is palloc'd.
 */
extern void ComponentSetConverted(Component *c, const char *data, size_t len);
extern void ComponentSetNumber(Component *c, double number);
extern void ComponentSetBool(Component *c, bool value);
extern void ComponentSetUuid(Component *c, Datum value);
extern void ComponentSetPuid(Component *c, Datum value);
extern void ComponentSetPuidFamily(Component *c, Datum value);
extern void ComponentSetNumeric(Component *c, Datum value);
extern void ComponentSetDate(Component *c, Datum value);
extern void ComponentSetTimestamp(Component *c, Datum value);
extern void ComponentSetTimestamptz(Component *c, Datum value);

/* Strings are set inline, since nearly all keys are, and it is done for each row. */
static inline void
ComponentSetString(Component *c, const char *data, size_t len)
{
	int			encoding = GetDatabaseEncoding();

	/* SQL_ASCII doesn't know what its bytes mean: they are taken as UTF-8. */
	if (unlikely(encoding != PG_UTF8 && encoding != PG_SQL_ASCII))
		ComponentSetConverted(c, data, len);
	else
	{
		c->type = COMPONENT_STRING;
		c->data = data;
		c->len = len;
	}
}

/*
 * Set a component from JSON: scalars are what they are, {} is undefined.  Any
 * other object and any array give false, and the component is set to undefined.
 */
extern bool ComponentSetJsonb(Component *c, Jsonb *value);
extern bool ComponentSetJsonbValue(Component *c, const JsonbValue *value);

/*
 * The supported type that a column's type stands for in operator class names
 * ("text" for varchar and domains over text), or NULL if values of the type
 * can't be part of a key.  A PUID's place is that of its family, so that the
 * name for puid is "puid_family", and the one for puid_family itself "family".
 */
extern const char *ComponentTypeName(Oid typid);

/* What to do about a column of an unsupported type, as a hint. */
extern const char *ComponentTypeHint(Oid typid);

/*
 * Set a component from a value of a supported type.  Gives false for JSON that
 * is no scalar.  The value is detoasted into the current memory context.
 */
extern bool ComponentSetDatum(Component *c, Oid typid, Datum value);

#endif							/* PARTITIONKEY_COMPONENT_H */
