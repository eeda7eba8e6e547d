/*
 * dualwrite.c
 *		Writing the changes of a leaf to the tables that will take its place.
 *
 * While rows are copied, a trigger on the leaf repeats each change in the target:
 * a row that is inserted or updated is put there, one that is deleted or gets
 * another key is removed.  The copy locks each row FOR KEY SHARE before it
 * inserts it, and leaves rows alone that are there already.  So for every row
 * the target ends up with what the leaf has, in whatever order they come:
 *
 *	- A row deleted, or given another key, waits for a copy that holds its lock,
 *	  and finds the row in the target then.
 *	- A copy that meets a row being deleted waits, and finds it gone.
 *	- A row updated otherwise may be copied in its old version, but the two
 *	  inserts meet in the unique index: the later one waits for the other, and
 *	  the update overwrites while the copy doesn't.
 *
 * Triggers of users may change the same row again, before or after this one: so
 * a version that is not the last any more is left to the change that made the
 * last one, and no key is removed that the leaf has.
 *
 * A write to the target may fail where that to the leaf did not: code of users that
 * computes index entries or columns does not find by the writer's search_path what
 * it calls, or may not be called any more, and a trigger may take a unique value from a
 * row whose change has not been repeated yet.  Unless that is impossible the change is
 * repeated in a subtransaction, and when it fails a gap is put on record, which ends the
 * operation and not the statement of the application.  From then on nothing is repeated,
 * since the target has rows that the leaf has not; a session that has not heard of the
 * gap yet leaves another one where it meets them.
 *
 * In a REPEATABLE READ transaction PostgreSQL fails when it meets a row newer
 * than its snapshot.  There the trigger writes by a snapshot of its own, taken
 * while no copy is under way.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "dualwrite.h"
#include "failure.h"
#include "operation.h"
#include "sql.h"

/* Plans for a trigger, kept for the session. */
typedef struct Plans
{
	Oid			trigger;		/* hash key */
	Oid			leaf;
	Oid			target;
	bool		valid;
	bool		certain;		/* the target takes what the leaf takes */
	SPIPlanPtr	put;
	SPIPlanPtr	remove;
	int			ncolumns;		/* parameters of put */
	AttrNumber *columns;
	int			nkeys;			/* parameters of remove */
	AttrNumber *keys;
} Plans;

static HTAB *plans_by_trigger = NULL;

/*
 * Whether rows are found again by an index: one of the container's, which includes its
 * keys and which the target has, too.  One of WITHOUT OVERLAPS is an exclusion constraint.
 */
static bool
finds_rows(Relation rel, HeapTuple tuple)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);
	bool		finds = get_rel_relispartition(index->indexrelid) && index->indisunique && index->indimmediate && index->indisvalid && !index->indisexclusion &&
		heap_attisnull(tuple, Anum_pg_index_indpred, NULL) && heap_attisnull(tuple, Anum_pg_index_indexprs, NULL);

	for (int i = 0; finds && i < index->indnkeyatts; i++)
		finds = TupleDescAttr(RelationGetDescr(rel), index->indkey.values[i] - 1)->attnotnull;
	return finds;
}

/* ON CONFLICT takes all unique indexes with the same columns, and refuses one that can be deferred. */
static bool
has_deferrable_twin(Relation rel, Oid index)
{
	int			nestlevel = SqlBegin();
	bool		has = SqlCount("SELECT count(*) FROM pg_index t, pg_index i WHERE i.indexrelid = %u AND t.indrelid = %u AND t.indisunique AND NOT t.indimmediate"
							   " AND (t.indkey::int2[])[0:t.indnkeyatts - 1] @> (i.indkey::int2[])[0:i.indnkeyatts - 1]"
							   " AND (i.indkey::int2[])[0:i.indnkeyatts - 1] @> (t.indkey::int2[])[0:t.indnkeyatts - 1]", index, RelationGetRelid(rel)) > 0;

	SqlEnd(nestlevel);
	return has;
}

Oid
DualWriteIndex(Oid leaf)
{
	Relation	rel = table_open(leaf, AccessShareLock);
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (finds_rows(rel, tuple) && (!OidIsValid(found) || ((Form_pg_index) GETSTRUCT(tuple))->indisprimary))
			found = lfirst_oid(cell);
		ReleaseSysCache(tuple);
	}
	if (OidIsValid(found) && has_deferrable_twin(rel, found))
		found = InvalidOid;
	table_close(rel, NoLock);
	return found;
}

