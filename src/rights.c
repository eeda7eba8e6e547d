/*
 * rights.c
 *		What the owner of a container must be allowed to do for a change of its partitions.
 *
 * Whatever a leaf has is made anew, with the rights of the owner; who may have
 * lost some since he made it first.  He finds out before anything is copied.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "rights.h"
#include "sql.h"

static bool
collect(Oid function, void *functions)
{
	*(List **) functions = list_append_unique_oid(*(List **) functions, function);
	return false;
}

/* The functions that are called with nothing but constants: ATTACH computes them, to compare a check with the bound. */
static bool
find_constant_calls(Node *node, void *functions)
{
	if (node == NULL)
		return false;
	if (!IsA(node, List) && !contain_var_clause(node))
		(void) check_functions_in_node(node, collect, functions);
	return expression_tree_walker(node, find_constant_calls, functions);
}

static List *
constant_calls(Oid leaf)
{
	List	   *checks = SqlStrings("SELECT conbin FROM pg_constraint WHERE conrelid = %u AND contype = 'c'", leaf);
	List	   *functions = NIL;
	ListCell   *cell;

	foreach(cell, checks)
		(void) find_constant_calls(stringToNode(lfirst(cell)), &functions);
	return functions;
}

/* "1,2", or "0" if there are none. */
static char *
oid_list(List *oids)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	appendStringInfoChar(&list, '0');
	foreach(cell, oids)
		appendStringInfo(&list, ",%u", lfirst_oid(cell));
	return list.data;
}

/*
 * The rights that a role lacks, as GRANT names them.  Functions are called where
 * they compute columns, index entries and statistics, and looked at where triggers
 * are made; and schemas are looked into for what is made from its definition.  A
 * foreign key to a partitioned table needs none for the partitions there.
 */
static List *
lacking(Oid role, Oid leaf)
{
	return SqlStrings("WITH part(classid, objid, calls, named) AS ("
					  "  SELECT 'pg_class'::regclass, indexrelid, true, false FROM pg_index WHERE indrelid = %2$u"
					  "  UNION ALL SELECT 'pg_statistic_ext'::regclass, oid, true, false FROM pg_statistic_ext WHERE stxrelid = %2$u"
					  "  UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, true, false FROM pg_attrdef d JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum"
					  "   WHERE adrelid = %2$u AND attgenerated <> ''"
					  "  UNION ALL SELECT 'pg_trigger'::regclass, oid, tgparentid <> 0, tgparentid = 0 FROM pg_trigger WHERE tgrelid = %2$u AND NOT tgisinternal"
					  "  UNION ALL SELECT 'pg_constraint'::regclass, oid, false, true FROM pg_constraint WHERE conrelid = %2$u AND contype = 'c'"
					  "  UNION ALL SELECT 'pg_policy'::regclass, oid, false, true FROM pg_policy WHERE polrelid = %2$u"
					  "  UNION ALL SELECT 'pg_rewrite'::regclass, oid, false, true FROM pg_rewrite WHERE ev_class = %2$u"
					  "), used AS (SELECT refclassid, refobjid, calls, named FROM part JOIN pg_depend d USING (classid, objid)"
					  "), function(oid) AS (SELECT refobjid FROM used WHERE calls AND refclassid = 'pg_proc'::regclass"
					  "  UNION SELECT oprcode::oid FROM used JOIN pg_operator o ON o.oid = refobjid WHERE calls AND refclassid = 'pg_operator'::regclass"
					  "  UNION SELECT tgfoid FROM pg_trigger WHERE tgrelid = %2$u AND NOT tgisinternal"
					  "  UNION SELECT unnest(ARRAY[%3$s]::oid[])"
					  "), refers AS (SELECT confrelid, confkey FROM pg_constraint c WHERE conrelid = %2$u AND contype = 'f'"
					  "  AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid)"
					  "), schema(oid) AS (SELECT relnamespace FROM pg_class WHERE oid IN (SELECT %2$u::oid UNION ALL SELECT confrelid FROM refers)"
					  "  UNION SELECT relnamespace FROM used JOIN pg_class c ON c.oid = refobjid WHERE named AND refclassid = 'pg_class'::regclass"
					  "  UNION SELECT pronamespace FROM used JOIN pg_proc p ON p.oid = refobjid WHERE named AND refclassid = 'pg_proc'::regclass"
					  "  UNION SELECT typnamespace FROM used JOIN pg_type t ON t.oid = refobjid WHERE named AND refclassid = 'pg_type'::regclass"
					  "  UNION SELECT oprnamespace FROM used JOIN pg_operator o ON o.oid = refobjid WHERE named AND refclassid = 'pg_operator'::regclass"
					  "  UNION SELECT collnamespace FROM used JOIN pg_collation l ON l.oid = refobjid WHERE named AND refclassid = 'pg_collation'::regclass)"
					  " SELECT grants FROM (SELECT r || ' ON ' || %2$u::regclass FROM unnest('{SELECT,UPDATE,TRIGGER}'::text[]) r WHERE NOT has_table_privilege(%1$u, %2$u, r)"
					  " UNION ALL SELECT r || ' ON SCHEMA ' || oid::regnamespace FROM schema, unnest('{USAGE,CREATE}'::text[]) r"
					  "  WHERE NOT has_schema_privilege(%1$u, oid, r) AND (r = 'USAGE' OR oid = (SELECT relnamespace FROM pg_class WHERE oid = %2$u))"
					  " UNION ALL SELECT DISTINCT 'REFERENCES ON ' || confrelid::regclass FROM refers"
					  "  WHERE NOT has_table_privilege(%1$u, confrelid, 'REFERENCES')"
					  "  AND NOT (SELECT bool_and(has_column_privilege(%1$u, confrelid, k, 'REFERENCES')) FROM unnest(confkey) k)"
					  " UNION ALL SELECT DISTINCT 'USAGE ON TYPE ' || format_type(CASE typcategory WHEN 'A' THEN typelem ELSE t.oid END, NULL)"
					  "  FROM pg_attribute JOIN pg_type t ON t.oid = atttypid"
					  "  WHERE attrelid = %2$u AND attnum > 0 AND NOT attisdropped AND NOT has_type_privilege(%1$u, t.oid, 'USAGE')"
					  " UNION ALL SELECT 'EXECUTE ON FUNCTION ' || oid::regprocedure FROM function WHERE NOT has_function_privilege(%1$u, oid, 'EXECUTE'))"
					  " lacks(grants) ORDER BY grants COLLATE \"C\"",
					  role, leaf, oid_list(constant_calls(leaf)));
}

void
RightsRequire(Oid container, Oid owner, List *leaves)
{
	List	   *rights = NIL;
	StringInfoData grants;
	char	   *name;
	ListCell   *cell;

	foreach(cell, leaves)
	{
		ListCell   *right;

		foreach(right, lacking(owner, lfirst_oid(cell)))
			if (!list_member(rights, makeString(lfirst(right))))
				rights = lappend(rights, makeString(lfirst(right)));
	}
	if (rights == NIL)
		return;
	name = GetUserNameFromId(owner, false);
	initStringInfo(&grants);
	foreach(cell, rights)
		appendStringInfo(&grants, "%sGRANT %s TO %s;", grants.len > 0 ? "\n" : "", strVal(lfirst(cell)), quote_identifier(name));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role \"%s\" lacks the right %s", name, strVal(linitial(rights))),
			 errdetail("Partitions are made with the rights of the owner of container \"%s\", who needs it for what partition \"%s\" has.",
					   get_rel_name(container), get_rel_name(linitial_oid(leaves))),
			 errhint("%s", grants.data)));
}
