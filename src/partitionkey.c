/*
 * partitionkey.c
 *		The module and its settings.
 *
 * Nothing needs to be preloaded: the library is loaded when one of its functions
 * is first called, which is also when a partitioned table that uses its
 * operator classes is first opened.
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "compat.h"
#include "crosspartition.h"
#include "predicate.h"
#include "routingstats.h"
#include "settings.h"

PG_MODULE_MAGIC;

int			SettingLockTimeout = 100;
int			SettingRetryPause = 500;
int			SettingBatchRows = 2000;
double		SettingCopyEffort = 0.5;
int			SettingPhysicalLimit = 50 * 1024;
int			SettingLogicalLimit = 20 * 1024;
int			SettingCrossPartitionQuery = CROSS_PARTITION_ALLOW;
bool		SettingTrackRouting = true;
int			SettingStatsContainers = 1000;

static const struct config_enum_entry cross_partition_choices[] = {
	{"allow", CROSS_PARTITION_ALLOW, false},
	{"notice", CROSS_PARTITION_NOTICE, false},
	{"warning", CROSS_PARTITION_WARNING, false},
	{"error", CROSS_PARTITION_ERROR, false},
	{NULL, 0, false}
};
bool		SettingIndexAllPaths = false;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	DefineCustomIntVariable("partitionkey.lock_timeout",
							"How long an operation waits for a lock while others wait behind it.",
							"After that it steps back and tries again.",
							&SettingLockTimeout, 100, 1, 60000, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("partitionkey.retry_pause",
							"How long an operation pauses before it tries again to get a lock.",
							NULL,
							&SettingRetryPause, 500, 1, 3600000, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("partitionkey.batch_rows",
							"How many rows an operation copies in one transaction, about.",
							NULL,
							&SettingBatchRows, 2000, 1, 1000000, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("partitionkey.copy_effort",
							 "The share of the time that an operation copies while applications write to the partition.",
							 "1 is as fast as it goes; it pauses for the rest of the time after each batch.",
							 &SettingCopyEffort, 0.5, 0.01, 1, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("partitionkey.physical_partition_limit",
							"The size above which maintain divides a partition, with indexes and TOAST.",
							"Halves of a range that together are below a quarter of it are merged.",
							&SettingPhysicalLimit, 50 * 1024, 1, INT_MAX, PGC_USERSET, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("partitionkey.logical_partition_limit",
							"The size of a logical partition that is reported.",
							NULL,
							&SettingLogicalLimit, 20 * 1024, 1, INT_MAX, PGC_USERSET, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomEnumVariable("partitionkey.cross_partition_query",
							 "What to do with a statement that reads several partitions of a container without a value for the first path.",
							 "Allow it, report it as a notice or warning, or refuse it.",
							 &SettingCrossPartitionQuery, CROSS_PARTITION_ALLOW, cross_partition_choices, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("partitionkey.track_routing",
							 "Whether statements are counted in partitionkey.routing_stats.",
							 "Without effect unless the library is in shared_preload_libraries.",
							 &SettingTrackRouting, true, PGC_USERSET, 0, NULL, NULL, NULL);
	if (process_shared_preload_libraries_in_progress)
		DefineCustomIntVariable("partitionkey.routing_stats_containers",
								"For how many containers there is room in partitionkey.routing_stats.",
								"As many as fit are counted.",
								&SettingStatsContainers, 1000, 1, 1000000, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("partitionkey.index_all_paths",
							 "Whether a container made from a definition gets an index on all properties.",
							 "If so, it gets one where the definition's indexing policy includes all paths.",
							 &SettingIndexAllPaths, false, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("partitionkey");
	PredicateStart();
	CrossPartitionStart();
	RoutingStatsStart();
}
