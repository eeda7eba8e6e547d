/*
 * workload.h
 *		The queries of a table, and which of them a key would serve.
 */
#ifndef PARTITIONKEY_WORKLOAD_H
#define PARTITIONKEY_WORKLOAD_H

#include "utils/array.h"
#include "utils/rel.h"

#include "candidate.h"

typedef struct Workload Workload;

/* The workload of given queries (text[]); one that can't be planned is an error that names it. */
extern Workload *WorkloadFromQueries(Relation rel, ArrayType *queries);

/*
 * That of pg_stat_statements, by calls; NULL if it is not there.  Statements that can't
 * be planned as they are here are left out, with a NOTICE of their number.
 */
extern Workload *WorkloadFromStatistics(Relation rel);

/* Set what a candidate's queried, single, prefix, fan_out and updated are. */
extern void WorkloadMeasure(const Workload *workload, const Sample *sample, Candidate *candidate);

/* Order the levels of a key by how many queries give a value for them; false if they are in that order. */
extern bool WorkloadReorder(const Workload *workload, const Sample *sample, const Candidate *candidate, int *paths);

#endif							/* PARTITIONKEY_WORKLOAD_H */
