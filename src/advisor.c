/*
 * advisor.c
 *		Choosing a partition key by the data.
 *
 * Candidates are given, or proposed: each column or property alone, and pairs and
 * triples of those that do best.  They are all judged by one sample of the
 * rows, in which a row is a position for each path; so the table is read once.
 *
 * The score is a product of parts between 0 and 1: see score().
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "candidate.h"
#include "extract.h"
#include "key.h"
#include "layout.h"
#include "path.h"
#include "percent.h"
#include "properties.h"
#include "registry.h"
#include "rows.h"
#include "sample.h"
#include "settings.h"
#include "sql.h"
#include "workload.h"

#define MAX_PATHS			32	/* different paths that are looked at in one call */
#define MAX_CANDIDATES		64	/* given ones */
#define COMBINED			5	/* paths of which pairs and triples are proposed */

/* A key with fewer logical partitions for each physical one is warned of. */
#define KEYS_PER_PARTITION	10

/* Shares from which on a property of values counts. */
#define MOST				0.9
#define NOTABLE				0.01

/* Of the limit of a logical partition. */
#define WARNED_SIZE			0.8

typedef struct Advice
{
	Relation	rel;
	int			partitions;
	List	   *extracts;		/* Extract *: the paths of the sample */
	List	   *candidates;		/* Candidate * */
	Sample		sample;
	const Workload *workload;	/* or NULL */
	List	   *known;			/* paths that may have been meant, once they were needed */
} Advice;

/* The place of a path in the sample, where it is added if need be. */
static int
add_path(Advice *advice, const char *path)
{
	ListCell   *cell;

	foreach(cell, advice->extracts)
		if (strcmp(((Extract *) lfirst(cell))->path, path) == 0)
			return foreach_current_index(cell);
	if (list_length(advice->extracts) >= MAX_PATHS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("candidates have more than %d different paths", MAX_PATHS),
				 errhint("Ask for some of them at a time.")));
	advice->extracts = lappend(advice->extracts, ExtractFind(advice->rel, path));
	return list_length(advice->extracts) - 1;
}

/* A candidate given as a list of paths, as the places of its paths; gives their number. */
static int
read_candidate(Advice *advice, const char *text, int *paths)
{
	List	   *list = PathsOfList(text);

	if (list_length(list) > MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("candidate \"%s\" has %d paths", text, list_length(list)),
				 errdetail("A partition key has at most %d levels.", MAX_LEVELS)));
	for (int i = 0; i < list_length(list); i++)
	{
		paths[i] = add_path(advice, list_nth(list, i));
		for (int j = 0; j < i; j++)
			if (paths[i] == paths[j])
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("candidate \"%s\" names a path twice", text)));
	}
	return list_length(list);
}

static void
add_candidate(Advice *advice, const int *paths, int levels)
{
	advice->candidates = lappend(advice->candidates, CandidateMake(&advice->sample, paths, levels));
}

/* Judge the candidates that the caller names. */
static void
take_candidates(Advice *advice, ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			(*paths)[MAX_LEVELS];
	int		   *levels;

	deconstruct_array_builtin(array, TEXTOID, &elements, &nulls, &n);
	if (n > MAX_CANDIDATES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are more than %d candidates", MAX_CANDIDATES),
				 errhint("Ask for some of them at a time.")));
	paths = palloc(sizeof(*paths) * Max(n, 1));
	levels = palloc(sizeof(int) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("candidate %d is null", i + 1)));
		levels[i] = read_candidate(advice, TextDatumGetCString(elements[i]), paths[i]);
	}
	SampleTake(&advice->sample, advice->rel, advice->extracts);
	for (int i = 0; i < n; i++)
		add_candidate(advice, paths[i], levels[i]);
}

