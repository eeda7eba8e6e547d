/*
 * workload.c
 *		The queries of a table, and which of them a key would serve.
 *
 * A query is planned, and what it compares the table's columns with is taken
 * from the planner.  Of each comparison only the path is kept that it gives a
 * value for.  A key serves the query as far as its first levels are among these
 * paths.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "columnpath.h"
#include "predicate.h"
#include "sql.h"
#include "trust.h"
#include "workload.h"

/* Statements of pg_stat_statements that are looked at, the most frequent. */
#define MAX_STATEMENTS		1000

typedef struct WorkloadQuery
{
	double		calls;
	List	   *reads;			/* for each read of the table, a List of ColumnPath * */
} WorkloadQuery;

struct Workload
{
	Oid			relid;
	List	   *queries;		/* WorkloadQuery *: those that read the table */
	double		calls;			/* of all of them */
	Bitmapset  *updated;		/* columns that statements set */
	List	   *edited;			/* ColumnPath *: properties that they set */
};

/* What a read of the table gives values for, without those that come from other tables' rows. */
static List *
given_paths(const PredicateScan *scan)
{
	List	   *paths = NIL;
	ListCell   *cell;

	foreach(cell, scan->bound)
	{
		BoundExpression *bound = lfirst(cell);
		ColumnPath *given = bound->joined ? NULL : ColumnPathOf(bound->expr);

		if (given != NULL)
			paths = lappend(paths, given);
	}
	return paths;
}

/* Take in columns that are set to new values, and the properties of documents that this sets. */
static void
add_targets(Workload *workload, List *numbers, List *targets)
{
	ListCell   *number;
	ListCell   *target;

	forboth(number, numbers, target, targets)
	{
		AttrNumber	attnum = lfirst_int(number);
		Node	   *value = (Node *) lfirst_node(TargetEntry, target)->expr;

		workload->updated = bms_add_member(workload->updated, attnum);
		workload->edited = list_concat(workload->edited, ColumnPathsSet(value, attnum));
	}
}

/* Take in what an UPDATE sets, or a MERGE. */
static void
add_updates(Workload *workload, const PredicateScan *scan)
{
	ListCell   *cell;

	if (scan->command == CMD_UPDATE)
		add_targets(workload, scan->root->update_colnos, scan->root->processed_tlist);
	else if (scan->command == CMD_MERGE)
		foreach(cell, scan->root->parse->mergeActionList)
		{
			MergeAction *action = lfirst_node(MergeAction, cell);

			add_targets(workload, action->updateColnos, action->targetList);
		}
}

/* Plan a statement, unless a filter says no, and take in what it does with the table. */
static void
add_query(Workload *workload, const char *text, double calls, PredicateFilter filter, void *filtering)
{
	WorkloadQuery *query = palloc0(sizeof(WorkloadQuery));
	MemoryContext planning = AllocSetContextCreate(CurTransactionContext, "partitionkey query", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(planning);
	List	   *scans = PredicateScans(text, filter, filtering);
	ListCell   *cell;

	MemoryContextSwitchTo(old);
	foreach(cell, scans)
	{
		PredicateScan *scan = lfirst(cell);

		if (scan->relid != workload->relid || scan->command == CMD_INSERT)
			continue;
		query->reads = lappend(query->reads, given_paths(scan));
		add_updates(workload, scan);
	}
	MemoryContextDelete(planning);
	if (query->reads == NIL)
		return;
	query->calls = calls;
	workload->calls += calls;
	workload->queries = lappend(workload->queries, query);
}

/* Say which query an error is about, as for those in functions. */
static void
query_context(void *text)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
	errcontext("query \"%s\"", (char *) text);
}

Workload *
WorkloadFromQueries(Relation rel, ArrayType *queries)
{
	Workload   *workload = palloc0(sizeof(Workload));
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	workload->relid = RelationGetRelid(rel);
	deconstruct_array_builtin(queries, TEXTOID, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		ErrorContextCallback callback = {.previous = error_context_stack, .callback = query_context};

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("query %d is null", i + 1)));
		callback.arg = TextDatumGetCString(elements[i]);
		error_context_stack = &callback;
		add_query(workload, callback.arg, 1, NULL, NULL);
		error_context_stack = callback.previous;
	}
	if (n > 0 && workload->queries == NIL)
		ereport(NOTICE,
				(errmsg("none of the queries reads \"%s\"", RelationGetRelationName(rel))));
	return workload;
}

/* A statement that somebody has run. */
typedef struct Statement
{
	const char *text;
	double		calls;
	Oid			user;
	Oid			caller;			/* of advise_key */
	List	   *tables;			/* the table, and those that it is a partition of */
	bool		strange;		/* it would run code that the caller need not trust */
} Statement;

/*
 * PredicateFilter.  Nobody's statement may run functions in the session of another: they might end it, or leave locks
 * behind.  Those that don't read the table are of no interest.
 */
static bool
is_worth_planning(Query *query, void *context)
{
	Statement  *statement = context;

	if (!QueryNames(query, statement->tables))
		return false;
	if (statement->user == statement->caller ||
		QueryIsTrusted(query, statement->caller, RelationOwner(linitial_oid(statement->tables))))
		return true;
	statement->strange = true;
	return false;
}

/*
 * Take in a statement that may not be one that can be planned; false if so.  It is
 * planned as its user, who has the privileges that it takes, and waits for no lock.  All
 * that it did is rolled back, and that makes us who we were.
 */
