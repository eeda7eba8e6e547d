/*
 * workload.h
 *		The queries of a table, and which of them a key would serve.
 */
#ifndef PARTITIONKEY_WORKLOAD_H
#define PARTITIONKEY_WORKLOAD_H

#include "utils/array.h"
#include "utils/rel.h"

#include "extract.h"

typedef struct Workload Workload;

/* The workload of given queries (text[]).  One that can't be planned is an error that names it. */
extern Workload *WorkloadFromQueries(Relation rel, ArrayType *queries);

/*
 * The workload that pg_stat_statements has seen, by numbers of calls; NULL if it is
 * not there.  Statements that can't be planned as they stand there are left out, and
 * so are those of other users with functions that the caller need not trust; their number
 * is told.  Needs SPI.
 */
extern Workload *WorkloadFromStatistics(Relation rel);

/* Whether there are queries that read the table. */
extern bool WorkloadReads(const Workload *workload);

/*
 * The shares of these queries that read one logical partition, those of a prefix, and
 * all, if the key has some paths (Extract *).
 */
extern void WorkloadShares(const Workload *workload, Extract *const *key, int levels,
						   double *single, double *prefix, double *fan_out);

/* The share of these queries that give values for a path. */
extern double WorkloadGives(const Workload *workload, const Extract *path);

/* Whether a statement sets the column that is a path. */
extern bool WorkloadUpdates(const Workload *workload, const Extract *path);

#endif							/* PARTITIONKEY_WORKLOAD_H */
