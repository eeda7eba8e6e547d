/*
 * itemid.c
 *		Judging the id of an item, as Cosmos DB does.
 */
#include "postgres.h"

#include "utils/numeric.h"

#include "component.h"
#include "itemid.h"
#include "key.h"

/* Cosmos DB's limit on an id. */
#define MAX_ID_BYTES		1023

const char *
IdFaultName(IdFault fault)
{
	static const char *const names[] = {
		[ID_SOUND] = "sound",
		[ID_MISSING] = "missing id",
		[ID_NUMERIC] = "numeric id",
		[ID_NO_STRING] = "id not a string",
		[ID_EMPTY] = "empty id",
		[ID_TOO_LONG] = "id too long"
	};

	return names[fault];
}

static IdFault
check_string(const JsonbValue *id, char **reason)
{
	Component	component;

	ComponentSetJsonbValue(&component, id);
	if (component.len == 0)
	{
		*reason = pstrdup("the id is an empty string");
		return ID_EMPTY;
	}
	if (component.len > MAX_ID_BYTES)
	{
		*reason = psprintf("the id is %zu bytes long, over Cosmos DB's limit of %d", component.len, MAX_ID_BYTES);
		return ID_TOO_LONG;
	}
	return ID_SOUND;
}

IdFault
ItemFindId(const Jsonb *doc, JsonbValue *id, char **reason)
{
	if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &doc->root), "id", 2, id) == NULL || id->type == jbvNull)
	{
		*reason = pstrdup("the item has no id");
		return ID_MISSING;
	}
	if (id->type == jbvString)
		return check_string(id, reason);
	if (id->type == jbvNumeric)
	{
		*reason = psprintf("the id is the number %s", numeric_normalize(id->val.numeric));
		return ID_NUMERIC;
	}
	*reason = psprintf("the id is %s", KeyValueKind(id));
	return ID_NO_STRING;
}
