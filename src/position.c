/*
 * position.c
 *		The two hashes, and the support functions of the operator classes.
 *
 * For each supported type T and hash H there are the SQL functions T_H(T) and
 * T_H_extended(T, int8), as PostgreSQL asks of a hash operator class; the first
 * is the low half of the second.  The seed is not used: PostgreSQL's hash
 * partitioning always passes the same one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compat.h"
#include "epk.h"
#include "position.h"

/* hash_combine64(0, h) = h + this, in PostgreSQL's common/hashfn.h */
#define HASH_COMBINE_CONSTANT	UINT64CONST(0x49a0f4dd15e5a8e3)

PositionHash
PositionHashFromName(const char *name)
{
	if (strcmp(name, "xxhash") == 0)
		return HASH_XXHASH;
	if (strcmp(name, "cosmos") == 0)
		return HASH_COSMOS;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown hash \"%s\"", name),
			 errhint("The hashes are \"xxhash\" and \"cosmos\".")));
}

const char *
PositionHashName(PositionHash hash)
{
	return hash == HASH_XXHASH ? "xxhash" : "cosmos";
}

/* XXH3 of the value bytes, the type byte being the seed, so nothing is copied. */
static inline uint64
position_xxhash(const Component *c)
{
	return XXH3_64bits_withSeed(c->data, c->len, c->type);
}

/* The first 64 of the 126 bits of the component's effective partition key. */
static inline uint64
position_cosmos(const Component *c)
{
	uint64		h1,
				h2;

	EpkHashComponent(c, &h1, &h2);
	return (h2 << 2) | (h1 >> 62);
}

uint64
Position(PositionHash hash, const Component *c)
{
	return hash == HASH_XXHASH ? position_xxhash(c) : position_cosmos(c);
}

/*
 * A nondeterministic collation calls different strings equal, which then would
 * hash differently.  Looked at once per call site.
 */
static inline void
check_collation(FunctionCallInfo fcinfo)
{
	if (likely(fcinfo->flinfo->fn_extra != NULL))
		return;
	if (OidIsValid(PG_GET_COLLATION()) && !get_collation_isdeterministic(PG_GET_COLLATION()))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition keys do not support nondeterministic collation \"%s\"",
						get_collation_name(PG_GET_COLLATION())),
				 errhint("Give the key column a deterministic collation, for example COLLATE \"C\".")));
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
}

static inline void
set_text(Component *c, FunctionCallInfo fcinfo)
{
	text	   *t = PG_GETARG_TEXT_PP(0);

	check_collation(fcinfo);
	ComponentSetString(c, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

/* Define the four support functions of a type, given how a component is set from argument 0. */
#define SUPPORT_FUNCTIONS(type, set_component) \
	SUPPORT_FUNCTION(type##_xxhash, position_xxhash, set_component, PG_RETURN_INT32((int32) hash)) \
	SUPPORT_FUNCTION(type##_xxhash_extended, position_xxhash, set_component, PG_RETURN_INT64((int64) hash)) \
	SUPPORT_FUNCTION(type##_cosmos, position_cosmos, set_component, PG_RETURN_INT32((int32) hash)) \
	SUPPORT_FUNCTION(type##_cosmos_extended, position_cosmos, set_component, PG_RETURN_INT64((int64) hash))

/* The two of them that partitioning uses.  (Bool is a macro, so the names are put together here again.) */
#define EXTENDED_FUNCTIONS(type, set_component) \
	SUPPORT_FUNCTION(type##_xxhash_extended, position_xxhash, set_component, PG_RETURN_INT64((int64) hash)) \
	SUPPORT_FUNCTION(type##_cosmos_extended, position_cosmos, set_component, PG_RETURN_INT64((int64) hash))

#define SUPPORT_FUNCTION(name, position, set_component, return_hash) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		Component	c; \
		uint64		hash; \
	\
		set_component; \
		hash = RowHash(position(&c)) - HASH_COMBINE_CONSTANT; \
		return_hash; \
	}

SUPPORT_FUNCTIONS(text, set_text(&c, fcinfo))
SUPPORT_FUNCTIONS(name, ComponentSetString(&c, NameStr(*PG_GETARG_NAME(0)), strlen(NameStr(*PG_GETARG_NAME(0)))))
SUPPORT_FUNCTIONS(uuid, ComponentSetUuid(&c, PG_GETARG_DATUM(0)))
SUPPORT_FUNCTIONS(int2, ComponentSetNumber(&c, PG_GETARG_INT16(0)))
SUPPORT_FUNCTIONS(int4, ComponentSetNumber(&c, PG_GETARG_INT32(0)))
SUPPORT_FUNCTIONS(int8, ComponentSetNumber(&c, (double) PG_GETARG_INT64(0)))
SUPPORT_FUNCTIONS(numeric, ComponentSetNumeric(&c, PG_GETARG_DATUM(0)))
SUPPORT_FUNCTIONS(float4, ComponentSetNumber(&c, PG_GETARG_FLOAT4(0)))
SUPPORT_FUNCTIONS(float8, ComponentSetNumber(&c, PG_GETARG_FLOAT8(0)))
SUPPORT_FUNCTIONS(bool, ComponentSetBool(&c, PG_GETARG_BOOL(0)))
SUPPORT_FUNCTIONS(date, ComponentSetDate(&c, PG_GETARG_DATUM(0)))
SUPPORT_FUNCTIONS(timestamp, ComponentSetTimestamp(&c, PG_GETARG_DATUM(0)))
SUPPORT_FUNCTIONS(timestamptz, ComponentSetTimestamptz(&c, PG_GETARG_DATUM(0)))

/* Those of PUIDs serve partitioning only; see the install script. */
EXTENDED_FUNCTIONS(puid, ComponentSetPuid(&c, PG_GETARG_DATUM(0)))
EXTENDED_FUNCTIONS(puid_family, ComponentSetPuidFamily(&c, PG_GETARG_DATUM(0)))

/* JSON that is no scalar counts as undefined, as Cosmos's query planner takes it. */
SUPPORT_FUNCTIONS(jsonb, (void) ComponentSetJsonb(&c, PG_GETARG_JSONB_P(0)))

/* hash_position(value "any", hash text) returns text */
PG_FUNCTION_INFO_V1(hash_position);
Datum
hash_position(PG_FUNCTION_ARGS)
{
	Oid			typid = get_fn_expr_argtype(fcinfo->flinfo, 0);
	PositionHash hash = PositionHashFromName(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	Component	c;

	if (typid == UNKNOWNOID)
		ComponentSetString(&c, PG_GETARG_CSTRING(0), strlen(PG_GETARG_CSTRING(0)));
	else if (ComponentTypeName(typid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a value of type %s cannot be part of a partition key", format_type_be(typid)),
				 errhint("%s", ComponentTypeHint(typid))));
	else if (!ComponentSetDatum(&c, typid, PG_GETARG_DATUM(0)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a JSON array or object cannot be part of a partition key"),
				 errhint("Give a JSON string, number, boolean or null, or {} for undefined.")));

	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%016llX", (unsigned long long) Position(hash, &c))));
}
