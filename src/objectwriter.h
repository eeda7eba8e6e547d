/*
 * objectwriter.h
 *		Writing a JSON object in jsonb's binary format, which is that of the disk and doesn't change.
 *
 * An object is a header with the number n of its members, an entry for each of
 * the n names and then for each of the n values, and their bytes in the same order.  An entry has
 * the kind of its bytes, and where they end: by their length or, for one in
 * JB_OFFSET_STRIDE, by its offset.  Numbers and what is nested are aligned, and padding counts as theirs.
 */
#ifndef PARTITIONKEY_OBJECTWRITER_H
#define PARTITIONKEY_OBJECTWRITER_H

#include "utils/jsonb.h"

typedef struct ObjectWriter
{
	JsonbContainer *object;
	int			nentries;		/* written */
	char	   *data;			/* its bytes begin here */
	uint32		length;			/* of them, so far */
} ObjectWriter;

/* Begin an object with n members, for which there must be room. */
static inline void
ObjectWriterStart(ObjectWriter *writer, Jsonb *object, int n)
{
	writer->object = &object->root;
	writer->object->header = n | JB_FOBJECT;
	writer->nentries = 0;
	writer->data = (char *) &object->root.children[2 * n];
	writer->length = 0;
}

/* Write the next entry, whose bytes are at an offset of some data, with the padding that they have there. */
static inline void
ObjectWriterAdd(ObjectWriter *writer, JEntry entry, const char *data, uint32 offset, uint32 length)
{
	uint32		from = writer->length;

	if (JBE_ISNUMERIC(entry) || JBE_ISCONTAINER(entry))
	{
		uint32		padding = INTALIGN(offset) - offset;

		offset += padding;
		length -= padding;
		while (writer->length != INTALIGN(writer->length))
			writer->data[writer->length++] = '\0';
	}
	memcpy(writer->data + writer->length, data + offset, length);
	writer->length += length;
	if (writer->nentries % JB_OFFSET_STRIDE == 0)
		writer->object->children[writer->nentries++] = (entry & JENTRY_TYPEMASK) | JENTRY_HAS_OFF | writer->length;
	else
		writer->object->children[writer->nentries++] = (entry & JENTRY_TYPEMASK) | (writer->length - from);
}

/* End the object. */
static inline void
ObjectWriterEnd(ObjectWriter *writer, Jsonb *object)
{
	SET_VARSIZE(object, writer->data + writer->length - (char *) object);
}

#endif							/* PARTITIONKEY_OBJECTWRITER_H */
