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
#include "executor/executor.h"
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
#define CheckPrivileges(plan) ExecCheckRTPerms((plan)->rtable, true)
#define CheckParsedPrivileges(pstate) ExecCheckRTPerms((pstate)->p_rtable, true)
#define NamespaceItemPrivileges(nsitem) ((nsitem)->p_rte)
#else
#define OwnsRelation(relid, roleid) object_ownercheck(RelationRelationId, relid, roleid)
#define SchemaAclCheck(schema, roleid, mode) object_aclcheck(NamespaceRelationId, schema, roleid, mode)
#define CheckPrivileges(plan) ExecCheckPermissions((plan)->rtable, (plan)->permInfos, true)
#define CheckParsedPrivileges(pstate) ExecCheckPermissions((pstate)->p_rtable, (pstate)->p_rteperminfos, true)
#define NamespaceItemPrivileges(nsitem) ((nsitem)->p_perminfo)
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
#define get_op_index_interpretation(opno) get_op_btree_interpretation(opno)
#else
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel, false)
#endif

#endif							/* PARTITIONKEY_COMPAT_H */
