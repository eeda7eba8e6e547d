/*
 * judgement.c
 *		What is good and bad about a partition key.
 *
 * The score is a product of parts between 0 and 1, so that each shortcoming shows
 * and none is made up for.  Warnings say the same in words, and what the score
 * leaves out.
 */
#include "postgres.h"

#include <math.h>

#include "utils/lsyscache.h"

#include "judgement.h"
#include "key.h"
#include "percent.h"
#include "properties.h"
#include "settings.h"

/* A key with fewer logical partitions for each physical one is warned of. */
#define KEYS_PER_PARTITION	10

/* The share of items without a value that is warned of. */
#define NOTABLE				0.01

/* Of items: when so many have keys of their own, nearly each has. */
#define NEARLY_EACH			0.9

/* Of the limit of a logical partition. */
#define WARNED_SIZE			0.8

/* A level's path. */
static Extract *
extract_of(const Advice *advice, const Candidate *candidate, int level)
{
	return advice->sample.paths[candidate->paths[level]].extract;
}

void
JudgementQueries(const Advice *advice, Candidate *candidate)
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

/*
 * How good a key is, from 0 to 100: the share of rows that have one, times
 *	- the size of a physical partition over that of the largest logical one, if that is larger,
 *	- the root of the number of logical partitions over ten for each physical one, if they are fewer,
 *	- the root of the number of values of the first of several levels over that of the physical partitions, if they are fewer,
 *	- the root of twice the average partition over the largest, if that is larger,
 *	- one half, if each row is a logical partition of its own, up to one if they are few,
 *	- the share of queries that read one logical partition, a prefix counting 0.8 and a fan-out 0.1; if
 *	  none are known 0.8 for one level, 1 for two, of which the first can be asked for, and 0.95 for three,
 *	- one half for each trap: first level a time, level that is updated, measured, a long text, or follows the one above.
 */
double
JudgementScore(const Advice *advice, const Candidate *candidate)
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
	if (CandidateIsTime(candidate, 0))
		score /= 2;
	for (int level = 0; level < candidate->levels; level++)
	{
		if (candidate->updated[level])
			score /= 2;
		if (CandidateIsMeasured(candidate, level))
			score /= 2;
		if (CandidateIsWordy(candidate, level))
			score /= 2;
		if (level > 0 && (CandidateIsFollowing(candidate, level) || CandidateIsDiagonal(candidate, level)))
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
	if (keys->groups >= NEARLY_EACH * advice->sample.rows && keys->groups > 1)
		warn(candidate, "%s item is a logical partition of its own", keys->groups == advice->sample.rows ? "each" : "nearly each");
}

static void
warn_of_levels(const Advice *advice, Candidate *candidate)
{
	for (int level = 1; level < candidate->levels; level++)
	{
		const char *above = name_of(advice, candidate, level - 1);
		const char *own = name_of(advice, candidate, level);

		if (CandidateIsDiagonal(candidate, level))
			warn(candidate, "levels follow each other: %s and %s are equal in %s of items, which fill only the diagonal of the partitions",
				 above, own, Percent(candidate->equal[level]));
		else if (CandidateIsFollowing(candidate, level))
			warn(candidate, "levels follow each other: %s hardly divides what has one %s", own, above);
	}
	for (int level = 0; level < candidate->levels; level++)
	{
		const char *name = name_of(advice, candidate, level);

		if (CandidateIsTime(candidate, level))
			warn(candidate, "time-like: %s is a date or time%s", name,
				 level > 0 ? "" : ", so what is written at a time meets in one place or is scattered for readers");
		if (CandidateIsMeasured(candidate, level))
			warn(candidate, "measured: %s of values of %s are fractions", Percent(candidate->fractions[level]), name);
		if (CandidateIsWordy(candidate, level))
			warn(candidate, "long texts: %s of values of %s are too long for names, and long texts make poor keys",
				 Percent(candidate->texts[level]), name);
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
	JudgementQueries(advice, ordered);
	if (ordered->fan_out < candidate->fan_out)
		warn(candidate, "order of levels: %s of queries give no leading level; reorder to %s",
			 Percent(candidate->fan_out), CandidateMake(&advice->sample, ordered->paths, ordered->levels)->name);
}

void
Judge(Advice *advice, Candidate *candidate)
{
	warn_of_columns(advice, candidate);
	warn_of_order(advice, candidate);
	if (advice->sample.nrows == 0)
		return;
	candidate->score = JudgementScore(advice, candidate);
	warn_of_values(advice, candidate);
	warn_of_distribution(advice, candidate);
	warn_of_levels(advice, candidate);
}
