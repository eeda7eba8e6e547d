/*
 * crosspartition.h
 *		Statements that read many partitions of a container, noticed as they start.
 */
#ifndef PARTITIONKEY_CROSSPARTITION_H
#define PARTITIONKEY_CROSSPARTITION_H

/* Set the hooks; called once, when the library is loaded. */
extern void CrossPartitionStart(void);

#endif							/* PARTITIONKEY_CROSSPARTITION_H */
