/*
 * dualwrite.h
 *		Writing the changes of a leaf to the tables that will take its place.
 */
#ifndef PARTITIONKEY_DUALWRITE_H
#define PARTITIONKEY_DUALWRITE_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* PostgreSQL fires triggers by their names: this one comes before those of users and of foreign keys, which may write, too. */
#define DUAL_WRITE_TRIGGER	"!partitionkey_dual_write"

/*
 * The unique index by which rows of a leaf are found again: the primary key, or
 * another one of the container's over columns that are not null.  InvalidOid if
 * there is none.
 */
extern Oid	DualWriteIndex(Oid leaf);

/* The columns of that index as ON CONFLICT takes exactly those: with collations and operator classes. */
extern char *DualWriteArbiter(Oid index);

/* The columns of a table that are written (char *). */
extern List *DualWriteColumns(Oid relid);

/* Names as SQL: prefix"a", prefix"b"; palloc'd. */
extern char *DualWriteList(List *names, const char *prefix);

/* Put the trigger on a leaf, or take it away.  Takes the locks that CREATE and DROP TRIGGER do.  Need SPI. */
extern void DualWriteStart(Oid leaf, Oid target, int64 operation);
extern void DualWriteStop(Oid leaf);

/*
 * A transaction that copies rows holds this lock, so that those that see only
 * what was there when they began can wait for it before they write.
 */
extern void DualWriteLockCopy(int64 operation);

#endif							/* PARTITIONKEY_DUALWRITE_H */
