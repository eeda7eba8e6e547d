/*
 * split.c
 *		Dividing leaves and putting them together again, as procedures.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "change.h"
#include "compat.h"
#include "division.h"
#include "limits.h"
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
	List	   *found = SqlStrings("SELECT format('Foreign key %%I of table %%s refers to it.', conname, conrelid::regclass) FROM pg_constraint"
								   " WHERE contype = 'f' AND confrelid IN (SELECT relid FROM pg_partition_tree(%u)) AND conparentid = 0", container->relid);

	if (found != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partitions of \"%s\" cannot be exchanged, because a foreign key refers to it", get_rel_name(container->relid)),
				 errdetail("%s", (char *) linitial(found)),
				 errhint("Drop the foreign key.")));
	found = SqlStrings("SELECT format('Publication %%I publishes all tables%%s.', p.pubname, CASE WHEN puballtables THEN '' ELSE ' of the schema' END)"
					   " FROM pg_publication p WHERE puballtables OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = p.oid AND pnnspid = %u)",
					   get_rel_namespace(container->relid));
	if (found != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partitions of \"%s\" cannot be exchanged, because the tables that are made for it would be published", get_rel_name(container->relid)),
				 errdetail("%s", (char *) linitial(found)),
				 errhint("Publish tables by name, with publish_via_partition_root.")));
}

/* split_partition(partition regclass, path text), a procedure */
PG_FUNCTION_INFO_V1(split_partition);
Datum
split_partition(PG_FUNCTION_ARGS)
{
	Change		change = {.kind = "split"};
	SqlActing	acting;

	SqlBeginProcedure(fcinfo, "split_partition");
	SqlRequireArgument(fcinfo, 0, "partition");
	change.container = container_of(PG_GETARG_OID(0));
	acting = SqlBeginAs(RelationOwner(change.container->relid));
	check_obstacles(change.container);
	DivisionChoose(&change, PG_GETARG_OID(0), PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1)));
	SqlEndAs(acting);
	ChangeRun(&change);
	SPI_finish();
	PG_RETURN_VOID();
}

static void
check_halves(const Container *container, Oid a, Oid b)
{
	Oid			other = DivisionOtherHalf(container, a);

	if (other == b && a != b)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("partitions \"%s\" and \"%s\" are not the halves of one range", get_rel_name(a), get_rel_name(b)),
			 !OidIsValid(other) ? errhint("The other half of \"%s\" is divided.", get_rel_name(a)) :
			 get_rel_relkind(other) != RELKIND_RELATION ?
			 errhint("The other half of \"%s\" is divided further; merge its partitions first.", get_rel_name(a)) :
			 errhint("The other half of \"%s\" is \"%s\".", get_rel_name(a), get_rel_name(other))));
}

/* merge_partitions(a regclass, b regclass), a procedure */
PG_FUNCTION_INFO_V1(merge_partitions);
Datum
merge_partitions(PG_FUNCTION_ARGS)
{
	Change		change = {.kind = "merge"};
	Oid			a = PG_GETARG_OID(0);
	Oid			b = PG_GETARG_OID(1);
	SqlActing	acting;

	SqlBeginProcedure(fcinfo, "merge_partitions");
	SqlRequireArgument(fcinfo, 0, "a");
	SqlRequireArgument(fcinfo, 1, "b");
	change.container = container_of(a);
	(void) container_of(b);
	(void) DivisionLeaf(change.container, b);
	check_halves(change.container, a, b);
	acting = SqlBeginAs(RelationOwner(change.container->relid));
	check_obstacles(change.container);
	SqlEndAs(acting);
	DivisionMerge(&change, a, b);
	ChangeRun(&change);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * Run a change that may turn out to be impossible: then say so, and go on.
 * False if it was.
 */
static bool
run_or_skip(Change *change, Oid partition, void (*choose) (Change *change, Oid partition))
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = true;

	PG_TRY();
	{
		ChangeChoose(change, partition, choose);
		ChangeRun(change);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			PG_RE_THROW();
		FlushErrorState();
		SPI_rollback();
		MemoryContextSwitchTo(context);
		ereport(WARNING,
				(errmsg("%s", error->message),
				 error->detail ? errdetail("%s", error->detail) : 0));
		done = false;
	}
	PG_END_TRY();
	return done;
}

static void
choose_split(Change *change, Oid partition)
{
	SqlActing	acting = SqlBeginAs(RelationOwner(change->container->relid));

	check_obstacles(change->container);
	DivisionChoose(change, partition, NULL);
	SqlEndAs(acting);
}

