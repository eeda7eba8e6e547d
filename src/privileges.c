/*
 * privileges.c
 *		Checking privileges; copying and resetting access control lists in the catalogs.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "privileges.h"

void
RequireOwner(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!OwnsRelation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), name);
}

void
RequireSchema(Oid owner, Oid schema)
{
	if (SchemaAclCheck(schema, owner, ACL_CREATE) != ACLCHECK_OK ||
		SchemaAclCheck(schema, owner, ACL_USAGE) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("owner \"%s\" of the table cannot create tables in schema \"%s\"",
						GetUserNameFromId(owner, false), get_namespace_name(schema)),
				 errdetail("The partitions are made with the rights of the table's owner."),
				 errhint("GRANT USAGE, CREATE ON SCHEMA %s TO %s",
						 quote_identifier(get_namespace_name(schema)),
						 quote_identifier(GetUserNameFromId(owner, false)))));
}

void
RequireSelect(Oid relid)
{
	AclResult	result = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

void
RequireSelectAny(Oid relid)
{
	if (pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK)
		RequireSelect(relid);
}

/* A list out of a catalog row, or NULL; its members are recorded as dependencies. */
static Acl *
get_acl(int cache, HeapTuple tuple, AttrNumber attnum)
{
	bool		isnull;
	Datum		acl = SysCacheGetAttr(cache, tuple, attnum, &isnull);

	return isnull ? NULL : DatumGetAclPCopy(acl);
}

/* Put a list, or NULL, into a row of pg_class (column 0) or pg_attribute. */
static void
set_acl(Relation catalog, int cache, HeapTuple tuple, AttrNumber aclattnum,
		Oid relid, AttrNumber column, Oid owner, Acl *acl)
{
	Acl		   *old = get_acl(cache, tuple, aclattnum);
	Datum	   *values = palloc0(sizeof(Datum) * RelationGetNumberOfAttributes(catalog));
	bool	   *nulls = palloc0(sizeof(bool) * RelationGetNumberOfAttributes(catalog));
	bool	   *replace = palloc0(sizeof(bool) * RelationGetNumberOfAttributes(catalog));
	Oid		   *old_members = NULL;
	Oid		   *new_members = NULL;
	int			old_count = old ? aclmembers(old, &old_members) : 0;
	int			new_count = acl ? aclmembers(acl, &new_members) : 0;

	if (old == NULL && acl == NULL)
		return;
	values[aclattnum - 1] = PointerGetDatum(acl);
	nulls[aclattnum - 1] = acl == NULL;
	replace[aclattnum - 1] = true;
	CatalogTupleUpdate(catalog, &tuple->t_self,
					   heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replace));
	updateAclDependencies(RelationRelationId, relid, column, owner,
						  old_count, old_members, new_count, new_members);
}

/* Set the privileges on a relation as a whole. */
static void
set_relation_acl(Oid relid, Acl *acl)
{
	Relation	catalog = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	set_acl(catalog, RELOID, tuple, Anum_pg_class_relacl, relid, 0,
			((Form_pg_class) GETSTRUCT(tuple))->relowner, acl);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

static void
copy_column_acl(Relation catalog, Oid from, AttrNumber attnum, Oid to, Oid owner)
{
	HeapTuple	source = SearchSysCache2(ATTNUM, ObjectIdGetDatum(from), Int16GetDatum(attnum));
	HeapTuple	target;
	Acl		   *acl;

	if (!HeapTupleIsValid(source))
		return;
	target = SearchSysCacheCopyAttName(to, NameStr(((Form_pg_attribute) GETSTRUCT(source))->attname));
	acl = get_acl(ATTNUM, source, Anum_pg_attribute_attacl);
	if (acl != NULL && HeapTupleIsValid(target))
		set_acl(catalog, ATTNUM, target, Anum_pg_attribute_attacl, to,
				((Form_pg_attribute) GETSTRUCT(target))->attnum, owner, acl);
	ReleaseSysCache(source);
}

void
PrivilegesCopy(Oid from, Oid to)
{
	HeapTuple	source = SearchSysCache1(RELOID, ObjectIdGetDatum(from));
	Relation	catalog;
	Form_pg_class form;

	if (!HeapTupleIsValid(source))
		elog(ERROR, "cache lookup failed for relation %u", from);
	form = (Form_pg_class) GETSTRUCT(source);
	set_relation_acl(to, get_acl(RELOID, source, Anum_pg_class_relacl));
	catalog = table_open(AttributeRelationId, RowExclusiveLock);
	for (AttrNumber attnum = 1; attnum <= form->relnatts; attnum++)
		copy_column_acl(catalog, from, attnum, to, form->relowner);
	table_close(catalog, RowExclusiveLock);
	ReleaseSysCache(source);
	CommandCounterIncrement();
}

void
PrivilegesReset(Oid relid)
{
	set_relation_acl(relid, NULL);
}
