/*
 * faultcount.c
 *		Counting faulty items by what is wrong with them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "faultcount.h"

/* Where an item is: in a file, or a row of those that a statement inserts. */
static char *
place_of(const CosmosItem *item)
{
	if (item->file == NULL)
		return psprintf("row " INT64_FORMAT, item->line);
	return psprintf("%s, line " INT64_FORMAT ", byte " INT64_FORMAT, item->file, item->line, item->offset);
}

FaultCount *
FaultCountFind(const List *counts, const char *reason)
{
	ListCell   *cell;

	foreach(cell, counts)
	{
		FaultCount *count = lfirst(cell);

		if (strcmp(count->reason, reason) == 0)
			return count;
	}
	return NULL;
}

List *
FaultCountAdd(List *counts, const CosmosItem *item, const ItemProblem *problem, MemoryContext context)
{
	FaultCount *count = FaultCountFind(counts, problem->reason);

	if (count == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		count = palloc0(sizeof(FaultCount));
		count->reason = problem->reason;
		count->first = psprintf("%s: %s", place_of(item), problem->detail);
		counts = lappend(counts, count);
		MemoryContextSwitchTo(old);
	}
	count->items++;
	return counts;
}

char *
FaultCountsBrief(const List *counts)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, counts)
	{
		FaultCount *count = lfirst(cell);

		appendStringInfo(&text, "%s%s: " INT64_FORMAT, text.len > 0 ? ", " : "", count->reason, count->items);
	}
	return text.data;
}

char *
FaultCountsFirst(const List *counts)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, counts)
	{
		FaultCount *count = lfirst(cell);

		appendStringInfo(&text, "%s%s: " INT64_FORMAT ", %s %s", text.len > 0 ? "\n" : "", count->reason, count->items,
						 count->items == 1 ? "in" : "the first one in", count->first);
	}
	return text.data;
}
