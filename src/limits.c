/*
 * limits.c
 *		Keys that grow towards the size that a logical partition may have.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "compat.h"
#include "dualwrite.h"
#include "limits.h"
#include "registry.h"
#include "settings.h"
#include "sql.h"

/* From this part of the limit on a key is reported. */
#define REPORTED_SHARE		0.8

/* The stored size of a row's values, with TOAST, as an SQL expression. */
static char *
row_size(Oid relid)
{
	StringInfoData size;
	ListCell   *cell;

	/* the header of a row, with its line pointer */
	initStringInfo(&size);
	appendStringInfoString(&size, "28");
	foreach(cell, DualWriteColumns(relid))
		appendStringInfo(&size, " + coalesce(pg_column_size(%s), 0)", quote_identifier(lfirst(cell)));
	return size.data;
}

/*
 * The query for the keys of all levels: a full key is a logical partition; a
 * shorter one is relieved by the level that comes next.
 */
char *
LimitsQuery(const Container *container)
{
	StringInfoData sql;
	StringInfoData columns;
	double		limit = SettingLogicalLimit * 1024.0 * 1024.0;

	initStringInfo(&sql);
	initStringInfo(&columns);
	appendStringInfo(&sql, "SELECT * FROM (");
	for (int i = 0; i < container->levels; i++)
	{
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "", quote_identifier(container->columns[i]));
		appendStringInfo(&sql, "%sSELECT jsonb_build_array(%s) AS key, sum(%s)::bigint AS bytes, sum(%s)::float8 / %.0f AS share, %s::text AS relieved_by"
						 " FROM %s GROUP BY %s HAVING sum(%s) > %.0f",
						 i > 0 ? " UNION ALL " : "", columns.data, row_size(container->relid), row_size(container->relid), limit,
						 i + 1 < container->levels ? quote_literal_cstr(container->paths[i + 1]) : "NULL",
						 QualifiedName(container->relid), columns.data, row_size(container->relid), limit * REPORTED_SHARE);
	}
	appendStringInfoString(&sql, ") k ORDER BY share DESC, key");
	return sql.data;
}

/* large_keys(container regclass) returns setof (key jsonb, bytes bigint, share float8, relieved_by text) */
PG_FUNCTION_INFO_V1(large_keys);
Datum
large_keys(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Container  *container = ContainerLookup(PG_GETARG_OID(0), false);
	int			nestlevel;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	nestlevel = SqlBegin();
	/* With the caller's own rights: he sees the rows that he may see. */
	if (SPI_execute(LimitsQuery(container), true, 0) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[4];
		bool		nulls[4];

		for (int column = 0; column < 4; column++)
			values[column] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column + 1, &nulls[column]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	SqlEnd(nestlevel);
	SPI_finish();
	return (Datum) 0;
}
