/*
 * uniquekey.h
 *		The unique key of a container that an item would break.
 */
#ifndef PARTITIONKEY_UNIQUEKEY_H
#define PARTITIONKEY_UNIQUEKEY_H

#include "itemrow.h"

typedef struct UniqueKey
{
	char	   *index;			/* the container's, of which a leaf has a part */
	char	   *paths;			/* "/email" or "/first,/last"; those of the partition key only if there are no others; NULL if unknown */
	bool		identity;		/* is on nothing but key and id */
} UniqueKey;

/* Find the unique key that an error of SQLSTATE 23505 is about; false if it is of another table, or of a leaf alone. */
extern bool UniqueKeyFind(const ItemShape *shape, const ErrorData *error, UniqueKey *key);

#endif							/* PARTITIONKEY_UNIQUEKEY_H */
