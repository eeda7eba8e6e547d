/*
 * advisor.c
 *		Choosing a partition key by the data.
 *
 * Candidates are given, or proposed: each column or property alone, and pairs and
 * triples of those that do best.  They are all judged by one sample of the
 * rows, in which a row is a position for each path; so the table is read once.
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

#include "etag.h"
#include "extract.h"
#include "judgement.h"
#include "layout.h"
#include "path.h"
#include "properties.h"
#include "registry.h"
#include "rows.h"
#include "settings.h"
#include "sql.h"

#define MAX_PATHS			32	/* different paths that are looked at in one call */
#define MAX_CANDIDATES		64	/* given ones */
#define COMBINED			5	/* paths of which pairs and triples are proposed */

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
			if (ExtractsSame(list_nth(advice->extracts, paths[i]), list_nth(advice->extracts, paths[j])))
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

/* Whether a property of documents is in a column of the container as well: one of the key, or the id. */
static bool
is_in_column(Relation rel, const Container *container, const char *path)
{
	const Extract *extract;

	if (container == NULL)
		return false;
	extract = ExtractFind(rel, path);
	if (extract->properties == NIL || ContainerLevel(container, get_attname(container->relid, extract->attnum, false)) >= 0)
		return false;
	for (int i = 0; i < container->levels; i++)
		if (equal(extract->properties, ExtractNames(container->paths[i])))
			return true;
	return list_length(extract->properties) == 1 && strcmp(strVal(linitial(extract->properties)), "id") == 0 &&
		get_attnum(container->relid, "id") != InvalidAttrNumber;
}

/* The path of a column: as its container has it, if it is a key column. */
static const char *
column_path(const Container *container, const char *column)
{
	int			level = container == NULL ? -1 : ContainerLevel(container, column);

	return level >= 0 && list_length(PathSegments(container->paths[level])) == 1 ? container->paths[level] : PathSegment(column);
}

/* Whether a column only tells of a row's changes, in a container that has items. */
static bool
is_of_changes(const Advice *advice, Form_pg_attribute att)
{
	AttrNumber	etag = EtagColumn(advice->rel);

	return etag != InvalidAttrNumber && (att->attnum == etag || strcmp(NameStr(att->attname), "ts") == 0);
}

/* Propose columns, and the properties that most documents have, but for those that columns have. */
static void
propose_paths(Advice *advice, const Container *container)
{
	TupleDesc	desc = RelationGetDescr(advice->rel);
	ListCell   *cell;

	for (int i = 0; i < desc->natts && list_length(advice->extracts) < MAX_PATHS; i++)
		if (is_proposable(TupleDescAttr(desc, i)) && !is_of_changes(advice, TupleDescAttr(desc, i)))
			add_path(advice, column_path(container, NameStr(TupleDescAttr(desc, i)->attname)));
	foreach(cell, PropertiesFind(advice->rel))
	{
		const char *path = ((Property *) lfirst(cell))->path;

		if (list_length(advice->extracts) < MAX_PATHS && !is_in_column(advice->rel, container, path))
			add_path(advice, path);
	}
}

static void
measure(Advice *advice, Candidate *candidate)
{
	if (advice->sample.nrows > 0)
		CandidateMeasure(candidate, &advice->sample, advice->partitions);
	if (advice->workload != NULL && WorkloadReads(advice->workload))
		JudgementQueries(advice, candidate);
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

	if (CandidateIsTime(x, 0) != CandidateIsTime(y, 0))
		return CandidateIsTime(x, 0) ? 1 : -1;
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

		candidate->score = JudgementScore(advice, candidate);
		if (candidate->prefixes[0].groups > 1 && !CandidateIsMeasured(candidate, 0) && !CandidateIsWordy(candidate, 0) &&
			candidate->undefined < 0.5)
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
		if (CandidateIsFollowing(candidate, level) || CandidateIsDiagonal(candidate, level))
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
propose_candidates(Advice *advice, const Container *container)
{
	ListCell   *cell;

	propose_paths(advice, container);
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
tell_no_candidates(const Advice *advice, bool given)
{
	if (given)
		ereport(NOTICE,
				(errmsg("there is no candidate in the array"),
				 errhint("Name some, or give NULL to have them proposed.")));
	else
		ereport(NOTICE,
				(errmsg("no column of \"%s\" can be a partition key as it is", RelationGetRelationName(advice->rel)),
				 errhint("Keys are columns of a type for text, whole numbers, numeric, boolean, uuid, dates and times,"
						 " or properties that documents in jsonb have. Name the candidates to try others.")));
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
		propose_candidates(&advice, container);
	else
	{
		take_candidates(&advice, PG_GETARG_ARRAYTYPE_P(1));
		foreach(cell, advice.candidates)
			measure(&advice, lfirst(cell));
	}
	foreach(cell, advice.candidates)
		Judge(&advice, lfirst(cell));
	list_sort(advice.candidates, compare_scores);
	if (advice.candidates == NIL)
		tell_no_candidates(&advice, !PG_ARGISNULL(1));
	else if (advice.sample.nrows == 0)
		ereport(NOTICE,
				(errmsg("\"%s\" has no rows to judge a key by", RelationGetRelationName(advice.rel))));
	foreach(cell, advice.candidates)
		put_candidate(&advice, lfirst(cell), result);
	SqlEnd(nestlevel);
	SPI_finish();
	relation_close(advice.rel, NoLock);
	return (Datum) 0;
}
