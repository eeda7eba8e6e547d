/*
 * puid.c
 *		The types puid and puid_family, and making PUIDs.
 *
 * The bytes of a PUID are ordered as its text is in byte order, so comparing,
 * sorting and hashing are done by PostgreSQL's own functions for type uuid,
 * those of a family by the ones for integers; see the install script.
 *
 * All PUIDs of a family lie between family_min and family_max.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "puid.h"

#define PG_GETARG_PUID(n)	DatumGetUUIDP(PG_GETARG_DATUM(n))
#define PG_RETURN_PUID(p)	return UUIDPGetDatum(p)

/* The formats: a digit for each x. */
static const char puid_format[] = "xxxxxxxx_xxxx_xxxx_xxxx_xxxxxxxxxxxx";
static const char family_format[] = "xxxxx";
static const char *const uuid_formats[] = {
	"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
	"{xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}",
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
};

static const char hex_digits[] = "0123456789abcdef";

PuidType
PuidTypeOf(Oid typid)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	Form_pg_type form;
	PuidType	result = PUID_NEITHER;

	if (!HeapTupleIsValid(tuple))
		return PUID_NEITHER;
	form = (Form_pg_type) GETSTRUCT(tuple);
	if (form->typnamespace == get_namespace_oid("partitionkey", true))
	{
		if (strcmp(NameStr(form->typname), "puid") == 0)
			result = PUID_ITSELF;
		else if (strcmp(NameStr(form->typname), "puid_family") == 0)
			result = PUID_FAMILY;
	}
	ReleaseSysCache(tuple);
	return result;
}

static Oid
type_oid(const char *name)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
						   ObjectIdGetDatum(get_namespace_oid("partitionkey", false)));
}

Oid
PuidTypeOid(void)
{
	return type_oid("puid");
}

Oid
PuidFamilyTypeOid(void)
{
	return type_oid("puid_family");
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Read the digits of a text of a given format.  Gives the offset of the first
 * character that doesn't fit, or -1 if all is well.
 */
static int
read_digits(const char *text, const char *format, uint8 *digits)
{
	int			i;

	for (i = 0; format[i] != '\0'; i++)
	{
		int			value = hex_value(text[i]);

		if (format[i] == 'x' ? value < 0 : text[i] != format[i])
			return i;
		if (format[i] == 'x')
			*digits++ = value;
	}
	return text[i] == '\0' ? -1 : i;
}

/* Whether a text is that of a uuid, in one of its usual forms. */
static bool
is_uuid_text(const char *text)
{
	uint8		digits[2 * UUID_LEN];

	for (int i = 0; i < (int) lengthof(uuid_formats); i++)
		if (read_digits(text, uuid_formats[i], digits) < 0)
			return true;
	return false;
}

/* What is wrong with a text at an offset, as an error detail. */
static char *
describe_fault(const char *text, const char *format, int offset)
{
	const char *expected =
	format[offset] == '\0' ? "the value should end" :
	format[offset] == 'x' ? "a hexadecimal digit should be" : "an underscore should be";

	if (text[offset] == '\0')
		return psprintf("The value ends after %d of %d characters.", offset, (int) strlen(format));
	return psprintf("Character %d is \"%s\", where %s.", offset + 1,
					pnstrdup(text + offset, pg_mblen(text + offset)), expected);
}

/* What to write instead, as an error hint, or NULL. */
static char *
puid_hint(const char *text)
{
	uint8		digits[FAMILY_DIGITS];

	if (is_uuid_text(text))
		return psprintf("Cast a UUID: '%s'::uuid::partitionkey.puid", text);
	if (read_digits(text, family_format, digits) < 0)
		return psprintf("A member of a family is made by partitionkey.puid(family => '%s'); the members that there are have id <@ '%s'.", text, text);
	return NULL;
}

static char *
family_hint(const char *text)
{
	uint8		digits[2 * UUID_LEN];

	if (read_digits(text, puid_format, digits) < 0)
		return psprintf("The family of a PUID is partitionkey.family('%s').", text);
	return NULL;
}

PG_FUNCTION_INFO_V1(puid_in);
Datum
puid_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	uint8		digits[2 * UUID_LEN];
	int			fault = read_digits(text, puid_format, digits);
	pg_uuid_t  *puid;

	if (fault >= 0)
	{
		char	   *hint = puid_hint(text);

		ereturn(fcinfo->context, (Datum) 0,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"", "puid", text),
				 errdetail("%s", describe_fault(text, puid_format, fault)),
				 hint ? errhint("%s", hint) : 0));
	}
	puid = palloc(sizeof(pg_uuid_t));
	for (int i = 0; i < UUID_LEN; i++)
		puid->data[i] = digits[2 * i] << 4 | digits[2 * i + 1];
	PG_RETURN_PUID(puid);
}

