/*
 * predicate.h
 *		What the statements of users compare the columns of a table with.
 *
 * Taken from the planner, after it has expanded views, pulled up sub-selects,
 * folded constants and passed on equalities: what is seen here is what can
 * prune.
 */
#ifndef PARTITIONKEY_PREDICATE_H
#define PARTITIONKEY_PREDICATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * An expression over the table's row, its Vars with varno 1, that is compared
 * for equality with values that are known before the row is.
 */
typedef struct BoundExpression
{
	Node	   *expr;
	int			values;			/* how many; 0 if it isn't known until it runs: array parameter, sub-select, join */
	Oid			operator;		/* the equality, with the expression on its left; 0 for a condition that is the column itself */
	Oid			collation;		/* under which it compares */
	bool		constant;		/* the values were known to the planner */
	bool		listed;			/* an array whose elements can't be told apart when it is planned */
	bool		joined;			/* the values are those of another table's rows: they limit what is read only
								 * if the plan looks up the table once for each of these rows */
} BoundExpression;

/* One read of a table, or (command CMD_INSERT) the rows that it is given. */
typedef struct Scan
{
	Oid			relid;
	CmdType		command;		/* what is done with the rows */
	List	   *bound;			/* BoundExpression * */
	List	   *conditions;		/* all conditions on the table's rows; Vars of other tables have other varnos */
	List	   *joins;			/* the conditions with other tables' rows among them */
	PlannerInfo *root;			/* where it was planned, not for CMD_INSERT */
	RelOptInfo *rel;
	PlannedStmt *plan;
	Index		rti;			/* in the plan's range table */
} Scan;

/*
 * Parse, analyze with $n of any type, rewrite and plan a statement: one Scan *
 * for each read of each table, by the caller's rights.  Nothing of it is run.
 * Errors: those of the statement itself; 42601 for none or several, 0A000 for one that is no
 * SELECT, INSERT, UPDATE, DELETE or MERGE.
 */
extern List *PredicateScans(const char *query);

/* The same of conditions alone, given as a list of clauses that all must hold. */
extern List *PredicateBound(List *clauses);

#endif							/* PARTITIONKEY_PREDICATE_H */