/* Whether a column can be a key as it is, and is not of a type for measured values. */
static bool
is_proposable(Form_pg_attribute att)
{
	Oid			type = getBaseType(att->atttypid);

	return !att->attisdropped && att->attgenerated == '\0' && ComponentTypeName(type) != NULL &&
		type != JSONBOID && type != FLOAT4OID && type != FLOAT8OID &&
		(!OidIsValid(att->attcollation) || get_collation_isdeterministic(att->attcollation)) &&
		PathSegment(NameStr(att->attname)) != NULL;
}

/* Propose columns, and the properties that most documents have. */
static void
propose_paths(Advice *advice)
{
	TupleDesc	desc = RelationGetDescr(advice->rel);
	ListCell   *cell;

	for (int i = 0; i < desc->natts && list_length(advice->extracts) < MAX_PATHS; i++)
		if (is_proposable(TupleDescAttr(desc, i)))
			add_path(advice, PathSegment(NameStr(TupleDescAttr(desc, i)->attname)));
	foreach(cell, PropertiesFind(advice->rel))
		if (list_length(advice->extracts) < MAX_PATHS)
			add_path(advice, ((Property *) lfirst(cell))->path);
}

/* A level's path. */
static Extract *
extract_of(const Advice *advice, const Candidate *candidate, int level)
{
	return advice->sample.paths[candidate->paths[level]].extract;
}

static void
measure_queries(const Advice *advice, Candidate *candidate)
{
	Extract    *key[MAX_LEVELS];

	for (int level = 0; level < candidate->levels; level++)
	{
		key[level] = extract_of(advice, candidate, level);
		candidate->updated[level] = WorkloadUpdates(advice->workload, key[level]);
	}
	candidate->queried = true;
	WorkloadShares(advice->workload, key, candidate->levels, &candidate->single, &candidate->prefix, &candidate->fan_out);
}

static void
measure(Advice *advice, Candidate *candidate)
{
	if (advice->sample.nrows > 0)
		CandidateMeasure(candidate, &advice->sample, advice->partitions);
	if (advice->workload != NULL && WorkloadReads(advice->workload))
		measure_queries(advice, candidate);
}

static bool
is_time(const Candidate *candidate, int level)
{
	return candidate->times[level] >= MOST;
}

/* Fractions measure something; whole numbers among them don't change that. */
static bool
is_measured(const Candidate *candidate, int level)
{
	return candidate->fractions[level] >= 0.1;
}

/* Whether a level tells no rows apart that the levels above don't. */
static bool
is_following(const Candidate *candidate, int level)
{
	const Grouping *above = &candidate->prefixes[level - 1];
	const Grouping *own = &candidate->prefixes[level];

	return own->groups <= 1.05 * above->groups && own->largest_share >= 0.95 * above->largest_share;
}

/* Whether rows fill the diagonal of the tree only, since two levels have the same values. */
static bool
is_diagonal(const Candidate *candidate, int level)
{
	return candidate->equal[level] >= 0.5;
}

/*
 * How good a key is, from 0 to 100: the share of rows that have one, times
 *	- the size of a physical partition over that of the largest logical one, if that is larger,
 *	- the root of the number of logical partitions over ten for each physical one, if they are fewer,
 *	- the root of the number of values of the first of several levels over that of the physical partitions, if they are fewer,
 *	- the root of twice the average partition over the largest, if that is larger,
 *	- one half, if each row is a logical partition of its own, up to one if they are few,
 *	- the share of queries that read one logical partition, a prefix counting 0.8 and a fan-out 0.1; if
 *	  none are known 0.8 for one level, 1 for two, of which the first can be asked for, and 0.95 for three,
 *	- one half for each trap: first level a time, level that is updated, measured, or follows the one above.
 */
