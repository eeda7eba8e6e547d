/*
 * split.c
 *		Dividing leaves and putting them together again, as procedures.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "change.h"
#include "compat.h"
#include "division.h"
#include "failure.h"
#include "fitness.h"
#include "isolated.h"
#include "limits.h"
#include "obstacle.h"
#include "privileges.h"
#include "settings.h"
#include "sql.h"

/* The container of a partition that the user names; he must own the container. */
static Container *
container_of(Oid partition)
{
	Container  *container;

	if (get_rel_name(partition) == NULL)
		RequireOwner(partition);
	container = DivisionContainer(partition);
	RequireOwner(container->relid);
	return container;
}

/* What keeps leaves from being exchanged. */
static void
check_obstacles(const Container *container)
{
	int			nestlevel = SqlBegin();
	List	   *found;

	RequireSchema(RelationOwner(container->relid), get_rel_namespace(container->relid));
	found = SqlStrings("SELECT format('Foreign key %%I of table %%s refers to it.', conname, conrelid::regclass) FROM pg_constraint"
					   " WHERE contype = 'f' AND confrelid IN (SELECT relid FROM pg_partition_tree(%u)) AND conparentid = 0", container->relid);

	if (found != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partitions of \"%s\" cannot be exchanged, because a foreign key refers to it", get_rel_name(container->relid)),
				 errdetail("%s", (char *) linitial(found)),
				 errhint("Drop the foreign key.")));
	ObstacleCheckPublications(container->relid, list_make1_oid(container->relid));
	SqlEnd(nestlevel);
}

/* Choose how to divide a leaf; a path forces the level.  Needs SPI. */
static void
choose_division(Change *change, Oid partition, const char *path)
{
	SqlActing	acting;

	(void) DivisionLeaf(change->container, partition);
	FitnessRequire(change->container, list_make1_oid(partition), -1);
	acting = SqlBeginAs(RelationOwner(change->container->relid));
	DivisionChoose(change, partition, path);
	SqlEndAs(acting);
	FitnessRequire(change->container, change->children, change->across);
}

/* split_partition(partition regclass, path text), a procedure */
PG_FUNCTION_INFO_V1(split_partition);
Datum
split_partition(PG_FUNCTION_ARGS)
{
	Change		change = {.kind = "split"};

	SqlBeginProcedure(fcinfo, "split_partition");
	SqlRequireArgument(fcinfo, 0, "partition");
	change.container = container_of(PG_GETARG_OID(0));
	check_obstacles(change.container);
	choose_division(&change, PG_GETARG_OID(0), PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ChangeRun(&change);
	SPI_finish();
	PG_RETURN_VOID();
}

/* The container of two leaves that the user names. */
static Container *
container_of_both(Oid a, Oid b)
{
	Container  *container = container_of(a);
	Container  *other = container_of(b);

	if (other->relid != container->relid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partitions \"%s\" and \"%s\" are of different containers", get_rel_name(a), get_rel_name(b)),
				 errdetail("They are of \"%s\" and \"%s\".", get_rel_name(container->relid), get_rel_name(other->relid))));
	return container;
}

/* A user who puts a key's partition together with another one wants that more than what he wanted before. */
static void
end_isolation(const Container *container, List *keys)
{
	ListCell   *cell;

	if (keys == NIL)
		return;
	foreach(cell, keys)
		ereport(NOTICE,
				(errmsg("key %s is no longer isolated in container \"%s\"",
						JsonbToCString(NULL, &((Jsonb *) lfirst(cell))->root, 0), get_rel_name(container->relid))));
	IsolatedForget(container, keys);
}

