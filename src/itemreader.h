/*
 * itemreader.h
 *		Reading the items of an export of Cosmos DB, one by one.
 *
 * A source is a file of the server, or a folder of files.  The format is
 * recognised by what is in a file: an array; objects one after the other, each on
 * a line (NDJSON) or not; {"Documents": [..]} and the like around an array.  A
 * file may be compressed by gzip, and is in UTF-8 or UTF-16.
 *
 * Memory is bounded: one buffer, and one item.
 */
#ifndef PARTITIONKEY_ITEMREADER_H
#define PARTITIONKEY_ITEMREADER_H

#include "postgres.h"

#include "utils/jsonb.h"

/* Cosmos DB's limits on an item: bytes of UTF-8, without blanks between the tokens; depth. */
#define MAX_ITEM_BYTES		(2 * 1024 * 1024)
#define MAX_ITEM_DEPTH		128

/* What is wrong with an item as such, whatever container it is for. */
typedef enum ItemFault
{
	ITEM_SOUND,
	ITEM_BROKEN_JSON,
	ITEM_NOT_AN_OBJECT,
	ITEM_ZERO_CHARACTER,		/* \u0000, which no text of PostgreSQL can hold */
	ITEM_LONE_SURROGATE,
	ITEM_BAD_ENCODING,			/* bytes that are no UTF-8, or characters that the server encoding doesn't have */
	ITEM_TOO_LARGE,
	ITEM_TOO_DEEP,
	ITEM_NUMBER_RANGE			/* a number that no binary64 holds */
} ItemFault;

typedef struct Item
{
	const char *file;			/* path of the file, lives as long as the reader */
	int64		line;			/* where it begins, from 1 */
	int64		offset;			/* bytes of the (decompressed) file before it */
	char	   *text;			/* UTF-8 with a NUL behind it; of an item that is far too large, the beginning */
	int			length;			/* of text, in bytes */
	Jsonb	   *doc;			/* NULL if the item is faulty */
	ItemFault	fault;
	char	   *reason;			/* of a fault, as a sentence without full stop; else NULL */
} Item;

typedef struct ItemReader ItemReader;

/*
 * Open a source, for a user who has the privileges of pg_read_server_files (error
 * 42501).  All is palloc'd in a context below the current one, and files are closed
 * when that goes; it may live on over the end of a transaction.  A path that is not
 * absolute begins at the data directory, as COPY has it.
 */
extern ItemReader *ItemReaderOpen(const char *source);

/*
 * Read the next item, sound or faulty; false at the end.  What it points to is valid
 * until the next call.  Checks for interrupts.
 */
extern bool ItemReaderNext(ItemReader *reader, Item *item);

/* Bytes read so far, and in all, as the files are stored: for progress. */
extern int64 ItemReaderBytes(const ItemReader *reader);
extern int64 ItemReaderTotal(const ItemReader *reader);

/* "JSON array, gzip, UTF-16 LE", of the file that is being read; and the number of files. */
extern char *ItemReaderFormat(const ItemReader *reader);
extern int	ItemReaderFiles(const ItemReader *reader);

extern void ItemReaderClose(ItemReader *reader);

/*
 * An item from a text of the server encoding: no file, line 1, offset 0.  What it
 * points to, besides the text, is palloc'd.
 */
extern void ItemFromText(Item *item, char *text, int length);

/* A short name for a fault: "broken JSON", "lone surrogate" ... */
extern const char *ItemFaultName(ItemFault fault);

/*
 * The text, or its first bytes up to a limit, in the server encoding, with each byte that is not valid there
 * written as \xHH: to be kept in a column.  palloc'd.
 */
extern char *ItemPrintable(const Item *item, int limit);

#endif							/* PARTITIONKEY_ITEMREADER_H */
