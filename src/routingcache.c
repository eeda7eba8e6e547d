/*
 * routingcache.c
 *		What has to be known of containers to judge statements, kept for the session.
 *
 * It is asked for each partitioned table of each statement that is checked.  An
 * entry holds until something of the table changes, its partitions included;
 * the registry tells the caches of a change as well.
 */
#include "postgres.h"

#include "commands/extension.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "routing.h"

typedef struct Entry
{
	Oid			relid;			/* hash key */
	bool		valid;
	bool		changed;		/* since it began to be read */
	MemoryContext context;		/* of the key */
	RoutingKey *key;			/* NULL if it is no container */
} Entry;

static HTAB *entries = NULL;

static void
forget(Entry *entry)
{
	entry->valid = false;
	entry->changed = true;
}

/* Relation cache callback; InvalidOid is all. */
static void
invalidate(pg_attribute_unused() Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;

	if (OidIsValid(relid))
	{
		entry = hash_search(entries, &relid, HASH_FIND, NULL);
		if (entry)
			forget(entry);
		return;
	}
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		forget(entry);
}

static void
start(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Entry), .hcxt = CacheMemoryContext};

	entries = hash_create("partitionkey containers", 32, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
}

/* If preloaded, the library is in databases without the extension too, where a registry is not to be trusted. */
static bool
is_container(Oid relid)
{
	return OidIsValid(get_extension_oid("partitionkey", true)) && ContainerLookup(relid, true) != NULL;
}

/* Read a container's facts into a context of their own. */
static void
load(Entry *entry)
{
	MemoryContext old;

	if (entry->context)
		MemoryContextDelete(entry->context);
	entry->context = NULL;
	entry->key = NULL;
	entry->changed = false;
	if (is_container(entry->relid))
	{
		entry->context = AllocSetContextCreate(CacheMemoryContext, "partitionkey container", ALLOCSET_SMALL_SIZES);
		old = MemoryContextSwitchTo(entry->context);
		entry->key = RoutingKeyOf(ContainerLookup(entry->relid, false));
		MemoryContextSwitchTo(old);
	}
	entry->valid = !entry->changed;
}

const RoutingKey *
RoutingKeyCached(Oid relid)
{
	Entry	   *entry;
	bool		found;

	if (entries == NULL)
		start();
	entry = hash_search(entries, &relid, HASH_ENTER, &found);
	if (!found)
	{
		entry->valid = false;
		entry->context = NULL;
	}
	if (!entry->valid)
		load(entry);
	return entry->key;
}
