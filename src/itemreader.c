/*
 * itemreader.c
 *		Reading items from files of any format.
 *
 * A file is a sequence of JSON values.  An object is an item; an array has items as
 * elements; and an object may be a wrapper around such an array, as the answers of
 * Cosmos DB's REST API are, which is decided by looking ahead.  Commas and blanks
 * are what stands between items, so that a missing or doubled comma breaks none.
 *
 * The buffer holds what has been read and not yet passed.  An item is parsed where
 * it lies there.  One that is longer than could ever be sound is passed in pieces, and
 * only its beginning is kept.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "common/file_utils.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "exportfile.h"
#include "itemreader.h"
#include "itemscan.h"

#define BUFFER_BYTES		(128 * 1024)	/* at first */
#define LOOK_AHEAD			(2 * MAX_ITEM_BYTES)
#define MAX_HELD			(16 * MAX_ITEM_BYTES)	/* with escapes and indentation, no sound item is longer */
#define KEPT_BYTES			1000	/* of one that is */
#define FIRST_LINES			3	/* that tell whether a file has one item on each line */

/* What a file turned out to be. */
typedef enum Format
{
	FORMAT_EMPTY,
	FORMAT_ARRAY,
	FORMAT_WRAPPED,
	FORMAT_SEQUENCE
} Format;

typedef enum Place
{
	PLACE_TOP,					/* between the values of the file */
	PLACE_ARRAY,				/* between the elements of an array */
	PLACE_TAIL					/* behind the array that a wrapper is for */
} Place;

struct ItemReader
{
	MemoryContext context;		/* has all of it */
	MemoryContext scratch;		/* of the current item */
	List	   *files;			/* paths (char *) */
	int			next;			/* of them, the one to be opened next */
	int64		total;			/* bytes of all files */
	int64		done;			/* bytes of those that were closed */

	ExportFile *file;			/* the open one, or NULL */
	const char *path;
	Format		format;
	char		wrapper[16];	/* name of the member that is the array */
	bool		lines;			/* one item on each line */
	ExportEncoding encoding;
	bool		compressed;
	bool		marked;			/* by a byte order mark */

	char	   *data;
	int			size;
	int			at;				/* what is before has been passed */
	int			length;
	char	   *ended;			/* where a NUL ends the text of the current item, or NULL */
	char		covered;		/* the character that was there */

	Place		place;
	bool		cut;			/* the file has ended within an item */
	int64		line;			/* at the place, from 1 */
	int64		offset;			/* of the place in the file */
	bool		line_start;		/* nothing but separators on the line yet */
	int			indentation;	/* of the line */
};

/*
 * Finding the files
 */

static void
check_privilege(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to read files of the server"),
				 errdetail("Only roles with privileges of the \"%s\" role may read them.", "pg_read_server_files"),
				 errhint("Anyone can load a file of the client: see psql's \\copy.")));
}

static void
add_file(ItemReader *reader, const char *path, int64 bytes)
{
	reader->files = lappend(reader->files, pstrdup(path));
	reader->total += bytes;
}

static void add_folder(ItemReader *reader, const char *folder);

/* Add what a name in a folder stands for.  Links are followed to files only, so that there are no circles. */
static void
add_entry(ItemReader *reader, const char *folder, const struct dirent *entry)
{
	char	   *path = psprintf("%s/%s", folder, entry->d_name);
	struct stat st;

	if (get_dirent_type(path, entry, false, ERROR) == PGFILETYPE_DIR)
		add_folder(reader, path);
	else if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		add_file(reader, path, st.st_size);
}

/* Add the files of a folder, and of those below it, but no hidden ones. */
static void
add_folder(ItemReader *reader, const char *folder)
{
	DIR		   *dir = AllocateDir(folder);
	struct dirent *entry;

	check_stack_depth();
	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (entry->d_name[0] != '.')
			add_entry(reader, folder, entry);
	}
	FreeDir(dir);
}

