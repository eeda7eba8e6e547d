/*
 * itemkeys.c
 *		Keys of items by SQL expressions over the item.
 *
 * An expression is the user's, who runs it with his own rights and search_path.
 * Its value becomes JSON, which a column takes as if it were in the item.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"

#include "compat.h"
#include "itemkeys.h"

/* The query for the values of levels that have an expression, "k0", "k1" ..; NULL if none has. */
static char *
value_query(const ItemShape *shape)
{
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < shape->container->levels; i++)
		if (shape->keys[i] != NULL)
			/* an expression may end in a comment */
			appendStringInfo(&sql, "%s(%s\n) AS k%d", sql.len > 0 ? ", " : "SELECT ", shape->keys[i], i);
	if (sql.len == 0)
		return NULL;
	appendStringInfoString(&sql, " FROM (SELECT $1 AS doc) item");
	return sql.data;
}

static SPIPlanPtr
prepare(const char *sql)
{
	Oid			type = JSONBOID;

	return SPI_prepare(sql, 1, &type);
}

/* The columns that a plan gives; NULL unless it is of a query that gives one row for an item. */
static TupleDesc
columns_of_row(SPIPlanPtr plan)
{
	CachedPlanSource *source;
	Query	   *query;

	if (plan == NULL || !SPI_is_cursor_plan(plan))
		return NULL;
	source = linitial(SPI_plan_get_plan_sources(plan));
	query = linitial_node(Query, source->query_list);
	return query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs || query->setOperations != NULL ? NULL :
		source->resultDesc;
}

/*
 * The JSON from which a column takes an expression's value.  What is JSON already is what it is in the item, where
 * nothing is undefined.  A text is read as the number or boolean that the column holds, and the other way round.
 */
static char *
as_json(const ItemColumn *column, int level, Oid type)
{
	char		category = TypeCategory(column->type);

	type = getBaseType(type);
	if (type == JSONBOID || type == JSONOID)
		return psprintf("COALESCE(k%d::pg_catalog.jsonb, '{}'::pg_catalog.jsonb)", level);
	if (category == TYPCATEGORY_STRING)
		return psprintf("pg_catalog.to_jsonb(k%d::pg_catalog.text)", level);
	if (TypeCategory(type) == TYPCATEGORY_STRING && (category == TYPCATEGORY_NUMERIC || category == TYPCATEGORY_BOOLEAN))
		return psprintf("pg_catalog.to_jsonb(k%d::%s)", level,
						format_type_extended(column->type, -1, FORMAT_TYPE_FORCE_QUALIFY));
	return psprintf("pg_catalog.to_jsonb(k%d)", level);
}

/* The query for the values as JSON; NULL unless each expression gives one column. */
static char *
json_query(const ItemShape *shape, const char *values, TupleDesc desc)
{
	StringInfoData sql;
	int			n = 0;

	initStringInfo(&sql);
	for (int i = 0; i < shape->container->levels; i++)
	{
		if (shape->keys[i] == NULL)
			continue;
		if (n == desc->natts)
			return NULL;
		appendStringInfo(&sql, "%s%s", n > 0 ? ", " : "SELECT ",
						 as_json(&shape->columns[i], i, TupleDescAttr(desc, n)->atttypid));
		n++;
	}
	appendStringInfo(&sql, " FROM (%s) keys", values);
	return n == desc->natts ? sql.data : NULL;
}

SPIPlanPtr
ItemKeysPrepare(const ItemShape *shape)
{
	char	   *values = value_query(shape);
	char	   *json = NULL;
	SPIPlanPtr	plan;
	TupleDesc	desc;

	if (values == NULL)
		return NULL;
	plan = prepare(values);
	desc = columns_of_row(plan);
	if (desc != NULL)
		json = json_query(shape, values, desc);
	if (json == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("a key must be an SQL expression"),
				 errdetail("It gives one value for an item: aggregates, window functions and functions that return sets don't."),
				 errhint("Write for example keys => ARRAY['doc->>''country'''].")));
	SPI_freeplan(plan);
	plan = prepare(json);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

/* Take a level's value: {} is undefined, as in a column of type jsonb. */
static bool
take_key(const ItemShape *shape, int level, Jsonb *json, ItemRow *row, ItemProblem *problem)
{
	JsonbValue	value;

	if (JB_ROOT_IS_OBJECT(json) && JB_ROOT_COUNT(json) == 0)
		return ItemRowTakeKey(shape, level, NULL, row, problem);
	if (!JB_ROOT_IS_SCALAR(json))
	{
		value.type = jbvBinary;
		value.val.binary.data = &json->root;
		value.val.binary.len = VARSIZE(json) - VARHDRSZ;
	}
	else
		(void) JsonbExtractScalar(&json->root, &value);
	return ItemRowTakeKey(shape, level, &value, row, problem);
}

/* Take the keys of a row out of the query's result. */
static bool
take_keys(const ItemShape *shape, ItemRow *row, ItemProblem *problem)
{
	int			n = 0;

	for (int i = 0; i < shape->container->levels; i++)
	{
		bool		isnull;
		Datum		value;

		if (shape->keys[i] == NULL)
			continue;
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, ++n, &isnull);
		if (isnull)
		{
			*problem = (ItemProblem) {
				.reason = "key undefined", .path = shape->container->paths[i],
				.detail = psprintf("the expression for %s gives NULL", shape->container->paths[i])
			};
			return false;
		}
		if (!take_key(shape, i, DatumGetJsonbP(value), row, problem))
			return false;
	}
	return true;
}

bool
ItemKeysCompute(const ItemShape *shape, SPIPlanPtr plan, ItemRow *row, ItemProblem *problem)
{
	MemoryContext context = CurrentMemoryContext;	/* which SPI leaves for its own */
	Datum		doc = JsonbPGetDatum(row->original);
	bool		sound;

	CHECK_FOR_INTERRUPTS();
	if (SPI_execute_plan(plan, &doc, NULL, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "SPI_execute_plan failed");
	MemoryContextSwitchTo(context);
	sound = take_keys(shape, row, problem);
	SPI_freetuptable(SPI_tuptable);
	return sound;
}

char **
ItemKeysRead(const Container *container, ArrayType *array)
{
	char	  **keys = palloc0(sizeof(char *) * MAX_LEVELS);
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	deconstruct_array_builtin(array, TEXTOID, &elements, &nulls, &n);
	if (n != container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("keys has %d elements, but container \"%s\" has a key of %d",
						n, get_rel_name(container->relid), container->levels),
				 errhint("Give an SQL expression for each path, or NULL for one whose value is in the item.")));
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			keys[i] = TextDatumGetCString(elements[i]);
	return keys;
}
