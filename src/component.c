/*
 * component.c
 *		A value of a supported SQL type as the bytes that are hashed.
 *
 * What must stay true: values that are equal under an operator of the operator
 * families have the same component, independent of the session's settings, the
 * server encoding and the machine's byte order.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "compat.h"
#include "component.h"
#include "puid.h"

static void
set(Component *c, uint8 type, const char *data, size_t len)
{
	c->type = type;
	c->data = data;
	c->len = len;
}

void
ComponentSetConverted(Component *c, const char *data, size_t len)
{
	char	   *utf8 = pg_server_to_any(data, len, PG_UTF8);

	set(c, COMPONENT_STRING, utf8, utf8 == data ? len : strlen(utf8));
}

/* Every number is a binary64.  Zero has no sign, and there is one NaN. */
void
ComponentSetNumber(Component *c, double number)
{
	uint64		bits;

	if (number == 0)
		number = 0;
	memcpy(&bits, &number, sizeof(bits));
	if (isnan(number))
		bits = UINT64CONST(0x7ff8000000000000);
#ifdef WORDS_BIGENDIAN
	bits = pg_bswap64(bits);
#endif
	memcpy(c->buf, &bits, sizeof(bits));
	c->number = number;
	set(c, COMPONENT_NUMBER, c->buf, sizeof(bits));
}

void
ComponentSetBool(Component *c, bool value)
{
	set(c, value ? COMPONENT_TRUE : COMPONENT_FALSE, NULL, 0);
}

/* A uuid is its text in lower case, as JSON carries it. */
void
ComponentSetUuid(Component *c, Datum value)
{
	static const char digits[] = "0123456789abcdef";
	pg_uuid_t  *uuid = DatumGetUUIDP(value);
	char	   *p = c->buf;

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[uuid->data[i] >> 4];
		*p++ = digits[uuid->data[i] & 0x0f];
	}
	set(c, COMPONENT_STRING, c->buf, p - c->buf);
}

/* A PUID counts as its family, and that as the text of its digits. */
void
ComponentSetPuid(Component *c, Datum value)
{
	ComponentSetPuidFamily(c, UInt32GetDatum(PuidFamily(DatumGetUUIDP(value))));
}

void
ComponentSetPuidFamily(Component *c, Datum value)
{
	PuidFamilyDigits(DatumGetUInt32(value), c->buf);
	set(c, COMPONENT_STRING, c->buf, FAMILY_DIGITS);
}

/*
 * A numeric outside a double's range hashes as infinity: the equality operator
 * still tells such values apart, so a hash function has no reason to fail.
 */
void
ComponentSetNumeric(Component *c, Datum value)
{
	ComponentSetNumber(c, DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value)));
}

/* ISO 8601: 2025-01-28 */
void
ComponentSetDate(Component *c, Datum value)
{
	DateADT		date = DatumGetDateADT(value);
	struct pg_tm tm;

	if (DATE_NOT_FINITE(date))
		EncodeSpecialDate(date, c->buf);
	else
	{
		j2date(date + POSTGRES_EPOCH_JDATE, &tm.tm_year, &tm.tm_mon, &tm.tm_mday);
		EncodeDateOnly(&tm, USE_ISO_DATES, c->buf);
	}
	set(c, COMPONENT_STRING, c->buf, strlen(c->buf));
}

/* ISO 8601: 2025-01-28T12:30:00.25, with the suffix that stands for the zone. */
static void
set_timestamp(Component *c, Timestamp timestamp, const char *zone)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (TIMESTAMP_NOT_FINITE(timestamp))
		EncodeSpecialTimestamp(timestamp, c->buf);
	else if (timestamp2tm(timestamp, NULL, &tm, &fsec, NULL, NULL) == 0)
	{
		EncodeDateTime(&tm, fsec, false, 0, NULL, USE_XSD_DATES, c->buf);
		strlcat(c->buf, zone, sizeof(c->buf));
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	set(c, COMPONENT_STRING, c->buf, strlen(c->buf));
}

void
ComponentSetTimestamp(Component *c, Datum value)
{
	set_timestamp(c, DatumGetTimestamp(value), "");
}

/* The same in UTC: 2025-01-28T12:30:00.25Z */
void
ComponentSetTimestamptz(Component *c, Datum value)
{
	set_timestamp(c, DatumGetTimestampTz(value), "Z");
}

