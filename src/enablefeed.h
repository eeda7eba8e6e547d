/*
 * enablefeed.h
 *		Giving a container what its change feed needs.
 */
#ifndef PARTITIONKEY_ENABLEFEED_H
#define PARTITIONKEY_ENABLEFEED_H

#include "postgres.h"

/*
 * Make the trigger that fills the column etag of a table, and the index by which changes are found.  With the caller's
 * rights; needs SPI.
 */
extern void FeedCreateTrigger(Oid relid);
extern void FeedCreateIndex(Oid relid);

#endif							/* PARTITIONKEY_ENABLEFEED_H */
