/*
 * feedscope.c
 *		What part of a container a change feed is read for.
 *
 * A feed range is written with bounds of the hash space, and never with partitions: so it is
 * valid whatever partitions there are, and rows are told by their own positions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "feedscope.h"
#include "member.h"
#include "privileges.h"

#define RANGE_HINT	"A feed range is what partitionkey.read_feed_ranges gives, such as '{\"min\": [\"\"], \"max\": [\"FF\"]}'."

/* Refuse a range with members that are none of one. */
static void
check_members(const JsonbValue *range)
{
	ListCell   *cell;

	foreach(cell, MemberNames(range))
		if (strcmp(lfirst(cell), "min") != 0 && strcmp(lfirst(cell), "max") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("feed range has an unknown member \"%s\"", (char *) lfirst(cell)),
					 errhint("%s", RANGE_HINT)));
}

/* The bounds of a range, as an array of text. */
static ArrayType *
range_bounds(const JsonbValue *range, const char *name)
{
	JsonbValue	array;
	List	   *elements;
	Datum	   *bounds;
	ListCell   *cell;

	if (!MemberFind(range, name, &array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("feed range has no \"%s\"", name),
				 errhint("%s", RANGE_HINT)));
	if (!MemberIsArray(&array))
		MemberKindError(psprintf("\"%s\" of the feed range", name), &array, "an array", RANGE_HINT);
	elements = MemberElements(&array);
	bounds = palloc(sizeof(Datum) * (list_length(elements) + 1));
	foreach(cell, elements)
	{
		JsonbValue *bound = lfirst(cell);

		if (bound->type != jbvString)
			MemberKindError(psprintf("a bound in \"%s\" of the feed range", name), bound, "a string", RANGE_HINT);
		bounds[foreach_current_index(cell)] = CStringGetTextDatum(MemberCString(bound));
	}
	return construct_array_builtin(bounds, list_length(elements), TEXTOID);
}

static void
read_range(const Container *container, Jsonb *json, FeedScope *scope)
{
	JsonbValue	range = MemberRoot(json);

	check_members(&range);
	HashRangeFromArrays(container, range_bounds(&range, "min"), range_bounds(&range, "max"), &scope->range);
}

static void
read_key(const Container *container, Jsonb *json, FeedScope *scope)
{
	scope->is_key = true;
	scope->range.levels = ContainerKeyComponents(container, json, scope->components);
	for (int i = 0; i < scope->range.levels; i++)
		scope->range.min[i] = scope->range.last[i] = Position(container->hash, &scope->components[i]);
}

void
FeedScopeRead(const Container *container, Jsonb *json, FeedScope *scope)
{
	JsonbValue	root;

	memset(scope, 0, sizeof(*scope));
	if (json == NULL)
		return;
	if (JB_ROOT_IS_OBJECT(json))
		read_range(container, json, scope);
	else if (JB_ROOT_IS_ARRAY(json) && !JB_ROOT_IS_SCALAR(json))
		read_key(container, json, scope);
	else
	{
		root = MemberRoot(json);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("scope of a change feed is %s", MemberKind(&root)),
				 errhint("Give a key or a prefix of keys, such as '[\"tenant-1\"]', or a feed range of partitionkey.read_feed_ranges; leave it out for all items.")));
	}
}

bool
FeedScopeHas(const FeedScope *scope, const Container *container, const Oid *types, const Datum *values, const bool *nulls)
{
	for (int i = 0; i < scope->range.levels; i++)
	{
		const Component *wanted = &scope->components[i];
		Component	component;
		uint64		position = 0;	/* of NULL, as in PostgreSQL */

		if (!nulls[i])
		{
			ComponentSetDatum(&component, types[i], values[i]);
			position = Position(container->hash, &component);
		}
		if (position < scope->range.min[i] || position > scope->range.last[i])
			return false;
		if (scope->is_key && (nulls[i] || component.type != wanted->type || component.len != wanted->len ||
							  memcmp(component.data, wanted->data, wanted->len) != 0))
			return false;
	}
	return true;
}

static JsonbValue *
push_bounds(JsonbParseState **state, const char *name, char **bounds, int n)
{
	JsonbValue	value = {.type = jbvString};

	value.val.string.val = pstrdup(name);
	value.val.string.len = strlen(name);
	pushJsonbValue(state, WJB_KEY, &value);
	pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		value.val.string.val = bounds[i];
		value.val.string.len = strlen(bounds[i]);
		pushJsonbValue(state, WJB_ELEM, &value);
	}
	return pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/* The feed range of a leaf; of the whole container for NULL. */
static Datum
leaf_range(const Container *container, const Leaf *leaf)
{
	JsonbParseState *state = NULL;
	int			levels = leaf == NULL ? 0 : leaf->levels;
	char	   *min[MAX_LEVELS];
	char	   *max[MAX_LEVELS];

	for (int i = 0; i < levels; i++)
		PositionRangeBounds(container->hash, leaf->ranges[i], &min[i], &max[i]);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_bounds(&state, "min", min, levels);
	push_bounds(&state, "max", max, levels);
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/*
 * read_feed_ranges(container regclass) returns setof jsonb
 *
 * Together they are the whole hash space.  If partitions attached by hand have ranges that
 * aren't known, there is one for all of it.
 */
PG_FUNCTION_INFO_V1(read_feed_ranges);
Datum
read_feed_ranges(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Container  *container = ContainerLookup(PG_GETARG_OID(0), false);
	List	   *leaves;
	bool		regular = true;
	ListCell   *cell;

	RequireSelectAny(container->relid);
	leaves = ContainerLeaves(container, NULL, 0);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, leaves)
		regular &= ((Leaf *) lfirst(cell))->regular;
	foreach(cell, leaves)
	{
		Datum		range = leaf_range(container, regular ? lfirst(cell) : NULL);
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &range, &isnull);
		if (!regular)
			break;
	}
	return (Datum) 0;
}
