/*
 * itemwrite.c
 *		Writing one item, as Cosmos DB's operations do.
 *
 * Each operation is one statement, so that what it asks of the item that is there
 * is decided under the row's lock.  Only if it has found nothing, the reason is
 * looked for.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "compat.h"
#include "etag.h"
#include "itemread.h"
#include "itemwrite.h"
#include "patch.h"
#include "sql.h"
#include "status.h"
#include "ttl.h"

/*
 * How often a statement is run that has found nothing to write, though there seems to be no reason.  An item that was
 * deleted and written anew while it waited, or right after it, is not seen before the next one.
 */
#define ATTEMPTS			2

/* The parameters of a statement, which begin with a row's columns or a place's. */
typedef struct Parameters
{
	Datum		values[MAX_ITEM_PARAMETERS];
	char		nulls[MAX_ITEM_PARAMETERS];
	int			n;
} Parameters;

static void
add_parameter(Parameters *p, Datum value, bool isnull)
{
	p->values[p->n] = value;
	p->nulls[p->n++] = isnull ? 'n' : ' ';
}

static void
add_columns(Parameters *p, const ItemRow *row, int first, int n)
{
	for (int i = first; i < first + n; i++)
		add_parameter(p, row->values[i], row->nulls[i]);
}

/* The time of the change, where the container has a column for it. */
static void
add_ts(Parameters *p, const ItemAccess *access)
{
	if (access->shape->ts >= 0)
		add_parameter(p, TimestampTzGetDatum(GetCurrentTimestamp()), false);
}

/*
 * Conditions
 */

/* The etag in a text, which the SDKs give in quotes; false if none can be like it. */
static bool
read_etag(text *given, pg_uuid_t *etag)
{
	const char *p = VARDATA_ANY(given);
	int			length = VARSIZE_ANY_EXHDR(given);

	if (length >= 2 && p[0] == '"' && p[length - 1] == '"')
		p++, length -= 2;
	return EtagParse(p, length, etag);
}

/* Whether any etag will do. */
static bool
matches_all(const ItemCondition *condition)
{
	return condition->if_match == NULL ||
		(VARSIZE_ANY_EXHDR(condition->if_match) == 1 && *VARDATA_ANY(condition->if_match) == '*');
}

static void
require_etags(const ItemAccess *access, const ItemCondition *condition)
{
	if (!matches_all(condition) && !access->has_etag)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("container \"%s\" has no etags", get_rel_name(access->relid)),
				 errhint("SELECT partitionkey.enable_change_feed(%s) gives its items etags.",
						 quote_literal_cstr(QualifiedName(access->relid)))));
}

/* The etag that an item must have, or NULL. */
static void
add_match(Parameters *p, const ItemAccess *access, const ItemCondition *condition)
{
	/* no item has the etag 0 */
	pg_uuid_t  *etag = palloc0(sizeof(pg_uuid_t));

	require_etags(access, condition);
	if (!matches_all(condition))
		(void) read_etag(condition->if_match, etag);
	add_parameter(p, UUIDPGetDatum(etag), matches_all(condition));
}

/* Refuse an item that has another etag. */
static void
check_match(const ItemAccess *access, const ItemPlace *place, const ItemCondition *condition, const StoredItem *stored)
{
	pg_uuid_t	wanted;
	char		etag[ETAG_TEXT_LENGTH + 1];

	if (matches_all(condition) || (read_etag(condition->if_match, &wanted) && EtagCompare(&wanted, &stored->etag) == 0))
		return;
	EtagText(&stored->etag, etag);
	ereport(ERROR,
			(StatusCode(COSMOS_PRECONDITION_FAILED),
			 errmsg("%s does not have the etag %s", ItemPlaceName(access, place), text_to_cstring(condition->if_match)),
			 StatusDetail(COSMOS_PRECONDITION_FAILED, "Its etag is \"%s\": it has been changed meanwhile.", etag),
			 errhint("Read it again, and repeat the change.")));
}

