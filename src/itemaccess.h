/*
 * itemaccess.h
 *		What the item functions have to know of a container, kept for the session.
 */
#ifndef PARTITIONKEY_ITEMACCESS_H
#define PARTITIONKEY_ITEMACCESS_H

#include "executor/spi.h"
#include "utils/uuid.h"

#include "itemrow.h"

/* The statements that read and write one item; all but the last give back its doc, etag and ts. */
typedef enum ItemStatement
{
	ITEM_READ,					/* by key and id */
	ITEM_LOCK,					/* the same, FOR UPDATE */
	ITEM_CREATE,				/* a row, unless there is one */
	ITEM_CREATE_ALL,			/* rows with one key, those that are not there */
	ITEM_UPSERT,				/* a row, in place of one that is there and has not expired .. */
	ITEM_UPSERT_MATCH,			/* .. if that has an etag */
	ITEM_REPLACE,				/* id and doc of the one with key and id, if it has an etag */
	ITEM_PATCH,					/* its doc by operations, if it has an etag and meets a condition */
	ITEM_MOVE,					/* its key and doc */
	ITEM_DELETE,				/* it, if it has an etag */
	ITEM_DELETE_EXPIRED			/* it, if it has expired */
} ItemStatement;

#define ITEM_STATEMENTS		(ITEM_DELETE_EXPIRED + 1)

/* More parameters than a row has columns. */
#define MAX_ITEM_PARAMETERS	(MAX_ITEM_COLUMNS + MAX_LEVELS + 4)

typedef struct ItemAccess
{
	Oid			relid;			/* the container */
	bool		valid;
	MemoryContext context;		/* of this, and all below */
	Container  *container;
	ItemShape  *shape;
	int			identity;		/* the first columns of the shape are key and id */
	bool		has_etag;
	bool		has_ttl;		/* items may expire */
	int32		default_ttl;	/* seconds, or -1 */
	bool		id_indexed;		/* an index begins with the id */
	Oid			index;			/* unique, on just key and id */
	SPIPlanPtr	plans[ITEM_STATEMENTS];
	SPIPlanPtr	by_id;			/* the query for an id */
} ItemAccess;

/* An item as it is stored; palloc'd. */
typedef struct StoredItem
{
	Jsonb	   *doc;			/* {} for NULL */
	bool		has_etag;
	pg_uuid_t	etag;
	bool		has_ts;
	TimestampTz ts;
} StoredItem;

/*
 * Find out about a container, which is locked as for a SELECT.  It holds until
 * the end of the transaction.  Errors: 42809; 42703 for a container without a column for documents or for the id;
 * 42P10 for one whose items are not unique by key and id.
 */
extern ItemAccess *ItemAccessFind(Oid relid);

/*
 * Run a statement with the caller's rights.  values are first the key and the
 * id that it looks for, or the row that it writes (see parameters in
 * itemaccess.c), nulls as for SPI.  Whether there was a row; stored may be NULL.
 */
extern bool ItemAccessRun(ItemAccess *access, ItemStatement statement, Datum *values, const char *nulls, StoredItem *stored);

/* The condition that the first n columns are $1, $2 ...; as SQL. */
extern char *ItemAccessIdentity(const ItemAccess *access, int n);

/*
 * Run the query for all items with an id, up to a limit, or 0: columns of the key, and then of a
 * StoredItem.  The rows are SPI's.  Reads all partitions, whatever the session allows.  Needs SPI.
 */
extern void ItemAccessFindById(ItemAccess *access, Datum id, long limit);

/* Run ITEM_CREATE_ALL, and set stored to each item, in their order; false if one was not written. */
extern bool ItemAccessCreateAll(ItemAccess *access, Datum *values, int n, StoredItem *stored);

/* Take the columns of a StoredItem from a row that SPI has found. */
extern void StoredItemTake(StoredItem *stored, uint64 row, int column);

/* Set the document of a row, which may be NULL; copied. */
extern void StoredItemSetDoc(StoredItem *stored, Datum doc, bool isnull);

/* The item as an application is given it. */
extern Jsonb *StoredItemResult(const StoredItem *stored);

#endif							/* PARTITIONKEY_ITEMACCESS_H */
