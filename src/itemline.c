/*
 * itemline.c
 *		A line of a file of the client: an item, or what stands around items.
 *
 * Each line has an item, as in NDJSON, or is that of an array that has its elements
 * on lines of their own: "[", an item with a comma behind it, "]".  Blank lines, a carriage return and a byte
 * order mark don't matter.  Of another format each line would be a fault, which is told as what it is instead.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "exportfile.h"
#include "itemline.h"
#include "jsonscan.h"

typedef struct Line
{
	char	   *text;
	int			length;
} Line;

static void
cut_front(Line *line, int bytes)
{
	line->text += bytes;
	line->length -= bytes;
	while (line->length > 0 && IsBlank(*line->text))
	{
		line->text++;
		line->length--;
	}
}

static void
cut_back(Line *line, int bytes)
{
	line->length -= bytes;
	while (line->length > 0 && IsBlank(line->text[line->length - 1]))
		line->length--;
}

/* The character at a place, from the end if negative, or NUL. */
static char
at(const Line *line, int place)
{
	if (place < 0)
		place += line->length;
	return place >= 0 && place < line->length ? line->text[place] : '\0';
}

/* The first character behind the first one that is no blank, or NUL. */
static char
behind_first(const Line *line)
{
	Line		rest = *line;

	cut_front(&rest, 1);
	return at(&rest, 0);
}

static void
cut_mark(Line *line)
{
	int			encoding = GetDatabaseEncoding();

	if ((encoding == PG_UTF8 || encoding == PG_SQL_ASCII) && line->length >= 3 && memcmp(line->text, UTF8_MARK, 3) == 0)
		cut_front(line, 3);
}

/* Whether an array of items begins: "[" alone, or with an item or the end behind it. */
static bool
opens_array(const Line *line)
{
	char		next = at(line, 0) == '[' ? behind_first(line) : ' ';

	return next == '\0' || next == '{' || next == ']';
}

/* The length of the object that a line begins with, as its brackets tell; 0 if it is not closed. */
static int
object_length(const Line *line)
{
	JsonScan	scan;
	ScanState	state = SCAN_OPEN;
	int			i = 0;

	if (at(line, 0) != '{')
		return 0;
	ScanStart(&scan);
	while (state == SCAN_OPEN && i < line->length)
		state = ScanNext(&scan, line->text[i++]);
	return state == SCAN_CLOSED ? i : 0;
}

/* Cut the brackets and commas of an array off. */
static void
cut_array(ItemLines *lines, Line *line)
{
	Line		rest;

	if (!lines->in_array && opens_array(line))
	{
		lines->in_array = true;
		cut_front(line, 1);
	}
	if (lines->in_array && at(line, 0) == ',')
		cut_front(line, 1);
	/* a comma that is behind a bracket, or alone, is no part of an item */
	if (at(line, -1) == ',' && (line->length == 1 || strchr("}]", at(line, -2)) != NULL || IsBlank(at(line, -2))))
		cut_back(line, 1);
	rest = *line;
	cut_front(&rest, object_length(line));
	if (lines->in_array && rest.length == 1 && at(&rest, 0) == ']')
	{
		lines->in_array = false;
		cut_back(line, 1);
	}
}

/* Whether behind the first object another one follows. */
static bool
has_several(const Line *line)
{
	int			length = object_length(line);
	Line		rest = *line;

	cut_front(&rest, length);
	if (at(&rest, 0) == ',')
		cut_front(&rest, 1);
	return length > 0 && at(&rest, 0) == '{';
}

/* Refuse a file of another format. */
static void
refuse_format(const ItemLines *lines, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("row " INT64_FORMAT " has %s, not NDJSON", lines->line, what),
			 errdetail("An items view takes one item in each row."),
			 errhint("Put each item on a line of its own: by \"jq -c .[]\" for an array of items, by \"jq -c .\" for items one after the other.")));
}

bool
ItemLineNext(ItemLines *lines, char **text, int *length)
{
	Line		line = {*text, *length};
	bool		in_array;

	lines->line++;
	cut_front(&line, 0);
	cut_back(&line, 0);
	cut_mark(&line);
	in_array = lines->in_array || at(&line, 0) == '[';
	cut_array(lines, &line);
	if (line.length == 1 && (at(&line, 0) == '{' || at(&line, 0) == '['))
		refuse_format(lines, "no more than a bracket: pretty-printed JSON");
	if (has_several(&line))
		refuse_format(lines, in_array ? "several items: an array" : "several items: JSON objects one after the other");
	*text = line.text;
	*length = line.length;
	return line.length > 0;
}
