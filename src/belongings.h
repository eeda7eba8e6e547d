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

/* As SQL: that index n is defined like index i, of another table and by another name. */
#define INDEXES_ALIKE \
	"n.indisunique = i.indisunique AND n.indisprimary = i.indisprimary AND n.indimmediate = i.indimmediate AND n.indnkeyatts = i.indnkeyatts" \
	" AND pg_get_expr(n.indpred, n.indrelid) IS NOT DISTINCT FROM pg_get_expr(i.indpred, i.indrelid)" \
	" AND ARRAY(SELECT pg_get_indexdef(n.indexrelid, k, false) FROM generate_series(1, n.indnatts) k)" \
	"   = ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, false) FROM generate_series(1, i.indnatts) k)"

/* The clauses at the end of CREATE TABLE: access method and storage parameters. */
extern char *TableClauses(Form_pg_class table);

/* Give a table and its partitions another's statistics targets and options of columns. */
extern void CarryColumnOptions(Oid relid, Oid to);

/* Give a table made LIKE another its statistics targets of indexes, and comments on constraints. */
extern void CarryDetails(Oid relid, Oid to);

#endif							/* PARTITIONKEY_BELONGINGS_H */
