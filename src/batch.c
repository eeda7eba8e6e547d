/*
 * batch.c
 *		Transactional batches: several operations on one logical partition, all or none.
 *
 * A batch is checked as a whole, which raises errors, and then run in a
 * subtransaction, at first with items created together, and if that fails one by one.  What fails in it is undone, and told in the result, as Cosmos DB
 * does: the operation that failed has its status and message, the others 424.  Errors
 * that Cosmos DB has no status for are raised.
 *
 * Batches on one logical partition run one after the other, so that they do not lock
 * each other's items in opposite order.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"

#include "compat.h"
#include "etag.h"
#include "itemread.h"
#include "itemwrite.h"
#include "member.h"
#include "status.h"

/* Cosmos DB's limits. */
#define MAX_OPERATIONS		100
#define MAX_BATCH_BYTES		MAX_ITEM_BYTES

typedef enum OperationType
{
	OPERATION_CREATE,
	OPERATION_READ,
	OPERATION_UPSERT,
	OPERATION_REPLACE,
	OPERATION_PATCH,
	OPERATION_DELETE
} OperationType;

static const char *const operation_names[] = {"Create", "Read", "Upsert", "Replace", "Patch", "Delete"};

/* Members of an operation. */
#define TYPE_MEMBER			"operationType"
#define ID_MEMBER			"id"
#define KEY_MEMBER			"partitionKey"
#define BODY_MEMBER			"resourceBody"
#define MATCH_MEMBER		"ifMatch"
#define CONDITION_MEMBER	"condition"

typedef struct BatchOperation
{
	int			number;			/* from 1 */
	OperationType type;
	text	   *id;
	Jsonb	   *body;
	ItemCondition condition;
} BatchOperation;

typedef struct Batch
{
	ItemAccess *access;
	Jsonb	   *key;
	ItemPlace	place;			/* the logical partition */
	BatchOperation *operations;
	int			n;
} Batch;

/*
 * Reading
 */

pg_noreturn static void
refuse(int number, const char *what, const char *hint)
{
	ereport(ERROR,
			(StatusCode(COSMOS_BAD_REQUEST),
			 errmsg("operation %d of the batch %s", number, what),
			 StatusDetail(COSMOS_BAD_REQUEST, "Nothing has been done."),
			 hint ? errhint("%s", hint) : 0));
}

static OperationType
read_type(const JsonbValue *object, int number)
{
	const char *hint = "It is \"Create\", \"Read\", \"Upsert\", \"Replace\", \"Patch\" or \"Delete\".";
	JsonbValue	value;
	char	   *name;

	if (!MemberFind(object, TYPE_MEMBER, &value) || value.type != jbvString)
		refuse(number, "has no " TYPE_MEMBER, hint);
	name = MemberCString(&value);
	for (size_t i = 0; i < lengthof(operation_names); i++)
		if (pg_strcasecmp(name, operation_names[i]) == 0)
			return i;
	refuse(number, psprintf("has the unknown " TYPE_MEMBER " \"%s\"", name), hint);
}

/* A member that is a string; NULL if there is none. */
static text *
read_string(const JsonbValue *object, const char *member, int number)
{
	JsonbValue	value;

	if (!MemberFind(object, member, &value))
		return NULL;
	if (value.type != jbvString)
		refuse(number, psprintf("has a member %s that is %s", member, MemberKind(&value)), "It is a string.");
	return cstring_to_text_with_len(value.val.string.val, value.val.string.len);
}

static Jsonb *
read_body(const JsonbValue *object, BatchOperation *operation)
{
	bool		wanted = operation->type != OPERATION_READ && operation->type != OPERATION_DELETE;
	JsonbValue	value;
	JsonbValue	condition;
	bool		found = MemberFind(object, BODY_MEMBER, &value);

	if (found && !wanted)
		refuse(operation->number, psprintf("is a %s, which has no " BODY_MEMBER, operation_names[operation->type]), NULL);
	if (!found && wanted)
		refuse(operation->number, psprintf("is a %s, and has no " BODY_MEMBER, operation_names[operation->type]),
			   operation->type == OPERATION_PATCH ? "It is {\"operations\": [..]}." : "It is the item.");
	if (found && operation->type == OPERATION_PATCH && MemberIsObject(&value) && MemberFind(&value, CONDITION_MEMBER, &condition))
		refuse(operation->number, "has a condition in its " BODY_MEMBER,
			   "It is a member of the operation, and a jsonpath: {\"operationType\": \"Patch\", .., \"condition\": \"$.price < 100\"}.");
	return found ? JsonbValueToJsonb(&value) : NULL;
}

