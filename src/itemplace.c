/*
 * itemplace.c
 *		Where an item is: its full key and its id, as the SDKs name it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "itemid.h"
#include "itemplace.h"
#include "sql.h"
#include "status.h"

/*
 * A component of a key as JSON.  A whole or decimal number is the column's own, which may have more digits
 * than Cosmos DB takes: so it can be given back.
 */
static void
push_component(JsonbParseState **state, Oid type, Datum value)
{
	Component	component;
	JsonbValue	element;

	if (type == INT8OID || (type == NUMERICOID && !numeric_is_nan(DatumGetNumeric(value)) && !numeric_is_inf(DatumGetNumeric(value))))
	{
		element.type = jbvNumeric;
		element.val.numeric = type == INT8OID ? int64_to_numeric(DatumGetInt64(value)) : DatumGetNumeric(value);
	}
	else
	{
		(void) ComponentSetDatum(&component, type, value);
		element = *getIthJsonbValueFromContainer(&KeyToJsonb(&component, 1)->root, 0);
	}
	pushJsonbValue(state, WJB_ELEM, &element);
}

Jsonb *
ItemRowKey(const ItemShape *shape, const ItemRow *row)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < shape->container->levels; i++)
		push_component(&state, shape->columns[i].type, row->values[i]);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, NULL));
}

char *
ItemRowKeyText(const ItemShape *shape, const ItemRow *row)
{
	Jsonb	   *key = ItemRowKey(shape, row);

	return JsonbToCString(NULL, &key->root, VARSIZE(key));
}

char *
ItemPlaceName(const ItemAccess *access, const ItemPlace *place)
{
	return psprintf("item \"%s\" of logical partition %s in container \"%s\"", place->id,
					ItemRowKeyText(access->shape, &place->row), get_rel_name(access->relid));
}

/* What to do about a problem. */
static const char *
problem_hint(const ItemProblem *problem)
{
	if (strcmp(problem->reason, IdFaultName(ID_MISSING)) == 0)
		return "Give it an id. create_item makes one with generate_id => true.";
	if (strcmp(problem->reason, IdFaultName(ID_NUMERIC)) == 0 || strcmp(problem->reason, IdFaultName(ID_NO_STRING)) == 0)
		return "An id is a string: write it in quotes.";
	if (problem->path != NULL && strcmp(problem->path, "/id") == 0)
		return NULL;
	if (strcmp(problem->reason, "key null") == 0 || strcmp(problem->reason, "key undefined") == 0 ||
		strcmp(problem->reason, "key of another type") == 0 || strcmp(problem->reason, "key not exact") == 0)
		return "A key column of type jsonb holds keys of all types: see key_types of create_container_from_definition.";
	return NULL;
}

void
ItemRefuse(const ItemAccess *access, const char *what, const ItemProblem *problem)
{
	bool		large = strcmp(problem->reason, ItemFaultName(ITEM_TOO_LARGE)) == 0;
	CosmosStatus status = large ? COSMOS_TOO_LARGE : COSMOS_BAD_REQUEST;
	const char *hint = problem_hint(problem);
	char	   *detail = pstrdup(problem->detail);

	detail[0] = pg_ascii_toupper(detail[0]);
	ereport(ERROR,
			(StatusCode(status),
			 errmsg("container \"%s\" takes no such %s: %s", get_rel_name(access->relid), what, problem->reason),
			 StatusDetail(status, "%s.", detail),
			 hint ? errhint("%s", hint) : 0));
}

static void
read_key(Key *key, Jsonb *json)
{
	const char *hint;
	char	   *fault = KeyRead(key, json, &hint);

	if (fault != NULL)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("%s", fault),
				 StatusDetail(COSMOS_BAD_REQUEST, "%s", ""),
				 errhint("%s", hint)));
}

/* Whether the last level is the id. */
static bool
ends_in_id(const ItemAccess *access)
{
	return access->shape->id == access->container->levels - 1;
}

