/*
 * itemend.c
 *		Finding the end of an item, sound or broken.
 */
#include "postgres.h"

#include "item.h"
#include "itemend.h"
#include "jsonscan.h"

#define MAX_HELD			(16 * MAX_ITEM_BYTES)	/* with escapes and blanks, no sound item is longer */
#define KEPT_BYTES			1000	/* of one that is */
#define FOLLOWERS			20	/* objects in a row that make an array of items */

/* Whether the file is at its end so many bytes ahead; a NUL may be one that is in it. */
static bool
is_end(const ExportBuffer *buffer, int ahead)
{
	return buffer->at + ahead >= buffer->length;
}

/* Move to the end of the line ahead, or as far as an item can be long. */
static void
pass_line(ExportBuffer *buffer, int *ahead)
{
	for (; *ahead < MAX_HELD; (*ahead)++)
	{
		char		c = BufferPeek(buffer, *ahead);

		if (c == '\n' || (c == '\0' && is_end(buffer, *ahead)))
			break;
	}
}

/* The first character of the next line that is not blank, behind a line end ahead, and how far it is indented. */
static char
next_line(ExportBuffer *buffer, int *ahead, int *indentation)
{
	char		c = '\n';

	*indentation = 0;
	while (IsBlank(c))
	{
		c = BufferPeek(buffer, ++(*ahead));
		if (c == '\n')
			*indentation = 0;
		else if (c == ' ' || c == '\t')
			(*indentation)++;
	}
	return c;
}

/*
 * A line ends within the item: whether the next one begins another item.  *flat
 * tells that a line inside the item is indented no more than its first one.
 */
static bool
line_ends_item(const ItemEnd *end, ExportBuffer *buffer, int ahead, bool *flat)
{
	int			indentation;
	char		c = next_line(buffer, &ahead, &indentation);

	if (indentation > buffer->indentation || c == '\0')
		return false;
	if (end->lines)
		return strchr("\"}]", c) == NULL;
	if (c == '{' && !*flat)
		return true;
	if (c != '}' && c != ']')
		*flat = true;
	return false;
}

/* Keep the beginning of an item that is far too long, and pass what has been scanned. */
static void
pass_scanned(ItemEnd *end, ExportBuffer *buffer)
{
	if (end->beginning == NULL)
		end->beginning = pnstrdup(BufferAhead(buffer, 0), KEPT_BYTES);
	BufferPass(buffer, end->length);
	end->length = 0;
}

/* How many bytes of a string ahead, of those in the buffer, are nothing but text. */
static inline int
plain_bytes(const ExportBuffer *buffer, int ahead)
{
	const char *start = BufferAhead(buffer, ahead);
	const char *end = buffer->data + buffer->length;
	const char *p = start;

	while (p < end && *p != '"' && *p != '\\' && *p != '\n')
		p++;
	return p - start;
}

/* Scan the item as one that is sound. */
static ScanState
scan_item(ItemEnd *end, ExportBuffer *buffer)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;
	bool		flat = false;

	ScanStart(&scan);
	while (state == SCAN_OPEN)
	{
		char		c = BufferPeek(buffer, end->length);

		if ((c == '\0' && is_end(buffer, end->length)) || (c == '\n' && line_ends_item(end, buffer, end->length, &flat)))
			break;
		state = ScanNext(&scan, c);
		if (state != SCAN_BROKEN)
			end->length++;
		if (scan.quoted && !scan.escaped)
			end->length += plain_bytes(buffer, end->length);
		if (end->length > MAX_HELD)
			pass_scanned(end, buffer);
	}
	end->depth = scan.deepest;
	end->cut = state == SCAN_OPEN && is_end(buffer, end->length);
	return state;
}

/* Whether what comes behind a closed item on its line, and behind a comma there, belongs to an item. */
static bool
is_followed(const ItemEnd *end, ExportBuffer *buffer)
{
	int			ahead = end->length;
	char		c = BufferPeekInLine(buffer, &ahead);

	if (c == ',')
	{
		ahead++;
		c = BufferPeekInLine(buffer, &ahead);
	}
	return c == '"' || c == '}' || c == ':' || (c == ']' && !end->in_array);
}

/*
 * Broken items
 */

/* Without the blanks at the end of what is ahead. */
static int
without_blanks(const ExportBuffer *buffer, int length)
{
	while (length > 0 && IsBlank(*BufferAhead(buffer, length - 1)))
		length--;
	return length;
}

/* Without what ends the array, and the wrapper, behind the last element on the same line. */
static int
without_array_end(const ItemEnd *end, ExportBuffer *buffer, int length)
{
	int			next = length;
	int			last;

	if (BufferPeekToken(buffer, &next) == ']')
		return length;			/* it comes later */
	last = without_blanks(buffer, length);
	if (end->wrapped && last > 0 && *BufferAhead(buffer, last - 1) == '}')
		last = without_blanks(buffer, last - 1);
	return last > 0 && *BufferAhead(buffer, last - 1) == ']' ? last - 1 : length;
}