static List *
key_columns(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);
	List	   *names = NIL;

	for (int i = 0; i < form->indnkeyatts; i++)
		names = lappend(names, get_attname(form->indrelid, form->indkey.values[i], false));
	ReleaseSysCache(tuple);
	return names;
}

/* " COLLATE ..." of an index column; nothing for types without. */
static char *
collate_clause(Relation index, int n)
{
	return OidIsValid(index->rd_indcollation[n]) ? psprintf(" COLLATE %s", generate_collation_name(index->rd_indcollation[n])) : "";
}

char *
DualWriteArbiter(Oid index)
{
	Relation	rel = index_open(index, AccessShareLock);
	List	   *names = key_columns(index);
	bool		isnull;
	oidvector  *classes = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, rel->rd_indextuple, Anum_pg_index_indclass, &isnull));
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < list_length(names); i++)
		appendStringInfo(&list, "%s%s%s %s", i == 0 ? "" : ", ", quote_identifier(list_nth(names, i)),
						 collate_clause(rel, i), generate_opclass_name(classes->values[i]));
	index_close(rel, NoLock);
	return list.data;
}

List *
DualWriteColumns(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *names = NIL;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && TupleDescAttr(desc, i)->attgenerated == '\0')
			names = lappend(names, pstrdup(NameStr(TupleDescAttr(desc, i)->attname)));
	table_close(rel, NoLock);
	return names;
}

char *
DualWriteList(List *names, const char *prefix)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, names)
		appendStringInfo(&list, "%s%s%s", cell == list_head(names) ? "" : ", ", prefix, quote_identifier(lfirst(cell)));
	return list.data;
}

void
DualWriteStart(Oid leaf, Oid target, int64 operation)
{
	/* A dump taken during an operation brings its trigger along. */
	DualWriteStop(leaf);
	SqlExecute("CREATE TRIGGER %s AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW"
			   " EXECUTE FUNCTION partitionkey.dual_write(%u, " INT64_FORMAT ")",
			   quote_identifier(DUAL_WRITE_TRIGGER), QualifiedName(leaf), target, operation);
	/* Changes that a subscription applies count as well. */
	SqlExecute("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", QualifiedName(leaf), quote_identifier(DUAL_WRITE_TRIGGER));
}

/* As whoever owns it by now; event triggers hear of it, unless he may not name the table any more. */
void
DualWriteStop(Oid leaf)
{
	ObjectAddress trigger = {TriggerRelationId, InvalidOid, 0};
	Oid			owner;
	SqlActing	acting;

	if (!OidIsValid(get_trigger_oid(leaf, DUAL_WRITE_TRIGGER, true)))
		return;
	LockRelationOid(leaf, AccessExclusiveLock);
	trigger.objectId = get_trigger_oid(leaf, DUAL_WRITE_TRIGGER, true);
	if (!OidIsValid(trigger.objectId))
		return;
	owner = RelationOwner(leaf);
	acting = SqlBeginAs(owner);
	if (SchemaAclCheck(get_rel_namespace(leaf), owner, ACL_USAGE) == ACLCHECK_OK)
		SqlExecute("DROP TRIGGER %s ON %s", quote_identifier(DUAL_WRITE_TRIGGER), QualifiedName(leaf));
	else
		performDeletion(&trigger, DROP_RESTRICT, 0);
	CommandCounterIncrement();
	SqlEndAs(acting);
}

static LOCKTAG
copy_lock(int64 operation)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, TriggerRelationId, (uint32) operation, 1);
	return tag;
}

void
DualWriteLockCopy(int64 operation)
{
	LOCKTAG		tag = copy_lock(operation);

	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/* Plans are made anew if the definition of one of the tables changes. */
static void
forget_plans(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	Plans	   *plans;

	(void) arg;
	hash_seq_init(&status, plans_by_trigger);
	while ((plans = hash_seq_search(&status)) != NULL)
		if (!OidIsValid(relid) || relid == plans->leaf || relid == plans->target)
			plans->valid = false;
}

/* They name the tables with their schema. */
static void
forget_all_plans(Datum arg, int cacheid, uint32 hashvalue)
{
	(void) cacheid;
	(void) hashvalue;
	forget_plans(arg, InvalidOid);
}

static Plans *
find_plans(Oid trigger)
{
	bool		found;
	Plans	   *plans;

	if (plans_by_trigger == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Plans)};

		plans_by_trigger = hash_create("partitionkey dual write", 16, &control, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget_plans, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, forget_all_plans, (Datum) 0);
	}
	plans = hash_search(plans_by_trigger, &trigger, HASH_ENTER, &found);
	if (!found)
	{
		memset(plans, 0, sizeof(Plans));
		plans->trigger = trigger;
	}
	return plans;
}

