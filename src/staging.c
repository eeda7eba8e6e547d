/*
 * staging.c
 *		Tables that take the place of leaves.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_extension.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/tablespace.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "partitioning/partbounds.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "belongings.h"
#include "compat.h"
#include "conversion.h"
#include "layout.h"
#include "privileges.h"
#include "sql.h"
#include "staging.h"

#define BOUND_NAME			"partitionkey_bound"

static Form_pg_class
class_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	return (Form_pg_class) GETSTRUCT(tuple);
}

/*
 * Checks of the extension's own are for the ranges of the leaf that they are
 * from.  Those that are not validated may not hold for all rows to be copied.
 */
static void
drop_checks(Oid model, Oid relid)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', %s, conname) FROM pg_constraint c"
							 " WHERE conrelid = %u AND contype = 'c' AND (starts_with(conname, 'partitionkey_') OR EXISTS"
							 " (SELECT FROM pg_constraint m WHERE m.conrelid = %u AND m.contype = 'c' AND m.conname = c.conname AND NOT m.convalidated))",
							 quote_literal_cstr(QualifiedName(relid)), relid, model));
}

/*
 * Foreign keys are not part of LIKE; ATTACH takes over those that are there.
 * One that can be deferred is, until then: an application may have deferred the
 * one it knows.
 */
static void
copy_foreign_keys(Oid model, Oid relid)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s%%s', %s, conname, pg_get_constraintdef(oid),"
							 " CASE WHEN condeferrable AND NOT condeferred THEN ' INITIALLY DEFERRED' END)"
							 " FROM pg_constraint WHERE conrelid = %u AND contype = 'f' ORDER BY oid",
							 quote_literal_cstr(QualifiedName(relid)), model));
}

/* The checks of a leaf that are not validated: those it has from its parent, or its own. */
static List *
unvalidated_checks(Oid leaf, bool inherited)
{
	return SqlStrings("SELECT format('ADD CONSTRAINT %%I %%s', conname, pg_get_constraintdef(oid))"
					  " FROM pg_constraint WHERE conrelid = %u AND contype = 'c' AND NOT convalidated AND NOT starts_with(conname, 'partitionkey_')"
					  " AND coninhcount %s 0 ORDER BY oid", leaf, inherited ? ">" : "=");
}

List *
StagingInheritedChecks(Oid model)
{
	return unvalidated_checks(model, true);
}

void
StagingAddInheritedChecks(List *checks, Oid relid)
{
	ListCell   *cell;

	foreach(cell, checks)
		SqlExecute("ALTER TABLE %s %s", QualifiedName(relid), (char *) lfirst(cell));
}

void
StagingEndDeferral(Oid model, Oid relid)
{
	char	   *name = QualifiedName(relid);

	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s ALTER CONSTRAINT %%I DEFERRABLE INITIALLY IMMEDIATE', %s, conname)"
							 " FROM pg_constraint WHERE conrelid = %u AND contype = 'f' AND condeferrable AND NOT condeferred ORDER BY oid",
							 quote_literal_cstr(name), model));
}

static char *
tablespace_clause(Form_pg_class model)
{
	return OidIsValid(model->reltablespace) ?
		psprintf(" TABLESPACE %s", quote_identifier(get_tablespace_name(model->reltablespace))) : "";
}

void
StagingMakeLeaf(const Container *container, Oid model, const char *name, Leaf *leaf)
{
	Form_pg_class form = class_of(model);
	char	   *qualified = quote_qualified_identifier(get_namespace_name(form->relnamespace), name);
	ListCell   *cell;

	SqlExecute("CREATE %s TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY) %s%s",
			   form->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED" : "",
			   qualified, QualifiedName(model), TableClauses(form), tablespace_clause(form));
	leaf->relid = get_relname_relid(name, form->relnamespace);
	drop_checks(model, leaf->relid);
	foreach(cell, LayoutBooleanChecks(container, leaf->ranges))
		SqlExecute("ALTER TABLE %s ADD %s", qualified, (char *) lfirst(cell));
	ConversionGuardLeaf(container, leaf);
	copy_foreign_keys(model, leaf->relid);
	CarryColumnOptions(model, leaf->relid);
	CarryDetails(model, leaf->relid);
	SqlExecuteAll(PolicyCommands(model, qualified));
	SqlExecuteAll(CommentCommands(model, qualified,
								  psprintf("classoid = 'pg_policy'::regclass OR objoid = %u AND objsubid = 0", model)));
	PrivilegesCopy(model, leaf->relid);
}

Oid
StagingMakeNode(const Container *container, Oid model, const char *name, int level)
{
	Form_pg_class form = class_of(model);
	char	   *qualified = quote_qualified_identifier(get_namespace_name(form->relnamespace), name);
	Oid			relid;

	SqlExecute("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY EXCLUDING STATISTICS EXCLUDING COMMENTS)"
			   " PARTITION BY HASH (%s %s)%s",
			   qualified, QualifiedName(model), quote_identifier(container->columns[level]),
			   LayoutOperatorClass(container, level), tablespace_clause(form));
	relid = get_relname_relid(name, form->relnamespace);
	drop_checks(model, relid);
	copy_foreign_keys(model, relid);
	PrivilegesReset(relid);
	return relid;
}

void
StagingGiveIdentity(Oid node, Oid leaf)
{
#if PG_VERSION_NUM >= 170000
	Relation	rel = table_open(node, NoLock);
	Relation	catalog = table_open(AttributeRelationId, RowExclusiveLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);
		HeapTuple	tuple;

		if (att->attisdropped || att->attidentity == '\0')
			continue;
		tuple = SearchSysCacheCopyAttName(leaf, NameStr(att->attname));
		((Form_pg_attribute) GETSTRUCT(tuple))->attidentity = att->attidentity;
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	}
	table_close(catalog, RowExclusiveLock);
	table_close(rel, NoLock);
	CommandCounterIncrement();
