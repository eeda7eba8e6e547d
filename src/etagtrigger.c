/*
 * etagtrigger.c
 *		The trigger that gives each row written an etag and a time.
 *
 * It is on the container, and so fires on the leaves, where columns may have other
 * numbers.  It sets the etag always, whatever the statement says.  The time of
 * the last change is set unless the statement does.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "etag.h"
#include "registry.h"

/* Where a table has them; kept for the session. */
typedef struct Columns
{
	Oid			relid;			/* hash key */
	bool		valid;
	AttrNumber	etag;
	AttrNumber	ts;				/* InvalidAttrNumber if there is none to be set */
	Oid			ts_type;		/* which may be a domain */
	int32		ts_typmod;
} Columns;

static HTAB *columns_by_table = NULL;

/* Relation cache callback; InvalidOid is all. */
static void
forget_columns(pg_attribute_unused() Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	Columns    *columns;

	if (OidIsValid(relid))
	{
		columns = hash_search(columns_by_table, &relid, HASH_FIND, NULL);
		if (columns)
			columns->valid = false;
		return;
	}
	hash_seq_init(&scan, columns_by_table);
	while ((columns = hash_seq_search(&scan)) != NULL)
		columns->valid = false;
}

static void
start(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Columns)};

	columns_by_table = hash_create("partitionkey etags", 64, &control, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget_columns, (Datum) 0);
}

/* Whether a column is in the key of the container that a table is part of. */
static bool
is_key_column(Oid relid, const char *name)
{
	List	   *ancestors = get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL;
	Container  *container = ContainerLookup(ancestors == NIL ? relid : llast_oid(ancestors), true);

	return container != NULL && ContainerLevel(container, name) >= 0;
}

static AttrNumber
etag_column(Relation rel)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), ETAG_COLUMN);

	if (attnum <= 0 || TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid != UUIDOID)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\" of type uuid for trigger \"%s\" to fill",
						RelationGetRelationName(rel), ETAG_COLUMN, ETAG_TRIGGER),
				 errhint("Drop the trigger, or make the column anew: drop the trigger, and call partitionkey.enable_change_feed.")));
	return attnum;
}

/* The column that the time goes into: of its name and type, and neither computed nor part of the key. */
static AttrNumber
ts_column(Relation rel)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), "ts");
	Form_pg_attribute att;

	if (attnum <= 0)
		return InvalidAttrNumber;
	att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	return att->attgenerated || getBaseType(att->atttypid) != TIMESTAMPTZOID || is_key_column(RelationGetRelid(rel), "ts") ?
		InvalidAttrNumber : attnum;
}

static const Columns *
columns_of(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Columns    *columns;
	bool		found;

	if (columns_by_table == NULL)
		start();
	columns = hash_search(columns_by_table, &relid, HASH_ENTER, &found);
	if (!found || !columns->valid)
	{
		Form_pg_attribute ts;

		columns->valid = false;
		columns->etag = etag_column(rel);
		columns->ts = ts_column(rel);
		if (columns->ts != InvalidAttrNumber)
		{
			ts = TupleDescAttr(RelationGetDescr(rel), columns->ts - 1);
			columns->ts_type = ts->atttypid;
			columns->ts_typmod = ts->atttypmod;
			(void) getBaseTypeAndTypmod(ts->atttypid, &columns->ts_typmod);
		}
		columns->valid = true;
	}
	return columns;
}

/* Whether an update changes anything but the time and the etag. */
static bool
changes_row(const TriggerData *trigger, const Columns *columns)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);

	for (AttrNumber attnum = 1; attnum <= desc->natts; attnum++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
		bool		isnull;
		bool		was_null;
		Datum		value;
		Datum		was;

		if (attnum == columns->etag || attnum == columns->ts || att->attisdropped)
			continue;
		value = heap_getattr(trigger->tg_newtuple, attnum, desc, &isnull);
		was = heap_getattr(trigger->tg_trigtuple, attnum, desc, &was_null);
		if (isnull != was_null || (!isnull && !datum_image_eq(value, was, att->attbyval, att->attlen)))
			return true;
	}
	return false;
}

/*
 * Whether the time is left to the trigger: it is not given, or not changed though the row is.
 * A load of an export once more, which gives rows what they have, leaves them their time.
 */
static bool
leaves_ts(const TriggerData *trigger, const Columns *columns, HeapTuple new)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	bool		isnull;
	bool		was_null;
	Datum		value = heap_getattr(new, columns->ts, desc, &isnull);
	Datum		was;

	if (isnull || TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		return isnull;
	was = heap_getattr(trigger->tg_trigtuple, columns->ts, desc, &was_null);
	return !was_null && DatumGetTimestampTz(value) == DatumGetTimestampTz(was) && changes_row(trigger, columns);
}

/* The time, as the column takes it: rounded to its precision, and if it is of a domain, checked. */
static Datum
current_ts(const Columns *columns)
{
	Datum		now = DirectFunctionCall2(timestamptz_scale, TimestampTzGetDatum(GetCurrentTimestamp()), Int32GetDatum(columns->ts_typmod));

	if (columns->ts_type != TIMESTAMPTZOID)
		domain_check(now, false, columns->ts_type, NULL, NULL);
	return now;
}

static void
check_call(FunctionCallInfo fcinfo)
{
	TriggerEvent event = CALLED_AS_TRIGGER(fcinfo) ? ((TriggerData *) fcinfo->context)->tg_event : 0;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(event) || !TRIGGER_FIRED_BEFORE(event) ||
		!(TRIGGER_FIRED_BY_INSERT(event) || TRIGGER_FIRED_BY_UPDATE(event)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"set_etag\" was not called as a trigger BEFORE INSERT OR UPDATE FOR EACH ROW"),
				 errhint("partitionkey.enable_change_feed makes the trigger.")));
}

/* set_etag() returns trigger */
PG_FUNCTION_INFO_V1(set_etag);
Datum
set_etag(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const Columns *columns;
	HeapTuple	row;
	pg_uuid_t	etag;
	int			numbers[2];
	Datum		values[2];
	bool		nulls[2] = {false, false};
	int			n = 1;

	check_call(fcinfo);
	row = TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ? trigger->tg_trigtuple : trigger->tg_newtuple;
	columns = columns_of(trigger->tg_relation);
	EtagNext(&etag);
	numbers[0] = columns->etag;
	values[0] = UUIDPGetDatum(&etag);
	if (columns->ts != InvalidAttrNumber && leaves_ts(trigger, columns, row))
	{
		numbers[n] = columns->ts;
		values[n++] = current_ts(columns);
	}
	return PointerGetDatum(heap_modify_tuple_by_cols(row, RelationGetDescr(trigger->tg_relation), n, numbers, values, nulls));
}
