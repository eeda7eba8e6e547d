/*
 * predicate.h
 *		What statements compare the columns of a table with.
 */
#ifndef PARTITIONKEY_PREDICATE_H
#define PARTITIONKEY_PREDICATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * An expression over the table's row, its Vars with varno 1, that is compared
 * for equality with values that are known before the row is.
 */
typedef struct BoundExpression
{
	Node	   *expr;
	int			values;			/* how many; 0 if it isn't known until it runs: array parameter, sub-select, join */
	Node	   *value;			/* what it is compared with; NULL for a boolean that is a condition itself */
	Oid			operator;		/* the equality, with the expression on its left; invalid for such a boolean */
	Oid			collation;		/* under which it compares */
	bool		constant;		/* the planner knew the values */
	bool		array;			/* an array whose elements the planner did not know */
	bool		joined;			/* the values are those of other tables' rows: they limit what is read only where
								 * the plan looks up the table anew for each of these */
} BoundExpression;

/* One read of a table or of a partition that is itself partitioned, or (command CMD_INSERT) the rows that it is given. */
typedef struct PredicateScan
{
	Oid			relid;
	CmdType		command;		/* what is done with the rows */
	List	   *bound;			/* BoundExpression * */
	List	   *conditions;		/* all conditions on the rows alone; Vars of the table with varno 1 */
	List	   *joins;			/* conditions with other tables' rows, their Vars with other varnos; under NOT
								 * where rows that meet them are left out */
	PlannerInfo *root;			/* where it was planned; NULL for CMD_INSERT */
	PlannerInfo *min_max;		/* the query for a min or max that this is in, or NULL */
	RelOptInfo *rel;
	PlannedStmt *plan;
	Index		rti;			/* in the plan's range table; 0 if the plan does without the table */
} PredicateScan;

/* Begin to listen to the planner; called once, when the library is loaded. */
extern void PredicateStart(void);

/*
 * Parse, analyze with $n of any type, rewrite and plan a statement: one PredicateScan *
 * for each read.  Done with the rights of the current user, who
 * must have the privileges that running it takes; nothing of it is run.  Errors:
 * those of the statement itself; 42601 for none or several, 0A000 for one that
 * is not SELECT, INSERT, UPDATE, DELETE, MERGE or VALUES.
 *
 * Planning may run immutable functions.  A filter, which may be NULL, is asked
 * before that is done; a query that it says no to has no scans.
 */
typedef bool (*PredicateFilter) (Query *query, void *context);

extern List *PredicateScans(const char *query, PredicateFilter filter, void *context);

/* What clauses that must all hold bind (BoundExpression *), of the table with varno 1. */
extern List *PredicateBound(List *clauses);

/* Whether an expression has Vars of the table with varno 1; of others. */
extern bool PredicateOwn(Node *node);
extern bool PredicateForeign(Node *node);

/* Whether an expression has values that come from elsewhere in the plan, while it runs. */
extern bool PredicateIsLate(Node *node);

/* Whether an operator compares for equality. */
extern bool PredicateIsEquality(Oid operator);

#endif							/* PARTITIONKEY_PREDICATE_H */
