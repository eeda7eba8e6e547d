/*
 * itemscan.c
 *		Finding the end of an item by its brackets.
 */
#include "postgres.h"

#include "itemscan.h"

void
ItemScanStart(ItemScan *scan, bool in_array, bool lines, int indentation)
{
	memset(scan, 0, offsetof(ItemScan, open));
	scan->in_array = in_array;
	scan->lines = lines;
	scan->indentation = indentation;
}

/* The innermost open bracket; deeper than we remember, any. */
static inline char
innermost(const ItemScan *scan)
{
	if (scan->depth == 0 || scan->depth > SCAN_DEPTH)
		return '\0';
	return scan->open[scan->depth - 1];
}

static inline void
open_bracket(ItemScan *scan, char bracket)
{
	if (scan->depth < SCAN_DEPTH)
		scan->open[scan->depth] = bracket;
	scan->depth++;
	scan->deepest = Max(scan->deepest, scan->depth);
}

/* Close a bracket, with all that is open inside it.  False if there is none. */
static bool
close_bracket(ItemScan *scan, char bracket)
{
	int			depth = scan->depth;

	if (depth <= SCAN_DEPTH)
		while (depth > 0 && scan->open[depth - 1] != bracket)
			depth--;
	if (depth == 0)
		return false;
	scan->depth = depth - 1;
	scan->closed = scan->depth == 0;
	return true;
}

/* Whether the first character of a line inside the item begins another one. */
static bool
line_begins_item(ItemScan *scan, char c)
{
	if (scan->column > scan->indentation)
		return false;
	if (scan->lines)
		return strchr("\"}]", c) == NULL;
	if (c == '{' && !scan->outdented)
		return true;
	if (c != '}' && c != ']')
		scan->outdented = true;
	return false;
}

/* The item is closed: whether it ends before this character.  What else follows it belongs to it, and breaks it. */
static bool
ends_closed(const ItemScan *scan, char c)
{
	return c == ',' || c == '{' || c == '[' || (c == ']' && scan->in_array);
}

/* Take a character that is no blank and not in a string; true if the item ends before it. */
static bool
take_token(ItemScan *scan, char c)
{
	bool		ends = false;

	if (scan->line_start && scan->depth > 0 && line_begins_item(scan, c))
		return true;
	scan->line_start = false;
	if (scan->closed && ends_closed(scan, c))
		return true;
	switch (c)
	{
		case '"':
			scan->quoted = true;
			break;
		case '{':
			if (innermost(scan) == '{' && scan->previous != ':' && scan->previous != '{')
				return true;
			/* FALLTHROUGH */
		case '[':
			open_bracket(scan, c);
			break;
		case '}':
			(void) close_bracket(scan, '{');
			break;
		case ']':
			ends = !close_bracket(scan, '[') && scan->in_array;
			break;
		case ',':
			ends = scan->depth == 0 && scan->in_array;
			break;
	}
	if (!ends)
		scan->previous = c;
	return ends;
}

/* Take a character of a string. */
static inline void
take_quoted(ItemScan *scan, char c)
{
	if (scan->escaped)
		scan->escaped = false;
	else if (c == '\\')
		scan->escaped = true;
	else if (c == '"')
		scan->quoted = false;
}

bool
ItemScanBytes(ItemScan *scan, const char *data, int length, int *used)
{
	for (int i = 0; i < length; i++)
	{
		char		c = data[i];
		bool		ends = false;

		if (c == '\n')
		{
			ends = scan->depth == 0;
			scan->quoted = scan->escaped = false;
			scan->line_start = true;
			scan->column = 0;
		}
		else if (scan->quoted)
			take_quoted(scan, c);
		else if (!IsBlank(c))
			ends = take_token(scan, c);
		else if (scan->line_start && c != '\r')
			scan->column++;
		if (ends)
		{
			*used = i;
			return true;
		}
	}
	*used = length;
	return false;
}

int
ItemScanDepth(const char *text, int length)
{
	ItemScan	scan;

	ItemScanStart(&scan, false, false, 0);
	for (const char *p = text; p < text + length; p++)
	{
		if (scan.quoted)
			take_quoted(&scan, *p);
		else if (*p == '"')
			scan.quoted = true;
		else if (*p == '{' || *p == '[')
			open_bracket(&scan, *p);
		else if (*p == '}' || *p == ']')
			(void) close_bracket(&scan, *p == '}' ? '{' : '[');
	}
	return scan.deepest;
}
