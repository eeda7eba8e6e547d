/*
 * division.c
 *		Which way a leaf is divided.
 *
 * A leaf is halved at the level by which its parent divides, unless one value
 * of that level has more than half of its rows and there is a next level: then
 * it is divided by that one.  What a division would yield is looked up in a
 * sample of the rows, since levels whose values follow each other have equal
 * positions, and few values may all lie in one half.  In that case the range is
 * halved again, until both sides have rows, or it can't be (MAX_RANGE_BITS).  If
 * neither level divides the rows, another one may.
 */
#include "postgres.h"

#include "access/relation.h"
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
#include "layout.h"
#include "path.h"
#include "sql.h"

/* Rows looked at, about. */
#define SAMPLE_ROWS			20000

typedef struct Sample
{
	int			nrows;
	uint64	   *positions[MAX_LEVELS];
} Sample;

/* A partition whose DETACH CONCURRENTLY did not come to its end is part of the tree no more. */
static void
check_not_detached(Oid partition)
{
	Oid			parent = get_partition_parent(partition, true);

	if (PartitionHasPendingDetach(partition))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" is being detached", get_rel_name(partition)),
				 errhint("If nobody is at it any more: ALTER TABLE %s DETACH PARTITION %s FINALIZE",
						 QualifiedName(parent), QualifiedName(partition))));
}

Container *
DivisionContainer(Oid partition)
{
	ListCell   *cell;

	if (get_rel_relispartition(partition))
	{
		check_not_detached(partition);
		foreach(cell, get_partition_ancestors(partition))
		{
			Container  *container = ContainerLookup(lfirst_oid(cell), true);

			if (container != NULL)
				return container;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a partition of a container", get_rel_name(partition)),
			 errhint("The view partitionkey.physical_partitions lists them.")));
}

static void
check_leaf(const Leaf *leaf)
{
	if (!leaf->regular || get_rel_relkind(leaf->relid) != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partition \"%s\" is not divided as those of a container are", get_rel_name(leaf->relid))));
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
		check_leaf(leaf);
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

/* Read positions of all levels of some rows: those of some pages, or the first ones. */
static void
read_sample(Sample *sample, const Container *container, Oid partition, const char *some)
{
	StringInfoData columns;
	SPITupleTable *table;

	initStringInfo(&columns);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&columns, "%s('x' || partitionkey.hash_position(%s, %s))::bit(64)::bigint", i == 0 ? "" : ", ",
						 quote_identifier(container->columns[i]), quote_literal_cstr(PositionHashName(container->hash)));
	SqlExecute("SELECT %s FROM ONLY %s%s LIMIT %d", columns.data, QualifiedName(partition), some, 5 * SAMPLE_ROWS);
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

static void
take_sample(Sample *sample, const Container *container, Oid partition)
{
	double		pages = Max(1, SqlCount("SELECT pg_relation_size(%u) / current_setting('block_size')::int", partition));
	double		rows = Max(1, SqlCount("SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = %u", partition));
	double		percent = Min(100, 100 * Max(SAMPLE_ROWS / rows, 100 / pages));

	read_sample(sample, container, partition, psprintf(" TABLESAMPLE SYSTEM (%g)", percent));
	/* Few rows may be left on many pages. */
	if (sample->nrows == 0 && percent < 100)
		read_sample(sample, container, partition, "");
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
 * How many bits the halves have at which the rows lie on both sides; 0 if they
 * all have one value.  No rows at all are divided by one halving.
 */
static int
bits_needed(const Sample *sample, int level, PositionRange range)
{
	uint64		differences = 0;

	if (sample->nrows == 0)
		return range.bits + 1;
	for (int i = 1; i < sample->nrows; i++)
		differences |= sample->positions[level][i] ^ sample->positions[level][0];
	return differences == 0 ? 0 : Max(64 - pg_leftmost_one_pos64(differences), range.bits + 1);
}

static bool
divides(const Sample *sample, int level, PositionRange range)
{
	int			bits = bits_needed(sample, level, range);

	return bits > 0 && bits <= MAX_RANGE_BITS;
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
static char *
largest_key(const Container *container, Oid partition)
{
	char	   *list = ContainerColumnList(container);
	List	   *found = SqlStrings("SELECT format('Key %%s has %%s %%%% of its rows.', jsonb_build_array(%s),"
								   " round(100.0 * count(*) / sum(count(*)) OVER (), 1)) FROM ONLY %s GROUP BY %s ORDER BY count(*) DESC LIMIT 1",
								   list, QualifiedName(partition), list);

	return found != NIL ? linitial(found) : "It has no rows.";
}

/* Refuse to divide a leaf by a level (-1: by any), since its rows can't be told apart there. */
static void
cannot_divide(const Container *container, const Leaf *leaf, const Sample *sample, int by)
{
	const char *name = get_rel_name(leaf->relid);
	int			divisible = -1;

	for (int level = 0; level < container->levels; level++)
	{
		if (divides(sample, level, leaf->ranges[level]))
			divisible = level;
		else if ((by < 0 || by == level) && bits_needed(sample, level, leaf->ranges[level]) > MAX_RANGE_BITS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("partition \"%s\" cannot be divided further", name),
					 errdetail("Its values of path \"%s\" share the first %d bits of their hash, and a range is not halved more often.",
							   container->paths[level], MAX_RANGE_BITS),
					 errhint("Only a key with one more level, or with a suffix, would tell them apart.")));
	}
	if (divisible >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" cannot be divided by path \"%s\"", name, container->paths[by]),
				 errdetail("All its rows have one value there."),
				 errhint("Path \"%s\" divides it.", container->paths[divisible])));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" cannot be divided", name),
			 errdetail("%s", largest_key(container, leaf->relid)),
			 errhint("A logical partition is never divided. A key with one more level, or with a suffix, would do it.")));
}

