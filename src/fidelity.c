/*
 * fidelity.c
 *		Whether a column keeps what it is given.
 *
 * Types take more than they keep: numeric(5,2) and real round, varchar(3) cuts off blanks,
 * a date drops the time of day, and "now" is another time tomorrow.  Two partition
 * keys of Cosmos DB would become one so.  How a value is written is no part of it: the
 * same UUID in capital letters, or a time with "+00:00" for "Z".
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "fidelity.h"

#define TIME_DIGITS			6	/* of a second, that a timestamp has */

static Datum
input(PGFunction function, const char *text)
{
	return DirectFunctionCall3(function, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* Whether a time is written as ISO 8601 does, and so means the same always, whatever DateStyle is. */
static bool
is_iso_time(const char *text)
{
	return strspn(text, "0123456789") >= 4 && text[strspn(text, "0123456789-+:. TtZz")] == '\0';
}

/* Whether a second has digits that count behind those that are kept. */
static bool
has_long_fraction(const char *text)
{
	const char *digits = strchr(text, '.');

	return digits != NULL && strspn(++digits, "0123456789") > TIME_DIGITS &&
		strspn(digits + TIME_DIGITS, "0") < strspn(digits + TIME_DIGITS, "0123456789");
}

/* Whether a time tells how far it is from UTC, other than not at all. */
static bool
has_offset(const char *text, Timestamp local)
{
	const char *time = strpbrk(text, " Tt");

	return time != NULL && strpbrk(time, "Zz+-") != NULL && DatumGetTimestampTz(input(timestamptz_in, text)) != local;
}

static const char *
time_loss(Oid type, const char *text, Datum value)
{
	Timestamp	local;

	if (!is_iso_time(text))
		return "is not a time as ISO 8601 writes it, for";
	if (has_long_fraction(text))
		return "has more digits of a second than";
	if (type == TIMESTAMPTZOID)
		return DatumGetTimestampTz(input(timestamptz_in, text)) == DatumGetTimestampTz(value) ? NULL :
			"has more digits of a second than";
	local = DatumGetTimestamp(input(timestamp_in, text));
	if (has_offset(text, local))
		return "has an offset from UTC, which is lost in";
	if (type == DATEOID)
		return DatumGetTimestamp(DirectFunctionCall1(date_timestamp, value)) == local ? NULL :
			"has a time of day, which is lost in";
	return DatumGetTimestamp(value) == local ? NULL : "has more digits of a second than";
}

static const char *
string_loss(Oid type, const char *text, Datum value)
{
	Oid			output;
	bool		varlena;
	char	   *kept;
	int			length;

	getTypeOutputInfo(type, &output, &varlena);
	kept = OidOutputFunctionCall(output, value);
	length = strlen(kept);
	if (type == BPCHAROID)		/* has blanks behind it, which are no part of the value */
		while (length > 0 && kept[length - 1] == ' ')
			length--;
	return (int) strlen(text) == length && memcmp(text, kept, length) == 0 ? NULL : "has characters that are lost in";
}

const char *
FidelityLoss(Oid type, const char *text, Datum value)
{
	switch (type)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return time_loss(type, text, value);
		case NUMERICOID:
			return DatumGetBool(DirectFunctionCall2(numeric_eq, input(numeric_in, text), value)) ? NULL :
				"has digits that are lost in";
		case FLOAT4OID:
			return DatumGetFloat8(DirectFunctionCall1(float8in, CStringGetDatum(text))) == DatumGetFloat4(value) ? NULL :
				"has digits that are lost in";
		default:
			return type == CHAROID || TypeCategory(type) == TYPCATEGORY_STRING ?
				string_loss(type, text, value) : NULL;
	}
}
