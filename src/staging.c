/*
 * staging.c
 *		Tables that take the place of leaves.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "partitioning/partbounds.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "belongings.h"
#include "compat.h"
#include "conversion.h"
#include "fitness.h"
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
 * The commands (without ALTER TABLE x) that give a leaf's checks and foreign keys
 * to its successors.  Rows that the leaf has need not be checked again, so they
 * are not validated by that; mark_validated makes up for it.  Checks of the
 * extension's own are for the ranges of the leaf.  A key that refers to a
 * partitioned table has more than one entry.
 */
static List *
constraint_actions(Oid model, const char *condition)
{
	return SqlStrings("SELECT format('ADD CONSTRAINT %%I %%s%%s', conname, pg_get_constraintdef(oid), CASE WHEN convalidated THEN ' NOT VALID' END)"
					  " FROM pg_constraint c WHERE conrelid = %u AND contype IN ('c', 'f') AND NOT " OWN_CHECK
					  " AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid) AND %s ORDER BY oid",
					  model, condition);
}

static void
run_actions(Oid relid, List *actions)
{
	ListCell   *cell;

	foreach(cell, actions)
		SqlExecute("ALTER TABLE %s %s", QualifiedName(relid), (char *) lfirst(cell));
}

/* Change constraints (OIDs) in the catalog, where ALTER TABLE can't. */
static void
change_constraints(List *oids, void (*change) (Form_pg_constraint))
{
	Relation	catalog = table_open(ConstraintRelationId, RowExclusiveLock);
	ListCell   *cell;

	foreach(cell, oids)
	{
		HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(lfirst_oid(cell)));

		change((Form_pg_constraint) GETSTRUCT(tuple));
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	}
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

static void
set_validated(Form_pg_constraint constraint)
{
	constraint->convalidated = true;
}

static void
toggle_noinherit(Form_pg_constraint constraint)
{
	constraint->connoinherit = !constraint->connoinherit;
}

/*
 * PostgreSQL marks keys of a table by itself as not inherited, those of one that is
 * made as a partition not so, and ATTACH leaves it at that.  Which constraint c of the
 * new table is like one m of the model is told by a condition.
 */
static void
mark_noinherit(Oid model, Oid leaf, const char *like)
{
	change_constraints(SqlOids("SELECT c.oid FROM pg_constraint m JOIN pg_constraint c ON c.conrelid = %u AND c.contype = m.contype"
							   " WHERE m.conrelid = %u AND %s GROUP BY c.oid HAVING bool_and(m.connoinherit <> c.connoinherit)", leaf, model, like),
					   toggle_noinherit);
}

/* The constraints of a table, and of what is below it, are validated where those of the model are. */
static void
mark_validated(Oid model, Oid relid)
{
	/* A key that refers to a partitioned table has entries for what is below that one. */
	List	   *oids = SqlOids("WITH RECURSIVE own AS (SELECT oid, conrelid, contype, conname FROM pg_constraint c"
							   "  WHERE conrelid IN (SELECT %u UNION SELECT relid FROM pg_partition_tree(%u)) AND contype IN ('c', 'f')"
							   "  AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)"
							   " UNION ALL SELECT c.oid, c.conrelid, c.contype, own.conname FROM own JOIN pg_constraint c ON c.conparentid = own.oid AND c.conrelid = own.conrelid)"
							   " SELECT n.oid FROM own JOIN pg_constraint n USING (oid) JOIN pg_constraint m ON m.conrelid = %u AND m.contype = own.contype AND m.conname = own.conname"
							   " WHERE m.convalidated AND NOT n.convalidated", relid, relid, model);

	CacheInvalidateRelcacheByRelid(relid);
	change_constraints(oids, set_validated);
}

StagingConstraints *
StagingCollectConstraints(Oid model)
{
	StagingConstraints *constraints = palloc(sizeof(StagingConstraints));

	constraints->model = model;
	constraints->all = constraint_actions(model, "true");
	constraints->checks = constraint_actions(model, "contype = 'c' AND coninhcount > 0");
	constraints->others = constraint_actions(model, "NOT (contype = 'c' AND coninhcount > 0)");
	return constraints;
}

void
StagingAddConstraints(const StagingConstraints *constraints, Oid leaf)
{
	run_actions(leaf, constraints->all);
	mark_validated(constraints->model, leaf);
}

void
StagingAddConstraintsBelow(const StagingConstraints *constraints, Oid node)
{
	ListCell   *cell;

	run_actions(node, constraints->checks);
	foreach(cell, find_inheritance_children(node, NoLock))
		run_actions(lfirst_oid(cell), constraints->others);
	mark_validated(constraints->model, node);
}

static char *
tablespace_clause(Form_pg_class model)
{
	return OidIsValid(model->reltablespace) ?
		psprintf(" TABLESPACE %s", quote_identifier(get_tablespace_name(model->reltablespace))) : "";
}