static int
compare_paths(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* Find the files of a source, in the order of their paths. */
static void
find_files(ItemReader *reader, const char *source)
{
	struct stat st;

	if (stat(source, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open \"%s\" for reading: %m", source),
				 errhint("The path is one of the server. To load a file of the client, see psql's \\copy.")));
	if (!S_ISDIR(st.st_mode))
	{
		add_file(reader, source, st.st_size);
		return;
	}
	add_folder(reader, source);
	if (reader->files == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("folder \"%s\" has no files", source)));
	list_sort(reader->files, compare_paths);
}

ItemReader *
ItemReaderOpen(const char *source)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey reader", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ItemReader *reader = palloc0(sizeof(ItemReader));
	char	   *path = pstrdup(source);

	check_privilege();
	canonicalize_path(path);
	reader->context = context;
	reader->scratch = AllocSetContextCreate(context, "partitionkey item", ALLOCSET_DEFAULT_SIZES);
	reader->size = BUFFER_BYTES;
	reader->data = palloc(reader->size);
	find_files(reader, path);
	MemoryContextSwitchTo(old);
	return reader;
}

/*
 * The buffer
 */

/* Read more behind what is in the buffer; false at the end of the file.  What was not passed may move to the front. */
static bool
read_more(ItemReader *reader)
{
	int			n;

	CHECK_FOR_INTERRUPTS();
	memmove(reader->data, reader->data + reader->at, reader->length - reader->at);
	reader->length -= reader->at;
	reader->at = 0;
	/* There is always room for a NUL at the end. */
	if (reader->size - reader->length <= EXPORT_ROOM)
	{
		reader->size *= 2;
		reader->data = repalloc(reader->data, reader->size);
	}
	n = ExportFileRead(reader->file, reader->data + reader->length, reader->size - reader->length - 1);
	reader->length += n;
	return n > 0;
}

/* How many bytes of the file the next bytes of the buffer were. */
static int
stored_bytes(const ItemReader *reader, int length)
{
	const unsigned char *p = (const unsigned char *) reader->data + reader->at;
	int			bytes = 0;

	if (reader->encoding == EXPORT_UTF8)
		return length;
	for (int i = 0; i < length; i++)
		if ((p[i] & 0xC0) != 0x80)
			bytes += p[i] == 0xFF ? 1 : p[i] >= 0xF0 ? 4 : 2;
	return bytes;
}

/* Pass the next bytes. */
static void
pass(ItemReader *reader, int length)
{
	const char *p = reader->data + reader->at;
	const char *end = p + length;

	reader->offset += stored_bytes(reader, length);
	while ((p = memchr(p, '\n', end - p)) != NULL)
	{
		reader->line++;
		p++;
	}
	reader->at += length;
}

/* The character so many bytes ahead; a NUL at the end of the file, or too far ahead. */
static inline char
peek(ItemReader *reader, int ahead)
{
	while (reader->at + ahead >= reader->length)
		if (ahead >= LOOK_AHEAD || !read_more(reader))
			return '\0';
	return reader->data[reader->at + ahead];
}

/* The same for the first character from there on that is no blank. */
static char
peek_token(ItemReader *reader, int *ahead)
{
	while (IsBlank(peek(reader, *ahead)))
		(*ahead)++;
	return peek(reader, *ahead);
}

/* From the quote that begins a string ahead, move to the one that ends it; false if there is none. */
static bool
peek_string(ItemReader *reader, int *ahead)
{
	for (;;)
	{
		char		c = peek(reader, ++(*ahead));

		if (c == '\0' || c == '"')
			return c == '"';
		if (c == '\\')
			(*ahead)++;
	}
}

/*
 * Recognising the format
 */

static bool
is_wrapper_name(const char *name, int length)
{
	static const char *const names[] = {"data", "Documents", "documents", "items", "Items", "value"};

	for (size_t i = 0; i < lengthof(names); i++)
		if (length == (int) strlen(names[i]) && memcmp(name, names[i], length) == 0)
			return true;
	return false;
}

