/*
 * feedscope.h
 *		What part of a container a change feed is read for: all of it, a key or a prefix of keys, or a
 *		feed range, which is a part of the hash space.
 */
#ifndef PARTITIONKEY_FEEDSCOPE_H
#define PARTITIONKEY_FEEDSCOPE_H

#include "registry.h"
#include "tree.h"

typedef struct FeedScope
{
	HashRange	range;			/* no levels: all */
	bool		is_key;			/* a row's components must be equal, too: keys can share a position */
	Component	components[MAX_LEVELS];
} FeedScope;

/*
 * Read a scope: NULL is all, an array a key or a prefix, an object a feed range as
 * read_feed_ranges gives it.  Components point into the JSON.  Errors 22023, and those of keys.
 */
extern void FeedScopeRead(const Container *container, Jsonb *json, FeedScope *scope);

/* Whether a row is in the scope that has these values of the key columns, of these types, at the scope's levels. */
extern bool FeedScopeHas(const FeedScope *scope, const Container *container, const Oid *types, const Datum *values, const bool *nulls);

#endif							/* PARTITIONKEY_FEEDSCOPE_H */
