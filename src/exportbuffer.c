/*
 * exportbuffer.c
 *		The buffer that a file is read into.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "exportbuffer.h"

#define FIRST_BYTES			(128 * 1024)	/* size of the buffer, until more is looked at */

void
BufferStart(ExportBuffer *buffer, ExportFile *file)
{
	if (buffer->data == NULL)
	{
		buffer->size = FIRST_BYTES;
		buffer->data = palloc(buffer->size);
	}
	buffer->file = file;
	buffer->encoding = ExportFileEncoding(file);
	buffer->at = buffer->length = 0;
	buffer->passed = 0;
	buffer->line = 1;
	buffer->offset = ExportFileMark(file);
	buffer->line_start = true;
	buffer->indentation = 0;
}

bool
BufferMore(ExportBuffer *buffer)
{
	int			n;

	CHECK_FOR_INTERRUPTS();
	if (buffer->at > 0)
	{
		memmove(buffer->data, buffer->data + buffer->at, buffer->length - buffer->at);
		buffer->length -= buffer->at;
		buffer->at = 0;
	}
	/* There is always room for a NUL at the end. */
	if (buffer->size - buffer->length <= EXPORT_ROOM)
	{
		buffer->size *= 2;
		buffer->data = repalloc(buffer->data, buffer->size);
	}
	n = ExportFileRead(buffer->file, buffer->data + buffer->length, buffer->size - buffer->length - 1);
	buffer->length += n;
	return n > 0;
}

/* How many bytes of the file the next bytes of the buffer were. */
static int
stored_bytes(const ExportBuffer *buffer, int length)
{
	const unsigned char *p = (const unsigned char *) buffer->data + buffer->at;
	int			bytes = 0;

	if (buffer->encoding == EXPORT_UTF8)
		return length;
	for (int i = 0; i < length; i++)
		if ((p[i] & 0xC0) != 0x80)
			bytes += p[i] == 0xFF ? 1 : p[i] >= 0xF0 ? 4 : 2;
	return bytes;
}

void
BufferPass(ExportBuffer *buffer, int length)
{
	const char *p = buffer->data + buffer->at;
	const char *end = p + length;
	const char *last = NULL;

	buffer->offset += stored_bytes(buffer, length);
	while ((p = memchr(p, '\n', end - p)) != NULL)
	{
		buffer->line++;
		last = ++p;
	}
	/* The indentation of the line on which an item ends is that of an item behind it. */
	if (last != NULL)
	{
		buffer->indentation = 0;
		while (last < end && (*last == ' ' || *last == '\t'))
			last++, buffer->indentation++;
	}
	buffer->line_start = false;
	buffer->at += length;
	buffer->passed += length;
}

void
BufferPassSeparator(ExportBuffer *buffer, int length)
{
	char		c = *BufferAhead(buffer, 0);
	bool		line_start = buffer->line_start;
	int			indentation = buffer->indentation;

	BufferPass(buffer, length);
	buffer->line_start = line_start || c == '\n';
	if (c != '\n')
		buffer->indentation = indentation + (line_start && c != '\r' && c != EXPORT_MARK[0] ? length : 0);
}

char
BufferPeekToken(ExportBuffer *buffer, int *ahead, bool in_line)
{
	int			limit = *ahead + MAX_BLANKS;
	char		c;

	for (; *ahead < limit; (*ahead)++)
	{
		c = BufferPeek(buffer, *ahead);
		if (BufferHasMark(buffer, *ahead))
			*ahead += EXPORT_MARK_BYTES - 1;
		else if (!IsBlank(c) || (in_line && c == '\n'))
			break;
	}
	return BufferPeek(buffer, *ahead);
}
