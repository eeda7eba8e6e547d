/*
 * trust.h
 *		Whether planning a query runs code of users who are not trusted with it.
 */
#ifndef PARTITIONKEY_TRUST_H
#define PARTITIONKEY_TRUST_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Whether all code that planning a rewritten query may run is a superuser's, or
 * of one of two users: the functions in it of the first, what belongs to its
 * tables (such as expressions of indexes) of either.
 */
extern bool QueryIsTrusted(Query *query, Oid user, Oid table_owner);

/* Whether a rewritten query names one of some tables. */
extern bool QueryNames(Query *query, List *relids);

#endif							/* PARTITIONKEY_TRUST_H */
