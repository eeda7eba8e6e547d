/*
 * itemend.c
 *		Finding the end of an item, sound or broken.
 */
#include "postgres.h"

#include "item.h"
#include "itemend.h"
#include "itemrepair.h"

#define KEPT_BYTES			1000	/* of an item that is far too long */

void
ItemEndStart(ItemEnd *end)
{
	end->indentation = -1;
	end->flat = 0;
	end->nbreaks = 0;
}

void
ItemPassHeld(ItemEnd *end, ExportBuffer *buffer, int length)
{
	if (end->beginning == NULL)
		end->beginning = pnstrdup(BufferAhead(buffer, 0), KEPT_BYTES);
	BufferPass(buffer, length);
	end->length = 0;
}

/*
 * Sound items
 */

/*
 * A line begins within the item: whether it begins another one.  *flat tells that a line
 * inside the item is indented no more than its first one.
 */
static bool
line_begins_item(const ItemEnd *end, const ExportBuffer *buffer, char c, int indentation, bool *flat)
{
	if (indentation > buffer->indentation)
		return false;
	if (end->lines)
		return strchr("\"}]", c) == NULL;
	if (c == '{' && !*flat)
		return true;
	if (c != '}' && c != ']')
		*flat = true;
	return false;
}

/* What ends a row of characters that need no look: within a string, and within a word. */
#define ENDS_TEXT			1
#define ENDS_WORD			2
static const char row_ends[256] = {
	['"'] = ENDS_TEXT | ENDS_WORD, ['\\'] = ENDS_TEXT, ['\n'] = ENDS_TEXT | ENDS_WORD,
	[' '] = ENDS_WORD, ['\t'] = ENDS_WORD, ['\r'] = ENDS_WORD, ['{'] = ENDS_WORD, ['}'] = ENDS_WORD,
	['['] = ENDS_WORD, [']'] = ENDS_WORD, [','] = ENDS_WORD, [':'] = ENDS_WORD, ['\''] = ENDS_WORD, ['\0'] = ENDS_WORD
};

/* How many bytes ahead, of those in the buffer, are in such a row. */
static inline int
row_bytes(const ExportBuffer *buffer, int ahead, char ends)
{
	const char *start = BufferAhead(buffer, ahead);
	const char *end = buffer->data + buffer->length;
	const char *p = start;

	while (p < end && (row_ends[(unsigned char) *p] & ends) == 0)
		p++;
	return p - start;
}

/* How many spaces are ahead, of what is in the buffer. */
static inline int
space_bytes(const ExportBuffer *buffer, int ahead)
{
	const char *start = BufferAhead(buffer, ahead);
	const char *end = buffer->data + buffer->length;
	const char *p = start;

	while (p < end && *p == ' ')
		p++;
	return p - start;
}

/* Pass a string ahead, if it has no escapes and is in the buffer as a whole: most are, so this is the short way. */
static inline bool
pass_string(ItemEnd *end, const ExportBuffer *buffer, ItemScan *scan)
{
	int			length = 1 + row_bytes(buffer, end->length + 1, ENDS_TEXT);

	if (IsFileEnd(buffer, end->length + length) || *BufferAhead(buffer, end->length + length) != '"' ||
		!ScanMayBegin(&scan->json))
		return false;
	scan->string = end->length;
	scan->json.introduced = scan->json.previous;
	scan->json.previous = '"';
	end->length += length + 1;
	return true;
}