static bool
is_same_key(const Batch *batch, Jsonb *json)
{
	const ItemShape *shape = batch->access->shape;
	int			levels = batch->access->container->levels;
	Key			key;
	ItemRow		row;
	ItemProblem problem;
	const char *hint;

	return KeyRead(&key, json, &hint) == NULL && key.levels == levels && ItemRowMakePlace(shape, &key, NULL, &row, &problem) &&
		ItemRowsSamePlace(shape, &row, &batch->place.row, levels);
}

/* An operation may name the key, if it is the batch's. */
static void
check_key(const Batch *batch, const JsonbValue *object, int number)
{
	JsonbValue	value;
	Jsonb	   *key;

	if (!MemberFind(object, KEY_MEMBER, &value))
		return;
	/* the REST API has it as a string */
	if (value.type == jbvString)
		key = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(MemberCString(&value))));
	else
		key = JsonbValueToJsonb(&value);
	if (!is_same_key(batch, key))
		refuse(number, psprintf("has the partition key %s, but the batch %s", JsonbToCString(NULL, &key->root, VARSIZE(key)),
								JsonbToCString(NULL, &batch->key->root, VARSIZE(batch->key))),
			   "A batch is of one logical partition: make one for each.");
}

static void
check_members(const JsonbValue *object, int number)
{
	static const char *const known[] = {TYPE_MEMBER, ID_MEMBER, KEY_MEMBER, BODY_MEMBER, MATCH_MEMBER, CONDITION_MEMBER};
	ListCell   *cell;

	foreach(cell, MemberNames(object))
	{
		bool		found = false;

		for (size_t i = 0; i < lengthof(known); i++)
			found |= strcmp(lfirst(cell), known[i]) == 0;
		if (!found)
			refuse(number, psprintf("has the unknown member \"%s\"", (char *) lfirst(cell)),
				   "The members are operationType, id, partitionKey, resourceBody, ifMatch and condition.");
	}
}

/*
 * The error is caught without a subtransaction: the input function only computes a value.
 */
static Datum
read_jsonpath(text *condition, int number)
{
	MemoryContext context = CurrentMemoryContext;
	char	   *given = text_to_cstring(condition);
	volatile Datum path = 0;

	PG_TRY();
	{
		path = DirectFunctionCall1(jsonpath_in, CStringGetDatum(given));
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_SYNTAX_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		refuse(number, psprintf("has a condition that is no jsonpath: %s", given), "Write a comparison, such as $.price < 100.");
	}
	PG_END_TRY();
	return path;
}

static void
read_operation(const Batch *batch, const JsonbValue *object, BatchOperation *operation)
{
	bool		by_body;
	text	   *condition;

	if (!MemberIsObject(object))
		refuse(operation->number, psprintf("is %s", MemberKind(object)),
			   "It is an object, such as {\"operationType\": \"Create\", \"resourceBody\": {..}}.");
	check_members(object, operation->number);
	operation->type = read_type(object, operation->number);
	by_body = operation->type == OPERATION_CREATE || operation->type == OPERATION_UPSERT;
	check_key(batch, object, operation->number);
	operation->id = read_string(object, ID_MEMBER, operation->number);
	if (by_body && operation->id != NULL)
		refuse(operation->number, psprintf("is a %s, which has its id in its " BODY_MEMBER, operation_names[operation->type]), NULL);
	if (!by_body && operation->id == NULL)
		refuse(operation->number, psprintf("is a %s, and has no id", operation_names[operation->type]), NULL);
	operation->body = read_body(object, operation);
	operation->condition.if_match = read_string(object, MATCH_MEMBER, operation->number);
	condition = read_string(object, CONDITION_MEMBER, operation->number);
	if (condition != NULL && operation->type != OPERATION_PATCH)
		refuse(operation->number, "has a condition, but is no Patch", NULL);
	operation->condition.predicate = condition == NULL ? 0 : read_jsonpath(condition, operation->number);
}

static void
check_size(Jsonb *operations, int n)
{
	if (n == 0 || n > MAX_OPERATIONS)
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("batch has %d operations", n),
				 StatusDetail(COSMOS_BAD_REQUEST, "A batch has from 1 to %d.", MAX_OPERATIONS)));
	if (ItemIsTooLarge(operations))
		ereport(ERROR,
				(StatusCode(COSMOS_TOO_LARGE),
				 errmsg("batch has more than %d bytes", MAX_BATCH_BYTES),
				 StatusDetail(COSMOS_TOO_LARGE, "That is Cosmos DB's limit."),
				 errhint("Make several batches of it.")));
}

