/*
 * changefeed.c
 *		The change feed: the latest version of each item, in the order of change.
 *
 * An item's place in the feed is its etag, which has the number of the transaction that wrote it.
 * A reader gets what transactions wrote that are numbered below the xmin of his snapshot.  All
 * of those are over, and what they wrote is visible to him; whoever is still to commit, now or
 * ever, has a number from xmin on.  So nothing can come to lie behind the place that he has
 * reached: no change is lost, and what he has not read yet comes later.  That is so under every isolation
 * level, as it is the snapshot that counts, and on a standby, which knows the running transactions of its
 * primary.  The price is that a transaction which stays open holds the feed back.
 *
 * That holds only for rows that stay where they are: what a split has copied since the snapshot was taken is invisible to
 * it, at the new place.  So the partitions must be older than the snapshot as well (refresh_snapshot).
 *
 * Before a token is handed out, the log is flushed: else a crash could take back what the reader was given
 * (synchronous_commit = off), and the server hand out the same transaction numbers, and places, once more.
 *
 * Items that were written in another cluster, before a dump was restored or pg_upgrade ran,
 * have its etags.  They can't be in flight here, so they come first, whatever their order is to
 * ours: a reader is in that phase, or in the one of what this cluster wrote.
 *
 * With an index on etag only what has changed is read.  All of a container, and what row security or privileges on
 * columns have a say on, is read from the container, with the caller's rights.  A part of it
 * is read from its leaves, for which the caller has no privileges of his own: by their owner, if he can, once
 * it is clear that the caller may read the container.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "etag.h"
#include "feedscope.h"
#include "feedtoken.h"
#include "itemresult.h"
#include "itemrow.h"
#include "privileges.h"
#include "sql.h"
#include "ttl.h"

/* Rows fetched at a time. */
#define FETCHED_ROWS		1000

/* Columns of the queries; those of the key follow. */
#define DOC_COLUMN			1
#define ETAG_RESULT_COLUMN	2
#define TS_COLUMN			3
#define FIRST_KEY_COLUMN	4

typedef struct Feed
{
	const Container *container;
	FeedScope	scope;
	FeedToken	token;			/* where the reader is */
	char	   *columns;		/* as SQL */
	const char *unexpired;		/* AND what items must meet that are still there, as SQL */
	Oid			types[MAX_LEVELS];	/* of the key columns */
	List	   *leaves;			/* that can have items of the scope (Leaf *) */
	int			all_leaves;		/* of the container */
	List	   *sources;		/* tables to read from, as SQL (char *) */
	bool		as_owner;		/* they are leaves, to be read by their owner */
	bool		exact;			/* all of their rows are in the scope */
	const char *condition;		/* AND what their rows must meet, to read fewer of them, as SQL */
	int			wanted;			/* items still to be given */
	bool		given;			/* at least one was */
	ReturnSetInfo *result;
	MemoryContext row_context;	/* reset after each row */
} Feed;

/*
 * The feed's container
 */

/* The transactions that are over for a snapshot, and visible to it, are those before this one. */
static uint64
horizon(Snapshot snapshot)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (snapshot->xmin > XidFromFullTransactionId(next))
		epoch--;
	return (uint64) epoch << 32 | snapshot->xmin;
}

