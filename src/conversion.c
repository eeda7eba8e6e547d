/*
 * conversion.c
 *		Turning an ordinary table into a container of the same name.
 *
 * PostgreSQL can't make a table partitioned, so a new partitioned table takes
 * its place.  What the table had is carried in three ways:
 *
 *	- columns, their defaults, identities and storage by LIKE;
 *	- what has a text by that text: indexes, constraints, triggers, policies,
 *	  statistics and comments are collected as commands while the table exists
 *	  and run once the new one has its name;
 *	- privileges, as catalogs hold them.
 *
 * What can't be carried has been refused by obstacle.c.
 *
 * All of it runs as the table's owner, in a security-restricted operation: his
 * check constraints, index expressions and casts run on the way.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "belongings.h"
#include "compat.h"
#include "conversion.h"
#include "privileges.h"
#include "sql.h"
#include "tree.h"

#define GUARD_NAME		"partitionkey_valid_key"

static bool
is_not_null(Oid relid, const char *column)
{
	HeapTuple	tuple = SearchSysCacheAttName(relid, column);
	bool		not_null = HeapTupleIsValid(tuple) && ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return not_null;
}

/* Report rows without a key value before anything is copied. */
static void
check_nulls(const Container *container, int level)
{
	const char *column = quote_identifier(container->columns[level]);
	int64		count;

	if (is_not_null(container->relid, container->columns[level]))
		return;
	count = SqlCount("SELECT count(*) FROM ONLY %s WHERE %s IS NULL", QualifiedName(container->relid), column);
	if (count > 0)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("column \"%s\" of table \"%s\" is null in " INT64_FORMAT " rows",
						container->columns[level], get_rel_name(container->relid), count),
				 errdetail("Every row of a container has a value for each partition key path."),
				 errhint("Fill it, for example UPDATE %s SET %s = ... WHERE %s IS NULL",
						 QualifiedName(container->relid), column, column)));
}

void
ConversionRequireKey(const Container *container)
{
	for (int i = 0; i < container->levels; i++)
		SqlExecute("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL",
				   QualifiedName(container->relid), quote_identifier(container->columns[i]));
}

/*
 * Whether a key needs a check on its values: strings and JSON may be unfit for
 * one, and a level not divided yet may still get another type.
 */
static bool
needs_guard(const Container *container, const Leaf *leaf)
{
	for (int i = 0; i < container->levels; i++)
	{
		Oid			typid = getBaseType(ContainerColumnType(container, i));

		if (leaf->ranges[i].bits == 0 || typid == TEXTOID || typid == VARCHAROID || typid == JSONBOID)
			return true;
	}
	return false;
}

void
ConversionGuardLeaf(const Container *container, const Leaf *leaf)
{
	Oid			present = get_relation_constraint_oid(leaf->relid, GUARD_NAME, true);

	/* One that came with a tree may be on other columns. */
	if (OidIsValid(present) && strstr(pg_get_constraintdef_command(present), "partitionkey.valid_key(") == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("the name of constraint \"%s\" of partition \"%s\" is reserved for containers",
						GUARD_NAME, get_rel_name(leaf->relid)),
				 errhint("Rename the constraint.")));
	if (OidIsValid(present))
		SqlExecute("ALTER TABLE %s DROP CONSTRAINT %s", QualifiedName(leaf->relid), GUARD_NAME);
	if (needs_guard(container, leaf))
		SqlExecute("ALTER TABLE %s ADD CONSTRAINT %s CHECK (partitionkey.valid_key(%s)) NOT VALID",
				   QualifiedName(leaf->relid), GUARD_NAME, ContainerColumnList(container));
}

void
ConversionGuardLeaves(const Container *container)
{
	ListCell   *cell;

	foreach(cell, ContainerLeaves(container, NULL, 0))
		ConversionGuardLeaf(container, lfirst(cell));
}

/* What a table has that is made anew once the new table has its name, in that order. */
typedef struct Belongings
{
	List	   *sequences;		/* names of identity sequences */
	List	   *constraints;	/* checks that are not validated; indexes and keys */
	List	   *rest;			/* what may refer to those */
} Belongings;

