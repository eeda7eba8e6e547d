/*
 * itemreader.c
 *		Reading items from files of any format.
 *
 * A file is a sequence of JSON values.  An object is an item; an array has items as
 * elements; and an object may be a wrapper around such an array, as the answers of
 * Cosmos DB's REST API are.  Commas and blanks are what stands between items, so that
 * a missing or doubled comma breaks none.
 *
 * An item is parsed where it lies in the buffer.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "common/file_utils.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "exportformat.h"
#include "itemend.h"
#include "itemreader.h"

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

	/* the file that is, or was, read: */
	const char *path;
	const char *name;			/* the path as a text */
	Format		format;
	char		wrapper[WRAPPER_NAME];	/* the member that is the array */
	bool		compressed;
	bool		marked;			/* by a byte order mark */

	ExportBuffer buffer;
	Place		place;
	int64		laid_out;		/* the line that has told how items are laid out, */
	bool		laid_out_wrapped;	/* of what is in a wrapper there */
	ItemEnd		end;			/* of the current item */
	bool		open;			/* the file before has ended within an array, */
	bool		piece;			/* and this one goes on with it */
	char	   *ended;			/* where a NUL ends the text of the current item, or NULL */
	char		covered;		/* the character that was there */
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
				 errhint("Anyone can load a file of the client, by \\copy into the view that partitionkey.create_items_view makes.")));
}

static void
add_file(ItemReader *reader, const char *path, int64 bytes)
{
	reader->files = lappend(reader->files, pstrdup(path));
	reader->total += bytes;
}

/* Add what a name in a folder stands for.  Links are followed to files only, so that there are no circles. */
static void
add_entry(ItemReader *reader, List **folders, const char *folder, const struct dirent *entry)
{
	char	   *path = psprintf("%s/%s", folder, entry->d_name);
	struct stat st;

	if (get_dirent_type(path, entry, false, ERROR) == PGFILETYPE_DIR)
		*folders = lappend(*folders, path);
	else if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		add_file(reader, path, st.st_size);
}

/* Add the files of a folder, and of those below it, but no hidden ones.  One folder is open at a time. */
static void
add_folder(ItemReader *reader, char *folder)
{
	List	   *folders = list_make1(folder);

	for (int i = 0; i < list_length(folders); i++)
	{
		DIR		   *dir = AllocateDir(list_nth(folders, i));
		struct dirent *entry;

		while ((entry = ReadDir(dir, list_nth(folders, i))) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			if (entry->d_name[0] != '.')
				add_entry(reader, &folders, list_nth(folders, i), entry);
		}
		FreeDir(dir);
	}
}

static int
compare_paths(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* Find the files of a source, in the order of their paths. */
static void
find_files(ItemReader *reader, char *source)
{
	struct stat st;

	if (stat(source, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open \"%s\" for reading: %m", source),
				 errhint("The path is one of the server, absolute or relative to its data directory. A file of the client is loaded by \\copy into the view that partitionkey.create_items_view makes.")));
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
	find_files(reader, path);
	MemoryContextSwitchTo(old);
	return reader;
}

/*
 * Going through a file
 */

/* How items are laid out from the place on; asked once for a line, which may have many arrays, and for one in a wrapper on it. */
static void
find_layout(ItemReader *reader)
{
	reader->end.in_array = reader->place == PLACE_ARRAY;
	reader->end.wrapped = reader->end.in_array && reader->format == FORMAT_WRAPPED;
	reader->end.indentation = -1;
	if (reader->laid_out == reader->buffer.line && reader->laid_out_wrapped == reader->end.wrapped)
		return;
	reader->laid_out = reader->buffer.line;
	reader->laid_out_wrapped = reader->end.wrapped;
	reader->end.lines = FormatFindLines(&reader->buffer);
}

static bool
open_next(ItemReader *reader)
{
	MemoryContext old;
	ExportFile *file;

	if (reader->next == list_length(reader->files))
		return false;
	old = MemoryContextSwitchTo(reader->context);
	reader->path = list_nth(reader->files, reader->next++);
	reader->name = ItemPrintableName(reader->path);
	file = ExportFileOpen(reader->path);
	BufferStart(&reader->buffer, file);
	MemoryContextSwitchTo(old);
	reader->compressed = ExportFileIsCompressed(file);
	reader->marked = ExportFileMark(file) > 0;
	reader->format = FORMAT_EMPTY;
	reader->place = PLACE_TOP;
	reader->piece = false;
	reader->laid_out = 0;
	ItemEndStart(&reader->end);
	find_layout(reader);
	return true;
}

/* Where an item, or what is missing of one, is. */
static void
set_place(const ItemReader *reader, CosmosItem *item)
{
	item->file = reader->name;
	item->line = reader->buffer.line;
	item->offset = reader->buffer.offset;
}

/* Close the file.  True if it has ended too early, which is an item that has a fault. */
static bool
close_file(ItemReader *reader, CosmosItem *item)
{
	bool		fault = reader->place != PLACE_TOP && !reader->end.cut && !reader->piece;

	reader->open = reader->place == PLACE_ARRAY;
	if (fault)
	{
		set_place(reader, item);
		item->text = "";
		item->length = 0;
		ItemSetFault(item, ITEM_BROKEN_JSON, "the file ends too early: the array, or the object around it, is not closed");
	}
	reader->done += ExportFileBytes(reader->buffer.file);
	ExportFileClose(reader->buffer.file);
	reader->buffer.file = NULL;
	return fault;
}

