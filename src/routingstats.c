/*
 * routingstats.c
 *		How many statements of each routing every container has met.
 *
 * Counters are in shared memory of a fixed size, which there is only if the
 * library is preloaded, in a hash table by database and container.  The table's
 * lock is taken shared to find an entry and to count in it, by atomic
 * additions, and exclusively to add an entry or to set all to zero.  A container
 * that finds no room is not counted.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "routingstats.h"
#include "settings.h"

#define LEVEL_SETS			(1 << MAX_LEVELS)

/* From this share of statements without the first level on there is advice. */
#define ADVISED_SHARE		0.05

typedef struct StatsKey
{
	Oid			database;
	Oid			container;
} StatsKey;

typedef struct StatsEntry
{
	StatsKey	key;
	TimestampTz since;
	pg_atomic_uint64 kinds[ROUTING_KINDS];
	pg_atomic_uint64 sets[LEVEL_SETS];	/* by which levels were bound, bit 0 being the first */
} StatsEntry;

typedef struct StatsShared
{
	LWLock	   *lock;
	pg_atomic_flag full;		/* that there is no room was logged */
} StatsShared;

static StatsShared *shared = NULL;
static HTAB *entries = NULL;
static shmem_request_hook_type chained_request = NULL;
static shmem_startup_hook_type chained_startup = NULL;

/* shmem_request_hook */
static void
request(void)
{
	if (chained_request)
		chained_request();
	RequestAddinShmemSpace(add_size(MAXALIGN(sizeof(StatsShared)), hash_estimate_size(SettingStatsContainers, sizeof(StatsEntry))));
	RequestNamedLWLockTranche("partitionkey", 1);
}

/* shmem_startup_hook */
static void
startup(void)
{
	HASHCTL		control = {.keysize = sizeof(StatsKey), .entrysize = sizeof(StatsEntry)};
	bool		found;

	if (chained_startup)
		chained_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("partitionkey routing", sizeof(StatsShared), &found);
	if (!found)
	{
		shared->lock = &GetNamedLWLockTranche("partitionkey")->lock;
		pg_atomic_init_flag(&shared->full);
	}
	entries = ShmemInitHash("partitionkey routing of containers", SettingStatsContainers, SettingStatsContainers,
							&control, HASH_ELEM | HASH_BLOBS);
	LWLockRelease(AddinShmemInitLock);
}

void
RoutingStatsStart(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	chained_request = shmem_request_hook;
	shmem_request_hook = request;
	chained_startup = shmem_startup_hook;
	shmem_startup_hook = startup;
}

bool
RoutingStatsWanted(void)
{
	return SettingTrackRouting && shared != NULL;
}

static void
clear(StatsEntry *entry)
{
	entry->since = GetCurrentTimestamp();
	for (int i = 0; i < ROUTING_KINDS; i++)
		pg_atomic_write_u64(&entry->kinds[i], 0);
	for (int i = 0; i < LEVEL_SETS; i++)
		pg_atomic_write_u64(&entry->sets[i], 0);
}

/* Add a container; false if there is no room. */
static bool
add_entry(const StatsKey *key)
{
	StatsEntry *entry;
	bool		found = true;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	entry = hash_get_num_entries(entries) < SettingStatsContainers ? hash_search(entries, key, HASH_ENTER_NULL, &found) : NULL;
	if (entry != NULL && !found)
	{
		for (int i = 0; i < ROUTING_KINDS; i++)
			pg_atomic_init_u64(&entry->kinds[i], 0);
		for (int i = 0; i < LEVEL_SETS; i++)
			pg_atomic_init_u64(&entry->sets[i], 0);
		clear(entry);
	}
	LWLockRelease(shared->lock);
	if (entry == NULL && pg_atomic_test_set_flag(&shared->full))
		ereport(LOG,
				(errmsg("partitionkey.routing_stats has no room for another container"),
				 errhint("Raise partitionkey.routing_stats_containers, or forget dropped ones by partitionkey.routing_stats_reset().")));
	return entry != NULL;
}

/* Count in a container's entry; false if it has none. */
static bool
count(const StatsKey *key, RoutingKind kind, int set)
{
	StatsEntry *entry;

	LWLockAcquire(shared->lock, LW_SHARED);
	entry = hash_search(entries, key, HASH_FIND, NULL);
	if (entry != NULL)
	{
		pg_atomic_fetch_add_u64(&entry->kinds[kind], 1);
		pg_atomic_fetch_add_u64(&entry->sets[set], 1);
	}
	LWLockRelease(shared->lock);
	return entry != NULL;
}

void
RoutingStatsCount(const RoutingKey *key, const Routing *routing)
{
	StatsKey	stats_key = {MyDatabaseId, key->container->relid};
	int			set = 0;

	for (int i = 0; i < key->container->levels; i++)
		if (routing->bound[i])
			set |= 1 << i;
	if (!count(&stats_key, routing->kind, set) && add_entry(&stats_key))
		count(&stats_key, routing->kind, set);
}

