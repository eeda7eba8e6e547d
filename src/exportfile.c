/*
 * exportfile.c
 *		Reading a file as a stream of UTF-8.
 *
 * The stages are: the stored bytes, the bytes that gzip gives, UTF-8.  A virtual
 * file is used rather than AllocateFile, since a load may commit while it reads;
 * the memory context of the reader closes it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "mb/pg_wchar.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "exportfile.h"

#define STAGE_BYTES			65536
#define HIGH_SURROGATE(c)	(((c) & 0xFC00) == 0xD800)
#define LOW_SURROGATE(c)	(((c) & 0xFC00) == 0xDC00)

/* Bytes that wait for the next stage. */
typedef struct Stage
{
	int			at;				/* the next of them */
	int			length;
	unsigned char bytes[STAGE_BYTES];
} Stage;

struct ExportFile
{
	MemoryContext context;		/* has all of it, and closes the file when it goes */
	char	   *path;
	File		file;
	off_t		read;			/* bytes of the stored file */
	bool		compressed;
	bool		between;		/* a member of the gzip file has ended */
	z_stream	zlib;
	ExportEncoding encoding;
	int			mark;
	uint32		half;			/* a high surrogate that waits for the low one, or 0 */
	Stage		stored;
	Stage		plain;
	MemoryContextCallback close;
};

static void
close_file(void *arg)
{
	ExportFile *file = arg;

	if (file->file > 0)
		FileClose(file->file);
}

/* Read more stored bytes; false at the end of the file. */
static bool
fill_stored(ExportFile *file)
{
	int			n = FileRead(file->file, (char *) file->stored.bytes, STAGE_BYTES, file->read, WAIT_EVENT_COPY_FILE_READ);

	if (n < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", file->path)));
	file->read += n;
	file->stored.at = 0;
	file->stored.length = n;
	return n > 0;
}

static void
damaged(const ExportFile *file, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not decompress file \"%s\"", file->path),
			 errdetail("%s", detail),
			 errhint("Its beginning is that of a gzip file. Check it by \"gzip -t\".")));
}

static void *
zlib_alloc(void *context, unsigned items, unsigned size)
{
	return MemoryContextAlloc(context, (Size) items * size);
}

static void
zlib_free(void *context, void *address)
{
	(void) context;
	pfree(address);
}

static void
start_zlib(ExportFile *file)
{
	file->compressed = true;
	file->zlib.zalloc = zlib_alloc;
	file->zlib.zfree = zlib_free;
	file->zlib.opaque = file->context;
	/* 15 bits of window, and 16 for the gzip format */
	if (inflateInit2(&file->zlib, 15 + 16) != Z_OK)
		damaged(file, "zlib could not be started.");
}

/* Between the members of a gzip file: whether another one comes.  Zero bytes may pad the file, and nothing else follows them. */
static bool
next_member(ExportFile *file)
{
	bool		padded = false;

	for (;;)
	{
		if (file->stored.at == file->stored.length && !fill_stored(file))
			return false;
		if (file->stored.bytes[file->stored.at] != 0)
			break;
		padded = true;
		file->stored.at++;
	}
	if (padded || file->stored.bytes[file->stored.at] != 0x1F)
		damaged(file, "Behind what is compressed comes something else.");
	file->between = false;
	return inflateReset(&file->zlib) == Z_OK;
}

/* Decompress some bytes; 0 at the end. */
static int
inflate_some(ExportFile *file, unsigned char *to, int room)
{
	file->zlib.next_out = to;
	file->zlib.avail_out = room;
	while (file->zlib.avail_out == (unsigned) room)
	{
		int			result;

		if (file->between && !next_member(file))
			return 0;
		if (file->stored.at == file->stored.length && !fill_stored(file))
			damaged(file, "It ends too early.");
		file->zlib.next_in = file->stored.bytes + file->stored.at;
		file->zlib.avail_in = file->stored.length - file->stored.at;
		result = inflate(&file->zlib, Z_NO_FLUSH);
		file->stored.at = file->stored.length - file->zlib.avail_in;
		if (result == Z_STREAM_END)
			file->between = true;
		else if (result != Z_OK && result != Z_BUF_ERROR)
			damaged(file, file->zlib.msg ? psprintf("zlib says: %s.", file->zlib.msg) : "It is damaged.");
	}
	return room - file->zlib.avail_out;
}

/* Read some bytes as they are before conversion; 0 at the end. */
static int
read_plain(ExportFile *file, unsigned char *to, int room)
{
	int			n;

	if (file->compressed)
		return inflate_some(file, to, room);
	if (file->stored.at == file->stored.length && !fill_stored(file))
		return 0;
	n = Min(room, file->stored.length - file->stored.at);
	memcpy(to, file->stored.bytes + file->stored.at, n);
	file->stored.at += n;
	return n;
}

/* Keep what is left of the stage, and read more behind it; false at the end. */
static bool
fill_plain(ExportFile *file)
{
	Stage	   *plain = &file->plain;
	int			n;

	memmove(plain->bytes, plain->bytes + plain->at, plain->length - plain->at);
	plain->length -= plain->at;
	plain->at = 0;
	n = read_plain(file, plain->bytes + plain->length, STAGE_BYTES - plain->length);
	plain->length += n;
	return n > 0;
}

