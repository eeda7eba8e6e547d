/*
 * itemrepair.c
 *		Finding the end of a broken item by its brackets and quotes.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "item.h"
#include "itemrepair.h"

#define FOLLOWERS			20	/* objects in a row that make items */
#define FOLLOWED_BYTES		(256 * 1024)	/* how far they are looked for */
#define MAX_TAIL			4096	/* what comes in a wrapper behind its array */
#define COMPARED_NAMES		2	/* of objects that are alike */
#define SIMILAR				3	/* objects in a row that need be alike in the first name only */

/*
 * Strings
 */

/* The length of a string ahead, with its quotes, if it is one by what follows it; else 0. */
static int
string_length(ExportBuffer *buffer, int ahead)
{
	int			at = ahead + 1;
	int			length;
	char		c;

	for (; (c = BufferPeek(buffer, at)) != '"'; at++)
	{
		if (c == '\n' || (c == '\0' && IsFileEnd(buffer, at)) || at - ahead > MAX_HELD)
			return 0;
		if (c == '\\' && BufferPeek(buffer, at + 1) != '\n')
			at++;
	}
	length = ++at - ahead;
	c = BufferPeekToken(buffer, &at, false);
	if (c == '{')				/* a comma or a colon is missing, or the end of the item */
	{
		at++;
		return BufferPeekToken(buffer, &at, false) == '"' ? length : 0;
	}
	return c == '\0' || strchr(",:}]", c) != NULL ? length : 0;
}

bool
ItemIsTorn(ExportBuffer *buffer, int ahead)
{
	return BufferPeek(buffer, ahead) == '"' && string_length(buffer, ahead) == 0;
}

bool
ItemBeginsMember(ExportBuffer *buffer, int ahead)
{
	char		c = BufferPeek(buffer, ahead);
	int			length;

	if (c == '"')
	{
		length = string_length(buffer, ahead);
		if (length == 0)
			return false;
		ahead += length;
		return BufferPeekToken(buffer, &ahead, true) == ':';
	}
	for (length = 0; length < MAX_BLANKS && c != '\0' && strchr("\"{}[],:\n", c) == NULL; length++)
		c = BufferPeek(buffer, ++ahead);
	return c == ':' || (c == '"' && length > 0);
}

/*
 * The array that items are in
 */

/* Pass what a wrapper has behind its array, if it is no more than that of an answer. */
static bool
pass_tail(ExportBuffer *buffer, int *ahead)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;
	int			limit = *ahead + MAX_TAIL;

	ScanStart(&scan);
	(void) ScanNext(&scan, '{');
	while (state == SCAN_OPEN && *ahead < limit && !(BufferPeek(buffer, *ahead) == '\0' && IsFileEnd(buffer, *ahead)))
		state = ScanNext(&scan, BufferPeek(buffer, (*ahead)++));
	return state == SCAN_CLOSED;
}

/* Whether an object ahead begins as Cosmos DB's answers do. */
static bool
begins_page(ExportBuffer *buffer, int ahead)
{
	static const char name[] = "\"_rid\"";

	ahead++;
	(void) BufferPeekToken(buffer, &ahead, false);
	for (size_t i = 0; i < lengthof(name) - 1; i++)
		if (BufferPeek(buffer, ahead + i) != name[i])
			return false;
	return true;
}

bool
ItemEndsArray(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	int			line;
	char		c;

	ahead++;
	if (end->wrapped && !pass_tail(buffer, &ahead))
		return false;
	line = ahead;
	(void) BufferPeekToken(buffer, &line, true);
	c = BufferPeekToken(buffer, &ahead, false);
	if (end->wrapped)			/* another page may come, on another line at least if it is any object */
		return (c == '{' && (line < ahead || begins_page(buffer, ahead))) || (c == '\0' && IsFileEnd(buffer, ahead));
	return (c == '[' && (line < ahead || !end->lines)) || (c == '\0' && IsFileEnd(buffer, ahead));
}

/*
 * Neighbours
 */

