/*
 * synthetic.c
 *		Synthetic keys: several values as one text.
 *
 * All of it is immutable, so a part's text depends on no setting, and parts of
 * one type that are equal have the same text: numbers are plain decimals
 * without trailing zeros, dates and times ISO 8601 in UTC.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "compat.h"
#include "component.h"
#include "puid.h"

/* How the parts are put together. */
typedef struct Joining
{
	StringInfoData key;
	const char *separator;
	int			separator_len;
	bool		strict;			/* refuse what could not be split again */
} Joining;

/* The base types of the arguments, remembered for a call site. */
typedef struct PartTypes
{
	int			nargs;
	Oid			types[FLEXIBLE_ARRAY_MEMBER];
} PartTypes;

static void
append_double(StringInfo key, double number, char *shortest)
{
	if (isnan(number))
		appendStringInfoString(key, "NaN");
	else if (isinf(number))
		appendStringInfoString(key, number < 0 ? "-Infinity" : "Infinity");
	else
		/* The shortest digits that mean this number; numeric has no exponents. */
		appendStringInfoString(key, numeric_normalize(DatumGetNumeric(
			DirectFunctionCall3(numeric_in, CStringGetDatum(shortest), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)))));
}

static void
append_numeric(StringInfo key, Numeric number)
{
	appendStringInfoString(key, numeric_normalize(number));
}

static void
append_text(StringInfo key, Datum value)
{
	text	   *t = DatumGetTextPP(value);

	appendBinaryStringInfo(key, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

/* character(n) without the blanks that pad it. */
static void
append_bpchar(StringInfo key, Datum value)
{
	text	   *t = DatumGetTextPP(value);

	appendBinaryStringInfo(key, VARDATA_ANY(t), bpchartruelen(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)));
}

static void
null_part(int n, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("part %d of the synthetic key is %s", n, what),
			 errhint("Give it a value with coalesce, or leave the part out.")));
}

/* A JSON scalar as the SQL value that it is. */
static void
append_jsonb(StringInfo key, Jsonb *json, int n)
{
	JsonbValue	value;

	if (!JsonbExtractScalar(&json->root, &value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("part %d of the synthetic key is a JSON array or object", n),
				 errhint("Give its scalars as parts.")));
	switch (value.type)
	{
		case jbvNull:
			null_part(n, "JSON null");
			break;
		case jbvBool:
			appendStringInfoString(key, value.val.boolean ? "true" : "false");
			break;
		case jbvNumeric:
			append_numeric(key, value.val.numeric);
			break;
		default:
			appendBinaryStringInfo(key, value.val.string.val, value.val.string.len);
	}
}

/* What a component has as its text: a uuid, a date or a timestamp. */
static void
append_component(StringInfo key, Oid type, Datum value)
{
	Component	c;

	ComponentSetDatum(&c, type, value);
	appendBinaryStringInfo(key, c.data, c.len);
}

static void
append_other(StringInfo key, Oid type, Datum value, int n)
{
	switch (PuidTypeOf(type))
	{
		case PUID_ITSELF:
			appendStringInfoString(key, PuidText(DatumGetUUIDP(value)));
			break;
		case PUID_FAMILY:
			append_component(key, type, value);
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("part %d of the synthetic key is of type %s, which has no canonical text",
							n, format_type_be(type)),
					 errhint("Cast it to text, and see that no setting of the session changes that text.")));
	}
}

/* Append the n-th part, of a base type. */
static void
append_part(StringInfo key, Oid type, Datum value, int n)
{
	char		shortest[DOUBLE_SHORTEST_DECIMAL_LEN];

	switch (type)
	{
		case UNKNOWNOID:
			appendStringInfoString(key, DatumGetCString(value));
			break;
		case TEXTOID:
		case VARCHAROID:
			append_text(key, value);
			break;
		case BPCHAROID:
			append_bpchar(key, value);
			break;
		case NAMEOID:
			appendStringInfoString(key, NameStr(*DatumGetName(value)));
			break;
		case BOOLOID:
			appendStringInfoString(key, DatumGetBool(value) ? "true" : "false");
			break;
		case INT2OID:
			appendStringInfo(key, "%d", DatumGetInt16(value));
			break;
		case INT4OID:
			appendStringInfo(key, "%d", DatumGetInt32(value));
			break;
		case INT8OID:
			appendStringInfo(key, "%lld", (long long) DatumGetInt64(value));
			break;
		case NUMERICOID:
			append_numeric(key, DatumGetNumeric(value));
			break;
		case FLOAT4OID:
			float_to_shortest_decimal_buf(DatumGetFloat4(value), shortest);
			append_double(key, DatumGetFloat4(value), shortest);
			break;
		case FLOAT8OID:
			double_to_shortest_decimal_buf(DatumGetFloat8(value), shortest);
			append_double(key, DatumGetFloat8(value), shortest);
			break;
		case UUIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			append_component(key, type, value);
			break;
		case JSONBOID:
			append_jsonb(key, DatumGetJsonbP(value), n);
			break;
		default:
			append_other(key, type, value, n);
	}
}

/* Where in a string another one begins, counted in characters from 1, or 0. */
static int
find(const char *string, const char *wanted)
{
	return DatumGetInt32(DirectFunctionCall2Coll(textpos, C_COLLATION_OID, CStringGetTextDatum(string),
												 CStringGetTextDatum(wanted)));
}

