/*
 * planscan.h
 *		The scans of tables in a finished plan.
 */
#ifndef PARTITIONKEY_PLANSCAN_H
#define PARTITIONKEY_PLANSCAN_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/plannodes.h"

/* For each entry of the plan's range table the one that it is a partition of, or 0; palloc'd. */
extern Index *PlanParents(const PlannedStmt *stmt);

/* The range table entry that a node scans, or 0 if it scans no table or is a part of such a node. */
extern Index PlanScanRti(const Plan *plan);

/* A scan of a table or of one of its partitions, or NULL. */
extern Plan *PlanFindScan(const PlannedStmt *stmt, Index rti);

/* The range table entries that a plan scans, also those that it joins elsewhere. */
extern Bitmapset *PlanScanned(const PlannedStmt *stmt);

/* Those of partitioned tables among whose partitions it chooses when it starts, or while it runs. */
extern Bitmapset *PlanPruned(const PlannedStmt *stmt);

/* The conditions on a table's rows, with varno 1, that are applied outside of the sub-selects that read it. */
extern List *PlanOutsideConditions(const PlannedStmt *stmt, Index rti);

/*
 * These, and what the joins above that scan say of its rows: their clauses, under NOT
 * where rows that meet them are left out; Vars of other tables with another varno.
 */
extern List *PlanJoinConditions(const PlannedStmt *stmt, Index rti);

/*
 * The conditions that a scan applies, as an implicit AND, with varno 1 and the
 * column numbers of a table that the scanned one is a partition of.
 */
extern List *PlanScanConditions(const PlannedStmt *stmt, const Plan *scan, Oid relid);

#endif							/* PARTITIONKEY_PLANSCAN_H */