/* There is no reason on Cosmos DB's side. */
pg_noreturn static void
not_written(const ItemAccess *access, const ItemPlace *place)
{
	bool		secured = check_enable_rls(access->relid, InvalidOid, true) == RLS_ENABLED;

	ereport(ERROR,
			(errcode(secured ? ERRCODE_INSUFFICIENT_PRIVILEGE : ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("%s was not written", ItemPlaceName(access, place)),
			 errdetail("%s", secured ? "Row security lets you read it, but not change it, or a trigger of the table keeps it from that." :
					   "A trigger of the table keeps it from that, or it was written by another session at the same moment.")));
}

/* What a jsonpath says of a document. */
typedef enum Verdict
{
	NO_PREDICATE,				/* it gives anything but one value that is true, false or unknown (null) */
	MET,
	UNMET
} Verdict;

static Verdict
judge_predicate(Datum path, Jsonb *doc)
{
	LOCAL_FCINFO(fcinfo, 4);
	Datum		result;
	JsonbValue	value;

	InitFunctionCallInfoData(*fcinfo, NULL, 4, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = JsonbPGetDatum(doc);
	fcinfo->args[1].value = path;
	fcinfo->args[2].value = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	fcinfo->args[3].value = BoolGetDatum(true);
	for (int i = 0; i < 4; i++)
		fcinfo->args[i].isnull = false;
	result = jsonb_path_query_first(fcinfo);
	if (fcinfo->isnull || !JsonbExtractScalar(&DatumGetJsonbP(result)->root, &value) ||
		(value.type != jbvBool && value.type != jbvNull))
		return NO_PREDICATE;
	return value.type == jbvBool && value.val.boolean ? MET : UNMET;
}

/* Say why a statement has found no item to change that is there. */
pg_noreturn static void
explain_nothing(const ItemAccess *access, const ItemPlace *place, const ItemCondition *condition, const StoredItem *stored)
{
	Verdict		verdict = condition->predicate == 0 ? MET : judge_predicate(condition->predicate, stored->doc);

	if (verdict == NO_PREDICATE)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("condition %s is not true or false for an item",
						DatumGetCString(DirectFunctionCall1(jsonpath_out, condition->predicate))),
				 StatusDetail(COSMOS_BAD_REQUEST, "It gives a part of the item, or nothing."),
				 errhint("Write a comparison, such as $.price < 100, or exists($ ? (@.price < 100)).")));
	if (verdict == UNMET)
		ereport(ERROR,
				(StatusCode(COSMOS_PRECONDITION_FAILED),
				 errmsg("%s does not meet the condition", ItemPlaceName(access, place)),
				 StatusDetail(COSMOS_PRECONDITION_FAILED, "The condition is %s.",
							  DatumGetCString(DirectFunctionCall1(jsonpath_out, condition->predicate)))));
	not_written(access, place);
}

void
ItemChange(ItemAccess *access, ItemStatement statement, Datum *values, const char *nulls, ItemPlace *place,
		   const ItemCondition *condition, StoredItem *stored)
{
	StoredItem	there;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		if (ItemAccessRun(access, statement, values, nulls, stored))
			return;
		if (!ItemFindNow(access, place, &there))
			ItemNotFound(access, place);
		check_match(access, place, condition, &there);
	}
	explain_nothing(access, place, condition, &there);
}

/*
 * Rows
 */

/* Refuse a document that Cosmos DB would, whatever the container. */
static void
check_doc(const ItemAccess *access, Jsonb *doc)
{
	ItemProblem problem = {0};
	ItemFault	fault;

	if (!JB_ROOT_IS_OBJECT(doc))
	{
		problem.reason = ItemFaultName(ITEM_NOT_AN_OBJECT);
		problem.detail = "An item is a JSON object";
		ItemRefuse(access, "item", &problem);
	}
	fault = ItemJudge(doc, &problem.detail);
	if (fault != ITEM_SOUND)
	{
		problem.reason = ItemFaultName(fault);
		ItemRefuse(access, "item", &problem);
	}
	TtlCheck(doc);
}

void
ItemRowFromDoc(ItemAccess *access, Jsonb *doc, bool generate_id, ItemRow *row)
{
	ItemShape	shape = *access->shape;
	CosmosItem	item = {.doc = doc};
	ItemProblem problem;

	check_doc(access, doc);
	shape.generate_ids = generate_id;
	if (!ItemRowMake(&shape, &item, row, &problem))
		ItemRefuse(access, "item", &problem);
	if (shape.ts >= 0)
	{
		row->values[shape.ts] = TimestampTzGetDatum(GetCurrentTimestamp());
		row->nulls[shape.ts] = false;
	}
}

void
ItemRequireKey(const ItemAccess *access, const ItemPlace *place, const ItemRow *row)
{
	int			levels = access->container->levels;

	if (ItemRowsSamePlace(access->shape, &place->row, row, levels))
		return;
	ereport(ERROR,
			(StatusCode(COSMOS_BAD_REQUEST),
			 errmsg("document has the partition key %s, not %s", ItemRowKeyText(access->shape, row),
					ItemRowKeyText(access->shape, &place->row)),
			 StatusDetail(COSMOS_BAD_REQUEST, "The partition key of an item can't be changed by writing it."),
			 ItemRowsSamePlace(access->shape, &place->row, row, levels - 1) && access->shape->id == levels - 1 ?
			 errhint("The id is part of the key, so it can't be changed: create the item anew, and delete this one.") :
			 errhint("partitionkey.move_item moves an item to another key.")));
}