/* See to it that what is visible now outlives a crash. */
static void
make_durable(void)
{
	XLogRecPtr	end;

	if (RecoveryInProgress())
		return;
	end = GetXLogInsertRecPtr();
	/* The header of a page is not there before its first record. */
	if (XLogSegmentOffset(end, wal_segment_size) == SizeOfXLogLongPHD)
		end -= SizeOfXLogLongPHD;
	else if (end % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		end -= SizeOfXLogShortPHD;
	XLogFlush(end);
}

/* Find the columns, and their types; refuse a container that has no feed. */
static void
find_columns(Feed *feed)
{
	const Container *container = feed->container;
	Relation	rel = table_open(container->relid, AccessShareLock);
	ItemShape  *shape;
	StringInfoData columns;
	int32		default_ttl;

	if (EtagColumn(rel) == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("container \"%s\" has no change feed", RelationGetRelationName(rel)),
				 errdetail("It needs a column \"%s\" of type uuid, and the trigger \"%s\" to fill it.", ETAG_COLUMN, ETAG_TRIGGER),
				 errhint("SELECT partitionkey.enable_change_feed(%s)", quote_literal_cstr(QualifiedName(container->relid)))));
	shape = ItemShapeFind(rel, container, NULL, false, true);
	initStringInfo(&columns);
	appendStringInfo(&columns, "%s, " ETAG_COLUMN ", %s", quote_identifier(shape->columns[shape->doc].name),
					 shape->ts < 0 ? "NULL::timestamptz" : quote_identifier(shape->columns[shape->ts].name));
	for (int i = 0; i < feed->scope.range.levels; i++)
	{
		appendStringInfo(&columns, ", %s", quote_identifier(container->columns[i]));
		feed->types[i] = shape->columns[i].type;
	}
	feed->columns = columns.data;
	feed->unexpired = shape->ts >= 0 && TtlDefault(RegistryDefinition(container), &default_ttl) ?
		psprintf(" AND NOT %s", ItemShapeExpired(shape, default_ttl, "item")) : "";
	table_close(rel, AccessShareLock);
}

/* Find the leaves, which stay as they are until the end of the transaction. */
static void
find_leaves(Feed *feed)
{
	const FeedScope *scope = &feed->scope;
	List	   *leaves = ContainerLeaves(feed->container, scope->range.min, scope->is_key ? scope->range.levels : 0);
	ListCell   *cell;

	feed->all_leaves = list_length(leaves);
	foreach(cell, leaves)
		if (LeafMeetsRange(lfirst(cell), &scope->range))
			feed->leaves = lappend(feed->leaves, lfirst(cell));
}

/* Refuse a leaf that is written without etags. */
static void
require_trigger(const Feed *feed, Relation leaf)
{
	if (EtagColumn(leaf) == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" of container \"%s\" has no change feed", RelationGetRelationName(leaf), get_rel_name(feed->container->relid)),
				 errdetail("Its trigger \"%s\" is disabled.", ETAG_TRIGGER),
				 errhint("SELECT partitionkey.enable_change_feed(%s)", quote_literal_cstr(QualifiedName(feed->container->relid)))));
}

static void
check_triggers(const Feed *feed)
{
	ListCell   *cell;

	foreach(cell, feed->leaves)
	{
		Relation	leaf = table_open(((Leaf *) lfirst(cell))->relid, AccessShareLock);

		require_trigger(feed, leaf);
		table_close(leaf, NoLock);
	}
}

/*
 * Whether a table was made, put in its place or written anew by a transaction that a snapshot does not see: all
 * these change its row in pg_class.  Rows in it may have been copied there by such a one, and be invisible.
 */
static bool
is_newer(Oid relid, Snapshot snapshot)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	TransactionId xmin;

	if (!HeapTupleIsValid(tuple))
		return true;
	xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return TransactionIdIsNormal(xmin) && !TransactionIdIsCurrentTransactionId(xmin) && XidInMVCCSnapshot(xmin, snapshot);
}

/* A partition that is newer than a snapshot, or is below a node that is; InvalidOid if there is none. */
static Oid
newer_leaf(const Feed *feed, Snapshot snapshot)
{
	Oid			last_parent = InvalidOid;
	ListCell   *cell;

	foreach(cell, feed->leaves)
	{
		Oid			relid = ((Leaf *) lfirst(cell))->relid;
		Oid			parent = get_partition_parent(relid, false);
		List	   *nodes = list_make1_oid(relid);
		ListCell   *node;

		/* neighbours have the same nodes above them */
		if (parent != last_parent)
			nodes = list_concat(nodes, get_partition_ancestors(relid));
		last_parent = parent;
		foreach(node, nodes)
			if (lfirst_oid(node) != feed->container->relid && is_newer(lfirst_oid(node), snapshot))
				return relid;
	}
	return InvalidOid;
}

/*
 * See to it that the active snapshot sees all that is in the leaves: else a token would be given that is past items
 * which it does not.  It can be older than the leaves where it was taken before partitions were exchanged, for which this
 * statement may have waited.  If each statement has its own snapshot, a new one will do.  Whether there is one, to be popped.
 */
