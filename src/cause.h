/*
 * cause.h
 *		Why conditions on a key column don't choose partitions.
 */
#ifndef PARTITIONKEY_CAUSE_H
#define PARTITIONKEY_CAUSE_H

#include "cast.h"
#include "routing.h"

typedef enum CauseKind
{
	CAUSE_NONE,					/* no condition on the column */
	CAUSE_OR,					/* OR with something that isn't the column */
	CAUSE_PATTERN,				/* LIKE, regular expression */
	CAUSE_RANGE,				/* < BETWEEN ... */
	CAUSE_INEQUALITY,			/* <>, NOT IN, IS DISTINCT FROM */
	CAUSE_FUNCTION,				/* the column inside an expression */
	CAUSE_CAST,					/* the column cast by the user */
	CAUSE_TYPE,					/* the other side has a type that makes PostgreSQL cast the column, or another operator */
	CAUSE_COLLATION,
	CAUSE_NOT_DISTINCT,			/* IS NOT DISTINCT FROM */
	CAUSE_IS_TRUE,				/* IS TRUE, IS NOT FALSE ..., of the column or an equality */
	CAUSE_NULL_TEST,			/* IS [NOT] NULL */
	CAUSE_OPERATOR,				/* another operator */
	CAUSE_VOLATILE,				/* the value may differ from row to row */
	CAUSE_SAME_ROW,				/* compared with another column of the row, or a sub-select for it */
	CAUSE_ARRAY,				/* elements of an array that come too late for pruning */
	CAUSE_SUBSELECT,
	CAUSE_JOIN,
	CAUSE_LATE,					/* in an outer join that keeps all rows of the table, or outside of the sub-select that reads it */
	CAUSE_UNPRUNED				/* would prune, but did not */
} CauseKind;

typedef struct Cause
{
	CauseKind	kind;
	const char *what;			/* the operator, function, type .., or NULL */
	Oid			type;			/* to which the column is cast, or that of the values */
	CastFit		fit;			/* of this type, or collation */
	Node	   *value;			/* or pattern; NULL where it doesn't matter */
} Cause;

/*
 * Judge the conditions on the key column of a level; the first that says something
 * counts, and one on the rows before those that come later (joins).
 */
extern Cause CauseOf(const RoutingKey *key, int level, List *conditions, List *joins);

/* In words; the hint may be NULL. */
extern char *CauseReason(const RoutingKey *key, int level, Cause cause);
extern char *CauseHint(const RoutingKey *key, int level, CmdType command, Cause cause);

#endif							/* PARTITIONKEY_CAUSE_H */