static void
read_batch(Batch *batch, Jsonb *operations)
{
	JsonbValue	root = MemberRoot(operations);
	List	   *elements;
	ListCell   *cell;

	if (!MemberIsArray(&root))
		ereport(ERROR,
				(StatusCode(COSMOS_BAD_REQUEST),
				 errmsg("operations of a batch are %s", MemberKind(&root)),
				 StatusDetail(COSMOS_BAD_REQUEST, "%s", ""),
				 errhint("Give an array, such as [{\"operationType\": \"Create\", \"resourceBody\": {..}}].")));
	elements = MemberElements(&root);
	check_size(operations, list_length(elements));
	ItemPlaceReadKey(batch->access, &batch->place, batch->key);
	batch->n = list_length(elements);
	batch->operations = palloc0(sizeof(BatchOperation) * batch->n);
	foreach(cell, elements)
	{
		BatchOperation *operation = &batch->operations[foreach_current_index(cell)];

		operation->number = foreach_current_index(cell) + 1;
		read_operation(batch, lfirst(cell), operation);
	}
}

/*
 * The result
 */

static void
push_name(JsonbParseState **state, char *name)
{
	JsonbValue	value = {.type = jbvString, .val.string = {.len = strlen(name), .val = name}};

	pushJsonbValue(state, WJB_KEY, &value);
}

static void
push_status(JsonbParseState **state, CosmosStatus status)
{
	JsonbValue	value = {.type = jbvNumeric, .val.numeric = int64_to_numeric(status)};

	push_name(state, "statusCode");
	pushJsonbValue(state, WJB_VALUE, &value);
}

static void
push_string(JsonbParseState **state, char *name, char *string)
{
	JsonbValue	value = {.type = jbvString, .val.string = {.len = strlen(string), .val = string}};

	push_name(state, name);
	pushJsonbValue(state, WJB_VALUE, &value);
}

/* What has become of an operation; stored is NULL if nothing is there any more. */
static void
push_success(JsonbParseState **state, CosmosStatus status, const StoredItem *stored)
{
	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_status(state, status);
	if (stored != NULL)
	{
		JsonbValue	item = MemberRoot(StoredItemResult(stored));

		if (stored->has_etag)
		{
			char	   *etag = palloc(ETAG_TEXT_LENGTH + 1);

			EtagText(&stored->etag, etag);
			push_string(state, "eTag", etag);
		}
		push_name(state, BODY_MEMBER);
		pushJsonbValue(state, WJB_VALUE, &item);
	}
	pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/* The result of a batch of which an operation has failed. */
static Jsonb *
failed_result(const Batch *batch, int failed, const ErrorData *error)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < batch->n; i++)
	{
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		push_status(&state, i == failed ? StatusOfError(error) : COSMOS_FAILED_DEPENDENCY);
		if (i == failed)
			push_string(&state, "message", error->message);
		if (i == failed)
			push_string(&state, "detail", error->detail);
		if (i == failed && error->hint != NULL)
			push_string(&state, "hint", error->hint);
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, NULL));
}

/*
 * Running
 */

/* Run an operation; gives its status, and sets stored unless that is 204. */
static CosmosStatus
run_operation(Batch *batch, BatchOperation *operation, StoredItem *stored)
{
	ItemAccess *access = batch->access;
	const ItemCondition *condition = &operation->condition;
	ItemPlace	place;
	ItemRow		row;
	bool		exists;

	if (operation->id != NULL)
		ItemPlaceRead(access, &place, operation->id, batch->key);
	if (operation->body != NULL && operation->type != OPERATION_PATCH)
	{
		ItemRowFromDoc(access, operation->body, false, &row);
		ItemRequireKey(access, &batch->place, &row);
	}
	switch (operation->type)
	{
		case OPERATION_CREATE:
			ItemCreate(access, &row, stored);
			return COSMOS_CREATED;
		case OPERATION_READ:
			if (!ItemFindNow(access, &place, stored))
				ItemNotFound(access, &place);
			return COSMOS_OK;
		case OPERATION_UPSERT:
			place.row = row;
			exists = ItemFindNow(access, &place, stored);
			ItemUpsert(access, &row, condition, stored);
			return exists ? COSMOS_OK : COSMOS_CREATED;
		case OPERATION_REPLACE:
			ItemReplace(access, &place, &row, condition, stored);
			return COSMOS_OK;
		case OPERATION_PATCH:
			ItemPatch(access, &place, operation->body, condition, stored);
			return COSMOS_OK;
		case OPERATION_DELETE:
			ItemDelete(access, &place, condition);
			return COSMOS_NO_CONTENT;
	}
	pg_unreachable();
}