/* LIKE makes columns NOT NULL for rows that need not be (PostgreSQL 18). */
static void
check_not_null(Oid model)
{
	if (SqlCount("SELECT count(*) FROM pg_constraint WHERE conrelid = %u AND contype = 'n' AND NOT convalidated", model) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" has a NOT NULL constraint that is not validated", get_rel_name(model)),
				 errhint("Remove the rows that are null, and run ALTER TABLE ... VALIDATE CONSTRAINT.")));
}

/*
 * Run ALTER TABLE with a clause on that index of a leaf which is like the one of
 * the model that has a mark.
 */
static void
mark_index(Oid model, Oid leaf, const char *mark, const char *clause)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s %s %%I', %s, c.relname) FROM pg_index i JOIN pg_index n ON n.indrelid = %u AND " INDEXES_ALIKE
							 " JOIN pg_class c ON c.oid = n.indexrelid WHERE i.indrelid = %u AND i.%s ORDER BY n.indexrelid LIMIT 1",
							 clause, quote_literal_cstr(QualifiedName(leaf)), leaf, model, mark));
}

/* From the start, since changes of published tables without an identity are refused. */
static void
give_replica_identity(Oid model, Oid leaf)
{
	char		identity = class_of(model)->relreplident;

	mark_index(model, leaf, "indisreplident", "REPLICA IDENTITY USING INDEX");
	if (identity == REPLICA_IDENTITY_FULL || identity == REPLICA_IDENTITY_NOTHING)
		SqlExecute("ALTER TABLE %s REPLICA IDENTITY %s", QualifiedName(leaf), identity == REPLICA_IDENTITY_FULL ? "FULL" : "NOTHING");
}

void
StagingMakeLeaf(const Container *container, Oid model, const char *name, Leaf *leaf)
{
	Form_pg_class form = class_of(model);
	char	   *qualified = quote_qualified_identifier(get_namespace_name(form->relnamespace), name);
	ListCell   *cell;

	check_not_null(model);
	SqlExecute("CREATE %s TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY EXCLUDING CONSTRAINTS) %s%s",
			   form->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED" : "",
			   qualified, QualifiedName(model), TableClauses(form), tablespace_clause(form));
	leaf->relid = get_relname_relid(name, form->relnamespace);
	/* VACUUM of a table that grows would only keep the swap waiting. */
	SqlExecute("ALTER TABLE %s SET (autovacuum_enabled = false, toast.autovacuum_enabled = false)", qualified);
	foreach(cell, LayoutBooleanChecks(container, leaf->ranges))
		SqlExecute("ALTER TABLE %s ADD %s", qualified, (char *) lfirst(cell));
	ConversionGuardLeaf(container, leaf);
	CarryColumnOptions(model, leaf->relid);
	CarryDetails(model, leaf->relid);
	mark_index(model, leaf->relid, "indisclustered", "CLUSTER ON");
	mark_noinherit(model, leaf->relid, "m.contype IN ('p', 'u', 'x') AND EXISTS (SELECT FROM pg_index i, pg_index n"
				   " WHERE i.indexrelid = m.conindid AND n.indexrelid = c.conindid AND " INDEXES_ALIKE ")");
	give_replica_identity(model, leaf->relid);
	PrivilegesReset(leaf->relid);
}