/* Scan the item as one that is sound. */
static ScanState
scan_item(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan)
{
	JsonScan   *json = &scan->json;
	ScanState	state = SCAN_OPEN;
	int			indentation = -1;	/* so far, at the beginning of a line; else -1 */
	bool		flat = false;

	while (state == SCAN_OPEN)
	{
		char		c = BufferPeek(buffer, end->length);

		if (c == '\0' && IsFileEnd(buffer, end->length))
			break;
		if (json->quoted)
			state = ScanQuoted(json, c);
		else if (IsBlank(c))
		{
			int			spaces = space_bytes(buffer, end->length + 1);

			end->length += spaces;
			indentation = c == '\n' ? spaces : indentation < 0 ? -1 : indentation + 1 + spaces;
		}
		else if ((indentation >= 0 && line_begins_item(end, buffer, c, indentation, &flat)) ||
				 (c == '{' && ItemIsBreak(end, buffer, end->length)))
			state = SCAN_BROKEN;
		else
		{
			indentation = -1;
			if (c == '"' && pass_string(end, buffer, scan))
				continue;
			state = ItemScanToken(scan, c, end->length);
		}
		if (state != SCAN_BROKEN)
			end->length++;
		if (json->quoted)
			end->length += json->escaped ? 0 : row_bytes(buffer, end->length, ENDS_TEXT);
		else if (!row_ends[(unsigned char) c])
			end->length += row_bytes(buffer, end->length, ENDS_WORD);
		if (end->length > MAX_HELD)
		{
			if (!end->lines && ItemFindBreaks(end, buffer, scan, false))
				return SCAN_BROKEN;
			ItemPassHeld(end, buffer, end->length);
		}
	}
	end->depth = json->deepest;
	end->cut = state == SCAN_OPEN;
	return state;
}

/* How far a line ahead is indented. */
static int
indentation_of(const ExportBuffer *buffer, int ahead)
{
	const char *p = BufferAhead(buffer, ahead);

	while (*p == ' ' || *p == '\t')
		p++;
	return p - BufferAhead(buffer, ahead);
}

/* How far the first token of a line is indented. */
static int
indentation_before(const ExportBuffer *buffer, int ahead)
{
	const char *p = BufferAhead(buffer, ahead);

	while (p[-1] == ' ' || p[-1] == '\t')
		p--;
	return BufferAhead(buffer, ahead) - p;
}

/*
 * Whether an item of several lines was closed too early: by a bracket on a line that is indented
 * more than the first one, and a member on such a line comes behind it.
 */
static bool
is_closed_early(ExportBuffer *buffer, int length, int ahead)
{
	const char *start;
	const char *last;
	int			line;

	if (BufferPeek(buffer, ahead) != '\n')
		return false;
	if (BufferPeekToken(buffer, &ahead, false) == '\0' || !ItemBeginsMember(buffer, ahead))
		return false;
	start = BufferAhead(buffer, 0);
	for (last = BufferAhead(buffer, length - 1); last > start && last[-1] != '\n'; last--)
		 /* to the beginning of the line */ ;
	line = last - start;
	return line > 0 && indentation_of(buffer, line) > buffer->indentation &&
		indentation_before(buffer, ahead) > buffer->indentation;
}

/* Whether a bracket ahead can't be the end of the array, by what comes behind it. */
static bool
is_extra_bracket(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	c = BufferPeekToken(buffer, &ahead, false);
	if (c == ',')
	{
		ahead++;
		c = BufferPeekToken(buffer, &ahead, false);
		return c == (end->wrapped ? '[' : '"') || c == '{';
	}
	return c == ']' || (c == '}' && !end->wrapped);
}

/* Whether a member ahead has the name that the item begins with: so it is one of another item, which has lost its bracket. */
static bool
has_first_name(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	int			first = 1;
	int			length = 0;

	if (end->beginning != NULL || BufferPeekToken(buffer, &first, false) != '"')
		return false;
	first++;
	while (first + length < end->length && *BufferAhead(buffer, first + length) != '"')
		length++;
	ahead += BufferPeek(buffer, ahead) == '"' ? 1 : 0;
	for (int i = 0; i < length; i++)
		if (BufferPeek(buffer, ahead + i) != BufferPeek(buffer, first + i))
			return false;
	return BufferPeek(buffer, ahead + length) == '"';
}

