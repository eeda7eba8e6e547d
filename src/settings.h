/*
 * settings.h
 *		The extension's settings, partitionkey.*
 */
#ifndef PARTITIONKEY_SETTINGS_H
#define PARTITIONKEY_SETTINGS_H

#include "postgres.h"

extern int	SettingLockTimeout; /* milliseconds that an operation waits for a lock, with others behind it */
extern int	SettingRetryPause;	/* milliseconds until it tries again */
extern int	SettingBatchRows;	/* rows copied in one transaction */
extern double SettingCopyEffort;	/* share of the time that it copies while applications write */
extern int	SettingPhysicalLimit;	/* size above which maintain divides a leaf, in megabytes */
extern int	SettingLogicalLimit;	/* size of a logical partition that is reported, in megabytes */
extern int	SettingCrossPartitionQuery; /* what a statement meets that reads partitions without the first level's value */
extern bool SettingTrackRouting;	/* whether statements are counted in routing_stats */
extern int	SettingStatsContainers; /* for how many containers there is room in it */

typedef enum CrossPartitionQuery
{
	CROSS_PARTITION_ALLOW,
	CROSS_PARTITION_NOTICE,
	CROSS_PARTITION_WARNING,
	CROSS_PARTITION_ERROR
} CrossPartitionQuery;
extern bool SettingIndexAllPaths;	/* an indexing policy's path for all properties makes an index */

#endif							/* PARTITIONKEY_SETTINGS_H */
