/*
 * feedtoken.h
 *		Continuation tokens: where a reader of a change feed is.
 */
#ifndef PARTITIONKEY_FEEDTOKEN_H
#define PARTITIONKEY_FEEDTOKEN_H

#include "registry.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

typedef struct FeedToken
{
	bool		local;			/* read up to what this system wrote itself; else what came from others is read first */
	pg_uuid_t	position;		/* the lowest etag that is not read yet, in that phase */
	Jsonb	   *scope;			/* as it was given, or NULL */
} FeedToken;

/* The token of a reader who has read nothing; of one who goes on behind an etag. */
extern void FeedTokenStart(Jsonb *scope, FeedToken *token);
extern void FeedTokenPass(FeedToken *token, const pg_uuid_t *etag);

/* Write a token of a container as text; palloc'd. */
extern text *FeedTokenWrite(const Container *container, const FeedToken *token);

/*
 * Read a token.  One of another system is translated: what that one wrote itself has
 * come from another system here.  Errors 22023: it is damaged, of another container, or ahead of this database.
 */
extern void FeedTokenRead(const Container *container, text *continuation, FeedToken *token);

#endif							/* PARTITIONKEY_FEEDTOKEN_H */
