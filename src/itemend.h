/*
 * itemend.h
 *		Where an item ends.
 *
 * A sound item ends with the bracket that closes it.  A broken one must not take its
 * neighbours along, nor may parts of it be taken for items.  So if brackets, commas or line
 * ends are not where they can be in JSON, the end is found by how the file is laid out:
 *
 *	- where each item has a line of its own, by the line;
 *	- where an item's lines are indented more than its first one, by the indentation;
 *	- else another item begins behind a comma, or in a sequence behind a closing
 *	  bracket, if objects follow one another from there on that are not those of an array
 *	  inside an item.
 */
#ifndef PARTITIONKEY_ITEMEND_H
#define PARTITIONKEY_ITEMEND_H

#include "exportbuffer.h"

typedef struct ItemEnd
{
	/* known before: */
	bool		in_array;		/* the item is an element */
	bool		wrapped;		/* of an array in an object */
	bool		lines;			/* each item has a line of its own */
	/* found: */
	int			length;			/* of the item, or of the rest of it */
	int			depth;			/* of its brackets */
	bool		lost;			/* its brackets don't tell the end, which is a guess */
	bool		cut;			/* the file ended within it */
	char	   *beginning;		/* if it is far too long, its first bytes; the others up to the rest have been passed */
} ItemEnd;

/* Find the end of the item at the place, which is no blank. */
extern void ItemFindEnd(ItemEnd *end, ExportBuffer *buffer);

/* Pass what is left of an object, and false if the file ends before. */
extern bool ItemPassObject(ExportBuffer *buffer);

/* The depth of brackets in a text. */
extern int	ItemDepth(const char *text, int length);

#endif							/* PARTITIONKEY_ITEMEND_H */
