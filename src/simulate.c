/*
 * simulate.c
 *		Where the rows of a table would lie in Cosmos DB.
 *
 * A new container of Cosmos DB has a number of physical partitions that divide
 * the space of effective partition keys (EPK) evenly.  Their bounds have 16
 * bytes, and so it is the first 16 bytes of a row's EPK, those of level 1, that
 * decide: with equal first bytes the longer EPK is not below the bound.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include <math.h>

#include "compat.h"
#include "epk.h"
#include "extract.h"
#include "key.h"
#include "properties.h"
#include "rows.h"
#include "sql.h"

#define MAX_RANGES			10000

/* The 126 bits of a level's EPK. */
typedef struct Epk
{
	uint64		high;			/* 62 bits */
	uint64		low;
} Epk;

typedef struct Range
{
	Epk			min;
	int64		items;
	int64		bytes;
} Range;

typedef struct Simulation
{
	int			nranges;
	Range	   *ranges;
	int			levels;
	Extract    *extracts[MAX_LEVELS];
	int64		items;
	int64		undefined[MAX_LEVELS];	/* items without this path */
	int64		refused;		/* items with a key that Cosmos DB would not take */
} Simulation;

/* The whole space, 2^126 - 1, divided by the number of ranges, by hand in digits of 32 bits. */
static Epk
range_width(int nranges)
{
	uint64		high = EPK_WORD_MASK;
	Epk			width;
	uint64		digit;

	width.high = high / nranges;
	digit = (high % nranges) << 32 | PG_UINT32_MAX;
	width.low = (digit / nranges) << 32;
	digit = (digit % nranges) << 32 | PG_UINT32_MAX;
	width.low |= digit / nranges;
	return width;
}

static void
make_ranges(Simulation *s)
{
	Epk			width = range_width(s->nranges);

	s->ranges = palloc0(sizeof(Range) * s->nranges);
	for (int i = 1; i < s->nranges; i++)
	{
		Epk			last = s->ranges[i - 1].min;
		Epk		   *min = &s->ranges[i].min;

		min->low = last.low + width.low;
		min->high = last.high + width.high + (min->low < last.low ? 1 : 0);
	}
}

/* The range that an EPK lies in: the last one whose minimum is not above it. */
static Range *
range_of(const Simulation *s, Epk epk)
{
	int			low = 0;
	int			high = s->nranges - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;
		Epk			min = s->ranges[middle].min;

		if (min.high < epk.high || (min.high == epk.high && min.low <= epk.low))
			low = middle;
		else
			high = middle - 1;
	}
	return &s->ranges[low];
}

static void
place_row(TupleTableSlot *slot, void *state)
{
	Simulation *s = state;
	bool		refused = false;
	Epk			epk = {0};
	Range	   *range;
	int64		bytes = RowBytes(slot);

	for (int i = 0; i < s->levels; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, s->extracts[i]->column + 1, &isnull);
		Component	c;

		if (!ExtractComponent(s->extracts[i], value, isnull, &c) ||
			(c.type == COMPONENT_NUMBER && !isfinite(c.number)) || KeyValueTooLong(&c))
			refused = true;
		else if (c.type == COMPONENT_UNDEFINED)
			s->undefined[i]++;
		if (i == 0)
			EpkHashComponent(&c, &epk.low, &epk.high);
	}
	epk.high &= EPK_WORD_MASK;
	range = range_of(s, epk);
	range->items++;
	range->bytes += bytes;
	s->items++;
	s->refused += refused ? 1 : 0;
}

/* Say what would go otherwise in Cosmos DB, or not as meant. */
static void
warn(const Simulation *s, Relation rel)
{
	if (s->refused > 0)
		ereport(WARNING,
				(errmsg("%lld of %lld items have a key that Cosmos DB refuses", (long long) s->refused, (long long) s->items),
				 errdetail("They are arrays or objects, which count as undefined here, numbers out of range, or values longer than %d bytes.",
						   MAX_VALUE_BYTES)));
	for (int i = 0; i < s->levels; i++)
		if (s->undefined[i] * 2 > s->items)
			ereport(WARNING,
					(errmsg("%s", PropertiesMissing(s->extracts[i]->path, (double) s->undefined[i] / s->items, PropertiesKnown(rel))),
					 errdetail("Items without a value have one logical partition together.")));
}

static void
take_paths(Simulation *s, Relation rel, ArrayType *paths)
{
	Datum	   *elements;
	bool	   *nulls;

	deconstruct_array_builtin(paths, TEXTOID, &elements, &nulls, &s->levels);
	if (s->levels < 1 || s->levels > MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of partition key paths must be between 1 and %d", MAX_LEVELS)));
	for (int i = 0; i < s->levels; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("partition key path %d is null", i + 1)));
		s->extracts[i] = ExtractFind(rel, TextDatumGetCString(elements[i]));
	}
}

static Datum
bound(const Simulation *s, int i)
{
	Epk			min;

	if (i == 0 || i == s->nranges)
		return CStringGetTextDatum(i == 0 ? "" : EPK_INFINITY);
	min = s->ranges[i].min;
	return CStringGetTextDatum(psprintf("%016llX%016llX", (unsigned long long) min.high, (unsigned long long) min.low));
}

static void
put_ranges(const Simulation *s, ReturnSetInfo *result)
{
	for (int i = 0; i < s->nranges; i++)
	{
		const Range *range = &s->ranges[i];
		Datum		values[6] = {
			Int32GetDatum(i), bound(s, i), bound(s, i + 1), Int64GetDatum(range->items), Int64GetDatum(range->bytes),
			Float8GetDatum(s->items == 0 ? 0 : (double) range->items / s->items)
		};
		bool		nulls[6] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/*
 * simulate_cosmos(relation regclass, paths text[], physical_partitions int)
 * returns table (partition int, min_inclusive text, max_exclusive text, items bigint, bytes bigint, share float8)
 */
PG_FUNCTION_INFO_V1(simulate_cosmos);
Datum
simulate_cosmos(PG_FUNCTION_ARGS)
{
	static const char *const arguments[] = {"relation", "paths", "physical_partitions"};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Simulation	s = {0};
	Relation	rel;
	int			nestlevel;

	for (int i = 0; i < 3; i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", arguments[i])));
	s.nranges = PG_GETARG_INT32(2);
	if (s.nranges < 1 || s.nranges > MAX_RANGES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of physical partitions must be between 1 and %d", MAX_RANGES)));
	InitMaterializedSRF(fcinfo, 0);
	rel = RowsOpen(PG_GETARG_OID(0));
	take_paths(&s, rel, PG_GETARG_ARRAYTYPE_P(1));
	make_ranges(&s);

	SPI_connect();
	nestlevel = SqlBegin();
	RowsRead(rel, "", place_row, &s);
	warn(&s, rel);
	SqlEnd(nestlevel);
	SPI_finish();
	put_ranges(&s, result);
	relation_close(rel, NoLock);
	return (Datum) 0;
}