/* Pass an object ahead, if it is one as far as brackets tell. */
static bool
pass_object(ExportBuffer *buffer, int *ahead, int limit)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;

	ScanStart(&scan);
	while (state == SCAN_OPEN && *ahead < limit && !(BufferPeek(buffer, *ahead) == '\0' && IsFileEnd(buffer, *ahead)))
		state = ScanNext(&scan, BufferPeek(buffer, (*ahead)++));
	return state == SCAN_CLOSED;
}

/* Whether an object ahead begins with a name, as items do. */
static bool
has_name(ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	c = BufferPeekToken(buffer, &ahead, false);
	return c == '}' || (c == '"' && ItemBeginsMember(buffer, ahead));
}

/* Whether a bracket behind objects ends an array inside an item: what goes on is another object, then. */
static bool
ends_inner_array(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	char		c;

	if (end->in_array && ItemEndsArray(end, buffer, ahead))
		return false;
	ahead++;
	c = BufferPeekToken(buffer, &ahead, false);
	if (c == ',')
	{
		ahead++;
		c = BufferPeekToken(buffer, &ahead, false);
	}
	if (c == ']' && end->in_array)	/* a bracket too many, if this one ends the array */
		return !ItemEndsArray(end, buffer, ahead);
	return c != '{';
}

/*
 * Whether items begin with an object ahead: if those in a row from there on are not
 * the last ones of an array inside an item.  If they are, moves behind them.
 */
static bool
begins_items(const ItemEnd *end, ExportBuffer *buffer, int *ahead)
{
	int			at = *ahead;
	int			limit = at + FOLLOWED_BYTES;

	for (int i = 0; i < FOLLOWERS; i++)
	{
		char		c;

		if (!pass_object(buffer, &at, limit))
			return true;		/* that one is broken, too */
		c = BufferPeekToken(buffer, &at, false);
		if (c == ']' && ends_inner_array(end, buffer, at))
		{
			*ahead = at;
			return false;
		}
		if (c == ',')
		{
			at++;
			c = BufferPeekToken(buffer, &at, false);
		}
		if (c != '{')
			return true;
	}
	return true;
}

/* The name that follows a bracket or a comma, of what is in the buffer. */
static bool
next_name(ExportBuffer *buffer, int *ahead, int *length)
{
	(*ahead)++;
	if (BufferPeekToken(buffer, ahead, false) != '"')
		return false;
	*length = string_length(buffer, *ahead);
	return *length > 0;
}

/* Pass a member's value that is no bracket, behind its name; false if another one doesn't follow. */
static bool
pass_value(ExportBuffer *buffer, int *ahead)
{
	char		c;

	if (BufferPeekToken(buffer, ahead, false) != ':')
		return false;
	(*ahead)++;
	if (BufferPeekToken(buffer, ahead, false) == '"')
		*ahead += string_length(buffer, *ahead);
	while ((c = BufferPeek(buffer, *ahead)) != ',')
	{
		if (strchr("\"{}[]", c) != NULL)	/* or a NUL */
			return false;
		(*ahead)++;
	}
	return true;
}

/* Whether two objects begin with the same names, or have no others. */
static bool
are_alike(ExportBuffer *buffer, int a, int b, int names)
{
	for (int i = 0; i < names; i++)
	{
		int			a_length;
		int			b_length;
		bool		more = next_name(buffer, &a, &a_length);

		if (more != next_name(buffer, &b, &b_length))
			return false;
		if (!more)
			break;
		if (a_length != b_length || memcmp(BufferAhead(buffer, a), BufferAhead(buffer, b), a_length) != 0)
			return false;
		a += a_length;
		b += b_length;
		more = pass_value(buffer, &a);
		if (more != pass_value(buffer, &b))
			return false;
		if (!more)
			break;
	}
	return true;
}