/* UTF-32, with or without a mark, would be taken for UTF-16 with zero characters. */
static void
refuse_utf32(const ExportFile *file)
{
	const unsigned char *first = file->plain.bytes;
	bool		little = first[0] != 0 && (first[1] == 0 || memcmp(first, "\xFF\xFE", 2) == 0) && first[2] == 0 && first[3] == 0;
	bool		big = first[0] == 0 && first[1] == 0 && (first[2] == 0 || memcmp(first + 2, "\xFE\xFF", 2) == 0) && first[3] != 0;

	if (file->plain.length >= 4 && (little || big))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" is in UTF-32", file->path),
				 errdetail("UTF-8 and UTF-16 are read."),
				 errhint("Convert it, for example by \"iconv -f UTF-32%s -t UTF-8\".", little ? "LE" : "BE")));
}

/* Recognise the encoding by the first bytes, and skip a byte order mark. */
static void
recognise_encoding(ExportFile *file)
{
	unsigned char *first = file->plain.bytes;
	int			length;

	while (file->plain.length < 4 && fill_plain(file))
		 /* a file may come in small pieces */ ;
	refuse_utf32(file);
	length = file->plain.length;
	if (length >= 3 && memcmp(first, UTF8_MARK, 3) == 0)
		file->mark = 3;
	else if (length >= 2 && first[0] == 0xFF && first[1] == 0xFE)
		file->mark = 2, file->encoding = EXPORT_UTF16LE;
	else if (length >= 2 && first[0] == 0xFE && first[1] == 0xFF)
		file->mark = 2, file->encoding = EXPORT_UTF16BE;
	else if (length >= 2 && first[0] != 0 && first[1] == 0)
		file->encoding = EXPORT_UTF16LE;
	else if (length >= 2 && first[0] == 0 && first[1] != 0)
		file->encoding = EXPORT_UTF16BE;
	file->plain.at = file->mark;
}

static void
check_regular(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is neither a regular file nor a folder", path)));
}

ExportFile *
ExportFileOpen(const char *path)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey export file", ALLOCSET_DEFAULT_SIZES);
	ExportFile *file = MemoryContextAllocZero(context, sizeof(ExportFile));

	check_regular(path);
	file->context = context;
	file->path = MemoryContextStrdup(context, path);
	file->close.func = close_file;
	file->close.arg = file;
	MemoryContextRegisterResetCallback(context, &file->close);
	file->file = PathNameOpenFile(path, O_RDONLY | PG_BINARY);
	if (file->file < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", path)));
	if (fill_stored(file) && file->stored.length >= 2 && memcmp(file->stored.bytes, "\x1F\x8B", 2) == 0)
		start_zlib(file);
	recognise_encoding(file);
	return file;
}

static int
read_utf8(ExportFile *file, char *to, int room)
{
	Stage	   *plain = &file->plain;
	int			n;

	if (plain->at == plain->length)
		return read_plain(file, (unsigned char *) to, room);
	n = Min(room, plain->length - plain->at);
	memcpy(to, plain->bytes + plain->at, n);
	plain->at += n;
	return n;
}

/* The next code unit of UTF-16; false at the end.  An odd byte there is half a unit, and stays. */
static bool
next_unit(ExportFile *file, uint32 *unit)
{
	Stage	   *plain = &file->plain;
	unsigned char *p;

	if (plain->length - plain->at < 2)
	{
		while (fill_plain(file) && plain->length < 2)
			 /* a file may come in small pieces */ ;
		if (plain->length < 2)
			return false;
	}
	p = plain->bytes + plain->at;
	*unit = file->encoding == EXPORT_UTF16LE ? p[0] | p[1] << 8 : p[0] << 8 | p[1];
	plain->at += 2;
	return true;
}

static char *
put_character(char *to, uint32 character)
{
	unicode_to_utf8(character, (unsigned char *) to);
	return to + pg_utf_mblen((unsigned char *) to);
}

/* Convert a code unit.  A surrogate without its other half becomes three bytes, which are no UTF-8. */
static char *
put_unit(ExportFile *file, char *to, uint32 unit)
{
	uint32		half = file->half;

	file->half = 0;
	if (half != 0 && LOW_SURROGATE(unit))
		return put_character(to, 0x10000 + ((half & 0x3FF) << 10) + (unit & 0x3FF));
	if (half != 0)
		to = put_character(to, half);
	if (!HIGH_SURROGATE(unit))
		return put_character(to, unit);
	file->half = unit;
	return to;
}

/* What is left of UTF-16 at the end of the file: half a pair, or half a unit. */
static char *
put_rest(ExportFile *file, char *to)
{
	if (file->half != 0)
		to = put_character(to, file->half);
	if (file->plain.at < file->plain.length)
		*to++ = (char) 0xFF;
	file->half = 0;
	file->plain.at = file->plain.length = 0;
	return to;
}

static int
read_utf16(ExportFile *file, char *to, int room)
{
	char	   *start = to;
	uint32		unit;

	/* A unit, and a half before it, are six bytes at most. */
	while (to - start <= room - 8)
	{
		if (!next_unit(file, &unit))
			return put_rest(file, to) - start;
		to = put_unit(file, to, unit);
	}
	return to - start;
}

int
ExportFileRead(ExportFile *file, char *to, int room)
{
	Assert(room >= EXPORT_ROOM);
	return file->encoding == EXPORT_UTF8 ? read_utf8(file, to, room) : read_utf16(file, to, room);
}

ExportEncoding
ExportFileEncoding(const ExportFile *file)
{
	return file->encoding;
}

bool
ExportFileIsCompressed(const ExportFile *file)
{
	return file->compressed;
}

int
ExportFileMark(const ExportFile *file)
{
	return file->mark;
}

int64
ExportFileBytes(const ExportFile *file)
{
	return file->read;
}

void
ExportFileClose(ExportFile *file)
{
	MemoryContextDelete(file->context);
}
