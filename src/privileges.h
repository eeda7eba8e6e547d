/*
 * privileges.h
 *		Privileges on tables that take another's place.
 *
 * Grants of several grantors can't be repeated by GRANT statements of one
 * user, so access control lists are copied as they are.
 */
#ifndef PARTITIONKEY_PRIVILEGES_H
#define PARTITIONKEY_PRIVILEGES_H

#include "postgres.h"

/* Refuse a user who does not own a relation (42501), or one that does not exist (42P01). */
extern void RequireOwner(Oid relid);

/* Refuse a table's owner who cannot make its partitions in a schema (42501). */
extern void RequireSchema(Oid owner, Oid schema);

/* Refuse a user who may not read a relation as a whole (42501). */
extern void RequireSelect(Oid relid);

/* Refuse a user who may not even read a column of it. */
extern void RequireSelectAny(Oid relid);

/* Give a relation and its columns the privileges of another with the same owner and columns. */
extern void PrivilegesCopy(Oid from, Oid to);

/*
 * Leave a relation to its owner alone: default privileges of the schema must
 * not open a partition past the row security of its container.
 */
extern void PrivilegesReset(Oid relid);

#endif							/* PARTITIONKEY_PRIVILEGES_H */
