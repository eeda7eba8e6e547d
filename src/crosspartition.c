/*
 * crosspartition.c
 *		Statements that read many partitions of a container, noticed as they start.
 *
 * When the executor has started a statement, PostgreSQL has pruned by all values
 * that it knows before rows are read: constants, parameters, stable functions.
 * The scans that are left are looked at.  A read of a container is a fan-out if
 * more than one leaf is left, all partitions of the root are among those, and no
 * scan has a condition that binds the first level.  Such a condition with a
 * value from elsewhere in the plan (sub-select, nested loop) prunes while the
 * statement runs, so that it is none.
 *
 * A parallel worker looks at the statements of functions that it runs, not at
 * its part of the plan, of which the leader has told.
 *
 * What a utility command runs to do its own work is not looked at, nor what
 * foreign keys run, nor the work of this extension, for which SqlBegin switches
 * the settings off.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "cause.h"
#include "compat.h"
#include "crosspartition.h"
#include "planscan.h"
#include "predicate.h"
#include "routing.h"
#include "routingstats.h"
#include "settings.h"
#include "tree.h"

/* A container in a statement. */
typedef struct Read
{
	Index		rti;
	Oid			relid;
	int			leaves;			/* scans of leaves that are left */
	Bitmapset  *children;		/* the root's partitions, by their rti, that these are in */
	Plan	   *scan;			/* the first of the scans */
	Plan	   *insert;			/* what gives the rows that are inserted into it, if they are */
	bool		judged;
	Routing		routing;
} Read;

typedef struct Reads
{
	List	   *list;			/* Read * */
	Index	   *parents;
} Reads;

static ExecutorStart_hook_type chained_start = NULL;
static ProcessUtility_hook_type chained_utility = NULL;

/* How many utility commands are being run that do work of their own. */
static int	utilities = 0;

/* Whether this parallel worker has its part of the plan; what it starts after that is of functions. */
static bool has_part = false;

static bool
is_wanted(void)
{
	return SettingCrossPartitionQuery != CROSS_PARTITION_ALLOW || RoutingStatsWanted();
}

static Read *
find_read(const Reads *reads, Index rti)
{
	ListCell   *cell;

	foreach(cell, reads->list)
		if (((Read *) lfirst(cell))->rti == rti)
			return lfirst(cell);
	return NULL;
}

/* A leaf counts for the container that it is part of, which may itself be attached to another table. */
static void
note_scan(Reads *reads, Plan *plan, Index rti)
{
	Index		child = rti;
	Read	   *read = NULL;

	while (read == NULL && reads->parents[rti] != 0)
	{
		child = rti;
		rti = reads->parents[rti];
		read = find_read(reads, rti);
	}
	if (read == NULL)
		return;
	read->leaves++;
	read->children = bms_add_member(read->children, child);
	if (read->scan == NULL)
		read->scan = plan;
}

/* Whether an expression is known before anything is run: it has no sub-selects and nothing of other nodes. */
static bool
is_known(Node *expr)
{
	return !PredicateIsLate(expr) && !contain_volatile_functions(expr);
}

/* Whether a node reads nothing below it: its one-time filter is false already, or it is a LIMIT 0. */
static bool
reads_nothing(PlanState *state)
{
	bool		isnull = true;
	Datum		limit = 0;

	if (IsA(state, ResultState))
	{
		ResultState *result = castNode(ResultState, state);

		return result->resconstantqual && is_known(((Result *) state->plan)->resconstantqual) &&
			!ExecQual(result->resconstantqual, state->ps_ExprContext);
	}
	if (IsA(state, LimitState) && castNode(LimitState, state)->limitCount && is_known(((Limit *) state->plan)->limitCount))
		limit = ExecEvalExprSwitchContext(castNode(LimitState, state)->limitCount, state->ps_ExprContext, &isnull);
	return !isnull && DatumGetInt64(limit) == 0;
}

static bool look_at_node(PlanState *state, void *context);

