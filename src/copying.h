/*
 * copying.h
 *		Copying the rows of leaves while applications write to them.
 */
#ifndef PARTITIONKEY_COPYING_H
#define PARTITIONKEY_COPYING_H

#include "work.h"

/*
 * Copy the rows of all sources to the target, in many transactions, and analyze
 * it.  The triggers that repeat writes (dualwrite.h) are there already.
 */
extern void CopySources(Work *w);

#endif							/* PARTITIONKEY_COPYING_H */
