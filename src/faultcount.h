/*
 * faultcount.h
 *		Counting faulty items by what is wrong with them.
 */
#ifndef PARTITIONKEY_FAULTCOUNT_H
#define PARTITIONKEY_FAULTCOUNT_H

#include "nodes/pg_list.h"

#include "itemrow.h"

typedef struct FaultCount
{
	const char *reason;
	int64		items;
	char	   *first;			/* where the first one is, and what is wrong with it */
} FaultCount;

/* Count an item in a list (FaultCount *), which grows in a memory context. */
extern List *FaultCountAdd(List *counts, const CosmosItem *item, const ItemProblem *problem, MemoryContext context);

/* The count of a reason, or NULL. */
extern FaultCount *FaultCountFind(const List *counts, const char *reason);

/* "broken JSON: 3, missing id: 1" */
extern char *FaultCountsBrief(const List *counts);

/* A line for each reason: "broken JSON: 3, the first one in a.json, line 3, byte 40: ..". */
extern char *FaultCountsFirst(const List *counts);

#endif							/* PARTITIONKEY_FAULTCOUNT_H */