/* What a WITH changes is changed even if nothing reads it. */
static void
look_at_changes(PlanState *state, Reads *reads)
{
	ListCell   *cell;

	foreach(cell, state->initPlan)
	{
		PlanState  *plan = lfirst_node(SubPlanState, cell)->planstate;

		if (IsA(plan, ModifyTableState))
			look_at_node(plan, reads);
	}
}

/* planstate_tree_walker: what is left after pruning. */
static bool
look_at_node(PlanState *state, void *context)
{
	Reads	   *reads = context;
	Index		rti = PlanScanRti(state->plan);

	if (reads_nothing(state))
	{
		look_at_changes(state, reads);
		return false;
	}
	if (rti != 0)
		note_scan(reads, state->plan, rti);
	else if (IsA(state->plan, ModifyTable) && ((ModifyTable *) state->plan)->operation == CMD_INSERT)
	{
		Read	   *read = find_read(reads, linitial_int(((ModifyTable *) state->plan)->resultRelations));

		if (read != NULL)
			read->insert = outerPlan(state->plan);
	}
	return planstate_tree_walker(state, look_at_node, context);
}

/* The containers among a statement's tables; mostly there is none. */
static List *
containers_of(const PlannedStmt *stmt)
{
	List	   *list = NIL;
	ListCell   *cell;

	foreach(cell, stmt->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE && RoutingKeyCached(rte->relid) != NULL)
		{
			Read	   *read = palloc0(sizeof(Read));

			read->rti = foreach_current_index(cell) + 1;
			read->relid = rte->relid;
			list = lappend(list, read);
		}
	}
	return list;
}

/* How a read is routed. */
static Routing
judge(const RoutingKey *key, const Read *read, const PlannedStmt *stmt)
{
	Routing		routing = RoutingOf(key, PredicateBound(PlanScanConditions(stmt, read->scan, read->relid)), true);

	RoutingSettle(key, &routing, bms_num_members(read->children),
				  routing.values[0] == 0 && bms_is_member(read->rti, PlanPruned(stmt)));
	return routing;
}

static void
report(const RoutingKey *key, const Routing *routing, const Read *read, const PlannedStmt *stmt)
{
	static const int levels[] = {0, NOTICE, WARNING, ERROR};
	const Container *container = key->container;
	bool		is_target = list_member_int(stmt->resultRelations, PlanScanRti(read->scan));
	int			total = list_length(ContainerLeaves(container, NULL, 0));
	char	   *hint;
	char	   *reason = RoutingReason(key, routing, is_target ? stmt->commandType : CMD_SELECT,
									   PlanScanConditions(stmt, read->scan, read->relid), PlanJoinConditions(stmt, read->rti), &hint);

	ereport(levels[SettingCrossPartitionQuery],
			(errcode(SettingCrossPartitionQuery == CROSS_PARTITION_ERROR ? ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
					 : SettingCrossPartitionQuery == CROSS_PARTITION_WARNING ? ERRCODE_WARNING : ERRCODE_SUCCESSFUL_COMPLETION),
			 errmsg("cross-partition query on container \"%s\"", get_rel_name(read->relid)),
			 errdetail("It reads %d of %d partitions: %s.", read->leaves, total, reason),
			 hint ? errhint("%s", hint) : 0));
}

/* Rows that are inserted have their full key with them. */
static Routing
judge_insert(const RoutingKey *key, const Read *read)
{
	bool		one = IsA(read->insert, Result) && outerPlan(read->insert) == NULL;
	Routing		routing = {0};

	routing.kind = one ? ROUTING_SINGLE : ROUTING_KEYS;
	routing.leading = key->container->levels;
	for (int i = 0; i < key->container->levels; i++)
		routing.bound[i] = true;
	return routing;
}

static void
judge_read(const RoutingKey *key, Read *read, const PlannedStmt *stmt)
{
	read->judged = true;
	if (read->leaves > 0)
		read->routing = judge(key, read, stmt);
	else if (read->insert)
		read->routing = judge_insert(key, read);
	else
		read->judged = false;	/* nothing is left of it */
}

