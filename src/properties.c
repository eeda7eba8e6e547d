/*
 * properties.c
 *		Finding out what properties the documents in a table have.
 *
 * Documents are walked through to a small depth, and no further than objects lead:
 * a key can't be taken from an array.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "extract.h"
#include "path.h"
#include "percent.h"
#include "properties.h"
#include "rows.h"

#define DOCUMENTS			1000	/* rows looked at, about, of a table that can be sampled */
#define MAX_DOCUMENTS		20000	/* and at all */
#define MAX_PROPERTIES		1000	/* different paths that are counted */
#define MAX_DEPTH			3
#define MAX_PATH			200

typedef struct Search
{
	Relation	rel;
	HTAB	   *found;			/* of FoundProperty */
	AttrNumber	document;		/* the only jsonb column, whose name may be left out of a path */
} Search;

typedef struct FoundProperty
{
	char		path[MAX_PATH + 1]; /* the hash key */
	int			items;
} FoundProperty;

bool
PropertyIsSystem(const char *name, int length)
{
	static const char *const names[] = {"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"};

	for (size_t i = 0; i < lengthof(names); i++)
		if ((int) strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return true;
	return false;
}

static void
count_property(Search *search, const char *path)
{
	FoundProperty *property;
	bool		found;

	if (strlen(path) > MAX_PATH)
		return;
	property = hash_search(search->found, path,
						   hash_get_num_entries(search->found) < MAX_PROPERTIES ? HASH_ENTER : HASH_FIND, &found);
	if (property != NULL)
		property->items = found ? property->items + 1 : 1;
}

/*
 * The path of a property of an object that a path leads to, or NULL if it can't be a key.
 * The name of the only jsonb column is left out, unless a column has the property's name.
 */
static char *
property_path(const Search *search, Form_pg_attribute att, const char *path, int depth, const JsonbValue *key)
{
	char	   *name = pnstrdup(key->val.string.val, key->val.string.len);
	char	   *segment = PathSegment(name);

	if (segment == NULL || (depth == 1 && PropertyIsSystem(name, strlen(name))))
		return NULL;
	if (depth == 1 && att->attnum == search->document && PathNamedColumn(search->rel, name) == InvalidAttrNumber)
		return segment;
	return psprintf("%s%s", path, segment);
}

/* Count the scalars below an object that a path leads to. */
static void
walk_object(Search *search, Form_pg_attribute att, JsonbContainer *object, const char *path, int depth)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue	value;
	JsonbIteratorToken token;
	char	   *below = NULL;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			below = property_path(search, att, path, depth, &value);
		else if (token == WJB_VALUE && below != NULL)
		{
			if (value.type != jbvBinary)
				count_property(search, below);
			else if (JsonContainerIsObject(value.val.binary.data) && depth < MAX_DEPTH)
				walk_object(search, att, value.val.binary.data, below, depth + 1);
		}
	}
}

static void
search_row(TupleTableSlot *slot, void *state)
{
	Search	   *search = state;
	TupleDesc	desc = RelationGetDescr(search->rel);
	int			column = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		isnull;
		Datum		value;
		Jsonb	   *json;
		char	   *path;

		if (att->attisdropped)
			continue;
		column++;
		if (getBaseType(att->atttypid) != JSONBOID)
			continue;
		value = slot_getattr(slot, column, &isnull);
		if (isnull)
			continue;
		json = DatumGetJsonbP(value);
		path = PathSegment(NameStr(att->attname));
		if (path != NULL && JB_ROOT_IS_SCALAR(json))
			count_property(search, path);
		else if (path != NULL && JB_ROOT_IS_OBJECT(json))
			walk_object(search, att, &json->root, path, 1);
	}
}

static int
compare_properties(const ListCell *a, const ListCell *b)
{
	const Property *x = lfirst(a);
	const Property *y = lfirst(b);

	if (x->items != y->items)
		return x->items > y->items ? -1 : 1;
	return strcmp(x->path, y->path);
}

List *
PropertiesFind(Relation rel)
{
	HASHCTL		control = {.keysize = MAX_PATH + 1, .entrysize = sizeof(FoundProperty), .hcxt = CurrentMemoryContext};
	Search		search = {.rel = rel, .document = ExtractDocumentColumn(rel)};
	HASH_SEQ_STATUS scan;
	FoundProperty *found;
	List	   *properties = NIL;

	if (!ExtractHasDocuments(rel))
		return NIL;
	search.found = hash_create("partitionkey properties", 64, &control, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	RowsRead(rel, psprintf("%s LIMIT %d", RowsPlanSample(rel, DOCUMENTS).clause, MAX_DOCUMENTS), search_row, &search);
	hash_seq_init(&scan, search.found);
	while ((found = hash_seq_search(&scan)) != NULL)
	{
		Property   *property = palloc(sizeof(Property));

		property->path = pstrdup(found->path);
		property->items = found->items;
		properties = lappend(properties, property);
	}
	list_sort(properties, compare_properties);
	hash_destroy(search.found);
	return properties;
}

/* How far two paths are from each other, or more than a limit; upper and lower case are the same. */
static int
distance(const char *a, const char *b, int limit)
{
	char	   *x = downcase_identifier(a, strlen(a), false, false);
	char	   *y = downcase_identifier(b, strlen(b), false, false);

	return varstr_levenshtein_less_equal(x, strlen(x), y, strlen(y), 1, 1, 1, limit, true);
}

List *
PropertiesKnown(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *properties = PropertiesFind(rel);
	List	   *paths = NIL;
	ListCell   *cell;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && PathSegment(NameStr(TupleDescAttr(desc, i)->attname)) != NULL)
			paths = lappend(paths, PathSegment(NameStr(TupleDescAttr(desc, i)->attname)));
	foreach(cell, properties)
	{
		Property   *property = lfirst(cell);

		if (property->items * 2 >= ((Property *) linitial(properties))->items)
			paths = lappend(paths, property->path);
	}
	return paths;
}

char *
PropertiesMissing(const char *path, double share, List *known)
{
	char	   *message = share < 1 ? psprintf("%s of items have no %s", Percent(share), path) : psprintf("no item has %s", path);
	const char *nearest = NULL;
	int			best = Max(1, (int) strlen(path) / 3) + 1;
	ListCell   *cell;

	foreach(cell, known)
	{
		int			far = strcmp(lfirst(cell), path) == 0 ? best : distance(path, lfirst(cell), best - 1);

		if (far < best)
		{
			best = far;
			nearest = lfirst(cell);
		}
	}
	return nearest == NULL ? message : psprintf("%s; did you mean %s?", message, nearest);
}
