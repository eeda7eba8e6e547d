/*
 * inspection.c
 *		Counting what is in an export.
 *
 * Properties are kept as a tree, which is walked along with each document; jsonb
 * keeps members in one order, so that the next one is mostly where the last
 * document had it.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "extract.h"
#include "inspection.h"
#include "key.h"
#include "path.h"
#include "position.h"
#include "properties.h"

#define PROPERTY_DEPTH		3
#define PROPERTY_VALUES		1000	/* of each property that are counted exactly */
#define KEY_VALUES			100000	/* of each path, and of the whole key */
#define EXACT_INTEGERS		9007199254740992.0	/* 2^53: from here on a binary64 stands for several integers */

static ValueType
value_type(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			return TYPE_NULL;
		case jbvString:
			return TYPE_STRING;
		case jbvNumeric:
			return TYPE_NUMBER;
		case jbvBool:
			return TYPE_BOOLEAN;
		default:
			return JsonContainerIsObject(value->val.binary.data) ? TYPE_OBJECT : TYPE_ARRAY;
	}
}

/* Keep a value as the most frequent one. */
static void
keep(const Inspection *in, Jsonb **kept, JsonbValue *value)
{
	MemoryContext old = MemoryContextSwitchTo(in->context);

	if (*kept != NULL)
		pfree(*kept);
	*kept = JsonbValueToJsonb(value);
	MemoryContextSwitchTo(old);
}

/* Count a value.  True, and its component, if it can be part of a key. */
static bool
count_value(const Inspection *in, Values *values, JsonbValue *value, Component *c)
{
	values->types[value_type(value)]++;
	if (value->type == jbvBinary || !ComponentSetJsonbValue(c, value) || (c->type == COMPONENT_NUMBER && isinf(c->number)))
		return false;
	if (TallyAdd(&values->tally, Position(HASH_XXHASH, c)))
		keep(in, &values->largest, value);
	return true;
}

static Member *
new_member(Inspection *in, Member *parent, const JsonbValue *key)
{
	MemoryContext old = MemoryContextSwitchTo(in->context);
	Member	   *member = palloc0(sizeof(Member));
	char	   *segment;

	member->name = pnstrdup(key->val.string.val, key->val.string.len);
	member->length = key->val.string.len;
	segment = PathSegment(member->name);
	/* What no path can name is listed, too. */
	member->path = psprintf("%s%s", parent->path, segment ? segment : psprintf("/\"%s\"", member->name));
	member->parent = parent;
	if (parent->last == NULL)
		parent->first = member;
	else
		parent->last->next = member;
	parent->last = member;
	member->system = parent == &in->root && PropertyIsSystem(member->name, member->length);
	TallyInit(&member->values.tally, PROPERTY_VALUES);
	in->properties++;
	MemoryContextSwitchTo(old);
	return member;
}

static inline bool
is_named(const Member *member, const JsonbValue *key)
{
	return member->length == key->val.string.len && memcmp(member->name, key->val.string.val, member->length) == 0;
}

/* The member of a property, made if there is none; NULL if there are too many. */
static Member *
find_member(Inspection *in, Member *parent, const JsonbValue *key)
{
	uint32		hash = hash_combine(parent->hash, hash_bytes((unsigned char *) key->val.string.val, key->val.string.len));
	Member	  **place = &in->buckets[hash % MEMBER_BUCKETS];

	while (*place != NULL && !((*place)->parent == parent && is_named(*place, key)))
		place = &(*place)->next_in_bucket;
	if (*place == NULL && in->properties == MAX_PROPERTIES)
		in->too_many = true;
	else if (*place == NULL)
	{
		*place = new_member(in, parent, key);
		(*place)->hash = hash;
	}
	return *place;
}

/* Count the properties of an object. */
static void
count_properties(Inspection *in, Member *parent, JsonbContainer *object, int depth)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	value;
	Member	   *member = NULL;
	Component	c;

	check_stack_depth();
	parent->expected = parent->first;
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			member = parent->expected;
			if (member == NULL || !is_named(member, &value))
				member = find_member(in, parent, &value);
			if (member != NULL)
				parent->expected = member->next;
		}
		else if (token == WJB_VALUE && member != NULL)
		{
			(void) count_value(in, &member->values, &value, &c);
			if (value.type == jbvBinary && JsonContainerIsObject(value.val.binary.data) && depth < PROPERTY_DEPTH)
				count_properties(in, member, value.val.binary.data, depth + 1);
		}
	}
}

/* Where an item is, for people. */
static char *
place_of(const CosmosItem *item)
{
	return psprintf("%s, line " INT64_FORMAT ", byte " INT64_FORMAT, item->file, item->line, item->offset);
}

static void
count_fault(const Inspection *in, Count *count, const CosmosItem *item, const char *reason)
{
	if (count->items++ == 0)
		count->first = MemoryContextStrdup(in->context, psprintf("first: %s: %s", place_of(item), reason));
}

/* Count an item whose id no container takes. */
static void
count_id(Inspection *in, const CosmosItem *item)
{
	JsonbValue	id;
	char	   *reason;
	IdFault		fault = ItemFindId(item->doc, &id, &reason);

	if (fault != ID_SOUND)
		count_fault(in, &in->ids[fault], item, reason);
}

