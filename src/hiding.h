/*
 * hiding.h
 *		Tables of an operation, which are not for anybody else.
 */
#ifndef PARTITIONKEY_HIDING_H
#define PARTITIONKEY_HIDING_H

#include "postgres.h"

/*
 * Before tables are hidden or shown in a transaction: wait for those that drop
 * objects.  To be called before stronger locks are taken.
 */
extern void HidingLock(void);

/*
 * While it is not part of the container, a table counts as the extension's, so
 * that pg_dump leaves it out; and no longer.
 */
extern void HidingHide(Oid relid);
extern void HidingShow(Oid relid);

#endif							/* PARTITIONKEY_HIDING_H */
