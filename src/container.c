/*
 * container.c
 *		Declaring containers and dropping them.
 *
 * create_container checks everything it can before it changes anything; all it
 * does is one transaction.  The user needs to own the table.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "conversion.h"
#include "itemsview.h"
#include "layout.h"
#include "obstacle.h"
#include "path.h"
#include "privileges.h"
#include "registry.h"
#include "sql.h"
#include "tree.h"

/* Check again, once a table is locked: it may be gone or another's by now. */
static void
check_owner_again(Oid relid, const char *name)
{
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("\"%s\" has been dropped meanwhile", name)));
	RequireOwner(relid);
}

/*
 * A transaction that reads by one snapshot would copy what that shows, and lose
 * what others have committed since.
 */
static void
check_isolation(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("create_container cannot run in a transaction of isolation level REPEATABLE READ or SERIALIZABLE"),
				 errdetail("It would not see rows that were committed while it waited for its lock."),
				 errhint("Use BEGIN ISOLATION LEVEL READ COMMITTED.")));
}

/* Lock the user's table against everybody, and refuse what is no table of his own. */
static Relation
open_table(Oid relid)
{
	Relation	rel;
	char	   *name = get_rel_name(relid);

	RequireOwner(relid);
	rel = try_relation_open(relid, AccessExclusiveLock);
	check_owner_again(relid, name);
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table", RelationGetRelationName(rel)),
				 errhint("Only ordinary tables and partitioned tables can be made containers.")));
	if (IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("\"%s\" is a system catalog", RelationGetRelationName(rel))));
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("temporary table \"%s\" cannot be made a container", RelationGetRelationName(rel)),
				 errhint("Use an ordinary or an unlogged table.")));
	if (OidIsValid(rel->rd_rel->reloftype))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a table of type %s", RelationGetRelationName(rel), format_type_be(rel->rd_rel->reloftype)),
				 errhint("Use ALTER TABLE ... NOT OF first.")));
	if (rel->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partition of another table", RelationGetRelationName(rel)),
				 errhint("Name the partitioned table, or detach the partition first.")));
	RequireSchema(rel->rd_rel->relowner, RelationGetNamespace(rel));
	CheckTableNotInUse(rel, "make a container of");
	return rel;
}

/* Read the paths and find the column of each. */
static void
resolve_paths(Container *container, Relation rel, ArrayType *paths)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	deconstruct_array_builtin(paths, TEXTOID, &elements, &nulls, &n);
	if (n == 0 || ARR_NDIM(paths) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a container needs an array of one to %d partition key paths", MAX_LEVELS),
				 errhint("Write for example '{/tenant_id}' or '{/tenant_id,/user_id}'.")));
	if (n > MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d partition key paths are too many", n),
				 errdetail("A hierarchical partition key has at most %d levels, as in Cosmos DB.", MAX_LEVELS),
				 errhint("Keep the first ones, or join the values of several into one column.")));

	for (int i = 0; i < n; i++)
	{
		AttrNumber	column;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("partition key path %d is null", i + 1)));
		container->paths[i] = TextDatumGetCString(elements[i]);
		column = PathColumn(rel, container->paths[i]);
		container->columns[i] = pstrdup(NameStr(TupleDescAttr(RelationGetDescr(rel), column - 1)->attname));
		for (int j = 0; j < i; j++)
			if (strcmp(container->columns[i], container->columns[j]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_OBJECT),
						 errmsg("partition key paths \"%s\" and \"%s\" name the same column \"%s\"",
								container->paths[j], container->paths[i], container->columns[i])));
		container->levels = i + 1;
	}
}

/*
 * The hash that a partitioned root divides by.  It must be the key of the first
 * path alone, under one of our operator classes.
 */
static PositionHash
root_hash(Relation rel, const Container *container)
{
	NodeKey		key;
	Oid			typid = ContainerColumnType(container, 0);
	Container	probe = *container;

	if (NodeKeyOf(RelationGetRelid(rel), &key) &&
		key.collation == TupleDescAttr(RelationGetDescr(rel), key.attnum - 1)->attcollation &&
		strcmp(get_attname(RelationGetRelid(rel), key.attnum, false), container->columns[0]) == 0 &&
		ComponentTypeName(typid) != NULL)
		for (int hash = HASH_XXHASH; hash <= HASH_COSMOS; hash++)
		{
			probe.hash = hash;
			if (LayoutOperatorFamily(&probe, 0) == key.opfamily)
				return hash;
		}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("partitioned table \"%s\" does not divide as a container does", RelationGetRelationName(rel)),
			 errdetail("A container's root is partitioned by the hash of the first path's column alone, in the column's own collation, under an operator class of this extension."),
			 ComponentTypeName(typid) == NULL ? errhint("%s", ComponentTypeHint(typid)) :
			 errhint("Create it with PARTITION BY HASH (%s %s), or start from an ordinary table.",
					 quote_identifier(container->columns[0]), LayoutOperatorClass(container, 0))));
}

