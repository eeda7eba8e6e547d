/*
 * fitness.c
 *		Whether leaves are such that others can take their place.
 *
 * The new leaves must be all that the old ones are: so an operation takes on only
 * leaves of which that is known, and refuses the rest before anything is made.
 *
 *	- What a leaf has is made by the container's owner, and the code in it runs as
 *	  him: so the leaf must be his.
 *	- What is unique in a leaf must be so within the values of the level where rows
 *	  come apart or together: then no two rows of leaves that become one can meet,
 *	  nor is anything promised about rows that become parts of different leaves.
 *	- Leaves that become one must have the same of all that decides which rows are
 *	  allowed, who sees them, and what is done or computed when they are written.
 *	- A node that a leaf takes the place of must have nothing that its leaves have not.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "belongings.h"
#include "dualwrite.h"
#include "fitness.h"
#include "layout.h"
#include "sql.h"

/* Partitions of other owners than the container; ALTER TABLE gives away the container alone. */
static List *
partitions_of_others(const Container *container)
{
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, find_all_inheritors(container->relid, NoLock, NULL))
		if (RelationOwner(lfirst_oid(cell)) != RelationOwner(container->relid))
			others = lappend_oid(others, lfirst_oid(cell));
	return others;
}

/* The statement that gives them to the container's owner. */
static char *
giving(const Container *container, List *others)
{
	char	   *owner = GetUserNameFromId(RelationOwner(container->relid), false);

	if (list_length(others) == 1)
		return psprintf("ALTER TABLE %s OWNER TO %s", QualifiedName(linitial_oid(others)), quote_identifier(owner));
	return psprintf("In psql, for all of them: SELECT format('ALTER TABLE %%s OWNER TO %%I', relid, %s) FROM pg_partition_tree(%s) \\gexec",
					quote_literal_cstr(owner), quote_literal_cstr(QualifiedName(container->relid)));
}

static char *
belongs_to(const Container *container, Oid partition)
{
	return psprintf("belongs to \"%s\", the container to \"%s\"", GetUserNameFromId(RelationOwner(partition), false),
					GetUserNameFromId(RelationOwner(container->relid), false));
}

/* All is done as the container's owner, also what code of a leaf's owner asks for. */
static void
check_owner(const Container *container, Oid partition)
{
	if (RelationOwner(partition) != RelationOwner(container->relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" has another owner than its container \"%s\"",
						get_rel_name(partition), get_rel_name(container->relid)),
				 errdetail("It %s.", belongs_to(container, partition)),
				 errhint("%s", giving(container, partitions_of_others(container)))));
}

void
FitnessWarnOwners(const Container *container)
{
	List	   *others = partitions_of_others(container);

	if (others != NIL)
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_plural("%d partition of container \"%s\" has another owner, so it is neither split nor merged",
							   "%d partitions of container \"%s\" have another owner, so they are neither split nor merged",
							   list_length(others), list_length(others), get_rel_name(container->relid)),
				 errdetail("Partition \"%s\" %s.", get_rel_name(linitial_oid(others)), belongs_to(container, linitial_oid(others))),
				 errhint("%s", giving(container, others))));
}

/* Two texts that come from a query as one, with a byte 1 in between. */
#define SEPARATOR			" || E'\\x01' || "

typedef struct Finding
{
	char	   *what;
	char	   *statement;
} Finding;

/* The first of such texts; false if there is none. */
static bool
take_finding(List *texts, Finding *finding)
{
	char	   *end;

	if (texts == NIL)
		return false;
	end = strchr(linitial(texts), '\1');
	*end = '\0';
	finding->what = linitial(texts);
	finding->statement = end + 1;
	return true;
}

static void
refuse(Oid leaf, const Finding *finding)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" cannot be exchanged, because %s", get_rel_name(leaf), finding->what),
			 errhint("%s", finding->statement)));
}