/* An integer that a binary64 can't tell from others is counted as it is written, and as Cosmos DB takes it. */
static void
count_large_number(AskedPath *path, const JsonbValue *value, const Component *c)
{
	if (c->type != COMPONENT_NUMBER || fabs(c->number) < EXACT_INTEGERS)
		return;
	(void) TallyAdd(&path->exact, DatumGetUInt64(DirectFunctionCall2(hash_numeric_extended,
																	 NumericGetDatum(value->val.numeric), Int64GetDatum(0))));
	(void) TallyAdd(&path->rounded, Position(HASH_XXHASH, c));
}

/* Count the value at a path; false if it can't be part of a key. */
static bool
count_path(Inspection *in, AskedPath *path, Jsonb *doc, Component *c)
{
	JsonbValue	value;

	if (ExtractValue(&doc->root, path->names, &value))
	{
		if (!count_value(in, &path->values, &value, c))
		{
			path->too_large += value.type == jbvNumeric;
			return false;
		}
		path->too_long += KeyValueTooLong(c);
		count_large_number(path, &value, c);
		return true;
	}
	path->undefined++;
	c->type = COMPONENT_UNDEFINED;
	c->len = 0;
	if (TallyAdd(&path->values.tally, Position(HASH_XXHASH, c)))
	{
		if (path->values.largest != NULL)
			pfree(path->values.largest);
		path->values.largest = NULL;
	}
	return true;
}

/* Count the id of an item with a key. */
static void
count_keyed_id(Inspection *in, Jsonb *doc, uint64 key)
{
	JsonbValue	id;
	Component	c;

	if (getKeyJsonValueFromContainer(&doc->root, "id", 2, &id) != NULL && id.type == jbvString && ComponentSetJsonbValue(&c, &id))
		(void) TallyAdd(&in->keyed_ids, hash_combine64(key, Position(HASH_XXHASH, &c)));
}

static void
count_key(Inspection *in, Jsonb *doc)
{
	Component  *key = palloc(sizeof(Component) * Max(1, in->npaths));
	bool		valid = in->npaths > 0 && in->npaths <= MAX_LEVELS;
	uint64		hash = 0;

	for (int i = 0; i < in->npaths; i++)
	{
		valid = count_path(in, &in->paths[i], doc, &key[i]) && valid;
		if (valid)
			hash = hash_combine64(hash, Position(HASH_XXHASH, &key[i]));
	}
	if (!valid)
		return;
	in->keyed++;
	count_keyed_id(in, doc, hash);
	if (TallyAdd(&in->keys, hash))
	{
		MemoryContext old;
		Jsonb	   *json = KeyToJsonb(key, in->npaths);

		old = MemoryContextSwitchTo(in->context);
		if (in->largest_key != NULL)
			pfree(in->largest_key);
		in->largest_key = (Jsonb *) PG_DETOAST_DATUM_COPY(JsonbPGetDatum(json));
		MemoryContextSwitchTo(old);
	}
}

/* The count of a format. */
static Count *
find_format(Inspection *in, const char *name)
{
	MemoryContext old;
	ListCell   *cell;
	Count	   *count;

	foreach(cell, in->formats)
	{
		count = lfirst(cell);
		if (strcmp(count->name, name) == 0)
			return count;
	}
	old = MemoryContextSwitchTo(in->context);
	count = palloc0(sizeof(Count));
	count->name = pstrdup(name);
	in->formats = lappend(in->formats, count);
	MemoryContextSwitchTo(old);
	return count;
}

void
InspectionCount(Inspection *in, const ItemReader *reader, const CosmosItem *item)
{
	if (item->file != in->file)
	{
		in->file = item->file;
		in->format = find_format(in, ItemReaderFormat(reader));
		in->format->files++;
	}
	in->format->items++;
	in->items++;
	if (item->fault != ITEM_SOUND)
	{
		count_fault(in, &in->faults[item->fault], item, item->reason);
		return;
	}
	in->sound++;
	count_id(in, item);
	count_properties(in, &in->root, &item->doc->root, 1);
	count_key(in, item->doc);
}

/* Take the paths of an array. */
static void
set_paths(Inspection *in, ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &in->npaths);
	in->paths = palloc0(sizeof(AskedPath) * Max(1, in->npaths));
	for (int i = 0; i < in->npaths; i++)
	{
		AskedPath  *path = &in->paths[i];

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("partition key path must not be null")));
		path->path = TextDatumGetCString(elements[i]);
		path->names = ExtractNames(path->path);
		TallyInit(&path->values.tally, KEY_VALUES);
		TallyInit(&path->exact, KEY_VALUES);
		TallyInit(&path->rounded, KEY_VALUES);
	}
}

Inspection *
InspectionStart(ArrayType *paths)
{
	Inspection *in = palloc0(sizeof(Inspection));

	in->context = CurrentMemoryContext;
	in->root.path = "";
	TallyInit(&in->keys, KEY_VALUES);
	TallyInit(&in->keyed_ids, KEY_VALUES);
	if (paths != NULL)
		set_paths(in, paths);
	return in;
}
