/*
 * jsonscan.h
 *		Going through JSON byte by byte, as far as it takes to tell where a value ends.
 *
 * Brackets must match, and strings, words and brackets be divided by commas and colons.
 * So a missing quote is noticed at the next one.  What is left to the parser, since it does
 * not matter here: words, what a string has, commas too many.
 *
 * Inline, since all of an export goes through it.
 */
#ifndef PARTITIONKEY_JSONSCAN_H
#define PARTITIONKEY_JSONSCAN_H

#include "postgres.h"

#include "exportbuffer.h"

#define SCAN_DEPTH			256 /* deeper, brackets are only counted */

typedef enum ScanState
{
	SCAN_OPEN,
	SCAN_CLOSED,				/* the first bracket is closed */
	SCAN_BROKEN					/* JSON has no such character here */
} ScanState;

typedef struct JsonScan
{
	int			depth;
	int			deepest;
	bool		quoted;
	bool		escaped;
	char		previous;		/* the last character that is no blank */
	char		divided;		/* the one before the last comma, */
	char		introduced;		/* and before the last string */
	char		open[SCAN_DEPTH];	/* brackets */
} JsonScan;

static inline void
ScanStart(JsonScan *scan)
{
	memset(scan, 0, offsetof(JsonScan, open));
}

static inline char
ScanInnermost(const JsonScan *scan)
{
	return scan->open[scan->depth - 1];
}

/* Whether brackets can be told; deeper than we remember, all are taken for right. */
static inline bool
ScanRemembers(const JsonScan *scan)
{
	return scan->depth <= SCAN_DEPTH;
}

/* Whether a value, or a name, may begin here, by the character before. */
static inline bool
ScanMayBegin(const JsonScan *scan)
{
	char		c = scan->previous;

	return c == ',' || c == ':' || c == '{' || c == '[' || c == '\0';
}

/* Whether what comes before is a name: in an object, and a word or a string that is no value. */
static inline bool
ScanMayName(const JsonScan *scan)
{
	if (ScanRemembers(scan) && ScanInnermost(scan) != '{')
		return false;
	return scan->previous == '"' ? scan->introduced != ':' : strchr(",:{}[]", scan->previous) == NULL;
}

/* Whether a member ends here before its value, by a comma or a bracket. */
static inline bool
ScanLacksValue(const JsonScan *scan)
{
	if (scan->previous == '"')
		return scan->introduced != ':' && ScanRemembers(scan) && ScanInnermost(scan) == '{';
	return scan->previous == ':';
}

/* Whether a bracket may be opened here. */
static inline bool
ScanMayOpen(const JsonScan *scan)
{
	if (scan->depth == 0 || !ScanRemembers(scan))
		return true;
	if (ScanInnermost(scan) == '{')
		return scan->previous == ':';
	return scan->previous == '[' || scan->previous == ',';
}

static inline ScanState
ScanOpenBracket(JsonScan *scan, char bracket)
{
	if (!ScanMayOpen(scan))
		return SCAN_BROKEN;
	if (scan->depth < SCAN_DEPTH)
		scan->open[scan->depth] = bracket;
	scan->depth++;
	scan->deepest = Max(scan->deepest, scan->depth);
	return SCAN_OPEN;
}

static inline ScanState
ScanCloseBracket(JsonScan *scan, char bracket)
{
	if ((ScanRemembers(scan) && ScanInnermost(scan) != bracket) || ScanLacksValue(scan))
		return SCAN_BROKEN;
	scan->depth--;
	return scan->depth == 0 ? SCAN_CLOSED : SCAN_OPEN;
}

/* Take the next character of a string, which has no line ends. */
static inline ScanState
ScanQuoted(JsonScan *scan, char c)
{
	if (c == '\n')
		return SCAN_BROKEN;
	if (scan->escaped)
		scan->escaped = false;
	else if (c == '\\')
		scan->escaped = true;
	else if (c == '"')
		scan->quoted = false;
	return SCAN_OPEN;
}

/* Take the next character that is no blank, outside of strings. */
static pg_attribute_always_inline ScanState
ScanToken(JsonScan *scan, char c)
{
	ScanState	state = SCAN_OPEN;

	switch (c)
	{
		case '"':
			if (!ScanMayBegin(scan))
				return SCAN_BROKEN;
			scan->introduced = scan->previous;
			scan->quoted = true;
			break;
		case '{':
		case '[':
			state = ScanOpenBracket(scan, c);
			break;
		case '}':
			state = ScanCloseBracket(scan, '{');
			break;
		case ']':
			state = ScanCloseBracket(scan, '[');
			break;
		case ',':
			if (ScanLacksValue(scan))
				return SCAN_BROKEN;
			scan->divided = scan->previous;
			break;
		case ':':
			if (!ScanMayName(scan))
				return SCAN_BROKEN;
			break;
		default:
			if (scan->previous == '"' || scan->previous == '}' || scan->previous == ']' || c == '\'')
				return SCAN_BROKEN;
	}
	if (state != SCAN_BROKEN)
		scan->previous = c;
	return state;
}

/* Take the next character. */
static inline ScanState
ScanNext(JsonScan *scan, char c)
{
	if (scan->quoted)
		return ScanQuoted(scan, c);
	return IsBlank(c) ? SCAN_OPEN : ScanToken(scan, c);
}

#endif							/* PARTITIONKEY_JSONSCAN_H */
