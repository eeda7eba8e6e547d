/*
 * item.h
 *		An item of Cosmos DB: a JSON object as it was exported, and what may be
 *		wrong with it as such, whatever container it is for.
 */
#ifndef PARTITIONKEY_ITEM_H
#define PARTITIONKEY_ITEM_H

#include "postgres.h"

#include "utils/jsonb.h"

/* Cosmos DB's limits on an item: bytes of UTF-8, without blanks between the tokens; depth. */
#define MAX_ITEM_BYTES		(2 * 1024 * 1024)
#define MAX_ITEM_DEPTH		128

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
	ITEM_NUMBER_RANGE			/* a number that jsonb can't hold */
} ItemFault;

#define ITEM_FAULTS			(ITEM_NUMBER_RANGE + 1)

typedef struct Item
{
	const char *file;			/* path of the file, lives as long as the reader */
	int64		line;			/* where it begins, from 1 */
	int64		offset;			/* bytes of the (decompressed) file before it */
	char	   *text;			/* UTF-8 with a NUL behind it; of an item that is far too large, the beginning */
	int			length;			/* of text, in bytes */
	Jsonb	   *doc;			/* NULL if the item is faulty */
	ItemFault	fault;
	char	   *reason;			/* of a fault, without full stop; else NULL */
} CosmosItem;

/*
 * Set doc, or fault and reason, from the text; they are palloc'd, and so is what is
 * needed on the way.  The depth of brackets in the text is known to the caller.
 */
extern void ItemParse(CosmosItem *item, int depth);

/* Declare an item faulty. */
extern void ItemSetFault(CosmosItem *item, ItemFault fault, char *reason);

/*
 * An item from a text of the server encoding: no file, line 1, offset 0.  What it
 * points to, besides the text, is palloc'd.
 */
extern void ItemFromText(CosmosItem *item, char *text, int length);

/*
 * Judge a document by Cosmos DB's limits on its size and depth: ITEM_SOUND, ITEM_TOO_LARGE or
 * ITEM_TOO_DEEP, and then the reason, palloc'd.
 */
extern ItemFault ItemJudge(Jsonb *doc, char **reason);

/* The first of these alone, also for what is no item. */
extern bool ItemIsTooLarge(Jsonb *doc);

/* A short name for a fault: "broken JSON", "lone surrogate" ... */
extern const char *ItemFaultName(ItemFault fault);

/*
 * The text, or its first bytes up to a limit, in the server encoding, to be kept in
 * a column: what is not valid there is written as \xHH, byte by byte.  palloc'd.
 */
extern char *ItemPrintable(const CosmosItem *item, int limit);

/* The same of a file's name, which is in the server encoding if it is in any.  palloc'd. */
extern char *ItemPrintableName(const char *name);

#endif							/* PARTITIONKEY_ITEM_H */
