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

	int64		passed;			/* bytes before the place, as they were in the buffer */
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

/* Pass a separator: so many times the same character, which counts as indentation of its line, or a byte order mark. */
extern void BufferPassSeparator(ExportBuffer *buffer, int length);

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

/* A byte order mark, which stands between items where files were joined, counts as a blank there. */
#define EXPORT_MARK			"\xEF\xBB\xBF"
#define EXPORT_MARK_BYTES	3

static inline bool
BufferHasMark(ExportBuffer *buffer, int ahead)
{
	return BufferPeek(buffer, ahead) == EXPORT_MARK[0] && BufferPeek(buffer, ahead + 1) == EXPORT_MARK[1] &&
		BufferPeek(buffer, ahead + 2) == EXPORT_MARK[2];
}

/*
 * Move ahead to the first character between items that is no blank, and give it: but not beyond the
 * end of the line if that is asked for, nor further than so many blanks, which need not be held.
 */
#define MAX_BLANKS			65536
extern char BufferPeekToken(ExportBuffer *buffer, int *ahead, bool in_line);

#endif							/* PARTITIONKEY_EXPORTBUFFER_H */
