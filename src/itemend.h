/*
 * itemend.h
 *		Where an item ends.
 *
 * A sound item ends with the bracket that closes it.  A broken one must not take its
 * neighbours along, nor may parts of it be taken for items.  So if a character is where JSON
 * can't have it, the end is found by how the file is laid out:
 *
 *	- where each item has a line of its own, the item is its line;
 *	- where an item's lines are indented more than its first one, it ends with the bracket
 *	  that is indented as that, or before any other line that is;
 *	- else by counting brackets as if the missing ones were there (itemrepair.h).
 *
 * Each byte is looked at a bounded number of times, and no more is held than a sound
 * item can have.
 */
#ifndef PARTITIONKEY_ITEMEND_H
#define PARTITIONKEY_ITEMEND_H

#include "exportbuffer.h"
#include "jsonscan.h"

#define MAX_BREAKS			SCAN_DEPTH

typedef struct ItemEnd
{
	/* about the file: */
	bool		in_array;		/* items are elements */
	bool		wrapped;		/* of an array in an object */
	bool		lines;			/* each item has a line of its own */
	int			indentation;	/* of the first item that begins a line, or -1 */

	/* what has been found beyond an item, as bytes passed: */
	int64		flat;			/* no line that ends before is followed by one that is indented more */
	int64		breaks[MAX_BREAKS]; /* items begin there, in ascending order */
	int			nbreaks;

	/* about the item: */
	int			length;			/* of it, or of the rest of it */
	int			depth;			/* of its brackets */
	bool		lost;			/* its brackets don't tell the end */
	bool		cut;			/* the file ended within it */
	char	   *beginning;		/* if it is far too long, its first bytes; the others up to the rest have been passed */
} ItemEnd;

/* Begin with a file. */
extern void ItemEndStart(ItemEnd *end);

/* Find the end of the item at the place, which is no blank. */
extern void ItemFindEnd(ItemEnd *end, ExportBuffer *buffer);

/* Pass what is left of an object, and false if the file ends before. */
extern bool ItemPassObject(ExportBuffer *buffer);

/* The depth of brackets in a text. */
extern int	ItemDepth(const char *text, int length);

/*
 * For the parts of this
 */

#define MAX_HELD			(16 * MAX_ITEM_BYTES)	/* with escapes and blanks, no sound item is longer */

/* Whether the file is at its end so many bytes ahead; a NUL may be one that is in it. */
static inline bool
IsFileEnd(const ExportBuffer *buffer, int ahead)
{
	return buffer->at + ahead >= buffer->length;
}

/* What is ahead, without the blanks at its end. */
static inline int
WithoutBlanks(const ExportBuffer *buffer, int length)
{
	while (length > 0 && IsBlank(*BufferAhead(buffer, length - 1)))
		length--;
	return length;
}

/* Keep the beginning of an item that is far too long, and pass what has been looked at. */
extern void ItemPassHeld(ItemEnd *end, ExportBuffer *buffer, int length);

#endif							/* PARTITIONKEY_ITEMEND_H */