/* merge_partitions(a regclass, b regclass), a procedure */
PG_FUNCTION_INFO_V1(merge_partitions);
Datum
merge_partitions(PG_FUNCTION_ARGS)
{
	Change		change = {.kind = "merge"};
	Oid			a = PG_GETARG_OID(0);
	Oid			b = PG_GETARG_OID(1);
	List	   *keys;

	SqlBeginProcedure(fcinfo, "merge_partitions");
	SqlRequireArgument(fcinfo, 0, "a");
	SqlRequireArgument(fcinfo, 1, "b");
	change.container = container_of_both(a, b);
	check_obstacles(change.container);
	DivisionMerge(&change, a, b);
	FitnessRequire(change.container, change.children, change.across);
	keys = IsolatedBetween(change.container, a, b);
	ChangeRun(&change);
	end_isolation(change.container, keys);
	SPI_finish();
	PG_RETURN_VOID();
}

/* What maintain does to the leaves of a container, one after the other. */
typedef struct Upkeep
{
	const Container *container;
	const char *kind;			/* split or merge */
	const char *past;			/* what was done, in words */
	Oid			(*next) (const Container *container, List *skip);	/* a leaf where it is due, or 0 */
	List	   *(*leaves) (const Container *container, Oid partition);	/* those that it takes, and their node if it goes */
	void		(*choose) (Change *change, Oid partition);
} Upkeep;

/* One of these changes. */
typedef struct UpkeepStep
{
	Change		change;
	Oid			partition;
	List	   *leaves;
	void		(*choose) (Change *change, Oid partition);
} UpkeepStep;

static List *
leaf_alone(const Container *container, Oid partition)
{
	(void) container;
	return list_make1_oid(partition);
}

static List *
both_halves(const Container *container, Oid partition)
{
	Place		place = DivisionPlace(container, partition);
	Oid			other = DivisionOtherHalf(&place);

	return list_concat_unique_oid(list_make2_oid(partition, other), DivisionMerged(container, partition, other));
}

static void
choose_split(Change *change, Oid partition)
{
	choose_division(change, partition, NULL);
}

static void
choose_merge(Change *change, Oid partition)
{
	Place		place = DivisionPlace(change->container, partition);

	DivisionMerge(change, partition, DivisionOtherHalf(&place));
}

static void
choose_step(void *arg)
{
	UpkeepStep *step = arg;

	step->choose(&step->change, step->partition);
}

static void
require_fit(void *arg)
{
	UpkeepStep *step = arg;
	bool		merge = list_length(step->leaves) > 1;

	FitnessRequire(step->change.container, step->leaves, merge ? DivisionPlace(step->change.container, step->partition).level : -1);
}

/* Leaves that somebody has made so that they can't be exchanged are left alone. */
static void
check_step(void *arg)
{
	FailureContain(require_fit, arg);
	SPI_commit();
}

static void
run_step(void *arg)
{
	FailureContain(choose_step, arg);
	ChangeRun(&((UpkeepStep *) arg)->change);
}

static double
megabytes(Oid relid)
{
	return SqlCount("SELECT pg_total_relation_size(%u)", relid) / 1024.0 / 1024.0;
}

/* A leaf that is to be divided and wasn't found to be indivisible, or 0. */
static Oid
leaf_to_split(const Container *container, List *skip)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);

		if (leaf->regular && get_rel_relkind(leaf->relid) == RELKIND_RELATION &&
			!list_member_oid(skip, leaf->relid) && megabytes(leaf->relid) > SettingPhysicalLimit)
			return leaf->relid;
	}
	return InvalidOid;
}

/*
 * A leaf that is to be merged with its other half, or 0.  A level is merged down
 * to the ranges that the container was made with, and no isolated key with others.
 */
static Oid
leaf_to_merge(const Container *container, List *skip)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Place		place;
		Oid			other;

		if (!leaf->regular || get_rel_relkind(leaf->relid) != RELKIND_RELATION || list_member_oid(skip, leaf->relid))
			continue;
		place = DivisionPlace(container, leaf->relid);
		if (place.modulus / 2 < container->partitions[place.level])
			continue;
		other = DivisionOtherHalf(&place);
		if (OidIsValid(other) && get_rel_relkind(other) == RELKIND_RELATION &&
			megabytes(leaf->relid) + megabytes(other) < SettingPhysicalLimit / 4.0 &&
			IsolatedBetween(container, leaf->relid, other) == NIL)
			return leaf->relid;
	}
	return InvalidOid;
}

