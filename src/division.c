/*
 * division.c
 *		Which way a leaf is divided.
 *
 * A leaf is halved at the level by which its parent divides, unless one value
 * of that level has more than half of its rows and there is a next level: then
 * it is divided by that one.  What a division would yield is looked up in a
 * sample of the rows, since levels whose values follow each other have equal
 * positions, and few values may all lie in one half.  In that case the range is
 * halved again, until both sides have rows.  If neither level divides the rows,
 * another one may.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "division.h"
#include "sql.h"

/* Rows looked at, about. */
#define SAMPLE_ROWS			20000

/* Halvings tried, before values are taken for inseparable. */
#define MAX_HALVINGS		20

typedef struct Sample
{
	int			nrows;
	uint64	   *positions[MAX_LEVELS];
} Sample;

Container *
DivisionContainer(Oid partition)
{
	ListCell   *cell;

	if (get_rel_relispartition(partition))
		foreach(cell, get_partition_ancestors(partition))
		{
			Container  *container = ContainerLookup(lfirst_oid(cell), true);

			if (container != NULL)
				return container;
		}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a partition of a container", get_rel_name(partition)),
			 errhint("The view partitionkey.physical_partitions lists them.")));
}

Leaf *
DivisionLeaf(const Container *container, Oid partition)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);

		if (leaf->relid != partition)
			continue;
		if (!leaf->regular || get_rel_relkind(partition) != RELKIND_RELATION)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("partition \"%s\" is not divided as those of a container are", get_rel_name(partition))));
		return leaf;
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a leaf partition", get_rel_name(partition)),
			 errhint("The view partitionkey.physical_partitions lists them.")));
}

static int
level_of_node(const Container *container, Oid node)
{
	NodeKey		key;

	if (!NodeKeyOf(node, &key))
		return -1;
	return ContainerLevel(container, get_attname(node, key.attnum, false));
}

Place
DivisionPlace(const Container *container, Oid partition)
{
	Place		place = {.parent = get_partition_parent(partition, false)};
	Relation	node = table_open(place.parent, AccessShareLock);
	PartitionDesc desc = RelationGetPartitionDesc(node, true);

	place.level = level_of_node(container, place.parent);
	for (int i = 0; i < desc->nparts; i++)
	{
		Datum	   *bound = desc->boundinfo->datums[i];

		if (desc->oids[desc->boundinfo->indexes[DatumGetInt32(bound[1])]] != partition)
			continue;
		place.modulus = DatumGetInt32(bound[0]);
		place.remainder = DatumGetInt32(bound[1]);
	}
	table_close(node, NoLock);
	place.own_node = place.parent != container->relid &&
		level_of_node(container, get_partition_parent(place.parent, false)) == place.level;
	return place;
}

/* Read positions of all levels of some rows. */
static void
take_sample(Sample *sample, const Container *container, Oid partition)
{
	StringInfoData columns;
	double		pages = Max(1, SqlCount("SELECT pg_relation_size(%u) / current_setting('block_size')::int", partition));
	double		rows = Max(1, SqlCount("SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = %u", partition));
	double		percent = Min(100, 100 * Max(SAMPLE_ROWS / rows, 100 / pages));
	SPITupleTable *table;

	initStringInfo(&columns);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&columns, "%s('x' || partitionkey.hash_position(%s, %s))::bit(64)::bigint", i == 0 ? "" : ", ",
						 quote_identifier(container->columns[i]), quote_literal_cstr(PositionHashName(container->hash)));
	SqlExecute("SELECT %s FROM ONLY %s TABLESAMPLE SYSTEM (%g) LIMIT %d", columns.data, QualifiedName(partition), percent, 5 * SAMPLE_ROWS);
	table = SPI_tuptable;
	sample->nrows = SPI_processed;
	for (int level = 0; level < container->levels; level++)
	{
		sample->positions[level] = palloc(sizeof(uint64) * Max(1, sample->nrows));
		for (int i = 0; i < sample->nrows; i++)
		{
			bool		isnull;

			sample->positions[level][i] = (uint64) DatumGetInt64(SPI_getbinval(table->vals[i], table->tupdesc, level + 1, &isnull));
		}
	}
	SPI_freetuptable(table);
}