/*
 * A unique index, or exclusion constraint, that does not include the key column of
 * a level, as the container compares it.
 */
static List *
indexes_across(const Container *container, Oid leaf, int level)
{
	return SqlStrings("SELECT format('its %%s \"%%s\" ' || CASE WHEN EXISTS (SELECT FROM pg_attribute WHERE attrelid = i.indrelid AND attname = key.name"
					  " AND attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))"
					  "  THEN 'compares key column \"%%s\" in another way than the container' ELSE 'does not include key column \"%%s\"' END,"
					  "   CASE WHEN i.indisexclusion THEN 'exclusion constraint' ELSE 'unique index' END, r.relname, key.name)"
					  SEPARATOR "CASE WHEN c.oid IS NULL THEN format('DROP INDEX %%s', root.index) ELSE format('ALTER TABLE %%s DROP CONSTRAINT %%I', c.conrelid::regclass, c.conname) END"
					  " FROM pg_index i JOIN pg_class r ON r.oid = i.indexrelid CROSS JOIN (VALUES (%s, %u::oid)) key(name, family)"
					  " CROSS JOIN LATERAL (SELECT coalesce(pg_partition_root(i.indexrelid), i.indexrelid) AS index) root"
					  " LEFT JOIN pg_constraint c ON c.conindid = root.index AND c.contype IN ('p', 'u', 'x')"
					  " WHERE i.indrelid = %u AND (i.indisunique OR i.indisexclusion) AND NOT EXISTS"
					  "  (SELECT FROM generate_series(1, i.indnkeyatts) k JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k - 1]"
					  "    JOIN pg_opclass o ON o.oid = i.indclass[k - 1]"
					  "   WHERE a.attname = key.name AND (i.indcollation[k - 1] = 0 OR (SELECT collisdeterministic FROM pg_collation WHERE oid = i.indcollation[k - 1]))"
					  "   AND EXISTS (SELECT FROM pg_amop WHERE amopfamily = key.family AND amopopr = CASE WHEN i.indisexclusion"
					  "    THEN (SELECT conexclop[k] FROM pg_constraint WHERE conindid = i.indexrelid AND conexclop IS NOT NULL)"
					  "    ELSE (SELECT amopopr FROM pg_amop WHERE amopfamily = o.opcfamily AND amoplefttype = o.opcintype AND amoprighttype = o.opcintype AND amopstrategy = %d) END))"
					  " ORDER BY i.indexrelid LIMIT 1", quote_literal_cstr(container->columns[level]), LayoutOperatorFamily(container, level), leaf, BTEqualStrategyNumber);
}

/*
 * What a leaf promises of its rows and does not keep, which LIKE would make as if it
 * did; and what ties others to it and can't be given to another table.
 */
static List *
defects(Oid leaf)
{
	return SqlStrings("SELECT format('its index \"%%s\" is invalid', r.relname)" SEPARATOR "format('REINDEX INDEX %%s, or drop it.', indexrelid::regclass)"
					  " FROM pg_index JOIN pg_class r ON r.oid = indexrelid WHERE indrelid = %1$u AND NOT (indisvalid AND indisready)"
					  " UNION ALL SELECT format('its constraint \"%%s\" is not enforced, since its trigger is not enabled as usual', conname)"
					  SEPARATOR "format('ALTER TABLE %%s ENABLE TRIGGER ALL', conrelid::regclass)"
					  " FROM pg_constraint c WHERE conrelid = %1$u AND contype IN ('p', 'u', 'x') AND EXISTS (SELECT FROM pg_trigger WHERE tgconstraint = c.oid AND tgenabled <> 'O')"
					  " UNION ALL SELECT format('subscription \"%%s\" writes to it by its name', subname)"
					  SEPARATOR "'Publish the container with publish_via_partition_root.'"
					  " FROM pg_subscription_rel JOIN pg_subscription s ON s.oid = srsubid WHERE srrelid = %1$u"
					  " UNION ALL SELECT format('it has a security label of provider \"%%s\"', provider) "
					  SEPARATOR "format('SECURITY LABEL FOR %%I ON %%s IS NULL', provider, CASE objsubid WHEN 0 THEN 'TABLE ' || objoid::regclass"
					  " ELSE format('COLUMN %%s.%%I', objoid::regclass, (SELECT attname FROM pg_attribute WHERE attrelid = objoid AND attnum = objsubid)) END)"
					  " FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = %1$u"
					  " UNION ALL SELECT format('it belongs to extension \"%%s\"', extname)"
					  SEPARATOR "format('ALTER EXTENSION %%I DROP TABLE %%s', extname, objid::regclass)"
					  " FROM pg_depend JOIN pg_extension e ON e.oid = refobjid WHERE classid = 'pg_class'::regclass AND objid = %1$u AND deptype = 'e'"
					  " LIMIT 1", leaf);
}