/* Refuse a key that is not one of all levels. */
static void
require_levels(const ItemAccess *access, const Key *key)
{
	int			levels = access->container->levels;
	const char *name = get_rel_name(access->relid);

	if (key->levels == levels)
		return;
	ereport(ERROR,
			(StatusCode(COSMOS_BAD_REQUEST),
			 errmsg_plural("key has %d component, but a key of container \"%s\" has %d",
						   "key has %d components, but a key of container \"%s\" has %d", key->levels, key->levels, name, levels),
			 StatusDetail(COSMOS_BAD_REQUEST, "%s", key->levels > levels ? "" : "A prefix of a key is many logical partitions."),
			 key->levels > levels ? 0 :
			 errhint("Give the whole key. To look under all keys, use partitionkey.find_items; to read a prefix, a query: WHERE %s = ...",
					 quote_identifier(access->container->columns[0]))));
}

static void
set_place(const ItemAccess *access, ItemPlace *place, const JsonbValue *id)
{
	ItemProblem problem;

	if (!ItemRowMakePlace(access->shape, &place->key, id, &place->row, &problem))
		ItemRefuse(access, "key", &problem);
}

static void
set_id(ItemPlace *place, text *id, JsonbValue *string)
{
	place->id = text_to_cstring(id);
	string->type = jbvString;
	string->val.string.val = place->id;
	string->val.string.len = strlen(place->id);
}

static bool
is_same_string(const JsonbValue *a, const JsonbValue *b)
{
	return a->type == b->type && a->val.string.len == b->val.string.len &&
		memcmp(a->val.string.val, b->val.string.val, b->val.string.len) == 0;
}

void
ItemPlaceRead(const ItemAccess *access, ItemPlace *place, text *id, Jsonb *json)
{
	int			level = access->shape->id;
	Key		   *key = &place->key;
	JsonbValue	string;

	set_id(place, id, &string);
	read_key(key, json);
	if (ends_in_id(access) && key->levels == access->container->levels - 1)
		key->values[key->levels++] = string;
	require_levels(access, key);
	if (level < key->levels && !is_same_string(&key->values[level], &string))
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("component %d of the key is not the id \"%s\"", level + 1, place->id),
				 StatusDetail(COSMOS_BAD_REQUEST, "The partition key path \"%s\" of container \"%s\" is the id.",
							  access->container->paths[level], get_rel_name(access->relid)),
				 ends_in_id(access) ? errhint("Leave it out: it is completed from the id.") : 0));
	set_place(access, place, &string);
}

void
ItemPlaceReadKey(const ItemAccess *access, ItemPlace *place, Jsonb *json)
{
	place->id = NULL;
	read_key(&place->key, json);
	if (ends_in_id(access) && place->key.levels == access->container->levels - 1)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("key lacks the id, which is the last level of container \"%s\"", get_rel_name(access->relid)),
				 StatusDetail(COSMOS_BAD_REQUEST, "Each item is a logical partition of its own there.")));
	require_levels(access, &place->key);
	set_place(access, place, NULL);
}

void
ItemPlaceReadPrefix(const ItemAccess *access, ItemPlace *place, Jsonb *json)
{
	place->id = NULL;
	read_key(&place->key, json);
	if (place->key.levels == 0)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("key has no components"),
				 StatusDetail(COSMOS_BAD_REQUEST, "That is all of container \"%s\".", get_rel_name(access->relid)),
				 errhint("To remove all items: TRUNCATE %s", QualifiedName(access->relid))));
	if (place->key.levels > access->container->levels)
		require_levels(access, &place->key);
	set_place(access, place, NULL);
}

void
ItemPlaceReadId(const ItemAccess *access, ItemPlace *place, text *id)
{
	JsonbValue	string;

	set_id(place, id, &string);
	place->key.levels = 0;
	set_place(access, place, &string);
}

void
ItemRequireArguments(FunctionCallInfo fcinfo,...)
{
	va_list		names;
	const char *name;

	va_start(names, fcinfo);
	for (int i = 0; (name = va_arg(names, const char *)) != NULL; i++)
	{
		if (PG_ARGISNULL(i) && strcmp(name, "key") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("key must not be null"),
					 errhint("The key null is '[null]', and undefined is '[{}]'. To look for an id under all keys, use partitionkey.find_items.")));
		SqlRequireArgument(fcinfo, i, name);
	}
	va_end(names);
}