static int
compare_positions(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* The share of the rows that have the most frequent value of a level. */
static double
top_share(const Sample *sample, int level)
{
	uint64	   *sorted = palloc(sizeof(uint64) * Max(1, sample->nrows));
	int			top = 0;
	int			run = 0;

	memcpy(sorted, sample->positions[level], sizeof(uint64) * sample->nrows);
	qsort(sorted, sample->nrows, sizeof(uint64), compare_positions);
	for (int i = 0; i < sample->nrows; i++)
	{
		run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
		top = Max(top, run);
	}
	pfree(sorted);
	return sample->nrows == 0 ? 0 : (double) top / sample->nrows;
}

/*
 * How often a range must be halved until the rows lie on both sides; 0 if they
 * don't within reason.  No rows at all are divided by one halving.
 */
static int
halvings_needed(const Sample *sample, int level, PositionRange range)
{
	uint64		differences = 0;
	int			common;

	if (sample->nrows == 0)
		return 1;
	for (int i = 1; i < sample->nrows; i++)
		differences |= sample->positions[level][i] ^ sample->positions[level][0];
	if (differences == 0)
		return 0;
	common = 63 - pg_leftmost_one_pos64(differences);
	/* The modulus of a bound is an int. */
	if (common + 1 - range.bits > MAX_HALVINGS || common + 1 > 30)
		return 0;
	return common + 1 - range.bits;
}

static Piece *
make_piece(const Leaf *leaf, int level, uint64 min, int bits)
{
	Piece	   *piece = palloc0(sizeof(Piece));

	piece->modulus = 1 << bits;
	piece->remainder = ReverseBits(min) & (piece->modulus - 1);
	piece->leaf = *leaf;
	piece->leaf.levels = Max(leaf->levels, level + 1);
	piece->leaf.ranges[level].min = min;
	piece->leaf.ranges[level].bits = bits;
	return piece;
}

/* Halve a range a number of times, always the half that holds a position, into pieces in the order of the space. */
static List *
halve(const Leaf *leaf, int level, uint64 position, int times)
{
	List	   *before = NIL;
	List	   *after = NIL;
	PositionRange range = leaf->ranges[level];

	for (int i = 0; i < times; i++)
	{
		uint64		upper = range.min | UINT64CONST(1) << (63 - range.bits);
		bool		in_upper = position >= upper;

		range.bits++;
		if (in_upper)
			before = lappend(before, make_piece(leaf, level, range.min, range.bits));
		else
			after = lcons(make_piece(leaf, level, upper, range.bits), after);
		if (in_upper)
			range.min = upper;
	}
	before = lappend(before, make_piece(leaf, level, range.min, range.bits));
	return list_concat(before, after);
}

/* The largest key of a leaf, with its share of the rows. */
static void
cannot_divide(const Container *container, Oid partition)
{
	StringInfoData list;
	char	   *largest;

	initStringInfo(&list);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ", quote_identifier(container->columns[i]));
	largest = linitial(SqlStrings("SELECT format('Key %%s has %%s %%%% of its rows.', jsonb_build_array(%s), round(100.0 * count(*) / sum(count(*)) OVER (), 1))"
								  " FROM ONLY %s GROUP BY %s ORDER BY count(*) DESC LIMIT 1",
								  list.data, QualifiedName(partition), list.data));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" cannot be divided", get_rel_name(partition)),
			 errdetail("%s", largest),
			 errhint("A logical partition is never divided. A key with one more level, or with a suffix, would do it.")));
}

/* The level that a path forces. */
static int
forced_level(const Container *container, const char *path)
{
	StringInfoData paths;

	initStringInfo(&paths);
	for (int level = 0; level < container->levels; level++)
	{
		if (strcmp(container->paths[level], path) == 0)
			return level;
		appendStringInfo(&paths, "%s\"%s\"", level > 0 ? ", " : "", container->paths[level]);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" is not a partition key path of container \"%s\"", path, get_rel_name(container->relid)),
			 errhint("Its paths are %s.", paths.data)));
}

static int
choose_level(const Sample *sample, const Container *container, const Place *place, const Leaf *leaf)
{
	int			own = place->level;
	int			next = own + 1;
	bool		own_divides = halvings_needed(sample, own, leaf->ranges[own]) > 0;
	bool		next_divides = next < container->levels && halvings_needed(sample, next, leaf->ranges[next]) > 0;

	if (next_divides && (!own_divides || top_share(sample, own) > 0.5))
		return next;
	if (own_divides)
		return own;
	/* Below a deeper level there may still be several values of the ones above. */
	for (int level = 0; level < container->levels; level++)
		if (halvings_needed(sample, level, leaf->ranges[level]) > 0)
			return level;
	return -1;
}

void
DivisionChoose(Change *change, Oid partition, const char *path)
{
	const Container *container = change->container;
	Leaf	   *leaf = DivisionLeaf(container, partition);
	Place		place = DivisionPlace(container, partition);
	Sample		sample;
	int			level;
	int			times;

	take_sample(&sample, container, partition);
	level = path != NULL ? forced_level(container, path) : choose_level(&sample, container, &place, leaf);
	times = level < 0 ? 0 : halvings_needed(&sample, level, leaf->ranges[level]);
	if (times == 0)
		cannot_divide(container, partition);

	change->parent = place.parent;
	change->children = list_make1_oid(partition);
	change->modulus = place.modulus;
	change->remainder = place.remainder;
	change->level = level;
	change->nested = level != place.level || !place.own_node;
	change->pieces = halve(leaf, level, sample.nrows == 0 ? leaf->ranges[level].min : sample.positions[level][0], times);
}