static void
check_leaf(const Container *container, Oid leaf, int across)
{
	Finding		finding;

	if (take_finding(defects(leaf), &finding) || (across >= 0 && take_finding(indexes_across(container, leaf, across), &finding)))
		refuse(leaf, &finding);
}

/* How a trigger or rule is switched, and the word of ALTER TABLE that does it. */
#define SWITCHED(state)		"CASE " state " WHEN 'D' THEN ' (disabled)' WHEN 'R' THEN ' (replica)' WHEN 'A' THEN ' (always)' END"
#define SWITCH(state)		"CASE " state " WHEN 'O' THEN 'ENABLE' WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END"

/* As SQL: a text in which marks stand for the leaf and for what is named after it, as aliases are. */
#define MARKED(text)		"regexp_replace(regexp_replace(" text ", own, E'\\x02', 'g'), own_bare, E'\\x03', 'g')"

#define MARKED_OTHER(text)	"regexp_replace(regexp_replace(" text ", other_own, E'\\x02', 'g'), other_own_bare, E'\\x03', 'g')"

/* The text without them. */
#define UNMARKED(text, name, bare)	"replace(replace(" text ", E'\\x02', " name "), E'\\x03', " bare ")"

/* A constraint in words whether it is validated or not. */
#define VALID_TEXT(oid)		"regexp_replace(pg_get_constraintdef(" oid "), ' NOT VALID$', '')"

/*
 * What leaves that become one must have alike: in words without names of their own, and the
 * statement that gives it to the other one, both marked.  The leaf, the other, and their names
 * come from "leaves".  A trigger, rule or policy of that name that the other has goes first.
 */