static void
collect_belongings(Belongings *b, Oid relid, const char *table)
{
	b->sequences = SqlStrings("SELECT s.relname FROM pg_depend d JOIN pg_class s ON s.oid = d.objid"
							  " WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = %u"
							  " AND d.deptype = 'i' AND s.relkind = 'S' ORDER BY d.refobjsubid", relid);
	b->constraints = ConstraintCommands(relid, "contype = 'c' AND NOT convalidated");
	b->constraints = list_concat(b->constraints, ConstraintCommands(relid, "contype IN ('p', 'u', 'x')"));
	b->constraints = list_concat(b->constraints, IndexCommands(relid));
	b->rest = list_concat(IndexOptionCommands(relid), StatisticsCommands(relid));
	b->rest = list_concat(b->rest, ConstraintCommands(relid, "contype = 'f'"));
	b->rest = list_concat(b->rest, TriggerCommands(relid, table));
	b->rest = list_concat(b->rest, PolicyCommands(relid, table));
	b->rest = list_concat(b->rest, CommentCommands(relid, table, "true"));
}

/* Make the new root without rows, under a name of its own, with the columns of the table. */
static Oid
create_root(Form_pg_class table, const Container *container)
{
	char	   *name = ChooseRelationName(NameStr(table->relname), NULL, "container", table->relnamespace, false);
	char	   *root = quote_qualified_identifier(get_namespace_name(table->relnamespace), name);
	Oid			tablespace = table->reltablespace;

	SqlExecute("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING COMMENTS EXCLUDING CONSTRAINTS EXCLUDING INDEXES EXCLUDING STATISTICS)"
			   " PARTITION BY HASH (%s %s)%s",
			   root, QualifiedName(container->relid), quote_identifier(container->columns[0]),
			   LayoutOperatorClass(container, 0),
			   OidIsValid(tablespace) ? psprintf(" TABLESPACE %s", quote_identifier(get_tablespace_name(tablespace))) : "");
	return get_relname_relid(name, table->relnamespace);
}

/*
 * Copy the rows under the session's search_path: the statement itself names
 * everything in full, and expressions of the table see what they would see on
 * any INSERT.
 */
static void
copy_rows(Form_pg_class table, Oid root, int nestlevel)
{
	char	   *columns = linitial(SqlStrings("SELECT coalesce(string_agg(quote_ident(attname), ', ' ORDER BY attnum), '') FROM pg_attribute"
											  " WHERE attrelid = %u AND attnum > 0 AND NOT attisdropped AND attgenerated = ''", table->oid));

	SqlEnd(nestlevel);
	SqlExecuteInSession("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM ONLY %s",
						QualifiedName(root), columns, columns, QualifiedName(table->oid));
}

/* Sequences: a serial's moves to the new column, an identity's was made anew and goes on where it was. */
static void
carry_sequences(Oid relid, Oid root)
{
	char	   *table = QualifiedName(relid);
	char	   *root_name = QualifiedName(root);
	List	   *pairs;
	ListCell   *cell;

	SqlExecuteAll(SqlStrings("SELECT format('ALTER SEQUENCE %%s OWNED BY %%s.%%I', d.objid::regclass, %s, a.attname)"
							 " FROM pg_depend d JOIN pg_class s ON s.oid = d.objid JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid"
							 " WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = %u AND d.deptype = 'a' AND s.relkind = 'S'",
							 quote_literal_cstr(root_name), relid));

	pairs = SqlOids("SELECT unnest(ARRAY[pg_get_serial_sequence(%s, attname)::regclass, pg_get_serial_sequence(%s, attname)::regclass])"
					" FROM pg_attribute WHERE attrelid = %u AND attidentity <> '' AND NOT attisdropped ORDER BY attnum",
					quote_literal_cstr(table), quote_literal_cstr(root_name), relid);
	for (cell = list_head(pairs); cell != NULL; cell = lnext(pairs, lnext(pairs, cell)))
	{
		Oid			from = lfirst_oid(cell);
		Oid			to = lfirst_oid(lnext(pairs, cell));

		SqlExecuteAll(SqlStrings("SELECT format('ALTER SEQUENCE %%s AS %%s', %s, seqtypid::regtype) FROM pg_sequence WHERE seqrelid = %u",
								 quote_literal_cstr(QualifiedName(to)), from));
		SqlExecute("SELECT setval(%u, last_value, is_called) FROM %s", to, QualifiedName(from));
		SqlExecuteAll(SqlStrings("SELECT format('COMMENT ON SEQUENCE %%s IS %%L', %s, obj_description(%u, 'pg_class')) WHERE obj_description(%u, 'pg_class') IS NOT NULL",
								 quote_literal_cstr(QualifiedName(to)), from, from));
		PrivilegesCopy(from, to);
	}
}