/* The level of the column that a path names, as in create_container, or -1. */
static int
level_of_path(const Container *container, const char *path)
{
	List	   *segments = PathSegments(path);
	Relation	rel = relation_open(container->relid, AccessShareLock);
	AttrNumber	column = list_length(segments) == 1 ? PathNamedColumn(rel, linitial(segments)) : InvalidAttrNumber;

	relation_close(rel, NoLock);
	return column == InvalidAttrNumber ? -1 : ContainerLevel(container, get_attname(container->relid, column, false));
}

/* The level that a path forces: the path as it was given, or the column as it is named now. */
static int
forced_level(const Container *container, const char *path)
{
	StringInfoData paths;
	int			level;

	initStringInfo(&paths);
	for (level = 0; level < container->levels; level++)
	{
		if (strcmp(container->paths[level], path) == 0)
			return level;
		appendStringInfo(&paths, "%s\"%s\"", level > 0 ? ", " : "", container->paths[level]);
	}
	level = level_of_path(container, path);
	if (level < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not a partition key path of container \"%s\"", path, get_rel_name(container->relid)),
				 errhint("Its paths are %s.", paths.data)));
	return level;
}

static int
choose_level(const Sample *sample, const Container *container, const Place *place, const Leaf *leaf)
{
	int			own = place->level;
	int			next = own + 1;
	bool		own_divides = divides(sample, own, leaf->ranges[own]);
	bool		next_divides = next < container->levels && divides(sample, next, leaf->ranges[next]);

	if (next_divides && (!own_divides || top_share(sample, own) > 0.5))
		return next;
	if (own_divides)
		return own;
	/* Below a deeper level there may still be several values of the ones above. */
	for (int level = 0; level < container->levels; level++)
		if (divides(sample, level, leaf->ranges[level]))
			return level;
	return -1;
}

/* Fill a change with the division of a leaf at a level, around a position, down to ranges of so many bits. */
static void
divide(Change *change, const Leaf *leaf, int level, uint64 position, int bits)
{
	Place		place = DivisionPlace(change->container, leaf->relid);

	change->parent = place.parent;
	change->children = list_make1_oid(leaf->relid);
	change->model = leaf->relid;
	change->modulus = place.modulus;
	change->remainder = place.remainder;
	change->level = change->across = level;
	change->nested = level != place.level || !place.own_node;
	change->pieces = halve(leaf, level, position, bits - leaf->ranges[level].bits);
}

void
DivisionChoose(Change *change, Oid partition, const char *path)
{
	const Container *container = change->container;
	Leaf	   *leaf = DivisionLeaf(container, partition);
	Place		place = DivisionPlace(container, partition);
	Sample		sample;
	int			forced = path != NULL ? forced_level(container, path) : -1;
	int			level;

	take_sample(&sample, container, partition);
	level = forced >= 0 ? forced : choose_level(&sample, container, &place, leaf);
	if (level < 0 || !divides(&sample, level, leaf->ranges[level]))
		cannot_divide(container, leaf, &sample, forced);
	if (sample.nrows == 0)
		ereport(NOTICE,
				(errmsg("partition \"%s\" has no rows, so its range is halved", get_rel_name(partition))));
	divide(change, leaf, level, sample.nrows == 0 ? leaf->ranges[level].min : sample.positions[level][0],
		   bits_needed(&sample, level, leaf->ranges[level]));
}