/* The beginning of a text, for a message. */
static char *
clipped(const char *string)
{
	int			len = pg_mbcliplen(string, strlen(string), 100);

	return psprintf("%s%s", pnstrdup(string, len), string[len] == '\0' ? "" : "...");
}

/*
 * Refuse a part that would be split elsewhere: one that holds the separator, or
 * that ends in such a way that a separator begins before the real one ("a-"
 * with "--").
 */
static void
check_separable(const Joining *joining, int start, int n, bool last)
{
	const char *part = joining->key.data + start;
	const char *with = last ? part : psprintf("%s%s", part, joining->separator);
	int			at = find(with, joining->separator);

	if (at == 0 || (!last && at == pg_mbstrlen(part) + 1))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("part %d of the synthetic key cannot be told from the separator \"%s\"", n, clipped(joining->separator)),
			 errdetail("The part is \"%s\".", clipped(part)),
			 errhint("Use a separator that is in no part and that no part ends like.")));
}

static void
join_part(Joining *joining, Oid type, Datum value, bool isnull, int n, bool last)
{
	StringInfo	key = &joining->key;
	int			start;

	CHECK_FOR_INTERRUPTS();
	if (isnull)
		null_part(n, "null");
	start = key->len;
	append_part(key, type, value, n);
	if (joining->strict)
		check_separable(joining, start, n, last);
	if (!last)
		appendBinaryStringInfo(key, joining->separator, joining->separator_len);
}

/* The parts are the elements of an array: VARIADIC ARRAY[...] */
static void
join_array(FunctionCallInfo fcinfo, int first, Joining *joining)
{
	Datum	   *values;
	bool	   *nulls;
	Oid		   *types;
	int			nparts = extract_variadic_args(fcinfo, first, true, &values, &types, &nulls);

	if (nparts < 1)
		ereport(ERROR,
				(errcode(nparts < 0 ? ERRCODE_NULL_VALUE_NOT_ALLOWED : ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a synthetic key has at least one part"),
				 errdetail("The array of parts is %s.", nparts < 0 ? "null" : "empty")));
	for (int i = 0; i < nparts; i++)
		join_part(joining, getBaseType(types[i]), values[i], nulls[i], i + 1, i == nparts - 1);
}

static PartTypes *
part_types(FunctionCallInfo fcinfo)
{
	PartTypes  *types = fcinfo->flinfo->fn_extra;

	if (likely(types != NULL))
		return types;
	types = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, offsetof(PartTypes, types) + sizeof(Oid) * PG_NARGS());
	types->nargs = get_fn_expr_variadic(fcinfo->flinfo) ? -1 : PG_NARGS();
	for (int i = 0; i < PG_NARGS(); i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, i);

		if (!OidIsValid(type))
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_DATATYPE),
					 errmsg("could not determine the data type of argument %d", i + 1)));
		types->types[i] = getBaseType(type);
	}
	return fcinfo->flinfo->fn_extra = types;
}

/* Join the arguments from a given one on. */
static Datum
join_parts(FunctionCallInfo fcinfo, int first, const char *separator, int separator_len, bool strict)
{
	Joining		joining = {.separator = separator,.separator_len = separator_len,.strict = strict};
	PartTypes  *types = part_types(fcinfo);

	initStringInfo(&joining.key);
	if (types->nargs < 0)
		join_array(fcinfo, first, &joining);
	for (int i = first; i < types->nargs; i++)
		join_part(&joining, types->types[i], PG_GETARG_DATUM(i), PG_ARGISNULL(i), i - first + 1, i == types->nargs - 1);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(joining.key.data, joining.key.len));
}

static char *
get_separator(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("separator must not be null")));
	return text_to_cstring(PG_GETARG_TEXT_PP(0));
}

static void
check_not_empty(const char *separator)
{
	if (*separator == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("separator must not be empty"),
				 errdetail("Without a separator a key cannot be split.")));
}

/* synthetic_key(VARIADIC parts "any") returns text */
PG_FUNCTION_INFO_V1(synthetic_key);
Datum
synthetic_key(PG_FUNCTION_ARGS)
{
	return join_parts(fcinfo, 0, "_", 1, false);
}

/* synthetic_key_with(separator text, VARIADIC parts "any") returns text */
PG_FUNCTION_INFO_V1(synthetic_key_with);
Datum
synthetic_key_with(PG_FUNCTION_ARGS)
{
	char	   *separator = get_separator(fcinfo);

	return join_parts(fcinfo, 1, separator, strlen(separator), false);
}

/* synthetic_key_strict(separator text, VARIADIC parts "any") returns text */
PG_FUNCTION_INFO_V1(synthetic_key_strict);
Datum
synthetic_key_strict(PG_FUNCTION_ARGS)
{
	char	   *separator = get_separator(fcinfo);

	check_not_empty(separator);
	return join_parts(fcinfo, 1, separator, strlen(separator), true);
}

/* split_synthetic_key(key text, separator text) returns text[] */
PG_FUNCTION_INFO_V1(split_synthetic_key);
Datum
split_synthetic_key(PG_FUNCTION_ARGS)
{
	Datum		key = PG_GETARG_DATUM(0);

	check_not_empty(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	/* PostgreSQL's function gives no part at all for the empty text. */
	if (VARSIZE_ANY_EXHDR(PG_GETARG_TEXT_PP(0)) == 0)
		PG_RETURN_ARRAYTYPE_P(construct_array_builtin(&key, 1, TEXTOID));
	return DirectFunctionCall2Coll(text_to_array, C_COLLATION_OID, key, PG_GETARG_DATUM(1));
}
