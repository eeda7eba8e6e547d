/*
 * compat.h
 *		Differences between PostgreSQL 15 and 18, in one place.
 */
#ifndef PARTITIONKEY_COMPAT_H
#define PARTITIONKEY_COMPAT_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/acl.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 160000
#define OwnsRelation(relid, roleid) pg_class_ownercheck(relid, roleid)
#else
#define OwnsRelation(relid, roleid) object_ownercheck(RelationRelationId, relid, roleid)
#endif

#if PG_VERSION_NUM < 180000
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel)
#else
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel, false)
#endif

#endif							/* PARTITIONKEY_COMPAT_H */