/* The first object of a row that is like the item, or -1. */
static int
first_alike(ExportBuffer *buffer, const ObjectRun *run, int names)
{
	int			at = run->start;

	for (int i = 0; i < run->count; i++)
	{
		if (BufferPeek(buffer, 0) == '{' && are_alike(buffer, 0, at, names))
			return at;
		if (!pass_object(buffer, &at, MAX_HELD) || BufferPeekToken(buffer, &at, false) != ',')
			break;
		at++;
		if (BufferPeekToken(buffer, &at, false) != '{')
			break;
	}
	return -1;
}

bool
ItemFindBreaks(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan, bool at_end)
{
	int			levels = scan->json.depth + (scan->json.previous == ']' ? 1 : 0);	/* the array that was closed last, too */
	int64		found[MAX_BREAKS];
	int			n = 0;

	if (end->beginning != NULL)
		return false;
	for (int i = 0; i < Min(levels, SCAN_DEPTH); i++)
	{
		ObjectRun  *run = &scan->runs[i];
		int			at;

		CHECK_FOR_INTERRUPTS();
		if (scan->json.open[i] != '[' || run->start < 0 || run->count == 0 || (run->unlike && !at_end))
			continue;
		/* If one of the row is, all are items, though they may lack the second name. */
		at = first_alike(buffer, run, COMPARED_NAMES);
		if (at >= 0 || (at_end && run->count >= SIMILAR))
			at = first_alike(buffer, run, 1);
		if (at < 0 && at_end && run->count >= FOLLOWERS)
			at = run->start;
		if (at > 0)
			found[n++] = buffer->passed + at;
		else
			run->unlike = true;
	}
	if (n == 0)
		return false;
	end->nbreaks = Min(end->nbreaks, MAX_BREAKS - n);
	memmove(end->breaks + n, end->breaks, end->nbreaks * sizeof(int64));
	memcpy(end->breaks, found, n * sizeof(int64));
	end->nbreaks += n;
	return true;
}

/* The item ends before another one ahead, and before the comma between them. */
static int
before_item(const ExportBuffer *buffer, int ahead)
{
	int			length = WithoutBlanks(buffer, ahead);

	if (length > 1 && *BufferAhead(buffer, length - 1) == ',')
		length = WithoutBlanks(buffer, length - 1);
	return Max(length, 1);
}

void
ItemEndAtBreak(ItemEnd *end, ExportBuffer *buffer)
{
	end->length = before_item(buffer, end->breaks[0] - buffer->passed);
	end->cut = false;
}

/*
 * Counting brackets
 */

/* Close the innermost bracket of a kind, and all within it; false if there is none. */
static bool
close_bracket(ItemScan *scan, char bracket)
{
	JsonScan   *json = &scan->json;

	if (!ScanRemembers(json))
	{
		json->depth--;
		return true;
	}
	for (int depth = json->depth; depth > 0; depth--)
		if (json->open[depth - 1] == bracket)
		{
			json->depth = depth - 1;
			return true;
		}
	return false;
}

static void
open_bracket(ItemScan *scan, char bracket)
{
	JsonScan   *json = &scan->json;

	if (json->depth < SCAN_DEPTH)
		json->open[json->depth] = bracket;
	json->depth++;
	json->deepest = Max(json->deepest, json->depth);
	ItemScanBracket(scan, bracket);
}

/*
 * An object that has no name among the members of another one begins behind that; and in a
 * sequence of items, one that has no comma before it begins behind all.
 */
static void
close_nameless(const ItemEnd *end, ItemScan *scan)
{
	JsonScan   *json = &scan->json;

	if (json->previous == ':' || json->previous == '{' || (json->previous == '"' && json->introduced != ':'))
		return;					/* a colon may be missing */
	if (json->previous != ',' && end->in_array)
		return;					/* items have commas between them */
	if (json->previous != ',' && json->previous != '[')
		json->depth = 0;
	while (ItemScanInnermost(scan) == '{')
	{
		json->depth--;
		json->divided = '\0';	/* what was closed here is not one of a row */
	}
}