/* The attribute numbers and types of columns, kept for the session. */
static AttrNumber *
attribute_numbers(Oid relid, List *names, Oid *types)
{
	AttrNumber *numbers = MemoryContextAlloc(TopMemoryContext, sizeof(AttrNumber) * Max(list_length(names), 1));

	for (int i = 0; i < list_length(names); i++)
	{
		numbers[i] = get_attnum(relid, list_nth(names, i));
		types[i] = get_atttype(relid, numbers[i]);
	}
	return numbers;
}

static SPIPlanPtr
keep_plan(const char *sql, int nargs, Oid *types)
{
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s: %s", SPI_result_code_string(SPI_result), sql);
	SPI_keepplan(plan);
	return plan;
}

/* The key is set as well: what is equal need not be the same, as 5.1 and 5.10. */
static char *
put_statement(Oid target, List *columns, Oid index)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE VALUES (", QualifiedName(target), DualWriteList(columns, ""));
	for (int i = 0; i < list_length(columns); i++)
		appendStringInfo(&sql, "%s$%d", i == 0 ? "" : ", ", i + 1);
	appendStringInfo(&sql, ") ON CONFLICT (%s) DO UPDATE SET ", DualWriteArbiter(index));
	for (int i = 0; i < list_length(columns); i++)
	{
		const char *name = quote_identifier(list_nth(columns, i));

		appendStringInfo(&sql, "%s%s = EXCLUDED.%s", i == 0 ? "" : ", ", name, name);
	}
	return sql.data;
}

/* "OPERATOR(schema.=)": the equality of an index column, whatever the search_path. */
static char *
equality(Relation index, int n)
{
	Oid			type = index->rd_opcintype[n];
	Oid			operator = get_opfamily_member(index->rd_opfamily[n], type, type, BTEqualStrategyNumber);
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	char	   *text;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no equality operator for column %d of index \"%s\"", n + 1, RelationGetRelationName(index));
	form = (Form_pg_operator) GETSTRUCT(tuple);
	text = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return text;
}

static char *
remove_statement(Oid target, Oid leaf, Oid index, List *keys)
{
	StringInfoData sql;
	Relation	rel = index_open(index, AccessShareLock);

	initStringInfo(&sql);
	/* A trigger may have put the key back already. */
	appendStringInfo(&sql, "DELETE FROM %s WHERE NOT EXISTS (SELECT FROM ONLY %s WHERE ", QualifiedName(target), QualifiedName(leaf));
	for (int i = 0; i < 2 * list_length(keys); i++)
	{
		int			n = i % list_length(keys);

		if (i == list_length(keys))
			appendStringInfoChar(&sql, ')');
		appendStringInfo(&sql, "%s%s%s %s $%d", i == 0 ? "" : " AND ", quote_identifier(list_nth(keys, n)), collate_clause(rel, n), equality(rel, n), n + 1);
	}
	index_close(rel, NoLock);
	return sql.data;
}

/* Free what there is: the making of plans may have failed half-way. */
static void
free_plans(Plans *plans)
{
	if (plans->put != NULL)
		SPI_freeplan(plans->put);
	if (plans->remove != NULL)
		SPI_freeplan(plans->remove);
	if (plans->columns != NULL)
		pfree(plans->columns);
	if (plans->keys != NULL)
		pfree(plans->keys);
	plans->put = plans->remove = NULL;
	plans->columns = plans->keys = NULL;
}

/*
 * Whether what the leaf takes the target takes as well: where rows meet only in the key,
 * and all code is PostgreSQL's own, which asks for no rights and finds nothing by the
 * search_path.  Expressions call functions, whose EXECUTE may be revoked; any type but a
 * plain one may have code of users behind it, in checks or comparisons.
 */
