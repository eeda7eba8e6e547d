/*
 * obstacle.c
 *		What keeps a table from becoming a container.
 *
 * What must stay true: anything that depends on a table and is not carried over
 * by conversion.c is refused before the first change, by a list of what is
 * known rather than of what is not, so that an object that neither file knows
 * is never lost.  Each message names the object, each hint the way out.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_publication.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "itemsview.h"
#include "obstacle.h"
#include "sql.h"

/*
 * The objects that depend on a table or its partitions without being a part
 * of them, described for people.  A view is reached by its rule.
 */
static List *
outside_dependents(Oid relid)
{
	/* pg_partition_tree would lock all partitions. */
	return SqlStrings("WITH RECURSIVE tree(relid) AS (SELECT %u::oid UNION SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = relid),"
					  " own AS (SELECT relid FROM tree UNION " ITEMS_VIEWS ")"
					  " SELECT DISTINCT CASE d.classid WHEN 'pg_rewrite'::regclass"
					  "   THEN pg_describe_object('pg_class'::regclass, (SELECT ev_class FROM pg_rewrite WHERE oid = d.objid), 0)"
					  "   ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END"
					  " FROM pg_depend d"
					  " WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT relid FROM own)"
					  "    OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN"
					  "       (SELECT unnest(ARRAY[oid, typarray]) FROM pg_type WHERE typrelid IN (SELECT relid FROM own)))"
					  " AND NOT CASE d.classid"
					  "   WHEN 'pg_class'::regclass THEN d.objid IN (SELECT relid FROM own)"
					  "      OR EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid"
					  "         AND (c.relkind = 't' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')"
					  "           OR EXISTS (SELECT FROM pg_index WHERE indexrelid = c.oid AND indrelid IN (SELECT relid FROM own))))"
					  "   WHEN 'pg_type'::regclass THEN d.deptype = 'i'"
					  "   WHEN 'pg_attrdef'::regclass THEN EXISTS (SELECT FROM pg_attrdef WHERE oid = d.objid AND adrelid IN (SELECT relid FROM own))"
					  "   WHEN 'pg_constraint'::regclass THEN EXISTS (SELECT FROM pg_constraint WHERE oid = d.objid"
					  "      AND (conparentid <> 0 OR conrelid IN (SELECT relid FROM own) AND confrelid NOT IN (SELECT relid FROM own)))"
					  "   WHEN 'pg_trigger'::regclass THEN EXISTS (SELECT FROM pg_trigger WHERE oid = d.objid AND tgrelid IN (SELECT relid FROM own))"
					  "   WHEN 'pg_policy'::regclass THEN EXISTS (SELECT FROM pg_policy WHERE oid = d.objid AND polrelid IN (SELECT relid FROM own))"
					  "   WHEN 'pg_statistic_ext'::regclass THEN EXISTS (SELECT FROM pg_statistic_ext WHERE oid = d.objid AND stxrelid IN (SELECT relid FROM own))"
					  "   WHEN 'pg_rewrite'::regclass THEN EXISTS (SELECT FROM pg_rewrite WHERE oid = d.objid AND ev_class IN (SELECT relid FROM own))"
					  "   ELSE false END"
					  " ORDER BY 1", relid, relid);
}

void
ObstacleCheckDependents(Oid relid, const char *problem, const char *hint)
{
	List	   *dependents = outside_dependents(relid);
	StringInfoData detail;
	ListCell   *cell;

	if (dependents == NIL)
		return;
	initStringInfo(&detail);
	foreach(cell, dependents)
		appendStringInfo(&detail, "%s%s depends on table %s", detail.len > 0 ? "\n" : "",
						 (char *) lfirst(cell), QualifiedName(relid));
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot %s \"%s\" because other objects depend on it", problem, get_rel_name(relid)),
			 errdetail_internal("%s", detail.data),
			 errhint("%s", hint)));
}

/*
 * What a table must not have.  The query, of its OID, gives the name of what
 * it has; the table can't become a container "because ...".
 */
typedef struct Obstacle
{
	const char *query;
	const char *because;
	const char *hint;
} Obstacle;

