/*
 * exportformat.c
 *		Looking ahead to find how items are laid out in a file.
 */
#include "postgres.h"

#include "exportformat.h"
#include "item.h"

#define LOOK_AHEAD			(2 * MAX_ITEM_BYTES)
#define FIRST_LINES			3

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

/* From the quote that begins a string ahead, move to the one that ends it; false if there is none. */
static bool
pass_string(ExportBuffer *buffer, int *ahead)
{
	for (;;)
	{
		char		c = peek(buffer, ++(*ahead));

		if (c == '\0' || c == '"')
			return c == '"';
		if (c == '\\')
			(*ahead)++;
	}
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

/* Whether an array that begins ahead has objects, or nothing. */
static bool
has_objects(ExportBuffer *buffer, int ahead)
{
	char		c;

	ahead++;
	c = peek_token(buffer, &ahead);
	return c == '{' || c == ']';
}

int
FormatFindWrapped(ExportBuffer *buffer, char *name)
{
	int			depth = 0;
	int			elements = 0;
	char		previous = '\0';
	int			start = 0;		/* of the last member's name */
	int			length = 0;
	char		c;

	for (int i = 0; (c = peek_token(buffer, &i)) != '\0'; i++)
	{
		int			token = i;

		if (c == '"' && !pass_string(buffer, &i))
			break;
		if (c == '"' && depth == 1 && previous != ':')
		{
			start = token + 1;
			length = i - start;
			if (is_name(buffer, start, length, "id"))
				return 0;
		}
		else if (c == '{' || c == '[')
		{
			if (++depth == 2 && c == '[' && elements == 0 && has_objects(buffer, i) && is_wrapper_name(buffer, start, length, name))
				elements = i + 1;
		}
		else if ((c == '}' || c == ']') && --depth == 0)
		{
			i++;
			if (elements > 0 && strcmp(name, "Documents") != 0 && peek_token(buffer, &i) != '\0')
				return 0;
			return elements;
		}
		previous = c;
	}
	return elements;
}

/* Whether the object that begins ahead is all that is on its line, but for separators and what ends the file. */
static bool
fills_line(ExportBuffer *buffer, int *ahead)
{
	int			depth = 0;
	char		c;

	while ((c = peek(buffer, *ahead)) != '\0' && c != '\n')
	{
		if (c == '"' && !pass_string(buffer, ahead))
			return false;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			break;
		(*ahead)++;
	}
	if (c != '}')
		return false;
	do
		c = peek(buffer, ++(*ahead));
	while (c != '\0' && strchr(" \t\r,]}", c) != NULL);
	return c == '\0' || c == '\n';
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
		if (c == '{' && ahead - start <= indentation && fills_line(buffer, &ahead))
			return true;
		while ((c = peek(buffer, ahead)) != '\0' && c != '\n')
			ahead++;
		start = ahead + 1;
	}
	return false;
}