/* Give the identity sequences the names that the dropped table's had. */
static void
rename_sequences(Oid root, List *names)
{
	List	   *sequences = SqlOids("SELECT pg_get_serial_sequence(%s, attname)::regclass FROM pg_attribute"
									" WHERE attrelid = %u AND attidentity <> '' AND NOT attisdropped ORDER BY attnum",
									quote_literal_cstr(QualifiedName(root)), root);
	ListCell   *sequence;
	ListCell   *name;

	forboth(sequence, sequences, name, names)
	{
		if (strcmp(get_rel_name(lfirst_oid(sequence)), lfirst(name)) != 0)
			SqlExecute("ALTER SEQUENCE %s RENAME TO %s", QualifiedName(lfirst_oid(sequence)),
					   quote_identifier(lfirst(name)));
	}
}

/* Replica identity and clustering are told of each table by itself, by the index they use there. */
static void
carry_index_marks(Oid root, char identity, const char *identity_index, const char *clustered_index)
{
	if (identity == REPLICA_IDENTITY_FULL || identity == REPLICA_IDENTITY_NOTHING)
		SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s REPLICA IDENTITY %s', relid) FROM pg_partition_tree(%u)",
								 identity == REPLICA_IDENTITY_FULL ? "FULL" : "NOTHING", root));
	if (identity_index != NULL)
		SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s REPLICA IDENTITY USING INDEX %%I', i.indrelid::regclass, c.relname)"
								 " FROM pg_partition_tree(%s) t JOIN pg_index i ON i.indexrelid = t.relid JOIN pg_class c ON c.oid = t.relid",
								 quote_literal_cstr(identity_index)));
	if (clustered_index != NULL)
		SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s CLUSTER ON %%I', i.indrelid::regclass, c.relname)"
								 " FROM pg_partition_tree(%s) t JOIN pg_index i ON i.indexrelid = t.relid JOIN pg_class c ON c.oid = t.relid WHERE t.isleaf",
								 quote_literal_cstr(clustered_index)));
}

/* The qualified name of the table's index with this mark, or NULL. */
static char *
marked_index(Oid relid, const char *mark)
{
	List	   *oids = SqlOids("SELECT indexrelid FROM pg_index WHERE indrelid = %u AND %s", relid, mark);

	return oids == NIL ? NULL : QualifiedName(linitial_oid(oids));
}

void
ConvertTable(Container *container, const Layout *layout)
{
	Oid			relid = container->relid;
	Form_pg_class table = (Form_pg_class) GETSTRUCT(SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid)));
	char	   *name = NameStr(table->relname);
	char	   *qualified = QualifiedName(relid);
	int			nestlevel = SqlBegin();
	char	   *clauses = TableClauses(table);
	char	   *identity_index = marked_index(relid, "indisreplident");
	char	   *clustered_index = marked_index(relid, "indisclustered");
	Belongings	belongings;
	Oid			root;
	bool		filled;

	collect_belongings(&belongings, relid, qualified);
	/* Row security that is forced on the owner must not hide rows here. */
	if (table->relforcerowsecurity)
		SqlExecute("ALTER TABLE %s NO FORCE ROW LEVEL SECURITY", qualified);
	for (int i = 0; i < container->levels; i++)
		check_nulls(container, i);
	ConversionRequireKey(container);
	root = create_root(table, container);
	SqlExecuteAll(SqlStrings("SELECT format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', %s, conname, pg_get_constraintdef(oid))"
							 " FROM pg_constraint WHERE conrelid = %u AND contype = 'c' AND convalidated ORDER BY oid",
							 quote_literal_cstr(QualifiedName(root)), relid));

	container->relid = root;
	LayoutCreate(container, name, layout,
				 table->relpersistence == RELPERSISTENCE_UNLOGGED ? "UNLOGGED" : "", clauses);
	ConversionGuardLeaves(container);

	copy_rows(table, root, nestlevel);
	filled = SPI_processed > 0;
	nestlevel = SqlBegin();
	CarryColumnOptions(relid, root);
	carry_sequences(relid, root);
	PrivilegesCopy(relid, root);

	SqlExecute("DROP TABLE %s", qualified);
	SqlExecute("ALTER TABLE %s RENAME TO %s", QualifiedName(root), quote_identifier(name));
	rename_sequences(root, belongings.sequences);
	SqlExecuteAll(belongings.constraints);
	carry_index_marks(root, table->relreplident, identity_index, clustered_index);
	SqlExecuteAll(belongings.rest);
	if (filled)
		SqlExecute("ANALYZE %s", qualified);
	SqlEnd(nestlevel);
}