bool
ComponentSetJsonbValue(Component *c, const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			set(c, COMPONENT_NULL, NULL, 0);
			return true;
		case jbvBool:
			ComponentSetBool(c, value->val.boolean);
			return true;
		case jbvNumeric:
			ComponentSetNumeric(c, NumericGetDatum(value->val.numeric));
			return true;
		case jbvString:
			ComponentSetString(c, value->val.string.val, value->val.string.len);
			return true;
		default:
			set(c, COMPONENT_UNDEFINED, NULL, 0);
			return value->type == jbvBinary &&
				JsonContainerIsObject(value->val.binary.data) &&
				JsonContainerSize(value->val.binary.data) == 0;
	}
}

bool
ComponentSetJsonb(Component *c, Jsonb *value)
{
	JsonbValue	scalar;

	if (!JsonbExtractScalar(&value->root, &scalar))
	{
		scalar.type = jbvBinary;
		scalar.val.binary.data = &value->root;
	}
	return ComponentSetJsonbValue(c, &scalar);
}

/* The name of a type that is the extension's own. */
static const char *
puid_type_name(Oid typid)
{
	switch (PuidTypeOf(typid))
	{
		case PUID_ITSELF:
			return "puid_family";
		case PUID_FAMILY:
			return "family";
		default:
			return NULL;
	}
}

const char *
ComponentTypeName(Oid typid)
{
	typid = getBaseType(typid);
	switch (typid)
	{
		case TEXTOID:
		case VARCHAROID:
			return "text";
		case NAMEOID:
			return "name";
		case UUIDOID:
			return "uuid";
		case INT2OID:
			return "int2";
		case INT4OID:
			return "int4";
		case INT8OID:
			return "int8";
		case NUMERICOID:
			return "numeric";
		case FLOAT4OID:
			return "float4";
		case FLOAT8OID:
			return "float8";
		case BOOLOID:
			return "bool";
		case DATEOID:
			return "date";
		case TIMESTAMPOID:
			return "timestamp";
		case TIMESTAMPTZOID:
			return "timestamptz";
		case JSONBOID:
			return "jsonb";
		default:
			return puid_type_name(typid);
	}
}

const char *
ComponentTypeHint(Oid typid)
{
	if (getBaseType(typid) == BPCHAROID)
		return "Type character(n) ignores trailing blanks, which Cosmos DB does not; use text or varchar.";
	if (getBaseType(typid) == JSONOID)
		return "Use jsonb.";
	return "A key is of type text, varchar, name, uuid, smallint, integer, bigint, numeric, real, "
		"double precision, boolean, date, timestamp, timestamptz, jsonb, partitionkey.puid or partitionkey.puid_family.";
}

static void
set_puid_type(Component *c, Oid typid, Datum value)
{
	switch (PuidTypeOf(typid))
	{
		case PUID_ITSELF:
			ComponentSetPuid(c, value);
			break;
		case PUID_FAMILY:
			ComponentSetPuidFamily(c, value);
			break;
		default:
			elog(ERROR, "type %u cannot be part of a partition key", typid);
	}
}

bool
ComponentSetDatum(Component *c, Oid typid, Datum value)
{
	typid = getBaseType(typid);
	switch (typid)
	{
		case TEXTOID:
		case VARCHAROID:
			{
				text	   *t = DatumGetTextPP(value);

				ComponentSetString(c, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
				break;
			}
		case NAMEOID:
			ComponentSetString(c, NameStr(*DatumGetName(value)),
							   strlen(NameStr(*DatumGetName(value))));
			break;
		case UUIDOID:
			ComponentSetUuid(c, value);
			break;
		case INT2OID:
			ComponentSetNumber(c, DatumGetInt16(value));
			break;
		case INT4OID:
			ComponentSetNumber(c, DatumGetInt32(value));
			break;
		case INT8OID:
			ComponentSetNumber(c, (double) DatumGetInt64(value));
			break;
		case NUMERICOID:
			ComponentSetNumeric(c, value);
			break;
		case FLOAT4OID:
			ComponentSetNumber(c, DatumGetFloat4(value));
			break;
		case FLOAT8OID:
			ComponentSetNumber(c, DatumGetFloat8(value));
			break;
		case BOOLOID:
			ComponentSetBool(c, DatumGetBool(value));
			break;
		case DATEOID:
			ComponentSetDate(c, value);
			break;
		case TIMESTAMPOID:
			ComponentSetTimestamp(c, value);
			break;
		case TIMESTAMPTZOID:
			ComponentSetTimestamptz(c, value);
			break;
		case JSONBOID:
			return ComponentSetJsonb(c, DatumGetJsonbP(value));
		default:
			set_puid_type(c, typid, value);
	}
	return true;
}