#define BELONGINGS \
	"SELECT leaf, 1 AS n, concat('constraint ', " MARKED("pg_get_constraintdef(c.oid)") ") AS what," \
	"  coalesce((SELECT format('ALTER TABLE %%s VALIDATE CONSTRAINT %%I', v.conrelid::regclass, v.conname) FROM pg_constraint o, pg_constraint v" \
	"   WHERE o.conrelid = other AND o.contype = c.contype AND o.convalidated <> c.convalidated AND " VALID_TEXT("o.oid") " = " VALID_TEXT("c.oid") \
	"   AND v.oid = CASE WHEN c.convalidated THEN o.oid ELSE c.oid END LIMIT 1)," \
	"  concat('ALTER TABLE ', other_name, ' ADD ', " MARKED("pg_get_constraintdef(c.oid)") ")) AS statement" \
	" FROM leaves JOIN pg_constraint c ON conrelid = leaf WHERE contype IN ('c', 'f') AND NOT " OWN_CHECK \
	"  AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)" \
	" UNION ALL SELECT leaf, 2, concat('trigger ', tgfoid::regproc, ' of constraint ', pg_get_constraintdef(c.oid), " SWITCHED("tgenabled") ")," \
	"  concat('ALTER TABLE ', tgrelid::regclass, ' ENABLE TRIGGER ALL')" \
	" FROM leaves JOIN pg_constraint c ON conrelid = leaf JOIN pg_trigger ON tgconstraint = c.oid WHERE contype = 'f' AND tgenabled <> 'O'" \
	" UNION ALL SELECT leaf, 3, " INDEX_TEXT("i") "," \
	"  CASE WHEN c.oid IS NULL THEN concat(head, ' ON ', other_name, substr(pg_get_indexdef(indexrelid), length(concat(head, ' ', quote_ident(r.relname), ' ON ', name)) + 1))" \
	"   ELSE concat('ALTER TABLE ', other_name, ' ADD ', pg_get_constraintdef(c.oid)) END" \
	" FROM leaves JOIN pg_index i ON indrelid = leaf JOIN pg_class r ON r.oid = indexrelid LEFT JOIN pg_constraint c ON conindid = indexrelid AND contype IN ('p', 'u', 'x')," \
	"  LATERAL (SELECT CASE WHEN indisunique THEN 'CREATE UNIQUE INDEX' ELSE 'CREATE INDEX' END) h(head) WHERE indisunique OR indisexclusion" \
	" UNION ALL SELECT leaf, 4, concat('column ', quote_ident(attname), ' NOT NULL', CASE WHEN NOT n.convalidated THEN ' NOT VALID' END)," \
	"  CASE WHEN false IN (n.convalidated, o.convalidated) THEN format('ALTER TABLE %%s VALIDATE CONSTRAINT %%I'," \
	"    CASE WHEN n.convalidated THEN other_name ELSE name END, CASE WHEN n.convalidated THEN o.conname ELSE n.conname END)" \
	"   ELSE concat('ALTER TABLE ', other_name, ' ALTER ', quote_ident(attname), ' SET NOT NULL') END" \
	" FROM leaves JOIN pg_attribute a ON attrelid = leaf LEFT JOIN pg_constraint n ON n.conrelid = leaf AND n.contype = 'n' AND n.conkey[1] = attnum" \
	"  LEFT JOIN pg_constraint o ON o.conrelid = other AND o.contype = 'n'" \
	"   AND o.conkey[1] = (SELECT attnum FROM pg_attribute WHERE attrelid = other AND attname = a.attname)" \
	" WHERE attnum > 0 AND attnotnull AND NOT attisdropped" \
	" UNION ALL SELECT leaf, 5, concat('column ', quote_ident(attname), ' GENERATED ALWAYS AS (', pg_get_expr(adbin, adrelid), ') '," \
	"   CASE attgenerated WHEN 's' THEN 'STORED' ELSE 'VIRTUAL' END)," \
	"  concat('ALTER TABLE ', other_name, ' ALTER ', quote_ident(attname), ' SET EXPRESSION AS (', pg_get_expr(adbin, adrelid), ')')" \
	" FROM leaves JOIN pg_attribute ON attrelid = leaf JOIN pg_attrdef ON adrelid = leaf AND adnum = attnum WHERE attgenerated <> ''" \
	" UNION ALL SELECT leaf, n, concat(substr(marked, 8), " SWITCHED("enabled") ")," \
	"  CASE WHEN twin = marked THEN concat('ALTER TABLE ', other_name, ' ', " SWITCH("enabled") ", ' ', kind, ' ', quote_ident(object))" \
	"   ELSE concat(CASE WHEN twin <> '' THEN concat('DROP ', kind, ' ', quote_ident(object), ' ON ', other_name, '; ') END, marked) END" \
	" FROM (SELECT leaf, other_name, 6 AS n, 'TRIGGER' AS kind, tgname AS object, tgenabled AS enabled, " MARKED("pg_get_triggerdef(t.oid)") " AS marked," \
	"   (SELECT " MARKED_OTHER("pg_get_triggerdef(oid)") " FROM pg_trigger WHERE tgrelid = other AND tgname = t.tgname) AS twin" \
	"   FROM leaves JOIN pg_trigger t ON tgrelid = leaf WHERE NOT tgisinternal AND tgname <> '" DUAL_WRITE_TRIGGER "'" \
	"  UNION ALL SELECT leaf, other_name, 7, 'RULE', rulename, ev_enabled, " MARKED("rtrim(pg_get_ruledef(r.oid), ';')") "," \
	"   (SELECT " MARKED_OTHER("rtrim(pg_get_ruledef(oid), ';')") " FROM pg_rewrite WHERE ev_class = other AND rulename = r.rulename)" \
	"   FROM leaves JOIN pg_rewrite r ON ev_class = leaf) named" \
	" UNION ALL SELECT leaf, 8, what, concat('ALTER TABLE ', other_name, ' ', word, ' ROW LEVEL SECURITY')" \
	" FROM leaves JOIN pg_class c ON c.oid = leaf, (VALUES ('ENABLE', 'row level security'), ('FORCE', 'row level security for its owner')) w(word, what)" \
	" WHERE CASE word WHEN 'ENABLE' THEN relrowsecurity ELSE relforcerowsecurity END" \
	" UNION ALL SELECT leaf, 9, concat('policy ', quote_ident(polname), " MARKED(POLICY_TEXT) ")," \
	"  concat(CASE WHEN EXISTS (SELECT FROM pg_policy o WHERE o.polrelid = other AND o.polname = p.polname) THEN format('DROP POLICY %%I ON %%s; ', polname, other_name) END," \
	"   'CREATE POLICY ', quote_ident(polname), ' ON ', other_name, " MARKED(POLICY_TEXT) ")" \
	" FROM leaves JOIN pg_policy p ON polrelid = leaf" \
	" UNION ALL SELECT DISTINCT leaf, 10, concat('privilege ', granted, ' of role ', role, option), concat('GRANT ', granted, ' ON ', other_name, ' TO ', role, option)" \
	" FROM (SELECT leaf, other_name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role, concat(privilege_type, columns) AS granted, option" \
	"  FROM leaves JOIN LATERAL (SELECT NULL AS columns, coalesce(relacl, acldefault('r', relowner)) AS acl FROM pg_class WHERE oid = leaf" \
	"   UNION ALL SELECT concat(' (', quote_ident(attname), ')'), attacl FROM pg_attribute WHERE attrelid = leaf AND NOT attisdropped) a ON true, aclexplode(acl), (VALUES (NULL), (' WITH GRANT OPTION')) o(option)" \
	"   WHERE option IS NULL OR is_grantable) p" \
	" UNION ALL SELECT leaf, 11, concat('replica identity ', CASE relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING'" \
	"    ELSE (SELECT 'by ' || " INDEX_TEXT("i") " FROM pg_index i WHERE indrelid = leaf AND indisreplident) END)," \
	"  concat('ALTER TABLE ', name, ' REPLICA IDENTITY DEFAULT')" \
	" FROM leaves JOIN pg_class ON oid = leaf WHERE relreplident <> 'd'"