static bool
refresh_snapshot(const Feed *feed)
{
	Oid			newer = newer_leaf(feed, GetActiveSnapshot());
	bool		refreshes = OidIsValid(newer) && !IsolationUsesXactSnapshot() && !IsInParallelMode();

	if (refreshes)
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		newer = newer_leaf(feed, GetActiveSnapshot());
	}
	if (OidIsValid(newer))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("partitions of container \"%s\" have been changed since the snapshot was taken", get_rel_name(feed->container->relid)),
				 errdetail("Items of partition \"%s\" may be invisible to it, and the change feed would pass over them.", get_rel_name(newer)),
				 errhint("Repeat the transaction, with the token it began with.")));
	return refreshes;
}

/* Whether the owner of a container, in the caller's place, can read a leaf. */
static bool
owner_reads_leaf(const Container *container, const Leaf *leaf)
{
	Oid			owner = RelationOwner(container->relid);

	return get_rel_relkind(leaf->relid) == RELKIND_RELATION && RelationOwner(leaf->relid) == owner &&
		pg_class_aclcheck(leaf->relid, owner, ACL_SELECT) == ACLCHECK_OK &&
		SchemaAclCheck(get_rel_namespace(leaf->relid), owner, ACL_USAGE) == ACLCHECK_OK;
}

/*
 * A component as a column of a type holds it, as text; NULL if values that are not equal in SQL can be the same
 * component, as numbers can that are no binary64.
 */
static char *
column_text(Oid type, const Component *component)
{
	char	   *value;
	StringInfoData json;

	if (component->type == COMPONENT_NUMBER)
		return (type == INT2OID || type == INT4OID) ? psprintf("%.0f", component->number) : NULL;
	if (type == BOOLOID)
		return pstrdup(component->type == COMPONENT_TRUE ? "true" : "false");
	if (component->type != COMPONENT_STRING)
		return NULL;
	value = pg_any_to_server(pnstrdup(component->data, component->len), component->len, PG_UTF8);
	if (type != JSONBOID)
		return type == TEXTOID || type == VARCHAROID || type == UUIDOID ? value : NULL;
	initStringInfo(&json);
	escape_json(&json, value);
	return json.data;
}

/* What rows of a key must meet, by which PostgreSQL leaves out partitions. */
static char *
key_condition(const Feed *feed)
{
	StringInfoData condition;

	initStringInfo(&condition);
	for (int i = 0; feed->scope.is_key && i < feed->scope.range.levels; i++)
	{
		char	   *value = column_text(feed->types[i], &feed->scope.components[i]);

		if (value != NULL)
			appendStringInfo(&condition, " AND item.%s = %s", quote_identifier(feed->container->columns[i]), quote_literal_cstr(value));
	}
	return condition.data;
}

