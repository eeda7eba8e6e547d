/*
 * itemreader.h
 *		Reading the items of an export of Cosmos DB, one by one.
 *
 * A source is a file of the server, or a folder of files.  The format is
 * recognised by what is in a file: an array; objects one after the other, each on
 * a line (NDJSON) or not; {"Documents": [..]} and the like around an array.  A
 * file may be compressed by gzip, and is in UTF-8 or UTF-16.
 *
 * Memory is bounded: one buffer, which holds one item.
 */
#ifndef PARTITIONKEY_ITEMREADER_H
#define PARTITIONKEY_ITEMREADER_H

#include "item.h"

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
extern bool ItemReaderNext(ItemReader *reader, CosmosItem *item);

/* Bytes read so far, and in all, as the files are stored: for progress. */
extern int64 ItemReaderBytes(const ItemReader *reader);
extern int64 ItemReaderTotal(const ItemReader *reader);

/* "JSON array, UTF-16 LE, gzip", of the file that the last item came from; and the number of files. */
extern char *ItemReaderFormat(const ItemReader *reader);
extern int	ItemReaderFiles(const ItemReader *reader);

extern void ItemReaderClose(ItemReader *reader);

#endif							/* PARTITIONKEY_ITEMREADER_H */
