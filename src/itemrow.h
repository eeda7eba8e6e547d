/*
 * itemrow.h
 *		An item of Cosmos DB as a row of a container.
 *
 * The columns are found by name: the key columns take the values that the paths
 * lead to, "id" the id, "ts" the time of the last change, and a jsonb column, "doc" if there are
 * several, the item.  Other columns get their defaults.
 */
#ifndef PARTITIONKEY_ITEMROW_H
#define PARTITIONKEY_ITEMROW_H

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"

#include "item.h"
#include "key.h"
#include "registry.h"

#define MAX_ITEM_COLUMNS	(MAX_LEVELS + 3)

typedef struct ItemColumn
{
	char	   *name;
	AttrNumber	attnum;
	Oid			declared;		/* type, which may be a domain */
	Oid			type;			/* its base type */
	int32		typmod;
	Oid			input;			/* functions: of the base type's input .. */
	Oid			typioparam;
	Oid			coercion;		/* .. and to fit a value to the typmod, or InvalidOid */
} ItemColumn;

typedef struct ItemShape
{
	const Container *container;
	ItemColumn	columns[MAX_ITEM_COLUMNS];	/* the key columns first */
	int			ncolumns;
	int			id;				/* places in columns; the id may be that of a level, .. */
	int			ts;				/* .. and both may be -1 */
	int			doc;
	List	   *names[MAX_LEVELS];	/* String *, where the values of the levels are */
	char	   *keys[MAX_LEVELS];	/* SQL expressions to take them from instead, or NULL */
	bool		generate_ids;
	int			stripped;		/* system properties to take out, one bit for each */
	Expr	   *ts_default;		/* of ts, for items without a time, or NULL */
} ItemShape;

/* A row that an item has become; all of it in memory of the caller. */
typedef struct ItemRow
{
	CosmosItem	item;			/* without doc */
	Jsonb	   *original;		/* with system properties, if there are key expressions */
	Datum		values[MAX_ITEM_COLUMNS];
	bool		nulls[MAX_ITEM_COLUMNS];
	bool		looked[MAX_LEVELS]; /* at the values of these levels; not behind what makes the item faulty */
	bool		undefined[MAX_LEVELS];
	bool		timeless;		/* has no time, so that ts gets its default */
	bool		inexact;		/* a key is a number that no binary64 holds: Cosmos DB takes it for the nearest one */
} ItemRow;

/* Why an item can't be a row. */
typedef struct ItemProblem
{
	const char *reason;			/* short, always the same for the same kind of fault */
	char	   *detail;
	const char *path;			/* that it is about, or NULL */
} ItemProblem;

/*
 * Find out how items become rows of a container; palloc'd.  keys has SQL
 * expressions for levels, or NULLs, or is NULL.  Errors: 42703, 42804 if there
 * is no column for documents or no way to fill a key column.
 */
extern ItemShape *ItemShapeFind(Relation rel, const Container *container, char *const *keys, bool generate_ids, bool keep_system);

/* Whether a container's columns are still those of a shape. */
extern bool ItemShapeFits(const ItemShape *shape, Relation rel);

/* The columns as SQL: "a, b, id, doc". */
extern char *ItemShapeColumns(const ItemShape *shape);

/* Whether a row of a table or alias has expired, in a container with this default time to live; as SQL. */
extern char *ItemShapeExpired(const ItemShape *shape, int32 default_ttl, const char *alias);

/*
 * Make a row of an item; false and the problem if that is not possible.  The
 * item's doc is copied, its text isn't.  Keys by expressions, and defaults, are still to be computed.
 */
extern bool ItemRowMake(const ItemShape *shape, const CosmosItem *item, ItemRow *row, ItemProblem *problem);

/*
 * Make only the key of a row, or a prefix of it, from JSON, where {} is undefined;
 * and the id from a string, unless that is NULL.
 */
extern bool ItemRowMakePlace(const ItemShape *shape, const Key *key, const JsonbValue *id, ItemRow *row, ItemProblem *problem);

/* Whether two rows have the same values in their first columns. */
extern bool ItemRowsSamePlace(const ItemShape *shape, const ItemRow *a, const ItemRow *b, int columns);

/* Whether an error, by its SQLSTATE, tells something about the item at hand, and not about the whole load. */
extern bool ItemRowIsFault(int sqlerrcode);

/*
 * Make a level's value, NULL for undefined, the one of a row.  A column keeps it as it is, or
 * it is refused.
 */
extern bool ItemRowTakeKey(const ItemShape *shape, int level, const JsonbValue *value, ItemRow *row, ItemProblem *problem);

/* The same for the id, where it has a column of its own. */
extern bool ItemRowTakeId(const ItemShape *shape, const JsonbValue *id, ItemRow *row, ItemProblem *problem);

/* The time of the last change, from the seconds since 1970 that a document tells; timeless if it doesn't. */
extern void ItemRowTakeTime(const ItemShape *shape, const Jsonb *doc, ItemRow *row);

/* The partition key and the id, for messages: key ["a","b"], id "1". */
extern char *ItemRowName(const ItemShape *shape, const ItemRow *row);

#endif							/* PARTITIONKEY_ITEMROW_H */