static void
choose_merge(Change *change, Oid partition)
{
	SqlActing	acting = SqlBeginAs(RelationOwner(change->container->relid));

	check_obstacles(change->container);
	SqlEndAs(acting);
	DivisionMerge(change, partition, DivisionOtherHalf(change->container, partition));
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

		if (leaf->regular && !list_member_oid(skip, leaf->relid) && megabytes(leaf->relid) > SettingPhysicalLimit)
			return leaf->relid;
	}
	return InvalidOid;
}

/*
 * A leaf that is to be merged with its other half, or 0.  Only what splits have
 * divided is put together again, not the partitions that were asked for when
 * the container was made.
 */
static Oid
leaf_to_merge(const Container *container, List *skip)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Oid			other;

		if (!leaf->regular || list_member_oid(skip, leaf->relid) || !DivisionPlace(container, leaf->relid).own_node)
			continue;
		other = DivisionOtherHalf(container, leaf->relid);
		if (OidIsValid(other) && get_rel_relkind(other) == RELKIND_RELATION &&
			megabytes(leaf->relid) + megabytes(other) < SettingPhysicalLimit / 4.0)
			return leaf->relid;
	}
	return InvalidOid;
}

/* Split and merge what is due, one after the other, until nothing is left or possible. */
static void
maintain_all(const Container *container, const char *kind, Oid (*next) (const Container *container, List *skip),
			 void (*choose) (Change *change, Oid partition))
{
	List	   *skip = NIL;
	Oid			partition;

	while (OidIsValid(partition = next(container, skip)))
	{
		Change		change = {.kind = kind,.container = container};

		if (!run_or_skip(&change, partition, choose))
			skip = lappend_oid(skip, partition);
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
maintain_container(const Container *container)
{
	SqlActing	acting;

	(void) ChangeCleanup(container->relid);
	maintain_all(container, "split", leaf_to_split, choose_split);
	maintain_all(container, "merge", leaf_to_merge, choose_merge);
	acting = SqlBeginAs(RelationOwner(container->relid));
	SqlExecute("ANALYZE %s", QualifiedName(container->relid));
	/* Only a container of that size can have such keys; it takes a look at all rows. */
	if (SqlCount("SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree(%u)", container->relid) / 1024.0 / 1024.0
		> SettingLogicalLimit * 0.8)
		report_large_keys(container);
	SqlEndAs(acting);
	SPI_commit();
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
		containers = SqlOids("SELECT r.container FROM partitionkey.registry r JOIN pg_catalog.pg_class c ON c.oid = r.container"
							 " WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE') ORDER BY r.container::pg_catalog.oid");
	foreach(cell, containers)
	{
		Container  *container = ContainerLookup(lfirst_oid(cell), true);

		if (container != NULL)
			maintain_container(container);
	}
	SPI_finish();
	PG_RETURN_VOID();
}

/* isolate_key(container regclass, key jsonb), a procedure */
PG_FUNCTION_INFO_V1(isolate_key);
Datum
isolate_key(PG_FUNCTION_ARGS)
{
	Container  *container;
	uint64		positions[MAX_LEVELS];
	int			nlevels;

	SqlBeginProcedure(fcinfo, "isolate_key");
	SqlRequireArgument(fcinfo, 0, "container");
	SqlRequireArgument(fcinfo, 1, "key");
	RequireOwner(PG_GETARG_OID(0));
	container = ContainerLookup(PG_GETARG_OID(0), false);
	nlevels = ContainerKeyPositions(container, PG_GETARG_JSONB_P(1), positions);
	if (nlevels == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the key has no components"),
				 errhint("Give at least the value of the first level.")));
	for (;;)
	{
		Change		change = {.kind = "isolate",.container = container};
		SqlActing	acting = SqlBeginAs(RelationOwner(container->relid));
		bool		more;

		check_obstacles(container);
		more = DivisionIsolate(&change, positions, nlevels);
		SqlEndAs(acting);
		if (!more)
			break;
		ChangeRun(&change);
	}
	SPI_finish();
	PG_RETURN_VOID();
}

/* cleanup(container regclass), a procedure */
PG_FUNCTION_INFO_V1(cleanup);
Datum
cleanup(PG_FUNCTION_ARGS)
{
	int			remaining;

	SqlBeginProcedure(fcinfo, "cleanup");
	if (!PG_ARGISNULL(0))
		RequireOwner(PG_GETARG_OID(0));
	remaining = ChangeCleanup(PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0));
	if (remaining > 0)
		ereport(WARNING,
				(errmsg("%d operations could not be cleaned up, because their tables are in use", remaining),
				 errhint("CALL partitionkey.cleanup() later.")));
	SPI_finish();
	PG_RETURN_VOID();
}
