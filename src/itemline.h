/*
 * itemline.h
 *		A line of a file of the client: an item, or what stands around items.
 */
#ifndef PARTITIONKEY_ITEMLINE_H
#define PARTITIONKEY_ITEMLINE_H

#include "postgres.h"

/* The lines that have been read. */
typedef struct ItemLines
{
	int64		line;			/* number of the last one */
	bool		in_array;		/* an array was opened, whose elements have a line each */
} ItemLines;

/*
 * Take the next line: cut it down to the item that is on it, false if there is
 * none.  Error 22P04 for a line with only a part of an item, or with several.
 */
extern bool ItemLineNext(ItemLines *lines, char **text, int *length);

#endif							/* PARTITIONKEY_ITEMLINE_H */
