/*
 * epk.c
 *		Effective partition keys, exact to the byte.
 *
 * An EPK is built in a StringInfo of raw bytes and written as upper-case hex,
 * whose text order is the byte order.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

#include "compat.h"
#include "epk.h"
#include "key.h"
#include "murmur3.h"

typedef enum EpkKind
{
	EPK_HASH_V1,
	EPK_HASH_V2,
	EPK_MULTIHASH
} EpkKind;

/* Version 1 hashes and keeps this much of a string: UTF-16 units, then bytes. */
#define V1_STRING_UNITS		100
#define V1_STRING_BYTES		101

/* The suffix byte after a string's bytes where they are hashed. */
#define V1_SUFFIX			0x00
#define V2_SUFFIX			0xff

/* Append a component as it is hashed: type byte, value bytes, suffix of a string. */
static void
append_hash_bytes(StringInfo out, const Component *c, uint8 suffix)
{
	appendStringInfoCharMacro(out, c->type);
	appendBinaryStringInfo(out, c->data, c->len);
	if (c->type == COMPONENT_STRING)
		appendStringInfoCharMacro(out, suffix);
}

void
EpkHashComponent(const Component *c, uint64 *h1, uint64 *h2)
{
	uint8		small[256];
	uint8	   *bytes = small;
	size_t		len = 0;

	if (c->len + 2 > sizeof(small))
		bytes = palloc(c->len + 2);
	bytes[len++] = c->type;
	if (c->len > 0)
		memcpy(bytes + len, c->data, c->len);
	len += c->len;
	if (c->type == COMPONENT_STRING)
		bytes[len++] = V2_SUFFIX;
	murmur3_x64_128(bytes, len, h1, h2);
	if (bytes != small)
		pfree(bytes);
}

/* Append the 16 bytes of a version 2 hash; the two top bits are off, so every EPK is below FF. */
static void
append_hash_v2(StringInfo out, uint64 h1, uint64 h2)
{
	uint64		words[2] = {pg_hton64(h2 & EPK_WORD_MASK), pg_hton64(h1)};

	appendBinaryStringInfo(out, (char *) words, sizeof(words));
}

/*
 * Append a number so that byte order is numeric order: the double's bits, made
 * unsigned, in groups of seven bits, the last bit of a byte saying that more follow.
 */
static void
append_ordered_number(StringInfo out, double number)
{
	uint64		u;

	memcpy(&u, &number, sizeof(u));
	u = (u < (UINT64CONST(1) << 63)) ? u ^ (UINT64CONST(1) << 63) : 0 - u;
	appendStringInfoCharMacro(out, COMPONENT_NUMBER);
	appendStringInfoCharMacro(out, u >> 56);
	u <<= 8;
	do
	{
		uint64		next = u << 7;

		appendStringInfoCharMacro(out, ((u >> 56) & 0xfe) | (next != 0 ? 1 : 0));
		u = next;
	} while (u != 0);
}

/*
 * Append a string so that byte order is string order: each byte raised by one,
 * then 00.  A string that fills the room has no terminator.
 */
static void
append_ordered_string(StringInfo out, const char *data, size_t len)
{
	appendStringInfoCharMacro(out, COMPONENT_STRING);
	for (size_t i = 0; i < Min(len, V1_STRING_BYTES); i++)
		appendStringInfoCharMacro(out, (uint8) data[i] + 1);
	if (len < V1_STRING_BYTES)
		appendStringInfoCharMacro(out, 0);
}

/*
 * Cut a version 1 string to its first UTF-16 units.  A surrogate pair that the
 * cut would split leaves U+FFFD in its place, as .NET and JavaScript encode it.
 */
static void
cut_v1(Component *c)
{
	size_t		at = 0;
	int			units = 0;

	while (at < c->len && units < V1_STRING_UNITS)
	{
		int			bytes = pg_utf_mblen((const unsigned char *) c->data + at);

		if (bytes == 4 && units == V1_STRING_UNITS - 1)
		{
			c->data = psprintf("%.*s\xef\xbf\xbd", (int) at, c->data);
			c->len = at + 3;
			return;
		}
		at += bytes;
		units += bytes == 4 ? 2 : 1;
	}
	c->len = Min(at, c->len);
}

static void
append_epk_v1(StringInfo out, Component *components, int n)
{
	StringInfoData hashed;

	initStringInfo(&hashed);
	for (int i = 0; i < n; i++)
	{
		if (components[i].type == COMPONENT_STRING)
			cut_v1(&components[i]);
		append_hash_bytes(&hashed, &components[i], V1_SUFFIX);
	}
	append_ordered_number(out, murmur3_x86_32((uint8 *) hashed.data, hashed.len));
	for (int i = 0; i < n; i++)
	{
		Component  *c = &components[i];

		if (c->type == COMPONENT_STRING)
			append_ordered_string(out, c->data, c->len);
		else if (c->type == COMPONENT_NUMBER)
			append_ordered_number(out, c->number);
		else
			appendStringInfoCharMacro(out, c->type);
	}
}

