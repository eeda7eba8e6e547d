/*
 * sql.c
 *		Running SQL from C with a safe search_path.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sql.h"

#define SAFE_SEARCH_PATH	"pg_catalog, pg_temp"

static const char *const settings[][2] = {
	{"search_path", SAFE_SEARCH_PATH},
	/* as pg_dump has them, so that a definition written as text is read as it was */
	{"DateStyle", "ISO"},
	{"IntervalStyle", "postgres"},
	{"extra_float_digits", "3"},
	/* what is made anew stays where it was */
	{"default_tablespace", ""},
	/* queries on the catalogs are estimated high and run short */
	{"jit", "off"},
	/* nor are they the user's statements */
	{"partitionkey.cross_partition_query", "allow"},
	{"partitionkey.track_routing", "off"}
};

int
SqlBegin(void)
{
	int			nestlevel = NewGUCNestLevel();

	for (size_t i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

int
SqlBeginFanOut(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("partitionkey.cross_partition_query", "allow", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("partitionkey.track_routing", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
SqlEnd(int nestlevel)
{
	AtEOXact_GUC(false, nestlevel);
}

Oid
RelationOwner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = HeapTupleIsValid(tuple) ? ((Form_pg_class) GETSTRUCT(tuple))->relowner : InvalidOid;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return owner;
}

SqlActing
SqlBeginAs(Oid owner)
{
	SqlActing	acting;

	GetUserIdAndSecContext(&acting.user, &acting.security);
	SetUserIdAndSecContext(owner, acting.security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
	acting.nestlevel = SqlBegin();
	return acting;
}

void
SqlEndAs(SqlActing acting)
{
	SqlEnd(acting.nestlevel);
	SetUserIdAndSecContext(acting.user, acting.security);
}

void
SqlBeginProcedure(FunctionCallInfo fcinfo, const char *name)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) || castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("%s cannot run inside a transaction block or a function", name),
				 errdetail("It commits between its steps, so that nobody has to wait for it."),
				 errhint("CALL it on its own, or in a procedure or DO block that is.")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
}

void
SqlRequireArgument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/*
 * Under another search_path an unqualified name or operator may be anybody's:
 * who may create objects in a schema of it would act with the caller's rights.
 */
static void
require_safe_path(const char *sql)
{
	if (strcmp(namespace_search_path, SAFE_SEARCH_PATH) != 0)
		elog(ERROR, "search_path is not safe for: %s", sql);
}

/* Code of users that ran in a statement may have set another one. */
static void
restore_safe_path(void)
{
	if (strcmp(namespace_search_path, SAFE_SEARCH_PATH) != 0)
		(void) set_config_option("search_path", SAFE_SEARCH_PATH, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

static void execute(bool safe, const char *format, va_list args) pg_attribute_printf(2, 0);

static void
execute(bool safe, const char *format, va_list args)
{
	StringInfoData sql;
	int			result;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		again;
		int			needed;

		va_copy(again, args);
		needed = appendStringInfoVA(&sql, format, again);
		va_end(again);
		if (needed == 0)
			break;
		enlargeStringInfo(&sql, needed);
	}
	if (safe)
		require_safe_path(sql.data);
	result = SPI_execute(sql.data, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s: %s", SPI_result_code_string(result), sql.data);
	if (safe)
		restore_safe_path();
	pfree(sql.data);
}

void
SqlExecute(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	execute(true, format, args);
	va_end(args);
}

void
SqlExecuteInSession(const char *format,...)
{
	va_list		args;
	int			nestlevel = NewGUCNestLevel();

	va_start(args, format);
	execute(false, format, args);
	va_end(args);
	AtEOXact_GUC(false, nestlevel);
}

int64
SqlCount(const char *format,...)
{
	va_list		args;
	bool		isnull;
	int64		count;

	va_start(args, format);
	execute(true, format, args);
	va_end(args);
	count = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return count;
}

/* The rows of the last query, as a list in which NULLs are left out. */
static List *
first_column(bool oids)
{
	List	   *list = NIL;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		bool		isnull;
		Datum		value = SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull);

		if (isnull)
			continue;
		if (oids)
			list = lappend_oid(list, DatumGetObjectId(value));
		else
			list = lappend(list, SPI_getvalue(row, SPI_tuptable->tupdesc, 1));
	}
	SPI_freetuptable(SPI_tuptable);
	return list;
}

List *
SqlStrings(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	execute(true, format, args);
	va_end(args);
	return first_column(false);
}

List *
SqlOids(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	execute(true, format, args);
	va_end(args);
	return first_column(true);
}

void
SqlIntoResult(FunctionCallInfo fcinfo, const char *query)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SPIExecuteOptions options = {.read_only = true, .must_return_tuples = true};

	require_safe_path(query);
	/* There may be many rows: they go to disk as needed, and are not held in memory first. */
	options.dest = CreateTuplestoreDestReceiver();
	SetTuplestoreDestReceiverParams(options.dest, result->setResult, result->econtext->ecxt_per_query_memory, false, NULL, NULL);
	if (SPI_execute_extended(query, &options) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_extended failed");
	restore_safe_path();
	options.dest->rDestroy(options.dest);
}

void
SqlExecuteAll(List *commands)
{
	ListCell   *cell;

	foreach(cell, commands)
		SqlExecute("%s", (char *) lfirst(cell));
}

char *
QualifiedName(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

char *
NameAfter(Oid relid, const char *label)
{
	char	   *name = get_rel_name(relid);

	if (strlen(name) + 1 + strlen(label) < NAMEDATALEN)
		return psprintf("%s_%s", name, label);
	return makeObjectName(name, psprintf("%08x", string_hash(name, NAMEDATALEN)), label);
}

void
CheckNameLengths(const char *names)
{
	bool		quoted = false;
	int			length = 0;

	for (const char *c = names; *c != '\0'; c++)
	{
		if (*c == '"' && !(quoted && c[1] == '"'))
			quoted = !quoted;
		else if (*c == '.' && !quoted)
			length = 0;
		else if (quoted || !isspace((unsigned char) *c))
		{
			c += *c == '"';		/* of two the second */
			if (++length == NAMEDATALEN)
				ereport(ERROR,
						(errcode(ERRCODE_NAME_TOO_LONG),
						 errmsg("name %s is too long", names),
						 errdetail("A name has at most %d bytes.", NAMEDATALEN - 1)));
		}
	}
}
