#include "postgres.h"
#include "workload.h"
Workload *WorkloadFromQueries(Relation rel, ArrayType *queries) { (void) rel; (void) queries; return NULL; }
Workload *WorkloadFromStatistics(Relation rel) { (void) rel; return NULL; }
void WorkloadMeasure(const Workload *workload, const Sample *sample, Candidate *candidate) { (void) workload; (void) sample; (void) candidate; }
bool WorkloadReorder(const Workload *workload, const Sample *sample, const Candidate *candidate, int *paths) { (void) workload; (void) sample; (void) candidate; (void) paths; return false; }