char *
PuidText(const pg_uuid_t *puid)
{
	char	   *text = palloc(sizeof(puid_format));
	int			n = 0;

	for (int i = 0; puid_format[i] != '\0'; i++)
	{
		if (puid_format[i] != 'x')
			text[i] = puid_format[i];
		else
		{
			text[i] = hex_digits[n % 2 == 0 ? puid->data[n / 2] >> 4 : puid->data[n / 2] & 0x0f];
			n++;
		}
	}
	text[sizeof(puid_format) - 1] = '\0';
	return text;
}

PG_FUNCTION_INFO_V1(puid_out);
Datum
puid_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(PuidText(PG_GETARG_PUID(0)));
}

PG_FUNCTION_INFO_V1(puid_family_in);
Datum
puid_family_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	uint8		digits[FAMILY_DIGITS];
	int			fault = read_digits(text, family_format, digits);
	uint32		family = 0;

	if (fault >= 0)
	{
		char	   *hint = family_hint(text);

		ereturn(fcinfo->context, (Datum) 0,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"", "puid_family", text),
				 errdetail("%s", describe_fault(text, family_format, fault)),
				 hint ? errhint("%s", hint) : 0));
	}
	for (int i = 0; i < FAMILY_DIGITS; i++)
		family = family << 4 | digits[i];
	PG_RETURN_UINT32(family);
}

void
PuidFamilyDigits(uint32 family, char *digits)
{
	for (int i = 0; i < FAMILY_DIGITS; i++)
		digits[i] = hex_digits[family >> 4 * (FAMILY_DIGITS - 1 - i) & 0x0f];
}

PG_FUNCTION_INFO_V1(puid_family_out);
Datum
puid_family_out(PG_FUNCTION_ARGS)
{
	char	   *text = palloc0(FAMILY_DIGITS + 1);

	PuidFamilyDigits(PG_GETARG_UINT32(0), text);
	PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(puid_family_recv);
Datum
puid_family_recv(PG_FUNCTION_ARGS)
{
	uint32		family = pq_getmsgint((StringInfo) PG_GETARG_POINTER(0), 4);

	if (family > FAMILY_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("%u is not a family of PUIDs", family),
				 errdetail("A family is a number of %d bits.", FAMILY_BITS)));
	PG_RETURN_UINT32(family);
}

/*
 * 16 random bytes of cryptographic strength.  They are drawn in blocks, since
 * asking for them costs more than they do, and don't stay in memory once given
 * out.
 */