/* The next leaf where a change is due, if the container can be changed at all. */
static Oid
next_leaf(const Upkeep *upkeep, List *skip)
{
	int			nestlevel = SqlBegin();
	Oid			partition;

	/* Without a snapshot, partitions that are being detached would still be part of the tree. */
	EnsurePortalSnapshotExists();
	partition = upkeep->next(upkeep->container, skip);
	if (OidIsValid(partition))
		check_obstacles(upkeep->container);
	SqlEnd(nestlevel);
	return partition;
}

/* Do what is due until nothing is left or possible. */
static void
run_upkeep(void *arg)
{
	const Upkeep *upkeep = arg;
	List	   *skip = NIL;
	Oid			partition;

	while (OidIsValid(partition = next_leaf(upkeep, skip)))
	{
		UpkeepStep	step = {{.kind = upkeep->kind,.container = upkeep->container}, partition,
		upkeep->leaves(upkeep->container, partition), upkeep->choose};
		char	   *what = psprintf("partition \"%s\" of container \"%s\" was not %s",
									get_rel_name(partition), get_rel_name(upkeep->container->relid), upkeep->past);

		if (!FailureTell(NOTICE, check_step, &step, what) || !FailureWarn(run_step, &step, what))
			skip = list_concat(skip, step.leaves);
	}
}

/* Tell of full keys that are near the limit of a logical partition, or above it; prefixes have none. */
static void
report_large_keys(const Container *container)
{
	List	   *reports = SqlStrings("SELECT format('key %%s has %%s, which is %%s %%%% of partitionkey.logical_partition_limit',"
									 " key, pg_size_pretty(bytes), round(100 * share)) FROM (%s) k WHERE relieved_by IS NULL",
									 LimitsQuery(container));
	ListCell   *cell;

	foreach(cell, reports)
		ereport(WARNING,
				(errmsg("container \"%s\": %s", get_rel_name(container->relid), (char *) lfirst(cell))));
}

static void
look_at_rows(void *arg)
{
	const Container *container = arg;
	SqlActing	acting = SqlBeginAs(RelationOwner(container->relid));

	SqlExecute("ANALYZE %s", QualifiedName(container->relid));
	/* Only a container of that size can have such keys; it takes a look at all rows. */
	if (SqlCount("SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree(%u)", container->relid) / 1024.0 / 1024.0
		> SettingLogicalLimit * 0.8)
		report_large_keys(container);
	SqlEndAs(acting);
}

static void
gather_statistics(void *arg)
{
	FailureContain(look_at_rows, arg);
	SPI_commit();
}

/* Remove what operations left, and tell what could not be removed. */
static void
clean_up(Oid container)
{
	int			in_use = ChangeCleanup(container);

	if (in_use > 0)
		ereport(WARNING,
				(errmsg_plural("%d operation could not be cleaned up, because its tables are in use",
							   "%d operations could not be cleaned up, because their tables are in use", in_use, in_use),
				 errhint("CALL partitionkey.cleanup() later.")));
}

static void
maintain_container(Container *container)
{
	char	   *name = get_rel_name(container->relid);
	Upkeep		splits = {container, "split", "split", leaf_to_split, leaf_alone, choose_split};
	Upkeep		merges = {container, "merge", "merged", leaf_to_merge, both_halves, choose_merge};

	clean_up(container->relid);
	FitnessWarnOwners(container);
	(void) FailureWarn(run_upkeep, &splits, psprintf("partitions of container \"%s\" were not split", name));
	(void) FailureWarn(run_upkeep, &merges, psprintf("partitions of container \"%s\" were not merged", name));
	(void) FailureWarn(gather_statistics, container, psprintf("statistics of container \"%s\" were not gathered", name));
}

