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
#include "limits.h"
#include "privileges.h"
#include "registry.h"
#include "settings.h"
#include "sql.h"
#include "stats.h"

/* From this part of the limit on a key is reported. */
#define REPORTED_SHARE		0.8

/*
 * The query for the keys of all levels: a full key is a logical partition; a
 * shorter one is relieved by the level that comes next.
 */
char *
LimitsQuery(const Container *container)
{
	StringInfoData sql;
	StringInfoData columns;
	char	   *size = RowSize(container->relid);
	double		limit = SettingLogicalLimit * 1024.0 * 1024.0;

	initStringInfo(&sql);
	initStringInfo(&columns);
	appendStringInfo(&sql, "SELECT * FROM (");
	for (int i = 0; i < container->levels; i++)
	{
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "", KeyExpression(container, i));
		appendStringInfo(&sql, "%sSELECT jsonb_build_array(%s) AS key, sum(%s)::bigint AS bytes, sum(%s)::float8 / %.0f AS share, %s::text AS relieved_by"
						 " FROM %s GROUP BY %s HAVING sum(%s) > %.0f",
						 i > 0 ? " UNION ALL " : "", columns.data, size, size, limit,
						 i + 1 < container->levels ? quote_literal_cstr(container->paths[i + 1]) : "NULL",
						 QualifiedName(container->relid), columns.data, size, limit * REPORTED_SHARE);
	}
	appendStringInfoString(&sql, ") k ORDER BY share DESC, key");
	return sql.data;
}

/* large_keys(container regclass) returns setof (key jsonb, bytes bigint, share float8, relieved_by text) */
PG_FUNCTION_INFO_V1(large_keys);
Datum
large_keys(PG_FUNCTION_ARGS)
{
	Container  *container;
	int			nestlevel;

	RequireSelect(PG_GETARG_OID(0));
	container = ContainerLookup(PG_GETARG_OID(0), false);
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	nestlevel = SqlBegin();
	/* With the caller's own rights: he sees the rows that he may see. */
	SqlIntoResult(fcinfo, LimitsQuery(container));
	SqlEnd(nestlevel);
	SPI_finish();
	return (Datum) 0;
}