static double
score(const Advice *advice, const Candidate *candidate)
{
	static const double unknown_queries[MAX_LEVELS] = {0.8, 1, 0.95};
	const Grouping *keys = CandidateKeys(candidate);
	double		score = 1 - candidate->undefined - candidate->null - candidate->not_scalar;

	score *= Min(1, 1 / (keys->largest_share * advice->partitions));
	score *= sqrt(Min(1, keys->groups / (KEYS_PER_PARTITION * advice->partitions)));
	if (candidate->levels > 1)
		score *= sqrt(Min(1, candidate->prefixes[0].groups / advice->partitions));
	score *= sqrt(Min(1, 2 / candidate->skew));
	score *= 1 - 0.5 * keys->groups / advice->sample.rows;
	if (candidate->queried)
		score *= candidate->single + 0.8 * candidate->prefix + 0.1 * candidate->fan_out;
	else
		score *= unknown_queries[candidate->levels - 1];
	if (is_time(candidate, 0))
		score /= 2;
	for (int level = 0; level < candidate->levels; level++)
	{
		if (candidate->updated[level])
			score /= 2;
		if (is_measured(candidate, level))
			score /= 2;
		if (level > 0 && (is_following(candidate, level) || is_diagonal(candidate, level)))
			score /= 2;
	}
	return Max(0, 100 * score);
}

static void warn(Candidate *candidate, const char *format,...) pg_attribute_printf(2, 3);

static void
warn(Candidate *candidate, const char *format,...)
{
	StringInfoData text;
	va_list		args;
	int			needed;

	initStringInfo(&text);
	do
	{
		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed > 0)
			enlargeStringInfo(&text, needed);
	} while (needed > 0);
	candidate->warnings = lappend(candidate->warnings, text.data);
}

/* "1 value", "2 values" */
static char *
number_of(double number, const char *what)
{
	return psprintf("%.0f %s%s", number, what, number == 1 ? "" : "s");
}

/* A level's path as it was given. */
static const char *
name_of(const Advice *advice, const Candidate *candidate, int level)
{
	return extract_of(advice, candidate, level)->path;
}

/* The most frequent values of the first levels as a JSON array, or "one value" if they were not remembered. */
static const char *
largest_key(const Advice *advice, const Candidate *candidate, int levels)
{
	StringInfoData key;

	initStringInfo(&key);
	for (int level = 0; level < levels; level++)
	{
		const SamplePath *path = &advice->sample.paths[candidate->paths[level]];
		const char *text = SampleText(path, path->positions[candidate->prefixes[levels - 1].largest_row]);

		if (text == NULL)
			return "one value";
		appendStringInfo(&key, "%s%s", level == 0 ? "[" : ",", text);
	}
	appendStringInfoChar(&key, ']');
	return key.data;
}

/* That some rows have no value for a path, and which other may have been meant. */
static char *
missing(Advice *advice, const char *path, double share)
{
	if (advice->known == NIL)
		advice->known = PropertiesKnown(advice->rel);
	return PropertiesMissing(path, share, advice->known);
}

static void
warn_of_values(Advice *advice, Candidate *candidate)
{
	for (int level = 0; level < candidate->levels; level++)
	{
		const SamplePath *path = &advice->sample.paths[candidate->paths[level]];
		const char *name = path->extract->path;
		double		rows = advice->sample.nrows;
		int			counts[VALUE_KIND + 1] = {0};
		int			too_long = 0;

		for (int i = 0; i < advice->sample.nrows; i++)
		{
			counts[path->values[i] & VALUE_KIND]++;
			too_long += path->values[i] & VALUE_LONG ? 1 : 0;
		}
		if (counts[VALUE_UNDEFINED] >= NOTABLE * rows)
			warn(candidate, "undefined keys pile up: %s", missing(advice, name, counts[VALUE_UNDEFINED] / rows));
		if (counts[VALUE_NULL] > 0)
			warn(candidate, "null keys: %s of items have null at %s", Percent(counts[VALUE_NULL] / rows), name);
		if (counts[VALUE_NOT_SCALAR] > 0)
			warn(candidate, "not a scalar: %s of items have an array or object at %s, which can't be a key",
				 Percent(counts[VALUE_NOT_SCALAR] / rows), name);
		if (too_long > 0)
			warn(candidate, "too long: %s of items have more than %d bytes at %s", Percent(too_long / rows), MAX_VALUE_BYTES, name);
	}
}