/* What rows of a leaf share with a position at a level. */
typedef struct Neighbours
{
	int			bits;			/* leading bits that the nearest other position shares, or -1 if there is none */
	int			inseparable;	/* other positions that share MAX_RANGE_BITS */
} Neighbours;

static Neighbours
neighbours_of(const Container *container, Oid partition, int level, uint64 position)
{
	SPITupleTable *table;
	Neighbours	found = {-1, 0};

	SqlExecute("SELECT DISTINCT ('x' || partitionkey.hash_position(%s, %s))::bit(64)::bigint FROM ONLY %s",
			   quote_identifier(container->columns[level]), quote_literal_cstr(PositionHashName(container->hash)), QualifiedName(partition));
	table = SPI_tuptable;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		uint64		difference = position ^ (uint64) DatumGetInt64(SPI_getbinval(table->vals[i], table->tupdesc, 1, &isnull));
		int			bits = difference == 0 ? -1 : 63 - pg_leftmost_one_pos64(difference);

		found.bits = Max(found.bits, bits);
		found.inseparable += bits >= MAX_RANGE_BITS;
	}
	SPI_freetuptable(table);
	return found;
}

/* The next division of a leaf that has others beside a key, or a prefix; false if it has none that can be parted from it. */
static bool
isolate_in(Change *change, const Leaf *leaf, const uint64 *positions, int nlevels)
{
	const Container *container = change->container;
	Neighbours	found[MAX_LEVELS];

	for (int level = 0; level < nlevels; level++)
	{
		int			bits;

		found[level] = neighbours_of(container, leaf->relid, level, positions[level]);
		bits = Min(found[level].bits + 1, MAX_RANGE_BITS);
		if (bits > leaf->ranges[level].bits)
		{
			divide(change, leaf, level, positions[level], bits);
			return true;
		}
	}
	for (int level = 0; level < nlevels; level++)
		if (found[level].inseparable > 0)
			ereport(NOTICE,
					(errmsg_plural("the key shares the first %d bits of its hash with %d other value of path \"%s\"",
								   "the key shares the first %d bits of its hash with %d other values of path \"%s\"",
								   found[level].inseparable,
								   MAX_RANGE_BITS, found[level].inseparable, container->paths[level]),
					 errdetail("They stay together in partition \"%s\".", get_rel_name(leaf->relid))));
	return false;
}

bool
DivisionIsolate(Change *change, const uint64 *positions, int nlevels, List **apart)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(change->container, positions, nlevels))
	{
		Leaf	   *leaf = lfirst(cell);

		if (list_member_oid(*apart, leaf->relid))
			continue;
		check_leaf(leaf);
		if (isolate_in(change, leaf, positions, nlevels))
			return true;
		*apart = lappend_oid(*apart, leaf->relid);
	}
	return false;
}

void
DivisionCheckKey(const Container *container, const uint64 *positions, int nlevels)
{
	StringInfoData condition;
	ListCell   *cell;

	initStringInfo(&condition);
	for (int level = 0; level < nlevels; level++)
		appendStringInfo(&condition, "%spartitionkey.hash_position(%s, %s) = '%016llX'", level > 0 ? " AND " : "",
						 quote_identifier(container->columns[level]), quote_literal_cstr(PositionHashName(container->hash)),
						 (unsigned long long) positions[level]);
	foreach(cell, ContainerLeaves(container, positions, nlevels))
		if (SqlCount("SELECT count(*) FROM (SELECT FROM ONLY %s WHERE %s LIMIT 1) k",
					 QualifiedName(((Leaf *) lfirst(cell))->relid), condition.data) > 0)
			return;
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("container \"%s\" has no rows with this key", get_rel_name(container->relid)),
			 errhint("Insert a row with the key first, if it is spelled right.")));
}

/* A child of a node, by its bound; InvalidOid if there is none. */
static Oid
child_with_bound(Oid node, int modulus, int remainder)
{
	Relation	rel = table_open(node, AccessShareLock);
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	Oid			child = InvalidOid;

	for (int i = 0; i < desc->nparts; i++)
	{
		Datum	   *bound = desc->boundinfo->datums[i];

		if (DatumGetInt32(bound[0]) == modulus && DatumGetInt32(bound[1]) == remainder)
			child = desc->oids[desc->boundinfo->indexes[remainder]];
	}
	table_close(rel, NoLock);
	return child;
}

Oid
DivisionOtherHalf(const Place *place)
{
	if (place->modulus <= 1)
		return InvalidOid;
	return child_with_bound(place->parent, place->modulus, place->remainder ^ place->modulus / 2);
}

