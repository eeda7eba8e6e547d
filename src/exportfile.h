/*
 * exportfile.h
 *		A file of an export as a stream of UTF-8, whatever it is stored as.
 *
 * gzip is recognised by its first bytes, UTF-16 by a byte order mark or by the
 * zero byte of the first character, which is one of JSON's and so of ASCII.
 */
#ifndef PARTITIONKEY_EXPORTFILE_H
#define PARTITIONKEY_EXPORTFILE_H

#include "postgres.h"

typedef enum ExportEncoding
{
	EXPORT_UTF8,
	EXPORT_UTF16LE,
	EXPORT_UTF16BE
} ExportEncoding;

typedef struct ExportFile ExportFile;

/* The byte order mark in UTF-8. */
#define UTF8_MARK			"\xEF\xBB\xBF"

/* Open a file of the server.  Errors: those of the operating system; 42809 for what is no regular file; 0A000 for UTF-32. */
extern ExportFile *ExportFileOpen(const char *path);

/*
 * Read some bytes of UTF-8, as many as there is room for, which is at least
 * EXPORT_ROOM; 0 at the end.  Bytes that can't be converted come out as bytes that
 * are not valid: half of a surrogate pair as the three bytes it would be in UTF-8.
 */
#define EXPORT_ROOM			4096
extern int	ExportFileRead(ExportFile *file, char *to, int room);

/* How it is stored; known once something was read. */
extern ExportEncoding ExportFileEncoding(const ExportFile *file);
extern bool ExportFileIsCompressed(const ExportFile *file);

/* The length of the byte order mark, which ExportFileRead leaves out. */
extern int	ExportFileMark(const ExportFile *file);

/* Bytes of the stored file that have been read. */
extern int64 ExportFileBytes(const ExportFile *file);

extern void ExportFileClose(ExportFile *file);

#endif							/* PARTITIONKEY_EXPORTFILE_H */
