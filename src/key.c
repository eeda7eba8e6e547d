/*
 * key.c
 *		Reading a partition key written as a JSON array.
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "key.h"

const char *
KeyValueKind(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			return "null";
		case jbvBool:
			return "a boolean";
		case jbvNumeric:
			return "a number";
		case jbvString:
			return "a string";
		default:
			if (JsonContainerIsArray(value->val.binary.data))
				return "an array";
			return JsonContainerSize(value->val.binary.data) == 0 ? "undefined" : "an object";
	}
}

char *
KeyRead(Key *key, Jsonb *json, const char **hint)
{
	Component	ignored;

	*hint = "Write for example '[\"tenant-1\",\"user-1\"]'.";
	if (!JB_ROOT_IS_ARRAY(json) || JB_ROOT_IS_SCALAR(json))
		return psprintf("a partition key must be a JSON array with one value per level");
	*hint = psprintf("A partition key has at most %d.", MAX_LEVELS);
	if (JB_ROOT_COUNT(json) > MAX_LEVELS)
		return psprintf("partition key has %u components", JB_ROOT_COUNT(json));

	*hint = "A component is a JSON string, number, boolean or null, or {} for undefined.";
	key->levels = JB_ROOT_COUNT(json);
	for (int i = 0; i < key->levels; i++)
	{
		key->values[i] = *getIthJsonbValueFromContainer(&json->root, i);
		if (!ComponentSetJsonbValue(&ignored, &key->values[i]))
			return psprintf("component %d of the partition key is %s", i + 1, KeyValueKind(&key->values[i]));
	}
	return NULL;
}

void
KeyFromJsonb(Key *key, Jsonb *json)
{
	const char *hint;
	char	   *fault = KeyRead(key, json, &hint);

	if (fault != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", fault),
				 errhint("%s", hint)));
}

Numeric
KeyNumber(double number)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	/* JSON has no infinity, but numbers that are read as it */
	if (isinf(number))
		strlcpy(text, number > 0 ? "2e308" : "-2e308", sizeof(text));
	else
		double_to_shortest_decimal_buf(number, text);
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static void
set_string(JsonbValue *value, char *string)
{
	value->type = jbvString;
	value->val.string.val = string;
	value->val.string.len = strlen(string);
}

/* A component as a JSON scalar; not for undefined. */
static void
component_to_scalar(const Component *c, JsonbValue *value)
{
	char	   *string;

	switch (c->type)
	{
		case COMPONENT_NULL:
			value->type = jbvNull;
			break;
		case COMPONENT_FALSE:
		case COMPONENT_TRUE:
			value->type = jbvBool;
			value->val.boolean = c->type == COMPONENT_TRUE;
			break;
		case COMPONENT_NUMBER:
			if (!isnan(c->number))
			{
				value->type = jbvNumeric;
				value->val.numeric = KeyNumber(c->number);
			}
			else
				set_string(value, "NaN");
			break;
		default:
			string = pnstrdup(c->data, c->len);
			set_string(value, GetDatabaseEncoding() == PG_SQL_ASCII ? string : pg_any_to_server(string, c->len, PG_UTF8));
	}
}

Jsonb *
KeyToJsonb(const Component *components, int levels)
{
	JsonbParseState *state = NULL;
	JsonbValue	value;

	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < levels; i++)
	{
		if (components[i].type == COMPONENT_UNDEFINED)
		{
			pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
			pushJsonbValue(&state, WJB_END_OBJECT, NULL);
			continue;
		}
		component_to_scalar(&components[i], &value);
		pushJsonbValue(&state, WJB_ELEM, &value);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, NULL));
}

/*
 * The size of a string in UTF-8 or in UTF-16, whichever is less.  Public
 * sources don't say in which of the two Cosmos DB counts, so a value is too
 * long only if it is in both.
 */
static size_t
string_size(const Component *c)
{
	size_t		utf16 = 0;

	for (size_t at = 0; at < c->len;)
	{
		int			bytes = pg_utf_mblen((const unsigned char *) c->data + at);

		utf16 += bytes == 4 ? 4 : 2;
		at += bytes;
	}
	return Min(c->len, utf16);
}

bool
KeyValueTooLong(const Component *c)
{
	return c->type == COMPONENT_STRING && c->len > MAX_VALUE_BYTES && string_size(c) > MAX_VALUE_BYTES;
}

/* The size of a text, without fetching it if it is stored elsewhere. */
static inline size_t
value_size(Datum value)
{
	struct varlena *t = (struct varlena *) DatumGetPointer(value);

	return VARATT_IS_EXTERNAL(t) || VARATT_IS_COMPRESSED(t) ?
		toast_raw_datum_size(value) - VARHDRSZ : VARSIZE_ANY_EXHDR(t);
}

static void
check_value(int n, Oid basetype, Datum value)
{
	Component	c;

	if (basetype == UNKNOWNOID)
	{
		basetype = TEXTOID;		/* a literal */
		value = CStringGetTextDatum(DatumGetCString(value));
	}
	switch (basetype)
	{
		case TEXTOID:
		case VARCHAROID:
			/*
			 * The short strings that nearly all keys are need no closer look.  A
			 * byte of another encoding is at most three in UTF-8.
			 */
			if (value_size(value) <= (GetDatabaseEncoding() == PG_UTF8 ? MAX_VALUE_BYTES : MAX_VALUE_BYTES / 3))
				return;
			/* FALLTHROUGH */
		case JSONBOID:
			break;
		default:
			return;
	}
	if (!ComponentSetDatum(&c, basetype, value))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("component %d of the partition key is a JSON object or array", n + 1),
				 errhint("A key column holds a JSON string, number, boolean or null, or {} for undefined.")));
	if (KeyValueTooLong(&c))
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("component %d of the partition key is %zu bytes long, which is over the limit of %d bytes",
						n + 1, string_size(&c), MAX_VALUE_BYTES),
				 errhint("Use a shorter value as key, for example a digest of this one.")));
}

/* The arguments' base types, looked up once for a call site. */
static Oid *
argument_types(FunctionCallInfo fcinfo)
{
	Oid		   *types = fcinfo->flinfo->fn_extra;

	if (types != NULL)
		return types;
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("valid_key takes the components of a key, not an array of them")));
	types = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid) * PG_NARGS());
	for (int i = 0; i < PG_NARGS(); i++)
	{
		types[i] = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, i));
		if (types[i] != UNKNOWNOID && ComponentTypeName(types[i]) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("a value of type %s cannot be part of a partition key", format_type_be(types[i])),
					 errhint("%s", ComponentTypeHint(types[i]))));
	}
	return fcinfo->flinfo->fn_extra = types;
}

/*
 * valid_key(VARIADIC "any") returns boolean
 *
 * The check constraint of containers with text or jsonb keys: true, or an
 * error that says what is wrong with which component.
 */
PG_FUNCTION_INFO_V1(valid_key);
Datum
valid_key(PG_FUNCTION_ARGS)
{
	Oid		   *types = argument_types(fcinfo);

	for (int i = 0; i < PG_NARGS(); i++)
		if (!PG_ARGISNULL(i))
			check_value(i, types[i], PG_GETARG_DATUM(i));
	PG_RETURN_BOOL(true);
}