/* The place of a row, for messages and to look there. */
static ItemPlace
place_of_row(const ItemAccess *access, const ItemRow *row)
{
	ItemPlace	place = {.row = *row};
	Oid			output;
	bool		varlena;

	getTypeOutputInfo(access->shape->columns[access->shape->id].type, &output, &varlena);
	place.id = OidOutputFunctionCall(output, row->values[access->shape->id]);
	return place;
}

/* Delete the item at a place, if it has expired. */
static bool
delete_expired_at(ItemAccess *access, ItemPlace *place)
{
	return access->has_ttl && ItemAccessRun(access, ITEM_DELETE_EXPIRED, place->row.values, NULL, NULL);
}

/*
 * Operations
 */

void
ItemCreate(ItemAccess *access, ItemRow *row, StoredItem *stored)
{
	ItemPlace	place;
	Parameters	p = {.n = 0};

	add_columns(&p, row, 0, access->shape->ncolumns);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		if (ItemAccessRun(access, ITEM_CREATE, p.values, p.nulls, stored))
			return;
		place = place_of_row(access, row);
		if (delete_expired_at(access, &place))
			continue;
		if (ItemFindNow(access, &place, stored))
			ereport(ERROR,
					(StatusCode(COSMOS_CONFLICT),
					 errmsg("%s exists already", ItemPlaceName(access, &place)),
					 StatusDetail(COSMOS_CONFLICT, "%s", ""),
					 errhint("partitionkey.upsert_item writes it in any case, partitionkey.replace_item one that exists.")));
	}
	not_written(access, &place);
}

bool
ItemCreateAll(ItemAccess *access, ItemRow *rows, int n, StoredItem *stored)
{
	const ItemShape *shape = access->shape;
	Oid			type = shape->columns[shape->id].type;
	Datum	   *ids = palloc(sizeof(Datum) * n);
	Datum	   *docs = palloc(sizeof(Datum) * n);
	int16		length;
	bool		by_value;
	char		alignment;
	Parameters	p = {.n = 0};

	for (int i = 0; i < n; i++)
	{
		ids[i] = rows[i].values[shape->id];
		docs[i] = rows[i].values[shape->doc];
	}
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	add_columns(&p, &rows[0], 0, access->container->levels);
	add_parameter(&p, PointerGetDatum(construct_array(ids, n, type, length, by_value, alignment)), false);
	add_parameter(&p, PointerGetDatum(construct_array(docs, n, JSONBOID, -1, false, TYPALIGN_INT)), false);
	add_ts(&p, access);
	return ItemAccessCreateAll(access, p.values, n, stored);
}

void
ItemUpsert(ItemAccess *access, ItemRow *row, const ItemCondition *condition, StoredItem *stored)
{
	ItemStatement statement = matches_all(condition) ? ITEM_UPSERT : ITEM_UPSERT_MATCH;
	ItemPlace	place;
	Parameters	p = {.n = 0};

	add_columns(&p, row, 0, access->shape->ncolumns);
	if (statement == ITEM_UPSERT_MATCH)
		add_match(&p, access, condition);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		if (ItemAccessRun(access, statement, p.values, p.nulls, stored))
			return;
		place = place_of_row(access, row);
		if (!delete_expired_at(access, &place) && ItemFindNow(access, &place, stored))
			check_match(access, &place, condition, stored);
	}
	not_written(access, &place);
}

void
ItemReplace(ItemAccess *access, ItemPlace *place, ItemRow *row, const ItemCondition *condition, StoredItem *stored)
{
	const ItemShape *shape = access->shape;
	Parameters	p = {.n = 0};

	ItemRequireKey(access, place, row);
	if (!ItemRowsSamePlace(shape, &place->row, row, access->identity))
	{
		ItemPlace	other = place_of_row(access, row);

		ItemFreePlace(access, &other, "The item with the old id has not been changed.");
	}
	add_columns(&p, &place->row, 0, access->identity);
	if (shape->id >= access->container->levels)
		add_columns(&p, row, shape->id, 1);
	add_columns(&p, row, shape->doc, 1);
	add_ts(&p, access);
	add_match(&p, access, condition);
	ItemChange(access, ITEM_REPLACE, p.values, p.nulls, place, condition, stored);
}

void
ItemFreePlace(ItemAccess *access, ItemPlace *place, const char *detail)
{
	StoredItem	other;

	(void) delete_expired_at(access, place);
	if (ItemFindNow(access, place, &other))
		ereport(ERROR,
				(StatusCode(COSMOS_CONFLICT),
				 errmsg("%s exists already", ItemPlaceName(access, place)),
				 StatusDetail(COSMOS_CONFLICT, "%s", detail),
				 errhint("Delete one of them before, or give it another place.")));
}

