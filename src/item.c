/*
 * item.c
 *		Turning the text of an item into a document, or saying what is wrong with it.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "item.h"
#include "itemend.h"

#define HEX_DIGITS			4

/* The longest decimal that a binary64 needs, which a number is in Cosmos DB. */
#define MAX_NUMBER_BYTES	24

const char *
ItemFaultName(ItemFault fault)
{
	static const char *const names[] = {
		[ITEM_SOUND] = "sound",
		[ITEM_BROKEN_JSON] = "broken JSON",
		[ITEM_NOT_AN_OBJECT] = "not an object",
		[ITEM_ZERO_CHARACTER] = "zero character",
		[ITEM_LONE_SURROGATE] = "lone surrogate",
		[ITEM_BAD_ENCODING] = "bad encoding",
		[ITEM_TOO_LARGE] = "too large",
		[ITEM_TOO_DEEP] = "too deep",
		[ITEM_NUMBER_RANGE] = "number out of range"
	};

	return names[fault];
}

void
ItemSetFault(CosmosItem *item, ItemFault fault, char *reason)
{
	item->doc = NULL;
	item->fault = fault;
	item->reason = reason;
}

/* The code unit that \uXXXX stands for; false if a text has none there. */
static bool
escaped_unit(const char *p, uint32 *unit)
{
	*unit = 0;
	if (p[0] != '\\' || p[1] != 'u')
		return false;
	for (int i = 2; i < 2 + HEX_DIGITS; i++)
	{
		if (!isxdigit((unsigned char) p[i]))
			return false;
		*unit = *unit * 16 + (isdigit((unsigned char) p[i]) ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
	}
	return true;
}

/*
 * How many bytes Cosmos DB would count for a text, if a longer one is written with
 * blanks and escapes: characters count as their UTF-8.
 */
static int
compact_size(const CosmosItem *item)
{
	int			size = 0;
	bool		quoted = false;

	for (const char *p = item->text; p < item->text + item->length; p++)
	{
		uint32		unit;

		if (!quoted && strchr(" \t\r\n", *p) != NULL)
			continue;
		if (!quoted && (isdigit((unsigned char) *p) || *p == '-'))
		{
			int			digits = strspn(p, "0123456789+-.eE");

			size += Min(digits, MAX_NUMBER_BYTES);
			p += digits - 1;
			continue;
		}
		size++;
		if (*p == '"')
			quoted = !quoted;
		if (*p != '\\')
			continue;
		if (escaped_unit(p, &unit))
		{
			/* two bytes for half of a pair, which has four */
			size += unit < 0x80 ? 0 : unit < 0x800 || (unit & 0xF800) == 0xD800 ? 1 : 2;
			p += 1 + HEX_DIGITS;
		}
		else
			size++, p++;
	}
	return size;
}

/* The next escape \uXXXX in a text that the lexer has read as far, or NULL. */
static const char *
next_escape(const char *p, uint32 *unit)
{
	while ((p = strchr(p, '\\')) != NULL && !escaped_unit(p, unit))
		p += p[1] == '\0' ? 1 : 2;
	return p;
}

/* The first escape in a text that is half of a surrogate pair, or NULL. */
static char *
lone_escape(const char *text)
{
	uint32		unit;
	uint32		next;

	for (const char *p = text; (p = next_escape(p, &unit)) != NULL; p += 2 + HEX_DIGITS)
	{
		if ((unit & 0xF800) != 0xD800)
			continue;
		if (unit >= 0xDC00 || !escaped_unit(p + 2 + HEX_DIGITS, &next) || (next & 0xFC00) != 0xDC00)
			return pnstrdup(p, 2 + HEX_DIGITS);
		p += 2 + HEX_DIGITS;
	}
	return NULL;
}

static bool
has_zero_escape(const char *text)
{
	uint32		unit;

	for (const char *p = text; (p = next_escape(p, &unit)) != NULL; p += 2 + HEX_DIGITS)
		if (unit == 0)
			return true;
	return false;
}

/* Whether there is half of a surrogate pair as three bytes, as it comes from UTF-16. */
static bool
has_lone_bytes(const CosmosItem *item)
{
	const unsigned char *p = (const unsigned char *) item->text;

	for (int i = 0; i + 1 < item->length; i++)
		if (p[i] == 0xED && p[i + 1] >= 0xA0)
			return true;
	return false;
}

/* Say what the server has found wrong with a text. */
static void
set_fault_of_error(CosmosItem *item, const ErrorData *error)
{
	char	   *detail = pstrdup(error->detail ? error->detail : error->message);
	char	   *lone;

	if (detail[0] != '\0' && detail[strlen(detail) - 1] == '.')
		detail[strlen(detail) - 1] = '\0';
	switch (error->sqlerrcode)
	{
		case ERRCODE_CHARACTER_NOT_IN_REPERTOIRE:
			if (has_lone_bytes(item))
				ItemSetFault(item, ITEM_LONE_SURROGATE, "half of a surrogate pair is no character");
			else
				ItemSetFault(item, ITEM_BAD_ENCODING, detail);
			break;
		case ERRCODE_FEATURE_NOT_SUPPORTED: /* an escape in SQL_ASCII, before PostgreSQL 16 */
		case ERRCODE_UNTRANSLATABLE_CHARACTER:
			if (has_zero_escape(item->text))
				ItemSetFault(item, ITEM_ZERO_CHARACTER, "\\u0000 can't be part of a text in PostgreSQL");
			else
				ItemSetFault(item, ITEM_BAD_ENCODING, detail);
			break;
		case ERRCODE_INVALID_TEXT_REPRESENTATION:
			lone = lone_escape(item->text);
			if (lone != NULL)
				ItemSetFault(item, ITEM_LONE_SURROGATE, psprintf("%s is half of a surrogate pair, which is no character", lone));
			else
				ItemSetFault(item, ITEM_BROKEN_JSON, detail);
			break;
		case ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE:
			ItemSetFault(item, ITEM_NUMBER_RANGE, detail);
			break;
		default:				/* jsonb's own limits */
			ItemSetFault(item, ITEM_TOO_LARGE, detail);
	}
}

/* Errors that tell something about the text. */
static bool
is_about_text(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_DATA_EXCEPTION ||
		error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED || error->sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED;
}

/*
 * Take a step towards a document, and declare the item faulty if that fails.  Errors are
 * caught without a subtransaction: the functions called, for the encoding and for
 * jsonb's input, compute a value from a string in allocated memory and leave nothing
 * behind that an abort would have to undo.  Before PostgreSQL 16 they have no other way to
 * report an error, and the conversion of encodings has none yet.  What is not about
 * the text goes on as it was.
 */
static void
try_step(void (*step) (CosmosItem *item), CosmosItem *item)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		step(item);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!is_about_text(error))
			PG_RE_THROW();
		FlushErrorState();
		set_fault_of_error(item, error);
	}
	PG_END_TRY();
}