/*
 * How often each level is divided.  Of a tree that came with the root it is not
 * known how it was made: its largest partitions are taken for those it began with.
 */
static void
count_partitions(Container *container)
{
	List	   *leaves = ContainerLeaves(container, NULL, 0);

	for (int level = 0; level < container->levels; level++)
	{
		int			bits = MAX_RANGE_BITS;
		ListCell   *cell;

		foreach(cell, leaves)
			bits = Min(bits, ((Leaf *) lfirst(cell))->ranges[level].bits);
		container->partitions[level] = 1 << bits;
	}
}

/*
 * A root may come with its tree, as a restored one does when the dump was of
 * the table alone.  Then the tree must be a container's, and is kept.
 */
static bool
has_tree(const Container *container, bool partitions_given)
{
	List	   *leaves = ContainerLeaves(container, NULL, 0);
	ListCell   *cell;
	double		covered = 0;

	if (find_inheritance_children(container->relid, NoLock) == NIL)
		return false;
	if (partitions_given)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partitioned table \"%s\" has partitions already", get_rel_name(container->relid)),
				 errhint("Leave out the argument partitions to keep them.")));
	foreach(cell, leaves)
	{
		Leaf	   *leaf = lfirst(cell);
		double		share = 1;

		for (int i = 0; i < leaf->levels; i++)
			share = ldexp(share, -leaf->ranges[i].bits);
		covered += share;
		if (!leaf->regular)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("partition \"%s\" is not divided from \"%s\" as a container's are",
							get_rel_name(leaf->relid), get_rel_name(container->relid)),
					 errdetail("Each node divides by the hash of one key column alone, under the operator class of the root's hash, and each modulus is a power of two."),
					 errhint("Detach it, make the container, and insert its rows into it.")));
	}
	/* Shares are powers of two, so the sum is exact. */
	if (covered != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the partitions of \"%s\" leave out %.4g %% of the hash space",
						get_rel_name(container->relid), 100 * (1 - covered)),
				 errhint("Attach the partitions that are missing first.")));
	return true;
}

/* Prepare a partitioned root, and give it its partitions if it has none. */
static void
fill_root(const Container *container, const Layout *layout, bool partitions_given)
{
	int			nestlevel = SqlBegin();
	bool		has_partitions = has_tree(container, partitions_given);

	ConversionRequireKey(container);
	if (!has_partitions)
		LayoutCreate(container, get_rel_name(container->relid), layout, "", "");
	ConversionGuardLeaves(container);
	SqlEnd(nestlevel);
}

/* How many relations a partition brings: itself, a TOAST table with its index, and indexes. */
static int
relations_per_leaf(Relation rel)
{
	int			count = 1 + list_length(RelationGetIndexList(rel));

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
		if (TupleDescAttr(RelationGetDescr(rel), i)->attstorage != TYPSTORAGE_PLAIN)
			return count + 2;
	return count;
}

/* Read what create_container was asked for into a container and its layout. */
static void
read_declaration(FunctionCallInfo fcinfo, Relation rel, Container *container, Layout *layout)
{
	container->relid = RelationGetRelid(rel);
	resolve_paths(container, rel, PG_GETARG_ARRAYTYPE_P(1));
	LayoutFromDatum(layout, PG_GETARG_DATUM(2), PG_ARGISNULL(2), container->levels);
	container->hash = PG_ARGISNULL(3) ? HASH_XXHASH : PositionHashFromName(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		PositionHash hash = root_hash(rel, container);

		if (!PG_ARGISNULL(3) && hash != container->hash)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("partitioned table \"%s\" divides by hash \"%s\", not \"%s\"",
							RelationGetRelationName(rel), PositionHashName(hash), PositionHashName(container->hash)),
					 errhint("Leave out the argument hash to use the table's.")));
		container->hash = hash;
	}
	LayoutCheckLocks(layout, relations_per_leaf(rel));
}

/*
 * Make the declared table a container.  Planning and running SQL on it calls
 * functions that its owner wrote, so all of it is done as the owner, whoever
 * calls us.
 */
static void
make_container(Container *container, const Layout *layout, Oid owner, bool partitioned, bool partitions_given)
{
	Oid			user;
	int			security;
	int			nestlevel;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner, security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	nestlevel = SqlBegin();
	/* Only a table that is replaced can lose what it has. */
	if (!partitioned)
		ObstacleCheckTable(container->relid);
	ObstacleCheckKey(container);
	SqlEnd(nestlevel);
	if (partitioned)
		fill_root(container, layout, partitions_given);
	else
		ConvertTable(container, layout);
	count_partitions(container);
	SPI_finish();
	SetUserIdAndSecContext(user, security);
}