static const Obstacle obstacles[] = {
	{"SELECT extname FROM pg_depend JOIN pg_extension e ON refobjid = e.oid"
		" WHERE classid = 'pg_class'::regclass AND objid = %u AND deptype = 'e'",
		"it belongs to extension \"%s\"",
	"Make a table of your own."},
	{"SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = %u",
		"it inherits from table \"%s\"",
	"Use ALTER TABLE ... NO INHERIT first."},
	{"SELECT inhrelid::regclass::text FROM pg_inherits JOIN pg_class ON oid = inhrelid"
		" WHERE inhparent = %u AND NOT relispartition",
		"table \"%s\" inherits from it",
	"Use ALTER TABLE ... NO INHERIT on the child first."},
	{"SELECT format('foreign key %%I of table %%s refers to it', conname, conrelid::regclass)"
		" FROM pg_constraint WHERE confrelid = %u ORDER BY conname",
		"%s",
	"Drop that constraint, and keep it in the application: it would stand in the way of every later change of the partitions."},
	{"SELECT conname FROM pg_constraint WHERE conrelid = %u AND contype IN ('f', 'n') AND NOT convalidated",
		"constraint \"%s\" is not validated",
	"Use ALTER TABLE ... VALIDATE CONSTRAINT first, or drop it."},
	{"SELECT conname FROM pg_constraint WHERE conrelid = %u AND contype IN ('c', 'n') AND connoinherit",
		"constraint \"%s\" is marked NO INHERIT, which partitioned tables don't allow",
	"Drop it and add it again without NO INHERIT."},
#if PG_VERSION_NUM < 170000
	{"SELECT conname FROM pg_constraint WHERE conrelid = %u AND contype = 'x'",
		"constraint \"%s\" is an exclusion constraint, which partitioned tables have from PostgreSQL 17 on",
	"Drop it first."},
#endif
	{"SELECT conname FROM pg_constraint WHERE conrelid = %u AND starts_with(conname, 'partitionkey_')",
		"the name of its constraint \"%s\" is reserved for containers",
	"Rename the constraint, or drop it if it came with a copy of a container's partition."},
	{"SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %u AND NOT indisvalid",
		"index \"%s\" is invalid",
	"Use REINDEX, or drop the index, first."},
	{"SELECT subname FROM pg_subscription_rel JOIN pg_subscription s ON s.oid = srsubid WHERE srrelid = %u",
		"subscription \"%s\" writes to it",
	"Drop the subscription first, and create it again with (copy_data = false)."},
	{"SELECT pubname FROM pg_publication p WHERE puballtables OR EXISTS (SELECT FROM pg_publication_namespace"
		" JOIN pg_class c ON relnamespace = pnnspid WHERE pnpubid = p.oid AND c.oid = %u)",
		"publication \"%s\" takes it along, and would publish its partitions",
	"Drop the publication, and create it again afterwards with (publish_via_partition_root)."},
	{"SELECT rulename FROM pg_rewrite WHERE ev_class = %u",
		"it has the rule \"%s\"",
	"Drop the rule first; a trigger can often do the same."},
	{"SELECT tgname FROM pg_trigger WHERE tgrelid = %u AND NOT tgisinternal AND tgtype & 1 = 1"
		" AND (tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL)",
		"row trigger \"%s\" has transition tables, which partitioned tables don't allow",
	"Make it a statement trigger, or drop it first."},
	{"SELECT provider FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = %u",
		"it has a security label of provider \"%s\"",
	"Remove the label first."},
};

void
ObstacleCheckTable(Oid relid)
{
	for (size_t i = 0; i < lengthof(obstacles); i++)
	{
		List	   *found = SqlStrings(obstacles[i].query, relid);

		if (found != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot make table \"%s\" a container because %s", get_rel_name(relid),
							psprintf(obstacles[i].because, (char *) linitial(found))),
					 errhint("%s", obstacles[i].hint)));
	}
	ObstacleCheckDependents(relid, "make a container of",
							"Drop them, or what makes them depend on it, and create them again afterwards: the container keeps the name.");
}

static void
refuse_published(Oid container, Oid publication, const char *of_what)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partitions of \"%s\" cannot be exchanged, because the tables that are made for it would be published", get_rel_name(container)),
			 errdetail("Publication %s publishes all tables%s.", quote_identifier(get_publication_name(publication, false)), of_what),
			 errhint("Publish tables by name, with publish_via_partition_root.")));
}

/* Asked between any two batches of a copy: so not by queries. */
void
ObstacleCheckPublications(Oid container, List *partitions)
{
	List	   *publications = GetAllTablesPublications();
	ListCell   *cell;

	if (publications != NIL)
		refuse_published(container, linitial_oid(publications), "");
	foreach(cell, partitions)
	{
		publications = GetSchemaPublications(get_rel_namespace(lfirst_oid(cell)));
		if (publications != NIL)
			refuse_published(container, linitial_oid(publications), " of the schema");
	}
}

/* Put a text in place of another's first occurrence, or give NULL if there is none. */
static char *
replace_first(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);

	return at == NULL ? NULL : psprintf("%.*s%s%s", (int) (at - text), text, new, at + strlen(old));
}

