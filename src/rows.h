/*
 * rows.h
 *		Reading the rows of a table, a view or a container one by one.
 */
#ifndef PARTITIONKEY_ROWS_H
#define PARTITIONKEY_ROWS_H

#include "executor/tuptable.h"
#include "utils/rel.h"

/* What is done with a row, in a memory context that is reset after it. */
typedef void (*RowFunction) (TupleTableSlot *slot, void *state);

/* Open what rows can be read from, with the lock of a SELECT.  Error 42809. */
extern Relation RowsOpen(Oid relid);

/*
 * Read all columns (as SELECT * gives them) of the rows that the user may see,
 * with his own rights; clauses, with a blank before them, go behind FROM.  Needs SPI.
 */
extern void RowsRead(Relation rel, const char *clauses, RowFunction function, void *state);

/* How to read a sample. */
typedef struct RowsPlan
{
	const char *clause;			/* for RowsRead: TABLESAMPLE, or "" for all rows */
	double		fraction;		/* which part of the rows will come, about */
	double		rows;			/* how many the user sees by the statistics; 0 if that isn't known */
} RowsPlan;

/*
 * Plan to read about so many rows of a large table, or all of a small one, and of
 * what can't be sampled.  The same rows come each time, as long as they are not
 * changed.
 */
extern RowsPlan RowsPlanSample(Relation rel, int rows);

/* The stored size of a row, with its line pointer and what it has in TOAST. */
extern int64 RowBytes(TupleTableSlot *slot);

#endif							/* PARTITIONKEY_ROWS_H */