static void
warn_of_distribution(const Advice *advice, Candidate *candidate)
{
	const Grouping *keys = CandidateKeys(candidate);
	const Grouping *first = &candidate->prefixes[0];
	double		limit = SettingLogicalLimit * 1024.0 * 1024.0;
	double		average = 1.0 / advice->partitions;

	if (keys->groups < KEYS_PER_PARTITION * advice->partitions)
		warn(candidate, "low cardinality: %s in %s",
			 number_of(keys->groups, "logical partition"), number_of(advice->partitions, "physical partition"));
	if (keys->largest_share > average && keys->groups > 1)
		warn(candidate, "one value dominates: %s of items have %s",
			 Percent(keys->largest_share), largest_key(advice, candidate, candidate->levels));
	if (keys->largest_bytes > WARNED_SIZE * limit)
		warn(candidate, "too large: the largest logical partition has %.0f %% of partitionkey.logical_partition_limit",
			 100 * keys->largest_bytes / limit);
	if (candidate->levels > 1 && first->groups < KEYS_PER_PARTITION * advice->partitions)
		warn(candidate, "level 1 decides the placement: %s has %s for %s",
			 name_of(advice, candidate, 0), number_of(first->groups, "value"), number_of(advice->partitions, "physical partition"));
	else if (candidate->levels > 1 && first->largest_share > average)
		warn(candidate, "level 1 decides the placement: %s of items have %s",
			 Percent(first->largest_share), largest_key(advice, candidate, 1));
	if (keys->groups >= MOST * advice->sample.rows && keys->groups > 1)
		warn(candidate, "%s item is a logical partition of its own", keys->groups == advice->sample.rows ? "each" : "nearly each");
}

static void
warn_of_levels(const Advice *advice, Candidate *candidate)
{
	for (int level = 1; level < candidate->levels; level++)
	{
		const char *above = name_of(advice, candidate, level - 1);
		const char *own = name_of(advice, candidate, level);

		if (is_diagonal(candidate, level))
			warn(candidate, "levels follow each other: %s and %s are equal in %s of items, which fill only the diagonal of the partitions",
				 above, own, Percent(candidate->equal[level]));
		else if (is_following(candidate, level))
			warn(candidate, "levels follow each other: %s hardly divides what has one %s", own, above);
	}
	for (int level = 0; level < candidate->levels; level++)
	{
		const char *name = name_of(advice, candidate, level);

		if (is_time(candidate, level))
			warn(candidate, "time-like: %s is a date or time%s", name,
				 level > 0 ? "" : ", so what is written at a time meets in one place or is scattered for readers");
		if (is_measured(candidate, level))
			warn(candidate, "measured: %s of values of %s are fractions", Percent(candidate->fractions[level]), name);
		if (candidate->updated[level])
			warn(candidate, "mutable: statements update %s, and an item whose key changes moves", name);
	}
}

/* A column that create_container would not take as it is. */
static void
warn_of_columns(const Advice *advice, Candidate *candidate)
{
	for (int level = 0; level < candidate->levels; level++)
	{
		const Extract *extract = extract_of(advice, candidate, level);
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(advice->rel), extract->attnum - 1);

		if (att->attgenerated != '\0')
			warn(candidate, "generated: column \"%s\" would have to be filled by the application", NameStr(att->attname));
		if (OidIsValid(att->attcollation) && !get_collation_isdeterministic(att->attcollation))
			warn(candidate, "collation: column \"%s\" needs a deterministic one, for example COLLATE \"C\"", NameStr(att->attname));
	}
}

/* How many values a path has by itself. */
static double
breadth(const Advice *advice, int path)
{
	Candidate  *alone = CandidateMake(&advice->sample, &path, 1);

	if (advice->sample.nrows > 0)
		CandidateMeasure(alone, &advice->sample, advice->partitions);
	return alone->prefixes[0].groups;
}

