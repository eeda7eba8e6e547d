/*
 * sql.h
 *		Running SQL from C with a safe search_path.
 */
#ifndef PARTITIONKEY_SQL_H
#define PARTITIONKEY_SQL_H

#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * Set search_path to pg_catalog, pg_temp, and other settings to what makes SQL
 * mean the same in every session, until SqlEnd is called with the result; a
 * transaction abort ends it as well.  SqlEnd also takes back what code of users
 * that ran in between has set.
 */
extern int	SqlBegin(void);
extern void SqlEnd(int nestlevel);

/* Allow only that statements read all partitions, and do not count them; until SqlEnd. */
extern int	SqlBeginFanOut(void);

/*
 * SqlBegin, acting as a table's owner in a security-restricted operation, since
 * code of his may run on the way.  Row security that is forced on owners hides no rows.  To be ended before the transaction is.
 */
typedef struct SqlActing
{
	Oid			user;
	int			security;
	int			nestlevel;
} SqlActing;

extern SqlActing SqlBeginAs(Oid owner);
extern void SqlEndAs(SqlActing acting);

/* The owner of a relation, or InvalidOid if there is no such relation. */
extern Oid	RelationOwner(Oid relid);

/*
 * What follows is refused outside SqlBegin and SqlEnd.
 *
 * Run a utility command, or one whose rows are not wanted.  Needs SPI.
 */
extern void SqlExecute(const char *format,...) pg_attribute_printf(1, 2);

/* Run a query that gives one bigint.  Needs SPI. */
extern int64 SqlCount(const char *format,...) pg_attribute_printf(1, 2);

/* Run a query and take the first column of its rows: text (char *) or OIDs.  Needs SPI. */
extern List *SqlStrings(const char *format,...) pg_attribute_printf(1, 2);
extern List *SqlOids(const char *format,...) pg_attribute_printf(1, 2);

/* Run a read-only query, whose rows are those of a function that returns a set (InitMaterializedSRF).  Needs SPI. */
extern void SqlIntoResult(FunctionCallInfo fcinfo, const char *query);

/* Begin a procedure that commits between its steps, and connect it to SPI. */
extern void SqlBeginProcedure(FunctionCallInfo fcinfo, const char *name);

/* Refuse NULL as an argument of a function that is not strict. */
extern void SqlRequireArgument(FunctionCallInfo fcinfo, int n, const char *name);

/* Run each command of a list. */
extern void SqlExecuteAll(List *commands);

/*
 * Run a command that names everything in full outside SqlBegin and SqlEnd, for
 * expressions of users' tables that are to see the session's settings.  What
 * they set is taken back.  Needs SPI.
 */
extern void SqlExecuteInSession(const char *format,...) pg_attribute_printf(1, 2);

/* "schema"."name", quoted where needed; palloc'd. */
extern char *QualifiedName(Oid relid);

/*
 * The name of what is named after a table: "orders_items".  If that would be too long, it is shortened, with a
 * hash of the table's name in it, so that tables whose names begin alike don't share one.
 */
extern char *NameAfter(Oid relid, const char *label);

/* Refuse a name, as SQL reads it, that has a part which would be cut (42622). */
extern void CheckNameLengths(const char *names);

#endif							/* PARTITIONKEY_SQL_H */
