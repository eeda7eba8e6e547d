/*
 * cast.c
 *		Casts between a key column and what it is compared with.
 *
 * A column that is cast does not prune.  To cast the value instead gives the same
 * rows only where different values of the column stay different, and the value is one
 * that the column can have.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "cast.h"

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_number(Oid type)
{
	return is_integer(type) || type == NUMERICOID || type == FLOAT4OID || type == FLOAT8OID;
}

static bool
is_timestamp(Oid type)
{
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static bool
is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == NAMEOID;
}

static CastFit
fit_of(Oid from, Oid to, int32 typmod)
{
	if (typmod >= 0)
		return CAST_MANY;
	if (from == to)
		return CAST_SAME;
	if (is_integer(from) && is_number(to))
		return is_integer(to) ? CAST_SAME : CAST_WHOLE;
	if (from == DATEOID && is_timestamp(to))
		return CAST_DAY;
	if (is_timestamp(from) && is_timestamp(to))
		return CAST_SAME;
	return is_string(to) ? CAST_SAME : CAST_MANY;
}

CastFit
CastFitOfValue(Oid column, Oid value)
{
	return is_timestamp(column) && value == DATEOID ? CAST_SAME : fit_of(column, value, -1);
}

/* Whether there is no such cast in Cosmos DB. */
static bool
is_nothing(Oid from, Oid to, bool implicit, CastFit fit)
{
	if (is_number(from))
		return is_number(to) && (implicit || fit != CAST_MANY);
	if (is_string(to))
		return fit != CAST_MANY && from != BOOLOID && from != JSONBOID;
	return implicit || (fit != CAST_MANY && is_timestamp(to));
}

/* The argument of a cast and how it was written; NULL for what is no cast. */
static Node *
cast_argument(Node *node, CoercionForm *form)
{
	if (IsA(node, RelabelType))
	{
		*form = ((RelabelType *) node)->relabelformat;
		return (Node *) ((RelabelType *) node)->arg;
	}
	if (IsA(node, CoerceViaIO))
	{
		*form = ((CoerceViaIO *) node)->coerceformat;
		return (Node *) ((CoerceViaIO *) node)->arg;
	}
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->args != NIL)
	{
		*form = ((FuncExpr *) node)->funcformat;
		if (*form == COERCE_EXPLICIT_CAST || *form == COERCE_IMPLICIT_CAST)
			return linitial(((FuncExpr *) node)->args);
	}
	return NULL;
}

Node *
CastStrip(Node *expr, Cast *cast)
{
	CoercionForm form;
	Node	   *arg;

	*cast = (Cast) {InvalidOid, true, CAST_SAME, true};
	while ((arg = cast_argument(expr, &form)) != NULL)
	{
		Oid			from = getBaseType(exprType(arg));
		Oid			to = getBaseType(exprType(expr));
		bool		implicit = form == COERCE_IMPLICIT_CAST;

		/* The same bytes under another name, as varchar for text, are no cast. */
		if (!IsA(expr, RelabelType))
		{
			CastFit		fit = fit_of(from, to, exprTypmod(expr));

			if (!OidIsValid(cast->type) || (cast->implicit && !implicit))
				cast->type = exprType(expr);
			cast->implicit &= implicit;
			cast->fit = Max(cast->fit, fit);
			cast->nothing &= is_nothing(from, to, implicit, fit);
		}
		expr = arg;
	}
	return expr;
}

/* Whether a column can be equal to a value: one of an integer type to whole numbers, a date to the start of a day. */
static bool
can_be(Oid column, Oid type, Datum value)
{
	double		number;

	if (type == TIMESTAMPTZOID)
		value = DirectFunctionCall1(timestamptz_timestamp, value);
	if (is_timestamp(type))
		return column != DATEOID || TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)) || DatumGetTimestamp(value) % USECS_PER_DAY == 0;
	if (!is_integer(column))
		return true;
	if (type == NUMERICOID &&
		!DatumGetBool(DirectFunctionCall2(numeric_eq, value, DirectFunctionCall2(numeric_trunc, value, Int32GetDatum(0)))))
		return false;
	if (type == NUMERICOID)
		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
	else if (type == FLOAT4OID)
		number = DatumGetFloat4(value);
	else if (type == FLOAT8OID)
		number = DatumGetFloat8(value);
	else
		return true;
	return number == rint(number) && fabs(number) < ldexp(1, 8 * get_typlen(column) - 1);
}

/* Those of a constant's values that a column can't be equal to, in words; sets how many it can be equal to. */
static char *
impossible_values(Oid column, const Const *constant, int *possible)
{
	Oid			element = get_element_type(constant->consttype);
	Oid			type = OidIsValid(element) ? element : constant->consttype;
	Datum	   *values = (Datum *) &constant->constvalue;
	bool	   *nulls = (bool *) &constant->constisnull;
	int			n = 1;
	Oid			output;
	bool		varlena;
	StringInfoData words;

	*possible = 0;
	initStringInfo(&words);
	getTypeOutputInfo(type, &output, &varlena);
	if (OidIsValid(element) && !constant->constisnull)
	{
		int16		len;
		bool		byval;
		char		align;

		get_typlenbyvalalign(element, &len, &byval, &align);
		deconstruct_array(DatumGetArrayTypeP(constant->constvalue), element, len, byval, align, &values, &nulls, &n);
	}
	for (int i = 0; i < n; i++)
		if (!nulls[i] && can_be(column, type, values[i]))
			(*possible)++;
		else
			appendStringInfo(&words, "%s%s", words.len > 0 ? ", " : "", nulls[i] ? "NULL" : OidOutputFunctionCall(output, values[i]));
	return words.data;
}

char *
CastHint(const char *column, Oid type, CastFit fit, Oid other, Node *value)
{
	char	   *name = format_type_be(type);
	char	   *cast = psprintf("ast the value instead: %s = (...)::%s.", column, name);
	char	   *day = fit == CAST_DAY ? psprintf(" If the day is meant, c%s", cast) : "";

	if (fit == CAST_MANY)
		return psprintf("Several values of %s may give the same %s, in any partition. Name the values, %s IN (...),"
						" or keep what is searched for as the key or as a level of it.", column, format_type_be(other), column);
	if (fit != CAST_SAME && IsA(value, Const))
	{
		int			possible;
		char	   *impossible = impossible_values(getBaseType(type), (Const *) value, &possible);

		if (impossible[0] != '\0' && possible == 0)
			return psprintf("No %s is equal to %s, so no row meets this condition.%s", name, impossible, day);
		if (impossible[0] != '\0')
			return psprintf("Leave out %s, which no %s is equal to, and cast the others to %s.", impossible, name, name);
	}
	else if (fit == CAST_WHOLE)
		return psprintf("Give whole numbers as %s: %s = (...)::%s. No %s is equal to another number.", name, column, name, name);
	else if (fit == CAST_DAY)
		return psprintf("A date is equal to the start of its day, and to no other time.%s", day);
	return psprintf("C%s", cast);
}