/* How many bytes of a separator are at the place, as far as they are in the buffer: the same character, or a byte order mark. */
static int
separator_length(ExportBuffer *buffer)
{
	const char *p = BufferAhead(buffer, 0);
	const char *end = buffer->data + buffer->length;
	const char *next = p + 1;

	if (BufferHasMark(buffer, 0))
		return EXPORT_MARK_BYTES;
	if (!IsBlank(*p) && *p != ',')
		return 0;
	while (next < end && *next == *p)
		next++;
	return next - p;
}

/* Pass what is between items; false at the end of the file. */
static bool
next_token(ExportBuffer *buffer, char *c)
{
	int			length;

	do
	{
		if (buffer->at == buffer->length && !BufferMore(buffer))
			return false;
		length = separator_length(buffer);
		if (length > 0)
			BufferPassSeparator(buffer, length);
	} while (length > 0);
	*c = BufferPeek(buffer, 0);
	return true;
}

/* Enter an array whose elements begin so many bytes ahead. */
static void
enter_array(ItemReader *reader, Format format, int length)
{
	reader->format = format;
	reader->place = PLACE_ARRAY;
	if (format == FORMAT_ARRAY)
		BufferPassSeparator(&reader->buffer, 1);
	else
		BufferPass(&reader->buffer, length);
	find_layout(reader);
}

static void
leave_array(ItemReader *reader)
{
	BufferPass(&reader->buffer, 1);
	reader->place = reader->format == FORMAT_WRAPPED ? PLACE_TAIL : PLACE_TOP;
	reader->end.in_array = reader->end.wrapped = false;
	reader->piece = false;
}

/* Set the text of an item that ends so many bytes ahead, with a NUL in place of what follows it, and pass it. */
static void
take_text(ItemReader *reader, CosmosItem *item, int length)
{
	ExportBuffer *buffer = &reader->buffer;

	item->text = BufferAhead(buffer, 0);
	item->length = length;
	BufferPass(buffer, length);
	while (item->length > 0 && IsBlank(item->text[item->length - 1]))
		item->length--;
	reader->ended = item->text + item->length;
	reader->covered = *reader->ended;
	*reader->ended = '\0';
}

/* Read the item at the place, and parse it. */
static void
read_item(ItemReader *reader, CosmosItem *item)
{
	ItemEnd    *end = &reader->end;
	bool		torn = reader->piece && reader->buffer.passed == 0 && (end->cut || BufferPeek(&reader->buffer, 0) != '{');

	set_place(reader, item);
	ItemFindEnd(end, &reader->buffer);
	take_text(reader, item, end->length);
	if (end->beginning != NULL)
	{
		item->text = end->beginning;
		item->length = strlen(end->beginning);
	}
	if (torn)
		ItemSetFault(item, ITEM_BROKEN_JSON, "the file begins within an item: it is a piece of a larger one, which has to be put together");
	else if (end->lost && (end->beginning != NULL || item->length > MAX_ITEM_BYTES || end->depth > MAX_ITEM_DEPTH))
		ItemSetFault(item, ITEM_BROKEN_JSON, "its brackets and quotes don't match, and where it ends can't be told");
	else if (end->beginning != NULL)
		ItemSetFault(item, ITEM_TOO_LARGE, psprintf("the item has more than %d bytes, even without blanks and escapes",
													MAX_ITEM_BYTES));
	else
		ItemParse(item, end->depth);
}

/* A file that begins as none does goes on with the array of the one before; the items that are divided between them are faulty. */
static void
go_on_with_array(ItemReader *reader)
{
	reader->place = PLACE_ARRAY;
	reader->format = FORMAT_ARRAY;
	reader->piece = true;
	find_layout(reader);
}

/* Take the next step in the open file; true if it gave an item. */
static bool
step(ItemReader *reader, CosmosItem *item)
{
	char		c;
	int			array;

	if (!next_token(&reader->buffer, &c))
		return close_file(reader, item);
	if (reader->place == PLACE_TAIL)
		reader->place = ItemPassObject(&reader->buffer) ? PLACE_TOP : PLACE_TAIL;
	else if (reader->place == PLACE_ARRAY && c == ']')
		leave_array(reader);
	else if (reader->place == PLACE_TOP && c == '[' &&
			 (reader->format != FORMAT_SEQUENCE || FormatHasObjects(&reader->buffer, 0)))
		enter_array(reader, FORMAT_ARRAY, 1);
	else if (reader->place == PLACE_TOP && c == '{' && reader->format != FORMAT_SEQUENCE &&
			 (array = FormatFindWrapped(&reader->buffer, reader->wrapper)) > 0)
		enter_array(reader, FORMAT_WRAPPED, array);
	else if (reader->open && reader->format == FORMAT_EMPTY)
		go_on_with_array(reader);
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
	while (!found && (reader->buffer.file != NULL || open_next(reader)))
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
	return reader->done + (reader->buffer.file != NULL ? ExportFileBytes(reader->buffer.file) : 0);
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
			format = reader->end.lines ? "NDJSON" : "JSON objects";
	}
	return psprintf("%s%s%s%s", format, encodings[reader->buffer.encoding],
					reader->marked ? " with byte order mark" : "", reader->compressed ? ", gzip" : "");
}

void
ItemReaderClose(ItemReader *reader)
{
	MemoryContextDelete(reader->context);
}