static void
check_read(Read *read, const PlannedStmt *stmt)
{
	const RoutingKey *key = RoutingKeyCached(read->relid);

	/* One leaf is none too many: the common case costs no look at the conditions. */
	if (key == NULL || (read->leaves <= 1 && !RoutingStatsWanted()))
		return;
	judge_read(key, read, stmt);
	if (SettingCrossPartitionQuery != CROSS_PARTITION_ALLOW && read->leaves > 1 && read->routing.kind == ROUTING_FAN_OUT)
		report(key, &read->routing, read, stmt);
}

/* Whether a statement counts for a container as what this read is: by the widest, and of equals the first. */
static bool
is_widest(const Read *read, List *list)
{
	ListCell   *cell;
	bool		before = true;

	foreach(cell, list)
	{
		const Read *other = lfirst(cell);

		if (other == read)
			before = false;
		else if (other->judged && other->relid == read->relid &&
				 (other->routing.kind > read->routing.kind || (before && other->routing.kind == read->routing.kind)))
			return false;
	}
	return read->judged;
}

static void
count_read(const Read *read, List *list)
{
	const RoutingKey *key = RoutingKeyCached(read->relid);

	if (key != NULL && is_widest(read, list))
		RoutingStatsCount(key, &read->routing);
}

static void
look_at_statement(QueryDesc *query)
{
	Reads		reads = {containers_of(query->plannedstmt), NULL};
	ListCell   *cell;

	if (reads.list == NIL)
		return;
	reads.parents = PlanParents(query->plannedstmt);
	look_at_node(query->planstate, &reads);
	foreach(cell, reads.list)
		check_read(lfirst(cell), query->plannedstmt);
	if (RoutingStatsWanted())
		foreach(cell, reads.list)
			count_read(lfirst(cell), reads.list);
}

/*
 * Whether the executor starts a part of a plan that the leader has started.  A
 * restricted operation in a worker is that of a utility command, which may have
 * no plan, such as the building of an index.
 */
static bool
is_part(void)
{
	bool		first = !has_part;

	if (!IsParallelWorker())
		return false;
	has_part = true;
	return first || InSecurityRestrictedOperation();
}

/* ExecutorStart_hook */
static void
start_statement(QueryDesc *query, int eflags)
{
	bool		part = is_part();

	if (chained_start)
		chained_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);

	if (is_wanted() && utilities == 0 && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !part && !InNoForceRLSOperation())
	{
		MemoryContext old = MemoryContextSwitchTo(query->estate->es_query_cxt);

		look_at_statement(query);
		MemoryContextSwitchTo(old);
	}
}

/* Whether the statements within a utility command are those of the user. */
static bool
runs_statements(Node *command)
{
	switch (nodeTag(command))
	{
		case T_CallStmt:
		case T_ConstraintsSetStmt:	/* deferred triggers */
		case T_CopyStmt:
		case T_CreateTableAsStmt:
		case T_DeclareCursorStmt:
		case T_DoStmt:
		case T_ExecuteStmt:
		case T_ExplainStmt:
		case T_FetchStmt:
		case T_TransactionStmt:	/* deferred triggers */
			return true;
		default:
			return false;
	}
}

static void
chain_utility(PlannedStmt *stmt, const char *text, bool read_only, ProcessUtilityContext context,
			  ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	if (chained_utility)
		chained_utility(stmt, text, read_only, context, params, environment, dest, completion);
	else
		standard_ProcessUtility(stmt, text, read_only, context, params, environment, dest, completion);
}

/* ProcessUtility_hook */
static void
run_utility(PlannedStmt *stmt, const char *text, bool read_only, ProcessUtilityContext context,
			ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	if (!is_wanted() || runs_statements(stmt->utilityStmt))
	{
		chain_utility(stmt, text, read_only, context, params, environment, dest, completion);
		return;
	}
	utilities++;
	PG_TRY();
	{
		chain_utility(stmt, text, read_only, context, params, environment, dest, completion);
	}
	PG_FINALLY();
	{
		utilities--;
	}
	PG_END_TRY();
}

void
CrossPartitionStart(void)
{
	chained_start = ExecutorStart_hook;
	ExecutorStart_hook = start_statement;
	chained_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
}