/* Whether what comes behind a closed item belongs to it. */
static bool
is_followed(const ItemEnd *end, ExportBuffer *buffer)
{
	int			ahead = end->length;
	char		c = BufferPeekToken(buffer, &ahead, true);
	bool		divided = c == ',';

	if (divided)
	{
		ahead++;
		c = BufferPeekToken(buffer, &ahead, true);
	}
	if (c == '{' || c == '[' || c == ',' || (c == '\0' && IsFileEnd(buffer, ahead)) || IsBlank(c))
		return end->beginning == NULL && is_closed_early(buffer, end->length, ahead);
	if (c == ']')
		return !end->in_array || is_extra_bracket(end, buffer, ahead);
	if (end->lines || (!divided && (c == '}' || c == ':')))
		return true;
	return ItemBeginsMember(buffer, ahead) && !has_first_name(end, buffer, ahead);
}

/*
 * Broken items
 */

/* The item is its line, without what ends the array and the wrapper on the same one. */
static int
end_by_line(ItemEnd *end, ExportBuffer *buffer)
{
	int			length;

	for (length = 0;; length++)
	{
		char		c = BufferPeek(buffer, length);

		if (c == '\n' || (c == '\0' && IsFileEnd(buffer, length)))
			break;
		if (c == ']' && length > 0 && end->in_array && ItemEndsArray(end, buffer, length))
			return length;
		if (length > MAX_HELD)
		{
			ItemPassHeld(end, buffer, length);
			length = 0;
		}
	}
	length = WithoutBlanks(buffer, length);
	return length > 1 && *BufferAhead(buffer, length - 1) == ',' ? length - 1 : length;
}

/* Whether a bracket ahead, alone on its line, should have been a closing one: behind it an item begins, or all ends. */
static bool
is_reversed(ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	if (BufferPeekToken(buffer, &ahead, true) == ',')
	{
		ahead++;
		(void) BufferPeekToken(buffer, &ahead, true);
	}
	if (BufferPeek(buffer, ahead) != '\n')
		return false;
	c = BufferPeekToken(buffer, &ahead, false);
	return c == '{' || c == ']' || (c == '\0' && IsFileEnd(buffer, ahead));
}

/*
 * The item ends with a closing bracket that is indented as its first line, or before any
 * other line that is.  0 if no line of it is indented more.
 */
static int
end_by_indentation(ItemEnd *end, ExportBuffer *buffer)
{
	bool		whole = BufferPeek(buffer, 0) == '{';
	int			base = whole || end->indentation < 0 ? buffer->indentation : Min(buffer->indentation, end->indentation);
	int			indentation = -1;
	bool		inside = buffer->indentation > base;
	int			length = 0;		/* of what belongs to the item */

	if (buffer->passed < end->flat)
		return 0;
	for (int ahead = 0; ahead < MAX_HELD; ahead++)
	{
		char		c = BufferPeek(buffer, ahead);

		if (c == '\n')
			indentation = 0;
		else if (IsBlank(c))
			indentation += indentation < 0 ? 0 : 1;
		else if ((c == '\0' && IsFileEnd(buffer, ahead)) || (indentation >= 0 && indentation <= base))
		{
			if (!inside)
			{
				end->flat = buffer->passed + ahead;
				break;
			}
			if (c != '}' && !(c == '{' && is_reversed(buffer, ahead)))
				return length;
			do
				length = ++ahead;
			while ((c = BufferPeekToken(buffer, &ahead, true)) == '}' ||
				   (c == ']' && (!end->in_array || is_extra_bracket(end, buffer, ahead))));
			return length;
		}
		else
		{
			inside |= indentation >= 0;
			indentation = -1;
			length = ahead + 1;
		}
	}
	return inside ? length : 0;
}

/* What does not begin with a bracket ends with the line, before an object, and in an array with a comma or the array. */
static int
end_of_word(const ItemEnd *end, ExportBuffer *buffer)
{
	bool		quoted = false;
	int			length = 0;

	for (;; length++)
	{
		char		c = BufferPeek(buffer, length);

		if ((c == '\0' && IsFileEnd(buffer, length)) || c == '\n' || length > MAX_HELD)
			return length;
		if (c == '"')
			quoted = !quoted;
		if (length > 0 && !quoted && (c == '{' || (end->in_array && (c == ',' || c == ']'))))
			return length;
	}
}

/*
 * An array that lacks its end may have taken the items behind, up to the end of the
 * array that they are in, which is the last bracket of the file.
 */