#else
	(void) node;
	(void) leaf;
#endif
}

void
StagingHide(Oid relid)
{
	ObjectAddress table = {RelationRelationId, relid, 0};
	ObjectAddress extension = {ExtensionRelationId, get_extension_oid("partitionkey", false), 0};

	recordDependencyOn(&table, &extension, DEPENDENCY_EXTENSION);
}

void
StagingShow(Oid relid)
{
	(void) deleteDependencyRecordsForClass(RelationRelationId, relid, ExtensionRelationId, DEPENDENCY_EXTENSION);
	CommandCounterIncrement();
}

/*
 * Written in SQL, the bound would not be the one that PostgreSQL looks for: a
 * parsed call has the collation of its arguments, the bound's own has none.
 */
void
StagingAddBound(Oid leaf, Oid parent, int modulus, int remainder)
{
	PartitionBoundSpec *spec = makeNode(PartitionBoundSpec);
	Constraint *check = makeNode(Constraint);
	Relation	node = table_open(parent, AccessShareLock);
	Relation	rel = table_open(leaf, AccessExclusiveLock);
	List	   *bound;

	spec->strategy = PARTITION_STRATEGY_HASH;
	spec->modulus = modulus;
	spec->remainder = remainder;
	bound = list_concat_copy(get_qual_from_partbound(node, spec), RelationGetPartitionQual(node));
	bound = map_partition_varattnos(bound, 1, rel, node);

	check->contype = CONSTR_CHECK;
	check->conname = BOUND_NAME;
	check->location = -1;
	check->cooked_expr = nodeToString(make_ands_explicit(bound));
	check->initially_valid = true;
	check->skip_validation = true;
#if PG_VERSION_NUM >= 180000
	check->is_enforced = true;
#endif
	AddRelationNewConstraints(rel, NIL, list_make1(check), false, true, true, NULL);
	table_close(rel, NoLock);
	table_close(node, NoLock);
	CommandCounterIncrement();
}

void
StagingDropBound(Oid leaf)
{
	SqlExecute("ALTER TABLE %s DROP CONSTRAINT %s", QualifiedName(leaf), BOUND_NAME);
}

/* The container's index to which the leaf's index with a mark belongs. */
static Oid
marked_index(Oid relid, const char *mark)
{
	List	   *oids = SqlOids("SELECT pg_partition_root(indexrelid) FROM pg_index WHERE indrelid = %u AND %s", relid, mark);

	return oids == NIL ? InvalidOid : linitial_oid(oids);
}

StagingMarks *
StagingCollectMarks(Oid model, Oid leaf)
{
	StagingMarks *marks = palloc(sizeof(StagingMarks));
	char	   *name = QualifiedName(leaf);
	char		identity = class_of(model)->relreplident;
	List	   *actions = unvalidated_checks(model, false);
	ListCell   *cell;

	marks->leaf = leaf;
	marks->identity_index = marked_index(model, "indisreplident");
	marks->clustered_index = marked_index(model, "indisclustered");
	/* The triggers of the container are part of the leaf only as long as it is attached. */
	actions = list_concat(actions,
						  SqlStrings("SELECT format('%%s TRIGGER %%I', CASE tgenabled WHEN 'O' THEN 'ENABLE' WHEN 'D' THEN 'DISABLE'"
									 " WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname) FROM pg_trigger t"
									 " WHERE tgrelid = %u AND NOT tgisinternal AND tgparentid <> 0"
									 " AND tgenabled <> (SELECT tgenabled FROM pg_trigger p WHERE p.oid = t.tgparentid)", model));
	if (identity == REPLICA_IDENTITY_FULL)
		actions = lappend(actions, "REPLICA IDENTITY FULL");
	if (identity == REPLICA_IDENTITY_NOTHING)
		actions = lappend(actions, "REPLICA IDENTITY NOTHING");
	marks->commands = NIL;
	foreach(cell, actions)
		marks->commands = lappend(marks->commands, psprintf("ALTER TABLE %s %s", name, (char *) lfirst(cell)));
	marks->commands = list_concat(marks->commands, TriggerCommands(model, name));
	marks->commands = list_concat(marks->commands, RuleCommands(model, name));
	marks->commands = list_concat(marks->commands,
								  CommentCommands(model, name,
												  psprintf("classoid IN ('pg_trigger'::regclass, 'pg_rewrite'::regclass) OR classoid = 'pg_constraint'::regclass"
														   " AND objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = %u AND contype = 'c' AND NOT convalidated)",
														   model)));
	return marks;
}

/* Run a command on the leaf's index that belongs to an index of the container, if there is one. */
static void
mark_index(Oid leaf, Oid index, const char *command)
{
	if (OidIsValid(index))
		SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s %s %%I', %s, relname) FROM pg_index JOIN pg_class c ON c.oid = indexrelid"
								 " WHERE indrelid = %u AND pg_partition_root(indexrelid) = %u",
								 command, quote_literal_cstr(QualifiedName(leaf)), leaf, index));
}

void
StagingApplyMarks(const StagingMarks *marks)
{
	mark_index(marks->leaf, marks->identity_index, "REPLICA IDENTITY USING INDEX");
	mark_index(marks->leaf, marks->clustered_index, "CLUSTER ON");
	SqlExecuteAll(marks->commands);
}