/* A pattern that is just this text. */
static char *
pattern_of(const char *text)
{
	StringInfoData pattern;

	initStringInfo(&pattern);
	for (const char *c = text; *c != '\0'; c++)
	{
		if (!IS_HIGHBIT_SET(*c) && !isalnum((unsigned char) *c) && *c != '_')
			appendStringInfoChar(&pattern, '\\');
		appendStringInfoChar(&pattern, *c);
	}
	return pattern.data;
}

/* No part of a longer name on its left, nor of a string: an even number of quotes follows. */
#define NAME_BEGINS			"(?<![[:alnum:]_$\".])"
#define OUTSIDE_STRINGS		"(?=([^']*'[^']*')*[^']*$)"

/* A name as it is given, without the quote at its end, where aliases get a number. */
static char *
bare_name(Oid relid)
{
	char	   *name = pstrdup(quote_identifier(get_rel_name(relid)));

	if (*name == '"')
		name[strlen(name) - 1] = '\0';
	return name;
}

/* The pattern of such a name, with or without a number after it. */
static char *
bare_pattern(Oid relid, const char *number)
{
	char	   *name = bare_name(relid);

	return psprintf("%s(?=%s(%s))", pattern_of(name), number, *name == '"' ? "\"" : "[^[:alnum:]_$\"]|$");
}

