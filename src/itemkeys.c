/*
 * itemkeys.c
 *		Keys of items by SQL expressions over the item.
 *
 * An expression is the user's, who runs it with his own rights and search_path.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "itemkeys.h"

/* The query for the values of levels that have an expression; NULL if none has. */
static char *
key_query(const ItemShape *shape)
{
	StringInfoData sql;
	const char *separator = "SELECT ";

	initStringInfo(&sql);
	for (int i = 0; i < shape->container->levels; i++)
	{
		const ItemColumn *column = &shape->columns[i];

		if (shape->keys[i] == NULL)
			continue;
		/* An expression may end in a comment.  What is no JSON yet becomes a JSON scalar. */
		if (column->type == JSONBOID)
			appendStringInfo(&sql, "%spg_catalog.to_jsonb((%s\n))", separator, shape->keys[i]);
		else
			appendStringInfo(&sql, "%s(%s\n)::%s", separator, shape->keys[i],
							 format_type_extended(column->declared, column->declared == column->type ? column->typmod : -1,
												  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
		separator = ", ";
	}
	if (sql.len == 0)
		return NULL;
	appendStringInfoString(&sql, " FROM (SELECT $1 AS doc) item");
	return sql.data;
}

SPIPlanPtr
ItemKeysPrepare(const ItemShape *shape)
{
	Oid			type = JSONBOID;
	char	   *sql = key_query(shape);
	SPIPlanPtr	plan;

	if (sql == NULL)
		return NULL;
	plan = SPI_prepare(sql, 1, &type);
	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("a key must be an SQL expression"),
				 errhint("Write for example keys => ARRAY['doc->>''country'''].")));
	return plan;
}

/* Take the values of a row out of the query's result, into memory that lasts. */
static void
store_keys(const ItemShape *shape, ItemRow *row, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	int			n = 0;

	for (int i = 0; i < shape->container->levels; i++)
	{
		int16		typlen;
		bool		typbyval;
		Datum		value;

		if (shape->keys[i] == NULL)
			continue;
		get_typlenbyval(shape->columns[i].type, &typlen, &typbyval);
		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, ++n, &row->nulls[i]);
		row->values[i] = row->nulls[i] ? (Datum) 0 : datumCopy(value, typbyval, typlen);
	}
	MemoryContextSwitchTo(old);
}

void
ItemKeysCompute(const ItemShape *shape, SPIPlanPtr plan, ItemRow *row, MemoryContext context)
{
	Datum		doc = JsonbPGetDatum(row->original);

	CHECK_FOR_INTERRUPTS();
	if (SPI_execute_plan(plan, &doc, NULL, true, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "SPI_execute_plan failed");
	store_keys(shape, row, context);
	SPI_freetuptable(SPI_tuptable);
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