/* Whether a path should come before another: clearly more queries give it, or as many, and it is broader. */
static bool
comes_before(const Advice *advice, int a, int b)
{
	double		x = floor(10 * WorkloadGives(advice->workload, advice->sample.paths[a].extract));
	double		y = floor(10 * WorkloadGives(advice->workload, advice->sample.paths[b].extract));

	return x != y ? x > y : breadth(advice, a) < breadth(advice, b);
}

/* Queries that a hierarchical key does not serve since they don't give its first level, but others. */
static void
warn_of_order(const Advice *advice, Candidate *candidate)
{
	Candidate  *ordered = CandidateMake(&advice->sample, candidate->paths, candidate->levels);

	if (!candidate->queried || candidate->fan_out == 0)
		return;
	for (int i = 1; i < ordered->levels; i++)
		for (int j = i; j > 0 && comes_before(advice, ordered->paths[j], ordered->paths[j - 1]); j--)
		{
			int			path = ordered->paths[j];

			ordered->paths[j] = ordered->paths[j - 1];
			ordered->paths[j - 1] = path;
		}
	measure_queries(advice, ordered);
	if (ordered->fan_out < candidate->fan_out)
		warn(candidate, "order of levels: %s of queries give no leading level; reorder to %s",
			 Percent(candidate->fan_out), CandidateMake(&advice->sample, ordered->paths, ordered->levels)->name);
}

static void
judge(Advice *advice, Candidate *candidate)
{
	warn_of_columns(advice, candidate);
	warn_of_order(advice, candidate);
	if (advice->sample.nrows == 0)
		return;
	candidate->score = score(advice, candidate);
	warn_of_values(advice, candidate);
	warn_of_distribution(advice, candidate);
	warn_of_levels(advice, candidate);
}