/* The item is its line. */
static int
end_by_line(const ItemEnd *end, ExportBuffer *buffer)
{
	int			length = 0;
	int			last;

	pass_line(buffer, &length);
	last = without_blanks(buffer, length);
	if (last > 1 && *BufferAhead(buffer, last - 1) == ',')
		return last - 1;
	return end->in_array ? Max(1, without_array_end(end, buffer, length)) : length;
}

/* The item ends with a closing bracket that is indented as its first line, or before any other line that is. */
static int
end_by_indentation(ExportBuffer *buffer)
{
	int			length = 0;
	int			indentation;
	bool		inside = false;

	for (;;)
	{
		int			ahead;
		char		c;

		pass_line(buffer, &length);
		if (is_end(buffer, length) || length >= MAX_HELD)
			return inside ? length : 0;
		ahead = length;
		c = next_line(buffer, &ahead, &indentation);
		if (c == '\0')
			return inside ? length : 0;
		if (indentation <= buffer->indentation)
		{
			if (!inside || c != '}')
				return inside ? length : 0;
			while (BufferPeekInLine(buffer, &ahead) == '}')
				length = ++ahead;
			return length;
		}
		inside = true;
		length = ahead;
	}
}

/* Pass an object ahead, if it is one as far as brackets tell. */
static bool
pass_object(ExportBuffer *buffer, int *ahead)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;

	ScanStart(&scan);
	while (state == SCAN_OPEN && *ahead < MAX_HELD)
	{
		char		c = BufferPeek(buffer, *ahead);

		if (c == '\0')
			return false;
		state = ScanNext(&scan, c);
		(*ahead)++;
	}
	return state == SCAN_CLOSED;
}

/* Whether an array ends behind a bracket ahead, and the file or the wrapper with it. */
static bool
ends_file(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	c = BufferPeekToken(buffer, &ahead);
	if (c == '}' && end->wrapped)
	{
		ahead++;
		c = BufferPeekToken(buffer, &ahead);
	}
	return c == '\0';
}

/* Whether items begin ahead: objects that are not those of an array inside an item. */
static bool
begins_items(const ItemEnd *end, ExportBuffer *buffer, int ahead)
{
	for (int i = 0; i < FOLLOWERS; i++)
	{
		char		c;

		if (!pass_object(buffer, &ahead))
			return i > 0;		/* that one is broken, too */
		c = BufferPeekToken(buffer, &ahead);
		if (end->in_array && c == ']')
			return ends_file(end, buffer, ahead);
		if (end->in_array && c == ',')
		{
			ahead++;
			c = BufferPeekToken(buffer, &ahead);
		}
		if (c != '{')
			return c == '\0';
	}
	return true;
}

/* The item ends before the next place where items can begin, or takes all that is left. */
static int
end_by_next(const ItemEnd *end, ExportBuffer *buffer)
{
	char		previous = '{';
	int			last = 0;		/* place behind the previous one */
	int			ahead;

	for (ahead = 1; ahead < MAX_HELD; ahead++)
	{
		char		c = BufferPeek(buffer, ahead);

		if (c == '\0' && is_end(buffer, ahead))
			break;
		if (IsBlank(c))
			continue;
		if (c == '{' && previous == (end->in_array ? ',' : '}') && begins_items(end, buffer, ahead))
			return end->in_array ? last - 1 : last;
		previous = c;
		last = ahead + 1;
	}
	return end->in_array && is_end(buffer, ahead) ? Max(1, without_array_end(end, buffer, ahead)) : ahead;
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

		if ((c == '\0' && is_end(buffer, length)) || c == '\n' || length > MAX_HELD)
			return length;
		if (c == '"')
			quoted = !quoted;
		if (length > 0 && !quoted && (c == '{' || (end->in_array && (c == ',' || c == ']'))))
			return length;
	}
}

static int
end_of_broken(const ItemEnd *end, ExportBuffer *buffer)
{
	int			length = 0;

	if (end->lines)
		return end_by_line(end, buffer);
	length = end_by_indentation(buffer);
	return length > 0 ? length : end_by_next(end, buffer);
}

void
ItemFindEnd(ItemEnd *end, ExportBuffer *buffer)
{
	char		c = BufferPeek(buffer, 0);

	end->length = 0;
	end->depth = 0;
	end->lost = end->cut = false;
	end->beginning = NULL;
	if (c != '{' && c != '[')
		end->length = end->lines ? end_by_line(end, buffer) : end_of_word(end, buffer);
	else if (scan_item(end, buffer) != SCAN_CLOSED || is_followed(end, buffer))
	{
		end->lost = true;
		end->length = end_of_broken(end, buffer);
		end->cut = end->cut && is_end(buffer, end->length);
	}
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

		if (c == '\0' && is_end(buffer, 0))
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