/* What to say of an item that is over one of the limits. */
static char *
limit_reason(ItemFault fault)
{
	if (fault == ITEM_TOO_DEEP)
		return psprintf("the item is nested more than %d levels deep, Cosmos DB's limit", MAX_ITEM_DEPTH);
	return psprintf("the item has more than %d bytes, Cosmos DB's limit", MAX_ITEM_BYTES);
}

/* The text as jsonb. */
static void
parse_text(CosmosItem *item)
{
	char	   *text = pg_any_to_server(item->text, item->length, PG_UTF8);

	item->doc = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

/* The text, which is of the server encoding, as UTF-8. */
static void
convert_text(CosmosItem *item)
{
	char	   *utf8 = pg_server_to_any(item->text, item->length, PG_UTF8);

	if (utf8 != item->text)
	{
		item->text = utf8;
		item->length = strlen(utf8);
	}
}

void
ItemParse(CosmosItem *item, int depth)
{
	ItemSetFault(item, ITEM_SOUND, NULL);
	if (item->length > MAX_ITEM_BYTES && compact_size(item) > MAX_ITEM_BYTES)
		ItemSetFault(item, ITEM_TOO_LARGE, limit_reason(ITEM_TOO_LARGE));
	else if (depth > MAX_ITEM_DEPTH)
		ItemSetFault(item, ITEM_TOO_DEEP, limit_reason(ITEM_TOO_DEEP));
	else
		try_step(parse_text, item);
	if (item->doc != NULL && !JB_ROOT_IS_OBJECT(item->doc))
		ItemSetFault(item, ITEM_NOT_AN_OBJECT, "an item is a JSON object");
}

void
ItemFromText(CosmosItem *item, char *text, int length)
{
	item->file = NULL;
	item->line = 1;
	item->offset = 0;
	item->text = pnstrdup(text, length);
	item->length = length;
	ItemSetFault(item, ITEM_SOUND, NULL);
	try_step(convert_text, item);
	if (item->fault == ITEM_SOUND)
		ItemParse(item, ItemDepth(item->text, item->length));
}

/* How many containers there are around the innermost one, and it. */
static int
container_depth(JsonbContainer *container)
{
	uint32		n = JsonContainerSize(container);
	uint32		first = JsonContainerIsObject(container) ? n : 0;
	char	   *data = (char *) &container->children[first + n];
	int			deepest = 0;

	check_stack_depth();
	for (uint32 i = first; i < first + n; i++)
		if (JBE_ISCONTAINER(container->children[i]))
		{
			int			depth = container_depth((JsonbContainer *) (data + INTALIGN(getJsonbOffset(container, i))));

			deepest = Max(deepest, depth);
		}
	return deepest + 1;
}

/* A document is less than so many times longer as text: an escaped character. */
#define MAX_ESCAPE_LENGTH	6

bool
ItemIsTooLarge(Jsonb *doc)
{
	CosmosItem	item = {0};

	if (VARSIZE(doc) <= MAX_ITEM_BYTES / MAX_ESCAPE_LENGTH)
		return false;
	item.text = JsonbToCString(NULL, &doc->root, VARSIZE(doc));
	item.text = pg_server_to_any(item.text, strlen(item.text), PG_UTF8);
	item.length = strlen(item.text);
	return compact_size(&item) > MAX_ITEM_BYTES;
}

ItemFault
ItemJudge(Jsonb *doc, char **reason)
{
	ItemFault	fault = ITEM_SOUND;

	if (container_depth(&doc->root) > MAX_ITEM_DEPTH)
		fault = ITEM_TOO_DEEP;
	else if (ItemIsTooLarge(doc))
		fault = ITEM_TOO_LARGE;
	if (fault != ITEM_SOUND)
		*reason = limit_reason(fault);
	return fault;
}

/* Append what can be converted of a text of UTF-8; gives how many of its bytes that are. */
static int
append_valid(StringInfo to, const char *p, int length)
{
	int			encoding = GetDatabaseEncoding();
	Oid			conversion;

	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
	{
		length = pg_encoding_verifymbstr(PG_UTF8, p, length);
		appendBinaryStringInfo(to, p, length);
		return length;
	}
	conversion = FindDefaultConversionProc(PG_UTF8, encoding);
	if (!OidIsValid(conversion))
		return 0;
	enlargeStringInfo(to, length * MAX_CONVERSION_GROWTH + 1);
	length = pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding, (unsigned char *) p, length,
										   (unsigned char *) to->data + to->len, to->maxlen - to->len, true);
	to->len += strlen(to->data + to->len);
	return length;
}

char *
ItemPrintable(const CosmosItem *item, int limit)
{
	StringInfoData text;
	int			length = Min(limit, item->length);
	int			at = 0;

	/* A limit doesn't cut a character. */
	if (length < item->length)
		length = pg_encoding_mbcliplen(PG_UTF8, item->text, item->length, length);
	initStringInfo(&text);
	while (at < length)
	{
		at += append_valid(&text, item->text + at, length - at);
		if (at < length)
			appendStringInfo(&text, "\\x%02X", (unsigned char) item->text[at++]);
	}
	return text.data;
}

char *
ItemPrintableName(const char *name)
{
	StringInfoData text;

	initStringInfo(&text);
	while (*name != '\0')
	{
		int			length = pg_encoding_verifymbstr(GetDatabaseEncoding(), name, strlen(name));

		appendBinaryStringInfo(&text, name, length);
		name += length;
		if (*name != '\0')
			appendStringInfo(&text, "\\x%02X", (unsigned char) *name++);
	}
	return text.data;
}