/* Two leaves among those of a container that are halves of one range, both within another range of a level; false if none are. */
static bool
find_halves(const Container *container, const Leaf *other_half, Oid *a, Oid *b)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
	{
		Leaf	   *leaf = lfirst(cell);
		Place		place;
		bool		within = leaf->regular;

		for (int level = 0; level < container->levels && within; level++)
			within = leaf->ranges[level].bits >= other_half->ranges[level].bits &&
				PositionInRange(leaf->ranges[level].min, other_half->ranges[level]);
		if (!within)
			continue;
		place = DivisionPlace(container, leaf->relid);
		*a = leaf->relid;
		*b = DivisionOtherHalf(&place);
		if (OidIsValid(*b) && get_rel_relkind(*b) == RELKIND_RELATION)
			return true;
	}
	return false;
}

/* What a leaf could be merged with, as a sentence. */
static char *
describe_other_half(const Container *container, const Leaf *leaf)
{
	Place		place = DivisionPlace(container, leaf->relid);
	Leaf		other_half = *leaf;
	PositionRange *range = &other_half.ranges[place.level];
	Oid			other = DivisionOtherHalf(&place);
	Oid			a;
	Oid			b;

	if (place.modulus <= 1)
		return psprintf("\"%s\" is the only partition of its node, and has no other half.", get_rel_name(leaf->relid));
	if (OidIsValid(other) && get_rel_relkind(other) == RELKIND_RELATION)
		return psprintf("The other half of \"%s\" is \"%s\".", get_rel_name(leaf->relid), get_rel_name(other));
	*range = PositionRangeOfBound(place.modulus, place.remainder ^ place.modulus / 2);
	if (find_halves(container, &other_half, &a, &b))
		return psprintf("The other half of \"%s\" is divided: merge what it has to one first, beginning with \"%s\" and \"%s\".",
						get_rel_name(leaf->relid), get_rel_name(a), get_rel_name(b));
	return psprintf("The other half of \"%s\" is not complete.", get_rel_name(leaf->relid));
}

static void
check_halves(const Container *container, const Leaf *a, const Leaf *b)
{
	Place		place = DivisionPlace(container, a->relid);
	char	   *of_a;
	char	   *of_b;

	if (a->relid == b->relid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partition \"%s\" cannot be merged with itself", get_rel_name(a->relid)),
				 errhint("%s", describe_other_half(container, a))));
	if (DivisionOtherHalf(&place) == b->relid)
		return;
	of_a = describe_other_half(container, a);
	of_b = describe_other_half(container, b);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("partitions \"%s\" and \"%s\" are not the halves of one range", get_rel_name(a->relid), get_rel_name(b->relid)),
			 errhint("%s %s", of_a, of_b)));
}

/* A leaf whose rows survive a crash has no half whose rows don't. */
static void
check_alike(Oid a, Oid b)
{
	bool		logged = get_rel_persistence(a) == RELPERSISTENCE_PERMANENT;

	if (get_rel_persistence(a) != get_rel_persistence(b))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" is unlogged, but \"%s\" is not", get_rel_name(logged ? b : a), get_rel_name(logged ? a : b)),
				 errhint("ALTER TABLE %s SET LOGGED", QualifiedName(logged ? b : a))));
}

/* Whether a node below the root has two partitions, with those that are not quite detached yet. */
static bool
has_two_children(const Container *container, Oid node)
{
	List	   *children = find_inheritance_children_extended(node, false, AccessShareLock, NULL, NULL);

	return node != container->relid && list_length(children) == 2;
}

List *
DivisionMerged(const Container *container, Oid a, Oid b)
{
	Oid			node = DivisionPlace(container, a).parent;

	return has_two_children(container, node) ? list_make1_oid(node) : list_make2_oid(a, b);
}

void
DivisionMerge(Change *change, Oid a, Oid b)
{
	const Container *container = change->container;
	Piece	   *piece = palloc0(sizeof(Piece));
	Leaf	   *leaf = DivisionLeaf(container, a);
	Place		place;

	check_halves(container, leaf, DivisionLeaf(container, b));
	check_alike(a, b);
	place = DivisionPlace(container, a);
	piece->leaf = *leaf;
	piece->modulus = place.modulus / 2;
	piece->remainder = place.remainder & (piece->modulus - 1);
	piece->leaf.ranges[place.level] = PositionRangeOfBound(piece->modulus, piece->remainder);
	change->children = DivisionMerged(container, a, b);
	change->model = a;
	change->across = place.level;
	if (linitial_oid(change->children) == place.parent)
	{
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
