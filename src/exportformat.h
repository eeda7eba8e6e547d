/*
 * exportformat.h
 *		Recognising how items are laid out in a file.
 */
#ifndef PARTITIONKEY_EXPORTFORMAT_H
#define PARTITIONKEY_EXPORTFORMAT_H

#include "exportbuffer.h"

#define WRAPPER_NAME		16	/* bytes for the name of the member of a wrapper that is the array */

/*
 * Whether the object at the place is a wrapper around an array of items: a member
 * of one of the usual names, which is set, is an array of objects, and all others are such that tell of an answer, as _count does.
 * It must be alone in the file, but for the pages that the REST API gives, which may follow one
 * another; an object that is far longer than an item need not have been looked at
 * to its end.  Gives where the elements begin, from the place on, or 0.
 */
extern int	FormatFindWrapped(ExportBuffer *buffer, char *name);

/* Whether an array that begins so many bytes ahead has objects, or nothing. */
extern bool FormatHasObjects(ExportBuffer *buffer, int ahead);

/*
 * Whether each item from the place on has a line of its own: if one of the first
 * lines, indented no more than the first, has a whole object and nothing else.
 */
extern bool FormatFindLines(ExportBuffer *buffer);

#endif							/* PARTITIONKEY_EXPORTFORMAT_H */