/* create_container(relation regclass, paths text[], partitions int[], hash text) returns regclass */
PG_FUNCTION_INFO_V1(create_container);
Datum
create_container(PG_FUNCTION_ARGS)
{
	Container	container = {0};
	Layout		layout;
	Relation	rel;
	Oid			owner;
	bool		partitioned;

	check_isolation();
	for (int i = 0; i < 2; i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", i == 0 ? "relation" : "paths")));

	rel = open_table(PG_GETARG_OID(0));
	if (ContainerLookup(RelationGetRelid(rel), true) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("\"%s\" is a container already", RelationGetRelationName(rel)),
				 errhint("See partitionkey.containers for its paths; they can't be changed.")));
	read_declaration(fcinfo, rel, &container, &layout);
	owner = rel->rd_rel->relowner;
	partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	table_close(rel, NoLock);

	make_container(&container, &layout, owner, partitioned, !PG_ARGISNULL(2));
	RegistryInsert(&container, NULL);
	PG_RETURN_OID(container.relid);
}

/*
 * Give a container that is about to lose its partitions another name, under
 * which nobody takes what is left for the whole.
 */
static void
rename_dropping(Oid relid)
{
	const char *name = get_rel_name(relid);
	const char *suffix = "_dropping";
	int			at = (int) strlen(name) - (int) strlen(suffix);

	if (at < 0 || strcmp(name + at, suffix) != 0)
		RenameRelationInternal(relid, ChooseRelationName(name, NULL, suffix + 1, get_rel_namespace(relid), false),
							   true, false);
}

/*
 * Drop a partition of a container, if it still is one.  As with DROP TABLE of
 * the container, who owns that may drop what is below, whoever made it and
 * whatever kind it is.
 */
static void
drop_partition(Oid root, Oid relid)
{
	ObjectAddress partition = {RelationRelationId, relid, 0};

	PushActiveSnapshot(GetTransactionSnapshot());
	if (get_rel_relispartition(relid))
	{
		/* the parent first, as every other way to drop a partition locks it */
		LockRelationOid(get_partition_parent(relid, true), AccessExclusiveLock);
		LockRelationOid(relid, AccessExclusiveLock);
		/* it may have been detached, or attached elsewhere, while we waited */
		if (get_rel_relispartition(relid) && list_member_oid(get_partition_ancestors(relid), root))
		{
			performDeletion(&partition, DROP_RESTRICT, 0);
			RegistryDelete(relid);
		}
	}
	PopActiveSnapshot();
}

/*
 * Check that the user may drop a container, and that nothing else hangs on it.
 * Called again once the container is locked.
 */
static void
check_droppable(Oid relid)
{
	int			nestlevel;

	RequireOwner(relid);
	(void) ContainerLookup(relid, false);
	if (get_rel_relispartition(relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("container \"%s\" is a partition of another table", get_rel_name(relid)),
				 errhint("Detach it first.")));
	nestlevel = SqlBegin();
	ObstacleCheckDependents(relid, "drop container", "Drop them first.");
	SqlEnd(nestlevel);
}

/* Drop the items views of a container, whoever made them, as DROP TABLE would. */
static void
drop_items_views(Oid relid)
{
	int			nestlevel = SqlBegin();
	ListCell   *cell;

	foreach(cell, ItemsViewsOf(relid))
	{
		ObjectAddress view = {RelationRelationId, lfirst_oid(cell), 0};

		performDeletion(&view, DROP_RESTRICT, 0);
	}
	SqlEnd(nestlevel);
}

/*
 * drop_container(container regclass), a procedure
 *
 * One partition a transaction, since dropping thousands of tables in one takes
 * more locks than the lock table holds.  A session lock on the root keeps
 * everybody out meanwhile, so nobody ever sees a part of the container.  An
 * error releases it; what is left then has the name with _dropping, and can be
 * dropped by another call.
 */
PG_FUNCTION_INFO_V1(drop_container);
Datum
drop_container(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	bool		atomic = fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic;
	LockRelId	lock = {relid, MyDatabaseId};
	List	   *tables;
	char	   *name;
	int			nestlevel;

	if (atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("drop_container cannot run inside a transaction block or a function"),
				 errdetail("It commits after each partition."),
				 errhint("Call it on its own, or use DROP TABLE for a container of few partitions.")));
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("container must not be null")));

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	check_droppable(relid);
	name = get_rel_name(relid);
	LockRelationIdForSession(&lock, AccessExclusiveLock);
	AcceptInvalidationMessages();
	check_owner_again(relid, name);
	check_droppable(relid);

	drop_items_views(relid);
	/* The root comes first, and each partition after its parent. */
	tables = find_all_inheritors(relid, NoLock, NULL);
	rename_dropping(relid);
	for (int i = list_length(tables) - 1; i > 0; i--)
	{
		SPI_commit();
		drop_partition(relid, list_nth_oid(tables, i));
	}
	SPI_commit();
	nestlevel = SqlBegin();
	SqlExecute("DROP TABLE %s", QualifiedName(relid));
	SqlEnd(nestlevel);
	UnlockRelationIdForSession(&lock, AccessExclusiveLock);
	SPI_finish();
	PG_RETURN_VOID();
}