static void
append_epk_v2(StringInfo out, Component *components, int n)
{
	StringInfoData hashed;
	uint64		h1,
				h2;

	initStringInfo(&hashed);
	for (int i = 0; i < n; i++)
		append_hash_bytes(&hashed, &components[i], V2_SUFFIX);
	murmur3_x64_128((uint8 *) hashed.data, hashed.len, &h1, &h2);
	append_hash_v2(out, h1, h2);
}

static void
append_epk_multihash(StringInfo out, Component *components, int n)
{
	for (int i = 0; i < n; i++)
	{
		uint64		h1,
					h2;

		EpkHashComponent(&components[i], &h1, &h2);
		append_hash_v2(out, h1, h2);
	}
}

/* The EPK of a key in hex; the key without components is lowest, and empty. */
static char *
epk_hex(EpkKind kind, const Key *key)
{
	Component	components[MAX_LEVELS];
	StringInfoData epk;
	char	   *hex;

	for (int i = 0; i < key->levels; i++)
	{
		ComponentSetJsonbValue(&components[i], &key->values[i]);
		if (components[i].type == COMPONENT_NUMBER && isinf(components[i].number))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("component %d of the partition key is out of range", i + 1),
					 errdetail("Numbers in a partition key are IEEE 754 binary64.")));
	}

	initStringInfo(&epk);
	if (key->levels == 0)
		return epk.data;
	if (kind == EPK_HASH_V1)
		append_epk_v1(&epk, components, key->levels);
	else if (kind == EPK_HASH_V2)
		append_epk_v2(&epk, components, key->levels);
	else
		append_epk_multihash(&epk, components, key->levels);

	hex = palloc(2 * epk.len + 1);
	for (int i = 0; i < epk.len; i++)
		sprintf(hex + 2 * i, "%02X", (uint8) epk.data[i]);
	return hex;
}

/* What a definition's kind and version mean. */
static EpkKind
epk_kind(const char *kind, int version)
{
	if (strcmp(kind, "Range") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition key kind \"Range\" has no hash"),
				 errhint("Containers of kind Range are a legacy of Cosmos DB; use kind Hash or MultiHash.")));
	if (strcmp(kind, "Hash") != 0 && strcmp(kind, "MultiHash") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown partition key kind \"%s\"", kind),
				 errhint("The kinds are \"Hash\" (one path) and \"MultiHash\" (hierarchical).")));
	if (version != 1 && version != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown partition key version %d", version),
				 errhint("The versions are 1 and 2; a definition without one has version 1.")));
	if (strcmp(kind, "MultiHash") == 0)
	{
		if (version == 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("partition key kind \"MultiHash\" has no version 1"),
					 errhint("Use version 2.")));
		return EPK_MULTIHASH;
	}
	return version == 1 ? EPK_HASH_V1 : EPK_HASH_V2;
}

char *
EpkHex(const char *kind, int version, const Key *key)
{
	return epk_hex(epk_kind(kind, version), key);
}

/* effective_partition_key(key jsonb, kind text, version int) returns text */
PG_FUNCTION_INFO_V1(effective_partition_key);
Datum
effective_partition_key(PG_FUNCTION_ARGS)
{
	Jsonb	   *json = PG_GETARG_JSONB_P(0);
	EpkKind		kind = epk_kind(text_to_cstring(PG_GETARG_TEXT_PP(1)), PG_GETARG_INT32(2));
	JsonbValue	scalar;
	Key			key;

	/* The SDKs write the exclusive maximum as a string in place of the array. */
	if (JsonbExtractScalar(&json->root, &scalar) && scalar.type == jbvString &&
		scalar.val.string.len == 8 && memcmp(scalar.val.string.val, "Infinity", 8) == 0)
		PG_RETURN_TEXT_P(cstring_to_text(EPK_INFINITY));

	KeyFromJsonb(&key, json);
	PG_RETURN_TEXT_P(cstring_to_text(epk_hex(kind, &key)));
}

/*
 * epk_range(prefix jsonb, levels int, OUT min_inclusive text, OUT max_exclusive text)
 *
 * All keys with the prefix P have EPKs in [P, P || FF), since every further
 * component starts with a byte below 40.
 */
PG_FUNCTION_INFO_V1(epk_range);
Datum
epk_range(PG_FUNCTION_ARGS)
{
	int			levels = PG_GETARG_INT32(1);
	Key			prefix;
	char	   *epk;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (levels < 1 || levels > MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of levels must be between 1 and %d", MAX_LEVELS)));
	KeyFromJsonb(&prefix, PG_GETARG_JSONB_P(0));
	if (prefix.levels > levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("prefix has %d components, but the key takes at most %d",
						prefix.levels, levels)));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	epk = epk_hex(EPK_MULTIHASH, &prefix);
	values[0] = CStringGetTextDatum(epk);
	values[1] = CStringGetTextDatum(psprintf("%s%s", epk, EPK_INFINITY));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