static bool
takes_the_same(Oid leaf, Oid key)
{
	return SqlCount("SELECT (SELECT count(*) FROM pg_index WHERE indrelid = %1$u AND ((indisunique OR indisexclusion) AND indexrelid <> %2$u"
					"   OR indexprs IS NOT NULL OR indpred IS NOT NULL OR EXISTS (SELECT FROM unnest(indclass::oid[]) class WHERE class >= %3$u)))"
					" + (SELECT count(*) FROM pg_attribute JOIN pg_type t ON t.oid = atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'"
					"   WHERE attrelid = %1$u AND attnum > 0 AND NOT attisdropped AND (attgenerated <> ''"
					"    OR CASE coalesce(e.typtype, t.typtype) WHEN 'b' THEN t.oid >= %3$u WHEN 'e' THEN false ELSE true END))",
					leaf, key, FirstNormalObjectId) == 0;
}

static void
make_plans(Plans *plans, Oid leaf, Oid target)
{
	Oid			index = DualWriteIndex(leaf);
	List	   *columns = DualWriteColumns(leaf);
	List	   *keys;
	Oid		   *types;

	if (!OidIsValid(index))
		elog(ERROR, "partition \"%s\" has lost its key while its rows are copied", get_rel_name(leaf));
	keys = key_columns(index);
	types = palloc(sizeof(Oid) * (list_length(columns) + list_length(keys)));
	free_plans(plans);
	plans->leaf = leaf;
	plans->target = target;
	plans->ncolumns = list_length(columns);
	plans->columns = attribute_numbers(leaf, columns, types);
	plans->put = keep_plan(put_statement(target, columns, index), plans->ncolumns, types);
	plans->certain = takes_the_same(leaf, index);
	plans->nkeys = list_length(keys);
	plans->keys = attribute_numbers(leaf, keys, types);
	plans->remove = keep_plan(remove_statement(target, leaf, index, keys), plans->nkeys, types);
	plans->valid = true;
}

static void
run_plan(SPIPlanPtr plan, TupleTableSlot *row, int n, const AttrNumber *numbers, Snapshot snapshot)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	char	   *nulls = palloc(Max(n, 1));
	int			result;

	for (int i = 0; i < n; i++)
	{
		bool		isnull;

		values[i] = slot_getattr(row, numbers[i], &isnull);
		nulls[i] = isnull ? 'n' : ' ';
	}
	result = SPI_execute_snapshot(plan, values, nulls, snapshot, InvalidSnapshot, false, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
	pfree(values);
	pfree(nulls);
}

