/*
 * itemscan.h
 *		Going through an item, and remembering what helps if it is broken.
 *
 * If the end of an array is missing within an item, its neighbours look like further
 * elements of that array.  So the last objects in a row of each array are remembered.
 */
#ifndef PARTITIONKEY_ITEMSCAN_H
#define PARTITIONKEY_ITEMSCAN_H

#include "jsonscan.h"

typedef struct ObjectRun
{
	int			start;			/* the first object of the row that has a comma before it, or -1 */
	int			count;			/* objects that are closed */
	bool		unlike;			/* they are known to be no items */
} ObjectRun;

typedef struct ItemScan
{
	JsonScan	json;
	int			string;			/* where the last string begins */
	ObjectRun	runs[SCAN_DEPTH];	/* of the arrays that are open */
} ItemScan;

static inline void
ItemScanStart(ItemScan *scan)
{
	ScanStart(&scan->json);
}

/* The innermost bracket that is open, if it is remembered; else a NUL. */
static inline char
ItemScanInnermost(const ItemScan *scan)
{
	return scan->json.depth > 0 && ScanRemembers(&scan->json) ? ScanInnermost(&scan->json) : '\0';
}

/* An object begins: does it go on with a row? */
static inline void
ItemScanObject(ItemScan *scan, int at)
{
	ObjectRun  *run;

	if (scan->json.previous != ',' || ItemScanInnermost(scan) != '[')
		return;
	run = &scan->runs[scan->json.depth - 1];
	if (run->start < 0 || scan->json.divided != '}')
	{
		run->start = at;
		run->count = 0;
		run->unlike = false;
	}
}

/* A bracket was taken: an array begins, or an object has ended. */
static inline void
ItemScanBracket(ItemScan *scan, char c)
{
	if (ItemScanInnermost(scan) != '[')
		return;
	if (c == '[')
		scan->runs[scan->json.depth - 1].start = -1;
	else if (c == '}')
		scan->runs[scan->json.depth - 1].count++;
}

/* Take the next character that is no blank, outside of strings, so many bytes from the beginning. */
static inline ScanState
ItemScanToken(ItemScan *scan, char c, int at)
{
	ScanState	state;

	if (c == '"')
		scan->string = at;
	else if (c == '{')
		ItemScanObject(scan, at);
	state = ScanToken(&scan->json, c);
	if (state == SCAN_OPEN && (c == '[' || c == '}'))
		ItemScanBracket(scan, c);
	return state;
}

#endif							/* PARTITIONKEY_ITEMSCAN_H */
