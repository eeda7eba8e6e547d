/*
 * status.h
 *		The statuses of Cosmos DB that errors of the item functions carry.
 */
#ifndef PARTITIONKEY_STATUS_H
#define PARTITIONKEY_STATUS_H

#include "postgres.h"

typedef enum CosmosStatus
{
	COSMOS_OK = 200,
	COSMOS_CREATED = 201,
	COSMOS_NO_CONTENT = 204,
	COSMOS_BAD_REQUEST = 400,
	COSMOS_NOT_FOUND = 404,
	COSMOS_CONFLICT = 409,
	COSMOS_PRECONDITION_FAILED = 412,
	COSMOS_TOO_LARGE = 413,
	COSMOS_FAILED_DEPENDENCY = 424
} CosmosStatus;

/*
 * For ereport: the SQLSTATE of a failure, and a detail with the status behind it.
 *
 *		400 22023	404 P0002	409 23505	412 55000	413 54000
 */
extern int	StatusCode(CosmosStatus status);
extern int	StatusDetail(CosmosStatus status, const char *format,...) pg_attribute_printf(2, 3);

/* A detail that there is, or NULL, with a status behind it; palloc'd. */
extern char *StatusText(CosmosStatus status, const char *detail);

/* The status that an error tells; 0 if it tells none. */
extern CosmosStatus StatusOfError(const ErrorData *error);

#endif							/* PARTITIONKEY_STATUS_H */