/* How many operations from one on create items. */
static int
creates_from(const Batch *batch, int first)
{
	int			n = 0;

	while (first + n < batch->n && batch->operations[first + n].type == OPERATION_CREATE)
		n++;
	return n;
}

/*
 * Create items by one statement, which is faster than one for each.  If it is not
 * possible for all of them, this is an error of which only that counts.
 */
static void
create_together(Batch *batch, int first, int n, JsonbParseState **state)
{
	ItemRow    *rows = palloc(sizeof(ItemRow) * n);
	StoredItem *stored = palloc(sizeof(StoredItem) * n);

	for (int i = 0; i < n; i++)
	{
		ItemRowFromDoc(batch->access, batch->operations[first + i].body, false, &rows[i]);
		ItemRequireKey(batch->access, &batch->place, &rows[i]);
	}
	if (!ItemCreateAll(batch->access, rows, n, stored))
		ereport(ERROR,
				(StatusCode(COSMOS_CONFLICT),
				 errmsg("items of a batch can't be created together"),
				 StatusDetail(COSMOS_CONFLICT, "%s", "")));
	for (int i = 0; i < n; i++)
		push_success(state, COSMOS_CREATED, &stored[i]);
}

/*
 * Run a batch in a subtransaction; NULL, the operation and its error if it has failed.
 * If items are created together, it is not known which operation that is.
 */
static Jsonb *
run_batch(Batch *batch, bool together, int *failed, ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	JsonbParseState *state = NULL;
	volatile int i = 0;
	Jsonb	   *volatile result = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
		for (; i < batch->n; i++)
		{
			StoredItem	stored;
			CosmosStatus status;

			CHECK_FOR_INTERRUPTS();
			if (together && creates_from(batch, i) > 1)
			{
				int			n = creates_from(batch, i);

				create_together(batch, i, n, &state);
				i += n - 1;
				continue;
			}
			status = run_operation(batch, &batch->operations[i], &stored);
			push_success(&state, status, status == COSMOS_NO_CONTENT ? NULL : &stored);
		}
		result = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, NULL));
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		*error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		*failed = i;
		result = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return result;
}

/* Raise an error that is not one of an operation's. */
static void
require_status(ErrorData *error)
{
	if (StatusOfError(error) == 0)
		ReThrowError(error);
}

/* Wait for other batches on the logical partition, to the end of the transaction. */
static void
lock_logical_partition(const Batch *batch)
{
	char	   *key = ItemRowKeyText(batch->access->shape, &batch->place.row);
	LOCKTAG		tag;

	/* users' own advisory locks have 1 or 2 there */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, batch->access->relid, hash_bytes((unsigned char *) key, strlen(key)), 3);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/* Who may do nothing with a container must not make others wait for him. */
static void
require_privilege(Oid relid)
{
	AclMode		mode = ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE;

	if (pg_class_aclmask(relid, GetUserId(), mode, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), mode, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));
}

/* transactional_batch(container regclass, key jsonb, operations jsonb) returns jsonb */
PG_FUNCTION_INFO_V1(transactional_batch);
Datum
transactional_batch(PG_FUNCTION_ARGS)
{
	Batch		batch = {0};
	Jsonb	   *result;
	int			failed;
	ErrorData  *error;

	ItemRequireArguments(fcinfo, "container", "key", "operations", NULL);
	batch.access = ItemAccessFind(PG_GETARG_OID(0));
	batch.key = PG_GETARG_JSONB_P(1);
	require_privilege(batch.access->relid);
	read_batch(&batch, PG_GETARG_JSONB_P(2));
	lock_logical_partition(&batch);
	/* an item that has expired may have to make room, one by one */
	result = batch.access->has_ttl ? NULL : run_batch(&batch, true, &failed, &error);
	if (result == NULL && !batch.access->has_ttl)
		require_status(error);
	if (result == NULL)
		result = run_batch(&batch, false, &failed, &error);
	if (result == NULL)
	{
		require_status(error);
		result = failed_result(&batch, failed, error);
	}
	PG_RETURN_JSONB_P(result);
}
