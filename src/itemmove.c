/*
 * itemmove.c
 *		Moving an item to another partition key, and deleting all items of one.
 *
 * Cosmos DB can only write the item anew and delete the old one.  Here it is one
 * UPDATE, so that there is no moment at which others see both or neither.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "extract.h"
#include "itemread.h"
#include "itemwrite.h"
#include "sql.h"
#include "status.h"

/*
 * The document with another key
 */

static Datum
text_array(const List *names, int n)
{
	Datum	   *elements = palloc(sizeof(Datum) * n);

	for (int i = 0; i < n; i++)
		elements[i] = CStringGetTextDatum(strVal(list_nth(names, i)));
	return PointerGetDatum(construct_array_builtin(elements, n, TEXTOID));
}

/* A value in objects of the names from the nth on: {"b": {"c": value}}. */
static Jsonb *
nested(const List *names, int n, JsonbValue *value)
{
	JsonbParseState *state = NULL;
	JsonbValue *result = NULL;
	int			depth = list_length(names) - n;

	if (depth == 0)
		return JsonbValueToJsonb(value);
	for (int i = 0; i < depth; i++)
	{
		char	   *name = strVal(list_nth(names, n + i));
		JsonbValue	key = {.type = jbvString, .val.string = {.len = strlen(name), .val = name}};

		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		pushJsonbValue(&state, WJB_KEY, &key);
	}
	pushJsonbValue(&state, WJB_VALUE, value);
	for (int i = 0; i < depth; i++)
		result = pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	return JsonbValueToJsonb(result);
}

/* How many of a path's names, but for the last, lead through objects that the document has. */
static int
existing_parents(Jsonb *doc, const char *path, const List *names)
{
	JsonbContainer *object = &doc->root;

	for (int i = 0; i < list_length(names) - 1; i++)
	{
		char	   *name = strVal(list_nth(names, i));
		JsonbValue	value;

		if (getKeyJsonValueFromContainer(object, name, strlen(name), &value) == NULL || value.type == jbvNull)
			return i;
		if (value.type != jbvBinary || !JsonContainerIsObject(value.val.binary.data))
			ereport(ERROR,
					(StatusCode(COSMOS_BAD_REQUEST),
					 errmsg("item can't have a value at \"%s\"", path),
					 StatusDetail(COSMOS_BAD_REQUEST, "Its property \"%s\" is not an object.", name),
					 errhint("Change it by partitionkey.replace_item before.")));
		object = value.val.binary.data;
	}
	return list_length(names) - 1;
}

/* A copy of a document with a value, or nothing for {}, where a path leads. */
static Jsonb *
with_key(Jsonb *doc, const char *path, const List *names, JsonbValue *value)
{
	int			parents;
	JsonbValue	there;

	if (value->type == jbvBinary && !ExtractValue(&doc->root, names, &there))
		return doc;
	if (value->type == jbvBinary)
		return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete_path, JsonbPGetDatum(doc),
												  text_array(names, list_length(names))));
	parents = existing_parents(doc, path, names);
	return DatumGetJsonbP(DirectFunctionCall4(jsonb_set, JsonbPGetDatum(doc), text_array(names, parents + 1),
											  JsonbPGetDatum(nested(names, parents + 1, value)), BoolGetDatum(true)));
}

static Jsonb *
with_keys(const ItemAccess *access, Jsonb *doc, ItemPlace *to)
{
	for (int i = 0; i < access->container->levels; i++)
		if (i != access->shape->id)
			doc = with_key(doc, access->container->paths[i], access->shape->names[i], &to->key.values[i]);
	return doc;
}

/*
 * Moving
 */

static void
move(ItemAccess *access, ItemPlace *from, ItemPlace *to, const ItemCondition *condition, StoredItem *stored)
{
	int			levels = access->container->levels;
	Datum		values[MAX_ITEM_PARAMETERS];
	int			n = access->identity;

	ItemLock(access, from, condition, stored);
	if (!JB_ROOT_IS_OBJECT(stored->doc))
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("document of %s is not an object", ItemPlaceName(access, from)),
				 StatusDetail(COSMOS_BAD_REQUEST, "%s", "")));
	ItemFreePlace(access, to, psprintf("The item under %s has not been moved.", ItemRowKeyText(access->shape, &from->row)));
	memcpy(values, from->row.values, sizeof(Datum) * n);
	memcpy(values + n, to->row.values, sizeof(Datum) * levels);
	n += levels;
	values[n++] = JsonbPGetDatum(with_keys(access, stored->doc, to));
	if (access->shape->ts >= 0)
		values[n] = TimestampTzGetDatum(GetCurrentTimestamp());
	ItemChange(access, ITEM_MOVE, values, NULL, from, condition, stored);
}

/* move_item(container regclass, id text, from_key jsonb, to_key jsonb, if_match text) returns jsonb */
PG_FUNCTION_INFO_V1(move_item);
Datum
move_item(PG_FUNCTION_ARGS)
{
	ItemCondition condition = {.if_match = PG_ARGISNULL(4) ? NULL : PG_GETARG_TEXT_PP(4)};
	ItemAccess *access;
	ItemPlace	from;
	ItemPlace	to;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "id", "from_key", "to_key", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	if (access->container->levels == 1 && access->shape->id == 0)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("items of container \"%s\" can't be moved", get_rel_name(access->relid)),
				 StatusDetail(COSMOS_BAD_REQUEST, "Their key is the id."),
				 errhint("Create the item anew, and delete the old one.")));
	ItemPlaceRead(access, &from, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(2));
	ItemPlaceRead(access, &to, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(3));
	if (ItemRowsSamePlace(access->shape, &from.row, &to.row, access->identity))
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("item \"%s\" is to be moved to the key that it is to be moved from", from.id),
				 StatusDetail(COSMOS_BAD_REQUEST, "Both are %s.", ItemRowKeyText(access->shape, &from.row))));
	move(access, &from, &to, &condition, &stored);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/*
 * delete_partition(container regclass, key jsonb) returns bigint
 *
 * All items with a key, or with a prefix of one; those that have expired as well.
 */
PG_FUNCTION_INFO_V1(delete_partition);
Datum
delete_partition(PG_FUNCTION_ARGS)
{
	ItemAccess *access;
	ItemPlace	place;
	Oid			types[MAX_LEVELS];
	uint64		deleted;

	ItemRequireArguments(fcinfo, "container", "key", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemPlaceReadPrefix(access, &place, PG_GETARG_JSONB_P(1));
	for (int i = 0; i < place.key.levels; i++)
		types[i] = access->shape->columns[i].type;
	SPI_connect();
	if (SPI_execute_with_args(psprintf("DELETE FROM %s AS item WHERE %s", QualifiedName(access->relid),
									   ItemAccessIdentity(access, place.key.levels)),
							  place.key.levels, types, place.row.values, NULL, false, 0) < 0)
		elog(ERROR, "SPI_execute_with_args failed");
	deleted = SPI_processed;
	SPI_finish();
	PG_RETURN_INT64(deleted);
}