/*
 * Whether an object that has ended is the wrapper it looks like.  It is alone in the
 * file, but for the pages that the REST API gives, one after the other.
 */
static bool
is_wrapper(ItemReader *reader, int ahead)
{
	return strcmp(reader->wrapper, "Documents") == 0 || peek_token(reader, &ahead) == '\0';
}

/*
 * Whether the object that begins here is a wrapper: it has no id, as items do, and a
 * member of one of the usual names is an array of objects.  Gives where that array
 * begins, or 0.  An object that is longer than we look ahead is no item, so that it is one, too.
 */
static int
find_wrapped_array(ItemReader *reader)
{
	int			depth = 0;
	int			array = 0;
	char		previous = '\0';
	int			name = 0;
	int			length = 0;
	int			next;
	char		c;

	for (int i = 0; (c = peek_token(reader, &i)) != '\0'; i++)
	{
		if (c == '"')
		{
			int			start = i + 1;

			if (!peek_string(reader, &i))
				break;
			if (depth == 1 && previous != ':')
			{
				name = start;
				length = i - start;
				if (length == 2 && memcmp(reader->data + reader->at + name, "id", 2) == 0)
					return 0;
			}
		}
		else if (c == '{' || c == '[')
		{
			next = i + 1;
			if (++depth == 2 && c == '[' && array == 0 && is_wrapper_name(reader->data + reader->at + name, length) &&
				strchr("{]", peek_token(reader, &next)) != NULL && peek(reader, next) != '\0')
			{
				array = i + 1;
				strlcpy(reader->wrapper, pnstrdup(reader->data + reader->at + name, length), sizeof(reader->wrapper));
			}
		}
		else if ((c == '}' || c == ']') && --depth == 0)
			return array > 0 && is_wrapper(reader, i + 1) ? array : 0;
		previous = c;
	}
	return array;
}

/* Whether the object that begins ahead is all that is on its line, but for separators and what ends the file. */
static bool
object_fills_line(ItemReader *reader, int *ahead)
{
	int			depth = 0;
	char		c;

	while ((c = peek(reader, *ahead)) != '\0' && c != '\n')
	{
		if (c == '"' && !peek_string(reader, ahead))
			return false;
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']') && --depth == 0)
			break;
		(*ahead)++;
	}
	if (c != '}')
		return false;
	do
		c = peek(reader, ++(*ahead));
	while (c != '\0' && strchr(" \t\r,]}", c) != NULL);
	return c == '\0' || c == '\n';
}

/*
 * Whether each item has a line of its own: if one of the first lines has, that is
 * indented no more than the first.
 */
static bool
find_lines(ItemReader *reader)
{
	int			ahead = 0;
	int			indentation = 0;
	int			start = reader->line_start ? -reader->indentation : 0;

	for (int i = 0; i < FIRST_LINES; i++)
	{
		char		c;

		while ((c = peek(reader, ahead)) != '\0' && (IsBlank(c) || c == '[' || c == ','))
			if (peek(reader, ahead++) == '\n')
				start = ahead;
		if (i == 0)
			indentation = ahead - start;
		if (c == '{' && ahead - start <= indentation && object_fills_line(reader, &ahead))
			return true;
		while ((c = peek(reader, ahead)) != '\0' && c != '\n')
			ahead++;
		start = ahead + 1;
	}
	return false;
}

/*
 * Going through a file
 */

static bool
open_next(ItemReader *reader)
{
	MemoryContext old;

	if (reader->next == list_length(reader->files))
		return false;
	old = MemoryContextSwitchTo(reader->context);
	reader->path = list_nth(reader->files, reader->next++);
	reader->file = ExportFileOpen(reader->path);
	MemoryContextSwitchTo(old);
	reader->encoding = ExportFileEncoding(reader->file);
	reader->compressed = ExportFileIsCompressed(reader->file);
	reader->offset = ExportFileMark(reader->file);
	reader->marked = reader->offset > 0;
	reader->format = FORMAT_EMPTY;
	reader->at = reader->length = 0;
	reader->place = PLACE_TOP;
	reader->cut = false;
	reader->line = 1;
	reader->line_start = true;
	reader->indentation = 0;
	reader->lines = find_lines(reader);
	return true;
}

