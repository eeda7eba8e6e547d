/*
 * isolated.c
 *		Keys that isolate_key has given partitions of their own.
 *
 * They are kept in the registry, as they were given, so that maintain does not
 * join them with their neighbours.  Which partitions that are is looked up in
 * the tree: a key may be divided further, and its halves merged again.
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "isolated.h"
#include "tree.h"

static List *
keys_of(const Container *container)
{
	Jsonb	   *array = RegistryIsolated(container->relid);
	List	   *keys = NIL;

	for (uint32 i = 0; i < JsonContainerSize(&array->root); i++)
		keys = lappend(keys, JsonbValueToJsonb(getIthJsonbValueFromContainer(&array->root, i)));
	return keys;
}

static bool
is_member(List *keys, Jsonb *key)
{
	ListCell   *cell;

	foreach(cell, keys)
		if (compareJsonbContainers(&((Jsonb *) lfirst(cell))->root, &key->root) == 0)
			return true;
	return false;
}

static void
store(const Container *container, List *keys)
{
	StringInfoData array;
	ListCell   *cell;

	initStringInfo(&array);
	foreach(cell, keys)
		appendStringInfo(&array, "%c%s", foreach_current_index(cell) == 0 ? '[' : ',',
						 JsonbToCString(NULL, &((Jsonb *) lfirst(cell))->root, 0));
	appendStringInfoString(&array, keys == NIL ? "[]" : "]");
	RegistrySetIsolated(container->relid, DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(array.data))));
}

/* One at a time: the lock keeps out others who change the list, and keeps nobody from reading or writing rows. */
static void
lock_keys(const Container *container)
{
	LockRelationOid(container->relid, ShareUpdateExclusiveLock);
}

void
IsolatedRemember(const Container *container, Jsonb *key)
{
	List	   *keys;

	lock_keys(container);
	keys = keys_of(container);
	if (!is_member(keys, key))
		store(container, lappend(keys, key));
}

void
IsolatedForget(const Container *container, List *forgotten)
{
	List	   *kept = NIL;
	ListCell   *cell;

	lock_keys(container);
	foreach(cell, keys_of(container))
		if (!is_member(forgotten, lfirst(cell)))
			kept = lappend(kept, lfirst(cell));
	store(container, kept);
}

/* Whether a leaf can hold a key. */
static bool
can_hold(List *leaves, Oid relid)
{
	ListCell   *cell;

	foreach(cell, leaves)
		if (((Leaf *) lfirst(cell))->relid == relid)
			return true;
	return false;
}

List *
IsolatedBetween(const Container *container, Oid a, Oid b)
{
	List	   *between = NIL;
	ListCell   *cell;

	foreach(cell, keys_of(container))
	{
		uint64		positions[MAX_LEVELS];
		int			nlevels = ContainerKeyPositions(container, lfirst(cell), positions);
		List	   *leaves = ContainerLeaves(container, positions, nlevels);

		/* If both can hold it, all that they hold may be rows of the key. */
		if (can_hold(leaves, a) != can_hold(leaves, b))
			between = lappend(between, lfirst(cell));
	}
	return between;
}
