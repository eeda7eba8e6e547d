/*
 * jsonscan.h
 *		Going through JSON byte by byte, as far as brackets and strings tell.
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
	SCAN_BROKEN					/* a bracket, or a line end in a string, where JSON has none */
} ScanState;

typedef struct JsonScan
{
	int			depth;
	int			deepest;
	bool		quoted;
	bool		escaped;
	char		previous;		/* the last character that is no blank */
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

/* Whether a bracket may be opened here; deeper than we remember, anywhere. */
static inline bool
ScanMayOpen(const JsonScan *scan)
{
	if (scan->depth == 0 || scan->depth > SCAN_DEPTH)
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
	if (scan->depth <= SCAN_DEPTH && ScanInnermost(scan) != bracket)
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

/* Take the next character. */
static inline ScanState
ScanNext(JsonScan *scan, char c)
{
	ScanState	state = SCAN_OPEN;

	if (scan->quoted)
		return ScanQuoted(scan, c);
	if (IsBlank(c))
		return SCAN_OPEN;
	if (c == '"')
		scan->quoted = true;
	else if (c == '{' || c == '[')
		state = ScanOpenBracket(scan, c);
	else if (c == '}' || c == ']')
		state = ScanCloseBracket(scan, c == '}' ? '{' : '[');
	scan->previous = c;
	return state;
}

#endif							/* PARTITIONKEY_JSONSCAN_H */