static int
compare_scores(const ListCell *a, const ListCell *b)
{
	const Candidate *x = lfirst(a);
	const Candidate *y = lfirst(b);

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* From broad to narrow: what has fewer values comes first, and times come last. */
static int
compare_breadth(const ListCell *a, const ListCell *b)
{
	const Candidate *x = lfirst(a);
	const Candidate *y = lfirst(b);

	if (is_time(x, 0) != is_time(y, 0))
		return is_time(x, 0) ? 1 : -1;
	if (x->prefixes[0].groups != y->prefixes[0].groups)
		return x->prefixes[0].groups < y->prefixes[0].groups ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The paths that do best alone, of those that can be a level of a key, from broad to narrow. */
static List *
best_paths(Advice *advice)
{
	List	   *best = NIL;
	ListCell   *cell;

	foreach(cell, advice->candidates)
	{
		Candidate  *candidate = lfirst(cell);

		candidate->score = score(advice, candidate);
		if (candidate->prefixes[0].groups > 1 && !is_measured(candidate, 0) && candidate->undefined < 0.5)
			best = lappend(best, candidate);
	}
	list_sort(best, compare_scores);
	best = list_truncate(best, COMBINED);
	list_sort(best, compare_breadth);
	return best;
}

/* Add a candidate unless a level adds nothing to those above. */
static void
propose_combination(Advice *advice, const int *paths, int levels)
{
	Candidate  *candidate = CandidateMake(&advice->sample, paths, levels);

	measure(advice, candidate);
	for (int level = 1; level < levels; level++)
		if (is_following(candidate, level) || is_diagonal(candidate, level))
			return;
	advice->candidates = lappend(advice->candidates, candidate);
}

static void
propose_combinations(Advice *advice)
{
	List	   *best = best_paths(advice);
	int			n = list_length(best);
	int			paths[MAX_LEVELS];

	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
		{
			paths[0] = ((Candidate *) list_nth(best, i))->paths[0];
			paths[1] = ((Candidate *) list_nth(best, j))->paths[0];
			propose_combination(advice, paths, 2);
			for (int k = j + 1; k < n; k++)
			{
				paths[2] = ((Candidate *) list_nth(best, k))->paths[0];
				propose_combination(advice, paths, 3);
			}
		}
}

static void
propose_candidates(Advice *advice)
{
	ListCell   *cell;

	propose_paths(advice);
	SampleTake(&advice->sample, advice->rel, advice->extracts);
	for (int path = 0; path < advice->sample.npaths; path++)
		add_candidate(advice, &path, 1);
	foreach(cell, advice->candidates)
		measure(advice, lfirst(cell));
	if (advice->sample.nrows > 0)
		propose_combinations(advice);
}

static Datum
warnings_datum(const Candidate *candidate)
{
	Datum	   *texts = palloc(sizeof(Datum) * (list_length(candidate->warnings) + 1));
	int			n = 0;
	ListCell   *cell;

	foreach(cell, candidate->warnings)
		texts[n++] = CStringGetTextDatum(lfirst(cell));
	return PointerGetDatum(construct_array_builtin(texts, n, TEXTOID));
}

/* One row; what can't be told of a table without rows, or without queries, is NULL. */
static void
put_candidate(const Advice *advice, const Candidate *candidate, ReturnSetInfo *result)
{
	const Grouping *keys = CandidateKeys(candidate);
	bool		empty = advice->sample.nrows == 0;
	Datum		values[14] = {
		CStringGetTextDatum(candidate->name),
		Float8GetDatum(rint(candidate->score * 10) / 10),
		Int64GetDatum((int64) keys->groups),
		Float8GetDatum(keys->largest_share),
		Float8GetDatum(candidate->undefined),
		Float8GetDatum(candidate->null),
		Float8GetDatum(candidate->not_scalar),
		Float8GetDatum(candidate->skew),
		Int64GetDatum((int64) keys->largest_bytes),
		Float8GetDatum(keys->largest_bytes / (SettingLogicalLimit * 1024.0 * 1024.0)),
		Float8GetDatum(candidate->single),
		Float8GetDatum(candidate->prefix),
		Float8GetDatum(candidate->fan_out),
		warnings_datum(candidate)
	};
	bool		nulls[14] = {
		false, empty, false, empty, empty, empty, empty, empty, false, false,
		!candidate->queried, !candidate->queried, !candidate->queried, false
	};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
check_arguments(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", PG_ARGISNULL(0) ? "relation" : "partitions")));
	LayoutCheckPartitions(PG_GETARG_INT32(3));
}

/* advise_key(relation regclass, candidates text[], queries text[], partitions int) returns table (...) */
PG_FUNCTION_INFO_V1(advise_key);
Datum
advise_key(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Advice		advice = {0};
	Container  *container;
	int			nestlevel;
	ListCell   *cell;

	check_arguments(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	advice.rel = RowsOpen(PG_GETARG_OID(0));
	advice.partitions = PG_GETARG_INT32(3);
	container = ContainerLookup(RelationGetRelid(advice.rel), true);
	advice.sample.hash = container == NULL ? HASH_XXHASH : container->hash;

	SPI_connect();
	/* Queries mean what they mean with the caller's search_path. */
	advice.workload = PG_ARGISNULL(2) ? WorkloadFromStatistics(advice.rel) :
		WorkloadFromQueries(advice.rel, PG_GETARG_ARRAYTYPE_P(2));
	nestlevel = SqlBegin();
	if (PG_ARGISNULL(1))
		propose_candidates(&advice);
	else
	{
		take_candidates(&advice, PG_GETARG_ARRAYTYPE_P(1));
		foreach(cell, advice.candidates)
			measure(&advice, lfirst(cell));
	}
	foreach(cell, advice.candidates)
		judge(&advice, lfirst(cell));
	list_sort(advice.candidates, compare_scores);
	if (advice.sample.nrows == 0)
		ereport(NOTICE,
				(errmsg("\"%s\" has no rows to judge a key by", RelationGetRelationName(advice.rel))));
	foreach(cell, advice.candidates)
		put_candidate(&advice, lfirst(cell), result);
	SqlEnd(nestlevel);
	SPI_finish();
	relation_close(advice.rel, NoLock);
	return (Datum) 0;
}