/* Take a character of a broken item. */
static void
take_token(ItemScan *scan, char c, int at)
{
	JsonScan   *json = &scan->json;

	switch (c)
	{
		case '{':
			ItemScanObject(scan, at);
			/* FALLTHROUGH */
		case '[':
			open_bracket(scan, c);
			break;
		case '}':
			if (close_bracket(scan, '{'))
				ItemScanBracket(scan, c);
			break;
		case ']':
			(void) close_bracket(scan, '[');
			break;
		case ':':
			if (json->previous == '"' && ItemScanInnermost(scan) == '[')
				(void) close_bracket(scan, '[');
			break;
		case ',':
			json->divided = json->previous;
			break;
		case '"':
			json->introduced = json->previous;
			break;
		default:
			break;
	}
	json->previous = c;
}

/* Whether the item ends before an object ahead.  If it doesn't, what is no item there may be passed. */
static bool
ends_before(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan, int *ahead)
{
	JsonScan   *json = &scan->json;

	if (json->previous == ',' && ItemScanInnermost(scan) == '{' && ItemFindBreaks(end, buffer, scan, false))
	{
		*ahead = end->breaks[0] - buffer->passed;
		return true;
	}
	close_nameless(end, scan);
	if (json->depth > 0 || json->previous == ':')
		return false;
	if (!has_name(buffer, *ahead))
	{
		(*ahead)++;				/* an open bracket that should be a closing one, or should not be there */
		json->previous = '\'';
		return false;
	}
	if (begins_items(end, buffer, ahead))
		return true;
	json->previous = '}';
	return false;
}

/* Hold no more than an item can have. */
static void
pass_held(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan, int *ahead)
{
	ItemPassHeld(end, buffer, *ahead);
	*ahead = 0;
	for (int i = 0; i < SCAN_DEPTH; i++)
		scan->runs[i].start = -1;
}

/* Where to go on: a string that has brought the scan to its end may not be one. */
static int
start_repair(const ItemEnd *end, ItemScan *scan)
{
	bool		misled = scan->json.quoted || scan->json.previous == '"';

	scan->json.quoted = scan->json.escaped = false;
	if (!misled || end->beginning != NULL)
		return end->length;
	scan->json.previous = scan->json.introduced;
	return scan->string;
}

/* Whether the item ends here: before the end of the file or of its array, or before another item. */
static bool
ends_here(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan, int *ahead)
{
	char		c = BufferPeek(buffer, *ahead);

	if (c == '{' && *ahead > 0 && (ItemIsBreak(end, buffer, *ahead) || ends_before(end, buffer, scan, ahead)))
	{
		end->length = before_item(buffer, *ahead);
		return true;
	}
	end->cut = c == '\0' && IsFileEnd(buffer, *ahead);
	if (!end->cut && !(c == ']' && end->in_array && ItemEndsArray(end, buffer, *ahead)))
		return false;
	end->length = *ahead;
	if (ItemFindBreaks(end, buffer, scan, !end->cut))
		ItemEndAtBreak(end, buffer);
	return true;
}

/* Take what is ahead, which may be a string, and move behind it. */
static void
take_ahead(ExportBuffer *buffer, ItemScan *scan, int *ahead)
{
	char		c = BufferPeek(buffer, *ahead);
	int			length = 1;

	if (c == '"')
	{
		length = ScanMayBegin(&scan->json) ? string_length(buffer, *ahead) : 0;
		if (length == 0)
			c = '\'', length = 1;	/* part of a word */
	}
	if (!IsBlank(c))
		take_token(scan, c, *ahead);
	*ahead += length;
}

void
ItemRepair(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan)
{
	int			ahead = start_repair(end, scan);

	for (;;)
	{
		int			at = ahead;

		if (ends_here(end, buffer, scan, &ahead))
			break;
		if (ahead == at)
			take_ahead(buffer, scan, &ahead);
		if (ahead > MAX_HELD)
		{
			if (ItemFindBreaks(end, buffer, scan, false))
			{
				ItemEndAtBreak(end, buffer);
				break;
			}
			pass_held(end, buffer, scan, &ahead);
		}
	}
	end->depth = scan->json.deepest;
}