static bool
try_query(Workload *workload, Statement *statement)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			security;
	volatile bool planned = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		(void) set_config_option("lock_timeout", "1ms", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
		GetUserIdAndSecContext(&statement->caller, &security);
		SetUserIdAndSecContext(statement->user, security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
		add_query(workload, statement->text, statement->calls, is_worth_planning, statement);
		planned = !statement->strange;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		/* Being cancelled is not the statement's fault. */
		if (geterrcode() == ERRCODE_QUERY_CANCELED)
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return planned;
}

/* The view pg_stat_statements, if it is there and works for the user.  Needs SPI. */
static Oid
statistics_view(void)
{
	int			nestlevel;
	List	   *views;

	/* To read it is an error if the library was not preloaded. */
	if (GetConfigOption("pg_stat_statements.max", true, false) == NULL)
		return InvalidOid;
	nestlevel = SqlBegin();
	views = SqlOids("SELECT a.attrelid FROM pg_extension e"
					" JOIN pg_class c ON c.relnamespace = e.extnamespace AND c.relname = 'pg_stat_statements'"
					" JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'toplevel'"
					" WHERE e.extname = 'pg_stat_statements'"
					" AND has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')");
	SqlEnd(nestlevel);
	return views == NIL ? InvalidOid : linitial_oid(views);
}

/*
 * The statements of this database that are called most, who called them, and how
 * often.  Only those of users whose rights the caller has: since names are looked
 * up by his search_path, he could put functions of his own under theirs.
 */
static SPITupleTable *
read_statistics(Oid view)
{
	int			nestlevel = SqlBegin();

	SqlExecute("SELECT s.query, s.userid, sum(s.calls)::float8 FROM %s s JOIN pg_roles r ON r.oid = s.userid"
			   " WHERE s.toplevel AND s.query IS NOT NULL AND pg_has_role(s.userid, 'USAGE')"
			   " AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
			   " GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %d", QualifiedName(view), MAX_STATEMENTS);
	SqlEnd(nestlevel);
	return SPI_tuptable;
}

Workload *
WorkloadFromStatistics(Relation rel)
{
	Oid			view = statistics_view();
	Workload   *workload;
	List	   *tables = list_make1_oid(RelationGetRelid(rel));
	SPITupleTable *statements;
	int			left_out = 0;

	if (!OidIsValid(view))
		return NULL;
	workload = palloc0(sizeof(Workload));
	workload->relid = RelationGetRelid(rel);
	if (rel->rd_rel->relispartition)
		tables = list_concat(tables, get_partition_ancestors(RelationGetRelid(rel)));
	statements = read_statistics(view);
	for (uint64 i = 0; i < statements->numvals; i++)
	{
		bool		isnull;
		Statement	statement = {
			.text = SPI_getvalue(statements->vals[i], statements->tupdesc, 1),
			.user = DatumGetObjectId(SPI_getbinval(statements->vals[i], statements->tupdesc, 2, &isnull)),
			.calls = DatumGetFloat8(SPI_getbinval(statements->vals[i], statements->tupdesc, 3, &isnull)),
			.tables = tables
		};

		CHECK_FOR_INTERRUPTS();
		if (!try_query(workload, &statement))
			left_out++;
	}
	if (workload->queries != NIL)
		ereport(NOTICE,
				(errmsg("%d of %d statements in pg_stat_statements read \"%s\"",
						list_length(workload->queries), (int) statements->numvals, RelationGetRelationName(rel)),
				 left_out == 0 ? 0 : errdetail("%d were left out: commands, those of another search_path, those that meet a lock,"
											   " and those of other users with functions that are neither built in nor yours.",
											   left_out)));
	SPI_freetuptable(statements);
	return workload;
}

bool
WorkloadReads(const Workload *workload)
{
	return workload->calls > 0;
}

static bool
is_given(const List *paths, const Extract *path)
{
	ListCell   *cell;

	foreach(cell, paths)
	{
		ColumnPath *given = lfirst(cell);

		if (given->attnum == path->attnum && equal(given->properties, path->properties))
			return true;
	}
	return false;
}

/* How many of the first levels of a key all reads of a query give. */
static int
levels_given(const WorkloadQuery *query, Extract *const *key, int levels)
{
	ListCell   *cell;

	foreach(cell, query->reads)
	{
		int			level = 0;

		while (level < levels && is_given(lfirst(cell), key[level]))
			level++;
		levels = level;
	}
	return levels;
}

void
WorkloadShares(const Workload *workload, Extract *const *key, int levels,
			   double *single, double *prefix, double *fan_out)
{
	double		calls[3] = {0};
	ListCell   *cell;

	foreach(cell, workload->queries)
	{
		WorkloadQuery *query = lfirst(cell);
		int			given = levels_given(query, key, levels);

		calls[given == levels ? 0 : given > 0 ? 1 : 2] += query->calls;
	}
	*single = calls[0] / workload->calls;
	*prefix = calls[1] / workload->calls;
	*fan_out = calls[2] / workload->calls;
}

double
WorkloadGives(const Workload *workload, const Extract *path)
{
	Extract    *key[1] = {(Extract *) path};
	double		single;
	double		prefix;
	double		fan_out;

	WorkloadShares(workload, key, 1, &single, &prefix, &fan_out);
	return single;
}

/* Whether a property, or an object that it is in, is among those set. */
static bool
is_edited(const List *edited, const Extract *path)
{
	ListCell   *cell;

	foreach(cell, edited)
	{
		ColumnPath *set = lfirst(cell);

		if (set->attnum == path->attnum && list_length(set->properties) <= list_length(path->properties) &&
			equal(set->properties, list_truncate(list_copy(path->properties), list_length(set->properties))))
			return true;
	}
	return false;
}

bool
WorkloadUpdates(const Workload *workload, const Extract *path)
{
	if (path->properties == NIL)
		return bms_is_member(path->attnum, workload->updated);
	return is_edited(workload->edited, path);
}