/* The key columns in their order, quoted, and after them those of a list that are none. */
static char *
columns_after_key(const Container *container, List *columns)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	appendStringInfoString(&list, ContainerColumnList(container));
	foreach(cell, columns)
		if (ContainerLevel(container, lfirst(cell)) < 0)
			appendStringInfo(&list, ", %s", quote_identifier(lfirst(cell)));
	return list.data;
}

static char *
quoted_list(List *columns)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, columns)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", quote_identifier(lfirst(cell)));
	return list.data;
}

/*
 * The statement that gives a unique constraint or index, which is on the given
 * columns, the key columns.  An index may be on expressions with options: there
 * the missing ones come first.
 */
static char *
fix_unique(const Container *container, Oid indexid, Oid constraint, List *columns, List *missing)
{
	char	   *table = QualifiedName(container->relid);

	if (OidIsValid(constraint))
	{
		const char *name = quote_identifier(get_constraint_name(constraint));
		char	   *add = psprintf("ADD CONSTRAINT %s ", name);
		char	   *definition = strstr(pg_get_constraintdef_command(constraint), add);
		char	   *fixed = definition == NULL ? NULL :
			replace_first(definition + strlen(add), psprintf("(%s)", quoted_list(columns)),
						  psprintf("(%s)", columns_after_key(container, columns)));

		if (fixed)
			return psprintf("ALTER TABLE %s DROP CONSTRAINT %s, %s%s", table, name, add, fixed);
	}
	else
	{
		char	   *fixed = replace_first(pg_get_indexdef_string(indexid), " USING btree (",
										  psprintf(" USING btree (%s, ", quoted_list(missing)));

		if (fixed)
			return psprintf("DROP INDEX %s; %s", QualifiedName(indexid), fixed);
	}
	return psprintf("Create it again on %s with the columns %s in front.", table, quoted_list(missing));
}

/* The key columns that a unique index lacks. */
static List *
missing_columns(const Container *container, List *columns)
{
	List	   *missing = NIL;

	for (int i = 0; i < container->levels; i++)
	{
		ListCell   *cell;
		bool		found = false;

		foreach(cell, columns)
			found |= strcmp(lfirst(cell), container->columns[i]) == 0;
		if (!found)
			missing = lappend(missing, container->columns[i]);
	}
	return missing;
}

/*
 * Every unique index needs all key columns, those of levels not divided yet
 * included, or a later split could not keep it.  Names the first that doesn't
 * have them, and the remedy for all.
 */
static void
check_unique_indexes(const Container *container)
{
	List	   *indexes = SqlOids("SELECT indexrelid FROM pg_index WHERE indrelid = %u AND (indisunique OR indisexclusion) ORDER BY NOT indisprimary, indexrelid",
								  container->relid);
	ListCell   *cell;
	char	   *first = NULL;
	StringInfoData remedy;

	initStringInfo(&remedy);
	foreach(cell, indexes)
	{
		Oid			indexid = lfirst_oid(cell);
		Oid			constraint = get_index_constraint(indexid);
		List	   *columns = SqlStrings("SELECT a.attname FROM pg_index i,"
										 " unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) WITH ORDINALITY k(attnum, n)"
										 " JOIN pg_attribute a USING (attnum) WHERE i.indexrelid = %u AND a.attrelid = i.indrelid ORDER BY n", indexid);
		List	   *missing = missing_columns(container, columns);

		if (missing == NIL)
			continue;
		if (first == NULL)
			first = psprintf("unique %s \"%s\" does not include %s", OidIsValid(constraint) ? "constraint" : "index",
							 get_rel_name(indexid), quoted_list(missing));
		appendStringInfo(&remedy, "%s%s", remedy.len > 0 ? ";\n" : "",
						 fix_unique(container, indexid, constraint, columns, missing));
	}
	if (first != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot make table \"%s\" a container because %s", get_rel_name(container->relid), first),
				 errdetail("PostgreSQL keeps values unique within a partition, so a unique key has to include the partition key. As in Cosmos DB, an id is then unique within its logical partition. If it must be unique beyond that, choose key paths that it includes."),
				 errhint("%s", remedy.data)));
}

void
ObstacleCheckKey(const Container *container)
{
	Relation	rel = table_open(container->relid, NoLock);

	for (int i = 0; i < container->levels; i++)
	{
		AttrNumber	attnum = get_attnum(container->relid, container->columns[i]);

		ContainerCheckColumn(container->relid, container->paths[i], TupleDescAttr(RelationGetDescr(rel), attnum - 1));
	}
	check_unique_indexes(container);
	table_close(rel, NoLock);
}
