/*
 * belongings.h
 *		What a table has, as the commands that give it to another.
 *
 * Lists are of SQL commands (char *), palloc'd.  All of it needs SPI.
 */
#ifndef PARTITIONKEY_BELONGINGS_H
#define PARTITIONKEY_BELONGINGS_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/pg_list.h"

/* Constraints of the table's own that meet a condition on pg_constraint; indexes that no constraint has. */
extern List *ConstraintCommands(Oid relid, const char *condition);
extern List *IndexCommands(Oid relid);

/* Statistics targets of index columns; extended statistics. */
extern List *IndexOptionCommands(Oid relid);
extern List *StatisticsCommands(Oid relid);

/*
 * Triggers, rules, policies with the row security flags, and comments that meet
 * a condition on pg_description, for a table of the given qualified name.
 */
extern List *TriggerCommands(Oid relid, const char *table);
extern List *RuleCommands(Oid relid, const char *table);
extern List *PolicyCommands(Oid relid, const char *table);
extern List *CommentCommands(Oid relid, const char *table, const char *condition);

/* As SQL: that a row of pg_constraint is one of the extension's own checks, which are for the ranges of one leaf. */
#define OWN_CHECK			"(contype = 'c' AND conname ~ '^partitionkey_(bound$|valid_key|values_of_)')"

/* As SQL: what CREATE POLICY says of a row of pg_policy after the table's name. */
#define POLICY_TEXT \
	"concat(' AS ', CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END, ' FOR '," \
	" CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END," \
	" ' TO ', (SELECT string_agg(role, ', ' ORDER BY role) FROM unnest(polroles) r, LATERAL (SELECT CASE r WHEN 0 THEN 'public' ELSE quote_ident(pg_get_userbyid(r)) END) n(role))," \
	" ' USING (' || pg_get_expr(polqual, polrelid) || ')', ' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')')"

/* The clauses at the end of CREATE TABLE: access method and storage parameters. */
extern char *TableClauses(Form_pg_class table);

/* Give a table and its partitions another's statistics targets and options of columns. */
extern void CarryColumnOptions(Oid relid, Oid to);

/* Give a table made LIKE another its statistics targets of indexes, and comments on constraints. */
extern void CarryDetails(Oid relid, Oid to);

#endif							/* PARTITIONKEY_BELONGINGS_H */
