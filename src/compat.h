/*
 * compat.h
 *		Differences between PostgreSQL 15 and 18, in one place.
 */
#ifndef PARTITIONKEY_COMPAT_H
#define PARTITIONKEY_COMPAT_H

#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "datatype/timestamp.h"
#include "utils/acl.h"

#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#else
/* Input functions could not return an error yet. */
#define ereturn(context, dummy_value, ...) ereport(ERROR, __VA_ARGS__)
#endif

#if PG_VERSION_NUM < 160000
#define OwnsRelation(relid, roleid) pg_class_ownercheck(relid, roleid)
#define SchemaAclCheck(schema, roleid, mode) pg_namespace_aclcheck(schema, roleid, mode)
#else
#define OwnsRelation(relid, roleid) object_ownercheck(RelationRelationId, relid, roleid)
#define SchemaAclCheck(schema, roleid, mode) object_aclcheck(NamespaceRelationId, schema, roleid, mode)
#endif

#ifndef INTERVAL_NOT_FINITE		/* since 17 */
#define INTERVAL_NOT_FINITE(interval) false
#endif

#if PG_VERSION_NUM < 170000
#define LockHeldBySession(tag, mode) LockHeldByMe(tag, mode)
#else
#define LockHeldBySession(tag, mode) LockHeldByMe(tag, mode, false)
#endif

#if PG_VERSION_NUM < 180000
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel)
#else
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel, false)
#endif

/* Takes away members of objects that are null. */
#if PG_VERSION_NUM < 180000
#define JsonbStripNulls(json) DirectFunctionCall1(jsonb_strip_nulls, json)
#else
#define JsonbStripNulls(json) DirectFunctionCall2(jsonb_strip_nulls, json, BoolGetDatum(false))
#endif

#endif							/* PARTITIONKEY_COMPAT_H */
