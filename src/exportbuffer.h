/*
 * exportbuffer.h
 *		What has been read of a file, and the place in it.
 *
 * What is ahead of the place can be looked at, which reads as much as it takes;
 * what is passed is forgotten.
 */
#ifndef PARTITIONKEY_EXPORTBUFFER_H
#define PARTITIONKEY_EXPORTBUFFER_H

#include "exportfile.h"

typedef struct ExportBuffer
{
	ExportFile *file;			/* NULL if none is open */
	ExportEncoding encoding;
	char	   *data;			/* UTF-8 */
	int			size;
	int			at;				/* the place; what is before has been passed */
	int			length;

	int64		line;			/* of the place, from 1 */
	int64		offset;			/* of the place, in bytes of the (decompressed) file */
	bool		line_start;		/* nothing but separators on the line up to the place */
	int			indentation;	/* of the line */
} ExportBuffer;

/* Begin with a file.  The buffer is palloc'd with the first one. */
extern void BufferStart(ExportBuffer *buffer, ExportFile *file);

/* Read more behind what is in the buffer; false at the end of the file.  What was not passed may move. */
extern bool BufferMore(ExportBuffer *buffer);

/* Pass the next bytes, which are in the buffer. */
extern void BufferPass(ExportBuffer *buffer, int length);

/* Pass a separator, which counts as indentation of its line. */
extern void BufferPassSeparator(ExportBuffer *buffer);

/* The address of what is so many bytes ahead; valid until more is read. */
static inline char *
BufferAhead(const ExportBuffer *buffer, int ahead)
{
	return buffer->data + buffer->at + ahead;
}

/* The character so many bytes ahead; a NUL behind the end of the file. */
static inline char
BufferPeek(ExportBuffer *buffer, int ahead)
{
	while (unlikely(buffer->at + ahead >= buffer->length))
		if (!BufferMore(buffer))
			return '\0';
	return *BufferAhead(buffer, ahead);
}

/* Blanks, as JSON has them. */
static inline bool
IsBlank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Move ahead to the first character that is no blank, and give it. */
static inline char
BufferPeekToken(ExportBuffer *buffer, int *ahead)
{
	while (IsBlank(BufferPeek(buffer, *ahead)))
		(*ahead)++;
	return BufferPeek(buffer, *ahead);
}

/* The same, but no further than the end of the line. */
static inline char
BufferPeekInLine(ExportBuffer *buffer, int *ahead)
{
	while (IsBlank(BufferPeek(buffer, *ahead)) && BufferPeek(buffer, *ahead) != '\n')
		(*ahead)++;
	return BufferPeek(buffer, *ahead);
}

#endif							/* PARTITIONKEY_EXPORTBUFFER_H */