/*
 * A row of "leaves": the leaf, the other, the names of both, the patterns that find the leaf's
 * name in a definition, and how it is given.  A copy of a definition keeps its numbered aliases.
 */
static char *
leaf_row(Oid leaf, Oid other)
{
	char	   *name = QualifiedName(leaf);

	return psprintf("(%u::oid, %u::oid, %s, %s, %s, %s, %s)", leaf, other, quote_literal_cstr(name), quote_literal_cstr(QualifiedName(other)),
					quote_literal_cstr(psprintf(NAME_BEGINS "%s(?![[:alnum:]_$\"])" OUTSIDE_STRINGS, pattern_of(name))),
					quote_literal_cstr(psprintf(NAME_BEGINS "(%s|%s)" OUTSIDE_STRINGS, bare_pattern(leaf, "(_[0-9]+)?"), bare_pattern(other, "_[0-9]+"))),
					quote_literal_cstr(bare_name(leaf)));
}

/* The first thing that one of two leaves has and the other has not. */
static bool
find_difference(Oid a, Oid b, Finding *finding)
{
	return take_finding(SqlStrings("WITH named(leaf, other, name, other_name, own, own_bare, bare) AS (VALUES %2$s, %3$s),"
								   " leaves AS (SELECT n.*, o.own AS other_own, o.own_bare AS other_own_bare, o.bare AS other_bare FROM named n JOIN named o ON o.leaf = n.other),"
								   " belongings AS MATERIALIZED (SELECT *, row_number() OVER (PARTITION BY leaf, what) AS copy FROM (" BELONGINGS ") b)"
								   " SELECT concat('\"', relname, '\" has, and the other one has not: ', " UNMARKED("what", "name", "bare") ")" SEPARATOR UNMARKED("statement", "other_name", "other_bare")
								   " FROM belongings b JOIN leaves USING (leaf) JOIN pg_class c ON c.oid = leaf"
								   " WHERE NOT EXISTS (SELECT FROM belongings o WHERE o.leaf = leaves.other AND o.what = b.what AND o.copy = b.copy)"
								   " ORDER BY n, leaf <> %1$u, what COLLATE \"C\" LIMIT 1",
								   a, leaf_row(a, b), leaf_row(b, a)), finding);
}

static void
check_alike(List *leaves)
{
	Finding		finding;
	ListCell   *cell;

	for_each_from(cell, leaves, 1)
		if (find_difference(linitial_oid(leaves), lfirst_oid(cell), &finding))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partitions \"%s\" and \"%s\" cannot become one, because they are not alike",
							get_rel_name(linitial_oid(leaves)), get_rel_name(lfirst_oid(cell))),
					 errdetail("%s.", finding.what),
					 errhint("Make them alike, and call it again: %s", finding.statement)));
}

/* As SQL: the finding that a node has something of a name, and the statement that removes it. */
#define NODE_HAS(what, name, statement, from) \
	"SELECT format('it has the " what " \"%%s\"', " name ")" SEPARATOR statement " FROM " from

/*
 * What a node has by itself, of which its leaves know nothing; and privileges of roles that
 * a leaf does not give.
 */