/* The containers of all roles that the user belongs to. */
static List *
own_containers(void)
{
	int			nestlevel = SqlBegin();
	List	   *containers = SqlOids("SELECT r.container FROM partitionkey.registry r JOIN pg_class c ON c.oid = r.container"
									 " WHERE pg_has_role(c.relowner, 'USAGE') ORDER BY r.container::oid");

	SqlEnd(nestlevel);
	return containers;
}

/* maintain(container regclass), a procedure */
PG_FUNCTION_INFO_V1(maintain);
Datum
maintain(PG_FUNCTION_ARGS)
{
	List	   *containers;
	ListCell   *cell;

	SqlBeginProcedure(fcinfo, "maintain");
	if (!PG_ARGISNULL(0))
	{
		RequireOwner(PG_GETARG_OID(0));
		(void) ContainerLookup(PG_GETARG_OID(0), false);
		containers = list_make1_oid(PG_GETARG_OID(0));
	}
	else
		containers = own_containers();
	foreach(cell, containers)
	{
		Container  *container = ContainerLookup(lfirst_oid(cell), true);

		/* It may be gone by now, or another's. */
		if (container != NULL && OwnsRelation(container->relid, GetUserId()))
			maintain_container(container);
	}
	SPI_finish();
	PG_RETURN_VOID();
}

/* Refuse a key that has no rows, or whose leaves can't be divided by the container's owner. */
static void
check_key(const Container *container, const uint64 *positions, int nlevels)
{
	SqlActing	acting;
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, positions, nlevels))
		FitnessRequire(container, list_make1_oid(((Leaf *) lfirst(cell))->relid), -1);
	acting = SqlBeginAs(RelationOwner(container->relid));
	DivisionCheckKey(container, positions, nlevels);
	SqlEndAs(acting);
}

/* The next change that isolates a key; false if there is none. */
static bool
isolate_step(const Container *container, const uint64 *positions, int nlevels, List **apart)
{
	Change		change = {.kind = "isolate",.container = container};
	SqlActing	acting;
	bool		more;

	/* As in next_leaf. */
	EnsurePortalSnapshotExists();
	check_obstacles(container);
	acting = SqlBeginAs(RelationOwner(container->relid));
	more = DivisionIsolate(&change, positions, nlevels, apart);
	SqlEndAs(acting);
	if (!more)
		return false;
	FitnessRequire(container, change.children, change.across);
	ChangeRun(&change);
	return true;
}

/* isolate_key(container regclass, key jsonb), a procedure */
PG_FUNCTION_INFO_V1(isolate_key);
Datum
isolate_key(PG_FUNCTION_ARGS)
{
	Container  *container;
	Jsonb	   *key;
	uint64		positions[MAX_LEVELS];
	int			nlevels;
	List	   *apart = NIL;

	SqlBeginProcedure(fcinfo, "isolate_key");
	SqlRequireArgument(fcinfo, 0, "container");
	SqlRequireArgument(fcinfo, 1, "key");
	RequireOwner(PG_GETARG_OID(0));
	container = ContainerLookup(PG_GETARG_OID(0), false);
	key = PG_GETARG_JSONB_P_COPY(1);
	nlevels = ContainerKeyPositions(container, key, positions);
	if (nlevels == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the key has no components"),
				 errhint("Give at least the value of the first level.")));
	check_key(container, positions, nlevels);
	while (isolate_step(container, positions, nlevels, &apart))
		;
	IsolatedRemember(container, key);
	SPI_finish();
	PG_RETURN_VOID();
}

/* cleanup(container regclass), a procedure */
PG_FUNCTION_INFO_V1(cleanup);
Datum
cleanup(PG_FUNCTION_ARGS)
{
	SqlBeginProcedure(fcinfo, "cleanup");
	if (!PG_ARGISNULL(0))
	{
		RequireOwner(PG_GETARG_OID(0));
		(void) ContainerLookup(PG_GETARG_OID(0), false);
	}
	clean_up(PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0));
	SPI_finish();
	PG_RETURN_VOID();
}