static bool
has_taken_rest(ItemEnd *end, ExportBuffer *buffer)
{
	ItemScan	scan;
	const char *item = BufferAhead(buffer, 0);
	int			length = end->length;

	while (length > 0 && item[length - 1] != ']')
		length--;
	ItemScanStart(&scan);
	for (int i = 0; i < length - 1; i++)
	{
		if (scan.json.quoted)
			(void) ScanQuoted(&scan.json, item[i]);
		else if (!IsBlank(item[i]))
			(void) ItemScanToken(&scan, item[i], i);
	}
	return length > 0 && ItemFindBreaks(end, buffer, &scan, ItemEndsArray(end, buffer, length - 1));
}

/* Set the end of an item that the scan has found broken, by the layout of the file. */
static bool
end_by_layout(ItemEnd *end, ExportBuffer *buffer)
{
	int			length = 0;

	if (end->lines)
		length = end_by_line(end, buffer);
	else if (end->beginning == NULL && buffer->line_start)
		length = end_by_indentation(end, buffer);
	if (length == 0)
		return false;
	end->length = length;
	end->cut = end->cut && IsFileEnd(buffer, length);
	return true;
}

/* Set the end of an item that the scan has found broken. */
static void
end_broken(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan)
{
	bool		at_break = ItemIsBreak(end, buffer, end->length);

	end->lost = true;
	if (!at_break && end_by_layout(end, buffer))
		return;
	if (at_break || ItemFindBreaks(end, buffer, scan, false) ||
		(end->cut && end->in_array && end->beginning == NULL && has_taken_rest(end, buffer)))
		ItemEndAtBreak(end, buffer);
	else if (!end->cut)
		ItemRepair(end, buffer, scan);
}

/* An item that does not begin with a bracket: the members of an object whose beginning is missing, or a word. */
static void
end_of_other(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan)
{
	if (!end->lines && !ItemBeginsMember(buffer, 0) && !ItemIsTorn(buffer, 0))
	{
		end->length = end_of_word(end, buffer);
		return;
	}
	(void) ItemScanToken(scan, '{', 0);
	end_broken(end, buffer, scan);
	end->lost = false;
}

/* Forget breaks that have been reached. */
static void
drop_breaks(ItemEnd *end, const ExportBuffer *buffer)
{
	int			n = 0;

	while (n < end->nbreaks && end->breaks[n] <= buffer->passed)
		n++;
	if (n == 0)
		return;
	end->nbreaks -= n;
	memmove(end->breaks, end->breaks + n, end->nbreaks * sizeof(int64));
}

void
ItemFindEnd(ItemEnd *end, ExportBuffer *buffer)
{
	char		c = BufferPeek(buffer, 0);
	ItemScan	scan;

	end->length = 0;
	end->depth = 0;
	end->lost = end->cut = false;
	end->beginning = NULL;
	drop_breaks(end, buffer);
	if (end->indentation < 0 && c == '{' && buffer->line_start)
		end->indentation = buffer->indentation;
	ItemScanStart(&scan);
	if (c != '{' && c != '[')
		end_of_other(end, buffer, &scan);
	else if (scan_item(end, buffer, &scan) != SCAN_CLOSED || is_followed(end, buffer))
		end_broken(end, buffer, &scan);
}

bool
ItemPassObject(ExportBuffer *buffer)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;

	ScanStart(&scan);
	(void) ScanNext(&scan, '{');
	while (state != SCAN_CLOSED)
	{
		char		c = BufferPeek(buffer, 0);

		if (c == '\0' && IsFileEnd(buffer, 0))
			return false;
		state = ScanNext(&scan, c);
		BufferPass(buffer, 1);
	}
	return true;
}

int
ItemDepth(const char *text, int length)
{
	JsonScan	scan;

	ScanStart(&scan);
	for (int i = 0; i < length; i++)
		if (scan.depth > 0 || text[i] == '{' || text[i] == '[')
			(void) ScanNext(&scan, text[i]);
	return scan.deepest;
}
