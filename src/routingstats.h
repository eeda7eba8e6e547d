/*
 * routingstats.h
 *		How many statements of each routing every container has met.
 */
#ifndef PARTITIONKEY_ROUTINGSTATS_H
#define PARTITIONKEY_ROUTINGSTATS_H

#include "routing.h"

/* Ask for shared memory, if the library is being preloaded; called once, when it is loaded. */
extern void RoutingStatsStart(void);

/* Whether statements of the session are to be counted. */
extern bool RoutingStatsWanted(void);

extern void RoutingStatsCount(const RoutingKey *key, const Routing *routing);

#endif							/* PARTITIONKEY_ROUTINGSTATS_H */