/* Whether two versions of a row have the same key. */
static bool
same_key(const Plans *plans, TupleTableSlot *a, TupleTableSlot *b)
{
	for (int i = 0; i < plans->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(a->tts_tupleDescriptor, plans->keys[i] - 1);
		bool		anull;
		bool		bnull;
		Datum		avalue = slot_getattr(a, plans->keys[i], &anull);
		Datum		bvalue = slot_getattr(b, plans->keys[i], &bnull);

		if (!datum_image_eq(avalue, bvalue, att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/*
 * Whether a row has been changed again since, by our own transaction: by another
 * trigger, whose change has been repeated by now.
 */
static bool
superseded(HeapTuple row)
{
	HeapTupleHeader header = row->t_data;

	return !(header->t_infomask & HEAP_XMAX_INVALID) && !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

/* Repeat a change in the target. */
static void
repeat_change(const Plans *plans, TriggerData *trigger, Snapshot snapshot)
{
	TriggerEvent event = trigger->tg_event;
	TupleTableSlot *old = TRIGGER_FIRED_BY_INSERT(event) ? NULL : trigger->tg_trigslot;
	TupleTableSlot *new = TRIGGER_FIRED_BY_INSERT(event) ? trigger->tg_trigslot :
		TRIGGER_FIRED_BY_UPDATE(event) ? trigger->tg_newslot : NULL;

	if (old != NULL && (new == NULL || !same_key(plans, old, new)))
		run_plan(plans->remove, old, plans->nkeys, plans->keys, snapshot);
	if (new != NULL && !superseded(TRIGGER_FIRED_BY_INSERT(event) ? trigger->tg_trigtuple : trigger->tg_newtuple))
		run_plan(plans->put, new, plans->ncolumns, plans->columns, snapshot);
}

/* What repeat_change takes, for FailureContain. */
typedef struct Repetition
{
	Plans	   *plans;
	Oid			target;
	TriggerData *trigger;
	Snapshot	snapshot;
} Repetition;

static void
repeat_one(void *arg)
{
	Repetition *r = arg;

	if (!r->plans->valid)
		make_plans(r->plans, RelationGetRelid(r->trigger->tg_relation), r->target);
	repeat_change(r->plans, r->trigger, r->snapshot);
}

/* Whether the statement is to end, and was not only unable to repeat the change. */
static bool
ends_statement(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_TRANSACTION_ROLLBACK;
}

/* Repeat a change, or leave a gap.  Other sessions hear of it when the transaction ends. */
static void
try_to_repeat(Repetition *r, int64 operation)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		FailureContain(repeat_one, r);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ends_statement(error))
			PG_RE_THROW();
		FlushErrorState();
		OperationAddGap(operation, error->message);
		CacheInvalidateRelcacheByRelid(r->target);
		CommandCounterIncrement();
		FreeErrorData(error);
	}
	PG_END_TRY();
}

/* The owner may have lost a right when plans are made. */
static void
repeat_or_leave_gap(Repetition r, int64 operation)
{
	if (!r.plans->valid || !r.plans->certain)
		try_to_repeat(&r, operation);
	else
		repeat_one(&r);
}

/* Whether a unique constraint of a table may be deferred until later. */
static bool
can_defer(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		if (rel->trigdesc->triggers[i].tgfoid == F_UNIQUE_KEY_RECHECK)
			return true;
	return false;
}

/*
 * Act as the owner of the target, since whoever may write to the container need
 * not know the target, and since code of the owner's runs on the way: which must
 * not find the functions that the writer has put in his search_path, and does
 * nothing to the writer's session.  Nothing can be deferred then, so it is not
 * restricted where the leaf's constraints ask for that; the writer has run the
 * same code with all his rights by then.
 */
static SqlActing
begin_as(Oid owner, Relation leaf)
{
	SqlActing	acting;
	int			restriction = can_defer(leaf) ? 0 : SECURITY_RESTRICTED_OPERATION;

	GetUserIdAndSecContext(&acting.user, &acting.security);
	SetUserIdAndSecContext(owner, acting.security | SECURITY_LOCAL_USERID_CHANGE | restriction | SECURITY_NOFORCE_RLS);
	acting.nestlevel = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return acting;
}

/*
 * dual_write(target oid, operation bigint) returns trigger
 *
 * Anybody can put this trigger on a table of his own, so it does
 * nothing but what an operation on record asks for.  That goes as well for
 * triggers that a restore brought along.
 */
PG_FUNCTION_INFO_V1(dual_write);
Datum
dual_write(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Oid			target;
	int64		operation;
	Plans	   *plans;
	Oid			owner;
	SqlActing	acting;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || !TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs != 2)
		elog(ERROR, "not called by the trigger manager");
	target = atooid(trigger->tg_trigger->tgargs[0]);
	operation = strtoll(trigger->tg_trigger->tgargs[1], NULL, 10);

	/* Nobody will ever use what is written for an operation whose session has ended. */
	owner = RelationOwner(target);
	if (!OidIsValid(owner) || !OperationRunning(operation))
		return PointerGetDatum(NULL);

	SPI_connect();
	plans = find_plans(trigger->tg_trigger->tgoid);
	if (plans->target != target)
		plans->valid = false;
	if (!plans->valid && !OperationWrites(operation, RelationGetRelid(trigger->tg_relation), target))
	{
		SPI_finish();
		return PointerGetDatum(NULL);
	}
	acting = begin_as(owner, trigger->tg_relation);
	if (IsolationUsesXactSnapshot())
	{
		LOCKTAG		tag = copy_lock(operation);

		(void) LockAcquire(&tag, ShareLock, false, false);
		repeat_or_leave_gap((Repetition) {plans, target, trigger, GetLatestSnapshot()}, operation);
		LockRelease(&tag, ShareLock, false);
	}
	else
		repeat_or_leave_gap((Repetition) {plans, target, trigger, InvalidSnapshot}, operation);
	SqlEndAs(acting);
	SPI_finish();
	return PointerGetDatum(NULL);
}