Oid
StagingMakeNode(const Container *container, Oid model, const char *name, int level)
{
	Form_pg_class form = class_of(model);
	char	   *qualified = quote_qualified_identifier(get_namespace_name(form->relnamespace), name);
	Oid			relid;

	SqlExecute("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY EXCLUDING CONSTRAINTS EXCLUDING STATISTICS EXCLUDING COMMENTS)"
			   " PARTITION BY HASH (%s %s)%s",
			   qualified, QualifiedName(model), quote_identifier(container->columns[level]),
			   LayoutOperatorClass(container, level), tablespace_clause(form));
	relid = get_relname_relid(name, form->relnamespace);
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

/* What ALTER TABLE tells: autovacuum, triggers of the container that are switched. */
static List *
alterations(Oid model)
{
	List	   *actions = list_make1("RESET (autovacuum_enabled, toast.autovacuum_enabled)");

	actions = list_concat(actions,
						  SqlStrings("SELECT format('SET (%%s = %%s)', prefix || option_name, option_value) FROM pg_class m, LATERAL (SELECT '' AS prefix, m.reloptions"
									 " UNION ALL SELECT 'toast.', t.reloptions FROM pg_class t WHERE t.oid = m.reltoastrelid) o, pg_options_to_table(o.reloptions)"
									 " WHERE m.oid = %u AND option_name = 'autovacuum_enabled'", model));
	/* The triggers of the container are part of the leaf only as long as it is attached. */
	actions = list_concat(actions,
						  SqlStrings("SELECT format('%%s TRIGGER %%I', CASE tgenabled WHEN 'O' THEN 'ENABLE' WHEN 'D' THEN 'DISABLE'"
									 " WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname) FROM pg_trigger t"
									 " WHERE tgrelid = %u AND NOT tgisinternal AND tgparentid <> 0"
									 " AND tgenabled <> (SELECT tgenabled FROM pg_trigger p WHERE p.oid = t.tgparentid)", model));
	return actions;
}

/* The foreign keys of a table, with the entries that those to a partitioned table have for what is below that. */
#define FOREIGN_KEYS \
	"(WITH RECURSIVE own AS (SELECT oid, conname, confrelid FROM pg_constraint c WHERE conrelid = %u AND contype = 'f'" \
	"  AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)" \
	" UNION ALL SELECT c.oid, own.conname, c.confrelid FROM own JOIN pg_constraint c ON c.conparentid = own.oid AND c.conrelid = %u) SELECT * FROM own)"

StagingMarks *
StagingCollectMarks(Oid model)
{
	StagingMarks *marks = palloc(sizeof(StagingMarks));
	char	   *name = QualifiedName(model);
	ListCell   *cell;

	marks->model = model;
	marks->name = get_rel_name(model);
	marks->switched = SqlCount("SELECT count(*) FROM " FOREIGN_KEYS " f JOIN pg_trigger ON tgconstraint = f.oid WHERE tgenabled <> 'O'", model, model) > 0;
	marks->commands = NIL;
	foreach(cell, alterations(model))
		marks->commands = lappend(marks->commands, psprintf("ALTER TABLE %s %s", name, (char *) lfirst(cell)));
	marks->commands = list_concat(marks->commands, PolicyCommands(model, name));
	marks->commands = list_concat(marks->commands, TriggerCommands(model, name));
	marks->commands = list_concat(marks->commands, RuleCommands(model, name));
	marks->commands = list_concat(marks->commands,
								  CommentCommands(model, name,
												  psprintf("classoid IN ('pg_policy'::regclass, 'pg_trigger'::regclass, 'pg_rewrite'::regclass) OR objoid = %u AND objsubid = 0"
														   " OR classoid = 'pg_constraint'::regclass AND objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = %u AND contype IN ('c', 'f'))",
														   model, model)));
	return marks;
}

/*
 * Triggers of foreign keys, those on the tables that they refer to as well, are
 * switched as the model's are: by ALTER TABLE only superusers could.
 */
static void
switch_constraint_triggers(Oid model, Oid leaf)
{
	List	   *switches = SqlStrings("SELECT concat(n.oid, ' ', m.tgenabled) FROM " FOREIGN_KEYS " a JOIN " FOREIGN_KEYS " b USING (conname, confrelid)"
									  " JOIN pg_trigger m ON m.tgconstraint = a.oid JOIN pg_trigger n ON n.tgconstraint = b.oid AND n.tgfoid = m.tgfoid AND n.tgtype = m.tgtype"
									  "  AND (n.tgrelid = m.tgrelid OR m.tgrelid = %u AND n.tgrelid = %u)"
									  " WHERE n.tgenabled <> m.tgenabled", model, model, leaf, leaf, model, leaf);
	Relation	catalog = table_open(TriggerRelationId, RowExclusiveLock);
	ListCell   *cell;

	foreach(cell, switches)
	{
		HeapTuple	tuple = get_catalog_object_by_oid(catalog, Anum_pg_trigger_oid, atooid(lfirst(cell)));
		Form_pg_trigger form;

		tuple = heap_copytuple(tuple);
		form = (Form_pg_trigger) GETSTRUCT(tuple);
		form->tgenabled = strchr(lfirst(cell), ' ')[1];
		CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
		CacheInvalidateRelcacheByRelid(form->tgrelid);
	}
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

void
StagingApplyMarks(const StagingMarks *marks, Oid leaf)
{
	char	   *name = get_rel_name(leaf);

	if (marks->switched)
		switch_constraint_triggers(marks->model, leaf);
	mark_noinherit(marks->model, leaf, "m.contype = 'f' AND c.conname = m.conname");
	PrivilegesCopy(marks->model, leaf);
	/* Expressions of rules, policies and triggers may name the table. */
	RenameRelationInternal(leaf, marks->name, false, false);
	CommandCounterIncrement();
	SqlExecuteAll(marks->commands);
	RenameRelationInternal(leaf, name, false, false);
	CommandCounterIncrement();
}

void
StagingKeepSequences(Oid from, Oid to)
{
	SqlExecuteAll(SqlStrings("SELECT format('ALTER SEQUENCE %%s OWNED BY %%s.%%I', objid::regclass, %s, attname)"
							 " FROM pg_depend JOIN pg_class s ON s.oid = objid AND relkind = 'S' JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid"
							 " WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = %u AND deptype = 'a'",
							 quote_literal_cstr(QualifiedName(to)), from));
}
