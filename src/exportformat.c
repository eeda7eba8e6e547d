/*
 * exportformat.c
 *		Looking ahead to find how items are laid out in a file.
 */
#include "postgres.h"

#include "exportformat.h"
#include "item.h"
#include "itemrepair.h"
#include "jsonscan.h"

#define LOOK_AHEAD			(2 * MAX_ITEM_BYTES)
#define FIRST_LINES			10

static char
peek(ExportBuffer *buffer, int ahead)
{
	return ahead < LOOK_AHEAD ? BufferPeek(buffer, ahead) : '\0';
}

static char
peek_token(ExportBuffer *buffer, int *ahead)
{
	while (IsBlank(peek(buffer, *ahead)))
		(*ahead)++;
	return peek(buffer, *ahead);
}

/* Whether a string that begins ahead is a name. */
static bool
is_name(const ExportBuffer *buffer, int start, int length, const char *name)
{
	return length == (int) strlen(name) && memcmp(BufferAhead(buffer, start), name, length) == 0;
}

/* If it is one of the usual names of the array in a wrapper, set it. */
static bool
is_wrapper_name(const ExportBuffer *buffer, int start, int length, char *name)
{
	static const char *const names[] = {"data", "Documents", "documents", "items", "Items", "value"};

	for (size_t i = 0; i < lengthof(names); i++)
		if (is_name(buffer, start, length, names[i]))
		{
			strlcpy(name, names[i], WRAPPER_NAME);
			return true;
		}
	return false;
}

/* Whether a name is one of what an answer of an API has besides its items, and so says nothing about an item. */
static bool
is_about_answer(const ExportBuffer *buffer, int start, int length)
{
	static const char *const names[] = {
		"rid", "count", "continuation", "continuationtoken", "next", "nextlink", "nextpage", "hasmore", "hasmoreresults",
		"requestcharge", "activityid", "databaseid", "collectionid", "containerid"
	};
	const char *name = BufferAhead(buffer, start);

	if (length > 0 && *name == '@')
		return true;
	if (length > 6 && memcmp(name, "odata.", 6) == 0)
		return true;
	if (length > 0 && *name == '_')
	{
		name++;
		length--;
	}
	for (size_t i = 0; i < lengthof(names); i++)
		if (length == (int) strlen(names[i]) && pg_strncasecmp(name, names[i], length) == 0)
			return true;
	return false;
}

bool
FormatHasObjects(ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	c = peek_token(buffer, &ahead);
	return c == '{' || c == ']';
}

int
FormatFindWrapped(ExportBuffer *buffer, char *name)
{
	JsonScan	scan;
	int			elements = 0;
	int			others = 0;		/* members that are data */
	bool		naming = false; /* in the name of a member */
	int			start = 0;		/* of the last name */
	int			length = 0;
	char		c;

	ScanStart(&scan);
	for (int i = 0; (c = peek(buffer, i)) != '\0'; i++)
	{
		bool		at_top = scan.depth == 1 && !scan.quoted;
		char		previous = scan.previous;
		ScanState	state = ScanNext(&scan, c);

		if (state == SCAN_BROKEN)
			break;				/* in one of the elements, if there are any */
		if (at_top && c == '"' && previous != ':')
		{
			naming = true;
			start = i + 1;
		}
		else if (naming && !scan.quoted)
		{
			naming = false;
			length = i - start;
			others += !is_about_answer(buffer, start, length);
			if (others > 1)
				return 0;		/* one may be the array that is looked for */
		}
		else if (at_top && c == '{' && is_name(buffer, start, length, "partitionKey"))
			others--;			/* the definition of a key */
		else if (at_top && c == '[' && elements == 0 && FormatHasObjects(buffer, i) && is_wrapper_name(buffer, start, length, name))
		{
			elements = i + 1;
			others--;
		}
		else if (state == SCAN_CLOSED)
		{
			i++;
			if (elements > 0 && strcmp(name, "Documents") != 0 && peek_token(buffer, &i) != '\0')
				return 0;
			break;
		}
	}
	return others == 0 ? elements : 0;
}

/* What an object that begins ahead tells about lines. */
typedef enum LineContent
{
	LINE_ITEM,					/* the object is all that is on its line, but for separators and what ends the file */
	LINE_ITEMS,					/* others come behind it */
	LINE_PART,					/* it goes on, and ends, on another line */
	LINE_BROKEN
} LineContent;

static LineContent
line_content(ExportBuffer *buffer, int *ahead)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;
	int			line = *ahead;
	bool		named = false;	/* an empty object is on one line, whatever the others are */
	char		c;

	ScanStart(&scan);
	for (; state == SCAN_OPEN && (c = peek(buffer, line)) != '\0' && c != '\n'; line++)
	{
		state = ScanNext(&scan, c);
		named |= scan.quoted;
	}
	*ahead = line;
	if (state == SCAN_OPEN)
	{
		while (state == SCAN_OPEN && (c = peek(buffer, line)) != '\0')
			state = ScanNext(&scan, c), line++;
		return state == SCAN_CLOSED ? LINE_PART : LINE_BROKEN;
	}
	if (state == SCAN_BROKEN || !named)
		return LINE_BROKEN;
	while ((c = peek(buffer, *ahead)) != '\0' && strchr(" \t\r,]}" EXPORT_MARK, c) != NULL)
		(*ahead)++;
	if (c == '\0' || c == '\n')
		return LINE_ITEM;
	return c == '{' || c == '[' || !ItemBeginsMember(buffer, *ahead) ? LINE_ITEMS : LINE_BROKEN;
}

bool
FormatFindLines(ExportBuffer *buffer)
{
	int			ahead = 0;
	int			indentation = 0;
	int			start = buffer->line_start ? -buffer->indentation : 0;

	for (int i = 0; i < FIRST_LINES; i++)
	{
		char		c;

		while ((c = peek(buffer, ahead)) != '\0' && (IsBlank(c) || c == '[' || c == ','))
		{
			ahead++;
			if (c == '\n')
				start = ahead;
		}
		if (i == 0)
			indentation = ahead - start;
		if (c == '{' && ahead - start <= indentation)
		{
			LineContent content = line_content(buffer, &ahead);

			if (content != LINE_BROKEN)
				return content == LINE_ITEM;
		}
		while ((c = peek(buffer, ahead)) != '\0' && c != '\n')
			ahead++;
		start = ahead + 1;
	}
	return false;
}
