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

#ifndef pg_noreturn				/* since 18 */
#define pg_noreturn pg_attribute_noreturn()
#endif

#ifndef INTERVAL_NOT_FINITE		/* since 17 */
#define INTERVAL_NOT_FINITE(interval) false
#endif

/* Clauses on a table as clauses on one of its partitions, or on a partition of such. */
#if PG_VERSION_NUM < 160000
#define OfPartition(root, node, partition, table) \
	adjust_appendrel_attrs_multilevel(root, node, (partition)->relids, (table)->relids)
#else
#define OfPartition(root, node, partition, table) \
	adjust_appendrel_attrs_multilevel(root, node, partition, table)
#endif

#if PG_VERSION_NUM < 170000
#define LockHeldBySession(tag, mode) LockHeldByMe(tag, mode)
#define VirtualTransactionBackend(vxid) (vxid).backendId
#else
#define LockHeldBySession(tag, mode) LockHeldByMe(tag, mode, false)
#define VirtualTransactionBackend(vxid) (vxid).procNumber
#endif

#if PG_VERSION_NUM < 180000
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel)
#define get_op_index_interpretation(opno) get_op_btree_interpretation(opno)
#define PruneInfoOf(stmt, append) ((void) (stmt), (append)->part_prune_info)
#else
#define PrimaryKeyIndex(rel) RelationGetPrimaryKeyIndex(rel, false)
#define PruneInfoOf(stmt, append) \
	((append)->part_prune_index < 0 ? NULL : list_nth_node(PartitionPruneInfo, (stmt)->partPruneInfos, (append)->part_prune_index))
#endif

#if PG_VERSION_NUM < 180000
#define IndexBeginScan(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, nkeys, 0)
#else
#define IndexBeginScan(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
#endif

/* Takes away members of objects that are null. */
#if PG_VERSION_NUM < 180000
#define JsonbStripNulls(json) DirectFunctionCall1(jsonb_strip_nulls, json)
#else
#define JsonbStripNulls(json) DirectFunctionCall2(jsonb_strip_nulls, json, BoolGetDatum(false))
#endif

#endif							/* PARTITIONKEY_COMPAT_H */