static void
draw_random(pg_uuid_t *to)
{
	static pg_uuid_t block[256];
	static int	next = lengthof(block);

	if (next == lengthof(block))
	{
		if (!pg_strong_random(block, sizeof(block)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		next = 0;
	}
	*to = block[next];
	memset(&block[next], 0, sizeof(pg_uuid_t));
	next++;
}

/* A new PUID, marked as UUIDs of version 4 are (RFC 9562, section 5.4). */
static pg_uuid_t *
make_puid(void)
{
	pg_uuid_t  *puid = palloc(sizeof(pg_uuid_t));

	draw_random(puid);
	puid->data[6] = (puid->data[6] & 0x0f) | 0x40;
	puid->data[8] = (puid->data[8] & 0x3f) | 0x80;
	return puid;
}

static pg_uuid_t *
set_family(pg_uuid_t *puid, uint32 family)
{
	puid->data[0] = family >> 12;
	puid->data[1] = family >> 4;
	puid->data[2] = (puid->data[2] & 0x0f) | (family & 0x0f) << 4;
	return puid;
}

/* puid() returns puid */
PG_FUNCTION_INFO_V1(puid_head);
Datum
puid_head(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_PUID(make_puid());
}

/* puid(parent puid) returns puid */
PG_FUNCTION_INFO_V1(puid_child);
Datum
puid_child(PG_FUNCTION_ARGS)
{
	PG_RETURN_PUID(set_family(make_puid(), PuidFamily(PG_GETARG_PUID(0))));
}

/* puid(family puid_family) returns puid */
PG_FUNCTION_INFO_V1(puid_member);
Datum
puid_member(PG_FUNCTION_ARGS)
{
	PG_RETURN_PUID(set_family(make_puid(), PG_GETARG_UINT32(0)));
}

/* family(puid) returns puid_family */
PG_FUNCTION_INFO_V1(family);
Datum
family(PG_FUNCTION_ARGS)
{
	PG_RETURN_UINT32(PuidFamily(PG_GETARG_PUID(0)));
}

static pg_uuid_t *
filled_puid(uint32 family, int fill)
{
	pg_uuid_t  *puid = palloc(sizeof(pg_uuid_t));

	memset(puid, fill, sizeof(pg_uuid_t));
	return set_family(puid, family);
}

pg_uuid_t *
PuidFamilyMin(uint32 family)
{
	return filled_puid(family, 0x00);
}

/* family_min(puid_family) returns puid */
PG_FUNCTION_INFO_V1(family_min);
Datum
family_min(PG_FUNCTION_ARGS)
{
	PG_RETURN_PUID(PuidFamilyMin(PG_GETARG_UINT32(0)));
}

/* family_max(puid_family) returns puid */
PG_FUNCTION_INFO_V1(family_max);
Datum
family_max(PG_FUNCTION_ARGS)
{
	PG_RETURN_PUID(filled_puid(PG_GETARG_UINT32(0), 0xff));
}

PG_FUNCTION_INFO_V1(puid_in_family);
Datum
puid_in_family(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(PuidFamily(PG_GETARG_PUID(0)) == PG_GETARG_UINT32(1));
}

PG_FUNCTION_INFO_V1(puid_family_contains);
Datum
puid_family_contains(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(PuidFamily(PG_GETARG_PUID(1)) == PG_GETARG_UINT32(0));
}

/* The hash of a PUID that goes with being in a family: that of the family itself. */
PG_FUNCTION_INFO_V1(puid_hash_family);
Datum
puid_hash_family(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(hashint4, UInt32GetDatum(PuidFamily(PG_GETARG_PUID(0))));
}

PG_FUNCTION_INFO_V1(puid_same_family);
Datum
puid_same_family(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(PuidFamily(PG_GETARG_PUID(0)) == PuidFamily(PG_GETARG_PUID(1)));
}

/* State and final value of min and max. */
PG_FUNCTION_INFO_V1(puid_smaller);
Datum
puid_smaller(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *a = PG_GETARG_PUID(0);
	pg_uuid_t  *b = PG_GETARG_PUID(1);

	PG_RETURN_PUID(memcmp(a, b, sizeof(pg_uuid_t)) <= 0 ? a : b);
}

PG_FUNCTION_INFO_V1(puid_larger);
Datum
puid_larger(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *a = PG_GETARG_PUID(0);
	pg_uuid_t  *b = PG_GETARG_PUID(1);

	PG_RETURN_PUID(memcmp(a, b, sizeof(pg_uuid_t)) >= 0 ? a : b);
}
