/*
 * status.c
 *		The statuses of Cosmos DB that errors of the item functions carry.
 *
 * An application's own layer tells its users a status, so each error names the one that
 * Cosmos DB would give, and has an SQLSTATE of its own for it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "status.h"

static const struct
{
	CosmosStatus status;
	int			sqlerrcode;
	const char *name;
}			failures[] = {
	{COSMOS_BAD_REQUEST, ERRCODE_INVALID_PARAMETER_VALUE, "Bad Request"},
	{COSMOS_NOT_FOUND, ERRCODE_NO_DATA_FOUND, "Not Found"},
	{COSMOS_CONFLICT, ERRCODE_UNIQUE_VIOLATION, "Conflict"},
	{COSMOS_PRECONDITION_FAILED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "Precondition Failed"},
	{COSMOS_TOO_LARGE, ERRCODE_PROGRAM_LIMIT_EXCEEDED, "Request Entity Too Large"}
};

static int
failure(CosmosStatus status)
{
	for (size_t i = 0; i < lengthof(failures); i++)
		if (failures[i].status == status)
			return i;
	elog(ERROR, "status %d is no failure", status);
}

int
StatusCode(CosmosStatus status)
{
	return errcode(failures[failure(status)].sqlerrcode);
}

char *
StatusText(CosmosStatus status, const char *detail)
{
	bool		empty = detail == NULL || detail[0] == '\0';

	return psprintf("%s%sCosmos DB's status is %d (%s).", empty ? "" : detail, empty ? "" : " ", status,
					failures[failure(status)].name);
}

int
StatusDetail(CosmosStatus status, const char *format,...)
{
	StringInfoData detail;
	va_list		args;
	int			needed;

	initStringInfo(&detail);
	do
	{
		va_start(args, format);
		needed = appendStringInfoVA(&detail, format, args);
		va_end(args);
		if (needed > 0)
			enlargeStringInfo(&detail, needed);
	} while (needed > 0);
	return errdetail("%s", StatusText(status, detail.data));
}

CosmosStatus
StatusOfError(const ErrorData *error)
{
	for (size_t i = 0; error->detail != NULL && i < lengthof(failures); i++)
		if (failures[i].sqlerrcode == error->sqlerrcode && strstr(error->detail, StatusText(failures[i].status, NULL)) != NULL)
			return failures[i].status;
	return 0;
}
