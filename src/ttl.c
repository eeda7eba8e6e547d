/*
 * ttl.c
 *		The time to live of items: the rules, and the default of a container.
 *
 * An expired item is as good as deleted from the moment on, whoever removes it and
 * when.  That moment is measured at the start of the client's statement: it is the
 * same for all rows that a statement reads, and a long transaction still sees time pass.
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "definition.h"
#include "itemrow.h"
#include "member.h"
#include "privileges.h"
#include "registry.h"
#include "sql.h"
#include "status.h"
#include "ttl.h"

#define SHOWN_BYTES			40	/* of a value that is not valid */

bool
TtlRead(const JsonbValue *value, int32 *seconds)
{
	double		number;

	if (value->type != jbvNumeric)
		return false;
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
	if ((number != TTL_NEVER && number < 1) || number > PG_INT32_MAX || number != floor(number))
		return false;
	*seconds = (int32) number;
	return true;
}

/* A value as JSON, shortened. */
static char *
printed(const JsonbValue *value)
{
	JsonbValue	copy = *value;
	char	   *json = DatumGetCString(DirectFunctionCall1(jsonb_out, JsonbPGetDatum(JsonbValueToJsonb(&copy))));
	int			length = strlen(json);

	if (length <= SHOWN_BYTES)
		return json;
	return psprintf("%.*s...", pg_mbcliplen(json, length, SHOWN_BYTES), json);
}

/* What is wrong with a value. */
static const char *
fault(const JsonbValue *value)
{
	double		number;

	if (value->type != jbvNumeric)
		return MemberKind(value);
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
	return number == floor(number) ? "out of range" : "a fraction";
}

void
TtlRequire(const char *member, const JsonbValue *value)
{
	int32		seconds;

	if (!TtlRead(value, &seconds))
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("%s %s is not a time to live", member, printed(value)),
				 StatusDetail(COSMOS_BAD_REQUEST, "It is %s.", fault(value)),
				 errhint("Write whole seconds from 1 to 2147483647, or -1 for ever.")));
}

bool
TtlDefault(Jsonb *definition, int32 *seconds)
{
	JsonbValue	root;
	JsonbValue	ttl;

	if (definition == NULL)
		return false;
	root = MemberRoot(definition);
	return MemberIsObject(&root) && MemberFind(&root, "defaultTtl", &ttl) && TtlRead(&ttl, seconds);
}

/* Find an item's own ttl; false if it is absent or null. */
static bool
own_ttl(Jsonb *doc, JsonbValue *ttl)
{
	JsonbValue	root = MemberRoot(doc);

	return MemberIsObject(&root) && MemberFind(&root, "ttl", ttl);
}

void
TtlCheck(Jsonb *doc)
{
	JsonbValue	ttl;

	if (own_ttl(doc, &ttl))
		TtlRequire("ttl", &ttl);
}

bool
TtlExpired(Jsonb *doc, TimestampTz ts, int32 default_ttl, TimestampTz now)
{
	int32		seconds = default_ttl;
	JsonbValue	ttl;

	if (TIMESTAMP_NOT_FINITE(ts))
		return false;
	if (doc != NULL && own_ttl(doc, &ttl) && !TtlRead(&ttl, &seconds))
		return false;
	return seconds != TTL_NEVER && now - ts >= seconds * USECS_PER_SEC;
}

/* item_expired(doc jsonb, ts timestamptz, default_ttl integer) returns boolean */
PG_FUNCTION_INFO_V1(item_expired);
Datum
item_expired(PG_FUNCTION_ARGS)
{
	int32		default_ttl;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_BOOL(false);
	default_ttl = PG_GETARG_INT32(2);
	if (default_ttl != TTL_NEVER && default_ttl < 1)
	{
		JsonbValue	given = {.type = jbvNumeric, .val.numeric = int64_to_numeric(default_ttl)};

		TtlRequire("default_ttl", &given);
	}
	PG_RETURN_BOOL(TtlExpired(PG_ARGISNULL(0) ? NULL : PG_GETARG_JSONB_P(0), PG_GETARG_TIMESTAMPTZ(1), default_ttl,
							  GetCurrentStatementStartTimestamp()));
}

/*
 * ttl_fault(doc jsonb) returns text
 *
 * The ttl of an item if it is not valid, else NULL.
 */
PG_FUNCTION_INFO_V1(ttl_fault);
Datum
ttl_fault(PG_FUNCTION_ARGS)
{
	JsonbValue	ttl;
	int32		seconds;

	if (!own_ttl(PG_GETARG_JSONB_P(0), &ttl) || TtlRead(&ttl, &seconds))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(printed(&ttl)));
}

/* Refuse a container that does not know when its items were changed. */
static void
require_ts(const Container *container)
{
	Relation	rel = table_open(container->relid, AccessShareLock);

	if (ItemShapeFind(rel, container, NULL, false, false)->ts < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("container \"%s\" has no column \"ts\" of type timestamptz", RelationGetRelationName(rel)),
				 errdetail("Items expire some time after their last change, which is kept there."),
				 errhint("ALTER TABLE %s ADD COLUMN ts timestamptz DEFAULT now()", QualifiedName(container->relid))));
	table_close(rel, NoLock);
}

/*
 * set_default_ttl(container regclass, seconds integer) returns void
 *
 * Only the time to live is changed: what else the definition holds stays as it is.
 */
PG_FUNCTION_INFO_V1(set_default_ttl);
Datum
set_default_ttl(PG_FUNCTION_ARGS)
{
	Container  *container;
	Jsonb	   *definition;
	Datum		json;

	PreventCommandIfReadOnly("set_default_ttl()");
	SqlRequireArgument(fcinfo, 0, "container");
	RequireOwner(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), ShareUpdateExclusiveLock);
	container = ContainerLookup(PG_GETARG_OID(0), false);
	if (!PG_ARGISNULL(1))
		require_ts(container);
	json = JsonbPGetDatum(DefinitionOf(container));
	if (PG_ARGISNULL(1))
		json = DirectFunctionCall2(jsonb_delete, json, CStringGetTextDatum("defaultTtl"));
	else
	{
		JsonbValue	given = {.type = jbvNumeric, .val.numeric = int64_to_numeric(PG_GETARG_INT32(1))};

		TtlRequire("seconds", &given);
		json = DirectFunctionCall2(jsonb_concat, json,
								   DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf("{\"defaultTtl\": %d}", PG_GETARG_INT32(1)))));
	}
	definition = DatumGetJsonbP(json);
	RegistrySetDefinition(container, definition);
	PG_RETURN_VOID();
}