void
ItemPatch(ItemAccess *access, ItemPlace *place, Jsonb *operations, const ItemCondition *condition, StoredItem *stored)
{
	Parameters	p = {.n = 0};

	PatchCheck(operations, access->container);
	add_columns(&p, &place->row, 0, access->identity);
	add_parameter(&p, JsonbPGetDatum(operations), false);
	add_ts(&p, access);
	add_match(&p, access, condition);
	add_parameter(&p, condition->predicate, condition->predicate == 0);
	ItemChange(access, ITEM_PATCH, p.values, p.nulls, place, condition, stored);
	check_doc(access, stored->doc);
}

void
ItemDelete(ItemAccess *access, ItemPlace *place, const ItemCondition *condition)
{
	Parameters	p = {.n = 0};

	add_columns(&p, &place->row, 0, access->identity);
	add_match(&p, access, condition);
	ItemChange(access, ITEM_DELETE, p.values, p.nulls, place, condition, NULL);
}

void
ItemLock(ItemAccess *access, ItemPlace *place, const ItemCondition *condition, StoredItem *stored)
{
	require_etags(access, condition);
	ItemChange(access, ITEM_LOCK, place->row.values, NULL, place, condition, stored);
	check_match(access, place, condition, stored);
}

/*
 * The SQL functions
 */

/* An optional argument of type text. */
static text *
text_argument(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : PG_GETARG_TEXT_PP(n);
}

/* create_item(container regclass, doc jsonb, generate_id boolean) returns jsonb */
PG_FUNCTION_INFO_V1(create_item);
Datum
create_item(PG_FUNCTION_ARGS)
{
	ItemAccess *access;
	ItemRow		row;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "doc", "generate_id", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemRowFromDoc(access, PG_GETARG_JSONB_P(1), PG_GETARG_BOOL(2), &row);
	ItemCreate(access, &row, &stored);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/* upsert_item(container regclass, doc jsonb, if_match text) returns jsonb */
PG_FUNCTION_INFO_V1(upsert_item);
Datum
upsert_item(PG_FUNCTION_ARGS)
{
	ItemCondition condition = {.if_match = text_argument(fcinfo, 2)};
	ItemAccess *access;
	ItemRow		row;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "doc", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemRowFromDoc(access, PG_GETARG_JSONB_P(1), false, &row);
	ItemUpsert(access, &row, &condition, &stored);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/* replace_item(container regclass, id text, key jsonb, doc jsonb, if_match text) returns jsonb */
PG_FUNCTION_INFO_V1(replace_item);
Datum
replace_item(PG_FUNCTION_ARGS)
{
	ItemCondition condition = {.if_match = text_argument(fcinfo, 4)};
	ItemAccess *access;
	ItemPlace	place;
	ItemRow		row;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "id", "key", "doc", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemPlaceRead(access, &place, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(2));
	ItemRowFromDoc(access, PG_GETARG_JSONB_P(3), false, &row);
	ItemReplace(access, &place, &row, &condition, &stored);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/* patch_item(container regclass, id text, key jsonb, operations jsonb, condition jsonpath, if_match text) returns jsonb */
PG_FUNCTION_INFO_V1(patch_item);
Datum
patch_item(PG_FUNCTION_ARGS)
{
	ItemCondition condition = {.predicate = PG_ARGISNULL(4) ? 0 : PG_GETARG_DATUM(4), .if_match = text_argument(fcinfo, 5)};
	ItemAccess *access;
	ItemPlace	place;
	StoredItem	stored;

	ItemRequireArguments(fcinfo, "container", "id", "key", "operations", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemPlaceRead(access, &place, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(2));
	ItemPatch(access, &place, PG_GETARG_JSONB_P(3), &condition, &stored);
	PG_RETURN_JSONB_P(StoredItemResult(&stored));
}

/* delete_item(container regclass, id text, key jsonb, if_match text) returns void */
PG_FUNCTION_INFO_V1(delete_item);
Datum
delete_item(PG_FUNCTION_ARGS)
{
	ItemCondition condition = {.if_match = text_argument(fcinfo, 3)};
	ItemAccess *access;
	ItemPlace	place;

	ItemRequireArguments(fcinfo, "container", "id", "key", NULL);
	access = ItemAccessFind(PG_GETARG_OID(0));
	ItemPlaceRead(access, &place, PG_GETARG_TEXT_PP(1), PG_GETARG_JSONB_P(2));
	ItemDelete(access, &place, &condition);
	PG_RETURN_VOID();
}
