/*
 * fitness.h
 *		Whether leaves are such that others can take their place.
 */
#ifndef PARTITIONKEY_FITNESS_H
#define PARTITIONKEY_FITNESS_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "registry.h"

/*
 * Refuse to take partitions (OIDs of leaves, or of one node) out of the tree of a
 * container if what takes their place could not have all that they have, or if
 * they are to become one leaf and do not have the same
 * (ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, with the statement that helps).
 * What is unique must include the column of the level that rows come apart or
 * together by (-1: not known yet).  Needs SPI.
 */
extern void FitnessRequire(const Container *container, List *partitions, int across);

/* Warn of all partitions that have another owner than the container. */
extern void FitnessWarnOwners(const Container *container);

/* As SQL: an index (a row of pg_index by that alias) in words, without the names of it and its table. */
#define INDEX_TEXT(i) \
	"(SELECT concat(CASE WHEN " i ".indisprimary THEN 'primary key' WHEN " i ".indisunique THEN 'unique index'" \
	"   WHEN " i ".indisexclusion THEN 'exclusion constraint' ELSE 'index' END, ' USING ', quote_ident(am.amname), ' ('," \
	"  (SELECT string_agg(concat(pg_get_indexdef(" i ".indexrelid, k, false)," \
	"   (SELECT ' COLLATE ' || l.oid::regcollation FROM pg_collation l WHERE l.oid = " i ".indcollation[k - 1] AND l.oid <> 'pg_catalog.\"default\"'::regcollation)," \
	"   (SELECT concat(' ', opcnamespace::regnamespace, '.', quote_ident(opcname)) FROM pg_opclass WHERE oid = " i ".indclass[k - 1]" \
	"    AND (NOT opcdefault OR opcnamespace <> 'pg_catalog'::regnamespace))," \
	"   (SELECT ' ' || attoptions::text FROM pg_attribute WHERE attrelid = " i ".indexrelid AND attnum = k)," \
	"   CASE " i ".indoption[k - 1] & 3 WHEN 1 THEN ' DESC NULLS LAST' WHEN 2 THEN ' NULLS FIRST' WHEN 3 THEN ' DESC' END," \
	"   (SELECT ' WITH ' || conexclop[k]::regoperator FROM pg_constraint WHERE conindid = " i ".indexrelid AND conexclop IS NOT NULL))," \
	"   ', ' ORDER BY k) FROM generate_series(1, " i ".indnkeyatts) k), ')'," \
	"  (SELECT ' INCLUDE (' || string_agg(pg_get_indexdef(" i ".indexrelid, k, false), ', ' ORDER BY k) || ')'" \
	"   FROM generate_series(" i ".indnkeyatts + 1, " i ".indnatts) k)," \
	"  CASE WHEN " i ".indnullsnotdistinct THEN ' NULLS NOT DISTINCT' END, ' WHERE ' || pg_get_expr(" i ".indpred, " i ".indrelid)," \
	"  CASE WHEN NOT " i ".indimmediate THEN ' DEFERRABLE' END, CASE WHEN NOT " i ".indisvalid THEN ' (invalid)' END)" \
	" FROM pg_class r JOIN pg_am am ON am.oid = r.relam WHERE r.oid = " i ".indexrelid)"

/* As SQL: that index n is defined like index i, of another table and by another name. */
#define INDEXES_ALIKE		INDEX_TEXT("n") " = " INDEX_TEXT("i")

#endif							/* PARTITIONKEY_FITNESS_H */
