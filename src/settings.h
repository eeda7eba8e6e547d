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
extern bool SettingIndexAllPaths;	/* an indexing policy's path for all properties makes an index */

#endif							/* PARTITIONKEY_SETTINGS_H */