/* Choose what to read from: the leaves of the scope if the caller may have them, else the container. */
static void
choose_sources(Feed *feed)
{
	const Container *container = feed->container;
	const FeedScope *scope = &feed->scope;
	bool		direct = pg_class_aclcheck(container->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(container->relid, InvalidOid, true) != RLS_ENABLED;
	ListCell   *cell;

	feed->exact = !scope->is_key;
	foreach(cell, feed->leaves)
	{
		Leaf	   *leaf = lfirst(cell);

		feed->exact &= LeafInRange(leaf, &scope->range);
		direct &= owner_reads_leaf(container, leaf);
		feed->sources = lappend(feed->sources, psprintf("ONLY %s", QualifiedName(leaf->relid)));
	}
	feed->condition = "";
	feed->as_owner = direct && feed->sources != NIL && scope->range.levels > 0 &&
		(scope->is_key || list_length(feed->sources) < feed->all_leaves);
	if (feed->as_owner)
		return;
	feed->exact &= list_length(feed->sources) == feed->all_leaves;
	feed->sources = list_make1(QualifiedName(container->relid));
	feed->condition = key_condition(feed);
}

/*
 * Reading it
 */

/* The query for the items from one etag to below another one, in their order. */
static char *
feed_query(const Feed *feed, const pg_uuid_t *from, const pg_uuid_t *to)
{
	StringInfoData sql;
	char		lower[ETAG_TEXT_LENGTH + 1];
	char		upper[ETAG_TEXT_LENGTH + 1];
	ListCell   *cell;

	EtagText(from, lower);
	EtagText(to, upper);
	initStringInfo(&sql);
	foreach(cell, feed->sources)
		appendStringInfo(&sql, "%sSELECT %s FROM %s AS item WHERE " ETAG_COLUMN " >= '%s' AND " ETAG_COLUMN " < '%s'%s%s",
						 cell == list_head(feed->sources) ? "" : " UNION ALL ", feed->columns, (char *) lfirst(cell), lower, upper,
						 feed->condition, feed->unexpired);
	appendStringInfoString(&sql, " ORDER BY 2");
	if (feed->exact)
		appendStringInfo(&sql, " LIMIT %d", feed->wanted);
	return sql.data;
}

/* The item of a row. */
static Datum
row_item(HeapTuple row, TupleDesc desc, const pg_uuid_t *etag)
{
	bool		no_doc;
	bool		no_ts;
	Datum		doc = SPI_getbinval(row, desc, DOC_COLUMN, &no_doc);
	Datum		ts = SPI_getbinval(row, desc, TS_COLUMN, &no_ts);

	if (no_doc)
		doc = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	return JsonbPGetDatum(ItemResult(DatumGetJsonbP(doc), true, etag, !no_ts, no_ts ? 0 : DatumGetTimestampTz(ts)));
}

static bool
row_in_scope(const Feed *feed, HeapTuple row, TupleDesc desc)
{
	Datum		keys[MAX_LEVELS];
	bool		nulls[MAX_LEVELS];

	if (feed->exact)
		return true;
	for (int i = 0; i < feed->scope.range.levels; i++)
		keys[i] = SPI_getbinval(row, desc, FIRST_KEY_COLUMN + i, &nulls[i]);
	return FeedScopeHas(&feed->scope, feed->container, feed->types, keys, nulls);
}

/* Give a row, if it is one of the scope. */
static void
give_row(Feed *feed, HeapTuple row, TupleDesc desc)
{
	bool		isnull;
	pg_uuid_t  *etag = DatumGetUUIDP(SPI_getbinval(row, desc, ETAG_RESULT_COLUMN, &isnull));
	Datum		values[2];
	bool		nulls[2] = {false, false};

	FeedTokenPass(&feed->token, etag);
	if (!row_in_scope(feed, row, desc))
		return;
	values[0] = row_item(row, desc, etag);
	values[1] = PointerGetDatum(FeedTokenWrite(feed->container, &feed->token));
	tuplestore_putvalues(feed->result->setResult, feed->result->setDesc, values, nulls);
	feed->wanted--;
	feed->given = true;
}

/* Give the items from one etag to below another one, as many as are wanted. */
static void
read_between(Feed *feed, const pg_uuid_t *from, const pg_uuid_t *to)
{
	Portal		portal;
	SPIPlanPtr	plan;

	if (feed->wanted == 0 || EtagCompare(from, to) >= 0)
		return;
	plan = SPI_prepare(feed_query(feed, from, to), 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, Min(feed->wanted, FETCHED_ROWS));
		for (uint64 i = 0; i < SPI_processed && feed->wanted > 0; i++)
		{
			MemoryContext old = MemoryContextSwitchTo(feed->row_context);

			give_row(feed, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
			MemoryContextSwitchTo(old);
			MemoryContextReset(feed->row_context);
		}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0 && feed->wanted > 0);
	SPI_cursor_close(portal);
	SPI_freeplan(plan);
}

/* Give what other systems wrote, which is below and above what this one wrote; then that, up to the horizon. */
static void
read_feed(Feed *feed)
{
	uint64		system = EtagSystem();
	pg_uuid_t	own;
	pg_uuid_t	above;
	pg_uuid_t	limit;
	pg_uuid_t	end;

	EtagLowest(system, 0, &own);
	EtagLowest(system + 1, 0, &above);
	EtagLowest(system, horizon(GetActiveSnapshot()), &limit);
	memset(&end, 0xff, sizeof(end));
	if (!feed->token.local)
	{
		read_between(feed, &feed->token.position, &own);
		read_between(feed, EtagCompare(&feed->token.position, &above) > 0 ? &feed->token.position : &above, &end);
		if (feed->wanted == 0)
			return;
		feed->token.local = true;
		feed->token.position = own;
	}
	read_between(feed, &feed->token.position, &limit);
}

/* Sorts are of no use with an index in the right order, and come without one all the same; nor do workers help. */
static void
set_planner(void)
{
	(void) set_config_option("enable_sort", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("max_parallel_workers_per_gather", "0", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

static void
run_feed(Feed *feed)
{
	SqlActing	acting;

	feed->row_context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey feed", ALLOCSET_DEFAULT_SIZES);
	SPI_connect();
	if (feed->as_owner)
		acting = SqlBeginAs(RelationOwner(feed->container->relid));
	else
		acting.nestlevel = SqlBegin();
	set_planner();
	read_feed(feed);
	if (feed->given)
		make_durable();
	if (feed->as_owner)
		SqlEndAs(acting);
	else
		SqlEnd(acting.nestlevel);
	SPI_finish();
}

static bool
same_scope(Jsonb *a, Jsonb *b)
{
	return compareJsonbContainers(&a->root, &b->root) == 0;
}

/* Find out where the reader is, and what he reads. */
static void
read_arguments(Feed *feed, Jsonb *scope, text *continuation)
{
	if (continuation == NULL)
		FeedTokenStart(scope, &feed->token);
	else
	{
		FeedTokenRead(feed->container, continuation, &feed->token);
		if (scope != NULL && (feed->token.scope == NULL || !same_scope(scope, feed->token.scope)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("continuation token is of another scope than the one given"),
					 feed->token.scope == NULL ? errdetail("It is of the whole container.") :
					 errdetail("It is of %s.", JsonbToCString(NULL, &feed->token.scope->root, VARSIZE(feed->token.scope))),
					 errhint("Leave the scope out, as the token has it, or begin anew, without a token.")));
	}
	FeedScopeRead(feed->container, feed->token.scope, &feed->scope);
}

/*
 * items_changed_since(container regclass, scope jsonb, continuation text, max_items integer)
 * returns table (item jsonb, continuation text)
 */
PG_FUNCTION_INFO_V1(items_changed_since);
Datum
items_changed_since(PG_FUNCTION_ARGS)
{
	Feed		feed = {0};
	bool		refreshed;

	SqlRequireArgument(fcinfo, 0, "container");
	SqlRequireArgument(fcinfo, 3, "max_items");
	feed.container = ContainerLookup(PG_GETARG_OID(0), false);
	feed.wanted = PG_GETARG_INT32(3);
	if (feed.wanted < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_items must be at least 1")));
	RequireSelectAny(feed.container->relid);
	read_arguments(&feed, PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1), PG_ARGISNULL(2) ? NULL : PG_GETARG_TEXT_PP(2));
	find_columns(&feed);
	find_leaves(&feed);
	check_triggers(&feed);
	refreshed = refresh_snapshot(&feed);
	choose_sources(&feed);
	InitMaterializedSRF(fcinfo, 0);
	feed.result = (ReturnSetInfo *) fcinfo->resultinfo;
	run_feed(&feed);
	if (refreshed)
		PopActiveSnapshot();
	return (Datum) 0;
}

/* change_feed_start(container regclass, scope jsonb) returns text */
PG_FUNCTION_INFO_V1(change_feed_start);
Datum
change_feed_start(PG_FUNCTION_ARGS)
{
	Feed		feed = {0};

	SqlRequireArgument(fcinfo, 0, "container");
	feed.container = ContainerLookup(PG_GETARG_OID(0), false);
	RequireSelectAny(feed.container->relid);
	read_arguments(&feed, PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1), NULL);
	find_columns(&feed);
	feed.token.local = true;
	EtagLowest(EtagSystem(), horizon(GetActiveSnapshot()), &feed.token.position);
	make_durable();
	PG_RETURN_TEXT_P(FeedTokenWrite(feed.container, &feed.token));
}