/* Where an item, or what is missing of one, is. */
static void
set_place(const ItemReader *reader, CosmosItem *item)
{
	item->file = reader->path;
	item->line = reader->line;
	item->offset = reader->offset;
}

/* Close the file.  True if it has ended too early, which is an item that has a fault. */
static bool
close_file(ItemReader *reader, CosmosItem *item)
{
	bool		open = reader->place != PLACE_TOP && !reader->cut;

	if (open)
	{
		set_place(reader, item);
		item->text = "";
		item->length = 0;
		ItemSetFault(item, ITEM_BROKEN_JSON, "the file ends too early: the array, or the object around it, is not closed");
	}
	reader->done += ExportFileBytes(reader->file);
	ExportFileClose(reader->file);
	reader->file = NULL;
	return open;
}

/* Pass a separator, keeping count of the line's indentation, of which a bracket before an element is a part. */
static void
pass_separator(ItemReader *reader, char c)
{
	pass(reader, 1);
	if (c == '\n')
	{
		reader->line_start = true;
		reader->indentation = 0;
	}
	else if (reader->line_start && c != '\r')
		reader->indentation++;
}

/* Pass what is between items; false at the end of the file. */
static bool
next_token(ItemReader *reader, char *c)
{
	for (;;)
	{
		if (reader->at == reader->length && !read_more(reader))
			return false;
		*c = reader->data[reader->at];
		if (!IsBlank(*c) && *c != ',')
			return true;
		pass_separator(reader, *c);
	}
}

static void
enter_array(ItemReader *reader, Format format, int length)
{
	reader->format = format;
	reader->place = PLACE_ARRAY;
	if (format == FORMAT_ARRAY)
		pass_separator(reader, '[');
	else
	{
		pass(reader, length);
		reader->line_start = false;
	}
	reader->lines = find_lines(reader);
}

static void
leave_array(ItemReader *reader)
{
	pass(reader, 1);
	reader->place = reader->format == FORMAT_WRAPPED ? PLACE_TAIL : PLACE_TOP;
}

/* Scan the item that begins here.  Gives its length, or that of what is left of it, after the beginning was kept. */
static int
scan_item(ItemReader *reader, ItemScan *scan, char **beginning)
{
	int			length = 0;
	int			used;

	for (;;)
	{
		bool		ends = ItemScanBytes(scan, reader->data + reader->at + length, reader->length - reader->at - length, &used);

		length += used;
		if (ends)
			return length;
		if (length > MAX_HELD)
		{
			if (*beginning == NULL)
				*beginning = pnstrdup(reader->data + reader->at, KEPT_BYTES);
			pass(reader, length);
			length = 0;
		}
		if (!read_more(reader))
			return length;
	}
}

/* Pass what is left of a wrapper behind its array. */
static void
pass_tail(ItemReader *reader)
{
	ItemScan	scan;
	char	   *beginning = NULL;

	/* No line in there begins an item. */
	ItemScanStart(&scan, false, false, -1);
	scan.depth = 1;
	scan.open[0] = '{';
	scan.previous = ':';		/* whatever comes is no item */
	pass(reader, scan_item(reader, &scan, &beginning));
	reader->place = scan.closed ? PLACE_TOP : PLACE_TAIL;
}

/*
 * A bracket has ended an element that is still open.  If another element follows, it
 * was not that of the array, but part of what is broken.
 */
static void
include_bracket(ItemReader *reader, const ItemScan *scan, int *length)
{
	int			next = *length + 1;

	if (scan->depth > 0 && peek(reader, *length) == ']' && peek_token(reader, &next) == ',')
		(*length)++;
}

/* The indentation of the line on which an item ends is that of an item behind it. */
static void
note_last_line(ItemReader *reader, const char *text, int length)
{
	const char *p = text + length;

	reader->line_start = false;
	while (p > text && p[-1] != '\n')
		p--;
	if (p > text)
		reader->indentation = strspn(p, " \t");
}

