/*
 * snapshots.h
 *		Waiting until all can see what has been copied.
 */
#ifndef PARTITIONKEY_SNAPSHOTS_H
#define PARTITIONKEY_SNAPSHOTS_H

#include "work.h"

/*
 * Wait until every snapshot in this database, and those that standbys report
 * (hot_standby_feedback), sees what has been copied.  Gives way to one whose
 * snapshot is waited for, and who waits for the leaf himself.
 */
extern void SnapshotsWait(Work *w);

#endif							/* PARTITIONKEY_SNAPSHOTS_H */