static List *
belongings_of_node(Oid node, Oid leaf)
{
	return SqlStrings(NODE_HAS("trigger", "tgname", "format('DROP TRIGGER %%I ON %%s', tgname, tgrelid::regclass)",
							   "pg_trigger WHERE tgrelid = %1$u AND NOT tgisinternal AND tgparentid = 0")
					  " UNION ALL " NODE_HAS("rule", "rulename", "format('DROP RULE %%I ON %%s', rulename, ev_class::regclass)", "pg_rewrite WHERE ev_class = %1$u")
					  " UNION ALL " NODE_HAS("policy", "polname", "format('DROP POLICY %%I ON %%s', polname, polrelid::regclass)", "pg_policy WHERE polrelid = %1$u")
					  " UNION ALL SELECT 'it has row level security'" SEPARATOR "format('ALTER TABLE %%s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', oid::regclass)"
					  " FROM pg_class WHERE oid = %1$u AND (relrowsecurity OR relforcerowsecurity)"
					  " UNION ALL " NODE_HAS("statistics object", "stxname", "format('DROP STATISTICS %%s.%%I', stxnamespace::regnamespace, stxname)", "pg_statistic_ext WHERE stxrelid = %1$u")
					  " UNION ALL SELECT format('publication \"%%s\" has it by its own name', pubname)" SEPARATOR "format('ALTER PUBLICATION %%I DROP TABLE %%s', pubname, prrelid::regclass)"
					  " FROM pg_publication_rel JOIN pg_publication p ON p.oid = prpubid WHERE prrelid = %1$u"
					  " UNION ALL SELECT format('it gives %%s to %%s', granted, role)" SEPARATOR "format('REVOKE %%s ON %%s FROM %%s', granted, %1$u::regclass, role)"
					  " FROM (SELECT concat(p.privilege_type, columns) AS granted, CASE p.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(p.grantee)) END AS role"
					  "  FROM (SELECT NULL AS columns, NULL AS attname, relacl AS acl FROM pg_class WHERE oid = %1$u"
					  "   UNION ALL SELECT concat(' (', quote_ident(attname), ')'), attname, attacl FROM pg_attribute WHERE attrelid = %1$u AND NOT attisdropped) a, aclexplode(acl) p"
					  "  WHERE NOT EXISTS (SELECT FROM pg_class c LEFT JOIN pg_attribute l ON l.attrelid = c.oid AND l.attname = a.attname,"
					  "   aclexplode(CASE WHEN a.attname IS NULL THEN coalesce(relacl, acldefault('r', relowner)) ELSE attacl END) o WHERE c.oid = %2$u"
					  "   AND o.privilege_type = p.privilege_type AND o.grantee = p.grantee AND o.is_grantable >= p.is_grantable)) g"
					  " LIMIT 1", node, leaf);
}

static void
check_node(Oid node, Oid leaf)
{
	Finding		finding;

	if (take_finding(belongings_of_node(node, leaf), &finding))
		refuse(node, &finding);
}

void
FitnessRequire(const Container *container, List *partitions, int across)
{
	int			nestlevel = SqlBegin();
	List	   *leaves = NIL;
	List	   *nodes = NIL;
	ListCell   *cell;
	ListCell   *below;

	foreach(cell, partitions)
	{
		if (!get_rel_relispartition(lfirst_oid(cell)))
			continue;
		check_owner(container, get_partition_parent(lfirst_oid(cell), true));
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
		{
			check_owner(container, lfirst_oid(below));
			if (get_rel_relkind(lfirst_oid(below)) == RELKIND_PARTITIONED_TABLE)
				nodes = lappend_oid(nodes, lfirst_oid(below));
			if (get_rel_relkind(lfirst_oid(below)) != RELKIND_RELATION)
				continue;
			check_leaf(container, lfirst_oid(below), across);
			leaves = lappend_oid(leaves, lfirst_oid(below));
		}
	}
	check_alike(leaves);
	foreach(cell, leaves == NIL ? NIL : nodes)
		check_node(lfirst_oid(cell), linitial_oid(leaves));
	SqlEnd(nestlevel);
}
