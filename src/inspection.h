/*
 * inspection.h
 *		Counting what is in an export.
 *
 * Memory is bounded by the number of properties, and by what a tally keeps.
 */
#ifndef PARTITIONKEY_INSPECTION_H
#define PARTITIONKEY_INSPECTION_H

#include "nodes/pg_list.h"
#include "utils/array.h"

#include "itemid.h"
#include "itemreader.h"
#include "tally.h"

#define MAX_PROPERTIES		1000
#define MEMBER_BUCKETS		1024

/* Types of values, in the order in which they are told. */
typedef enum ValueType
{
	TYPE_STRING,
	TYPE_NUMBER,
	TYPE_BOOLEAN,
	TYPE_NULL,
	TYPE_OBJECT,
	TYPE_ARRAY,
	VALUE_TYPES
} ValueType;

/* Values at a place, in all items. */
typedef struct Values
{
	int64		types[VALUE_TYPES];
	Tally		tally;			/* of those that can be part of a key */
	Jsonb	   *largest;		/* the most frequent of them */
} Values;

/* A property of the items, or of an object in them. */
typedef struct Member
{
	char	   *name;
	int			length;
	char	   *path;
	struct Member *parent;
	struct Member *first;		/* properties of the object here */
	struct Member *last;
	struct Member *next;		/* after this one */
	struct Member *next_in_bucket;
	uint32		hash;			/* of the path */
	struct Member *expected;	/* of those below it, the one that comes next */
	bool		system;			/* Cosmos DB puts it into every item */
	Values		values;
} Member;

/* A path that was asked for. */
typedef struct AskedPath
{
	char	   *path;
	List	   *names;			/* String * */
	Values		values;
	int64		undefined;
	int64		too_long;		/* values over the limit */
	int64		too_large;		/* numbers that no binary64 holds */
	Tally		exact;			/* integers that a binary64 can't tell apart, as they are written */
	Tally		rounded;		/* and as Cosmos DB takes them */
} AskedPath;

/* Items of a format, or with a fault. */
typedef struct Count
{
	const char *name;			/* of the format */
	int64		items;
	int64		files;			/* of the format */
	char	   *first;			/* where the first faulty one is, and what is wrong with it */
} Count;

typedef struct Inspection
{
	MemoryContext context;		/* of what is kept */
	int64		items;			/* all, faulty ones too */
	int64		sound;
	List	   *formats;		/* Count * */
	const char *file;			/* the one that is read */
	Count	   *format;			/* of it */
	Count		faults[ITEM_FAULTS];
	Count		ids[ID_FAULTS];
	Member		root;
	Member	   *buckets[MEMBER_BUCKETS];	/* all members, by their hash */
	int			properties;
	bool		too_many;		/* properties, so that some are not counted */
	int			npaths;
	AskedPath  *paths;
	int64		keyed;			/* items whose values at all paths can be part of a key */
	Tally		keys;
	Tally		keyed_ids;		/* keys with ids */
	Jsonb	   *largest_key;
} Inspection;

/* Begin with counting, by some paths (text[], or NULL).  What is kept is palloc'd in the current context. */
extern Inspection *InspectionStart(ArrayType *paths);

/* Count an item.  Called in a context that is reset. */
extern void InspectionCount(Inspection *in, const ItemReader *reader, const CosmosItem *item);

#endif							/* PARTITIONKEY_INSPECTION_H */
