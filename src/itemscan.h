/*
 * itemscan.h
 *		Where an item ends.
 *
 * Brackets are matched outside strings, byte by byte, so that an item is found
 * before it is parsed.  A broken item must not take its neighbours along.  What
 * tells that another item has begun, though brackets are open:
 *
 *	- "{" where a member's name should be;
 *	- "{" at the beginning of a line that is indented no more than the item's
 *	  own, if all lines in between are indented more;
 *	- in a file with one item on each line: the next line, unless it begins as the
 *	  inside of an object can.
 *
 * A string ends with its line, since JSON has no line ends in strings; and a
 * closing bracket closes what is open inside the bracket that it belongs to.
 */
#ifndef PARTITIONKEY_ITEMSCAN_H
#define PARTITIONKEY_ITEMSCAN_H

#include "postgres.h"

#define SCAN_DEPTH			256 /* from here on brackets are only counted */

typedef struct ItemScan
{
	/* what is known before: */
	bool		in_array;		/* the item is an element */
	bool		lines;			/* each item has a line of its own */
	int			indentation;	/* of the line where the item begins */

	/* up to now: */
	int			depth;
	int			deepest;
	bool		closed;			/* the brackets are closed again */
	bool		quoted;
	bool		escaped;
	bool		line_start;		/* nothing but blanks on the line yet */
	bool		outdented;		/* a line inside is indented no more than the first */
	int			column;			/* of a line start */
	char		previous;		/* the last character that is no blank */
	char		open[SCAN_DEPTH];	/* brackets */
} ItemScan;

extern void ItemScanStart(ItemScan *scan, bool in_array, bool lines, int indentation);

/*
 * Go on with the next bytes: true if the item ends among them, at *used.  If the
 * data ends before, it ends there.
 */
extern bool ItemScanBytes(ItemScan *scan, const char *data, int length, int *used);

/* The depth of brackets in a text. */
extern int	ItemScanDepth(const char *text, int length);

/* Blanks, as JSON has them. */
static inline bool
IsBlank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

#endif							/* PARTITIONKEY_ITEMSCAN_H */