static void
require_preload(void)
{
	if (shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partitionkey must be loaded via shared_preload_libraries to count statements"),
				 errhint("Add it to shared_preload_libraries in postgresql.conf and restart the server; all else works without.")));
}

/* How many statements bound a level. */
static uint64
level_count(const uint64 *sets, int level)
{
	uint64		n = 0;

	for (int set = 0; set < LEVEL_SETS; set++)
		if (set & 1 << level)
			n += sets[set];
	return n;
}

/* The paths, those of which most statements gave a value first; of equals the later. */
static char *
better_order(const Container *container, const uint64 *sets)
{
	StringInfoData paths;
	bool		used[MAX_LEVELS] = {false};

	initStringInfo(&paths);
	for (int i = 0; i < container->levels; i++)
	{
		int			best = -1;

		for (int level = 0; level < container->levels; level++)
			if (!used[level] && (best < 0 || level_count(sets, level) >= level_count(sets, best)))
				best = level;
		used[best] = true;
		appendStringInfo(&paths, "%s%s", i > 0 ? "," : "", container->paths[best]);
	}
	return paths.data;
}

/* What the figures suggest, or NULL. */
static char *
advice(const Container *container, const uint64 *sets)
{
	uint64		all = 0;
	uint64		first = level_count(sets, 0);
	bool		reorder = false;
	double		without;

	for (int set = 0; set < LEVEL_SETS; set++)
		all += sets[set];
	without = all == 0 ? 0 : (double) (all - first) / all;
	if (without < ADVISED_SHARE)
		return NULL;
	for (int level = 1; level < container->levels; level++)
		reorder |= level_count(sets, level) > first;
	if (reorder)
		return psprintf("%.0f %% of statements give no leading level (%s); order the paths %s",
						100 * without, container->paths[0], better_order(container, sets));
	return psprintf("%.0f %% of statements give no leading level (%s); add it to their conditions, or choose a key that they give",
					100 * without, container->paths[0]);
}

/* Whether the user may know of a container's statements: he may read it, or all statistics. */
static bool
may_see(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

/* One container's row; false if it is none any more, or not for the user's eyes. */
static bool
make_row(const StatsEntry *entry, Datum *values, bool *nulls)
{
	Container  *container = ContainerLookup(entry->key.container, true);
	uint64		sets[LEVEL_SETS];
	Datum		by_level[MAX_LEVELS];
	uint64		all = 0;
	char	   *words;

	if (container == NULL || !may_see(container->relid))
		return false;
	for (int i = 0; i < LEVEL_SETS; i++)
		all += sets[i] = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &entry->sets[i]));
	for (int i = 0; i < container->levels; i++)
		by_level[i] = Int64GetDatum(level_count(sets, i));
	words = advice(container, sets);
	values[0] = ObjectIdGetDatum(container->relid);
	values[1] = Int64GetDatum(all);
	for (int i = 0; i < ROUTING_KINDS; i++)
		values[2 + i] = Int64GetDatum(pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &entry->kinds[i])));
	values[6] = PointerGetDatum(construct_array_builtin(by_level, container->levels, INT8OID));
	values[7] = words ? CStringGetTextDatum(words) : (Datum) 0;
	nulls[7] = words == NULL;
	values[8] = TimestampTzGetDatum(entry->since);
	return true;
}

/* Copies of this database's entries: rows are made of them without the lock. */
static List *
copy_entries(void)
{
	List	   *copies = NIL;
	HASH_SEQ_STATUS scan;
	StatsEntry *entry;

	LWLockAcquire(shared->lock, LW_SHARED);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		StatsEntry *copy;

		if (entry->key.database != MyDatabaseId)
			continue;
		copy = palloc(sizeof(StatsEntry));
		*copy = *entry;
		copies = lappend(copies, copy);
	}
	LWLockRelease(shared->lock);
	return copies;
}

/* routing_counts() returns setof (container, statements, single, keys, prefix, fan_out, levels, advice, since) */
PG_FUNCTION_INFO_V1(routing_counts);
Datum
routing_counts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;

	require_preload();
	InitMaterializedSRF(fcinfo, 0);
	foreach(cell, copy_entries())
	{
		Datum		values[9];
		bool		nulls[9] = {false};

		if (make_row(lfirst(cell), values, nulls))
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* routing_stats_reset(container regclass): of one container, or NULL for all of the database, also those dropped */
PG_FUNCTION_INFO_V1(routing_stats_reset);
Datum
routing_stats_reset(PG_FUNCTION_ARGS)
{
	Oid			container = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	HASH_SEQ_STATUS scan;
	StatsEntry *entry;

	require_preload();
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		if (entry->key.database == MyDatabaseId && (entry->key.container == container || !OidIsValid(container)))
			hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	pg_atomic_clear_flag(&shared->full);
	LWLockRelease(shared->lock);
	PG_RETURN_VOID();
}