/* Read the item that begins here into the buffer, and parse it. */
static void
read_item(ItemReader *reader, CosmosItem *item)
{
	ItemScan	scan;
	char	   *beginning = NULL;
	int			length;

	set_place(reader, item);
	ItemScanStart(&scan, reader->place == PLACE_ARRAY, reader->lines, reader->indentation);
	length = scan_item(reader, &scan, &beginning);
	reader->cut = scan.depth > 0 && reader->at + length == reader->length;
	if (reader->place == PLACE_ARRAY)
		include_bracket(reader, &scan, &length);
	item->text = reader->data + reader->at;
	item->length = length;
	pass(reader, length);
	while (item->length > 0 && IsBlank(item->text[item->length - 1]))
		item->length--;

	reader->ended = item->text + item->length;
	reader->covered = *reader->ended;
	*reader->ended = '\0';
	note_last_line(reader, item->text, item->length);
	if (beginning == NULL)
	{
		ItemParse(item, scan.deepest);
		return;
	}
	item->text = beginning;
	item->length = strlen(beginning);
	ItemSetFault(item, ITEM_TOO_LARGE, psprintf("the item has more than %d bytes, even without blanks and escapes",
												MAX_ITEM_BYTES));
}

/* Take the next step in the open file; true if it gave an item. */
static bool
step(ItemReader *reader, CosmosItem *item)
{
	char		c;
	int			array;

	if (!next_token(reader, &c))
		return close_file(reader, item);
	if (reader->place == PLACE_TAIL)
		pass_tail(reader);
	else if (reader->place == PLACE_ARRAY && c == ']')
		leave_array(reader);
	else if (reader->place == PLACE_TOP && c == '[')
		enter_array(reader, FORMAT_ARRAY, 1);
	else if (reader->place == PLACE_TOP && c == '{' && reader->format != FORMAT_SEQUENCE &&
			 (array = find_wrapped_array(reader)) > 0)
		enter_array(reader, FORMAT_WRAPPED, array);
	else
	{
		if (reader->format == FORMAT_EMPTY)
			reader->format = FORMAT_SEQUENCE;
		read_item(reader, item);
		return true;
	}
	return false;
}

bool
ItemReaderNext(ItemReader *reader, CosmosItem *item)
{
	MemoryContext old;
	bool		found = false;

	MemoryContextReset(reader->scratch);
	if (reader->ended != NULL)
		*reader->ended = reader->covered;
	reader->ended = NULL;
	old = MemoryContextSwitchTo(reader->scratch);
	while (!found && (reader->file != NULL || open_next(reader)))
	{
		CHECK_FOR_INTERRUPTS();
		found = step(reader, item);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/*
 * About the source
 */

int64
ItemReaderBytes(const ItemReader *reader)
{
	return reader->done + (reader->file != NULL ? ExportFileBytes(reader->file) : 0);
}

int64
ItemReaderTotal(const ItemReader *reader)
{
	return reader->total;
}

int
ItemReaderFiles(const ItemReader *reader)
{
	return list_length(reader->files);
}

char *
ItemReaderFormat(const ItemReader *reader)
{
	static const char *const encodings[] = {"", ", UTF-16 LE", ", UTF-16 BE"};
	char	   *format;

	switch (reader->format)
	{
		case FORMAT_EMPTY:
			format = "empty";
			break;
		case FORMAT_ARRAY:
			format = "JSON array";
			break;
		case FORMAT_WRAPPED:
			format = psprintf("JSON array in \"%s\"", reader->wrapper);
			break;
		default:
			format = reader->lines ? "NDJSON" : "JSON objects";
	}
	return psprintf("%s%s%s%s", format, encodings[reader->encoding],
					reader->marked ? " with byte order mark" : "", reader->compressed ? ", gzip" : "");
}

void
ItemReaderClose(ItemReader *reader)
{
	MemoryContextDelete(reader->context);
}