/* The child of a node whose bound takes in a position. */
static Oid
child_for(Oid node, uint64 position)
{
	Relation	rel = table_open(node, AccessShareLock);
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	Oid			child = InvalidOid;

	for (int i = 0; i < desc->nparts; i++)
	{
		Datum	   *bound = desc->boundinfo->datums[i];

		if (RowHash(position) % DatumGetInt32(bound[0]) == (uint64) DatumGetInt32(bound[1]))
			child = desc->oids[desc->boundinfo->indexes[DatumGetInt32(bound[1])]];
	}
	table_close(rel, NoLock);
	return child;
}

/*
 * Go down from the root as far as nodes divide by levels that a prefix gives.
 * Sets the ranges on the way.
 */
static Oid
descend(const Container *container, const uint64 *positions, int nlevels, Leaf *path)
{
	Oid			at = container->relid;

	while (get_rel_relkind(at) == RELKIND_PARTITIONED_TABLE)
	{
		int			level = level_of_node(container, at);
		Place		place;

		if (level < 0 || level >= nlevels)
			break;
		at = child_for(at, positions[level]);
		if (!OidIsValid(at))
			elog(ERROR, "a partition of \"%s\" is missing", get_rel_name(container->relid));
		place = DivisionPlace(container, at);
		path->ranges[level] = PositionRangeOfBound(place.modulus, place.remainder);
		path->levels = Max(path->levels, level + 1);
	}
	return at;
}

/* The number of leading bits that a position shares with the nearest other one of the rows, or -1 if there is none. */
static int
bits_shared(const Container *container, Oid partition, int level, uint64 position)
{
	SPITupleTable *table;
	int			shared = -1;

	SqlExecute("SELECT DISTINCT ('x' || partitionkey.hash_position(%s, %s))::bit(64)::bigint FROM %s",
			   quote_identifier(container->columns[level]), quote_literal_cstr(PositionHashName(container->hash)), QualifiedName(partition));
	table = SPI_tuptable;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		uint64		difference = position ^ (uint64) DatumGetInt64(SPI_getbinval(table->vals[i], table->tupdesc, 1, &isnull));

		if (difference != 0)
			shared = Max(shared, 63 - pg_leftmost_one_pos64(difference));
	}
	SPI_freetuptable(table);
	return shared;
}

bool
DivisionIsolate(Change *change, const uint64 *positions, int nlevels)
{
	const Container *container = change->container;
	Leaf		path = {0};
	Oid			at;
	Place		place;

	path.regular = true;
	at = descend(container, positions, nlevels, &path);
	if (at == container->relid)
		return false;
	place = DivisionPlace(container, at);
	for (int level = place.level; level < nlevels; level++)
	{
		int			shared = bits_shared(container, at, level, positions[level]);

		if (shared < 0)
			continue;
		if (shared + 1 > 30)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the key cannot be isolated in container \"%s\"", get_rel_name(container->relid)),
					 errdetail("Another value of path \"%s\" shares %d bits of its position.", container->paths[level], shared)));
		change->parent = place.parent;
		change->children = list_make1_oid(at);
		change->modulus = place.modulus;
		change->remainder = place.remainder;
		change->level = level;
		change->nested = level != place.level || !place.own_node;
		change->pieces = halve(&path, level, positions[level], shared + 1 - path.ranges[level].bits);
		return true;
	}
	return false;
}

Oid
DivisionOtherHalf(const Container *container, Oid partition)
{
	Place		place = DivisionPlace(container, partition);
	ListCell   *cell;

	foreach(cell, find_inheritance_children(place.parent, AccessShareLock))
	{
		Place		other = DivisionPlace(container, lfirst_oid(cell));

		if (place.modulus > 1 && other.modulus == place.modulus && other.remainder == (place.remainder ^ place.modulus / 2))
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

void
DivisionMerge(Change *change, Oid a, Oid b)
{
	const Container *container = change->container;
	Piece	   *piece = palloc0(sizeof(Piece));
	Place		place = DivisionPlace(container, a);

	piece->leaf = *DivisionLeaf(container, a);
	piece->modulus = place.modulus / 2;
	piece->remainder = place.remainder & (piece->modulus - 1);
	piece->leaf.ranges[place.level] = PositionRangeOfBound(piece->modulus, piece->remainder);
	change->children = list_make2_oid(a, b);
	if (place.parent != container->relid && list_length(find_inheritance_children(place.parent, AccessShareLock)) == 2)
	{
		change->children = list_make1_oid(place.parent);
		place = DivisionPlace(container, place.parent);
		piece->modulus = place.modulus;
		piece->remainder = place.remainder;
	}
	change->parent = place.parent;
	change->level = place.level;
	change->modulus = piece->modulus;
	change->remainder = piece->remainder;
	change->pieces = list_make1(piece);
}
